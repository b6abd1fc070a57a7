"""The implemented operators of each domain. Each family's file ends with its table.

What an operator's handler does not read of a node is refused, so a new attribute never changes a
result silently. ``folding`` has further operators, for tensors known at compile time only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.graph_body import TRAINING
from .activation import ACTIVATION_OPERATORS
from .attention import ATTENTION
from .bitwise import BITWISE
from .casts import CASTS
from .control_flow import CONTROL
from .convolution import CONVOLUTION
from .elementwise import ELEMENTWISE
from .fourier import FOURIER
from .gradient.operator import gradient
from .linear_algebra import LINEAR_ALGEBRA
from .losses import LOSSES
from .machine_learning import MACHINE_LEARNING
from .microsoft import MICROSOFT
from .movement import MOVEMENT
from .normalization import NORMALIZATION
from .padding import PADDING
from .pooling import POOLING
from .qonnx import QONNX
from .quantization import QUANTIZATION
from .recurrence import RECURRENCE
from .reduction import REDUCTION
from .resize import RESIZE
from .retired import RETIRED
from .sampling import SAMPLING
from .selection import SELECTION
from .sequences import SEQUENCES
from .strings import STRINGS

if TYPE_CHECKING:
    from .elementwise import Handler

FAMILIES: tuple[dict[str, Handler], ...] = (
    ACTIVATION_OPERATORS,
    ATTENTION,
    BITWISE,
    CASTS,
    CONTROL,
    CONVOLUTION,
    ELEMENTWISE,
    FOURIER,
    LINEAR_ALGEBRA,
    LOSSES,
    MOVEMENT,
    NORMALIZATION,
    PADDING,
    POOLING,
    QUANTIZATION,
    RECURRENCE,
    REDUCTION,
    RESIZE,
    RETIRED,
    SAMPLING,
    SELECTION,
    SEQUENCES,
    STRINGS,
)
"""The tables of ai.onnx. No operator is in two of them."""

# The domains whose operators are implemented; "" is ai.onnx.
DOMAINS: dict[str, dict[str, Handler]] = {
    "": {name: handler for family in FAMILIES for name, handler in family.items()},
    "ai.onnx.ml": MACHINE_LEARNING,
    "com.microsoft": MICROSOFT,
    **dict.fromkeys(("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general"), QONNX),
    TRAINING: {"Gradient": gradient},
}

RANDOM = {"Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
"""Operators whose results are random numbers."""

# Operators whose results have a shape that depends on data.
DATA_DEPENDENT: dict[str, str] = {
    "ConstantOfShape": "the operand is the shape of the result",
    "NonMaxSuppression": "the number of boxes depends on their scores",
    "NonZero": "the number of nonzero elements depends on the data",
    "Range": "the length depends on the operands",
    "Unique": "the number of distinct elements depends on the data",
}
