"""What a pass computes of the textures that it binds: sizes, and the pixel at hand.

Sizes become expressions of the program, as sizes of textures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ...records import dataclass
from ..dialects.user_shader_planes import float_cell, float_size, position_at_hand, sides
from ..shader.constructors import integer, intrinsic, ivec2, vec2
from ..shader.expressions import Binary
from .hooks import HOOKED
from .sizes import is_fixed, times

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..dialects.user_shader_planes import Grid
    from ..shader.expressions import Expression
    from ..shader.operations import Operator
    from .sizes import Tree

SCALES = range(2, 9)  # of upscalers, for shorter code


@dataclass(frozen=True)
class Bound:
    """A texture that a pass binds: how its planes lie in it, and their width and height."""

    grid: Grid
    size: tuple[Tree, Tree]


def known_sizes(binds: dict[str, Bound]) -> dict[Tree, Expression]:
    """Return the sides of the planes of textures, ints, by their sizes; of equal ones the first."""
    known: dict[Tree, Expression] = {}
    for name, one in reversed(binds.items()):
        width, height = sides(name, one.grid)
        known |= {one.size[1]: height, one.size[0]: width}
    return known


def is_computable(size: Tree, known: Mapping[Tree, Expression]) -> bool:
    """Whether a size can be computed of known ones."""
    if size in known or is_fixed(size):
        return True
    return isinstance(size, tuple) and all(is_computable(part, known) for part in size[1:])


def size_expression(size: Tree, known: Mapping[Tree, Expression]) -> Expression:
    """Return a size that can be computed of known ones, an int."""
    if size in known:
        return known[size]
    if isinstance(size, int):
        return integer(size)
    assert isinstance(size, tuple)
    sign, *operands = size
    left, right = (size_expression(operand, known) for operand in operands)
    if sign in ("min", "max"):
        return intrinsic(sign, left, right)
    return Binary(cast("Operator", sign), left, right)


def pixel_at_hand(
    binds: Mapping[str, Bound],
    size: tuple[Tree, Tree],
    known: Mapping[Tree, Expression],
    margin: int,
) -> Expression:
    """Return the pixel at hand of a fragment pass, an ivec2: positions are alike in all textures.

    Args:
        binds: the textures of the pass.
        size: width and height of the result's planes.
        known: sizes that the textures give.
        margin: width of the result's halo.
    """
    equal = {name: b.grid for name, b in binds.items() if b.size == size and name != HOOKED}
    for name, grid in equal.items():
        if grid.margin == margin:
            return ivec2(position_at_hand(name) * float_cell(name, grid))
    if equal:
        texture, grid = next(iter(equal.items()))
        plane = float_size(texture, grid)
    else:
        texture, one = next(iter(binds.items()))
        for scale in SCALES if not margin else ():
            if size == tuple(times(side, scale) for side in one.size):
                return ivec2(position_at_hand(texture) * float_size(texture, one.grid) * scale)
        plane = vec2(*(size_expression(side, known) for side in size))
    return ivec2(position_at_hand(texture) * (plane + 2 * margin if margin else plane))
