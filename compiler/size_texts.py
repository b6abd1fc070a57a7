"""Texts about dynamic dimensions: bounds, constraints, and the schedule at default sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backends.user_shader.sizes import infix, tree
from ..runtime_glue.python.sizes import defaults, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def at_defaults(schedule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schedule as it is with the default sizes.

    Raises:
        ShadergenError: SG0503 for an expression without a value.
    """
    return resolve(schedule, defaults(schedule)) if "sizes" in schedule else dict(schedule)


def size_lines(schedule: Mapping[str, Any]) -> list[str]:
    """Describe a build's dynamic sizes: a line for all parameters and a line per constraint."""
    sizes = schedule.get("sizes")
    if sizes is None:
        return []
    parts = [f"{p['name']} {p['default']} ({p['min']} to {p['max']})" for p in sizes["parameters"]]
    return [f"sizes: {', '.join(parts)}", *(f"  {c['why']}" for c in sizes["constraints"])]


def shape_text(shape: Iterable[int | Sequence[Any]]) -> str:
    """Return a shape of a schedule as people write it: ``1x3x9x16``, ``1 x 3 x height x width``."""
    sizes = [size_text(size) for size in shape]
    return ("x" if all(map(str.isdecimal, sizes)) else " x ").join(sizes)


def size_text(entry: int | Sequence[Any]) -> str:
    """Return an integer or an expression of a schedule as people write it: ``2*(height + 1)``."""
    return infix(tree(entry)) if isinstance(entry, list) else str(entry)
