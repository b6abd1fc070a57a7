"""What two nodes have in common that take the same time: all but names and numbers.

The text of the operator, of the types and kinds of its operands, and of what the target changes in
its shaders. A measurement of one node holds for every node of the same signature, in any model.
Zeros among weights are not told apart, though constants of zero are left out of unrolled code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.graph import Constant, Input
from ...ir.text import op_text, type_text

if TYPE_CHECKING:
    from ...ir.graph import Node, Value
    from .target import Target


def signature(node: Node, target: Target) -> str:
    """Return the signature of a placed node, whatever its choice but for the precision."""
    places = [f"{node.inputs.index(v)}: {_operand(v)}" for v in dict.fromkeys(node.inputs)]
    order = [str(node.inputs.index(v)) for v in node.inputs]
    results = ", ".join(type_text(r.type.without_slot()) for r in node.results)
    return (
        f"{op_text(node.op)}({', '.join(order)}): {results} of {'; '.join(places)}; "
        f"{node.choice.precision} in GLSL ES {target.glsl}, {target.fetch}, "
        f"parameters in {target.parameters}, weights of {target.weight_format}"
    )


def _operand(value: Value) -> str:
    kind = "result"
    if isinstance(value, Constant):
        kind = "constant"
    elif isinstance(value, Input):  # the application's textures are read otherwise
        kind = "input"
    return f"{kind} {type_text(value.type.without_slot())}"
