"""Make small image-to-image networks with dynamic sizes, as ONNX models.

``MODELS`` maps a name to a function that makes the model. The input is called x, of shape 1x3xHxW
with H and W dynamic, the output y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS: dict[str, Callable[[], ModelProto]] = {}
LAST = np.iinfo(np.int64).max


class Net:
    """Nodes and weights of a network under construction."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(44)
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}

    def weight(self, *shape: int) -> str:
        scale = np.sqrt(max(np.prod(shape[1:]), 1))
        return self.known((self.rng.normal(size=shape) / scale).astype(np.float32))

    def known(self, array: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def whole(self, *values: int) -> str:
        return self.known(np.array(values, np.int64))

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x: str, c: int, o: int, size: int, **attributes: Any) -> str:
        weight = self.weight(o, c // attributes.get("group", 1), size, size)
        if "auto_pad" not in attributes:
            attributes.setdefault("pads", [size // 2] * 4)
        return self("Conv", x, weight, self.weight(o), **attributes)

    def scaled(self, x: str, *factors: float, **attributes: Any) -> str:
        return self(
            "Resize", x, "", self.known(np.array([1, 1, *factors], np.float32)), **attributes
        )

    def sizes(self, x: str, first: int, last: int) -> str:
        shape = self("Shape", x)
        return self("Slice", shape, self.whole(first), self.whole(last), self.whole(0))


def network(
    build: Callable[[Net], str], shape: tuple[Any, ...] = (1, 3, "H", "W"), opset: int = 18
) -> ModelProto:
    """Return the model that ``build`` makes of its input x."""
    net = Net()
    net.nodes.append(helper.make_node("Identity", [build(net)], ["y"], name="y"))
    graph = helper.make_graph(
        net.nodes,
        build.__name__,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in net.weights.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def model(build: Callable[[Net], str]) -> Callable[[Net], str]:
    """Put a network into ``MODELS``."""
    MODELS[build.__name__] = lambda: network(build, opset=21 if "group_norm" in str(build) else 19)
    return build


def as_float(net: Net, size: str) -> str:
    return net("Cast", size, to=TensorProto.FLOAT)


def floats(net: Net, *values: float) -> str:
    return net.known(np.array(values, np.float32))
