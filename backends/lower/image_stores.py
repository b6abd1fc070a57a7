"""How a compute pass stores what its invocations computed.

Each plane of a pixel goes to its own texel, or, where the node has a store pattern, the channels of
a pixel go to the pixels of a shuffled map.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ...ir.ops import DepthToSpace, Slice, parts
from ...ir.types import LANES
from .loads import LANE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..shader import Shader
    from .groups import Group


def image_stores(shader: Shader, group: Group, texts: Sequence[str]) -> list[str]:
    """Return the statements that store a pixel ``o``: ``texts`` are its planes' vec4."""
    t = group.written.result.type
    assert t.layout is not None
    entry = group.first_layer(t)
    first = t.first_layer + (0 if group.entries else group.batch * t.planes)
    base = shader.size("first_layer", first) if first else ""
    if group.entries:
        base = f"{base} + {entry}" if base else str(entry)
    if group.written is not group.node:
        return list(_shuffled(shader, group, texts, base))
    planes = [str(group.plane(k)) for k in group.planes]
    layers = [f"{plane} + {base}" if base else plane for plane in planes]
    array = t.layout.kind == "array"
    places = [f"ivec3(o, {layer})" if array else "o" for layer in layers]
    return [f"imageStore(u_result, {p}, {y});" for p, y in zip(places, texts, strict=True)]


def _shuffled(shader: Shader, group: Group, texts: Sequence[str], base: str) -> Iterator[str]:
    """Yield the stores of a pixel shuffle, less what is cut off its borders.

    Of C channels by * bx to a pixel, an invocation has those of all or of four, ``candidates``
    sees to it; the texel at (i, j) of each group of four takes a lane from each.
    """
    shuffle, *cut = parts(group.written).store
    assert isinstance(shuffle, DepthToSpace)
    t, own = group.written.result.type, group.node.result.type
    assert t.layout is not None
    by, bx = shuffle.block
    everything = len(group.planes) == own.planes
    channels = t.channels if everything else len(group.planes) * LANES // prod(shuffle.block)
    for k, text in enumerate(texts):
        yield f"vec4 y{k} = {text};"
    corner = f"o * ivec2({bx}, {by})"
    if cut:
        (border,) = cut
        assert isinstance(border, Slice)
        corner += f" - ivec2({border.starts[3]}, {border.starts[2]})"
    yield f"ivec2 p = {corner};"
    for q in range(-(-channels // LANES)):
        layer = str(q) if everything else f"plane / {len(group.planes)}"  # then q is 0
        layer = f"{layer} + {base}" if base else layer
        for i in range(by):
            for j in range(bx):
                lanes = []
                for c in range(q * LANES, min((q + 1) * LANES, channels)):
                    in_order = (c * by + i) * bx + j, (i * bx + j) * t.channels + c
                    k, lane = divmod(in_order[shuffle.order == "dcr"], LANES)
                    lanes.append(f"y{k}.{LANE[lane]}")
                lanes += ["0.0"] * (LANES - len(lanes))
                at = f"p + ivec2({j}, {i})" if i or j else "p"
                place = f"ivec3({at}, {layer})" if t.layout.kind == "array" else at
                store = f"imageStore(u_result, {place}, vec4({', '.join(lanes)}));"
                yield f"if ({_inside(shader, group, i, j)}) {store}" if cut else store


def _inside(shader: Shader, group: Group, i: int, j: int) -> str:
    """Return whether the pixel (i, j) away from ``p`` was not cut off."""
    _, _, height, width = group.written.result.shape
    tests = []
    for axis, offset, size in (("x", j, shader.size("width_out", width)),
                               ("y", i, shader.size("height_out", height))):  # fmt: skip
        at = f"p.{axis} + {offset}" if offset else f"p.{axis}"
        tests += [f"{at} >= 0", f"{at} < {size}"]
    return " && ".join(tests)
