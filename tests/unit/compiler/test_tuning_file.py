"""Tuning files: read, written, refused."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from shadergen.compiler.options import Options
from shadergen.compiler.tuning.file import MEMBERS, WRONG, Tuning, read_tuning, save_tuning
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Choice

LLVMPIPE = Options(device="llvmpipe")
FIRST = Choice("compute", (8, 1), 2, "texture", "highp")


def tuning(**more: Any) -> Tuning:
    times = {FIRST: 1200.0, Choice("fragment", planes=2, precision="highp"): WRONG}
    return Tuning("llvmpipe (LLVM)", {"a": times, "b": {}}, **more)


def test_a_file_reads_back(tmp_path):
    save_tuning(tuning(), tmp_path / "t.json")
    assert read_tuning(tmp_path / "t.json") == tuning()
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]


def test_a_failed_write_leaves_the_file_that_was(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    save_tuning(tuning(), path)
    before = path.read_text()

    def fail(source: Path, destination: Path) -> None:
        raise OSError("no room")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(ShadergenError, match=r"cannot write .*t\.json"):
        save_tuning(replace(tuning(), renderer="other"), path)
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]


def test_known_times_are_kept():
    more = tuning().extended("a", {FIRST: 5.0, replace(FIRST, planes=4): 7.0})
    assert more.measured["a"][FIRST] == 1200.0
    assert more.measured["a"][replace(FIRST, planes=4)] == 7.0


def edit(change: Any) -> Any:
    def apply_to(data: dict[str, Any]) -> Any:
        change(data)
        return data

    return apply_to


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: [], "the file is an array, not an object"),
        (edit(lambda d: d.update(version=1)), "version 1, not 'shadergen tuning' version 3"),
        (edit(lambda d: d.update(more=1)), "the file has unknown members: more"),
        (edit(lambda d: d.pop("renderer")), "the file has no member renderer"),
        (edit(lambda d: d.update(renderer=3)), "the renderer is a number, not a string"),
        (edit(lambda d: d.update(nodes={})), "nodes is an object, not an array"),
        (edit(lambda d: d["nodes"].append(d["nodes"][0])), "two nodes have the signature 'a'"),
        (
            edit(lambda d: d["nodes"][0]["choices"][0].pop("planes")),
            "an entry of choices has no member planes",
        ),
        (edit(lambda d: d["nodes"][0]["choices"][0].update(stage="mesh")), "stage 'mesh' is not"),
        (edit(lambda d: d["nodes"][0]["choices"][0].update(block=[8])), "block [8]"),
        (edit(lambda d: d["nodes"][0]["choices"][0].update(block=[8, 1000])), "block 1000"),
        (edit(lambda d: d["nodes"][0]["choices"][0].update(planes=True)), "planes True"),
        (
            edit(lambda d: d["nodes"][0]["choices"][0].update(alias=False)),
            "an entry of choices has unknown members: alias",
        ),
        (
            edit(lambda d: d["nodes"][0]["choices"].append({**d["nodes"][0]["choices"][0]})),
            "two choices of a node are the same: compute, 1x8 pixels of 2 planes",
        ),
        (edit(lambda d: d["nodes"][0]["choices"][0].update(nanoseconds=-1)), "nanoseconds is -1"),
        (edit(lambda d: d["nodes"][0]["choices"][0].update(nanoseconds="1")), "nanoseconds is '1'"),
    ],
)
def test_malformed_files_are_refused_by_name(tmp_path, change, says):
    path = tmp_path / "t.json"
    save_tuning(tuning(), path)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ShadergenError) as refused:
        read_tuning(path)
    assert refused.value.code == "SG0305"
    assert says in refused.value.why


@pytest.mark.parametrize(
    ("text", "code"), [("{", "SG0305"), ("[" * 10**5, "SG0305"), (None, "SG0101")]
)
def test_what_is_no_json_is_refused(tmp_path, text, code):
    path = tmp_path / "t.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ShadergenError) as refused:
        read_tuning(path)
    assert refused.value.code == code


def test_another_renderer_is_refused_unless_forced(tmp_path):
    path = tmp_path / "t.json"
    save_tuning(replace(tuning(), renderer="Mali-G78"), path)
    options = Options(device="llvmpipe", tuning=path)
    with pytest.raises(ShadergenError) as refused:
        options.measured()
    assert refused.value.code == "SG0306"
    assert "on 'Mali-G78'" in refused.value.why
    assert replace(options, foreign_tuning=True).measured()
    assert replace(options, device="gles31-mobile").measured()  # of no renderer in particular


def test_files_hold_every_part_of_a_choice_that_takes_time():
    assert {*MEMBERS, "alias"} == {part.name for part in fields(Choice)}
