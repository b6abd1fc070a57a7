"""Which programs are equal, the file that they share, and the lines that store their results."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import compile_graph, conv, graph_of, image
from support.kernel_programs import shaders

from shadergen.backends.dialects import glsl_es, wgsl
from shadergen.backends.dialects.language import without_comments
from shadergen.backends.shader.constructors import integer, ivec2, vec4
from shadergen.backends.shader.expressions import Number, Numbers, Variable
from shadergen.backends.shader.program import Array, Function, Program, TextureBinding
from shadergen.backends.shader.statements import Body
from shadergen.backends.shader.structure import structural_key
from shadergen.backends.shader.types import FLOAT, INT, IVEC2, VEC2, VEC4

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadergen.backends.dialects.printer import Listing

P, V = Variable("p", IVEC2), Variable("v", VEC4)
DIALECTS: dict[str, Callable[[Program], Listing]] = {
    "glsl": lambda program: glsl_es.print_program(program, 310),
    "wgsl": wgsl.print_program,
}


def program(body: Body, **more: object) -> Program:
    fields = {"header": [], "textures": [], "uniforms": [], "arrays": [], "targets": 1} | more
    return Program("fragment", "highp", main=body.statements, **fields)


def scaled(factor: float = 0.5, unread: int = 1, comment: str = "") -> Program:
    """Return a program whose function reads the first of its two parameters."""
    inner, body, x = Body(), Body(), Variable("x", FLOAT)
    if comment:
        inner.comment(comment)
    inner.give(vec4(x * factor))
    scale = Function("scale", (x, Variable("n", INT)), VEC4, inner.statements)
    if comment:
        body.comment(comment)
    body.write(0, scale(Number(2.0, FLOAT), integer(unread)))
    return program(body, header=[comment])


def declared(**more: object) -> Program:
    body = Body()
    body.declare("v", more.pop("type", VEC4))
    body.write(0, vec4(0.0))
    return program(body, **more)


def stored(values: tuple[float, ...]) -> Program:
    body = Body()
    body.write(0, Numbers(values))
    return program(body)


def test_headers_comments_and_unread_arguments_do_not_count() -> None:
    keys = {structural_key(p) for p in (scaled(), scaled(comment="a note"), scaled(unread=2))}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scaled(), scaled(factor=0.25)),
        (scaled(factor=0.0), scaled(factor=-0.0)),
        (stored((0.0, 1.0, 1.0, 1.0)), stored((-0.0, 1.0, 1.0, 1.0))),
        (declared(), declared(type=VEC2)),
        (declared(), declared(uniforms=["u_n"])),
        (declared(), declared(textures=[TextureBinding("u_x", "2d")])),
        *(
            (declared(arrays=[Array("a", FLOAT, 1, (Number(0.0, FLOAT),))]), declared(arrays=[a]))
            for a in (
                Array("a", FLOAT, 1, (Number(1.0, FLOAT),)),
                Array("a", VEC4, 1, (Numbers((0.0,) * 4),)),
            )
        ),
    ],
)
def test_all_that_is_computed_counts(one: Program, other: Program) -> None:
    assert structural_key(one) != structural_key(other)


def test_programs_have_equal_keys_exactly_where_their_texts_are_equal() -> None:
    by_key, by_text = defaultdict(set), defaultdict(set)
    for k, shader in enumerate(shaders()):
        language = shader.text.split("\n", 1)[0]
        by_key[language, structural_key(shader.gpu_pass.program)].add(k)
        by_text[without_comments(shader.text)].add(k)
    assert len(by_text) < len(shaders()), "none is shared"
    assert sorted(map(sorted, by_key.values())) == sorted(map(sorted, by_text.values()))


@pytest.mark.parametrize("device", ["gles30", "webgpu"])
def test_the_header_of_a_shared_file_says_so(device: str) -> None:
    rng, x = np.random.default_rng(0), image(1, 8, 6, 5)
    y = conv(rng, x, 8, (3, 3), "first", pads=(1,) * 4)
    y = conv(rng, y, 8, (3, 3), "second", pads=(1,) * 4)
    options = {"device": device, "stage": "fragment", "weights": "texture", "winograd": "off"}
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), **options)
    (path,) = {p["shader"] for p in files.schedule["passes"]}
    comments = [line for line in files.shaders[path].split("\n") if line.startswith("//")]
    assert comments[0] == "// one program for 2 GPU passes; this header describes the first"
    assert comments[1].startswith("// first: ")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kernel_stores_in_the_lines_that_the_printer_names(dialect: str) -> None:
    for shader in shaders():
        made = shader.gpu_pass.program
        text, numbers = DIALECTS[dialect](made)
        lines = [text.split("\n")[n - 1] for n in numbers]
        assert len(lines) == (made.targets or 1)
        if made.targets:
            for k, line in enumerate(lines):
                assert re.search(rf"^ +(targets\.)?target_{k} = ", line), shader
        else:
            assert re.search(r"^ +store\(", lines[0]), shader


@pytest.mark.parametrize("dialect", DIALECTS)
def test_stores_are_found_whatever_functions_and_variables_are_called(dialect: str) -> None:
    inner, body = Body(), Body()
    inner.store_image(P, None, V)
    keep = Function("keep", (P, V), None, inner.statements)
    body.comment("main() stores: store(target_0 = v)")
    target = body.let("target_0", vec4(0.0))
    body.declare("a", VEC4)
    body.declare("b", VEC4)
    with body.when(integer(1) < 2):
        body.perform(keep(ivec2(0, 0), target))
    body.let("store", vec4(1.0))
    made = program(
        body, targets=0, result=TextureBinding("u_result", "2d", 0, "rgba32f"), workgroup=64
    )
    text, (line,) = DIALECTS[dialect](made)
    assert "keep(" in text.split("\n")[line - 1]
