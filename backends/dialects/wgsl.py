"""WGSL, as far as every kernel needs it; external textures are refused.

Functions take no values back by parameters here, but by pointers; a conditional is a
call; conditions of vectors are vectors. Uniform ints are one struct.
"""

from __future__ import annotations

import math
from itertools import compress
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...errors import InternalError
from ..shader.expressions import Number
from ..shader.halves import with_half_types
from ..shader.types import BOOL, FLOAT, HALF, UINT
from .expression_printer import ATOM, BITS, INFINITE, LEVELS, decimal
from .printer import Printer, comment, indented

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..shader.expressions import (
        Conditional,
        Construct,
        Expression,
        Intrinsic,
        Invoke,
        Texel,
        Uniform,
        Variable,
    )
    from ..shader.operations import Operator
    from ..shader.program import Array, Function, Program, TextureBinding
    from ..shader.statements import WriteImage, WriteTarget
    from ..shader.types import Type
    from .printer import Listing

SCALARS = {"float": "f32", "half": "f16", "int": "i32", "uint": "u32", "bool": "bool"}
SUFFIXES = {"float": "f", "half": "h", "int": "i", "uint": "u", "bool": "<bool>"}
TESTS = {"less": "<", "less_equal": "<=", "greater": ">", "equal": "==", "not_equal": "!="}
FORMATS = {"rgba32f": "rgba32float", "rgba16f": "rgba16float", "r32f": "r32float",
           "rgba8": "rgba8unorm"}  # fmt: skip
KINDS = {"2d": "2d", "array": "2d_array"}
# Textures have one level of detail, so neighbours that do not sample decide nothing.
SAMPLING = "diagnostic(off, derivative_uniformity);"
INFINITE_BITS = "var<private> infinite_bits: u32 = 0x7F800000u;"
VERTEX = """// A triangle that covers the viewport.
@vertex
fn main(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
    return vec4f(select(-1.0, 3.0, i == 1u), select(-1.0, 3.0, i == 2u), 0.0, 1.0);
}
"""


class _Wgsl(Printer):
    """Prints one program: it keeps which variables of a function are pointers."""

    BUILT_INS: ClassVar = {
        "pixel": "vec2i(fragment_position.xy)",
        "lane": "i32(local.x)",
        "group_x": "i32(group.x)",
        "group_y": "i32(group.y)",
    }
    NAMES: ClassVar = {"round_even": "round"}

    def __init__(self, chained: bool) -> None:
        super().__init__(chained)
        self._pointers: set[str] = set()
        self.samples = False  # whether anything printed so far uses the sampler
        self.infinite = False  # whether anything printed so far is infinite

    def type(self, t: Type) -> str:
        if t.is_matrix:
            return f"mat{t.columns}x{t.lanes}{SUFFIXES[t.scalar]}"
        return SCALARS[t.scalar] if t.lanes == 1 else f"vec{t.lanes}{SUFFIXES[t.scalar]}"

    def scalar(self, number: Number) -> str:
        if number.type in (FLOAT, HALF):
            self.infinite |= abs(number.value) >= INFINITE
            text = float_literal(number.value)
            return text if number.type == FLOAT else f"f16({text})"
        if number.type == BOOL:
            return "true" if number.value else "false"
        return f"{int(number.value)}{'u' if number.type == UINT else ''}"

    def declare(self, name: str, t: Type, value: str, full: bool) -> str:
        return f"var {name}: {self.type(t)} = {value};"

    def declare_all(self, names: Sequence[str], t: Type, full: bool) -> Iterator[str]:
        yield from (f"var {name}: {self.type(t)};" for name in names)

    def head(self, function: Function) -> str:
        self._pointers = {v.name for v in function.results}
        parameters = [f"{v.name}: {self.type(v.type)}" for v in self.parameters(function)]
        results = [f"{v.name}: ptr<function, {self.type(v.type)}>" for v in function.results]
        returns = "" if function.returns is None else f" -> {self.type(function.returns)}"
        return f"fn {function.name}({', '.join(parameters + results)}){returns}"

    def function(self, function: Function) -> str:
        text = super().function(function)
        self._pointers = set()
        return text

    def loop_head(self, counter: str, start: str, end: str, step: int) -> str:
        return f"for (var {counter} = {start}; {counter} < {end}; {counter} += {step})"

    def short_branch(self, head: str, line: str) -> str:
        return f"{head} {{ {line} }}"

    def conditional(self, e: Conditional) -> tuple[str, int]:
        parts = (self.expression(part) for part in (e.otherwise, e.then, e.condition))
        return f"select({', '.join(parts)})", ATOM

    def variable(self, v: Variable) -> str:
        return f"(*{v.name})" if v.name in self._pointers else v.name

    def arguments(self, e: Invoke) -> list[str]:
        count = len(e.function.parameters)
        values = [self.expression(a) for a in compress(e.arguments[:count], e.function.needed)]
        results = (v.name for v in e.arguments[count:])  # type: ignore[attr-defined]
        return values + [name if name in self._pointers else f"&{name}" for name in results]

    def uniform(self, e: Uniform) -> str:
        return f"sizes.{e.name}"

    def construct(self, e: Construct) -> str:
        if e.type.scalar == "bool":
            raise InternalError("the WGSL dialect does not convert numbers to bool")
        if len(e.parts) == 1 and e.type.lanes > 1 and e.parts[0].type.lanes == 1:
            one = e.type.of(1)  # a vector of one number takes that of its own kind alone
            is_abstract = isinstance(e.parts[0], Number) and e.parts[0].type == FLOAT
            if e.parts[0].type != one and not (is_abstract and one == HALF):
                return f"{self.type(e.type)}({self.type(one)}({self.expression(e.parts[0])}))"
        return super().construct(e)

    def intrinsic(self, e: Intrinsic) -> str:
        texts = [self.expression(a) for a in e.arguments]
        if e.name in TESTS:
            a, b = map(self.atom, e.arguments)
            return f"({a} {TESTS[e.name]} {b})"
        if e.name in ("float_bits", "from_bits"):
            return f"bitcast<{self.type(e.type)}>({texts[0]})"
        return super().intrinsic(e)

    def binary(self, sign: Operator, left: Expression, right: Expression) -> tuple[str, int]:
        if sign in ("<<", ">>"):
            kind = UINT.of(right.type.lanes)
            return f"{self.atom(left)} {sign} {self.type(kind)}({self.expression(right)})", LEVELS[
                sign
            ]
        if sign in BITS and left.type.lanes > right.type.lanes:
            vector = self.type(left.type)
            return f"{self.atom(left)} {sign} {vector}({self.expression(right)})", LEVELS[sign]
        if sign in ("/", "%") and right.type.scalar == "int" and not isinstance(right, Number):
            return self._quotient(sign, left, right), ATOM
        text, level = super().binary(sign, left, right)
        if sign == "==" and left.type.lanes > 1:
            return f"all({text})", ATOM
        return text, level

    def _quotient(self, sign: Operator, left: Expression, right: Expression) -> str:
        """Return the quotient or remainder of ints, which are never negative, as that of uints.

        Compilers guard each division of signed ints against a divisor of 0, and of -1 for the
        smallest dividend. So the divisor, the same everywhere, becomes one of each invocation.
        """
        parts = (f"{self.type(UINT.of(e.type.lanes))}({self.expression(e)})" for e in (left, right))
        return f"{self.type(left.type)}({f' {sign} '.join(parts)})"

    def texel(self, e: Texel) -> str:
        if e.texture.kind == "external":
            raise InternalError("the WGSL dialect prints no external textures")
        layer = "" if e.layer is None else f", {self.expression(e.layer)}"
        if e.sampled_at is not None:
            self.samples = True
            place = f"{self.expression(e.sampled_at)}{layer}"
            return f"textureSample({e.texture.name}, nearest, {place})"
        assert e.position is not None
        return f"textureLoad({e.texture.name}, {self.expression(e.position)}{layer}, 0)"

    def write_target(self, s: WriteTarget) -> str:
        return f"targets.target_{s.target} = {self.expression(s.value)};"

    def write_image(self, s: WriteImage) -> str:
        layer = "" if s.layer is None else f", {self.expression(s.layer)}"
        place = f"{self.expression(s.position)}{layer}"
        return f"textureStore(u_result, {place}, {self.expression(s.value)});"

    def constants(self, array: Array) -> str:
        """Return the declaration of constants."""
        values = ",\n".join(indented(self.expression(v)) for v in array.values)
        kind = f"array<{self.type(array.element)}, {array.count}>"
        return f"var<private> {array.name}: {kind} = {kind}(\n{values}\n);"


def float_literal(value: float) -> str:
    """Return a float literal; an infinite one is made of its bits, which no constant may be.

    Raises:
        InternalError: for NaN.
    """
    if math.isnan(value):
        raise InternalError("NaN has no WGSL literal")
    if abs(value) >= INFINITE:
        return f"{'-' * (value < 0)}bitcast<f32>(infinite_bits)"
    single = np.float32(value)
    if abs(single) == np.finfo(np.float32).max:  # its shortest text is a larger number
        return repr(float(single))
    return decimal(single)


def bindings(program: Program) -> Iterator[tuple[str, TextureBinding | Array | None]]:
    """Yield the declaration of each binding of group 0, by number, with what it is; None: sizes."""
    number = 0

    def at(text: str) -> str:
        nonlocal number
        number += 1
        return f"@group(0) @binding({number - 1}) {text}"

    if program.uniforms:
        yield at("var<uniform> sizes: Sizes;"), None
    for texture in program.textures:
        if texture.kind == "external":
            raise InternalError("the WGSL dialect prints no external textures")
        yield at(f"var {texture.name}: texture_{KINDS[texture.kind]}<f32>;"), texture
    for array in program.arrays:
        if array.buffer is not None:
            uniform = array.buffer[0] == "uniform"
            count = f", {array.count}" if uniform else ""
            space = "uniform" if uniform else "storage, read"
            yield at(f"var<{space}> {array.name}: array<vec4f{count}>;"), array
    if program.result is not None:
        t = program.result
        kind = f"texture_storage_{KINDS[t.kind]}<{FORMATS[t.format]}, write>"
        yield at(f"var {t.name}: {kind};"), t


def print_program(program: Program, f16: bool = False) -> Listing:
    """Print a program.

    Args:
        program: of any precision.
        f16: compute in 16 bits what mediump programs allow, on devices that have ``shader-f16``.

    Raises:
        InternalError: for an external texture.
    """
    head = [f"// {comment(line)}" for line in program.header]
    if f16 and program.precision == "mediump":
        program = with_half_types(program)
        head += ["", "enable f16;"]
    wgsl = _Wgsl(program.chained)
    main, closing = wgsl.main(program.main), ["}"]
    functions = wgsl.functions()
    declared = [text for text, _ in bindings(program)]
    if wgsl.samples:
        declared.append(f"@group(0) @binding({len(declared)}) var nearest: sampler;")
        head += ["", SAMPLING]
    constants = [wgsl.constants(a) for a in program.arrays if a.buffer is None]
    if program.uniforms:
        members = (f"    {name}: i32," for name in program.uniforms)
        declared = ["\n".join(["struct Sizes {", *members, "}"]), *declared]
    if wgsl.infinite:
        declared.append(INFINITE_BITS)
    if program.stage == "compute":
        local = "@builtin(local_invocation_id) local: vec3u"
        group = "@builtin(workgroup_id) group: vec3u"
        entry = [f"@compute @workgroup_size({program.workgroup})"]
        entry += [f"fn main({local}, {group}) {{"]
    else:
        targets = (f"    @location({k}) target_{k}: vec4f," for k in range(program.targets))
        functions = ["\n".join(["struct Targets {", *targets, "}"]), *functions]
        entry = ["@fragment"]
        entry += ["fn main(@builtin(position) fragment_position: vec4f) -> Targets {"]
        entry += ["    var targets: Targets;"]
        closing = ["    return targets;", "}"]
    parts = ["\n".join(head), "\n".join(declared), *constants, *functions, "\n".join(entry)]
    return wgsl.listing([part for part in parts if part], main, closing)
