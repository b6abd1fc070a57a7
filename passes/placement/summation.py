"""Blocked summation: how 16-bit convolutions add up their products.

Let u be the unit roundoff of 16-bit floats. Adding n products one by one in 16 bits gives an error
of up to about n u sum|w x|. Blocked summation adds b products in 16 bits, which makes a *partial
sum*, and adds the partial sums in 32 bits. The error is then up to about b u sum|w x|, for any n. A
sum of at most b products is a single block and needs no 32-bit accumulator.

The error of ESPCN, divided by the tolerance of 1e-2:

- blocks of 32 products: 0.2 if the GPU rounds to nearest, 1.6 if it truncates
- 32-bit sums: 0.1 if the GPU rounds to nearest, 0.5 if it truncates

OpenGL ES allows both.

Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.graph import Constant
from ...ir.ops.convolution import is_depthwise
from ...ir.types import HALF_MAX, HALF_MIN, LANES
from ...records import replace
from ..kernel_ops import parts
from .target import TOLERANCES

if TYPE_CHECKING:
    from ...ir.graph import Node
    from ...ir.ops import Conv


PARTIAL_TERMS = 32  # products in a block, without calibration
MEASURED_TERMS = (64, 32, 16, 8, LANES)  # the block lengths that calibration tries
SUM_TOLERANCE = TOLERANCES["mediump"] / 2  # for the error of all convolutions together
PIXELS = 256  # the most pixels of a result at which rounding errors are computed
FEWEST = 4  # the fewest such pixels, in convolutions of many channels
PRODUCTS = 1 << 21  # products of a convolution to round one by one, if FEWEST allows
CHUNK = 1 << 17  # numbers that fit a processor's cache: numpy is slower on larger arrays


def sum_terms(node: Node) -> int:
    """Return the number of products in each sum of a direct convolution."""
    return prod(parts(node).operands[1].shape[1:])


def sums_in_half(node: Node) -> bool:
    """Whether the whole sum of a mediump convolution is one block, and so computed in 16 bits."""
    return sum_terms(node) <= node.choice.partial_terms


def kernel_terms(node: Node) -> int:
    """Return the block length of a mediump convolution's kernel; 0 if each product is a block.

    In a kernel that loops over weights, a block is one texel, unless the whole sum is one block.
    The result is then 1, because :func:`blocked_sums` never divides a texel.
    """
    terms = node.choice.partial_terms
    return min(terms, 1) if node.choice.loops and not sums_in_half(node) else terms


def texel_terms(shape: tuple[int, ...], groups: int) -> int:
    """Return how many products of one sum an input texel takes part in.

    Args:
        shape: of the weights, OIHW.
        groups: of the convolution.
    """
    return 1 if is_depthwise(shape, groups) else min(LANES, shape[1] * groups)


Rounding = Callable[[Any], Any]


def nearest(x: Any) -> Any:
    """Round floats to the nearest 16-bit float; leave integers as they are."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(x.dtype)


def truncated(x: Any) -> Any:
    """Round floats to 16 bits as the least precise GPU that OpenGL ES allows.

    The last bits are cut off, magnitudes below 2^-14 become 0, and finite magnitudes above the
    largest 16-bit float become this float. Integers stay as they are.
    """
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x
    kept = np.atleast_1d(x).astype(np.float32)
    bits = kept.view(np.uint32)
    bits &= np.uint32(0xFFFFE000)
    kept[np.abs(kept) < HALF_MIN] = 0
    np.clip(kept, -HALF_MAX, HALF_MAX, out=kept, where=np.isfinite(kept))
    return kept.reshape(x.shape).astype(x.dtype, copy=False)


def blocked_sums(
    conv: Conv,
    x: Any,
    w: Any,
    start: Any,
    partial_terms: int,
    rounded: Rounding,
    step: int = 1,
) -> Any:
    """Compute a convolution by blocked summation, in the order of its kernel.

    A kernel goes from tap to tap, and for each tap from input channel to input channel.

    Args:
        conv: a direct convolution of feature maps.
        x: (N, C, H, W).
        w: OIHW.
        start: the bias, (O,).
        partial_terms: products in a block (:class:`~...ir.graph.Choice`); 0 rounds each product to
            16 bits and adds it in 32 bits.
        rounded: rounds to 16 bits.
        step: compute only every ``step``-th row and column of the result.

    Returns:
        (N, O, H, W) in float32.
    """
    groups, per_group = conv.groups, w.shape[1]
    texels = [(xs[..., ::step, ::step], w[:, :, tap[0], tap[1]]) for tap, xs in conv.taps(x, w)]
    shape = (len(x), groups, -1, *texels[0][0].shape[2:])
    out = len(w) // groups
    starts = np.broadcast_to(np.float32(start), len(w)).reshape(groups, out, 1, 1)
    each = max(1, CHUNK // (texels[0][0].size // per_group))
    whole = prod(w.shape[1:]) <= partial_terms
    most = partial_terms // texel_terms(w.shape, groups)  # texels of a partial sum
    chunks = []
    for first in range(0, out, each):
        total = starts[:, first : first + each]
        total = rounded(total) if whole else total
        partial: Any = None
        texels_added = 0
        for xs, taps in texels:
            inputs = xs.reshape(*shape[:2], per_group, *shape[3:])
            weights = taps.reshape(groups, out, per_group, 1, 1)[:, first : first + each]
            for c in range(per_group):
                if c % LANES == 0 and not whole:
                    if texels_added >= most and partial is not None:
                        total, partial, texels_added = total + partial, None, 0
                    texels_added += 1
                product = rounded(inputs[:, :, c, None] * weights[:, :, c])
                if not partial_terms:
                    total = total + product
                elif whole:
                    total = rounded(total + product)
                else:
                    partial = product if partial is None else rounded(partial + product)
        chunks.append(total if partial is None else total + partial)
    found = np.concatenate(chunks, 2)
    return found.reshape(len(x), len(w), *found.shape[3:])


def sampled_sums(
    conv: Conv, x: Any, w: Any, start: Any, partial_terms: int, rounded: Rounding
) -> Any:
    """Compute a convolution with approximately the errors of :func:`blocked_sums`, in less time.

    The errors are computed at evenly spaced pixels, and this pattern of errors is repeated over the
    map. On a small map the result is exactly that of :func:`blocked_sums`.

    Args:
        conv: a direct convolution of feature maps.
        x: (N, C, H, W), rounded to 16 bits.
        w: OIHW, rounded to 16 bits.
        start: the bias, (O,), rounded to 16 bits.
        partial_terms: as for :func:`blocked_sums`.
        rounded: rounds to 16 bits.

    Returns:
        (N, O, H, W) in float32.
    """
    exact = conv.reference(x, w, np.broadcast_to(np.float32(start), len(w)))
    step = _step(exact.shape, w)
    found = blocked_sums(conv, x, w, start, partial_terms, rounded, step)
    if step == 1:
        return found
    with np.errstate(invalid="ignore"):  # infinity less infinity
        lost = found - exact[..., ::step, ::step]
        height, width = exact.shape[2:]
        repeats = (1, 1, -(-height // lost.shape[2]), -(-width // lost.shape[3]))
        lost = np.tile(lost, repeats)[:, :, :height, :width]
    return exact + lost


def _step(shape: tuple[int, ...], w: Any) -> int:
    """Return the spacing of the pixels at which rounding errors are computed.

    Args:
        shape: of the result, NCHW.
        w: the weights.
    """
    pixels: int = min(PIXELS, max(FEWEST, PRODUCTS // w.size))
    return max(1, isqrt(prod(shape[2:]) // pixels))


def proven_terms(node: Node, start: float, size: float) -> int:
    """Return the longest block, up to :data:`PARTIAL_TERMS`, whose sums provably fit 16 bits.

    Args:
        node: a direct convolution.
        start: the largest magnitude of a bias.
        size: the largest magnitude of the input; infinite if unknown.

    Returns:
        One of :data:`MEASURED_TERMS`; 0 if the proof fails for the shortest of them, too.
    """
    weights = parts(node).operands[1]
    assert isinstance(weights, Constant)
    w = np.abs(weights.data)
    largest_first = -np.sort(-w.reshape(len(w), -1), axis=1)
    for terms in (n for n in MEASURED_TERMS if n <= PARTIAL_TERMS):
        sums = float(largest_first[:, :terms].sum(1).max()) * size
        whole = sum_terms(node) <= terms
        if sums + start * whole <= HALF_MAX:
            return terms
    return 0


def longest_partial_sum(conv: Conv, tolerance: float, x: Any, w: Any, *bias: Any) -> int:
    """Return the longest block with which a convolution is accurate enough on one input.

    Two conditions hold for the result:

    - With rounding to nearest, sums err by at most ``tolerance`` times max(1, max|sum|). This is
      measured at some pixels.
    - No partial sum exceeds the range of 16-bit floats, at any pixel and in any order.

    Returns:
        The number of products in the whole sum, or one of :data:`MEASURED_TERMS`, or 0 if no
        block meets both conditions.
    """
    x, w = nearest(x), nearest(w)
    start = bias[0] if bias else np.float32(0)
    every = prod(w.shape[1:])
    most = _largest_sum(conv, x, w) + float(np.max(np.abs(start)))
    if not most <= HALF_MAX:  # NaN does not
        return 0
    step = _step(x.shape, w)
    exact = blocked_sums(conv, x, w, start, every, np.asarray, step)
    allowed = tolerance * max(1.0, float(np.abs(exact).max()))
    for terms in (every, *(n for n in MEASURED_TERMS if n < every)):
        found = blocked_sums(conv, x, w, start, terms, nearest, step)
        if float(np.abs(found - exact).max()) <= allowed:
            return int(terms)
    return 0


def _largest_sum(conv: Conv, x: Any, w: Any) -> float:
    """Return a bound on all partial sums of a convolution, in any order.

    If a cheap bound exceeds 16 bits, the result is the exact maximum of sum|w x| instead.
    """
    each = np.abs(w).reshape(conv.groups, -1, w.shape[1], prod(w.shape[2:])).sum(-1)
    channels = np.abs(x).max((0, 2, 3)).reshape(conv.groups, w.shape[1], 1)
    border = max(abs(conv.pad_value), abs(conv.zero_guard))
    quick = float(np.max(each @ np.maximum(channels, border)))
    if quick <= HALF_MAX:
        return quick
    sizes = replace(conv, pad_value=abs(conv.pad_value)).reference(np.abs(x), np.abs(w))
    return float(np.max(sizes))
