"""How operators write loop nests: names first, meaning next to them, in the order of the shader.

    nest = NestBuilder()
    inner = nest.loop("inner", a.shape[-1])
    nest.load("left", 0, (row, inner))
    nest.load("right", 1, (inner, column))
    nest.add_up("total", "left * right")
    return nest.give("total")

Formulas may be text, in which names are those of the nest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .algebra import fold
from .dimensions import is_one
from .expr import Call, Expr, Num, Var, substitute
from .formula_parser import parse
from .indexing import COORDINATES, Load, Source
from .nest import Accumulator, Binding, Loop, Nest

if TYPE_CHECKING:
    from collections.abc import Sequence


ZERO = Num(0.0)


class NestBuilder:
    """A loop nest under construction. What is bound after the first loop belongs to its steps."""

    def __init__(self) -> None:
        self._names = set(COORDINATES)
        self._looping = False
        self._once: list[Binding] = []
        self._loops: list[Loop] = []
        self._each_step: list[Binding] = []
        self._accumulators: list[Accumulator] = []

    def loop(self, name: str, trips: int) -> Expr:
        """Loop within the loops so far; return the counter, 0 for one trip, which is no loop."""
        self._looping = True
        if is_one(trips):
            return ZERO
        counter = self._named(name)
        self._loops.append(Loop(name, trips))
        return counter

    def loops(self, names: Sequence[str], trips: Sequence[int]) -> list[Expr]:
        """Loop over several axes, the first outermost, and return the counters."""
        return [self.loop(name, count) for name, count in zip(names, trips, strict=True)]

    def load(
        self,
        name: str,
        operand: int,
        index: Sequence[Expr],
        valid: Sequence[Expr] = (),
        fill: float = 0.0,
    ) -> Var:
        """Bind the element of an operand at an index, or ``fill`` where ``valid`` does not hold."""
        return self.bind(name, Load((Source(operand, tuple(index), tuple(valid)),), fill))

    def bind(self, name: str, value: Load | Expr | str) -> Var:
        """Bind a load or a formula."""
        bindings = self._each_step if self._looping else self._once
        bindings.append(Binding(name, value if isinstance(value, Load) else formula(value)))
        return self._named(name)

    def accumulate(self, name: str, step: Expr | str, start: Expr = ZERO) -> Var:
        """Carry a number from step to step: ``step`` reads it by its name."""
        self._accumulators.append(Accumulator(name, start, formula(step)))
        return self._named(name)

    def add_up(self, name: str, term: Expr | str, start: Expr = ZERO) -> Var:
        """Add ``term`` up over the steps."""
        return self.accumulate(name, Call("add", (Var(name), formula(term))), start)

    def give(self, result: Expr | str) -> Nest:
        """Return the nest; ``result`` is the element."""
        value = formula(result)
        once, each_step = tuple(self._once), tuple(self._each_step)
        if self._loops:
            accumulators = tuple(self._accumulators)
            return Nest(value, once, tuple(self._loops), each_step, accumulators)
        # One step, or none: what is accumulated is the first step's.
        starts: dict[str, Expr] = {a.name: a.start for a in self._accumulators}
        sums = {a.name: fold(substitute(a.step, starts)) for a in self._accumulators}
        return Nest(substitute(value, sums), once + each_step)

    def _named(self, name: str) -> Var:
        if name in self._names:
            raise ValueError(f"a loop nest uses the name '{name}' twice")
        self._names.add(name)
        return Var(name)


def formula(value: Expr | str) -> Expr:
    """Return an expression, parsed if it is text."""
    return parse(value) if isinstance(value, str) else value
