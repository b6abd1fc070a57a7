"""The discrete Fourier transform, and cutting a signal into frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from ..expr import Expr, Num
from ..graph import apply, constant
from ..indexing import Load, Source, add, coordinates, imod, mul
from ..nest_builder import NestBuilder
from ..types import TensorType
from .base import Op, require
from .movement import Movement

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest

LONGEST_TRANSFORM = 1 << 13


@dataclass(frozen=True)
class DFT(Op):
    """The discrete Fourier transform along an axis; ``length`` is the number of points.

    Y[k] = sum over n of X[n] * exp(-2 pi i n k / length); with ``inverse``, the sign is plus and
    the sum divided by the length. The last axis of x holds X: the real part, or real and imaginary
    part. X is cropped or padded with zeros to the length.

    ``onesided``: only Y[0] ... Y[length // 2], because the others mirror them for real X. The
    inverse then takes X[0] ... X[length // 2] and gives real Y.

    x: any shape, the last size 1 or 2 -> y: the axis of the new size, the last axis of size 2, or
    of 1 for the inverse of a one-sided transform.
    Source: ONNX DFT-20.
    """

    axis: int
    length: int
    inverse: bool = False
    onesided: bool = False

    def infer(self, x: TensorType) -> TensorType:
        require(
            x.rank >= 2 and x.shape[-1] <= 2,
            "a DFT needs rank 2 or more and a last axis of 1 or 2 numbers (real, imaginary)",
        )
        require(0 <= self.axis < x.rank - 1, f"a DFT along axis {self.axis} is not supported")
        require(
            1 <= self.length <= LONGEST_TRANSFORM,
            f"a DFT of {self.length} points is not supported",
            supported=f"up to {LONGEST_TRANSFORM}",
        )
        require(
            not self._real or x.shape[-1] == 2,
            "an inverse one-sided DFT needs imaginary parts (last axis 2)",
        )
        shape = list(x.shape)
        half = self.onesided and not self.inverse
        shape[self.axis] = self.length // 2 + 1 if half else self.length
        shape[-1] = 1 if self._real else 2
        return x.of(tuple(shape))

    @property
    def _real(self) -> bool:
        """Whether the result has no imaginary part."""
        return self.inverse and self.onesided

    def reference(self, x: Any) -> Any:
        signal = x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]
        if self._real:
            return np.fft.irfft(signal, self.length, self.axis)[..., np.newaxis].astype(x.dtype)
        transform = np.fft.ifft if self.inverse else np.fft.fft
        y = transform(signal, self.length, self.axis)
        if self.onesided:
            y = np.take(y, np.arange(self.length // 2 + 1), self.axis)
        return np.stack([y.real, y.imag], -1).astype(x.dtype)

    def decompose(self, x: Value) -> Value:
        return apply(Spectrum(self), x, constant(self.turns(), "turns"))

    def turns(self) -> np.ndarray:
        """Return cosines and sines of every part of a full turn, (length, 2)."""
        angle = 2 * np.pi * np.arange(self.length) / self.length
        return np.stack([np.cos(angle), np.sin(angle)], 1)


@dataclass(frozen=True)
class Spectrum(Op):
    """A Fourier transform with given tables of cosines and sines.

    Tables are used because the sine of drivers is inexact and slow.

    x: as ``transform`` takes it, turns: (length, 2) -> y: as it gives it.
    """

    transform: DFT

    def infer(self, x: TensorType, turns: TensorType) -> TensorType:
        require(
            turns.shape == (self.transform.length, 2),
            "the table of cosines and sines has another length",
        )
        return self.transform.infer(x)

    def reference(self, x: Any, turns: Any) -> Any:
        return self.transform.reference(x)

    def nest(self, x: TensorType, turns: TensorType) -> Nest:
        op = self.transform
        own = coordinates(x.rank)
        points = min(x.shape[op.axis], op.length)
        if op.inverse and op.onesided:
            points = min(x.shape[op.axis], op.length // 2 + 1)
        nest = NestBuilder()
        point = nest.loop("point", points)
        turn = imod(mul(own[op.axis], point), op.length)
        nest.load("cosine", 1, (turn, Num(0.0)))
        nest.load("sine", 1, (turn, Num(1.0)))
        index: list[Expr] = list(own)
        for which, name in enumerate(("real_part", "imaginary_part")[: x.shape[-1]]):
            index[op.axis], index[-1] = point, Num(float(which))
            nest.load(name, 0, index)
        s = "sine" if op.inverse else "-sine"
        real, imaginary = "real_part * cosine", f"real_part * {s}"
        if x.shape[-1] == 2:
            real += f" - imaginary_part * {s}"
            imaginary += " + imaginary_part * cosine"
        if op.inverse and op.onesided:  # all but the first and the middle one count twice
            term = f"({real}) * where(({point} == 0) + (2 * {point} == {op.length}), 1, 2)"
        else:
            term = f"where({own[-1]} < 0.5, {real}, {imaginary})"
        nest.add_up("total", term)
        return nest.give(f"total / {op.length}" if op.inverse else "total")


@dataclass(frozen=True)
class Frames(Movement):
    """Cut a signal into frames that may overlap: y[b, f, n, c] = x[b, f*step + n, c].

    x: (B, L, C) -> y: (B, 1 + (L - length) // step, length, C).
    Source: ONNX STFT-17.
    """

    length: int
    step: int

    def infer(self, x: TensorType) -> TensorType:
        require(x.rank == 3, "a signal must have rank 3")
        require(
            1 <= self.length <= x.shape[1] and self.step >= 1,
            f"frames of length {self.length} every {self.step} do not fit a signal of {x.shape[1]}",
        )
        count = 1 + (x.shape[1] - self.length) // self.step
        return x.of((x.shape[0], count, self.length, x.shape[2]))

    def reference(self, x: Any) -> Any:
        starts = range(0, x.shape[1] - self.length + 1, self.step)
        return np.stack([x[:, s : s + self.length] for s in starts], 1)

    def load(self, x: TensorType) -> Load:
        b, f, n, c = coordinates(4)
        return Load((Source(0, (b, add(mul(f, self.step), n), c)),))
