"""What all kernels share: operands, epilogue, stores, header."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Any

from ...ir.expr import Expr, Var, variables
from ...ir.graph import infer
from ...ir.indexing import broadcast_load
from ...ir.ops import WinogradPatches, parts
from ...ir.placement import computes_in_full, is_parameter, tensor_operands
from ...ir.size import is_one, is_open, same_shape
from ...ir.target import WORKGROUP
from ...ir.types import LANES
from ..glsl import function_text
from ..gpu import ComputePass, GpuPass, RenderPass, Uniform
from .dispatch import plan_dispatch
from .groups import own_uniforms, plus
from .image_stores import image_stores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...ir.graph import Node, Precision, Value
    from ..shader import Shader
    from .dispatch import Dispatch
    from .groups import Group

SWIZZLE = {1: "x", 2: "xy", 3: "xyz", 4: "xyzw"}


def precision(node: Node) -> Precision:
    """Return the precision that a node's shaders compute in: 16 bits if all textures have them."""
    if node.choice.precision != "mediump" or computes_in_full(node):
        return "highp"
    tensors = (node.result, *tensor_operands(node))
    wide = (v.type.layout is not None and v.type.layout.format.endswith("32f") for v in tensors)
    return "highp" if any(wide) else "mediump"


def operand(shader: Shader, value: Value, role: str, group: Group, k: int) -> str:
    """Return the vec4 of an operand at the position being written, broadcast as numpy does."""
    result = group.node.result.type
    if is_parameter(value, result):
        return shader.parameter(value, group.plane(k), group.number(k))
    if value.type.in_planes and result.in_planes:
        return _of_map(shader, value, role, group, k)
    rows = not value.type.in_planes and not result.in_planes
    alike = rows and same_shape(value.shape, result.shape)
    if alike and same_shape(value.type.extent, result.extent):
        return shader.texture(value, role).fetch("o", group.plane(k), everywhere=True)
    key = (role, value)
    if key not in shader.loads:
        reader = group.reader(shader)
        load = broadcast_load(0, value.shape, result.rank)
        shader.loads[key] = reader.declare(role, load, (value,), (role,))
    return shader.loads[key].call(group.at(k, shader))


def _of_map(shader: Shader, value: Value, role: str, group: Group, k: int) -> str:
    _, c, h, w = value.shape
    result = group.node.result.type
    texture = shader.texture(value, role, group.batch)
    x = "0" if is_one(w) and not is_one(result.shape[3]) else "o.x"
    y = "0" if is_one(h) and not is_one(result.shape[2]) else "o.y"
    position = "o" if (x, y) == ("o.x", "o.y") else f"ivec2({x}, {y})"
    plane = group.plane(k) if c > 1 and value.type.planes > 1 else 0
    layer = plus(plane, group.first_layer(value.type))
    text = texture.fetch(position, layer, everywhere=True)
    return f"{text}.xxxx" if c == 1 and result.shape[1] > 1 else text


def epilogue(
    shader: Shader,
    expr: Expr,
    own: Mapping[str, str],
    extras: tuple[Value, ...],
    group: Group,
    k: int,
    called: str = "epilogue",
) -> str:
    """Return ``expr`` at plane k of the pass: a call of a function, or the bare operand.

    ``own`` gives the text of variables the kernel computed; the others are operands of the node,
    named by a letter and their position in ``extras``.
    """
    names = variables(expr)
    values = {
        name: own[name] if name in own else operand(shader, extras[int(name[1:])], name, group, k)
        for name in names
    }
    if isinstance(expr, Var):
        return values[expr.name]
    if called not in shader.functions.texts:
        body = shader.functions.body(expr, {name: name for name in names})
        head = f"vec4 {called}({', '.join(f'vec4 {name}' for name in names)})"
        shader.functions.texts[called] = function_text(head, body)
    return f"{called}({', '.join(values[name] for name in names)})"


def stores(shader: Shader, node: Node, group: Group, accumulators: list[str]) -> list[str]:
    """Return what is written to each render target: the epilogue, unused lanes set to zero."""
    p = parts(node)
    t = node.result.type
    kernel_channels = infer(p.kernel, p.operands, node.name)[0].channels
    texts = []
    for k, accumulator in enumerate(accumulators):
        y = accumulator
        if t.in_planes and kernel_channels == 1 and t.channels > 1:
            y = f"{accumulator}.xxxx"
        if p.epilogue is not None:
            y = epilogue(shader, p.epilogue, {"y": y}, p.extras, group, k)
        texts.append(masked(shader, y, group, k))
    return texts


def masked(shader: Shader, text: str, group: Group, k: int) -> str:
    """Set the unused lanes of the last plane to zero; thin formats and rows need it not."""
    t = group.node.result.type
    last = (
        group.planes[k] == group.planes[-1] if group.in_compute else group.planes[k] + 1 == t.planes
    )
    used = t.channels - (t.planes - 1) * LANES
    if not last or used == LANES or t.channels_per_texel < LANES or not t.in_planes:
        return text
    zeros = ", ".join(["0.0"] * (LANES - used))
    if not group.in_compute or len(group.planes) == t.planes:
        whole = text if text.isidentifier() else f"({text})"
        return f"vec4({whole}.{SWIZZLE[used]}, {zeros})"
    last_plane = shader.size("planes", t.planes)
    y = f"plane < {last_plane} - 1 ? y : vec4(y.{SWIZZLE[used]}, {zeros})"
    shader.functions.texts["masked"] = f"vec4 masked(vec4 y, int plane) {{ return {y}; }}"
    return f"masked({text}, {group.plane(k)})"


def header(group: Group, what: str, macs: int) -> list[str]:
    """Return the comment lines at the top of a shader: layers, shapes, cost."""
    node = group.written
    t = node.result.type
    lines = [shorten(f"{', '.join(node.layers)}: {what}", 400, placeholder=" ...")]
    seen: set[int] = set()
    for v in node.inputs:
        if v.type.layout is not None and id(v) not in seen:
            seen.add(id(v))
            lines.append(f"reads  {v.name}: {v.type}, {v.type.layout.format} {v.type.layout.kind}")
    assert t.layout is not None
    what = f"writes {node.name}: {t}, {t.layout.format} {t.layout.kind}"
    if t.in_planes:
        batch = f", batch {group.batch}" if t.shape[0] > 1 and not group.entries else ""
        lines.append(f"{what}, {group.named} of {t.planes}{batch}")
    else:
        layer = f", layer {group.planes[0]} of {t.layers}" if t.layers > 1 else ""
        lines.append(f"{what} of {t.extent[1]}x{t.extent[0]} texels, in rows{layer}")
    if is_open(macs) or macs:
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
    accumulators: int = 0,
    macs: int = 0,
    weights: str = "none",
    **context: Any,
) -> GpuPass:
    """Render the template and return the GPU pass.

    Args:
        shader: as far as the kernel needs it.
        node: what is lowered.
        group: what an invocation writes.
        kernel: its name.
        template: its template.
        what: for people.
        stores: what is written for each plane, see :func:`stores`.
        accumulators: how many, ``a0`` and so on, they are expressions of.
        macs: multiply-adds of the pass.
        weights: where they are.
        context: of the template.
    """
    p = parts(node)
    after = [str(e) for e in (p.epilogue,) if e is not None]
    after += [f"stored as {type(m).__name__}" for m in parts(group.written).store]
    before = [str(e) for e in (p.prologue,) if e is not None]
    what = what + "".join(f", loads {e}" for e in before) + "".join(f", then {e}" for e in after)
    dispatch = None
    if group.in_compute:
        dispatch = plan_dispatch(node, len(group.planes), shader.target)
        context |= _compute(shader, group, dispatch, accumulators, stores)
    source = shader.render(
        template,
        node.name,
        header(group, what, macs),
        stores=stores,
        prelude=group.prelude,
        shared=group.shared,
        entries=group.entries,
        **context,
    )
    common: dict[str, Any] = {
        "node": group.written,
        "kernel": kernel,
        "source": source,
        "reads": tuple(shader.reads),
        "blocks": tuple(shader.blocks),
        "layers": group.layers,
        "weights": weights,
        "macs": macs,
    }
    sizes = tuple(Uniform(f"u_{name}", value) for name, value in shader.sizes.items())
    own = own_uniforms(group)
    if dispatch is None:
        return RenderPass(**common, uniforms=own + sizes)
    return ComputePass(
        **common,
        uniforms=own + sizes,
        workgroup=(WORKGROUP, 1),
        groups=dispatch.groups,
    )


def _compute(
    shader: Shader, group: Group, dispatch: Dispatch, accumulators: int, stores: list[str]
) -> dict[str, object]:
    """Return the template's context for ``main`` and ``store`` of a compute pass."""
    t, written = group.node.result.type, group.written.result.type
    assert written.layout is not None
    columns, rows = group.node.choice.block
    names = [f"a{k}" for k in range(accumulators)]
    width, height = t.extent[:2]
    beyond = []  # blocks at the border
    if columns > 1:
        beyond.append(f"o.x >= {shader.size('width', width)}")
    if rows > 1 and not isinstance(parts(group.node).kernel, WinogradPatches):  # whole patches
        beyond.append(f"o.y >= {shader.size('height', height)}")
    calls = []
    for i, j, suffix in group.pixels:
        at = f"o + ivec2({i}, {j})" if i or j else "o"
        calls.append(f"store({', '.join([at, 'plane', *(n + suffix for n in names)])});")
    return {
        "across": shader.size("across", dispatch.across),
        "down": shader.size("down", dispatch.down),
        "workgroup": WORKGROUP,
        "span": shader.size("span", dispatch.span),
        "scale": "" if (columns, rows) == (1, 1) else f" * ivec2({columns}, {rows})",
        "planes": shader.size("planes", t.planes),
        "outside_map": " || ".join(beyond),
        "parameters": ["ivec2 o", "int plane", *(f"vec4 {n}" for n in names)],
        "planes_each": len(group.planes),
        "image_stores": image_stores(shader, group, stores),
        "calls_of_store": calls,
        "result_format": written.layout.format,
        "result_kind": "image2DArray" if written.layout.kind == "array" else "image2D",
    }
