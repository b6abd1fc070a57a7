"""Linear resizes of the picture, which passes sample in place of fetching a resized texture.

Players' textures filter linearly and clamp positions to their borders, as a resize with half pixels
at the borders does. GPUs compute shares of texels in 8 bits, which is exact where the factor is a
power of two. A reader that adds the resized picture at its own pixel then takes one sample of the
picture, and the resized texture is not made.

Only the player's own picture is sampled: textures of layers may hold a halo, or several planes side
by side. Chroma is left out, whose position relative to luma differs between videos.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.dimensions import same_shape
from ...ir.ops import Pointwise, ResizeLinear
from ...passes.kernel_ops import parts
from .hooks import CHROMA

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ...ir.graph import Node, Value
    from ..gpu import GpuPass

FACTORS = (2, 4, 8)  # shares of 1/4, 1/8 and 1/16, and multiples


def sampled_resizes(
    schedule: Mapping[str, Any],
    passes: Sequence[GpuPass],
    fragments: Collection[GpuPass],
    picture: str,
) -> AbstractSet[str]:
    """Return the textures of resizes that need not be made, as the picture is sampled instead.

    Args:
        schedule: of a build.
        passes: of the build.
        fragments: those that are fragment passes of one texture without a halo.
        picture: the texture of the player's picture.
    """
    entries = list(zip(schedule["passes"], passes, strict=True))
    outputs = {port["texture"] for port in schedule["outputs"]}
    found = set()
    for entry, resize in entries:
        texture = entry["writes"][0]["texture"]
        if resize not in fragments or texture in outputs or not _is_exact(resize.node):
            continue
        if [r["texture"] for r in entry["reads"]] != [picture]:
            continue
        readers = [p for e, p in entries if texture in [r["texture"] for r in e["reads"]]]
        value = resize.node.result
        if all(p in fragments and _reads_own_pixel(p.node, value) for p in readers):
            found.add(texture)
    return found


def _is_exact(node: Node) -> bool:
    """Whether a node only resizes luma or colours, as a sampler does, by a power of two."""
    op = node.op
    if not isinstance(op, ResizeLinear) or len(op.steps) != 4:
        return False
    if node.result.shape[1] == CHROMA:
        return False
    if op.steps[:2] != ((1, 0, 1), (1, 0, 1)):
        return False
    factors = {r // p for p, _, r in op.steps[2:] if r % p == 0}
    if len(factors) != 1 or not factors <= set(FACTORS):
        return False
    (scale,) = factors
    x = node.inputs[0].shape
    # Pixel i samples (p*i + q) / r = (i + 0.5) / scale - 0.5.
    half_pixels = all(
        r == p * scale and 2 * scale * q == r * (1 - scale) for p, q, r in op.steps[2:]
    )
    return half_pixels and same_shape(op.sizes[2:], tuple(side * scale for side in x[2:]))


def _reads_own_pixel(node: Node, value: Value) -> bool:
    """Whether a node reads a value, and only at the pixel that it computes."""
    p = parts(node)
    if value not in node.inputs or p.store:
        return False
    if not same_shape(value.shape[2:], node.result.shape[2:]):
        return False
    return isinstance(p.kernel, Pointwise) or value not in p.operands
