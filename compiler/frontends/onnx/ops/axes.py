"""What an operator does to the axes of its first operand, as a mark on its handler.

:mod:`..importing.image_axes` follows an input through marked operators to find its height and
width. ``functools.wraps`` copies marks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Handler = TypeVar("_Handler", bound=Callable[..., Any])
_OF_MAPS, _IN_PLACE = "of maps", "in place"


def of_maps(handler: _Handler) -> _Handler:
    """Mark an operator whose first operand must have the axes N, C, H, W if its rank is 4."""
    return _marked(handler, _OF_MAPS)


def in_place(handler: _Handler) -> _Handler:
    """Mark an operator that leaves every axis of its operands where it is."""
    return _marked(handler, _IN_PLACE)


def is_of_maps(handler: object) -> bool:
    """Whether :func:`of_maps` marked a handler."""
    return getattr(handler, "axes", None) == _OF_MAPS


def is_in_place(handler: object) -> bool:
    """Whether :func:`in_place` marked a handler."""
    return getattr(handler, "axes", None) == _IN_PLACE


def _marked(handler: _Handler, mark: str) -> _Handler:
    vars(handler)["axes"] = mark
    return handler
