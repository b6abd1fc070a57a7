"""How many floats and ints of a program are alive at once, statement by statement.

A compiler reorders what it may, so its registers can be more or fewer. What a kernel keeps across a
loop, the accumulators first of all, and what a step of it reads hardly depend on the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .expressions import BuiltIn, Invoke, Number, Numbers, Uniform, Variable, known
from .statements import Add, Assign, Declare, Loop, MultiplyAdd, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .expressions import Expression
    from .program import Function, Program
    from .statements import Statement
    from .types import Type

UNROLLED = 4  # trips of a loop that compilers unroll
FREE = {Variable, Number, Numbers, Uniform, BuiltIn}  # alive already, or no register's


def most_alive(program: Program) -> tuple[int, int]:
    """Return how many scalars are alive at most at one point outside of loops, and in loops."""
    _, outside, inside = _Liveness().block(program.main, {})
    return outside, inside


def _size(t: Type) -> int:
    return t.lanes * t.columns


class _Liveness:
    """Goes through statements from the last to the first; through each function once."""

    def __init__(self) -> None:
        self._functions: dict[Function, int] = {}
        # By the identity of statements: what they need, and what they read and declare.
        self._needs: dict[int, tuple[dict[str, int], int]] = {}
        self._names: dict[int, tuple[dict[str, int], set[str]]] = {}

    def block(
        self, statements: Sequence[Statement], after: Mapping[str, int]
    ) -> tuple[dict[str, int], int, int]:
        """Return what is alive before statements, and the most outside and inside of their loops.

        Args:
            statements: in order.
            after: the sizes of the variables that are read after them.

        Returns:
            The sizes of variables, and two numbers of scalars.
        """
        alive, outside, inside = dict(after), sum(after.values()), 0
        for s in reversed(statements):
            if isinstance(s, Declare):
                alive.pop(s.variable.name, None)
            elif isinstance(s, Assign):
                alive.pop(s.target.name, None)
            elif isinstance(s, (Add, MultiplyAdd)):
                alive[s.target.name] = _size(s.target.type)
            for body in s.bodies:
                own: dict[str, int] = {}
                if isinstance(s, Loop):  # the next step reads what this one leaves
                    own = {s.counter.name: 1}
                    alive |= self._from_outside(body)
                    alive.pop(s.counter.name, None)
                before, *most = self.block(body, alive | own)
                if isinstance(s, Loop):
                    inside = max(inside, max(most) + _overlap(s))
                else:
                    outside, inside = max(outside, most[0]), max(inside, most[1])
                alive |= {name: size for name, size in before.items() if name not in own}
            read, working = self._need(s)
            alive |= read
            outside = max(outside, sum(alive.values()) + working)
        return alive, outside, inside

    def _need(self, s: Statement) -> tuple[dict[str, int], int]:
        """Return the sizes of the variables that a statement reads, and the scalars it needs."""
        if id(s) not in self._needs:
            read: dict[str, int] = {}
            working = sum(work for work, _ in self._evaluated(s.expressions, read))
            self._needs[id(s)] = read, working
        return self._needs[id(s)]

    def _evaluated(
        self, expressions: Sequence[Expression], read: dict[str, int]
    ) -> Iterator[tuple[int, int]]:
        """Yield the scalars that each expression needs while it is evaluated, and its own.

        The sizes of the variables that they read are added to ``read``.
        """
        for e in expressions:
            if type(e) is Variable:
                read[e.name] = _size(e.type)
            elif type(e) not in FREE:
                yield self._working(e, read), _size(e.type)

    def _working(self, e: Expression, read: dict[str, int]) -> int:
        """Return how many scalars an expression needs, its value included."""
        held = most = 0
        for working, size in self._evaluated(e.operands, read):
            most = max(most, held + working)
            held += size
        inside = self._function(e.function) if isinstance(e, Invoke) else 0
        return max(most, held + inside, _size(e.type))

    def _function(self, function: Function) -> int:
        if function not in self._functions:
            results = {v.name: _size(v.type) for v in function.results}
            self._functions[function] = max(self.block(function.body, results)[1:])
        return self._functions[function]

    def _from_outside(self, body: Sequence[Statement]) -> dict[str, int]:
        """Return the sizes of the variables that statements read or add to but do not declare."""
        found, declared = self._read_and_declared(body)
        return {name: size for name, size in found.items() if name not in declared}

    def _read_and_declared(self, body: Sequence[Statement]) -> tuple[dict[str, int], set[str]]:
        """Return the sizes of variables that statements read or add to, and what they declare."""
        found: dict[str, int] = {}
        declared: set[str] = set()
        for s in body:
            found |= self._need(s)[0]
            if isinstance(s, (Add, MultiplyAdd)):
                found[s.target.name] = _size(s.target.type)
            elif isinstance(s, Declare):
                declared.add(s.variable.name)
            elif isinstance(s, Loop):
                declared.add(s.counter.name)
            for inner in s.bodies:
                if id(s) not in self._names:
                    self._names[id(s)] = self._read_and_declared(inner)
                names, own = self._names[id(s)]
                found |= names
                declared |= own
        return found, declared


def _overlap(s: Statement) -> int:
    """Return how many scalars of a loop's next step are alive before a step ends.

    Compilers unroll short loops of known trips that have no loops in them, and begin the next step
    early. Only variables that the loop's body itself declares count, not those of nested scopes.
    The inner trips of a loop do not count: kernels have inner loops only where no compiler was seen
    to spill.
    """
    if not isinstance(s, Loop) or any(isinstance(inner, Loop) for inner in walk(s.body)):
        return 0
    first, last = known(s.start), known(s.end)
    if first is None or last is None or -(-(last - first) // s.step) > UNROLLED:
        return 0
    return sum(_size(inner.variable.type) for inner in s.body if isinstance(inner, Declare))
