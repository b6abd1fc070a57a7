"""ConvLSTM: long short-term memory whose products are convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.graph import Node, constant
from .....ir.ops import Conv, ConvLSTM, Transpose
from ..tensors import Tensor, own_order
from .convolution import outputs_first, padding, padding_of
from .named_activations import element_wise
from .recurrence import backwards_in_time, refuse_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .....ir.graph import Constant, Value
    from .layer import Layer


def conv_lstm(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor | list[Tensor]:
    """ConvLSTM over a sequence of feature maps; convolving the state keeps the state's size."""
    config = layer.config
    if len(inputs) not in (1, 3) or inputs[0].rank != axes + 3:
        raise ShadergenError(
            "SG0205",
            f"the layer takes a sequence of maps (rank {axes + 3}) and optionally two states",
            where=layer.described,
        )
    refuse_memory(layer)
    x, *given = inputs
    if x.mask is not None:
        config.refuse("a mask")
    order = _channels_second(x.rank, layer.data_format)
    steps = layer.apply(Transpose((1, 0, *order)), own_order(x, layer.name))
    batch, channels, *space = steps.shape[1:]
    w = _weights(axes, layer, channels)
    op = _operator(axes, layer, tuple(space))
    if given:
        first = [layer.feature_map(state, axes) for state in given]
    else:
        seen = op.of_input.infer(steps.type.of(steps.shape[1:]), w["kernel"].type, w["bias"].type)
        zeros = np.zeros((batch, seen.shape[1] // 4, *seen.shape[2:]), np.float32)
        first = [constant(zeros, f"{layer.name}/zeros")] * 2
    operands = (steps, w["kernel"], w["recurrent_kernel"], w["bias"], *first)
    y, *last = Node(op, operands, (layer.name,)).results
    states = [layer.result(state) for state in last]
    if config.flag("return_sequences", False):
        result = _sequence(layer, y)
        if op.reverse:
            result = backwards_in_time(layer, result, 1)
    else:
        result = states[0]
    return [result, *states] if config.flag("return_state", False) else result


def _channels_second(rank: int, data_format: str) -> list[int]:
    """Return the axes of the model's order behind batch and steps, channels first."""
    axes = list(range(2, rank))
    return [axes[-1], *axes[:-1]] if data_format == "channels_last" else axes


def _sequence(layer: Layer, y: Value) -> Tensor:
    """Return (steps, samples, channels, space) as the model has it."""
    rank = y.type.rank
    order = _channels_second(rank, layer.data_format)
    # Logical axes 1, 0, ... are the model's samples, steps, and the others in its order.
    axes = [1, 0, *(2 + order.index(k) for k in range(2, rank))]
    return Tensor(y, tuple(axes))


def _weights(axes: int, layer: Layer, channels: int) -> dict[str, Constant]:
    config = layer.config
    kernel, filters = config.sizes("kernel_size", axes), config.integer("filters")
    shapes: dict[str, tuple[int, ...]] = {
        "kernel": (*kernel, channels, 4 * filters),
        "recurrent_kernel": (*kernel, filters, 4 * filters),
    }
    if config.flag("use_bias", True):
        shapes["bias"] = (4 * filters,)

    def prepare(w: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
        kernels = {role: outputs_first(a) for role, a in w.items() if role != "bias"}
        return {"bias": np.zeros(4 * filters, np.float32)} | w | kernels

    cell = layer.part({"class_name": "ConvLSTMCell", "config": dict(config.entries)}, ("cell",))
    return cell.constants(shapes, prepare)


def _operator(axes: int, layer: Layer, space: tuple[int, ...]) -> ConvLSTM:
    config = layer.config
    kernel, ones = config.sizes("kernel_size", axes), (1,) * axes
    strides = config.sizes("strides", axes, 1)
    dilations = config.sizes("dilation_rate", axes, 1)
    of_input = Conv(strides, dilations, padding(layer, space, kernel, strides, dilations))
    # With a stride of 1 the padding does not depend on the size.
    of_state = Conv(ones, ones, padding_of("same", kernel, kernel, ones, ones))
    gate = element_wise(layer, "recurrent_activation", "hard_sigmoid")
    act = element_wise(layer, "activation", "tanh")
    backwards = config.flag("go_backwards", False)
    return ConvLSTM(of_input, of_state, (gate, act, act), "ifco", backwards)
