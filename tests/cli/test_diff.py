"""``diff``: two builds are compared step by step; the exit status is that of diff."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import ESPCN

from shadergen.compiler import driver
from shadergen.compiler.build_diff import diff_builds, tensor_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = {"input_size": {"": (16, 24)}, "validate": False}


@pytest.fixture(scope="module")
def compute(tmp_path_factory) -> Path:
    """Return a build of the shipped network with compute shaders."""
    folder = tmp_path_factory.mktemp("compute") / "build"
    driver.compile_model(ESPCN, folder, driver.Options(device="gles32-desktop", **SIZE))
    return folder


@pytest.fixture
def copy(build, tmp_path) -> Path:
    """Return a copy of a build that may be changed."""
    shutil.copytree(build, tmp_path / "copy")
    return tmp_path / "copy"


@contextmanager
def changed(folder: Path) -> Iterator[dict[str, Any]]:
    """Give the schedule of a build to change."""
    path = folder / "schedule.json"
    data = json.loads(path.read_text())
    yield data
    data.pop("sha256", None)
    path.write_text(json.dumps(data))


def test_equal_builds_exit_with_0(shadergen, build, copy):
    ran = shadergen("diff", build, copy, "--shaders")
    assert (ran.code, ran.out, ran.err) == (0, "the builds are equal\n", "")
    assert json.loads(shadergen("diff", build, copy, "--json").out)["equal"]


def test_changed_added_and_removed_steps_are_named(shadergen, build, compute):
    ran = shadergen("diff", build, compute)
    assert ran.code == 1
    found = diff_builds(build, compute)
    back = diff_builds(compute, build)
    kinds = {c.step.name: c.kind for c in found.changes}
    assert kinds["subpixel"] == "changed"
    assert {n: k for n, k in kinds.items() if k == "removed"} == {
        c.step.name: "removed" for c in back.changes if c.kind == "added"
    }
    assert "removed" in kinds.values()
    subpixel = next(c for c in found.changes if c.step.name == "subpixel")
    assert "kernel: fragment loop kernel -> compute convolution" in subpixel.details
    for name in kinds:
        assert f"{name} " in ran.out
    data = json.loads(shadergen("diff", build, compute, "--json").out)
    assert {
        c["after" if c["after"] else "before"]["name"]: c["kind"] for c in data["changes"]
    } == kinds
    assert "void main" not in json.dumps(data)


def test_totals_are_those_of_the_schedules(build, compute):
    found = diff_builds(build, compute)
    for totals, folder in ((found.before, build), (found.after, compute)):
        passes = json.loads((folder / "schedule.json").read_text())["passes"]
        assert totals.passes == len(passes)
        assert totals.macs == sum(p["macs"] for p in passes)
    assert diff_builds(build, build, "adreno-6xx").before.milliseconds
    assert set(found.before.milliseconds) == set(found.after.milliseconds)


def test_changed_shaders_are_shown_line_by_line(shadergen, build, copy):
    path = sorted((copy / "shaders").glob("*.frag"))[0]
    text = path.read_text()
    path.write_text(text.replace("void main() {", "void main() {\n    int unused = 1;"))
    ran = shadergen("diff", build, copy, "--shaders")
    assert ran.code == 1
    lines = ran.out.split("\n")
    assert f"--- {build}/shaders/{path.name}" in lines
    assert f"+++ {copy}/shaders/{path.name}" in lines
    assert "+    int unused = 1;" in lines
    assert "unused" not in shadergen("diff", build, copy).out


def test_changed_comments_are_a_difference_of_no_step(shadergen, build, copy):
    path = sorted((copy / "shaders").glob("*.frag"))[0]
    path.write_text(path.read_text().replace("// ", "// changed ", 1))
    ran = shadergen("diff", build, copy)
    assert ran.code == 1
    assert "the shaders differ only in comments or in the order of passes: see --shaders" in ran.out


def test_swapped_buffers_are_a_difference(shadergen, compute, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(compute, copy)
    with changed(copy) as data:
        a, b, *_ = data["buffers"]
        a["offset"], b["offset"] = b["offset"], a["offset"]
    ran = shadergen("diff", compute, copy)
    assert ran.code == 1
    assert "the schedules also differ in: buffers\n" in ran.out


def test_layers_with_an_index_in_their_names_are_steps_of_their_own(build, copy):
    with changed(copy) as data:
        for k, p in enumerate(data["passes"][:2]):
            p["name"] = f"a[{k}]"
    added = [c.step.name for c in diff_builds(build, copy).changes if c.kind == "added"]
    assert added == ["a[0]", "a[1]"]


@pytest.mark.parametrize(
    ("name", "layers", "tensor"),
    [
        ("a[0:2]", 2, "a"),
        ("a[10:12]", 2, "a"),
        ("a[0:1,16:17]", 2, "a"),
        ("a[0]", 1, "a[0]"),
        ("a:0]", 1, "a:0]"),
        ("a[0:2]b", 2, "a[0:2]b"),
        ("[0:2", 2, "[0:2"),
        ("a[0:20]", 20, "a[0:20]"),  # the model's own name: the pass writes all layers
    ],
)
def test_a_pass_that_writes_some_layers_belongs_to_their_tensor(name, layers, tensor):
    writes = [{"texture": "t", "layer": k} for k in range(layers)]
    assert tensor_of({"name": name, "writes": writes}, {"t": {"layers": 20}}) == tensor


def test_any_other_member_of_the_schedule_is_named(shadergen, build, copy):
    with changed(copy) as data:
        data["model"] = "other"
    ran = shadergen("diff", build, copy)
    assert ran.code == 1
    assert "the schedules also differ in: model\n" in ran.out


def test_trouble_exits_with_2(shadergen, build, tmp_path):
    ran = shadergen("diff", build, tmp_path / "missing")
    assert ran.code == 2
    assert "missing" in ran.err
    assert shadergen("diff", build, build, "--device", "nonsense").code == 2
