"""Two statistics in one pass: loop nests against numpy, their GPU passes, and on GL."""

from __future__ import annotations

import numpy as np
import pytest
from support import (
    assert_runs_like_reference,
    check_kernels,
    check_nest,
    compile_graph,
    graph_of,
    image,
    play,
)

from shadergen.errors import ShadergenError
from shadergen.ir.expr import Num
from shadergen.ir.graph import apply, constant
from shadergen.ir.nest_builder import NestBuilder
from shadergen.ir.ops import (
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    LogSoftmax,
    OnlineStatistics,
    Op,
    Softmax,
)
from shadergen.ir.ops.online_statistics import STATISTICS_KINDS
from shadergen.ir.ops.reduction import LONGEST
from shadergen.ir.types import TensorType

RNG = np.random.default_rng(0)
SHAPES = [
    ((3, 7), (1,)),
    ((5,), (0,)),
    ((2, 5, 4, 6), (2, 3)),
    ((2, 5, 4, 6), (1,)),
    ((2, 5, 4, 6), (0, 2)),
    ((2, 1, 3, 1), (1, 3)),
    ((1, 2, 40, 50), (2, 3)),
    ((1, 2, 2, 600), (1, 2, 3)),
]
DESKTOP = {"device": "gles32-desktop", "glsl": 310}


@pytest.mark.parametrize("kind", STATISTICS_KINDS)
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_pairs_and_their_parts_are_what_numpy_gives(kind, shape, axes):
    x = RNG.normal(size=shape) * 3 + 5
    found = check_kernels(OnlineStatistics(kind, axes), x, tolerance=1e-10)
    first, second = (np.take(found, [k], axes[-1]) for k in range(2))
    if kind == "mean_variance":
        np.testing.assert_allclose(first, x.mean(axes, keepdims=True))
        np.testing.assert_allclose(second, x.var(axes, keepdims=True))
    else:
        np.testing.assert_allclose(first, x.max(axes, keepdims=True))
        np.testing.assert_allclose(second, np.exp(x - first).sum(axes, keepdims=True))


@pytest.mark.parametrize("kind", STATISTICS_KINDS)
def test_parts_of_equal_size_merge(kind):
    x = RNG.normal(size=(3, 6, 5))
    parts = OnlineStatistics(kind, (2,)).reference(x)
    merged = check_nest(OnlineStatistics(kind, (1, 2), True), parts)
    np.testing.assert_allclose(merged, OnlineStatistics(kind, (1, 2)).reference(x))


def test_what_has_no_pairs_or_axes_in_disorder_is_refused():
    x = TensorType((3, 4))
    for op in (
        OnlineStatistics("max_sum_exp", (1, 0)),
        OnlineStatistics("max_sum_exp", (0, 1), True),
    ):
        with pytest.raises(ShadergenError, match="SG0205"):
            op.infer(x)


def test_all_steps_of_a_nest_see_what_its_accumulators_were():
    """Fibonacci's numbers."""
    nest = NestBuilder()
    nest.loop("step", 5)
    nest.accumulate("now", "later")
    nest.accumulate("later", "now + later", Num(1.0))
    assert nest.give("now").run((), ()) == 5


NORMALISED: list[tuple[Op, tuple[int, ...], int]] = [
    (Softmax((1,)), (3, 40), 2),
    (Softmax((1,)), (1, 9, 4, 5), 2),
    (Softmax((3,)), (1, 3, 7, 11), 2),
    (LogSoftmax((1,)), (2, LONGEST), 2),
    (Softmax((1,)), (2, LONGEST + 1), 3),  # as 5 x 205
    (Softmax((1,)), (2, 1031), 5),  # a prime: one after the other
    (LayerNormalization((2,)), (1, 3, 2048), 3),
    (LayerNormalization((2,)), (1, 5, 24), 2),
    (LayerNormalization((1, 2, 3)), (1, 6, 5, 7), 2),
    (LayerNormalization((2, 3)), (1, 6, 40, 50), 3),
]
GROUPED: list[tuple[tuple[int, ...], int, int]] = [
    ((1, 6, 9, 8), 3, 3),
    ((1, 12, 40, 30), 4, 3),  # the rows of a channel merge with those of its group
    ((1, 8, 130, 9), 2, 4),  # too many rows for that
]


@pytest.mark.gl
@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize(("op", "shape", "passes"), NORMALISED, ids=lambda v: str(v))
def test_statistics_take_a_pass_and_what_uses_them_another(op, shape, passes, stage):
    x = image(*shape)
    graph = graph_of(apply(op, x, layer="norm"), inputs=(x,))
    files = assert_runs_like_reference(graph, stage=stage, **DESKTOP)
    assert len(files.schedule["passes"]) == passes


@pytest.mark.gl
@pytest.mark.parametrize(("shape", "groups", "passes"), GROUPED, ids=str)
def test_channels_merge_their_statistics_within_a_group(shape, groups, passes):
    x, one = image(*shape), constant(np.ones(shape[1]))
    graph = graph_of(apply(GroupNormalization(groups), x, one, one), inputs=(x,))
    files = assert_runs_like_reference(graph, stage="compute", **DESKTOP)
    assert len(files.schedule["passes"]) == passes


def test_parameters_beside_statistics_have_a_texel_for_four_channels():
    x, one = image(1, 12, 9, 8), constant(np.arange(12.0))
    graph = graph_of(apply(InstanceNormalization(), x, one, one), inputs=(x,))
    _, files, _ = compile_graph(graph, **DESKTOP)
    known = [t for t in files.schedule["textures"] if t["data"] is not None]
    assert [(t["packing"], t["layers"]) for t in known] == [("planes", 3)] * 2


@pytest.mark.gl
@pytest.mark.parametrize("size", [(8, 8), (70, 30)])
def test_variances_far_below_the_mean_stay(size):
    """As a difference of means they would be lost: 3000^2 has no room for 0.01 beside it."""
    x = image(1, 5, *size)
    scale, bias = constant(np.full(5, 2.0)), constant(np.arange(5.0))
    graph = graph_of(apply(InstanceNormalization(), x, scale, bias), inputs=(x,))
    data = (3000 + 0.1 * RNG.normal(size=x.shape)).astype(np.float32)
    data[:, :, 0, 0] = 2990  # the first is no hint of the mean
    _, files, _ = compile_graph(graph, stage="compute", **DESKTOP)
    (found,) = play(files, {"x": data}).values()
    wide = data.astype(np.float64)
    mean, variance = (f(wide, (2, 3), keepdims=True) for f in (np.mean, np.var))
    want = 2 * (wide - mean) / np.sqrt(variance + 1e-5) + np.arange(5.0).reshape(-1, 1, 1)
    assert np.abs(found - want).max() <= 2e-3 * np.abs(want).max()  # of mean: 1e-7 * 3000 / 0.1


@pytest.mark.gl
def test_masked_elements_have_no_share_wherever_they_stand():
    x = image(3, 13)
    data = RNG.normal(size=x.shape).astype(np.float32) * 30
    data[0, :5] = data[1, 6:] = data[2, ::2] = -np.inf
    graph = graph_of(apply(Softmax((1,)), x), inputs=(x,))
    _, files, _ = compile_graph(graph, **DESKTOP)
    (found,) = play(files, {"x": data}).values()
    np.testing.assert_allclose(found, Softmax((1,)).reference(data.astype(np.float64)), atol=1e-6)
