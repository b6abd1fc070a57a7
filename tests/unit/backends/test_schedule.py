"""Schedules: passes, requirements, and bytes that do not vary."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from support import (
    ESPCN,
    compile_graph,
    contents,
    conv,
    graph_of,
    image,
    pointwise,
)

from shadergen.backends.build_files import BuildFiles
from shadergen.backends.weights import WeightFile
from shadergen.compiler.compilation import import_model
from shadergen.compiler.options import Options
from shadergen.ir.graph import Graph, apply, constant
from shadergen.ir.ops import OPS


@pytest.fixture(scope="module")
def espcn() -> Graph:
    return import_model(ESPCN, Options(input_size={"": (360, 640)}))


@pytest.mark.parametrize(("mrt", "passes"), [(4, 4), (2, 6), (1, 10), (None, 5)])
def test_espcn_takes_as_many_passes_as_render_targets_allow(espcn, mrt, passes):
    _, files, _ = compile_graph(espcn, mrt=mrt)
    entries = files.schedule["passes"]
    assert len(entries) == passes
    assert sum(p["macs"] for p in entries) == 640 * 360 * (25 * 16 + 9 * 16 * 16 + 9 * 16 * 4)
    writes = [(w["texture"], w["layer"]) for p in entries for w in p["writes"]]
    assert len(set(writes)) == len(writes)


def test_espcn_at_its_peak_holds_less_than_the_sum_of_its_textures(espcn):
    textures = compile_graph(espcn)[1].schedule["textures"]
    slots = [t["slot"] for t in textures if t["slot"] is not None]
    assert len(set(slots)) < len(slots)


def test_requirements_are_the_largest_use_of_each_limit():
    x = image(1, 8, 30, 40)
    y = conv(np.random.default_rng(0), x, 16, (3, 3))
    _, files, _ = compile_graph(
        graph_of(y, inputs=(x,)), weights="ubo", parameters="ubo", textures="array"
    )
    limits = files.schedule["requires"]["limits"]
    assert limits == {
        "texture_size": 40, "array_texture_layers": 4, "texture_units": 1, "draw_buffers": 4,
        "uniform_block_size": 8 * 16 * 9 * 4, "uniform_blocks": 2, "storage_block_size": 0,
        "storage_blocks": 0, "fragment_images": 0, "compute_images": 0, "compute_texture_units": 0,
        "compute_uniform_blocks": 0, "workgroup_invocations": 0, "workgroup_count": 0,
    }  # fmt: skip
    _, files, _ = compile_graph(
        graph_of(y, inputs=(x,)), stage="compute", fetch="image", device="gles31-min", glsl=310
    )
    assert files.schedule["requires"]["limits"] == dict.fromkeys(limits, 0) | {
        "texture_size": 40, "array_texture_layers": 4, "compute_images": 2,
        "compute_texture_units": 1, "workgroup_invocations": 64, "workgroup_count": 17,
    }  # fmt: skip
    assert files.schedule["requires"]["color_buffer"] == "float"
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), precision="mediump")
    assert files.schedule["requires"]["color_buffer"] == "half_float"
    _, files, _ = compile_graph(graph_of(x, inputs=(x,)), output_encoding="unorm8")
    assert files.schedule["requires"]["color_buffer"] == "none"


def test_weights_that_begin_alike_are_stored_each(tmp_path):
    weights, zeros = WeightFile(), np.zeros(1000, np.float32)
    one = (np.arange(1000) // 999).astype(np.float32)
    ranges = [weights.add([part[:10], part[10:]]) for part in (zeros, one, zeros, one)]
    assert [r["offset"] for r in ranges] == [0, 4000, 0, 4000]
    weights.save(tmp_path / "weights.bin")
    content = (tmp_path / "weights.bin").read_bytes()
    assert content == np.concatenate([zeros, one]).astype("<f4").tobytes()
    assert hashlib.sha256(content).hexdigest() == weights.sha256()


def test_weights_are_aligned_and_equal_ones_are_stored_once(tmp_path):
    weights = WeightFile()
    first = weights.add([np.arange(3, dtype=np.float16)])
    second = weights.add([np.arange(2, dtype=np.float32), np.arange(2, 5, dtype=np.float32)])
    assert weights.add([np.arange(3, dtype=">f2")]) == first == {"offset": 0, "size": 6}
    assert second == {"offset": 16, "size": 20}
    assert weights.add([np.zeros(0, np.float32)]) == {"offset": 48, "size": 0}
    weights.save(tmp_path / "weights.bin")
    content = (tmp_path / "weights.bin").read_bytes()
    assert len(content) == weights.size == 48
    assert content[16:36] == np.arange(5, dtype="<f4").tobytes()
    assert weights.sha256() == hashlib.sha256(content).hexdigest()


def test_the_same_graph_gives_the_same_bytes_whatever_was_compiled_before():
    def build(sign: float) -> BuildFiles:
        x = image(1, 3, 5, 5)
        w = constant(np.full((4, 3, 1, 1), sign * 0.0) + np.eye(4, 3).reshape(4, 3, 1, 1) * sign)
        y = apply(OPS["Conv"](), x, w, layer="c")
        return compile_graph(graph_of(pointwise("x0 + x1", y, constant(0.0)), inputs=(x,)))[1]

    first, other, again = build(1.0), build(-1.0), build(1.0)
    assert first == again
    assert first.shaders != other.shaders


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(tmp_path):
    digests = []
    for seed in ("1", "77"):
        folder = tmp_path / seed
        subprocess.run(
            [sys.executable, "-m", "shadergen", "compile", ESPCN, "-o", folder, "--input-size",
             "24x32", "--weights", "texture", "--parameters", "ubo", "--no-validate"],
            check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        digests.append(contents(folder))
    assert digests[0] == digests[1]
