"""The nodes that compute a 3x3 convolution in Winograd tiles.

In the compute stage, conv(x; W, b) = result(products(patches(x); W, b)), and the choice stays with
the products. With weights as constants, one node does all three; patches and products are not
stored. In the fragment stage, where an invocation can write a tile to several targets,
conv(x; W, b) = shuffle(tiles(x; W, b)) with weights as constants, and the choice stays with the
tiles; :mod:`.winograd_strips` has the other nodes of this stage. In compute passes of user
shaders (``Target.dispatches_draws``), one kernel does all steps, with tiles of 1x2 pixels. A
prologue goes with the first node, where elements are loaded, an epilogue with the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.dimensions import is_dynamic
from ...ir.graph import Choice, Node
from ...ir.ops import Conv
from ...ir.types import LANES
from ...passes.kernel_ops import (
    WinogradConv,
    WinogradPatches,
    WinogradProducts,
    WinogradResult,
    WinogradRow,
    WinogradTiles,
    assemble,
    parts,
)
from ...passes.kernel_ops.fused import Parts
from ...records import replace
from .fragment_blocks import beside_each_other, in_one_array
from .winograd_strips import in_strips, windows

if TYPE_CHECKING:
    from ...passes.placement.target import Target

LINES = 2  # of a transformed patch that an invocation computes at most: all take long to compile
PLACES = 12  # scalars of a transform beside its vectors: positions and sizes


def expand(node: Node, target: Target) -> tuple[Node, ...]:
    """Return the nodes that compute a convolution in tiles, the last of which gives its result.

    Args:
        node: a placed convolution, fused or not. Its choice has the Winograd tile; the other parts
            of the choice are those of the products. A node without a tile is returned unchanged.
        target: of the build; the choice is one of its candidates.
    """
    if not node.choice.winograd:
        return (node,)
    if target.dispatches_draws:
        return (tiles_of_rows(node, node.choice),)
    if node.choice.stage == "fragment":
        if node.choice.block == (1, 1):
            return tiles_and_shuffle(node, node.choice, target)
        steps = in_strips(node, node.choice, target)
        if isinstance(steps, str):
            raise InternalError(f"{node.name}: {steps}")
        return steps
    if is_in_place(node.choice):
        return (tiles_in_place(node, node.choice),)
    found = three_steps(node, node.choice, target)
    if found is None:
        raise InternalError(f"{node.name}: the maps of its patches exceed the textures")
    return found


def is_in_place(choice: Choice) -> bool:
    """Whether a choice of tiles is one kernel in the compute stage, without maps of patches."""
    return choice.stage == "compute" and choice.weights == "constants"


def tiles_in_place(node: Node, choice: Choice) -> Node:
    """Return the node that does all steps in one kernel."""
    return _at_once(node, replace(choice, block=(choice.winograd, choice.winograd)), WinogradConv)


def tiles_of_rows(node: Node, choice: Choice) -> Node:
    """Return the node that does all steps in one kernel, in tiles of pixels of a row."""
    return _at_once(node, replace(choice, block=(choice.winograd, 1)), WinogradRow)


def _at_once(node: Node, choice: Choice, kind: type[WinogradConv]) -> Node:
    p = parts(node)
    kernel = kind(**windows(p.kernel), tile=choice.winograd)
    made = assemble(replace(p, kernel=kernel), node.layers, replace(choice, winograd=0))
    return replace(made, types=(node.result.type,))


def tiles_and_shuffle(node: Node, choice: Choice, target: Target) -> tuple[Node, Node]:
    """Return tiles and the node that puts their pixels beside each other."""
    p, m = parts(node), choice.winograd
    conv = p.kernel
    kernel = WinogradTiles(**windows(conv), tile=m)
    tiles = in_one_array(
        assemble(
            Parts(kernel, p.operands, p.prologue, None, p.extras),
            node.layers,
            replace(choice, winograd=0),
        )
    )
    return tiles, beside_each_other(node, tiles.result, (m, m), target)


def three_steps(node: Node, choice: Choice, target: Target) -> tuple[Node, Node, Node] | None:
    """Return patches, products and result; None where textures have no room for the patches."""
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
    patches = in_one_array(
        assemble(
            Parts(cut, (x,), p.prologue, None, p.extras),
            node.layers,
            replace(
                alone, block=(1, _lines(LINES, cut.patch, cut.patch, cut.patch, target) * cut.patch)
            ),
        )
    )
    products = in_one_array(
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
        (),
        p.epilogue,
        p.extras,
        p.dtype,
    )
    lines = _lines(tile, tile, tile, cut.patch, target)
    last = assemble(whole, node.layers, replace(alone, block=(tile, lines)))
    return patches, products, replace(last, types=(result,))


def _lines(most: int, every: int, sums: int, loaded: int, target: Target) -> int:
    """Return how many lines an invocation of a transform computes: 1, 2 or 4.

    Each sum has a vector. Each loaded vector has a place. Where an invocation computes some of the
    lines, it holds their factors, too.

    Args:
        most: of them.
        every: the lines there are.
        sums: vectors of each line that an invocation adds up.
        loaded: vectors that it holds beside all sums.
        target: its GPUs have registers for these vectors.
    """
    least = min((costs.registers for costs in target.costs if costs.registers), default=0)

    def held(n: int) -> int:
        vectors = n * sums + loaded + (n if n < every else 0)
        return vectors * LANES + loaded + PLACES

    return next((n for n in (most, most // 2) if held(n) <= least), 1) if least else most
