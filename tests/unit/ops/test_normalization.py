"""Normalisations: decompositions against references, and both against PyTorch or definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, check_kernels, check_nest, graph_of, image

from shadergen.errors import ShadergenError
from shadergen.ir.graph import apply, constant
from shadergen.ir.ops import (
    LRN,
    BatchNormalization,
    GroupMean,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    LocalContrastNormalization,
    LocalVariance,
    LpNormalization,
    MeanVarianceNormalization,
    RMSNormalization,
    SpatialNormalization,
)
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType

torch = pytest.importorskip("torch")
F = torch.nn.functional

X = TensorType((2, 6, 4, 5))


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def tensors(*arrays: np.ndarray) -> list[Any]:
    return [torch.tensor(a) for a in arrays]


def parameters(channels: int = 6) -> tuple[np.ndarray, np.ndarray]:
    return normal(channels, seed=1), normal(channels, seed=2)


SHAPES = [(2, 6, 4, 5), (1, 6, 7), (2, 6, 2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_instance_normalisation_is_that_of_pytorch(shape: tuple[int, ...]) -> None:
    x, (scale, bias) = normal(*shape) * 3 + 1, parameters()
    y = check_kernels(InstanceNormalization(0.01), x, scale, bias)
    t, g, b = tensors(x, scale, bias)
    np.testing.assert_allclose(y, F.instance_norm(t, weight=g, bias=b, eps=0.01), atol=1e-12)


@pytest.mark.parametrize("shape", [*SHAPES, (3, 6)])
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_group_normalisation_is_that_of_pytorch(shape: tuple[int, ...], groups: int) -> None:
    x, (scale, bias) = normal(*shape) * 3 + 1, parameters()
    y = check_kernels(GroupNormalization(groups, 0.01), x, scale, bias)
    t, g, b = tensors(x, scale, bias)
    np.testing.assert_allclose(y, F.group_norm(t, groups, g, b, 0.01), atol=1e-12)


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_layer_normalisation_is_that_of_pytorch(axis: int, count: int) -> None:
    x = normal(2, 6, 4, 5) * 3 + 1
    given = [normal(*x.shape[axis:], seed=k) for k in range(count)]
    y = check_kernels(LayerNormalization(tuple(range(axis, 4)), 0.01), x, *given)
    t, *p = tensors(x, *given)
    np.testing.assert_allclose(y, F.layer_norm(t, x.shape[axis:], *p, eps=0.01), atol=1e-12)


def test_root_mean_square_normalisation_is_that_of_pytorch() -> None:
    x, scale = normal(3, 7, 10) + 1, normal(10, seed=1)
    y = check_kernels(RMSNormalization((2,), 0.01), x, scale)
    t, s = tensors(x, scale)
    np.testing.assert_allclose(y, F.rms_norm(t, (10,), s, 0.01), atol=1e-12)
    np.testing.assert_allclose(
        check_kernels(RMSNormalization((2,), 0.01), x), F.rms_norm(t, (10,), None, 0.01), atol=1e-12
    )


@pytest.mark.parametrize("axes", [(1,), (0, 2, 3), (1, 2)])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("epsilon", [0.0, 2.5])
def test_norms_become_one_where_they_are_not_small(
    axes: tuple[int, ...], p: int, epsilon: float
) -> None:
    x = normal(2, 6, 4, 5)
    x[:, :, 1, :] = 0
    x[0] *= 0.01
    y = check_kernels(LpNormalization(axes, p, epsilon), x)
    norm, want = (np.linalg.norm(_rows(v, axes), p, -1) for v in (y, x))
    np.testing.assert_allclose(norm, want / np.maximum(want, epsilon or 1e-300), atol=1e-12)


def _rows(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return x with ``axes`` joined as the last one."""
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    return x.transpose(*rest, *axes).reshape(*(x.shape[a] for a in rest), -1)


def test_mean_and_variance_become_zero_and_one() -> None:
    x = normal(3, 4, 5, 6) * 7 + 100
    y = check_kernels(MeanVarianceNormalization((0, 2, 3)), x)
    np.testing.assert_allclose(_rows(y, (0, 2, 3)).mean(-1), 0, atol=1e-12)
    np.testing.assert_allclose(_rows(y, (0, 2, 3)).var(-1), 1, atol=1e-8)


def test_batch_normalisation_takes_computed_parameters() -> None:
    x, (scale, bias) = normal(2, 6, 4, 5), parameters()
    mean, variance = normal(6, seed=3), np.abs(normal(6, seed=4)) + 0.1
    y = check_kernels(BatchNormalization(0.01), x, scale, bias, mean, variance)
    t, g, b, m, v = tensors(x, scale, bias, mean, variance)
    np.testing.assert_allclose(y, F.batch_norm(t, m, v, g, b, False, 0, 0.01), atol=1e-12)


def test_the_mean_of_a_group_is_given_to_each_of_its_channels() -> None:
    x = normal(2, 6, 1, 1)
    y = check_nest(GroupMean(3), x)
    np.testing.assert_allclose(y[:, 2:4], np.repeat(x[:, 2:4].mean(1, keepdims=True), 2, 1))


@pytest.mark.parametrize("size", [1, 3, 5, 11])
@pytest.mark.parametrize("shape", SHAPES)
def test_normalisation_across_channels_is_that_of_pytorch(
    shape: tuple[int, ...], size: int
) -> None:
    x = normal(*shape) * 3
    y = check_kernels(LRN(size, 0.5, 0.75, 2.0), x, tolerance=1e-9)
    want = F.local_response_norm(torch.tensor(x), size, 0.5, 0.75, 2.0)
    np.testing.assert_allclose(y, want, atol=1e-12)


def test_an_even_window_reaches_one_channel_further_after_than_before() -> None:
    x = np.zeros((1, 6, 1, 1))
    x[0, 3] = 1.0
    y = LRN(2, 1.0, 1.0, 1.0).reference(x + 1e-9)
    assert (np.abs(y[0, :, 0, 0] / (x + 1e-9)[0, :, 0, 0] - 1) > 0.1).nonzero()[0].tolist() == [
        2,
        3,
    ]
    check_kernels(LRN(2, 1.0, 1.0, 1.0), normal(1, 6, 2, 2), tolerance=1e-9)


@pytest.mark.parametrize("kernel", [(3, 3), (5, 3), (2, 4)])
def test_spatial_normalisation_divides_by_the_energy_around(kernel: tuple[int, int]) -> None:
    x = normal(2, 3, 6, 7)
    y = check_kernels(SpatialNormalization(kernel, 0.5, 0.6, 2.0), x, tolerance=1e-9)
    for n, c, i, j in ((0, 0, 0, 0), (1, 2, 3, 4), (0, 1, 5, 6)):
        energy = np.sum(around(x[n, c], kernel, i, j) ** 2) / np.prod(kernel)
        assert y[n, c, i, j] == pytest.approx(x[n, c, i, j] / (2 + 0.5 * energy) ** 0.6)


@pytest.mark.parametrize("kernel", [(3, 3), (5, 3), (2, 4)])
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_local_contrast_is_what_mean_and_deviation_around_leave(
    kernel: tuple[int, int], count_include_pad: bool
) -> None:
    x = normal(2, 3, 6, 7) + 5
    op = LocalContrastNormalization(kernel, 0.5, 0.6, 0.1, count_include_pad)
    y = check_kernels(op, x, tolerance=1e-9)
    for n, c, i, j in ((0, 0, 0, 0), (1, 2, 3, 4), (0, 1, 5, 6)):
        near = around(x[n, c], kernel, i, j).reshape(-1)
        if count_include_pad:
            near = np.pad(near, (0, int(np.prod(kernel)) - near.size))
        want = (x[n, c, i, j] - near.mean()) / (0.1 + 0.5 * near.var()) ** 0.6
        assert y[n, c, i, j] == pytest.approx(want)


def around(x: np.ndarray, kernel: tuple[int, int], i: int, j: int) -> np.ndarray:
    """Return the elements that exist in the window around (i, j)."""
    (h, w) = kernel
    top, left = i - (h - 1) // 2, j - (w - 1) // 2
    return x[max(top, 0) : top + h, max(left, 0) : left + w]


def test_a_large_mean_does_not_drown_a_small_deviation() -> None:
    x = constant((normal(1, 2, 8, 8) + 3000).astype(np.float32)).data
    op, given = LayerNormalization((2, 3)), image(*x.shape)
    simpler = op.decompose(given)
    got = evaluate_graph(graph_of(simpler, inputs=(given,)), {"x": x})["y0"]
    exact = op.reference(x.astype(np.float64))
    np.testing.assert_allclose(got, exact, atol=1e-3)


REFUSED = {
    "axis": (LayerNormalization((4,)), X),
    "parameters": (LayerNormalization((3,)), X, *[TensorType((5,))] * 3),
    "shape": (LayerNormalization((3,)), X, TensorType((4,))),
    "wider": (RMSNormalization((1,)), TensorType((2, 1)), TensorType((2, 3))),
    "channels": (InstanceNormalization(), X, TensorType((5,)), TensorType((5,))),
    "rank": (InstanceNormalization(), TensorType((2, 3)), *[TensorType((3,))] * 2),
    "groups": (GroupNormalization(4), X, *[TensorType((6,))] * 2),
    "order": (LpNormalization((1,), 3), X),
    "size": (LRN(0), X),
    "window": (SpatialNormalization((0, 3)), X),
    "contrast": (LocalContrastNormalization((3, 0)), X),
    "mean": (LocalVariance((3, 3)), X, TensorType((2, 6, 1, 1))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_operands_that_do_not_fit_are_refused(case: str) -> None:
    op, *types = REFUSED[case]
    with pytest.raises(ShadergenError) as caught:
        op.infer(*types)
    assert caught.value.code == "SG0205"


CASES: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "instance": (InstanceNormalization(), (2, 5, 9, 8), 2),
    "instance of rows": (InstanceNormalization(), (2, 5, 9), 2),
    "group": (GroupNormalization(2), (2, 6, 9, 8), 2),
    "group of rows": (GroupNormalization(3), (2, 6, 9), 2),
    "group of large maps": (GroupNormalization(3), (2, 6, 34, 40), 2),
    "group of vectors": (GroupNormalization(3), (4, 6), 2),
    "all channels": (GroupNormalization(1), (1, 6, 5, 4), 2),
    "layer": (LayerNormalization((1, 2)), (3, 4, 11), 0),
    "channels last": (LayerNormalization((2,)), (1, 7, 10), 2),
    "channels": (LayerNormalization((1,)), (1, 7, 5, 4), 0),
    "root mean square": (RMSNormalization((2,)), (2, 5, 10), 1),
    "norm": (LpNormalization((1,)), (2, 5, 4, 3), 0),
    "sums": (LpNormalization((1,), 1), (4, 7), 0),
    "whole": (MeanVarianceNormalization((0, 2, 3)), (3, 5, 4, 4), 0),
    "across": (LRN(5, 0.5), (2, 7, 4, 5), 0),
    "spatial": (SpatialNormalization((3, 5), 0.5), (1, 5, 6, 7), 0),
    "contrast": (LocalContrastNormalization((3, 3)), (1, 3, 6, 7), 0),
    "contrast with zeros": (
        LocalContrastNormalization((3, 5), count_include_pad=True),
        (2, 5, 6, 7),
        0,
    ),
}


@pytest.mark.parametrize(
    ("case", "computed"),
    [
        (case, computed)
        for case in CASES
        for computed in ((False, True) if CASES[case][2] else (False,))
    ],
)
def test_normalisation_runs_on_the_gpu(case: str, computed: bool) -> None:
    op, shape, count = CASES[case]
    x = image(*shape)
    size = shape[-1] if isinstance(op, (LayerNormalization, RMSNormalization)) else shape[1]
    if computed:
        given: list[Any] = [image(size, name=f"p{k}") for k in range(count)]
        inputs = (x, *given)
    else:
        given, inputs = [constant(normal(size, seed=k)) for k in range(count)], (x,)
    assert_runs_like_reference(graph_of(apply(op, x, *given), inputs=inputs))
