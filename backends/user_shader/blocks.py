"""The blocks of a user shader: one for each GPU pass, and before them those that copy the picture.

The picture that a player hands over may be cropped, rotated or padded, and be scaled from integers.
The copy has none of this: its texels are the picture's, from the first on. All other passes
fetch texels of textures by number, and their borders are the picture's own. The padding that layers
add lies around planes, in textures that are larger than the picture (``passes.store_halos``).

A GPU pass of one render target becomes a fragment pass. One of several becomes a compute pass that
writes their planes into one larger texture, two by two at most, or, where they are the pixels of a
shuffled map, pixel by pixel.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...ir.ops import DepthToSpace
from ...passes.kernel_ops import parts
from ...records import dataclass, replace
from ..dialects.user_shader import Bindings, print_copy, print_pass
from ..dialects.user_shader_functions import strength_definition
from ..dialects.user_shader_planes import ONE_PLANE, Grid, Plane
from ..shader.constructors import ivec2
from ..shader.namer import Namer
from .binds import Bound, is_computable, known_sizes, pixel_at_hand, size_expression
from .expressible import TABLES, check_binds
from .hooks import HOOKED
from .naming import PassNames
from .sampling import sampled_resizes
from .sizes import SYMBOLS, Tree, checked, divided, infix, plus, postfix, rounds, times, tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...ir.graph import Node
    from ...ir.types import Halo
    from ..build_files import BuildFiles
    from ..gpu import GpuPass
    from .expressible import Ports

PICTURE = "picture"
LUMA = "luma"  # the copy of the player's, where a network of chroma reads it
RESTS = "_rests"  # of what the 16-bit floats of the copies lack
WORKGROUP = 8, 8  # invocations of a compute pass, each of one pixel of all planes
OPAQUE = 3  # channels of a picture that may have a fourth, which passes through


@dataclass(frozen=True)
class Block:
    """One pass of the file.

    Attributes:
        description: what it is, for the player's statistics.
        binds: names of the textures that it reads.
        tables: names of the textures of constants that it reads.
        node: what it computes, unless it copies.
        save: the name of what it writes; empty for the last, which replaces the picture.
        size: width and height as the player computes them; None for those of the picture.
        compute: for a compute pass, width and height of what a workgroup writes, and then of its
            invocations; None for a fragment pass.
        comments: what the code is, for people.
        code: constants, functions and at the end ``hook()``, one string each.
    """

    description: str
    binds: Sequence[str]
    save: str
    size: tuple[str, str] | None
    comments: Sequence[str]
    code: Sequence[str]
    compute: tuple[int, int, int, int] | None = None
    tables: Sequence[str] = ()
    node: Node | None = None


@dataclass(frozen=True)
class Table:
    """A texture of constants, of four 32-bit floats a texel.

    Attributes:
        name: of its sampler.
        width: in texels.
        height: in texels.
        data: the texels row by row, as hexadecimal digits.
    """

    name: str
    width: int
    height: int
    data: str


@dataclass(frozen=True)
class Strength:
    """Share of the result in what the player shows; the rest is the picture.

    Attributes:
        value: 0 to 1.
        live: whether players that can may change it.
    """

    value: float
    live: bool

    @property
    def mixes(self) -> bool:
        return self.live or self.value != 1


def blocks_of(
    files: BuildFiles, ports: Ports, strength: Strength, split: bool
) -> tuple[list[Block], list[Table]]:
    """Return the blocks, and the tables that they read, of a build that has passed the checks.

    Args:
        files: of the build.
        ports: what it reads and writes.
        strength: share of the result in what the player shows.
        split: store each value between passes as two 16-bit floats.

    Raises:
        ShadergenError: SG0405 for too many textures, or sizes that players cannot compute; SG0301
            for a strength where a compute pass stores the result.
    """
    blocks = _Blocks(files.schedule, files.passes, ports, strength, split)
    found = [*_copies(HOOKED, PICTURE, split)]
    if ports.luma:
        found += _copies(LUMA.upper(), LUMA, split)
    found += blocks.all()
    textures = {t["name"]: t for t in files.schedule["textures"]}
    tables = []
    for texture, name in blocks.tables.items():
        t = textures[texture]
        numbers = np.frombuffer(files.weights.read(**t["data"]), TABLES[t["format"]])
        data = numbers.astype("<f4").tobytes().hex()
        tables.append(Table(name, t["width"], t["height"], data))
    return found, tables


def _copies(texture: str, name: str, split: bool) -> Iterator[Block]:
    """Yield the copy of a player's texture, and of what its 16-bit floats lack."""
    size = None if texture == HOOKED else (f"{texture}.w", f"{texture}.h")
    yield Block(f"copy of the {name}", [texture], name, size, [], print_copy(texture))
    if split:
        what = f"16-bit rounding errors of the {name}"
        code = print_copy(texture, rests=True)
        yield Block(what, [texture], f"{name}{RESTS}", size, [], code)


class _Blocks:
    def __init__(
        self,
        schedule: Mapping[str, Any],
        passes: Sequence[GpuPass],
        ports: Ports,
        strength: Strength,
        split: bool,
    ) -> None:
        self.schedule = schedule
        self.strength = strength
        self.textures = {t["name"]: t for t in schedule["textures"]}
        self.input, self.output = ports.picture, ports.result
        namer = Namer()
        self.split = split
        self.picture = Plane(PICTURE, rest=PICTURE + RESTS if split else "")
        self.planes = {(ports.picture, 0): self.picture}
        if ports.luma:
            self.planes[ports.luma, 0] = Plane(LUMA, rest=LUMA + RESTS if split else "")
        self.tables: dict[str, str] = {}  # names in the file, by texture
        kept = {t["name"] for t in schedule["textures"] if t["data"] is not None}
        grids: dict[GpuPass, Grid] = {}
        for entry, gpu_pass in zip(schedule["passes"], passes, strict=True):
            layout = gpu_pass.node.result.type.layout
            splits = split and entry["writes"][0]["texture"] != self.output
            grids[gpu_pass] = grid_of(len(entry["writes"]), layout.halo if layout else None, splits)
        fragments = {p for p, grid in grids.items() if grid == ONE_PLANE and not woven(p.node)}
        self.sampled = sampled_resizes(schedule, passes, fragments, ports.picture)
        self.made = [
            (entry, gpu_pass)
            for entry, gpu_pass in zip(schedule["passes"], passes, strict=True)
            if entry["writes"][0]["texture"] not in self.sampled
        ]
        self.names = PassNames(gpu_pass for _, gpu_pass in self.made)
        for entry, gpu_pass in self.made:
            grid = grids[gpu_pass]
            name = namer(self.names.saved(gpu_pass))
            for k, write in enumerate(entry["writes"]):
                self.planes[write["texture"], write["layer"]] = Plane(name, grid, k)
            for read in entry["reads"]:
                if read["texture"] in kept and read["texture"] not in self.tables:
                    self.tables[read["texture"]] = namer(f"{name}_weights")
        for texture in self.sampled:
            self.planes[texture, 0] = replace(self.picture, sampled=True)
        self.sizes: dict[Tree, str] = {s: f"{PICTURE}.{s[0]}" for s in SYMBOLS}  # for the player

    def all(self) -> list[Block]:
        return [self._block(entry, gpu_pass) for entry, gpu_pass in self.made]

    def _block(self, entry: Mapping[str, Any], gpu_pass: GpuPass) -> Block:
        writes = entry["writes"]
        result = self.textures[writes[0]["texture"]]
        saved = self.planes[result["name"], writes[0]["layer"]]
        is_last = result["name"] == self.output
        width, height = (tree(result[side]) for side in SYMBOLS)
        every = {r["uniform"]: (r["texture"], r.get("layer", 0)) for r in entry["reads"]}
        tables = {s: self.tables[t] for s, (t, _) in every.items() if t in self.tables}
        reads = {sampler: read for sampler, read in every.items() if sampler not in tables}
        binds: dict[str, Bound] = {}
        for texture, layer in reads.values():
            t = self.textures[self.input if texture in self.sampled else texture]
            own = tree(t["width"]), tree(t["height"])
            plane = self.planes[texture, layer]
            for name in filter(None, (plane.texture, plane.rest)):
                binds.setdefault(name, Bound(plane.grid, own))
        known = known_sizes(binds)
        settings = {u["name"]: tree(u["value"][0]) for u in entry["uniforms"]}
        wanted = [*settings.values(), width, height]
        if not binds or not all(is_computable(size, known) for size in wanted):
            binds[PICTURE] = Bound(Grid(), (SYMBOLS[0], SYMBOLS[1]))
            known = known_sizes(binds)
        passes_alpha = is_last and result["channels"] == OPAQUE
        if passes_alpha:
            binds[HOOKED] = Bound(Grid(), (width, height))
        mixes = is_last and self.strength.mixes
        if mixes:
            for name in filter(None, (PICTURE, self.picture.rest)):
                binds.setdefault(name, Bound(Grid(), (width, height)))
        check_binds(gpu_pass.node.name, len(binds) + len(set(tables.values())))
        grid = saved.grid
        if shuffled := woven(gpu_pass.node):
            grid = replace(shuffled, split=grid.split)
        columns, rows, around = grid.across, grid.rows, 2 * grid.margin
        sides = width, height  # of a plane
        if grid.woven:
            sides = divided(width, grid.columns), divided(height, rows)
        if mixes and shuffled:
            raise ShadergenError(
                "SG0301",
                f"{'--live-strength' if self.strength.live else '--strength'} is not supported",
                where=f"layer {gpu_pass.node.name}",
                why="a compute pass stores the network's result, and cannot mix it with the input",
                help="use --stage fragment, or --disable-pass fuse_stores",
            )
        across, down = WORKGROUP
        block = gpu_pass.node.choice.block
        bindings = Bindings(
            {sampler: self.planes[read] for sampler, read in reads.items()},
            tables,
            {name: size_expression(size, known) for name, size in settings.items()},
            pixel_at_hand(binds, (width, height), known, grid.margin),
            ivec2(*(size_expression(side, known) for side in sides)),
            grid,
            block,
            HOOKED if passes_alpha else "",
            self.picture if mixes else None,
            {name: one.grid for name, one in binds.items()},
        )
        code = print_pass(gpu_pass.program, bindings)
        if mixes:
            code.insert(0, strength_definition(self.strength.value, self.strength.live))
        comments = [gpu_pass.program.header[0]]
        if multiplies := entry["work"]["multiplies"]:
            comments.append(f"{multiplies // prod(block)} multiply-adds per pixel")
        if any(map(rounds, sides)):
            shown = " x ".join(infix(side) for side in sides[::-1])
            comments.append(f"each plane has {shown} pixels, rounded down")
        return Block(
            self.names.description(gpu_pass),
            list(binds),
            "" if is_last else saved.texture,
            (
                self._side(gpu_pass, "width", times(plus(sides[0], around), columns)),
                self._side(gpu_pass, "height", times(plus(sides[1], around), rows)),
            ),
            comments,
            code,
            (columns * block[0] * across, rows * block[1] * down, across, down)
            if bindings.is_dispatch
            else None,
            list(dict.fromkeys(tables.values())),
            gpu_pass.node,
        )

    def _side(self, gpu_pass: GpuPass, which: str, size: Tree) -> str:
        return checked(postfix(size, self.sizes), f"the {which} of '{gpu_pass.node.name}'")


def woven(node: Node) -> Grid | None:
    """Return how a pass stores the pixels of a shuffled map, if its node shuffles."""
    for shuffle in parts(node).store[:1]:
        assert isinstance(shuffle, DepthToSpace)
        return Grid(shuffle.block[1], shuffle.block[0], woven=True)
    return None


def grid_of(planes: int, halo: Halo | None = None, split: bool = False) -> Grid:
    """Return how planes lie in a texture: in two columns; of three, a quarter stays unused.

    Planes that are split lie in one column, and their rests in the other.
    """
    if split:
        return Grid(1, planes, halo, split=True)
    return Grid(min(planes, 2), (planes + 1) // 2, halo)
