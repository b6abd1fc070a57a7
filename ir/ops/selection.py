"""Selection of elements by an operand of indices, or by position.

Negative indices count from the end. Indices beyond the end are errors of the model: constant ones
are refused, computed ones read the nearest element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import few
from ...records import dataclass
from ..expr import Expr, Var
from ..formula_parser import parse
from ..graph import Constant, apply, constant
from ..indexing import (
    Load,
    Source,
    add,
    broadcast_load,
    clamp,
    coordinates,
    imod,
    less,
    select,
    sub,
)
from ..nest_builder import NestBuilder
from ..types import TensorType, broadcast, shape_text
from .base import Op, require
from .movement import Movement, Reshape, Slice, moved

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest


@dataclass(frozen=True)
class Expand(Movement):
    """Repeat along the axes that numpy's broadcasting rule stretches.

    x: any shape that broadcasts to ``shape`` -> y: the broadcast of both.
    Source: ONNX Expand-13.
    """

    shape: tuple[int, ...]

    def infer(self, x: TensorType) -> TensorType:
        shape = broadcast(x.shape, self.shape)
        require(
            shape is not None,
            f"shape {shape_text(x.shape)} does not broadcast to {shape_text(self.shape)}",
        )
        assert shape is not None
        return x.of(shape)

    def reference(self, x: Any) -> Any:
        return np.broadcast_to(x, np.broadcast_shapes(x.shape, self.shape))

    def load(self, x: TensorType) -> Load:
        return broadcast_load(0, x.shape, self.infer(x).rank)


@dataclass(frozen=True)
class Tile(Movement):
    """Repeat a whole tensor: y[i] = x[i mod size].

    x: any shape, ``repeats`` per axis -> y: shape * repeats.
    Source: ONNX Tile-13; numpy.tile.
    """

    repeats: tuple[int, ...]

    def infer(self, x: TensorType) -> TensorType:
        require(
            len(self.repeats) == x.rank,
            f"Tile needs {x.rank} repeats for rank {x.rank}, not {len(self.repeats)}",
        )
        require(
            min((1, *self.repeats)) >= 1,
            f"repeats {self.repeats} are not supported",
            supported="1 or more",
        )
        return x.of(tuple(s * r for s, r in zip(x.shape, self.repeats, strict=True)))

    def reference(self, x: Any) -> Any:
        return np.tile(x, self.repeats)

    def load(self, x: TensorType) -> Load:
        own = coordinates(x.rank)
        index = [
            i if repeat == 1 else imod(i, size)
            for i, size, repeat in zip(own, x.shape, self.repeats, strict=True)
        ]
        return Load((Source(0, tuple(index)),))


@dataclass(frozen=True)
class Trilu(Movement):
    """Keep a triangle of matrices: y[..., i, j] = x where j - i >= k (upper) or <= k; else 0.

    x: (..., M, N) -> y: the same.
    Source: ONNX Trilu-14; numpy.triu, numpy.tril.
    """

    k: int = 0
    upper: bool = True

    def infer(self, x: TensorType) -> TensorType:
        require(x.rank >= 2, f"a triangular matrix needs rank 2 or more, not {x.rank}")
        return x

    def reference(self, x: Any) -> Any:
        return np.triu(x, self.k) if self.upper else np.tril(x, self.k)

    def load(self, x: TensorType) -> Load:
        own = coordinates(x.rank)
        i, j = own[-2:]
        edge = add(i, min(max(self.k, -x.shape[-2]), x.shape[-1]))  # beyond, nothing changes
        kept = less(sub(edge, 1), j) if self.upper else less(j, add(edge, 1))
        return Load((Source(0, own, (kept,)),))


@dataclass(frozen=True)
class Gather(Op):
    """Pick slices of an axis: y[a, i, b] = x[a, indices[i], b].

    x: (A..., size, B...), indices: (I...) -> y: (A..., I..., B...).
    Source: ONNX Gather-13; numpy.take.
    """

    row_packable = True

    axis: int

    def infer(self, x: TensorType, indices: TensorType) -> TensorType:
        require(0 <= self.axis < x.rank, f"axis {self.axis} is out of range for rank {x.rank}")
        return x.of(self._shape(x.shape, indices.shape))

    def _shape(self, shape: tuple[int, ...], indices: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[: self.axis], *indices, *shape[self.axis + 1 :])

    def reference(self, x: Any, indices: Any) -> Any:
        return np.take(x, indices.astype(int), self.axis)

    def decompose(self, x: Value, indices: Value) -> Value | None:
        """Constant indices with equal steps become a slice; others are made non-negative."""
        if not isinstance(indices, Constant):
            return None
        size = x.shape[self.axis]
        at = indices.data.reshape(-1).astype(int)
        outside = few(map(str, at[(at < -size) | (at >= size)]))
        require(not outside, f"indices out of range for an axis of size {size}: {outside}")
        found = np.where(at < 0, at + size, at)
        steps = np.unique(np.diff(found))
        if len(steps) > 1 or 0 in steps:
            if at.min() >= 0:
                return None
            positive = constant(found.reshape(indices.shape).astype(indices.data.dtype))
            return apply(self, x, positive)
        starts, sizes = [0] * x.type.rank, list(x.shape)
        stride = [1] * x.type.rank
        starts[self.axis], sizes[self.axis] = int(found[0]), len(found)
        stride[self.axis] = int(steps[0]) if len(steps) else 1
        part = moved(Slice(tuple(starts), tuple(stride), tuple(sizes)), x)
        return moved(Reshape(self._shape(x.shape, indices.shape)), part)

    def nest(self, x: TensorType, indices: TensorType) -> Nest:
        own = coordinates(self.infer(x, indices).rank)
        end = self.axis + indices.rank
        nest = NestBuilder()
        index = nest.load("index", 1, own[self.axis : end])
        at = within(index, x.shape[self.axis])
        return nest.give(nest.load("value", 0, (*own[: self.axis], at, *own[end:])))


@dataclass(frozen=True)
class GatherElements(Op):
    """Pick elements along an axis: y[a, i, b] = x[a, indices[a, i, b], b].

    x: (A..., size, B...), indices: the rank of x, no larger except along the axis -> y: as indices.
    Source: ONNX GatherElements-13; numpy.take_along_axis.
    """

    axis: int

    def infer(self, x: TensorType, indices: TensorType) -> TensorType:
        require(
            0 <= self.axis < x.rank == indices.rank,
            f"axis {self.axis} is out of range, or data {x} and indices {indices} differ in rank",
        )
        require(
            all(
                i <= s or axis == self.axis
                for axis, (i, s) in enumerate(zip(indices.shape, x.shape, strict=True))
            ),
            f"indices of shape {indices.shape} are larger than data of shape {x.shape} on an axis "
            f"other than {self.axis}",
        )
        return x.of(indices.shape)

    def reference(self, x: Any, indices: Any) -> Any:
        part = x[
            tuple(slice(None) if a == self.axis else slice(s) for a, s in enumerate(indices.shape))
        ]
        return np.take_along_axis(part, indices.astype(int), self.axis)

    def nest(self, x: TensorType, indices: TensorType) -> Nest:
        own = coordinates(x.rank)
        nest = NestBuilder()
        at = within(nest.load("index", 1, own), x.shape[self.axis])
        index = (*own[: self.axis], at, *own[self.axis + 1 :])
        return nest.give(nest.load("value", 0, index))


@dataclass(frozen=True)
class GatherND(Op):
    """Pick slices by index vectors: y[b, i, r] = x[b, indices[b, i, :], r].

    x: (B..., S1, ..., Sk, R...), indices: (B..., I..., k) -> y: (B..., I..., R...), with
    ``batch_dims`` axes B.
    Source: ONNX GatherND-13.
    """

    batch_dims: int = 0

    def infer(self, x: TensorType, indices: TensorType) -> TensorType:
        b = self.batch_dims
        require(
            indices.rank >= 1 and 0 <= b < min(x.rank, indices.rank),
            f"batch_dims={b} must be below the ranks of data and indices",
        )
        require(
            x.shape[:b] == indices.shape[:b],
            f"data and indices differ in the batch axes: {x.shape[:b]} and {indices.shape[:b]}",
        )
        k = indices.shape[-1]
        require(b + k <= x.rank, f"indices over {k} axes do not fit rank {x.rank}")
        return x.of((*indices.shape[:-1], *x.shape[b + k :]))

    def reference(self, x: Any, indices: Any) -> Any:
        b, k = self.batch_dims, indices.shape[-1]
        rest = indices.ndim - 1 - b
        batch = [
            np.arange(s).reshape(*(1,) * a, s, *(1,) * (b - a - 1 + rest))
            for a, s in enumerate(x.shape[:b])
        ]
        at = [indices[..., i].astype(int) for i in range(k)]
        return x[tuple(batch + at)]

    def nest(self, x: TensorType, indices: TensorType) -> Nest:
        b, k = self.batch_dims, indices.shape[-1]
        own = coordinates(self.infer(x, indices).rank)
        lead = own[: indices.rank - 1]
        nest = NestBuilder()
        at = [
            within(nest.load(f"index_{i}", 1, (*lead, number)), x.shape[b + i])
            for i, number in enumerate(numbers(k))
        ]
        return nest.give(nest.load("value", 0, (*own[:b], *at, *own[indices.rank - 1 :])))


@dataclass(frozen=True)
class OneHot(Op):
    """Mark positions: y[a, d, b] = values[1] where d = indices[a, b], else values[0].

    Indices outside -depth .. depth - 1 mark nothing.

    indices: (A..., B...), values: (2,) -> y: (A..., depth, B...), of the values' type.
    Source: ONNX OneHot-11.
    """

    depth: int
    axis: int

    def infer(self, indices: TensorType, values: TensorType) -> TensorType:
        require(
            0 <= self.axis <= indices.rank,
            f"axis {self.axis} is out of range for rank {indices.rank}",
        )
        require(values.shape == (2,), f"OneHot takes 2 values (off, on), not shape {values.shape}")
        require(self.depth >= 1, f"depth {self.depth} is not supported", supported="1 or more")
        shape = indices.shape
        return values.of((*shape[: self.axis], self.depth, *shape[self.axis :]))

    def reference(self, indices: Any, values: Any) -> Any:
        wanted = np.expand_dims(indices, self.axis)
        wanted = np.where(wanted < 0, wanted + self.depth, wanted)
        own = np.arange(self.depth).reshape(-1, *(1,) * (indices.ndim - self.axis))
        return np.where(own == wanted, values[1], values[0])

    def nest(self, indices: TensorType, values: TensorType) -> Nest:
        own = coordinates(indices.rank + 1)
        off, on = numbers(2)
        nest = NestBuilder()
        nest.load("index", 0, (*own[: self.axis], *own[self.axis + 1 :]))
        nest.load("off", 1, (off,))
        nest.load("on", 1, (on,))
        wanted = f"where(index < 0, index + {self.depth}, index)"
        return nest.give(f"where({wanted} == {own[self.axis]}, on, off)")


@dataclass(frozen=True)
class ReverseSequence(Op):
    """In batch entry b, reverse the first ``lengths[b]`` elements along the time axis.

    x: any shape, lengths: (size of the batch axis,) -> y: as x.
    Source: ONNX ReverseSequence-10.
    """

    time: int
    batch: int

    def infer(self, x: TensorType, lengths: TensorType) -> TensorType:
        axes = f"time_axis={self.time} and batch_axis={self.batch}"
        require(self.time != self.batch, f"{axes} must differ")
        require(
            min(self.time, self.batch) >= 0 and max(self.time, self.batch) < x.rank,
            f"{axes} are out of range for rank {x.rank}",
        )
        require(
            lengths.shape == (x.shape[self.batch],),
            f"ReverseSequence needs one length per batch entry, not shape {lengths.shape}",
        )
        return x

    def reference(self, x: Any, lengths: Any) -> Any:
        y = np.moveaxis(x, (self.batch, self.time), (0, 1)).copy()
        for entry, length in enumerate(lengths.astype(int)):
            y[entry, :length] = y[entry, :length][::-1].copy()
        return np.moveaxis(y, (0, 1), (self.batch, self.time))

    def nest(self, x: TensorType, lengths: TensorType) -> Nest:
        own = coordinates(x.rank)
        index: list[Expr] = list(own)
        nest = NestBuilder()
        t, length = own[self.time], nest.load("valid_steps", 1, (own[self.batch],))
        mirrored = clamp(sub(sub(length, t), 1), 0, x.shape[self.time] - 1)
        index[self.time] = select(less(t, length), mirrored, t)
        return nest.give(nest.load("value", 0, index))


def within(index: Var, size: int) -> Expr:
    """Return a computed index clamped to an axis; negative indices count from the end."""
    return clamp(select(less(index, 0), add(index, size), index), 0, size - 1)


def numbers(count: int) -> tuple[Expr, ...]:
    """Return the literals 0, 1, ..."""
    return tuple(parse(str(k)) for k in range(count))
