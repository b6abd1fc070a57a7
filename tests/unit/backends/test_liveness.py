"""How many scalars of a program are alive at once, counted by hand."""

from __future__ import annotations

from shadergen.backends.shader.constructors import vec4
from shadergen.backends.shader.expressions import Variable
from shadergen.backends.shader.liveness import most_alive
from shadergen.backends.shader.program import Function, Program
from shadergen.backends.shader.statements import Body
from shadergen.backends.shader.types import VEC4


def alive(body: Body) -> int:
    return max(alive_by_place(body))


def alive_by_place(body: Body) -> tuple[int, int]:
    """Return what is alive at most outside of loops, and in loops."""
    return most_alive(Program("fragment", "highp", [], [], [], [], body.statements, targets=1))


def test_a_value_is_alive_from_its_declaration_to_its_last_use():
    body = Body()
    a = body.let("a", vec4(1.0))
    b = body.let("b", a + 1.0)  # a ends where b begins
    c = body.let("c", b + 1.0)
    body.write(0, b + c)
    assert alive(body) == 4 + 4 + 4  # b, c, and their sum


def test_what_a_step_of_a_loop_leaves_to_the_next_is_alive_throughout():
    body = Body()
    total, other = body.let("total", vec4(0.0)), body.let("other", vec4(2.0))
    with body.loop("i", 30):
        v = body.let("v", vec4(1.0))
        w = body.let("w", v + 1.0)
        body.add_products(total, (v, w))
    body.write(0, total + other)
    assert alive(body) == 4 + 4 + 1 + 4 + 4  # total, other, i, v, w


def test_what_is_alive_in_loops_is_counted_apart_from_what_is_alive_outside():
    body = Body()
    total = body.let("total", vec4(0.0))
    with body.loop("i", 30):
        v = body.let("v", vec4(1.0))
        body.add_products(total, (v, v))
    body.write(0, total)
    assert alive_by_place(body) == (4, 4 + 1 + 4)  # total; total, i, v


def test_a_value_of_one_step_is_not_alive_in_the_next():
    body = Body()
    with body.loop("i", 30):
        v = body.let("v", vec4(1.0))
        w = body.let("w", v + 1.0)
        body.let("u", w + 1.0)
    assert alive(body) == 1 + 4 + 4  # i, w, and what u is made of


def test_a_function_adds_what_it_holds_to_what_its_caller_holds():
    x, inner = Variable("x", VEC4), Body()
    y = inner.let("y", x * 2.0)
    z = inner.let("z", x + y)
    inner.give(y + z)
    twice = Function("twice", (x,), VEC4, inner.statements)
    body = Body()
    a = body.let("a", vec4(1.0))
    body.write(0, a + twice(a))
    assert alive(body) == 4 + (4 + 4 + 4)  # a; x, y, and their sum


def test_steps_of_a_short_loop_overlap_as_compilers_unroll_it():
    def looped(trips: int) -> int:
        body = Body()
        total = body.let("total", vec4(0.0))
        with body.loop("i", trips):
            v = body.let("v", vec4(1.0))
            body.add_products(total, (v, v))
        body.write(0, total)
        return alive(body)

    assert looped(30) == 4 + 1 + 4  # total, i, v
    assert looped(3) == looped(30) + 4  # and v of the next step
