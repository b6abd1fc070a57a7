"""Functions that build expressions: vectors, matrices, intrinsic functions, combined conditions.

Python's numbers take the type of the other operands, as with the operators of
:mod:`.expressions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .expressions import Binary, Construct, Expression, Intrinsic, Number, Numbers, known, literal
from .types import FLOAT, INT, IVEC2, MAT4, VEC2, VEC4

if TYPE_CHECKING:
    from .expressions import Int, Operand
    from .types import Type


def integer(value: Int) -> Expression:
    """Return an int as an expression."""
    return literal(value, INT)


def all_of(conditions: list[Expression]) -> Expression:
    """Return whether all hold, of one at least."""
    found = conditions[0]
    for condition in conditions[1:]:
        found = Binary("&&", found, condition)
    return found


def any_of(conditions: list[Expression]) -> Expression:
    """Return whether any holds, of one at least."""
    found = conditions[0]
    for condition in conditions[1:]:
        found = Binary("||", found, condition)
    return found


def filled(value: Operand, type: Type) -> Expression:
    """Return a known number as a value of a type; return any other expression unchanged."""
    if isinstance(value, Expression) and not isinstance(value, Number):
        return value
    number = value.value if isinstance(value, Number) else value
    if type.lanes == 1:
        return literal(number, type)
    if type.scalar == "float":
        return Numbers((float(number),) * type.lanes)
    return Construct(type, (Number(number, type.of(1)),))


def intrinsic(name: str, *arguments: Operand) -> Expression:
    """Return a function of the shading language; numbers of Python are of the others' type."""
    kind = next((a.type for a in arguments if isinstance(a, Expression)), FLOAT)
    made = (a if isinstance(a, Expression) else filled(a, kind) for a in arguments)
    return Intrinsic(name, tuple(made))


def construct(type: Type, *parts: Operand) -> Expression:
    """Return a vector of its parts, or a value as another type."""
    return Construct(type, tuple(literal(p, type) for p in parts))


def vec2(*parts: Operand) -> Expression:
    """Return a vector of two floats."""
    return construct(VEC2, *parts)


def vec4(*parts: Operand) -> Expression:
    """Return a vector of four, or of one number four times."""
    return construct(VEC4, *parts)


def ivec2(*parts: Operand) -> Expression:
    """Return a vector of two ints."""
    return construct(IVEC2, *parts)


def mat4(*columns: Expression) -> Expression:
    """Return a matrix of its columns."""
    return construct(MAT4, *columns)


def offset(position: Expression, x: Int, y: Int) -> Expression:
    """Return an ivec2 moved by (x, y)."""
    if known(x) == 0 and known(y) == 0:
        return position
    return position + ivec2(x, y)
