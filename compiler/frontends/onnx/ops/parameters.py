"""Operands that are parameters of an operator, as a mark on its handler.

A parameter is a shape, a size, a count, an axis, a position or a mode, or an operand of which only
the shape or the element type counts. No result is computed from its elements.
:mod:`..importing.parameter_inputs` finds the inputs of a model that are nothing else.
``functools.wraps`` copies marks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Handler = TypeVar("_Handler", bound=Callable[..., Any])


def parameters(*indices: int) -> Callable[[_Handler], _Handler]:
    """Mark an operator of whose operands these are parameters, in whichever version has them."""

    def mark(handler: _Handler) -> _Handler:
        vars(handler)["parameters"] = indices
        return handler

    return mark


def parameters_of(handler: object) -> tuple[int, ...]:
    """Return the positions that :func:`parameters` marked on a handler."""
    found: tuple[int, ...] = getattr(handler, "parameters", ())
    return found
