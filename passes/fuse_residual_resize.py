"""Add a linear resize of the input before the pixel shuffle after which it was added.

    shuffle(a) + resize(x) = shuffle(a + unshuffle(resize(x))) = shuffle(a + conv(x))

where the resize is linear and enlarges x as much as the shuffle enlarges a. A pixel of x becomes a
block of pixels, each at a fixed distance from the pixels of x around it. The unshuffled resize is
therefore a convolution with fixed 3x3 weights and replicated borders. The weights are computed at
compile time, and the sum is fused into the convolution that computes a. Only for user shaders:
their textures hold the padding, and they store shuffled maps at once.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions import same_shape
from ..ir.expr import Call, Var
from ..ir.graph import Node, Result, apply, constant
from ..ir.ops import Conv, DepthToSpace, Pointwise, ResizeLinear
from ..records import dataclass
from .rule import Rule, apply_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..ir.graph import Graph, Value
    from .rule import Context, Site

SUM = Call("add", (Var("x0"), Var("x1")))
TAPS = 3  # of a row: a linear resize reads the nearest neighbours


@dataclass(frozen=True, eq=False)
class _Sum:
    """``node`` adds what ``shuffle`` and ``resize`` give."""

    node: Node
    shuffle: Node
    resize: Node
    weights: NDArray[np.float32] | None


def _match(site: Site) -> _Sum | None:
    node = site.node
    if not isinstance(node.op, Pointwise) or node.op.expr != SUM:
        return None
    made = [v.node for v in node.inputs if isinstance(v, Result)]
    shuffle = next((n for n in made if isinstance(n.op, DepthToSpace)), None)
    resize = next((n for n in made if isinstance(n.op, ResizeLinear)), None)
    if shuffle is None or resize is None or any(uses > 1 for uses in site.uses):
        return None
    return _Sum(node, shuffle, resize, _weights(shuffle, resize))


def _weights(shuffle: Node, resize: Node) -> NDArray[np.float32] | None:
    """Return the convolution's weights, OIHW; None if the resize is another one."""
    op, block = resize.op, shuffle.op
    assert isinstance(op, ResizeLinear)
    assert isinstance(block, DepthToSpace)
    if not same_shape(resize.result.shape, shuffle.result.shape) or len(op.steps) != 4:
        return None
    if op.steps[:2] != ((1, 0, 1), (1, 0, 1)):
        return None
    shares = [_shares(step, size) for step, size in zip(op.steps[2:], block.block, strict=True)]
    if shares[0] is None or shares[1] is None:
        return None
    channels, (by, bx) = resize.result.shape[1], block.block
    weights = np.zeros((channels * by * bx, channels, TAPS, TAPS), np.float32)
    for c, i, j in product(range(channels), range(by), range(bx)):
        crd, dcr = (c * by + i) * bx + j, (i * bx + j) * channels + c
        weights[crd if block.order == "crd" else dcr, c] = np.outer(shares[0][i], shares[1][j])
    return weights


def _shares(step: tuple[int, int, int], size: int) -> NDArray[np.float64] | None:
    """Return what the pixels of a block take of the one before theirs, of theirs, and the next.

    Pixel k of block n samples (p*(n*size + k) + q) / r, which is n + (p*k + q) / r.
    """
    p, q, r = step
    if p * size != r:
        return None
    at = (p * np.arange(size) + q) / r
    if at.min() < -1 or at.max() > 1:
        return None
    shares: NDArray[np.float64] = np.maximum(0, 1 - np.abs(at[:, None] - np.array([-1, 0, 1])))
    return shares


def _check(found: _Sum, context: Context) -> str:
    if not context.target.stores_halos:
        return "textures have no halo for padding"
    if found.weights is None:
        return "the resize is not linear, or its factors differ from the pixel shuffle's"
    return ""


def _rewrite(found: _Sum) -> Value:
    assert found.weights is not None
    name = found.resize.name
    weights = constant(found.weights, f"{name}.shares")
    conv = Conv(pads=(1, 1, 1, 1), pad_mode="edge")
    blocks = apply(conv, found.resize.inputs[0], weights, layer=found.resize.layers)
    total = apply(Pointwise(SUM), found.shuffle.inputs[0], blocks, layer=found.node.layers)
    layers = (*found.shuffle.layers, *found.node.layers)
    return apply(found.shuffle.op, total, layer=layers)


RESIDUAL = Rule("fuse residual resize", _match, _check, _rewrite)


def fuse_residual_resize(graph: Graph, context: Context) -> Graph:
    """Add linear resizes before pixel shuffles."""
    return apply_rules(graph, context, RESIDUAL)
