"""The cells of recurrent layers, each run along a whole sequence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError
from .....ir.graph import Node, Value, constant
from .....ir.ops import GRU, LSTM, RNN
from ..read.config import Config
from ..read.model import snake_case
from .layer import Layer
from .named_activations import element_wise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .....ir.ops.recurrence import Recurrence

# From a cell, a sequence (T, B, I), the first states or none, whether to run backwards, and a mask
# (T, B): the outputs (T, B, H) and, for each cell of a stack, the last states (B, H).
Run = Callable[
    [Layer, Value, Sequence[Value], bool, "Value | None"], tuple[Value, list[list[Value]]]
]

GATES = {"SimpleRNNCell": 1, "LSTMCell": 4, "GRUCell": 3, "CuDNNLSTM": 4, "CuDNNGRU": 3}
ON_CUDA = ("CuDNNLSTM", "CuDNNGRU")  # layers that are their own cells
LAYERS_OF_CELLS = ("SimpleRNN", "LSTM", "GRU", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")


def weight_count(layer: Layer, data: Any) -> int:
    """Return how many weights a recurrent layer or a cell has, from its configuration."""
    config = data.get("config") if isinstance(data, dict) else None
    name = data.get("class_name") if isinstance(data, dict) else None
    if isinstance(config, dict) and name in (*GATES, *LAYERS_OF_CELLS):
        return 2 + Config(layer.described, config).flag("use_bias", True)
    if isinstance(config, dict) and name == "RNN":
        cell = config.get("cell")
        return weight_count(layer, cell) if not isinstance(cell, list) else _all(layer, cell)
    if isinstance(config, dict) and name == "StackedRNNCells":
        return _all(layer, config.get("cells"))
    supported = ", ".join((*LAYERS_OF_CELLS, "RNN", *CELLS))
    layer.config.unsupported("layer", name, supported)


def _all(layer: Layer, cells: Any) -> int:
    return sum(weight_count(layer, cell) for cell in cells) if isinstance(cells, list) else 0


def _weights(
    cell: Layer, features: int, bias: tuple[int, ...], joined: Callable[[Any], Any]
) -> list[Value]:
    """Return kernel, recurrent kernel and bias; ``joined`` converts the bias to the IR's form."""
    units, gates = cell.config.integer("units"), GATES[cell.spec.class_name]
    shapes = {"kernel": (features, gates * units), "recurrent_kernel": (units, gates * units)}
    used = cell.config.flag("use_bias", True)

    def prepare(w: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
        if cell.spec.class_name in ON_CUDA:
            w = w | _from_cuda(w, gates)
        return w | {"bias": joined(w["bias"] if used else np.zeros(bias, np.float32))}

    w = cell.constants({**shapes, **({"bias": bias} if used else {})}, prepare)
    return [w["kernel"], w["recurrent_kernel"], w["bias"]]


def _from_cuda(w: dict[str, NDArray[np.float32]], gates: int) -> dict[str, NDArray[np.float32]]:
    """Turn the kernel of each gate into the order of other layers: they are kept transposed."""
    kernels = [k.T.reshape(k.shape, order="F") for k in np.hsplit(w["kernel"], gates)]
    recurrent = [k.T for k in np.hsplit(w["recurrent_kernel"], gates)]
    return {"kernel": np.hstack(kernels), "recurrent_kernel": np.hstack(recurrent)}


def _run(
    cell: Layer,
    op: Recurrence,
    x: Value,
    weights: Sequence[Value],
    first: Sequence[Value],
    mask: Value | None,
) -> tuple[Value, list[list[Value]]]:
    """Apply a recurrence, from zeros where no first states are given."""
    count = 2 if isinstance(op, LSTM) else 1
    shape = (x.shape[1], weights[1].shape[0])
    if first and (len(first) != count or any(s.shape != shape for s in first)):
        raise ShadergenError(
            "SG0205",
            f"initial states of shapes {', '.join(str(s.shape) for s in first)} do not fit",
            where=cell.described,
            supported=f"{count} of shape {shape}",
        )
    zeros = constant(np.zeros(shape, np.float32), f"{cell.name}/zeros")
    marks = () if mask is None else (mask,)
    operands = (x, *weights, *(first or (zeros,) * count), *marks)
    y, *states = Node(op, operands, (cell.name,)).results
    return y, [list(states)]


def simple_rnn(
    cell: Layer, x: Value, first: Sequence[Value], backwards: bool, mask: Value | None
) -> tuple[Value, list[list[Value]]]:
    """Apply h' = f(x w + h r + b)."""
    weights = _weights(cell, x.shape[2], (cell.config.integer("units"),), lambda b: b)
    op = RNN((element_wise(cell, "activation", "tanh"),), "h", backwards, mask is not None)
    return _run(cell, op, x, weights, first, mask)


def lstm(
    cell: Layer, x: Value, first: Sequence[Value], backwards: bool, mask: Value | None
) -> tuple[Value, list[list[Value]]]:
    """Long short-term memory; the gates are input, forget, cell, output."""
    size = 4 * cell.config.integer("units")
    if cell.spec.class_name in ON_CUDA:  # the second half of the bias is the state's
        weights = _weights(cell, x.shape[2], (2 * size,), lambda b: b[:size] + b[size:])
    else:
        weights = _weights(cell, x.shape[2], (size,), lambda b: b)
    gate, act = _activations(cell)
    op = LSTM((gate, act, act), "ifco", backwards, mask is not None)
    return _run(cell, op, x, weights, first, mask)


def gru(
    cell: Layer, x: Value, first: Sequence[Value], backwards: bool, mask: Value | None
) -> tuple[Value, list[list[Value]]]:
    """Gated recurrent units; with ``reset_after`` the second row of the bias is the state's."""
    units = cell.config.integer("units")
    on_cuda = cell.spec.class_name in ON_CUDA
    after = on_cuda or cell.config.flag("reset_after", False)

    def joined(b: NDArray[np.float32]) -> NDArray[np.float32]:
        if not after:
            return b
        seen, kept = b.reshape(2, -1).copy()
        seen[: 2 * units] += kept[: 2 * units]
        return np.concatenate([seen, kept[2 * units :]])

    shape = (6 * units,) if on_cuda else (2, 3 * units) if after else (3 * units,)
    weights = _weights(cell, x.shape[2], shape, joined)
    op = GRU(_activations(cell), "zrh", backwards, mask is not None, after)
    return _run(cell, op, x, weights, first, mask)


def _activations(cell: Layer) -> Any:
    """Return the activations of the gates and of what they let through."""
    gate = element_wise(cell, "recurrent_activation", "sigmoid")
    return gate, element_wise(cell, "activation", "tanh")


def stacked(
    cell: Layer, x: Value, first: Sequence[Value], backwards: bool, mask: Value | None
) -> tuple[Value, list[list[Value]]]:
    """Run the cells one after the other, each along the whole sequence.

    That is the same as Keras's one step of all cells after the other: a cell sees what those
    before it gave for the same step alone.
    """
    cells = cell.config.get("cells")
    if not isinstance(cells, list) or not cells:
        cell.config.malformed("cells", "a list of cells")
    if cell.config.flag("reverse_state_order", False) and len(cells) > 1:
        cell.config.unsupported("reverse_state_order", True, "false")
    states: list[list[Value]] = []
    seen: Counter[str] = Counter()
    taken, rest, y = 0, list(first), x
    for data in cells:
        count = weight_count(cell, data)
        name = snake_case(data["class_name"])
        number = f"_{seen[name]}" if seen[name] else ""
        seen[name] += 1
        inner = cell.part(data, (f"cells/{name}{number}",), slice(taken, taken + count))
        taken += count
        own = 2 if inner.spec.class_name == "LSTMCell" else 1
        y, after = CELLS[inner.spec.class_name](inner, y, rest[:own], backwards, mask)
        rest = rest[own:]
        states += after
    return y, states


CELLS: dict[str, Run] = {
    "SimpleRNNCell": simple_rnn,
    "LSTMCell": lstm,
    "GRUCell": gru,
    "CuDNNLSTM": lstm,
    "CuDNNGRU": gru,
    "StackedRNNCells": stacked,
}
