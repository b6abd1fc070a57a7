"""Data movement kernels, all from one template: an index map decides what each lane reads.

Where an index map keeps channels together, whole planes move; otherwise each of the four lanes is
found on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ir.expr import Expr, Num, Var, evaluate, fold, substitute, variables
from ...ir.graph import infer
from ...ir.indexing import add, idiv, mul
from ...ir.ops import Movement, parts
from ...ir.types import LANES
from ..glsl import integer, number
from ..shader import Shader
from .store import Group, finish, groups, stores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node
    from ...ir.indexing import Source
    from ...ir.target import Target
    from ..gpu import RenderPass

INT_NAMES = {"c": "c", "y": "y", "x": "x", "plane": "plane", "k": "k"}


def lower_gather(node: Node, target: Target) -> Iterator[RenderPass]:
    """Lower any Movement node."""
    for group in groups(node):
        yield _lower(node, group, target)


def _lower(node: Node, group: Group, target: Target) -> RenderPass:
    p = parts(node)
    assert isinstance(p.kernel, Movement)
    shader = Shader(target)
    types = [v.type for v in p.operands]
    gather = p.kernel.gather(*types)
    (y,) = infer(p.kernel, p.operands, node.name)
    channels = range(group.planes[0] * LANES, min((group.planes[-1] + 1) * LANES, y.nchw[1]))
    sources, total = _reachable(gather.sources, group.batch, channels)
    by_planes = all(s.plane_offset is not None and _aligned(s, y.nchw[1]) for s in sources)
    texts = [_source(shader, s, node, group, by_planes) for s in sources]
    if by_planes:
        loads = [f"gather({plane}, o.y, o.x)" for plane in group.planes]
        fill = f"vec4({number(gather.fill)})"
    else:
        loads = [_lanes(plane, y.nchw[1]) for plane in group.planes]
        fill = number(gather.fill)
    accumulators = [f"a{k}" for k in range(len(group.planes))]
    return finish(
        shader,
        node,
        group,
        "gather",
        "gather.frag.j2",
        f"{type(p.kernel).__name__} moves {'planes' if by_planes else 'lanes'}",
        stores(shader, node, group, accumulators),
        mode="planes" if by_planes else "lanes",
        sources=texts,
        total=total,
        fill=fill,
        loads=loads,
    )


def _reachable(
    sources: tuple[Source, ...], batch: int, channels: range
) -> tuple[list[Source], bool]:
    """Drop sources that no channel of this pass reads, and conditions that always hold.

    The second result tells whether the last source left is read unconditionally.
    """
    kept: list[Source] = []
    for source in sources:
        conditions = []
        never = False
        for condition in source.valid:
            condition = substitute(condition, {"n": Num(float(batch))})
            if set(variables(condition)) <= {"c"}:
                holds = [bool(evaluate(condition, {"c": c})) for c in channels]
                if not any(holds):
                    never = True
                if all(holds):
                    continue
            conditions.append(condition)
        if never:
            continue
        kept.append(type(source)(source.operand, source.index, tuple(conditions)))
        if not conditions:
            return kept, True
    return kept, False


def _aligned(source: Source, channels: int) -> bool:
    """Whether conditions on the channel change only between planes."""
    for condition in source.valid:
        if "c" not in variables(condition):
            continue
        if variables(condition) != ("c",):
            return False
        holds = np.asarray(evaluate(condition, {"c": np.arange(channels)})) != 0
        if any((np.flatnonzero(np.diff(holds)) + 1) % LANES):
            return False
    return True


def _source(
    shader: Shader, source: Source, node: Node, group: Group, by_planes: bool
) -> dict[str, str]:
    value = parts(node).operands[source.operand]
    bindings: dict[str, Expr] = {"n": Num(float(group.batch))}
    names = INT_NAMES if not by_planes else {**INT_NAMES, "c": f"plane * {LANES}"}
    n, c, y, x = (fold(substitute(e, bindings)) for e in source.index)
    batch = int(n.value) if isinstance(n, Num) else None
    texture = shader.texture(value, f"x{source.operand}", batch)
    position = f"ivec2({integer(x, names)}, {integer(y, names)})"
    planes = value.type.planes
    plane: Expr = add(Var("plane"), source.plane_offset or 0)
    if not by_planes:
        plane = idiv(Var("k"), LANES) if planes > 1 else Num(0.0)
    layer = integer(add(mul(n, planes), plane), names)
    fetch, channel = texture.fetch(position, layer), ""
    if not by_planes:
        channel = integer(c, names)
        fetch += f"[k % {LANES}]" if value.type.channels_per_texel > 1 else ".x"
    conditions = [integer(fold(substitute(v, bindings)), names) for v in source.valid]
    return {"condition": " && ".join(conditions), "channel": channel, "fetch": fetch}


def _lanes(plane: int, channels: int) -> str:
    used = min(LANES, channels - plane * LANES)
    calls = [f"gather({plane * LANES + k}, o.y, o.x)" for k in range(used)]
    return f"vec4({', '.join([*calls, *['0.0'] * (LANES - used)])})"
