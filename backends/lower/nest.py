"""Loop nests: one kernel for every operator that says, as a nest, what an element is.

Where the innermost loop walks along an operand's own lanes, as a product of matrices does, it takes
four steps at a time, so that each of that operand's texels is fetched once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.expr import Expr, Var, variables
from ...ir.graph import infer
from ...ir.indexing import Load
from ...ir.nests import nest_of
from ...ir.ops import parts
from ...ir.size import is_one, is_open
from ...ir.types import LANES
from ...ir.views import simplified
from ..device_limits import check_units
from ..glsl import is_scalar, mixes_freely
from ..shader import Shader
from .groups import groups, lower_groups
from .loads import LANE
from .store import finish, precision, stores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...ir.nest import Binding, Nest
    from ...ir.target import Target
    from ..glsl import Type
    from ..gpu import GpuPass
    from .groups import Group
    from .loads import LoadFunction


def lower_nest(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower any node whose kernel gives a nest.

    Raises:
        InternalError: for an operator that has neither a nest nor a kernel of its own.
    """
    nest, shape = _nest(node)
    yield from lower_groups(
        groups(node), lambda group: _Nest(node, nest, shape, group, target).lower()
    )


def _nest(node: Node) -> tuple[Nest, tuple[int, ...]]:
    """Return a node's nest and the shape of its result, before any epilogue."""
    p = parts(node)
    if p.prologue is not None:
        raise InternalError(f"{node.name}: a nest has no prologue, tile_channels takes it apart")
    nest = nest_of(p.kernel, *(v.type for v in p.operands))
    if nest is None:
        raise InternalError(f"{node.name}: {type(p.kernel).__name__} has no kernel")
    (t,) = infer(p.kernel, p.operands, node.name)
    return simplified(nest, t.shape), t.shape


def check_planes(node: Node, target: Target) -> None:
    """Refuse a loop nest that reads a tensor of more planes, each a texture, than there are units.

    Raises:
        ShadergenError: SG0402.
    """
    planes: dict[int, int] = {}
    for k, value in enumerate(parts(node).operands):
        t = value.type
        if t.in_planes and t.layout is not None and t.layout.kind == "2d":  # these are not open
            planes[k] = t.planes
    if max(planes.values(), default=0) <= target.limits.texture_units:
        return
    read = {s.operand for _, load in _nest(node)[0].loads() for s in load.sources}
    units = max(planes.get(k, 0) for k in read)
    check_units(units, node.choice.stage or "fragment", target, node.name)


class _Nest:
    """The shader of one GPU pass of a nest."""

    def __init__(
        self, node: Node, nest: Nest, shape: tuple[int, ...], group: Group, target: Target
    ) -> None:
        self.node, self.nest, self.group = node, nest, group
        self.shader = Shader(target, precision(node), node.choice.stage or "fragment")
        t = node.result.type
        self.reader = group.reader(self.shader)
        self.loads: dict[str, LoadFunction] = {}
        self.texels: set[str] = set()
        self.floats: set[str] = set()  # bindings that are one number for all four lanes
        self.accumulators = {name for name, *_ in nest.accumulators}
        self.counter = f"k{len(nest.loops) - 1}"
        names = (f"o{axis}" for axis in range(max(t.rank, 1)))
        self.own = {name: self.reader.names.get(name, name) for name in names}
        if is_one(t.planes):
            self.own[self.reader.lane] = "0"
        self.own |= {name: str(int(e.value)) for name, e in group.fixed.items()}  # type: ignore[union-attr]
        if not t.in_planes:  # an epilogue may make several channels of the kernel's one
            ones = (a for a, size in enumerate(shape) if is_one(size) and not is_one(t.shape[a]))
            self.own |= {f"o{axis}": "0" for axis in ones}
        self.own |= {f"k{axis}": f"k{axis}" for axis in range(len(nest.loops))}

    def lower(self) -> GpuPass:
        node, nest, group = self.node, self.nest, self.group
        p = parts(node)
        self._find_texels()
        if self.texels and nest.loops[-1] == LANES:
            self.own[self.counter] = "0"
        roles = [f"x{k}" for k in range(len(p.operands))]
        for name, binding in self._bindings():
            if isinstance(binding, Load):
                whole = name in self.texels
                self.loads[name] = self.reader.declare(name, binding, p.operands, roles, whole)
                varies = not whole and self.loads[name].kind != "uniform"
                scalar = not varies
            else:
                varies = self.reader.access.depends((binding,))
                scalar = not varies and is_scalar(binding) and self._in_floats(binding)
            if varies:
                self.reader.varying.add(name)
            if scalar:
                self.floats.add(name)
        self.indices = {n for load in self.loads.values() for n in load.parameters if n[0] in "uv"}
        parameters = self._parameters()
        function = "compute"
        accumulators = [f"a{k}" for k in range(len(group.planes))]
        calls = []
        for k in range(len(group.planes)):
            at = group.at(k, self.shader)
            calls.append(f"{function}({', '.join(at[name] for name in parameters)})")
        operands = set(p.operands)
        loops = "x".join(map(str, nest.loops))
        return finish(
            self.shader,
            node,
            group,
            "nest",
            "nest.glsl.j2",
            f"{type(p.kernel).__name__} of {len(operands)}" + (f", loops {loops}" * bool(loops)),
            stores(self.shader, node, group, accumulators),
            accumulators=len(accumulators),
            macs=nest.steps * _elements(node, group) if nest.loops else 0,
            head=f"vec4 {function}({', '.join(f'int {self.own[name]}' for name in parameters)})",
            outer=list(self._statements("u", nest.outer)),
            loops=self._loops(),
            starts=self._starts() if nest.loops else [],
            body=self._body() if nest.loops else [],
            rest=list(self._rest()) if nest.loops else [],
            result=self._lines(nest.result, "return "),
            calls=calls,
        )

    def _bindings(self) -> Iterator[tuple[str, Binding]]:
        for prefix, bindings in (("u", self.nest.outer), ("v", self.nest.inner)):
            for position, binding in enumerate(bindings):
                yield f"{prefix}{position}", binding

    def _find_texels(self) -> None:
        """Find the loads of which the innermost loop takes a texel for four steps."""
        if not self.nest.loops or is_open(self.nest.loops[-1]) or self.nest.loops[-1] < LANES:
            return
        operands = parts(self.node).operands
        for name, load in self.nest.loads():
            if name[0] == "v" and self.reader.along(self.counter, load, operands):
                self.texels.add(name)

    def _loops(self) -> list[tuple[int, str, int]]:
        """Return axis, end and stride of each loop."""
        ends = [self.shader.number(count) for count in self.nest.loops]
        loops = [(axis, end, 1) for axis, end in enumerate(ends)]
        if self.texels:
            count = self.nest.loops[-1]
            if count == LANES:  # one round
                return loops[:-1]
            loops[-1] = (len(loops) - 1, str(count - count % LANES), LANES)
        return loops

    def _body(self) -> list[str]:
        """Return what the innermost loop does: one step, or four."""
        if not self.texels:
            return [*self._statements("v", self.nest.inner), *self._step()]
        return [*self._fetches(), *(line for k in range(LANES) for line in self._block(k))]

    def _rest(self) -> Iterator[str]:
        """Yield the steps that four at a time leave over."""
        if self.texels and (count := self.nest.loops[-1] % LANES):
            self.own[self.counter] = str(self.nest.loops[-1] - count)
            yield from self._fetches()
            for k in range(count):
                yield from self._block(k)

    def _fetches(self) -> Iterator[str]:
        for name in sorted(self.texels):
            yield f"vec4 {name}_texel = {self.loads[name].call(self.own)};"

    def _block(self, k: int) -> list[str]:
        """Return step k of four, in a scope of its own."""
        first = self.own[self.counter]
        if k:
            moved = int(first) + k if first.isdigit() else f"{first} + {k}"
            self.own[self.counter] = str(moved)
        lines = [*self._statements("v", self.nest.inner, LANE[k]), *self._step()]
        self.own[self.counter] = first
        return ["{", *(f"    {line}" for line in lines), "}"]

    def _starts(self) -> list[tuple[str, str]]:
        return [(name, self._inline(start)) for name, start, _ in self.nest.accumulators]

    def _step(self) -> list[str]:
        """Return a step of the accumulators; several see what all were before."""
        if not self.nest.others:
            return self._lines(self.nest.step or Var("a"), "a = ")
        steps = self.nest.accumulators
        lines = []
        for name, _, step in steps:
            lines += self._lines(step, f"vec4 next_{name} = ", f"{name}_")
        return lines + [f"{name} = next_{name};" for name, *_ in steps]

    def _parameters(self) -> list[str]:
        """Return the coordinates that the kernel's function needs, in order."""
        used = {name for load in self.loads.values() for name in load.parameters}
        used |= {name for e in self.nest.formulas() for name in variables(e)}
        return sorted(
            (n for n in used if n[0] == "o" and not self.own[n].isdigit()),
            key=lambda n: int(n[1:]),
        )

    def _statements(
        self, prefix: str, bindings: tuple[Binding, ...], lane: str = ""
    ) -> Iterator[str]:
        for position, binding in enumerate(bindings):
            name = f"{prefix}{position}"
            if name in self.texels:
                yield f"float {name} = {name}_texel.{lane};"
            elif isinstance(binding, Load) and name in self.floats:
                yield f"float {name} = {self.loads[name].element(self.own)};"
            elif isinstance(binding, Load):
                yield f"vec4 {name} = {self.loads[name].call(self.own)};"
            elif name in self.floats:
                names = self._names(binding, "float")
                assign = f"float {name} = "
                functions = self.shader.functions
                yield from functions.statements(binding, names, assign, f"{name}_", "float")
            else:
                yield from self._lines(binding, f"vec4 {name} = ", f"{name}_")
            if name in self.indices and name not in self.reader.varying:
                one = name if name in self.floats else f"{name}.x"
                yield f"int {name}_at = int(floor({one} + 0.5));"
                self.own[name] = f"{name}_at"

    def _in_floats(self, expr: Expr) -> bool:
        """Whether all bindings that a formula reads are floats."""
        return all(name[0] not in "uv" or name in self.floats for name in variables(expr))

    def _lines(self, expr: Expr, assign: str, prefix: str = "t") -> list[str]:
        return self.shader.functions.statements(expr, self._names(expr), assign, prefix)

    def _inline(self, expr: Expr) -> str:
        return self.shader.functions.expression(expr, self._names(expr))

    def _names(self, expr: Expr, type: Type = "vec4") -> dict[str, str]:
        """Return the text of each variable of a formula, of a type."""
        names = {name: f"{type}({size})" for name, size in self.shader.names_of(expr).items()}
        used = variables(expr)
        floats = not self.floats.isdisjoint(used)
        free = floats and (type == "float" or mixes_freely(expr, self.floats))
        for name in used:
            if name in self.floats:
                names[name] = name if free else f"vec4({name})"
            elif name[0] in "uv" or name in self.accumulators:
                names[name] = name
            elif name not in names:
                text = f"{type}({self.own[name]})"
                lane = f"({text} + vec4(0.0, 1.0, 2.0, 3.0))"
                names[name] = lane if name == self.reader.lane else text
        return names


def _elements(node: Node, group: Group) -> int:
    """Return how many elements a pass computes."""
    t = node.result.type
    if not t.in_planes:
        return t.size // t.layers
    _, _, height, width = t.shape
    return group.channels * height * width
