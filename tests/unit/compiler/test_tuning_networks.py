"""Tuning says of a kernel what verify says: networks whose layers read what is alive for long."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support import TOLERANCE, conv, gl_context, graph_of, image, play, pointwise

from shadergen.backends.kernels import KernelFamilies, lower
from shadergen.backends.schedule import schedule
from shadergen.compiler.options import Options
from shadergen.compiler.tuning.isolation import MEASURED, build_of, isolate, repeated
from shadergen.compiler.tuning.session import Kind, kinds
from shadergen.compiler.tuning.trials import Settings, measure
from shadergen.ir.graph import Choice, Graph, Value, apply
from shadergen.ir.ops import Concat, DepthToSpace, Pool
from shadergen.ir.reference import evaluate_graph
from shadergen.passes.pipeline import optimise
from shadergen.passes.rule import Context
from shadergen.runtime_glue.python.schedule import ComputePass

QUICK = Settings(frames=1, warm_up=0, node_seconds=1.0)
TARGET = Options(device="llvmpipe").target()
X = image(1, 3, 12, 20)
RNG = np.random.default_rng(0)


def layer(x: Value, channels: int, name: str) -> Value:
    y = conv(RNG, x, channels, (3, 3), name, pads=(1, 1, 1, 1))
    return pointwise("relu(x0)", y, layer=f"{name} relu")


def residual() -> Value:
    h = layer(X, 16, "stem")
    y = conv(RNG, layer(h, 16, "first"), 16, (3, 3), "second", pads=(1, 1, 1, 1))
    return pointwise("x0 + x1", h, y, layer="add")


def dense() -> Value:
    h = layer(X, 16, "stem")
    for k in range(2):
        h = apply(Concat(1), h, layer(h, 8, f"grow{k}"), layer=f"join{k}")
    return layer(h, 16, "last")


def u_shaped() -> Value:
    high = layer(X, 16, "high")
    low = layer(apply(Pool("max", (2, 2), strides=(2, 2)), high, layer="down"), 32, "low")
    back = apply(DepthToSpace((2, 2), "crd"), low, layer="up")
    return layer(apply(Concat(1), high, back, layer="skip"), 16, "last")


def chosen(network: Callable[[], Value]) -> tuple[Graph, list[Kind]]:
    """Return a network's graph, and the kinds of nodes that are to be tuned."""
    graph = graph_of(network(), inputs=(X,))
    seen: dict[str, Graph] = {}
    optimise(graph, Context(KernelFamilies(TARGET)), seen.__setitem__)
    return graph, kinds(KernelFamilies(TARGET), seen["alias_planes"])


def ways(kind: Kind) -> list[Choice]:
    """Return the likeliest choice of each stage with each size of tiles, or none."""
    return list({(c.stage, c.winograd): c for c in reversed(kind.likely)}.values())


@pytest.mark.gl
@pytest.mark.parametrize("network", [residual, dense, u_shaped])
def test_tuning_and_verify_find_the_same_kernels_right(network):
    graph, every = chosen(network)
    assert any(c.winograd for kind in every for c in ways(kind))
    for kind in every:
        trials = measure(kind.node, ways(kind), TARGET, gl_context(), QUICK, lambda step: None)
        assert {str(t.choice): t.wrong for t in trials} == dict.fromkeys(map(str, ways(kind)), "")
    x = RNG.uniform(-1, 1, X.type.shape).astype(np.float32)
    (want,) = evaluate_graph(graph, {"x": x}, np.float64).values()
    for k in range(max(len(ways(kind)) for kind in every)):
        forced = {i.tuning_key: {ways(i)[k % len(ways(i))]: 1.0} for i in every}
        placed = optimise(graph, Context(KernelFamilies(TARGET), forced))
        files = schedule(placed, lower(placed, TARGET), TARGET, "tests")
        (got,) = play(files, {"x": x}).values()
        assert np.abs(got - want).max() <= TOLERANCE["highp"] * max(1, np.abs(want).max())


def test_operands_of_a_measured_node_are_made_first_and_kept():
    """The sum is read when the tiles of the convolution before it are done with."""
    _, every = chosen(residual)
    choices = [(i.node, c) for i in every if "add" in i.name for c in i.likely if c.winograd]
    assert choices
    for node, choice in choices:
        build = build_of(isolate(node, choice, TARGET), TARGET)
        own = [MEASURED in p.layers for p in build.passes]
        assert own == sorted(own), "copies stand first"
        copies = {w.texture for p in build.passes if MEASURED not in p.layers for w in p.writes}
        slots = [build.textures[name].slot for name in copies]
        others = [t.slot for t in build.textures.values() if t.name not in copies]
        assert len(copies) == 2
        assert not {*slots} & {*others}


def test_each_further_turn_waits_for_what_the_one_before_reads():
    _, every = chosen(residual)
    node, choice = next(
        (i.node, c) for i in every for c in i.likely if c.winograd and c.stage == "compute"
    )
    build = build_of(isolate(node, choice, TARGET), TARGET)
    own = [p for p in build.passes if MEASURED in p.layers]
    thrice = repeated(build, 3).passes
    assert len(thrice) == len(build.passes) + 2 * len(own)
    assert isinstance(own[0], ComputePass)
    begins = [p.barriers for p in thrice if p.name == own[0].name]
    assert begins == [own[0].barriers, *[("framebuffer", "image", "texture")] * 2]
    assert not [p for p in repeated(build, 0).passes if MEASURED in p.layers]
