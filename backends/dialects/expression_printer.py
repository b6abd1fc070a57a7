"""Print expressions of C-like shading languages: operators, calls, numbers.

One method prints each kind of expression, so that a dialect replaces what differs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import compress
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...errors import InternalError
from ..shader.expressions import (
    Binary,
    BuiltIn,
    Column,
    Conditional,
    Construct,
    Element,
    Intrinsic,
    Invoke,
    Lanes,
    Negative,
    Number,
    Numbers,
    Texel,
    Uniform,
    Variable,
)
from ..shader.types import FLOAT

if TYPE_CHECKING:
    from ..shader.expressions import Expression
    from ..shader.operations import Operator
    from ..shader.program import Function
    from ..shader.types import Type

PLAIN = 1e-3, 1e6  # numpy prints floats of these magnitudes like literals
INFINITE = 2.0**128 - 2.0**103  # float32 rounds numbers from here on to infinity

# How tightly operators bind, the tightest last.
LEVELS = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "<": 7, "<=": 7, ">": 7, ">=": 7}
LEVELS |= {"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
CONDITIONAL, SIGN, ATOM = 0, 11, 12
BITS = ("<<", ">>", "&", "|", "^")  # operands get brackets, because few readers know the precedence


class ExpressionPrinter(ABC):
    """Prints expressions; a dialect names types and spells numbers, calls and texture reads.

    Unknown kinds of expressions are refused.
    """

    BUILT_INS: ClassVar[dict[str, str]] = {}  # by BuiltIn.name
    NAMES: ClassVar[dict[str, str]] = {}  # of intrinsics that the dialect calls otherwise

    def __init__(self) -> None:
        self.called: dict[Function, None] = {}  # functions in the text that was printed last
        self._simple = {kind: getattr(self, name) for kind, name in self.SIMPLE.items()}
        self._compound = {
            Binary: lambda e: self.binary(e.operator, e.left, e.right),
            Conditional: self.conditional,
            Negative: self.negative,
        }

    @abstractmethod
    def type(self, t: Type) -> str:
        """Return the name of a type."""

    @abstractmethod
    def scalar(self, number: Number) -> str:
        """Return a literal."""

    @abstractmethod
    def texel(self, e: Texel) -> str:
        """Return what reads a texture."""

    @abstractmethod
    def conditional(self, e: Conditional) -> tuple[str, int]:
        """Return one of two values by a condition, and how tightly that binds."""

    def expression(self, e: Expression) -> str:
        """Return an expression."""
        simple = self._simple.get(type(e))
        return simple(e) if simple else self.printed(e)[0]

    def printed(self, e: Expression) -> tuple[str, int]:
        """Return the text of an expression, and how tightly its outermost operator binds."""
        if simple := self._simple.get(type(e)):
            return simple(e), ATOM
        if compound := self._compound.get(type(e)):
            return compound(e)
        raise InternalError(f"no dialect prints {type(e).__name__}")

    SIMPLE: ClassVar = {
        Variable: "variable",
        Number: "scalar",
        Numbers: "vector",
        Lanes: "lanes",
        Invoke: "invoke",
        Construct: "construct",
        Intrinsic: "intrinsic",
        Texel: "texel",
        Uniform: "uniform",
        Element: "element",
        Column: "column",
        BuiltIn: "built_in",
    }

    def negative(self, e: Negative) -> tuple[str, int]:
        """Return an operand with the other sign."""
        return f"-{self.atom(e.operand)}", SIGN

    def lanes(self, e: Lanes) -> str:
        """Return components of a vector."""
        return f"{self.atom(e.vector)}.{e.names}"

    def invoke(self, e: Invoke) -> str:
        """Return a function of the program applied."""
        self.called[e.function] = None
        return f"{e.function.name}({', '.join(self.arguments(e))})"

    def built_in(self, e: BuiltIn) -> str:
        """Return a built-in variable of an invocation."""
        return self.BUILT_INS[e.name]

    def variable(self, v: Variable) -> str:
        """Return a variable."""
        return v.name

    def arguments(self, e: Invoke) -> list[str]:
        """Return the arguments that a function of the program needs."""
        return [self.expression(a) for a in compress(e.arguments, e.function.needed)]

    def parameters(self, function: Function) -> list[Variable]:
        """Return the parameters that a function reads; the others are not printed."""
        return list(compress(function.parameters, function.needed))

    def uniform(self, e: Uniform) -> str:
        """Return a uniform."""
        return e.name

    def element(self, e: Element) -> str:
        """Return an element of an array."""
        return f"{e.array.name}[{self.expression(e.index)}]"

    def column(self, e: Column) -> str:
        """Return a column of a matrix."""
        return f"{self.atom(e.matrix)}[{e.index}]"

    def vector(self, e: Numbers) -> str:
        """Return a vector or matrix of known numbers; one stands for all of a vector's."""
        if e.type.is_matrix:
            return self.matrix_of(e.type, self._columns(e))
        return self.vector_of(e.type, self._floats(e.values))

    def _columns(self, matrix: Expression) -> list[str]:
        """Return the columns of a matrix."""
        if isinstance(matrix, Construct):
            return [self.expression(column) for column in matrix.parts]
        if not isinstance(matrix, Numbers):
            return [self.expression(Column(matrix, k)) for k in range(matrix.type.columns)]
        texts, lanes = self._floats(matrix.values), matrix.type.lanes
        starts = range(0, len(texts), lanes)
        return [self.vector_of(matrix.type.of(lanes), texts[i : i + lanes]) for i in starts]

    def _floats(self, values: tuple[float, ...]) -> list[str]:
        """Return literals; numpy prints most of them at once."""
        with np.errstate(over="ignore"):
            texts = np.array(values, np.float32).astype(str).tolist()
        low, high = PLAIN
        return [
            text if low < abs(v) < high else self.scalar(Number(v, FLOAT))
            for v, text in zip(values, texts, strict=True)
        ]

    def vector_of(self, t: Type, texts: list[str]) -> str:
        """Return a vector of printed numbers; equal ones are printed once."""
        same = len(set(texts)) == 1
        return f"{self.type(t)}({texts[0] if same else ', '.join(texts)})"

    def matrix_of(self, t: Type, columns: list[str]) -> str:
        """Return a matrix of printed columns, one a line."""
        rows = ",\n    ".join(columns)
        return f"{self.type(t)}(\n    {rows}\n)"

    def construct(self, e: Construct) -> str:
        """Return a vector or matrix of its parts."""
        texts = [self.expression(part) for part in e.parts]
        if e.type.is_matrix:
            return self.matrix_of(e.type, texts)
        return f"{self.type(e.type)}({', '.join(texts)})"

    def intrinsic(self, e: Intrinsic) -> str:
        """Return a function of the language applied."""
        texts = (self.expression(a) for a in e.arguments)
        return f"{self.NAMES.get(e.name, e.name)}({', '.join(texts)})"

    def binary(self, sign: Operator, left: Expression, right: Expression) -> tuple[str, int]:
        """Return two operands and an operator, with the brackets they need."""
        level = LEVELS[sign]
        if sign == "+" and isinstance(right, Number) and math.copysign(1, right.value) < 0:
            sign, right = "-", Number(-right.value, right.type)
        if sign in BITS:
            return f"{self.atom(left)} {sign} {self.atom(right)}", level
        first, own = self.printed(left)
        if own < level or first.startswith("-"):
            first = f"({first})"
        text, own = self.printed(right)
        if own <= level or text.startswith("-"):
            text = f"({text})"
        return f"{first} {sign} {text}", level

    def atom(self, e: Expression) -> str:
        """Return an expression, in brackets unless it needs none."""
        text, level = self.printed(e)
        return text if level == ATOM and not text.startswith("-") else f"({text})"


def decimal(single: np.float32) -> str:
    """Return a finite float32 as the shortest text that reads back as it, with a decimal point."""
    if PLAIN[0] < abs(single) < PLAIN[1]:
        return str(single)
    if single == 0 or 1e-4 <= abs(single) < 1e7:
        return np.format_float_positional(single, trim="0")
    return np.format_float_scientific(single, trim="0", exp_digits=2)
