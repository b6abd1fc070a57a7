"""Shader programs: what expressions become, what the verifier refuses, who writes shader text."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest
from support import ROOT

from shadergen.backends.dialects.glsl_es import GlslEs, float_literal, print_expression
from shadergen.backends.dialects.wgsl import print_program as print_wgsl
from shadergen.backends.shader.builder import constant
from shadergen.backends.shader.constructors import integer, intrinsic, ivec2, offset, vec4
from shadergen.backends.shader.expressions import (
    Conditional,
    Expression,
    Intrinsic,
    Number,
    Numbers,
    Texel,
    Uniform,
    Variable,
)
from shadergen.backends.shader.program import Array, Function, Program, TextureBinding
from shadergen.backends.shader.statements import Body
from shadergen.backends.shader.types import FLOAT, INT, IVEC2, MAT4, VEC4
from shadergen.backends.shader.verify import verify
from shadergen.errors import InternalError

K, N = Variable("k", INT), Variable("n", INT)
P, V, S = Variable("p", IVEC2), Variable("v", VEC4), Variable("s", FLOAT)


def test_numbers_of_a_matrix_print_as_each_does_alone():
    sizes = np.concatenate([2.0 ** np.arange(-149, 126), 10.0 ** np.arange(-45, 38), [0, 1 / 3]])
    numbers = np.concatenate([sizes, -sizes, np.pi * sizes, [np.inf, -np.inf]])
    numbers = np.append(numbers, np.arange(-len(numbers) % 16)).astype(np.float32)
    for columns in numbers.reshape(-1, 4, 4):
        lines = [", ".join(map(float_literal, map(float, column))) for column in columns]
        matrix = ",\n".join(f"    vec4({line})" for line in lines)
        assert print_expression(constant(columns)) == f"mat4(\n{matrix}\n)"


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (K + 0, "k"),
        (0 + K, "k"),
        (1 * K, "k"),
        (K // 1, "k"),
        (integer(7) % 4 + K, "3 + k"),
        (K + -2, "k - 2"),
        (K - (N - 2), "k - (n - 2)"),
        ((K + N) * 4, "(k + n) * 4"),
        (K * 4 + N, "k * 4 + n"),
        ((K & 3) * 4, "(k & 3) * 4"),
        (K - 4 >> 2, "(k - 4) >> 2"),
        (V + 0.0, "v + 0.0"),
        (-V * 2.0, "(-v) * 2.0"),
        ((V + 1.0).lanes("xy"), "(v + 1.0).xy"),
        (Conditional(K < N, K, N) + 1, "(k < n ? k : n) + 1"),
        (intrinsic("max", V, 0.0), "max(v, 0.0)"),
        (intrinsic("max", V, V), "max(v, v)"),
        (offset(P, 0, 0), "p"),
        (offset(P, 1, 0), "p + ivec2(1, 0)"),
        (vec4(V.lanes("xyz"), 0.0), "vec4(v.xyz, 0.0)"),
    ],
)
def test_expressions_are_printed_with_the_brackets_they_need(expression: Expression, text: str):
    assert print_expression(expression) == text


def test_bodies_print_as_they_were_built():
    body = Body()
    total = body.let("total", vec4(0.0))
    body.declare("a", VEC4)
    body.declare("b", VEC4)
    with body.loop("k", 8, step=4) as k, body.when(k < N):
        body.add_products(total, (V, V.x), (V, V.y))
    with body.scope():  # nothing is declared in it
        body.add(total, V, -1)
    with body.scope():
        body.add(total, body.let("part", V), -1)
    assert GlslEs().block(body.statements) == [
        "vec4 total = vec4(0.0);",
        "vec4 a, b;",
        "for (int k = 0; k < 8; k += 4) {\n    if (k < n) total += v * v.x + v * v.y;\n}",
        "total -= v;",
        "{\n    vec4 part = v;\n    total -= part;\n}",
    ]


def test_chained_products_are_added_one_after_the_other():
    body = Body()
    total = body.let("total", vec4(0.0))
    matrix = body.declare("m", MAT4)
    known = Numbers(tuple(map(float, range(16))))
    body.add_products(total, (matrix, V), (V, V.x))
    body.add_products(total, (known, V))
    assert GlslEs(chained=True).block(body.statements[2:]) == [
        "total += m[0] * v.x;\ntotal += m[1] * v.y;\ntotal += m[2] * v.z;\ntotal += m[3] * v.w;\n"
        "total += v * v.x;",
        "total += vec4(0.0, 1.0, 2.0, 3.0) * v.x;\ntotal += vec4(4.0, 5.0, 6.0, 7.0) * v.y;\n"
        "total += vec4(8.0, 9.0, 10.0, 11.0) * v.z;\ntotal += vec4(12.0, 13.0, 14.0, 15.0) * v.w;",
    ]


def program(body: Body, **more: object) -> Program:
    fields = {"textures": [], "uniforms": ["u_n"], "arrays": [], "targets": 1} | more
    return Program("fragment", "highp", [], main=body.statements, **fields)


def test_a_sound_program_is_accepted():
    body = Body()
    u = Uniform("u_n")
    with body.loop("k", u) as k:
        body.let("v", vec4(intrinsic("floor", Number(0.5, FLOAT))))
        body.let("m", k + u)
    body.write(0, vec4(1.0))
    verify(program(body))


TEXTURE = TextureBinding("u_x", "array")
GIVES_FLOAT = Function("f", (S,), FLOAT, ())


def wrong(build):
    body = Body()
    build(body)
    return body


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b: b.let("v", V), "v is not declared with this type"),
        (lambda b: (b.let("v", vec4(0.0)), b.let("v", vec4(0.0))), "v is declared twice"),
        (lambda b: b.let("v", vec4(0.0) + integer(1)), "+ of"),
        (lambda b: b.let("v", vec4(0.0, 1.0)), "2 components"),
        (lambda b: (b.let("s", Number(1.0, FLOAT)), b.let("t", S.lanes("xy"))), "no components"),
        (lambda b: b.let("k", Uniform("u_m")), "u_m is not declared"),
        (lambda b: b.let("t", Texel(TEXTURE, ivec2(0, 0))), "u_x is not declared"),
        (lambda b: b.let("t", Array("c", VEC4)[0]), "no array c"),
        (
            lambda b: b.let("s", GIVES_FLOAT(vec4(0.0))),
            "the arguments of f have other types than its parameters",
        ),
        (lambda b: b.let("v", Intrinsic("max", (vec4(0.0), Number(0.0, FLOAT)))), "max is applied"),
        (
            lambda b: b.let("v", Intrinsic("clamp", (vec4(0.0), vec4(0.0), Number(1.0, FLOAT)))),
            "clamp is applied",
        ),
        (lambda b: b.let("v", Conditional(integer(1), integer(1), integer(2))), "a conditional of"),
        (lambda b: b.write(1, vec4(0.0)), "no such render target"),
        (lambda b: b.write(0, integer(0)), "a render target takes a vec4"),
        (lambda b: b.store_image(ivec2(0, 0), None, vec4(0.0)), "no image to store in"),
        (lambda b: b.assign(V, vec4(0.0)), "v is not declared with this type"),
        (lambda b: b.give(vec4(0.0)), "the returned value has the wrong type"),
    ],
)
def test_the_verifier_refuses(build, message):
    with pytest.raises(InternalError, match=re.escape(message)):
        verify(program(wrong(build)))


def inner_loop(end: int, outer: str = "other") -> Body:
    body = Body()
    body.let(outer, integer(0))
    with body.loop("k", end, inner_trips=4) as k:
        body.let("m", k + Variable(outer, INT))
    return body


def test_a_loop_with_inner_trips_is_printed_as_two():
    body = inner_loop(8)
    verify(program(body))
    assert GlslEs().block(body.statements[1:]) == [
        "for (int first_k = 0; first_k < 8; first_k += 4) {\n"
        "    for (int k_offset = 0; k_offset < 4; ++k_offset) {\n"
        "        int k = first_k + k_offset;\n"
        "        int m = k + other;\n"
        "    }\n"
        "}"
    ]


@pytest.mark.parametrize(
    ("end", "outer", "message"),
    [
        (7, "other", "the trip count of k is not a multiple of 4"),
        (8, "first_k", "the printed loop counter first_k would shadow another name"),
        (8, "k_offset", "the printed loop counter k_offset would shadow another name"),
    ],
)
def test_the_verifier_refuses_a_loop_that_cannot_be_printed_as_two(end, outer, message):
    with pytest.raises(InternalError, match=message):
        verify(program(inner_loop(end, outer)))


def test_a_layer_is_given_where_a_texture_has_layers():
    flat = TextureBinding("u_y", "2d")
    for texture, layer in ((TEXTURE, None), (flat, integer(0))):
        body = wrong(lambda b, t=texture, at=layer: b.let("t", Texel(t, ivec2(0, 0), at)))
        with pytest.raises(InternalError, match="is read with coordinates of another texture kind"):
            verify(program(body, textures=[TEXTURE, flat]))


def test_functions_of_one_name_are_refused():
    body = Body()
    for result in (0.0, 1.0):
        inner = Body()
        inner.give(Number(result, FLOAT))
        body.let(f"s{result:.0f}", Function("f", (), FLOAT, inner.statements)())
    with pytest.raises(
        InternalError, match="2 functions, textures, arrays or uniforms are called f"
    ):
        verify(program(body))


def test_ints_are_divided_as_unsigned_ones_in_wgsl_unless_the_divisor_is_a_number():
    """Compilers guard a signed division by what is no number, lane by lane."""
    body = Body()
    i, at = body.let("i", integer(7) + Uniform("u_n")), body.let("at", ivec2(8, 9))
    body.let("row", i // Uniform("u_width"))
    body.let("column", i % (Uniform("u_width") + 1))
    body.let("half", i // 3)
    body.let("tile", at // ivec2(Uniform("u_width"), 4))
    body.let("ratio", Variable("v", FLOAT) / Variable("w", FLOAT))
    text = print_wgsl(program(body, uniforms=("u_n", "u_width"))).text
    assert "var row: i32 = i32(u32(i) / u32(sizes.u_width));" in text
    assert "var column: i32 = i32(u32(i) % u32(sizes.u_width + 1));" in text
    assert "var half: i32 = i / 3;" in text
    assert "var tile: vec2i = vec2i(vec2u(at) / vec2u(vec2i(sizes.u_width, 4)));" in text
    assert "var ratio: f32 = v / w;" in text


def test_what_a_function_writes_to_is_a_pointer_in_wgsl():
    inner = Body()
    inner.assign(V, vec4(1.0))
    fill = Function("fill", (), None, inner.statements, (V,))
    outer = Body()
    outer.perform(fill(V))
    twice = Function("twice", (), None, outer.statements, (V,))
    body = Body()
    v = body.declare("v", VEC4)
    body.perform(twice(v))
    body.write(0, v)
    text = print_wgsl(program(body)).text
    assert "fn fill(v: ptr<function, vec4f>) { (*v) = vec4f(1.0); }" in text
    assert "fn twice(v: ptr<function, vec4f>) { fill(v); }" in text
    assert "    twice(&v);" in text


SHADING = re.compile(
    r"\b[iub]?vec[234]\b|\bmat4\b|texelFetch|imageLoad|imageStore|gl_[A-Z]|\w+\(.*\)|[-+*/%&|]=?\s"
    r"|\b(uniform|precision|layout|void|return)\b[^.]*;|^#[a-z]|\w\($"
    r"|_(raw|pos|size|pt|tex)\b[( ).]"  # what video players define of a texture
)


@pytest.mark.parametrize("folder", ["kernels", "user_shader"])
def test_only_dialects_write_shader_text(folder):
    """Strings elsewhere are names, words for people, messages of errors, and comments."""
    found = []
    for path in (ROOT / "backends" / folder).glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        words = {
            ast.get_docstring(n, clean=False) for n in ast.walk(tree) if isinstance(n, documented)
        }
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if not isinstance(text, str) or text in words or text.startswith("//"):
                continue
            if SHADING.search(text):
                found.append((path.name, node.lineno, text))
    assert found == []


def test_the_template_of_user_shaders_has_comments_only():
    text = (ROOT / "templates" / "user_shader.glsl.j2").read_text("utf-8")
    lines = re.sub(r"\{[{%].*?[%}]\}", "", text).splitlines()
    assert [line for line in lines if line and not line.startswith("//")] == []
