"""Pooling and unpooling: nests against references, and both against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, check_kernels, check_nest, graph_of, image

from shadergen.errors import ShadergenError
from shadergen.ir.graph import apply
from shadergen.ir.ops import AdaptivePool, MaxPoolIndices, MaxUnpool, Pool
from shadergen.ir.types import TensorType

torch = pytest.importorskip("torch")
F = torch.nn.functional

X = TensorType((1, 2, 6, 7))


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def windows(seed: int, axes: int = 2) -> tuple[np.ndarray, dict[str, Any]]:
    """Return a tensor with ties and random windows that PyTorch takes too."""
    rng = np.random.default_rng(seed)
    kernel = rng.integers(1, 5, axes)
    pads = [int(rng.integers(0, k // 2 + 1)) for k in kernel]
    x = rng.integers(-3, 4, (2, 3, *rng.integers(7, 10, axes))) / 2
    return x, {
        "kernel": tuple(map(int, kernel)),
        "strides": tuple(map(int, rng.integers(1, 4, axes))),
        "dilations": tuple(map(int, rng.integers(1, 3, axes))),
        "pads": (*pads, *pads),
        "ceil_mode": bool(rng.integers(2)),
    }


def in_torch(w: dict[str, Any], *without: str) -> dict[str, Any]:
    names = {"kernel": "kernel_size", "strides": "stride", "dilations": "dilation"}
    found = {names.get(k, k): v for k, v in w.items() if k not in ("pads", *without)}
    return {**found, "padding": w["pads"][: len(w["kernel"])]}


def positions(found: Any, x: np.ndarray) -> np.ndarray:
    """Return PyTorch's positions, which start anew with every channel, as those in all of x."""
    axes = x.ndim - 2
    n, c = x.shape[:2]
    start = np.arange(n * c).reshape(n, c, *(1,) * axes) * np.prod(x.shape[2:])
    return found.numpy() + start


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_maxima_and_their_places_are_those_of_pytorch(seed: int, axes: int) -> None:
    x, w = windows(seed, axes)
    pool = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[axes]
    want, where = pool(torch.tensor(x), **in_torch(w), return_indices=True)
    y = check_kernels(Pool("max", **w), x)
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(check_nest(Pool("max", **w), x), want)
    found = check_nest(MaxPoolIndices(**w), x, y)
    np.testing.assert_array_equal(found, positions(where, x))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_averages_are_those_of_pytorch(seed: int, axes: int, count_include_pad: bool) -> None:
    x, w = windows(seed, axes)
    w = {**w, "dilations": ()}
    pool = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[axes]
    want = pool(torch.tensor(x), **in_torch(w, "dilations"), count_include_pad=count_include_pad)
    op = Pool("average", **w, count_include_pad=count_include_pad)
    np.testing.assert_allclose(check_kernels(op, x), want, atol=1e-12)
    check_nest(op, x)


@pytest.mark.parametrize("seed", range(8))
def test_averages_of_windows_with_holes_count_the_taps_that_exist(seed: int) -> None:
    x, w = windows(seed)
    found = check_nest(Pool("average", **w), x)
    ones = Pool("lp", **w, p=1).reference(np.ones_like(x))  # how many taps exist
    total = Pool("lp", **w, p=1).reference(x + 2) - 2 * ones  # no element of x + 2 is negative
    np.testing.assert_allclose(found, total / ones, atol=1e-12)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, 1.5])
def test_norms_are_those_of_pytorch(p: float) -> None:
    x = np.abs(normal(2, 3, 9, 8))
    want = F.lp_pool2d(torch.tensor(x), p, (3, 2), (2, 1))
    np.testing.assert_allclose(check_nest(Pool("lp", (3, 2), (2, 1), p=p), x), want, atol=1e-12)
    np.testing.assert_allclose(check_nest(Pool("lp", (3, 2), (2, 1), p=p), -x), want, atol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (3, 4), (6, 7), (5, 5), (9, 2)])
@pytest.mark.parametrize("kind", ["max", "average"])
def test_adaptive_pooling_is_that_of_pytorch(kind: Any, sizes: tuple[int, int]) -> None:
    x = normal(2, 3, 6, 7)
    pool = F.adaptive_max_pool2d if kind == "max" else F.adaptive_avg_pool2d
    want = pool(torch.tensor(x), sizes)
    np.testing.assert_allclose(check_kernels(AdaptivePool(kind, sizes), x), want, atol=1e-12)
    np.testing.assert_allclose(check_nest(AdaptivePool(kind, sizes), x), want, atol=1e-12)


def test_padding_is_no_maximum_even_of_negative_numbers() -> None:
    x = np.full((1, 1, 3, 3), -5.0)
    y = check_nest(Pool("max", (3, 3), pads=(1, 1, 1, 1)), x)
    assert set(y.reshape(-1)) == {-5.0}


def test_maxima_of_bytes_are_bytes() -> None:
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 5, 6)).astype(np.uint8)
    y = check_nest(Pool("max", (2, 2), (2, 2)), x)
    np.testing.assert_array_equal(y, F.max_pool2d(torch.tensor(x.astype(float)), 2))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_places_count_the_last_axis_slowest_in_column_major_order(axes: int) -> None:
    x, w = windows(3, axes)
    y = Pool("max", **w).reference(x)
    rows, columns = (check_nest(MaxPoolIndices(**w, column_major=c), x, y) for c in (False, True))
    reverse = (0, 1, *range(axes + 1, 1, -1))
    spatial = np.prod(x.shape[2:])
    # Numbering the reversed tensor by rows is numbering the tensor by columns.
    number = np.arange(x.size).reshape([x.shape[a] for a in reverse]).transpose(reverse)
    np.testing.assert_array_equal(columns, number.reshape(-1)[rows])
    assert (columns // spatial == rows // spatial).all()


@pytest.mark.parametrize("kernel", [(2, 2), (3, 2)])
@pytest.mark.parametrize("strides", [(2, 2), (1, 3)])
def test_unpooling_is_that_of_pytorch_wherever_it_looks(kernel: Any, strides: Any) -> None:
    x = normal(2, 3, 7, 8)
    maxima, where = F.max_pool2d(torch.tensor(x), kernel, strides, return_indices=True)
    want = F.max_unpool2d(maxima, where, kernel, strides, output_size=x.shape)
    y, indices = maxima.numpy(), positions(where, x)
    for op in (MaxUnpool((7, 8)), MaxUnpool((7, 8), kernel, strides)):
        np.testing.assert_array_equal(check_nest(op, y, indices), want)


def test_unpooling_looks_around_alone_where_windows_overlap_and_begin_in_the_padding() -> None:
    x = normal(1, 2, 9, 8)
    w: dict[str, Any] = {"kernel": (3, 4), "strides": (2, 1), "pads": (1, 2, 1, 2)}
    y = Pool("max", **w).reference(x)
    indices = MaxPoolIndices(**w).reference(x, y)
    everywhere = check_nest(MaxUnpool((9, 8)), y, indices)
    np.testing.assert_array_equal(check_nest(MaxUnpool((9, 8), **w), y, indices), everywhere)


def test_large_windows_are_pooled_axis_by_axis() -> None:
    x = image(1, 4, 40, 40)
    assert apply(Pool("max", (2, 2), (2, 2)), x).node.op.decompose(x) is None
    wide = Pool("average", (9, 9), pads=(4, 4, 4, 4)).decompose(x)
    assert wide is not None
    assert wide.node.op == Pool("average", (1, 9), (1, 1), (1, 1), (0, 4, 0, 4))
    check_kernels(Pool("average", (9, 9), pads=(4, 4, 4, 4)), normal(1, 2, 12, 12))
    check_kernels(Pool("lp", (9, 9), pads=(4, 4, 4, 4), p=3), normal(1, 2, 12, 12))


REFUSED = {
    "kind": (Pool("median", (2, 2)), X),  # type: ignore[arg-type]
    "too many axes": (Pool("max", (1, 1, 1, 1, 1)), X),
    "kernel": (Pool("max", (0, 2)), X),
    "reach": (Pool("max", (7, 2)), X),
    "pads": (Pool("max", (2, 2), pads=(-1, 0, 0, 0)), X),
    "number of pads": (Pool("max", (2, 2), pads=(1, 1, 1)), X),
    "order": (Pool("lp", (2, 2), p=0), X),
    "padding alone": (Pool("max", (2, 2), pads=(2, 0, 0, 0)), X),
    "mean of padding": (Pool("average", (2, 2), pads=(2, 0, 0, 0)), X),
    "sizes": (AdaptivePool("max", (0, 2)), X),
    "indices": (MaxUnpool((6, 6)), TensorType((1, 2, 3, 3)), TensorType((1, 2, 3, 4))),
    "other maxima": (MaxPoolIndices((2, 2)), X, X),
    "many": (MaxPoolIndices((1, 1)), *[TensorType((2, 64, 512, 512))] * 2),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_pooling_is_refused(case: str) -> None:
    op, *types = REFUSED[case]
    with pytest.raises(ShadergenError) as caught:
        op.infer(*types)
    assert caught.value.code == "SG0205"


def test_a_mean_that_counts_padding_may_see_nothing_else() -> None:
    y = check_nest(
        Pool("average", (2, 2), pads=(2, 0, 0, 0), count_include_pad=True), normal(1, 2, 6, 7)
    )
    assert (y[:, :, 0] == 0).all()


CASES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "max": (Pool("max", (3, 2), (2, 1), (1, 2), (1, 1, 1, 1), True), (2, 5, 9, 8)),
    "average": (Pool("average", (3, 3), (2, 2), (2, 1), (1, 1, 1, 1), True), (1, 3, 9, 10)),
    "average with padding": (
        Pool("average", (3, 2), (2, 2), (), (1, 1, 1, 0), True, True),
        (1, 6, 8, 8),
    ),
    "norm of rows": (Pool("lp", (3,), (2,), p=1), (3, 11)),
    "volumes": (Pool("max", (2, 2, 2), (2, 1, 2)), (1, 3, 4, 5, 6)),
    "channels": (Pool("average", (3, 1, 1), pads=(1, 0, 0, 1, 0, 0)), (1, 6, 4, 5)),
    "wide": (Pool("average", (9, 9), pads=(4, 4, 4, 4)), (1, 5, 12, 13)),
    "adaptive": (AdaptivePool("average", (3, 4)), (1, 5, 7, 9)),
    "adaptive rows": (AdaptivePool("max", (3,)), (2, 3, 11)),
}


@pytest.mark.parametrize("case", CASES)
def test_pooling_runs_on_the_gpu(case: str) -> None:
    op, shape = CASES[case]
    x = image(*shape)
    assert_runs_like_reference(graph_of(apply(op, x), inputs=(x,)))


@pytest.mark.parametrize("shape", [(2, 5, 8, 6), (1, 3, 7)])
def test_pooling_and_its_way_back_run_on_the_gpu(shape: tuple[int, ...]) -> None:
    x = image(*shape)
    kernel = (2,) * (len(shape) - 2)
    y = apply(Pool("max", kernel, kernel), x)
    where = apply(MaxPoolIndices(kernel, kernel), x, y)
    back = apply(MaxUnpool(shape[2:]), y, where)
    near = apply(MaxUnpool(shape[2:], kernel, kernel), y, where)
    assert_runs_like_reference(graph_of(y, back, near, inputs=(x,)))
