"""Types, the verifier, the graph, and the interpreter."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import conv, graph_of, image, pointwise, refusal
from support.every_operator import every_operator

from shadergen.errors import InternalError
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import (
    Constant,
    Graph,
    Input,
    Node,
    Output,
    Port,
    Result,
    constant,
)
from shadergen.ir.ops import OPS, Op, Pointwise
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import (
    FORMATS,
    Layout,
    TensorType,
    TextureFormat,
    broadcast,
    format_for,
)
from shadergen.ir.verifier import verify
from shadergen.passes.placement.naming import unique_names
from shadergen.runtime_glue.python import pixels

# --- types ----------------------------------------------------------------------------------------


shapes = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(shapes, shapes)
def test_broadcasting_is_that_of_numpy(a, b):
    try:
        want = np.broadcast_shapes(a, b)
    except ValueError:
        want = None
    assert broadcast(a, b) == want


def test_planes_and_layers_count_texels_of_four_channels():
    found = {c: TensorType((2, c, 5, 6)) for c in (1, 2, 3, 4, 5, 17)}
    assert [t.planes for t in found.values()] == [1, 1, 1, 1, 2, 5]
    assert [t.layers for t in found.values()] == [2, 2, 2, 2, 4, 10]
    assert [t.channels_per_texel for t in found.values()] == [1, 2, 4, 4, 4, 4]
    assert found[17].extent == (6, 5, 10)


def test_rows_pack_the_last_axis_and_fold():
    assert TensorType((7,)).extent == (2, 1, 1)
    assert TensorType((2, 3, 5)).extent == (2, 6, 1)
    assert TensorType(()).extent == (1, 1, 1)
    folded = TensorType((2, 3, 5), layout=Layout("array", "rgba32f", (4, 2)))
    assert (folded.texels, folded.extent) == (12, (4, 2, 2))
    assert TensorType((2, 3, 5, 4)).lane_axis == 1
    assert TensorType((2, 3, 5, 4), layout=Layout("array", "rgba32f", (4, 2))).lane_axis == 3


def test_formats_have_the_components_and_bits_of_their_names():
    assert format_for(2, 16) == "rg16f"
    assert get_args(TextureFormat) == tuple(FORMATS)
    for name, texel in FORMATS.items():
        suffix = "" if texel.bits == 8 else "f"
        assert name == f"{'rgba'[: texel.components]}{texel.bits}{suffix}"
        t = TensorType((1, 1, 5, 6), layout=Layout("array", name))
        assert (t.channels_per_texel, t.component_bits) == texel
    assert TensorType((1, 1, 5, 6)).component_bits == 0


def test_runtimes_know_the_same_formats():
    found = {name: (f.components, f.bytes) for name, f in pixels.FORMATS.items()}
    assert found == {name: (f.components, f.bytes) for name, f in FORMATS.items()}


def test_constants_are_float32_or_a_known_integer_type():
    assert constant(np.float64(0.1)).data.dtype == np.float32
    assert constant(np.arange(3)).type == TensorType((3,), "int64")
    assert refusal(constant, np.zeros(2, complex)).code == "SG0206"


# --- verifier -------------------------------------------------------------------------------------


X4 = TensorType((1, 4, 5, 6))


def forged(*, types=(X4,), op=None) -> Node:
    """Return a node that says it has other types than its operator infers."""
    return Node(op or Pointwise(parse("x0")), (x,), ("n",), types=types)


x = image(1, 4, 5, 6)
good = pointwise("relu(x0)", x)
PLAIN = Port.plain(4)


class Unlisted(Pointwise, abstract=True):
    """An operator that is in no table."""


MALFORMED = {
    "two inputs are called x": Graph("g", (x, image(1, name="x")), (Output("y", good, PLAIN),)),
    "two outputs are called y": Graph("g", (x,), (Output("y", good, PLAIN),) * 2),
    "the graph has no outputs": Graph("g", (x,), ()),
    "port axes (0, 1, 2) do not fit float32 1x4x5x6": Graph(
        "g", (Input(x.type, "x", Port((0, 1, 2))),), (Output("y", good, PLAIN),)
    ),
    "port axes (0, 1, 2, 2) do not fit": Graph("g", (x,), (Output("y", good, Port((0, 1, 2, 2))),)),
    "'x' is not an input of the graph": Graph("g", (), (Output("y", good, PLAIN),)),
    "constant 'c' is not of its type": Graph(
        "g", (x,), (Output("y", Constant(X4, "c", np.zeros(3, np.float32)), PLAIN),)
    ),
    "'r' is not among the results of the node that computes it": Graph(
        "g",
        (x,),
        (Output("y", Result(X4, "r", good.node), PLAIN),),  # type: ignore[attr-defined]
    ),
    "unknown operator": Graph(
        "g", (x,), (Output("y", forged(op=Unlisted(parse("x0"))).result, PLAIN),)
    ),
    "the results have types float32 1x4x5x7, type inference gives float32 1x4x5x6": Graph(
        "g", (x,), (Output("y", forged(types=(TensorType((1, 4, 5, 7)),)).result, PLAIN),)
    ),
    "a tensor of shape [0, 2] is empty": Graph(
        "g", (Input(TensorType((0, 2)), "z", Port.plain(2)), x), (Output("y", good, PLAIN),)
    ),
    "illegal layout": Graph(
        "g",
        (x,),
        (Output("y", forged(types=(X4.placed(Layout("3d", "rgba8")),)).result, PLAIN),),  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_graphs_are_refused(what):
    error = refusal(verify, MALFORMED[what])
    assert error.code == "SG0105"
    assert what in error.what


def test_a_class_is_an_operator_once_it_is_made_and_no_second_one_has_its_name(monkeypatch):
    monkeypatch.delitem(OPS, "Pointwise")  # put back at the end
    made = type("Pointwise", (Op,), {})
    assert OPS["Pointwise"] is made
    with pytest.raises(InternalError, match="two operators are called Pointwise"):
        type("Pointwise", (Op,), {})


def test_sound_graphs_pass_the_verifier():
    for graph in every_operator():
        verify(graph)


# --- graph and interpreter ------------------------------------------------------------------------


def test_nodes_come_operands_first_each_once_and_only_if_used():
    a = pointwise("x0 + 1", x, layer="a")
    b = pointwise("x0 * 2", a, layer="b")
    pointwise("x0", b, layer="dead")
    c = pointwise("x0 + x1 + x2", b, a, b, layer="c")
    graph = graph_of(c, a, inputs=(x,))
    assert [n.name for n in graph.nodes] == ["a", "b", "c"]
    assert [graph.uses[v] for v in (x, a, b, c)] == [1, 3, 2, 1]


def test_long_chains_do_not_exhaust_the_stack():
    y = x
    for _ in range(5000):
        y = pointwise("x0 + 1", y)
    graph = graph_of(y, inputs=(x,))
    assert evaluate_graph(graph, {"x": np.zeros(x.shape)})["y0"].max() == 5000
    assert graph.rewrite(lambda now, was: None) is graph


def test_rewriting_nothing_returns_the_graph_itself_and_an_input_stays_one():
    graph = graph_of(good, inputs=(x,))
    assert graph.rewrite(lambda now, was: None) is graph
    with pytest.raises(TypeError, match="input x was rewritten to a Constant"):
        graph.rewrite(lambda now, was: None, lambda v: constant(np.zeros(v.shape)))


def test_nodes_of_one_name_are_told_apart():
    rng = np.random.default_rng(0)
    y = conv(rng, pointwise("tanh(x0)", x, layer="a"), 3, (3, 3), "b")
    for layer in ("b", "c", "b", "d"):
        y = pointwise("relu(x0)", y, layer=layer)
    names = unique_names(graph_of(y, inputs=(x,)).nodes)
    assert [*names.values()] == ["a", "b (Conv)", "b (Pointwise) #1", "c", "b (Pointwise) #2", "d"]


def test_the_interpreter_refuses_inputs_that_do_not_fit():
    graph = graph_of(good, inputs=(x,))
    missing, wrong = (
        refusal(evaluate_graph, graph, {}),
        refusal(evaluate_graph, graph, {"x": np.zeros((1, 4))}),
    )
    assert (missing.code, wrong.code) == ("SG0605", "SG0605")
    assert missing.what == "input 'x' needs shape (1, 4, 5, 6), got nothing"
    assert wrong.what == "input 'x' needs shape (1, 4, 5, 6), got (1, 4)"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_interpreter_computes_in_the_precision_asked_for(dtype):
    y = pointwise("silu(x0) * 0.1 + (x0 < 1)", conv(np.random.default_rng(0), x, 3, (3, 3)))
    assert (
        evaluate_graph(graph_of(y, inputs=(x,)), {"x": np.ones(x.shape)}, dtype)["y0"].dtype
        == dtype
    )
