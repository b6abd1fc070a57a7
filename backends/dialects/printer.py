"""What languages that look like C have in common: operators, calls, blocks."""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from ...errors import InternalError
from ..shader.expressions import (
    Binary,
    BuiltIn,
    Choice,
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..shader.expressions import Expression
    from ..shader.program import Function
    from ..shader.statements import Statement
    from ..shader.types import Type

LINE = 94  # characters of a function or a branch that is written on one line

# How tightly operators bind, the tightest last.
LEVELS = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "<": 7, "<=": 7, ">": 7, ">=": 7}
LEVELS |= {"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
CHOICE, SIGN, ATOM = 0, 11, 12
BITS = ("<<", ">>", "&", "|", "^")  # whose operands are put in brackets for the reader's sake


class Printer:
    """Prints expressions and statements; a dialect says what differs.

    A dialect gives names to types (:meth:`type`) and built-in values, and spells numbers, calls,
    declarations, fetches and stores. What a method does not know it refuses.
    """

    BUILT_INS: ClassVar[dict[str, str]] = {}
    NAMES: ClassVar[dict[str, str]] = {}  # of intrinsics, where not their own

    def type(self, t: Type) -> str:
        """Return what a type is called."""
        raise NotImplementedError

    def scalar(self, number: Number) -> str:
        """Return a literal."""
        raise NotImplementedError

    def declare(self, name: str, t: Type, value: str, full: bool) -> str:
        """Return the declaration of a variable with its value."""
        raise NotImplementedError

    def declare_all(self, names: Sequence[str], t: Type, full: bool) -> Iterator[str]:
        """Yield the declarations of variables of one type that are assigned later."""
        raise NotImplementedError

    def texel(self, e: Texel) -> str:
        """Return what reads a texture."""
        raise NotImplementedError

    def write_target(self, s: WriteTarget) -> str:
        """Return what writes to a render target."""
        raise NotImplementedError

    def write_image(self, s: WriteImage) -> str:
        """Return what stores in the result's image."""
        raise NotImplementedError

    def head(self, function: Function) -> str:
        """Return the head of a function."""
        raise NotImplementedError

    def loop_head(self, counter: str, start: str, end: str, step: int) -> str:
        """Return the head of a loop."""
        raise NotImplementedError

    def choice(self, e: Choice) -> tuple[str, int]:
        """Return one of two values by a condition, and how tightly that binds."""
        raise NotImplementedError

    # Statements

    def function(self, function: Function) -> str:
        """Return a function, on one line when it is short."""
        head, lines = self.head(function), list(self.block(function.body))
        if len(lines) == 1 and "\n" not in lines[0] and len(head) + len(lines[0]) <= LINE:
            return f"{head} {{ {lines[0]} }}"
        return "\n".join([f"{head} {{", *map(indented, lines), "}"])

    def block(self, statements: Sequence[Statement]) -> Iterator[str]:
        """Yield statements, one string each, which may be several lines."""
        for kind, run in groupby(statements, _alike):
            if kind is None:
                for statement in run:
                    yield from self.statement(statement)
            else:
                names = [s.variable.name for s in run]  # type: ignore[attr-defined]
                yield from self.declare_all(names, *kind)

    def statement(self, s: Statement) -> Iterator[str]:
        """Yield a statement."""
        text = self.expression
        if isinstance(s, Declare):
            assert s.value is not None
            yield self.declare(s.variable.name, s.variable.type, text(s.value), s.full)
        elif isinstance(s, Assign):
            yield f"{self.variable(s.target)} = {text(s.value)};"
        elif isinstance(s, Add):
            yield f"{self.variable(s.target)} {'+' if s.sign > 0 else '-'}= {text(s.value)};"
        elif isinstance(s, MultiplyAdd):
            products = (text(Binary("*", a, b)) for a, b in s.products)
            yield f"{self.variable(s.target)} += {' + '.join(products)};"
        elif isinstance(s, Loop):
            yield f"{self.loop_head(s.counter.name, text(s.start), text(s.end), s.step)} {{"
            yield from map(indented, self.block(s.body))
            yield "}"
        elif isinstance(s, If):
            yield from self._branch(s)
        elif isinstance(s, Scope):
            yield "{"
            yield from map(indented, self.block(s.body))
            yield "}"
        elif isinstance(s, Return):
            yield "return;" if s.value is None else f"return {text(s.value)};"
        elif isinstance(s, Perform):
            yield f"{text(s.call)};"
        elif isinstance(s, Comment):
            yield f"// {comment(s.text)}"
        elif isinstance(s, WriteTarget):
            yield self.write_target(s)
        elif isinstance(s, WriteImage):
            yield self.write_image(s)
        else:
            raise InternalError(f"no dialect prints {type(s).__name__}")

    def _branch(self, s: If) -> Iterator[str]:
        lines = list(self.block(s.body))
        head = f"if ({self.expression(s.condition)})"
        if len(lines) == 1 and "\n" not in lines[0] and len(head) + len(lines[0]) < LINE:
            yield self.short_branch(head, lines[0])
        else:
            yield f"{head} {{"
            yield from map(indented, lines)
            yield "}"

    def short_branch(self, head: str, line: str) -> str:
        """Return a branch of one statement."""
        return f"{head} {line}"

    # Expressions

    def expression(self, e: Expression) -> str:
        """Return an expression."""
        return self.printed(e)[0]

    def printed(self, e: Expression) -> tuple[str, int]:
        """Return the text of an expression, and how tightly its outermost operator binds."""
        compound = self.COMPOUND.get(type(e))
        return getattr(self, compound)(e) if compound else (self.simple(e), ATOM)

    def simple(self, e: Expression) -> str:
        """Return an expression that needs no brackets."""
        found = self.SIMPLE.get(type(e))
        if found is None:
            raise InternalError(f"no dialect prints {type(e).__name__}")
        text: str = getattr(self, found)(e)
        return text

    COMPOUND: ClassVar = {Binary: "binary", Choice: "choice", Negative: "negative"}
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
        return f"{e.function.name}({', '.join(self.arguments(e))})"

    def built_in(self, e: BuiltIn) -> str:
        """Return what the GPU tells an invocation."""
        return self.BUILT_INS[e.name]

    def variable(self, v: Variable) -> str:
        """Return a variable."""
        return v.name

    def arguments(self, e: Invoke) -> list[str]:
        """Return the arguments of a function of the program."""
        return [self.expression(a) for a in e.arguments]

    def uniform(self, e: Uniform) -> str:
        """Return a uniform."""
        return e.name

    def element(self, e: Element) -> str:
        """Return an element of an array."""
        return f"{e.array.name}[{self.expression(e.index)}]"

    def vector(self, e: Numbers) -> str:
        """Return a vector of known numbers; one stands for all where they are equal."""
        texts = [self.scalar(Number(v, e.type.of(1))) for v in e.values]
        same = len(set(texts)) == 1
        return f"{self.type(e.type)}({texts[0] if same else ', '.join(texts)})"

    def construct(self, e: Construct) -> str:
        """Return a vector or matrix of its parts, a column a line."""
        texts = [self.expression(part) for part in e.parts]
        if e.type.is_matrix:
            rows = ",\n    ".join(texts)
            return f"{self.type(e.type)}(\n    {rows}\n)"
        return f"{self.type(e.type)}({', '.join(texts)})"

    def intrinsic(self, e: Intrinsic) -> str:
        """Return a function of the language applied."""
        texts = (self.expression(a) for a in e.arguments)
        return f"{self.NAMES.get(e.name, e.name)}({', '.join(texts)})"

    def binary(self, e: Binary) -> tuple[str, int]:
        """Return two operands and an operator, with the brackets they need."""
        level, sign, right = LEVELS[e.operator], e.operator, e.right
        if sign == "+" and isinstance(right, Number) and math.copysign(1, right.value) < 0:
            sign, right = "-", Number(-right.value, right.type)
        if e.operator in BITS:
            return f"{self.atom(e.left)} {sign} {self.atom(right)}", level
        left, own = self.printed(e.left)
        if own < level or left.startswith("-"):
            left = f"({left})"
        text, own = self.printed(right)
        if own <= level or text.startswith("-"):
            text = f"({text})"
        return f"{left} {sign} {text}", level

    def atom(self, e: Expression) -> str:
        """Return an expression, in brackets unless it needs none."""
        text, level = self.printed(e)
        return text if level == ATOM and not text.startswith("-") else f"({text})"


def indented(text: str) -> str:
    """Return lines, one level further in."""
    return "\n".join(f"    {line}" for line in text.split("\n"))


def comment(text: str) -> str:
    """Make any text safe inside a line comment."""
    return re.sub(r"[^\x20-\x7e]", "?", text).replace("\\", "/")


def _alike(statement: Statement) -> tuple[Type, bool] | None:
    """Return what is alike in declarations without a value: those in a row become one."""
    if isinstance(statement, Declare) and statement.value is None:
        return statement.variable.type, statement.full
    return None
