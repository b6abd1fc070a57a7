"""Each optimisation pass: where it applies, where it refuses and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import ESPCN, conv, graph_of, image, pointwise

from shadergen.backends.devices import DEVICES
from shadergen.backends.lower import lower
from shadergen.compiler.driver import import_model
from shadergen.compiler.options import Options
from shadergen.errors import InternalError, ShadergenError
from shadergen.ir import text
from shadergen.ir.expr import parse
from shadergen.ir.graph import Choice, Constant, Graph, Input, Output, Port, Value, apply, constant
from shadergen.ir.ops import (
    BatchNormalization,
    Concat,
    Conv,
    ConvTranspose,
    DepthToSpace,
    Fused,
    Pad,
    Pointwise,
    Pool,
    Reduce,
    Reshape,
    ResizeNearest,
    Slice,
    Softmax,
    Transpose,
    parts,
)
from shadergen.ir.placement import tensor_operands
from shadergen.ir.reference import evaluate
from shadergen.ir.target import Target
from shadergen.ir.types import TensorType
from shadergen.passes import pipeline
from shadergen.passes.absorb_transposes import absorb_transposes
from shadergen.passes.apply_options import apply_options
from shadergen.passes.attach_preprocessing import Preprocessing, attach_preprocessing
from shadergen.passes.candidates import parameter_floats, weight_floats
from shadergen.passes.canonicalise import canonicalise
from shadergen.passes.choose_kernels import NETWORK_BUDGET, choose_kernels
from shadergen.passes.choose_precision import choose_precision
from shadergen.passes.drop_identities import drop_identities
from shadergen.passes.fold_affine import fold_affine
from shadergen.passes.fold_constants import fold_constants
from shadergen.passes.fuse_pads import fuse_pads
from shadergen.passes.fuse_pointwise import fuse_pointwise
from shadergen.passes.plan_textures import plan_textures
from shadergen.passes.recognise_pixel_shuffle import recognise_pixel_shuffle
from shadergen.passes.rule import Context, Rule, always, apply_rules
from shadergen.passes.tile_channels import tile_channels

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def fresh_random_numbers(monkeypatch):
    """Let no test's numbers depend on those that ran before it."""
    monkeypatch.setitem(globals(), "RNG", np.random.default_rng(0))


def context(**options) -> Context:
    return Context(Options(**options).target())


def operators(graph: Graph) -> list[str]:
    """Return what the nodes are, in order: kernels with + for an epilogue, prologue+ before."""
    names = []
    for node in graph.nodes:
        op = node.op
        if isinstance(op, Fused):
            name = type(op.kernel).__name__
            name = f"prologue+{name}" if op.prologue is not None else name
            names.append(f"{name}+epilogue" if op.epilogue is not None else name)
        else:
            names.append(type(op).__name__)
    return names


def refusals(found: Context) -> list[str]:
    why = (d.why for d in found.decisions if d.decision == "not applied")
    return list(dict.fromkeys(why))


def optimised(step, value: Value | Graph, *inputs: Input, **options) -> tuple[list[str], list[str]]:
    """Run a pass; return the operators left and the reasons of what was not applied.

    Along the way: the pass leaves its operand alone, and does nothing the second time.
    """
    graph = value if isinstance(value, Graph) else graph_of(value, inputs=inputs)
    before, found = text.to_text(graph), context(**options)
    after = step(graph, found)
    assert text.to_text(graph) == before
    assert text.to_text(step(after, found)) == text.to_text(after)
    assert_equal(graph, after)
    return operators(after), refusals(found)


def assert_equal(a: Graph, b: Graph) -> None:
    rng = np.random.default_rng(1)
    host = {i.name: rng.normal(size=i.shape).transpose(i.port.axes) for i in a.inputs}
    results = []
    for graph in (a, b):
        logical = {i.name: host[i.name].transpose(np.argsort(i.port.axes)) for i in graph.inputs}
        got = evaluate(graph, logical)
        results.append([got[o.name].transpose(o.port.axes) for o in graph.outputs])
    for x, y in zip(*results, strict=True):
        size = np.abs(x[np.isfinite(x)]).max(initial=0)
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4 * size)


def error(call, *args) -> ShadergenError:
    with pytest.raises(ShadergenError) as caught:
        call(*args)
    return caught.value


def known(*shape: int) -> Constant:
    return constant(RNG.normal(size=shape), "known")


X = image(1, 8, 6, 6)


# --- canonicalise, fold constants, drop identities -----------------------------------------------


def test_canonicalise_leaves_only_operators_that_have_kernels():
    norm = apply(BatchNormalization(), X, *(constant(np.ones(8)) for _ in range(4)), layer="bn")
    up = apply(ConvTranspose((2, 2)), norm, known(8, 3, 2, 2), known(3), layer="up")
    graph = canonicalise(graph_of(up, inputs=(X,)), context())
    assert operators(graph) == ["Pointwise", "Conv", "DepthToSpace", "Slice"]
    assert [n.layers for n in graph.nodes] == [("bn",), ("up",), ("up",), ("up",)]
    assert optimised(canonicalise, up, X)[0] == operators(graph)


def test_what_a_decomposition_uses_twice_is_computed_once():
    """A pair of statistics, of which the maximum and the sum are taken."""
    y = apply(Softmax((1,)), X, layer="scores")
    graph = canonicalise(graph_of(y, inputs=(X,)), context())
    assert operators(graph) == ["PairReduce", "Slice", "Slice", "Pointwise"]
    assert all(n.layers == ("scores",) for n in graph.nodes)


def test_constants_fold_in_float64_and_round_once():
    a, b = constant(np.float32(1e8)), constant(np.float32(1))
    y = pointwise("x0 + (x1 + x2) - x1", X, a, b)
    apart = pointwise("x0 + x1", X, pointwise("(x0 + x1) - x0", a, b))
    graph = fold_constants(graph_of(apart, y, inputs=(X,)), context())
    assert operators(graph) == ["Pointwise", "Pointwise"]
    assert [c.data.tolist() for c in graph.constants] == [1.0, 1e8, 1.0]


def test_constants_fold_to_a_tensor_of_the_same_rank():
    for shape in ((), (1,), (2, 3)):
        y = pointwise("x0 + x0", constant(np.ones(shape)))
        assert optimised(fold_constants, y) == ([], [])
        graph = fold_constants(graph_of(y, inputs=()), context())
        assert graph.outputs[0].value.shape == shape


def test_constants_whose_result_is_not_finite_do_not_fold():
    y = pointwise("x0 + x1", X, pointwise("log(x0)", constant(0.0), layer="log"))
    assert optimised(fold_constants, y, X) == (
        ["Pointwise", "Pointwise"], ["the result is not finite"]
    )  # fmt: skip


IDENTITIES = {
    "x0": Pointwise(parse("x0")),
    "pad": Pad((0,) * 4, (0,) * 4, "reflect"),
    "slice": Slice((0,) * 4, (1,) * 4, (1, 8, 6, 6)),
    "concat": Concat(2),
    "transpose": Transpose((0, 1, 2, 3)),
    "reshape": Reshape((1, 8, 6, 6)),
    "shuffle": DepthToSpace((1, 1)),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_are_dropped(name):
    y = pointwise("tanh(x0)", apply(IDENTITIES[name], X))
    assert optimised(drop_identities, y, X)[0] == ["Pointwise"]


def test_what_keeps_the_shape_but_not_the_elements_is_no_identity():
    x = image(1, 1, 6, 6)
    kept = [Transpose((0, 1, 3, 2)), Slice((0, 0, 5, 0), (1, 1, -1, 1), (1, 1, 6, 6))]
    for op in kept:
        assert optimised(drop_identities, apply(op, x), x)[0] == [type(op).__name__]
    assert optimised(drop_identities, apply(Transpose((1, 0, 2, 3)), x), x)[0] == []


def test_pairs_of_transposes_and_of_reshapes_merge():
    y = apply(Transpose((0, 3, 1, 2)), apply(Transpose((0, 2, 3, 1)), X))
    assert optimised(drop_identities, y, X)[0] == []
    y = apply(Reshape((6, 48)), apply(Reshape((8, 36)), X))
    assert optimised(drop_identities, y, X)[0] == ["Reshape"]


def test_operators_without_operands_pass_through_every_pass():
    y = pointwise("x0 + x1", X, apply(Pointwise(parse("log(0)"))))
    graph = pipeline.optimise(graph_of(y, inputs=(X,)), context())
    assert operators(graph) == ["Pointwise", "Pointwise"]


# --- pixel shuffle and transposes ----------------------------------------------------------------


def spelled_out(x: Value, axes: tuple[int, ...], split: tuple[int, ...]) -> Value:
    n, c, h, w = x.shape
    y = apply(Transpose(axes), apply(Reshape(split), x))
    return apply(Reshape((n, c // 4, h * 2, w * 2)), y)


def test_pixel_shuffle_spelled_with_reshapes_is_recognised():
    dcr = spelled_out(X, (0, 3, 4, 1, 5, 2), (1, 2, 2, 2, 6, 6))
    crd = spelled_out(X, (0, 1, 4, 2, 5, 3), (1, 2, 2, 2, 6, 6))
    for y in (dcr, crd):
        assert optimised(recognise_pixel_shuffle, y, X)[0] == ["DepthToSpace"]


def test_what_only_resembles_pixel_shuffle_is_one_rearrangement():
    y = spelled_out(X, (0, 3, 4, 1, 5, 2)[::-1], (1, 2, 2, 2, 6, 6))
    assert optimised(recognise_pixel_shuffle, y, X)[0] == ["Rearrange"]


NHWC, NCHW = Transpose((0, 2, 3, 1)), Transpose((0, 3, 1, 2))


def test_transposes_at_inputs_and_outputs_move_into_the_ports():
    x = image(1, 6, 5, 3)
    y = conv(RNG, apply(NCHW, x), 4, (3, 3))
    graph = absorb_transposes(graph_of(apply(NHWC, y), inputs=(x,)), context())
    assert operators(graph) == ["Conv"]
    assert graph.inputs[0].port.axes == graph.outputs[0].port.axes == (0, 2, 3, 1)
    assert graph.inputs[0].shape == (1, 3, 6, 5)
    assert optimised(absorb_transposes, apply(NHWC, y), x)[0] == ["Conv"]


def test_transposes_pass_element_wise_operators_and_their_constants():
    x = image(1, 6, 5, 3)
    scaled = pointwise("x0 * x1 + x2", x, known(3), known(6, 1, 1))
    y = conv(RNG, apply(NCHW, scaled), 4, (3, 3))
    z = pointwise("tanh(x0) * x1", apply(NHWC, y), known(4))
    assert optimised(absorb_transposes, z, x)[0] == ["Pointwise", "Conv", "Pointwise"]


def test_a_reshape_of_axes_of_size_1_is_a_transpose():
    x = image(1, 6, 5, 1)
    y = conv(RNG, apply(Reshape((1, 1, 6, 5)), x), 1, (3, 3))
    assert optimised(absorb_transposes, apply(Reshape((1, 4, 3, 1)), y), x)[0] == ["Conv"]


def test_a_transpose_that_an_output_absorbs_is_free_to_move_for_the_others():
    y = apply(NHWC, conv(RNG, X, 4, (3, 3)))
    first = pointwise("x0 + 1", y)
    graph = graph_of(pointwise("tanh(x0)", first), first, inputs=(X,))
    assert optimised(absorb_transposes, graph)[0] == ["Conv", "Pointwise", "Pointwise"]


def test_a_transpose_that_others_read_too_does_not_move():
    y = apply(NHWC, conv(RNG, X, 4, (3, 3)))
    graph = graph_of(pointwise("tanh(x0)", y), pointwise("x0 * x1", y, y), inputs=(X,))
    assert optimised(absorb_transposes, graph)[0] == ["Conv", "Transpose", "Pointwise", "Pointwise"]


def test_an_input_that_is_also_read_untransposed_keeps_its_port():
    x = image(1, 4, 4, 4)
    y = pointwise("x0 + x1", apply(NCHW, x), x)
    assert optimised(absorb_transposes, y, x)[0] == ["Transpose", "Pointwise"]


# --- pads and affine maps ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_spatial_padding_merges_into_a_convolution_that_pads_nothing(mode):
    y = conv(RNG, apply(Pad((0, 0, 1, 2), (0, 0, 3, 9), mode, 0.5), X), 4, (3, 3))
    assert optimised(fuse_pads, y, X) == (["Conv"], [])


def test_padding_with_the_same_constant_merges_into_padding():
    y = conv(RNG, apply(Pad((0, 0, 1, 0), (0, 0, 0, 2)), X), 4, (3, 3), pads=(1, 1, 1, 1))
    graph = fuse_pads(graph_of(y, inputs=(X,)), context())
    assert [n.op.pads for n in graph.nodes] == [(2, 1, 1, 3)]


@pytest.mark.parametrize(
    ("pad", "attributes", "why"),
    [
        (Pad((0, 1, 0, 0), (0, 0, 0, 0)), {}, "the padding adds channels or batch entries"),
        (Pad((0, 0, 1, 1), (0, 0, 1, 1), "reflect"), {"pads": (1, 1, 1, 1)},
         "reflect padding and the convolution's own constant padding do not merge"),
        (Pad((0, 0, 1, 1), (0, 0, 1, 1), "edge"), {"pads": (1, 1, 1, 1), "pad_mode": "edge"},
         "edge padding and the convolution's own edge padding do not merge"),
        (Pad((0, 0, 1, 1), (0, 0, 1, 1), "constant", 1.0), {"pads": (1, 1, 1, 1)},
         "constant padding and the convolution's own constant padding do not merge"),
    ],
)  # fmt: skip
def test_padding_that_does_not_merge_is_left(pad, attributes, why):
    y = conv(RNG, apply(pad, X), 4, (3, 3), **attributes)
    assert optimised(fuse_pads, y, X) == (["Pad", "Conv"], [why])


def test_affine_maps_fold_into_the_convolution_before():
    y = conv(RNG, X, 4, (3, 3), bias=False)
    y = pointwise("(x0 - x1) * x2 / 4 + 1", y, known(4, 1, 1), known(1), layer="bn")
    y = pointwise("-2 * x0", y, layer="scale")
    graph = fold_affine(graph_of(y, inputs=(X,)), context())
    assert [n.layers for n in graph.nodes] == [("conv", "bn", "scale")]
    assert optimised(fold_affine, y, X) == (["Conv"], [])


def test_affine_maps_do_not_fold_when():
    y = conv(RNG, X, 4, (3, 3), layer="c")
    scaled = pointwise("2 * x0", y)
    both = pointwise("x0 * x1", scaled, y)
    assert optimised(fold_affine, both, X)[1] == ["'c' is read elsewhere too"]
    spatial = pointwise("x0 * x1", y, known(4, 1))
    assert optimised(fold_affine, spatial, X)[1] == ["its constants vary over space or batch"]
    y = apply(Conv(), X, constant(np.full((4, 8, 1, 1), 2.0)), layer="c")
    for formula in ("x0 * x1", "x0 + x1 * 1e9"):
        huge = pointwise(formula, y, constant(np.float32(3e38)))
        found = context()
        assert operators(fold_affine(graph_of(huge, inputs=(X,)), found)) == ["Conv", "Pointwise"]
        assert refusals(found) == ["a folded weight is not finite"]


@pytest.mark.parametrize("formula", ["relu(x0)", "x0 * x0", "1 / x0", "relu(x0 - x0)", "x0 + x1"])
def test_what_is_not_affine_in_the_convolution_stays(formula):
    y = conv(RNG, X, 8, (1, 1))
    operands = (y, image(1, 8, 6, 6, name="r")) if "x1" in formula else (y,)
    graph = graph_of(pointwise(formula, *operands), inputs=(X, *operands[1:]))
    found = context()
    assert operators(fold_affine(graph, found)) == ["Conv", "Pointwise"]
    assert refusals(found) == []


def test_reversed_channels_fold_into_the_weights_of_one_group():
    swap = apply(Slice((0, 7, 0, 0), (1, -1, 1, 1), (1, 8, 6, 6)), X)
    assert optimised(fold_affine, conv(RNG, swap, 4, (3, 3)), X)[0] == ["Conv"]
    assert optimised(fold_affine, conv(RNG, swap, 4, (3, 3), groups=2), X)[0] == ["Slice", "Conv"]
    flip = apply(Slice((0, 7, 5, 0), (1, -1, -1, 1), (1, 8, 6, 6)), X)
    assert optimised(fold_affine, conv(RNG, flip, 4, (3, 3)), X)[0] == ["Slice", "Conv"]


# --- options and preprocessing -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "want"),
    [("y2rg", [[3, 0], [0, -2]]), ("y2rg_half", [[3, 0], [0, 2]]), ("unorm8", [[1], [0]])],
)
def test_output_encodings_are(encoding, want):
    x = image(1, 1, 2, 1)
    graph = apply_options(graph_of(x, inputs=(x,)), context(output_encoding=encoding))
    got = evaluate(graph, {"x": np.array([3.0, -2.0]).reshape(x.shape)})["y0"]
    assert got[0, :, :, 0].T.tolist() == want
    assert graph.outputs[0].port.encoding == encoding
    again = apply_options(graph, context(output_encoding=encoding))
    assert text.to_text(again) == text.to_text(graph)


def test_encodings_for_one_channel_refuse_more():
    refused = error(apply_options, graph_of(X, inputs=(X,)), context(output_encoding="y2rg"))
    assert refused.code == "SG0301"
    assert refused.what == "--output-encoding y2rg needs outputs of one channel"
    assert "1x8x6x6" in refused.where[0]


def test_outputs_that_are_inputs_constants_or_each_other_are_copied():
    y = pointwise("relu(x0)", X)
    graph = graph_of(y, X, constant(np.ones(3)), y, inputs=(X,))
    assert optimised(apply_options, graph)[0] == ["Pointwise"] * 4


def test_the_guard_goes_to_every_convolution():
    y = conv(RNG, conv(RNG, X, 4, (1, 1)), 4, (1, 1))
    graph = apply_options(graph_of(y, inputs=(X,)), context(zero_guard=0.5))
    assert [n.op.zero_guard for n in graph.nodes] == [0.5, 0.5]


def test_preprocessing_is_scale_mean_deviation_in_the_models_order():
    x = image(1, 3, 2, 2)
    wanted = Preprocessing(True, (255.0,), (10.0, 20.0, 30.0), (2.0, 4.0, 8.0), True)
    graph = attach_preprocessing(graph_of(pointwise("x0 * 1", x), x, inputs=(x,)), wanted)
    assert graph.inputs[0].port.encoding == "unorm8"
    pixels = np.random.default_rng(0).random((1, 3, 2, 2))
    got = evaluate(graph, {"x": pixels})
    for c, (mean, deviation) in enumerate(((10, 2), (20, 4), (30, 8))):
        want = (255 * pixels[:, 2 - c] - mean) / deviation
        for y in got.values():
            np.testing.assert_allclose(y[:, c], want, rtol=1e-5, atol=1e-5)


def test_preprocessing_folds_into_a_first_convolution_without_padding():
    x = image(1, 3, 6, 6)
    graph = graph_of(conv(RNG, x, 4, (3, 3)), inputs=(x,))
    graph = attach_preprocessing(graph, Preprocessing(True, (255.0,), (1.0, 2.0, 3.0)))
    graph = pipeline.optimise(graph, context())
    assert operators(graph) == ["prologue+Conv"]


RGB = image(1, 3, 6, 6, name="rgb")


@pytest.mark.parametrize(
    ("inputs", "wanted", "says"),
    [
        ((RGB, image(1, name="s")), {}, "needs a model with one image input"),
        ((image(1, 8),), {}, "needs a model with one image input"),
        ((X,), {}, "needs an image, the input has 8 channels"),
        ((RGB,), {"mean": (1.0, 2.0)}, "mean has 2 values"),
        ((RGB,), {"deviation": (0.0,)}, "every std must be a number other than 0"),
        ((RGB,), {"scale": (np.inf,)}, "every std must be a number other than 0"),
    ],
)
def test_preprocessing_that_does_not_fit_is_refused(inputs, wanted, says):
    refused = error(
        attach_preprocessing, graph_of(inputs[0], inputs=inputs), Preprocessing(**wanted)
    )
    assert refused.code == "SG0301"
    assert says in refused.what


# --- fuse pointwise ------------------------------------------------------------------------------


def test_chains_merge_become_epilogues_and_keep_their_layers():
    y = pointwise("tanh(x0)", pointwise("x0 * x1", conv(RNG, X, 8, (3, 3)), known(8, 1, 1)))
    residual = pointwise("relu(x0 + x1)", y, image(1, 8, 4, 4, name="r"), layer="add")
    graph = graph_of(residual, inputs=(X, residual.node.inputs[1]))  # type: ignore[attr-defined]
    assert optimised(fuse_pointwise, graph) == (["Conv+epilogue"], [])
    after = fuse_pointwise(graph, context())
    assert after.nodes[0].layers == ("conv", "pointwise", "add")


def test_a_value_read_twice_by_one_operator_still_fuses():
    y = conv(RNG, X, 8, (3, 3))
    assert optimised(fuse_pointwise, pointwise("x0 * sigmoid(x1)", y, y), X)[0] == ["Conv+epilogue"]


def test_cheap_element_wise_work_becomes_a_prologue():
    shared = pointwise("relu(x0 * x1)", X, known(8, 1, 1), layer="act")
    y = conv(RNG, shared, 4, (3, 3), pads=(1, 1, 1, 1), pad_value=2.0)
    assert optimised(fuse_pointwise, y, X)[0] == ["prologue+Conv"]


@pytest.mark.parametrize(
    ("formula", "operands", "why"),
    [
        ("tanh(x0)", (), "it is too dear to repeat for every tap"),
        ("relu(" * 9 + "x0" + ")" * 9, (), "it is too dear to repeat for every tap"),
        ("x0 * x1", (known(6, 6),), "it combines several tensors"),
        ("1 / (2 + abs(x0))", (),
         "it may divide by zero in unused lanes, which weights of 0 would not undo"),
        ("x0 / x1", (known(8, 1, 1),),
         "it may divide by zero in unused lanes, which weights of 0 would not undo"),
    ],
)  # fmt: skip
def test_prologues_are_refused(formula, operands, why):
    y = conv(RNG, pointwise(formula, X, *operands), 4, (3, 3))
    assert optimised(fuse_pointwise, y, X) == (["Pointwise", "Conv"], [why])


def test_a_prologue_that_others_read_too_is_refused():
    shared = pointwise("relu(x0)", X, layer="act")
    y = pointwise("x0 + x1", conv(RNG, shared, 8, (1, 1)), shared)
    assert optimised(fuse_pointwise, y, X) == (
        ["Pointwise", "Conv+epilogue"], ["'act' is read elsewhere too"]
    )  # fmt: skip


def test_a_result_that_is_read_elsewhere_gets_no_epilogue():
    y = conv(RNG, X, 8, (1, 1))
    graph = graph_of(pointwise("tanh(x0)", y), y, inputs=(X,))
    why = ["'conv' is read elsewhere too"]
    assert optimised(fuse_pointwise, graph) == (["Conv", "Pointwise"], why)


BROADCAST = "result is broadcast, so it would be computed many times"


def test_what_is_broadcast_is_not_computed_again_and_again():
    x = image(1, 8, 1, 1)
    wide = image(1, 8, 6, 6, name="wide")
    y = pointwise("x0 * x1", pointwise("tanh(x0)", x), wide)
    graph = graph_of(y, inputs=(x, wide))
    assert optimised(fuse_pointwise, graph) == (["Pointwise"] * 2, [f"the inner {BROADCAST}"])
    y = pointwise("x0 * x1", conv(RNG, x, 8, (1, 1)), wide)
    graph = graph_of(y, inputs=(x, wide))
    assert optimised(fuse_pointwise, graph)[1] == [f"the kernel's {BROADCAST}"]


def test_one_channel_may_spread_over_one_plane_only():
    y = conv(RNG, X, 1, (1, 1))
    assert optimised(fuse_pointwise, pointwise("x0 * x1", y, known(4, 1, 1)), X)[1] == []
    assert optimised(fuse_pointwise, pointwise("x0 * x1", y, known(5, 1, 1)), X)[1] == [
        f"the kernel's {BROADCAST}"
    ]


def test_an_operand_that_only_gives_the_shape_is_not_lost():
    y = conv(RNG, X, 1, (1, 1))
    wide = image(1, 3, 6, 6, name="wide")
    graph = graph_of(pointwise("x0 * 2", y, wide), inputs=(X, wide))
    assert optimised(fuse_pointwise, graph) == (
        ["Conv", "Pointwise"], ["an operand that gives the result its shape is not used"]
    )  # fmt: skip


def test_an_epilogue_may_not_change_the_rank():
    y = apply(Reshape((8, 36)), X)
    wide = image(1, 1, 8, 36, name="wide")
    graph = graph_of(pointwise("x0 + x1", y, wide), inputs=(X, wide))
    assert optimised(fuse_pointwise, graph)[1] == ["the result has another rank"]


def test_an_epilogue_may_belong_to_a_scalar():
    y = apply(Reduce("max", (0, 1, 2, 3), keepdims=False), X)
    graph = graph_of(pointwise("x0 * 2", y), inputs=(X,))
    assert optimised(fuse_pointwise, graph) == (["Reduce+epilogue"], [])
    assert pipeline.optimise(graph, Context(Options().target())).outputs[0].value.type.rank == 0


def test_fusing_stops_at_the_texture_units_and_at_the_size_of_expressions():
    others = [image(1, 8, 6, 6, name=f"r{k}") for k in range(20)]
    y = conv(RNG, X, 8, (1, 1))
    for other in others:
        y = pointwise("tanh(x0 + x1)", y, other)
    names, why = optimised(fuse_pointwise, graph_of(y, inputs=(X, *others)))
    assert len(names) > 1
    assert "17 texture units would be used, the device has 16" in why
    y = X
    for _ in range(90):
        y = pointwise("sin(x0 + 1) * 2", y)
    names, why = optimised(fuse_pointwise, y, X)
    assert 1 < len(names) < 9
    assert why
    assert all("would have more than" in w for w in why)


def test_an_expression_that_doubles_with_every_layer_stays_small_when_written_out():
    y = X
    for _ in range(24):
        y = pointwise("x0 * x0 + x0", y)
    names, _ = optimised(fuse_pointwise, y, X)
    assert 1 < len(names) < 24


def test_constants_are_not_folded_into_much_larger_ones():
    column, row = (constant(np.ones(s), "c") for s in ((1, 1, 20000, 1), (1, 1, 1, 20000)))
    graph = graph_of(pointwise("x0 + x1", pointwise("x0 * x1", column, row), column), inputs=())
    found = context()
    assert fold_constants(graph, found) is graph
    assert refusals(found) == ["the result would have 400000000 elements"]


def test_a_transpose_passes_any_number_of_pointwise_nodes():
    x = image(1, 6, 5, 3)
    y = x
    for k in range(60):
        y = pointwise(f"x0 * {k} + 1", y)
    y = conv(RNG, apply(Transpose((0, 3, 1, 2)), y), 4, (3, 3))
    graph = absorb_transposes(graph_of(y, inputs=(x,)), context())
    assert not [n for n in graph.nodes if isinstance(n.op, Transpose)]
    assert graph.inputs[0].port.axes == (0, 2, 3, 1)


# --- placement -----------------------------------------------------------------------------------


def placed(value: Value, *inputs: Input, **options) -> Graph:
    found = context(**options)
    return tile_channels(choose_precision(graph_of(value, inputs=inputs), found), found)


@pytest.mark.parametrize(
    ("channels", "textures", "precision", "layout"),
    [(1, "auto", "highp", "2d.r32f"), (2, "auto", "mediump", "2d.rg16f"),
     (3, "auto", "highp", "2d.rgba32f"), (5, "auto", "highp", "array.rgba32f"),
     (5, "2d", "mediump", "2d.rgba16f"), (1, "array", "highp", "array.r32f")],
)  # fmt: skip
def test_textures_follow_channels_and_options(channels, textures, precision, layout):
    x = image(1, channels, 4, 4)
    graph = placed(pointwise("x0", x), x, textures=textures, precision=precision)
    for value in (graph.inputs[0], graph.outputs[0].value):
        assert f"{value.type.layout.kind}.{value.type.layout.format}" == layout


@pytest.mark.parametrize(
    ("shape", "rows"),
    [((1, 1, 4, 2049), (513, 4)), ((1, 1, 3000, 4), (64, 47)), ((1, 1028, 2, 2), (64, 33))],
)
def test_maps_beyond_a_limit_lie_in_rows(shape, rows):
    x = image(*shape)
    graph = placed(pointwise("tanh(x0)", x), x, device="gles30-min")
    assert graph.outputs[0].value.type.layout.rows == rows


@pytest.mark.parametrize(
    ("shape", "why"),
    [((1, 1, 4, 2049), "2049x4 texels, the device profile allows 2048"),
     ((1, 1028, 2, 2), "257 layers, the device profile allows 256")],
)  # fmt: skip
def test_the_limit_that_puts_a_map_in_rows_is_explained(shape, why):
    x = image(*shape)
    found = context(device="gles30-min")
    graph = graph_of(pointwise("tanh(x0)", x), inputs=(x,))
    tile_channels(choose_precision(graph, found), found)
    explained = {d.subject: d.why for d in found.decisions if d.step == "tile channels"}
    assert explained == {"x": why, graph.nodes[0].name: why}


def test_tensors_beyond_every_texture_are_refused_with_the_numbers():
    x = image(1 << 17, 1 << 16)
    refused = error(lambda: placed(pointwise("tanh(x0)", x), x, device="gles30-min"))
    assert refused.code == "SG0401"
    assert refused.why == "it takes 2147483648 texels, the device profile allows 1073741824"


@pytest.mark.parametrize("where", ["weights", "operand", "parameter"])
def test_constants_beyond_fp16_are_refused_at_mediump(where):
    huge = {"weights": (4, 8, 1, 1), "operand": (8, 6, 6), "parameter": (8, 1, 1)}[where]
    c = constant(np.full(huge, -7e4), "huge")
    y = apply(Conv(), X, c) if where == "weights" else pointwise("x0 * x1", X, c)
    refused = error(lambda: placed(y, X, precision="mediump"))
    assert (refused.code, refused.what) == ("SG0404", "constant 'huge' holds 70000")
    placed(y, X)


def chosen(y: Value, **options) -> Choice:
    graph = placed(y, y.node.inputs[0], **options)
    (node,) = choose_kernels(graph, context(**options)).nodes
    return node.choice


@pytest.mark.parametrize(("channels", "stage"), ((32, "fragment"), (64, "compute")))
def test_of_nests_predicted_alike_the_fewest_passes_win(channels, stage):
    x = image(1, 4, 56, 56)
    pool = apply(Pool("max", (3, 3), pads=(1, 1, 1, 1)), conv(RNG, x, channels, (1, 1)))
    placed = pipeline.optimise(graph_of(pool, inputs=(x,)), context(device="llvmpipe"))
    assert placed.nodes[-1].choice.stage == stage  # fragment passes have room for 32 channels


def chosen_weights(y: Value, **options) -> str | None:
    return chosen(y, **options).weights


def test_weights_move_from_constants_to_a_block_to_a_texture_as_they_grow():
    wide = image(1, 64, 6, 6)
    assert chosen_weights(conv(RNG, X, 16, (3, 3))) == "constants"
    assert chosen_weights(conv(RNG, wide, 64, (3, 3), groups=64)) == "constants"
    assert chosen_weights(conv(RNG, wide, 16, (2, 2))) == "constants"
    assert chosen_weights(conv(RNG, wide, 16, (3, 3))) == "texture"
    large = {"device": "gles32-desktop", "stage": "fragment"}
    assert chosen_weights(conv(RNG, wide, 16, (3, 3)), **large) == "ubo"


def test_constants_go_to_the_layers_with_the_most_pixels_until_the_network_has_spent_them():
    x = image(1, 16, 9, 9)
    values = [conv(RNG, x, 16, (3, 3), layer="large")]
    for i in range(NETWORK_BUDGET // (16 * 16 * 9)):
        pads = (1, 1, 1, 1) if i else (0, 0, 0, 0)
        values.append(conv(RNG, values[-1], 16, (3, 3), layer=f"small{i}", pads=pads))
    last = conv(RNG, x, 16, (3, 3), pads=(1, 1, 1, 1), layer="largest")
    found = context(device="gles30")
    graph = graph_of(values[-1], last, inputs=(x,))
    graph = choose_kernels(tile_channels(choose_precision(graph, found), found), found)
    stored = {n.name: n.choice.weights for n in graph.nodes}
    assert stored["largest"] == stored["large"] == "constants"
    assert stored[f"small{len(values) - 2}"] == "ubo"


@pytest.mark.parametrize(
    ("channels", "out", "groups", "kernel"),
    [(8, 16, 1, (3, 3)), (5, 3, 1, (1, 2)), (2, 6, 1, (3, 3)), (8, 8, 8, (3, 3)),
     (4, 8, 4, (3, 3)), (63, 63, 21, (2, 2)), (64, 128, 64, (3, 3)), (12, 8, 4, (1, 1))],
)  # fmt: skip
@pytest.mark.parametrize("mrt", [1, 4])
def test_the_weights_counted_are_the_weights_a_shader_declares(channels, out, groups, kernel, mrt):
    from shadergen.backends.lower import lower

    x = image(1, channels, 6, 6)
    found = context(weights="ubo", mrt=mrt)
    graph = pipeline.optimise(
        graph_of(conv(RNG, x, out, kernel, groups=groups), inputs=(x,)), found
    )
    most = max(b.blob.make().size for p in lower(graph, found.target) for b in p.blocks)
    (node,) = graph.nodes
    planes = node.choice.planes
    assert most == weight_floats(node, planes) + parameter_floats(node, planes, found.target)


def test_weight_storage_that_is_too_small_or_absent_is_refused():
    big = conv(RNG, image(1, 64, 6, 6), 64, (3, 3), layer="big")
    refused = error(lambda: chosen_weights(big, weights="ubo", mrt=4))
    assert (refused.code, refused.where) == ("SG0402", ("layer big",))
    assert refused.why == "a GPU pass reads 36928 bytes, the limit is 16384"
    refused = error(lambda: chosen_weights(big, weights="ssbo"))
    assert refused.code == "SG0403"
    assert refused.why == "GLSL ES 300 on a device with 0 storage blocks"
    least = {"glsl": 310, "device": "gles31-min", "weights": "ssbo"}
    refused = error(lambda: chosen_weights(big, **least, stage="fragment"))
    assert refused.why == "GLSL ES 310 on a device with 0 storage blocks"
    huge = conv(RNG, image(1, 512, 9, 9), 512, (5, 5))
    refused = error(lambda: chosen_weights(huge, weights="constants", mrt=4))
    assert refused.code == "SG0402"
    assert "the limit is 262144" in refused.why
    assert chosen_weights(big, weights="ssbo", glsl=310, device="gles31-mobile") == "ssbo"


@pytest.mark.parametrize(
    ("blocks", "stages"), [("uniform_blocks", 0), ("compute_uniform_blocks", 1)]
)
def test_room_for_weights_is_that_of_the_stage(blocks, stages):
    target = Options(device="gles31-min", weights="ubo").target()
    target = replace(target, limits=replace(target.limits, **{blocks: 0}))
    graph = pipeline.optimise(graph_of(conv(RNG, X, 8, (3, 3)), inputs=(X,)), Context(target))
    (node,) = graph.nodes
    assert node.choice.stage == ("compute", "fragment")[stages]
    assert node.choice.weights == "ubo"


@pytest.mark.parametrize(
    ("channels", "mrt", "device", "want"),
    [(17, None, "gles30", 3), (16, None, "gles30", 4), (3, None, "gles30", 1), (17, 2, "gles30", 2),
     (32, None, "gles32-desktop", 8), (40, None, "gles32-desktop", 5), (17, 1, "gles30", 1)],
)  # fmt: skip
def test_planes_are_shared_out_evenly_over_the_fewest_passes(channels, mrt, device, want):
    y = conv(RNG, X, channels, (1, 1))
    assert chosen(y, mrt=mrt, device=device, stage="fragment").planes == want


def test_more_render_targets_than_the_device_has_are_refused():
    refused = error(choose_kernels, graph_of(X, inputs=(X,)), context(mrt=5))
    assert (refused.code, refused.why) == ("SG0402", "the device profile has 4 draw buffers")
    assert refused.help == "use --mrt 4 or less, or another --device"


def lifetimes(graph: Graph) -> dict[Value, tuple[int, int]]:
    """Return first write and last read, found the slow way."""
    order = {n: k for k, n in enumerate(graph.nodes)}
    return {
        n.result: (order[n], max([order[m] for m in graph.nodes if n.result in tensor_operands(m)]
                                 or [order[n]]))
        for n in graph.nodes
    }  # fmt: skip


def assert_slots_do_not_overlap(graph: Graph) -> None:
    alive = lifetimes(graph)
    outputs = {o.value for o in graph.outputs}
    for a, (start, end) in alive.items():
        for b, (start2, end2) in alive.items():
            if a is b or a.type.layout.slot != b.type.layout.slot:
                continue
            assert end < start2 or end2 < start, f"{a.name} and {b.name} overlap"
            assert not {a, b} & outputs
            assert a.type.layout == b.type.layout
            assert a.shape[2:] == b.shape[2:]


def texel_total(graph: Graph, shared: bool) -> int:
    slots: dict[object, int] = {}
    for n in graph.nodes:
        t = n.result.type
        key = t.layout.slot if shared else n
        slots[key] = max(slots.get(key, 0), t.layers * t.extent[0] * t.extent[1])
    return sum(slots.values())


def test_espcn_shares_textures_and_its_peak_is_below_the_sum():
    imported = import_model(ESPCN, Options(input_size={"": (12, 16)}))
    graph = pipeline.optimise(imported, context())
    assert_slots_do_not_overlap(graph)
    deep = graph_of(_deep(12), inputs=(X,))
    graph = pipeline.optimise(deep, context())
    assert_slots_do_not_overlap(graph)
    assert texel_total(graph, shared=True) * 3 <= texel_total(graph, shared=False)


def _deep(layers: int) -> Value:
    y: Value = X
    for k in range(layers):
        y = pointwise("tanh(x0)", conv(RNG, y, 8, (1, 1), f"c{k}"))
    return y


@pytest.mark.parametrize("seed", range(12))
def test_slots_of_random_graphs_never_overlap(seed):
    rng = np.random.default_rng(seed)
    pool: list[Value] = [X]
    for k in range(14):
        picks = [pool[int(rng.integers(max(0, len(pool) - 4), len(pool)))] for _ in range(2)]
        y = conv(rng, picks[0], int(rng.choice([8, 8, 4, 12])), (1, 1), f"c{k}")
        if y.shape == picks[1].shape:
            y = pointwise("tanh(x0 + x1)", y, picks[1])
        pool.append(y)
    graph = graph_of(pool[-1], pool[5], inputs=(X,))
    graph = pipeline.optimise(graph, context())
    assert_slots_do_not_overlap(graph)
    assert text.to_text(plan_textures(graph, context())) == text.to_text(graph)


# --- rules and pipeline --------------------------------------------------------------------------


def test_rules_that_never_settle_are_a_bug():
    grow = Rule("grow", lambda site: pointwise("x0 + 1", *site.node.inputs), always, lambda v: v)
    with pytest.raises(InternalError, match="grow: no fixpoint in 50 rounds"):
        apply_rules(graph_of(pointwise("x0", X), inputs=(X,)), context(), grow)


def test_a_pass_that_breaks_the_graph_is_named(monkeypatch):
    def vandal(graph, context):
        return replace(graph, outputs=(Output("y", graph.outputs[0].value, Port((0, 1))),))

    monkeypatch.setattr(pipeline, "PIPELINE", (canonicalise, vandal))
    with pytest.raises(InternalError, match=r"pass vandal broke the graph: .*port axes"):
        pipeline.optimise(graph_of(X, inputs=(X,)), context())


def test_observers_see_the_import_and_every_pass_in_order():
    seen: list[str] = []
    pipeline.optimise(graph_of(X, inputs=(X,)), context(), lambda name, graph: seen.append(name))
    assert seen == ["import", *(step.__name__ for step in pipeline.PIPELINE)]


def test_the_smallest_device_compiles_with_every_option_at_its_default():
    target = Target(DEVICES["gles30-min"].limits)
    graph = pipeline.optimise(graph_of(_deep(2), inputs=(X,)), Context(target))
    assert all(n.result.type.layout is not None for n in graph.nodes)
    assert TensorType((1, 8, 6, 6)) == graph.nodes[0].result.type.placed(None)


# --- operators before a transpose ----------------------------------------------------------------

PERMUTED = [
    (Pad((0, 1, 2, 0), (1, 0, 0, 3), "reflect"), 1),
    (Concat(2), 2),
    (Slice((1, 4, 0, 0), (1, -2, 1, 1), (1, 2, 3, 2)), 1),
    (ResizeNearest((4, 5, 3, 4), ((1, 0, 2), (1, 0, 1), (1, 0, 1), (1, 0, 1))), 1),
    (Reduce("max", (1, 3)), 1),
    (Pointwise(parse("x0 * x1 - x0")), 2),
]


@pytest.mark.parametrize(("op", "operands"), PERMUTED)
@pytest.mark.parametrize("axes", [(0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_an_operator_moves_before_a_transpose(op, operands, axes):
    rng = np.random.default_rng(1)
    seen = [rng.normal(size=(2, 5, 3, 4)) for _ in range(operands)]
    stored = [x.transpose(np.argsort(axes)) for x in seen]
    assert all(np.array_equal(s.transpose(axes), x) for s, x in zip(stored, seen, strict=True))
    moved = op.permuted(axes).reference(*stored)
    np.testing.assert_array_equal(np.transpose(moved, axes), op.reference(*seen))


def test_residual_blocks_of_an_nhwc_exporter_keep_no_transpose():
    x = image(1, 6, 5, 4)

    def convolved(value: Value) -> Value:
        nchw = apply(Transpose((0, 3, 1, 2)), value)
        return apply(Transpose((0, 2, 3, 1)), conv(RNG, nchw, 4, (3, 3), pads=(1, 1, 1, 1)))

    a = pointwise("relu(x0)", convolved(x))
    y = pointwise("relu(x0 + x1)", a, convolved(a))
    graph = pipeline.optimise(graph_of(convolved(y), inputs=(x,)), context())
    assert [type(parts(n).kernel) for n in graph.nodes] == [Conv, Conv, Conv]


def test_a_map_of_more_workgroups_than_there_are_stays_in_fragments():
    target = Target(DEVICES["gles31-min"].limits, glsl=310, stage="compute")
    x = Input(TensorType((1, 20, 2048, 2048)), "x", Port.plain(4))
    pool = apply(Pool("max", (3, 3), pads=(1, 1, 1, 1)), x, layer="pool")
    context = Context(target)
    graph = pipeline.optimise(graph_of(pool, inputs=(x,)), context)
    assert [n.choice.stage for n in graph.nodes] == ["fragment"]
    assert "more workgroups than 65535" in next(
        d.why for d in context.decisions if d.step == "choose kernels"
    )
    assert lower(graph, target)


@pytest.mark.parametrize(("bias", "storage"), [(False, "texture"), (True, "ssbo")])
def test_weights_and_bias_together_fit_one_texture_or_go_to_a_storage_block(bias, storage):
    """1024 x 1024 x 4 x 4 weights fill a texture of 2048 x 2048; a bias has no room after them."""
    target = Target(DEVICES["gles31-min"].limits, glsl=310)
    x = Input(TensorType((1, 1024, 4, 4)), "x", Port.plain(4))
    weights = constant(np.zeros((1024, 1024, 4, 4), np.float32), "weights")
    operands = [constant(np.ones(1024), "bias")] if bias else []
    y = apply(Conv(), x, weights, *operands, layer="conv")
    (node,) = pipeline.optimise(graph_of(y, inputs=(x,)), Context(target)).nodes
    assert (node.choice.stage, node.choice.weights) == ("compute", storage)
