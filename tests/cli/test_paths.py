"""``shadergen paths``: the folders are there, and CMake builds the runtime from its folder."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import pytest

EXPECTED = {
    "cmake": ["CMakeLists.txt"],
    "include": ["shadergen/shadergen.h", "shadergen/shadergen.hpp"],
    "web": ["auto.js"],
    "samples": ["viewer.html.j2"],
    "networks": ["upscale/upscale.onnx"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_folders_hold_what_they_are_for(shadergen, name):
    printed = shadergen("paths", f"--{name}").out
    for file in EXPECTED[name]:
        assert (Path(printed.strip()) / file).is_file()


def test_all_folders_are_listed(shadergen):
    found = shadergen("paths", "--json").json
    assert found.keys() == EXPECTED.keys()
    table = shadergen("paths").out
    assert all(f"--{name}" in table for name in EXPECTED)


# An application in C++ on the static library, and one in C on the shared one.
APPLICATIONS = {
    "CXX": (
        "app.cpp",
        "shadergen::shadergen",
        "#include <shadergen/shadergen.hpp>\n"
        'int main() { return shadergen::load("none") ? 1 : 0; }\n',
    ),
    "C": (
        "app.c",
        "shadergen::shadergen_c",
        "#include <shadergen/shadergen.h>\n"
        "int main(void) { return shadergen_load(0, 0, 0) == 605 ? 0 : 1; }\n",
    ),
}


@pytest.mark.skipif(which("cmake") is None, reason="needs cmake")
@pytest.mark.parametrize("language", APPLICATIONS)
def test_cmake_takes_the_runtime_from_the_package(shadergen, tmp_path, language):
    runtime = shadergen("paths", "--cmake").out.strip()
    file, library, source = APPLICATIONS[language]
    (tmp_path / file).write_text(source)
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.16)\nproject(app {language})\n"
        f'add_subdirectory("{runtime}" shadergen)\n'
        f"add_executable(app {file})\ntarget_link_libraries(app {library})\n"
    )
    for command in (["cmake", "-B", "out"], ["cmake", "--build", "out"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert subprocess.run([tmp_path / "out" / "app"]).returncode == 0
