"""Operators that pick elements by indices, write elements at indices, or make tensors of indices.

Indices may be known at compile time or computed; a computed condition would decide how large the
result is, which is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.formula_parser import parse
from .....ir.graph import Result
from .....ir.ops import (
    Gather,
    GatherElements,
    GatherND,
    OneHot,
    Pointwise,
    Reshape,
    ReverseSequence,
    ScatterElements,
    ScatterND,
    TensorScatter,
    Trilu,
)
from ..operands import Known
from ..read.types import numpy_type, type_name
from .casts import of_any_type
from .node import DataDependentError
from .parameters import parameters

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .....ir.ops import Op
    from .....ir.ops.scattering import Reduction
    from ..operands import Tensor
    from .elementwise import Handler
    from .node import OnnxNode

REDUCTIONS: tuple[Reduction, ...] = ("none", "add", "mul", "max", "min")


def gather(node: OnnxNode) -> Tensor:
    """Gather: slices of an axis, by index."""
    return node.move(Gather(node.axis(node.integer("axis", 0), len(node.shape(0)))), 0, 1)


def gather_elements(node: OnnxNode) -> Tensor:
    """GatherElements: elements along an axis, by index."""
    axis = node.axis(node.integer("axis", 0), len(node.shape(0)))
    return node.move(GatherElements(axis), 0, 1)


def gather_nd(node: OnnxNode) -> Tensor:
    """GatherND: slices, by positions over several axes."""
    return node.move(GatherND(node.integer("batch_dims", 0)), 0, 1)


def scatter_elements(node: OnnxNode) -> Tensor:
    """ScatterElements, and Scatter as it was called before operator set 11."""
    axis = node.axis(node.integer("axis", 0), len(node.shape(0)))
    return _scattered(node, ScatterElements(axis, _reduction(node)))


def scatter_nd(node: OnnxNode) -> Tensor:
    """ScatterND: slices replaced, by positions over several axes."""
    return _scattered(node, ScatterND(_reduction(node)))


def _scattered(node: OnnxNode, op: Op) -> Tensor:
    """Apply the operator; without updates it changes nothing."""
    return node.move(op, 0, 1, 2) if 0 not in node.shape(1) + node.shape(2) else node.item(0)


def _reduction(node: OnnxNode) -> Reduction:
    reduction: Reduction = node.choice("reduction", REDUCTIONS)
    return reduction


def tensor_scatter(node: OnnxNode) -> Tensor:
    """TensorScatter; without write_indices, every batch entry is written from the start."""
    axis = node.axis(node.integer("axis", -2), len(node.shape(0)))
    circular = node.choice("mode", ("linear", "circular")) == "circular"
    first = Known(f"{node.layer}.start", np.zeros(node.shape(0)[:1], np.int64))
    starts = node.item(2) if node.given(2) else first
    return node.moved(TensorScatter(axis, circular), node.item(0), node.item(1), starts)


def array_feature_extractor(node: OnnxNode) -> Tensor:
    """ArrayFeatureExtractor of ai.onnx.ml: columns of the last axis, whatever the indices' rank."""
    rank = len(node.shape(0))
    indices = node.moved(Reshape((int(np.prod(node.shape(1))),)), node.item(1))
    y = node.moved(Gather(rank - 1), node.item(0), indices)
    return node.moved(Reshape((1, *y.shape)), y) if rank == 1 else y


@parameters(1)
def compress(node: OnnxNode) -> Tensor:
    """Compress: keeps the slices that a constant condition selects.

    Raises:
        DataDependentError: when the condition is computed.
    """
    x, condition = node.item(0), node.item(1)
    if isinstance(condition, Result):
        raise DataDependentError(
            "Compress with a condition computed from the inputs is not implemented",
            "the size of the result depends on the data, and textures have fixed sizes",
        )
    if node.has("axis"):
        axis = node.axis(node.integer("axis"), len(x.shape))
    else:
        x, axis = node.moved(Reshape((int(np.prod(x.shape)),)), x), 0
    kept = np.flatnonzero(node.known(1, "the condition"))
    if not kept.size and not isinstance(x, Known):
        raise ShadergenError("SG0206", "Compress keeps nothing: the result is empty")
    return node.moved(Gather(axis), x, Known(f"{node.layer}.kept", kept))


@parameters(1)
def one_hot(node: OnnxNode) -> Value:
    """OneHot; depth is a constant, axis is numbered as in the result."""
    indices = node.numeric(0)
    depth = node.known(1, "the depth")
    if depth.size != 1:
        raise ShadergenError("SG0105", f"the depth must be one number, not {depth.tolist()}")
    axis = node.axis(node.integer("axis", -1), indices.type.rank + 1)
    if indices.type.dtype == "float32":
        indices = node.apply(Pointwise(parse("trunc(x0)"), "int64"), indices)
    return node.apply(OneHot(int(depth.reshape(())), axis), indices, node.operand(2))


@parameters(0)
def eye_like(node: OnnxNode) -> Known:
    """EyeLike: an identity matrix of the operand's shape, and of its type if dtype is absent."""
    shape = node.shape(0)
    if len(shape) != 2:
        raise ShadergenError("SG0105", f"EyeLike needs rank 2, not {len(shape)}")
    dtype = np.dtype(node.item(0).type.dtype)
    if node.has("dtype"):
        to = node.integer("dtype")
        if (named := numpy_type(to)) is None:
            raise node.refusal("dtype", type_name(to), ("float", "int64", "int32", "bool"))
        dtype = named
    node.budget.take(int(np.prod(shape)))
    return Known(node.layer, np.eye(*shape, node.integer("k", 0), dtype=dtype))


@parameters(1)
def trilu(node: OnnxNode) -> Tensor:
    """Trilu: the diagonal is an input."""
    upper = bool(node.choice("upper", (1, 0)))
    k = 0
    if node.given(1):
        given = node.known(1, "the diagonal")
        if given.size != 1:
            raise ShadergenError("SG0105", f"the diagonal must be one number, not {given.tolist()}")
        k = int(given.reshape(()))
    return node.move(Trilu(k, upper), 0)


def reverse_sequence(node: OnnxNode) -> Tensor:
    """ReverseSequence: the first steps of each sequence in reverse."""
    rank = len(node.shape(0))
    time = node.axis(node.integer("time_axis", 0), rank)
    batch = node.axis(node.integer("batch_axis", 1), rank)
    return node.move(ReverseSequence(time, batch), 0, 1)


SELECTION: dict[str, Handler] = {
    "Compress": compress,
    "EyeLike": eye_like,
    "Gather": of_any_type(gather),
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "Trilu": trilu,
}
