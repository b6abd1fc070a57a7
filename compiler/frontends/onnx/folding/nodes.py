"""Which of the ways to compute a node whose inputs are all known is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operands import Known
from .by_numpy import compute, is_computed
from .by_onnx_reference import EVALUATED, evaluate_node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..operands import Item
    from ..ops.node import OnnxNode


def fold_node(node: OnnxNode) -> Item | Sequence[Item] | None:
    """Carry out a node of ai.onnx whose inputs are all known; None for others.

    Operators whose handlers compute known elements themselves, such as Reshape, Gather or Cast, are
    not among those carried out here.

    Raises:
        ShadergenError: SG0205 when the operands do not fit the operator or each other, SG0401 when
            the results are too large.
    """
    if is_computed(node):
        return compute(node)
    known = all(isinstance(i, Known) or i is None for i in node.inputs)
    return evaluate_node(node) if known and node.op in EVALUATED else None
