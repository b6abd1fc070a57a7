"""Assign a layout, a texture kind and a format to every tensor.

Feature maps N x C x H x W are channel-packed: N * ceil(C/4) layers of H x W texels. Other tensors,
and maps that exceed the device's textures, are row-packed (``ir.types``): folded over width, height
and layers. Maps of many batch entries, such as the windows of a transformer, are row-packed too if
their kernels work as well on rows.

Inputs and outputs that fit one layer of a texture are 2D textures. Intermediates are arrays, so
that tensors of different depths can share one. Refused if a tensor does not fit even when
row-packed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShadergenError
from ..ir.dimensions import bounds, hint, is_dynamic
from ..ir.evaluation import expand
from ..ir.expr import Call, Num, walk
from ..ir.graph import Constant, Input
from ..ir.ops import Einsum, MatMul
from ..ir.types import HALF_MAX, Layout, TensorType, fits_half, fits_int8, format_for
from ..records import replace
from .kernel_ops import IndexMapped, apart, assemble, parts
from .placement.kinds import compared_extremes, index_values, is_direct, tensor_operands

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from ..ir.ops import Op
    from .placement.target import Limits, Target
    from .rule import Context

FEW_ENTRIES = 4  # a draw for each is as fast as rows are
STEP = "assign layouts"  # for --explain
ROOM = 8  # times the side of a square is the width that a dynamic one is folded into


def assign_layouts(graph: Graph, context: Context) -> Graph:
    """Attach layouts to inputs, results and constants that are read as textures.

    Raises:
        ShadergenError: SG0401 for a tensor too large for the device, SG0404 for a constant that
            16-bit floats cannot hold.
    """
    target = context.target
    unorm8 = {o.value for o in graph.outputs if o.port.encoding == "unorm8"}
    outputs = {o.value for o in graph.outputs}
    batches = _batches(graph, target)
    exact = _exact(graph, target)
    halved = _read_in_half(graph)
    compared = compared_extremes(graph)

    def place_input(value: Value) -> Value:
        if not isinstance(value, Input) or value.type.layout is not None:
            return value
        eight = value.port.encoding == "unorm8"
        fits = target.precision == "auto" and max(map(abs, target.input_range)) <= HALF_MAX
        half = (fits and value in halved and value not in exact) or target.precision == "mediump"
        placed = _place(value.type, value.name, eight, half, True, context)
        if value.port.external:
            placed = _external(placed, value.name)
        return replace(value, type=placed)

    def place(now: Node, was: Node) -> Node | None:
        if now.types is not None:
            return None
        if context.target.precision == "mediump":
            _check_literals(now)
        elements = (
            v
            for v, old in zip(now.inputs, was.inputs, strict=True)
            if old in compared.get(was.result, ())
        )
        half = now.choice.precision == "mediump" and all(map(_in_half, elements))
        types = tuple(
            _place(r.type, r.name, old in unorm8, half, old in outputs, context, batches.get(old))
            for r, old in zip(now.results, was.results, strict=True)
        )
        placed = replace(now, types=types)
        if not parts(placed).prologue or is_direct(placed):
            return placed
        # It was fused into the loads of a kernel for planes, and some map has no room in planes.
        rest = apart(now, lambda first: replace(first, types=(mapped(first, half),)))
        return replace(assemble(rest, now.layers, now.choice), types=types)

    def mapped(first: Node, half: bool) -> TensorType:
        """Place the result of a prologue that becomes a node."""
        return _place(first.result.type, first.name, False, half, False, context)

    graph = graph.rewrite(place, place_input)
    exact = _exact(graph, target)
    textures: dict[Value, bool] = {}  # and whether only 16-bit kernels read it
    beside_rows: dict[Value, bool] = {}  # whether it is read for results in rows alone
    for n in graph.nodes:
        for v in tensor_operands(n):
            textures[v] = textures.get(v, True) and n.choice.precision == "mediump"
            beside_rows[v] = beside_rows.get(v, True) and not n.result.type.in_planes

    weights = _weights(graph)

    def place_constant(value: Value) -> Value:
        if not isinstance(value, Constant) or value.type.layout is not None:
            return value
        if target.precision == "mediump":
            _check_half(float(np.abs(value.data).max(initial=0)), f"constant '{value.name}'")
        if value not in textures:
            return value
        half = textures[value] and value not in exact
        whole = False
        if value in weights:
            fits = fits_half(value.data, weights[value])
            half = (half and (fits or target.precision == "mediump")) or (
                target.weight_format == "float16" and fits
            )
            whole = target.weight_format == "int8" and fits_int8(value.data)
        why = "all results computed from this tensor are row-packed" if beside_rows[value] else None
        return replace(value, type=_place(value.type, value.name, whole, half, True, context, why))

    return graph.rewrite(lambda now, was: None, place_constant)


def _batches(graph: Graph, target: Target) -> dict[Value, str]:
    """Return maps of more than :data:`FEW_ENTRIES` that nothing needs in planes, and why not.

    A kernel of row-packed tensors reads all operands, also per-channel parameters, as textures, so
    there must be a texture unit for each. With a texture for each plane, units do not suffice. Maps
    of dynamic size are left out: a texture holds less of them in rows than in planes.
    """
    if target.textures == "2d":
        return {}
    needed = {o.value for o in graph.outputs}
    for n in graph.nodes:
        units = len(set(n.inputs))
        if not _kernel(n).row_packable or units > target.limits.texture_units:
            needed.update(n.results, n.inputs)
    return {
        r: f"if channel-packed, each of its {r.shape[0]} batch entries would need a draw"
        for n in graph.nodes
        for r in n.results
        if r.type.in_planes and r not in needed
        if not any(map(is_dynamic, r.shape)) and r.shape[0] > FEW_ENTRIES
    }


def _weights(graph: Graph) -> dict[Value, int | None]:
    """Return the constants that kernels take products with, and nothing else reads.

    And for each the axis of what it gives channels of, where it is a matrix on the right.
    """
    read = [(v, isinstance(_kernel(n), (MatMul, Einsum))) for n in graph.nodes for v in n.inputs]
    found = {v for v, _ in read} - {v for v, multiplied in read if not multiplied}
    right = {n.inputs[1] for n in graph.nodes if isinstance(parts(n).kernel, MatMul)}
    return {v: v.type.rank - 1 if v in right and v.type.rank > 1 else None for v in found}


def _kernel(node: Node) -> Op:
    kernel = parts(node).kernel
    return kernel.kernel if isinstance(kernel, IndexMapped) else kernel


def _exact(graph: Graph, target: Target) -> set[Value]:
    """Return what "auto" keeps in 32 bits although 16 could hold it."""
    return index_values(graph) if target.precision == "auto" else set()


def _in_half(value: Value) -> bool:
    """Whether a placed tensor lies in a texture of 16-bit floats."""
    return value.type.component_bits == 16


def _read_in_half(graph: Graph) -> set[Value]:
    """Return the values that mediump nodes read, and the inputs that no node reads."""
    read = {v for n in graph.nodes if n.choice.precision == "mediump" for v in n.inputs}
    unread = {i for i in graph.inputs if all(i not in n.inputs for n in graph.nodes)}
    return read | unread


def rows(t: TensorType, limits: Limits) -> tuple[int, int] | None:
    """Return width and height of a texture for a tensor placed in rows, or None where none fits.

    A row of the tensor is a row of the texture where both fit; otherwise the texels fold into a
    texture about as wide as it is high.
    """
    size = limits.texture_size
    lines = t.texels // t.planes
    if not is_dynamic(t.texels):
        if t.planes <= size and lines <= size:
            return t.planes, lines
    elif bounds(t.planes)[1] <= size and bounds(lines)[1] <= size:
        return t.planes, lines
    else:  # wider than is square by default, as larger sizes take more rows until none is left
        side = 1 << (math.isqrt(hint(t.texels) - 1)).bit_length()
        width = min(ROOM * side, size)
        height = -(-t.texels // width)
        return (width, height) if height <= size else None
    width = min(1 << (math.isqrt(t.texels - 1)).bit_length(), size)
    height = min(-(-t.texels // width), size)
    layers = -(-t.texels // (width * height))
    return (width, height) if layers <= limits.array_texture_layers else None


def _place(
    t: TensorType,
    name: str,
    eight_bit: bool,
    half: bool,
    visible: bool,
    context: Context,
    rows_since: str | None = None,
) -> TensorType:
    target, limits = context.target, context.target.limits
    width, height, layers = t.extent
    fits = t.in_planes and not rows_since
    fits = fits and not is_dynamic(layers)  # what lies in rows is looked at below
    fits = fits and all(hint(size) <= limits.texture_size for size in (width, height))
    fits = fits and all(size <= limits.texture_size for size in (width, height))  # others, too
    one_each = target.textures == "2d" and not target.wgsl  # a texture for each layer
    fits = fits and (one_each or layers <= limits.array_texture_layers)
    folded = None
    if t.in_planes and not fits:
        why = rows_since or _excess((width, height), layers, limits)
        context.explain(STEP, name, "rows", why)
    if not fits:
        t = t.placed(Layout("array", "rgba32f", (1, 1)))  # from here on its lanes are the last axis
        folded = rows(t, limits)
        if folded is None:
            most = limits.texture_size**2 * limits.array_texture_layers
            raise ShadergenError(
                "SG0401",
                f"'{name}' does not fit a texture",
                where=str(t),
                why=f"it has {t.texels} texels, the device profile allows {most}",
                help="choose a device profile with larger limits (--device), or a smaller input",
            )
    small = t.dtype in ("float32", "bool", "int8", "uint8")
    # 16 bits hold whole numbers to 2048
    texel = format_for(t.channels_per_texel, 8 if eight_bit else 16 if half and small else 32)
    placed = t.placed(Layout("array", texel, folded))
    chosen = target.textures in ("auto", "stacked")
    if target.textures == "2d" or (chosen and visible and placed.layers == 1):
        placed = t.placed(Layout("2d", texel, folded))
    return placed


def _external(t: TensorType, name: str) -> TensorType:
    """Return the placed type of an input as an external texture, which has no rows.

    Raises:
        ShadergenError: SG0401 when the map is too large for planes.
    """
    assert t.layout is not None
    if not t.in_planes:
        raise ShadergenError(
            "SG0401",
            f"'{name}' is too large to be read from an external texture",
            where=str(t),
            help="choose a device profile with larger limits (--device), or a smaller input",
        )
    return t.placed(Layout("external", t.layout.format))


def _excess(size: tuple[int, int], layers: int, limits: Limits) -> str:
    """Say which limit keeps a map from lying in planes."""
    if is_dynamic(layers):
        return f"the number of its layers, {layers}, is dynamic"
    if max(map(hint, size)) > limits.texture_size:
        return f"{size[1]}x{size[0]} texels, the device profile allows {limits.texture_size}"
    return f"{layers} layers, the device profile allows {limits.array_texture_layers}"


def _check_literals(node: Node) -> None:
    """Refuse numbers in formulas and attributes that 16 bits cannot hold.

    Those that only limit others may be infinite there: they limit nothing that 16 bits hold.
    """
    p = parts(node)
    own = getattr(p.kernel, "expr", None)
    for expr in filter(None, (own, *p.prologue, p.epilogue)):
        calls = [e for e in walk(expand(expr)) if isinstance(e, Call)]
        used = [a for e in calls if e.function not in ("min", "max") for a in e.args]
        for e in (expr, *used):
            if isinstance(e, Num) and math.isfinite(e.value):
                _check_half(abs(e.value), f"a formula of '{node.name}'")
    for attribute in ("pad_value", "value", "zero_guard"):
        _check_half(abs(getattr(p.kernel, attribute, 0.0)), f"the {attribute} of '{node.name}'")


def _check_half(size: float, what: str) -> None:
    if size > HALF_MAX:
        raise ShadergenError(
            "SG0404",
            f"{what} holds {size:g}, too large for 16 bits",
            why=f"the largest 16-bit float is {HALF_MAX:g}",
            help="compile with --precision auto or highp",
        )
