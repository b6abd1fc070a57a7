"""Attach element-wise work to the kernel beside it.

f(g(x)) is one pointwise node by substitution; f(kernel(x)) is the kernel with epilogue f, its
other operands (a residual, say) loaded at the store; conv(f(x)) is the convolution with prologue
f where f is cheap and x has to be stored anyway. Refused when the inner result is read elsewhere,
when shapes would grow, when a GPU pass would read more textures than the device has units, or
when the expression grows too large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..ir.expr import Call, Expr, Num, Var, expand, substitute, tree_size, walk
from ..ir.graph import Choice, Node, Result
from ..ir.ops import Conv, Movement, Pointwise, assemble, parts
from ..ir.placement import is_parameter, tensor_operands
from .group_outputs import planes_in_a_pass
from .rule import Rule, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
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


def _match_operand(site: Site, kernels: tuple[type, ...]) -> _Fusion | None:
    node = site.node
    if not isinstance(node.op, Pointwise):
        return None
    found = [
        _Fusion(node, value.node, uses > sum(v is value for v in node.inputs))
        for value, uses in zip(node.inputs, site.uses, strict=True)
        if isinstance(value, Result) and isinstance(parts(value.node).kernel, kernels)
    ]
    return min(found, key=lambda f: f.read_elsewhere, default=None)


def _match_pointwise(site: Site) -> _Fusion | None:
    return _match_operand(site, (Pointwise,))


def _match_kernel(site: Site) -> _Fusion | None:
    found = [_match_operand(site, (Conv,)), _match_operand(site, (Movement,))]
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
        renamed[f"x{i}"] = Var(f"{prefix}{position}")
    return substitute(expr, renamed)


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
    return Node(Pointwise(expr), tuple(operands), _layers(found.inner, found.node))


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
    fused = replace(p, epilogue=substitute(outer.expr, bindings), extras=tuple(extras))
    return assemble(fused, _layers(found.inner, found.node), Choice())


def _check_pointwise(found: _Fusion, context: Context) -> str:
    if found.read_elsewhere:
        return f"'{found.inner.name}' is read elsewhere too"
    if found.node.result.type.nchw != found.inner.result.type.nchw:
        return "the inner result is broadcast, so it would be computed many times"
    return _too_large(_merged_pointwise(found), found.node, context)


def _check_kernel(found: _Fusion, context: Context) -> str:
    if found.read_elsewhere:
        return f"'{found.inner.name}' is read elsewhere too"
    (n, c, h, w), (n2, c2, h2, w2) = (node.result.type.nchw for node in (found.inner, found.node))
    if (n, h, w) != (n2, h2, w2) or (c != c2 and not (c == 1 and c2 <= 4)):
        return "the kernel's result is broadcast, so it would be computed many times"
    if found.node.result.type.rank != found.inner.result.type.rank:
        return "the result has another rank"
    fused = _with_epilogue(found)
    if fused.result.shape != found.node.result.shape:
        return "an operand that gives the result its shape is not used"
    return _too_large(fused, found.node, context)


def _too_large(fused: Node, before: Node, context: Context) -> str:
    """Say why ``fused`` would be too much for one pass; ``before`` is its unfused second half."""
    p = parts(fused)
    exprs = [p.kernel.expr] if isinstance(p.kernel, Pointwise) else [p.prologue, p.epilogue]
    if sum(1 for e in exprs if e is not None for _ in walk(e)) > MAX_SIZE:
        return f"the expression would have more than {MAX_SIZE} parts"
    if sum(tree_size(e) for e in exprs if e is not None) > MAX_WRITTEN:
        return f"the expression, written out, would have more than {MAX_WRITTEN} parts"
    units = _units(fused, context)
    most = context.target.limits.texture_units
    if units > max(most, _units(before, context)):
        return f"{units} texture units would be used, the device has {most}"
    return ""


def _units(node: Node, context: Context) -> int:
    """Return how many texture units a GPU pass of a node takes at most."""
    p = parts(node)
    is_conv = isinstance(p.kernel, Conv)
    tensors = tensor_operands(node)
    if context.target.textures != "2d":
        return len(tensors) + is_conv  # its weights may be a texture
    drawn = planes_in_a_pass(node.result.type, context.target)
    whole = () if isinstance(p.kernel, Pointwise) else p.operands
    return is_conv + sum(
        v.type.planes if any(v is o for o in whole) else min(v.type.planes, drawn) for v in tensors
    )


@dataclass(frozen=True, eq=False)
class _Prologue:
    conv: Node
    inner: Node
    read_elsewhere: bool


def _match_prologue(site: Site) -> _Prologue | None:
    node = site.node
    p = parts(node)
    x = p.operands[0] if p.operands else None
    if not isinstance(p.kernel, Conv) or p.prologue is not None or not isinstance(x, Result):
        return None
    if not isinstance(x.node.op, Pointwise):
        return None
    return _Prologue(node, x.node, site.uses[0] > 1)


def _check_prologue(found: _Prologue, context: Context) -> str:
    assert isinstance(found.inner.op, Pointwise)
    if found.read_elsewhere:
        return f"'{found.inner.name}' is read elsewhere too"
    varying = [v for v in found.inner.inputs if not is_parameter(v)]
    if len(varying) != 1 or varying[0].shape != found.inner.result.shape:
        return "it combines several tensors"
    calls = [e for e in walk(expand(found.inner.op.expr)) if isinstance(e, Call)]
    if len(calls) > MAX_PROLOGUE or any(c.function not in CHEAP for c in calls):
        return "it is too dear to repeat for every tap"
    if any(c.function == "div" and not isinstance(c.args[1], Num) for c in calls):
        return "it may divide by zero in unused lanes, which weights of 0 would not undo"
    return ""


def _rewrite_prologue(found: _Prologue) -> Value:
    inner = found.inner.op
    assert isinstance(inner, Pointwise)
    p = parts(found.conv)
    extras = list(p.extras)
    bindings: dict[str, Expr] = {}
    x: Value | None = None
    for i, value in enumerate(found.inner.inputs):
        if is_parameter(value):
            bindings[f"x{i}"] = _merge_operands(Var("x0"), (value,), extras, "e")
        else:
            x = value
            bindings[f"x{i}"] = Var("x")
    assert x is not None
    fused = replace(
        p,
        operands=(x, *p.operands[1:]),
        prologue=substitute(inner.expr, bindings),
        extras=tuple(extras),
    )
    return assemble(fused, _layers(found.inner, found.conv), found.conv.choice).result


def _layers(first: Node, second: Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first.layers, *second.layers)))


MERGE: Rule[_Fusion] = Rule(
    "merge pointwise", _match_pointwise, _check_pointwise, lambda f: _merged_pointwise(f).result
)
EPILOGUE: Rule[_Fusion] = Rule(
    "fuse epilogue", _match_kernel, _check_kernel, lambda f: _with_epilogue(f).result
)
PROLOGUE: Rule[_Prologue] = Rule(
    "fuse prologue", _match_prologue, _check_prologue, _rewrite_prologue
)


def fuse_pointwise(graph: Graph, context: Context) -> Graph:
    """Merge pointwise chains, then attach them to kernels, then to loads."""
    graph = apply_rules(graph, context, MERGE, EPILOGUE)
    return apply_rules(graph, context, PROLOGUE)
