"""Loop nests of kernels, kept by structure: many nodes of a network agree.

What has dynamic dimensions is never kept: the shape environment of its model would stay in memory.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from ..records import dataclass
from .dimensions import is_dynamic

if TYPE_CHECKING:
    from collections.abc import Callable

    from .nest import Nest
    from .ops.base import Op
    from .types import TensorType

T = TypeVar("T")


@dataclass(frozen=True)
class _Applied:
    structure: tuple[Any, ...]
    op: Op = field(compare=False)
    types: tuple[TensorType, ...] = field(compare=False)


def by_structure(function: Callable[..., T]) -> Callable[..., T]:
    """Keep the results of a function of an operator and the types of its operands."""

    @lru_cache(maxsize=16384)
    def kept(applied: _Applied) -> T:
        return function(applied.op, *applied.types)

    @wraps(function)
    def found(op: Op, *types: TensorType) -> T:
        if op.structure is None or any(is_dynamic(size) for t in types for size in t.shape):
            return function(op, *types)
        stored = tuple((t.shape, t.dtype, t.layout and t.layout.rows) for t in types)
        return kept(_Applied((op.structure, stored), op, types))

    return found


@by_structure
def nest_of(op: Op, *types: TensorType) -> Nest | None:
    """Return ``op.nest(*types)``."""
    return op.nest(*types)
