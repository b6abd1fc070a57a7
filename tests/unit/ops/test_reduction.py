"""Reductions, softmax, running sums and sorting: nests against numpy and scipy-free definitions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support import check_kernels, check_nest

from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import Input, Port, Result, Value, apply
from shadergen.ir.ops import (
    ArgMax,
    ArgMin,
    CumProd,
    CumSum,
    Hardmax,
    LogSoftmax,
    Op,
    PartialReduce,
    Reduce,
    Softmax,
    Sorted,
    SortOrder,
)
from shadergen.ir.ops.reduction import KINDS, LONGEST
from shadergen.ir.types import TensorType


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def ties(*shape: int, seed: int = 0) -> np.ndarray:
    """Return small whole numbers, so that many are equal."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float64)


AXES = [
    ((), ()),
    ((5,), (0,)),
    ((3, 4), ()),
    ((3, 4), (1,)),
    ((3, 4, 5), (0, 2)),
    ((2, 3, 4, 5), (1,)),
    ((2, 3, 4, 5), (2, 3)),
    ((2, 3, 4, 5), (3, 0, 1, 2)),
    ((2, 1, 3, 1, 2), (1, 4)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "axes"), AXES, ids=str)
@pytest.mark.parametrize("keepdims", [True, False])
def test_reductions_are_those_of_numpy(
    kind: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool
) -> None:
    x = normal(*shape)
    x = np.abs(x) if kind == "log_sum" else x
    y = check_kernels(Reduce(kind, axes, keepdims), x)
    e = x[np.newaxis].transpose(
        0, *(1 + a for a in range(x.ndim) if a not in axes), *(1 + a for a in axes)
    )
    rows = e.reshape(*e.shape[: x.ndim - len(axes) + 1], -1)
    definition = {
        "sum": np.sum(rows, -1),
        "mean": np.mean(rows, -1),
        "prod": np.prod(rows, -1),
        "max": np.max(rows, -1),
        "min": np.min(rows, -1),
        "l1": np.linalg.norm(rows, 1, -1),
        "l2": np.linalg.norm(rows, 2, -1),
        "sum_square": np.linalg.norm(rows, 2, -1) ** 2,
        "log_sum": np.log(np.sum(np.abs(rows), -1)),
        "log_sum_exp": np.log(np.sum(np.exp(rows), -1)),
    }[kind]
    np.testing.assert_allclose(y.reshape(-1), definition.reshape(-1), rtol=1e-12)


def test_a_reduction_of_a_formula_broadcasts_its_operands() -> None:
    x, m, w = normal(3, 4, 5), normal(4, 1, seed=1), normal(5, seed=2)
    op = Reduce("sum", (1,), False, parse("x2 * exp(x0 - x1)"))
    y = check_kernels(op, x, m, w)
    np.testing.assert_allclose(y, np.sum(w * np.exp(x - m), 1))


def test_log_sum_exp_takes_numbers_whose_exponentials_overflow() -> None:
    x = np.array([[1000.0, 1000.0], [-2000.0, -1999.0], [-np.inf, -np.inf], [np.inf, 0.0]])
    y = check_kernels(Reduce("log_sum_exp", (1,), False), x)
    np.testing.assert_allclose(y[:2], [1000 + np.log(2), -1999 + np.log1p(np.exp(-1))])
    assert list(y[2:]) == [-np.inf, np.inf]


@pytest.mark.parametrize("kind", ["sum", "mean", "prod", "max", "min", "l1", "l2", "sum_square"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_are_reduced_to_integers_rounded_towards_zero(kind: Any, dtype: type) -> None:
    x = np.random.default_rng(0).integers(-3, 4, (4, 2, 3))
    y = check_kernels(Reduce(kind, (0, 2)), x.astype(dtype))
    if kind == "mean":
        assert np.array_equal(y, np.trunc(np.mean(x, (0, 2), keepdims=True)))


@pytest.mark.parametrize("kind", ["max", "min"])
def test_truth_values_have_extrema(kind: Any) -> None:
    x = np.array([[True, False], [True, True], [False, False]])
    y = check_kernels(Reduce(kind, (1,)), x)
    assert y.dtype == np.bool_


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("op", [Reduce("sum", (0,)), Reduce("prod", (0,)), CumSum(0)], ids=str)
def test_sums_that_need_not_fit_their_type_are_refused(op: Op, dtype: Any) -> None:
    with pytest.raises(
        ShadergenError, match=rf"(from|of) {dtype} (to {dtype} )?(is not supported|does not fit)"
    ):
        op.infer(TensorType((2,), dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_narrow_integers_have_extrema(dtype: type) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    assert check_kernels(Reduce("max", (0,)), x).dtype == dtype


def test_logarithms_of_integers_are_refused() -> None:
    with pytest.raises(ShadergenError, match="SG0205"):
        Reduce("log_sum", (0,)).infer(TensorType((2,), "int32"))


def stages(value: Value) -> list[int]:
    """Return how many steps each nest takes that a value is computed by, last first."""
    assert isinstance(value, Result)
    node = value.node
    simpler = node.op.decompose(*node.inputs)
    if simpler is not None:
        return stages(simpler)
    nest = node.op.nest(*(v.type for v in node.inputs))
    assert nest is not None
    return [nest.steps, *(s for v in node.inputs if isinstance(v, Result) for s in stages(v))]


@pytest.mark.parametrize(
    ("shape", "axes", "steps"),
    [
        ((1, 8, 112, 112), (2, 3), [112, 112]),
        ((1, 8, 32, 32), (2, 3), [1024]),
        ((3, 2048), (1,), [4, 512]),
        ((3, 1280), (1,), [4, 320]),
        ((1000000,), (0,), [1000, 1000]),
        ((10007,), (0,), [12, 834]),
        ((40, 50), (0, 1), [50, 40]),
        ((1, 3, 224, 224), (0, 1, 2, 3), [672, 224]),
    ],
    ids=str,
)
def test_long_reductions_take_stages(
    shape: tuple[int, ...], axes: tuple[int, ...], steps: list[int]
) -> None:
    x = Input(TensorType(shape), "x", Port.plain(len(shape)))
    assert stages(apply(Reduce("mean", axes), x)) == steps
    assert max(steps) <= LONGEST


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 2050), (3, 3001), (3, 4096)], ids=str)
def test_stages_give_what_one_loop_gives(kind: Any, shape: tuple[int, ...]) -> None:
    x = 1 + 0.01 * normal(*shape)
    check_kernels(Reduce(kind, (1,)), x, tolerance=1e-10)
    check_kernels(Reduce(kind, (0, 1), False), x, tolerance=1e-10)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "log_sum_exp"])
@pytest.mark.parametrize("blocks", [1, 3, 4, 10])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_part_takes_every_so_manieth_element(kind: Any, blocks: int, axis: int) -> None:
    x = np.abs(normal(10, 11))
    check_nest(PartialReduce(kind, axis, blocks, parse("x0 * 2")), x)


def test_a_long_mean_of_32_bit_floats_is_good_to_five_digits() -> None:
    """Equal numbers are the worst case: every rounding of their sum goes the same way."""
    x = np.full((1 << 20,), np.float32(0.1))
    part, rest = PartialReduce("mean", 0, 1024), Reduce("mean", (0,), False)
    sums = part.nest(TensorType(x.shape)).run((1024,), [x]).astype(np.float32)
    found = float(rest.nest(TensorType((1024,))).run((), [sums]))
    assert abs(found - 0.1) < 0.1 * 3e-5
    one_after_the_other = float(np.cumsum(x)[-1]) / x.size
    assert abs(one_after_the_other - 0.1) > 0.1 * 3e-3


@pytest.mark.parametrize("axes", [(2,), (0, 0), (-1,)], ids=str)
def test_axes_that_do_not_exist_are_refused(axes: tuple[int, ...]) -> None:
    with pytest.raises(ShadergenError, match="SG0205"):
        Reduce("sum", axes).infer(TensorType((2, 3)))


# --- softmax -----------------------------------------------------------------------------------


def softmax(x: np.ndarray) -> Any:
    e = np.exp(x.astype(np.longdouble))
    return (e / e.sum()).astype(float)


@pytest.mark.parametrize(("shape", "axes"), [s for s in AXES if s[1]], ids=str)
def test_softmax_shares_out_one(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = normal(*shape) * 3
    y = check_kernels(Softmax(axes), x)
    logs = check_kernels(LogSoftmax(axes), x)
    np.testing.assert_allclose(logs, np.log(y), atol=1e-12)
    rest = [a for a in range(x.ndim) if a not in axes]
    for at in np.ndindex(*(shape[a] for a in rest)):
        place: list[Any] = [slice(None)] * x.ndim
        for axis, i in zip(rest, at, strict=True):
            place[axis] = i
        np.testing.assert_allclose(y[tuple(place)], softmax(x[tuple(place)]), rtol=1e-10)


def test_softmax_takes_numbers_whose_exponentials_overflow() -> None:
    x = np.array([[1e4, 1e4 + 1, -np.inf]])
    y = check_kernels(Softmax((1,)), x)
    np.testing.assert_allclose(y, [[1 / (1 + np.e), np.e / (1 + np.e), 0]])


@pytest.mark.parametrize("op", [Softmax, LogSoftmax, Hardmax])
def test_softmax_of_integers_is_refused(op: Any) -> None:
    with pytest.raises(ShadergenError, match="int32"):
        op((0,)).infer(TensorType((2,), "int32"))


@pytest.mark.parametrize("axes", [(0,), (1,), (1, 2), (0, 1, 2)], ids=str)
def test_hardmax_marks_the_first_of_the_largest(axes: tuple[int, ...]) -> None:
    x = ties(4, 3, 5)
    y = check_kernels(Hardmax(axes), x)
    assert np.array_equal(y.sum(axes), np.ones_like(y.sum(axes)))
    assert np.array_equal(np.sum(y * x, axes), np.max(x, axes))
    before = np.cumsum(y.reshape(4, 15), 1) if axes == (1, 2) else None
    if before is not None:
        rows = x.reshape(4, 15)
        assert not ((before == 0) & (rows == rows.max(1, keepdims=True))).any()


# --- order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [ArgMax, ArgMin])
@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_positions_of_extrema_are_those_of_numpy(
    op: Any, keepdims: bool, last: bool, axis: int
) -> None:
    x = ties(2, 3, 4, 6)
    y = check_kernels(op((axis,), keepdims, last), x)
    find = np.argmax if op is ArgMax else np.argmin
    if last:
        want = x.shape[axis] - 1 - find(np.flip(x, axis), axis, keepdims=keepdims)
    else:
        want = find(x, axis, keepdims=keepdims)
    assert y.dtype == np.int64
    assert np.array_equal(y, want)


def test_positions_in_several_axes_count_row_by_row() -> None:
    x = ties(3, 4, 5)
    y = check_kernels(ArgMax((1, 2), False), x)
    assert np.array_equal(y, np.argmax(x.reshape(3, 20), 1))
    y = check_kernels(ArgMin((0, 1, 2), False, True), x)
    assert y == 59 - np.argmin(x.reshape(-1)[::-1])


def test_a_long_axis_is_searched_in_stages() -> None:
    x = np.tile(ties(2, 50), 60)
    assert np.array_equal(check_kernels(ArgMax((1,), False), x), np.argmax(x, 1))


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8, np.int32])
def test_sorting_is_that_of_numpy_and_stable(descending: bool, axis: int, dtype: type) -> None:
    x = (ties(4, 5, 6) + 2).astype(dtype)
    order = check_nest(SortOrder(axis, descending), x)
    y = check_nest(Sorted(axis, x.shape[axis]), x, order)
    want = np.sort(x, axis)
    assert np.array_equal(y, np.flip(want, axis) if descending else want)
    index = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(3)])
    back = check_nest(Sorted(axis, x.shape[axis]), index, order)
    key = -x.astype(int) if descending else x
    assert np.array_equal(back, np.argsort(key, axis, kind="stable"))


def test_axes_too_long_to_sort_are_refused() -> None:
    with pytest.raises(ShadergenError, match="up to 32768"):
        SortOrder(0).infer(TensorType((40000,)))


# --- running sums ------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [CumSum, CumProd])
@pytest.mark.parametrize(("exclusive", "reverse"), list(product([True, False], repeat=2)))
@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((3, 4, 2), 1), ((2, 300), 1), ((257,), 0)])
def test_running_sums_add_what_came_before(
    op: Any, exclusive: bool, reverse: bool, shape: tuple[int, ...], axis: int
) -> None:
    x = 1 + 0.1 * normal(*shape)
    y = check_kernels(op(axis, exclusive, reverse), x)
    total = np.sum if op is CumSum else np.prod
    for i in (0, 1, shape[axis] // 2, shape[axis] - 1):
        here = slice(i + exclusive, None) if reverse else slice(0, i + (not exclusive))
        part = np.moveaxis(x, axis, 0)[here]
        np.testing.assert_allclose(np.take(y, i, axis), total(part, 0), rtol=1e-10)


def test_running_sums_of_integers_stay_integers() -> None:
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert check_kernels(CumSum(1), x).dtype == np.int32
    long = np.ones((200,), np.int64)
    assert np.array_equal(check_kernels(CumSum(0, reverse=True), long), np.arange(200, 0, -1))


@pytest.mark.parametrize(
    "op", [CumSum(2), SortOrder(-1), Sorted(0, 1)], ids=lambda o: type(o).__name__
)
def test_an_axis_that_does_not_exist_is_refused(op: Op) -> None:
    t = TensorType((3, 4))
    with pytest.raises(ShadergenError, match="SG0205"):
        op.infer(*((t, TensorType(())) if isinstance(op, Sorted) else (t,)))
