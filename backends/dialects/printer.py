"""The common part of C-like shading languages: operators, calls, blocks.

One method prints each kind of expression and statement, so that a dialect replaces what differs.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from itertools import chain, compress
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...errors import InternalError
from ..shader.expressions import (
    LANES,
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
from ..shader.statements import (
    Add,
    Assign,
    Comment,
    Declare,
    If,
    Loop,
    MultiplyAdd,
    Perform,
    Return,
    Scope,
    WriteImage,
    WriteTarget,
)
from ..shader.types import FLOAT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..shader.expressions import Expression, Operator
    from ..shader.program import Function
    from ..shader.statements import Statement
    from ..shader.types import Type

PLAIN = 1e-3, 1e6  # sizes of floats that numpy prints as literals are written
INFINITE = 2.0**128 - 2.0**103  # what float32 rounds to infinity begins here
LINE = 94  # characters of a function or a branch that is written on one line

# How tightly operators bind, the tightest last.
LEVELS = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "<": 7, "<=": 7, ">": 7, ">=": 7}
LEVELS |= {"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
CONDITIONAL, SIGN, ATOM = 0, 11, 12
BITS = ("<<", ">>", "&", "|", "^")  # whose operands are put in brackets for the reader's sake


class Printer(ABC):
    """Prints expressions and statements; a dialect says what differs.

    A dialect gives names to types (:meth:`type`) and built-in values, and spells numbers, calls,
    declarations, fetches and stores. What a method does not know it refuses.

    Args:
        chained: see :class:`~..shader.program.Program`.
    """

    def __init__(self, chained: bool = False) -> None:
        self.chained = chained
        self.called: dict[Function, None] = {}  # by what was printed last
        self._statements = {kind: getattr(self, name) for kind, name in self.STATEMENTS.items()}
        self._simple = {kind: getattr(self, name) for kind, name in self.SIMPLE.items()}
        self._compound = {
            Binary: lambda e: self.binary(e.operator, e.left, e.right),
            Conditional: self.conditional,
            Negative: self.negative,
        }

    BUILT_INS: ClassVar[dict[str, str]] = {}
    NAMES: ClassVar[dict[str, str]] = {}  # of intrinsics, where not their own

    @abstractmethod
    def type(self, t: Type) -> str:
        """Return the name of a type."""

    @abstractmethod
    def scalar(self, number: Number) -> str:
        """Return a literal."""

    @abstractmethod
    def declare(self, name: str, t: Type, value: str, full: bool) -> str:
        """Return the declaration of a variable with its value."""

    @abstractmethod
    def declare_all(self, names: Sequence[str], t: Type, full: bool) -> Iterator[str]:
        """Yield the declarations of variables of one type that are assigned later."""

    @abstractmethod
    def texel(self, e: Texel) -> str:
        """Return what reads a texture."""

    @abstractmethod
    def write_target(self, s: WriteTarget) -> str:
        """Return what writes to a render target."""

    @abstractmethod
    def write_image(self, s: WriteImage) -> str:
        """Return what stores in the result's image."""

    @abstractmethod
    def head(self, function: Function) -> str:
        """Return the head of a function."""

    @abstractmethod
    def loop_head(self, counter: str, start: str, end: str, step: int) -> str:
        """Return the head of a loop."""

    @abstractmethod
    def conditional(self, e: Conditional) -> tuple[str, int]:
        """Return one of two values by a condition, and how tightly that binds."""

    # Statements

    def function(self, function: Function) -> str:
        """Return a function, on one line when it is short."""
        head, lines = self.head(function), self.block(function.body)
        if len(lines) == 1 and "\n" not in lines[0] and len(head) + len(lines[0]) <= LINE:
            return f"{head} {{ {lines[0]} }}"
        return "\n".join([f"{head} {{", *map(indented, lines), "}"])

    def functions(self) -> list[str]:
        """Return the functions called since, callees first."""
        printed: dict[Function, str] = {}

        def visit(called: dict[Function, None]) -> None:
            for function in called:
                if function not in printed:
                    self.called = {}
                    text = self.function(function)
                    visit(self.called)
                    printed[function] = text

        visit(self.called)
        return list(printed.values())

    def block(self, statements: Sequence[Statement]) -> list[str]:
        """Return statements, one string each, which may be several lines."""
        lines: list[str] = []
        later: list[Declare] = []  # those in a row that are alike become one
        for s in statements:
            if isinstance(s, Declare) and s.value is None:
                if later and (later[0].variable.type, later[0].full) != (s.variable.type, s.full):
                    lines += self._declared(later)
                later.append(s)
                continue
            lines += self._declared(later)
            printer = self._statements.get(type(s))
            if printer is None:
                raise InternalError(f"no dialect prints {type(s).__name__}")
            lines.append(printer(s))
        return lines + self._declared(later)

    STATEMENTS: ClassVar = {
        Declare: "declared",
        Assign: "assign",
        Add: "add",
        MultiplyAdd: "multiply_add",
        Loop: "loop",
        If: "branch",
        Scope: "scope",
        Return: "give",
        Perform: "perform",
        Comment: "comment",
        WriteTarget: "write_target",
        WriteImage: "write_image",
    }

    def _declared(self, later: list[Declare]) -> list[str]:
        """Return the declarations that have been put off, and forget them."""
        if not later:
            return []
        names = [s.variable.name for s in later]
        lines = list(self.declare_all(names, later[0].variable.type, later[0].full))
        later.clear()
        return lines

    def declared(self, s: Declare) -> str:
        """Return the declaration of a variable with its value."""
        assert s.value is not None
        return self.declare(s.variable.name, s.variable.type, self.expression(s.value), s.full)

    def assign(self, s: Assign) -> str:
        """Return an assignment."""
        return f"{self.variable(s.target)} = {self.expression(s.value)};"

    def add(self, s: Add) -> str:
        """Return an addition to a variable."""
        sign = "+" if s.sign > 0 else "-"
        return f"{self.variable(s.target)} {sign}= {self.expression(s.value)};"

    def multiply_add(self, s: MultiplyAdd) -> str:
        """Return an addition of products to a variable."""
        if self.chained and not s.summed_first:
            terms = list(chain.from_iterable(self._by_column(a, b) for a, b in s.products))
        else:
            terms = [" + ".join(self.binary("*", a, b)[0] for a, b in s.products)]
        wanted = s.target.type
        if s.products[0][1].type.scalar != wanted.scalar:  # of 16 bits, added up in 32
            terms = [f"{self.type(wanted)}({term})" for term in terms]
        return "\n".join(f"{self.variable(s.target)} += {term};" for term in terms)

    def _by_column(self, left: Expression, right: Expression) -> list[str]:
        """Return a product with a matrix as those of its columns, another one as it is."""
        if not left.type.is_matrix:
            return [self.binary("*", left, right)[0]]
        vector = self.atom(right)
        return [f"{c} * {vector}.{LANES[k]}" for k, c in enumerate(self._columns(left))]

    def _columns(self, matrix: Expression) -> list[str]:
        """Return the columns of a matrix."""
        if isinstance(matrix, Construct):
            return [self.expression(column) for column in matrix.parts]
        if not isinstance(matrix, Numbers):
            return [self.expression(Column(matrix, k)) for k in range(matrix.type.columns)]
        texts, lanes = self._floats(matrix.values), matrix.type.lanes
        starts = range(0, len(texts), lanes)
        return [self._vector(matrix.type.of(lanes), texts[i : i + lanes]) for i in starts]

    def loop(self, s: Loop) -> str:
        """Return a loop."""
        start, end = self.expression(s.start), self.expression(s.end)
        return self._braces(self.loop_head(s.counter.name, start, end, s.step) + " ", s.body)

    def branch(self, s: If) -> str:
        """Return a branch, on one line when it is short."""
        lines = self.block(s.body)
        head = f"if ({self.expression(s.condition)})"
        if len(lines) == 1 and "\n" not in lines[0] and len(head) + len(lines[0]) < LINE:
            return self.short_branch(head, lines[0])
        return "\n".join([f"{head} {{", *map(indented, lines), "}"])

    def short_branch(self, head: str, line: str) -> str:
        """Return a branch of one statement."""
        return f"{head} {line}"

    def scope(self, s: Scope) -> str:
        """Return statements with variables of their own."""
        return self._braces("", s.body)

    def _braces(self, head: str, body: Sequence[Statement]) -> str:
        return "\n".join([f"{head}{{", *map(indented, self.block(body)), "}"])

    def give(self, s: Return) -> str:
        """Return the end of a function."""
        return "return;" if s.value is None else f"return {self.expression(s.value)};"

    def perform(self, s: Perform) -> str:
        """Return a call as a statement."""
        return f"{self.expression(s.call)};"

    def comment(self, s: Comment) -> str:
        """Return a comment."""
        return f"// {comment(s.text)}"

    # Expressions

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
            return self._matrix(e.type, self._columns(e))
        return self._vector(e.type, self._floats(e.values))

    def _floats(self, values: tuple[float, ...]) -> list[str]:
        """Return literals; numpy prints most of them at once."""
        with np.errstate(over="ignore"):
            texts = np.array(values, np.float32).astype(str).tolist()
        low, high = PLAIN
        return [
            text if low < abs(v) < high else self.scalar(Number(v, FLOAT))
            for v, text in zip(values, texts, strict=True)
        ]

    def _vector(self, t: Type, texts: list[str]) -> str:
        same = len(set(texts)) == 1
        return f"{self.type(t)}({texts[0] if same else ', '.join(texts)})"

    def _matrix(self, t: Type, columns: list[str]) -> str:
        """Return a matrix, a column a line."""
        rows = ",\n    ".join(columns)
        return f"{self.type(t)}(\n    {rows}\n)"

    def construct(self, e: Construct) -> str:
        """Return a vector or matrix of its parts."""
        texts = [self.expression(part) for part in e.parts]
        if e.type.is_matrix:
            return self._matrix(e.type, texts)
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


def indented(text: str) -> str:
    """Return lines, one level further in."""
    return "    " + text.replace("\n", "\n    ")


def decimal(single: np.float32) -> str:
    """Return a finite float32 as the shortest text that reads back as it, with a decimal point."""
    if PLAIN[0] < abs(single) < PLAIN[1]:
        return str(single)
    if single == 0 or 1e-4 <= abs(single) < 1e7:
        return np.format_float_positional(single, trim="0")
    return np.format_float_scientific(single, trim="0", exp_digits=2)


def comment(text: str) -> str:
    """Make any text safe inside a line comment."""
    return re.sub(r"[^\x20-\x7e]", "?", text).replace("\\", "/")
