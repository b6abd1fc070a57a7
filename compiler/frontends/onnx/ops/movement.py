"""Operators that move elements. Shapes, axes and the like must be known at compile time."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.dimensions import same_shape
from .....ir.ops import (
    Concat,
    DepthToSpace,
    Expand,
    Rearrange,
    Reshape,
    Slice,
    Tile,
    Transpose,
)
from .....ir.ops.base import unlike_text
from ...slicing import taken
from ..operands import Known, typed_item, whole_numbers
from .axes import in_place, of_maps
from .casts import of_any_type
from .parameters import parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .....ir.graph import Value
    from ..operands import Item, Tensor
    from .elementwise import Handler
    from .node import OnnxNode

Sizes = tuple[int, ...]


@in_place
def concat(node: OnnxNode) -> Tensor:
    """Concat; the axis has been required since operator set 4."""
    items = [node.item(i) for i in range(len(node.inputs))]
    return joined(node, items, node.axis(node.integer("axis"), len(node.shape(0))))


def joined(node: OnnxNode, items: Sequence[Tensor], axis: int) -> Tensor:
    """Join tensors along an axis."""
    shapes = [item.shape for item in items]
    rest = [(*s[:axis], len(s), *s[axis + 1 :]) for s in shapes]
    if any(r != rest[0] for r in rest):
        raise ShadergenError("SG0205", unlike_text(shapes, axis))
    parts = [item for item in items if item.shape[axis]] or items[:1]  # the empty add nothing
    return parts[0] if len(parts) == 1 else node.moved(Concat(axis), *parts)


@of_maps
def depth_to_space(node: OnnxNode) -> Value:
    """DepthToSpace; before operator set 11 the order was always DCR."""
    block = _block(node)
    order = {"DCR": "dcr", "CRD": "crd"}[node.choice("mode", ("DCR", "CRD"))]
    return node.apply(DepthToSpace((block, block), order), node.operand(0))  # type: ignore[arg-type]


@of_maps
def space_to_depth(node: OnnxNode) -> Value:
    """SpaceToDepth: channel (i*b + j)*C + c holds row i, column j of each block."""
    x, b = node.operand(0), _block(node)
    if x.type.rank != 4 or x.shape[2] % b or x.shape[3] % b:
        raise ShadergenError("SG0205", f"the input does not divide into blocks of {b}x{b}")
    n, c, height, width = x.shape
    h, w = height // b, width // b
    axes, order = {
        "DCR": ((0, 3, 5, 1, 2, 4), (n, c * b * b, h, w)),
        "CRD": ((0, 1, 3, 5, 2, 4), (n, c * b * b, h, w)),
    }[node.choice("mode", ("DCR", "CRD"))]
    return node.apply(Rearrange((n, c, h, b, w, b), axes, order), x)


def _block(node: OnnxNode) -> int:
    block = node.integer("blocksize")
    if block < 1:
        raise ShadergenError(
            "SG0105", f"attribute blocksize={block} is invalid", supported="at least 1"
        )
    return block


def transpose(node: OnnxNode) -> Tensor:
    """Transpose; without perm, all axes are reversed."""
    rank = len(node.shape(0))
    axes = node.axes(node.integers("perm", tuple(reversed(range(rank)))), rank)
    if len(axes) != rank:
        raise ShadergenError("SG0105", f"attribute perm={list(axes)} does not fit rank {rank}")
    return node.move(Transpose(axes), 0)


@parameters(1)
def reshape(node: OnnxNode) -> Tensor:
    """Reshape: 0 keeps a size (unless allowzero), -1 takes the remaining elements."""
    keep = not node.choice("allowzero", (0, 1))
    old = node.shape(0)
    new = list(node.known_integers(1, "the shape"))
    for axis, size in enumerate(new):
        if size == 0 and keep and axis < len(old):
            new[axis] = old[axis]
    rest = prod(s for s in new if s != -1)
    if new.count(-1) == 1 and rest > 0:
        new[new.index(-1)] = prod(old) // rest
    return _reshaped(node, tuple(new))


def flatten(node: OnnxNode) -> Tensor:
    """Flatten to rank 2: rows are the axes before ``axis``, columns the others."""
    shape = node.shape(0)
    axis = node.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise ShadergenError("SG0105", f"axis {axis} is out of range for rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return _reshaped(node, (prod(shape[:axis]), prod(shape[axis:])))


@parameters(1)
def squeeze(node: OnnxNode) -> Tensor:
    """Squeeze; without axes, every axis of size 1 is removed."""
    shape = node.shape(0)
    axes = node.axes(_axes(node, tuple(i for i, s in enumerate(shape) if s == 1)), len(shape))
    if any(shape[a] != 1 for a in axes):
        raise ShadergenError("SG0205", f"axes {list(axes)} are not all of size 1")
    return _reshaped(node, tuple(s for i, s in enumerate(shape) if i not in axes))


@parameters(1)
def unsqueeze(node: OnnxNode) -> Tensor:
    """Unsqueeze; axes are numbered as in the result."""
    given = _axes(node, None)
    shape = iter(node.shape(0))
    rank = len(node.shape(0)) + len(given)
    axes = node.axes(given, rank)
    return _reshaped(node, tuple(1 if i in axes else next(shape) for i in range(rank)))


def _axes(node: OnnxNode, default: Sizes | None) -> Sizes:
    """Return the axes: an attribute before operator set 13, then an input."""
    if node.version < 13:
        return node.integers("axes", default)
    if default is not None and not node.given(1):
        return default
    return node.known_integers(1, "the axes")


def _reshaped(node: OnnxNode, shape: Sizes) -> Tensor:
    if any(size < 0 for size in shape) or prod(shape) != prod(node.shape(0)):
        raise ShadergenError(
            "SG0205", f"{prod(node.shape(0))} elements do not fill the shape {list(shape)}"
        )
    if same_shape(shape, node.shape(0)):
        return node.item(0)
    return node.move(Reshape(shape), 0)


@in_place
@parameters(1, 2, 3, 4)
def slice_(node: OnnxNode) -> Tensor:
    """Slice: bounds are attributes before operator set 10, then inputs."""
    shape = node.shape(0)
    steps: Sizes = ()
    if node.version < 10:
        starts, ends = node.integers("starts"), node.integers("ends")
        axes = node.integers("axes", tuple(range(len(starts))))
    else:
        starts, ends = node.known_integers(1, "starts"), node.known_integers(2, "ends")
        axes = tuple(range(len(starts)))
        if node.given(3):
            axes = node.known_integers(3, "the axes")
        if node.given(4):
            steps = node.known_integers(4, "the steps")
    steps = steps or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ShadergenError("SG0105", "starts, ends, axes and steps of Slice do not fit")
    parts = [(0, 1, size) for size in shape]
    for axis, start, end, step in zip(
        node.axes(axes, len(shape)), starts, ends, steps, strict=True
    ):
        parts[axis] = taken(shape[axis], slice(start, end, step))
    starts, steps, sizes = zip(*parts, strict=True) if parts else ((), (), ())
    op = Slice(starts, steps, sizes)
    x = node.item(0)
    whole = same_shape(op.sizes, shape) and min(op.steps, default=1) > 0
    return x if whole else cut(node, op, x)


def cut(node: OnnxNode, op: Slice, x: Tensor) -> Tensor:
    """Apply a Slice; what has no elements is known, whatever it is cut from."""
    if 0 in op.sizes and not isinstance(x, Known):
        return Known(node.layer, np.zeros(op.sizes, x.type.dtype))
    return node.moved(op, x)


@in_place
@parameters(1)
def split(node: OnnxNode) -> list[Tensor]:
    """Split: sizes are an attribute before operator set 13, then an input; or equal parts."""
    shape = node.shape(0)
    axis = node.axis(node.integer("axis", 0), len(shape))
    count = len(node.used)
    if node.version < 13:
        sizes = node.integers("split", ())
    else:
        sizes = node.known_integers(1, "the sizes") if node.given(1) else ()
        node.ignore("num_outputs")
    if not sizes:
        part = -(-shape[axis] // count)
        sizes = tuple(min(part, shape[axis] - part * i) for i in range(count))
    if len(sizes) != count or sum(sizes) != shape[axis] or min(sizes) < 0:
        raise ShadergenError(
            "SG0205", f"parts of {list(sizes)} do not fit axis {axis} of size {shape[axis]}"
        )
    results, start = [], 0
    for size in sizes:
        starts, lengths = [0] * len(shape), list(shape)
        starts[axis], lengths[axis] = start, size
        start += size
        op = Slice(tuple(starts), (1,) * len(shape), tuple(lengths))
        results.append(cut(node, op, node.item(0)))
    return results


@parameters(1)
def expand(node: OnnxNode) -> Tensor:
    """Expand: an axis keeps its size where the operand 'shape' has 1 or no entry."""
    op = Expand(node.known_integers(1, "the shape"))
    same = op.infer(node.item(0).type).shape == node.shape(0)
    return node.item(0) if same else node.move(op, 0)


@parameters(1, 2)
def tile(node: OnnxNode) -> Tensor:
    """Tile: a tensor repeated along its axes."""
    repeats = node.known_integers(1, "the repeats")
    rank = len(node.shape(0))
    if len(repeats) != rank:
        raise ShadergenError(
            "SG0105", f"Tile needs {rank} repeats for rank {rank}, not {len(repeats)}"
        )
    return node.item(0) if set(repeats) <= {1} else node.move(Tile(repeats), 0)


@parameters(0)
def shape(node: OnnxNode) -> Known:
    """Shape, or the part of it from start to end."""
    sizes = node.shape(0)
    start = node.integer("start", 0)
    end = node.integer("end", len(sizes))
    return Known(node.layer, whole_numbers(sizes[slice(start, end)]))


@parameters(0)
def size(node: OnnxNode) -> Known:
    """Size, the number of elements."""
    return Known(node.layer, whole_numbers((prod(node.shape(0)),)).reshape(()))


@in_place
def identity(node: OnnxNode) -> Item:
    """Identity, for anything."""
    return node.entry(0)


@in_place
@parameters(1, 2)
def dropout(node: OnnxNode) -> list[Item]:
    """Dropout does nothing at inference; its optional second result, the mask, is true."""
    node.ignore("ratio", "seed", 1)  # the ratio became an input
    training = node.given(2) and node.known(2, "training_mode").any()
    if training and (not node.given(1) or node.known(1, "the ratio").any()):
        raise ShadergenError(
            "SG0202",
            "Dropout with training_mode=1 is not implemented",
            help="export the model for inference",
        )
    x = node.item(0)
    results: list[Item] = [x]
    if node.used[1:] == (True,):
        dtype = np.bool_ if node.version >= 10 else np.float32
        results.append(Known(node.layer, np.broadcast_to(dtype(1), x.shape)))
    return results


def constant(node: OnnxNode) -> Item:
    """Constant: a tensor, a number or a list of numbers."""
    if node.has("value"):
        known = Known(node.layer, node.tensor("value"))
        return typed_item(known, node.attributes["value"].t.data_type)
    if node.has("sparse_value"):
        array = node.sparse("sparse_value")
    elif node.has("value_float"):
        array = np.array(node.number("value_float", finite=False), np.float32)
    elif node.has("value_floats"):
        array = np.array(node.numbers("value_floats"), np.float32)
    elif node.has("value_int"):
        array = np.array(node.integer("value_int"), np.int64)
    elif node.has("value_string") or node.has("value_strings"):
        raise ShadergenError("SG0206", "Constant of strings is not implemented")
    else:
        array = np.array(node.integers("value_ints"), np.int64)
    return Known(node.layer, array)


MOVEMENT: dict[str, Handler] = {
    "Concat": of_any_type(concat, slice(None)),
    "Constant": constant,
    "DepthToSpace": depth_to_space,
    "Dropout": dropout,
    "Expand": of_any_type(expand),
    "Flatten": of_any_type(flatten),
    "Identity": identity,
    "Reshape": of_any_type(reshape),
    "Shape": shape,
    "Size": size,
    "Slice": of_any_type(slice_),
    "SpaceToDepth": space_to_depth,
    "Split": of_any_type(split),
    "Squeeze": of_any_type(squeeze),
    "Tile": of_any_type(tile),
    "Transpose": of_any_type(transpose),
    "Unsqueeze": of_any_type(unsqueeze),
}
