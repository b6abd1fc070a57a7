"""Operations by their names in keras.ops: the table. Each family of handlers has a file of its own.

Models record calls of them: keras.ops nodes of Keras 3, TFOpLambda of Keras 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .activation import ACTIVATIONS
from .convolution import CONVOLUTION
from .elementwise import ELEMENTWISE
from .images import IMAGES
from .linear_algebra import LINEAR_ALGEBRA
from .movement import MOVEMENT
from .reduction import REDUCTION
from .selection import SELECTION
from .slicing import SLICING

if TYPE_CHECKING:
    from .elementwise import Operation

OPERATIONS: dict[str, Operation] = {
    **ACTIVATIONS,
    **ELEMENTWISE,
    **MOVEMENT,
    **CONVOLUTION,
    **IMAGES,
    **LINEAR_ALGEBRA,
    **REDUCTION,
    **SELECTION,
    **SLICING,
}
