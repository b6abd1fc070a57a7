"""How planes lie in the textures of user shaders, and GLSL for their sizes and texels.

A compute pass stores its planes side by side in one texture, each in a cell with its halo. A pass
that reads such a texture defines ``conv1_cell``, the size of a cell, and ``conv1_plane``, the size
without the halo, both as an ivec2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...ir.types import Halo

SIDES = ("x", "y")


@dataclass(frozen=True)
class Grid:
    """How planes lie side by side in a texture: left to right, then downwards.

    Each lies in a cell, in the middle of its halo. Planes that are the pixels of a shuffled map lie
    ``woven``, pixel by pixel. To the right of all planes of a ``split`` texture lie their rests.
    """

    columns: int = 1
    rows: int = 1
    halo: Halo | None = None
    woven: bool = False
    split: bool = False

    @property
    def is_one(self) -> bool:
        return self.columns * self.rows == 1 and not self.split

    @property
    def across(self) -> int:
        """Columns of the texture, those of rests included."""
        return 2 * self.columns if self.split else self.columns

    @property
    def margin(self) -> int:
        """Texels on each side of a plane."""
        return self.halo.width if self.halo else 0

    def at(self, position: str, number: int, cell: str, rest: bool = False) -> str:
        """Return the text of a position of a plane, or of its rest, in the texture.

        ``cell`` is a cell's size.
        """
        row, column = divmod(number, self.columns)
        beside = self.columns if rest else 0
        if self.woven:
            pixel = f"{position} * ivec2({self.columns}, {self.rows}) + ivec2({column}, {row})"
            return f"{pixel} + ivec2({beside}, 0) * {cell}" if rest else pixel
        column += beside
        return f"{position} + ivec2({column}, {row}) * {cell}" if row or column else position


ONE_PLANE = Grid()


@dataclass(frozen=True)
class Plane:
    """One plane of a texture that a pass saves: the texture's name, and which plane it is.

    ``rest`` is the texture of what its values lack, if that is another one. Of a ``sampled`` plane,
    a pass of another size reads what the sampler makes at its pixel.
    """

    texture: str
    grid: Grid = ONE_PLANE
    number: int = 0
    rest: str = ""
    sampled: bool = False

    def fetch(self, position: str) -> str:
        """Return the text of a texel; the position binds as tightly as ``+``."""
        if self.sampled:
            return f"{self.texture}_tex({self.texture}_pos)"
        cell = f"{self.texture}_cell"
        if self.grid.halo:
            position = f"{position} + {self.grid.margin}"
        place = self.grid.at(position, self.number, cell)
        texel = f"texelFetch({self.texture}_raw, {place}, 0)"
        if self.rest:
            return f"joined({texel}, texelFetch({self.rest}_raw, {place}, 0))"
        if self.grid.split:
            beside = self.grid.at(position, self.number, cell, rest=True)
            return f"joined({texel}, texelFetch({self.texture}_raw, {beside}, 0))"
        return texel


def side(texture: str, axis: int, grid: Grid) -> str:
    """Return the int of the width (0) or height (1) of a texture's planes."""
    if grid.halo:
        return f"{texture}_plane.{SIDES[axis]}"
    return f"int({texture}_size.{SIDES[axis]})" if grid.is_one else f"{texture}_cell.{SIDES[axis]}"


def float_size(texture: str, grid: Grid) -> str:
    """Return the vec2 of the size of a texture's planes."""
    return f"vec2({texture}_plane)" if grid.halo else float_cell(texture, grid)


def float_cell(texture: str, grid: Grid) -> str:
    """Return the vec2 of the size of a texture's planes with their halos."""
    return f"{texture}_size" if grid.is_one else f"vec2({texture}_cell)"


def definitions(grids: Mapping[str, Grid], code: str) -> str:
    """Return the definitions of what code takes for sizes of textures' planes, which are ivec2."""
    cells, planes = [], []
    for texture, grid in grids.items():
        cell, is_whole = f"ivec2({texture}_size)", f"{texture}_plane" in code
        if not grid.is_one and (f"{texture}_cell" in code or is_whole):
            cells.append(f"#define {texture}_cell ({cell} / ivec2({grid.across}, {grid.rows}))")
            cell = f"{texture}_cell"
        if is_whole:
            planes.append(f"#define {texture}_plane ({cell} - {2 * grid.margin})")
    lines = ["// width and height of one of the planes in a texture", *cells] if cells else []
    return "\n".join([*lines, *(["// without the padding around it", *planes] if planes else [])])
