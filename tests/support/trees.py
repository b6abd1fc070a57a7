"""Random expressions. hypothesis would draw small ones over and over; these spread evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadergen.ir.expr import Call, Expr, Num, Var

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def trees(
    count: int, arity: Mapping[str, int], names: str, numbers: Sequence[float]
) -> Iterator[Expr]:
    """Yield ``count`` expressions of up to a dozen calls, the same ones every time."""
    rng = np.random.default_rng(0)
    functions = sorted(arity)

    def tree(calls: int) -> Expr:
        if calls == 0:
            if rng.random() < 0.6:
                return Var(names[rng.integers(len(names))])
            return Num(float(numbers[rng.integers(len(numbers))]))
        function = functions[rng.integers(len(functions))]
        # share out the other calls among the arguments
        shares = rng.multinomial(calls - 1, [1 / arity[function]] * arity[function])
        return Call(function, tuple(tree(int(share)) for share in shares))

    for _ in range(count):
        yield tree(int(rng.integers(0, 13)))
