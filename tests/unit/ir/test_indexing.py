"""Index maps: they move what the reference moves, and divide as GLSL does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shadergen.ir.evaluation import evaluate_formula
from shadergen.ir.expr import Call, Expr, Var, walk
from shadergen.ir.indexing import PAD_MODES, border, coordinates, inside, step_function
from shadergen.ir.ops import (
    Concat,
    DepthToSpace,
    Pad,
    Reshape,
    ResizeNearest,
    Slice,
    Transpose,
)
from shadergen.ir.ops.base import Op
from shadergen.ir.types import TensorType


def movement(rng: np.random.Generator) -> tuple[Op, list[tuple[int, ...]]]:
    """Return a random movement operator and operand shapes that fit it."""

    def some(low: int, high: int, count: int) -> tuple[int, ...]:
        return tuple(int(k) for k in rng.integers(low, high, count))

    rank = int(rng.integers(1, 5))
    shape = some(1, 6, rank)
    kind = rng.integers(7)
    if kind == 0:
        mode = PAD_MODES[rng.integers(5)]
        return Pad(some(0, 9, rank), some(0, 9, rank), mode, 0.5), [shape]
    if kind == 1:
        axis = int(rng.integers(rank))
        sizes = some(1, 6, 3)
        return Concat(axis), [(*shape[:axis], s, *shape[axis + 1 :]) for s in sizes]
    if kind == 2:
        steps = tuple(int(rng.choice([-2, -1, 1, 3])) for _ in shape)
        sizes = tuple(
            int(rng.integers(1, (s - 1) // abs(d) + 2)) for s, d in zip(shape, steps, strict=True)
        )
        starts = []
        for length, d, size in zip(shape, steps, sizes, strict=True):
            start = int(rng.integers(0, length - abs(d) * (size - 1)))
            starts.append(start if d > 0 else length - 1 - start)
        return Slice(tuple(starts), steps, sizes), [shape]
    if kind == 3:
        new = [1] * int(rng.integers(1, 5))
        for factor in shape:
            new[rng.integers(len(new))] *= factor
        return Reshape(tuple(new)), [shape]
    if kind == 4:
        return Transpose(tuple(int(a) for a in rng.permutation(rank))), [shape]
    if kind == 5:
        block = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
        n, c, h, w = some(1, 4, 4)
        order = "crd" if rng.integers(2) else "dcr"
        return DepthToSpace(block, order), [(n, c * block[0] * block[1], h, w)]
    steps = tuple(
        (int(p), int(q), int(r))
        for p, q, r in zip(
            rng.integers(1, 5, rank),
            rng.integers(-3, 4, rank),
            rng.integers(1, 5, rank),
            strict=True,
        )
    )
    return ResizeNearest(some(1, 9, rank), steps), [shape]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_index_maps_move_what_the_reference_moves(seed):
    rng = np.random.default_rng(seed)
    op, shapes = movement(rng)
    arrays = [rng.normal(size=s) for s in shapes]
    types = [TensorType(s) for s in shapes]
    want = op.reference(*arrays)
    assert op.infer(*types).shape == want.shape
    load = op.load(*types)
    for source in load.sources:
        for part in (*source.index, *source.valid):
            assert_divides_as_glsl(part, want.shape)
    got = op.nest(*types).run(want.shape, arrays)
    np.testing.assert_array_equal(got, want, err_msg=str(op))


def assert_divides_as_glsl(index: Expr, shape: tuple[int, ...]) -> None:
    """GLSL leaves quotients and remainders of negative integers undefined."""
    names = (o.name for o in coordinates(len(shape)))
    grid = dict(zip(names, np.ogrid[tuple(slice(s) for s in shape)], strict=True))
    for e in walk(index):
        if isinstance(e, Call) and e.function in ("idiv", "imod"):
            assert np.min(evaluate_formula(e.args[0], grid)) >= 0, str(e)


@pytest.mark.parametrize("mode", PAD_MODES)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 0), (0, 2), (2, 3), (9, 16)])
def test_borders_continue_as_numpy_pads(mode, size, before, after):
    x = np.arange(size)
    positions = np.arange(-before, size + after)
    at = np.asarray(evaluate_formula(border(mode, Var("i"), size, before, after), {"i": positions}))
    assert at.min() >= 0
    assert at.max() < size
    for e in walk(border(mode, Var("i"), size, before, after)):
        if isinstance(e, Call) and e.function == "imod":
            assert np.min(evaluate_formula(e.args[0], {"i": positions})) >= 0
    held = np.ones(positions.shape, bool)
    for condition in inside(Var("i"), size, before, after):
        held &= np.asarray(evaluate_formula(condition, {"i": positions})) != 0
    assert held.tolist() == [0 <= p < size for p in positions]
    if mode == "constant":
        got = np.where(held, x[at.astype(int)], -1)
        want = np.pad(x, (before, after), constant_values=-1)
    else:
        got, want = x[at.astype(int)], np.pad(x, (before, after), mode)
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize(
    ("mode", "before", "after"), [("reflect", 2, 6), ("symmetric", 7, 3), ("symmetric", 0, 7)]
)
def test_borders_mirrored_once_take_no_division(mode, before, after):
    functions = {e.function for e in walk(border(mode, Var("i"), 7, before, after))
                 if isinstance(e, Call)}  # fmt: skip
    assert functions <= {"min", "max", "sub"}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(1, 9), st.integers(1, 20), st.sampled_from([0.0, 0.25, 0.5]),
    st.sampled_from([math.floor, math.ceil, lambda v: math.floor(v + 0.5)]),
)  # fmt: skip
def test_step_functions_reproduce_the_table_they_are_found_for(size, length, shift, rounding):
    table = [min(max(rounding(i * size / length + shift), 0), size - 1) for i in range(length)]
    found = step_function(table, size, size, length)
    if found is None:  # rounding halves can give what no step function does
        assert (rounding, shift) != (math.floor, 0.0)
        return
    p, q, r = found
    assert [min(max((p * i + q) // r, 0), size - 1) for i in range(length)] == table


def test_step_functions_are_not_invented():
    assert step_function([0, 1, 0], 2, 1, 1) is None
    assert step_function([0, 0, 1, 1], 2, 2, 4) is not None
