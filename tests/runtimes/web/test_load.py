"""Loading in the web runtime, under Node: accepted and refused as in Python, in the same words."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schedules.variants import PICKED, SPOILED_PICKED
from support import ESPCN, ROOT
from support.renderers import STRINGS
from support.schedule_fixtures import (
    DYNAMIC,
    EXPECTED,
    EXTERNAL,
    FIXTURES,
    GOOD,
    VARIANTS,
    all_families,
    bounded,
    damaged,
    mutated,
    picked,
    refusal,
)

import shadergen
from shadergen.runtime_glue.python import load
from shadergen.runtime_glue.python.sizes import LARGEST, evaluate_postfix

WEB = ROOT / "runtime_glue" / "web"
# Each JSON parser, and each file system, has words of its own.
OTHER_WORDS = {
    "beyond_float64",
    "checksum_of_no_text",
    "digits_without_end",
    "empty_schedule",
    "format_beyond_float64",
    "infinity",
    "nan",
    "no_parameters",
    "no_passes",
    "no_schedule",
    "not_json",
    "offset_beyond_all",
    "pattern_too_long",
    "shader_is_folder",
    "size_of_nothing",
    "uniform_of_wrong_count",
    "variants_as_object",
}


class Node:
    """A process that loads builds, one after another."""

    def __init__(self) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.skip("no Node is installed")
        script = ROOT / "tests" / "runtimes" / "web" / "load.mjs"
        self._process = subprocess.Popen(
            [node, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def ask(self, **question: Any) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def load(self, folder: Path, **question: Any) -> dict[str, Any]:
        return self.ask(url=folder.absolute().as_uri(), **question)

    def close(self) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait(timeout=10)


@pytest.fixture(scope="module")
def node() -> Any:
    process = Node()
    yield process
    process.close()


@pytest.mark.parametrize("trusted", [None, False])
@pytest.mark.parametrize("folder", [GOOD, DYNAMIC, EXTERNAL, VARIANTS], ids=lambda path: path.name)
def test_a_good_build_is_loaded_whole(node: Node, folder: Path, trusted: bool | None) -> None:
    found, expected = node.load(folder, trusted=trusted)["build"], load(folder)
    assert found["weights"] == len(expected.weights)
    assert found["shaders"] == dict(expected.shaders)
    sizes = [(t["width"], t["height"], t["layers"]) for t in found["textures"]]
    assert sizes == [(t.width, t.height, t.layers) for t in expected.textures.values()]
    assert [tuple(o["shape"]) for o in found["outputs"]] == [o.shape for o in expected.outputs]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_malformed_build_is_refused_as_in_python(node: Node, name: str) -> None:
    folder = FIXTURES / "malformed" / name
    found, expected = node.load(folder), refusal(folder)
    assert expected
    assert found.get("code") == EXPECTED[name], found
    assert found["where"][0] == f"{folder.absolute().as_uri()}/"
    assert len(found["what"]) < 300
    if name not in OTHER_WORDS:
        assert found["what"] == expected.what
        assert tuple(found["where"][1:]) == expected.where[1:]


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"height": 7}, ""),
        ({"width": 5}, "the width must be even"),
        ({"height": 1, "width": 2}, "there must be 4 to 1048576 pixels"),
        ({"height": 5000}, "1 to 4096"),
        ({"height": 0}, "1 to 4096"),
        ({"height": 2.5}, "1 to 4096"),
        ({"heigth": 2}, "height, width"),
    ],
)
def test_sizes_are_taken_and_refused_as_in_python(
    node: Node, sizes: dict[str, int], says: str
) -> None:
    found, expected = node.load(DYNAMIC, sizes=sizes), refusal(DYNAMIC, sizes)
    if expected is None:
        shapes = [port.shape for port in load(DYNAMIC, sizes).outputs]
        assert [tuple(o["shape"]) for o in found["build"]["outputs"]] == shapes
    else:
        assert (found["code"], found["what"]) == (expected.code, expected.what)
        assert says in found["message"]


def test_a_size_outside_its_bounds_is_refused_with_their_reason(node: Node, tmp_path: Path) -> None:
    folder = bounded(tmp_path / "build")
    found = node.load(folder, sizes={"height": 2})
    expected = refusal(folder, {"height": 2})
    assert expected
    assert (found["code"], found["what"]) == (expected.code, expected.what)
    assert f"why: {expected.why}" in found["message"]
    for height in (5000, 3.5, "a"):
        assert "why: " not in node.load(folder, sizes={"height": height})["message"]


@pytest.mark.parametrize("trusted", [None, False, True])
def test_the_variant_for_a_renderer_is_loaded(node: Node, trusted: bool | None) -> None:
    for renderer, expected in PICKED.items():
        found = node.load(VARIANTS, renderer=renderer, trusted=trusted)
        assert found["build"].get("variant", "") == expected
        assert found["build"]["weights"] == 16


def test_every_real_name_picks_what_python_picks(node: Node, tmp_path: Path) -> None:
    folder = all_families(tmp_path / "build")
    names = [name for names in STRINGS.values() for name in names]
    found = {name: node.load(folder, renderer=name)["build"].get("variant", "") for name in names}
    assert found == {name: family for family, names in STRINGS.items() for name in names}


@pytest.mark.parametrize("name", SPOILED_PICKED)
def test_a_malformed_variant_is_refused_as_in_python(node: Node, name: str) -> None:
    folder = FIXTURES / "malformed_variants" / name
    found, expected = node.load(folder, renderer="Mali-G78"), refusal(folder, renderer="Mali-G78")
    assert expected
    assert found.get("code") == SPOILED_PICKED[name][0], found
    if name not in ("variant_as_weights", "variant_as_folder"):  # of other words, as above
        assert found["what"] == expected.what
        assert tuple(found["where"][1:]) == expected.where[1:]
    assert node.load(folder, renderer="llvmpipe")["build"]["variant"] == "software"


def test_a_variant_keeps_its_name_at_other_sizes(node: Node, tmp_path: Path) -> None:
    options = {"input_size": "dynamic", "glsl": 300, "validate": False}
    shadergen.compile_model(ESPCN, tmp_path / "b", device="mali-valhall,webgl2-min", **options)
    question = {"renderer": "Mali-G78", "limit": 1 << 16, "sizes": {"height": 32}}
    found = node.load(tmp_path / "b", **question)["build"]
    assert (found["variant"], found["values"]["height"]) == ("mali-valhall", 32)


WORDS = ["+", "-", "*", "/", "%", "min", "max", "h", "w"]
TERMS = st.integers(-20, 20) | st.sampled_from([LARGEST, -LARGEST, 2**52 + 1, *WORDS])


@given(expression=st.lists(TERMS, min_size=1, max_size=9) | st.tuples(TERMS, TERMS, TERMS))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_expression_has_the_value_that_python_finds(node: Node, expression: Any) -> None:
    values = {"h": 5, "w": -7}
    found = node.ask(expression=list(expression), sizes=values)
    try:
        expected = evaluate_postfix(expression, values)
    except ValueError as error:
        if "beyond" not in str(error):  # how far beyond, only exact integers can say
            assert found == {"text": str(error)}
        assert "text" in found
    else:
        assert found == {"value": expected}


def test_weights_that_cannot_be_checked_are_refused(node: Node) -> None:
    found = node.load(GOOD, insecure=True)
    assert (found["code"], found["what"]) == ("SG0505", "the weights cannot be checked")


@pytest.mark.parametrize("folder", [GOOD, DYNAMIC], ids=lambda path: path.name)
def test_a_trusted_build_is_loaded_as_any_other(node: Node, folder: Path) -> None:
    sizes = {} if folder is GOOD else {"height": 7}
    found = node.load(folder, trusted=True, sizes=sizes)
    assert "build" in found
    assert found == node.load(folder, sizes=sizes)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("read_before_write", ""),  # which nobody looks for
        ("newer_major", "SG0504"),
        ("wrong_checksum", "SG0505"),
        ("path_parent", "SG0503"),
    ],
)
def test_of_a_trusted_build_only_the_references_are_believed(
    node: Node, name: str, code: str
) -> None:
    found = node.load(FIXTURES / "malformed" / name, trusted=True)
    assert found.get("code", "") == code


@pytest.mark.slow
def test_the_parts_are_as_small_as_the_manual_says() -> None:
    if not shutil.which("npx"):
        pytest.skip("no npx is installed")
    options = ["--bundle", "--minify", "--format=esm", "--target=es2022"]
    on_demand = ["checks", "sizes", "explain", "variants"]

    def size(*left_out: str, entry: str = "shadergen.js", place: str = ".") -> int:
        others = [f"--external:{place}/{name}.js" for name in left_out]
        done = subprocess.run(
            ["npx", "--yes", "esbuild@0.28", entry, *options, *others],
            cwd=WEB,
            capture_output=True,
        )
        if done.returncode:
            pytest.skip("no esbuild can be had")
        return len(gzip.compress(done.stdout, 9))

    manual = (WEB / "../../docs/embedding.md").read_text()

    def stated(row: str) -> int:
        return int(re.search(rf"^\| {row}.*?\| ([\d,]+) \|", manual, re.M)[1].replace(",", ""))

    webgpu = size(*on_demand, entry="webgpu/index.js")
    assert webgpu < 12.1 * 1024
    assert size(*on_demand) == pytest.approx(stated("the runner for WebGL 2"), rel=0.01)
    assert webgpu == pytest.approx(stated("`webgpu/index.js`"), rel=0.01)
    assert size() == pytest.approx(stated("all for WebGL 2"), rel=0.01)
    assert size(entry="auto.js") == pytest.approx(stated("`auto.js`"), rel=0.01)
    pictures = size("auto", "device", "errors", "pixels", entry="picture_network.js")
    assert pictures == pytest.approx(stated("`picture_network.js`"), rel=0.01)


def test_a_newer_minor_version_may_add_members(node: Node, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOOD, tmp_path / "build"))
    schedule = json.loads((folder / "schedule.json").read_text())
    schedule["version"] = f"{schedule['version'].partition('.')[0]}.9"
    schedule["passes"][0]["hint"] = {"tile": 8}
    (folder / "schedule.json").write_text(json.dumps(schedule))
    assert "build" in node.load(folder)


@pytest.mark.parametrize(
    ("types", "code", "name"),
    [
        ("shadergen.d.ts", "runner.js", "Runner"),
        ("webgpu/index.d.ts", "webgpu/runner.js", "Runner"),
        ("picture_network.d.ts", "picture_network.js", "PictureNetwork"),
    ],
)
def test_the_types_name_every_method(types: str, code: str, name: str) -> None:
    types = (WEB / types).read_text()
    declared = re.findall(
        r"^  (?:static |protected )?(\w+)\(", types[types.index(f"class {name}") :], re.M
    )
    code = (WEB / code).read_text()
    written = re.findall(r"^  (?:static )?(?:async )?(\w+)\(.*\) \{$", code, re.M)
    assert sorted(declared) == sorted(written)


@pytest.mark.slow
def test_the_types_are_those_of_typescript() -> None:
    tsc = [tool] if (tool := shutil.which("tsc")) else ["npx", "--yes", "-p", "typescript@6", "tsc"]
    if not shutil.which(tsc[0]) or subprocess.run([*tsc, "-v"], capture_output=True).returncode:
        pytest.skip("no TypeScript compiler can be had")
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"]
    uses = ROOT / "tests" / "runtimes" / "web"
    done = subprocess.run(
        [*tsc, *options, uses / "types.ts", uses / "webgpu_types.ts"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_the_package_is_of_the_version_of_all() -> None:
    assert json.loads((WEB / "package.json").read_text())["version"] == shadergen.__version__


def test_every_export_of_the_package_can_be_imported_and_has_types() -> None:
    exports = json.loads((WEB / "package.json").read_text())["exports"]
    assert "./picture-network" in exports
    for export in exports.values():
        assert (WEB / export["types"]).is_file()
        assert Path(export["types"]).with_suffix("").stem == Path(export["default"]).stem
    names = [f"shadergen-web{name[1:]}" for name in exports]
    script = f"await Promise.all({json.dumps(names)}.map((name) => import(name)));"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], cwd=WEB, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_schema_in_the_runtime_is_the_schedules() -> None:
    script = ROOT / "tools" / "make_web.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)
    assert done.returncode == 0, "run: python tools/make_web.py"


@given(content=mutated() | damaged())
@settings(
    max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
def test_any_schedule_is_loaded_or_refused_as_in_python(
    node: Node, fuzzed_folder: Path, content: bytes
) -> None:
    (fuzzed_folder / "schedule.json").write_bytes(content)
    found, expected = node.load(fuzzed_folder), refusal(fuzzed_folder)
    assert found.get("code") == (expected and expected.code), found


@given(content=mutated() | damaged())
@settings(
    max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
def test_any_variant_is_picked_or_refused_as_in_python(
    node: Node, fuzzed_variants: Path, content: bytes
) -> None:
    (fuzzed_variants / "variants" / "mali.json").write_bytes(content)
    found = node.load(fuzzed_variants, renderer="Mali-G78")
    variant = found["build"].get("variant", "") if "build" in found else None
    assert (found.get("code"), variant) == picked(fuzzed_variants)


def test_damaged_bytes_of_a_build_of_dynamic_sizes_are_loaded_or_refused(
    node: Node, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(DYNAMIC, tmp_path / "build"))
    content = (DYNAMIC / "schedule.json").read_bytes()
    rng = random.Random(0)
    for _ in range(300):
        damaged_content = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            damaged_content[rng.randrange(len(content))] = rng.choice(b'0123456789"[]{},:-/*%ahw ')
        (folder / "schedule.json").write_bytes(damaged_content)
        found, expected = node.load(folder), refusal(folder)
        assert found.get("code") == (expected and expected.code), found
