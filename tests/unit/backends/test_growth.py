"""What large programs do, worked out from small ones, is what is counted in the large ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import conv, graph_of, image, pointwise

from shadergen.backends.kernels import KernelFamilies, family_of
from shadergen.backends.kernels.program_keys import reduced
from shadergen.backends.kernels.work import Outlines
from shadergen.compiler.options import Options
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import Choice, Node, Value, apply, constant
from shadergen.ir.ops import Conv, DepthToSpace, Pool
from shadergen.passes.kernel_ops import Fused
from shadergen.passes.pipeline import optimise
from shadergen.passes.placement.kinds import has_weights
from shadergen.passes.rule import Context

if TYPE_CHECKING:
    from collections.abc import Hashable

RNG = np.random.default_rng(0)
X = image(1, 8, 12, 30)
ONE = image(1, 1, 12, 30)
SAME, WIDE = {"pads": (1, 1, 1, 1)}, {"pads": (2, 2, 2, 2)}


def separable() -> Value:
    between = conv(RNG, X, 8, (3, 3), "depthwise", groups=8, **SAME)
    return conv(RNG, between, 16, (1, 1), "mix")


GRAPHS = {
    "3x3": lambda: conv(RNG, X, 16, (3, 3), **SAME),
    "one input plane": lambda: pointwise("tanh(x0)", conv(RNG, ONE, 16, (5, 5), **WIDE)),
    "no border": lambda: conv(RNG, X, 16, (3, 3)),
    "stride": lambda: conv(RNG, X, 16, (3, 3), strides=(2, 2), **SAME),
    "dilated": lambda: conv(RNG, X, 16, (3, 3), dilations=(2, 2)),
    "far apart": lambda: conv(RNG, X, 16, (2, 2), strides=(1, 3), dilations=(1, 2)),
    "stride of a window": lambda: conv(RNG, X, 16, (2, 2), strides=(2, 2)),
    "taps in a loop": lambda: conv(RNG, X, 32, (9, 9)),
    "1x1": lambda: conv(RNG, X, 32, (1, 1)),
    "channels that end in a plane": lambda: conv(RNG, X, 15, (3, 3)),
    "depthwise": lambda: conv(RNG, X, 8, (3, 3), groups=8, bias=False),
    "residual": lambda: pointwise("relu(x0 + x1)", conv(RNG, X, 8, (3, 3), **SAME), X),
    "upscaling": lambda: apply(DepthToSpace((2, 2), "crd"), conv(RNG, X, 16, (3, 3)), layer="up"),
    "separable": separable,
}
FEW = ("channels that end in a plane", "depthwise", "residual")  # or planes that are not alike
TARGETS = {
    "draws": {"device": "gles30"},
    "dispatches": {"device": "gles32-desktop"},
    "texelFetch": {"device": "gles31-min", "fetch": "texel"},
    "16 bits": {"device": "gles31-min", "precision": "mediump"},
    "textures of one plane": {"device": "gles32-desktop", "textures": "2d"},
    "parameters in a block": {"device": "gles31-min", "parameters": "ubo"},
}

NONE_GROWS = set(product(FEW, ("draws", "textures of one plane")))


def ways(node: Node, kernels: KernelFamilies) -> list[Node]:
    """Return the nodes with choices that each choice of a node makes of it."""
    undecided = replace(node, choice=Choice(precision=node.choice.precision))
    chosen = (replace(undecided, choice=choice) for choice in kernels.choices(undecided))
    return [made for n in chosen for made in family_of(n).expand(n, kernels.target)]


@pytest.mark.parametrize("on", TARGETS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_counts_of_small_programs_give_those_of_large_ones(graph, on):
    options = Options(**TARGETS[on], fuse_separable="on" if graph == "separable" else "auto")
    target = options.target()
    kernels = KernelFamilies(target)
    x = ONE if graph == "one input plane" else X
    placed = optimise(graph_of(GRAPHS[graph](), inputs=(x,)), Context(kernels))
    every = ways(next(n for n in reversed(placed.nodes) if has_weights(n)), kernels)
    large = [n for n in every if family_of(n).growth(n, n.choice)]
    assert bool(large) == ((graph, on) not in NONE_GROWS)
    for node in large:
        family = family_of(node)
        lowered = replace(family, growth=lambda node, choice: None)
        counted = Outlines(target).work(node, lowered)
        grown = Outlines(target).work(node, family)
        assert grown == counted, node.choice


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("small", "large"),  # inputs, results, groups; of one plane to read and of two
    [((8, 8, 2), (16, 16, 2)), ((16, 16, 8), (16, 8, 8))],
)
def test_groups_of_one_plane_and_of_several_are_counted_apart(small, large, order):
    target = Options(device="gles30").target()
    kernels, shared = KernelFamilies(target), Outlines(target)
    for inputs, results, groups in (small, large)[::order]:
        x = image(1, inputs, 12, 30)
        y = conv(RNG, x, results, (3, 3), groups=groups, **SAME)
        (placed,) = optimise(graph_of(y, inputs=(x,)), Context(kernels)).nodes
        for node in ways(placed, kernels):
            if node.choice.weights != "constants":
                family = family_of(node)
                assert shared.work(node, family) == Outlines(target).work(node, family)


SPARSE = RNG.normal(size=(16, 16, 3, 3)) * (RNG.random((16, 16, 3, 3)) < 0.2)


@pytest.mark.parametrize("device", ["gles30", "mali-valhall"])
@pytest.mark.parametrize(
    "weights",
    [
        RNG.normal(size=(16, 1, 5, 5)),
        RNG.normal(size=(16, 3, 3, 3)),
        RNG.normal(size=(16, 5, 3, 3)),  # fills an input plane and a quarter of the next
        RNG.normal(size=(7, 16, 3, 3)),
        RNG.normal(size=(16, 17, 1, 1)),
        SPARSE,
        SPARSE * (np.arange(16) != 5)[:, None, None, None],
    ],
    ids=lambda w: "x".join(map(str, w.shape)),
)
def test_products_with_constants_are_predicted_as_they_are_lowered(weights, device):
    x = image(1, weights.shape[1], 12, 30)
    y = apply(Conv(), x, constant(weights, "weights"), layer="conv")
    target = Options(device=device).target()
    kernels = KernelFamilies(target)
    (node,) = optimise(graph_of(y, inputs=(x,)), Context(kernels)).nodes
    opened = replace(node, choice=Choice(precision=node.choice.precision))
    choices = [c for c in kernels.choices(opened) if not c.winograd]
    every = [c for c in choices if (c.weights, c.planes) == ("constants", node.result.type.planes)]
    assert every  # other planes may have other zeros, and only the first pass is lowered
    for choice in every:
        (predicted,) = kernels.work(opened, choice)
        made = replace(opened, choice=choice)
        lowered = Outlines(target).work(made, family_of(made))
        assert predicted.multiplies == pytest.approx(lowered.multiplies)
        assert predicted.code == pytest.approx(lowered.code)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("device", ["gles30", "gles32-desktop"])
@pytest.mark.parametrize("of", [X, conv(RNG, X, 16, (3, 3), **SAME)], ids=["loop", "convolution"])
def test_formulas_with_different_constants_are_counted_apart(of, device, order):
    """pow(x0, 0.5) is a square root; every other power is a power."""
    target = Options(device=device, winograd="2x2").target()
    kernels, shared = KernelFamilies(target), Outlines(target)
    found: dict[Choice, set[tuple[Hashable, int]]] = {}
    for power in (0.5, 0.9)[::order]:
        y = pointwise(f"pow(abs(x0), {power})", of)
        *_, placed = optimise(graph_of(y, inputs=(X,)), Context(kernels)).nodes
        for node in ways(placed, kernels) if of is X else [placed]:
            family = family_of(node)
            work = shared.work(node, family)
            assert work == Outlines(target).work(node, family)
            found.setdefault(node.choice, set()).add((family.program_key(node), work.operations))
    assert all(len(keys) == 2 for keys in found.values())


def test_large_integers_of_an_operator_are_reduced_and_its_other_fields_are_whole():
    pool = Pool("lp", (9, 3), (5, 8), (1, 1), (12, 0, -7, 4), p=2.25)
    assert reduced(pool) == Pool("lp", (5, 3), (5, 8), (1, 1), (8, 0, -7, 4), p=2.25)
    formula = parse("x0 * 12 + idiv(x0, 16)")
    fused = Fused(pool, 5, epilogue=formula, store=(DepthToSpace((10, 2), "crd"),))
    assert reduced(fused) == Fused(
        reduced(pool), 5, epilogue=formula, store=(DepthToSpace((6, 2), "crd"),)
    )


def test_constants_that_are_zero_are_left_out_of_programs_that_are_lowered():
    weights = RNG.normal(size=(16, 8, 1, 1))
    weights[4:8] = 0.0
    y = apply(Conv(), X, constant(weights, "weights"), layer="conv")
    target = Options(device="gles30").target()
    (node,) = optimise(graph_of(y, inputs=(X,)), Context(KernelFamilies(target))).nodes
    unrolled = Choice("fragment", planes=4, weights="constants", precision="highp")
    work = Outlines(target).work(replace(node, choice=unrolled), family_of(node))
    assert work.code == 3 * 8  # planes that are not zero, channels
