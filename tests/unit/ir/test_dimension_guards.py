"""Comparisons of dynamic dimensions: decided by bounds, or a constraint that names the layer."""

from __future__ import annotations

from typing import Any

import pytest
from support.dimensions import holds, new, value

from shadergen.backends.constraints import sizes_member
from shadergen.ir.dimensions import (
    ShapeEnvironment,
    at_layer,
    bounds,
    is_one,
    largest,
)
from shadergen.ir.types import broadcast


def constraints(environment: ShapeEnvironment) -> list[str]:
    member: Any = sizes_member(environment)
    return [c["why"] for c in member["constraints"]]


def test_what_bounds_decide_is_no_constraint() -> None:
    environment, h, w = new()
    assert h >= 1
    assert h + 1 > 1
    assert h * w > 0
    assert not h < 1
    assert h <= 4096
    assert (h + 1) // 2 >= 1
    assert not constraints(environment)
    assert environment.bounds == {"height": (1, 4096), "width": (1, 4096)}


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("added", [0, 1, 7])
@pytest.mark.parametrize("more", [-1, 0, 4])
def test_a_remainder_is_known_of_quotients_too(n: int, m: int, added: int, more: int) -> None:
    """As of the sizes that a network has halved already."""
    environment, height, _ = new()
    x = (height + added) // m + more
    remainder = x - x // n * n
    assert bounds(remainder) == (0, n - 1)
    assert bounds(-remainder) == (1 - n, 0)
    assert remainder >= 0
    assert not environment.guards
    assert environment.bounds["height"] == (1, 4096)
    found = {value(remainder, {"height": h, "width": 1}) for h in range(1, 40)}
    assert found == set(range(n))


def test_what_is_no_remainder_has_other_bounds() -> None:
    _, height, _ = new()
    for other in (height // 2 - height // 6 * 2, height // 2 - (height + 1) // 4 * 2):
        low, high = bounds(other)
        found = [value(other, {"height": h, "width": 1}) for h in range(1, 4097)]
        assert low <= min(found)
        assert max(found) <= high


def test_a_bound_on_a_parameter_narrows_it() -> None:
    environment, h, w = new()
    with at_layer("double"):
        assert 2 * h <= 4096
    with at_layer("pool"):
        assert (h - 5) // 4 >= 3
        assert w > 2
    assert environment.bounds == {"height": (17, 2048), "width": (3, 4096)}
    assert constraints(environment) == [
        "height must be from 17 to 2048, for layers pool and double",
        "width must be at least 3, for layer pool",
    ]


def test_other_decisions_are_constraints_that_name_the_layer() -> None:
    environment, h, w = new()
    with at_layer("join"):
        assert 2 * (h // 2) == h
    with at_layer("pool"):
        assert h * w > 100
    with at_layer("skip"):
        assert h != w
    assert constraints(environment) == [
        "height must be even, for layer join",
        "height*width must be at least 101, for layer pool",
        "height must not be width, for layer skip",
    ]
    assert holds(environment, {"height": 16, "width": 9})
    for height, width in ((15, 9), (4, 9), (16, 16)):
        assert not holds(environment, {"height": height, "width": width})


def test_a_decision_is_made_once() -> None:
    environment, h, _ = new()
    even = [2 * (h // 2) == h for _ in range(3)]
    assert even == [True] * 3
    assert h % 2 < 1
    assert len(constraints(environment)) == 1


def test_the_largest_of_sizes_decides_nothing() -> None:
    environment, h, w = new()
    size = largest(h, 2 * h, w, 7)
    assert not environment.guards
    assert value(size, {"height": 3, "width": 5}) == 7
    assert value(size, {"height": 9, "width": 5}) == 18
    assert value(size, {"height": 9, "width": 50}) == 50
    assert largest(3, 5) == 5
    assert largest(h, 2 * h) is not h


def test_a_dynamic_dimension_is_not_one_and_broadcasts_as_many() -> None:
    environment, h, w = new()
    assert not is_one(h)
    assert is_one(1)
    assert broadcast((1, 8, h, w), (8, 1, 1), (1, 1, h, w)) == (1, 8, h, w)
    assert not environment.guards
    assert environment.bounds == {"height": (1, 4096), "width": (1, 4096)}
