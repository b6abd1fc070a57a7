"""Convolution: an invocation is a block of output pixels of several planes.

Weights are columns, four output channels each: ``a += column * v.x`` for every input channel, or
``a += mat4(columns) * v`` where an input plane is full. Small layers unroll them as constants;
larger ones loop over ``weight(i)``, rows in the order of :mod:`.tiles`. Where an invocation has
neighbours in a row, the taps of a row are unrolled and share what they load.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InternalError
from ...ir.expr import Var, variables
from ...ir.graph import Constant
from ...ir.indexing import border
from ...ir.ops import Conv, WinogradProducts, parts
from ...ir.ops.window import may_pad
from ...ir.placement import unrolls_rows
from ...ir.types import LANES, fits_half, fits_int8
from ..glsl import function_text, integer, number, vec4
from ..gpu import Blob
from ..shader import Shader
from .groups import Group, groups, lower_groups, plus
from .loads import LANE
from .store import finish, precision, stores
from .tiles import Tiles, cut_weights, plan_tiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...ir.graph import Node, Precision, Value
    from ...ir.ops import Parts
    from ...ir.ops.window import Sizes
    from ...ir.target import Target
    from ...ir.types import TextureFormat
    from ..gpu import GpuPass


def lower_convolution(node: Node, target: Target) -> Iterator[GpuPass]:
    """Lower a Conv node, fused or not."""
    p = parts(node)
    if not all(isinstance(v, Constant) for v in p.operands[1:]):
        raise InternalError(f"{node.name}: weights that are not constant reached the backend")
    yield from lower_groups(
        groups(node), lambda group: _lower(group.node, p, group, target), weights=True
    )


def _lower(node: Node, p: Parts, group: Group, target: Target) -> GpuPass:
    conv = p.kernel
    assert isinstance(conv, Conv)
    x, w, *bias = p.operands
    assert isinstance(w, Constant)
    shader = Shader(target, precision(node), node.choice.stage or "fragment")
    shape = conv.held_shape(w.shape)
    tiles = plan_tiles(shape, conv.groups, group.planes)
    o, per_group, *kernel = shape
    kh, kw = (1, 1) if conv.positions > 1 else kernel
    _, _, height, width = node.result.shape
    macs = group.channels * per_group * kh * kw * height * width
    storage = node.choice.weights
    context: dict[str, Any] = {}
    if storage == "constants":
        columns = cut_weights(w.data, conv.groups, group.planes)
        context["taps"] = list(_unrolled(conv, tiles, columns, kw))
    elif storage is not None:
        blob = Blob(
            f"{node.name}.weights",
            prod(tiles.shape[:4]) * len(group.covered) // len(group.planes),
            lambda: rows_of(conv.held(w.data), conv.groups, group),
            weight_format(w.data, target, shader.precision),
        )
        shader.weights(blob, storage, tiles.full)
        context |= loops(shader, conv, tiles, group, kernel)
    else:
        raise InternalError(f"{node.name}: no weight storage was chosen")
    starts = first_sums(bias, conv, group, shader)
    names = [f"a{k}" for k in range(len(group.planes))]
    kind = f"convolution {kh}x{kw}, {x.shape[1]} to {o} channels"
    if isinstance(conv, WinogradProducts):
        kind += f", of Winograd's patches for tiles of {conv.tile}x{conv.tile}"
    if conv.groups > 1:
        kind += f" in {conv.groups} groups"
    return finish(
        shader,
        node,
        group,
        "convolution",
        "conv.glsl.j2",
        kind,
        stores(shader, node, group, names),
        accumulators=len(names),
        macs=macs,
        weights=storage,
        storage=storage,
        corner=corner(shader, conv),
        starts=[
            ([name + end for *_, end in group.pixels], start)
            for name, start in zip(names, starts, strict=True)
        ],
        **loader(shader, conv, p, x, group),
        **context,
    )


def loops(
    shader: Shader, conv: Conv, tiles: Tiles, group: Group, kernel: list[int], sums: str = "a"
) -> dict[str, Any]:
    """Return the context of ``conv_loops.glsl.j2``.

    Args:
        shader: where sizes are declared.
        conv: the convolution.
        tiles: of the planes of an invocation.
        group: what an invocation computes.
        kernel: height and width of the weights that are held.
        sums: what the names of accumulators begin with.
    """
    taps, rows = prod(kernel), prod(tiles.shape[:4])
    kh, kw = (1, 1) if conv.positions > 1 else kernel
    unrolled = kw if unrolls_rows(conv, kw, group.node.choice.block[0]) else 1
    blocks = "1" if tiles.diagonal else shader.size("planes_in", tiles.shape[1])
    per_tap = shader.size("tap_rows", rows // taps)
    return {
        "kernel_size": (kh, kw),
        "step": tuple(
            name if d == 1 else f"{name} * {d}"
            for name, d in zip(("ky", "kx"), conv.dilations, strict=True)
        ),
        "first_row": _first_row(group, taps, per_tap, conv.positions),
        "blocks_in": blocks,
        "skip": f"{unrolled - 1} * {per_tap}" if unrolled > 1 else "",  # other taps of a row
        "body": _looped(tiles, conv, group, unrolled, per_tap, sums),
    }


def weight_format(data: np.ndarray, target: Target, precision: Precision) -> TextureFormat:
    """Return the format of a texture of weights."""
    if target.weight_format == "int8" and fits_int8(data):
        return "rgba8"
    narrow = target.weight_format == "float16" and fits_half(data, axis=0)
    return "rgba16f" if narrow or precision == "mediump" else "rgba32f"


def first_sums(bias: list[Value], conv: Conv, group: Group, shader: Shader) -> list[str]:
    """Return the accumulators' first values: the bias, of Winograd's products at one position."""
    if not bias:
        return ["vec4(0.0)"] * len(group.planes)
    vectors = [
        shader.channel_vector(bias[0], group.plane(k), number)
        for k, number in enumerate(map(group.number, range(len(group.planes))))
    ]
    if not isinstance(conv, WinogradProducts):
        return vectors
    return [f"o.y % {conv.positions} == {conv.biased} ? {v} : vec4(0.0)" for v in vectors]


def _first_row(group: Group, taps: int, per_tap: str, positions: int) -> str:
    """Return the first row of an invocation's weights, of ``taps`` for each plane."""
    if not group.in_compute:
        return "0"
    first = "plane" if len(group.planes) == 1 else f"plane / {len(group.planes)}"
    if positions > 1:
        return f"({first} * {taps} + o.y % {positions}) * {per_tap}"
    return f"{first} * {taps} * {per_tap}"


def rows_of(data: np.ndarray, groups: int, group: Group) -> np.ndarray:
    """Return the rows of the weights that a GPU pass loops over, for its planes in turn."""
    size = len(group.planes)
    starts = range(group.covered[0], group.covered[-1] + 1, size)
    cut = [cut_weights(data, groups, range(p, p + size)) for p in starts]
    return np.concatenate([c.reshape(-1, LANES) for c in cut])


def corner(shader: Shader, conv: Conv) -> str:
    """Return the ivec2 of the first tap of the pixel ``o``."""
    text = "o"
    if conv.strides != (1, 1):
        text = f"o * ivec2({conv.strides[1]}, {conv.strides[0]})"
    return text + less_padding(shader, conv.pads)


def less_padding(shader: Shader, pads: Sizes) -> str:
    """Return what takes the padding off a position in the padded map."""
    top, left = pads[:2]
    if not may_pad((top, left)):
        return ""
    return f" - ivec2({shader.number(left)}, {shader.number(top)})"


def _in_original(conv: Conv) -> str:
    """Return where the element ``p`` of an enlarged map lies in the map; a shift rounds down."""
    down, across = conv.enlarged
    if (down, across) == (1, 1):
        return ""
    if down & (down - 1) or across & (across - 1):
        return f"p / ivec2({across}, {down})"
    return f"p >> ivec2({across.bit_length() - 1}, {down.bit_length() - 1})"


def loader(shader: Shader, conv: Conv, p: Parts, x: Value, group: Group) -> dict[str, Any]:
    """Return the context of ``load_x.glsl.j2``: borders, prologue, guard."""
    _, _, height, width = conv.seen(x.type).shape
    top, left, bottom, right = conv.pads
    texture = shader.texture(x, "x", group.batch)
    layer = plus("plane", group.first_layer(x.type)) if x.type.layers > 1 else 0
    px, py = Var("px"), Var("py")
    names = {"px": "p.x", "py": "p.y"}
    pad = conv.pad_value
    if conv.zero_guard and pad == 0.0:
        pad = conv.zero_guard
    zeros = pad == 0.0 and p.prologue is None and texture.is_zero_outside(shader.target)
    position = _in_original(conv)
    zeros = zeros and "/" not in position  # -1 / 3 is 0
    last, remap = "", ""
    if may_pad(conv.pads) and conv.pad_mode == "constant":
        # choosing between two values is cheaper than a branch where invocations are SIMD lanes
        if not zeros:
            size = shader.size("width_in", width), shader.size("height_in", height)
            last = f"ivec2({', '.join(size)}) - 1"
    elif may_pad(conv.pads):
        column = border(conv.pad_mode, px, width, left, right)
        row = border(conv.pad_mode, py, height, top, bottom)
        columns = integer(column, names | shader.names_of(column))
        rows = integer(row, names | shader.names_of(row))
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
    centre = texture.centre("p") if last and texture.sampled and not position else ""
    return {
        "position": position,
        "last": last,
        "pad": f"vec4({number(pad)})",
        "remap": remap,
        "clamped": not texture.sampled,  # a sampler clamps
        "centre": centre,
        "fetch": texture.fetch("p", layer, everywhere=True, centre="at" if centre else ""),
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
                    lines = accumulate(f"a{k}", columns, "v", tiles.diagonal)
                    readers.setdefault(plane, []).extend(lines)
        for plane, lines in sorted(readers.items()):
            yield {
                "title": f"tap ({ky}, {kx}), input plane {plane}",
                "position": position,
                "plane": plane,
                "lines": lines,
            }


def accumulate(total: str, columns: np.ndarray, v: str, diagonal: bool = False) -> list[str]:
    """Return the statements that add one tile of weights times a vector to a sum."""
    if diagonal:
        return [f"{total} += {vec4(columns[0])} * {v};"]
    if len(columns) == LANES and all(c.any() for c in columns):
        texts = [vec4(c) for c in columns]
        rows = [f"    {t}{',' if i < LANES - 1 else ''}" for i, t in enumerate(texts)]
        return [f"{total} += mat4(", *rows, f") * {v};"]
    return [f"{total} += {vec4(c)} * {v}.{LANE[i]};" for i, c in enumerate(columns) if c.any()]


def _looped(
    tiles: Tiles, conv: Conv, group: Group, taps: int, per_tap: str, sums: str
) -> list[str]:
    """Return the statements of the innermost loop, which advance ``k`` over the rows.

    Args:
        tiles: of the planes of an invocation.
        conv: the convolution.
        group: what an invocation writes.
        taps: how many taps of a row are unrolled: 1 or all.
        per_tap: how many rows of weights a tap has.
        sums: what the names of accumulators begin with.
    """
    _, _, planes, width, _ = tiles.shape
    shared = len(set(tiles.first)) == 1
    lines: list[str] = []
    loaded: set[str] = set()

    def load(name: str, i: int, j: int, plane: int | str) -> Iterator[str]:
        """Yield the load of the pixel (i, j) away from ``p``."""
        declare = "" if name in loaded else "vec4 "
        loaded.add(name)
        at = f"p + ivec2({i}, {j})" if i or j else "p"
        yield f"{declare}{name} = load_x({at}, {f'i + {plane}' if plane else 'i'});"

    stride_x, stride_y = conv.strides[1], conv.strides[0]
    step = conv.dilations[1]
    block_in = planes * width  # rows of one tap and input plane
    for plane in range(1 if shared else planes):
        start = group.plane(plane) if tiles.diagonal else tiles.first[plane]
        names: dict[tuple[int, int], str] = {}
        for tap in range(taps):
            for i, j, _ in group.pixels:
                place = (i * stride_x + tap * step, j * stride_y)
                if place not in names:
                    alone = len(group.pixels) * taps == 1
                    names[place] = "v" if alone else f"v_{place[0]}_{place[1]}"
                    lines += load(names[place], *place, start)
        for tap in range(taps):
            for k in range(planes) if shared else (plane,):
                row = ("k", f"k + {per_tap}", f"k + {tap} * {per_tap}")[min(tap, 2)]
                row += f" + {k * width}" if k else ""
                pixels = [
                    (f"{sums}{k}{end}", names[i * stride_x + tap * step, j * stride_y])
                    for i, j, end in group.pixels
                ]
                lines += multiply(row, width, pixels, tiles.diagonal)
    lines.append(f"k += {block_in};")
    return lines


def multiply(row: str, width: int, pixels: list[tuple[str, str]], diagonal: bool) -> Iterator[str]:
    """Yield the statements that add one tile times a loaded vector to each accumulator.

    Args:
        row: the tile's first row of weights.
        width: its rows.
        pixels: accumulators and the vectors they take.
        diagonal: depthwise: its only row multiplies lane by lane.
    """
    rows = [f"weight({row}{f' + {n}' if n else ''})" for n in range(width)]
    full = width == LANES
    if len(pixels) == 1:
        ((a, v),) = pixels
        if diagonal:
            yield f"{a} += {rows[0]} * {v};"
        else:
            yield f"{a} += {f'tile({row}) * {v}' if full else _columns(rows, v)};"
        return
    yield "{"
    if full:
        yield f"    mat4 w = tile({row});"
    else:
        names = [f"w{n}" for n in range(width)]
        yield f"    vec4 {', '.join(f'{n} = {r}' for n, r in zip(names, rows, strict=True))};"
    for a, v in pixels:
        term = f"w * {v}" if full else f"w0 * {v}" if diagonal else _columns(names, v)
        yield f"    {a} += {term};"
    yield "}"


def _columns(rows: list[str], v: str) -> str:
    return " + ".join(f"{row} * {v}.{LANE[i]}" for i, row in enumerate(rows))
