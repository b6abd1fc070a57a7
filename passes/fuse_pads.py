"""Merge padding into the convolution after it.

conv(pad(x)) = conv with larger pads, when the padding is spatial and of one kind: the convolution
pads nothing yet, or both pad the same constant, or both repeat the border (as mirroring one border
element does). Refused otherwise; if the padding is dynamic, because the code of a convolution has
literal numbers for it; or if the convolution upsamples its input. Padding then is a GPU pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.dimensions import is_dynamic
from ..ir.indexing import simplest_mode
from ..ir.ops import Conv, Pad
from ..ir.ops.window import may_pad
from ..records import replace
from .rule import Reading, Rule, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context, Site


def _match(site: Site) -> Reading | None:
    return Reading.match(site, Pad)


def _check(found: Reading, context: Context) -> str:
    conv, pad = found.conv.op, found.before.op
    assert isinstance(conv, Conv)
    assert isinstance(pad, Pad)
    if conv.enlarged != (1, 1):
        return "the convolution upsamples the padded input"
    if any((*pad.before[:2], *pad.after[:2])):
        return "the padding adds channels or batch entries"
    if any(map(is_dynamic, (*pad.before, *pad.after))):
        return "the amount of padding is dynamic"
    if not may_pad(conv.pads) or _repeats_border(found):
        return ""
    if pad.mode == conv.pad_mode == "constant" and pad.value == conv.pad_value:
        return ""
    return f"{pad.mode} padding and the convolution's own {conv.pad_mode} padding do not merge"


def _rewrite(found: Reading) -> Value:
    conv, pad = found.conv.op, found.before.op
    assert isinstance(conv, Conv)
    assert isinstance(pad, Pad)
    more = (*pad.before[2:], *pad.after[2:])
    merged = replace(
        conv,
        pads=tuple(a + b for a, b in zip(conv.pads, more, strict=True)),
        pad_mode="edge" if _repeats_border(found) else pad.mode,
        pad_value=pad.value,
    )
    return found.merged(merged)


def _repeats_border(found: Reading) -> bool:
    """Say whether both in effect repeat the border."""
    conv, pad = found.conv.op, found.before.op
    assert isinstance(conv, Conv)
    assert isinstance(pad, Pad)
    own = simplest_mode(conv.pad_mode, *conv.pads)
    more = simplest_mode(pad.mode, *pad.before, *pad.after)
    return own == more == "edge"


FUSE = Rule("fuse pad", _match, _check, _rewrite)


def fuse_pads(graph: Graph, context: Context) -> Graph:
    """Merge paddings until none precedes a convolution that can take it."""
    return apply_rules(graph, context, FUSE)
