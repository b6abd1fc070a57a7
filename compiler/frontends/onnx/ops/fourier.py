"""DFT, STFT and MelWeightMatrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.formula_parser import parse
from .....ir.ops import DFT, Frames, Pointwise, Reshape
from ..operands import Known
from ..read.types import numpy_type, type_name
from .parameters import parameters

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .elementwise import Handler
    from .node import OnnxNode

MOST_BINS = 1 << 12


@parameters(1, 2)
def dft(node: OnnxNode) -> Value:
    """DFT; its axis is an attribute before operator set 20, then an input."""
    x = node.real(0)
    axis = -2
    if node.version < 20:
        axis = node.integer("axis", 1)
    elif node.given(2):
        (axis,) = node.known_integers(2, "the axis")
    axis = node.axis(axis, x.type.rank)
    inverse = node.choice("inverse", (0, 1)) == 1
    onesided = node.choice("onesided", (0, 1)) == 1
    length = 2 * (x.shape[axis] - 1) if inverse and onesided else x.shape[axis]
    if node.given(1):
        (length,) = node.known_integers(1, "the length")
    return node.apply(DFT(axis, length, inverse, onesided), x)


@parameters(1, 3)
def stft(node: OnnxNode) -> Value:
    """STFT: the spectra of overlapping frames, each times the window."""
    x = node.real(0)
    (step,) = node.known_integers(1, "the step between frames")
    if node.given(3):
        (length,) = node.known_integers(3, "the length of a frame")
    elif node.given(2):
        length = node.shape(2)[0]
    else:
        length = x.shape[1]
    if x.type.rank == 2:
        x = node.apply(Reshape((*x.shape, 1)), x)
    frames = node.apply(Frames(length, step), x)
    if node.given(2):
        if node.shape(2) != (length,):
            raise ShadergenError(
                "SG0105", f"a window of shape {list(node.shape(2))} does not fit frames of {length}"
            )
        window = node.apply(Reshape((length, 1)), node.real(2))
        frames = node.apply(Pointwise(parse("x0 * x1")), frames, window)
    onesided = node.choice("onesided", (1, 0)) == 1
    return node.apply(DFT(2, length, onesided=onesided), frames)


@parameters(0, 1, 2, 3, 4)
def mel_weight_matrix(node: OnnxNode) -> Known:
    """MelWeightMatrix: triangles, evenly spaced on the mel scale, over the bins of a spectrum."""
    roles = ("bands", "length", "rate", "low", "high")
    bands, length, rate, low, high = (
        node.known(k, f"the operand '{role}'").reshape(-1)[0].item() for k, role in enumerate(roles)
    )
    number = node.integer("output_datatype", 1)
    dtype = numpy_type(number)
    if dtype is None or dtype.kind not in "iuf":
        raise node.refusal("output_datatype", type_name(number), ("FLOAT", "DOUBLE", "FLOAT16"))
    if not (0 < bands <= MOST_BINS and 0 < length <= MOST_BINS and rate > 0):
        raise ShadergenError(
            "SG0105",
            f"num_mel_bins={bands} and dft_length={length} must be 1 to {MOST_BINS}, "
            f"sample_rate={rate} above 0",
        )
    ends = 2595 * np.log10(1 + np.array([low, high]) / 700)
    mel = ends[0] + np.arange(bands + 2) * ((ends[1] - ends[0]) / (bands + 2))
    points = ((length + 1) * (700 * (10 ** (mel / 2595) - 1)) // rate).astype(int)
    result = np.zeros((length // 2 + 1, bands))
    if points.min() < 0 or points[1:].max() > len(result):
        raise ShadergenError(
            "SG0105", f"the band edges must lie between 0 and half the sample rate of {rate}"
        )
    for band, (start, middle, end) in enumerate(zip(points, points[1:], points[2:], strict=False)):
        if middle == start:
            result[middle, band] = 1
        else:
            rising = np.arange(start, middle + 1)
            result[rising, band] = (rising - start) / (middle - start)
        if end > middle:
            falling = np.arange(middle, end)
            result[falling, band] = (end - falling) / (end - middle)
    return Known(node.layer, result.astype(dtype))


FOURIER: dict[str, Handler] = {
    "DFT": dft,
    "MelWeightMatrix": mel_weight_matrix,
    "STFT": stft,
}
