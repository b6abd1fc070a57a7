"""Fuse a pixel shuffle into the convolution before it, as a scatter epilogue.

shuffle(conv(x)) = conv(x) with its channels stored at the positions of the shuffled pixels. A crop
of the shuffled map's borders, as in transposed convolutions, is fused too. A formula after the
shuffle that reads nothing else moves before it.

In the compute stage, where invocations may store anywhere, and only if one invocation computes all
channels of a texel. User shaders run draws in the compute stage: their render targets may be the
pixels of a map of one plane (``Target.dispatches_draws``). Refused if the convolution is read
elsewhere too, if its result lies in rows, or if Winograd tiles are asked for. Otherwise the faster
way is taken, as measured or else as predicted; ``--stage compute`` always fuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.expr import Var, substitute
from ..ir.graph import Constant, Node, Result
from ..ir.ops import DepthToSpace, Slice
from ..records import dataclass, replace
from .choose_kernels import why_not_fused
from .kernel_ops import IndexMapped, assemble, parts
from .kernel_ops.index_mapped import moved_type
from .placement.kinds import is_direct
from .rule import Rule, apply_rules

if TYPE_CHECKING:
    from ..ir.expr import Expr
    from ..ir.graph import Graph
    from ..ir.ops import Op
    from .kernel_ops.index_mapped import Chain
    from .placement.target import Target
    from .rule import Context, Site

MOST_SHUFFLED = 2  # a player's picture of three may have transparency, which passes by a draw


@dataclass(frozen=True, eq=False)
class _Store:
    """``node`` rearranges what ``conv`` computes."""

    node: Node
    conv: Node
    chain: Chain
    read_elsewhere: bool


def _match(site: Site) -> _Store | None:
    node = site.node
    chain = _chain(parts(node).kernel)
    value = node.inputs[0] if node.inputs else None
    if not chain or not isinstance(value, Result) or not is_direct(value.node):
        return None
    if parts(value.node).store or value.type.shape[1] == node.result.shape[1]:
        return None
    return _Store(node, value.node, chain, site.uses[0] > 1)


def _chain(op: Op) -> Chain:
    """Return a pixel shuffle and the slice that crops its borders, or ()."""
    if isinstance(op, DepthToSpace):
        return (op,)
    if isinstance(op, IndexMapped) and isinstance(op.kernel, Slice) and len(op.chains[0]) == 1:
        (shuffle,) = op.chains[0]
        if isinstance(shuffle, DepthToSpace) and set(op.kernel.steps) == {1}:
            return (shuffle, op.kernel)
    return ()


def _fused(found: _Store) -> Node:
    p, after = parts(found.conv), parts(found.node)
    epilogue = p.epilogue
    if after.epilogue is not None:
        names: dict[str, Expr] = {
            f"e{k}": Var(f"e{k + len(p.extras)}") for k in range(len(after.extras))
        }
        epilogue = substitute(after.epilogue, {"y": epilogue or Var("y"), **names})
        p = replace(p, extras=(*p.extras, *after.extras), dtype=after.dtype)
    layers = tuple(dict.fromkeys((*found.conv.layers, *found.node.layers)))
    fused = assemble(replace(p, epilogue=epilogue, store=found.chain), layers, found.conv.choice)
    return replace(fused, types=(found.node.result.type,))


def _check(found: _Store, context: Context) -> str:
    target = context.target
    if target.dispatches_draws:
        if why := _why_not_in_targets(found, target):
            return why
    elif not target.computes:
        return "a fragment shader can write only its own pixel"
    if found.read_elsewhere:
        return f"'{found.conv.name}' is read elsewhere too"
    if any(v.type.size > 1 or not isinstance(v, Constant) for v in parts(found.node).extras):
        return "the formula after the pixel shuffle reads other tensors"
    shuffled = moved_type(found.chain[:1], found.conv.result.type)
    if shuffled.shape[:2] != found.node.result.shape[:2]:
        return "channels are cut off"
    fused = _fused(found)
    if not is_direct(fused):
        return "the convolution's result is row-packed"
    if any(c.winograd for c in context.kernels.choices(found.conv)) and target.winograd != "auto":
        return f"--winograd {target.winograd} excludes it"
    forced = target.dispatches_draws or target.stage == "compute"
    return why_not_fused(fused, (found.conv, found.node), context, forced)


def _why_not_in_targets(found: _Store, target: Target) -> str:
    """Return why the pixels of a shuffled map cannot be the render targets of a draw."""
    if len(found.chain) > 1:
        return "its borders are cut off"
    if found.node.result.type.channels > MOST_SHUFFLED:
        return f"it has more than {MOST_SHUFFLED} channels"
    if found.conv.result.type.planes > target.limits.draw_buffers:
        return f"it takes more than {target.limits.draw_buffers} planes"
    return ""


STORE: Rule[_Store] = Rule(
    "fuse scatter epilogue", _match, _check, lambda found: _fused(found).result
)


def fuse_stores(graph: Graph, context: Context) -> Graph:
    """Fuse pixel shuffles into the stores of convolutions."""
    return apply_rules(graph, context, STORE)
