"""The planes, or the layer of a row-packed tensor, that each GPU pass of a node writes."""

from __future__ import annotations

from dataclasses import field
from math import prod
from typing import TYPE_CHECKING, TypeVar

from ...errors import InternalError
from ...ir.dimensions import is_one, statically_equal
from ...ir.expr import Expr, Num
from ...ir.index_maps import index_ranges
from ...ir.indexing import coordinates
from ...ir.ops import Conv
from ...ir.types import LANES
from ...passes.kernel_ops import parts
from ...passes.placement.access import lane_coordinate
from ...passes.placement.kinds import (
    before_store,
    entries_share_a_program,
    groups_share_a_program,
    planes_share_a_program,
)
from ...records import dataclass, replace
from ..gpu import Blob, GpuPass
from ..gpu import Uniform as Setting
from ..shader.constructors import integer, intrinsic
from ..shader.expressions import Uniform, Variable, known
from ..shader.statements import Body
from ..shader.types import INT, IVEC2
from .loads import Reader
from .weight_blocks import plan_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from ...ir.graph import Node, Value
    from ...ir.nest import Loop
    from ...ir.types import TensorType
    from ..shader.builder import ShaderBuilder
    from ..shader.expressions import Expression, Int
    from .loads import LoadFunction
    from .weight_blocks import WeightBlocks

PIXEL = Variable("pixel", IVEC2)  # the pixel that an invocation writes, or the first of its block
PLANE = Variable("plane", INT)  # the first plane that an invocation writes, if they differ in it


@dataclass(frozen=True)
class InputPlanes:
    """The input planes that the planes of a draw read.

    Attributes:
        first: the first that any plane reads.
        after: for each plane that is written, its first input plane minus ``first``.
        count: how many each plane reads.
    """

    first: int
    after: tuple[int, ...]
    count: int


@dataclass
class Group:
    """The planes that one invocation writes, of one batch entry, or one row-packed layer.

    Attributes:
        batch: the batch entry.
        planes: the planes, or the layer; in dispatches, the planes of the first invocation.
        node: the node that computes the planes (:func:`before_store`).
        written: the node whose result is written; not ``node`` if it has a scatter epilogue.
        shared: whether the first plane is a variable. All draws of the node then share a program
            and pass the plane in the uniform ``u_plane``; in dispatches, each invocation computes
            its ``plane``.
        entries: whether the batch entry is a variable, too: the uniform ``u_batch``.
        input_planes: of a grouped convolution whose draws share a program, what the planes read;
            the first input plane is the uniform ``u_input_plane``.
        whole_rows: whether no block reaches beyond the last row of the map.
        prelude: statements that compute the coordinates of :meth:`at`.
        loads: functions that load operands of an epilogue, by role and operand.
    """

    batch: int
    planes: range
    node: Node
    written: Node
    shared: bool = False
    entries: bool = False
    input_planes: InputPlanes | None = None
    whole_rows: bool = False
    prelude: Body = field(default_factory=Body)
    loads: dict[tuple[str, Value], LoadFunction] = field(default_factory=dict)
    _coordinates: dict[str, Expression] = field(default_factory=dict)

    @property
    def layers(self) -> tuple[int, ...]:
        """Texture layers that the GPU pass writes."""
        t = self.written.result.type
        if self.written is not self.node:
            return tuple(t.first_layer + self.batch * t.planes + p for p in range(t.planes))
        if self.stacked:
            return (0,)
        first = t.first_layer + (self.batch * t.planes if t.in_planes else 0)
        return tuple(first + p for p in self.covered)

    @property
    def covered(self) -> range:
        """The planes, or the layer, that the GPU pass writes."""
        return range(self.node.result.type.planes) if self.by_plane else self.planes

    @property
    def named(self) -> str:
        """The name in the shader's header for the planes that the GPU pass writes."""
        planes = self.covered
        if self.written is not self.node:
            planes = range(self.written.result.type.planes)
        first, last = planes[0], planes[-1]
        return f"plane {first}" if first == last else f"planes {first} to {last}"

    @property
    def channels(self) -> int:
        """The number of channels that the GPU pass writes."""
        last = min((self.covered[-1] + 1) * LANES, self.node.result.type.channels)
        return last - self.covered[0] * LANES

    @property
    def in_compute(self) -> bool:
        return self.node.choice.stage == "compute"

    @property
    def by_plane(self) -> bool:
        """Whether a pass writes all planes, and each invocation computes some of them."""
        return self.shared and (self.in_compute or self.stacked)

    @property
    def stacked(self) -> bool:
        """Whether a draw writes planes that lie below each other in one texture."""
        return not self.in_compute and self.node.result.type.is_stacked

    @property
    def draws_blocks(self) -> bool:
        """Whether an invocation of a draw computes several pixels."""
        return not self.in_compute and len(self.pixels) > 1

    @property
    def invocations(self) -> int:
        """Invocations of a draw: one for each pixel, or each block of pixels."""
        width, height = self.node.result.type.extent[:2]
        columns, rows = self.node.choice.block
        return -(-width // columns) * -(-height // rows)

    @property
    def pixels(self) -> list[tuple[int, int, str]]:
        """Column, row and accumulator suffix of each pixel that an invocation computes."""
        columns, rows = self.node.choice.block
        return [
            (i, j, f"_x{i}" * (columns > 1) + f"_y{j}" * (rows > 1))
            for j in range(rows)
            for i in range(columns)
        ]

    @property
    def results(self) -> list[str]:
        """The accumulators' names: one for each plane, without the suffixes of :attr:`pixels`."""
        if len(self.planes) == 1:
            return ["result"]
        return [f"result_p{k}" for k in range(len(self.planes))]

    @property
    def fixed(self) -> dict[str, Expr]:
        """Coordinates that are constant in the pass: 0 on axes of size 1, and the batch entry."""
        t = self.node.result.type
        axes = enumerate(zip(coordinates(t.rank), t.shape, strict=True))
        fixed: dict[str, Expr] = {
            o.name: Num(0.0) for axis, (o, size) in axes if is_one(size) and axis != t.lane_axis
        }
        if t.in_planes and not self.entries:
            fixed[coordinates(t.rank)[0].name] = Num(float(self.batch))
        return fixed

    def first_layer(self, t: TensorType) -> Int:
        """Return a map's first layer of the batch entry; 0 if the map has one entry for all."""
        if is_one(t.shape[0]):
            return 0
        return (Uniform("u_batch") if self.entries else integer(self.batch)) * t.planes

    def reader(self, shader: ShaderBuilder) -> Reader:
        """Return a reader of loads whose index maps start from this result's coordinates."""
        t = self.node.result.type
        return Reader(shader, lane_coordinate(t), t.channels, self.fixed, self.ranges())

    def ranges(self, loops: Sequence[Loop] = ()) -> dict[str, tuple[int, int]]:
        """Return the ranges of this result's coordinates in the pass, and of loop counters."""
        t = self.node.result.type
        found = index_ranges(t.shape, loops)
        if t.in_planes and not self.shared:
            last = min((self.planes[-1] + 1) * LANES, t.channels) - 1
            found[lane_coordinate(t)] = self.planes[0] * LANES, last
        return found

    def plane(self, k: int) -> Int:
        """Return plane k of the pass: its number, or an expression if it is a variable."""
        if not self.shared:
            return self.planes[k]
        return (PLANE if self.by_plane else Uniform("u_plane")) + k

    @property
    def first_input_plane(self) -> Int:
        """Where the loop over input planes starts."""
        return 0 if self.input_planes is None else Uniform("u_input_plane")

    def input_plane(self, k: int, blocks: WeightBlocks) -> Int:
        """Return how many input planes after the loop's counter plane k of the pass reads."""
        if blocks.diagonal:
            return self.plane(k)
        return (self.input_planes.after if self.input_planes else blocks.first)[k]

    def number(self, k: int) -> int | None:
        """Return the number of plane k of the pass; None if invocations differ in it."""
        return None if self.by_plane else self.planes[k]

    def at(
        self, k: int, shader: ShaderBuilder, pixel: tuple[int, int] = (0, 0)
    ) -> dict[str, Expression]:
        """Return each coordinate of the first lane in plane k of the pass.

        ``pixel`` is a column and a row of the block. Pixels beyond the map are moved to its border,
        because :meth:`ranges` knows positions within the map only.
        """
        t = self.node.result.type
        if t.in_planes:
            entry = Uniform("u_batch") if self.entries else integer(self.batch)
            channel = integer(self.plane(k)) * LANES
            column, row = pixel
            x, y = PIXEL.x, PIXEL.y
            if column:
                x = intrinsic("min", x + column, shader.size("width", t.shape[3]) - 1)
            if row:
                y = intrinsic("min", y + row, shader.size("height", t.shape[2]) - 1)
            values = (entry, channel, y, x)
            names = (o.name for o in coordinates(len(values)))
            return dict(zip(names, values, strict=True))
        if not self._coordinates:
            self._locate(shader)
        return self._coordinates

    def _locate(self, shader: ShaderBuilder) -> None:
        """Write the prelude that finds an element of rows from the position of its texel."""
        t, body = self.node.result.type, self.prelude
        width, height, layers = t.extent
        number = shader.number
        (layer,) = self.planes
        x, line = PIXEL.x, PIXEL.y + number(layer * height) if layer else PIXEL.y
        group = x
        body.comment("The first of the four elements that this texel holds.")
        if not statically_equal(width, t.planes):
            texel = line * number(width) + x
            if not statically_equal(width * height * layers, t.texels):
                texel = intrinsic("min", texel, number(t.texels - 1))
            line = body.let("texel", texel)
            group = integer(0)
            if not is_one(t.planes):
                line, group = line // number(t.planes), line % number(t.planes)
        *others, lane = coordinates(max(t.rank, 1))
        found = self._coordinates
        found[lane.name] = integer(0) if is_one(t.planes) else body.let(lane.name, group * LANES)
        wide = [a for a in range(len(others)) if not is_one(t.shape[a])]
        if len(wide) > 1:
            line = body.let("line", line)
        for axis, o in enumerate(others):
            if axis not in wide:
                found[o.name] = integer(0)
                continue
            inner = line // number(prod(t.shape[axis + 1 : -1]))
            value = inner if axis == wide[0] else inner % number(t.shape[axis])
            found[o.name] = body.let(o.name, value)


@dataclass
class BlockGroup(Group):
    """Planes that draws compute in blocks of pixels; each pixel of a block has planes of its own.

    Attributes:
        apart: the number of planes of each pixel.
        pixels_of_block: the number of pixels in a block.
    """

    apart: int = 0
    pixels_of_block: int = 0

    def __post_init__(self) -> None:
        self.pixels_of_block = self.pixels_of_block or len(self.pixels)

    @property
    def layers(self) -> tuple[int, ...]:
        own = super().layers
        return tuple(i * self.apart + k for i in range(self.pixels_of_block) for k in own)

    @property
    def invocations(self) -> int:
        """Invocations of a draw: the result has one pixel for each block."""
        return prod(self.node.result.type.extent[:2])

    @property
    def named(self) -> str:
        planes = [i * self.apart + k for i in range(self.pixels_of_block) for k in self.planes]
        return f"planes {', '.join(map(str, planes))}"


G = TypeVar("G", bound=Group)


def groups(node: Node) -> Iterator[Group]:
    """Yield the group of each GPU pass of a node, in order."""
    written, node = node, before_store(node)
    t = node.result.type
    if not t.in_planes:
        for layer in range(t.layers):
            yield Group(0, range(layer, layer + 1), node, written)
        return
    size = node.choice.planes or 1
    every = entries_share_a_program(node)
    if t.is_stacked and not is_one(t.shape[0]):
        raise InternalError(f"{node.name} stacks the planes of several batch entries")
    if node.choice.stage == "compute" or t.is_stacked:
        yield from (Group(n, range(size), node, written, True, every) for n in range(t.shape[0]))
        return
    several = size < t.planes
    grouped = several and groups_share_a_program(node)
    shared = grouped or (several and planes_share_a_program(node))
    for n in range(t.shape[0]):
        for p in range(0, t.planes, size):
            planes = range(p, min(p + size, t.planes))
            read = _input_planes(node, planes) if grouped else None
            yield Group(n, planes, node, written, shared, every, read)


def _input_planes(node: Node, planes: range) -> InputPlanes:
    """Return what some planes of a grouped convolution read."""
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    blocks = plan_blocks(p.kernel.packed_shape(p.operands[1].shape), p.kernel.groups, planes)
    first = min(blocks.first)
    return InputPlanes(first, tuple(one - first for one in blocks.first), blocks.shape[1])


def lower_groups(passes: Iterable[G], lower: Callable[[G], GpuPass]) -> Iterator[GpuPass]:
    """Lower the passes of one node; passes that share a program are lowered once.

    The other passes reuse the program with the weights of their planes, and with uniforms for
    their plane and batch entry.
    """
    programs: dict[Hashable, GpuPass] = {}
    drawn: dict[tuple[Hashable, int], GpuPass] = {}  # by program and first plane
    for group in passes:
        entry, first = None if group.entries else group.batch, group.planes[0]
        read = group.input_planes and replace(group.input_planes, first=0)
        key = entry, None if group.shared else first, len(group.planes), group.channels, read
        if key not in programs:
            programs[key] = drawn[key, first] = lower(group)
            yield programs[key]
            continue
        if (key, first) not in drawn:
            drawn[key, first] = _with_weights(programs[key], first)
        like = drawn[key, first]
        declared = {u.name for u in like.uniforms}
        own = tuple(u for u in own_uniforms(group) if u.name in declared)
        same = tuple(u for u in like.uniforms if u.name not in {o.name for o in own})
        yield replace(like, layers=group.layers, uniforms=own + same)


def _with_weights(like: GpuPass, first: int) -> GpuPass:
    """Return a pass of the same program with the weights of other planes."""
    reads = [
        replace(r, source=r.source.at(first)) if isinstance(r.source, Blob) else r
        for r in like.reads
    ]
    blocks = [replace(b, blob=b.blob.at(first)) for b in like.blocks]
    return replace(like, reads=tuple(reads), blocks=tuple(blocks))


def plus(layer: Int, base: Int) -> Int:
    """Return the sum of two layer numbers: an int if both are known."""
    total = integer(layer) + base
    number = known(total)
    return total if number is None else number


OWN_UNIFORMS = ("u_plane", "u_batch", "u_input_plane")  # names that :func:`own_uniforms` sets


def own_uniforms(group: Group) -> tuple[Setting, ...]:
    """Return the uniforms for the planes and the batch entry, if the program has them."""
    plane = (Setting("u_plane", group.planes[0]),) if group.shared and not group.by_plane else ()
    entry = (Setting("u_batch", group.batch),) if group.entries else ()
    read = group.input_planes
    return plane + entry + ((Setting("u_input_plane", read.first),) if read else ())
