"""Builds as C: the arrays are the files, to the byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support import ESPCN

import shadergen
from shadergen.backends import embed
from shadergen.backends.embed import embed_c
from shadergen.errors import ShadergenError

DUMP = """
#include <stdio.h>
#include <string.h>
#include "{name}.h"

int main(int count, char **arguments) {{
    size_t i;
    for (i = 0; count > 1 && i < {name}_file_count; i++)
        if (strcmp({name}_files[i].path, arguments[1]) == 0)
            fwrite({name}_files[i].data, 1, {name}_files[i].size, stdout);
    for (i = 0; count == 1 && i < {name}_file_count; i++) puts({name}_files[i].path);
    return 0;
}}
"""


def compile_espcn(folder: Path, **options: object) -> None:
    size = {"input_size": "16x24", "validate": False}
    shadergen.compile_model(ESPCN, folder, **{**size, **options})


def files_of(build: Path) -> dict[str, bytes]:
    return {
        p.relative_to(build).as_posix(): p.read_bytes()
        for p in build.rglob("*")
        if p.is_file() and p.suffix not in (".c", ".h")
    }


@pytest.mark.parametrize(("folder", "name"), (("upscaler", "upscaler"), ("2x-épcn", "_2x__pcn")))
@pytest.mark.parametrize("weights", ("constants", "texture"))
def test_arrays_hold_the_files_of_the_build(folder, name, weights, tmp_path):
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is needed: run make, which installs one"
    build = tmp_path / folder
    compile_espcn(build, embed="c", weights=weights, device="mali-valhall,gles30")
    (tmp_path / "dump.c").write_text(DUMP.format(name=name))
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    program = tmp_path / "dump"
    sources = (tmp_path / "dump.c", build / f"{name}.c")
    subprocess.run([compiler, *strict, f"-I{build}", *sources, "-o", program], check=True)
    expected = files_of(build)
    listed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert sorted(listed.split()) == sorted(expected)
    for path, content in expected.items():
        assert subprocess.run([program, path], check=True, capture_output=True).stdout == content


def test_equal_inputs_give_equal_bytes(tmp_path):
    for parent in ("a", "b"):
        compile_espcn(tmp_path / parent / "net", embed="c")
    for name in ("net.c", "net.h"):
        assert (tmp_path / "a/net" / name).read_bytes() == (tmp_path / "b/net" / name).read_bytes()


def test_a_later_build_replaces_the_arrays_of_an_earlier_one(tmp_path):
    build = tmp_path / "net"
    compile_espcn(build, embed="c")
    compile_espcn(build)
    assert not list(build.glob("*.[ch]"))


def test_arrays_of_a_version_with_other_words_are_replaced(tmp_path, monkeypatch):
    build = tmp_path / "net"
    with monkeypatch.context() as other:
        other.setattr(embed, "_SECOND_LINE", "   The SHA-256 is:\n")
        compile_espcn(build, embed="c")
    assert "The SHA-256 is:" in (build / "net.c").read_text()
    compile_espcn(build)
    assert not list(build.glob("*.[ch]"))


def test_sources_of_others_are_not_replaced(tmp_path):
    build = tmp_path / "net"
    compile_espcn(build)
    (build / "net.c").write_text("int main(void) { return 0; }\n")
    with pytest.raises(ShadergenError, match=r"holds files that are not part of a build: net\.c"):
        compile_espcn(build)


def test_arrays_of_another_build_are_not_replaced(tmp_path):
    build = tmp_path / "net"
    compile_espcn(tmp_path / "other", embed="c")
    build.mkdir()
    (tmp_path / "other" / "other.h").rename(build / "other.h")
    with pytest.raises(ShadergenError, match=r"are not part of a build: other\.h"):
        compile_espcn(build)
    (build / "other.h").rename(tmp_path / "other.h")
    compile_espcn(build)
    text = (tmp_path / "other.h").read_text("utf-8")
    (build / "other.h").write_text(text.replace("espcn_x2", "another"), "utf-8")
    with pytest.raises(ShadergenError, match=r"are not part of a build: other\.h"):
        compile_espcn(build)


@pytest.mark.parametrize("name", ["net.c", "net.h"])
def test_arrays_that_were_edited_or_copied_are_not_replaced(tmp_path, name):
    build, written = tmp_path / "net", tmp_path / "net" / name
    compile_espcn(build, embed="c")
    generated = written.read_text("utf-8")
    copy = written.with_stem("mine")
    copy.write_text(generated, "utf-8")
    with pytest.raises(ShadergenError, match=rf"are not part of a build: {copy.name}\n"):
        compile_espcn(build, embed="c")
    copy.unlink()
    for edited in (f"{generated}\nint mine;\n", generated.replace("size_t", "int", 1)):
        written.write_text(edited, "utf-8")
        with pytest.raises(ShadergenError, match=rf"are not part of a build: {written.name}\n"):
            compile_espcn(build, embed="c")
        assert written.read_text("utf-8") == edited
    written.write_text(generated, "utf-8")
    compile_espcn(build)
    assert not list(build.glob("*.[ch]"))


def test_an_unknown_language_is_refused(tmp_path):
    with pytest.raises(ShadergenError) as caught:
        compile_espcn(tmp_path / "net", embed="rust")
    assert caught.value.code == "SG0301"
    assert not (tmp_path / "net").exists()


def test_names_of_models_stay_inside_their_comment(tmp_path):
    names = ("a */ int x; /* b\n#error c\\", "**/*/ \u202e x", "/*/")
    for number, name in enumerate(names):
        schedule = {"model": name, "generator": "shadergen"}
        embed_c(tmp_path, f"net{number}", schedule)
        for file in (f"net{number}.c", f"net{number}.h"):
            text = (tmp_path / file).read_text("utf-8")
            assert text.isascii()
            opening = text[: text.index("\n#")]
            assert opening.count("/*") == opening.count("*/") == 1
