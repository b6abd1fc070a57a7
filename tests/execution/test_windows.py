"""Attention within windows, which are batch entries: they lie in rows, one draw for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from support import (
    assert_runs_like_reference,
    compile_graph,
    conv,
    graph_of,
    image,
    pointwise,
)

from shadergen.compiler import compilation
from shadergen.compiler.options import Options
from shadergen.ir.graph import Constant, Graph, Value, apply, constant
from shadergen.ir.ops import (
    MatMul,
    Op,
    Pool,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Transpose,
    Trilu,
)

RNG = np.random.default_rng(2)
HEADS, SIZE, DEPTH = 3, 9, 4
pytestmark = pytest.mark.usefixtures("fresh_random_numbers")
WAYS = [{}, {"stage": "fragment"}, {"precision": "mediump"}, {"textures": "2d"}]


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def heads(x: Value, order: tuple[int, ...] = (0, 2, 1, 3)) -> Value:
    shape = (x.shape[0], SIZE, HEADS, DEPTH)
    return apply(Transpose(order), apply(Reshape(shape), x, layer="split"), layer="heads")


def attention(windows: int) -> Graph:
    """Attend within windows, with a bias for each head and a mask for each window."""
    x = image(windows, SIZE, HEADS * DEPTH)
    q, k, v = (pointwise(f"x0 * {scale}", x) for scale in (0.5, 1.5, 0.25))
    scores = apply(MatMul(), heads(q), heads(k, (0, 2, 3, 1)), layer="scores")
    bias, mask = normal(1, HEADS, SIZE, SIZE), normal(windows, 1, SIZE, SIZE)
    biased = pointwise("x0 + x1 + x2", scores, constant(bias), constant(mask))
    weights = apply(Softmax((3,)), biased, layer="softmax")
    found = apply(MatMul(), weights, heads(v), layer="found")
    joined = apply(Transpose((0, 2, 1, 3)), found, layer="joined")
    y = apply(Reshape((windows, SIZE, HEADS * DEPTH)), joined, layer="y")
    return graph_of(y, inputs=(x,))


def in_rows(graph: Graph, **options: Any) -> dict[str, bool]:
    """Return whether each result lies in rows, by the name of its node."""
    placed, _, _ = compile_graph(graph, **options)
    return {n.name: not n.result.type.in_planes for n in placed.nodes}


@pytest.mark.gl
@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("windows", [2, 5, 16])
def test_attention_within_windows(windows: int, options: dict[str, Any]) -> None:
    assert_runs_like_reference(attention(windows), **options)


def channels_attention(entries: int) -> Graph:
    """Attend between channels, each as long as the picture: Restormer's."""
    x = image(entries, HEADS * DEPTH, 1200)
    per_head = apply(Reshape((entries, HEADS, DEPTH, 1200)), x, layer="heads")
    length = apply(Reduce("l2", (3,), True), per_head, layer="length")
    unit = pointwise("x0 / x1", per_head, length, layer="unit")
    across = apply(Transpose((0, 1, 3, 2)), unit, layer="across")
    weights = apply(Softmax((3,)), apply(MatMul(), unit, across, layer="scores"), layer="softmax")
    found = apply(MatMul(), weights, per_head, layer="found")
    y = apply(Reshape((entries, HEADS * DEPTH, 1200)), found, layer="y")
    return graph_of(y, inputs=(x,))


@pytest.mark.gl
@pytest.mark.parametrize("options", WAYS, ids=str)
def test_attention_between_long_channels(options: dict[str, Any]) -> None:
    files = assert_runs_like_reference(channels_attention(6), **options)
    if options.get("textures") != "2d":
        more = compile_graph(channels_attention(12), **options)[1]
        assert len(more.schedule["passes"]) == len(files.schedule["passes"])


def test_many_windows_take_the_draws_of_few() -> None:
    draws = {n: len(compile_graph(attention(n))[1].schedule["passes"]) for n in (5, 64)}
    assert draws[5] == draws[64]
    placed, _, context = compile_graph(attention(64))
    assert all(not n.result.type.in_planes for n in placed.nodes)
    explained = {d.why for d in context.decisions if d.decision == "rows"}
    assert "if channel-packed, each of its 64 batch entries would need a draw" in explained


READERS = {
    "reduction": Reduce("max", (1,), True),
    "triangle": Trilu(1),
    "pooling": Pool("max", (2, 2)),
}


def middle(reader: str, entries: int) -> Graph:
    """A map of some entries, in the middle of a graph that ends in one of a kind."""
    x = image(entries, 4, 6, 8)
    product = apply(MatMul(), x, constant(normal(8, 8)), layer="middle")
    if reader == "nothing":
        return graph_of(product, inputs=(x,))
    if reader == "convolution":
        return graph_of(conv(RNG, product, 4, (3, 3), layer="y"), inputs=(x,))
    return graph_of(apply(READERS[reader], product, layer="y"), inputs=(x,))


@pytest.mark.parametrize(
    ("reader", "entries", "rows"),
    [("reduction", 5, True), ("reduction", 4, False), ("convolution", 5, False),
     ("nothing", 5, False), ("triangle", 5, True), ("pooling", 5, False)],
)  # fmt: skip
def test_entries_lie_in_rows_where_nothing_needs_planes(
    reader: str, entries: int, rows: bool
) -> None:
    assert in_rows(middle(reader, entries))["middle"] == rows


@pytest.mark.gl
@pytest.mark.parametrize("reader", [*READERS, "convolution"])
def test_what_reads_entries_in_rows_or_planes(reader: str) -> None:
    assert_runs_like_reference(middle(reader, 7))


def test_constants_beside_rows_lie_in_rows() -> None:
    placed, _, _ = compile_graph(attention(5))
    constants = {v for n in placed.nodes for v in n.inputs if isinstance(v, Constant)}
    lying = {v.shape: v.type.layout.rows for v in constants if v.type.layout is not None}
    assert lying == {(1, HEADS, SIZE, SIZE): (3, 27), (5, 1, SIZE, SIZE): (3, 45)}


FIRST = Slice((0, 0, 0, 0), (1, 1, 1, 1), (7, 1, 4, 3))


@pytest.mark.gl
@pytest.mark.parametrize("op", [Softmax((1,)), FIRST], ids=["softmax", "slice"])
def test_one_channel_in_rows_that_a_formula_makes_several_of(op: Op) -> None:
    x = image(7, 3, 4, 3)
    y = pointwise("x0 - x1", x, apply(op, pointwise("2 * x0", x), layer="one"), layer="several")
    assert_runs_like_reference(graph_of(apply(Reduce("max", (3,), False), y), inputs=(x,)))


def test_a_kernel_of_more_parameters_than_texture_units_stays_in_planes() -> None:
    x = y = image(5, 4, 6, 8)
    for _ in range(8):
        y = pointwise("max(x0 * x1 + x2, -1)", y, *(constant(normal(4, 1, 1)) for _ in range(2)))
    product = apply(MatMul(), y, constant(normal(8, 8)), layer="product")
    graph = graph_of(apply(Reduce("max", (3,), False), product, layer="y"), inputs=(x,))
    assert in_rows(graph) == {"pointwise": False, "product": True, "y": True}


def test_entries_stay_in_planes_where_each_plane_is_a_texture() -> None:
    assert not in_rows(middle("reduction", 5), textures="2d")["middle"]


def test_entries_stay_in_planes_where_their_size_is_open() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]>'
        "g (float[5, 6, H, W] x) => (float[5, 6, H] y) <int64[1] axes = {3}>"
        "{ s = Softmax<axis=1>(x) y = ReduceMax<keepdims=0>(s, axes) }"
    )
    options = Options(dynamic=True)
    placed, _, _ = compilation.compile_graph(compilation.import_model(model, options), options)
    assert all(n.result.type.in_planes for n in placed.nodes[:-1])
