"""Loop nests: names, order and what one trip becomes."""

from __future__ import annotations

import numpy as np
import pytest

from shadergen.ir.expr import Num, Var
from shadergen.ir.formula_parser import parse
from shadergen.ir.indexing import coordinates
from shadergen.ir.nest import Loop, Nest, loads_of
from shadergen.ir.nest_builder import NestBuilder

ROW, COLUMN = coordinates(2)


def product(inner_size: int) -> Nest:
    nest = NestBuilder()
    nest.load("bias", 2, (COLUMN,))
    inner = nest.loop("inner", inner_size)
    nest.load("left", 0, (ROW, inner))
    nest.load("right", 1, (inner, COLUMN))
    nest.add_up("total", "left * right")
    return nest.give("total + bias")


def test_what_is_bound_after_the_first_loop_belongs_to_its_steps():
    nest = product(5)
    assert [b.name for b in nest.once] == ["bias"]
    assert [b.name for b in nest.each_step] == ["left", "right"]
    assert nest.loops == (Loop("inner", 5),)


def test_a_nest_computes_what_it_says():
    a, b, bias = (
        np.arange(float(n)).reshape(s) for n, s in ((15, (3, 5)), (20, (5, 4)), (4, (4,)))
    )
    np.testing.assert_array_equal(product(5).run((3, 4), (a, b, bias)), a @ b + bias)


def test_a_loop_of_one_trip_is_none():
    nest = product(1)
    assert (nest.loops, nest.each_step, nest.accumulators) == ((), (), ())
    assert nest.result == parse("left * right + bias")
    a, b, bias = np.full((3, 1), 2.0), np.arange(4.0).reshape(1, 4), np.ones(4)
    np.testing.assert_array_equal(nest.run((3, 4), (a, b, bias)), a @ b + bias)


def test_of_one_trip_every_accumulator_has_made_its_first_step():
    nest = NestBuilder()
    nest.loop("step", 1)
    nest.accumulate("now", "later")
    nest.accumulate("later", "now + 2 * later", Num(3.0))
    assert nest.give("now + later").run((), ()) == 3 + 6


def test_a_name_stands_for_one_thing():
    nest = NestBuilder()
    nest.loop("tap", 3)
    for name in ("tap", "row", "channel"):
        with pytest.raises(ValueError, match=name):
            nest.bind(name, Num(1.0))


def test_names_mean_what_the_nest_says_and_nothing_by_their_spelling():
    """Names of one letter, such as those of earlier forms of nests, are names like any other."""
    nest = NestBuilder()
    nest.load("o0", 1, (ROW,))
    k = nest.loop("u0", 4)
    nest.load("k1", 0, (Var("o0"), k))
    nest.add_up("v0", "k1")
    made = nest.give("v0")
    assert made.index_operands() == {1}
    assert made.counts()
    x, index = np.arange(12.0).reshape(3, 4), np.array([2, 0])
    np.testing.assert_array_equal(made.run((2, 1), (x, index)), x[index].sum(1, keepdims=True))
    assert [name for name, _ in loads_of(made.bindings)] == ["o0", "k1"]


def test_coordinates_are_distinct_at_every_rank():
    for rank in range(9):
        assert len({o.name for o in coordinates(rank)}) == rank
