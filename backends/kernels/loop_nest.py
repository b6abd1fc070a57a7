"""The loop kernel: computes any operator from its loop nest.

If the innermost loop walks along an operand's own lanes, as in a matrix product, it takes four
steps at a time and fetches each texel of the operand once.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.dimensions import is_dynamic, is_one
from ...ir.expr import Call, Expr, Var, replace_parts, variables
from ...ir.graph import infer
from ...ir.index_maps import simplified
from ...ir.indexing import Load, coordinates, idiv
from ...ir.nest import loads_of
from ...ir.nests import nest_of
from ...ir.ops import Pointwise
from ...ir.simplify import value_range
from ...ir.types import LANES
from ...passes.kernel_ops import IndexMapped, parts
from ...passes.placement.kinds import precision
from ..device_limits import check_units
from ..shader.builder import ShaderBuilder
from ..shader.constructors import construct, integer
from ..shader.expressions import Number, Numbers, Variable, known
from ..shader.formulas import is_scalar, operand_counts, widened
from ..shader.program import Function
from ..shader.statements import Body, Scope
from ..shader.types import FLOAT, INT, VEC4
from .family import Family, plain_choices, why_not_compute
from .loads import LANE, common_name, nearest_int
from .plane_groups import groups, lower_groups
from .store import finish, stores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...ir.nest import Binding, Nest
    from ...ir.ops import Op
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.expressions import Expression
    from ..shader.statements import Statement
    from ..shader.types import Type
    from .loads import LoadFunction
    from .plane_groups import Group

MOST_UNROLLED = 8  # steps of a result; drivers that unroll more of them spill registers
LONGEST_UNROLLED = 32  # steps of a loop; Mesa's drivers leave longer ones rolled


def lower_nest(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower any node whose operator has a loop nest.

    Raises:
        InternalError: for an operator that has neither a nest nor a kernel of its own.
    """
    nest, shape = _nest(node)
    choice = node.choice
    assert choice.stage == "compute" or choice.block == (1, 1), (
        f"{node.name}: a draw of the loop kernel computes single pixels"
    )
    yield from lower_groups(
        groups(node), lambda group: _Nest(node, nest, shape, group, target).lower()
    )


def _nest(node: Node) -> tuple[Nest, tuple[int, ...]]:
    """Return a node's nest and the shape of its result, before any epilogue."""
    p = parts(node)
    if p.prologue:
        raise InternalError(
            f"{node.name}: a loop nest has a prologue, which assign_layouts should have split off"
        )
    nest = nest_of(p.kernel, *(v.type for v in p.operands))
    if nest is None:
        raise InternalError(f"{node.name}: {type(p.kernel).__name__} has no kernel")
    (t,) = infer(p.kernel, p.operands, node.name)
    return simplified(nest, t.shape), t.shape


def check_planes(node: Node, target: Target) -> None:
    """Refuse a loop nest that reads a tensor whose 2D textures exceed the texture units.

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
    nest, _ = _nest(node)
    for group in groups(node):
        ranges = group.ranges(nest.loops)
        for _, load in loads_of(nest.bindings):
            for source in load.sources:
                most = planes.get(source.operand, 0)
                found = value_range(idiv(source.index[1], LANES), ranges) if most else None
                units = found[1] - found[0] + 1 if found else most
                check_units(min(units, most), node.choice.stage or "fragment", target, node.name)


class _Nest:
    """The shader of one GPU pass of a nest."""

    def __init__(
        self, node: Node, nest: Nest, shape: tuple[int, ...], group: Group, target: Target
    ) -> None:
        self.node, self.nest, self.group = node, nest, group
        self.shader = ShaderBuilder(target, precision(node), node.choice.stage or "fragment")
        t = node.result.type
        self.reader = group.reader(self.shader)
        self.reader.bound, self.reader.ranges = nest.bound, group.ranges(nest.loops)
        self.body = Body()
        self.loads: dict[str, LoadFunction] = {}
        self.texels: set[str] = set()
        self.floats: set[str] = set()  # bindings that are one number for all four lanes
        self.lanes: dict[str, Expression] = {}  # of texels, at the present step
        self.inlined: dict[str, Expression] = {}  # bindings without a variable, at this step
        own = {a.name for a in nest.accumulators}
        self.vectors = nest.bound | own | {f"next_{name}" for name in own}  # unless floats
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
        for k, name in enumerate(group.results):
            accumulators.append(Variable(name, VEC4))
            for column, row, end in group.pixels:
                at = group.at(k, self.shader, (column, row))
                body.let(name + end, function(*(at[name] for name in parameters)))
        loops = ", ".join(f"{loop.name} < {loop.trips}" for loop in nest.loops)
        return finish(
            self.shader,
            node,
            group,
            "loop kernel",
            _described(p.kernel) + (f", loops {loops}" * bool(loops)),
            body,
            stores(self.shader, node, group, accumulators),
            macs=nest.steps * _elements(node, group) if nest.loops else 0,
        )

    def _element(self) -> list[Statement]:
        """Return the statements that compute an element."""
        nest, body = self.nest, self.body
        if nest.once and nest.result == Var(last := nest.once[-1].name) and last in self.loads:
            self._bind(nest.once[:-1])
            body.give(widened(self._loaded(last), VEC4))
            return body.statements
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
            with body.loop(name, self._end(name, trips)) as counter:
                self.own[name] = counter
                if innermost:
                    self._bind(self.nest.each_step)
                    self._step()
                else:
                    self._loop(axis + 1)
            return
        whole = trips - trips % LANES
        if whole == LANES:
            self._texel_steps(integer(0), LANES)
        else:
            with body.loop(name, whole, step=LANES) as counter:
                self._texel_steps(counter, LANES)
        if rest := trips % LANES:
            self._texel_steps(integer(whole), rest, "_rest")

    def _end(self, name: str, trips: int) -> Expression:
        """Return the end of a loop: a uniform in draws that compilers would unroll too far.

        The compilers of mobile and Intel GPUs unroll a mean of 7x7 values and load all at once:
        it then spills registers and takes over a second to compile.
        """
        steps = [loop.trips for loop in self.nest.loops if not is_dynamic(loop.trips)]
        unrolled = not is_dynamic(trips) and 1 < trips <= LONGEST_UNROLLED
        draws = not self.group.in_compute and self.shader.target.shares_programs
        if draws and unrolled and prod(steps) > MOST_UNROLLED:
            return self.shader.uniform(f"{name}_end", trips)
        return self.shader.number(trips)

    def _texel_steps(self, first: Expression, count: int, suffix: str = "") -> None:
        """Write steps of the innermost loop that share texels.

        What a step reads only once stands in place. A step that needs variables has a scope.
        """
        counter, body = self.nest.loops[-1].name, self.body
        self.own[counter] = first
        of = " and ".join(sorted(self.texels))
        last = "The last step." if count == 1 else f"The last {count} steps."
        body.comment(last if suffix else f"Four steps share a texel of {of}.")
        texels = {
            name: body.let(f"{name}_texel{suffix}", self.loads[name].call(self.own))
            for name in sorted(self.texels)
        }
        for k in range(count):
            self.own[counter] = first + k
            self.lanes = {name: texel.lanes(LANE[k]) for name, texel in texels.items()}
            self.inlined = {name: self._loaded(name) for name in self._inlined_loads()}
            with body.scope():
                self._bind(self.nest.each_step)
                self._step()
            scope = body.statements[-1]
            if isinstance(scope, Scope) and len(scope.body) == 1:
                body.statements[-1:] = scope.body
        self.lanes, self.inlined = {}, {}

    def _inlined_loads(self) -> list[str]:
        """Return the loads of a step that need no variable: lanes, and what is read only once."""
        nest = self.nest
        formulas = [b.value for b in nest.each_step if not isinstance(b.value, Load)]
        formulas += [a.step for a in nest.accumulators]
        steps = {b.name for b in nest.each_step}
        found = []
        for name, load in loads_of(nest.each_step):
            uses = sum(operand_counts(e)[Var(name)] + (e == Var(name)) for e in formulas)
            free = name in self.texels or (uses == 1 and steps.isdisjoint(load.variables))
            if free and name not in self.indices:
                found.append(name)
        return found

    def _loaded(self, name: str) -> Expression:
        """Return what a load gives: a float where the four lanes are alike, else a vec4."""
        if name in self.lanes:
            return self.lanes[name]
        load = self.loads[name]
        return load.element(self.own) if name in self.floats else load.call(self.own)

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
        after: dict[Expr, Expr] = {}  # what has been computed for accumulators before
        pending: list[tuple[Variable, Expression]] = []
        own = self.nest.accumulators
        for k, accumulator in enumerate(own):
            target, step = Variable(accumulator.name, VEC4), accumulator.step
            rest = replace_parts(step, after) if after else step
            read_later = any(target.name in variables(other.step) for other in own[k + 1 :])
            if not read_later and _adds(step, target.name):
                assert isinstance(rest, Call)
                self.body.add(target, self._value(rest.args[1], f"{target.name}_"))
                continue
            value = self._value(rest, f"{target.name}_")
            if read_later:
                value = self.body.let(f"next_{target.name}", value)
                after[step] = Var(f"next_{target.name}")
                pending.append((target, value))
            else:
                self.body.assign(target, value)
        for target, value in pending:
            self.body.assign(target, value)

    def _parameters(self) -> list[str]:
        """Return the coordinates that the kernel's function needs, in order."""
        used = {name for load in self.loads.values() for name in load.parameters}
        used |= {name for e in self.nest.formulas() for name in variables(e)}
        return [n for n in self.coordinates if n in used and known(self.own[n]) is None]

    def _bind(self, bindings: tuple[Binding, ...]) -> None:
        """Write bindings, but for those that stand in place."""
        body = self.body
        for binding in bindings:
            name = binding.name
            if name in self.inlined:
                continue
            if isinstance(binding.value, Load):
                value = self._loaded(name)
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
        return self.shader.formulas.compute(self.body, expr, self._names(expr), prefix, type)

    def _inline(self, expr: Expr) -> Expression:
        return self.shader.formulas.expression(expr, self._names(expr))

    def _names(self, expr: Expr) -> dict[str, Expression]:
        """Return each variable of a formula: a float where the four lanes are alike."""
        sizes = self.shader.names_of(expr)
        names = {name: construct(FLOAT, size) for name, size in sizes.items()}
        for name in variables(expr):
            if name in self.inlined:
                names[name] = self.inlined[name]
            elif name in self.floats:
                names[name] = Variable(name, FLOAT)
            elif name in self.vectors:
                names[name] = Variable(name, VEC4)
            elif name == self.reader.lane:
                names[name] = self._lanes()
            elif name not in names:
                number = known(own := self.own[name])
                names[name] = construct(FLOAT, own) if number is None else Number(number, FLOAT)
        return names

    def _lanes(self) -> Expression:
        """Return the coordinates of the four lanes."""
        first, steps = self.own[self.reader.lane], Numbers((0.0, 1.0, 2.0, 3.0))
        return steps if known(first) == 0 else construct(FLOAT, first) + steps


def _described(op: Op) -> str:
    """Return a description of an operator, for the shader's header."""
    if isinstance(op, IndexMapped):
        return f"{_described(op.kernel)} through index maps"
    return f"element-wise {op.expr}" if isinstance(op, Pointwise) else type(op).__name__


def _adds(step: Expr, name: str) -> bool:
    """Whether a step adds to its accumulator what does not depend on it."""
    if not isinstance(step, Call) or step.function != "add" or step.args[0] != Var(name):
        return False
    return name not in variables(step.args[1])


def _elements(node: Node, group: Group) -> int:
    """Return the number of result elements that a pass computes."""
    t = node.result.type
    if not t.in_planes:
        return t.size // t.layers
    _, _, height, width = t.shape
    return group.channels * height * width


LOOP_NEST = Family(lambda node: True, plain_choices, lower_nest, why_not_compute)
