"""Dynamic dimensions in a schedule: what runtimes can work out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shadergen.backends import constraints, sizes
from shadergen.backends.constraints import sizes_member
from shadergen.backends.sizes import expression
from shadergen.errors import ShadergenError
from shadergen.ir.dimensions import (
    ShapeEnvironment,
    SymbolicInt,
    at_layer,
    dimension,
)
from shadergen.ir.dimensions.polynomial import Operation, Polynomial, Symbol
from shadergen.runtime_glue.python.document import SCHEMA
from shadergen.runtime_glue.python.sizes import LARGEST, evaluate_postfix

DEFAULTS = {"height": 256, "width": 384}


def new(**bounds: tuple[float, float]) -> tuple[ShapeEnvironment, Any, Any]:
    within = {name: bounds.get(name, (1.0, 4096.0)) for name in DEFAULTS}
    environment = ShapeEnvironment(DEFAULTS, within)
    return environment, dimension(environment, "height"), dimension(environment, "width")


def sum_of_quotients(environment: ShapeEnvironment, count: int) -> Any:
    """Return a size whose expression has 4 * count - 1 terms."""
    height = Polynomial.of([((Symbol("height"),), 1)])
    quotients = [Operation("/", height, Polynomial.number(k)) for k in range(2, 2 + count)]
    return SymbolicInt(environment, Polynomial.of([((quotient,), 1) for quotient in quotients]))


def test_the_limits_are_those_that_runtimes_go_by() -> None:
    schema = json.loads(SCHEMA.read_text())["$defs"]
    assert schema["expression"]["maxItems"] == sizes.MOST_TERMS
    assert schema["term"]["maximum"] == sizes.LARGEST == LARGEST
    most = schema["sizes"]["properties"]["constraints"]["maxItems"]
    assert most == constraints.MOST_CONSTRAINTS


def test_a_size_that_no_runtime_can_work_out_is_refused_by_its_layer() -> None:
    environment, h, _ = new()
    most = expression(sum_of_quotients(environment, 1024))
    assert isinstance(most, list)
    assert len(most) == 4095
    with at_layer("join"), pytest.raises(ShadergenError) as caught:
        expression(sum_of_quotients(environment, 1025))
    assert caught.value.code == "SG0207"
    assert "a polynomial of 4,099 terms" in caught.value.what
    assert caught.value.where == ("layer join",)
    assert evaluate_postfix(expression(h**6), DEFAULTS) == 2**48
    for beyond in (h**7, h**7 // 1000 - h):
        with pytest.raises(ShadergenError, match="which web runtimes cannot hold exactly"):
            expression(beyond)


def test_a_size_that_runtimes_can_work_out_only_while_it_is_small_is_a_constraint() -> None:
    environment, h, w = new()
    expression(2**28 * h * w)
    assert not environment.guards
    with at_layer("wide"):
        macs = expression(2**31 * h * w)
        quotient = expression(2**42 * h // w)  # what is divided may be too large
    member: Any = sizes_member(environment)
    assert [c["why"] for c in member["constraints"]] == [
        "height must be at most 2047, for layer wide",
        "height*width must be at most 4194303, for layer wide",
    ]
    largest = {"height": 2047, "width": 2049}
    assert evaluate_postfix(macs, largest) <= LARGEST
    assert evaluate_postfix(quotient, largest) <= LARGEST


def test_more_constraints_than_a_runtime_checks_are_refused_by_the_layer() -> None:
    environment, h, w = new()
    for k in range(1024):
        assert h * w + k * w > 5000
    assert len(sizes_member(environment)["constraints"]) == 1024
    with at_layer("join"):
        assert h * w + 1024 * w > 5000
    with pytest.raises(ShadergenError, match="too many constraints") as caught:
        sizes_member(environment)
    assert caught.value.where == ("layer join",)


# words


@pytest.mark.parametrize(
    ("decide", "words"),
    [
        # one parameter: what all guards let in together
        (lambda h, w: 4 * ((h + 1) // 2) == 2 * h, ["height 2 to 4096", "height must be even"]),
        (lambda h, w: h % 4 < 1, ["height 4 to 4096", "height must be a multiple of 4"]),
        (
            lambda h, w: (h // 2 % 2, h % 2) == (0, 0),
            ["height 4 to 4096", "height must be a multiple of 4"],
        ),
        (lambda h, w: (h + 1) % 2 == 1, ["height 2 to 4096", "height must be even"]),
        (
            lambda h, w: h // 2 * 2 != h + 1 and h % 2 != 1,
            ["height 2 to 4096", "height must be even"],
        ),
        (lambda h, w: (h + 5) // 2 - h // 2 == 2, ["height 2 to 4096", "height must be even"]),
        (
            lambda h, w: h % 100 == 56,
            ["height 56 to 4056", "height must be a multiple of 100 plus 56"],
        ),
        (lambda h, w: (h - 2) * (h - 2) != 0 and h > 1, ["height 3 to 4096"]),
        (lambda h, w: 2 * h * (h // 2) <= 10**6, ["height 1 to 1000"]),
        (lambda h, w: 3 * h == 768, ["height 256 to 256"]),
        (lambda h, w: h != 8, ["height must not be 8"]),
        # both
        (lambda h, w: 16 * h * w < 2**20 * 3, ["height*width must be at most 196607"]),
        (lambda h, w: h * w * 3 != 24 * w, ["height*width must not be 8*width"]),
        (lambda h, w: 3 * h != 2 * w + 1, ["2*width + 1 must not be 3*height"]),
        (lambda h, w: 3 * h == 2 * w, ["2*width must be 3*height"]),
        (lambda h, w: -(-w // 4) * h > 9, ["ceil(width / 4)*height must be at least 10"]),
        (
            lambda h, w: h // 2 + (w + 1) // 3 < 1000,
            ["floor((width + 1) / 3) + floor(height / 2) must be at most 999"],
        ),
        (lambda h, w: h * w % 8 == 0, ["height*width must be a multiple of 8"]),
        # what follows from others
        (
            lambda h, w: (
                (h % 2, w % 2) == (0, 0)
                and h * w == 4 * (h // 2) * (w // 2)
                and (h // 2) * ((w + 1) // 2) < 10**6
                and (h // 2) * ((w + 6) // 8) < 10**6
            ),
            [
                "height 2 to 4096",
                "width 2 to 4096",
                "height must be even",
                "width must be even",
                "ceil(width / 2)*floor(height / 2) must be at most 999999",
            ],
        ),
        (
            lambda h, w: h * w < 10**6 and (h // 2) * w < 10**6 and 3 * h * (w // 7) < 10**6,
            ["height*width must be at most 999999"],
        ),
    ],
)
def test_constraints_are_said_in_words(decide: Any, words: list[str]) -> None:
    """Of a height of 256 and a width of 384, each from 1 to 4096."""
    environment, h, w = new()
    decide(h, w)
    member: Any = sizes_member(environment)
    limits = [f"{p['name']} {p['min']} to {p['max']}" for p in member["parameters"]]
    changed = [text for text in limits if not text.endswith(" 1 to 4096")]
    assert changed + [c["why"] for c in member["constraints"]] == words


def test_a_constraint_names_the_layers_that_need_it() -> None:
    environment, h, w = new()
    for k, layer in enumerate(("up", "down", "join", "skip", "last")):
        with at_layer(layer):
            assert h % 2**k == 0
    with at_layer("pool"):
        assert (h - 2) * (h - 2) > 4000
    with at_layer("window"):
        assert w > 2
    member: Any = sizes_member(environment)
    assert [c["why"] for c in member["constraints"]] == [
        "height must be at least 80, for layer pool",
        "height must be a multiple of 16, for layers down, join, skip and last",
        "width must be at least 3, for layer window",
    ]
    refused = [c for c in member["constraints"] if c["value"] == ["height", 16, "%"]]
    assert [(c["min"], c["max"]) for c in refused] == [(0, 0)]
