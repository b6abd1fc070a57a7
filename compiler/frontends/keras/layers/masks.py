"""Masks of sequence steps, and their propagation through layers.

Keras attaches a mask to a tensor, and every layer propagates or drops it. Most layers that work on
each step separately propagate it; layers not listed here drop it, as in Keras.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....records import replace
from ..tensors import Tensor, pointwise

if TYPE_CHECKING:
    from .layer import Layer

# Layers that hand on the mask of their first argument.
HANDED_ON = frozenset(
    (
        *("Activation", "ActivityRegularization", "AlphaDropout", "BatchNormalization"),
        *("BatchNormalizationV1", "BatchNormalizationV2", "Dense", "Dropout", "ELU"),
        *("GaussianDropout", "GaussianNoise", "GroupNormalization", "GroupQueryAttention"),
        *("GroupedQueryAttention", "LayerNormalization", "LeakyReLU", "MultiHeadAttention"),
        *("PReLU", "ReLU", "Softmax", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"),
        *("ThresholdedReLU", "TimeDistributed", "UnitNormalization", "Attention"),
        "AdditiveAttention",
    )
)
HANDED_ON_IN_KERAS_3 = frozenset(("Identity", "Normalization", "Rescaling"))
MERGED = frozenset(("Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"))


def handed_on(
    layer: Layer, inputs: list[Tensor], results: Tensor | list[Tensor]
) -> Tensor | list[Tensor]:
    """Give the results the masks that the layer's class gives them."""
    name = layer.spec.class_name
    if not inputs or all(x.mask is None for x in inputs):
        return results
    if isinstance(results, list):
        if name in HANDED_ON:  # the first is what the layer is for
            return [replace(results[0], mask=inputs[0].mask), *results[1:]]
        return results
    if name in MERGED:
        return replace(results, mask=_merged(layer, inputs))
    if name in HANDED_ON or (layer.version[0] >= 3 and name in HANDED_ON_IN_KERAS_3):
        return replace(results, mask=inputs[0].mask)
    return results


def _merged(layer: Layer, inputs: list[Tensor]) -> Tensor | None:
    """Return the mask of a sum and the like: in Keras 3 a step counts if it does anywhere."""
    masks = [x.mask for x in inputs if x.mask is not None]
    if layer.version[0] >= 3:
        if len(masks) < len(inputs):
            return None
        return combined(masks, "max", layer.name)
    return combined(masks, "min", layer.name)


def combined(masks: list[Tensor], function: str, layer: str) -> Tensor:
    """Return what holds in all masks ("min") or in any ("max")."""
    text = "x0"
    for k in range(1, len(masks)):
        text = f"{function}({text}, x{k})"
    return pointwise(text, masks, layer, "bool")
