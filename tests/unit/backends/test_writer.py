"""Checking shaders and replacing builds, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import (
    ESPCN,
    contents,
    refusal,
)
from support.small_builds import FILES, files_of, nothing, weighing

from shadergen.backends import validate as validation
from shadergen.backends.build_files import BuildFiles
from shadergen.backends.dialects.glsl_es import GlslEs
from shadergen.backends.validate import find_glslang
from shadergen.backends.weights import WeightFile
from shadergen.backends.writer import write_build
from shadergen.compiler import compilation
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.errors import InternalError, ShadergenError

RANGE = {"offset": 0, "size": 0}
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
    monkeypatch.setitem(GlslEs.BUILT_INS, "pixel", "nowhere")
    with pytest.raises(InternalError) as caught:
        compile_model(ESPCN, build, options(mrt=1))
    text = str(caught.value)
    assert "glslang refuses a generated shader" in text
    assert re.search(r"shaders/00_\w+\.frag:\d+: 'nowhere' : undeclared identifier", text)
    assert re.search(r"^    layer \S+", text, re.MULTILINE)
    assert "    ivec2 pixel = nowhere;" in text
    (graph,) = left.glob("*/failed_after_allocate_textures.ir")
    assert text.endswith(f"the graph was left in {graph}")
    assert contents(build.parent) == before


def test_without_glslang_nothing_is_validated(tmp_path, monkeypatch):
    monkeypatch.setattr(validation.shutil, "which", lambda name: None)
    compiled = compile_model(ESPCN, tmp_path / "b", options())
    assert not compiled.validated


def test_a_glslang_that_does_not_run_is_none(tmp_path, monkeypatch):
    broken = tmp_path / "glslangValidator"
    broken.write_bytes(b"\x7fELF no program")
    broken.chmod(0o755)
    monkeypatch.setattr(validation.shutil, "which", lambda name: str(broken))
    assert compile_model(ESPCN, tmp_path / "b", options()).validation == {"glslang": False}


def test_shaders_are_printed_before_the_weights_are_made(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr(WeightFile, "add", lambda self, parts: steps.append("weights") or RANGE)
    request = options(weights="texture")
    graph = import_model(ESPCN, request)
    compile_graph(graph, request, printed=lambda shaders: steps.append("shaders"))
    assert steps[:2] == ["shaders", "weights"]
    assert steps.count("shaders") == 1


def test_equal_shaders_are_validated_once(monkeypatch):
    seen: list[dict[str, str]] = []
    monkeypatch.setattr(
        validation, "validate", lambda shaders, layers: seen.append(shaders) or {"glslang": True}
    )
    with validation.Validation() as checked:
        checked.begin("gles30", {"shaders/a.frag": "// a", "shaders/b.frag": "// b"}, {})
        checked.begin("mali", {"shaders/c.frag": "// a", "shaders/b.frag": "// new"}, {})
        assert checked.result() == {"glslang": True}
    assert seen == [
        {"shaders/a.frag": "// a", "shaders/b.frag": "// b"},
        {"shaders/b.frag": "// new"},
    ]


def test_a_refused_shader_is_of_a_device(monkeypatch):
    def refuse(shaders: dict[str, str], layers: dict[str, str]) -> None:
        raise InternalError("glslang refuses a generated shader")

    monkeypatch.setattr(validation, "validate", refuse)
    with validation.Validation() as checked:
        checked.begin("adreno-7xx", {"shaders/a.frag": "// a"}, {})
        with pytest.raises(InternalError, match="--device adreno-7xx: glslang refuses"):
            checked.result()


@glslang
def test_without_room_for_the_shaders_the_folder_is_named(tmp_path, monkeypatch):
    def full(self: Path, *text: object, **how: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    refused = refusal(validation.validate, {"shaders/a.frag": "// a"}, {})
    assert refused.code == "SG0501"
    assert tempfile.gettempdir() in refused.what
    assert "TMPDIR" in refused.help


def test_an_adapter_without_f16_validates_the_other_shaders(monkeypatch):
    seen: dict[str, list[str]] = {}

    def device(required_features):
        if required_features:
            raise RuntimeError("the adapter does not support shader-f16")
        return SimpleNamespace(create_shader_module=lambda code: seen.setdefault("code", [code]))

    adapter = SimpleNamespace(request_device_sync=device)
    wgpu = SimpleNamespace(gpu=SimpleNamespace(request_adapter_sync=lambda: adapter))
    monkeypatch.setattr(validation, "import_module", lambda name: wgpu)
    shaders = {"shaders/a.wgsl": "fn main() {}", "shaders/b.wgsl": "enable f16;\nfn main() {}"}
    found = validation.validate(shaders, {})
    assert found == {"naga": True, "naga with shader-f16": False}
    assert seen == {"code": ["fn main() {}"]}


def test_validation_can_be_turned_off(tmp_path, monkeypatch):
    monkeypatch.setitem(GlslEs.BUILT_INS, "pixel", "nowhere")
    assert not compile_model(ESPCN, tmp_path / "b", options(validate=False)).validated


# --- writer ---------------------------------------------------------------------------------------


def test_a_build_replaces_an_earlier_one_whole(tmp_path):
    build = tmp_path / "deep" / "down" / "b"
    write_build(FILES, build)
    write_build(files_of("shaders/b.vert"), build)
    found = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.*")}
    assert found == {f"deep/down/b/{n}" for n in ("schedule.json", "weights.bin", "shaders/b.vert")}
    text = (build / "schedule.json").read_text()
    assert text.startswith('{\n "format": "shadergen",\n')
    assert json.loads(text)["passes"] == [{"shader": "shaders/b.vert"}]


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
    monkeypatch.setattr(compilation, "GENERATOR", "")
    refused = refusal(compile_model, ESPCN, tmp_path / "b", options(validate=False))
    assert (refused.code, refused.where[-1]) == ("SG0503", "schedule.json: generator")
    assert contents(tmp_path) == before


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "b").mkdir()
    write_build(FILES, tmp_path / "b", nothing)
    assert (tmp_path / "b" / "weights.bin").read_bytes()[:2] == b"\1\2"


NOT_OURS = {
    "no JSON": b"mine",
    "no text": b"\xff\xfe\x00",
    "another format": b'{"format": "mine", "version": "5.2"}',
    "no version": b'{"format": "shadergen", "version": 5}',
    "a list": b'["shadergen"]',
    "deep": b'{"format": ' + b"[" * 1_000_000,
    "a long number": b'{"format": ' + b"9" * 10_000 + b"}",
    "too large": b'{"format": "shadergen", "version": "5.2", "passes": ['
    + b" " * (1 << 26)
    + b"]}",
}


@pytest.mark.parametrize("kind", NOT_OURS)
def test_a_folder_is_a_build_only_where_its_schedule_says_so(tmp_path, kind):
    (tmp_path / "b" / "shaders").mkdir(parents=True)
    (tmp_path / "b" / "schedule.json").write_bytes(NOT_OURS[kind])
    (tmp_path / "b" / "weights.bin").write_bytes(b"mine")
    before = contents(tmp_path)
    refused = refusal(write_build, FILES, tmp_path / "b", nothing)
    assert refused.code == "SG0501"
    assert refused.what.endswith("is not a build: shadergen did not write its schedule.json")
    assert contents(tmp_path) == before


def test_a_folder_without_a_schedule_is_no_build(tmp_path):
    write_build(FILES, tmp_path / "b", nothing)
    (tmp_path / "b" / "schedule.json").unlink()
    before = contents(tmp_path)
    refused = refusal(write_build, FILES, tmp_path / "b", nothing)
    assert refused.what.endswith("are not part of a build: shaders, weights.bin")
    assert contents(tmp_path) == before


def linked(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.parent.parent / "elsewhere")


def folder_of(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)
    (path / "mine.txt").write_text("mine")


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def written(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")


def folder_by_link(path: Path) -> None:
    path.rename(path.parent.parent / "moved")
    path.symlink_to(path.parent.parent / "moved")


@pytest.mark.parametrize(
    ("name", "make", "named"),
    [
        ("notes.txt", written, "notes.txt"),
        ("net.c", written, "net.c"),
        ("shaders/notes.txt", written, "shaders/notes.txt"),
        ("shaders/mine.frag", written, "shaders/mine.frag"),
        ("shaders/old.frag", folder_of, "shaders/old.frag"),
        ("more/a.frag", written, "more"),
        ("weights.bin", folder_of, "weights.bin (a folder)"),
        ("shaders/a.frag", folder_of, "shaders/a.frag (a folder)"),
        ("weights.bin", linked, "weights.bin (a link)"),
        ("shaders", folder_by_link, "shaders (a link)"),
        ("mine", linked, "mine"),
        ("weights.bin", pipe, "weights.bin (not a regular file)"),
        ("schedule.json", pipe, ""),
        ("schedule.json", linked, ""),
        ("schedule.json", folder_of, ""),
    ],
)
def test_what_is_beside_a_build_or_of_another_kind_is_refused(tmp_path, name, make, named):
    write_build(FILES, tmp_path / "b", nothing)
    make(tmp_path / "b" / name)
    before = contents(tmp_path)
    refused = refusal(write_build, FILES, tmp_path / "b", nothing)
    assert refused.code == "SG0501"
    what = f"holds files that are not part of a build: {named}"
    if not named:
        what = "is not a build: shadergen did not write its schedule.json"
    assert refused.what == f"'{tmp_path / 'b'}' {what}"
    assert refused.help == "name a new or empty folder with -o"
    assert contents(tmp_path) == before


def test_nothing_is_compiled_for_a_folder_that_cannot_be_replaced(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    refused = refusal(compile_model, tmp_path / "missing.onnx", tmp_path / "b", options())
    assert refused.code == "SG0501"


def test_what_comes_into_the_folder_while_compiling_is_refused(tmp_path):
    write_build(FILES, tmp_path / "b", nothing)

    def meanwhile(folder: Path) -> None:
        (tmp_path / "b" / "notes.txt").write_text("mine")

    refused = refusal(write_build, files_of("shaders/new.frag"), tmp_path / "b", meanwhile)
    assert refused.what.endswith("are not part of a build: notes.txt")
    assert {p.name for p in (tmp_path / "b").rglob("*.*")} == {
        "notes.txt", "schedule.json", "weights.bin", "a.frag"
    }  # fmt: skip
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("version", ["1.0", "3.0", "4.0", "5.0", "6.7"])
def test_a_build_of_another_version_is_replaced(tmp_path, version):
    write_build(files_of("shaders/a.frag", version=version), tmp_path / "b")
    write_build(files_of("shaders/b.frag"), tmp_path / "b")
    assert [p.name for p in (tmp_path / "b" / "shaders").iterdir()] == ["b.frag"]


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


def test_an_output_that_leads_through_a_link_is_where_the_system_finds_it(tmp_path, monkeypatch):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path / "far" / "away")
    monkeypatch.chdir(tmp_path / "here")
    write_build(FILES, Path("link") / ".." / "b", nothing)
    assert (tmp_path / "far" / "b" / "weights.bin").is_file()
    assert [p.name for p in (tmp_path / "here").iterdir()] == ["link"]


@pytest.mark.parametrize("name", [".", "..", "c/.."])
def test_an_output_without_a_name_of_its_own_is_refused(tmp_path, monkeypatch, name):
    (tmp_path / "b" / "c").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "b")
    before = (tmp_path / "b").stat().st_ino
    for refused in (
        refusal(write_build, FILES, Path(name), nothing),
        refusal(compile_model, ESPCN, Path(name), options()),
    ):
        assert refused.code == "SG0501"
        assert refused.what == f"'{name}' does not name a folder"
    assert (tmp_path / "b").stat().st_ino == before


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
        write_build(files_of("shaders/new.frag", b"new"), tmp_path / "b", fail)
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

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises((ShadergenError, KeyboardInterrupt)):
        write_build(files_of("shaders/new.frag", b"new"), tmp_path / "b", nothing)
    assert contents(tmp_path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["b"]
