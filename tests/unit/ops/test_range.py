"""Evenly spaced numbers computed from sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_runs_like_reference, check_nest, graph_of, image

from shadergen.errors import ShadergenError
from shadergen.ir.expr import Var
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import apply
from shadergen.ir.ops import Pointwise, Range
from shadergen.passes.kernel_ops import Fused

RANGES: dict[str, tuple[Range, Any]] = {
    "fractions": (Range(5, -3, 2, 4), np.arange(5) / 2 - 0.75),
    "downwards": (Range(3, 9, -4), np.array([9.0, 5.0, 1.0])),
    "one number": (Range(1, 7, 0, 3), np.array([7 / 3])),
    "integers": (Range(3, 9, -4, dtype="int64"), np.array([9, 5, 1])),
}


@pytest.mark.parametrize("case", RANGES)
def test_a_range_is_evenly_spaced(case: str) -> None:
    op, wanted = RANGES[case]
    np.testing.assert_allclose(check_nest(op), wanted)


@pytest.mark.gl
def test_what_needs_no_operand_has_an_epilogue_all_the_same() -> None:
    x = image(2, 5)
    fused = apply(Fused(Range(5, 1, 3), 0, epilogue=parse("y / 2")))
    y = apply(Pointwise(parse("x0 * x1")), x, fused)
    assert_runs_like_reference(graph_of(y, inputs=(x,)))
    with pytest.raises(ShadergenError, match="0 operands for arity 0"):
        apply(Fused(Range(5), 0, prologue=(Var("x"),)))


REFUSED = [
    Range(0),
    Range(2, divisor=0),
    Range(9, 1 << 23, 1 << 20),
    Range(32001, -16_000_000, 1001),  # from -16,000,000 to 16,032,000, by way of 32,032,000
    Range(32001, 16_000_000, -1001),
]


@pytest.mark.parametrize("op", REFUSED, ids=str)
def test_numbers_that_float32_does_not_hold_are_refused(op: Range) -> None:
    with pytest.raises(ShadergenError) as caught:
        op.infer()
    assert caught.value.code == "SG0205"
