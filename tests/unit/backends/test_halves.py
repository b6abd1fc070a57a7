"""16-bit floats as types: what is converted where, and that every kernel's program stays sound."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from support.kernel_programs import shaders

from shadergen.backends.dialects.wgsl import print_program
from shadergen.backends.shader.constructors import intrinsic, ivec2, vec4
from shadergen.backends.shader.expressions import (
    Conditional,
    Construct,
    Expression,
    Number,
    Numbers,
    Texel,
    Uniform,
    Variable,
)
from shadergen.backends.shader.halves import with_half_types
from shadergen.backends.shader.program import Array, Function, Program, TextureBinding
from shadergen.backends.shader.statements import Body, Declare
from shadergen.backends.shader.types import FLOAT, HALF, VEC4
from shadergen.backends.shader.verify import verify
from shadergen.errors import InternalError

TEXTURE = TextureBinding("u_x", "2d")
READ = Texel(TEXTURE, ivec2(0, 0))
V, S = Variable("v", VEC4), Variable("s", FLOAT)
FRAME = ("var targets: Targets;", "return targets;")
WEIGHTS = Array("weights", VEC4, 1, (Numbers((0.1, 1e6, 0.0, -1.0)),))


def program(body: Body, **more: object) -> Program:
    fields = {"textures": [TEXTURE], "uniforms": ["u_n"], "arrays": [], "targets": 1} | more
    return Program("fragment", "mediump", [], main=body.statements, **fields)


def lines(body: Body, **more: object) -> list[str]:
    """Return the body of what a program of 16-bit types is in WGSL."""
    made = with_half_types(program(body, **more))
    verify(made)
    text = print_program(made).text
    main = text[text.index("fn main") :].split("\n")
    return [line.strip() for line in main[1:] if line.strip() not in ("", "}", *FRAME)]


def declared(value: Expression) -> str:
    """Return how a variable is declared and computed of ``v``, read from a texture, and ``s``."""
    body = Body()
    body.let("v", READ)
    body.let("s", Number(0.5, FLOAT))
    body.let("result", value)
    return lines(body)[2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (READ, "vec4h = vec4h(textureLoad(u_x, vec2i(0, 0), 0))"),
        (V * 2.0, "vec4h = v * f16(2.0)"),
        (V * S + 1.0, "vec4h = v * s + f16(1.0)"),
        (vec4(S, 0.0, 0.0, 1e6), "vec4h = vec4h(s, 0.0, 0.0, 65504.0)"),
        (intrinsic("max", V, 0.0), "vec4h = max(v, vec4h(0.0))"),
        (Conditional(S < 1.0, V, vec4(0.0)), "vec4h = select(vec4h(0.0), v, s < f16(1.0))"),
        (Construct(FLOAT, (Uniform("u_n"),)) * S, "f16 = f16(f32(sizes.u_n) * f32(s))"),
    ],
)
def test_values_get_the_type_of_what_they_are_made_of(value: Expression, text: str):
    assert declared(value).replace("var result: ", "").rstrip(";") == text


def test_a_sum_of_32_bits_stays_so_and_takes_converted_products():
    body = Body()
    total = body.let("total", vec4(0.0), full=True)
    narrow = body.let("narrow", vec4(0.0))
    v = body.let("v", READ)
    body.add_products(total, (v, v.x))
    body.add_products(narrow, (v, total.x))
    body.write(0, total)
    assert lines(body) == [
        "var total: vec4f = vec4f(0.0);",
        "var narrow: vec4h = vec4h(0.0);",
        "var v: vec4h = vec4h(textureLoad(u_x, vec2i(0, 0), 0));",
        "total += vec4f(v * v.x);",
        "narrow += v * f16(total.x);",
        "targets.target_0 = total;",
    ]


def test_matrices_functions_and_constants_are_narrow():
    inner = Body()
    inner.give(V * 2.0)
    twice = Function("twice", (V,), VEC4, inner.statements)
    body = Body()
    total = body.let("total", vec4(0.0))
    body.add_products(total, (Numbers(tuple(map(float, range(16)))), READ))
    body.add(total, twice(WEIGHTS[0]))
    body.write(0, total)
    made = with_half_types(program(body, arrays=[WEIGHTS]))
    verify(made)
    text = print_program(made).text
    assert "fn twice(v: vec4h) -> vec4h" in text
    assert "vec4h(0.1, 65504.0, 0.0, -1.0)" in text
    assert "targets.target_0 = vec4f(total);" in text
    assert "mat4x4h" in text


def test_what_cannot_be_narrow_is_refused():
    fill = Function("fill", (), None, (), (V,))
    body = Body()
    v = body.let("v", vec4(0.0), full=True)
    body.perform(fill(v))
    with pytest.raises(InternalError, match="fill writes 16 bits to a variable of 32"):
        with_half_types(program(body))


def test_infinity_stays_infinite():
    body = Body()
    body.let("s", Number(-math.inf, FLOAT))
    (declare,) = with_half_types(program(body)).main
    assert isinstance(declare, Declare)
    assert declare.value == Number(-math.inf, HALF)


def test_programs_of_32_bits_are_left_as_they_are():
    made = replace(program(Body()), precision="highp")
    assert with_half_types(made) is made


def test_every_kernel_has_a_sound_program_of_16_bits():
    for shader in shaders():
        made = with_half_types(replace(shader.gpu_pass.program, precision="mediump"))
        verify(made)
        assert made.precision == "highp"
