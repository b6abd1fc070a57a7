"""Split maps of more planes than an array texture has layers.

Such a map would be row-packed, and a convolution that reads or writes rows is a loop kernel, which
takes many times as long. Here the map becomes a ``Concat`` of *pieces*, each of which fits:

    conv(x; W, b)              = concat(conv(x; W[:k], b[:k]), conv(x; W[k:], b[k:]))
    conv(concat(x0, x1); W, b) = conv(x0; W[:, :k], b) + conv(x1; W[:, k:])
    f(concat(x0, x1), z)       = concat(f(x0, z[:k]), f(x1, z[k:]))

where f computes each channel from the same channel of its operands. Whatever reads the map in
another way reads the ``Concat``, which is row-packed.

GLES 3.0 guarantees 256 layers, which hold 1,024 channels. That is too few for the last maps of
MobileNet v2, EfficientNet and ResNet-50.

A row-packed map takes one draw, a piece takes a draw for every few planes. On phones, starting a
draw takes about as long as 240,000 multiply-adds of a loop kernel. In builds of draws, a
convolution is therefore split only if each draw has more multiply-adds. Other operators are split
only if they are element-wise: these are then fused into convolutions. A dispatch computes a whole
piece.
"""

from __future__ import annotations

from dataclasses import field
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from ..ir.dimensions import hint, is_dynamic
from ..ir.expr import Call, Num, Var, variables
from ..ir.graph import Constant, Node, Result, apply, constant
from ..ir.indexing import coordinates
from ..ir.nest import loads_of
from ..ir.nests import nest_of
from ..ir.ops import Concat, Conv, Pointwise, Slice
from ..ir.ops.base import MOST_OPERANDS
from ..ir.types import LANES, MAP_RANK
from ..records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..ir.graph import Graph, Value
    from ..ir.nest import Nest
    from .rule import Context

CHANNEL = coordinates(MAP_RANK)[1]
CHANNELS_FROM_RIGHT = 3  # where the channels of an operand are that broadcasts to a map
MOST_PIECES = MOST_OPERANDS // 2  # of dense convolutions
WORTH_A_DRAW = 240_000  # multiply-adds
SUM = Pointwise(Call("add", (Var("x0"), Var("x1"))))


def split_wide_maps(graph: Graph, context: Context) -> Graph:
    """Split the wide maps that convolutions read or write, and what is computed from these."""
    target = context.target
    if target.textures == "2d":  # each plane is a texture of its own
        return graph
    planes_per_draw = None if target.computes else target.limits.draw_buffers
    splitter = _Splitter(target.limits.array_texture_layers, planes_per_draw)

    values = (*graph.inputs, *(r for n in graph.nodes for r in n.results))
    if not any(map(splitter.is_wide, values)):
        return graph

    def rewrite(now: Node, was: Node) -> Value | None:
        pieces = splitter.split(now)
        if not pieces:
            return None
        count = len(pieces)
        how = f"in {count} pieces" if count > 1 else "a sum over pieces of its input"
        why = f"an array texture has {splitter.limit} layers of {LANES} channels"
        context.explain("split wide maps", now.name, how, why)
        if count == 1:
            return pieces[0]
        joined = apply(Concat(1), *pieces, layer=now.layers)
        splitter.joined.add(joined)
        return joined

    return graph.rewrite(rewrite)


@dataclass(frozen=True)
class _Splitter:
    """Splits nodes whose maps have more planes than an array texture has layers.

    Attributes:
        limit: the layers of an array texture.
        planes_per_draw: the planes that a draw writes; None if dispatches compute the pieces.
        joined: the maps that this pass has split. A ``Concat`` of the model does not count: it may
            have more operands than a shader can read, and perhaps no convolution reads it.
    """

    limit: int
    planes_per_draw: int | None
    joined: set[Value] = field(default_factory=set)

    def split(self, node: Node) -> tuple[Value, ...]:
        """Return pieces of a node's result, computed from pieces; none if it stays whole."""
        if len(node.results) != 1:
            return ()
        if type(node.op) is not Conv:
            return self._channel_by_channel(node)
        if not (self.is_wide(node.result) or self.is_wide(node.inputs[0])):
            return ()
        if not all(isinstance(v, Constant) for v in node.inputs[1:]) or not self._repays_draws(
            node
        ):
            return ()
        return self._dense(node) if node.op.groups == 1 else self._grouped(node)

    def _repays_draws(self, node: Node) -> bool:
        """Whether a convolution's pieces take less time than the draws of them to start."""
        if not self.planes_per_draw:
            return True
        x, w = node.inputs[:2]
        _, channels, *positions = map(hint, node.result.shape)
        each = LANES * self.planes_per_draw
        draws = len(self._widths(x)) * -(-channels // each)
        if self.is_wide(x) and len(self._leaves(x)) == 1:
            draws += -(-hint(x.shape[1]) // each)  # cut it into pieces
        return prod(positions) * w.type.size >= WORTH_A_DRAW * draws

    def is_wide(self, value: Value) -> bool:
        """Whether a map has too many planes for an array texture, and pieces would fit."""
        shape = value.type.shape
        if len(shape) != MAP_RANK:
            return False
        layers = shape[0] * -(-shape[1] // LANES)
        if is_dynamic(layers):
            return False
        return self.limit < layers <= MOST_PIECES * self.limit and shape[0] <= self.limit

    def _most(self, value: Value) -> int:
        """Return how many channels a piece of a map has at most."""
        return self.limit // value.shape[0] * LANES

    def _leaves(self, value: Value) -> list[Value]:
        """Return the maps that a wide map joins; itself if it joins none."""
        if value not in self.joined:
            return [value]
        assert isinstance(value, Result)
        return list(value.node.inputs)

    def _widths(self, value: Value) -> tuple[int, ...]:
        """Return the channels of each piece of a map: as it was split, else equal shares."""
        channels: int = value.shape[1]
        if not self.is_wide(value):
            return (channels,)
        leaves = self._leaves(value)
        if len(leaves) > 1:
            return tuple(leaf.shape[1] for leaf in leaves)
        return tuple(_shares(channels, self._most(value)))

    def _pieces(self, value: Value, widths: Sequence[int]) -> tuple[Value, ...]:
        """Return the pieces of a map that have so many channels."""
        if len(widths) == 1:
            return (value,)
        leaves = self._leaves(value)
        if tuple(leaf.shape[1] for leaf in leaves) == tuple(widths):
            return tuple(leaves)
        axis = value.type.rank - CHANNELS_FROM_RIGHT
        return tuple(_cut(value, part, axis) for part in _ranges(widths))

    def _dense(self, node: Node) -> tuple[Value, ...]:
        """Return the pieces of a convolution's result: sums over the pieces of its input."""
        x, w, *bias = node.inputs
        inputs, results = self._widths(x), self._widths(node.result)
        read = list(zip(self._pieces(x, inputs), _ranges(inputs), strict=True))

        def piece(channels: range) -> Value:
            own, added = _cut(w, channels, 0), [_cut(b, channels, 0) for b in bias]
            total: Value | None = None
            for part, depth in read:
                term = apply(node.op, part, _cut(own, depth, 1), *added, layer=node.layers)
                total = term if total is None else apply(SUM, total, term, layer=node.layers)
                added = []  # the first term has the bias
            assert total is not None
            return total

        return tuple(map(piece, _ranges(results)))

    def _grouped(self, node: Node) -> tuple[Value, ...]:
        """Return the pieces of a grouped convolution's result, each of whole groups."""
        x, w, *bias = node.inputs
        assert isinstance(node.op, Conv)
        inputs, outputs = w.shape[1], w.shape[0] // node.op.groups  # channels of a group
        most = min(self._most(x) // inputs, self._most(node.result) // outputs)
        if not most:
            return ()
        groups = [n // inputs for n in self._widths(x)]
        joined = len(groups) > 1 and not any(n % inputs for n in self._widths(x))
        if not joined or max(groups) > most:
            groups = _shares(node.op.groups, most)
        if len(groups) > MOST_OPERANDS:  # more than a Concat of one pass can read
            return ()
        parts = self._pieces(x, [n * inputs for n in groups])
        rows = _ranges([n * outputs for n in groups])
        return tuple(
            apply(
                replace(node.op, groups=count),
                part,
                *(_cut(v, channels, 0) for v in (w, *bias)),
                layer=node.layers,
            )
            for part, count, channels in zip(parts, groups, rows, strict=True)
        )

    def _channel_by_channel(self, node: Node) -> tuple[Value, ...]:
        """Return the pieces of what is computed channel by channel from pieces."""
        fusible = isinstance(node.op, Pointwise)
        if not self.is_wide(node.result) or (self.planes_per_draw and not fusible):
            return ()
        channels = node.result.shape[1]
        joined = [v for v in node.inputs if v.type.rank == MAP_RANK and v.shape[1] == channels]
        joined = [v for v in joined if len(self._leaves(v)) > 1]
        if not joined or not _computes_by_channel(node):
            return ()
        widths = self._widths(joined[0])
        operands = [
            self._pieces(v, widths) if _channels(v) == channels else (v,) * len(widths)
            for v in node.inputs
        ]
        try:
            pieces = [
                Node(node.op, inputs, node.layers, node.choice)
                for inputs in zip(*operands, strict=True)
            ]
        except ShadergenError:  # the number of channels is an attribute, as of a Slice
            return ()
        alike = all(_nest(piece) == _nest(node) for piece in pieces)
        whole = sum(piece.result.shape[1] for piece in pieces) == channels
        return tuple(piece.result for piece in pieces) if alike and whole else ()


def _ranges(widths: Sequence[int]) -> Iterator[range]:
    """Yield the channels of pieces of so many channels each."""
    return (range(*ends) for ends in pairwise(accumulate(widths, initial=0)))


def _shares(count: int, most: int) -> list[int]:
    """Return about equal shares of at most ``most``, of whole planes where these fit."""
    each = -(-count // -(-count // most))
    each = min(-(-each // LANES) * LANES, most)
    return [min(each, count - first) for first in range(0, count, each)]


def _channels(value: Value) -> int:
    """Return how many channels an operand has that broadcasts to a map."""
    return value.shape[-CHANNELS_FROM_RIGHT] if value.type.rank >= CHANNELS_FROM_RIGHT else 1


def _cut(value: Value, part: range, axis: int) -> Value:
    """Return some channels of a map or a constant."""
    if len(part) == value.shape[axis]:
        return value
    if isinstance(value, Constant):
        data = value.data[(slice(None),) * axis + (slice(part.start, part.stop),)]
        return constant(data, f"{value.name}[{part.start}:{part.stop}]")
    rank = value.type.rank
    starts = tuple(part.start if a == axis else 0 for a in range(rank))
    sizes = tuple(len(part) if a == axis else value.shape[a] for a in range(rank))
    return apply(Slice(starts, (1,) * rank, sizes), value)


def _nest(node: Node) -> Nest | None:
    return nest_of(node.op, *(v.type for v in node.inputs))


def _computes_by_channel(node: Node) -> bool:
    """Whether each channel of a map is computed from the same channel of each operand."""
    nest = _nest(node)
    if nest is None or any(CHANNEL.name in variables(e) for e in nest.formulas()):
        return False
    for _, load in loads_of(nest.bindings):
        for source in load.sources:
            value = node.inputs[source.operand]
            others = list(source.index)
            if value.type.rank >= CHANNELS_FROM_RIGHT:
                own = others.pop(-CHANNELS_FROM_RIGHT)
                if own != (CHANNEL if _channels(value) > 1 else Num(0.0)):
                    return False
            if any(CHANNEL.name in variables(e) for e in (*others, *source.valid)):
                return False
    return True
