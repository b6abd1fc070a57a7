"""How convolutions read their input: position of the first tap, borders, prologue, zero guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...ir.dimensions import is_dynamic
from ...ir.expr import Var, named, variables
from ...ir.indexing import border, simplest_mode
from ...ir.ops.window import may_pad
from ...passes.kernel_ops import keeps_padding
from ...passes.placement.halos import holds_padding
from ..shader.constructors import all_of, construct, integer, intrinsic, ivec2, vec4
from ..shader.expressions import Conditional, Variable
from ..shader.formulas import index
from ..shader.program import Function
from ..shader.statements import Body
from ..shader.types import IVEC2, UVEC2, VEC4
from .plane_groups import PIXEL, PLANE, Group, plus

if TYPE_CHECKING:
    from ...ir.graph import Value
    from ...ir.ops import Conv
    from ...ir.ops.window import Sizes
    from ...passes.kernel_ops import Parts
    from ..shader.builder import ShaderBuilder
    from ..shader.expressions import Expression, Int

# The result of a load outside the map: the padding, any finite value, or undefined if no tap is
# outside.
Beside = Literal["padding", "anything", "nothing"]
NAMES: dict[Beside, str] = {"padding": "load_x", "anything": "load_near", "nothing": "load_inside"}

CORNER = Variable("corner", IVEC2)  # the position of a pixel's first tap in the input


def first_tap(shader: ShaderBuilder, conv: Conv, depthwise: bool = False) -> Expression:
    """Return the input position of the first tap of the pixel that is written, an ivec2.

    Args:
        shader: declares the sizes.
        conv: the convolution.
        depthwise: whether the convolution is depthwise. Padding is then a uniform in draws, so that
            draws of several kernel sizes share a program.
    """
    position: Expression = PIXEL
    if conv.strides != (1, 1):
        position = position * ivec2(conv.strides[1], conv.strides[0])
    top, left = conv.pads[:2]
    if depthwise and may_pad((top, left)) and shader.stage == "fragment":
        return position - ivec2(shader.size("pad_left", left), shader.size("pad_top", top))
    return less_padding(shader, position, conv.pads)


def less_padding(shader: ShaderBuilder, position: Expression, pads: Sizes) -> Expression:
    """Convert a position in the padded map to a position in the map."""
    top, left = pads[:2]
    if not may_pad((top, left)):
        return position
    return position - ivec2(shader.number(left), shader.number(top))


def loader(
    shader: ShaderBuilder,
    conv: Conv,
    p: Parts,
    x: Value,
    group: Group,
    last: tuple[Expression, Expression] | None = None,
    beside: Beside = "padding",
    in_map: bool = False,
    first_row: Variable | None = None,
) -> Function:
    """Return the function that loads a texel of the input, given a position and a plane.

    The function handles borders, applies the prologue and replaces zeros (``zero_guard``).

    Args:
        shader: declares the sizes and textures.
        conv: the convolution.
        p: the parts of its node, with the prologue.
        x: the input.
        group: the planes that an invocation computes.
        last: the last column and row to load; positions beyond are clamped to it.
        beside: what the function returns outside the map.
        in_map: whether positions are of the map, from :func:`source`.
        first_row: a parameter more, the first row of the plane in a stack (:func:`rows_apart`).
    """
    _, _, height, width = conv.seen(x.type).shape
    texture = shader.texture(x, "x", group.batch)
    wanted = Variable("p", IVEC2)
    layer: Int = 0
    if x.type.layers > 1 or x.type.is_stacked:
        layer = plus(_plane_of_map(shader, p, x), group.first_layer(x.type))
    pad = conv.pad_value
    if conv.zero_guard and pad == 0.0:
        pad = conv.zero_guard
    down, across = conv.enlarged
    shifts = not down & (down - 1) and not across & (across - 1)
    zeros = pad == 0.0 and keeps_padding(conv, p.prologue)
    zeros = zeros and texture.is_zero_outside(shader.target) and shifts  # -1 / 3 is 0
    pads = may_pad(conv.pads) and beside != "nothing" and not holds_padding(x, p)
    pads = pads and not in_map and not sampler_pads(shader, conv, x, group)
    body = Body()
    at: Expression = wanted
    inside: Expression | None = None
    centre: Expression | None = None
    if pads and conv.pad_mode == "constant" and not zeros:
        # on SIMD lanes, selecting one of two values is cheaper than a branch
        size = shader.size("width_in", width), shader.size("height_in", height)
        edge = ivec2(*size) - 1
        if beside == "padding":
            body.comment(f"Outside the map, return the padding: {pad:g}.")
        if texture.sampled and shader.target.wgsl:
            # negative positions are large uints; Tint's clamp of floats looks for NaN
            place = construct(UVEC2, wanted)
            inside = intrinsic("min", place, construct(UVEC2, edge)).equals(place)
        elif texture.sampled and conv.enlarged == (1, 1):
            full = shader.precision == "mediump"
            centre = body.let("centre", texture.centre(wanted), full)
            inside = centre.equals(intrinsic("clamp", centre, 0.0, 1.0))
        elif texture.sampled:  # a sampler clamps
            inside = wanted.equals(intrinsic("clamp", wanted, 0, edge))
        else:
            at = body.let("nearest", intrinsic("clamp", wanted, 0, edge))
            inside = at.equals(wanted)
        inside = body.let("inside", inside) if beside == "padding" else None
    if last is not None:
        at = body.let("within", intrinsic("min", at, ivec2(*last)))
    if pads and conv.pad_mode != "constant":
        at = body.let(
            "source", ivec2(*(_padded(shader, conv, x, lane, at.lanes(lane)) for lane in "xy"))
        )
    if conv.enlarged != (1, 1) and not in_map:  # a shift rounds down
        by = ivec2(across.bit_length() - 1, down.bit_length() - 1)
        at = at >> by if shifts else at // ivec2(across, down)
    value = texture.fetch(at, layer, everywhere=True, centre=centre, row=first_row)
    if len(p.prologue) == 1:
        value = with_prologue(shader, p, value)
    elif p.prologue:
        loaded = body.let("loaded", value)
        *others, value = (with_prologue(shader, p, loaded, k) for k in range(len(p.prologue)))
        for k, other in reversed(list(enumerate(others, 1))):
            value = Conditional(_planes_of_copies(shader, x, k) > PLANE, other, value)
    if conv.zero_guard:
        v = body.let("v", value)
        value = intrinsic("select", v, conv.zero_guard, intrinsic("equal", v, 0.0))
    if inside is not None:
        # texture() is defined only if all invocations execute it. A fetch inside the condition
        # becomes a branch; between branches, VideoCore's compiler keeps too many values alive.
        # In dispatches, branches cost Intel's and Adreno's compilers a tenth of the cycles.
        if texture.sampled or group.draws_blocks or group.in_compute:
            value = body.let("texel", value)
        value = Conditional(inside, value, vec4(pad))
    body.give(value)
    parameters = (wanted, PLANE) if first_row is None else (wanted, PLANE, first_row)
    return Function(NAMES[beside], parameters, VEC4, body.statements)


def rows_apart(shader: ShaderBuilder, p: Parts, x: Value, group: Group) -> Int | None:
    """Return by how many rows a loop over stacked input planes moves on: the height of one.

    None if the planes are not stacked, or if the prologue has several formulas. Computing the row
    as plane times height instead makes VideoCore spill, and MobileNet v2 on Adreno takes 1.2 times
    as long.
    """
    return shader.texture(x, "x", group.batch).height if len(p.prologue) < 2 else None


def finds_sources(shader: ShaderBuilder, conv: Conv, p: Parts, x: Value, group: Group) -> bool:
    """Whether :func:`source` finds what a position reads: all but padding with a constant.

    Such padding needs a test for each position, too. Kept in registers, the tests spill on Intel.
    """
    pads = may_pad(conv.pads) and conv.pad_mode != "constant" and not holds_padding(x, p)
    return pads and not sampler_pads(shader, conv, x, group)


def source(
    shader: ShaderBuilder, conv: Conv, x: Value, axis: str, wanted: Expression
) -> Expression:
    """Return the column or row of the input that a column or row of the padded map reads.

    Args:
        shader: declares the sizes.
        conv: the convolution, for which :func:`finds_sources`.
        x: the input.
        axis: "x" for columns or "y" for rows.
        wanted: the column or row; 0 is the first that is no padding.
    """
    found, enlarged = _padded(shader, conv, x, axis, wanted), conv.enlarged[axis == "x"]
    if enlarged & (enlarged - 1):
        return found // enlarged
    return found if enlarged == 1 else found >> (enlarged.bit_length() - 1)


def _padded(
    shader: ShaderBuilder, conv: Conv, x: Value, axis: str, wanted: Expression
) -> Expression:
    """Return the column or row of the enlarged map that a column or row of the padded map reads."""
    _, _, height, width = conv.seen(x.type).shape
    top, left, bottom, right = conv.pads
    size, *pads = (width, left, right) if axis == "x" else (height, top, bottom)
    read = border(conv.pad_mode, Var(axis), size, *pads)
    return index(read, {axis: wanted} | shader.names_of(read))


def sampler_pads(shader: ShaderBuilder, conv: Conv, x: Value, group: Group) -> bool:
    """Whether the sampler pads a convolution's input: all samplers clamp (docs/schedule.md)."""
    repeats_edge = simplest_mode(conv.pad_mode, *conv.pads) == "edge"
    return repeats_edge and conv.enlarged == (1, 1) and shader.texture(x, "x", group.batch).sampled


def pads_with_zeros(shader: ShaderBuilder, conv: Conv, x: Value, group: Group) -> bool:
    """Whether a convolution pads with zeros that the texture itself does not return."""
    plain = conv.pad_mode == "constant" and conv.pad_value == 0.0 and not conv.zero_guard
    texture = shader.texture(x, "x", group.batch)
    return plain and may_pad(conv.pads) and not texture.is_zero_outside(shader.target)


def inside_map(
    shader: ShaderBuilder, conv: Conv, x: Value, w: Value, tap: tuple[int, int]
) -> Expression | None:
    """Return the test whether a tap (row, column) lies in the map; None if no test is needed.

    The test compares a position with its clamped value. With ``>=`` instead, the compiler for
    Adreno 6xx evaluates the comparisons of all taps first, keeps the results, and spills.
    """
    tests = []
    sizes = zip(("height_in", "width_in"), conv.windows(x.type, w.type), strict=True)
    for lane, k, (name, own) in zip("yx", tap, sizes, strict=True):
        start = k * own.dilation
        place = CORNER.lanes(lane) + start if start else CORNER.lanes(lane)
        dynamic = any(map(is_dynamic, (own.size, own.before, own.after)))
        last = start - own.before + (own.count - 1) * own.stride
        if dynamic or start < own.before:
            tests.append(place.equals(intrinsic("max", place, 0)))
        if dynamic or last >= own.size:
            edge = integer(shader.size(name, own.size)) - 1
            tests.append(place.equals(intrinsic("min", place, edge)))
    return all_of(tests) if tests else None


def _planes_of_copies(shader: ShaderBuilder, x: Value, copies: int) -> Expression:
    """Return the planes of some copies of a map."""
    return integer(shader.size("planes_of_map", x.type.planes)) * copies


def _plane_of_map(shader: ShaderBuilder, p: Parts, x: Value) -> Expression:
    """Return the plane of a map that is a plane of the copies that a prologue makes."""
    copies = range(1, len(p.prologue))
    plane: Expression = PLANE
    for k in copies:
        first = _planes_of_copies(shader, x, k)
        plane = Conditional(first > PLANE, plane, PLANE - first)
    return plane


def with_prologue(shader: ShaderBuilder, p: Parts, value: Expression, k: int = 0) -> Expression:
    """Apply a formula of the node's prologue to a loaded value."""
    formula, name = p.prologue[k], f"prologue{k}" if len(p.prologue) > 1 else "prologue"
    if formula == Var("x"):
        return value
    used = variables(formula)
    extras = named(p.extras, "e")
    function = shader.formulas.function(name, formula, {name: name for name in used})
    return function(
        *(value if name == "x" else shader.parameter(extras[name], PLANE) for name in used)
    )
