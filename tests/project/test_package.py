"""The house: packages as listed, imports one way, and distributions that hold what they should."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from functools import cache
from pathlib import Path

import pytest
from support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OUTSIDE = {"tests", "examples", "docs", "bench", "tools", "build", "demo", "dist", "site"}
# Data of the package: the page of `shadergen serve`, and the network of `shadergen demo`.
SHIPPED = [Path("examples", "web"), Path("examples", "networks", "upscale")]
LAYERS = ("ir", "passes", "backends", "compiler")  # each imports itself and those to its left
# What a module may import, by the top-level folder it lies in; all may import FREE.
MAY_IMPORT = {layer: set(LAYERS[: i + 1]) for i, layer in enumerate(LAYERS)}
MAY_IMPORT["backends"] |= {"runtime_glue"}  # to recognise renderers as runtimes do
MAY_IMPORT["compiler"] |= {"runtime_glue"}  # to run and verify what it compiled
MAY_IMPORT["runtime_glue"] = {"runtime_glue"}
# The parts of each frontend; they import those to their left.
FRONTENDS = {
    "keras": ("read", "tensors", "shapes", "layers", "ops", "importing"),
    "onnx": ("read", "operands", "shapes", "ops", "folding", "importing"),
}
FREE = ("errors", "number_texts", "records")
OWN_NAMES = {"shadergen", *FREE, "runtime_glue", "templates", *LAYERS}


def package_folders() -> list[Path]:
    """Return every folder of the package, relative to the root, that holds a file."""
    found = [Path(), *SHIPPED]
    for top in ROOT.iterdir():
        if top.is_dir() and top.name not in OUTSIDE and not top.name.endswith(".egg-info"):
            below = (p for p in top.rglob("*") if p.is_dir())
            found += [p.relative_to(ROOT) for p in (top, *below)]
    return sorted(
        folder
        for folder in set(found)
        if not any(part.startswith(".") or part == "__pycache__" for part in folder.parts)
        and any(p.is_file() for p in (ROOT / folder).iterdir())
    )


def modules() -> list[Path]:
    """Return every Python file of the package, relative to the root."""
    return sorted(
        p.relative_to(ROOT) for folder in package_folders() for p in (ROOT / folder).glob("*.py")
    )


def imported(
    module: Path, change: ast.NodeTransformer | None = None
) -> list[tuple[int, tuple[str, ...] | str]]:
    """Return what a module imports, wherever in it, with line numbers.

    A relative import becomes the path of what it names, from the root: ``from ..ir import types``
    in passes/rule.py is ("ir", "types"). An absolute one stays a string.
    """
    found: list[tuple[int, tuple[str, ...] | str]] = []
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    for node in ast.walk(change.visit(tree) if change else tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append((node.lineno, node.module or ""))
        elif isinstance(node, ast.ImportFrom):
            folder = module.parent.parts
            assert node.level <= len(folder) + 1, f"{module}:{node.lineno} leaves the package"
            base = folder[: len(folder) + 1 - node.level]
            base += tuple((node.module or "").split(".")) if node.module else ()
            found += [(node.lineno, (*base, alias.name)) for alias in node.names]
    return found


class WithoutTypes(ast.NodeTransformer):
    """Drops what only type checkers import."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        guard = node.test
        if isinstance(guard, ast.Name) and guard.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


@cache
def import_graph() -> dict[str, set[str]]:
    """Return which modules of the package each module imports, functions included."""
    names = {
        ".".join(m.with_suffix("").parts).removesuffix("__init__").strip("."): m for m in modules()
    }
    graph = {}
    for name, module in names.items():
        paths = [n for _, n in imported(module, WithoutTypes()) if isinstance(n, tuple)]
        found = (p if p in names else p.rpartition(".")[0] for p in map(".".join, paths))
        graph[name] = {p for p in found if p in names and p != name}
    return graph


def cycles(graph: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """Return the groups of modules that import each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for start, direct in graph.items():
        seen: set[str] = set()
        waiting = list(direct)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += graph[name]
        reached[start] = seen
    groups = ({b for b in seen if a in reached[b]} for a, seen in reached.items())
    return {tuple(sorted(group)) for group in groups if group}


def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_packages_on_disk_are_those_listed() -> None:
    listed = pyproject()["tool"]["setuptools"]["packages"]
    assert listed == sorted(listed)
    assert [".".join(("shadergen", *folder.parts)) for folder in package_folders()] == listed


def test_every_folder_with_code_is_a_regular_package() -> None:
    assert not [m for m in modules() if not (ROOT / m.parent / "__init__.py").is_file()]


def test_templates_hold_no_code() -> None:
    assert not [m for m in modules() if m.parts[0] == "templates"]


@pytest.mark.parametrize("module", modules(), ids=str)
def test_imports_inside_the_package_are_relative(module: Path) -> None:
    absolute = [(line, name) for line, name in imported(module) if isinstance(name, str)]
    assert not [(line, name) for line, name in absolute if name.split(".")[0] in OWN_NAMES]


@pytest.mark.parametrize("module", [m for m in modules() if len(m.parts) > 1], ids=str)
def test_imports_go_one_way(module: Path) -> None:
    own = [(line, name) for line, name in imported(module) if isinstance(name, tuple)]
    allowed = MAY_IMPORT[module.parts[0]] | {*FREE, "__version__"}
    wrong = [(line, ".".join(name)) for line, name in own if name[0] not in allowed]
    assert not wrong, f"{module} may import {sorted(allowed)} only"


def test_modules_that_import_each_other_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d", "a"}}
    assert cycles(graph) == {("b", "c"), ("d",)}


def test_no_modules_import_each_other() -> None:
    assert not cycles(import_graph())


@pytest.mark.parametrize("frontend", FRONTENDS)
def test_folders_of_a_frontend_import_one_way(frontend: str) -> None:
    order = FRONTENDS[frontend]
    place = f"compiler.frontends.{frontend}."
    own = {
        name: name.removeprefix(place).split(".")[0]
        for name in import_graph()
        if name.startswith(place)
    }
    assert set(own.values()) == set(order)
    wrong = [
        f"{name} imports {other}"
        for name, found in import_graph().items()
        for other in found
        if name in own and other in own and order.index(own[name]) < order.index(own[other])
    ]
    assert not wrong


def test_frontends_compute_constants_in_one_module() -> None:
    computing = {("ir", "evaluation", "evaluate_formula"), ("ir", "reference", "evaluate_graph")}
    found = {
        module
        for module in modules()
        if module.parts[:2] == ("compiler", "frontends")
        and (
            any(name in computing for _, name in imported(module))
            or ".reference(" in (ROOT / module).read_text(encoding="utf-8")
        )
    }
    assert found == {Path("compiler", "frontends", "constant_folding.py")}


@pytest.mark.parametrize("name", FREE)
def test_what_all_may_import_imports_nothing_of_the_package(name: str) -> None:
    assert not [n for _, n in imported(Path(f"{name}.py")) if isinstance(n, tuple)]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build the sdist from a copy of the sources, and the wheel from the sdist."""
    folder = tmp_path_factory.mktemp("distributions")
    sources = folder / "sources"
    unwanted = shutil.ignore_patterns(
        ".git", ".venv", ".*_cache", ".build", ".hypothesis", "__pycache__", "*.egg-info"
    )
    generated = {str(ROOT / name) for name in ("build", "demo", "dist", "site")}

    def ignore(parent: str, names: list[str]) -> set[str]:
        top = {name for name in names if str(Path(parent, name)) in generated}
        return set(unwanted(parent, names)) | top

    shutil.copytree(ROOT, sources, ignore=ignore)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, sources]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL, timeout=300)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(distributions: tuple[Path, Path]) -> None:
    wheel, _ = distributions
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    folders = [folder for folder in package_folders() if folder.parts]
    files = [p for folder in folders for p in (ROOT / folder).iterdir() if p.is_file()]
    files += [*ROOT.glob("*.py"), ROOT / "py.typed"]
    assert held == {f"shadergen/{p.relative_to(ROOT).as_posix()}" for p in files}


@pytest.mark.slow
def test_the_sdist_holds_what_tests_and_demo_need(distributions: tuple[Path, Path]) -> None:
    _, sdist = distributions
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    needed = {
        "LICENSE",
        "Makefile",
        "README.md",
        "examples/espcn/espcn_x2.h5",
        "examples/networks/training/upscale.py",
        "examples/networks/upscale/upscale.onnx",
        "tests/project/test_package.py",
        "tools/setup.sh",
    }
    assert needed <= held
    assert not [name for name in held if "__pycache__" in name or name.startswith(".venv")]


@pytest.mark.slow
def test_the_wheel_compiles_a_model_in_a_clean_environment(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    wheel, _ = distributions
    environment = tmp_path / "env"
    venv.create(environment, with_pip=True)
    bin_folder = environment / ("Scripts" if os.name == "nt" else "bin")
    python = bin_folder / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    reached = subprocess.run([*pip, "index", "versions", "lark"], capture_output=True, timeout=120)
    if reached.returncode != 0:
        pytest.skip("no package index can be reached to install the dependencies from")
    subprocess.run([*pip, "install", "-qq", wheel], check=True, timeout=600)

    # Neither GL from Python nor glslang: the extras are absent and PATH leads nowhere else.
    probe = "import importlib.util, json, sys; print(json.dumps([m for m in sys.argv[1:]"
    probe += " if importlib.util.find_spec(m)]))"
    extras = ("OpenGL", "PIL", "keras", "onnxruntime")
    found = subprocess.run([python, "-c", probe, *extras], capture_output=True, check=True)
    assert json.loads(found.stdout) == []

    build = tmp_path / "out"
    model = ROOT / "examples" / "espcn" / "espcn_x2.h5"
    compiled = subprocess.run(
        [bin_folder / "shadergen", "compile", model, "-o", build, "--input-size", "32x48"],
        cwd=tmp_path,
        env={"PATH": str(bin_folder), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    schedule = json.loads((build / "schedule.json").read_text(encoding="utf-8"))
    assert schedule
    assert (build / "weights.bin").is_file()
    assert list((build / "shaders").glob("*.frag"))


def test_the_npm_package_has_the_licence() -> None:
    own = ROOT / "runtime_glue" / "web" / "LICENSE"
    assert own.read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_links_of_the_readme_on_an_index_lead_to_the_repository() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from build_backend import readme

    shown = "![a](docs/a.png) [b](docs/b.md#c) [d](#d) [e](https://e.org/)"
    assert readme(shown, "https://github.com/o/n", "1.2") == (
        "![a](https://raw.githubusercontent.com/o/n/v1.2/docs/a.png) "
        "[b](https://github.com/o/n/blob/v1.2/docs/b.md#c) [d](#d) [e](https://e.org/)"
    )
    whole = readme((ROOT / "README.md").read_text("utf-8"), "https://github.com/o/n", "1.2")
    prose = re.sub(r"```.*?```", "", whole, flags=re.DOTALL)
    assert not re.findall(r"\]\((?!https?://|#)[^)\s]+\)", prose)


def test_workflows_and_issue_templates_are_well_formed() -> None:
    yaml = pytest.importorskip("yaml")
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"]
    assert len(files) > 4
    read = {p.name: yaml.safe_load(p.read_text("utf-8")) for p in files}
    for name in ("bug.yml", "wrong_result.yml", "unsupported.yml"):
        ids = [entry["id"] for entry in read[name]["body"]]
        assert len(ids) == len(set(ids))
        assert read[name]["name"] and read[name]["description"]
    for job in read["release.yml"]["jobs"].values():
        assert all({"run", "uses"} & set(step) for step in job["steps"])
    minors = read["release.yml"]["jobs"]["try"]["strategy"]["matrix"]["python"]
    assert f">={minors[0]}" == pyproject()["project"]["requires-python"]
