"""Attention as ONNX Runtime's optimiser fuses it, and rotary embeddings.

Everything is kept as (batch, length, heads, features), which needs no transposition.
Source: ONNX Runtime, docs/ContribOperators.md, and its CPU kernels for what that leaves open: what
is masked gets ``mask_filter_value`` added to its score.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import (
    Attention,
    Concat,
    MatMul,
    Pointwise,
    Reshape,
    RotaryEmbedding,
    Slice,
    Transpose,
)

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .elementwise import Handler
    from .node import OnnxNode

HEADS_LAST = (0, 2, 1, 3)  # and back: (B, N, T, D) <-> (B, T, N, D)


def multi_head_attention(node: OnnxNode) -> list[Value]:
    """MultiHeadAttention. Results: y (B, S, N*E); keys and values with the past (B, N, T, D)."""
    heads = node.integer("num_heads")
    _refuse(node, {8: "past_sequence_length", 9: "beams"})
    query = node.real(0)
    if query.type.rank == 5:  # (B, S, N, 3, D)
        q, k, v = (_picked(node, query, part) for part in range(3))
    elif query.type.rank == 3 and node.given(1) and node.shape(1)[3:]:
        q = _split(node, query, heads)
        key = node.real(1)
        if key.type.rank == 5:  # (B, T, N, 2, D)
            k, v = (_picked(node, key, part) for part in range(2))
        else:
            k, v = (node.apply(Transpose(HEADS_LAST), node.real(i)) for i in (1, 2))
    else:
        q, k, v = (_split(node, node.real(i), heads) for i in range(3))
    if node.given(3):
        if not all(node.given(i) and len(node.shape(i)) == 3 for i in range(3)):
            raise ShadergenError(
                "SG0202",
                f"{node.op} with a bias and packed operands is not implemented",
                supported="a bias with query, key and value of rank 3",
            )
        q, k, v = _biased(node, (q, k, v), node.real(3))
    past: list[Value] = []
    if node.given(6):
        past = [node.apply(Transpose(HEADS_LAST), node.real(i)) for i in (6, 7)]
    return _attend(node, q, k, v, past, mask=4, bias=5)


def attention(node: OnnxNode) -> list[Value]:
    """Attention with projections. Results: y (B, S, N*E); stacked keys and values with the past."""
    heads = node.integer("num_heads")
    _refuse(node, {6: "past_sequence_length"})
    node.choice("do_rotary", (0,))
    node.choice("past_present_share_buffer", (0,))
    node.ignore("rotary_embedding_dim")
    x, w = node.real(0), node.real(1)
    width = w.shape[1] if w.type.rank == 2 else 0
    sizes = node.integers("qkv_hidden_sizes", (width // 3,) * 3)
    if x.type.rank != 3:
        raise ShadergenError("SG0105", f"the input of {node.op} must have rank 3, not {x.type}")
    if len(sizes) != 3 or sum(sizes) != width:
        raise ShadergenError(
            "SG0105", f"weights {list(w.shape)} do not match qkv_hidden_sizes {sizes}"
        )
    y = node.apply(MatMul(), x, w)
    if node.given(2):
        y = node.apply(Pointwise(parse("x0 + x1")), y, node.real(2))
    batch, length = x.shape[:2]
    parts, start = [], 0
    for size in sizes:
        part = node.apply(Slice((0, 0, start), (1, 1, 1), (batch, length, size)), y)
        parts.append(_split(node, part, heads))
        start += size
    q, k, v = parts
    past = []
    if node.given(4):
        shape = node.shape(4)[1:]
        for part_index in range(2):
            starts, steps = (part_index, 0, 0, 0, 0), (1,) * 5
            part = node.apply(Slice(starts, steps, (1, *shape)), node.real(4))
            part = node.apply(Reshape(shape), part)
            past.append(node.apply(Transpose(HEADS_LAST), part))
    y, *present = _attend(node, q, k, v, past, mask=3, bias=5)
    if not (node.used[1:] and node.used[1]):
        return [y]
    stacked = [node.apply(Reshape((1, *p.shape)), p) for p in present]
    return [y, node.apply(Concat(0), *stacked)]


def rotary_embedding(node: OnnxNode) -> Value:
    """RotaryEmbedding of ai.onnx: x, cosines, sines, positions."""
    return _rotated(node, 1, 2, node.numeric(3) if node.given(3) else None)


def microsoft_rotary_embedding(node: OnnxNode) -> Value:
    """RotaryEmbedding of com.microsoft: x, position ids (or only the first), cosines, sines."""
    node.choice("is_packed_batching", (0,))
    if node.number("scale", 1.0) != 1:
        raise node.refusal("scale", node.number("scale"), (1.0,))
    ids, shape = node.numeric(1), node.shape(0)
    batch, length = shape[0], shape[2] if len(shape) == 4 else shape[1]
    if ids.shape == (1,):
        steps = constant(np.tile(np.arange(length, dtype=np.int64), (batch, 1)), "positions")
        ids = node.apply(Pointwise(parse("x0 + x1"), "int64"), steps, ids)
    return _rotated(node, 2, 3, ids)


def _rotated(node: OnnxNode, cos: int, sin: int, ids: Value | None) -> Value:
    x = node.real(0)
    heads = node.integer("num_heads", 0)
    interleaved = node.choice("interleaved", (0, 1)) == 1
    whole = x.shape
    x = node.apply(Transpose(HEADS_LAST), x) if x.type.rank == 4 else _split(node, x, heads)
    op = RotaryEmbedding(node.integer("rotary_embedding_dim", 0) or x.shape[3], interleaved)
    y = node.apply(op, x, node.real(cos), node.real(sin), *(() if ids is None else (ids,)))
    return node.apply(Transpose(HEADS_LAST) if len(whole) == 4 else Reshape(whole), y)


def _refuse(node: OnnxNode, inputs: dict[int, str]) -> None:
    for index, role in inputs.items():
        if node.given(index):
            raise ShadergenError(
                "SG0202",
                f"{node.op} with {role} (input {index}) is not implemented",
                why="sizes are fixed when compiling",
            )


def _attend(
    node: OnnxNode, q: Value, k: Value, v: Value, past: list[Value], *, mask: int, bias: int
) -> list[Value]:
    """Apply attention; ``mask`` and ``bias`` say which inputs these are."""
    if past:
        k, v = (node.apply(Concat(1), p, x) for p, x in zip(past, (k, v), strict=True))
    batch, length, heads, features = q.shape
    scale = node.number("scale", 0.0) or 1 / sqrt(features)
    causal = node.choice("unidirectional", (0, 1)) == 1
    added = _mask(node, mask, (batch, length, k.shape[1]))
    if node.given(bias):
        other = node.real(bias)
        added = other if added is None else node.apply(Pointwise(parse("x0 + x1")), added, other)
    offset = k.shape[1] - length if causal else 0
    op = Attention(scale, True, added is not None, causal=causal, offset=offset)
    y = node.apply(op, q, k, v, *(() if added is None else (added,)))
    result = [node.apply(Reshape((batch, length, heads * v.shape[3])), y)]
    if any(node.used[1:]):
        result += [node.apply(Transpose(HEADS_LAST), x) for x in (k, v)]
    return result


def _mask(node: OnnxNode, index: int, sizes: tuple[int, int, int]) -> Value | None:
    """Return the additive mask of the scores, (B, 1, S or 1, T); 0 for visible keys."""
    hidden = node.number("mask_filter_value", -10000.0)
    if not node.given(index):
        return None
    batch, length, keys = sizes
    mask = node.numeric(index)
    shapes = {(batch, keys): (batch, 1, 1, keys), (batch, length, keys): (batch, 1, length, keys)}
    formula = "where(0 < x0, 0, hidden)"
    operands = []
    if mask.shape == (batch,):  # how many keys there are
        mask = node.apply(Reshape((batch, 1, 1, 1)), mask)
        operands = [constant(np.arange(keys, dtype=np.float32), "keys")]
        formula = "where(x1 < x0, 0, hidden)"
    elif mask.shape in shapes:
        mask = node.apply(Reshape(shapes[mask.shape]), mask)
    else:
        raise ShadergenError(
            "SG0202",
            f"{node.op} with a mask of shape {list(mask.shape)} is not implemented",
            supported=f"[{batch}], [{batch}, {keys}], [{batch}, {length}, {keys}]",
        )
    return node.apply(
        Pointwise(substitute(parse(formula), {"hidden": Num(hidden)})), mask, *operands
    )


def _split(node: OnnxNode, x: Value, heads: int) -> Value:
    """Divide (B, T, N*D) into heads."""
    if x.type.rank != 3 or heads < 1 or x.shape[2] % heads:
        raise ShadergenError("SG0105", f"shape {list(x.shape)} does not divide into {heads} heads")
    return node.apply(Reshape((*x.shape[:2], heads, x.shape[2] // heads)), x)


def _picked(node: OnnxNode, x: Value, part: int) -> Value:
    """Return one of the tensors packed along the axis before the last."""
    b, t, n, _, d = x.shape
    y = node.apply(Slice((0, 0, 0, part, 0), (1,) * 5, (b, t, n, 1, d)), x)
    return node.apply(Reshape((b, t, n, d)), y)


def _biased(node: OnnxNode, parts: tuple[Value, ...], bias: Value) -> list[Value]:
    """Add to queries, keys and values their parts of a bias."""
    result, start = [], 0
    for x in parts:
        heads, features = x.shape[2:]
        size = heads * features
        if bias.type.rank != 1 or start + size > bias.shape[0]:
            raise ShadergenError(
                "SG0105", f"a bias of shape {list(bias.shape)} does not fit {node.op}"
            )
        part = node.apply(Slice((start,), (1,), (size,)), bias)
        part = node.apply(Reshape((heads, features)), part)
        result.append(node.apply(Pointwise(parse("x0 + x1")), x, part))
        start += size
    return result


ATTENTION: dict[str, Handler] = {
    "RotaryEmbedding": rotary_embedding,
}
