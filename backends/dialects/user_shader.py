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

from dataclasses import field
from math import prod
from typing import TYPE_CHECKING, ClassVar, Literal

from ...errors import InternalError
from ...records import dataclass
from ..shader.expressions import Construct, Intrinsic, Invoke, Lanes, Number, Uniform, Variable
from ..shader.halves import with_half_types
from ..shader.statements import Return
from ..shader.types import FLOAT, INT, IVEC2
from .expression_printer import ATOM
from .glsl_es import GlslEs
from .printer import comment
from .user_shader_functions import (
    HALVES,
    JOINED,
    KEPT,
    REST,
    REST_OR_ZERO,
    ROUNDED,
    ROUNDED_OR_ZERO,
    STRENGTH,
)
from .user_shader_planes import ONE_PLANE, Grid, Plane, both_sides, definitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..shader.expressions import BuiltIn, Expression, Texel
    from ..shader.program import Function, Program
    from ..shader.statements import Comment, Statement, WriteTarget
    from ..shader.types import Type

# In the main function: the pixel of a plane with its halo, the nearest one without, and the size
# with the halo.
OUT_PIXEL, NEAREST, OUT_CELL = "out_pixel", "nearest_pixel", "out_cell"
INVOCATION = "ivec2(gl_GlobalInvocationID.xy)"
# What functions are for, by their names.
PURPOSES = {"lane": "// Returns component i of v; some compilers move v to memory for v[i]."}


@dataclass(frozen=True)
class Bindings:
    """What a program's declarations are in a user shader.

    Attributes:
        textures: the plane that each sampler reads, by the sampler's name.
        tables: the texture of constants that a sampler reads, by the sampler's name.
        sizes: the value of each uniform.
        pixel: the pixel at hand of a fragment pass, an ivec2, in a plane with its halo.
        size: width and height of one of the result's planes, an ivec2.
        grid: how the program's render targets lie in the result.
        block: columns and rows of pixels that an invocation computes.
        alpha: the texture whose fourth component the pass returns, if not the program's own.
        picture: the plane that the result is mixed with by ``STRENGTH``, if any.
        grids: how planes lie in each texture that the pass binds, by its name.
    """

    textures: Mapping[str, Plane]
    tables: Mapping[str, str]
    sizes: Mapping[str, Expression]
    pixel: Expression
    size: Expression
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


def note(text: str) -> str:
    """Make any text safe inside a line comment; players end a pass at ``//!`` wherever it is."""
    return comment(text).replace("//!", "// !")


def sample(texture: str) -> str:
    """Return the text of what a texture's sampler makes at the pixel at hand."""
    return f"{texture}_tex({texture}_pos)"


class UserShader(GlslEs):
    """Prints a program with its bindings; see the module."""

    SIMPLE: ClassVar = {kind: name for kind, name in GlslEs.SIMPLE.items() if kind is not Uniform}

    def __init__(self, program: Program, bindings: Bindings) -> None:
        super().__init__(program.chained)
        self._bindings = bindings
        self._targets = program.targets // prod(bindings.block)  # of a pixel
        self.used: set[str] = set()  # names of sizes of textures in what is printed so far
        self._compound[Uniform] = self._uniform

    def type(self, t: Type) -> str:
        if t.scalar != "half":
            return super().type(t)
        return f"f16{f'x{t.lanes}' if t.lanes > 1 else ''}{f'x{t.columns}' if t.is_matrix else ''}"

    def scalar(self, number: Number) -> str:
        if number.type.scalar != "half":
            return super().scalar(number)
        return f"f16({super().scalar(Number(number.value, FLOAT))})"

    def _uniform(self, e: Uniform) -> tuple[str, int]:
        if e.type == INT:
            return self.printed(self._bindings.sizes[e.name])
        self.used.add(e.name)
        return e.name, ATOM

    def construct(self, e: Construct) -> str:
        if e.type != IVEC2 or len(e.parts) != 2:
            return super().construct(e)
        sizes = (self._bindings.sizes[p.name] if isinstance(p, Uniform) else p for p in e.parts)
        if (size := both_sides(*sizes)) is not None:
            return self.expression(size)
        if (clamped := _clamped(*e.parts)) is not None:
            position, last = clamped
            most = self.construct(Construct(IVEC2, last))
            return f"min(max({self.expression(position)}, ivec2(0)), {most})"
        return super().construct(e)

    def comment(self, s: Comment) -> str:
        return f"// {note(s.text)}"

    def function(self, function: Function) -> str:
        text = super().function(function)
        purpose = PURPOSES.get(function.name)
        return f"{purpose}\n{text}" if purpose else text

    def invoke(self, e: Invoke) -> str:
        return super().invoke(_forwarded(e))

    def built_in(self, e: BuiltIn) -> str:
        if e.name != "pixel":
            raise InternalError(f"user shaders have no {e.name}")
        if self._bindings.grid.halo or self._bindings.in_blocks:
            return NEAREST
        return OUT_PIXEL if self._bindings.is_dispatch else self.expression(self._bindings.pixel)

    def texel(self, e: Texel) -> str:
        if e.position is None or e.layer is not None or e.texture.unit is not None:
            raise InternalError(f"user shaders fetch from 2D textures only, not {e.texture.name}")
        if table := self._bindings.tables.get(e.texture.name):
            return f"texelFetch({table}, {self.expression(e.position)}, 0)"
        return self._fetch(self._bindings.textures[e.texture.name], e.position)

    def _fetch(self, plane: Plane, position: Expression) -> str:
        """Return a texel of a plane, and what its 16-bit floats lack added to it."""
        if plane.sampled:
            return sample(plane.texture)
        texels = [
            f"texelFetch({texture}_raw, {self.expression(place)}, 0)"
            for texture, place in plane.texels(position)
        ]
        return f"joined({', '.join(texels)})" if len(texels) > 1 else texels[0]

    def write_target(self, s: WriteTarget) -> str:
        if self._bindings.in_blocks:  # :meth:`_stores_of_block` follows
            return f"vec4 {self._of_block(s.target)} = {self.expression(s.value)};"
        if self._bindings.is_dispatch:
            grid = self._bindings.grid
            if not grid.split:
                return self._store(OUT_PIXEL, s.target, self._stored(s.value))
            value, lines = self.expression(s.value), []
            if not isinstance(s.value, Variable):
                name = f"stored_p{s.target}"
                lines, value = [f"vec4 {name} = {value};"], name
            return "\n".join([*lines, *self._stores(OUT_PIXEL, s.target, value)])
        value, alpha = self.expression(s.value), self._bindings.alpha
        alpha = f"{sample(alpha)}.a" if alpha else ""
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
            value = f"mix({self._fetch(picture, self._bindings.pixel)}, {value}, {STRENGTH})"
        return f"return {self._rounded(value)};"

    def _stores(self, texel: str, target: int, value: str, kept: str = KEPT) -> Iterator[str]:
        """Yield the stores of a render target, and of the rest of its value if it is split."""
        yield self._store(texel, target, self._rounded(value, kept=kept))
        if self._bindings.grid.split:
            yield self._store(texel, target, self._rounded(value, "rest", kept), rest=True)

    def _store(self, texel: str, target: int, value: str, rest: bool = False) -> str:
        """Return the store of a render target's value, or of its rest, at a texel of its cell."""
        cell = Variable(OUT_CELL, IVEC2)
        place = self._bindings.grid.at(Variable(texel, IVEC2), target, cell, rest)
        return f"imageStore(out_image, {self.expression(place)}, {value});"

    def hook(self, main: Sequence[Statement]) -> str:
        """Return the function that the player calls."""
        lines = [*self._start(), *self.block(main)]
        if self._bindings.in_blocks:
            lines += self._stores_of_block()
        return self.nested(f"{'void' if self._bindings.is_dispatch else 'vec4'} hook()", lines)

    def _start(self) -> Iterator[str]:
        """Yield the first lines of a pass: which pixel it computes.

        In the halo that is the nearest of the plane, so that all that it reads exists.
        """
        grid, margin = self._bindings.grid, self._bindings.grid.margin
        if self._bindings.is_dispatch:
            yield f"ivec2 {OUT_CELL} = {self._size}{f' + {2 * margin}' if margin else ''};"
        if grid.halo or self._bindings.is_dispatch:
            yield f"ivec2 {OUT_PIXEL} = {self._pixel};"
        if self._bindings.is_dispatch:
            yield f"if (any(greaterThanEqual({OUT_PIXEL}, {OUT_CELL}))) return;"
        if self._bindings.in_blocks:
            columns, rows = self._bindings.block
            last = f"{self._size} - ivec2({columns}, {rows})"
            yield f"ivec2 {NEAREST} = max(min({_less(OUT_PIXEL, margin)}, {last}), ivec2(0));"
        elif grid.halo:
            yield f"ivec2 {NEAREST} = {_inside(OUT_PIXEL, margin, self._size)};"
            if grid.halo.content == "zeros":
                yield f"uint {KEPT} = {_kept(NEAREST, OUT_PIXEL, margin)};"

    @property
    def _size(self) -> str:
        """The width and height of one of the result's planes."""
        return self.expression(self._bindings.size)

    @property
    def _pixel(self) -> str:
        """The pixel at hand, in a plane with its halo."""
        if not self._bindings.is_dispatch:
            return self.expression(self._bindings.pixel)
        columns, rows = self._bindings.block
        in_blocks = self._bindings.in_blocks
        return f"{INVOCATION} * ivec2({columns}, {rows})" if in_blocks else INVOCATION

    def _stores_of_block(self) -> Iterator[str]:
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
            yield f"ivec2 {nearest} = {_inside(texel, margin, self._size)};"
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


def _forwarded(e: Invoke) -> Invoke:
    """Return the call that a function only passes its arguments on to, in place of its own."""
    match e.function.body:
        case [Return(Invoke(function, passed))] if passed == e.function.parameters:
            return _forwarded(Invoke(function, e.arguments))
    return e


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


def print_pass(program: Program, bindings: Bindings) -> list[str]:
    """Return the constants and functions of a pass, callees first, and its ``hook()``."""
    halves = [HALVES] if program.precision == "mediump" else []
    program = with_half_types(program)
    glsl = UserShader(program, bindings)
    hook = glsl.hook(program.main)
    code = [*(glsl.constants(array) for array in program.arrays), *glsl.functions(), hook]
    sizes = filter(None, [definitions(bindings.grids, glsl.used)])
    grid = bindings.grid
    zeros = grid.halo is not None and grid.halo.content == "zeros"
    storing = [ROUNDED_OR_ZERO if zeros else ROUNDED]
    if grid.split:
        storing.append(REST_OR_ZERO if zeros else REST)
    planes = (*bindings.textures.values(), *filter(None, [bindings.picture]))
    joins = [JOINED] if any(plane.rest or plane.grid.split for plane in planes) else []
    return [*halves, *sizes, *storing, *joins, *code]


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


def print_copy(texture: str, rests: bool = False) -> list[str]:
    """Return the functions of a pass that copies a texture texel by texel, and its ``hook()``.

    Args:
        texture: the player's.
        rests: copy what the 16-bit floats of its values lack.
    """
    at = f"(floor({texture}_pos * {texture}_size) + 0.5) * {texture}_pt"
    value = f"{'rest' if rests else 'rounded_to_half'}({texture}_tex({at}))"
    hook = f"vec4 hook() {{\n    return {value};\n}}"
    return [ROUNDED, REST, hook] if rests else [ROUNDED, hook]
