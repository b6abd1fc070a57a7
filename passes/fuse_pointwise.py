"""Attach element-wise work to the kernel beside it.

f(g(x)) is one pointwise node by substitution; f(kernel(x)) is the kernel with epilogue f, its
other operands (a residual, say) loaded at the store; conv(f(x)) is the convolution with prologue
f where f is cheap and x has to be stored anyway. Refused when the inner result is read elsewhere,
when shapes would grow, when a GPU pass would read more textures than the device has units, or
when the expression grows too large.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ..ir.dimensions import same_shape
from ..ir.evaluation import expand
from ..ir.expr import Call, Expr, Num, Var, sizes, substitute, walk
from ..ir.graph import Choice, Node, Result
from ..ir.ops import Conv, Pointwise
from ..ir.types import LANES
from ..records import dataclass, replace
from .kernel_ops import assemble, parts
from .placement.kinds import (
    is_direct,
    is_parameter,
    joins_planes,
    planes_in_a_pass,
    tensor_operands,
)
from .rule import Rule, apply_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ir.graph import Graph, Value
    from ..ir.ops import Op
    from .rule import Context, Site

MAX_SIZE = 200  # different parts of an expression: the statements of a shader
MAX_WRITTEN = 5000  # parts with repetitions: what a graph's text holds
CHEAP = {"add", "sub", "mul", "div", "neg", "min", "max", "abs", "lt", "le", "eq", "where"}
MAX_PROLOGUE = 8


@dataclass(frozen=True, eq=False)
class _Fusion:
    """``node`` is a Pointwise whose operand ``inner`` is to be computed on the spot."""

    node: Node
    inner: Node
    read_elsewhere: bool

    @cached_property
    def merged(self) -> Node:
        """One Pointwise for both."""
        return _merged_pointwise(self)

    @cached_property
    def fused(self) -> Node:
        """The kernel that ``inner`` is, with ``node`` for an epilogue."""
        return _with_epilogue(self)


def _match_operand(site: Site, fits: Callable[[Op], bool]) -> _Fusion | None:
    node = site.node
    if not isinstance(node.op, Pointwise):
        return None
    found = [
        _Fusion(node, value.node, uses > sum(v is value for v in node.inputs))
        for value, uses in zip(node.inputs, site.uses, strict=True)
        if isinstance(value, Result) and fits(parts(value.node).kernel)
    ]
    return min(found, key=lambda f: f.read_elsewhere, default=None)


def _match_pointwise(site: Site) -> _Fusion | None:
    return _match_operand(site, lambda op: isinstance(op, Pointwise))


def _match_kernel(site: Site) -> _Fusion | None:
    found = [
        _match_operand(site, lambda op: isinstance(op, Conv)),
        _match_operand(site, lambda op: not isinstance(op, (Conv, Pointwise))),
    ]
    return min(filter(None, found), key=lambda f: f.read_elsewhere, default=None)


def _merge_operands(
    expr: Expr, operands: tuple[Value, ...], into: list[Value], prefix: str
) -> Expr:
    """Append operands to ``into``, each once, and rename the expression's x0, x1, ... to them."""
    renamed: dict[str, Expr] = {}
    for i, value in enumerate(operands):
        position = next((k for k, v in enumerate(into) if v is value), None)
        if position is None:
            position = len(into)
            into.append(value)
        if prefix != "x" or position != i:
            renamed[f"x{i}"] = Var(f"{prefix}{position}")
    return substitute(expr, renamed) if renamed else expr


def _merged_pointwise(found: _Fusion) -> Node:
    outer, inner = found.node.op, found.inner.op
    assert isinstance(outer, Pointwise)
    assert isinstance(inner, Pointwise)
    operands: list[Value] = []
    inner_expr = _merge_operands(inner.expr, found.inner.inputs, operands, "x")
    bindings: dict[str, Expr] = {}
    for i, value in enumerate(found.node.inputs):
        if value is found.inner.result:
            bindings[f"x{i}"] = inner_expr
        else:
            bindings[f"x{i}"] = _merge_operands(Var("x0"), (value,), operands, "x")
    expr = substitute(outer.expr, bindings)
    op = Pointwise(expr, outer.dtype)
    return Node(op, tuple(operands), _layers(found.inner, found.node))


def _with_epilogue(found: _Fusion) -> Node:
    outer = found.node.op
    assert isinstance(outer, Pointwise)
    p = parts(found.inner)
    extras = list(p.extras)
    bindings: dict[str, Expr] = {}
    for i, value in enumerate(found.node.inputs):
        if value is found.inner.result:
            bindings[f"x{i}"] = p.epilogue if p.epilogue is not None else Var("y")
        else:
            bindings[f"x{i}"] = _merge_operands(Var("x0"), (value,), extras, "e")
    fused = replace(
        p, epilogue=substitute(outer.expr, bindings), extras=tuple(extras), dtype=outer.dtype
    )
    return assemble(fused, _layers(found.inner, found.node), Choice())


def _check_pointwise(found: _Fusion, context: Context) -> str:
    if found.read_elsewhere:
        return f"'{found.inner.name}' is read elsewhere too"
    if not same_shape(found.node.result.shape, found.inner.result.shape):
        return "the inner result is broadcast, so it would be computed many times"
    return _too_large(found.merged, found.node, context)


def _check_kernel(found: _Fusion, context: Context) -> str:
    if found.read_elsewhere:
        return f"'{found.inner.name}' is read elsewhere too"
    inner, outer = found.inner.result.type, found.node.result.type
    if inner.rank != outer.rank:
        return "the formula changes the rank of the kernel's result"
    if joins_planes(found.inner) and inner.shape[0] == 1:
        return "parts of a concatenation are written in place"
    c, c2 = inner.channels, outer.channels
    few = inner.in_planes and (c == c2 or (c == 1 and c2 <= LANES))
    but_channels = (t.shape[:1] + t.shape[2:] for t in (inner, outer))
    same = same_shape(inner.shape, outer.shape) or (few and same_shape(*but_channels))
    if not same:
        return "the kernel's result is broadcast, so it would be computed many times"
    fused = found.fused
    if not same_shape(fused.result.shape, found.node.result.shape):
        return "the formula broadcasts the kernel's result to the larger shape of another operand"
    return _too_large(fused, found.node, context)


def _too_large(fused: Node, before: Node, context: Context) -> str:
    """Say why ``fused`` would be too much for one pass; ``before`` is its unfused second half."""
    p = parts(fused)
    exprs = [p.kernel.expr] if isinstance(p.kernel, Pointwise) else [*p.prologue, p.epilogue]
    found = [sizes(e) for e in exprs if e is not None]
    if sum(different for different, _ in found) > MAX_SIZE:
        return f"the expression would have more than {MAX_SIZE} parts"
    if sum(written for _, written in found) > MAX_WRITTEN:
        return f"the expanded expression would have more than {MAX_WRITTEN} parts"
    units = _units(fused, context)
    most = context.target.limits.texture_units
    if units > max(most, _units(before, context)):
        return f"{units} texture units would be used, the device has {most}"
    return ""


def _units(node: Node, context: Context) -> int:
    """Return how many texture units a GPU pass of a node takes at most."""
    p = parts(node)
    is_conv = is_direct(node)
    tensors = tensor_operands(node)
    if context.target.textures != "2d":
        return len(tensors) + is_conv  # its weights may be a texture
    drawn = planes_in_a_pass(node.result.type, context.target)
    whole = set() if isinstance(p.kernel, Pointwise) else set(p.operands)
    shape = node.result.shape

    def textures(v: Value) -> int:
        """Count what a kernel's operands and differently shaped ones are read from: all of it."""
        if v in whole or not same_shape(v.shape, shape) or shape[:1] != (1,):
            return v.type.layers
        return min(v.type.layers, drawn)

    return is_conv + sum(map(textures, tensors))


@dataclass(frozen=True, eq=False)
class _Prologue:
    conv: Node
    inner: Node
    read_elsewhere: bool


def _match_prologue(site: Site) -> _Prologue | None:
    node = site.node
    p = parts(node)
    x = p.operands[0] if p.operands else None
    if not is_direct(node) or p.prologue or not isinstance(x, Result):
        return None
    if not isinstance(x.node.op, Pointwise):
        return None
    return _Prologue(node, x.node, site.uses[0] > 1)


def _check_prologue(found: _Prologue, context: Context) -> str:
    if found.read_elsewhere:
        return f"'{found.inner.name}' is read elsewhere too"
    return why_no_prologue(found.inner)


def why_no_prologue(inner: Node) -> str:
    """Return why a Pointwise node cannot be computed where a convolution loads, or nothing."""
    assert isinstance(inner.op, Pointwise)
    varying = [v for v in inner.inputs if not is_parameter(v, inner.result.type)]
    if len(varying) > 1:
        return "the formula before the convolution reads several tensors"
    if not varying or varying[0].shape != inner.result.shape:
        return "the formula before the convolution broadcasts its operand"
    calls = [e for e in walk(expand(inner.op.expr)) if isinstance(e, Call)]
    if len(calls) > MAX_PROLOGUE or any(c.function not in CHEAP for c in calls):
        return "the formula before the convolution is too expensive to repeat for every tap"
    if any(c.function == "div" and not isinstance(c.args[1], Num) for c in calls):
        return "the formula may divide by zero in unused lanes: zero weights times infinity are NaN"
    return ""


def _rewrite_prologue(found: _Prologue) -> Value:
    inner = found.inner.op
    assert isinstance(inner, Pointwise)
    p = parts(found.conv)
    extras = list(p.extras)
    bindings: dict[str, Expr] = {}
    x: Value | None = None
    for i, value in enumerate(found.inner.inputs):
        if is_parameter(value, found.inner.result.type):
            bindings[f"x{i}"] = _merge_operands(Var("x0"), (value,), extras, "e")
        else:
            x = value
            bindings[f"x{i}"] = Var("x")
    assert x is not None
    fused = replace(
        p,
        operands=(x, *p.operands[1:]),
        prologue=(substitute(inner.expr, bindings),),
        extras=tuple(extras),
    )
    return assemble(fused, _layers(found.inner, found.conv), found.conv.choice).result


def _layers(first: Node, second: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first.layers, *second.layers)))


MERGE: Rule[_Fusion] = Rule(
    "merge pointwise", _match_pointwise, _check_pointwise, lambda f: f.merged.result
)
EPILOGUE: Rule[_Fusion] = Rule(
    "fuse epilogue", _match_kernel, _check_kernel, lambda f: f.fused.result
)
PROLOGUE: Rule[_Prologue] = Rule(
    "fuse prologue", _match_prologue, _check_prologue, _rewrite_prologue
)


def fuse_pointwise(graph: Graph, context: Context) -> Graph:
    """Merge pointwise chains, then attach them to kernels, then to loads."""
    graph = apply_rules(graph, context, MERGE, EPILOGUE)
    return apply_rules(graph, context, PROLOGUE)
