"""What large programs do, worked out from small ones, is what is counted in the large ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import conv, graph_of, image, pointwise

from shadergen.backends.kernels import KernelFamilies, family_of
from shadergen.backends.kernels.work import Outlines
from shadergen.compiler.options import Options
from shadergen.ir.graph import Choice, Node, Value, apply
from shadergen.ir.ops import DepthToSpace
from shadergen.passes.pipeline import optimise
from shadergen.passes.placement.kinds import has_weights
from shadergen.passes.rule import Context

RNG = np.random.default_rng(0)
X = image(1, 8, 12, 30)
SAME = {"pads": (1, 1, 1, 1)}


def separable() -> Value:
    between = conv(RNG, X, 8, (3, 3), "depthwise", groups=8, **SAME)
    return conv(RNG, between, 16, (1, 1), "mix")


GRAPHS = {
    "3x3": lambda: conv(RNG, X, 16, (3, 3), **SAME),
    "no border": lambda: conv(RNG, X, 16, (3, 3)),
    "stride": lambda: conv(RNG, X, 16, (3, 3), strides=(2, 2), **SAME),
    "dilated": lambda: conv(RNG, X, 16, (3, 3), dilations=(2, 2)),
    "far apart": lambda: conv(RNG, X, 16, (2, 2), strides=(1, 3), dilations=(1, 2)),
    "stride of a window": lambda: conv(RNG, X, 16, (2, 2), strides=(2, 2)),
    "taps in a loop": lambda: conv(RNG, X, 32, (9, 9)),
    "1x1": lambda: conv(RNG, X, 32, (1, 1)),
    "channels that end in a plane": lambda: conv(RNG, X, 15, (3, 3)),
    "groups": lambda: conv(RNG, X, 16, (3, 3), groups=2),
    "depthwise": lambda: conv(RNG, X, 8, (3, 3), groups=8, bias=False),
    "residual": lambda: pointwise("relu(x0 + x1)", conv(RNG, X, 8, (3, 3), **SAME), X),
    "upscaling": lambda: apply(DepthToSpace((2, 2), "crd"), conv(RNG, X, 16, (3, 3)), layer="up"),
    "separable": separable,
}
TARGETS = {
    "draws": {"device": "gles30"},
    "dispatches": {"device": "gles32-desktop"},
    "texelFetch": {"device": "gles31-min", "fetch": "texel"},
    "16 bits": {"device": "gles31-min", "precision": "mediump"},
    "textures of one plane": {"device": "gles32-desktop", "textures": "2d"},
    "parameters in a block": {"device": "gles31-min", "parameters": "ubo"},
}


def ways(node: Node, options: Options) -> list[Node]:
    """Return a node with each of its choices that makes no other nodes of it."""
    opened = replace(node, choice=Choice(precision=node.choice.precision))
    found = KernelFamilies(options.target()).choices(opened)
    return [replace(opened, choice=c) for c in found if not c.winograd]


@pytest.mark.parametrize("on", TARGETS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_counts_of_small_programs_give_those_of_large_ones(graph, on):
    options = Options(**TARGETS[on], fuse_separable="on" if graph == "separable" else "auto")
    target = options.target()
    placed = optimise(graph_of(GRAPHS[graph](), inputs=(X,)), Context(KernelFamilies(target)))
    every = ways(next(n for n in reversed(placed.nodes) if has_weights(n)), options)
    large = [n for n in every if n.choice.loops and family_of(n).growth(n)]
    assert large or not any(n.choice.stage == "compute" for n in every)
    for node in large:
        family = family_of(node)
        lowered = replace(family, growth=lambda node: None)
        counted = Outlines(target).work(node, lowered)
        assert Outlines(target).work(node, family) == counted, node.choice
