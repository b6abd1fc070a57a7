"""Fractions of dynamic dimensions: what floats would come to, or refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shadergen.ir.dimensions import DynamicDimensionError, ShapeEnvironment, dimension, hint
from shadergen.ir.dimensions.fraction import SymbolicFraction

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["+", "-", "*", "/", "floor", "ceil"]),
        st.sampled_from([0.5, 1, 2, 3, 7, 16]),
    ),
    max_size=5,
)


def height(default: int) -> int:
    return dimension(ShapeEnvironment({"height": default}, {"height": (1, 16384)}), "height")


def carried_out(x: Any, steps: list[tuple[str, float]], number: Any, whole: Any) -> Any:
    for name, value in steps:
        if name in ("floor", "ceil"):
            x = whole[name](x)
        else:
            n = number(value)
            x = {"+": x + n, "-": x - n, "*": x * n, "/": x / n}[name]
    return x


@given(steps=STEPS, last=st.sampled_from(["floor", "ceil"]), size=st.integers(1, 16384))
def test_whole_numbers_are_those_that_float32_comes_to(
    steps: list[tuple[str, float]], last: str, size: int
) -> None:
    steps = [*steps, (last, 1)]
    try:
        found = math.trunc(
            carried_out(
                SymbolicFraction(height(size)),
                steps,
                float,
                {"floor": math.floor, "ceil": math.ceil},
            )
        )
    except DynamicDimensionError:
        assume(False)
    wanted = carried_out(np.float32(size), steps, np.float32, {"floor": np.floor, "ceil": np.ceil})
    assert hint(found) == int(wanted)


def test_what_floats_round_goes_no_further_than_to_whole_numbers() -> None:
    third = SymbolicFraction(height(64)) / 3
    assert hint(math.trunc(math.ceil(third))) == 22
    for use in (lambda: third * 3, lambda: third + 1, lambda: 1 - third, lambda: third < 21):
        with pytest.raises(DynamicDimensionError, match="sizes that float32 would round"):
            use()


@pytest.mark.parametrize(
    "use",
    (
        lambda h: h * 1.7,
        lambda h: h / h,
        lambda h: h / 0,
        lambda h: h * 4096,
        float,
        bool,
        round,
        lambda h: np.sqrt(np.array(h, object)),
    ),
)
def test_what_would_drop_a_dynamic_dimension_is_refused(use: Any) -> None:
    with pytest.raises(DynamicDimensionError):
        use(SymbolicFraction(height(4096)))
