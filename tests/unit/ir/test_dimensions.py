"""Dynamic dimensions: exact arithmetic, and comparisons that become constraints."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.dimensions import DEFAULTS, holds, keeps_to, new, value

from shadergen.backends.constraints import sizes_member
from shadergen.backends.devices import DEVICES
from shadergen.backends.shader.constructors import integer
from shadergen.backends.shader.declarations import Declarations
from shadergen.backends.shader.expressions import Uniform, Variable
from shadergen.backends.shader.types import INT
from shadergen.errors import ShadergenError
from shadergen.ir.dimensions import (
    DynamicDimensionError,
    ShapeEnvironment,
    at_layer,
    bounds,
    dimension,
    environment_of,
    has_dynamic,
    hint,
    is_dynamic,
    largest,
    statically_equal,
    with_hints,
)
from shadergen.ir.dimensions.polynomial import Operation, Polynomial, Symbol
from shadergen.ir.expr import Call, literal
from shadergen.ir.ops import Pointwise, Slice
from shadergen.ir.types import TensorType
from shadergen.passes.placement.target import Target

# arithmetic


def test_a_polynomial_without_symbols_is_an_int() -> None:
    _, h, w = new()
    for size, number in ((h - h, 0), (h * w // w - h + 3, 3), ((2 * h + 5) % 2, 1), (0 * h, 0)):
        assert type(size) is int
        assert size == number


@pytest.mark.parametrize(
    "pair",
    [
        lambda h, w: ((h + 1) // 2, (h - 1) // 2 + 1),
        lambda h, w: (h // 2 // 2, h // 4),
        lambda h, w: (-(-h // 8), (h + 7) // 8),
        lambda h, w: ((4 * h * w + 2 * w) // (2 * w), 2 * h + 1),
        lambda h, w: ((6 * h + 4) // 4, (3 * h + 2) // 2),
        lambda h, w: ((h + w) * (h - w), h * h - w * w),
        lambda h, w: (h % 2 + 2 * (h // 2), h),
        lambda h, w: (4 * h * w // (8 * w), h // 2),
        lambda h, w: ((6 * h + 5) // (4 * w), (3 * h + 2) // (2 * w)),
        lambda h, w: ((h * h * w + h * w) // (h * w + h), (h * w + w) // (w + 1)),
        lambda h, w: ((h * h - w * w) // (h + w), h - w),
        lambda h, w: (6 * (h + h // 2) * (w + w // 2) // (2 * w + w // 2 * 2), 3 * (h + h // 2)),
    ],
)
def test_equal_sizes_are_known_to_be_equal(pair: Any) -> None:
    environment, h, w = new()
    a, b = pair(h, w)
    assert statically_equal(a, b)
    assert hash(a) == hash(b)
    assert not environment.guards


OPERATIONS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    lambda a, b: max(a, b),
    largest,
]
TREES = st.recursive(
    st.sampled_from(["height", "width"]) | st.integers(-9, 9),
    lambda inner: st.tuples(st.sampled_from(OPERATIONS), inner, inner),
    max_leaves=7,
)


def compute(tree: Any, sizes: dict[str, Any]) -> Any:
    if isinstance(tree, str):
        return sizes[tree]
    if isinstance(tree, int):
        return tree
    operation, left, right = tree
    return operation(compute(left, sizes), compute(right, sizes))


@given(tree=TREES, height=st.integers(1, 60), width=st.integers(1, 60))
def test_arithmetic_holds_for_every_size_that_keeps_to_the_guards(
    tree: Any, height: int, width: int
) -> None:
    environment, h, w = new()
    try:
        size = compute(tree, {"height": h, "width": w})
    except (DynamicDimensionError, ZeroDivisionError):
        assume(False)
    assert hint(size) == compute(tree, DEFAULTS)
    sizes = {"height": height, "width": width}
    if holds(environment, sizes):
        wanted = compute(tree, sizes)
        assert value(size, sizes) == wanted
        assert bounds(size)[0] <= wanted <= bounds(size)[1]


# texts

POLYNOMIALS = st.recursive(
    st.sampled_from([Polynomial.of([((Symbol(name),), 1)]) for name in DEFAULTS])
    | st.integers(-3, 3).map(Polynomial.number),
    lambda inner: (
        st.builds(Polynomial.plus, inner, inner, st.sampled_from([1, -1, 2]))
        | st.builds(Polynomial.times, inner, inner)
        | st.builds(
            lambda sign, a, b: Polynomial.of([((Operation(sign, a, b),), 1)]),
            st.sampled_from(["/", "min", "max"]),
            inner,
            inner,
        )
    ),
    max_leaves=6,
)


@given(polynomial=POLYNOMIALS, height=st.integers(1, 9), width=st.integers(1, 9))
def test_a_text_reads_as_what_it_is_the_text_of(
    polynomial: Polynomial, height: int, width: int
) -> None:
    sizes = {"height": height, "width": width}
    try:
        wanted = ShapeEnvironment(sizes, {}).hint(polynomial)
    except ZeroDivisionError:
        assume(False)
    names = {"min": min, "max": max, "__builtins__": {}}
    assert eval(str(polynomial).replace(" / ", " // "), names, sizes) == wanted


@given(a=POLYNOMIALS, b=POLYNOMIALS)
def test_polynomials_that_differ_have_texts_that_differ(a: Polynomial, b: Polynomial) -> None:
    assert (a == b) == (str(a) == str(b))


def test_signs_and_products_in_quotients_are_told_apart() -> None:
    h, w = (Polynomial.of([((Symbol(name),), 1)]) for name in DEFAULTS)

    def quotient(a: Polynomial, b: Polynomial) -> Polynomial:
        return Polynomial.of([((Operation("/", a, b),), 1)])

    zero = Polynomial.number(0)
    texts = {
        "-(height / width)": zero.plus(quotient(h, w), -1),
        "(-height) / width": quotient(zero.plus(h, -1), w),
        "height / (2*width)": quotient(h, w.plus(w)),
        "(height / 2)*width": quotient(h, Polynomial.number(2)).times(w),
        "height*width - height / 2": h.times(w).plus(quotient(h, Polynomial.number(2)), -1),
    }
    for text, polynomial in texts.items():
        assert str(polynomial) == text


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@settings(deadline=None)
@given(
    trees=st.lists(st.tuples(TREES, st.sampled_from(COMPARISONS), TREES), min_size=1, max_size=3),
    height=st.integers(1, 60),
    width=st.integers(1, 60),
)
def test_what_is_decided_holds_for_every_size_that_keeps_to_the_guards(
    trees: list[Any], height: int, width: int
) -> None:
    environment, h, w = new()
    try:
        decided = [
            compare(compute(a, {"height": h, "width": w}), compute(b, {"height": h, "width": w}))
            for a, compare, b in trees
        ]
    except (DynamicDimensionError, ZeroDivisionError):
        assume(False)
    assert holds(environment, DEFAULTS)
    sizes = {"height": height, "width": width}
    if holds(environment, sizes):
        for (a, compare, b), answer in zip(trees, decided, strict=True):
            assert compare(compute(a, sizes), compute(b, sizes)) == answer


@given(
    trees=st.lists(st.tuples(TREES, st.sampled_from(COMPARISONS), TREES), min_size=1, max_size=3),
    most=st.integers(12, 30),
)
@settings(deadline=None)
def test_constraints_let_in_the_sizes_for_which_all_guards_hold(
    trees: list[Any], most: int
) -> None:
    """However they are put: dropped, joined to bounds and multiples, or as they are."""
    environment = ShapeEnvironment(
        {"height": 8, "width": 12}, dict.fromkeys(DEFAULTS, (1.0, float(most)))
    )
    names = {name: dimension(environment, name) for name in DEFAULTS}
    try:
        for a, compare, b in trees:
            compare(compute(a, names), compute(b, names))
        member: Any = sizes_member(environment)
    except (DynamicDimensionError, ZeroDivisionError):
        assume(False)
    for height, width in product(range(1, most + 1), repeat=2):
        sizes = {"height": height, "width": width}
        at = ShapeEnvironment(sizes, {})
        try:
            let_in = all(f.low <= at.hint(p) <= f.high for p, f in environment.guards.items())
        except ZeroDivisionError:
            continue
        assert keeps_to(member, sizes) == let_in, (sizes, member)


def test_constraints_refuse_divisors_of_0_before_they_divide():
    """Heights 1, 2 and 4 make the divisor 0: the constraint on the divisor must refuse them."""
    environment = ShapeEnvironment({"height": 8, "width": 12}, dict.fromkeys(DEFAULTS, (1.0, 12.0)))
    height = dimension(environment, "height")
    assert height % (4 % height) == 0
    assert [h for h in range(1, 13) if holds(environment, {"height": h, "width": 1})] == [3, 8, 12]


def test_divisors_below_0_are_solved_for():
    environment = ShapeEnvironment(DEFAULTS, dict.fromkeys(DEFAULTS, (1.0, 12.0)))
    height, width = (dimension(environment, name) for name in DEFAULTS)
    assert (height - height * width) % -2 == 0
    member: Any = sizes_member(environment)
    allowed = [
        s
        for s in product(range(1, 13), repeat=2)
        if keeps_to(member, dict(zip(DEFAULTS, s, strict=True)))
    ]
    assert allowed == [s for s in product(range(1, 13), repeat=2) if (s[0] - s[0] * s[1]) % 2 == 0]


# nothing is dropped


@pytest.mark.parametrize(
    "drop",
    [
        int,
        float,
        range,
        lambda h: [0] * h,
        lambda h: h / 2,
        lambda h: 1.0 / h,
        lambda h: h * 0.5,
        lambda h: np.zeros(h),
        lambda h: np.arange(h),
        lambda h: np.array([h], np.int64),
        lambda h: np.array([1.0]).reshape(h, 1),
    ],
)
def test_what_would_make_a_number_of_a_dynamic_dimension_fails(drop: Any) -> None:
    _, h, _ = new()
    with pytest.raises(DynamicDimensionError):
        drop(h)


def test_a_refusal_names_the_layer_and_the_way_on() -> None:
    _, h, _ = new()
    with at_layer("attention"), pytest.raises(ShadergenError) as caught:
        int(h)
    assert caught.value.render().splitlines() == [
        "error[SG0207]: this operator needs a fixed size, not --input-size dynamic",
        "  --> layer attention",
        "  = help: compile the model for one size: --input-size HxW",
    ]


def test_a_shader_program_with_a_dynamic_dimension_in_it_is_refused() -> None:
    _, h, _ = new()
    with pytest.raises(DynamicDimensionError):
        Variable("k", INT) * h
    with pytest.raises(DynamicDimensionError):
        integer(h)


def test_uniforms_of_dynamic_dimensions_are_numbered_apart_from_named_sizes() -> None:
    _, h, w = new()
    shader = Declarations(Target(DEVICES["gles31-min"].limits), "highp", "compute")
    shader.size("size_of_a_table", 3)
    assert [shader.number(size) for size in (h, w, h)] == [
        Uniform("u_size_0"),
        Uniform("u_size_1"),
        Uniform("u_size_0"),
    ]


def test_a_dynamic_dimension_is_found_wherever_it_is() -> None:
    _, height, _ = new()
    shared: Any = literal(2.0)
    for _ in range(100):  # as often as no one could count
        shared = Call("add", (shared, shared))
    assert not has_dynamic(Pointwise(shared))
    assert has_dynamic(Pointwise(Call("mul", (shared, literal(height)))))
    assert has_dynamic(Slice((0, height), (1, 1), (2, 3)))
    assert not has_dynamic(Slice((0, 1), (1, 1), (2, 3)))


def test_a_type_is_closed_to_its_default() -> None:
    _, h, w = new()
    t = TensorType((1, 3, h, w // 2))
    assert with_hints(t) == TensorType((1, 3, 256, 192))
    assert with_hints(t).shape == (1, 3, 256, 192)
    assert environment_of(t.shape) is not None
    assert environment_of(with_hints(t).shape) is None
    assert not any(map(is_dynamic, with_hints(t).shape))


def test_parts_that_are_shared_are_closed_once() -> None:
    _, height, _ = new()
    shared: Any = (height, 1)
    for _ in range(100):  # as often as no one could count
        shared = (shared, shared)
    closed: Any = with_hints(shared)
    assert closed[0] is closed[1]
    assert not has_dynamic(closed)


def test_what_has_no_dynamic_dimension_is_not_made_anew() -> None:
    fixed = Slice((0, 1), (1, 1), (2, 3))
    assert with_hints(fixed) is fixed


def test_a_type_reads_well_with_dynamic_sizes():
    _, height, width = new()
    assert str(TensorType((1, 3, height, 2 * width))) == "float32 1 x 3 x height x 2*width"
    assert str(TensorType((1, 3, 16, 24))) == "float32 1x3x16x24"
    assert str(TensorType(())) == "float32 scalar"
