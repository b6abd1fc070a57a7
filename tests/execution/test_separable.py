"""A depthwise convolution and a 1x1 one as one kernel: right, and only where it can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import (
    assert_runs_like_reference,
    compile_graph,
    conv,
    graph_of,
    image,
    play,
    pointwise,
)
from support.pass_support import refusals

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.options import Options
from shadergen.compiler.tuning.file import WRONG
from shadergen.compiler.tuning.isolation import isolate
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Choice, Graph, Node, Value, apply, constant
from shadergen.ir.ops import Conv, DepthToSpace
from shadergen.ir.types import TensorType
from shadergen.passes.choose_kernels import choose_kernels
from shadergen.passes.fuse_separable import fuse_separable
from shadergen.passes.kernel_ops import SeparableConv, halves, separable
from shadergen.passes.pipeline import PLACEMENT, simplify
from shadergen.passes.placement.costs import cost_text
from shadergen.passes.placement.target import Target
from shadergen.passes.placement.tuning_key import tuning_key
from shadergen.passes.predict_cost import Predictor
from shadergen.passes.rule import Context

GL = pytest.mark.gl
DESKTOP = {"device": "gles32-desktop"}
FORCED = {**DESKTOP, "fuse_separable": "on"}
NO_ROOM = "the result has more planes than an invocation can hold (6)"


def two(
    channels: int = 8,
    out: int = 8,
    size: tuple[int, int] = (9, 10),
    kernel: tuple[int, int] = (3, 3),
    batch: int = 1,
    bias: bool = True,
    formulas: tuple[str, str] = ("min(max(x0, 0), 1)", "x0"),
    **attributes: Any,
) -> Graph:
    """Return a graph of a convolution, depthwise if nothing else is said, and a 1x1 one."""
    rng = np.random.default_rng(2)
    x = image(batch, channels, *size)
    attributes = {"pads": (1, 1, 1, 1), "groups": channels, **attributes}
    y = conv(rng, x, attributes.pop("between", channels), kernel, "first", bias, **attributes)
    y = conv(rng, pointwise(formulas[0], y), out, (1, 1), "second", bias)
    return graph_of(pointwise(formulas[1], y), inputs=(x,))


def kernels(graph: Graph, **options: Any) -> list[str]:
    placed, _, _ = compile_graph(graph, **options)
    return [type(getattr(n.op, "kernel", n.op)).__name__ for n in placed.nodes]


def before_choice(graph: Graph, **options: Any) -> tuple[Graph, Context]:
    """Return a graph as it is when kernels are to be chosen."""
    context = Context(KernelFamilies(Options(**options).target()))
    graph = simplify(graph, context)
    for step in PLACEMENT[: PLACEMENT.index(choose_kernels)]:
        graph = step(graph, context)
    return graph, context


@pytest.mark.parametrize("bias", [False, True])
def test_a_pair_is_its_two_convolutions(bias):
    rng = np.random.default_rng(0)
    x, w, u = rng.normal(size=(2, 5, 7, 9)), rng.normal(size=(5, 1, 3, 3)), rng.normal(size=(4, 5))
    first = Conv(pads=(1, 0, 2, 1), strides=(2, 1), groups=5)
    a, b = ([rng.normal(size=n)] if bias else [] for n in (5, 4))
    between = first.reference(x, w, *a)
    want = np.einsum("oc,nchw->nohw", u, between) + (b[0].reshape(4, 1, 1) if bias else 0)
    operands = (x, w, *a, u.reshape(4, 5, 1, 1), *b)
    op = SeparableConv(first, 2 + bias)
    np.testing.assert_allclose(op.reference(*operands), want, atol=1e-12)
    assert op.infer(*(TensorType(v.shape) for v in operands)).shape == want.shape


@GL
@pytest.mark.parametrize("fetch", ["texel", "image", "image-zero"])
@pytest.mark.parametrize(
    ("channels", "out", "attributes"),
    [
        (8, 8, {}),
        (3, 5, {"batch": 2, "bias": False}),
        (17, 3, {"strides": (2, 2), "pads": (0, 0, 1, 1)}),
        (5, 17, {"dilations": (2, 1), "pads": (2, 1, 2, 1)}),
        (6, 9, {"kernel": (5, 1), "pads": (2, 0, 0, 0), "strides": (1, 3), "bias": False}),
        (2, 24, {"kernel": (1, 1), "pads": (0, 0, 0, 0)}),
        (4, 1, {"kernel": (9, 9), "pads": (4, 4, 4, 4)}),
        (16, 12, {"size": (1, 11), "batch": 2}),
    ],
)
def test_pairs_run_like_the_reference(channels, out, attributes, fetch):
    graph = two(channels, out, **attributes)
    assert kernels(graph, fetch=fetch, **FORCED) == ["SeparableConv"]
    files = assert_runs_like_reference(graph, fetch=fetch, **FORCED)
    assert len(files.schedule["passes"]) == attributes.get("batch", 1)


@GL
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "constant"])
def test_every_padding_mode_runs_in_pairs(mode):
    graph = two(5, 6, (6, 7), pads=(2, 1, 0, 3), pad_mode=mode, pad_value=-0.75)
    assert kernels(graph, **FORCED) == ["SeparableConv"]
    assert_runs_like_reference(graph, **FORCED)


@GL
@pytest.mark.parametrize("weights", ["texture", "ubo", "ssbo"])
@pytest.mark.parametrize("parameters", ["constants", "ubo"])
def test_weights_of_pairs_live_anywhere(weights, parameters):
    graph = two(6, 7, formulas=("max(x0, 0.1 * x0)", "tanh(x0)"))
    options = {"weights": weights, "parameters": parameters, **FORCED}
    assert kernels(graph, **options) == ["SeparableConv"]
    assert_runs_like_reference(graph, **options)


@GL
@pytest.mark.parametrize("block", [(1, 1), (2, 1), (4, 1), (7, 1), (8, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
def test_every_block_of_a_pair_gives_the_same(block, strides, monkeypatch):
    monkeypatch.setattr("shadergen.backends.kernels.separable_convolution.BLOCKS", (block,))
    graph = two(12, 13, (9, 23), strides=strides, formulas=("relu(x0)", "x0"))
    (node,) = compile_graph(graph, **FORCED)[0].nodes
    assert node.choice.block == block
    assert_runs_like_reference(graph, **FORCED)


@GL
@pytest.mark.parametrize("weight_format", ["float16", "int8"])
@pytest.mark.parametrize("fetch", ["texel", "image"])
def test_weights_of_fewer_bits_are_those_of_two_passes(weight_format, fetch):
    graph = two(9, 10)
    options = {"weight_format": weight_format, "weights": "texture", "fetch": fetch}
    x = {"x": np.random.default_rng(0).normal(size=(1, 9, 9, 10)).astype(np.float32)}
    results = []
    for fuse, kinds in (("on", ["SeparableConv"]), ("off", ["Conv", "Conv"])):
        chosen = {**DESKTOP, **options, "fuse_separable": fuse}
        assert kernels(graph, **chosen) == kinds
        results.append(play(compile_graph(graph, **chosen)[1], x)["y0"])
    np.testing.assert_allclose(*results, atol=1e-4)


@GL
@pytest.mark.parametrize("precision", ["mediump", "auto"])
def test_pairs_run_in_16_bits(precision):
    graph = two(9, 7)
    options = {"precision": precision, "input_range": (-5.0, 5.0), **FORCED}
    assert kernels(graph, **options) == ["SeparableConv"]
    assert_runs_like_reference(graph, **options)


@GL
def test_formulas_around_a_pair_stay_fused():
    rng = np.random.default_rng(0)
    x = image(2, 6, 9, 10)
    scale, other = (constant(rng.normal(size=(6, 1, 1))) for _ in range(2))
    y = pointwise("max(x0 * x1, 0) + 1", x, scale)
    y = conv(rng, y, 6, (3, 3), "first", pads=(1, 1, 1, 1), groups=6)
    y = conv(rng, pointwise("tanh(x0) * x1 + 0.5", y, other), 6, (1, 1), "second")
    y = pointwise("x0 * x1 + x2", y, scale, x)
    graph = graph_of(y, inputs=(x,))
    assert kernels(graph, **FORCED) == ["SeparableConv"]
    assert_runs_like_reference(graph, **FORCED)


@GL
@pytest.mark.parametrize("channels", [3, 5])
def test_lanes_without_channels_do_not_spoil_a_pair(channels):
    """Their epilogue divides by zero, and weights of zero do not undo that."""
    x = image(1, channels, 9, 10)
    rng = np.random.default_rng(1)
    w = constant(np.abs(rng.normal(size=(channels, 1, 3, 3))) + 0.5, "w")
    y = apply(Conv(groups=channels), pointwise("x0 * x0 + 1", x), w, layer="first")
    y = conv(rng, pointwise("1 / x0", y), 4, (1, 1), "second")
    graph = graph_of(y, inputs=(x,))
    assert kernels(graph, **FORCED)[-1] == "SeparableConv"
    assert_runs_like_reference(graph, **FORCED)


def middle(reader: str) -> Graph:
    """Return a pair whose middle is read elsewhere too, or whose second half does more."""
    rng = np.random.default_rng(0)
    x = image(1, 8, 9, 10)
    mid: Value = conv(rng, x, 8, (3, 3), "first", groups=8, pads=(1, 1, 1, 1))
    if reader == "map":
        mid = pointwise("x0 + x1", mid, x)
    attributes: dict[str, Any] = {
        "stride": {"strides": (2, 2)}, "border": {"pads": (1, 0, 0, 0)}, "groups": {"groups": 2}
    }.get(reader, {})  # fmt: skip
    out = {"wide": 200, "shuffle": 16}.get(reader, 8)
    y = conv(rng, mid, out, (1, 1), "second", **attributes)
    if reader == "shuffle":
        y = apply(DepthToSpace((2, 2)), y)
    outputs = (y, mid) if reader == "output" else (y,)
    if reader == "node":
        outputs = (y, conv(rng, mid, 3, (3, 3), "third"))
    return graph_of(*outputs, inputs=(x,))


REASONS = {
    "map": "the epilogue of the first convolution reads a map",
    "stride": "the second convolution has a stride, padding, groups or a prologue",
    "border": "the second convolution has a stride, padding, groups or a prologue",
    "groups": "the second convolution has a stride, padding, groups or a prologue",
    "output": "'first' is read elsewhere too",
    "node": "'first' is read elsewhere too",
    "wide": NO_ROOM,
    "shuffle": "the second convolution has a stride, padding, groups or a prologue",
}


@GL
@pytest.mark.parametrize("reader", REASONS)
def test_what_one_invocation_cannot_do_stays_two(reader):
    graph = middle(reader)
    placed, _, context = compile_graph(graph, stage="compute", **FORCED)
    assert not any(isinstance(getattr(n.op, "kernel", n.op), SeparableConv) for n in placed.nodes)
    assert REASONS[reader] in refusals(context)
    assert_runs_like_reference(graph, stage="compute", **FORCED)


@pytest.mark.parametrize(
    ("graph", "options", "why"),
    [
        (two(), {**FORCED, "fuse_separable": "off"}, "--fuse-separable off excludes it"),
        (two(), {**FORCED, "stage": "fragment"}, "--stage fragment excludes it"),
        (two(), {**FORCED, "weights": "constants"}, "--weights constants excludes it"),
        (two(), {"device": "gles30", "fuse_separable": "on"}, "GLSL ES 300 has no compute shaders"),
        (two(), {**FORCED, "textures": "2d"}, "each plane of the result is a texture of its own"),
        (
            two(),
            {**FORCED, "zero_guard": 0.01},
            "--zero-guard: the intermediate is never stored, so its zeros cannot be replaced",
        ),
        (two(out=2), FORCED, "format rg32f cannot be bound as an image"),
        (two(8, 25), FORCED, NO_ROOM),  # seven planes
        (two(8, between=16), FORCED, None),  # several channels of each
        (two(8, groups=2), FORCED, None),
        (two(8, groups=1), FORCED, None),
    ],
)
def test_pairs_are_made_only_where_they_can_be(graph, options, why):
    placed, _, context = compile_graph(graph, **options)
    assert [type(getattr(n.op, "kernel", n.op)) for n in placed.nodes] == [Conv, Conv]
    said = [d.why for d in context.decisions if d.step == "fuse separable"]
    assert said == ([] if why is None else [why])


def test_a_depthwise_convolution_is_paired_without_being_asked():
    assert kernels(two(), **DESKTOP) == ["SeparableConv"]
    assert kernels(two(), device="gles30") == ["Conv", "Conv"]
    rng = np.random.default_rng(0)
    x = image(1, 3, 56, 56)
    y = pointwise("relu(x0)", conv(rng, x, 96, (1, 1), "zeroth"))
    y = pointwise("relu(x0)", conv(rng, y, 96, (3, 3), "first", pads=(1, 1, 1, 1), groups=96))
    graph = graph_of(conv(rng, y, 24, (1, 1), "second"), inputs=(x,))
    assert kernels(graph, device="llvmpipe") == ["Conv", "SeparableConv"]
    assert kernels(graph, device="llvmpipe", fuse_separable="off") == ["Conv"] * 3


def inverted_residuals() -> Graph:
    """Return two blocks of MobileNet v2, the second with its residual addition."""
    rng = np.random.default_rng(0)
    x = image(1, 3, 24, 20)
    y: Value = conv(rng, x, 8, (3, 3), "stem", pads=(1, 1, 1, 1))
    for k, stride in enumerate((2, 1)):
        wide = pointwise("min(max(x0, 0), 6)", conv(rng, y, 24, (1, 1), f"expand{k}"))
        sizes: dict[str, Any] = {"pads": (1, 1, 1, 1), "strides": (stride, stride), "groups": 24}
        deep = conv(rng, wide, 24, (3, 3), f"deep{k}", **sizes)
        narrow = conv(rng, pointwise("min(max(x0, 0), 6)", deep), 8, (1, 1), f"project{k}")
        y = pointwise("x0 + x1", narrow, y) if k else narrow
    return graph_of(y, inputs=(x,))


@GL
def test_a_block_of_mobilenet_takes_a_pass_less():
    graph, options = inverted_residuals(), {"device": "gles31-min", "stage": "compute"}
    assert kernels(graph, **options) == ["Conv", *["Conv", "SeparableConv"] * 2]
    assert len(assert_runs_like_reference(graph, **options).schedule["passes"]) == 5
    apart = assert_runs_like_reference(graph, fuse_separable="off", **options)
    assert len(apart.schedule["passes"]) == 7


def test_a_pair_is_taken_apart_into_what_it_was_made_of():
    graph, _ = before_choice(two(6, 5), **{**FORCED, "fuse_separable": "off"})
    first, second = graph.nodes
    pair = separable(first, second)
    assert isinstance(pair.op, SeparableConv)
    again = halves(pair)
    assert [n.op for n in again] == [first.op, second.op]
    assert again[1].inputs[1:] == second.inputs[1:]
    alone = isolate(
        pair,
        KernelFamilies(Options(**FORCED).target()).choices(pair)[0],
        Options(**FORCED).target(),
    )
    assert [type(getattr(n.op, "kernel", n.op)) for n in alone.nodes][-1] is SeparableConv


def times(node: Node, target: Target, nanoseconds: float) -> dict[str, dict[Choice, float]]:
    return {
        tuning_key(node, target): dict.fromkeys(KernelFamilies(target).choices(node), nanoseconds)
    }


def paired_with(measured: Any, graph: Graph, **options: Any) -> tuple[bool, str]:
    """Return whether a pair is made of two placed nodes, and why not."""
    context = Context(KernelFamilies(Options(**options).target()), measured)
    made = len(fuse_separable(graph, context).nodes) < len(graph.nodes)
    (decision,) = context.decisions
    assert made == (decision.decision == "applied")
    return made, decision.why


# Predicted to be faster as one, and as two.
PREDICTED = {
    "one": two(),
    "two": two(8, 24, (300, 300), (5, 5), formulas=("x0", "x0"), pads=(2, 2, 2, 2)),
}


@pytest.mark.parametrize("predicted", PREDICTED)
def test_measurements_decide_where_all_three_are_measured(predicted):
    graph, _ = before_choice(PREDICTED[predicted], **DESKTOP, fuse_separable="off")
    target = Options(**DESKTOP).target()
    first, second = graph.nodes
    pair = times(separable(first, second), target, 4e6)
    one = {**times(first, target, 1e6), **times(second, target, 2e6), **pair}
    other = {**times(first, target, 1e6), **times(second, target, 4e6), **pair}
    why = "measured 4 ms fused, 3 ms in two passes"
    assert paired_with(one, graph, **DESKTOP) == (False, why)
    assert paired_with(other, graph, **DESKTOP) == (True, "")
    without = {k: v for k, v in one.items() if k != tuning_key(second, target)}
    for measured in ({}, without, pair):
        assert paired_with(measured, graph, **DESKTOP)[0] == (predicted == "one")


@pytest.mark.parametrize("device", ["gles32-desktop", "llvmpipe"])
@pytest.mark.parametrize("fuse_separable", ["auto", "on"])
def test_a_pair_whose_results_were_wrong_is_not_made(device, fuse_separable):
    graph, _ = before_choice(two(), device=device, fuse_separable="off")
    target = Options(device=device).target()
    wrong = times(separable(*graph.nodes), target, WRONG)
    assert paired_with({}, graph, device=device, fuse_separable=fuse_separable) == (True, "")
    why = "wrong results when measured"
    assert paired_with(wrong, graph, device=device, fuse_separable=fuse_separable) == (False, why)
    alone = times(graph.nodes[0], target, WRONG)
    assert paired_with({**wrong, **alone}, graph, device=device, fuse_separable=fuse_separable) == (
        False,
        why,
    )


def test_a_pair_is_made_of_what_gives_wrong_results_alone():
    graph, _ = before_choice(PREDICTED["two"], **DESKTOP, fuse_separable="off")
    target = Options(**DESKTOP).target()
    assert not paired_with({}, graph, **DESKTOP)[0]
    assert paired_with(times(graph.nodes[1], target, WRONG), graph, **DESKTOP)[0]


@pytest.mark.parametrize("device", ["gles32-desktop", "gles31-mobile", "llvmpipe"])
@pytest.mark.parametrize("predicted", PREDICTED)
def test_predictions_decide_on_every_device(device, predicted):
    """They are of what would be built: constants that the budget denies do not count."""
    graph, _ = before_choice(PREDICTED[predicted], device=device, fuse_separable="off")
    pair = separable(*graph.nodes)
    target = Options(device=device).target()
    alone = choose_kernels(graph, Context(KernelFamilies(target))).nodes
    cost = sum(
        Predictor(n, KernelFamilies(target)).cost(m.choice)
        for n, m in zip(graph.nodes, alone, strict=True)
    )
    least = min(
        map(Predictor(pair, KernelFamilies(target)).cost, KernelFamilies(target).choices(pair))
    )
    made, why = paired_with({}, graph, device=device)
    assert made == (least <= cost) == (predicted == "one")
    one, two = (cost_text(target.costs, c) for c in (least, cost))
    slower = f"predicted {one} fused, {two} in two passes"
    spills = "the fused layers are predicted to spill registers, the separate ones are not"
    on_some = device == "gles31-mobile"  # on VideoCore
    assert why == ("" if made else spills if on_some else slower)


def test_a_pair_is_made_of_what_cannot_run_alone():
    """Two channels have no image, and fragments no storage block, but all between is in one."""
    graph = two(2, 8)
    options = {"device": "gles31-min", "weights": "ssbo"}
    assert (
        kernels(graph, **options)
        == kernels(graph, **options, fuse_separable="on")
        == ["SeparableConv"]
    )
    with pytest.raises(ShadergenError, match="SG0403"):
        kernels(graph, **options, fuse_separable="off")
