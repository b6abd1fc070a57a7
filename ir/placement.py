"""Which values need a texture, and of which format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .graph import Constant
from .types import LANES

if TYPE_CHECKING:
    from .graph import Node, Value


def is_parameter(value: Value) -> bool:
    """Whether a value is a scalar or one constant for each channel: it goes into the code."""
    n, _, h, w = value.type.nchw if value.type.rank <= 4 else (0, 0, 0, 0)
    return isinstance(value, Constant) and n == h == w == 1


def input_planes(shape: tuple[int, ...], groups: int, plane: int) -> range:
    """Return the input planes that an output plane of a convolution reads; weights OIHW."""
    o, per_group = shape[:2]
    out_per_group = o // groups
    last = min((plane + 1) * LANES, o) - 1
    low = plane * LANES // out_per_group * per_group
    high = (last // out_per_group + 1) * per_group - 1
    return range(low // LANES, high // LANES + 1)


def is_depthwise(shape: tuple[int, ...], groups: int) -> bool:
    """Whether every output channel reads the input channel of its own number, OIHW weights."""
    return groups > 1 and shape[1] == 1 and shape[0] == groups


def tensor_operands(node: Node) -> tuple[Value, ...]:
    """Return the operands that a node's GPU passes read as textures, each once.

    What a kernel computes with always lies in a texture, but for a convolution's weights; operands
    of formulas only where they are not parameters.
    """
    from .ops import Conv, Pointwise, parts

    p = parts(node)
    kernel, formula = p.operands, p.extras
    if isinstance(p.kernel, Pointwise):
        kernel, formula = (), p.operands
    elif isinstance(p.kernel, Conv):
        kernel = p.operands[:1]
    return tuple(dict.fromkeys((*kernel, *(v for v in formula if not is_parameter(v)))))
