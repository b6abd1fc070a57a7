"""How 16-bit convolutions add up their products: blocked summation.

A sum of n terms in floats of precision u errs by up to about n u sum|w x|. Blocked summation adds
up b terms in 16 bits, and the results of these blocks in 32 bits: b u sum|w x|, however large n is.
A sum of at most b terms is a single block, and needs no 32-bit accumulator.

With blocks of 32, ESPCN errs by 0.2 times the tolerance of 1e-2 where sums round to nearest; with
32-bit sums, by 0.1 times. On a GPU that truncates, which OpenGL ES allows, these are 1.6 and 0.5.

Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isqrt, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.graph import Constant
from ...ir.ops.convolution import is_depthwise
from ...ir.types import HALF_MAX, HALF_MIN, LANES
from ..kernel_ops import parts
from .target import TOLERANCES

if TYPE_CHECKING:
    from ...ir.graph import Node
    from ...ir.ops import Conv


PARTIAL_TERMS = 32  # without inputs to calibrate with
MEASURED_TERMS = (64, 32, 16, 8, LANES)  # of partial sums, where calibration allows them
SUM_TOLERANCE = TOLERANCES["mediump"] / 2  # of all convolutions together
PIXELS = 256  # of a result are enough to measure rounding errors
FEWEST = 4  # of many channels
PRODUCTS = 1 << 21  # to round one by one, of a convolution
CHUNK = 1 << 17  # numbers that a processor's cache holds: more make numpy slow


def sum_terms(node: Node) -> int:
    """Return how many products a direct convolution adds up for one number of its result."""
    return prod(parts(node).operands[1].shape[1:])


def sums_in_half(node: Node) -> bool:
    """Whether the sums of a mediump convolution fit one block: 16 bits hold them altogether."""
    return sum_terms(node) <= node.choice.partial_terms


def kernel_terms(node: Node) -> int:
    """Return the products that a mediump convolution's kernel adds up in 16 bits.

    Kernels that loop over weights add up those of one texel, unless 16 bits hold the whole sum.
    """
    terms = node.choice.partial_terms
    return min(terms, 1) if node.choice.loops and not sums_in_half(node) else terms


def texel_terms(shape: tuple[int, ...], groups: int) -> int:
    """Return how many products a texel of the input gives for each sum; weights OIHW."""
    return 1 if is_depthwise(shape, groups) else min(LANES, shape[1] * groups)


Rounding = Callable[[Any], Any]


def nearest(x: Any) -> Any:
    """Return numbers rounded to the nearest 16-bit float. Integers stay as they are."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(x.dtype)


def truncated(x: Any) -> Any:
    """Return numbers as the least precise 16-bit float that OpenGL ES allows.

    The last bits are cut off, and numbers below 2^-14 are 0. Integers stay as they are.
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
    """Compute a convolution in the order of its kernels: by tap, then by input channel.

    Args:
        conv: a direct convolution of maps.
        x: (N, C, H, W).
        w: OIHW.
        start: the bias, (O,).
        partial_terms: see :class:`~...ir.graph.Choice`.
        rounded: rounds to 16 bits.
        step: compute every ``step``-th row and column of the result.

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
    """Compute a convolution with the errors of :func:`blocked_sums`, in less time.

    These are computed at every few pixels, and repeated over the map. Small maps are exact.

    Args:
        conv: a direct convolution of maps.
        x: (N, C, H, W), rounded already.
        w: OIHW, likewise.
        start: the bias, (O,), likewise.
        partial_terms: see :class:`~...ir.graph.Choice`.
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
    """Return the distance of the pixels of a result, NCHW, whose sums are rounded step by step."""
    pixels: int = min(PIXELS, max(FEWEST, PRODUCTS // w.size))
    return max(1, isqrt(prod(shape[2:]) // pixels))


def proven_terms(node: Node, start: float, size: float) -> int:
    """Return the most products, up to :data:`PARTIAL_TERMS`, whose sums 16 bits surely hold.

    Args:
        node: a direct convolution.
        start: the largest size of a bias.
        size: the largest size of a number of its input; infinite where nothing is known.

    Returns:
        0 where not even the products of a texel are sure to fit.
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
    """Return the most products that a convolution may add up in 16 bits on an input.

    Sums may err by ``tolerance`` times max(1, max|sum|), where 16 bits round to nearest: so much is
    measured, at some pixels. No partial sum of any pixel may exceed 16 bits, in any order.

    Returns:
        All products of a sum, one of :data:`MEASURED_TERMS`, or 0.
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
    """Return a bound of the sums of a convolution's products in any order, exact if it is large."""
    each = np.abs(w).reshape(conv.groups, -1, w.shape[1], prod(w.shape[2:])).sum(-1)
    channels = np.abs(x).max((0, 2, 3)).reshape(conv.groups, w.shape[1], 1)
    border = max(abs(conv.pad_value), abs(conv.zero_guard))
    quick = float(np.max(each @ np.maximum(channels, border)))
    if quick <= HALF_MAX:
        return quick
    sizes = replace(conv, pad_value=abs(conv.pad_value)).reference(np.abs(x), np.abs(w))
    return float(np.max(sizes))
