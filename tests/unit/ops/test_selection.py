"""Selection and scattering: nests against references, these against numpy and PyTorch, and GL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import check_kernels, check_nest, compile_graph, graph_of, play

from shadergen.errors import ShadergenError
from shadergen.ir.expr import Call, Expr, Var
from shadergen.ir.graph import Input, Port, Result, Value, apply, constant
from shadergen.ir.ops import (
    Concat,
    Expand,
    Gather,
    GatherElements,
    GatherND,
    OneHot,
    Op,
    Pointwise,
    ReverseSequence,
    ScatterElements,
    ScatterND,
    TensorScatter,
    Tile,
    Trilu,
)
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType

RNG = np.random.default_rng(7)
REDUCTIONS = ("none", "add", "mul", "max", "min")


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def indices(size: int, *shape: int) -> np.ndarray:
    """Return indices of an axis, negative ones among them."""
    return RNG.integers(-size, size, shape)


def distinct(axis: int, *shape: int) -> np.ndarray:
    """Return indices that name no element of the axis twice."""
    return np.argsort(RNG.random(shape), axis)


SELECTIONS: dict[str, tuple[Op, tuple[np.ndarray, ...], Any]] = {
    "expand": (Expand((3, 1, 4)), (floats(3, 2, 1),), lambda x: np.broadcast_to(x, (3, 2, 4))),
    "expand to more axes": (Expand((2, 3)), (floats(3),), lambda x: np.broadcast_to(x, (2, 3))),
    "tile": (Tile((2, 1, 3)), (floats(2, 3, 4),), lambda x: np.tile(x, (2, 1, 3))),
    "assign layouts": (
        Tile((1, 3, 1, 2)),
        (floats(2, 3, 2, 5),),
        lambda x: np.tile(x, (1, 3, 1, 2)),
    ),
    **{
        f"triangle {k} {upper}": (
            Trilu(k, upper),
            (floats(2, 4, 5),),
            lambda x, k=k, upper=upper: (np.triu if upper else np.tril)(x, k),
        )
        for k in (-(10**12), -3, 0, 1, 6, 10**12)
        for upper in (True, False)
    },
    **{
        f"gather {axis}": (
            Gather(axis),
            (floats(3, 5, 2, 4), indices((3, 5, 2, 4)[axis], 2, 3)),
            lambda x, i, axis=axis: np.take(x, i, axis),
        )
        for axis in range(4)
    },
    "gather one": (Gather(1), (floats(3, 5), np.array(-2)), lambda x, i: x[:, -2]),
    **{
        f"elements {axis}": (
            GatherElements(axis),
            (floats(3, 5, 4), indices((3, 5, 4)[axis], 3, 5, 4)),
            lambda x, i, axis=axis: np.take_along_axis(x, i, axis),
        )
        for axis in range(3)
    },
    "fewer elements": (
        GatherElements(1),
        (floats(3, 5, 4), indices(5, 2, 7, 3)),
        lambda x, i: np.take_along_axis(x[:2, :, :3], i, 1),
    ),
    "positions": (
        GatherND(),
        (floats(3, 4, 5), indices(3, 6, 2)),
        lambda x, i: x[i[:, 0], i[:, 1]],
    ),
    "positions of elements": (
        GatherND(),
        (floats(3, 4, 5), indices(3, 2, 4, 3)),
        lambda x, i: x[i[..., 0], i[..., 1], i[..., 2]],
    ),
    "positions in batches": (
        GatherND(1),
        (floats(3, 4, 5, 2), indices(4, 3, 6, 2)),
        lambda x, i: np.stack([a[b[:, 0], b[:, 1]] for a, b in zip(x, i, strict=True)]),
    ),
    **{
        f"marks {axis}": (
            OneHot(4, axis),
            (indices(6, 2, 3), np.float32([-2, 5])),
            lambda i, v, axis=axis: np.moveaxis(
                np.where(np.arange(4) == np.where(i < 0, i + 4, i)[..., None], v[1], v[0]), -1, axis
            ),
        )
        for axis in range(3)
    },
    "sequences": (
        ReverseSequence(0, 1),
        (floats(4, 3, 2), np.array([1, 4, 2])),
        lambda x, n: np.stack(
            [np.concatenate([x[:k, b][::-1], x[k:, b]]) for b, k in enumerate(n)], 1
        ),
    ),
}


@pytest.mark.parametrize("case", SELECTIONS)
def test_a_selection_agrees_with_numpy(case: str) -> None:
    op, arrays, oracle = SELECTIONS[case]
    found = check_nest(op, *arrays, tolerance=1e-7)
    np.testing.assert_allclose(found, oracle(*arrays))


def scatterings() -> dict[str, tuple[Op, tuple[np.ndarray, ...]]]:
    cases: dict[str, tuple[Op, tuple[np.ndarray, ...]]] = {}
    x = floats(3, 5, 4)
    for reduction in REDUCTIONS:
        once = reduction == "none"
        for axis, size in enumerate(x.shape):
            at = distinct(axis, *x.shape) if once else indices(size, 3, 5, 4)
            part = tuple(slice(s - (a != axis)) for a, s in enumerate(x.shape))
            at = at[part] - (size if once and axis == 1 else 0)  # as negative numbers
            cases[f"elements {axis} {reduction}"] = (
                ScatterElements(axis, reduction),
                (x, at, floats(*at.shape)),
            )
        for k in (1, 2, 3):
            at = RNG.integers(-3, 3, (6, k))
            if once:
                at = np.unique(at % np.array(x.shape[:k]), axis=0)
            cases[f"positions {k} {reduction}"] = (
                ScatterND(reduction),
                (x, at, floats(len(at), *x.shape[k:])),
            )
    cases["positions in a grid"] = (
        ScatterND("add"),
        (x, RNG.integers(-3, 3, (2, 3, 2)), floats(2, 3, 4)),
    )
    starts = np.array([1, 4, 0])
    cases["cache"] = TensorScatter(1), (floats(3, 6, 2), floats(3, 2, 2), starts)
    cases["ring"] = TensorScatter(2, True), (floats(3, 2, 6), floats(3, 2, 3), starts + 1)
    return cases


SCATTERINGS = scatterings()
TORCH = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@pytest.mark.parametrize("case", SCATTERINGS)
def test_a_scattering_nest_agrees_with_its_reference(case: str) -> None:
    op, arrays = SCATTERINGS[case]
    check_nest(op, *arrays, tolerance=1e-6)


@pytest.mark.parametrize("case", [c for c in SCATTERINGS if c.startswith("elements")])
def test_scattered_elements_agree_with_pytorch(case: str) -> None:
    torch = pytest.importorskip("torch")
    op, (x, at, updates) = SCATTERINGS[case]
    assert isinstance(op, ScatterElements)
    positive = torch.tensor(np.where(at < 0, at + x.shape[op.axis], at))
    args = (op.axis, positive, torch.tensor(updates))
    theirs = torch.tensor(x)
    if op.reduction == "none":
        theirs = theirs.scatter(*args)
    else:
        theirs = theirs.scatter_reduce(*args, TORCH[op.reduction])
    np.testing.assert_allclose(op.reference(x, at, updates), theirs.numpy(), rtol=1e-6)


def test_a_ring_begins_again_and_a_cache_does_not() -> None:
    x, update = np.zeros((1, 5)), np.arange(1.0, 4)[None]
    start = np.array([3])
    ring = check_nest(TensorScatter(1, True), x, update, start)
    assert ring.tolist() == [[3, 0, 0, 1, 2]]
    cache = check_nest(TensorScatter(1), x, update, start)
    assert cache.tolist() == [[0, 0, 0, 1, 2]]


def value(array: np.ndarray, name: str) -> Input:
    return Input(TensorType(array.shape, constant(array).type.dtype), name, Port.plain(array.ndim))


def names(result: Value) -> list[str]:
    """Return the operators that compute a value, the last one first."""
    assert isinstance(result, Result)
    inner = [name for v in result.node.inputs if isinstance(v, Result) for name in names(v)]
    return [type(result.node.op).__name__, *inner]


@pytest.mark.parametrize(
    ("at", "kernels"),
    [
        (np.array(-3), ["Reshape", "Slice"]),
        (np.array([4]), ["Reshape", "Slice"]),
        (np.array([1, 3, 5]), ["Reshape", "Slice"]),
        (np.array([-1, -2, -3]), ["Reshape", "Slice"]),
        (np.array([[0, 1], [2, 3]]), ["Reshape", "Slice"]),
        (np.array([-1, 0, 2]), ["Gather"]),
        (np.array([2, 2]), None),
        (np.array([0, 1, 3]), None),
    ],
    ids=str,
)
def test_known_indices_of_equal_steps_are_a_slice(at: np.ndarray, kernels: Any) -> None:
    x = value(floats(2, 7, 3), "x")
    found = Gather(1).decompose(x, constant(at))
    if kernels is None:
        assert found is None
        return
    assert found is not None
    assert names(found) == kernels
    data = floats(2, 7, 3)
    got = evaluate_graph(graph_of(found, inputs=(x,)), {"x": data})["y0"]
    np.testing.assert_array_equal(got, np.take(data, at, 1))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_updates_at_known_positions_are_looked_up(reduction: Any) -> None:
    x, updates = floats(3, 4, 5), floats(2, 2, 5)
    at = np.array([[[0, 1], [2, -1]], [[-2, 0], [1, 2]]])
    operands = value(x, "x"), constant(at), value(updates, "u")
    found = ScatterND(reduction).decompose(*operands)
    assert found is not None
    assert names(found) == ["Pointwise", "Gather", "Reshape"]
    inputs = (operands[0], operands[2])
    got = evaluate_graph(graph_of(found, inputs=inputs), {"x": x, "u": updates})["y0"]  # type: ignore[arg-type]
    want = ScatterND(reduction).reference(x, at, updates)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_several_updates_of_one_element_are_not_looked_up() -> None:
    x, u = value(floats(3, 2), "x"), value(floats(2, 2), "u")
    twice = constant(np.array([[1], [1]]))
    assert ScatterND("add").decompose(x, twice, u) is None
    assert ScatterND().decompose(x, twice, u) is not None  # the last one counts


@pytest.mark.parametrize("op", [Gather(0), ScatterND()], ids=str)
def test_known_indices_out_of_range_are_refused(op: Op) -> None:
    x, u = value(floats(3, 2), "x"), value(floats(1, 2), "u")
    operands = (x, constant(np.array([3]))) + ((u,) if isinstance(op, ScatterND) else ())
    if isinstance(op, ScatterND):
        operands = (x, constant(np.array([[3]])), u)
    with pytest.raises(ShadergenError) as caught:
        op.decompose(*operands)
    assert caught.value.code == "SG0205"


REFUSED: list[tuple[Op, tuple[tuple[int, ...], ...]]] = [
    (Expand((2, 3)), ((4,),)),
    (Tile((2,)), ((2, 3),)),
    (Tile((0, 1)), ((2, 3),)),
    (Trilu(), ((3,),)),
    (Gather(2), ((2, 3), (1,))),
    (GatherElements(0), ((2, 3), (2, 4))),
    (GatherND(), ((2, 3), (1, 3))),
    (GatherND(1), ((2, 3), (4, 1))),
    (OneHot(3, 2), ((4,), (2,))),
    (OneHot(3, 0), ((4,), (3,))),
    (ReverseSequence(1, 1), ((2, 3), (2,))),
    (ReverseSequence(0, 1), ((2, 3), (2,))),
    (ScatterElements(0), ((2, 3), (1, 3), (1, 2))),
    (ScatterElements(0, "xor"), ((2, 3), (1, 3), (1, 3))),  # type: ignore[arg-type]
    (ScatterND(), ((2, 3), (1, 1), (1, 2))),
    (TensorScatter(0), ((2, 3), (2, 3), (2,))),
    (TensorScatter(1), ((2, 3), (2, 4), (2,))),
]


@pytest.mark.parametrize(("op", "shapes"), REFUSED, ids=str)
def test_operands_that_do_not_fit_are_refused(op: Op, shapes: Any) -> None:
    with pytest.raises(ShadergenError) as caught:
        op.infer(*map(TensorType, shapes))
    assert caught.value.code == "SG0205"


def test_types_that_differ_are_not_joined() -> None:
    with pytest.raises(ShadergenError, match="operands differ in type: bool and float32"):
        Concat(0).infer(TensorType((1,)), TensorType((1,), "bool"))


def on_gl(result: Value, arrays: dict[Input, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return what the shaders give and what the interpreter does."""
    graph = graph_of(result, inputs=tuple(arrays))
    feeds = {v.name: a for v, a in arrays.items()}
    _, files, _ = compile_graph(graph)
    return play(files, feeds)["y0"], evaluate_graph(graph, feeds)["y0"]


def indexed(case: str) -> bool:
    return any(a.dtype.kind == "i" for a in (SELECTIONS | SCATTERINGS)[case][1])


@pytest.mark.parametrize(
    ("case", "known"),
    [
        (case, known)
        for case in (*SELECTIONS, *SCATTERINGS)
        for known in ((False, True) if indexed(case) else (False,))
    ],
)
def test_shaders_select_and_scatter(case: str, known: bool) -> None:
    op, arrays = (SELECTIONS | SCATTERINGS)[case][:2]
    operands: list[Value] = [
        constant(a) if known and a.dtype.kind == "i" else value(a, f"x{k}")
        for k, a in enumerate(arrays)
    ]
    inputs = {v: a for v, a in zip(operands, arrays, strict=True) if isinstance(v, Input)}
    got, want = on_gl(apply(op, *operands), inputs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_more_operands_than_a_shader_reads_are_taken_in_groups() -> None:
    inputs = {value(floats(1, 3, 2, 2), f"x{k}"): floats(1, 3, 2, 2) for k in range(35)}
    total: Expr = Var("x0")
    for k in range(1, 35):
        total = Call("max" if k % 3 else "add", (total, Var(f"x{k}")))
    for op in (Concat(1), Pointwise(total)):
        got, want = on_gl(apply(op, *inputs), inputs)
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("case", [*SELECTIONS, *SCATTERINGS])
def test_integers_stay_integers(case: str) -> None:
    op, arrays = (SELECTIONS | SCATTERINGS)[case][:2]
    whole = tuple((a * 9).astype(np.int16) if a.dtype.kind == "f" else a for a in arrays)
    result = check_kernels(op, *whole)
    assert result.dtype == np.int16
