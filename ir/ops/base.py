"""What every operator is: attributes, types, a reference, and perhaps a decomposition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ShadergenError

if TYPE_CHECKING:
    from ..graph import Value
    from ..types import TensorType

Array = NDArray[np.floating[Any]]


class Op:
    """An operator: a frozen dataclass of attributes whose docstring states the mathematics."""

    def infer(self, *inputs: TensorType) -> TensorType | tuple[TensorType, ...]:
        """Return the result's type; raise SG0205 when the operands do not fit."""
        raise NotImplementedError

    def reference(self, *inputs: Any) -> Any:
        """Compute with numpy in the precision of the operands (float64 included)."""
        raise NotImplementedError

    def decompose(self, *inputs: Value) -> Value | None:
        """Return the same result from simpler operators, or None where a kernel exists."""
        return None


def require(condition: bool, what: str, **details: str) -> None:
    """Raise SG0205 with ``what`` unless the condition holds."""
    if not condition:
        raise ShadergenError("SG0205", what, **details)
