"""Sizes that are left open in a schedule: what runtimes can work out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shadergen.backends import sizes
from shadergen.backends.sizes import expression, sizes_member
from shadergen.errors import ShadergenError
from shadergen.ir.form import Form, Operation, Parameter
from shadergen.ir.size import (
    Size,
    Trace,
    at_layer,
    parameter,
)
from shadergen.runtime_glue.python import document
from shadergen.runtime_glue.python.sizes import LARGEST, evaluate

DEFAULTS = {"height": 256, "width": 384}


def new(**bounds: tuple[float, float]) -> tuple[Trace, Any, Any]:
    within = {name: bounds.get(name, (1.0, 4096.0)) for name in DEFAULTS}
    trace = Trace(DEFAULTS, within)
    return trace, parameter(trace, "height"), parameter(trace, "width")


def sum_of_quotients(trace: Trace, count: int) -> Any:
    """Return a size whose expression has 4 * count - 1 terms."""
    height = Form.of([((Parameter("height"),), 1)])
    quotients = [Operation("/", height, Form.number(k)) for k in range(2, 2 + count)]
    return Size(trace, Form.of([((quotient,), 1) for quotient in quotients]))


def test_the_limits_are_those_that_runtimes_go_by() -> None:
    schema = json.loads(document.SCHEMA.read_text())["$defs"]
    assert schema["expression"]["maxItems"] == sizes.MOST_TERMS
    assert schema["term"]["maximum"] == sizes.LARGEST == LARGEST
    constraints = schema["sizes"]["properties"]["constraints"]
    assert constraints["maxItems"] == sizes.MOST_CONSTRAINTS


def test_a_size_that_no_runtime_can_work_out_is_refused_by_its_layer() -> None:
    trace, h, _ = new()
    most = expression(sum_of_quotients(trace, 1024))
    assert isinstance(most, list)
    assert len(most) == 4095
    with at_layer("join"), pytest.raises(ShadergenError) as caught:
        expression(sum_of_quotients(trace, 1025))
    assert caught.value.code == "SG0207"
    assert "an expression of 4099 terms" in caught.value.what
    assert caught.value.where == ("layer join",)
    assert evaluate(expression(h**6), DEFAULTS) == 2**48
    for beyond in (h**7, h**7 // 1000 - h):
        with pytest.raises(ShadergenError, match="a number beyond 9007199254740991"):
            expression(beyond)


def test_more_constraints_than_a_runtime_checks_are_refused_by_the_layer() -> None:
    trace, h, w = new()
    for k in range(1024):
        assert h * w + k * w > 5000
    assert len(sizes_member(trace)["constraints"]) == 1024
    with at_layer("join"):
        assert h * w + 1024 * w > 5000
    with pytest.raises(ShadergenError, match="1024 constraints") as caught:
        sizes_member(trace)
    assert caught.value.where == ("layer join",)
