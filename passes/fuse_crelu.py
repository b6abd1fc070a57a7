"""Compute the functions of a concatenation (CReLU, say) where a convolution loads.

    conv(concat(f(x), g(x)); W)              = conv(x; W)             with the prologue f, g
    conv(concat(f(x), g(x), f(y), g(y)); W)  = conv(concat(x, y); W') with the prologue f, g

where W' has the input channels of W in the order f(x), f(y), g(x), g(y). The functions are then no
GPU passes, and convolutions load x once for all of them. As relu(-x) = relu(x) - x, a convolution
of both reads x itself, so half of the maxima are saved:

    V*relu(x) + W*relu(-x) = (V + W)*relu(x) - W*x

If ``--weight-format`` rounds the weights, both functions stay, because the sums of weights would be
rounded again. An infinite x gives NaN, as infinity - infinity, where relu(x) alone would give
infinity.

Every function must be cheap, must keep the value that the convolution pads with, and must be
concatenated with the same other functions of the same maps. Refused if anything else reads the
result of a function, because the result must then be stored. Also refused if concatenating the
maps would copy more planes than the fusion saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.expr import Call, Expr, Var, substitute
from ..ir.graph import Constant, Node, Result, constant
from ..ir.ops import Concat, Conv, Pointwise
from ..ir.ops.base import MOST_OPERANDS
from ..ir.types import LANES
from ..records import dataclass, replace
from .fuse_pointwise import why_no_prologue
from .kernel_ops import assemble, keeps_padding, parts
from .placement.kinds import is_direct, joins_planes

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context

IDENTITY = Var("x")
RELU = Call("relu", (IDENTITY,))
RELU_OF_NEGATIVE = Call("relu", (Call("neg", (IDENTITY,)),))


@dataclass(frozen=True)
class _Part:
    """What a convolution reads: a function of a map.

    ``node`` computes the function; None for the identity.
    """

    function: Expr
    map: Value
    node: Node | None = None


@dataclass(frozen=True)
class _Join:
    """The operand of a convolution: the concatenation of every function of every map.

    Attributes:
        parts: the functions, in the order of their channels.
        joins: the nodes that concatenate them.
    """

    parts: tuple[_Part, ...]
    joins: tuple[Node, ...]

    @property
    def functions(self) -> tuple[Expr, ...]:
        return tuple(dict.fromkeys(part.function for part in self.parts))

    @property
    def maps(self) -> tuple[Value, ...]:
        return tuple(dict.fromkeys(part.map for part in self.parts))

    @property
    def saved(self) -> list[Node]:
        """The nodes that nothing needs if the convolution computes the functions."""
        return [*self.joins, *(part.node for part in self.parts if part.node is not None)]


def fuse_crelu(graph: Graph, context: Context) -> Graph:
    """Give convolutions that read a concatenation of functions these functions as a prologue."""
    found = {n: join for n in graph.nodes if (join := _join_of(n)) is not None}
    found = _unread_elsewhere(graph, found)
    copied = {join.maps for join in found.values() if len(join.maps) > 1}
    if context.target.textures != "2d":  # else each plane is a texture that any pass may write
        saved = {part.node for join in found.values() for part in join.parts if part.node}
        if sum(v.type.planes for maps in copied for v in maps) > sum(
            n.result.type.planes for n in saved
        ):
            found = _unread_elsewhere(
                graph, {n: join for n, join in found.items() if len(join.maps) == 1}
            )
    joined: dict[tuple[Value, ...], Value] = {}
    exact = context.target.weight_format == "float32"

    def rewrite(now: Node, was: Node) -> Node | None:
        join = found.get(was)
        if join is None:
            return None
        context.explain("fuse CReLU", now.name, "applied")
        return _fused(now, join, _read(now.inputs[0]), joined, exact)

    return graph.rewrite(rewrite)


def _join_of(node: Node) -> _Join | None:
    """Return what a convolution reads, or None if it cannot compute functions at its loads."""
    p = parts(node)
    if not is_direct(node) or p.prologue or not isinstance(p.kernel, Conv) or p.kernel.zero_guard:
        return None
    join = _read(p.operands[0])
    functions, maps = join.functions, join.maps
    pairs = {(part.function, part.map) for part in join.parts}
    complete = len(pairs) == len(join.parts) == len(functions) * len(maps)
    if len(functions) < 2 or not complete or not keeps_padding(p.kernel, functions):
        return None
    if len(maps) > 1 and (p.kernel.groups > 1 or len(maps) > MOST_OPERANDS):
        return None
    whole = all(
        isinstance(v, Result) and v.type.dtype == "float32" and v.shape[1] % LANES == 0
        for v in maps
    )
    return join if whole else None


def _read(value: Value) -> _Join:
    """Return what a map concatenates; a map that concatenates nothing is one part."""
    found: list[_Part] = []
    joins: list[Node] = []
    left = [value]
    while left:
        v = left.pop()
        if isinstance(v, Result) and joins_planes(v.node):
            joins.append(v.node)
            left.extend(reversed(v.node.inputs))
        else:
            found.append(_part(v))
    return _Join(tuple(found), tuple(joins))


def _part(value: Value) -> _Part:
    node = value.node if isinstance(value, Result) else None
    if node is None or not isinstance(node.op, Pointwise):
        return _Part(IDENTITY, value)
    if len(node.inputs) > 1 or why_no_prologue(node):
        return _Part(IDENTITY, value)
    return _Part(substitute(node.op.expr, {"x0": IDENTITY}), node.inputs[0], node)


def _unread_elsewhere(graph: Graph, found: dict[Node, _Join]) -> dict[Node, _Join]:
    """Return the convolutions for which no function must be stored for another reader."""
    readers: dict[Value, list[tuple[Node | None, int]]] = {
        o.value: [(None, 0)] for o in graph.outputs
    }
    for node in graph.nodes:
        for k, value in enumerate(node.inputs):
            readers.setdefault(value, []).append((node, k))
    while True:
        saved = {node for join in found.values() for node in join.saved}
        kept = {
            conv: join
            for conv, join in found.items()
            if all(
                reader in saved or (reader in found and position == 0)
                for node in join.saved
                for reader, position in readers[node.result]
            )
        }
        if len(kept) == len(found):
            return kept
        found = kept


def _fused(
    now: Node,
    join: _Join,
    read: _Join,
    joined: dict[tuple[Value, ...], Value],
    exact: bool,
) -> Node:
    """Return a convolution that computes functions at its loads.

    Args:
        now: the convolution.
        join: what it reads, before operands are rewritten.
        read: what it reads after that.
        joined: concatenations of several maps, to which one is added.
        exact: whether no option rounds the weights.
    """
    p = parts(now)
    w, functions = p.operands[1], join.functions
    assert isinstance(w, Constant)
    assert isinstance(p.kernel, Conv)
    now_of = {old.map: new.map for old, new in zip(join.parts, read.parts, strict=True)}
    maps = tuple(now_of[v] for v in join.maps)
    x = maps[0]
    if len(maps) > 1:
        if maps not in joined:
            joined[maps] = Node(Concat(1), maps, join.joins[0].layers).result
        x = joined[maps]
    if p.kernel.groups == 1:
        own = weights = _by_function(w, join)
        if exact:
            own = _without_negative(weights)
        if len(maps) > 1 or own is not weights:
            functions = tuple(own)
            w = constant(np.concatenate(list(own.values()), axis=1), w.name)
    layers = (*(name for node in join.saved for name in node.layers), *now.layers)
    fused = replace(p, operands=(x, w, *p.operands[2:]), prologue=functions)
    return assemble(fused, tuple(dict.fromkeys(layers)), now.choice)


def _by_function(w: Constant, join: _Join) -> dict[Expr, np.ndarray]:
    """Return the weights of each function of all maps."""
    first, at = 0, {}
    for part in join.parts:
        channels = part.map.shape[1]
        at[part.function, part.map] = w.data[:, first : first + channels]
        first += channels
    return {f: np.concatenate([at[f, v] for v in join.maps], axis=1) for f in join.functions}


def _without_negative(weights: dict[Expr, np.ndarray]) -> dict[Expr, np.ndarray]:
    """Return weights of x in place of those of relu(-x), unless fewer weights were zero."""
    if RELU not in weights or RELU_OF_NEGATIVE not in weights:
        return weights
    rest = dict(weights)
    negative = rest.pop(RELU_OF_NEGATIVE)
    rest[RELU] = rest[RELU] + negative
    rest[IDENTITY] = rest.get(IDENTITY, 0.0) - negative
    before, after = (sum(map(np.count_nonzero, w.values())) for w in (weights, rest))
    return rest if after <= before else weights
