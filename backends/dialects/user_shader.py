"""GLSL of user shaders for mpv and libplacebo: the body of one pass.

The player declares the textures that a pass binds and gives each of them macros: ``conv1_raw`` is a
sampler, ``conv1_size`` its size as a vec2, ``conv1_pos`` the position of the pixel at hand, 0 to 1.
It also writes the version and the precisions. So a pass is a function ``vec4 hook()`` with what it
calls, in the language that GLSL 330 to 450 and GLSL ES 3.0 to 3.2 have in common.

A program of several render targets becomes a compute pass, ``void hook()``, which stores them side
by side in ``out_image``. The pass that reads such a texture gives it one more macro: ``conv1_cell``
is the size of one plane of it as an ivec2. Where planes lie in halos of padding, this size includes
the halo, and ``conv1_plane`` does not.

Textures of passes hold 16-bit floats. Split textures hold each value as two of them, 22 digits: the
rounded value, and beside it what is missing, which readers add.
"""

from __future__ import annotations

import re
from dataclasses import field
from math import prod
from typing import TYPE_CHECKING, ClassVar, Literal

from ...errors import InternalError
from ...records import dataclass
from ..shader.expressions import Construct, Intrinsic, Lanes, Number, Uniform
from ..shader.halves import with_half_types
from ..shader.types import FLOAT, IVEC2
from .expression_printer import LEVELS
from .glsl_es import GlslEs
from .printer import comment
from .user_shader_planes import ONE_PLANE, Grid, Plane, definitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..shader.expressions import BuiltIn, Expression, Texel
    from ..shader.program import Function, Program
    from ..shader.statements import Comment, WriteTarget
    from ..shader.types import Type

# The sides of one texture, or what both are less.
PAIR = re.compile(r"int\((\w+)_size\.x\)((?: - \d+)?), int\(\1_size\.y\)\2")
STRENGTH = "strength"  # of the network, where its result is mixed with the picture
CELLS = re.compile(r"(\w+_(?:cell|plane))\.x((?: - \d+)?), \1\.y\2")
# In the main function: the pixel of a plane with its halo, the nearest one without, the size with
# the halo, and the digits that are kept of results.
OUT_PIXEL, NEAREST, OUT_CELL, KEPT = "out_pixel", "nearest_pixel", "out_cell", "kept"
# Textures of passes hold 16-bit floats. Some GPUs (AMD's) and software drop the digits that do not
# fit: the errors of many layers then add up.
WHY_ROUNDED = """\
// The player stores 16-bit floats, and some GPUs cut off the digits that do not fit.
// So round to the nearest 16-bit float first.
"""
ROUNDED = f"""{WHY_ROUNDED}vec4 rounded_to_half(vec4 v) {{
    return uintBitsToFloat((floatBitsToUint(v) + 0x1000u) & 0xFFFFE000u);
}}"""


# What functions are for, by their names.
PURPOSES = {"lane": "// Returns component i of v; some compilers move v to memory for v[i]."}
# 16-bit types by name: what they are where a compiler has such types, as Vulkan's have, and
# elsewhere. Functions of GLSL take them from 4.50 on. Values of these types are stored as they are.
HALF_TYPES = {
    "f16": ("float16_t", "float"),
    "f16x2": ("f16vec2", "vec2"),
    "f16x3": ("f16vec3", "vec3"),
    "f16x4": ("f16vec4", "vec4"),
    "f16x4x4": ("f16mat4", "mat4"),
}
EXPLICIT = "GL_EXT_shader_explicit_arithmetic_types_float16"
HALVES = "\n".join(
    (
        f"#if defined({EXPLICIT}) && __VERSION__ >= 450",
        f"#extension {EXPLICIT} : enable",
        *(f"#define {name} {half}" for name, (half, _) in HALF_TYPES.items()),
        "#define stored(v) vec4(v)",
        f"#define stored_or_zero(v, {KEPT}) ({KEPT} == 0u ? vec4(0.0) : vec4(v))",
        "#else",
        *(f"#define {name} {full}" for name, (_, full) in HALF_TYPES.items()),
        "#define stored(v) rounded_to_half(v)",
        f"#define stored_or_zero(v, {KEPT}) rounded_or_zero(v, {KEPT})",
        "#endif",
    )
)


# The same, where a halo of zeros keeps no digits.
ROUNDED_OR_ZERO = f"""{WHY_ROUNDED}vec4 rounded_or_zero(vec4 v, uint {KEPT}) {{
    return uintBitsToFloat((floatBitsToUint(v) + 0x1000u) & {KEPT});
}}"""


# Values of split textures: what the rounded value lacks is stored 2048 times as large, which keeps
# it above the smallest 16-bit floats.
REST = """// Returns the error of rounding v to 16 bits, times 2048.
vec4 rest(vec4 v) { return rounded_to_half((v - rounded_to_half(v)) * 2048.0); }"""
REST_OR_ZERO = f"""// Returns the error of rounding v to 16 bits, times 2048.
vec4 rest_or_zero(vec4 v, uint {KEPT}) {{
    return rounded_or_zero((v - rounded_or_zero(v, {KEPT})) * 2048.0, {KEPT});
}}"""
JOINED = """// Returns a rounded value plus its rounding error, which is stored times 2048.
vec4 joined(vec4 rounded, vec4 rest) { return rounded + rest * 0.00048828125; }"""


@dataclass(frozen=True)
class Bindings:
    """What a program's declarations are in a user shader.

    Attributes:
        textures: the plane that each sampler reads, by the sampler's name.
        tables: the texture of constants that a sampler reads, by the sampler's name.
        sizes: the text of each uniform, and how tightly its outermost operator binds.
        pixel: the text of the pixel at hand, an ivec2, in a plane with its halo.
        size: the text of the width and height of one of the result's planes, an ivec2.
        grid: how the program's render targets lie in the result.
        block: columns and rows of pixels that an invocation computes.
        alpha: the text of the fourth component of what the pass returns, if not the program's.
        picture: the plane that the result is mixed with by ``STRENGTH``, if any.
        grids: how planes lie in each texture that the pass binds, by its name.
    """

    textures: Mapping[str, Plane]
    tables: Mapping[str, str]
    sizes: Mapping[str, tuple[str, int]]
    pixel: str
    size: str
    grid: Grid = ONE_PLANE
    block: tuple[int, int] = (1, 1)
    alpha: str = ""
    picture: Plane | None = None
    grids: Mapping[str, Grid] = field(default_factory=dict)

    @property
    def is_dispatch(self) -> bool:
        """Whether the program becomes a compute pass."""
        return not self.grid.is_one or self.in_blocks

    @property
    def in_blocks(self) -> bool:
        """Whether an invocation computes several pixels."""
        return self.block != (1, 1)


def both_sides(width: str, height: str) -> str:
    """Return the ivec2 of two ints, shorter where they are the sides of one texture."""
    if found := PAIR.fullmatch(f"{width}, {height}"):
        return f"ivec2({found[1]}_size){found[2]}"
    if found := CELLS.fullmatch(f"{width}, {height}"):
        return f"{found[1]}{found[2]}"
    return f"ivec2({width}, {height})"


def note(text: str) -> str:
    """Make any text safe inside a line comment; players end a pass at ``//!`` wherever it is."""
    return comment(text).replace("//!", "// !")


class UserShader(GlslEs):
    """Prints a program with its bindings; see the module."""

    SIMPLE: ClassVar = {kind: name for kind, name in GlslEs.SIMPLE.items() if kind is not Uniform}

    def __init__(self, program: Program, bindings: Bindings) -> None:
        super().__init__(program.chained)
        self._bindings = bindings
        self._targets = program.targets // prod(bindings.block)  # of a pixel
        self._compound[Uniform] = self._size

    def type(self, t: Type) -> str:
        if t.scalar != "half":
            return super().type(t)
        return f"f16{f'x{t.lanes}' if t.lanes > 1 else ''}{f'x{t.columns}' if t.is_matrix else ''}"

    def scalar(self, number: Number) -> str:
        if number.type.scalar != "half":
            return super().scalar(number)
        return f"f16({super().scalar(Number(number.value, FLOAT))})"

    def _size(self, e: Uniform) -> tuple[str, int]:
        return self._bindings.sizes[e.name]

    def construct(self, e: Construct) -> str:
        if e.type != IVEC2 or len(e.parts) != 2:
            return super().construct(e)
        x, y = e.parts
        if isinstance(x, Uniform) and isinstance(y, Uniform):
            return both_sides(self.expression(x), self.expression(y))
        if (clamped := _clamped(x, y)) is not None:
            position, last = clamped
            most = both_sides(*map(self.expression, last))
            return f"min(max({self.expression(position)}, ivec2(0)), {most})"
        return super().construct(e)

    def comment(self, s: Comment) -> str:
        return f"// {note(s.text)}"

    def function(self, function: Function) -> str:
        text = super().function(function)
        purpose = PURPOSES.get(function.name)
        return f"{purpose}\n{text}" if purpose else text

    def built_in(self, e: BuiltIn) -> str:
        if e.name != "pixel":
            raise InternalError(f"user shaders have no {e.name}")
        if self._bindings.grid.halo or self._bindings.in_blocks:
            return NEAREST
        return OUT_PIXEL if self._bindings.is_dispatch else self._bindings.pixel

    def texel(self, e: Texel) -> str:
        if e.position is None or e.layer is not None or e.texture.unit is not None:
            raise InternalError(f"user shaders fetch from 2D textures only, not {e.texture.name}")
        if table := self._bindings.tables.get(e.texture.name):
            return f"texelFetch({table}, {self.expression(e.position)}, 0)"
        plane = self._bindings.textures[e.texture.name]
        position, level = self.printed(e.position)
        moved = plane.number or plane.grid.halo or plane.grid.split
        return plane.fetch(f"({position})" if moved and level < LEVELS["+"] else position)

    def write_target(self, s: WriteTarget) -> str:
        if self._bindings.in_blocks:  # :meth:`stores_of_block` follow
            return f"vec4 {self._of_block(s.target)} = {self.expression(s.value)};"
        if self._bindings.is_dispatch:
            grid = self._bindings.grid
            if not grid.split:
                place = grid.at(OUT_PIXEL, s.target, OUT_CELL)
                return f"imageStore(out_image, {place}, {self._stored(s.value)});"
            value, lines = self.expression(s.value), []
            if not value.isidentifier():
                name = f"stored_p{s.target}"
                lines, value = [f"vec4 {name} = {value};"], name
            return "\n".join([*lines, *self._stores(OUT_PIXEL, s.target, value)])
        value, alpha = self.expression(s.value), self._bindings.alpha
        if _half(s.value) is not None and not self._bindings.picture:
            stored = self._stored(s.value)
            if not alpha:
                return f"return {stored};"
            return f"return vec4({stored}.rgb, rounded_to_half(vec4({alpha})).a);"
        if alpha and isinstance(s.value, Construct) and isinstance(s.value.parts[-1], Number):
            *parts, _ = map(self.expression, s.value.parts)
            value = f"vec4({', '.join(parts)}, {alpha})"
        elif alpha:
            value = f"vec4({self.atom(s.value)}.rgb, {alpha})"
        if picture := self._bindings.picture:
            value = f"mix({picture.fetch(self._bindings.pixel)}, {value}, {STRENGTH})"
        return f"return {self._rounded(value)};"

    def _stores(self, texel: str, target: int, value: str, kept: str = KEPT) -> Iterator[str]:
        """Yield the stores of a render target, and of the rest of its value if it is split."""
        grid = self._bindings.grid
        place = grid.at(texel, target, OUT_CELL)
        yield f"imageStore(out_image, {place}, {self._rounded(value, kept=kept)});"
        if grid.split:
            beside = grid.at(texel, target, OUT_CELL, rest=True)
            yield f"imageStore(out_image, {beside}, {self._rounded(value, 'rest', kept)});"

    def stores_of_block(self) -> Iterator[str]:
        """Yield the stores of a block of two pixels of a row.

        At the border, the block that was computed lies further inside than the texels that are
        stored: those take the pixel that is nearest to them.
        """
        grid, margin = self._bindings.grid, self._bindings.grid.margin
        yield "// Texels at the border take the nearest pixel of the block."
        for pixel, texel in enumerate((OUT_PIXEL, "second_texel")):
            nearest, kept, is_first = (f"{name}_x{pixel}" for name in ("nearest", KEPT, "is_first"))
            if pixel:
                yield f"ivec2 {texel} = {OUT_PIXEL} + ivec2(1, 0);"
                yield f"if ({texel}.x >= {OUT_CELL}.x) return;"
            yield f"ivec2 {nearest} = {_inside(texel, margin, self._bindings.size)};"
            if grid.halo and grid.halo.content == "zeros":
                yield f"uint {kept} = {_kept(nearest, texel, margin)};"
            yield f"bool {is_first} = {nearest}.x == {NEAREST}.x;"
            for target in range(self._targets):
                first, second = (self._of_block(n * self._targets + target) for n in (0, 1))
                value = f"{is_first} ? {first} : {second}"
                if grid.split:
                    name = f"stored_x{pixel}_p{target}"
                    yield f"vec4 {name} = {value};"
                    value = name
                yield from self._stores(texel, target, value, kept)

    def _of_block(self, target: int) -> str:
        """Return the name of what a render target of a block gets."""
        pixel, plane = divmod(target, self._targets)
        return f"finished_x{pixel}_p{plane}"

    def _stored(self, value: Expression) -> str:
        """Return what is stored of a value: 16-bit types need no rounding."""
        if (half := _half(value)) is None:
            return self._rounded(self.expression(value))
        return self._rounded(self.expression(half), "stored")

    def _rounded(
        self,
        value: str,
        kind: Literal["rounded", "stored", "rest"] = "rounded",
        kept: str = KEPT,
    ) -> str:
        """Return a value's 16-bit float, of a value of 16 bits as well, or what this lacks."""
        halo = self._bindings.grid.halo
        if halo and halo.content == "zeros":
            return f"{kind}_or_zero({value}, {kept})"
        return f"rounded_to_half({value})" if kind == "rounded" else f"{kind}({value})"


def _half(value: Expression) -> Expression | None:
    """Return the value of a 16-bit type that an expression converts to 32 bits, if it does."""
    if isinstance(value, Construct) and len(value.parts) == 1:
        (part,) = value.parts
        if part.type.scalar == "half" and part.type.lanes == value.type.lanes:
            return part
    return None


def _clamped(
    x: Expression, y: Expression
) -> tuple[Expression, tuple[Expression, Expression]] | None:
    """Return a vector and its last places if both components are clamped from 0 to those."""
    lasts = []
    vectors = []
    for clamp, lane in ((x, "x"), (y, "y")):
        if not (isinstance(clamp, Intrinsic) and clamp.name == "clamp"):
            return None
        value, low, high = clamp.arguments
        if not (isinstance(value, Lanes) and value.names == lane):
            return None
        if not (isinstance(low, Number) and low.value == 0 and isinstance(high, Uniform)):
            return None
        vectors.append(value.vector)
        lasts.append(high)
    return (vectors[0], (lasts[0], lasts[1])) if vectors[0] == vectors[1] else None


def print_pass(program: Program, bindings: Bindings) -> tuple[list[str], list[str]]:
    """Return the constants and functions of a pass, callees first, and the lines of its body."""
    halves = [HALVES] if program.precision == "mediump" else []
    program = with_half_types(program)
    glsl = UserShader(program, bindings)
    body = [
        *_start(bindings),
        *glsl.main(program.main),
        *(glsl.stores_of_block() if bindings.in_blocks else ()),
    ]
    code = [*(glsl.constants(array) for array in program.arrays), *glsl.functions()]
    sizes = filter(None, [definitions(bindings.grids, "\n".join([*code, *body]))])
    grid = bindings.grid
    zeros = grid.halo is not None and grid.halo.content == "zeros"
    storing = [ROUNDED_OR_ZERO if zeros else ROUNDED]
    if grid.split:
        storing.append(REST_OR_ZERO if zeros else REST)
    planes = (*bindings.textures.values(), *filter(None, [bindings.picture]))
    joins = [JOINED] if any(plane.rest or plane.grid.split for plane in planes) else []
    return [*halves, *sizes, *storing, *joins, *code], body


def _start(bindings: Bindings) -> Iterator[str]:
    """Yield the first lines of a pass: which pixel it computes.

    In the halo that is the nearest of the plane, so that all that it reads exists.
    """
    grid, margin = bindings.grid, bindings.grid.margin
    if bindings.is_dispatch:
        yield f"ivec2 {OUT_CELL} = {bindings.size}{f' + {2 * margin}' if margin else ''};"
    if grid.halo or bindings.is_dispatch:
        yield f"ivec2 {OUT_PIXEL} = {bindings.pixel};"
    if bindings.is_dispatch:
        yield f"if (any(greaterThanEqual({OUT_PIXEL}, {OUT_CELL}))) return;"
    if bindings.in_blocks:
        columns, rows = bindings.block
        last = f"{bindings.size} - ivec2({columns}, {rows})"
        yield f"ivec2 {NEAREST} = max(min({_less(OUT_PIXEL, margin)}, {last}), ivec2(0));"
    elif grid.halo:
        yield f"ivec2 {NEAREST} = {_inside(OUT_PIXEL, margin, bindings.size)};"
        if grid.halo.content == "zeros":
            yield f"uint {KEPT} = {_kept(NEAREST, OUT_PIXEL, margin)};"


def _less(texel: str, margin: int) -> str:
    """Return the text of the pixel of a texel of the cell, which begins with the halo."""
    return f"{texel} - {margin}" if margin else texel


def _inside(texel: str, margin: int, size: str) -> str:
    """Return the text of the plane's pixel that is nearest to a texel of its cell."""
    pixel = f"max({_less(texel, margin)}, ivec2(0))" if margin else texel
    return f"min({pixel}, {size} - 1)"


def _kept(nearest: str, texel: str, margin: int) -> str:
    """Return the text of the digits that are kept of a texel: none in a halo of zeros."""
    return f"{nearest} == {_less(texel, margin)} ? 0xFFFFE000u : 0u"


def print_copy(texture: str, rests: bool = False) -> tuple[list[str], list[str]]:
    """Return the functions and the body of a pass that copies a texture, a texel for a pixel.

    Args:
        texture: the player's.
        rests: copy what the 16-bit floats of its values lack.
    """
    at = f"(floor({texture}_pos * {texture}_size) + 0.5) * {texture}_pt"
    texel = f"{texture}_tex({at})"
    if rests:
        return [ROUNDED, REST], [f"return rest({texel});"]
    return [ROUNDED], [f"return rounded_to_half({texel});"]
