"""Reads expressions, and definitions of formulas: ``name(x, alpha=0.1) = max(x, 0) * alpha``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, VisitError

from ..errors import ShadergenError
from .expr import Call, Num, Var

if TYPE_CHECKING:
    from .expr import Expr

MAX_DEPTH = 150  # of a parse tree: everything else walks expressions recursively

GRAMMAR = r"""
    start: definition*
    definition: name "(" [parameter ("," parameter)*] ")" "=" expr
    parameter: NAME ["=" value]
    name: NAME | STRING
    ?expr: sum
         | sum "<" sum   -> lt
         | sum "<=" sum  -> le
         | sum ">" sum   -> gt
         | sum ">=" sum  -> ge
         | sum "==" sum  -> eq
    ?sum: product
        | sum "+" product -> add
        | sum "-" product -> sub
    ?product: unary
        | product "*" unary -> mul
        | product "/" unary -> div
    ?unary: atom
        | "-" unary -> neg
    ?atom: NUMBER -> number
        | NAME -> variable
        | NAME "(" [argument ("," argument)*] ")" -> call
        | "(" expr ")"
    ?argument: expr | NAME "=" value -> keyword
    value: SIGNED_NUMBER -> number_value
        | STRING -> string_value
        | "[" [value ("," value)*] "]" -> list_value
        | NAME -> name_value
    NAME: /[A-Za-z_][A-Za-z0-9_]*/
    STRING: /"[^"\n]*"/
    NUMBER: /(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?|inf\b/
    SIGNED_NUMBER: /[+-]?((\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?|inf\b)/
    %import common.WS
    %ignore WS
    %ignore /#[^\n]*/
"""


@dataclass(frozen=True)
class Definition:
    """``name(parameters) = body``; a parameter without default has the value None."""

    name: str
    parameters: tuple[tuple[str, Any], ...]
    body: Expr

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(name for name, default in self.parameters if default is None)


@dataclass(frozen=True)
class _Keyword:
    name: str
    value: Any


class _Builder(Transformer):  # type: ignore[type-arg]
    """Turns a parse tree into expressions and definitions."""

    def start(self, items: list[Any]) -> Any:
        return items

    def name(self, items: list[Token]) -> str:
        return str(items[0]).strip('"')

    def parameter(self, items: list[Any]) -> tuple[str, Any]:
        return str(items[0]), items[1]

    def definition(self, items: list[Any]) -> Definition:
        name, *parameters, body = items
        return Definition(name, tuple(p for p in parameters if p is not None), body)

    def number(self, items: list[Token]) -> Expr:
        return Num(float(items[0]))

    def variable(self, items: list[Token]) -> Expr:
        return Var(str(items[0]))

    def keyword(self, items: list[Any]) -> _Keyword:
        return _Keyword(str(items[0]), items[1])

    def number_value(self, items: list[Token]) -> float | int:
        text = str(items[0])
        return int(text) if text.lstrip("+-").isdigit() else float(text)

    def string_value(self, items: list[Token]) -> str:
        return str(items[0])[1:-1]

    def name_value(self, items: list[Token]) -> Var:
        return Var(str(items[0]))

    def list_value(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(i for i in items if i is not None)

    def call(self, items: list[Any]) -> Expr:
        function, *arguments = items
        args = tuple(a for a in arguments if a is not None and not isinstance(a, _Keyword))
        keywords = tuple((a.name, a.value) for a in arguments if isinstance(a, _Keyword))
        return Call(str(function), args, keywords)

    def gt(self, items: list[Expr]) -> Expr:
        return Call("lt", (items[1], items[0]))

    def ge(self, items: list[Expr]) -> Expr:
        return Call("le", (items[1], items[0]))

    def neg(self, items: list[Expr]) -> Expr:
        (x,) = items
        return Num(-x.value) if isinstance(x, Num) else Call("neg", (x,))

    def __default__(self, data: Any, children: list[Any], meta: Any) -> Any:
        return Call(str(data), tuple(children))


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", start=["start", "expr"], maybe_placeholders=True)


def _depth(tree: Any) -> int:
    """Return the depth of a parse tree, without recursion."""
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [child for t in level for child in getattr(t, "children", ())]
    return deepest


def _parse(text: str, start: str, origin: str) -> Any:
    try:
        tree = _parser().parse(text, start=start)
        if _depth(tree) > MAX_DEPTH:
            raise ShadergenError("SG0302", "a formula is nested too deeply", where=origin)
        return _Builder().transform(tree)
    except UnexpectedInput as error:
        if isinstance(error, UnexpectedEOF):
            found = "end of the text"
        elif isinstance(error, UnexpectedCharacters):
            found = f"'{error.char}'"
        else:
            found = f"'{getattr(error, 'token', '')}'"
        if found == "''":  # lark's end-of-text token
            found = "end of the text"
        lines = text.split("\n")
        line = lines[error.line - 1] if 0 < error.line <= len(lines) else ""
        raise ShadergenError(
            "SG0302",
            f"unexpected {found} in a formula",
            where=f"{origin}, line {max(error.line, 1)}" if origin else (),
            why=line.strip(),
            help="a definition reads: name(x, alpha=0.1) = max(x, 0) + alpha * min(x, 0)",
        ) from None
    except VisitError as error:
        raise ShadergenError("SG0302", f"invalid formula: {error.orig_exc}", where=origin) from None


@lru_cache(maxsize=4096)
def parse(text: str) -> Expr:
    """Parse one expression.

    Raises:
        ShadergenError: SG0302 when the text is not an expression.
    """
    return _parse(text, "expr", "")  # type: ignore[no-any-return]


def parse_definitions(text: str, origin: str = "") -> dict[str, Definition]:
    """Parse ``name(parameters) = expression`` definitions, any number, ``#`` comments allowed.

    Raises:
        ShadergenError: SG0302 when the text does not parse or a name is defined twice.
    """
    definitions: dict[str, Definition] = {}
    for definition in _parse(text, "start", origin):
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
