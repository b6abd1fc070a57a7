"""The common parts of all kernels: operands, epilogue, stores, header."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Any

from ...ir.dimensions import is_dynamic, is_one, same_shape
from ...ir.expr import Expr, Var, named, variables
from ...ir.graph import Result, infer
from ...ir.indexing import broadcast_load
from ...ir.types import LANES
from ...passes.kernel_ops import parts
from ...passes.placement.kinds import is_parameter
from ...passes.placement.target import WORKGROUP
from ..gpu import ComputePass, GpuPass, RenderPass
from ..gpu import Uniform as Setting
from ..shader.constructors import any_of, construct, integer, ivec2, offset, vec4
from ..shader.expressions import BuiltIn, Conditional, Number, Variable, known
from ..shader.program import Function, TextureBinding
from ..shader.statements import Body, names_read, needed
from ..shader.types import FLOAT, INT, VEC4
from .dispatch import plan_dispatch
from .image_stores import image_stores
from .plane_groups import PIXEL, PLANE, own_uniforms, plus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...ir.graph import Node, Precision, Value
    from ...ir.ops.base import Op
    from ..shader.builder import ShaderBuilder
    from ..shader.expressions import Expression
    from ..shader.program import Program
    from .dispatch import Dispatch
    from .plane_groups import Group

WIDEST = 400  # most characters of a header's first line
SWIZZLE = {1: "x", 2: "xy", 3: "xyz", 4: "xyzw"}


def operand(shader: ShaderBuilder, value: Value, role: str, group: Group, k: int) -> Expression:
    """Return the vec4 of an operand at the position being written, broadcast as numpy does."""
    result = group.node.result.type
    if is_parameter(value, result):
        return shader.parameter(value, group.plane(k), group.number(k), group.stacked)
    if value.type.in_planes and result.in_planes:
        return _of_map(shader, value, role, group, k)
    rows = not value.type.in_planes and not result.in_planes
    alike = rows and same_shape(value.shape, result.shape)
    if alike and same_shape(value.type.extent, result.extent):
        return shader.texture(value, role).fetch(PIXEL, group.plane(k), everywhere=True)
    key = (role, value)
    if key not in group.loads:
        reader = group.reader(shader)
        load = broadcast_load(0, value.shape, result.rank)
        group.loads[key] = reader.declare(role, load, (value,), (role,))
    return group.loads[key].call(group.at(k, shader))


def _of_map(shader: ShaderBuilder, value: Value, role: str, group: Group, k: int) -> Expression:
    _, c, h, w = value.shape
    result = group.node.result.type
    texture = shader.texture(value, role, group.batch)
    one_column = is_one(w) and not is_one(result.shape[3])
    one_row = is_one(h) and not is_one(result.shape[2])
    position: Expression = PIXEL
    if one_column or one_row:
        position = ivec2(0 if one_column else PIXEL.x, 0 if one_row else PIXEL.y)
    plane = group.plane(k) if c > 1 and value.type.planes > 1 else 0
    layer = plus(plane, group.first_layer(value.type))
    texel = texture.fetch(position, layer, everywhere=True)
    return texel.lanes("xxxx") if c == 1 and result.shape[1] > 1 else texel


def epilogue(
    shader: ShaderBuilder,
    expr: Expr,
    own: Mapping[str, Expression],
    others: Mapping[str, Value],
    group: Group,
    k: int,
    called: str = "epilogue",
) -> Expression:
    """Return the value of ``expr`` at plane k of the pass.

    ``own`` has the variables that the kernel computed, ``others`` the operands of the node.
    """
    names = variables(expr)
    values = {
        name: own[name] if name in own else operand(shader, others[name], name, group, k)
        for name in names
    }
    if isinstance(expr, Var):
        return values[expr.name]
    function = shader.formulas.function(called, expr, {name: name for name in names})
    return function(*(values[name] for name in names))


def stores(
    shader: ShaderBuilder, node: Node, group: Group, accumulators: Sequence[Expression]
) -> list[Expression]:
    """Return the value of each render target: the epilogue, with unused lanes set to zero."""
    p = parts(node)
    t = node.result.type
    kernel_channels = infer(p.kernel, p.read, node.name)[0].channels
    values = []
    for k, y in enumerate(accumulators):
        if t.in_planes and kernel_channels == 1 and t.channels > 1:
            y = y.lanes("xxxx")
        if p.epilogue is not None:
            y = epilogue(shader, p.epilogue, {"y": y}, named(p.extras, "e"), group, k)
        values.append(masked(shader, y, group, k))
    return values


def masked(shader: ShaderBuilder, value: Expression, group: Group, k: int) -> Expression:
    """Set the unused lanes of the last plane to zero.

    Formats of fewer channels store no unused lanes, but an application may have its output written
    to a texture of its own, and compilers leave out what only computes them. Row-packed tensors
    need no zeros.
    """
    t = group.node.result.type
    last = (
        group.planes[k] == group.planes[-1] if group.by_plane else group.planes[k] + 1 == t.planes
    )
    used = t.channels - (t.planes - 1) * LANES
    if not last or used == LANES or not t.in_planes:
        return value
    if not group.by_plane or len(group.planes) == t.planes:
        return without_lanes(value, used)
    functions = shader.formulas.functions
    if "masked" not in functions:
        y, plane, body = Variable("y", VEC4), Variable("plane", INT), Body()
        body.give(
            Conditional(plane < shader.size("planes", t.planes) - 1, y, without_lanes(y, used))
        )
        functions["masked"] = Function("masked", (y, plane), VEC4, body.statements)
    return functions["masked"](value, integer(group.plane(k)))


def without_lanes(value: Expression, used: int) -> Expression:
    """Return a vec4 of which the lanes from ``used`` on are zero."""
    return vec4(value.lanes(SWIZZLE[used]), *[0.0] * (LANES - used))


def header(group: Group, what: str, macs: int) -> list[str]:
    """Return the comment lines at the top of a shader: layers, shapes, cost."""
    node = group.written
    t = node.result.type
    first = " ".join(f"{', '.join(node.layers)}: {what}".split())
    lines = [first if len(first) <= WIDEST else shorten(first, WIDEST, placeholder=" ...")]
    seen: set[int] = set()
    for v in node.inputs:
        if v.type.layout is not None and id(v) not in seen:
            seen.add(id(v))
            step = (
                isinstance(v, Result) and v.name == node.name and _kernel(v.node) != _kernel(node)
            )
            name = f"{v.name} (from the step before)" if step else v.name
            lines.append(f"reads  {name}: {v.type}, {v.type.layout.format} {v.type.layout.kind}")
    assert t.layout is not None
    what = f"writes {node.name}: {t}, {t.layout.format} {t.layout.kind}"
    if t.in_planes:
        batch = f", batch {group.batch}" if t.shape[0] > 1 and not group.entries else ""
        lines.append(f"{what}, {group.named} of {t.planes}{batch}")
    else:
        layer = f", layer {group.planes[0]} of {t.layers}" if t.layers > 1 else ""
        lines.append(f"{what} of {t.extent[1]}x{t.extent[0]} texels, in rows{layer}")
    if is_dynamic(macs) or macs:
        lines.append(f"cost   {macs} multiply-adds")
    return lines


def _kernel(node: Node) -> type[Op]:
    return type(parts(node).kernel)


def finish(
    shader: ShaderBuilder,
    node: Node,
    group: Group,
    kernel: str,
    what: str,
    body: Body,
    stores: Sequence[Expression],
    macs: int = 0,
    weights: str = "none",
) -> GpuPass:
    """Make the program and return the GPU pass.

    Args:
        shader: has the declarations of the kernel.
        node: the node to lower.
        group: the planes that an invocation writes.
        kernel: the kernel's name in the schedule.
        what: a description of the kernel for the header.
        body: the statements that compute the accumulators :attr:`.Group.results`, in dispatches
            with the suffixes of :attr:`.Group.pixels`.
        stores: the value to write for each plane (:func:`stores`).
        macs: multiply-adds of the pass.
        weights: the weight storage.
    """
    p = parts(node)
    after = [str(e) for e in (p.epilogue,) if e is not None]
    after += [f"stored by {type(m).__name__}" for m in parts(group.written).store]
    loads = f", loads {' and '.join(map(str, p.prologue))}" if p.prologue else ""
    what = what + loads + "".join(f", then {e}" for e in after)
    lines = header(group, what, macs)
    dispatch = None
    invocations = group.invocations
    if group.in_compute:
        planes = len(group.planes) if group.by_plane else group.node.result.type.planes
        dispatch = plan_dispatch(node, planes, shader.target)
        invocations = dispatch.invocations
        program = _compute(shader, group, dispatch, lines, body, stores)
    else:
        program = _draw(shader, group, lines, body, stores)
    sizes = tuple(Setting(name, value) for name, value in shader.sizes.items())
    uniforms = own_uniforms(group) + sizes
    if uniforms and (unread := {u.name for u in uniforms} - program.uniforms_read):
        uniforms = tuple(u for u in uniforms if u.name not in unread)
        program.uniforms = [name for name in program.uniforms if name not in unread]
    common: dict[str, Any] = {
        "node": group.written,
        "kernel": kernel,
        "program": program,
        "reads": tuple(shader.reads),
        "blocks": tuple(shader.blocks),
        "layers": group.layers,
        "weights": weights,
        "macs": macs,
        "invocations": invocations,
        "uniforms": uniforms,
    }
    if dispatch is None:
        return RenderPass(**common)
    return ComputePass(
        **common,
        workgroup=(WORKGROUP, 1),
        groups=dispatch.groups,
    )


def _draw(
    shader: ShaderBuilder,
    group: Group,
    lines: list[str],
    body: Body,
    values: Sequence[Expression],
) -> Program:
    """Return the program of a draw, whose invocations are the pixels of the viewport."""
    first, main = Body(), Body()
    columns, rows = group.node.choice.block
    pixel: Expression = BuiltIn("pixel")
    if group.stacked:
        height = shader.size("plane_height", group.node.result.shape[2])
        texel = first.let("texel_of_stack", pixel)
        first.let(PLANE.name, _quotient(texel.y, height, shader.precision))
        pixel = ivec2(texel.x, texel.y - PLANE * height)
    # Where draws become dispatches, blocks at the border move into the map: ``pixel`` is the first.
    counted = (columns, rows) != (1, 1) and not shader.target.dispatches_draws
    first.let(PIXEL.name, pixel * ivec2(columns, rows) if counted else pixel)
    first.extend(group.prelude.statements)
    main.extend(body.statements)
    for k, value in enumerate(values):
        main.write(k, value)
    statements = [*needed(first.statements, main.statements), *main.statements]
    return shader.finish(group.node.name, lines, statements, _own(group), targets=len(values))


def _quotient(row: Expression, height: Expression, precision: Precision) -> Expression:
    """Return the quotient of two ints, a row of a texture by the height of a map, rounded down.

    GPUs divide floats in a few instructions, and ints in up to thirty. Rows are below 2**16, so
    rounding errors are smaller than what the 0.5 keeps the quotient away from whole numbers.
    """
    rows = known(height)
    if rows is not None and rows & (rows - 1) == 0:
        return row >> (rows.bit_length() - 1) if rows > 1 else row
    if precision != "highp":
        return row // height
    divisor = construct(FLOAT, height) if rows is None else Number(float(rows), FLOAT)
    return construct(INT, (construct(FLOAT, row) + 0.5) / divisor)


def _compute(
    shader: ShaderBuilder,
    group: Group,
    dispatch: Dispatch,
    lines: list[str],
    body: Body,
    values: Sequence[Expression],
) -> Program:
    """Return the program of a dispatch: an invocation computes a block of pixels."""
    written = group.written.result.type
    assert written.layout is not None
    columns, rows = group.node.choice.block
    store = _store(shader, group, values)
    planes_each = len(group.planes)
    # A span is a power of two: GPUs shift in an instruction, and divide in some thirty.
    bits = shader.size("span_bits", dispatch.span.bit_length() - 1)
    across = shader.size("blocks_across", dispatch.across)
    main = Body()
    for line in _work_of_an_invocation(columns, rows, planes_each, group.by_plane):
        main.comment(line)
    invocation = main.let("invocation", BuiltIn("lane"))
    in_span = invocation & (integer(1) << bits) - 1
    block = main.let("block", (BuiltIn("group_x") << bits) + in_span)
    spans = integer(WORKGROUP) >> bits
    plane = BuiltIn("group_y") * spans + (invocation >> bits)
    main.let(PLANE.name, plane * planes_each if group.by_plane else plane)
    past = block >= across * shader.size("blocks_down", dispatch.down)
    planes = shader.size("planes", group.node.result.type.planes) if group.by_plane else 1
    with main.when(any_of([past, integer(planes) <= PLANE])):
        main.give()
    row = main.let("row", block // across)
    pixel = ivec2(block - row * across, row)
    main.let(PIXEL.name, pixel if (columns, rows) == (1, 1) else pixel * ivec2(columns, rows))
    main.extend(body.statements)
    for i, j, suffix in group.pixels:
        sums = (Variable(v.name + suffix, VEC4) for v in store.parameters[2:])
        main.perform(store(offset(PIXEL, i, j), PLANE, *sums))
    kind = written.layout.kind
    result = TextureBinding("u_result", "2d" if kind != "array" else kind, 0, written.layout.format)
    return shader.finish(
        group.node.name, lines, main.statements, _own(group), result=result, workgroup=WORKGROUP
    )


def _work_of_an_invocation(columns: int, rows: int, planes: int, several: bool) -> Iterator[str]:
    """Yield comments on how a dispatch spreads its work."""
    block = "1 pixel" if columns * rows == 1 else f"{rows} x {columns} pixels (rows x columns)"
    yield f"An invocation computes a block: {block} of {planes} plane{'s' * (planes > 1)}."
    blocks = "A workgroup computes consecutive blocks, row by row."
    yield f"{blocks} The remaining invocations compute further planes." if several else blocks


def _store(shader: ShaderBuilder, group: Group, values: Sequence[Expression]) -> Function:
    """Return the function that stores a pixel of the map, beside which it does nothing."""
    t = group.node.result.type
    columns, rows = group.node.choice.block
    width, height = t.extent[:2]
    beyond = []  # blocks at the border
    if columns > 1:
        beyond.append(PIXEL.x >= shader.size("width", width))
    if rows > 1 and not group.whole_rows:
        beyond.append(PIXEL.y >= shader.size("height", height))
    body = Body()
    if beyond:
        body.comment("Blocks at the border reach beyond the map.")
        with body.when(any_of(beyond)):
            body.give()
    image_stores(body, shader, group, values)
    read = names_read(body.statements)
    accumulators = tuple(Variable(name, VEC4) for name in group.results if name in read)
    return Function("store", (PIXEL, PLANE, *accumulators), None, body.statements)


def _own(group: Group) -> list[str]:
    return [uniform.name for uniform in own_uniforms(group)]
