"""A dynamic height and width, and what dimensions made of them are at given sizes."""

from __future__ import annotations

from typing import Any

from shadergen.backends.constraints import sizes_member
from shadergen.backends.sizes import expression
from shadergen.ir.dimensions import ShapeEnvironment, dimension
from shadergen.runtime_glue.python.sizes import evaluate_postfix

DEFAULTS = {"height": 256, "width": 384}


def new(**bounds: tuple[float, float]) -> tuple[ShapeEnvironment, Any, Any]:
    within = {name: bounds.get(name, (1.0, 4096.0)) for name in DEFAULTS}
    environment = ShapeEnvironment(DEFAULTS, within)
    return environment, dimension(environment, "height"), dimension(environment, "width")


def value(size: Any, sizes: dict[str, int]) -> int:
    """Return a size at other sizes, as a runtime works it out."""
    found = expression(size)
    return found if isinstance(found, int) else evaluate_postfix(found, sizes)


def holds(environment: ShapeEnvironment, sizes: dict[str, int]) -> bool:
    """Whether sizes keep to the parameters' bounds and the constraints."""
    return keeps_to(sizes_member(environment), sizes)


def keeps_to(member: Any, sizes: dict[str, int]) -> bool:
    within = all(p["min"] <= sizes[p["name"]] <= p["max"] for p in member["parameters"])
    return within and all(
        c["min"] <= evaluate_postfix(c["value"], sizes) <= c["max"] for c in member["constraints"]
    )
