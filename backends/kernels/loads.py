"""Loads of a kernel: one shader function for each.

The function of a uniform or scattered load (``passes.placement.access``) returns one element, the
function of an aligned or shifted load (:mod:`.shifted_loads`) a vec4.
"""

from __future__ import annotations

from dataclasses import field
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from ...ir.algebra import fold
from ...ir.dimensions import is_dynamic, is_one, statically_equal
from ...ir.evaluation import evaluate_formula
from ...ir.expr import Call, Expr, Num, Var, replace_parts, substitute, variables, walk
from ...ir.indexing import add, coordinates, flatten, idiv, imod, mul
from ...ir.simplify import value_range
from ...ir.types import LANES
from ...passes.placement.access import Access
from ...records import dataclass, replace
from ..shader.constructors import all_of, construct, intrinsic, ivec2, vec4
from ..shader.expressions import Conditional, Number, Variable, known
from ..shader.formulas import index
from ..shader.program import Function
from ..shader.statements import Body, names_read
from ..shader.types import FLOAT, INT, VEC4
from .shifted_loads import give_shifted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeGuard

    from ...ir.graph import Value
    from ...ir.indexing import Load, Source
    from ...ir.types import TensorType
    from ...passes.placement.access import Kind
    from ..shader.builder import ShaderBuilder
    from ..shader.expressions import Expression
    from ..shader.textures import TensorTexture

LANE = "xyzw"
WHOLE: tuple[Kind, ...] = ("aligned", "shifted")  # loads whose function returns a vec4


def _select_lane() -> Function:
    """Return a function that selects a component by its number.

    On GPUs whose invocations are SIMD lanes, a variable index (``v[i]``) would store the texel to
    memory and read it back.
    """
    v, i = Variable("v", VEC4), Variable("i", INT)
    body = Body()
    pair = body.let("pair", Conditional(i < 2, v.lanes("xy"), v.lanes("zw")))
    body.give(Conditional((i & 1).equals(0), pair.x, pair.y))
    return Function("lane", (v, i), FLOAT, body.statements)


SELECT_LANE = _select_lane()


@dataclass(frozen=True)
class LoadFunction:
    """A call of a load's function; a scattered load calls it once for each lane.

    ``offsets`` are numbers to add to arguments, so that loads that differ only in them share a
    function.
    """

    function: Function
    kind: Kind
    parameters: tuple[str, ...]
    reader: Reader
    offsets: Mapping[str, int] = field(default_factory=dict)

    def call(self, at: Mapping[str, Expression]) -> Expression:
        """Return the vec4 of four neighbours.

        ``at`` has the coordinates, and the bindings whose index is the same for all lanes.
        """
        if self.kind in WHOLE:
            return self._lane(at, 0)
        if self.kind == "uniform":
            return vec4(self.element(at))
        present, first = LANES, at.get(self.reader.lane)
        if first is not None and (start := known(first)) is not None:
            # the last plane may hold fewer channels
            present = min(LANES, self.reader.lanes - start)
        calls = [self._lane(at, lane) if lane < present else 0.0 for lane in range(LANES)]
        return vec4(*calls)

    def element(self, at: Mapping[str, Expression]) -> Expression:
        """Return the float of a uniform load."""
        return self._lane(at, 0)

    def _lane(self, at: Mapping[str, Expression], lane: int) -> Expression:
        return self.function(*(self._argument(p, at, lane) for p in self.parameters))

    def _argument(self, parameter: str, at: Mapping[str, Expression], lane: int) -> Expression:
        reader = self.reader
        if number := self.offsets.get(parameter):
            return at[parameter] + number
        if parameter not in at:  # a binding that varies: data that is an index
            component = LANE[lane] if parameter in reader.varying else "x"
            return nearest_int(Variable(parameter, VEC4).lanes(component))
        value = at[parameter]
        if parameter != reader.lane or not lane:
            return value
        moved = value + lane
        if known(value) is not None or (not is_dynamic(reader.lanes) and not reader.lanes % LANES):
            return moved
        return intrinsic("min", moved, reader.shader.number(reader.lanes - 1))


def common_name(names: Sequence[str]) -> str:
    """Return the words that all names begin with, or the first name if there are none."""
    words = zip(*(name.split("_") for name in names), strict=False)
    same = takewhile(lambda alike: len(set(alike)) == 1, words)
    return "_".join(alike[0] for alike in same) or names[0]


def nearest_int(value: Expression) -> Expression:
    """Return the int nearest to a float."""
    return construct(INT, intrinsic("floor", value + 0.5))


@dataclass
class Reader:
    """Emits load functions into a shader.

    Attributes:
        shader: receives the functions.
        lane: the variable of the result's lane axis.
        lanes: the size of this axis.
        fixed: variables with a known value in this GPU pass, such as the batch entry.
        ranges: the least and the largest value of variables in this GPU pass, where known.
        bound: the names of bindings.
        varying: the bindings that differ between the four lanes.
        declared: the functions, by access pattern, parameters and statements.
        given: the names of the loads that share each function.
    """

    shader: ShaderBuilder
    lane: str
    lanes: int
    fixed: Mapping[str, Expr] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    bound: Collection[str] = ()
    varying: set[str] = field(default_factory=set)
    declared: dict[tuple[object, ...], Function] = field(default_factory=dict)
    given: dict[Function, list[str]] = field(default_factory=dict)

    @property
    def access(self) -> Access:
        """The access patterns of loads for this result."""
        return Access(self.lane, self.lanes, self.varying)

    def along(self, counter: str, load: Load, operands: Sequence[Value]) -> bool:
        """Whether a uniform load walks along its operand's own lanes with a loop counter."""
        prepared = replace(load, sources=tuple(map(self._prepared, load.sources)))
        return self.access.along(counter, prepared, [v.type for v in operands], self.bound)

    def declare(
        self,
        name: str,
        load: Load,
        operands: Sequence[Value],
        roles: Sequence[str],
        whole: bool = False,
    ) -> LoadFunction:
        """Emit the function of a load.

        Args:
            name: the name of the load, for the function.
            load: the load.
            operands: the tensors that the load's sources refer to by number.
            roles: the names of the operands' textures.
            whole: return whole texels; only for loads that :meth:`along` accepts.
        """
        sources = _reachable([self._prepared(s) for s in load.sources], self.lane, self.lanes)
        kind: Kind = "aligned"
        if not whole:
            kind = self.access.kind(sources, [v.type for v in operands])
        sources, offsets = self._without_offsets(sources)
        exprs = [e for s in sources for e in (*s.index, *s.valid)]
        given = {name for e in exprs for name in self.shader.names_of(e)}
        body = Body()
        if kind == "shifted":
            give_shifted(self, body, sources, operands, roles, load.fill)
        else:
            self._give_first(body, sources, operands, roles, load.fill, kind)
        mentioned = names_read(body.statements)
        used = dict.fromkeys(v for e in exprs for v in variables(e) if v not in given)
        parameters = tuple(v for v in used if v in mentioned)
        key = (kind, *parameters, *body.statements)
        if key not in self.declared:
            self.declared[key] = Function(
                self.shader.names(f"load_{name}"),
                tuple(Variable(v, INT) for v in parameters),
                VEC4 if kind in WHOLE else FLOAT,
                body.statements,
            )
            self.given[self.declared[key]] = [name]
        elif name not in (names := self.given[self.declared[key]]):
            before = common_name(names)
            names.append(name)
            if (common := common_name(names)) != before:
                self.declared[key].name = self.shader.names(f"load_{common}")
        return LoadFunction(self.declared[key], kind, parameters, self, offsets)

    def _give_first(
        self,
        body: Body,
        sources: Sequence[Source],
        operands: Sequence[Value],
        roles: Sequence[str],
        fill: float,
        kind: Kind,
    ) -> None:
        """Return the element (or texel) of the first source whose conditions hold."""
        for position, source in enumerate(sources):
            value = operands[source.operand]
            source = self.named(body, source, value, str(position) if position else "")
            everywhere = not position and not source.valid
            read = (value, roles[source.operand], source, kind, everywhere)
            if not source.valid:
                self._fetch(body, *read)
                break
            with body.when(all_of([self.expression(v) for v in source.valid])):
                self._fetch(body, *read)
        else:
            body.give(vec4(fill) if kind == "aligned" else Number(fill, FLOAT))

    def _without_offsets(self, sources: Sequence[Source]) -> tuple[list[Source], dict[str, int]]:
        """Replace ``b + n`` by ``b`` for each binding b that occurs only so; return each n."""
        offsets: dict[str, int] = {}
        exprs = [e for s in sources for e in (*s.index, *s.valid)]
        places = {e: e.args for x in exprs for e in walk(x) if self._moves(e)}
        for moved, (variable, added) in places.items():
            assert isinstance(variable, Var)
            assert isinstance(added, Num)
            others = [replace_parts(e, {moved: Num(0.0)}) for e in exprs]
            name = variable.name
            if name in self.varying or any(name in variables(e) for e in others):
                continue
            offsets[name] = int(added.value)
            exprs = [replace_parts(e, {moved: variable}) for e in exprs]
            sources = [
                type(s)(
                    s.operand,
                    tuple(replace_parts(e, {moved: variable}) for e in s.index),
                    tuple(replace_parts(e, {moved: variable}) for e in s.valid),
                )
                for s in sources
            ]
        return list(sources), offsets

    def _moves(self, e: Expr) -> TypeGuard[Call]:
        """Whether an expression is a binding and a number added to it."""
        if not isinstance(e, Call) or e.function != "add":
            return False
        variable, number = e.args
        bound = isinstance(variable, Var) and variable.name in self.bound
        return bound and isinstance(number, Num)

    def _prepared(self, source: Source) -> Source:
        """Return a source with :attr:`fixed` substituted and constants folded."""
        index = tuple(fold(substitute(e, self.fixed)) for e in source.index)
        valid = tuple(fold(substitute(e, self.fixed)) for e in source.valid)
        return type(source)(source.operand, index, valid)

    def named(self, body: Body, source: Source, value: Value, suffix: str) -> Source:
        """Declare variables for indices that conditions test; return the source with these."""
        names: dict[Expr, Expr] = {}
        tested = {e for v in source.valid for e in walk(v)}
        for axis, e in enumerate(source.index):
            if isinstance(e, Call) and e in tested and e not in names:
                name = f"in_{coordinates(value.type.rank)[axis]}{suffix}"
                body.let(name, self.expression(e))
                names[e] = Var(name)
        index = tuple(names.get(e, e) for e in source.index)
        valid = tuple(replace_parts(v, names) for v in source.valid)
        return type(source)(source.operand, index, valid)

    def _fetch(
        self,
        body: Body,
        value: Value,
        role: str,
        source: Source,
        kind: Kind,
        everywhere: bool,
    ) -> None:
        """Return the element (or texel) of a tensor at an index from a function."""
        t = value.type
        channel: Expr = source.index[t.lane_axis] if t.rank else Num(0.0)
        among = self.layers(t, source, idiv(channel, LANES), self.ranges)
        if kind != "aligned":
            channel = self._let(body, "along_lanes", channel)
        found = self.texel(body, value, role, source, idiv(channel, LANES), everywhere, among)
        if kind != "aligned":
            found = self._component(found, channel, t.channels_per_texel)
        body.give(found)

    def layers(
        self,
        t: TensorType,
        source: Source,
        plane: Expr,
        ranges: Mapping[str, tuple[int, int]],
    ) -> tuple[int, int] | None:
        """Return the first and the last layer in which a texel of planes can lie, if known."""
        if not t.in_planes:
            return None
        return value_range(add(mul(source.index[0], t.planes), plane), ranges)

    def texture(self, source: Source, value: Value, role: str) -> TensorTexture:
        """Return the texture that a source reads."""
        n = source.index[0] if value.type.in_planes else None
        return self.shader.texture(value, role, int(n.value) if isinstance(n, Num) else None)

    def texel(
        self,
        body: Body,
        value: Value,
        role: str,
        source: Source,
        plane: Expr,
        everywhere: bool,
        among: tuple[int, int] | None = None,
        suffix: str = "",
    ) -> Expression:
        """Return a texel of a tensor.

        Args:
            body: takes declarations of variables.
            value: the tensor.
            role: the name of its texture.
            source: where it is read.
            plane: the number of the texel along the tensor's lanes.
            everywhere: as :meth:`.TensorTexture.fetch` takes it.
            among: from :meth:`layers`.
            suffix: ends the names of the variables.
        """
        t = value.type
        plane = Num(0.0) if is_one(t.planes) else plane
        if t.in_planes:
            n, _, y, x = source.index
            layer = add(mul(n, t.planes), plane)
        else:
            width, height = t.layout.rows if t.layout and t.layout.rows else t.extent[:2]
            row = flatten(source.index[:-1], t.shape[:-1])
            if statically_equal(width, t.planes):
                x = plane
            else:
                texel = self._let(body, f"texel{suffix}", add(mul(row, t.planes), plane))
                x, row = imod(texel, width), idiv(texel, width)
            if t.layers > 1:
                row = self._let(body, f"texture_row{suffix}", row)
                y, layer = imod(row, height), idiv(row, height)
            else:
                y, layer = row, Num(0.0)
        texture = self.texture(source, value, role)
        where = ivec2(self.expression(x), self.expression(y))
        return texture.fetch(where, self.expression(layer), everywhere, among=among)

    def _let(self, body: Body, name: str, expr: Expr) -> Expr:
        """Declare a variable for an expression that is used twice."""
        if isinstance(expr, (Num, Var)):
            return expr
        body.let(name, self.expression(expr))
        return Var(name)

    def _component(self, texel: Expression, channel: Expr, components: int) -> Expression:
        """Return one element of a texel."""
        if components == 1:
            return texel.x
        lane = self.expression(imod(channel, LANES) if components == LANES else channel)
        if (number := known(lane)) is not None:
            return texel.lanes(LANE[number])
        return SELECT_LANE(texel, lane)

    def expression(self, expr: Expr) -> Expression:
        """Return an index or a condition in the shading language."""
        names = {name: Variable(name, INT) for name in variables(expr)}
        return index(expr, names | self.shader.names_of(expr))


def _reachable(sources: Sequence[Source], lane: str, size: int) -> list[Source]:
    """Drop sources that nothing reads, and conditions that always hold."""
    kept: list[Source] = []
    for source in sources:
        conditions = []
        never = False
        for condition in source.valid:
            if not is_dynamic(size) and set(variables(condition)) <= {lane}:
                holds = np.asarray(evaluate_formula(condition, {lane: np.arange(size)})) != 0
                never = never or not holds.any()
                if holds.all():
                    continue
            conditions.append(condition)
        if never:
            continue
        kept.append(type(source)(source.operand, source.index, tuple(conditions)))
        if not conditions:
            break
    return kept
