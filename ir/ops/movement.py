"""Data movement: operators whose result elements are operand elements, found by an index map."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...records import dataclass, replace
from ..dimensions import bounds, statically_equal
from ..expr import Expr, Num
from ..graph import Constant, apply, constant
from ..indexing import (
    PAD_MODES,
    Load,
    PadMode,
    Source,
    add,
    border,
    clamp,
    coordinates,
    flatten,
    idiv,
    imod,
    inside,
    less,
    mul,
    sub,
    unflatten,
)
from ..nest_builder import NestBuilder
from ..types import TensorType, shape_text
from .base import MOST_OPERANDS, Op, require, unlike_text

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest


class Movement(Op, abstract=True):
    """An operator given by an index map. ``reference`` is written on its own, as a check."""

    row_packable = True

    load: Callable[..., Load]
    """From operand types to the index map."""

    def nest(self, *inputs: TensorType) -> Nest:
        nest = NestBuilder()
        return nest.give(nest.bind("value", self.load(*inputs)))

    def zero_filled(self) -> Movement:
        """Return the movement with 0 in the elements that no operand gives: a linear map."""
        return self


def _unpermuted(values: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return per-axis attributes in the axis order before a transpose."""
    return tuple(values[axes.index(a)] for a in range(len(axes)))


def moved(op: Movement, value: Value) -> Value:
    """Apply a movement; movements of constants are computed now."""
    if isinstance(value, Constant):
        return constant(np.ascontiguousarray(op.reference(value.data)), value.name)
    return apply(op, value)


@dataclass(frozen=True)
class Pad(Movement):
    """Continue a tensor beyond its border.

    y[i] = x[i - before] inside x; outside, ``value`` in mode "constant", the nearest element
    ("edge"), the mirrored element without or with the border element ("reflect", "symmetric"), or
    the element at the periodic position ("wrap").

    x: any shape -> y: shape + before + after, per axis.
    Source: numpy.pad; ONNX Pad-19.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    mode: PadMode = "constant"
    value: float = 0.0

    def infer(self, x: TensorType) -> TensorType:
        require(
            len(self.before) == len(self.after) == x.rank, "padding needs an entry for each axis"
        )
        require(min((*self.before, *self.after, 0)) >= 0, "padding must not be negative")
        require(self.mode in PAD_MODES, f"unknown padding mode '{self.mode}'")
        return x.of(
            tuple(s + b + a for s, b, a in zip(x.shape, self.before, self.after, strict=True))
        )

    def reference(self, x: Any) -> Any:
        widths = list(zip(self.before, self.after, strict=True))
        if self.mode == "constant":
            return np.pad(x, widths, constant_values=self.value)
        return np.pad(x, widths, mode=self.mode)

    def zero_filled(self) -> Pad:
        return replace(self, value=0.0)

    def permuted(self, axes: tuple[int, ...]) -> Pad:
        before, after = _unpermuted(self.before, axes), _unpermuted(self.after, axes)
        return replace(self, before=before, after=after)

    def load(self, x: TensorType) -> Load:
        index: list[Expr] = []
        valid: list[Expr] = []
        own = coordinates(x.rank)
        for i, size, b, a in zip(own, x.shape, self.before, self.after, strict=True):
            if statically_equal(a, 0) and statically_equal(b, 0):
                index.append(i)
                continue
            at = sub(i, b)
            if self.mode == "constant":
                valid += inside(at, size, b, a)
                index.append(at)
            else:
                index.append(border(self.mode, at, size, b, a))
        return Load((Source(0, tuple(index), tuple(valid)),), self.value)


@dataclass(frozen=True)
class Concat(Movement):
    """Join tensors along ``axis`` (counted from the left, not negative).

    x0, x1, ...: shapes that are equal except along ``axis`` -> y: the sum of the sizes along it.
    Source: ONNX Concat-13.
    """

    axis: int

    def infer(self, *inputs: TensorType) -> TensorType:
        require(bool(inputs), "nothing to concatenate")
        first = inputs[0].shape
        require(
            0 <= self.axis < len(first), f"axis {self.axis} is out of range for rank {len(first)}"
        )
        rest = [t.shape[: self.axis] + t.shape[self.axis + 1 :] for t in inputs]
        require(
            all(r == rest[0] for r in rest) and len({t.rank for t in inputs}) == 1,
            unlike_text((t.shape for t in inputs), self.axis),
        )
        types = {t.dtype for t in inputs}
        require(len(types) == 1, f"operands differ in type: {' and '.join(sorted(types))}")
        size = sum(t.shape[self.axis] for t in inputs)
        return inputs[0].of((*first[: self.axis], size, *first[self.axis + 1 :]))

    def reference(self, *inputs: Any) -> Any:
        return np.concatenate(inputs, self.axis)

    def decompose(self, *inputs: Value) -> Value | None:
        """Concatenate in stages if there are more operands than a shader can read."""
        if len(inputs) <= MOST_OPERANDS:
            return None
        groups = [inputs[k : k + MOST_OPERANDS] for k in range(0, len(inputs), MOST_OPERANDS)]
        return apply(self, *(g[0] if len(g) == 1 else apply(self, *g) for g in groups))

    def permuted(self, axes: tuple[int, ...]) -> Concat:
        return Concat(axes[self.axis])

    def load(self, *inputs: TensorType) -> Load:
        sources, start = [], 0
        for k, t in enumerate(inputs):
            index: list[Expr] = list(coordinates(t.rank))
            i = index[self.axis]
            index[self.axis] = sub(i, start)
            start += t.shape[self.axis]
            last = k == len(inputs) - 1
            sources.append(Source(k, tuple(index), () if last else (less(i, start),)))
        return Load(tuple(sources))


@dataclass(frozen=True)
class Slice(Movement):
    """Take elements at start, start + step, ... of each axis; negative steps go backwards.

    y[i] = x[starts + steps*i].  x: any shape -> y: ``sizes``.
    Source: ONNX Slice-13 with resolved bounds.
    """

    starts: tuple[int, ...]
    steps: tuple[int, ...]
    sizes: tuple[int, ...]

    def infer(self, x: TensorType) -> TensorType:
        require(
            len(self.starts) == len(self.steps) == len(self.sizes) == x.rank,
            "a slice needs an entry for each axis",
        )
        for axis, (start, step, size) in enumerate(
            zip(self.starts, self.steps, self.sizes, strict=True)
        ):
            ends = (start, start + step * (size - 1))
            require(
                step != 0 and size >= 1 and all(0 <= end < x.shape[axis] for end in ends),
                f"the slice start={start}, step={step}, size={size} does not fit axis {axis} of "
                f"size {x.shape[axis]}",
            )
        return x.of(self.sizes)

    def reference(self, x: Any) -> Any:
        for axis, (start, step, size) in enumerate(
            zip(self.starts, self.steps, self.sizes, strict=True)
        ):
            x = np.take(x, start + step * np.arange(size), axis)
        return x

    def permuted(self, axes: tuple[int, ...]) -> Slice:
        parts = (self.starts, self.steps, self.sizes)
        return Slice(*(_unpermuted(values, axes) for values in parts))

    def load(self, x: TensorType) -> Load:
        own = coordinates(x.rank)
        index = tuple(
            add(mul(i, step), start)
            for i, start, step in zip(own, self.starts, self.steps, strict=True)
        )
        return Load((Source(0, index),))


@dataclass(frozen=True)
class Reshape(Movement):
    """Change the shape; elements keep their row-major order.

    x: any shape -> y: ``shape``, of as many elements.
    Source: ONNX Reshape-14 with a resolved shape.
    """

    shape: tuple[int, ...]

    def infer(self, x: TensorType) -> TensorType:
        require(
            prod(self.shape) == x.size,
            f"{x.size} elements do not fill the shape {list(self.shape)}",
        )
        return x.of(self.shape)

    def reference(self, x: Any) -> Any:
        return np.reshape(x, self.shape)

    def load(self, x: TensorType) -> Load:
        flat = flatten(coordinates(len(self.shape)), self.shape)
        return Load((Source(0, unflatten(flat, x.shape)),))


@dataclass(frozen=True)
class Rearrange(Movement):
    """Split axes, permute them, join them again: reshape(transpose(reshape(x, split), axes)).

    Channel shuffle, pixel unshuffle and the like have intermediate shapes with more axes than a
    texture can have. This operator is a single index map.

    x: any shape, split: a shape of as many elements, axes: a permutation of it -> y: ``shape``.
    """

    split: tuple[int, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]

    def infer(self, x: TensorType) -> TensorType:
        require(
            prod(self.split) == x.size == prod(self.shape),
            f"{x.size} elements do not fill the shape {shape_text(self.shape)}",
        )
        require(
            sorted(self.axes) == list(range(len(self.split))),
            f"{self.axes} is not a permutation of the axes",
        )
        return x.of(self.shape)

    def reference(self, x: Any) -> Any:
        return np.reshape(x, self.split).transpose(self.axes).reshape(self.shape)

    def load(self, x: TensorType) -> Load:
        flat = flatten(coordinates(len(self.shape)), self.shape)
        moved = unflatten(flat, [self.split[a] for a in self.axes])
        index: list[Expr] = [Num(0.0)] * len(self.split)
        for position, axis in enumerate(self.axes):
            index[axis] = moved[position]
        return Load((Source(0, unflatten(flatten(index, self.split), x.shape)),))


@dataclass(frozen=True)
class Transpose(Movement):
    """Permute the axes: axis k of the result is axis ``axes[k]`` of the operand.

    Source: numpy.transpose; ONNX Transpose-13.
    """

    axes: tuple[int, ...]

    def infer(self, x: TensorType) -> TensorType:
        require(
            sorted(self.axes) == list(range(x.rank)),
            f"{self.axes} is not a permutation of the axes",
        )
        return x.of(tuple(x.shape[a] for a in self.axes))

    def reference(self, x: Any) -> Any:
        return np.transpose(x, self.axes)

    def load(self, x: TensorType) -> Load:
        own = coordinates(x.rank)
        index: list[Expr] = list(own)
        for k, axis in enumerate(self.axes):
            index[axis] = own[k]
        return Load((Source(0, tuple(index)),))


@dataclass(frozen=True)
class DepthToSpace(Movement):
    """Rearrange channel blocks into space (pixel shuffle, subpixel).

    y[n, c, h*by + i, w*bx + j] = x[n, channel(c, i, j), h, w], where channel is
    (c*by + i)*bx + j in order "crd" and (i*bx + j)*C + c in order "dcr".

    x: (N, C*by*bx, H, W) -> y: (N, C, H*by, W*bx).
    Source: ONNX DepthToSpace-13; Keras and TensorFlow depth_to_space is "dcr".
    """

    block: tuple[int, int]
    order: Literal["crd", "dcr"] = "crd"

    def infer(self, x: TensorType) -> TensorType:
        require(x.rank == 4, "depth to space needs a tensor of rank 4")
        require(min(self.block) >= 1, f"block {self.block} is not supported", supported="1 or more")
        n, c, h, w = x.shape
        by, bx = self.block
        require(c % (by * bx) == 0, f"{c} channels do not divide into blocks of {by}x{bx}")
        return x.of((n, c // (by * bx), h * by, w * bx))

    def reference(self, x: Any) -> Any:
        n, c, h, w = x.shape
        by, bx = self.block
        if self.order == "crd":
            y = x.reshape(n, c // (by * bx), by, bx, h, w).transpose(0, 1, 4, 2, 5, 3)
        else:
            y = x.reshape(n, by, bx, c // (by * bx), h, w).transpose(0, 3, 4, 1, 5, 2)
        return y.reshape(n, c // (by * bx), h * by, w * bx)

    def load(self, x: TensorType) -> Load:
        by, bx = self.block
        n, c, y, x_ = coordinates(4)
        i, j = imod(y, by), imod(x_, bx)
        if self.order == "crd":
            channel = add(mul(add(mul(c, by), i), bx), j)
        else:
            channel = add(mul(add(mul(i, bx), j), x.shape[1] // (by * bx)), c)
        return Load((Source(0, (n, channel, idiv(y, by), idiv(x_, bx))),))


@dataclass(frozen=True)
class ResizeNearest(Movement):
    """Nearest-neighbour resampling: y[..., i, ...] = x[..., clamp((p*i + q) // r), ...].

    ``steps`` holds (p, q, r) for each axis; frontends find it with ``indexing.step_function``,
    which covers every coordinate-transformation and rounding mode exactly.

    x: any shape -> y: ``sizes``.
    Source: ONNX Resize-19, mode nearest.
    """

    sizes: tuple[int, ...]
    steps: tuple[tuple[int, int, int], ...]

    def infer(self, x: TensorType) -> TensorType:
        require(
            len(self.sizes) == len(self.steps) == x.rank,
            f"rank {x.rank} needs {x.rank} sizes and steps, not {len(self.sizes)} and "
            f"{len(self.steps)}",
        )
        require(all(size >= 1 for size in self.sizes), "the result has no elements")
        return x.of(self.sizes)

    def reference(self, x: Any) -> Any:
        for axis, (size, (p, q, r)) in enumerate(zip(self.sizes, self.steps, strict=True)):
            at = np.clip((p * np.arange(size) + q) // r, 0, x.shape[axis] - 1)
            x = np.take(x, at, axis)
        return x

    def permuted(self, axes: tuple[int, ...]) -> ResizeNearest:
        order = [axes.index(a) for a in range(len(axes))]
        return ResizeNearest(_unpermuted(self.sizes, axes), tuple(self.steps[k] for k in order))

    def load(self, x: TensorType) -> Load:
        index: list[Expr] = []
        for i, size, out, (p, q, r) in zip(
            coordinates(x.rank), x.shape, self.sizes, self.steps, strict=True
        ):
            numerator = add(mul(i, p), q)
            if q < 0:
                numerator = clamp(numerator, 0, p * out)
            at = idiv(numerator, r)
            last = (p * (out - 1) + q) // r
            index.append(clamp(at, 0, size - 1) if bounds(last - size)[1] >= 0 else at)
        return Load((Source(0, tuple(index)),))
