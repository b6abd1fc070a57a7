"""Operation counts of one invocation of a program.

A loop body counts once for each trip, a function once for each call, a branch as taken. The unit is
a vector of four: an operation on one float counts a quarter. Integer arithmetic and literals do not
count.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ...errors import InternalError
from ...ir.types import LANES
from ...records import replace
from .expressions import (
    Binary,
    BuiltIn,
    Column,
    Conditional,
    Construct,
    Element,
    Intrinsic,
    Invoke,
    Lanes,
    Negative,
    Number,
    Numbers,
    Texel,
    Uniform,
    Variable,
    known,
)
from .liveness import most_alive
from .statements import Add, Loop, MultiplyAdd, WriteImage, WriteTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .expressions import Expression
    from .program import Function, Program
    from .statements import Statement
    from .types import Type

PROMOTION = 2  # operations that add a 16-bit sum to a 32-bit one: a conversion, an addition
LEAVES = {Variable, Number, Numbers, Uniform, BuiltIn}
REARRANGED = {Lanes, Construct, Column}  # only their operands count


def _none() -> defaultdict[str, int]:
    return defaultdict(int)


def _no_share() -> defaultdict[str, float]:
    return defaultdict(float)


@dataclass
class Counts:
    """Operation counts of one invocation.

    Attributes:
        reads: of texels, by their kind.
        unread: how many of ``reads`` are not executed, because a function chooses one of several
            textures. Each texture is assumed to be chosen equally often.
        elements: reads from buffers, by the name of the array.
        constant_elements: how many of ``elements`` have a constant index.
        multiplies: multiply-adds to a variable.
        operations: other arithmetic of floats.
        stores: vectors written.
        code: multiply-adds to variables in the text: each loop's once, functions where called.
        text: all arithmetic of floats in the text.
        accumulators: variables that something is added to, as :meth:`Outline.total` counts.
        alive_outside: scalars that are alive at once (:mod:`.liveness`) outside of loops, of a
            whole program.
        alive_inside: the same in loops.
    """

    reads: defaultdict[str, int] = field(default_factory=_none)
    unread: defaultdict[str, float] = field(default_factory=_no_share)
    elements: defaultdict[str, int] = field(default_factory=_none)
    constant_elements: defaultdict[str, int] = field(default_factory=_none)
    multiplies: float = 0.0
    operations: float = 0.0
    stores: int = 0
    code: float = 0.0
    text: float = 0.0
    accumulators: int = 0
    alive_outside: int = 0
    alive_inside: int = 0

    @property
    def alive(self) -> int:
        """Scalars that are alive at once, of a whole program."""
        return max(self.alive_outside, self.alive_inside)

    def multiply(self, left: Type, right: Type) -> None:
        """Count a product that is added to something."""
        lanes = left.columns * left.lanes if left.is_matrix else max(left.lanes, right.lanes)
        self.multiplies += lanes / LANES
        self.code += lanes / LANES
        self.text += lanes / LANES

    def operate(self, type: Type) -> None:
        """Count an operator or a function that gives a float, or a bool of floats."""
        if type.scalar in ("float", "bool"):
            self.operations += type.lanes / LANES
            self.text += type.lanes / LANES

    def add(self, other: Counts, trips: int = 1) -> None:
        """Add what is done so many times."""
        for name, n in other.reads.items():
            self.reads[name] += n * trips
        for name, share in other.unread.items():
            self.unread[name] += share * trips
        for array, n in other.elements.items():
            self.elements[array] += n * trips
        for array, n in other.constant_elements.items():
            self.constant_elements[array] += n * trips
        self.multiplies += other.multiplies * trips
        self.operations += other.operations * trips
        self.stores += other.stores * trips
        self.code += other.code
        self.text += other.text

    def grown(self, larger: Counts, steps: int) -> Counts:
        """Return these counts plus ``steps`` times what ``larger`` has more."""

        def each(now: defaultdict[str, int], then: defaultdict[str, int]) -> defaultdict[str, int]:
            names = now | then
            return defaultdict(int, {n: now[n] + (then[n] - now[n]) * steps for n in names})

        values = ((f.name, getattr(self, f.name), getattr(larger, f.name)) for f in fields(self))
        after: dict[str, Any] = {
            name: each(a, b) if isinstance(a, defaultdict) else a + (b - a) * steps
            for name, a, b in values
        }
        return Counts(**after)


@dataclass
class Outline:
    """What a block of a program does: ``own`` once, and blocks in it that have loops.

    ``sums`` are the names of the variables that it adds something to, those of its blocks included;
    ``alive`` is the most that is alive at once outside of loops and in them, of a whole program.
    """

    own: Counts = field(default_factory=Counts)
    blocks: list[tuple[Loop | None, Outline]] = field(default_factory=list)
    sums: set[str] = field(default_factory=set)
    alive: tuple[int, int] = (0, 0)

    def include(self, block: Outline, loop: Loop | None = None) -> None:
        """Add a block that is done once, or as often as a loop says."""
        self.sums |= block.sums
        if loop is None and not block.blocks:
            self.own.add(block.own)
        else:
            self.blocks.append((loop, block))

    def trips_at(self, uniforms: Mapping[str, int]) -> dict[str, int]:
        """Return the trip counts of loops between uniforms, by the names of their counters."""
        found = {}
        for loop, block in self.blocks:
            if loop is not None and known(loop.end) is None:
                start, end = (_value(e, uniforms) for e in (loop.start, loop.end))
                if start is not None and end is not None:
                    found[loop.counter.name] = -(-(end - start) // loop.step)
            found |= block.trips_at(uniforms)
        return found

    def total(self, trips: Mapping[str, int]) -> Counts:
        """Return the counts of the block with all trips of its loops.

        Args:
            trips: the trip counts of loops, by counter name. Other loops have constant bounds.

        Raises:
            InternalError: if a loop has neither a trip count in ``trips`` nor constant bounds.
        """
        outside, inside = self.alive
        found = Counts(accumulators=len(self.sums), alive_outside=outside, alive_inside=inside)
        found.add(self.own)
        for loop, block in self.blocks:
            found.add(block.total(trips), 1 if loop is None else _trips(loop, trips))
        return found


def outline(program: Program, kind: Callable[[Texel], str]) -> Outline:
    """Return what an invocation of a program does, by the loops it does it in.

    Args:
        program: to count in.
        kind: returns what a read of a texel counts as.
    """
    found = loops(program, kind)
    found.alive = most_alive(program)
    return found


def loops(program: Program, kind: Callable[[Texel], str]) -> Outline:
    """Return the outline of a program without ``alive``, which takes most of the time."""
    return _Outliner(kind).block(program.main)


class _Outliner:
    """Outlines statements; each function once."""

    def __init__(self, kind: Callable[[Texel], str]) -> None:
        self._kind = kind
        self._functions: dict[Function, Outline] = {}

    def block(self, statements: Sequence[Statement]) -> Outline:
        found = Outline()
        own = found.own
        for s in statements:
            if isinstance(s, MultiplyAdd):
                found.sums.add(s.target.name)
                for left, right in s.products:
                    own.multiply(left.type, right.type)
                if s.summed_first:
                    for _ in range(PROMOTION):
                        own.operate(s.target.type)
            elif isinstance(s, Add) and s.target.type.scalar == "float":
                found.sums.add(s.target.name)
                if not _is_product(s.value):
                    own.operate(s.target.type)
            elif isinstance(s, (WriteTarget, WriteImage)):
                own.stores += 1
            for e in s.expressions:
                if type(e) not in LEAVES:
                    self._expression(e, found)
            for inner in s.bodies:
                loop = replace(s, body=()) if isinstance(s, Loop) else None  # statements are let go
                found.include(self.block(inner), loop)
        return found

    def _function(self, function: Function) -> Outline:
        if function not in self._functions:
            found = self._functions[function] = self.block(function.body)
            if function.chooses:
                reads = found.own.reads
                for kind, n in reads.items():
                    found.own.unread[kind] += n * (1 - 1 / sum(reads.values()))
        return self._functions[function]

    def _expression(self, expression: Expression, found: Outline) -> None:
        own, stack = found.own, [expression]
        while stack:
            e = stack.pop()
            if type(e) in LEAVES:
                continue
            if type(e) in REARRANGED:
                stack += e.operands
                continue
            if isinstance(e, Binary):
                stack += _binary(e, own)
                continue
            if isinstance(e, Texel):
                own.reads[self._kind(e)] += 1
            elif isinstance(e, Element):
                if e.array.buffer is not None:
                    own.elements[e.array.name] += 1
                    own.constant_elements[e.array.name] += _all_known(e.operands)
            elif isinstance(e, Invoke):
                called = self._function(e.function)
                found.include(called)
                if _all_known(e.operands):  # so is an index that follows from an argument
                    for array, n in called.own.elements.items():
                        own.constant_elements[array] += n - called.own.constant_elements[array]
            elif isinstance(e, (Conditional, Intrinsic, Negative)):
                own.operate(e.type)
            stack += e.operands


def _all_known(values: Sequence[Expression]) -> bool:
    return all(known(value) is not None for value in values)


def _binary(e: Binary, own: Counts) -> tuple[Expression, ...]:
    """Count an operator, with a product that it adds to; return the operands of what is counted."""
    left, right = e.left, e.right
    if left.type.scalar != "float":
        return left, right
    if e.operator == "*" and left.type.is_matrix:
        own.multiply(left.type, right.type)
        return left, right
    own.operate(e.type)
    if e.operator in ("+", "-"):
        for product, other in ((left, right), (right, left)):
            if _is_product(product):
                return *product.operands, other
    return left, right


def _is_product(e: Expression) -> bool:
    return isinstance(e, Binary) and e.operator == "*" and not e.left.type.is_matrix


def _value(e: Expression, uniforms: Mapping[str, int]) -> int | None:
    """Return the value of a number, a uniform, or a sum of these; None for others."""
    if isinstance(e, Uniform):
        return uniforms[e.name]
    if isinstance(e, Binary) and e.operator == "+":
        left, right = (_value(part, uniforms) for part in (e.left, e.right))
        return None if left is None or right is None else left + right
    return known(e)


def _trips(loop: Loop, trips: Mapping[str, int]) -> int:
    if loop.counter.name in trips:
        return trips[loop.counter.name]
    start, end = known(loop.start), known(loop.end)
    if start is None or end is None:
        raise InternalError(f"the trips of the loop over {loop.counter.name} are unknown")
    return -(-(end - start) // loop.step)
