"""The reach of the result of one loop nest.

The index of each load is a line in the position i (:mod:`.position_lines`). Two lines, the
operand's own reach and the load's, compose.

Near the ends of an axis a nest may do something else: padding, clamped or mirrored indices, tables
of weights that end. These positions are counted, and the reach is made so large that it extends
beyond the picture at them. A tile then discards these positions at its inner borders. The elements
that indices read at these positions are found one position at a time; the reach includes them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from ..ir.dimensions import hint, is_dynamic
from ..ir.evaluation import expand
from ..ir.expr import Call, Expr, Extent, Num, Var, variables, walk
from ..ir.graph import Constant
from ..ir.indexing import Load, Source, coordinates
from ..records import dataclass, replace
from .position_lines import DATA, INFINITY, RULES, Line, PositionError, difference
from .reach import Reach, State, Unbounded, hull, widened
from .repeating_tables import repeating_rows, repeating_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..ir.graph import Value
    from ..ir.nest import Binding, Nest


@dataclass(frozen=True)
class LoadReach:
    """Position i of the result reads slope * i + low to slope * i + high of an operand."""

    operand: int
    slope: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class NestReach:
    """What positions along one axis of a loop nest's result read of its operands.

    Attributes:
        axis: of the result.
        loads: of operands that depend on the input.
        ends: how many first and last positions read something else.
        period: of positions, after which the nest does the same.
    """

    axis: int
    loads: tuple[LoadReach, ...]
    ends: tuple[int, int]
    period: int

    def applied(
        self, states: Sequence[State], layer: str, size: int, extent: int
    ) -> Reach | Unbounded:
        """Return the reach of the result.

        Args:
            states: of the operands.
            layer: of the nest.
            size: of the result's axis.
            extent: of the picture's axis.
        """
        found: Reach | None = None
        for load in self.loads:
            state = states[load.operand]
            assert isinstance(state, Reach)
            reach = Reach(
                self.axis,
                state.scale * load.slope,
                state.scale * load.low + state.low,
                state.scale * load.high + state.high,
                state.period,
            )
            found = reach if found is None else hull(found, reach)
            if found is None:
                return Unbounded(layer)
        assert found is not None
        return widened(found, self.ends, (size, extent), self.period)


class NestWalk:
    """The walk through one loop nest along one axis of its result.

    Attributes:
        reads_data: whether the result depends on the elements of constants.
    """

    def __init__(
        self,
        nest: Nest,
        operands: Sequence[Value],
        states: Sequence[State],
        shape: tuple[int, ...],
    ) -> None:
        self._nest, self._operands, self._states, self._shape = nest, operands, states, shape
        self._env: dict[str, Line] = {}
        self._own = ""  # the name of the position
        self._before = self._after = 0  # positions at the ends where something else happens
        self._period = 1
        self._size = 1
        self.reads_data = False

    def reach(self) -> NestReach | None:
        """Return what the result reads along the operands' axis; None if nothing bounds it.

        Only the axes of the states count, not their numbers.

        Raises:
            PositionError: when the positions follow no rule.
        """
        own = coordinates(len(self._shape))
        axis = self._axis(own)
        if axis is None:
            return None
        self._size = self._shape[axis]
        self._env = {
            o.name: Line(Fraction(0), Fraction(0), Fraction(n - 1))
            for o, n in zip(own, self._shape, strict=True)
        }
        self._own = own[axis].name
        self._env[self._own] = Line(Fraction(1), Fraction(0), Fraction(0))
        for loop in self._nest.loops:
            self._env[loop.name] = (
                DATA
                if is_dynamic(loop.trips)
                else Line(Fraction(0), Fraction(0), Fraction(loop.trips - 1))
            )
        loads: list[LoadReach] = []
        for binding in (*self._nest.once, *self._nest.each_step):
            loads += self._bind(binding)
        formulas = [self._nest.result]
        for accumulator in self._nest.accumulators:
            self._env[accumulator.name] = DATA
            formulas += (accumulator.start, accumulator.step)
        for formula in formulas:
            self._steady(self._line(expand(formula)))
        if not loads:
            return None
        return NestReach(axis, tuple(loads), (self._before, self._after), self._period)

    def _axis(self, own: tuple[Var, ...]) -> int | None:
        """Return the axis of the result that runs along the operands' axis."""
        bound = {b.name: b.value for b in self._nest.bindings}
        for value in bound.values():
            for source in value.sources if isinstance(value, Load) else ():
                state = self._states[source.operand]
                if not isinstance(state, Reach):
                    continue
                names = set(variables(source.index[state.axis]))
                for name in list(names):
                    inner = bound.get(name)
                    if inner is not None:
                        names |= set(
                            inner.variables if isinstance(inner, Load) else variables(inner)
                        )
                spans = {
                    k: self._span(source.index[state.axis], o.name, n)
                    for k, (o, n) in enumerate(zip(own, self._shape, strict=True))
                    if o.name in names and n > 1
                }
                if spans:
                    return max(spans, key=lambda k: spans[k])
        return None

    def _span(self, index: Expr, name: str, size: int) -> float:
        """Return over how many elements an index moves while one coordinate runs."""
        env = {v: Line(Fraction(0), Fraction(0), Fraction(0)) for v in self._names()}
        env[name] = Line(Fraction(1), Fraction(0), Fraction(0))
        self._env, self._size = env, size
        try:
            slope = self._line(expand(index)).slope
        except PositionError:
            slope = Fraction(1)
        self._before = self._after = 0
        self._period = 1
        return float(slope or 1) * size

    def _names(self) -> Iterable[str]:
        yield from (o.name for o in coordinates(len(self._shape)))
        yield from (loop.name for loop in self._nest.loops)
        yield from (b.name for b in self._nest.bindings)
        yield from (a.name for a in self._nest.accumulators)

    def _bind(self, binding: Binding) -> list[LoadReach]:
        """Bind a name; return the reach of the loads."""
        value = binding.value
        if not isinstance(value, Load):
            self._env[binding.name] = self._line(expand(value))
            return []
        self._env[binding.name] = DATA
        found = []
        for source in value.sources:
            for condition in source.valid:
                self._steady(self._line(expand(condition)))
            reach = self._source(source)
            if reach is not None:
                found.append(reach)
        if len(value.sources) == 1:
            line = self._looked_up(value.sources[0])
            self._env[binding.name] = line or DATA
        return found

    def _source(self, source: Source) -> LoadReach | None:
        """Return the reach of one load, in the result's positions."""
        operand, state = self._operands[source.operand], self._states[source.operand]
        found: LoadReach | None = None
        for axis, (index, size) in enumerate(zip(source.index, operand.shape, strict=True)):
            line = self._line(expand(index))
            if isinstance(state, Reach) and axis == state.axis:
                if line.slope <= 0 or line.sized or INFINITY in (-line.low, line.high):
                    raise PositionError
                low, high = cast("Fraction", line.low), cast("Fraction", line.high)
                if line.ended:
                    low, high = self._with_ends(index, line.slope, (low, high), int(hint(size)))
                found = LoadReach(source.operand, line.slope, low, high)
                self._repeat(line.period)
            elif line.slope and hint(size) > 1:
                if state is not None:
                    raise PositionError
                self.reads_data = True
                table = repeating_table(operand, axis)
                if table is None:
                    if self._looked_up(source) is None:
                        raise PositionError
                    continue
                period, before, after = table
                self._ends(math.ceil(before / line.slope), math.ceil(after / line.slope))
                self._repeat(line.period)
                self._repeat((line.slope / period).denominator)
            else:
                self._repeat(line.period)
        return found

    def _with_ends(
        self, index: Expr, slope: Fraction, bounds: tuple[Fraction, Fraction], size: int
    ) -> tuple[Fraction, Fraction]:
        """Return the bounds of a line's remainder, with those at the first and last positions.

        ``size`` is that of the axis that is read.
        """
        low, high = bounds
        kept = self._env, self._before, self._after, self._period
        for i in {*range(self._before), *range(max(0, self._size - self._after), self._size)}:
            self._env = {**kept[0], self._own: Line(Fraction(0), Fraction(i), Fraction(i))}
            for binding in self._nest.bindings:
                value = binding.value
                if not isinstance(value, Load):
                    self._env[binding.name] = self._line(expand(value))
                elif kept[0].get(binding.name, DATA).slope:  # a table of positions
                    self._env[binding.name] = self._entry(value.sources[0])
            line = self._line(expand(index))
            low = min(low, Fraction(max(line.low, 0)) - slope * i)
            high = max(high, Fraction(min(line.high, size - 1)) - slope * i)
        self._env, self._before, self._after, self._period = kept
        return low, high

    def _entry(self, source: Source) -> Line:
        """Return an element of a vector of constants at one position."""
        operand, line = self._operands[source.operand], self._line(expand(source.index[0]))
        assert isinstance(operand, Constant)
        entry = Fraction(int(operand.data[int(line.low)]))
        return Line(Fraction(0), entry, entry)

    def _looked_up(self, source: Source) -> Line | None:
        """Return the line of a vector of constants, such as the starts of a resampling."""
        operand = self._operands[source.operand]
        if not isinstance(operand, Constant) or operand.data.ndim != 1 or source.valid:
            return None
        line = self._line(expand(source.index[0]))
        if line.slope != 1 or line.low != line.high or line.low != 0:
            return None
        self.reads_data = True
        data = np.asarray(operand.data, np.float64)
        repeating = repeating_rows(data[:, np.newaxis], None, 0)
        if repeating is None or repeating[3] != int(repeating[3]):
            return None
        period, before, after, growth = repeating
        slope = Fraction(int(growth), period)
        inner = range(before, len(data) - after)
        rest = [Fraction(int(data[i])) - slope * i for i in inner]
        if not rest:
            return None
        self._ends(before, after)
        return Line(slope, min(rest), max(rest), period, ended=before + after > 0)

    def _steady(self, line: Line) -> None:
        """Refuse a number that grows with the position."""
        if line.slope:
            raise PositionError
        self._repeat(line.period)

    def _repeat(self, period: int) -> None:
        self._period = math.lcm(self._period, period)

    def _ends(self, before: int, after: int) -> None:
        self._before, self._after = max(self._before, before), max(self._after, after)

    def _line(self, expr: Expr) -> Line:
        """Return the line of an expression.

        Raises:
            PositionError: when it is none.
        """
        known: dict[Expr, Line] = {}
        for e in walk(expr):
            if isinstance(e, Num):
                real = Fraction(e.value) if math.isfinite(e.value) else e.value
                known[e] = Line(Fraction(0), real, real)
            elif isinstance(e, Extent):
                size = Fraction(int(hint(cast("int", e.size))))
                known[e] = Line(Fraction(0), size, size, sized=True)
            elif isinstance(e, Var):
                known[e] = self._env.get(e.name, DATA)
            else:
                known[e] = self._call(e, [known[a] for a in e.args])
        return known[expr]

    def _call(self, e: Call, args: list[Line]) -> Line:
        period = math.lcm(*(a.period for a in args)) if args else 1
        sized, ended = any(a.sized for a in args), any(a.ended for a in args)
        rule = RULES.get(e.function)
        if rule is not None:
            found = rule(*args)
            if found is not None:
                period = math.lcm(period, found.period)
                return replace(found, period=period, sized=sized, ended=ended)
        if e.function in ("min", "max"):
            after = self._interior(difference(args[0], args[1]), equal=True)
            if after is not None:
                larger = after if e.function == "max" else not after
                chosen = args[0] if larger else args[1]
                return replace(chosen, period=period, ended=True)
        if e.function in ("lt", "le", "eq"):
            after = self._interior(difference(args[0], args[1]))
            if after is not None:
                truth = Fraction(int(e.function != "eq" and not after))
                return Line(Fraction(0), truth, truth, period, ended=True)
        if e.function == "where":
            condition, a, b = args
            if condition.is_number:
                return replace(a if condition.low else b, period=period, ended=ended)
            if a.slope == b.slope:
                low, high = min(a.low, b.low), max(a.high, b.high)
                return Line(a.slope, low, high, period, sized, ended)
        if any(a.slope for a in args):
            raise PositionError
        return replace(DATA, period=period)

    def _interior(self, gap: Line, equal: bool = False) -> bool | None:
        """Whether a difference that changes its sign near an end is positive elsewhere.

        The positions up to the change of sign count as an end. None for differences that do not
        grow.
        """
        slope, low, high = gap.slope, gap.low, gap.high
        if not slope or INFINITY in (-low, high):
            return None
        changes = sorted((-low / slope, -high / slope))
        before = max(0, math.floor(changes[1]) + 1)
        after = max(0, self._size - math.ceil(changes[0]))
        if equal:  # where both are equal, it does not matter which one is taken
            before = max(0, math.ceil(changes[1]))
            after = max(0, self._size - 1 - math.floor(changes[0]))
        if before <= after:
            self._ends(before, 0)
            return slope > 0
        self._ends(0, after)
        return slope < 0
