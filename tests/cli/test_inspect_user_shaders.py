"""``inspect --target mpv``: the passes of a user shader, and estimates of a frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx.numpy_helper import from_array
from onnx.parser import parse_model
from support import ESPCN

from shadergen.backends.devices.gpus import GPUS

UPSCALE = Path(ESPCN).parents[1] / "networks" / "upscale" / "upscale.onnx"
MPV = ("--target", "mpv")
TEXEL = 8  # bytes: four 16-bit floats


def test_passes_are_those_of_the_file_for_a_picture_of_1080p(shadergen):
    found = shadergen("inspect", ESPCN, *MPV, "--json").json
    assert (found["hook"], len(found["passes"])) == ("LUMA", 11)
    copy, first, *_, last = found["passes"]
    assert (copy["name"], copy["height"], copy["width"]) == ("copy of low", 1080, 1920)
    assert (last["height"], last["width"]) == (2160, 3840)
    assert first["bytes_read"] == first["bytes_written"] == 1080 * 1920 * TEXEL
    assert found["macs"] == 3280 * 1080 * 1920
    assert [frame["gpu"] for frame in found["estimates"]] == list(GPUS)
    ran = shadergen("inspect", ESPCN, *MPV)
    assert (
        "11 GPU passes, 6.8 G multiply-adds, user shader on LUMA, for a picture of 1080x1920"
        in (ran.out)
    )


def test_layers_that_are_in_several_textures_fetch_each_texture_once_a_tap(shadergen):
    found = shadergen(
        "inspect", ESPCN, *MPV, "--device", "amd-rdna", "--stage", "fragment", "--json"
    )
    passes = found.json["estimates"][0]["passes"]
    assert [p["traffic"]["fetched"] // (1080 * 1920 * TEXEL) for p in passes[:6]] == [
        *(1, 25, 25, 25, 25),
        9 * 4,
    ]


@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_resizes_that_passes_sample_are_no_passes(shadergen, tmp_path, stage):
    """As many as in the file; fragment passes of ``upscale`` sample the enlarged picture."""
    flags = (UPSCALE, *MPV, "--stage", stage, "--json")
    written = shadergen("compile", *flags, "-o", tmp_path / "a.glsl", "--no-validate").json
    found = shadergen("inspect", *flags).json
    assert len(found["passes"]) == written["passes"]
    assert {p["stage"] for p in found["passes"]} == {"fragment", stage}


def test_a_device_or_a_size_is_estimated_alone(shadergen):
    flags = ("inspect", ESPCN, *MPV, "--device", "amd-rdna", "--json")
    frames = shadergen(*flags).json["estimates"]
    assert [frame["family"] for frame in frames] == ["amd-rdna"] * len(frames)
    small = shadergen(*flags, "--input-size", "dynamic:540x960").json
    assert (small["passes"][0]["height"], small["passes"][0]["width"]) == (540, 960)
    assert small["estimates"][0]["milliseconds"] == pytest.approx(
        frames[0]["milliseconds"] / 4, rel=0.1
    )


def test_chroma_is_half_as_large(shadergen, tmp_path):
    model = parse_model("""
        <ir_version: 8, opset_import: ["": 18]>
        net (float[1,2,H,W] x, float[1,1,H2,W2] luma) => (float[1,2,H,W] y) {
            half = AveragePool<kernel_shape=[2,2], strides=[2,2]>(luma)
            sum = Add(x, half)
            y = Conv(sum, w)
        }""")
    model.graph.initializer.append(from_array(np.ones((2, 2, 1, 1), np.float32), "w"))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    found = shadergen("inspect", tmp_path / "net.onnx", *MPV, "--luma", "luma", "--json").json
    shown = [(p["name"], p["height"], p["width"]) for p in found["passes"][:2]]
    assert shown == [("copy of x", 540, 960), ("copy of luma", 1080, 1920)]


def test_a_build_has_no_target(shadergen, tmp_path):
    build = tmp_path / "build"
    assert not shadergen("compile", ESPCN, "--input-size", "16x24", "-o", build).code
    assert "--target needs a model" in shadergen("inspect", build, *MPV).err
