"""Layers that apply another layer, and the mask that some of them start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.formula_parser import parse
from .....ir.ops import Reduce
from .....records import replace
from ..tensors import Tensor, of_model, own_order, pointwise, reshaped
from .common import one

if TYPE_CHECKING:
    from .layer import Layer

_TAKES_A_MASK = ("RNN", "LSTM", "GRU", "Attention", "Bidirectional", "Average", "Softmax", "Lambda")


def time_distributed(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Apply a layer to every step: the steps become samples."""
    x = one(layer, inputs)
    if x.rank < 3:
        raise ShadergenError(
            "SG0205", f"the layer takes rank 3 or more, not {x.rank}", where=layer.described
        )
    inner = layer.part(layer.config.get("layer"), ("layer",))
    if x.mask is not None:
        _check_mask(layer, inner)
    samples, steps, *shape = x.shape
    together = reshaped(x, (samples * steps, *shape), layer.name)
    results = inner.applied(together)
    if len(results) != 1:
        layer.config.unsupported("layer", inner.spec.class_name, "layers of one result")
    (y,) = results
    return reshaped(y, (samples, steps, *y.shape[1:]), layer.name)


def _check_mask(layer: Layer, inner: Layer) -> None:
    """Refuse a mask that the inner layer would see, or that skips steps."""
    name = inner.spec.class_name
    if inner.spec.model is not None or any(part in name for part in _TAKES_A_MASK):
        layer.config.refuse(f"a mask for the inner layer {name}", "inner layers that take no mask")
    if layer.around.fixed_batch and layer.version[0] < 3:
        # Keras 2 then runs the layer step by step and repeats the last result.
        layer.config.refuse("a mask with a fixed batch size", "a dynamic batch size")


def pipeline(layer: Layer, inputs: list[Tensor]) -> list[Tensor]:
    """Apply layers one after the other."""
    entries = layer.config.get("layers", default=[])
    if not isinstance(entries, list):
        layer.config.malformed("layers", "a list of layers")
    results = [one(layer, inputs)]
    for k, entry in enumerate(entries):
        # Archives do not tell where they keep the weights; a part that has some is refused.
        results = layer.part(entry, (f"layers/{k}",), slice(0, 0)).applied(*results)
    return results


def masking(layer: Layer, inputs: list[Tensor]) -> Tensor:
    """Mark the steps where all features are ``mask_value``, and set them to 0."""
    x = one(layer, inputs)
    value = layer.config.number("mask_value", 0.0)
    differs = Reduce("max", (x.rank - 1,), False, parse(f"ne(x0, {value!r})"), "bool")
    own = own_order(x, layer.name)
    mask = of_model(layer.apply(differs, own))
    wide = reshaped(mask, (*mask.shape, 1), layer.name)
    y = pointwise("x0 * x1", [of_model(own), wide], layer.name)
    return replace(y, mask=mask)
