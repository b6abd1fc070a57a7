"""Loop nests: what one element of a result is, as loops over elements of operands.

A :class:`Nest` is how every operator without a kernel of its own is computed: movement, pooling,
reductions, products of matrices, gathers by computed indices. For the element at the result's
coordinates (``indexing.coordinates``: batch, channel, row, column):

    each binding of ``once``, in order
    each accumulator = its start
    for loops[0] in range(trips): for loops[1] in range(trips): ...
        each binding of ``each_step``, in order
        each accumulator = its step, which sees what all accumulators were before
    the element = ``result``

**Names.** Coordinates, loops, bindings and accumulators have names that say what they hold (value,
weight, maximum), and a nest has each name once. Only the nest says what a name stands for; nothing
follows from its spelling. The shader's variables have the same names.
:class:`~.nest_builder.NestBuilder` makes nests and refuses a second use of a name.

**Data flow.** A binding is a :class:`~.indexing.Load` or an expression. It reads coordinates, the
loops around it and bindings before it. Indices and conditions of loads are **integer** expressions,
in which a binding is rounded to the nearest integer (so an index may be data, exact up to 2^24).
All other expressions are **floating point**, and so are coordinates and loops in them. A start
reads coordinates and ``once``, a step reads all names, and the result reads coordinates, ``once``
and the accumulators.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..records import dataclass
from .evaluation import evaluate_formula
from .expr import Expr, Extent, Var, variables, walk
from .indexing import Load, coordinates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from .expr import Compute


@dataclass(frozen=True)
class Binding:
    """A name for an element of an operand, or for the value of a formula."""

    name: str
    value: Load | Expr


@dataclass(frozen=True)
class Loop:
    """A variable that counts from 0 to ``trips`` - 1."""

    name: str
    trips: int


@dataclass(frozen=True)
class Accumulator:
    """A number that the loops carry from step to step."""

    name: str
    start: Expr
    step: Expr


@dataclass(frozen=True)
class Nest:
    """See the module. Without loops there are no bindings in ``each_step`` and no accumulators."""

    result: Expr
    once: tuple[Binding, ...] = ()
    loops: tuple[Loop, ...] = ()
    each_step: tuple[Binding, ...] = ()
    accumulators: tuple[Accumulator, ...] = ()

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """All bindings, in order."""
        return self.once + self.each_step

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names of all bindings."""
        return frozenset(b.name for b in self.bindings)

    @property
    def steps(self) -> int:
        """How often the loops' body runs for one element."""
        return prod(loop.trips for loop in self.loops)

    def formulas(self) -> Iterator[Expr]:
        """Yield every floating-point expression."""
        yield from (b.value for b in self.bindings if not isinstance(b.value, Load))
        for accumulator in self.accumulators:
            yield from (accumulator.start, accumulator.step)
        yield self.result

    def index_operands(self) -> set[int]:
        """Return the operands whose elements decide where others are read."""
        bound = {b.name: b.value for b in self.bindings}
        todo = {name for _, load in loads_of(self.bindings) for name in load.variables}
        operands: set[int] = set()
        seen: set[str] = set()
        while todo:
            seen.add(name := todo.pop())
            value = bound.get(name)
            if isinstance(value, Load):
                operands |= {s.operand for s in value.sources}
            elif value is not None:
                todo |= set(variables(value)) - seen
        return operands

    def counts(self) -> bool:
        """Whether coordinates or indices are computed: 16-bit floats hold them only to 2048."""
        if any(not self.bound.isdisjoint(load.variables) for _, load in loads_of(self.bindings)):
            return True
        known = self.bound | {a.name for a in self.accumulators}
        names = (e for formula in self.formulas() for e in walk(formula) if isinstance(e, Var))
        return any(e.name not in known and not isinstance(e, Extent) for e in names)

    def run(
        self,
        shape: Sequence[int],
        operands: Sequence[NDArray[np.generic]],
        compute: Compute = evaluate_formula,
    ) -> NDArray[Any]:
        """Carry the nest out with numpy: one step of the loops after the other, so it takes long.

        ``compute`` evaluates its formulas.
        """
        grid = np.meshgrid(*(np.arange(s) for s in shape), indexing="ij")
        names = (o.name for o in coordinates(len(shape)))
        env: dict[str, Any] = dict(zip(names, grid, strict=True))
        self._bind(self.once, env, operands, compute)
        env |= {a.name: compute(a.start, env) for a in self.accumulators}
        for position in product(*(range(loop.trips) for loop in self.loops)):
            for loop, count in zip(self.loops, position, strict=True):
                env[loop.name] = np.asarray(count)
            self._bind(self.each_step, env, operands, compute)
            env |= {a.name: compute(a.step, env) for a in self.accumulators}
        return np.broadcast_to(compute(self.result, env), tuple(shape))

    def _bind(
        self,
        bindings: tuple[Binding, ...],
        env: dict[str, Any],
        operands: Sequence[NDArray[np.generic]],
        compute: Compute,
    ) -> None:
        accumulators = {a.name for a in self.accumulators}
        for binding in bindings:
            if isinstance(binding.value, Load):
                integers = {
                    name: np.floor(np.asarray(value) + 0.5) if name in self.bound else value
                    for name, value in env.items()
                    if name not in accumulators
                }
                found = binding.value.read(integers, operands)
                # Indices stay integers, all else is a float as on the GPU.
                value = found.astype(np.result_type(found, np.float32))
            else:
                value = compute(binding.value, env)
            env[binding.name] = value


def loads_of(bindings: Iterable[Binding]) -> Iterator[tuple[str, Load]]:
    """Yield the name and the load of each binding that is one."""
    for binding in bindings:
        if isinstance(binding.value, Load):
            yield binding.name, binding.value
