"""Builds with variants: what is shared, what is written, and what belongs to them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support import contents, refusal
from support.small_builds import nothing, weighing

from shadergen.backends import build_folder
from shadergen.backends.build_files import BuildFiles
from shadergen.backends.build_folder import remove_build
from shadergen.backends.variants import Variant, with_variants
from shadergen.backends.writer import write_build

VERTEX = "shaders/fullscreen.vert"


def build_of(weights: bytes, **sources: str) -> BuildFiles:
    """Return a build of a pass for each source, which are 00.frag and so on."""
    shaders = {VERTEX: "// vertex", **{f"shaders/{n}.frag": s for n, s in sources.items()}}
    file = weighing(weights)
    schedule = {
        "format": "shadergen",
        "version": "5.4",
        "requires": {"glsl": 300},
        "generator": "test",
        "model": "net",
        "weights": {"file": "weights.bin", "size": file.size, "sha256": file.sha256()},
        "passes": [{"vertex": VERTEX, "shader": f"shaders/{n}.frag"} for n in sources],
    }
    return BuildFiles(schedule, shaders, file)


def variant(name: str, files: BuildFiles) -> Variant:
    return Variant(name, files, (f"{name} ?*",), ("or similar",))


GENERIC = build_of(b"\1\2", a="// first", b="// second")
EQUAL, OTHER = build_of(b"\1\2", a="// first", b="// new"), build_of(b"\3", x="// new")
BOTH = with_variants(GENERIC, [variant("mali", EQUAL), variant("adreno", OTHER)])


def written(folder: Path, files: BuildFiles = BOTH) -> dict[str, bytes]:
    write_build(files, folder)
    found = (p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}


def test_files_of_equal_content_are_written_once(tmp_path):
    found = written(tmp_path / "b")
    assert sorted(found) == [
        "schedule.json",
        "shaders/a.frag",
        "shaders/b.frag",
        "shaders/b.mali.frag",
        "shaders/fullscreen.vert",
        "variants/adreno.json",
        "variants/mali.json",
        "weights.adreno.bin",
        "weights.bin",
    ]
    assert found["shaders/b.mali.frag"] == b"// new"
    adreno = json.loads(found["variants/adreno.json"])
    assert adreno["passes"] == [{"vertex": VERTEX, "shader": "shaders/b.mali.frag"}]
    assert adreno["weights"]["file"] == "weights.adreno.bin"
    mali = json.loads(found["variants/mali.json"])
    assert [p["shader"] for p in mali["passes"]] == ["shaders/a.frag", "shaders/b.mali.frag"]
    assert mali["weights"] == GENERIC.schedule["weights"]


def test_the_generic_schedule_lists_the_variants_and_is_else_as_without():
    schedule = dict(BOTH.schedule)
    assert [entry["name"] for entry in schedule.pop("variants")] == ["mali", "adreno"]
    assert BOTH.schedule["variants"][0] == {
        "name": "mali",
        "schedule": "variants/mali.json",
        "renderers": ["mali ?*"],
        "others": ["or similar"],
    }
    assert schedule == GENERIC.schedule


def test_all_shaders_include_those_of_variants():
    shaders = BOTH.all_shaders()
    assert shaders["shaders/b.mali.frag"] == "// new"
    assert len(shaders) == 4


def test_a_build_with_variants_replaces_another_and_is_replaced(tmp_path):
    for files in (GENERIC, BOTH, GENERIC):
        found = written(tmp_path / "b", files)
    assert sorted(found) == [
        "schedule.json", "shaders/a.frag", "shaders/b.frag", VERTEX, "weights.bin"
    ]  # fmt: skip
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_of_a_build_being_removed_the_schedules_go_last(tmp_path):
    written(tmp_path / "b")
    files = build_folder.contents(tmp_path / "b").files
    assert files[-3:] == ("variants/adreno.json", "variants/mali.json", "schedule.json")
    for path in files:  # interrupted after each
        assert not build_folder.contents(tmp_path / "b").foreign
        (tmp_path / "b" / path).unlink()


def test_a_removed_build_leaves_nothing(tmp_path):
    written(tmp_path / "b")
    remove_build(tmp_path / "b")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "place",
    ["../mine/x.json", "/etc/x.json", "variants/../../mine/x.json", "..", 5, "", "a" * 2000],
)
def test_no_schedule_outside_the_folder_says_what_is_a_builds(tmp_path, place):
    written(tmp_path / "b")
    (tmp_path / "mine").mkdir()
    other = {"format": "shadergen", "version": "5.4", "passes": [{"shader": "notes.txt"}]}
    (tmp_path / "mine" / "x.json").write_text(json.dumps(other))
    (tmp_path / "b" / "notes.txt").write_text("mine")
    schedule = json.loads((tmp_path / "b" / "schedule.json").read_text())
    schedule["variants"][0]["schedule"] = place
    (tmp_path / "b" / "schedule.json").write_text(json.dumps(schedule))
    before = contents(tmp_path)
    refused = refusal(write_build, GENERIC, tmp_path / "b", nothing)
    assert refused.code == "SG0501"
    assert "notes.txt" in refused.what
    assert contents(tmp_path) == before


def test_no_schedule_behind_a_link_says_what_is_a_builds(tmp_path):
    written(tmp_path / "b")
    shutil.move(tmp_path / "b" / "variants", tmp_path / "mine")
    (tmp_path / "b" / "variants").symlink_to(tmp_path / "mine")
    refused = refusal(write_build, GENERIC, tmp_path / "b", nothing)
    assert "variants (a link), weights.adreno.bin, shaders/b.mali.frag" in refused.what


@pytest.mark.parametrize("variants", [5, {"a": 1}, [5], [{}], [{"schedule": {}}]])
def test_a_list_that_is_none_names_no_files(tmp_path, variants):
    schedule = GENERIC.schedule | {"variants": variants}
    write_build(BuildFiles(schedule, GENERIC.shaders, GENERIC.weights), tmp_path / "b")
    found = build_folder.contents(tmp_path / "b")
    assert (found.foreign, found.missing) == ((), ())
