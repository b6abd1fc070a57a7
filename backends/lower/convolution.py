"""Convolution in the fragment stage: one invocation is one output pixel of several planes.

Weights are columns, four output channels each: ``a += column * v.x`` for every input channel, or
``a += mat4(columns) * v`` where an input plane is full. Small layers unroll them as constants;
larger ones loop over ``weight(i)``, rows ordered by tap, input plane, output plane, column.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InternalError
from ...ir.expr import Var, variables
from ...ir.graph import Constant
from ...ir.indexing import border
from ...ir.ops import Conv, parts
from ...ir.placement import input_planes, is_depthwise
from ...ir.types import LANES
from ..glsl import function_text, integer, number, vec4
from ..gpu import Blob
from ..shader import Shader
from .store import Group, finish, groups, precision, stores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node, Value
    from ...ir.ops import Parts
    from ...ir.target import Target
    from ..gpu import RenderPass

LANE = "xyzw"


@dataclass(frozen=True)
class Tiles:
    """How a pass's weights are cut into tiles of one tap, one input plane and one output plane.

    Attributes:
        first: for each output plane of the pass, the first input plane it reads.
        shape: taps, input planes, output planes, columns, 4 output lanes.
        diagonal: depthwise: the only column multiplies lane by lane.
    """

    first: tuple[int, ...]
    shape: tuple[int, int, int, int, int]
    diagonal: bool


def plan_tiles(shape: tuple[int, ...], groups: int, planes: range) -> Tiles:
    """Plan the tiles that some output planes need of weights of ``shape``, OIHW."""
    _, per_group, kh, kw = shape
    taps, width = kh * kw, min(LANES, per_group * groups)
    if is_depthwise(shape, groups):
        return Tiles(tuple(planes), (taps, 1, len(planes), 1, LANES), True)
    planes_in = -(-per_group * groups // LANES)
    if groups == 1:
        first, blocks = (0,) * len(planes), planes_in
    else:
        reads = [input_planes(shape, groups, plane) for plane in planes]
        blocks = max(map(len, reads))
        first = tuple(min(r.start, planes_in - blocks) for r in reads)  # no tile past the end
    return Tiles(first, (taps, blocks, len(planes), width, LANES), False)


def cut_weights(w: np.ndarray, groups: int, planes: range) -> np.ndarray:
    """Cut weights (OIHW, I for each group) into the planned tiles."""
    tiles = plan_tiles(w.shape, groups, planes)
    o, per_group, kh, kw = w.shape
    taps = np.moveaxis(w.reshape(o, per_group, kh * kw), 2, 0)  # tap, o, i
    if groups == 1:
        return _cut_dense(taps, planes)
    columns = np.zeros(tiles.shape, np.float32)
    out_per_group = o // groups
    for k, plane in enumerate(planes):
        channels = slice(plane * LANES, min((plane + 1) * LANES, o))
        if tiles.diagonal:
            columns[:, 0, k, 0, : channels.stop - channels.start] = taps[:, channels, 0]
            continue
        for lane, out in enumerate(range(channels.start, channels.stop)):
            start = out // out_per_group * per_group - tiles.first[k] * LANES
            for i in range(per_group):
                block, column = divmod(start + i, LANES)
                columns[:, block, k, column, lane] = taps[:, out, i]
    return columns


def _cut_dense(taps: np.ndarray, planes: range) -> np.ndarray:
    """Cut the weights of an ungrouped convolution, (tap, o, i), into tiles: padding and views."""
    count, o, i = taps.shape
    width = min(LANES, i)
    blocks = -(-i // width)
    some = taps[:, planes[0] * LANES : min((planes[-1] + 1) * LANES, o)]
    padded = np.zeros((count, len(planes) * LANES, blocks * width), np.float32)
    padded[:, : some.shape[1], :i] = some
    tiles = padded.reshape(count, len(planes), LANES, blocks, width)
    return np.ascontiguousarray(tiles.transpose(0, 3, 1, 4, 2))


def lower_convolution(node: Node, target: Target) -> Iterator[RenderPass]:
    """Lower a Conv node, fused or not."""
    p = parts(node)
    if not all(isinstance(v, Constant) for v in p.operands[1:]):
        raise InternalError(f"{node.name}: weights that are not constant reached the backend")
    for group in groups(node):
        yield _lower(node, p, group, target)


def _lower(node: Node, p: Parts, group: Group, target: Target) -> RenderPass:
    conv = p.kernel
    assert isinstance(conv, Conv)
    x, w, *bias = p.operands
    assert isinstance(w, Constant)
    shader = Shader(target, precision(node))
    tiles = plan_tiles(w.shape, conv.groups, group.planes)
    o, per_group, kh, kw = w.shape
    channels = min((group.planes[-1] + 1) * LANES, o) - group.planes[0] * LANES
    _, _, height, width = node.result.shape
    macs = channels * per_group * kh * kw * height * width
    storage = node.choice.weights
    context: dict[str, object] = {}
    if storage == "constants":
        columns = cut_weights(w.data, conv.groups, group.planes)
        context["taps"] = list(_unrolled(conv, tiles, columns, kw))
    elif storage is not None:
        data, planes = w.data, group.planes
        blob = Blob(
            f"{node.name}.weights",
            prod(tiles.shape[:4]),
            lambda: cut_weights(data, conv.groups, planes).reshape(-1, LANES),
            half=shader.precision == "mediump",
        )
        shader.weights(blob, storage)
        context |= {
            "kernel_size": (kh, kw),
            "step": tuple(
                name if d == 1 else f"{name} * {d}"
                for name, d in zip(("ky", "kx"), conv.dilations, strict=True)
            ),
            "blocks_in": tiles.shape[1],
            "body": _looped(tiles, group),
        }
    else:
        raise InternalError(f"{node.name}: no weight storage was chosen")
    starts = _starts(bias, group, shader)
    accumulators = [f"a{k}" for k in range(len(group.planes))]
    kind = f"convolution {kh}x{kw}, {x.shape[1]} to {o} channels"
    if conv.groups > 1:
        kind += f" in {conv.groups} groups"
    return finish(
        shader,
        node,
        group,
        "convolution",
        "conv.frag.j2",
        kind,
        stores(shader, node, group, accumulators),
        macs=macs,
        weights=storage,
        storage=storage,
        corner=_corner(conv),
        starts=starts,
        **_loader(shader, conv, p, x, group),
        **context,
    )


def _starts(bias: list[Value], group: Group, shader: Shader) -> list[str]:
    """Return the accumulators' first values: the bias."""
    if not bias:
        return ["vec4(0.0)"] * len(group.planes)
    return [
        shader.channel_vector(bias[0], group.plane(k), number)
        for k, number in enumerate(group.planes)
    ]


def _corner(conv: Conv) -> str:
    top, left = conv.pads[:2]
    text = "o"
    if conv.strides != (1, 1):
        text = f"o * ivec2({conv.strides[1]}, {conv.strides[0]})"
    return text if (top, left) == (0, 0) else f"{text} - ivec2({left}, {top})"


def _loader(shader: Shader, conv: Conv, p: Parts, x: Value, group: Group) -> dict[str, object]:
    """Return the template's context for ``load_x``: borders, prologue, guard."""
    n, _, height, width = x.shape
    top, left, bottom, right = conv.pads
    batch = group.batch if n > 1 else 0
    texture = shader.texture(x, "x", batch)
    base = batch * x.type.planes
    layer: int | str = f"plane + {base}" if base else "plane"
    if x.type.layers == 1:
        layer = 0
    px, py = Var("px"), Var("py")
    names = {"px": "p.x", "py": "p.y"}
    outside, remap = "", ""
    if any(conv.pads) and conv.pad_mode == "constant":
        tests = [
            text
            for text, needed in (
                ("p.x < 0", left),
                ("p.y < 0", top),
                (f"p.x >= {width}", right),
                (f"p.y >= {height}", bottom),
            )
            if needed
        ]
        outside = " || ".join(tests)
    elif any(conv.pads):
        columns = integer(border(conv.pad_mode, px, width, left, right), names)
        rows = integer(border(conv.pad_mode, py, height, top, bottom), names)
        remap = f"ivec2({columns}, {rows})"
    prologue = ""
    if p.prologue is not None:
        used = variables(p.prologue)
        body = shader.functions.body(p.prologue, {name: name for name in used})
        head = f"vec4 prologue({', '.join(f'vec4 {name}' for name in used)})"
        shader.functions.texts["prologue"] = function_text(head, body)
        arguments = [
            "v" if name == "x" else shader.parameter(p.extras[int(name[1:])], "plane")
            for name in used
        ]
        prologue = f"prologue({', '.join(arguments)})"
    pad = conv.pad_value
    if conv.zero_guard and pad == 0.0:
        pad = conv.zero_guard
    return {
        "outside": outside,
        "pad": f"vec4({number(pad)})",
        "remap": remap,
        "fetch": texture.fetch("p", layer),
        "prologue": prologue,
        "guard": conv.zero_guard,
    }


def _unrolled(conv: Conv, tiles: Tiles, cut: np.ndarray, kw: int) -> Iterator[dict[str, object]]:
    """Yield one load with the lines that use it, for every tap and input plane that matters."""
    dy, dx = conv.dilations
    for tap, per_tap in enumerate(cut):
        ky, kx = divmod(tap, kw)
        position = "corner" if tap == 0 else f"corner + ivec2({kx * dx}, {ky * dy})"
        readers: dict[int, list[str]] = {}
        for block, per_block in enumerate(per_tap):
            for k, columns in enumerate(per_block):
                if columns.any():
                    plane = tiles.first[k] + block
                    readers.setdefault(plane, []).extend(_accumulate(k, columns, tiles.diagonal))
        for plane, lines in sorted(readers.items()):
            yield {
                "title": f"tap ({ky}, {kx}), input plane {plane}",
                "position": position,
                "plane": plane,
                "lines": lines,
            }


def _accumulate(k: int, columns: np.ndarray, diagonal: bool) -> list[str]:
    """Return the statements that add one tile times ``v`` to accumulator k."""
    if diagonal:
        return [f"a{k} += {vec4(columns[0])} * v;"]
    if len(columns) == LANES and all(c.any() for c in columns):
        texts = [vec4(c) for c in columns]
        rows = [f"    {t}{',' if i < LANES - 1 else ''}" for i, t in enumerate(texts)]
        return [f"a{k} += mat4(", *rows, ") * v;"]
    return [f"a{k} += {vec4(c)} * v.{LANE[i]};" for i, c in enumerate(columns) if c.any()]


def _looped(tiles: Tiles, group: Group) -> list[str]:
    """Return the statements of the innermost loop, which advance ``k`` over the rows."""
    _, _, planes, width, _ = tiles.shape
    shared = len(set(tiles.first)) == 1
    lines = []
    for k in range(planes):
        if not shared or k == 0:
            start = group.plane(k) if tiles.diagonal else tiles.first[k]
            declare = "vec4 v" if k == 0 else "v"
            lines.append(f"{declare} = load_x(p, {f'i + {start}' if start else 'i'});")
        at = k * width
        rows = [f"weight({f'k + {at + i}' if at + i else 'k'})" for i in range(width)]
        if tiles.diagonal:
            lines.append(f"a{k} += {rows[0]} * v;")
        elif width == LANES:
            lines.append(f"a{k} += mat4({', '.join(rows)}) * v;")
        else:
            terms = " + ".join(f"{row} * v.{LANE[i]}" for i, row in enumerate(rows))
            lines.append(f"a{k} += {terms};")
    lines.append(f"k += {planes * width};")
    return lines
