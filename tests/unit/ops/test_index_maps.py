"""Views: index maps composed into what reads them, against numpy and on GL."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_runs_like_reference, check_nest, compile_graph, conv, graph_of, image

from shadergen.ir.evaluation import evaluate_formula
from shadergen.ir.expr import Call, Expr, Num, Var, walk
from shadergen.ir.graph import Graph, Value, apply, constant
from shadergen.ir.index_maps import compose, read_through, simplified
from shadergen.ir.indexing import PAD_MODES, Load, Source, coordinates
from shadergen.ir.nest import Binding, Nest, loads_of
from shadergen.ir.ops import (
    Concat,
    DepthToSpace,
    Expand,
    Gather,
    MatMul,
    Movement,
    Pad,
    Pool,
    Rearrange,
    Reduce,
    Reshape,
    ResizeNearest,
    Slice,
    Tile,
    Transpose,
    Trilu,
)
from shadergen.ir.simplify import simplify
from shadergen.ir.types import TensorType
from shadergen.passes.kernel_ops import IndexMapped, parts

SIZES = (3, 6, 5)
DIVISORS = (1, 2, 3, 4, 6, 8, 12)


class Integers:
    """Draws integer expressions of three coordinates together with their values."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        grid = np.meshgrid(*map(np.arange, SIZES), indexing="ij")
        self.names = [o.name for o in coordinates(len(SIZES))]
        self.env = dict(zip(self.names, grid, strict=True))

    def draw(self, depth: int) -> Expr:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            if rng.random() < 0.3:
                return Num(float(rng.integers(-5, 10)))
            return Var(self.names[rng.integers(len(SIZES))])
        function = rng.choice(
            ["add", "sub", "mul", "idiv", "imod", "idiv", "imod", "min", "max", "lt", "eq", "where"]
        )
        a = self.draw(depth - 1)
        if function in ("idiv", "imod"):
            if np.min(evaluate_formula(a, self.env)) < 0:
                a = Call("max", (a, Num(0.0)))
            return Call(function, (a, Num(float(rng.choice(DIVISORS)))))
        if function == "mul":
            return Call("mul", (a, Num(float(rng.integers(-3, 7)))))
        rest = [self.draw(depth - 1) for _ in range(2 if function == "where" else 1)]
        return Call(str(function), (a, *rest))


@settings(max_examples=1000, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_simpler_expressions_give_the_same_integers_and_divide_nothing_negative(seed):
    integers = Integers(seed)
    expr = integers.draw(4)
    ranges = {name: (0, size - 1) for name, size in zip(integers.names, SIZES, strict=True)}
    found = simplify(expr, ranges)
    got, want = (np.broadcast_to(evaluate_formula(e, integers.env), SIZES) for e in (found, expr))
    np.testing.assert_array_equal(got, want)
    for e in walk(found):
        if isinstance(e, Call) and e.function in ("idiv", "imod"):
            assert np.min(evaluate_formula(e.args[0], integers.env)) >= 0


def test_splitting_and_joining_axes_leaves_no_division():
    """A reshape to other axes and back is the identity, whichever way it is spelled."""
    x = TensorType((2, 12, 3, 5))
    shuffle = Rearrange((2, 3, 4, 15), (0, 2, 1, 3), (2, 12, 15))
    back = Rearrange((2, 4, 3, 15), (0, 2, 1, 3), (2, 12, 3, 5))
    nest = IndexMapped(back, ((shuffle,),)).nest(x)
    ((source,),) = (load.sources for _, load in loads_of(simplified(nest, x.shape).once))
    assert source.index == coordinates(4)


def test_conditions_that_ranges_decide_are_dropped():
    x = TensorType((4, 6))
    padded = Pad((0, 2), (0, 3))
    cut = Slice((0, 2), (1, 1), (4, 6))
    nest = IndexMapped(cut, ((padded,),)).nest(x)
    ((source,),) = (load.sources for _, load in loads_of(simplified(nest, x.shape).once))
    assert source.valid == ()
    assert source.index == coordinates(2)


class Chain:
    """Draws movements one after another, from a shape of rank 1 to 4."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        rank = int(self.rng.integers(1, 5))
        self.first = tuple(int(s) for s in self.rng.integers(1, 7, rank))
        self.shape = self.first
        self.movements: list[Movement] = []

    def grow(self) -> None:
        kind = self.rng.choice(
            ["reshape", "transpose", "slice", "pad", "resize", "tile", "expand", "trilu", "shuffle"]
        )
        movement = getattr(self, f"make_{kind}")()
        if movement is None:
            return
        shape = movement.infer(TensorType(self.shape)).shape
        if math.prod(shape) <= 2000:
            self.movements.append(movement)
            self.shape = shape

    def make_reshape(self) -> Movement:
        size = math.prod(self.shape)
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        first = int(self.rng.choice(divisors))
        shapes = [(size,), (first, size // first), (1, first, size // first, 1)]
        return Reshape(shapes[self.rng.integers(3)])

    def make_transpose(self) -> Movement:
        return Transpose(tuple(int(a) for a in self.rng.permutation(len(self.shape))))

    def make_slice(self) -> Movement:
        sizes = [int(self.rng.integers(1, s + 1)) for s in self.shape]
        starts = [
            int(self.rng.integers(0, s - n + 1)) for s, n in zip(self.shape, sizes, strict=True)
        ]
        flipped = self.rng.random(len(sizes)) < 0.3
        starts = [s + n - 1 if f else s for s, n, f in zip(starts, sizes, flipped, strict=True)]
        return Slice(tuple(starts), tuple(-1 if f else 1 for f in flipped), tuple(sizes))

    def make_pad(self) -> Movement:
        before, after = self.rng.integers(0, 3, (2, len(self.shape)))
        mode = PAD_MODES[self.rng.integers(len(PAD_MODES))]
        value = float(self.rng.integers(0, 2))
        return Pad(tuple(map(int, before)), tuple(map(int, after)), mode, value)

    def make_resize(self) -> Movement:
        steps = [((1, 0, 1), (1, 0, 2), (2, 1, 3), (1, -1, 2))[k] for k in
                 self.rng.integers(0, 4, len(self.shape))]  # fmt: skip
        sizes = [max(1, s * r // p) for s, (p, _, r) in zip(self.shape, steps, strict=True)]
        return ResizeNearest(tuple(sizes), tuple(steps))

    def make_tile(self) -> Movement:
        return Tile(tuple(int(r) for r in self.rng.integers(1, 3, len(self.shape))))

    def make_expand(self) -> Movement | None:
        return Expand((3, *self.shape)) if len(self.shape) < 4 else None

    def make_trilu(self) -> Movement | None:
        return Trilu(int(self.rng.integers(-1, 2))) if len(self.shape) >= 2 else None

    def make_shuffle(self) -> Movement | None:
        fits = len(self.shape) == 4 and self.shape[1] % 2 == 0
        order = ("crd", "dcr")[self.rng.integers(2)]
        return DepthToSpace((1, 2), order) if fits else None


@settings(max_examples=500, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 4))
def test_chains_of_movements_are_one_index_map(seed, steps):
    """Composed and simplified, they read what the movements give one after another."""
    chain = Chain(seed)
    for _ in range(steps):
        chain.grow()
    if len(chain.movements) < 2:
        return
    *before, last = chain.movements
    op = IndexMapped(last, (tuple(before),))
    x = TensorType(chain.first)
    nest = op.nest(x)
    if nest is None:  # a constant border around a border of another constant
        assert sum(isinstance(m, (Pad, Trilu)) for m in chain.movements) > 1
        return
    data = np.arange(1.0, x.size + 1).reshape(x.shape)
    want = data
    for movement in chain.movements:
        want = movement.reference(want)
    np.testing.assert_array_equal(op.reference(data), want)
    np.testing.assert_array_equal(nest.run(want.shape, (data,)), want)
    np.testing.assert_array_equal(simplified(nest, want.shape).run(want.shape, (data,)), want)


def test_loops_read_through_views():
    rng = np.random.default_rng(0)
    flat = (Reshape((2, 24)),)
    check_nest(
        IndexMapped(MatMul(), (flat, ())), rng.normal(size=(2, 6, 2, 2)), rng.normal(size=(24, 3))
    )
    swapped = (Transpose((1, 0)), Slice((0, 1), (1, 1), (7, 4)))
    check_nest(IndexMapped(Reduce("max", (1,)), (swapped,)), rng.normal(size=(6, 7)))
    border = (Pad((0, 0, 1, 2), (0, 0, 2, 1), "reflect"),)
    check_nest(IndexMapped(Pool("max", (2, 3)), (border,)), rng.normal(size=(1, 5, 6, 7)))


def test_a_gap_of_another_value_is_no_part_of_an_index_map():
    zeros, ones = Pad((1,), (1,)).load(TensorType((3,))), Pad((1,), (1,), value=1.0)
    assert compose(ones.load(TensorType((5,))), 0, zeros) is None
    joined = Concat(0).load(TensorType((5,)), TensorType((4,)))
    assert compose(joined, 0, zeros) is None, "what lies in the gap would come from the next part"


def test_places_that_are_data_are_not_looked_up_through_a_view():
    nest = Gather(0).nest(TensorType((4, 3)), TensorType((2,), "int64"))
    assert read_through(nest, 0, Transpose((1, 0)).load(TensorType((3, 4)))) is None
    assert read_through(nest, 1, Slice((1,), (1,), (2,)).load(TensorType((5,), "int64")))


def test_a_load_from_nowhere_keeps_what_it_had():
    nowhere = Load((Source(0, (Num(0.0),), (Call("lt", (Num(1.0), Num(0.0))),)),), 2.0)
    nest = simplified(Nest(Var("value"), (Binding("value", nowhere),)), (3,))
    np.testing.assert_array_equal(nest.run((3,), (np.zeros(1),)), [2.0] * 3)


# --- the pass ------------------------------------------------------------------------------------


def passes(graph: Graph, **options) -> list[str]:
    """Return the operators that a graph's passes compute."""
    placed, files, _ = compile_graph(graph, **options)
    assert len(files.schedule["passes"]) == len(placed.nodes)
    return [type(parts(n).kernel).__name__ for n in placed.nodes]


def dense(x: Value, size: int) -> Value:
    rng = np.random.default_rng(0)
    w = constant(rng.normal(size=(x.shape[-1], size)) / x.shape[-1] ** 0.5)
    return apply(MatMul(), x, w, layer="dense")


@pytest.mark.gl
@pytest.mark.parametrize("channels", [3, 8, 10])
@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_pooling_flattening_and_a_dense_layer_are_two_passes(channels, stage):
    x = image(2, channels, 5, 4)
    pooled = apply(Reduce("mean", (2, 3)), x)
    y = dense(apply(Reshape((2, channels)), pooled), 7)
    options = {"device": "gles32-desktop", "glsl": 310, "stage": stage}
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), **options)
    assert [p["layers"] for p in files.schedule["passes"]][-1] == ["dense"]
    assert len({tuple(p["layers"]) for p in files.schedule["passes"]}) == 2


def test_a_map_is_flattened_by_a_copy_where_many_neurons_would_look_its_pixels_up():
    x = image(1, 16, 16, 16)
    flat = apply(Reshape((1, 4096)), x)
    assert passes(graph_of(dense(flat, 512), inputs=(x,))) == ["Reshape", "MatMul"]
    assert passes(graph_of(dense(flat, 3), inputs=(x,))) == ["IndexMapped"]


def test_a_copy_that_others_read_is_read_by_whom_it_costs_less():
    x = image(4, 6)
    turned = apply(Slice((0, 5), (1, -1), (4, 6)), x)
    y = apply(Slice((1, 0), (1, 1), (2, 6)), turned)  # whole texels of that
    assert passes(graph_of(y, inputs=(x,))) == ["IndexMapped"]
    assert passes(graph_of(y, turned, inputs=(x,))) == ["Slice", "Slice"]


def test_views_of_many_textures_are_copied_where_each_layer_is_a_texture():
    x = image(1, 32, 1, 1)
    graph = graph_of(dense(apply(Reshape((1, 32)), x), 4), inputs=(x,))
    assert passes(graph) == ["IndexMapped"]
    assert passes(graph, textures="2d") == ["Reshape", "MatMul"]


@pytest.mark.gl
@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("fetch", ["texel", "image"])
def test_movements_between_maps_run_as_one(stage, fetch):
    rng = np.random.default_rng(0)
    x = image(1, 3, 6, 5)
    y = conv(rng, x, 8, (3, 3), pads=(1, 1, 1, 1))
    y = apply(DepthToSpace((2, 2), "crd"), y)
    y = apply(Pad((0, 0, 1, 1), (0, 0, 2, 0), "reflect"), y)
    y = apply(ResizeNearest((1, 2, 30, 22), ((1, 0, 1), (1, 0, 1), (1, 0, 2), (1, 0, 2))), y)
    y = apply(Slice((0, 1, 29, 0), (1, -1, -1, 2), (1, 2, 30, 11)), y)
    options = {"device": "gles32-desktop", "glsl": 310, "stage": stage, "fetch": fetch}
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), **options)
    assert len(files.schedule["passes"]) == 2
