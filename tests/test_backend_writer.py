"""Checking shaders and replacing builds, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from support import (
    ESPCN,
    contents,
    refusal,
)

from shadergen.backends import validate as validation
from shadergen.backends import writer
from shadergen.backends.lower import convolution
from shadergen.backends.schedule import BuildFiles
from shadergen.backends.validate import find_glslang
from shadergen.backends.weights import WeightFile
from shadergen.backends.writer import write_build
from shadergen.compiler import driver
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.errors import InternalError, ShadergenError

glslang = pytest.mark.skipif(find_glslang() is None, reason="glslang is not installed")


# --- validation -----------------------------------------------------------------------------------


def options(**more) -> Options:
    return Options(input_size={"": (8, 8)}, **more)


@glslang
def test_a_shader_that_glslang_refuses_is_a_bug_and_leaves_the_earlier_build(tmp_path, monkeypatch):
    build, left = tmp_path / "builds" / "build", tmp_path / "left"
    compile_model(ESPCN, build, options())
    before = contents(build.parent)
    left.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(left))
    monkeypatch.setattr(convolution, "corner", lambda conv: "nowhere")
    with pytest.raises(InternalError) as caught:
        compile_model(ESPCN, build, options(mrt=1))
    text = str(caught.value)
    assert "glslang refuses a generated shader" in text
    assert re.search(r"shaders/00_\w+\.frag:\d+: 'nowhere' : undeclared identifier", text)
    assert re.search(r"^    layer \S+", text, re.MULTILINE)
    assert "    ivec2 corner = nowhere;" in text
    (graph,) = left.glob("*/failed_after_plan_textures.ir")
    assert text.endswith(f"the graph was left in {graph}")
    assert contents(build.parent) == before


def test_without_glslang_nothing_is_validated(tmp_path, monkeypatch):
    monkeypatch.setattr(validation.shutil, "which", lambda name: None)
    compiled = compile_model(ESPCN, tmp_path / "b", options())
    assert not compiled.validated


def test_validation_can_be_turned_off(tmp_path, monkeypatch):
    monkeypatch.setattr(convolution, "corner", lambda conv: "nowhere")
    assert not compile_model(ESPCN, tmp_path / "b", options(validate=False)).validated


# --- writer ---------------------------------------------------------------------------------------


def weighing(content: bytes) -> WeightFile:
    weights = WeightFile()
    if content:
        weights.add([np.frombuffer(content, np.uint8)])
    return weights


FILES = BuildFiles({"format": "shadergen"}, {"shaders/a.frag": "// a\n"}, weighing(b"\1\2"))


def nothing(folder: Path) -> None:
    """Check nothing."""


def test_a_build_replaces_an_earlier_one_whole(tmp_path):
    build = tmp_path / "deep" / "down" / "b"
    write_build(FILES, build)
    more = BuildFiles({"format": "shadergen"}, {"shaders/b.vert": "// b\n"}, weighing(b""))
    write_build(more, build)
    found = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.*")}
    assert found == {f"deep/down/b/{n}" for n in ("schedule.json", "weights.bin", "shaders/b.vert")}
    assert (build / "schedule.json").read_text() == '{\n "format": "shadergen"\n}\n'


def test_what_was_checked_holds_the_checksum_of_its_own_text(tmp_path):
    zeros = "0" * 64
    schedule = {"format": "shadergen", "version": "5.2", "model": f"{zeros}é"}
    write_build(BuildFiles(schedule, {}, weighing(b"")), tmp_path / "b", nothing)
    text = (tmp_path / "b" / "schedule.json").read_bytes()
    found = json.loads(text)
    digest = found.pop("sha256")
    assert found == schedule
    assert hashlib.sha256(text.replace(digest.encode(), zeros.encode())).hexdigest() == digest


def test_a_schedule_that_runtimes_would_refuse_is_not_written(tmp_path, monkeypatch):
    compile_model(ESPCN, tmp_path / "b", options(validate=False))
    before = contents(tmp_path)
    monkeypatch.setattr(driver, "GENERATOR", "")
    refused = refusal(compile_model, ESPCN, tmp_path / "b", options(validate=False))
    assert (refused.code, refused.where[-1]) == ("SG0503", "schedule.json: generator")
    assert contents(tmp_path) == before


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "b").mkdir()
    write_build(FILES, tmp_path / "b", nothing)
    assert (tmp_path / "b" / "weights.bin").read_bytes()[:2] == b"\1\2"


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (["notes.txt"], "notes.txt"),
        (["schedule.json", "weights.bin", "mine.frag"], "mine.frag"),
        (["shaders/mine.frag"], "shaders"),
        (["schedule.json", "shaders/notes.txt"], "shaders/notes.txt"),
        (["weights.bin"], "weights.bin"),
    ],
)
def test_folders_that_hold_anything_else_are_refused(tmp_path, files, named):
    for name in files:
        path = tmp_path / "b" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    before = contents(tmp_path)
    refused = refusal(write_build, FILES, tmp_path / "b", nothing)
    assert refused.code == "SG0501"
    assert refused.what == f"'{tmp_path / 'b'}' holds other things than a build: {named}"
    assert contents(tmp_path) == before


def test_files_links_and_folders_below_files_are_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path)
    for name, what in (("file", "is not a folder"), ("link", "is a symbolic link")):
        assert refusal(write_build, FILES, tmp_path / name, nothing).what.endswith(what)
    refused = refusal(write_build, FILES, tmp_path / "file" / "b", nothing)
    assert refused.code == "SG0501"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link"]


def test_an_output_that_leads_through_the_build_itself_is_replaced_like_any_other(tmp_path):
    write_build(FILES, tmp_path / "b", nothing)
    write_build(FILES, tmp_path / "b" / ".." / "b", nothing)
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize(
    "failure", [InternalError("bug"), OSError(28, "No space"), KeyboardInterrupt()]
)
def test_what_fails_while_checking_leaves_the_earlier_build_and_nothing_else(tmp_path, failure):
    write_build(FILES, tmp_path / "b", nothing)
    before = contents(tmp_path)

    def fail(folder: Path) -> None:
        assert (folder / "schedule.json").is_file()
        raise failure

    with pytest.raises((InternalError, ShadergenError, KeyboardInterrupt)):
        write_build(BuildFiles({"format": "new"}, {}, weighing(b"new")), tmp_path / "b", fail)
    assert contents(tmp_path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("failure", [OSError(13, "Denied"), KeyboardInterrupt()])
def test_what_fails_while_moving_puts_the_earlier_build_back(tmp_path, monkeypatch, failure):
    write_build(FILES, tmp_path / "b", nothing)
    before, rename = contents(tmp_path), Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise failure
        return rename(self, target)

    monkeypatch.setattr(writer.Path, "rename", fail)
    with pytest.raises((ShadergenError, KeyboardInterrupt)):
        write_build(BuildFiles({"format": "new"}, {}, weighing(b"new")), tmp_path / "b", nothing)
    assert contents(tmp_path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["b"]
