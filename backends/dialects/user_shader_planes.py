"""How planes lie in the textures of user shaders: their sizes and texels.

A compute pass stores its planes side by side in one texture, each in a cell with its halo. A pass
that reads such a texture defines ``conv1_cell``, the size of a cell, and ``conv1_plane``, the size
without the halo, both as an ivec2. The player's ``conv1_size`` and ``conv1_pos`` are vec2s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...records import dataclass
from ..shader.constructors import construct, ivec2, vec2
from ..shader.expressions import Binary, Construct, Lanes, Number, Uniform
from ..shader.types import INT, IVEC2, VEC2

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ...ir.types import Halo
    from ..shader.expressions import Expression


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

    def at(
        self, position: Expression, number: int, cell: Expression, rest: bool = False
    ) -> Expression:
        """Return where a position of a plane, or of its rest, is in the texture: an ivec2.

        ``cell`` is a cell's size, an ivec2.
        """
        row, column = divmod(number, self.columns)
        beside = self.columns if rest else 0
        if self.woven:
            pixel = position * ivec2(self.columns, self.rows) + ivec2(column, row)
            return pixel + ivec2(beside, 0) * cell if rest else pixel
        column += beside
        return position + ivec2(column, row) * cell if row or column else position


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

    def texels(self, position: Expression) -> Iterator[tuple[str, Expression]]:
        """Yield the texture and position of a value's texel, and of its rest if there is one."""
        if self.grid.halo:
            position = position + self.grid.margin
        cell = cell_size(self.texture)
        place = self.grid.at(position, self.number, cell)
        yield self.texture, place
        if self.rest:
            yield self.rest, place
        elif self.grid.split:
            yield self.texture, self.grid.at(position, self.number, cell, rest=True)


def position_at_hand(texture: str) -> Expression:
    """Return the position of the pixel at hand in a texture, a vec2 of 0 to 1."""
    return Uniform(f"{texture}_pos", VEC2)


def texture_size(texture: str) -> Expression:
    """Return the width and height of a texture, a vec2."""
    return Uniform(f"{texture}_size", VEC2)


def cell_size(texture: str) -> Expression:
    """Return the width and height of a texture's planes with their halos, an ivec2."""
    return Uniform(f"{texture}_cell", IVEC2)


def plane_size(texture: str) -> Expression:
    """Return the width and height of a texture's planes without their halos, an ivec2."""
    return Uniform(f"{texture}_plane", IVEC2)


def sides(texture: str, grid: Grid) -> tuple[Expression, Expression]:
    """Return the width and the height of a texture's planes, two ints."""
    if grid.is_one and not grid.halo:
        size = texture_size(texture)
        return construct(INT, size.x), construct(INT, size.y)
    size = plane_size(texture) if grid.halo else cell_size(texture)
    return size.x, size.y


def both_sides(width: Expression, height: Expression) -> Expression | None:
    """Return the ivec2 of two ints that are the sides of one texture, or as much less than these.

    Returns:
        None for other ints.
    """
    match width, height:
        case Lanes(vector=Uniform() as size, names="x"), Lanes(vector=other, names="y"):
            return size if size == other else None
        case Construct(parts=(x,)), Construct(parts=(y,)):
            vector = both_sides(x, y)
            return ivec2(vector) if vector is not None else None
        case Binary(operator="-", left=x, right=Number() as less), Binary(
            operator="-", left=y, right=other
        ):
            vector = both_sides(x, y) if less == other else None
            return vector - less if vector is not None else None
    return None


def float_size(texture: str, grid: Grid) -> Expression:
    """Return the size of a texture's planes, a vec2."""
    return vec2(plane_size(texture)) if grid.halo else float_cell(texture, grid)


def float_cell(texture: str, grid: Grid) -> Expression:
    """Return the size of a texture's planes with their halos, a vec2."""
    return texture_size(texture) if grid.is_one else vec2(cell_size(texture))


def definitions(grids: Mapping[str, Grid], used: Collection[str]) -> str:
    """Return the definitions of sizes of textures' planes that a pass uses, by their names."""
    cells, planes = [], []
    for texture, grid in grids.items():
        cell, is_whole = f"ivec2({texture}_size)", f"{texture}_plane" in used
        if not grid.is_one and (f"{texture}_cell" in used or is_whole):
            cells.append(f"#define {texture}_cell ({cell} / ivec2({grid.across}, {grid.rows}))")
            cell = f"{texture}_cell"
        if is_whole:
            planes.append(f"#define {texture}_plane ({cell} - {2 * grid.margin})")
    lines = ["// width and height of one of the planes in a texture", *cells] if cells else []
    return "\n".join([*lines, *(["// without the padding around it", *planes] if planes else [])])
