"""Make several nodes of each convolution that is to be computed in tiles (``kernel_ops.winograd``).

In compute, conv(x; W, b) = result(products(patches(x); W, b)); the choice stays with the products.
In fragment shaders, where an invocation can write a tile, conv(x; W, b) = shuffle(tiles(x; W, b)),
and the choice stays with the tiles. A prologue goes with the first node, where elements are loaded,
and an epilogue with the last. :mod:`.choose_kernels` decides on it, by :func:`refusal` and the cost
of :func:`steps`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InternalError
from ..ir.dimensions import is_dynamic
from ..ir.graph import Choice, Constant, Node, infer
from ..ir.ops import Conv, DepthToSpace, Slice
from ..ir.types import Layout
from .kernel_ops import (
    IndexMapped,
    WinogradPatches,
    WinogradProducts,
    WinogradResult,
    WinogradTiles,
    assemble,
    parts,
)
from .kernel_ops.fused import Parts
from .kernel_ops.winograd_transforms import TAPS
from .placement.kinds import is_direct, planes_in_a_pass

if TYPE_CHECKING:
    from ..ir.graph import Graph
    from ..ir.ops import Op
    from .placement.target import Target
    from .rule import Context

LINES = 2  # of a transformed patch that an invocation computes: all take long to compile
LARGEST = 1e30  # of weights: their transforms must stay finite


def refusal(node: Node, target: Target) -> str:
    """Return why a placed node cannot be computed in tiles, or nothing.

    In 16 bits the transforms, which grow numbers a hundredfold and cancel them again, would lose
    what ``--precision`` promises, and so would weights rounded to fewer bits.
    """
    p = parts(node)
    if type(p.kernel) is not Conv or not is_direct(node):
        return "it is not a convolution of feature maps with constant weights"
    conv, w = p.kernel, p.operands[1]
    assert isinstance(w, Constant)
    plain = replace(conv, pads=(0, 0, 0, 0), pad_mode="constant", pad_value=0.0, enlarged=(1, 1))
    if w.shape[2:] != (TAPS, TAPS) or plain != Conv():
        return "it is not 3x3 with a stride of 1 in one group"
    if p.store:
        return "its results are stored by a scatter epilogue"
    if target.textures == "2d":
        return "Winograd needs array textures"
    if node.choice.precision != "highp" or target.weight_format != "float32":
        return "16-bit arithmetic is too inaccurate"
    if not np.abs(w.data).max(initial=0) < LARGEST:
        return "its weights are too large"
    return ""


def rows_fit(node: Node, tile: int, target: Target) -> bool:
    """Whether tiles have room if each row of tiles is one of the map, as for dynamic sizes."""
    height = node.result.shape[2]
    return -(-height // tile) * (tile + TAPS - 1) ** 2 <= target.limits.texture_size


def steps(node: Node, choice: Choice, target: Target) -> tuple[Node, ...] | None:
    """Return the nodes that compute a convolution in tiles; :func:`refusal` is to be asked first.

    Args:
        node: a placed convolution, fused or not.
        choice: with the size of its tiles; the rest is for the products, or the tiles.
        target: whose textures must have room for maps of patches; None where they have not.
    """
    return (_at_once if choice.stage == "fragment" else _in_three)(node, choice, target)


def _at_once(node: Node, choice: Choice, target: Target) -> tuple[Node, Node]:
    """Return tiles and the node that puts their pixels beside each other."""
    p, m = parts(node), choice.winograd
    conv = p.kernel
    assert isinstance(conv, Conv)
    kernel = WinogradTiles(
        pads=conv.pads,
        pad_mode=conv.pad_mode,
        pad_value=conv.pad_value,
        enlarged=conv.enlarged,
        tile=m,
    )
    tiles = _placed(
        assemble(
            Parts(kernel, p.operands, p.prologue, None, p.extras),
            node.layers,
            replace(choice, winograd=0),
        )
    )
    whole = infer(conv, p.operands, node.name)[0].shape
    shuffle = DepthToSpace((m, m), "dcr")
    n, c, height, width = tiles.result.shape
    beside: Op = shuffle
    if whole != (n, c // m**2, height * m, width * m):
        beside = IndexMapped(Slice((0, 0, 0, 0), (1, 1, 1, 1), whole), ((shuffle,),))
    last = assemble(
        Parts(beside, (tiles.result,), None, p.epilogue, p.extras, p.dtype),
        node.layers,
        Choice("fragment", planes=planes_in_a_pass(node.result.type, target), precision="highp"),
    )
    return tiles, replace(last, types=(node.result.type,))


def _in_three(node: Node, choice: Choice, target: Target) -> tuple[Node, Node, Node] | None:
    """Return patches, products and result."""
    p = parts(node)
    conv, (x, *parameters) = p.kernel, p.operands
    assert isinstance(conv, Conv)
    tile, result = choice.winograd, node.result.type
    _, _, height, width = result.shape
    rows, columns = -(-height // tile), -(-width // tile)
    most = target.limits.texture_size
    if not is_dynamic(rows * columns):  # the longer rows are, the fuller are blocks of them
        count = rows * columns
        rows = -(-count // most)
        columns = -(-count // rows)
    cut = WinogradPatches(
        tile, rows, columns, conv.pads, conv.pad_mode, conv.pad_value, conv.enlarged
    )
    if rows * cut.patch**2 > most:
        return None
    alone = Choice("compute", planes=1, precision=choice.precision)
    patches = _placed(
        assemble(
            Parts(cut, (x,), p.prologue, None, p.extras),
            node.layers,
            replace(alone, block=(1, LINES * cut.patch)),
        )
    )
    products = _placed(
        Node(
            WinogradProducts(tile=tile),
            (patches.result, *parameters),
            node.layers,
            replace(choice, winograd=0),
        )
    )
    whole = Parts(
        WinogradResult(tile, height, width),
        (products.result,),
        None,
        p.epilogue,
        p.extras,
        p.dtype,
    )
    last = assemble(whole, node.layers, replace(alone, block=(tile, tile)))
    return patches, products, replace(last, types=(result,))


def _placed(node: Node) -> Node:
    """Return the node with its result in an array of planes of 32 bits."""
    return replace(node, types=(node.result.type.placed(Layout("array", "rgba32f")),))


def expand_winograd(graph: Graph, context: Context) -> Graph:
    """Replace every node whose choice names tiles."""

    def rewrite(now: Node, was: Node) -> Node | None:
        if not now.choice.winograd:
            return None
        found = steps(now, now.choice, context.target)
        if found is None:
            raise InternalError(f"{now.name}: no room for patches, candidates() was to see to that")
        return found[-1]

    return graph.rewrite(rewrite)
