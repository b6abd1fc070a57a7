"""Fused separable convolution: a depthwise convolution and the 1x1 convolution after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.graph import Node
from ...ir.ops.base import Op, require
from ...ir.ops.convolution import Conv, is_depthwise
from ...ir.types import Layout
from ...records import dataclass, replace
from .fused import Fused, assemble, parts

if TYPE_CHECKING:
    from ...ir.types import TensorType


@dataclass(frozen=True)
class SeparableConv(Op):
    """y = conv(first(x, ...); w, b) with 1x1 weights w, where first is depthwise, perhaps Fused.

    The first ``arity`` operands are those of ``first``, all constants but x. The intermediate is
    never stored, so it has the precision of arithmetic.
    """

    for_kernels = True

    first: Op
    arity: int

    def infer(self, *inputs: TensorType) -> TensorType:
        require(
            len(inputs) > self.arity >= 2,
            f"a fused separable convolution of arity {self.arity} has {len(inputs)} operands",
        )
        between = self.first.infer(*inputs[: self.arity])
        conv = self.first.kernel if isinstance(self.first, Fused) else self.first
        depthwise = isinstance(conv, Conv) and is_depthwise(inputs[1].shape, conv.groups)
        require(depthwise, "a fused separable convolution must begin with a depthwise one")
        assert not isinstance(between, tuple)
        w = inputs[self.arity]
        require(w.shape[2:] == (1, 1), "a fused separable convolution must end with a 1x1 one")
        return Conv().infer(between, *inputs[self.arity :])

    def reference(self, *inputs: Any) -> Any:
        between = self.first.reference(*inputs[: self.arity])
        return Conv().reference(between, *inputs[self.arity :])


def separable(first: Node, second: Node) -> Node:
    """Fuse two convolutions into one placed node; only ``second`` reads ``first``."""
    p = parts(second)
    kernel = SeparableConv(first.op, len(first.inputs))
    layers = tuple(dict.fromkeys((*first.layers, *second.layers)))
    both = replace(p, kernel=kernel, operands=(*first.inputs, *p.operands[1:]))
    terms = min(first.choice.partial_terms, second.choice.partial_terms)
    choice = replace(second.choice, partial_terms=terms)
    return replace(assemble(both, layers, choice), types=tuple(r.type for r in second.results))


def halves(node: Node) -> tuple[Node, Node]:
    """Return the two convolutions of a placed node; the first computes one plane at a time.

    The type of the intermediate is an array of 32-bit planes.
    """
    p = parts(node)
    assert isinstance(p.kernel, SeparableConv)
    k = p.kernel.arity
    first = Node(p.kernel.first, p.operands[:k], node.layers, replace(node.choice, planes=1))
    first = replace(first, types=(first.result.type.placed(Layout("array", "rgba32f")),))
    alone = replace(p, kernel=Conv(), operands=(first.result, *p.operands[k:]))
    second = assemble(alone, node.layers, node.choice)
    return first, replace(second, types=tuple(r.type for r in node.results))
