"""Reads expressions, and definitions of formulas: ``name(x, alpha=0.1) = max(x, 0) * alpha``.

A parser by operator precedence, in this grammar::

    definition: (NAME | STRING) "(" [parameter ("," parameter)*] ")" "=" expression
    parameter: NAME ["=" value]
    expression: sum [("<" | "<=" | ">" | ">=" | "==") sum]
    sum: product (("+" | "-") product)*
    product: operand (("*" | "/") operand)*
    operand: "-" operand | NUMBER | NAME | "(" expression ")"
           | NAME "(" [argument ("," argument)*] ")"
    argument: expression | NAME "=" value
    value: ["+" | "-"] NUMBER | STRING | NAME | "[" [value ("," value)*] "]"

Comments go from ``#`` to the end of the line. The parser is written by hand because each start of
the program reads the formula library: a generated one takes longer to set up than to read it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..errors import ShadergenError
from ..records import dataclass
from .expr import Call, Num, Var

if TYPE_CHECKING:
    from collections.abc import Callable

    from .expr import Expr

T = TypeVar("T")

MAX_DEPTH = 150  # of an expression: everything else walks expressions recursively

TOKEN = re.compile(
    r"""(?:[ \t\f\r\n]|\#[^\n]*)*
    (?: (?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?|inf\b)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<string>"[^"\n]*")
      | (?P<mark><=|>=|==|[-+*/<>=(),[\]])
      | (?P<end>\Z)
      | (?P<other>.) )""",
    re.VERBOSE,
)
# precedence and function of each operator between two operands
BINARY = {
    "<": (1, "lt"),
    "<=": (1, "le"),
    ">": (1, "gt"),
    ">=": (1, "ge"),
    "==": (1, "eq"),
    "+": (2, "add"),
    "-": (2, "sub"),
    "*": (3, "mul"),
    "/": (3, "div"),
}
COMPARISON = 1  # the precedence of operators of which an expression has one at most
MIRRORED = {"gt": "lt", "ge": "le"}  # a > b is b < a


@dataclass(frozen=True)
class Definition:
    """``name(parameters) = body``; a parameter without default has the value None."""

    name: str
    parameters: tuple[tuple[str, Any], ...]
    body: Expr

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(name for name, default in self.parameters if default is None)


class _Reader:
    """Reads a text from its first token to its last.

    Args:
        text: to read.
        origin: the file that it is from, for messages.
    """

    def __init__(self, text: str, origin: str) -> None:
        self.text = text
        self.origin = origin
        self.tokens = [(m.lastgroup or "", m[m.lastgroup or ""], m) for m in TOKEN.finditer(text)]
        self.at = 0

    @property
    def kind(self) -> str:
        """The kind of the next token: the name of a group of ``TOKEN``."""
        return self.tokens[self.at][0]

    def take(self, *kinds: str) -> str:
        """Return the text of the next token, which has to be of one of the kinds, and go on."""
        kind, text, _ = self.tokens[self.at]
        if kind not in kinds:
            self.refuse()
        self.at += kind != "end"
        return text

    def mark(self, text: str) -> bool:
        """Whether a mark comes next; if so, go on."""
        found = self.tokens[self.at][:2] == ("mark", text)
        self.at += found
        return found

    def expect(self, mark: str) -> None:
        """Go on after a mark, which has to come next."""
        if not self.mark(mark):
            self.refuse()

    def listed(self, end: str, read: Callable[[], T]) -> tuple[T, ...]:
        """Return what is read, separated by commas, up to a mark."""
        if self.mark(end):
            return ()
        found = [read()]
        while self.mark(","):
            found.append(read())
        self.expect(end)
        return tuple(found)

    def definition(self) -> Definition:
        name = self.take("name", "string").strip('"')
        self.expect("(")
        parameters = self.listed(")", self.parameter)
        self.expect("=")
        return Definition(name, parameters, self.whole())

    def parameter(self) -> tuple[str, Any]:
        return self.take("name"), self.value() if self.mark("=") else None

    def value(self, depth: int = 0) -> Any:
        self.check_depth(depth)
        if self.mark("["):
            return self.listed("]", lambda: self.value(depth + 1))
        if self.kind == "string":
            return self.take("string")[1:-1]
        if self.kind == "name":
            return Var(self.take("name"))
        sign = -1 if self.mark("-") else 1
        if sign > 0:
            self.mark("+")
        text = self.take("number")
        # More digits have no use as a whole number, and Python limits how many it converts.
        return sign * (int(text) if text.isdigit() and len(text) < 19 else float(text))

    def whole(self) -> Expr:
        """Return an expression that is not part of another."""
        found = self.expression()
        self.check_depth(_depth(found))
        return found

    def expression(self, least: int = COMPARISON, depth: int = 0) -> Expr:
        """Return operands and the operators between them, those of at least a precedence."""
        left = self.operand(depth)
        while self.kind == "mark":
            precedence, function = BINARY.get(self.tokens[self.at][1], (0, ""))
            if precedence < least:
                break
            self.at += 1
            right = self.expression(precedence + 1, depth)
            if function in MIRRORED:
                function, left, right = MIRRORED[function], right, left
            left = Call(function, (left, right))
            if precedence == COMPARISON:
                break
        return left

    def operand(self, depth: int) -> Expr:
        self.check_depth(depth)
        if self.mark("-"):
            x = self.operand(depth + 1)
            return Num(-x.value) if isinstance(x, Num) else Call("neg", (x,))
        if self.mark("("):
            x = self.expression(depth=depth + 1)
            self.expect(")")
            return x
        if self.kind == "number":
            return Num(float(self.take("number")))
        name = self.take("name")
        if not self.mark("("):
            return Var(name)
        args: list[Expr] = []
        keywords: list[tuple[str, Any]] = []

        def argument() -> None:
            if self.kind == "name" and self.tokens[self.at + 1][:2] == ("mark", "="):
                keywords.append(self.parameter())
            else:
                args.append(self.expression(depth=depth + 1))

        self.listed(")", argument)
        return Call(name, tuple(args), tuple(keywords))

    def check_depth(self, depth: int) -> None:
        """Refuse what is nested deeper than everything else can walk."""
        if depth > MAX_DEPTH:
            raise ShadergenError("SG0302", "a formula is nested too deeply", where=self.origin)

    def refuse(self) -> NoReturn:
        """Refuse the next token; at the end, in the line of the last."""
        kind, text, _ = self.tokens[self.at]
        _, _, there = self.tokens[max(self.at - (kind == "end"), 0)]
        number = self.text.count("\n", 0, there.start(there.lastgroup or 0)) + 1
        raise ShadergenError(
            "SG0302",
            f"unexpected {'end of the text' if kind == 'end' else repr(text)} in a formula",
            where=f"{self.origin}, line {number}" if self.origin else (),
            why=f"the line is: {self.text.split(chr(10))[number - 1].strip()}",
            help="a definition looks like this: name(x, alpha=0.1) = max(x, 0) + alpha * min(x, 0)",
        )


def _depth(expression: Expr) -> int:
    """Return the depth of an expression, without recursion."""
    deepest, level = 0, [expression]
    while level:
        deepest += 1
        level = [arg for e in level if isinstance(e, Call) for arg in e.args]
    return deepest


@lru_cache(maxsize=4096)
def parse(text: str) -> Expr:
    """Parse one expression.

    Raises:
        ShadergenError: SG0302 when the text is not an expression.
    """
    reader = _Reader(text, "")
    found = reader.whole()
    reader.take("end")
    return found


def parse_definitions(text: str, origin: str = "") -> dict[str, Definition]:
    """Parse ``name(parameters) = expression`` definitions, any number, ``#`` comments allowed.

    Raises:
        ShadergenError: SG0302 when the text does not parse or a name is defined twice.
    """
    definitions: dict[str, Definition] = {}
    reader = _Reader(text, origin)
    while reader.kind != "end":
        definition = reader.definition()
        if definition.name in definitions:
            raise ShadergenError("SG0302", f"'{definition.name}' is defined twice", where=origin)
        _check_parameters(definition, origin)
        definitions[definition.name] = definition
    return definitions


def _check_parameters(definition: Definition, origin: str) -> None:
    where = (origin, f"definition of {definition.name}") if origin else definition.name
    names = [name for name, _ in definition.parameters]
    for name, default in definition.parameters:
        if names.count(name) > 1:
            raise ShadergenError("SG0302", f"two parameters are called '{name}'", where=where)
        if isinstance(default, Var):
            raise ShadergenError(
                "SG0302",
                f"the default of '{name}' is the name {default.name}",
                where=where,
                supported="a number, a string in quotes, or a list of them",
            )
