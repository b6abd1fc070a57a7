"""ConvLSTM: long short-term memory whose products are convolutions, unrolled over the sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import ShadergenError
from ....ir.expr import Expr, Var, parse, substitute
from ....ir.ops import Concat, Conv, Pointwise, Reshape, Slice, Transpose
from ....ir.ops.recurrence import LONGEST_SEQUENCE
from .activations import element_wise
from .convolutions import outputs_first, padding, same_padding
from .recurrent import refuse_memory
from .tensors import Tensor, of_model, own_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....ir.graph import Value
    from .layer import Layer

GATES = "ifco"  # input, forget, cell, output


def conv_lstm(axes: int, layer: Layer, inputs: list[Tensor]) -> Tensor | list[Tensor]:
    """Run along a sequence of feature maps; what convolves the state keeps its size."""
    config = layer.config
    if len(inputs) not in (1, 3) or inputs[0].rank != axes + 3:
        raise ShadergenError(
            "SG0205",
            f"the layer takes a sequence of maps, of rank {axes + 3}, and perhaps two states",
            where=layer.described,
        )
    refuse_memory(layer)
    x, *given = inputs
    if x.mask is not None:
        config.unsupported("mask", "given", "sequences without a mask")
    count = x.shape[1]
    if count > LONGEST_SEQUENCE:
        config.unsupported("sequence", f"{count} steps", f"up to {LONGEST_SEQUENCE} steps")
    seen, recurrent = _seen(axes, layer, x)
    states = [layer.feature_map(state, axes) for state in given]
    step = _Step(layer, recurrent)
    backwards = config.flag("go_backwards", False)
    history = []
    for t in reversed(range(count)) if backwards else range(count):
        states = step.after(_part(layer, seen, 0, t * x.shape[0], x.shape[0]), states)
        history.append(states[0])
    results = [layer.result(state) for state in states]
    if config.flag("return_sequences", False):
        maps = [own_order(layer.result(h), layer.name) for h in history]
        wide = [layer.apply(Reshape((m.shape[0], 1, *m.shape[1:])), m) for m in maps]
        y = of_model(layer.apply(Concat(1), *wide) if count > 1 else wide[0])
    else:
        y = results[0]
    return [y, *results] if config.flag("return_state", False) else y


def _seen(axes: int, layer: Layer, x: Tensor) -> tuple[Value, Value]:
    """Return the convolution of all steps at once, (T*B, 4*F, spatial), and the state's kernel."""
    config = layer.config
    model_axes = list(range(2, x.rank))
    if layer.data_format == "channels_last":
        model_axes = [model_axes[-1], *model_axes[:-1]]
    steps = layer.apply(Transpose((1, 0, *model_axes)), own_order(x, layer.name))
    count, batch, channels, *space = steps.shape
    maps = layer.apply(Reshape((count * batch, channels, *space)), steps)
    kernel, filters = config.sizes("kernel_size", axes), config.integer("filters")
    shapes = {
        "kernel": (*kernel, channels, 4 * filters),
        "recurrent_kernel": (*kernel, filters, 4 * filters),
    }
    if config.flag("use_bias", True):
        shapes["bias"] = (4 * filters,)
    cell = layer.part({"class_name": "ConvLSTMCell", "config": dict(config.entries)}, ("cell",))
    w = cell.constants(
        shapes, lambda w: {role: outputs_first(a) if a.ndim > 1 else a for role, a in w.items()}
    )
    strides = config.sizes("strides", axes, 1)
    dilations = config.sizes("dilation_rate", axes, 1)
    pads = padding(layer, space, kernel, strides, dilations)
    bias = [w["bias"]] if "bias" in w else []
    seen = layer.apply(Conv(strides, dilations, pads), maps, w["kernel"], *bias)
    return seen, w["recurrent_kernel"]


def _part(layer: Layer, x: Value, axis: int, start: int, size: int) -> Value:
    sizes = list(x.shape)
    sizes[axis] = size
    starts = tuple(start if k == axis else 0 for k in range(x.type.rank))
    return layer.apply(Slice(starts, (1,) * x.type.rank, tuple(sizes)), x)


class _Step:
    """One step: new states h and c from what is seen of the sequence and the states before."""

    def __init__(self, layer: Layer, recurrent: Value) -> None:
        self.layer = layer
        self.recurrent = recurrent
        gate = element_wise(layer, "recurrent_activation", "hard_sigmoid")
        self.act = element_wise(layer, "activation", "tanh")
        self.gates = dict.fromkeys("ifo", gate) | {"c": self.act}

    def after(self, seen: Value, states: Sequence[Value]) -> list[Value]:
        layer = self.layer
        if states:
            kernel = self.recurrent.shape[2:]
            pairs = [same_padding(s, k, 1, 1) for s, k in zip(seen.shape[2:], kernel, strict=True)]
            ones = (1,) * len(kernel)
            pads = (*(before for before, _ in pairs), *(after for _, after in pairs))
            kept = layer.apply(Conv(ones, ones, pads), states[0], self.recurrent)
            seen = layer.apply(Pointwise(parse("x0 + x1")), seen, kept)
        units = seen.shape[1] // 4
        i, f, c, o = (_part(layer, seen, 1, k * units, units) for k in range(4))
        if states:
            formula = self.formula("f * x2 + i * c", i="x0", c="x1", f="x3")
            cell = layer.apply(Pointwise(formula), i, c, states[1], f)
        else:
            cell = layer.apply(Pointwise(self.formula("i * c", i="x0", c="x1")), i, c)
        hidden = substitute(self.act, {"x": Var("x1")})
        formula = substitute(self.formula("o * h", o="x0"), {"h": hidden})
        return [layer.apply(Pointwise(formula), o, cell), cell]

    def formula(self, text: str, **operands: str) -> Expr:
        """Return a formula of gates, each of which is the activation of an operand."""
        return substitute(
            parse(text),
            {n: substitute(self.gates[n], {"x": Var(x)}) for n, x in operands.items()},
        )
