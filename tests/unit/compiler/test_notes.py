"""What compiling says without being asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import ESPCN, compile_graph, conv, graph_of, image

import shadergen
from shadergen.compiler.driver import compile_model
from shadergen.compiler.notes import compiled_notes
from shadergen.compiler.options import Options
from shadergen.ir.graph import Graph

RNG = np.random.default_rng(0)
DESKTOP = {"device": "gles32-desktop"}


def notes(graph: Graph, **options: Any) -> tuple[str, ...]:
    compiled, _, context = compile_graph(graph, **options)
    return compiled_notes(compiled, context)


def single(out: int = 8, kernel: int = 3, channels: int = 8) -> Graph:
    x = image(1, channels, 9, 10)
    return graph_of(conv(RNG, x, out, (kernel, kernel)), inputs=(x,))


def two(groups: int = 8) -> Graph:
    """Return a graph of a convolution, depthwise if nothing else is said, and a 1x1 one."""
    x = image(1, 8, 9, 10)
    y = conv(RNG, x, 8, (3, 3), "first", groups=groups)
    return graph_of(conv(RNG, y, 8, (1, 1), "second"), inputs=(x,))


@pytest.mark.parametrize(
    ("graph", "options", "why"),
    [
        (two(), {**DESKTOP, "stage": "fragment"}, "--stage fragment excludes it"),
        (two(), {**DESKTOP, "weights": "constants"}, "--weights constants excludes it"),
        (two(), {"device": "gles30"}, "GLSL ES 300 has no compute shaders"),
        (two(groups=1), DESKTOP, "no layer qualifies"),
    ],
)
def test_pairs_that_were_asked_for_and_not_made_are_noted(graph, options, why):
    assert notes(graph, **options) == ()
    assert notes(graph, **options, fuse_separable="on") == (
        f"--fuse-separable on has no effect: {why}",
    )
    assert notes(two(), **DESKTOP, fuse_separable="on") == ()


@pytest.mark.parametrize("tiles", ["2x2", "4x4"])
@pytest.mark.parametrize(
    ("graph", "options", "why"),
    [
        (
            single(),
            {"device": "llvmpipe", "weights": "constants"},
            "--weights constants excludes it",
        ),
        (single(), {**DESKTOP, "precision": "fp16"}, "16-bit arithmetic is too inaccurate"),
        (single(), {"device": "gles30", "textures": "2d"}, "Winograd needs array textures"),
        (single(kernel=5), DESKTOP, "the convolution is not 3x3 with stride 1 in one group"),
        (single(out=2), DESKTOP, "format rg32f cannot be bound as an image"),
    ],
)
def test_tiles_that_were_asked_for_and_not_taken_are_noted(graph, options, tiles, why):
    assert notes(graph, **options, winograd="off") == ()
    assert notes(graph, **options, winograd=tiles) == (f"--winograd {tiles} has no effect: {why}",)
    assert notes(single(), **DESKTOP, winograd=tiles) == ()


@pytest.mark.parametrize(
    ("graph", "options", "why"),
    [
        (
            single(),
            {"winograd": "4x4", "mrt": 1},
            "a tile needs 16 render targets, a draw has 1",
        ),
        (
            single(),
            {"winograd": "2x2", "mrt": 2, "weights": "constants"},
            "a tile needs 4 render targets, a draw has 2",
        ),
    ],
)
def test_tiles_of_draws_that_were_not_taken_are_noted(graph, options, why):
    said = f"--winograd {options['winograd']} has no effect: {why}"
    assert notes(graph, device="gles30", **options) == (said,)
    assert notes(single(), device="gles30", winograd="2x2") == ()


def test_compute_that_was_asked_for_and_has_no_place_is_noted():
    options = {**DESKTOP, "stage": "compute"}
    assert notes(single(out=2), **options) == (
        "--stage compute has no effect: format rg32f cannot be bound as an image",
    )
    assert notes(single(), **options) == ()


def test_compiling_hands_the_notes_on(tmp_path):
    options = Options(input_size={"": (8, 8)}, fuse_separable="on")
    compiled = compile_model(ESPCN, tmp_path / "b", options)
    assert compiled.notes == ("--fuse-separable on has no effect: no layer qualifies",)


def test_notes_of_the_python_interface_name_options_as_keywords():
    compiled = shadergen.compile_model(ESPCN, input_size="8x8", fuse_separable="on")
    assert compiled.notes == ('fuse_separable="on" has no effect: no layer qualifies',)
