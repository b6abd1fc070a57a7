"""Attention of several heads, which see projections of queries, keys and values."""

from __future__ import annotations

from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError
from .....ir.expr import Num, substitute
from .....ir.formula_parser import parse
from .....ir.graph import constant
from .....ir.ops import Attention, MatMul, Pointwise, Reshape, Transpose
from .....records import replace
from ..read.config import is_integer
from ..tensors import Tensor, of_model, own_order, reshaped
from .attention import causal, flag, shares, swapped
from .common import real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .....ir.graph import Value
    from .layer import Layer


def multi_head_attention(layer: Layer, inputs: list[Tensor]) -> Tensor | list[Tensor]:
    """MultiHeadAttention, over one axis of the inputs or several."""
    config = layer.config
    heads, size = config.integer("num_heads"), config.integer("key_dim")
    values = config.integer("value_dim", size)
    query, key, value = _operands(layer)
    axes = config.get("attention_axes")
    axes = (
        tuple(range(1, query.rank - 1))
        if axes is None
        else config.integers("attention_axes", least=-9)
    )
    axes = tuple(a % query.rank for a in axes)
    if not axes or not all(1 <= a <= query.rank - 2 for a in axes):
        config.malformed("attention_axes", f"axes of a tensor of rank {query.rank}")
    entry = config.value("output_shape")
    result = [entry] if is_integer(entry) else entry or [query.shape[-1]]
    if not isinstance(result, (list, tuple)) or not all(is_integer(s) for s in result):
        config.malformed("output_shape", "a size or a list of sizes")
    return _Heads(layer, (heads, heads), (size, values), axes, tuple(result)).attend(
        query, key, value
    )


def grouped_query_attention(layer: Layer, inputs: list[Tensor]) -> Tensor | list[Tensor]:
    """GroupQueryAttention: several query heads share one head of keys and values."""
    config = layer.config
    size = config.integer("head_dim")
    heads, groups = config.integer("num_query_heads"), config.integer("num_key_value_heads")
    query, key, value = _operands(layer)
    if heads % groups:
        config.malformed("num_query_heads", f"a multiple of {groups}")
    if query.rank != 3:
        raise ShadergenError("SG0205", "the query must have rank 3", where=layer.described)
    result = (query.shape[-1],)
    return _Heads(layer, (heads, groups), (size, size), (1,), result).attend(query, key, value)


def _operands(layer: Layer) -> tuple[Tensor, Tensor, Tensor]:
    """Return query, key and value, which the call gives by position or name; keys are values."""
    found: list[Any] = []
    for position, name in enumerate(("query", "value", "key")):
        given = len(layer.args) > position
        found.append(layer.args[position] if given else layer.kwargs.get(name))
    if len(layer.args) == 1 and isinstance(found[0], list):  # one list, before there were names
        found = [*found[0], None][:3]
    query, value, key = found
    if not all(isinstance(x, Tensor) and x.rank >= 3 for x in (query, value, key or value)):
        raise ShadergenError(
            "SG0205", "query and value must be tensors of rank 3 or more", where=layer.described
        )
    value = _masked(layer, value, "value_mask")
    key = replace(value, mask=None) if key is None else key
    if layer.spec.class_name != "MultiHeadAttention":
        query = _masked(layer, query, "query_mask")
    elif isinstance(layer.kwargs.get("query_mask"), Tensor) and query.mask is None:
        # Some versions use it, others look at the mask that came with the query alone.
        layer.config.refuse("an explicit query_mask", "the mask of a Masking or Embedding layer")
    return query, _masked(layer, key, "key_mask"), value


def _masked(layer: Layer, x: Tensor, name: str) -> Tensor:
    """Return a tensor with the mask that the call names, or else its own."""
    mask = layer.kwargs.get(name)
    return replace(x, mask=mask) if isinstance(mask, Tensor) else x


class _Heads:
    """The attention of one layer.

    Args:
        layer: the layer.
        heads: how many the query has, and how many keys and values have.
        sizes: of keys and of values.
        axes: what attention goes along; the other axes are like the samples.
        result: the sizes of the last axes of the result.
    """

    def __init__(
        self,
        layer: Layer,
        heads: tuple[int, int],
        sizes: tuple[int, int],
        axes: tuple[int, ...],
        result: tuple[int, ...],
    ) -> None:
        self.layer = layer
        self.heads, self.groups = heads
        self.size, self.values = sizes
        self.axes = axes
        self.result = result
        self.bias = layer.config.flag("use_bias", True)
        self.gated = layer.config.flag("use_gate", False)
        roles = ["query", "key", *(["gate"] if self.gated else []), "value", "output"]
        self.place = {role: k for k, role in enumerate(roles)}

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor | list[Tensor]:
        """Return the result, and the shares if the call asks for them."""
        layer, rank = self.layer, query.rank
        if any(x.rank != rank for x in (key, value)):
            raise ShadergenError("SG0205", "the inputs differ in rank", where=layer.described)
        q = self.projected("query", query, self.heads, self.size)
        k = self.projected("key", key, self.groups, self.size)
        v = self.projected("value", value, self.groups, self.values)
        scored = flag(layer, "return_attention_scores")
        if rank == 3 and not scored and not self.masked(query, key, value):
            # Where a query may see nothing, Keras takes the mean of all values, this 0.
            op = Attention(1 / sqrt(self.size), True, causal=flag(layer, "use_causal_mask"))
            return of_model(self.output(self.gate(layer.apply(op, q, k, v), query)))
        factor = substitute(parse("x0 * f"), {"f": Num(1 / sqrt(self.size))})
        q = self.arranged(layer.apply(Pointwise(factor), q), self.heads)
        k, v = (self.arranged(x, self.groups) for x in (k, v))
        scores = layer.apply(MatMul(), q, swapped(layer, k))
        weights = shares(layer, scores, self.masks(query, key, value, scores))
        y = self.rearranged(layer.apply(MatMul(), weights, v), query)
        result = of_model(self.output(self.gate(y, query)))
        if not scored:
            return result
        ends = [x.shape[a] for x in (query, key) for a in self.axes]
        lead = [query.shape[a] for a in range(rank - 1) if a not in self.axes]
        return [result, reshaped(of_model(weights), (*lead, self.heads, *ends), layer.name)]

    def masked(self, query: Tensor, key: Tensor, value: Tensor) -> bool:
        """Whether anything but causality keeps queries from values."""
        given = isinstance(self.layer.kwargs.get("attention_mask"), Tensor)
        window = self.layer.config.get("sliding_window") is not None
        return given or window or any(x.mask is not None for x in (query, key, value))

    def gate(self, y: Value, query: Tensor) -> Value:
        """Weight the heads' results by a projection of the query, if the layer has one."""
        if not self.gated:
            return y
        gate = self.projected("gate", query, self.heads, self.values)
        return self.layer.apply(Pointwise(parse("x0 * sigmoid(x1)")), y, gate)

    def weights(
        self, role: str, kernel: tuple[int, ...], matrix: tuple[int, int], bias: tuple[int, ...]
    ) -> list[Value]:
        """Return the kernel of a projection as a matrix and, if there is one, its bias."""
        count = 1 + self.bias
        start = self.place[role] * count
        part = self.layer.part(
            {"class_name": "EinsumDense", "config": {"name": role}},
            (f"{role}_dense", f"_{role}_dense"),
            slice(start, start + count),
        )
        shapes = {"kernel": kernel, **({"bias": bias} if self.bias else {})}
        w = part.constants(
            shapes,
            lambda w: {
                name: a.reshape(matrix if name == "kernel" else (-1,)) for name, a in w.items()
            },
        )
        return list(w.values())

    def projected(self, role: str, x: Tensor, heads: int, size: int) -> Value:
        """Return (samples, ..., heads, size)."""
        layer, features = self.layer, x.shape[-1]
        kernel = (features, heads, size)
        w = self.weights(role, kernel, (features, heads * size), (heads, size))
        y = self.linear(own_order(real(x, layer.name), layer.name), w)
        return layer.apply(Reshape((*x.shape[:-1], heads, size)), y)

    def output(self, x: Value) -> Value:
        """Project (samples, ..., heads, values) to the result."""
        rows, columns = self.heads * self.values, prod(self.result)
        kernel = (self.heads, self.values, *self.result)
        w = self.weights("output", kernel, (rows, columns), self.result)
        y = self.linear(self.layer.apply(Reshape((*x.shape[:-2], rows)), x), w)
        return self.layer.apply(Reshape((*x.shape[:-2], *self.result)), y)

    def linear(self, x: Value, w: Sequence[Value]) -> Value:
        y = self.layer.apply(MatMul(), x, w[0])
        return self.layer.apply(Pointwise(parse("x0 + x1")), y, w[1]) if w[1:] else y

    def others(self, rank: int) -> list[int]:
        """Return the axes of (samples, ..., heads, size) that attention does not go along."""
        return [a for a in range(rank - 1) if a not in self.axes]

    def arranged(self, x: Value, heads: int) -> Value:
        """(samples, ..., heads, size) -> (samples, others, groups, shared, steps, size)."""
        rank, others = x.type.rank, self.others(x.type.rank)
        y = self.layer.apply(Transpose((*others, *self.axes, rank - 1)), x)
        steps = prod(x.shape[a] for a in self.axes)
        lead = tuple(x.shape[a] for a in others[:-1])
        split = (heads,) if self.heads == self.groups else (self.groups, heads // self.groups)
        return self.layer.apply(Reshape((*lead, *split, steps, x.shape[-1])), y)

    def rearranged(self, x: Value, query: Tensor) -> Value:
        """Undo :meth:`arranged`, with the steps of the query."""
        rank = query.rank + 1
        others = self.others(rank)
        order = [*others, *self.axes, rank - 1]
        shape = [*query.shape[:-1], self.heads, self.values]
        y = self.layer.apply(Reshape(tuple(shape[a] for a in order)), x)
        return self.layer.apply(Transpose(tuple(int(a) for a in np.argsort(order))), y)

    def masks(self, query: Tensor, key: Tensor, value: Tensor, scores: Value) -> list[Value]:
        """Return all masks combined, broadcastable to the scores."""
        layer, config = self.layer, self.layer.config
        found: list[Value] = []
        given = layer.kwargs.get("attention_mask")
        if isinstance(given, Tensor):
            found.append(self.spread(given, given.shape, scores))
        for x, of_query in ((query, True), (value, False), (key, False)):
            if x.mask is not None:
                n, steps = x.mask.shape if x.mask.rank == 2 else (0, 0)
                shape = (n, steps, 1) if of_query else (n, 1, steps)
                found.append(self.spread(x.mask, shape, scores))
        window = config.get("sliding_window")
        ends = scores.shape[-2:]
        if window is not None:
            reach = config.integer("sliding_window")
            near = np.abs(np.subtract.outer(*map(np.arange, ends))) < reach
            found.append(constant(near, f"{layer.name}/window"))
        if flag(layer, "use_causal_mask"):
            found.append(causal(layer, ends))
        if found and len(self.axes) > 1:
            config.unsupported(
                "attention_axes", list(self.axes), "a single axis if there is a mask"
            )
        return found

    def spread(self, mask: Tensor, shape: tuple[int, ...], scores: Value) -> Value:
        """Return a mask (samples, Tq, Tk) with axes for the heads and the like."""
        if len(shape) != 3 or 0 in shape:
            self.layer.config.refuse(
                f"an attention_mask of shape {mask.shape}", "samples x queries x keys"
            )
        wide = (shape[0], *(1,) * (scores.type.rank - 3), *shape[1:])
        return own_order(reshaped(mask, wide, self.layer.name), self.layer.name)
