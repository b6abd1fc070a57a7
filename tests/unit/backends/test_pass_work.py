"""The work that the schedule states for each GPU pass, against counts by hand."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from support import compile_graph, conv, graph_of, image
from support.dimensions import DEFAULTS, new

from shadergen.backends import pass_work
from shadergen.ir.graph import apply
from shadergen.ir.ops import Reduce

HEIGHT, WIDTH = 5, 6
TAPS, PLANES_IN, PLANES_OUT = 9, 2, 3
LANES = 4


def entry(**options):
    """Return the schedule of a 3x3 convolution without border, from 8 channels to 12."""
    x = image(1, LANES * PLANES_IN, HEIGHT + 2, WIDTH + 2)
    y = conv(np.random.default_rng(0), x, LANES * PLANES_OUT, (3, 3))
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), **options)
    return files.schedule["passes"]


def multiplies(planes: int) -> int:
    return TAPS * PLANES_IN * LANES * LANES * planes


def test_a_draw_fetches_each_tap_once_for_all_planes_it_writes():
    (p,) = entry(weights="constants", winograd="off", device="gles30")
    assert p["work"] == {
        "invocations": HEIGHT * WIDTH,
        "multiplies": multiplies(PLANES_OUT),
        "operations": LANES * PLANES_OUT,  # the last texel's sum, which begins with the bias
    }
    assert [r["fetches"] for r in p["reads"]] == [TAPS * PLANES_IN]
    assert p["blocks"] == []


def test_loads_of_weights_are_rows_of_four():
    (p,) = entry(weights="ubo", winograd="off", device="gles30", mrt=3)
    assert p["work"]["multiplies"] == multiplies(PLANES_OUT)
    rows = TAPS * PLANES_IN * LANES * PLANES_OUT  # biases are at constant indices
    assert [b["loads"] for b in p["blocks"]] == [rows]


def test_weights_at_constant_indices_are_no_loads():
    passes = entry(weights="ubo", winograd="off", device="adreno-6xx", stage="fragment")
    assert [b["loads"] for p in passes for b in p["blocks"]] == [0] * len(passes)


def test_fetches_of_weights_are_told_from_those_of_the_tensor():
    (p,) = entry(weights="texture", winograd="off", device="gles30", mrt=3)
    fetches = {r["texture"]: r["fetches"] for r in p["reads"]}
    rows = (TAPS * PLANES_IN * LANES + 1) * PLANES_OUT
    assert fetches == {"x": TAPS * PLANES_IN, "conv.weights": rows}


def test_loops_that_end_at_uniforms_run_as_often_as_the_pass_sets():
    (p,) = entry(stage="compute", weights="ubo", winograd="off", device="gles31-mobile")
    assert "u_planes_in" in {u["name"] for u in p["uniforms"]}
    found = p["work"]["invocations"] * p["work"]["multiplies"]
    least = HEIGHT * WIDTH * multiplies(PLANES_OUT)
    assert least <= found < 2 * least  # blocks of pixels reach beyond the map


def test_dynamic_sizes_leave_the_invocations_symbolic_and_count_loops_at_the_defaults():
    _, height, width = new()
    x = image(1, LANES, height, width)
    total = apply(Reduce("sum", (2,)), x)
    _, files, _ = compile_graph(graph_of(total, inputs=(x,)))
    work = [(p["work"]["invocations"], p["reads"][0]["fetches"]) for p in files.schedule["passes"]]
    assert work == [(["width"], DEFAULTS["height"])]


@pytest.mark.parametrize("mrt", [1, 3])
def test_a_program_that_several_passes_share_is_walked_once(mrt):
    with patch.object(pass_work, "loops", wraps=pass_work.loops) as walked:
        passes = entry(weights="ubo", winograd="off", device="gles30", mrt=mrt)
    assert len(passes) == PLANES_OUT // mrt
    assert walked.call_count == 1


@pytest.mark.parametrize("weights", ["constants", "ubo"])
def test_each_of_the_2d_textures_of_a_tensor_is_fetched_once_a_tap(weights):
    x = image(1, LANES, HEIGHT + 2, WIDTH + 2)
    between = conv(np.random.default_rng(0), x, LANES * PLANES_IN, (1, 1))
    y = conv(np.random.default_rng(1), between, LANES * PLANES_OUT, (3, 3))
    options = {"weights": weights, "winograd": "off", "textures": "2d", "mrt": 3}
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), device="gles30", **options)
    reads = files.schedule["passes"][-1]["reads"]
    assert [(r["layer"], r["fetches"]) for r in reads] == [(n, TAPS) for n in range(PLANES_IN)]
