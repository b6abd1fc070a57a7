"""Calls of functions recorded in a model: keras.ops nodes of Keras 3, TFOpLambda of Keras 2.

Both become a name in the spelling of keras.ops and arguments; :data:`OPERATIONS` is the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .....ir.graph import Constant, Graph, Output, Port, constant
from .....ir.reference import evaluate
from ..tensors import Tensor
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
    from ..layers.layer import Layer
    from .arguments import Arguments
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


def operate(layer: Layer, name: str, arguments: Arguments) -> Tensor | list[Tensor]:
    """Apply the operation and refuse arguments that it did not look at.

    What is computed from shapes and other known numbers alone is known too.
    """
    result = OPERATIONS[name](layer, arguments)
    arguments.finish()
    operands = list(_tensors([arguments.args, list(arguments.kwargs.values())]))
    if not operands or not all(isinstance(x.value, Constant) for x in operands):
        return result
    return [_known(t) for t in result] if isinstance(result, list) else _known(result)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def _known(x: Tensor) -> Tensor:
    """Compute a tensor that depends on no input."""
    if isinstance(x.value, Constant):
        return x
    graph = Graph("known", (), (Output("y", x.value, Port.plain(x.rank)),))
    array = evaluate(graph, {})["y"].astype(x.dtype)
    return replace(x, value=constant(array, x.value.name))
