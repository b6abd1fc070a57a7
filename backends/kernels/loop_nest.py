"""Loop nests: one kernel for every operator that says, as a nest, what an element is.

Where the innermost loop walks along an operand's own lanes, as a product of matrices does, it takes
four steps at a time, so that each of that operand's texels is fetched once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.dimensions import is_dynamic, is_one
from ...ir.expr import Expr, variables
from ...ir.graph import infer
from ...ir.index_maps import simplified
from ...ir.indexing import Load, coordinates
from ...ir.nest import loads_of
from ...ir.nests import nest_of
from ...ir.ops import parts
from ...ir.types import LANES
from ..device_limits import check_units
from ..shader.builder import ShaderBuilder
from ..shader.expressions import Numbers, Variable, construct, integer, known, vec4
from ..shader.formulas import is_scalar, mixes_freely
from ..shader.program import Function
from ..shader.statements import Body
from ..shader.types import FLOAT, INT, VEC4
from .loads import LANE, common_name, nearest_int
from .plane_groups import groups, lower_groups
from .store import finish, precision, stores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...ir.graph import Node
    from ...ir.nest import Binding, Nest
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression
    from ..shader.statements import Statement
    from ..shader.types import Type
    from .loads import LoadFunction
    from .plane_groups import Group


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
        raise InternalError(f"{node.name}: a nest has no prologue, assign_layouts takes it apart")
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
        if t.in_planes and t.layout is not None and t.layout.kind == "2d":  # these are not dynamic
            planes[k] = t.planes
    if max(planes.values(), default=0) <= target.limits.texture_units:
        return
    read = {s.operand for _, load in loads_of(_nest(node)[0].bindings) for s in load.sources}
    units = max(planes.get(k, 0) for k in read)
    check_units(units, node.choice.stage or "fragment", target, node.name)


class _Nest:
    """The shader of one GPU pass of a nest."""

    def __init__(
        self, node: Node, nest: Nest, shape: tuple[int, ...], group: Group, target: Target
    ) -> None:
        self.node, self.nest, self.group = node, nest, group
        self.shader = ShaderBuilder(target, precision(node), node.choice.stage or "fragment")
        t = node.result.type
        self.reader = group.reader(self.shader)
        self.reader.bound = nest.bound
        self.body = Body()
        self.loads: dict[str, LoadFunction] = {}
        self.texels: set[str] = set()
        self.floats: set[str] = set()  # bindings that are one number for all four lanes
        self.accumulators = {a.name for a in nest.accumulators}
        self.coordinates = [o.name for o in coordinates(max(t.rank, 1))]
        self.own: dict[str, Expression] = {name: Variable(name, INT) for name in self.coordinates}
        zero = integer(0)
        if is_one(t.planes):
            self.own[self.reader.lane] = zero
        self.own |= {name: integer(int(e.value)) for name, e in group.fixed.items()}  # type: ignore[union-attr]
        if not t.in_planes:  # an epilogue may make several channels of the kernel's one
            ones = (a for a, size in enumerate(shape) if is_one(size) and not is_one(t.shape[a]))
            self.own |= {self.coordinates[axis]: zero for axis in ones}

    def lower(self) -> GpuPass:
        node, nest, group = self.node, self.nest, self.group
        p = parts(node)
        self._find_texels()
        roles = self._roles(len(p.operands))
        for binding in nest.bindings:
            name, value = binding.name, binding.value
            if isinstance(value, Load):
                whole = name in self.texels
                self.loads[name] = self.reader.declare(name, value, p.operands, roles, whole)
                varies = not whole and self.loads[name].kind != "uniform"
                scalar = not varies
            else:
                varies = self.reader.access.depends((value,))
                scalar = not varies and is_scalar(value) and self._in_floats(value)
            if varies:
                self.reader.varying.add(name)
            if scalar:
                self.floats.add(name)
        parameters_of_loads = {n for load in self.loads.values() for n in load.parameters}
        self.indices = parameters_of_loads & nest.bound
        parameters = self._parameters()
        variables = tuple(self.own[name] for name in parameters)
        function = Function("compute", variables, VEC4, self._element())  # type: ignore[arg-type]
        body = Body()
        accumulators = []
        for k in range(len(group.planes)):
            at = group.at(k, self.shader)
            accumulators.append(body.let(f"a{k}", function(*(at[name] for name in parameters))))
        operands = set(p.operands)
        loops = "x".join(str(loop.trips) for loop in nest.loops)
        return finish(
            self.shader,
            node,
            group,
            "nest",
            f"{type(p.kernel).__name__} of {len(operands)}" + (f", loops {loops}" * bool(loops)),
            body,
            stores(self.shader, node, group, accumulators),
            macs=nest.steps * _elements(node, group) if nest.loops else 0,
        )

    def _element(self) -> list[Statement]:
        """Return the statements that compute an element."""
        nest, body = self.nest, self.body
        self._bind(nest.once)
        for accumulator in nest.accumulators:
            body.let(accumulator.name, self._inline(accumulator.start))
        if nest.loops:
            self._loop(0)
        body.give(self._value(nest.result))
        return body.statements

    def _loop(self, axis: int) -> None:
        """Write the loops from an axis on, and what the innermost does: one step, or four."""
        loops, body = self.nest.loops, self.body
        name, trips = loops[axis].name, loops[axis].trips
        innermost = axis == len(loops) - 1
        if not (innermost and self.texels):
            with body.loop(name, self.shader.number(trips)) as counter:
                self.own[name] = counter
                if innermost:
                    self._bind(self.nest.each_step)
                    self._step()
                else:
                    self._loop(axis + 1)
            return
        whole = trips - trips % LANES
        if trips == LANES:
            self._texel_steps(integer(0), LANES)
            return
        with body.scope() if whole == LANES else body.loop(name, whole, step=LANES) as counter:
            self._texel_steps(counter or integer(0), LANES)
        if rest := trips % LANES:
            self._texel_steps(integer(whole), rest)

    def _texel_steps(self, first: Expression, count: int) -> None:
        """Write steps of the innermost loop that share texels, each in a scope of its own."""
        counter = self.nest.loops[-1].name
        self.own[counter] = first
        texels = {
            name: self.body.let(f"{name}_texel", self.loads[name].call(self.own))
            for name in sorted(self.texels)
        }
        for k in range(count):
            self.own[counter] = first + k
            with self.body.scope():
                lanes = {name: texel.lanes(LANE[k]) for name, texel in texels.items()}
                self._bind(self.nest.each_step, lanes)
                self._step()

    def _roles(self, count: int) -> list[str]:
        """Return what the operands' textures are called: after what is read of each."""
        names: dict[int, list[str]] = {}
        for name, load in loads_of(self.nest.bindings):
            for source in load.sources:
                names.setdefault(source.operand, []).append(name)
        return [common_name(names.get(k, ["operand"])) for k in range(count)]

    def _find_texels(self) -> None:
        """Find the loads of which the innermost loop takes a texel for four steps."""
        if not self.nest.loops:
            return
        loop, operands = self.nest.loops[-1], parts(self.node).operands
        if is_dynamic(loop.trips) or loop.trips < LANES:
            return
        for name, load in loads_of(self.nest.each_step):
            if self.reader.along(loop.name, load, operands):
                self.texels.add(name)

    def _step(self) -> None:
        """Write a step of the accumulators; several see what all were before."""
        body, own = self.body, self.nest.accumulators
        if len(own) == 1:
            body.assign(Variable(own[0].name, VEC4), self._value(own[0].step))
            return
        after = [body.let(f"next_{a.name}", self._value(a.step, f"{a.name}_")) for a in own]
        for accumulator, value in zip(own, after, strict=True):
            body.assign(Variable(accumulator.name, VEC4), value)

    def _parameters(self) -> list[str]:
        """Return the coordinates that the kernel's function needs, in order."""
        used = {name for load in self.loads.values() for name in load.parameters}
        used |= {name for e in self.nest.formulas() for name in variables(e)}
        return [n for n in self.coordinates if n in used and known(self.own[n]) is None]

    def _bind(
        self, bindings: tuple[Binding, ...], texels: Mapping[str, Expression] | None = None
    ) -> None:
        """Write bindings; ``texels`` has the lanes of those loaded four at once."""
        body = self.body
        for binding in bindings:
            name = binding.name
            if texels is not None and name in texels:
                value = texels[name]
            elif isinstance(binding.value, Load):
                load = self.loads[name]
                value = load.element(self.own) if name in self.floats else load.call(self.own)
            else:
                type = FLOAT if name in self.floats else VEC4
                value = self._value(binding.value, f"{name}_", type)
            bound: Expression = body.let(name, value)
            if name in self.indices and name not in self.reader.varying:
                one = bound if name in self.floats else bound.x
                self.own[name] = body.let(f"{name}_at", nearest_int(one))

    def _in_floats(self, expr: Expr) -> bool:
        """Whether all bindings that a formula reads are floats."""
        return all(n not in self.nest.bound or n in self.floats for n in variables(expr))

    def _value(self, expr: Expr, prefix: str = "t", type: Type = VEC4) -> Expression:
        names = self._names(expr, type)
        return self.shader.formulas.compute(self.body, expr, names, prefix, type)

    def _inline(self, expr: Expr) -> Expression:
        return self.shader.formulas.expression(expr, self._names(expr))

    def _names(self, expr: Expr, type: Type = VEC4) -> dict[str, Expression]:
        """Return each variable of a formula, of a type."""
        sizes = self.shader.names_of(expr)
        names = {name: construct(type, size) for name, size in sizes.items()}
        used = variables(expr)
        floats = not self.floats.isdisjoint(used)
        free = floats and (type == FLOAT or mixes_freely(expr, self.floats))
        for name in used:
            if name in self.floats:
                one = Variable(name, FLOAT)
                names[name] = one if free else vec4(one)
            elif name in self.nest.bound or name in self.accumulators:
                names[name] = Variable(name, VEC4)
            elif name not in names:
                value = construct(type, self.own[name])
                lanes = value + Numbers((0.0, 1.0, 2.0, 3.0))
                names[name] = lanes if name == self.reader.lane else value
        return names


def _elements(node: Node, group: Group) -> int:
    """Return how many elements a pass computes."""
    t = node.result.type
    if not t.in_planes:
        return t.size // t.layers
    _, _, height, width = t.shape
    return group.channels * height * width
