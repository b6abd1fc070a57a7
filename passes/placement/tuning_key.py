"""Tuning keys: nodes of equal keys take the same time, in any model.

A key is the text of the operator, of the types and kinds of its operands, and of the target's
shader options. Names and weights are not part of it. Two nodes that differ only in the number of
zero weights share a key, though unrolled code leaves out zero constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.graph import Constant, Input
from ...ir.text import op_text, type_text

if TYPE_CHECKING:
    from ...ir.graph import Node, Value
    from .target import Target


def tuning_key(node: Node, target: Target) -> str:
    """Return the tuning key of a placed node; its choice counts only by precision and sums."""
    operands = [f"{node.inputs.index(v)}: {_operand(v)}" for v in dict.fromkeys(node.inputs)]
    order = [str(node.inputs.index(v)) for v in node.inputs]
    results = ", ".join(type_text(r.type.without_slot()) for r in node.results)
    terms = node.choice.partial_terms
    sums = f" with partial sums of {terms}" if terms else ""
    halves = " with f16" if target.wgsl == "f16" and node.choice.precision == "mediump" else ""
    return (
        f"{op_text(node.op)}({', '.join(order)}): {results} of {'; '.join(operands)}; "
        f"{node.choice.precision}{sums} in {target.language}{halves}, {_options(target)}"
    )


def is_for(tuning_key: str, target: Target) -> bool:
    """Whether a tuning key has the shader options of a target."""
    return f" in {target.language}" in tuning_key and tuning_key.endswith(_options(target))


def _options(target: Target) -> str:
    return f"{target.fetch}, parameters in {target.parameters}, weights of {target.weight_format}"


def _operand(value: Value) -> str:
    kind = "result"
    if isinstance(value, Constant):
        kind = "constant"
    elif isinstance(value, Input):  # shaders read the application's textures differently
        kind = "input"
    return f"{kind} {type_text(value.type.without_slot())}"
