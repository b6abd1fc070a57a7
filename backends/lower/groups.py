"""Which planes, or which layer of rows, each GPU pass of a node writes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, TypeVar

from ...ir.expr import Expr, Num
from ...ir.placement import before_store, entries_share_a_program, planes_share_a_program
from ...ir.size import is_one, surely_equal
from ...ir.types import LANES
from ..gpu import GpuPass, Uniform
from .loads import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...ir.graph import Node
    from ...ir.types import TensorType
    from ..shader import Shader

COORDINATES = {"o0": "n", "o1": "c", "o2": "y", "o3": "x"}  # of maps, as shaders name them


@dataclass
class Group:
    """What one invocation writes: consecutive planes of one batch entry, or one layer of rows.

    Attributes:
        batch: the batch entry.
        planes: the planes, or the layer; in the compute stage those of the first invocation.
        node: what computes them.
        written: the node whose result is written: ``node``, unless its store rearranges them.
        shared: the first plane is a variable: the passes of a node differ in the planes alone, so
            that one program draws them all, and the uniform ``u_plane`` says which is the first;
            or it is a compute pass, and ``plane`` comes from the invocation.
        entries: the batch entry is a variable, too: the uniform ``u_batch``.
        prelude: statements that compute the coordinates of :meth:`at`.
    """

    batch: int
    planes: range
    node: Node
    written: Node
    shared: bool = False
    entries: bool = False
    prelude: list[str] = field(default_factory=list)
    _coordinates: dict[str, str] = field(default_factory=dict)

    @property
    def layers(self) -> tuple[int, ...]:
        """Texture layers that the GPU pass writes."""
        t = self.written.result.type
        if self.written is not self.node:
            return tuple(t.first_layer + self.batch * t.planes + p for p in range(t.planes))
        first = t.first_layer + (self.batch * t.planes if t.in_planes else 0)
        return tuple(first + p for p in self.covered)

    @property
    def covered(self) -> range:
        """The planes, or the layer, that the GPU pass writes."""
        return range(self.node.result.type.planes) if self.in_compute else self.planes

    @property
    def named(self) -> str:
        """What the planes that the GPU pass writes are called in the shader's header."""
        planes = self.covered
        if self.written is not self.node:
            planes = range(self.written.result.type.planes)
        first, last = planes[0], planes[-1]
        return f"plane {first}" if first == last else f"planes {first} to {last}"

    @property
    def channels(self) -> int:
        """How many channels of planes the GPU pass writes."""
        last = min((self.covered[-1] + 1) * LANES, self.node.result.type.channels)
        return last - self.covered[0] * LANES

    @property
    def in_compute(self) -> bool:
        return self.node.choice.stage == "compute"

    @property
    def pixels(self) -> list[tuple[int, int, str]]:
        """Column and row of each pixel of an invocation, and how its accumulators' names end."""
        columns, rows = self.node.choice.block
        if (columns, rows) == (1, 1):
            return [(0, 0, "")]
        return [(i, j, f"_{i}{j}") for j in range(rows) for i in range(columns)]

    @property
    def fixed(self) -> dict[str, Expr]:
        """Coordinates that are known for the whole pass: the batch entry of planes."""
        known = self.node.result.type.in_planes and not self.entries
        return {"o0": Num(float(self.batch))} if known else {}

    def first_layer(self, t: TensorType) -> int | str:
        """Return the first of a map's layers that are of the batch entry, of all entries if one."""
        if is_one(t.shape[0]):
            return 0
        if not self.entries:
            return self.batch * t.planes
        return "u_batch" if t.planes == 1 else f"u_batch * {t.planes}"

    def reader(self, shader: Shader) -> Reader:
        """Return what emits loads that are seen from this result."""
        t = self.node.result.type
        names = COORDINATES if t.in_planes else {}
        return Reader(shader, f"o{t.lane_axis}", t.channels, self.fixed, names)

    def plane(self, k: int) -> int | str:
        """Return plane k of the pass: its number, or an int expression where that varies."""
        if not self.shared:
            return self.planes[k]
        first = "plane" if self.in_compute else "u_plane"
        return f"{first} + {k}" if k else first

    def number(self, k: int) -> int | None:
        """Return the number of plane k of the pass where it is known."""
        return None if self.in_compute else self.planes[k]

    def at(self, k: int, shader: Shader) -> dict[str, str]:
        """Return the int text of each coordinate of the first lane in plane k of the pass."""
        if self.node.result.type.in_planes:
            plane = self.plane(k)
            channel = f"({plane}) * {LANES}" if isinstance(plane, str) else str(plane * LANES)
            entry = "u_batch" if self.entries else str(self.batch)
            return {"o0": entry, "o1": channel, "o2": "o.y", "o3": "o.x"}
        if not self._coordinates:
            self._locate(shader)
        return self._coordinates

    def _locate(self, shader: Shader) -> None:
        """Write the prelude that finds an element of rows from the position of its texel."""
        t = self.node.result.type
        width, height, layers = t.extent
        number = shader.number
        (layer,) = self.planes
        line = f"o.y + {layer * height}" if layer else "o.y"
        group, last = "o.x", f"o{max(t.rank - 1, 0)}"
        if not surely_equal(width, t.planes):
            past = not surely_equal(width * height * layers, t.texels)
            texel = f"({line}) * {number(width)} + o.x" if layer else f"o.y * {number(width)} + o.x"
            self.prelude.append(
                f"int texel = {f'min({texel}, {number(t.texels - 1)})' if past else texel};"
            )
            group, line = f"texel % {number(t.planes)}", f"texel / {number(t.planes)}"
            if is_one(t.planes):
                group, line = "0", "texel"
        self._coordinates[last] = last
        self.prelude.append(f"int {last} = {'0' if is_one(t.planes) else f'{group} * {LANES}'};")
        if t.rank == 2:
            self.prelude.append(f"int o0 = {line};")
            self._coordinates["o0"] = "o0"
            return
        if t.rank > 2:
            self.prelude.append(f"int row = {line};")
        for axis in range(t.rank - 2, -1, -1):
            name = f"o{axis}"
            inner = prod(t.shape[axis + 1 : -1])
            text = "row" if is_one(inner) else f"row / {number(inner)}"
            if axis:
                text = f"{text} % {number(t.shape[axis])}"
            self.prelude.append(f"int {name} = {text};")
            self._coordinates[name] = name


G = TypeVar("G", bound=Group)


def groups(node: Node) -> Iterator[Group]:
    """Yield the passes of a node in order."""
    written, node = node, before_store(node)
    t = node.result.type
    if not t.in_planes:
        for layer in range(t.layers):
            yield Group(0, range(layer, layer + 1), node, written)
        return
    size = node.choice.planes or 1
    every = entries_share_a_program(node)
    if node.choice.stage == "compute":
        yield from (Group(n, range(size), node, written, True, every) for n in range(t.shape[0]))
        return
    shared = size < t.planes and planes_share_a_program(node)
    for n in range(t.shape[0]):
        for p in range(0, t.planes, size):
            yield Group(n, range(p, min(p + size, t.planes)), node, written, shared, every)


def lower_groups(
    passes: Iterable[G], lower: Callable[[G], GpuPass], weights: bool = False
) -> Iterator[GpuPass]:
    """Lower passes of one node, those that one program draws only once.

    The others take that program, and what it holds, and say by uniforms which they are. With
    ``weights``, which differ from plane to plane, passes of other planes are lowered on their own.
    """
    known: dict[tuple[int | None, ...], GpuPass] = {}
    for group in passes:
        entry = None if group.entries else group.batch
        first = None if group.shared and not weights else group.planes[0]
        key = (entry, first, len(group.planes), group.channels)
        if key in known:
            like = known[key]
            own = own_uniforms(group)
            same = tuple(u for u in like.uniforms if u.name not in {o.name for o in own})
            yield replace(like, layers=group.layers, uniforms=own + same)
        else:
            known[key] = lower(group)
            yield known[key]


def plus(layer: int | str, base: int | str) -> int | str:
    """Return the sum of two numbers of layers, either of which may be an int expression."""
    if isinstance(layer, int) and isinstance(base, int):
        return layer + base
    return " + ".join(str(part) for part in (layer, base) if part != 0)


def own_uniforms(group: Group) -> tuple[Uniform, ...]:
    """Return what says which plane and batch entry a pass begins with, where its program asks."""
    plane = (Uniform("u_plane", group.planes[0]),) if group.shared and not group.in_compute else ()
    entry = (Uniform("u_batch", group.batch),) if group.entries else ()
    return plane + entry
