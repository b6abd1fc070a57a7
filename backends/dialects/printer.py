"""The common part of C-like shading languages: statements, blocks, functions.

One method prints each kind of statement, so that a dialect replaces what differs.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from itertools import chain, groupby
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ...errors import InternalError
from ..shader.expressions import LANES
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
    target_stored,
)
from ..shader.types import INT
from .expression_printer import ExpressionPrinter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..shader.expressions import Expression
    from ..shader.program import Function
    from ..shader.statements import Statement
    from ..shader.types import Type

LINE = 94  # most characters of a function or a branch on one line


class Listing(NamedTuple):
    """A printed program.

    Attributes:
        text: the program in a shading language.
        store_lines: the number of the line of the main part that writes each render target; of a
            dispatch, the one line that stores last.
    """

    text: str
    store_lines: tuple[int, ...]


class Printer(ExpressionPrinter):
    """Prints statements and functions; a dialect spells declarations, loops and stores.

    Args:
        chained: see :class:`~..shader.program.Program`.
    """

    def __init__(self, chained: bool = False) -> None:
        super().__init__()
        self.chained = chained
        self._store_lines: dict[int, int] = {}  # the lines of the main part that store, by target
        self._statements = {kind: getattr(self, name) for kind, name in self.STATEMENTS.items()}

    @abstractmethod
    def declare(self, name: str, t: Type, value: str, full: bool) -> str:
        """Return the declaration of a variable with its value."""

    @abstractmethod
    def declare_all(self, names: Sequence[str], t: Type, full: bool) -> Iterator[str]:
        """Yield the declarations of variables of one type that are assigned later."""

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

    def main(self, statements: Sequence[Statement]) -> list[str]:
        """Return the lines of a program's main part, and note those that store for :meth:`listing`.

        A dialect prints this part first, because it decides which functions are printed.
        """
        lines: list[str] = []
        for target, together in groupby(statements, key=target_stored):
            lines += (line for text in self.block(list(together)) for line in text.split("\n"))
            if target is not None:
                self._store_lines[target] = len(lines)
        return lines

    def listing(
        self, opening: Sequence[str], main: Sequence[str], closing: Sequence[str]
    ) -> Listing:
        """Return a program.

        Args:
            opening: its parts up to the head of the main function, with empty lines between them.
            main: the result of :meth:`main`.
            closing: the lines after this.
        """
        text = "\n\n".join(opening)
        before = text.count("\n") + 1
        lines = tuple(before + line for _, line in sorted(self._store_lines.items()))
        return Listing("\n".join([text, *map(indented, main), *closing, ""]), lines)

    def function(self, function: Function) -> str:
        """Return a function, on one line when it is short."""
        head, lines = self.head(function), self.block(function.body)
        if len(lines) == 1 and "\n" not in lines[0] and len(head) + len(lines[0]) <= LINE:
            return f"{head} {{ {lines[0]} }}"
        return self.nested(head, lines)

    def nested(self, head: str, lines: Sequence[str]) -> str:
        """Return the lines of a function, a branch, a loop or, without a head, a scope."""
        return "\n".join([f"{head} {{".lstrip(), *map(indented, lines), "}"])

    def functions(self) -> list[str]:
        """Return the functions that what is printed so far calls, callees first."""
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

    def loop(self, s: Loop) -> str:
        """Return a loop, or two nested ones: compilers unroll the inner one."""
        name, step, body = s.counter.name, s.step, self.block(s.body)
        start, end = self.expression(s.start), self.expression(s.end)
        if s.inner_trips == 1:
            return self.nested(self.loop_head(name, start, end, step), body)
        first, offset = s.printed_names
        counter = self.declare(name, INT, f"{first} + {offset}", False)
        inner = self.loop_head(offset, "0", str(s.inner_trips * step), step)
        outer = self.loop_head(first, start, end, s.inner_trips * step)
        return self.nested(outer, [self.nested(inner, [counter, *body])])

    def branch(self, s: If) -> str:
        """Return a branch, on one line when it is short."""
        lines = self.block(s.body)
        head = f"if ({self.expression(s.condition)})"
        if len(lines) == 1 and "\n" not in lines[0] and len(head) + len(lines[0]) < LINE:
            return self.short_branch(head, lines[0])
        return self.nested(head, lines)

    def short_branch(self, head: str, line: str) -> str:
        """Return a branch of one statement."""
        return f"{head} {line}"

    def scope(self, s: Scope) -> str:
        """Return statements with variables of their own."""
        return self.nested("", self.block(s.body))

    def give(self, s: Return) -> str:
        """Return the end of a function."""
        return "return;" if s.value is None else f"return {self.expression(s.value)};"

    def perform(self, s: Perform) -> str:
        """Return a call as a statement."""
        return f"{self.expression(s.call)};"

    def comment(self, s: Comment) -> str:
        """Return a comment."""
        return f"// {comment(s.text)}"


def indented(text: str) -> str:
    """Return lines, one level further in."""
    return "    " + text.replace("\n", "\n    ")


def comment(text: str) -> str:
    """Make any text safe inside a line comment."""
    return re.sub(r"[^\x20-\x7e]", "?", text).replace("\\", "/")
