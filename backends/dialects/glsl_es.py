"""GLSL ES 3.00, 3.10 and 3.20."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...errors import InternalError
from ..gpu import EXTERNAL
from ..shader.expressions import Construct, Negative, Number, Numbers
from ..shader.types import BOOL, FLOAT, INT, UINT
from .expression_printer import CONDITIONAL, INFINITE, decimal
from .printer import Printer, comment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..shader.expressions import Conditional, Expression, Intrinsic, Texel
    from ..shader.program import Array, Function, Program, TextureBinding
    from ..shader.statements import WriteImage, WriteTarget
    from ..shader.types import Type
    from .printer import Listing

VECTORS = {"float": "vec", "int": "ivec", "uint": "uvec", "bool": "bvec"}
MASKS = 1 << 16  # uints from here on are masks of bits, and printed in hexadecimal
IMAGES = {"2d": "2D", "array": "2DArray"}
FULLSCREEN = """\
// One triangle that covers the viewport; no vertex buffer is bound.

void main() {
    vec2 corner = vec2((gl_VertexID & 1) << 1, gl_VertexID & 2);
    gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
}
"""


class GlslEs(Printer):
    """See the module."""

    BUILT_INS: ClassVar = {
        "pixel": "ivec2(gl_FragCoord.xy)",
        "lane": "int(gl_LocalInvocationID.x)",
        "group_x": "int(gl_WorkGroupID.x)",
        "group_y": "int(gl_WorkGroupID.y)",
    }
    NAMES: ClassVar = {
        "round_even": "roundEven",
        "less": "lessThan",
        "less_equal": "lessThanEqual",
        "greater": "greaterThan",
        "not_equal": "notEqual",
        "select": "mix",
        "float_bits": "floatBitsToUint",
        "from_bits": "uintBitsToFloat",
    }

    def type(self, t: Type) -> str:
        if t.is_matrix:
            return f"mat{t.columns}"
        return t.scalar if t.lanes == 1 else f"{VECTORS[t.scalar]}{t.lanes}"

    def scalar(self, number: Number) -> str:
        if number.type == FLOAT:
            return float_literal(number.value)
        if number.type == BOOL:
            return "true" if number.value else "false"
        if number.type == UINT:
            value = int(number.value)
            return f"{value}u" if value < MASKS else f"0x{value:X}u"
        assert number.type == INT
        return str(int(number.value))

    def declare(self, name: str, t: Type, value: str, full: bool) -> str:
        return f"{'highp ' if full else ''}{self.type(t)} {name} = {value};"

    def declare_all(self, names: Sequence[str], t: Type, full: bool) -> Iterator[str]:
        yield f"{'highp ' if full else ''}{self.type(t)} {', '.join(names)};"

    def head(self, function: Function) -> str:
        parameters = [f"{self.type(v.type)} {v.name}" for v in self.parameters(function)]
        results = [f"out {self.type(v.type)} {v.name}" for v in function.results]
        returns = "void" if function.returns is None else self.type(function.returns)
        head = f"{returns} {function.name}({', '.join(parameters + results)})"
        if len(head) <= 100 or not results:
            return head
        lines = f"    {', '.join(parameters)},\n    {', '.join(results)}"
        return f"{returns} {function.name}(\n{lines}\n)"

    def loop_head(self, counter: str, start: str, end: str, step: int) -> str:
        advance = f"++{counter}" if step == 1 else f"{counter} += {step}"
        return f"for (int {counter} = {start}; {counter} < {end}; {advance})"

    def conditional(self, e: Conditional) -> tuple[str, int]:
        parts = [self.printed(part) for part in (e.condition, e.then, e.otherwise)]
        c, a, b = (text if level > CONDITIONAL else f"({text})" for text, level in parts)
        return f"{c} ? {a} : {b}", CONDITIONAL

    def intrinsic(self, e: Intrinsic) -> str:
        if e.name == "atan2":
            return self._arc(*e.arguments)
        if e.name not in ("min", "max", "clamp"):
            return super().intrinsic(e)
        first, *bounds = e.arguments
        texts = [self.expression(a) for a in (first, *map(_bound, bounds))]
        if e.name == "clamp" and e.type.scalar == "int":  # whose clamp may be wrong on Adreno
            return f"min(max({texts[0]}, {texts[1]}), {texts[2]})"
        return f"{e.name}({', '.join(texts)})"

    def _arc(self, y: Expression, x: Expression) -> str:
        """Return the angle of (x, y). Intel's compiler may take -x as an int."""
        across = f"-1.0 * {self.atom(x.operand)}" if isinstance(x, Negative) else self.expression(x)
        return f"atan({self.expression(y)}, {across})"

    def texel(self, e: Texel) -> str:
        name = e.texture.name
        if e.sampled_at is not None:
            centre = self.expression(e.sampled_at)
            if e.layer is not None:
                layer = self.expression(e.layer)
                layer = f"{layer}.0" if isinstance(e.layer, Number) else f"float({layer})"
                centre = f"vec3({centre}, {layer})"
            return f"texture({name}, {centre})"
        assert e.position is not None
        place = self._place(e.position, e.layer)
        if e.texture.unit is None:
            return f"texelFetch({name}, {place}, 0)"
        return f"imageLoad({name}, {place})"

    def write_target(self, s: WriteTarget) -> str:
        return f"target_{s.target} = {self.expression(s.value)};"

    def write_image(self, s: WriteImage) -> str:
        place = self._place(s.position, s.layer)
        return f"imageStore(u_result, {place}, {self.expression(s.value)});"

    def _place(self, position: Expression, layer: Expression | None) -> str:
        if layer is None:
            return self.expression(position)
        whole = isinstance(position, Construct) and len(position.parts) == 2
        parts = position.operands if whole else (position,)
        return f"ivec3({', '.join(self.expression(e) for e in (*parts, layer))})"

    # Declarations

    def texture(self, t: TextureBinding, precision: str) -> Iterator[str]:
        """Yield the declarations of a program's textures."""
        if t.kind == "external":
            yield f"uniform highp samplerExternalOES {t.name};"
            yield f"uniform highp mat4 {t.matrix};"
        elif t.unit is None:
            yield f"uniform sampler{IMAGES[t.kind]} {t.name};"
        else:
            yield f"{self._image(t)} readonly uniform {precision} image{IMAGES[t.kind]} {t.name};"

    def result(self, t: TextureBinding, precision: str) -> str:
        """Return the declaration of the image that a dispatch writes."""
        return f"{self._image(t)} writeonly uniform {precision} image{IMAGES[t.kind]} {t.name};"

    @staticmethod
    def _image(t: TextureBinding) -> str:
        return f"layout({t.format}, binding = {t.unit})"

    def buffer(self, array: Array) -> str:
        """Return the declaration of a buffer."""
        assert array.buffer is not None
        kind, name = array.buffer
        element = self.type(array.element)
        if kind == "storage":
            layout = "layout(std430, binding = 0) readonly buffer"
            return f"{layout} {name} {{ {element} {array.name}[]; }};"
        return f"layout(std140) uniform {name} {{ {element} {array.name}[{array.count}]; }};"

    def constants(self, array: Array) -> str:
        """Return the declaration of constants."""
        kind = f"{self.type(array.element)}"
        separator = ", " if array.element == FLOAT else ",\n    "
        values = separator.join(self.expression(v) for v in array.values)
        head = f"const {kind} {array.name}[{array.count}] = {kind}[{array.count}]"
        return f"{head}(\n    {values}\n);"


def print_program(program: Program, version: int) -> Listing:
    """Print a program for a version, 300, 310 or 320."""
    glsl, precision = GlslEs(program.chained), program.precision
    head = [f"#version {version} es"]
    if any(t.kind == "external" for t in program.textures):
        head.append(f"#extension {EXTERNAL} : require")
    head += [f"// {comment(line)}" for line in program.header]
    precisions = [
        f"precision {precision} float;",
        "precision highp int;",
        f"precision {precision} sampler2D;",
        f"precision {precision} sampler2DArray;",
    ]
    main = glsl.main(program.main)
    functions = glsl.functions()
    read = [line for t in program.textures for line in glsl.texture(t, precision)]
    read += [f"uniform int {name};" for name in program.uniforms]
    read += [glsl.buffer(a) for a in program.arrays if a.buffer]
    written = [f"layout(location = {k}) out vec4 target_{k};" for k in range(program.targets)]
    if program.result:
        written.append(f"layout(local_size_x = {program.workgroup}) in;")
        written.append(glsl.result(program.result, precision))
    constants = [glsl.constants(a) for a in program.arrays if not a.buffer]
    heads = ["\n".join(lines) for lines in (head, precisions, read, written) if lines]
    return glsl.listing([*heads, *constants, *functions, "void main() {"], main, ["}"])


def print_vertex(version: int) -> str:
    """Return the vertex shader that all draws share: a triangle that covers the viewport."""
    return f"#version {version} es\n{FULLSCREEN}"


def print_expression(e: Expression) -> str:
    """Return an expression."""
    return GlslEs().expression(e)


def float_literal(value: float) -> str:
    """Return a float literal that reads back as the same float32 and has a decimal point.

    Infinities, and what float32 rounds to one, have no literal and are written by their bits.

    Raises:
        InternalError: for NaN, which GLSL ES need not support.
    """
    if math.isnan(value):
        raise InternalError("NaN has no GLSL literal")
    if abs(value) >= INFINITE:
        return f"{'-' * (value < 0)}uintBitsToFloat(0x7F800000u)"
    return decimal(np.float32(value))


def _bound(e: Expression) -> Expression:
    """Return a bound as one float where it is the same for all components."""
    if isinstance(e, Numbers) and len(set(e.values)) == 1:
        return Number(e.values[0], FLOAT)
    return e
