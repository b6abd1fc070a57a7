"""What all kernels share: which planes a GPU pass writes, epilogue, stores, header."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING

from ...ir.expr import Expr, Var, variables
from ...ir.graph import infer
from ...ir.ops import parts
from ...ir.placement import is_parameter
from ...ir.types import LANES
from ..glsl import function_text
from ..gpu import RenderPass
from ..shader import Shader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...ir.graph import Node, Value

SWIZZLE = {1: "x", 2: "xy", 3: "xyz", 4: "xyzw"}


@dataclass(frozen=True)
class Group:
    """The output planes of one GPU pass: consecutive planes of one batch entry."""

    batch: int
    planes: range
    index: int
    count: int

    def layers(self, node: Node) -> tuple[int, ...]:
        return tuple(self.batch * node.result.type.planes + p for p in self.planes)


def groups(node: Node) -> Iterator[Group]:
    """Yield the passes of a node in order."""
    t = node.result.type
    size = node.choice.planes_per_pass or 1
    starts = [(n, p) for n in range(t.nchw[0]) for p in range(0, t.planes, size)]
    for index, (n, p) in enumerate(starts):
        yield Group(n, range(p, min(p + size, t.planes)), index, len(starts))


def operand(shader: Shader, value: Value, role: str, node: Node, group: Group, plane: int) -> str:
    """Return the vec4 of an operand at the pixel being written, broadcast as numpy does."""
    if is_parameter(value):
        return shader.parameter(value, plane)
    result = node.result.type
    n, c, h, w = value.type.nchw
    batch = group.batch if n > 1 else 0
    texture = shader.texture(value, role, batch)
    x = "o.x" if w > 1 or result.nchw[3] == 1 else "0"
    y = "o.y" if h > 1 or result.nchw[2] == 1 else "0"
    position = "o" if (x, y) == ("o.x", "o.y") else f"ivec2({x}, {y})"
    layer = batch * value.type.planes + (plane if c > 1 else 0)
    text = texture.fetch(position, layer)
    return f"{text}.xxxx" if c == 1 and result.nchw[1] > 1 else text


def epilogue(
    shader: Shader,
    expr: Expr,
    own: Mapping[str, str],
    extras: tuple[Value, ...],
    node: Node,
    group: Group,
    plane: int,
) -> str:
    """Return ``expr`` at a plane: a call of ``epilogue()``, or the bare operand.

    ``own`` gives the text of variables the kernel computed; the others are operands of the node,
    named by a letter and their position in ``extras``.
    """
    names = variables(expr)
    values = {
        name: own[name]
        if name in own
        else operand(shader, extras[int(name[1:])], name, node, group, plane)
        for name in names
    }
    if isinstance(expr, Var):
        return values[expr.name]
    if "epilogue" not in shader.functions.texts:
        body = shader.functions.body(expr, {name: name for name in names})
        head = f"vec4 epilogue({', '.join(f'vec4 {name}' for name in names)})"
        shader.functions.texts["epilogue"] = function_text(head, body)
    return f"epilogue({', '.join(values[name] for name in names)})"


def stores(shader: Shader, node: Node, group: Group, accumulators: list[str]) -> list[str]:
    """Return what is written to each render target: the epilogue, unused lanes set to zero."""
    p = parts(node)
    t = node.result.type
    kernel_channels = infer(p.kernel, p.operands, node.name)[0].nchw[1]
    texts = []
    for plane, accumulator in zip(group.planes, accumulators, strict=True):
        y = accumulator
        if kernel_channels == 1 and t.nchw[1] > 1:
            y = f"{accumulator}.xxxx"
        if p.epilogue is not None:
            y = epilogue(shader, p.epilogue, {"y": y}, p.extras, node, group, plane)
        texts.append(masked(y, node, plane))
    return texts


def masked(text: str, node: Node, plane: int) -> str:
    """Set the unused lanes of the last plane to zero; thin formats have none."""
    t = node.result.type
    used = min(LANES, t.nchw[1] - plane * LANES)
    if used == LANES or t.channels_per_texel < LANES:
        return text
    zeros = ", ".join(["0.0"] * (LANES - used))
    return f"vec4(({text}).{SWIZZLE[used]}, {zeros})"


def header(node: Node, group: Group, what: str, macs: int) -> list[str]:
    """Return the comment lines at the top of a shader: layers, shapes, cost."""
    t = node.result.type
    lines = [shorten(f"{', '.join(node.layers)}: {what}", 400, placeholder=" ...")]
    seen: set[int] = set()
    for v in node.inputs:
        if v.type.layout is not None and id(v) not in seen:
            seen.add(id(v))
            lines.append(f"reads  {v.name}: {v.type}, {v.type.layout.format} {v.type.layout.kind}")
    assert t.layout is not None
    first, last = group.planes[0], group.planes[-1]
    planes = f"plane {first}" if first == last else f"planes {first} to {last}"
    batch = f", batch {group.batch}" if t.nchw[0] > 1 else ""
    lines.append(
        f"writes {node.name}: {t}, {t.layout.format} {t.layout.kind}, {planes} of {t.planes}{batch}"
    )
    if macs:
        lines.append(f"cost   {macs} multiply-adds")
    return lines


def finish(
    shader: Shader,
    node: Node,
    group: Group,
    kernel: str,
    template: str,
    what: str,
    stores: list[str],
    macs: int = 0,
    weights: str = "none",
    **context: object,
) -> RenderPass:
    """Render the template and return the GPU pass."""
    p = parts(node)
    after = [str(e) for e in (p.epilogue,) if e is not None]
    before = [str(e) for e in (p.prologue,) if e is not None]
    what = what + "".join(f", loads {e}" for e in before) + "".join(f", then {e}" for e in after)
    source = shader.render(
        template, node.name, header(node, group, what, macs), stores=stores, **context
    )
    return RenderPass(
        node=node,
        kernel=kernel,
        source=source,
        reads=tuple(shader.reads),
        blocks=tuple(shader.blocks),
        layers=group.layers(node),
        weights=weights,
        macs=macs,
    )
