"""Rewrite nodes of old operator sets to newer versions.

Each entry of ``REWRITES`` moves a node's inputs and attributes to where its handler looks for them.
Where a later version changed the meaning of what stands in the same place, the handler itself asks
for the version.
Source: ONNX, docs/Changelog.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper
from onnx.onnx_ml_pb2 import TensorProto

from .....errors import ShadergenError
from .....ir.ops import Reshape
from ..operands import Known

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..operands import Item
    from .node import OnnxNode

    Rewrite = Callable[[OnnxNode], None]


def modernise(node: OnnxNode) -> None:
    """Rewrite a node of an old operator set of ai.onnx in place.

    Raises:
        ShadergenError: SG0105 for attributes that contradict the operands, SG0202 for those of
            training.
    """
    if node.version < 6:
        node.ignore("consumed_inputs")  # whose memory an implementation might use again
    if node.op in REWRITES:
        since, rewrite = REWRITES[node.op]
        if node.version < since:
            rewrite(node)
            node.version = since


def _set_input(node: OnnxNode, index: int, item: Item | None) -> None:
    inputs = [*node.inputs, *(None,) * (index + 1 - len(node.inputs))]
    inputs[index] = item
    node.inputs = tuple(inputs)


def _set_attribute(node: OnnxNode, name: str, value: object) -> None:
    node.attributes[name] = helper.make_attribute(name, value)


def _broadcast(node: OnnxNode) -> None:
    """Line the second operand up with axes of the first: the last ones, or from ``axis`` on."""
    if len(node.inputs) != 2:
        return
    a, b = node.shape(0), node.shape(1)
    broadcast = node.choice("broadcast", (0, 1))
    axis = node.integer("axis", len(a) - len(b))
    if not broadcast:
        if a != b:
            raise ShadergenError(
                "SG0205",
                f"the operands have different shapes, {list(a)} and {list(b)}",
                why=f"before operator set 7, {node.op} broadcasts only with broadcast=1",
            )
        return
    if np.prod(b) == 1 and len(b) <= len(a):
        axis = len(a) - len(b)
    axis = axis + len(a) if axis < 0 else axis
    wide = (*b, *(1,) * (len(a) - axis - len(b)))
    sizes = a[axis : axis + len(b)] if 0 <= axis <= len(a) - len(b) else ()
    if len(sizes) != len(b) or not all(y in (1, x) for x, y in zip(sizes, b, strict=True)):
        raise ShadergenError(
            "SG0205", f"shape {list(b)} does not fit {list(a)} from axis {axis} on"
        )
    _set_input(node, 1, node.moved(Reshape(wide), node.item(1)))


def _slope(node: OnnxNode) -> None:
    """PRelu: a list of slopes is one for each channel."""
    rank, slope = len(node.shape(0)), node.shape(1)
    if len(slope) == 1 and rank > 1:
        wide = Reshape((*slope, *(1,) * (rank - 2)))
        _set_input(node, 1, node.moved(wide, node.item(1)))


def _inference(node: OnnxNode) -> None:
    """BatchNormalization and Dropout, which trained unless they were told that they are tested."""
    node.choice("is_test", (1,), default=0)


def _cast(node: OnnxNode) -> None:
    """Cast: the type was a word."""
    name = node.text("to").upper()
    if name not in TensorProto.DataType.keys():  # noqa: SIM118 - no mapping
        raise ShadergenError("SG0105", f"attribute to={name} is not an element type")
    _set_attribute(node, "to", TensorProto.DataType.Value(name))


def _concat(node: OnnxNode) -> None:
    if not node.has("axis"):
        _set_attribute(node, "axis", 1)


def _gemm(node: OnnxNode) -> None:
    """Gemm: the third operand broadcast only if told to, and no otherwise than now."""
    node.choice("broadcast", (0, 1))


def _pad(node: OnnxNode) -> None:
    """Pad-1: the amounts had another name."""
    _set_attribute(node, "pads", node.integers("paddings"))


def _reshape(node: OnnxNode) -> None:
    shape = np.array(node.integers("shape"), np.int64)
    _set_input(node, 1, Known(f"shape of {node.layer}", shape))


def _selu(node: OnnxNode) -> None:
    """Selu: the defaults had five digits."""
    for name, value in (("alpha", 1.6732), ("gamma", 1.0507)):
        if not node.has(name):
            _set_attribute(node, name, value)


def _split(node: OnnxNode) -> None:
    """Split-1: the sizes might be an operand."""
    if node.given(1):
        _set_attribute(node, "split", node.known_integers(1, "the sizes"))
        node.inputs = node.inputs[:1]


def _tile(node: OnnxNode) -> None:
    """Tile-1: how often, and along which axis."""
    rank = len(node.shape(0))
    repeats = np.ones(rank, np.int64)
    axis = node.axis(node.known_integer(2, "the axis"), rank)
    repeats[axis] = node.known_integer(1, "the count")
    node.inputs = (node.inputs[0], Known(f"repeats of {node.layer}", repeats))


def _top_k(node: OnnxNode) -> None:
    """TopK-1: the number was an attribute."""
    _set_input(node, 1, Known(f"k of {node.layer}", np.array([node.integer("k")], np.int64)))
    del node.attributes["k"]


def _upsample(node: OnnxNode) -> None:
    """Upsample-1: height and width of images."""
    scales = (1.0, 1.0, node.number("height_scale"), node.number("width_scale"))
    _set_attribute(node, "scales", scales)
    if node.text("mode", "nearest") == "bilinear":
        _set_attribute(node, "mode", "linear")


# Since when operators have said things as their handlers read them.
REWRITES: dict[str, tuple[int, Rewrite]] = {
    "Add": (7, _broadcast),
    "And": (7, _broadcast),
    "BatchNormalization": (7, _inference),
    "Cast": (6, _cast),
    "Concat": (4, _concat),
    "Div": (7, _broadcast),
    "Dropout": (7, _inference),
    "Equal": (7, _broadcast),
    "Gemm": (7, _gemm),
    "Greater": (7, _broadcast),
    "Less": (7, _broadcast),
    "Mul": (7, _broadcast),
    "Or": (7, _broadcast),
    "PRelu": (7, _slope),
    "Pad": (2, _pad),
    "Pow": (7, _broadcast),
    "Reshape": (5, _reshape),
    "Selu": (6, _selu),
    "Split": (2, _split),
    "Sub": (7, _broadcast),
    "Tile": (6, _tile),
    "TopK": (10, _top_k),
    "Upsample": (7, _upsample),
    "Xor": (7, _broadcast),
}
