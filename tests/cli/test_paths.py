"""``shadergen paths``: the folders are there, and CMake builds the runtime from its folder."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import pytest

EXPECTED = {
    "cmake": "CMakeLists.txt",
    "include": "shadergen/shadergen.hpp",
    "web": "auto.js",
    "samples": "index.html",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_folders_hold_what_they_are_for(shadergen, name):
    printed = shadergen("paths", f"--{name}").out
    assert (Path(printed.strip()) / EXPECTED[name]).is_file()


def test_all_folders_are_listed(shadergen):
    found = shadergen("paths", "--json").json
    assert found.keys() == EXPECTED.keys()
    table = shadergen("paths").out
    assert all(f"--{name}" in table for name in EXPECTED)


@pytest.mark.skipif(which("cmake") is None, reason="needs cmake")
def test_cmake_takes_the_runtime_from_the_package(shadergen, tmp_path):
    runtime = shadergen("paths", "--cmake").out.strip()
    (tmp_path / "app.cpp").write_text(
        "#include <shadergen/shadergen.hpp>\n"
        'int main() { return shadergen::load("none") ? 1 : 0; }\n'
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(app CXX)\n"
        f'add_subdirectory("{runtime}" shadergen)\n'
        "add_executable(app app.cpp)\ntarget_link_libraries(app shadergen::shadergen)\n"
    )
    for command in (["cmake", "-B", "out"], ["cmake", "--build", "out"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert subprocess.run([tmp_path / "out" / "app"]).returncode == 0
