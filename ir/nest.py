"""Loop nests: what one element of a result is, as loops over elements of operands.

A :class:`Nest` is how every operator without a kernel of its own is computed: movement, pooling,
reductions, products of matrices, gathers by computed indices. For the element at (o0, o1, ...):

    u0, u1, ...                          each binding of ``outer``, in order
    a = start
    for k0 in range(loops[0]): for k1 in range(loops[1]): ...
        v0, v1, ...                      each binding of ``inner``, in order
        a = step
    result = finish

Reductions that need more than one number for an element have further accumulators, b, c, ...: each
has a start and a step of its own, and all steps see what all accumulators were before.

A binding is a :class:`~.indexing.Load` or an expression. Two worlds meet here. Indices and
conditions of loads are **integer** expressions of o, k, and of bindings before them, which are
rounded to the nearest integer (so an index may be data, exact up to 2^24). Everything else is
**floating point**: expressions of o, k (as floats), u, v, and in ``step`` and ``finish`` of a.
``start`` sees u and o, ``finish`` sees the accumulators, u and o.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .evaluation import evaluate
from .expr import Expr, Num, Var, variables
from .indexing import Load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .expr import Compute

Binding = Load | Expr
ZERO = Num(0.0)


@dataclass(frozen=True)
class Nest:
    """See the module. Without loops, ``finish`` is u0 by default and ``start`` is not used."""

    outer: tuple[Binding, ...] = ()
    loops: tuple[int, ...] = ()
    inner: tuple[Binding, ...] = ()
    start: Expr = ZERO
    step: Expr | None = None
    finish: Expr | None = None
    others: tuple[tuple[Expr, Expr], ...] = ()  # start and step of b, c, ...

    @property
    def accumulators(self) -> tuple[tuple[str, Expr, Expr], ...]:
        """Name, start and step of each accumulator."""
        own = ((self.start, self.step or Var("a")), *self.others)
        return tuple((chr(ord("a") + k), *pair) for k, pair in enumerate(own))

    @property
    def result(self) -> Expr:
        """``finish``, or its default: the accumulator, or the first binding where no loop is."""
        return self.finish or Var("a" if self.loops else "u0")

    @property
    def steps(self) -> int:
        """How often the loops' body runs for one element."""
        return prod(self.loops)

    def loads(self) -> Iterator[tuple[str, Load]]:
        """Yield every load with the name of what it binds."""
        for prefix, bindings in (("u", self.outer), ("v", self.inner)):
            for position, binding in enumerate(bindings):
                if isinstance(binding, Load):
                    yield f"{prefix}{position}", binding

    def formulas(self) -> Iterator[Expr]:
        """Yield every floating-point expression."""
        yield from (b for b in (*self.outer, *self.inner) if not isinstance(b, Load))
        if self.loops:
            for _, start, step in self.accumulators:
                yield from (start, step)
        yield self.result

    def index_operands(self) -> set[int]:
        """Return the operands whose elements decide where others are read."""
        bound = {f"u{k}": b for k, b in enumerate(self.outer)}
        bound |= {f"v{k}": b for k, b in enumerate(self.inner)}
        sources = [s for _, load in self.loads() for s in load.sources]
        todo = {name for s in sources for e in (*s.index, *s.valid) for name in variables(e)}
        operands: set[int] = set()
        seen: set[str] = set()
        while todo:
            seen.add(name := todo.pop())
            binding = bound.get(name)
            if isinstance(binding, Load):
                operands |= {s.operand for s in binding.sources}
            elif binding is not None:
                todo |= set(variables(binding)) - seen
        return operands

    def counts(self) -> bool:
        """Whether coordinates or indices are computed: 16-bit floats hold them only to 2048."""
        names = {name for e in self.formulas() for name in variables(e)}
        sources = [s for _, load in self.loads() for s in load.sources]
        indices = {name for s in sources for e in (*s.index, *s.valid) for name in variables(e)}
        return any(n[0] in "ok" for n in names) or any(n[0] in "uv" for n in indices)

    def evaluate(
        self,
        shape: Sequence[int],
        operands: Sequence[NDArray[np.generic]],
        compute: Compute = evaluate,
    ) -> NDArray[Any]:
        """Carry the nest out with numpy: one step of the loops after the other, so it takes long.

        ``compute`` evaluates its formulas.
        """
        grid = np.meshgrid(*(np.arange(s) for s in shape), indexing="ij")
        env: dict[str, Any] = {f"o{axis}": g for axis, g in enumerate(grid)}
        self._bind("u", self.outer, env, operands, compute)
        if self.loops:
            env |= {name: compute(start, env) for name, start, _ in self.accumulators}
            for position in product(*map(range, self.loops)):
                env |= {f"k{axis}": np.asarray(k) for axis, k in enumerate(position)}
                self._bind("v", self.inner, env, operands, compute)
                env |= {name: compute(step, env) for name, _, step in self.accumulators}
        return np.broadcast_to(compute(self.result, env), tuple(shape))

    @staticmethod
    def _bind(
        prefix: str,
        bindings: tuple[Binding, ...],
        env: dict[str, Any],
        operands: Sequence[NDArray[np.generic]],
        compute: Compute,
    ) -> None:
        for position, binding in enumerate(bindings):
            if isinstance(binding, Load):
                integers = {
                    name: np.floor(np.asarray(value) + 0.5) if name[0] in "uv" else value
                    for name, value in env.items()
                    if name[0] in "okuv"
                }
                found = binding.evaluate(integers, operands)
                # Indices stay integers, all else is a float as on the GPU.
                value = found.astype(np.result_type(found, np.float32))
            else:
                value = compute(binding, env)
            env[f"{prefix}{position}"] = value
