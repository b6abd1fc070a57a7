"""Operators on the bits of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir import integers
from .....ir.expr import Call, Var
from .....ir.formula_parser import parse
from .....ir.formulas import summary
from .....ir.ops import Pointwise
from .elementwise import alike, operand_count

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .elementwise import Handler
    from .node import OnnxNode

A, B = Var("x0"), Var("x1")


def bitwise(function: str) -> Handler:
    """An operator on the bits of two integers of one type."""

    def handler(node: OnnxNode) -> Value:
        operand_count(node, parse("x0 + x1"), {})
        operands = alike(node, 0, 1, integer=True)
        return node.apply(Pointwise(Call(function, (A, B)), operands[0].type.dtype), *operands)

    handler.__doc__ = summary(f"{function}(x0, x1)")
    return handler


def bitwise_not(node: OnnxNode) -> Value:
    """BitwiseNot, but not of uint32 and uint64: the results exceed 2^24."""
    (x,) = alike(node, 0, integer=True)
    expr = integers.complement(A, x.type.dtype)
    if expr is None:
        raise ShadergenError(
            "SG0206",
            f"BitwiseNot of {x.type.dtype} is not implemented",
            why="integers are computed as float32, which is exact up to 2^24",
        )
    return node.apply(Pointwise(expr, x.type.dtype), x)


def bit_shift(node: OnnxNode) -> Value:
    """BitShift: the bits of integers moved to the left or right."""
    x, count = alike(node, 0, 1, integer=True)
    directions = {"LEFT": True, "RIGHT": False}
    direction = node.text("direction")
    if direction not in directions:
        raise node.refusal("direction", direction, tuple(directions))
    dtype = x.type.dtype
    return node.apply(
        Pointwise(integers.shift(A, B, directions[direction], dtype), dtype), x, count
    )


BITWISE: dict[str, Handler] = {
    "BitShift": bit_shift,
    "BitwiseAnd": bitwise("bit_and"),
    "BitwiseNot": bitwise_not,
    "BitwiseOr": bitwise("bit_or"),
    "BitwiseXor": bitwise("bit_xor"),
}
