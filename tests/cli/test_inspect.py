"""``inspect``: estimates for named GPUs, of builds and of models."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from support import ESPCN

from shadergen.backends.devices.gpus import GPUS
from shadergen.compiler.cli.output import GAP, new_table, print_table
from shadergen.compiler.device_comparison import Cell, compare_models, layer_rows
from shadergen.compiler.options import Options

SIZE = ("--input-size", "16x24")


def test_a_family_shows_what_limits_each_pass_and_the_frame_on_its_gpus(shadergen, build):
    ran = shadergen("inspect", build, "--device", "adreno-6xx")
    assert (ran.code, ran.err) == (0, "")
    assert "4 GPU passes, 1.26 M multiply-adds" in ran.out
    assert "\nestimate for Adreno 630 (Snapdragon 845):\n" in ran.out
    assert "\nestimates from published rates, not measured:\n" in ran.out
    assert [name for name in GPUS if name in ran.out] == ["Adreno 630", "Adreno 640"]
    row = next(line for line in ran.out.splitlines() if line.startswith("3   subpixel    "))
    # each of 32x48 texels of 4 bytes is written once, from the texels of 16x24 by 16 bytes
    assert row.split()[2:8] == ["6", "KiB", "24", "KiB", "6", "KiB"]
    assert row.split()[-1] == "start"  # of so small a map


def test_a_generic_profile_shows_the_frame_on_every_gpu(shadergen, build):
    out = shadergen("inspect", build, "--device", "gles30").out
    assert all(name in out for name in GPUS)
    assert "estimate for" not in out


def test_without_a_device_nothing_is_estimated(shadergen, build):
    assert "estimate" not in shadergen("inspect", build).out
    assert shadergen("inspect", build, "--json").json["estimates"] == []


def test_the_json_has_each_pass_on_each_gpu(shadergen, build):
    found = shadergen("inspect", build, "--device", "mali-bifrost", "--json").json
    frames = found["estimates"]
    assert [f["gpu"] for f in frames] == ["Mali-G72 MP12", "Mali-G76 MP10"]
    for frame in frames:
        passes = frame["passes"]
        assert [p["name"] for p in passes] == [p["name"] for p in found["passes"]]
        assert frame["milliseconds"] == pytest.approx(sum(p["milliseconds"] for p in passes))
        assert passes[-1]["traffic"] == {
            "read": 16 * 24 * 16,
            "weights": 0,
            "fetched": 32 * 48 * 16,
            "written": 32 * 48 * 4,
            "texels": {"rgba32f": 32 * 48},
            "constants": 0,
        }
        assert set(passes[0]["units"]) == {
            "arithmetic", "textures", "memory", "render targets", "start"
        }  # fmt: skip


def test_a_model_is_compiled_for_the_device_and_inspected(shadergen, tmp_path):
    options = (*SIZE, "--device", "mali-valhall", "--precision", "fp16")
    assert shadergen("compile", ESPCN, "-o", tmp_path / "b", *options).code == 0
    compiled = shadergen("inspect", tmp_path / "b", "--device", "mali-valhall", "--json").json
    assert shadergen("inspect", ESPCN, *options, "--json").json == compiled
    assert compiled["estimates"]


def test_a_model_needs_no_device(shadergen, build):
    plain = shadergen("inspect", ESPCN, *SIZE)
    assert (plain.code, plain.out) == (0, shadergen("inspect", build).out)


def test_options_of_compiling_need_a_model(shadergen, build):
    ran = shadergen("inspect", build, "--mrt", "2")
    assert ran.code == 2
    assert ran.err.startswith(f"error[SG0301]: --mrt needs a model: '{build}' is a compiled build")


def test_a_model_that_is_missing_is_not_taken_for_a_build(shadergen, tmp_path):
    ran = shadergen("inspect", tmp_path / "missing.onnx")
    assert ran.code == 2
    assert ran.err.startswith("error[SG0101]: cannot open")


def test_a_build_of_an_earlier_version_is_inspected_but_not_estimated(shadergen, build, tmp_path):
    old = shutil.copytree(build, tmp_path / "old")
    schedule = json.loads((old / "schedule.json").read_text())
    schedule["version"] = "5.2"
    del schedule["sha256"]
    for p in schedule["passes"]:
        del p["work"]
        for part in (*p["reads"], *p["blocks"]):
            part.pop("fetches", None), part.pop("loads", None)
    (old / "schedule.json").write_text(json.dumps(schedule))
    assert shadergen("inspect", old).out == shadergen("inspect", build).out
    ran = shadergen("inspect", old, "--device", "nvidia")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error[SG0301]: --device needs counts of operations and bytes")
    assert f"--> {old}" in ran.err


DEVICES = ("--device", "gles32-desktop, mali-valhall")


def test_a_model_is_compiled_for_several_devices_and_compared(shadergen):
    out = shadergen("inspect", ESPCN, *SIZE, *DEVICES).out
    alone = [
        shadergen("inspect", ESPCN, *SIZE, "--device", name, "--json").json
        for name in ("gles32-desktop", "mali-valhall")
    ]
    cells = {row.split("  ")[0]: row.split()[-2:] for row in out.splitlines() if "  " in row}
    assert cells["GPU passes"] == [str(len(found["passes"])) for found in alone]
    milliseconds = {f["gpu"]: f["milliseconds"] for f in alone[1]["estimates"]}
    assert cells["Mali-G78 MP20"] == ["-", f"{milliseconds['Mali-G78 MP20']:.3g}"]
    assert cells["Arc A770"][1] == "-"
    assert "times of layers: mali-valhall on Mali-G610 MP4" in out
    found = shadergen("inspect", ESPCN, *SIZE, *DEVICES, "--json").json["devices"]
    assert [each.pop("device") for each in found] == ["gles32-desktop", "mali-valhall"]
    assert found == alone


def test_a_build_shows_each_device_its_variant(shadergen, tmp_path):
    build = tmp_path / "b"
    assert (
        shadergen("compile", ESPCN, "-o", build, *SIZE, "--device", "mali-valhall,gles30").code == 0
    )
    out = shadergen("inspect", build, "--device", "mali-valhall,nvidia").out
    (row,) = [line for line in out.splitlines() if line.startswith("build ")]
    assert row.split() == ["build", "variant", "mali-valhall", "generic"]


def test_rows_of_layers_add_up_to_the_frame_and_say_where_a_layer_is_fused():
    options = Options(input_size={"": (16, 24)})
    builds = compare_models(ESPCN, options, ("gles30", "mali-valhall"))
    rows = layer_rows(builds)
    for k, build in enumerate(builds):
        cells = [row.cells[k] for row in rows]
        assert sum(cell.passes for cell in cells) == len(build.passes)
        if k == 0:
            assert all(cell.milliseconds is None for cell in cells)
            continue
        total = sum(cell.milliseconds or 0 for cell in cells)
        assert total == pytest.approx(build.estimates[0].milliseconds)
    assert [row.layers[-1] for row in rows] == ["conv1", "conv2", "conv3", "subpixel"]
    conv3 = rows[2].cells
    assert (conv3[0].passes, conv3[1]) == (1, Cell(fused_into="subpixel"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--device", "nvidia,"), "a name in the list is empty"),
        (("--device", "nvidia,nvidia"), "name each device once"),
        (("--device", "nvidia,gles30", "--variant", "nvidia"), "--variant needs a single --device"),
    ],
)
def test_lists_of_devices_that_say_nothing_are_refused(shadergen, build, options, says):
    ran = shadergen("inspect", build, *options)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_a_report_of_several_devices_is_refused(shadergen, tmp_path):
    ran = shadergen("report", ESPCN, "-o", tmp_path / "r.html", *SIZE, *DEVICES)
    assert ran.code == 2
    assert "report takes one device profile" in ran.err


WIDE = new_table("pass", "layers", "kernel", "MACs", "bytes")
WIDE.add_row(
    "body.0.relu[0:4]", "body.0.conv+norm, body.0.relu", "fragment kernel", "1.5 M", "2 KiB"
)
FITTING = len("body.0.relu[0:4]" + "body.0.conv+norm," + "fragment" + "1.5 M" + "2 KiB") + 4 * GAP


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(FITTING, []), (FITTING - 1, ["layers"]), (40, ["layers", "MACs"])],
)
def test_a_narrow_terminal_shows_fewer_columns_instead_of_broken_words(
    width, left_out, monkeypatch, capsys
):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a terminal
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(WIDE, ("layers", "MACs"))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).split("\n")
    assert lines[0].split() == [c for c in WIDE.columns if c not in left_out]
    words = {word for cell in WIDE.rows[0] for word in cell.split()}
    assert {word for line in lines[2:4] for word in line.split()} <= words
    said = f"left out to fit {width} columns: {', '.join(left_out)}; a wider terminal shows more"
    assert (said in lines) == bool(left_out)


def test_a_pipe_gets_every_column(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    print_table(WIDE, ("layers", "MACs"))
    assert capsys.readouterr().out.split("\n")[0].split() == list(WIDE.columns)


def test_columns_narrows_a_table_in_a_pipe_and_breaks_no_words(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(WIDE, ("layers",))
    assert len(capsys.readouterr().out.split("\n")) == 5  # heads, a rule, one row, an empty line
    monkeypatch.setenv("COLUMNS", "1")
    print_table(WIDE, ("layers",))
    lines = capsys.readouterr().out.split("\n")
    assert max(map(len, lines)) == FITTING
    assert [line.rstrip() for line in lines] == lines
    words = {word for cell in WIDE.rows[0] for word in cell.split()}
    assert {word for line in lines[2:] for word in line.split()} == words
