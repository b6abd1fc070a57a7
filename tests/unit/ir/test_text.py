"""The text form of graphs: it reads back, and says what is wrong with it."""

from __future__ import annotations

import numpy as np
import pytest
from support import refusal
from support.every_operator import every_operator

from shadergen.ir import text, text_parser
from shadergen.ir.graph import (
    constant,
)
from shadergen.ir.ops import (
    OPS,
)
from shadergen.ir.reference import evaluate_graph


@pytest.mark.parametrize("graph", every_operator(), ids=lambda g: g.name)
def test_text_reads_back_as_the_same_graph(graph):
    printed = text.to_text(graph)
    again = text_parser.parse(printed, text.constants(graph))
    assert text.to_text(again) == printed
    assert [type(n.op) for n in again.nodes] == [type(n.op) for n in graph.nodes]
    assert [n.op for n in again.nodes] == [n.op for n in graph.nodes]
    for a, b in zip(again.constants, graph.constants, strict=True):
        np.testing.assert_array_equal(a.data, b.data, strict=True)


def test_every_operator_has_been_printed():
    assert {type(n.op).__name__ for g in every_operator() for n in g.nodes} == set(OPS)


def test_constants_of_equal_contents_but_other_types_have_other_digests():
    zeros = [constant(np.zeros(s, t)) for s in ((9,), (3, 3)) for t in (np.float32, np.int32)]
    assert len({text.digest(z) for z in zeros}) == 4


SMALL = (
    'graph "g" {\n'
    '  input %0 "x": float32[1, 3] {axes=[0, 1], encoding="float"}\n'
    '  const %1 "c": float32[1, 3] = [1.0, 2.0, 3.0]\n'
    '  %2 = Pointwise(%0, %1) {expr=`x0 + x1`} ["add"]: float32[1, 3]\n'
    '  output "y" = %2 {axes=[0, 1], encoding="float"}\n'
    "}\n"
)


def test_the_text_is_read_as_it_is_documented():
    graph = text_parser.parse(SMALL, {})
    assert text.to_text(graph) == SMALL
    assert evaluate_graph(graph, {"x": np.ones((1, 3))})["y"].tolist() == [[2, 3, 4]]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("}\n}", "}", "does not parse"),
        ("Pointwise", "Pointwize", "no operator is called Pointwize"),
        ("float32[1, 3]\n", "float33[1, 3]\n", "no element type is called float33"),
        ("(%0, %1)", "(%0, %9)", "%9 is used before it is defined"),
        ("= [1.0, 2.0, 3.0]", "= #0123456789abcdef", "#0123456789abcdef is missing"),
        ("= [1.0, 2.0, 3.0]", "= [1.0, 2.0]", "the IR text is invalid"),
        ("float32[1, 3]\n  out", "float32[3, 1]\n  out", "the type written for %2 differs"),
        ("{expr=", "{formula=", "the IR text is invalid"),
        ("{expr=`x0 + x1`}", "", "the IR text is invalid"),
        ('"x":', '"x";', "does not parse"),
        ("%2 {axes", "%2 {axis", "the IR text is invalid"),
        ('"x"', '"\\q"', "the IR text is invalid"),
    ],
)
def test_text_that_is_no_graph_is_refused(old, new, says):
    assert old in SMALL
    error = refusal(text_parser.parse, SMALL.replace(old, new), {})
    assert error.code == "SG0304"
    assert says in error.what
