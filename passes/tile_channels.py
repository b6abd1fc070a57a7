"""Give every tensor its place: planes of four channels, a texture kind and a format.

A tensor of N x C x H x W lies in N * ceil(C/4) layers of H x W texels (``ir.types``). What the
application sees is a 2D texture where one layer suffices; in between, everything is an array, so
that tensors of different depths can share one. Refused when a size exceeds the device's limits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShadergenError
from ..ir.expr import Num, walk
from ..ir.graph import Constant, Input
from ..ir.ops import parts
from ..ir.placement import tensor_operands
from ..ir.types import Layout, TensorType, format_for

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from .rule import Context

HALF_MAX = 65504.0


def tile_channels(graph: Graph, context: Context) -> Graph:
    """Attach layouts to inputs, results and constants that are read as textures.

    Raises:
        ShadergenError: SG0206 for a rank above 4, SG0401 for a tensor too large for the device,
            SG0404 for a constant that 16-bit floats cannot hold.
    """
    unorm8 = {o.value for o in graph.outputs if o.port.encoding == "unorm8"}
    outputs = {o.value for o in graph.outputs}
    textures = {v for n in graph.nodes for v in tensor_operands(n)}

    def leaf(value: Value) -> Value:
        if value.type.layout is not None:
            return value
        if isinstance(value, Input):
            eight = value.port.encoding == "unorm8"
            return replace(value, type=_place(value.type, value.name, eight, True, context))
        if isinstance(value, Constant):
            _check_range(value, context)
        if isinstance(value, Constant) and value in textures:
            return replace(value, type=_place(value.type, value.name, False, True, context))
        return value

    def place(now: Node, was: Node) -> Node | None:
        if now.types is not None:
            return None
        _check_literals(now, context)
        types = tuple(
            _place(r.type, r.name, old in unorm8, old in outputs, context)
            for r, old in zip(now.results, was.results, strict=True)
        )
        return replace(now, types=types)

    return graph.rewrite(place, leaf)


def _place(
    t: TensorType, name: str, eight_bit: bool, visible: bool, context: Context
) -> TensorType:
    target = context.target
    try:
        _, _, height, width = t.nchw
    except ShadergenError as error:
        raise error.at(name) from None
    kind = target.textures
    if kind == "auto":
        kind = "2d" if visible and t.layers == 1 else "array"
    storage = "8" if eight_bit else "32f" if target.precision == "highp" else "16f"
    placed = Layout(kind, format_for(t.channels_per_texel, storage))  # type: ignore[arg-type]
    size, layers = target.limits.texture_size, target.limits.array_texture_layers
    for what, number, limit in (
        ("width", width, size),
        ("height", height, size),
        ("number of layers", t.layers, layers if kind == "array" else t.layers),
    ):
        if number > limit:
            raise ShadergenError(
                "SG0401",
                f"'{name}' does not fit a texture",
                where=str(t),
                why=f"its {what} is {number}, the device profile allows {limit}",
                help="choose a device profile with larger limits (--device), or a smaller input",
            )
    return t.placed(placed)


def _check_range(value: Constant, context: Context) -> None:
    if context.target.precision != "mediump":
        return
    _check_half(float(np.abs(value.data).max(initial=0)), f"constant '{value.name}'")


def _check_literals(node: Node, context: Context) -> None:
    """Refuse numbers in formulas and attributes that the precision cannot hold."""
    if context.target.precision != "mediump":
        return
    p = parts(node)
    own = getattr(p.kernel, "expr", None)
    for expr in (own, p.prologue, p.epilogue):
        for e in walk(expr) if expr is not None else ():
            if isinstance(e, Num) and math.isfinite(e.value):
                _check_half(abs(e.value), f"a formula of '{node.name}'")
    for attribute in ("pad_value", "value", "zero_guard"):
        _check_half(abs(getattr(p.kernel, attribute, 0.0)), f"the {attribute} of '{node.name}'")


def _check_half(size: float, what: str) -> None:
    if size > HALF_MAX:
        raise ShadergenError(
            "SG0404",
            f"{what} holds {size:g}",
            why=f"16-bit floats end at {HALF_MAX:g}",
            help="compile with --precision highp",
        )
