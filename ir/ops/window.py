"""Sliding windows along axes: their number, and the positions of their taps.

Window o of an axis covers the elements o*stride + k*dilation - before for k = 0, ..., taps - 1. A
tap exists if its element is in [0, size).
"""

from __future__ import annotations

from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..algebra import fold
from ..dimensions import bounds, is_dynamic, largest
from ..expr import Call, Expr, Num
from ..indexing import Source, add, border, coordinates, inside, mul, sub
from .base import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ..nest_builder import NestBuilder
    from ..types import TensorType

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """The windows along one axis of ``size`` elements."""

    size: int
    taps: int
    stride: int
    dilation: int
    before: int
    after: int
    ceil: bool = False

    @property
    def reach(self) -> int:
        """The number of elements that a window spans, including holes of dilation."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def count(self) -> int:
        """The number of windows.

        With ``ceil`` the last window may extend past the padding, but starts before its end.
        """
        room = self.size + self.before + self.after - self.reach
        if not self.ceil:
            return room // self.stride + 1
        count = -(-room // self.stride) + 1
        started = (count - 1) * self.stride < self.size + self.before
        return count if started else count - 1

    @property
    def beyond(self) -> int:
        """Elements of the last window past the end of the input; negative if it ends before."""
        return (self.count - 1) * self.stride + self.reach - self.before - self.size

    @property
    def past(self) -> int:
        """Upper bound of the last window's elements past the end of the input, at least 0.

        For a dynamic dimension, some sizes have fewer.
        """
        if is_dynamic(beyond := self.beyond):
            most = bounds(beyond)[1]
            return max(int(most), 0) if isfinite(most) else self.reach
        return max(beyond, 0)

    def check(self) -> None:
        """Refuse invalid windows (SG0205)."""
        require(
            min(self.taps, self.stride, self.dilation) >= 1,
            "kernels, strides and dilations must be 1 or more",
        )
        require(self.before >= 0 and self.after >= 0, "padding must not be negative")
        require(
            self.count >= 1,
            f"the kernel reaches over {self.reach} elements, "
            f"the padded input has {self.size + self.before + self.after}",
        )

    def at(self, o: Expr, k: Expr) -> Expr:
        """Return the position of tap ``k`` of window ``o``."""
        return sub(add(mul(o, self.stride), mul(k, self.dilation)), self.before)

    def exists(self, position: Expr) -> tuple[Expr, ...]:
        """Return the conditions under which a tap exists."""
        return inside(position, self.size, self.before, self.past)

    def check_taps(self) -> None:
        """Refuse windows of padding alone (SG0205)."""
        if not is_dynamic(self.size):
            held = bool(self.taps_in(0, self.size).all())
        else:  # the first windows reach into the axis, by less than a hole; the last begin in it
            held = (
                -(-self.before // self.dilation) < self.taps
                and self.dilation <= self.size
                and (self.count - 1) * self.stride - self.before < self.size
            )
        require(held, "a window covers only padding")

    def tap_slice(self, k: int) -> slice:
        """Return the slice of the padded axis that is tap ``k`` of all windows."""
        first = k * self.dilation
        return slice(first, first + (self.count - 1) * self.stride + 1, self.stride)

    def taps_in(self, low: int, high: int) -> NDArray[np.intp]:
        """Return the number of taps in [low, high) of every window."""
        first = np.arange(self.count)[:, None] * self.stride - self.before
        at = first + np.arange(self.taps) * self.dilation
        count: NDArray[np.intp] = ((low <= at) & (at < high)).sum(1)
        return count

    def taps_formula(self, o: Expr, low: int, high: int) -> Expr:
        """Return the same number as a floating-point formula of the window's position ``o``."""
        if not is_dynamic(self.size):
            counts = self.taps_in(low, high)
            if (counts == counts[0]).all():
                return Num(float(counts[0]))
        elif low <= -self.before and bounds(self.beyond + self.size - high)[1] <= 0:
            return Num(float(self.taps))
        first = sub(mul(o, self.stride), self.before)
        end = Call("min", (self._taps_until(sub(high, first)), Num(float(self.taps))))
        if low <= -self.before:
            return end
        return fold(Call("sub", (end, Call("max", (self._taps_until(sub(low, first)), Num(0.0))))))

    def _taps_until(self, distance: Expr) -> Expr:
        """Return ceil(distance / dilation), robust against rounding of the division."""
        if self.dilation == 1:
            return distance
        shifted = add(distance, Num(self.dilation - 0.5))
        return Call("floor", (Call("div", (shifted, Num(float(self.dilation)))),))


def windows(
    x: TensorType, kernel: Sizes, strides: Sizes, dilations: Sizes, pads: Sizes, ceil: bool = False
) -> tuple[Window, ...]:
    """Return the windows along the last axes of x, as many as ``kernel`` has entries.

    An empty list means the default; one entry is for all axes.
    """
    rank = len(kernel)
    require(1 <= rank <= x.rank, f"a window of {rank} axes does not fit rank {x.rank}")
    pads = each(pads, 2 * rank, 0, "pads")
    return tuple(
        Window(size, k, s, d, before, after, ceil)
        for size, k, s, d, before, after in zip(
            x.shape[-rank:],
            kernel,
            each(strides, rank, 1, "strides"),
            each(dilations, rank, 1, "dilations"),
            pads[:rank],
            pads[rank:],
            strict=True,
        )
    )


def each(values: Sizes, count: int, default: int, what: str) -> Sizes:
    """Return one value for each of ``count`` axes: empty is the default, one entry is for all."""
    if len(values) <= 1:
        return (values or (default,)) * count
    require(len(values) == count, f"{what}={list(values)} needs {count} numbers")
    return values


def same_padding(size: int, stride: int, reach: int) -> int:
    """Return the padding for ceil(size / stride) windows that span ``reach`` elements each.

    Source: ONNX's auto_pad=SAME_UPPER; TensorFlow's padding "same".
    """
    return largest((-(-size // stride) - 1) * stride + reach - size, 0)


def may_pad(pads: Sizes) -> bool:
    """Whether there is padding; if dynamic, at any size. Records no guard."""
    return any(bounds(pad)[1] > 0 for pad in pads)


def floor_quotient(a: Expr, b: int) -> Expr:
    """Return floor(a / b) in floating point: adding 0.5 to a exceeds any rounding error."""
    return a if b == 1 else Call("floor", (Call("div", (add(a, Num(0.5)), Num(float(b)))),))


def tap_source(
    nest: NestBuilder,
    x: TensorType,
    along: tuple[Window, ...],
    operand: int = 0,
    repeat: bool = False,
) -> tuple[Source, list[Expr]]:
    """Loop over the taps of a window; return the position of a step's tap, and the counters.

    A tap that does not exist is excluded or, with ``repeat``, reads the nearest element. With
    dilation 1, this element is in the same window if any tap of the window exists.
    """
    own = coordinates(x.rank)
    index: list[Expr] = list(own[: -len(along)])
    valid: list[Expr] = []
    counters: list[Expr] = []
    for o, w in zip(own[-len(along) :], along, strict=True):
        counters.append(nest.loop(f"tap_{o.name}", w.taps))
        at = w.at(o, counters[-1])
        if repeat:
            at = border("edge", at, w.size, w.before, w.past)
        else:
            valid += w.exists(at)
        index.append(at)
    return Source(operand, tuple(index), tuple(valid)), counters


def taps(x: Any, along: tuple[Window, ...], fill: float) -> list[Any]:
    """Return for each tap its elements of all windows, ``fill`` outside."""
    lead = ((0, 0),) * (np.ndim(x) - len(along))
    widths = (*lead, *((w.before, max(w.beyond, 0)) for w in along))
    padded = np.pad(x, widths, constant_values=fill)
    return [padded[at] for at in tap_slices(along)]


def tap_slices(along: tuple[Window, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield for each tap its index into the padded array, along the last axes."""
    for ks in product(*(range(w.taps) for w in along)):
        yield (..., *(w.tap_slice(k) for k, w in zip(ks, along, strict=True)))
