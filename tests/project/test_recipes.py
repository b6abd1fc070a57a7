"""The recipes of docs/recipes.md compile, and run where their host does."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import ROOT
from support.cpp_runtime import RUNTIME, compiled, need, run

import shadergen

pytestmark = pytest.mark.slow
DOCUMENT = ROOT / "docs" / "recipes.md"
HOST = ROOT / "tests" / "project" / "recipes" / "host.cpp"
BLOCK = re.compile(r"```(?:c|cpp)\n((?://|/\*) ([\w.]+).*?)```", re.DOTALL)
SIDE = 64
SHOWN = "204 153 102"  # the negative of 51, 102, 153

# The pkg-config name of what a recipe needs beside the runtime, and what is linked besides.
RECIPES = {
    "sdl2.cpp": ("sdl2", []),
    "qt.cpp": ("Qt5Widgets", ["-fPIC"]),
    "gtk4.cpp": ("gtk4", ["-lEGL"]),
    "gstreamer.c": ("gstreamer-gl-1.0", []),
    "obs_filter.c": ("libobs", []),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sources of the recipes and a build that inverts pictures."""
    path = tmp_path_factory.mktemp("recipes")
    for source, name in BLOCK.findall(DOCUMENT.read_text(encoding="utf-8")):
        (path / name).write_text(source, "utf-8")
    shape = [1, 3, SIDE, SIDE]
    graph = helper.make_graph(
        [helper.make_node("Sub", ["one", "img"], ["out"])],
        "negative",
        [helper.make_tensor_value_info("img", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.float32(1), "one")],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path / "m.onnx"
    )
    shadergen.compile_model(
        path / "m.onnx", path / "build", output_encoding="unorm8", validate=False
    )
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory, RUNTIME, name="library")


def flags_of(name: str, which: str) -> list[str]:
    """Return what pkg-config says of a recipe's host; skip where the host is not installed."""
    need("cc", "c++", "pkg-config")
    package, _ = RECIPES[name]
    if subprocess.run(["pkg-config", "--exists", package]).returncode:
        pytest.skip(f"no {package} here: make test installs what recipes need")
    return run("pkg-config", which, package).split()


def compile_source(folder: Path, name: str) -> Path:
    """Compile the source of a recipe, without warnings."""
    compiler = ["c++", "-std=c++17"] if name.endswith(".cpp") else ["cc", "-std=c11"]
    flags = ["-Wall", "-Werror", "-fPIC", f"-I{RUNTIME / 'include'}", *flags_of(name, "--cflags")]
    target = folder / f"{name}.o"
    run(*compiler, *flags, "-c", folder / name, "-o", target)
    return target


def linked(folder: Path, library: Path, name: str) -> Path:
    """Compile a recipe and what its application would have beside it."""
    source = compile_source(folder, name)
    program = folder / Path(name).stem
    define = f"-DRECIPE_{program.name.upper()}"
    _, more = RECIPES[name]
    flags = ["-std=c++17", define, "-fPIC", *flags_of(name, "--cflags")]
    libraries = [*flags_of(name, "--libs"), f"-L{library}", f"-Wl,-rpath,{library}"]
    libraries += ["-lshadergen" if name.endswith(".cpp") else "-lshadergen_c", "-lGLESv2", *more]
    run("c++", *flags, source, HOST, *libraries, "-o", program)
    return program


def shown(folder: Path, *command: object) -> list[str]:
    """Run a program on a display in memory; return what it says that each frame shows."""
    need("xvfb-run")
    scratch = folder / "runtime_dir"
    scratch.mkdir(mode=0o700, exist_ok=True)
    environment = {"EGL_PLATFORM": "x11", "XDG_RUNTIME_DIR": str(scratch), "GST_GL_API": "gles2"}
    environment |= {"GST_GL_PLATFORM": "egl", "QT_QPA_PLATFORM": "xcb", "GDK_BACKEND": "x11"}
    said = run("xvfb-run", "-a", *command, env=environment, cwd=folder)
    return re.findall(r"^frame \d+: (.*)$", said, re.MULTILINE)


def test_every_recipe_is_tried(folder: Path) -> None:
    assert {path.name for path in folder.glob("*.c*")} == set(RECIPES)


@pytest.mark.gl
@pytest.mark.parametrize("name", ["sdl2.cpp", "qt.cpp", "gtk4.cpp"])
def test_a_window_shows_what_the_network_makes(folder: Path, library: Path, name: str) -> None:
    frames = shown(folder, linked(folder, library, name))
    assert len(frames) >= 3
    assert set(frames) == {f"{SHOWN}, GL error 0"}


@pytest.mark.gl
def test_a_pipeline_of_gstreamer_shows_what_the_network_makes(folder: Path, library: Path) -> None:
    program = linked(folder, library, "gstreamer.c")
    if shutil.which("gst-inspect-1.0") is None:
        pytest.skip("no gst-inspect-1.0 here: make test installs what recipes need")
    run("gst-inspect-1.0", "glfilterapp")
    pipeline = [
        "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xff336699",
        f"video/x-raw,width={SIDE},height={SIDE},format=RGBA",
        *("glupload", "glfilterapp name=network", "gldownload", "fakesink"),
    ]
    assert shown(folder, program, " ! ".join(pipeline)) == [f"{SHOWN}, GL error 0"] * 3


def test_the_filter_for_obs_compiles(folder: Path) -> None:
    compile_source(folder, "obs_filter.c")
