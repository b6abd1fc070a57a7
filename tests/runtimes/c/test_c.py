"""The C interface: it loads and refuses what Python does, and keeps its promises."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import ESPCN, ROOT
from support.cpp_runtime import RUNTIME, Loader, cmake, compiled, need, run
from support.schedule_fixtures import (
    DYNAMIC,
    EXPECTED,
    EXTERNAL,
    FIXTURES,
    GOOD,
    VARIANTS,
    refusal,
)

import shadergen
from shadergen.runtime_glue.python import load
from shadergen.runtime_glue.python.schedule import ComputePass

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ROOT / "tests" / "runtimes" / "c"
HEADER = RUNTIME / "include" / "shadergen" / "shadergen.h"
DTYPES = [
    "float32",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "bool",
]
ENCODINGS = ["float", "unorm8", "y2rg", "y2rg_half"]
OTHER_WORDS = {"no_schedule", "shader_is_folder"}  # a callback knows no folders
KINDS = ["2d", "array", "external"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory)


@pytest.fixture(scope="module")
def loader(programs: Path) -> Iterator[Loader]:
    process = Loader(programs / "c_load")
    yield process
    process.close()


# loading


@pytest.mark.parametrize("source", [None, "memory", "callback"])
@pytest.mark.parametrize("folder", [GOOD, DYNAMIC, EXTERNAL, VARIANTS], ids=lambda path: path.name)
def test_a_build_is_described_as_in_python(loader: Loader, folder: Path, source: str) -> None:
    found, expected = loader.load(folder, source=source), load(folder)
    assert found["model"] == expected.model
    for kind in ("inputs", "outputs"):
        ports = getattr(expected, kind)
        assert [port["name"] for port in found[kind]] == [port.name for port in ports]
        for port, wanted in zip(found[kind], ports, strict=True):
            texture = expected.textures[wanted.texture]
            assert tuple(port["shape"]) == wanted.shape
            assert DTYPES[port["dtype"]] == wanted.dtype
            assert ENCODINGS[port["encoding"]] == wanted.encoding
            assert (KINDS[port["kind"]], port["format"]) == (texture.kind, texture.format)
            textures = 1 if texture.kind == "array" else texture.layers
            assert port["size"] == [texture.width, texture.height, texture.layers, textures]
    assert [p["name"] for p in found["passes"]] == [p.name for p in expected.passes]
    assert [p["compute"] for p in found["passes"]] == [
        isinstance(p, ComputePass) for p in expected.passes
    ]
    assert [p["macs"] for p in found["passes"]] == [p.macs for p in expected.passes]
    assert found["macs"] == sum(p.macs for p in expected.passes)
    assert found["weight_bytes"] == (folder / "weights.bin").stat().st_size


def test_figures_are_those_of_the_sizes(loader: Loader) -> None:
    sizes = {"height": 6, "width": 8}
    found, expected = loader.load(DYNAMIC, sizes), load(DYNAMIC, sizes)
    assert found["sizes"] == sizes
    assert [p["macs"] for p in found["passes"]] == [p.macs for p in expected.passes]
    assert found["texture_bytes"] > loader.load(DYNAMIC)["texture_bytes"]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_malformed_build_is_refused_with_its_code(loader: Loader, name: str) -> None:
    folder = FIXTURES / "malformed" / name
    found = loader.load(folder)
    assert found.get("code") == EXPECTED[name], found
    assert found["status"] == int(EXPECTED[name][2:])
    assert found["where"][0] == str(folder)
    called = loader.load(folder, source="callback")
    assert called.get("code") == found["code"]
    assert called["what"] == found["what"] or name in OTHER_WORDS


def test_an_error_is_rendered_as_in_python(loader: Loader) -> None:
    folder = FIXTURES / "malformed" / "newer_major"
    expected = refusal(folder)
    assert expected
    assert loader.load(folder)["rendered"] == expected.render()


# promises


def facts() -> list[str]:
    return re.findall(r"^FACT\((\w+)\)", (PROGRAMS / "api.c").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def checked(programs: Path) -> dict[str, str]:
    """Return "" or what is wrong of each fact."""
    found = {}
    for line in run(programs / "c_api", FIXTURES).splitlines():
        verdict, _, rest = line.partition(" ")
        if verdict in ("ok", "failed"):
            name, _, why = rest.partition(": ")
            found[name] = why
    return found


@pytest.mark.gl
@pytest.mark.parametrize("name", facts())
def test_a_promise_is_kept(name: str, checked: dict[str, str]) -> None:
    assert checked[name] == ""


def test_no_exception_leaves_the_library_when_memory_runs_out(programs: Path) -> None:
    done = subprocess.run([programs / "c_no_memory", GOOD], capture_output=True, text=True)
    assert done.stdout == "loaded\n"
    assert done.returncode == -signal.SIGABRT, done.stderr
    assert "bad_alloc" in done.stderr


# the header and the library


@pytest.mark.parametrize(
    "compiler", ["cc -std=c99", "cc -std=c11", "c++ -std=c++11 -x c++", "c++ -std=c++17 -x c++"]
)
def test_the_header_is_strict_c_and_c_plus_plus(compiler: str) -> None:
    program, *flags = compiler.split()
    need(program)
    flags += ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    run(program, *flags, HEADER)


def test_the_library_exports_the_functions_of_the_header_alone(programs: Path) -> None:
    need("nm")
    lines = run("nm", "-D", "--defined-only", programs / "runtime" / "libshadergen_c.so")
    found = {line.split()[-1] for line in lines.splitlines()}
    declared = set(re.findall(r"^SHADERGEN_API [^;]*?(shadergen_\w+)\(", HEADER.read_text(), re.M))
    assert found == declared
    assert len(declared) > 30


def test_versions_agree() -> None:
    version = re.search(
        r"project\(shadergen VERSION ([\d.]+)", (RUNTIME / "CMakeLists.txt").read_text()
    )
    parts = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", HEADER.read_text(), re.M)
    assert version
    assert version[1] == ".".join(parts)
    assert version[1] == shadergen.__version__.partition("+")[0]


@pytest.mark.slow
def test_an_application_in_c_finds_the_installed_library(tmp_path: Path) -> None:
    prefix = tmp_path / "installed"
    cmake(RUNTIME, tmp_path / "build", f"-DCMAKE_INSTALL_PREFIX={prefix}")
    run("cmake", "--install", tmp_path / "build")
    cmake(PROGRAMS / "installed", tmp_path / "app_build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert run(tmp_path / "app_build" / "app", GOOD) == "7 passes\n"
    need("pkg-config")
    found = next(prefix.rglob("shadergen-c.pc")).parent
    flags = run(
        "pkg-config", "--cflags", "--libs", "shadergen-c", env={"PKG_CONFIG_PATH": str(found)}
    )
    app = PROGRAMS / "installed" / "main.c"
    run("cc", "-std=c99", app, *flags.split(), "-o", tmp_path / "by_hand")
    library = next(prefix.rglob("libshadergen_c.so")).parent
    assert run(tmp_path / "by_hand", GOOD, env={"LD_LIBRARY_PATH": str(library)}) == "7 passes\n"
    include, static = f"-I{prefix / 'include'}", next(prefix.rglob("libshadergen.a"))
    run("cc", "-std=c99", app, include, static, "-lstdc++", "-lm", "-o", tmp_path / "static")
    assert run(tmp_path / "static", GOOD) == "7 passes\n"


@pytest.mark.gl
@pytest.mark.slow
def test_a_build_embedded_as_c_runs_in_c(programs: Path, tmp_path: Path) -> None:
    need("cc")
    shadergen.compile_model(
        ESPCN, tmp_path / "upscaler", input_size="16x24", embed="c", validate=False
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    flags += ["-fsanitize=address,undefined", f"-I{RUNTIME / 'include'}", f"-I{tmp_path}"]
    library = programs / "runtime"
    sources = [
        PROGRAMS / "embedded.c",
        PROGRAMS / "context.c",
        tmp_path / "upscaler" / "upscaler.c",
    ]
    run("cc", *flags, *sources, f"-L{library}", "-lshadergen_c", "-ldl", "-o", tmp_path / "app")
    run(tmp_path / "app", env={"LD_LIBRARY_PATH": str(library)})
