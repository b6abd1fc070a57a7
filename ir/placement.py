"""Which values need a texture, and of which format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .graph import Constant

if TYPE_CHECKING:
    from .graph import Node, Value


def is_parameter(value: Value) -> bool:
    """Whether a value is a scalar or one constant for each channel: it goes into the code."""
    n, _, h, w = value.type.nchw if value.type.rank <= 4 else (0, 0, 0, 0)
    return isinstance(value, Constant) and n == h == w == 1


def tensor_operands(node: Node) -> tuple[Value, ...]:
    """Return the operands that a node's GPU passes read as textures, each once."""
    from .ops import Conv, parts

    p = parts(node)
    operands = p.operands[:1] if isinstance(p.kernel, Conv) else p.operands
    found = dict.fromkeys(v for v in (*operands, *p.extras) if not is_parameter(v))
    return tuple(found)
