"""The Rust sample: a language other than C that binds to shadergen.h."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from PIL import Image
from support import ESPCN, ROOT
from support.cpp_runtime import RUNTIME, compiled, need, run

import shadergen
from shadergen.compiler.running import run_file

pytestmark = pytest.mark.slow
SOURCE = ROOT / "examples" / "rust" / "src"
HEADER = RUNTIME / "include" / "shadergen" / "shadergen.h"
HEIGHT, WIDTH = 40, 56


@pytest.fixture(scope="module")
def upscale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("rustc")
    if not Path("/usr/include/EGL/egl.h").exists():
        pytest.skip("no EGL/egl.h here: make test installs what C++ needs")
    library = compiled(tmp_path_factory, RUNTIME, name="library")
    program = tmp_path_factory.mktemp("rust") / "upscale"
    flags = ["--edition", "2021", "-O", "-D", "warnings", "-L", library]
    run("rustc", *flags, "-C", f"link-arg=-Wl,-rpath,{library}", SOURCE / "main.rs", "-o", program)
    return program


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("picture") / "in.pgm"
    Image.fromarray(skimage.data.camera()).resize((WIDTH, HEIGHT)).save(path)
    return path


@pytest.mark.gl
@pytest.mark.parametrize("size", [f"{HEIGHT}x{WIDTH}", "dynamic"])
def test_a_picture_comes_out_as_from_run(
    upscale: Path, picture: Path, tmp_path: Path, size: str
) -> None:
    shadergen.compile_model(ESPCN, tmp_path / "build", input_size=size, validate=False)
    said = run(upscale, tmp_path / "build", picture, tmp_path / "out.pgm")
    assert f"{2 * WIDTH}x{2 * HEIGHT} pixels, espcn_x2" in said
    run_file(tmp_path / "build", picture, tmp_path / "expected.png")
    found, expected = (
        np.asarray(Image.open(tmp_path / name), np.int16) for name in ("out.pgm", "expected.png")
    )
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1


@pytest.mark.gl
def test_mistakes_are_results(upscale: Path, picture: Path, tmp_path: Path) -> None:
    shadergen.compile_model(ESPCN, tmp_path / "build", input_size="24x24", validate=False)
    for build, said in ((tmp_path / "none", "error[SG0502]"), (tmp_path / "build", "'low' has")):
        command = [upscale, build, picture, tmp_path / "out.pgm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2
        assert said in done.stderr
        assert not (tmp_path / "out.pgm").exists()


def structs() -> dict[str, list[str]]:
    """Return the members of the structs of the header, all but those that Rust does not declare."""
    declared = (SOURCE / "ffi.rs").read_text()
    found = {}
    for name, body in re.findall(r"struct (shadergen_\w+) \{(.*?)\n\}", HEADER.read_text(), re.S):
        if f"pub struct {name} {{" not in declared:
            continue
        members = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        found[name] = re.findall(r"(\w+)(?=[,;])", members)
    return found


def test_structs_have_the_layout_of_the_header(tmp_path: Path) -> None:
    need("rustc", "cc")
    assert len(structs()) > 4
    places = [(name, member) for name, members in structs().items() for member in members]
    in_c = ["#include <shadergen/shadergen.h>", "#include <stdio.h>", "int main(void) {"]
    in_c += [f'printf("%zu\\n", offsetof({name}, {member}));' for name, member in places]
    in_c += [f'printf("%zu\\n", sizeof({name}));' for name in structs()]
    (tmp_path / "layout.c").write_text("\n".join([*in_c, "return 0; }"]))
    in_rust = [f'#[path = "{SOURCE / "ffi.rs"}"]', "mod ffi;", "use std::mem::*;", "fn main() {"]
    for name, member in places:
        in_rust += [f"{{ let it = MaybeUninit::<ffi::{name}>::uninit(); let start = it.as_ptr();"]
        in_rust += [f"let place = unsafe {{ std::ptr::addr_of!((*start).{member}) }};"]
        in_rust += ['println!("{}", place as usize - start as usize); }']
    in_rust += [f'println!("{{}}", size_of::<ffi::{name}>());' for name in structs()]
    (tmp_path / "layout.rs").write_text("\n".join([*in_rust, "}"]))
    run("cc", "-I", RUNTIME / "include", tmp_path / "layout.c", "-o", tmp_path / "c")
    # nothing is called, so nothing has to be linked
    (tmp_path / "libshadergen_c.a").write_bytes(b"!<arch>\n")
    flags = ["--edition", "2021", "-L", tmp_path, "-o", tmp_path / "rust"]
    run("rustc", *flags, tmp_path / "layout.rs")
    assert run(tmp_path / "rust") == run(tmp_path / "c")
