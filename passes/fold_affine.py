"""Fold affine maps into the convolution beside them: batch normalisation, biases, scales.

a * conv(x; W, b) + t = conv(x; a*W, a*b + t), where a and t hold one number for each output
channel. Refused when the convolution feeds anything else, when a or t vary over space, when a
folded weight is not finite, or when the result has an integer type. Sums of integers are exact;
with scaled weights they are not, and a result halfway between two integers may round differently.

conv(reverse(x); W) = conv(x; reverse(W)), where reverse changes the order of the channels, as from
RGB to BGR; only for convolutions of one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.algebra import affine
from ..ir.dimensions import same_shape
from ..ir.evaluation import evaluate_formula
from ..ir.graph import Constant, Node, Result, constant
from ..ir.ops import Conv, Pointwise, Slice
from ..records import dataclass, replace
from .rule import Rule, always, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context, Site


@dataclass(frozen=True, eq=False)
class _Affine:
    conv: Node
    single_use: bool
    per_channel: bool
    weight: np.ndarray
    bias: np.ndarray
    layers: tuple[str, ...]


def _match(site: Site) -> _Affine | None:
    node = site.node
    if not isinstance(node.op, Pointwise) or node.op.dtype != "float32":
        return None
    varying = [i for i, v in enumerate(node.inputs) if not isinstance(v, Constant)]
    if len(varying) != 1:
        return None
    (k,) = varying
    x = node.inputs[k]
    if not isinstance(x, Result) or not isinstance(x.node.op, Conv):
        return None
    if not all(isinstance(v, Constant) for v in x.node.inputs[1:]):
        return None
    line = affine(node.op.expr, f"x{k}")
    if line is None or not same_shape(node.result.shape, x.shape):
        return None
    env = {
        f"x{i}": v.data.astype(np.float64)
        for i, v in enumerate(node.inputs)
        if isinstance(v, Constant)
    }
    slope, offset = (np.asarray(evaluate_formula(e, env), np.float64) for e in line)
    channels, rank = x.shape[1], x.type.rank
    shapes = [(1,) * (rank - p.ndim) + p.shape for p in (slope, offset)]
    per_channel = all(s[0] == 1 == max(s[2:], default=1) for s in shapes)
    weight, bias = np.zeros(0), np.zeros(0)
    if per_channel:
        a, t = (np.broadcast_to(p.reshape(-1), (channels,)) for p in (slope, offset))
        old_weight, *old_bias = (
            v.data.astype(np.float64) for v in x.node.inputs[1:] if isinstance(v, Constant)
        )
        weight = old_weight * a.reshape(-1, *(1,) * (rank - 1))
        bias = t + (a * old_bias[0] if old_bias else 0.0)
    layers = tuple(dict.fromkeys((*x.node.layers, *node.layers)))
    return _Affine(x.node, site.uses[k] == 1, per_channel, weight, bias, layers)


def _check(found: _Affine, context: Context) -> str:
    if not found.single_use:
        return f"'{found.conv.name}' is read elsewhere too"
    if not found.per_channel:
        return "its constants vary over space or batch"
    with np.errstate(over="ignore"):
        finite = all(np.isfinite(p.astype(np.float32)).all() for p in (found.weight, found.bias))
    return "" if finite else "a folded weight is not finite"


def _rewrite(found: _Affine) -> Value:
    x, w = found.conv.inputs[:2]
    name = (found.layers or (found.conv.name,))[0]
    operands = (x, constant(found.weight, w.name), constant(found.bias, f"{name}.bias"))
    return replace(found.conv, inputs=operands, layers=found.layers).result


def _match_reversed(site: Site) -> Value | None:
    node = site.node
    if not isinstance(node.op, Conv) or node.op.groups != 1:
        return None
    x, w, *bias = node.inputs
    if not isinstance(x, Result) or not isinstance(x.node.op, Slice) or not isinstance(w, Constant):
        return None
    cut = x.node.op
    channels = x.shape[1]
    whole = same_shape(x.node.inputs[0].shape, x.shape)
    starts = (0, channels - 1, 0, 0)
    if not whole or cut.starts != starts or cut.steps != (1, -1, 1, 1):
        return None
    kernel = constant(w.data[:, ::-1], w.name)
    layers = tuple(dict.fromkeys((*x.node.layers, *node.layers)))
    return replace(node, inputs=(x.node.inputs[0], kernel, *bias), layers=layers).result


FOLD = Rule("fold affine", _match, _check, _rewrite)
FOLD_REVERSED = Rule("fold channel order", _match_reversed, always, lambda value: value)


def fold_affine(graph: Graph, context: Context) -> Graph:
    """Fold until every affine map that can be is part of a convolution."""
    graph = apply_rules(graph, context, FOLD_REVERSED)
    return apply_rules(graph, context, FOLD)
