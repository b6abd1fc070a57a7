"""Convolutions in slices of their input planes, for devices that read weights as streams.

    conv(x; W, b) = conv(x[0:k]; W[:, 0:k], b) + conv(x[k:2k]; W[:, k:2k]) + ...

VideoCore reads uniform blocks as streams. It multiplies about twice as fast by weights that
unrolled code names in order as by weights that a loop indexes. Unrolled code for a whole layer
would take many seconds to compile. The code of a slice has a few hundred vectors of weights, and
equal slices of all layers share it. Each slice adds its sums to the sums of the slice before.

Every slice has a bias, even if it is zero: with literal zeros instead, VideoCore's compiler may
read weights so far ahead that the products take 1.5 times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ir.expr import Call, Var, substitute, variables
from ...ir.graph import Choice, Constant, Node, constant, infer
from ...ir.ops import Conv, Slice
from ...ir.types import LANES, Layout
from ...passes.kernel_ops import assemble, parts
from ...passes.kernel_ops.fused import Parts
from ...passes.placement.kinds import at_default, is_direct, planes_share_a_program
from ...records import replace
from .weight_storage import streamed

if TYPE_CHECKING:
    from ...ir.graph import Value
    from ...passes.placement.target import Target


def slices(node: Node, choice: Choice, target: Target) -> tuple[range, ...]:
    """Return the input planes of each slice; empty if a convolution is not sliced."""
    most = streamed(choice, target)
    p = parts(node)
    if not most or type(p.kernel) is not Conv or choice.winograd:
        return ()
    _, _, height, width = p.operands[1].shape
    planes = p.operands[0].type.planes
    each = most // (height * width * LANES * LANES)
    if each >= planes or not each or not _is_sliceable(node, p):
        return ()
    count = -(-planes // each)
    ends = [planes * k // count for k in range(count + 1)]
    return tuple(map(range, ends, ends[1:]))


def _is_sliceable(node: Node, p: Parts) -> bool:
    """Whether slices can read the input planes in place and pass their sums on in 32 bits."""
    assert isinstance(p.kernel, Conv)
    if not is_direct(node) or p.kernel.groups > 1 or at_default(node) is not node or p.store:
        return False
    if node.choice.precision == "mediump":
        return False
    by_channel = any(len(variables(expr)) > 1 for expr in p.prologue)
    layout = p.operands[0].type.layout
    in_array = layout is not None and layout.kind == "array" and p.operands[0].shape[0] == 1
    if not in_array or by_channel or len(p.prologue) > 1 or not planes_share_a_program(node):
        return False
    return infer(p.kernel, p.operands, node.name)[0].shape == node.result.shape


def expand(node: Node, target: Target) -> tuple[Node, ...]:
    """Return the nodes of the slices; the last has the node's result."""
    found = slices(node, node.choice, target)
    if not found:
        return (node,)
    p = parts(node)
    x, w, *bias = p.operands
    assert isinstance(w, Constant)
    zeros = constant(np.zeros(w.shape[0], np.float32), f"{node.name}.zeros")
    made: list[Node] = []
    total: Value | None = None
    for planes in found:
        cut = _cut(x, planes, node)
        operands = (cut.result, _weights(w, planes), *(bias if bias and not made else (zeros,)))
        own: Parts = replace(p, operands=operands, epilogue=None, extras=(), dtype="float32")
        if total is not None:
            own = replace(own, epilogue=Call("add", (Var("y"), Var("e0"))), extras=(total,))
        if planes is found[-1]:
            own = _finished(own, p)
        part = assemble(own, node.layers, node.choice)
        whole = infer(p.kernel, p.operands, node.name)[0].placed(Layout("array", "rgba32f"))
        part = replace(part, types=(node.result.type if planes is found[-1] else whole,))
        made += [cut, part]
        total = part.result
    return tuple(made)


def _cut(x: Value, planes: range, node: Node) -> Node:
    """Return the node that takes planes of a map; an alias, so nothing is copied."""
    n, c, height, width = x.shape
    first, end = planes.start * LANES, min(planes.stop * LANES, c)
    op = Slice((0, first, 0, 0), (1, 1, 1, 1), (n, end - first, height, width))
    alias = replace(node.choice.undecided, alias=True)
    return Node(op, (x,), node.layers, alias, (op.infer(x.type).placed(x.type.layout),))


def _weights(w: Constant, planes: range) -> Constant:
    """Return the weights for planes of the input."""
    data = w.data[:, planes.start * LANES : planes.stop * LANES]
    return constant(data, f"{w.name}[{planes.start}:{planes.stop}]")


def _finished(own: Parts, p: Parts) -> Parts:
    """Return the last slice, which applies the convolution's epilogue to the whole sum."""
    if p.epilogue is None:
        return replace(own, dtype=p.dtype)
    (total,) = own.extras
    name = f"e{len(p.extras)}"
    whole = substitute(p.epilogue, {"y": Call("add", (Var("y"), Var(name)))})
    return replace(own, epilogue=whole, extras=(*p.extras, total), dtype=p.dtype)
