"""Recurrent layers, and running them in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....errors import ShadergenError
from .....ir.ops import Slice, Transpose
from .....records import replace
from ..tensors import Tensor, of_model, own_order, pointwise, reshaped
from .common import real
from .merging import joined
from .recurrent_cells import CELLS, ON_CUDA, weight_count

if TYPE_CHECKING:
    from .layer import Layer

OF_A_CELL = {"GRU": "GRUCell", "LSTM": "LSTMCell", "SimpleRNN": "SimpleRNNCell"}
MERGES = {"sum": "x0 + x1", "mul": "x0 * x1", "ave": "0.5 * (x0 + x1)"}


def recurrent(layer: Layer, inputs: list[Tensor]) -> Tensor | list[Tensor]:
    """Run a cell along a sequence; the initial states are inputs, or zero."""
    x, given = _sequence(layer, inputs)
    config, mask = layer.config, x.mask
    refuse_memory(layer)
    backwards, time_first = config.flag("go_backwards", False), config.flag("time_major", False)
    if mask is not None and (given or mask.rank != 2 or time_first):
        what = "a mask together with initial states" if given else f"a mask of shape {mask.shape}"
        config.refuse(what, "a mask of samples x steps, with zero initial states, time_major=false")
    steps = own_order(real(x, layer.name), layer.name)
    if not time_first:
        steps = layer.apply(Transpose((1, 0, 2)), steps)
    marks = None if mask is None else layer.apply(Transpose((1, 0)), own_order(mask, layer.name))
    first = [own_order(real(state, layer.name), layer.name) for state in given]
    cell = _cell(layer)
    y, states = CELLS[cell.spec.class_name](cell, steps, first, backwards, marks)
    if config.flag("return_sequences", False):
        result = of_model(y if time_first else layer.apply(Transpose((1, 0, 2)), y))
        result = _silenced(layer, result, mask)
        if backwards:
            result = backwards_in_time(layer, result, 0 if time_first else 1)
        result = replace(result, mask=mask)
    else:
        result = of_model(states[-1][0])
        if mask is not None:
            end = 0 if backwards else x.shape[1] - 1
            at = Slice((0, end), (1, 1), (x.shape[0], 1))
            last = of_model(layer.apply(at, own_order(mask, layer.name)))
            result = _silenced(layer, result, reshaped(last, (x.shape[0],), layer.name))
    if not config.flag("return_state", False):
        return result
    return [result, *(of_model(s) for of_cell in states for s in of_cell)]


def _sequence(layer: Layer, inputs: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    if not inputs or inputs[0].rank != 3:
        raise ShadergenError(
            "SG0205",
            "the layer takes a sequence of vectors (rank 3)",
            where=layer.described,
            why=f"it is given {', '.join(str(x.shape) for x in inputs) or 'nothing'}",
        )
    return inputs[0], inputs[1:]


def refuse_memory(layer: Layer) -> None:
    """Refuse a layer that starts where the last call ended: a build keeps nothing between runs."""
    if layer.config.flag("stateful", False):
        layer.config.unsupported(
            "stateful",
            True,
            "stateful=False: each run starts from zeros, or from states that are inputs",
            help="rebuild the model with stateful=False, or with its states as inputs and outputs "
            "(initial_state=..., return_state=True), and copy the weights over",
        )


def _cell(layer: Layer) -> Layer:
    """Return the cell of a layer; LSTM and the like hold its configuration in their own."""
    name = layer.spec.class_name
    if name in ON_CUDA:
        return layer.part({"class_name": name, "config": dict(layer.spec.config)}, ("",))
    if name in OF_A_CELL:
        data: Any = {"class_name": OF_A_CELL[name], "config": dict(layer.spec.config)}
    else:
        data = layer.config.get("cell")
        if isinstance(data, list):  # several, before they had a class
            data = {"class_name": "StackedRNNCells", "config": {"name": "cells", "cells": data}}
    cell = layer.part(data, ("cell",))
    if cell.spec.class_name not in CELLS:
        layer.config.unsupported("cell", cell.spec.class_name, ", ".join(CELLS))
    return cell


def _silenced(layer: Layer, y: Tensor, mask: Tensor | None) -> Tensor:
    """Set the results of steps that do not count to zero, if the layer asks for it."""
    if mask is None or not layer.config.flag("zero_output_for_mask", False):
        return y
    return pointwise("x0 * x1", [y, reshaped(mask, (*mask.shape, 1), layer.name)], layer.name)


def backwards_in_time(layer: Layer, x: Tensor, axis: int) -> Tensor:
    """Reverse an axis of a tensor in the model's order."""
    sizes = x.shape
    starts = tuple(size - 1 if k == axis else 0 for k, size in enumerate(sizes))
    steps = tuple(-1 if k == axis else 1 for k in range(x.rank))
    return of_model(layer.apply(Slice(starts, steps, sizes), own_order(x, layer.name)))


def bidirectional(layer: Layer, inputs: list[Tensor]) -> Tensor | list[Tensor]:
    """Run one layer forwards, another backwards, and merge what they give for each step."""
    config = layer.config
    if not inputs:
        raise ShadergenError("SG0105", "the layer has no inputs", where=layer.described)
    forward, backward = _directions(layer)
    x, states = inputs[0], inputs[1:]
    half = len(states) // 2
    there = forward.applied(x, *states[:half])
    back = backward.applied(x, *states[half:])
    y, z = there[0], back[0]
    if forward.config.flag("return_sequences", False):
        z = backwards_in_time(layer, z, 1)
    mode = config.get("merge_mode")
    if mode is not None:
        mode = config.choice("merge_mode", ("concat", *MERGES))
    if mode is None:
        merged = [y, replace(z, mask=y.mask)]
    elif mode == "concat":
        merged = [replace(joined(layer, [y, z], -1), mask=y.mask)]
    else:
        merged = [replace(pointwise(MERGES[mode], [y, z], layer.name), mask=y.mask)]
    return [*merged, *there[1:], *back[1:]]


def _directions(layer: Layer) -> tuple[Layer, Layer]:
    """Return the layer that runs forwards and the one that runs backwards."""
    data = layer.config.get("layer")
    if not isinstance(data, dict) or not isinstance(data.get("config"), dict):
        layer.config.malformed("layer", "a layer")
    other = layer.config.get("backward_layer")
    if other is None:
        opposite = not data["config"].get("go_backwards", False)
        other = {**data, "config": {**data["config"], "go_backwards": opposite}}
    count = weight_count(layer, data)
    forward = layer.part(_silent(data), ("forward_layer",), slice(0, count))
    backward = layer.part(_silent(other), ("backward_layer",), slice(count, None))
    for key in ("return_sequences", "return_state"):
        if forward.config.flag(key, False) != backward.config.flag(key, False):
            layer.config.malformed("backward_layer", f"a layer with the same {key}")
    return forward, backward


def _silent(data: Any) -> Any:
    """Make a direction return 0 for masked steps, as Keras does."""
    config = data.get("config") if isinstance(data, dict) else None
    if not isinstance(config, dict):
        return data
    sequences = config.get("return_sequences", False)
    return {**data, "config": {**config, "zero_output_for_mask": sequences}}
