"""Typed values of a shader program. Python's operators build them: ``corner + ivec2(1, 0)``.

An expression has no side effect and may be printed more than once. Python's numbers take the type
of the other operand. Sums and products of constant ints are folded; adding 0 and multiplying by 1
are dropped.

:mod:`.constructors` has functions that build further expressions.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from ...records import dataclass
from .operations import FOLD, INTRINSICS, type_of
from .types import FLOAT, INT, IVEC2, MAT4, VEC2, VEC4, Type

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

    from .operations import Operator
    from .program import Array, Function, TextureBinding

NOTHING = Type("bool", 0)  # what a function that returns nothing gives
LANES = "xyzw"


def _set_type(e: Expression, type: Type) -> None:
    object.__setattr__(e, "type", type)


@dataclass(frozen=True)
class Expression:
    """A value; every kind of it has a ``type`` and the expressions it is made of."""

    if TYPE_CHECKING:

        @property
        def type(self) -> Type: ...

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The expressions that it is made of."""
        return ()

    def __add__(self, other: Operand) -> Expression:
        return _arithmetic("+", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return _arithmetic("+", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return _arithmetic("/", other, self)

    def __floordiv__(self, other: Operand) -> Expression:
        """Divide ints, neither of them negative."""
        return _arithmetic("/", self, other)

    def __mod__(self, other: Operand) -> Expression:
        return _arithmetic("%", self, other)

    def __lshift__(self, other: Operand) -> Expression:
        return binary("<<", self, other)

    def __rshift__(self, other: Operand) -> Expression:
        return binary(">>", self, other)

    def __and__(self, other: Operand) -> Expression:
        return binary("&", self, other)

    def __or__(self, other: Operand) -> Expression:
        return binary("|", self, other)

    def __xor__(self, other: Operand) -> Expression:
        return binary("^", self, other)

    def __neg__(self) -> Expression:
        return Negative(self)

    def __lt__(self, other: Operand) -> Expression:
        return binary("<", self, other)

    def __le__(self, other: Operand) -> Expression:
        return binary("<=", self, other)

    def __gt__(self, other: Operand) -> Expression:
        return binary(">", self, other)

    def __ge__(self, other: Operand) -> Expression:
        return binary(">=", self, other)

    def equals(self, other: Operand) -> Expression:
        """Return whether two values are equal; ``==`` compares expressions themselves."""
        return binary("==", self, other)

    def lanes(self, names: str) -> Expression:
        """Return components of a vector, ``xyz`` say."""
        return Lanes(self, names)

    @property
    def x(self) -> Expression:
        return Lanes(self, "x")

    @property
    def y(self) -> Expression:
        return Lanes(self, "y")

    @property
    def z(self) -> Expression:
        return Lanes(self, "z")


Operand = Expression | int | float
Int = Expression | int


@dataclass(frozen=True)
class Number(Expression):
    """A scalar that is known."""

    value: float
    type: Type


@dataclass(frozen=True)
class Numbers(Expression):
    """A vector of floats that are known, or a mat4 of its columns one after the other."""

    values: tuple[float, ...]
    type: Type = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        count = len(self.values)
        _set_type(self, MAT4 if count == MAT4.lanes * MAT4.columns else FLOAT.of(count))


@dataclass(frozen=True)
class Variable(Expression):
    """A local variable, a parameter, or the counter of a loop."""

    name: str
    type: Type


@dataclass(frozen=True)
class Uniform(Expression):
    """A value that the runtime sets: an int, or the matrix of an external texture.

    Dialects may add others: in user shaders, the player sets sizes of textures, which are vectors.
    """

    name: str
    type: Type = INT


@dataclass(frozen=True)
class BuiltIn(Expression):
    """A built-in variable: the pixel of a draw, or the invocation's number in a dispatch."""

    name: Literal["pixel", "lane", "group_x", "group_y"]
    type: Type = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _set_type(self, IVEC2 if self.name == "pixel" else INT)


@dataclass(frozen=True)
class Binary(Expression):
    """Two operands of one type and an operator; ``matrix * vector`` and ``scalar * vector`` too."""

    operator: Operator
    left: Expression
    right: Expression
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def __post_init__(self) -> None:
        _set_type(self, type_of(self.operator, self.left.type, self.right.type))


@dataclass(frozen=True)
class Negative(Expression):
    """An operand with the other sign."""

    operand: Expression
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __post_init__(self) -> None:
        _set_type(self, self.operand.type)


@dataclass(frozen=True)
class Conditional(Expression):
    """``then`` where a condition, one bool, holds, else ``otherwise``."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.condition, self.then, self.otherwise

    def __post_init__(self) -> None:
        _set_type(self, self.then.type)


@dataclass(frozen=True)
class Construct(Expression):
    """A vector or matrix of its parts, or a value as another type."""

    type: Type
    parts: tuple[Expression, ...]

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.parts


@dataclass(frozen=True)
class Lanes(Expression):
    """Components of a vector."""

    vector: Expression
    names: str
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.vector,)

    def __post_init__(self) -> None:
        _set_type(self, self.vector.type.of(len(self.names)))


@dataclass(frozen=True)
class Intrinsic(Expression):
    """A function of the shading language, by the name that :data:`INTRINSICS` gives it."""

    name: str
    arguments: tuple[Expression, ...]
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.arguments

    def __post_init__(self) -> None:
        _set_type(self, INTRINSICS[self.name](*(a.type for a in self.arguments)))


@dataclass(frozen=True)
class Invoke(Expression):
    """A function of the program, applied."""

    function: Function
    arguments: tuple[Expression, ...]
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.arguments

    def __post_init__(self) -> None:
        _set_type(self, self.function.returns or NOTHING)


@dataclass(frozen=True)
class Element(Expression):
    """An element of a constant array or of a buffer."""

    array: Array
    index: Expression
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.index,)

    def __post_init__(self) -> None:
        _set_type(self, self.array.element)


@dataclass(frozen=True)
class Column(Expression):
    """A column of a matrix."""

    matrix: Expression
    index: int
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.matrix,)

    def __post_init__(self) -> None:
        _set_type(self, self.matrix.type.of(self.matrix.type.lanes))


@dataclass(frozen=True)
class Texel(Expression):
    """Four numbers read from a texture.

    Attributes:
        texture: the texture.
        position: an ivec2; the result is undefined outside the texture.
        layer: of an array texture.
        centre: the same position as a vec2 of 0 to 1, for sampling at texel centres.
        size: the vec2 of a texture's width and height: ``position`` is sampled at its centre.
    """

    texture: TextureBinding
    position: Expression | None = None
    layer: Expression | None = None
    centre: Expression | None = None
    size: Expression | None = None
    type: Type = field(init=False, repr=False, compare=False)

    @property
    def operands(self) -> tuple[Expression, ...]:
        parts = (self.position, self.layer, self.centre, self.size)
        return tuple(e for e in parts if e is not None)

    @property
    def sampled_at(self) -> Expression | None:
        """The vec2 at which the texture is sampled; None if its texel is fetched."""
        if self.size is None or self.position is None:
            return self.centre
        return (Construct(VEC2, (self.position,)) + 0.5) / self.size

    def __post_init__(self) -> None:
        _set_type(self, VEC4)


def literal(value: Operand, type: Type) -> Expression:
    """Return a number of Python as a scalar of a type's kind; an expression as it is."""
    if isinstance(value, Expression):
        return value
    return Number(int(value) if type.scalar == "int" else value, type.of(1))


def known(value: Operand) -> int | None:
    """Return an int that is known, else None."""
    if isinstance(value, Number) and value.type == INT:
        return int(value.value)
    return value if isinstance(value, int) else None


def is_int(value: Operand) -> TypeGuard[Expression]:
    """Whether a value is an expression that gives an int."""
    return isinstance(value, Expression) and value.type == INT


def binary(operator: Operator, left: Operand, right: Operand) -> Expression:
    """Return two operands combined; numbers of Python take the type of the other."""
    if not isinstance(left, Expression):
        assert isinstance(right, Expression)
        left = literal(left, right.type)
    return Binary(operator, left, literal(right, left.type))


def _arithmetic(operator: Operator, left: Operand, right: Operand) -> Expression:
    """Return a sum, difference, product or quotient, without what changes nothing."""
    a, b = known(left), known(right)
    if a is None and b is None:
        return binary(operator, left, right)
    if is_int(left) and ((b == 0 and operator in "+-") or (b == 1 and operator in "*/")):
        return left
    if is_int(right) and ((a == 0 and operator == "+") or (a == 1 and operator == "*")):
        return right
    made = binary(operator, left, right)
    if a is None or b is None or made.type != INT or (operator in "/%" and (a < 0 or b <= 0)):
        return made
    return Number(FOLD[operator](a, b), INT)


def walk(*expressions: Expression) -> Iterator[Expression]:
    """Yield every part of expressions."""
    stack = list(expressions)
    while stack:
        e = stack.pop()
        yield e
        stack += e.operands
