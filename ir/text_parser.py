"""Parser of the text form of a graph (:mod:`.text`)."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from lark import Lark, Token, Transformer
from lark.exceptions import LarkError, VisitError

from ..errors import ShadergenError
from . import formula_parser
from .graph import Choice, Constant, Graph, Input, Node, Output, Port, Value
from .ops import OPS, Op
from .types import DTYPES, Halo, Layout, TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .expr import Expr

GRAMMAR = r"""
    start: "graph" STRING "{" statement* "}"
    ?statement: input | const | node | output
    input: "input" ID STRING ":" tensor_type attributes
    const: "const" ID STRING ":" tensor_type "=" (DIGEST | sequence)
    node: results "=" op_name "(" [ID ("," ID)*] ")" [attributes] sequence [choice] ":" types
    results: ID ("," ID)*
    types: tensor_type ("," tensor_type)*
    output: "output" STRING "=" ID attributes
    choice: "choose" attributes
    op_name: NAME
    tensor_type: NAME sequence [layout]
    layout: "@" NAME "." NAME [sequence] ["." INT] ["+" INT] ["~" NAME "." INT]
    attributes: "{" [attribute ("," attribute)*] "}"
    attribute: NAME "=" value
    ?value: sequence | atom | op
    op: NAME attributes
    sequence: "[" [value ("," value)*] "]"
    atom: FLOAT -> float_value
        | INT -> int_value
        | STRING -> string_value
        | FORMULA -> formula_value
        | WORD -> word_value
    ID: /%\d+/
    DIGEST: /#[0-9a-f]{16}/
    WORD.2: /(none|true|false|inf|-inf)\b/
    NAME: /[A-Za-z_0-9]*[A-Za-z_][A-Za-z_0-9]*/
    FLOAT.1: /-?(\d+\.\d*([eE][+-]?\d+)?|\d+[eE][+-]?\d+)/
    INT: /-?\d+/
    STRING: /"([^"\\]|\\.)*"/
    FORMULA: /`[^`]*`/
    %import common.WS
    %ignore WS
    %ignore /\/\/[^\n]*/
"""


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", maybe_placeholders=True)


def parse(text: str, known: Mapping[str, np.ndarray]) -> Graph:
    """Parse the text form.

    Args:
        text: as printed by :func:`.text.to_text`.
        known: the arrays of constants that the text names by digest.

    Raises:
        ShadergenError: SG0304 when the text does not parse, names something unknown, or does not
            describe a graph.
    """
    try:
        tree = _parser().parse(text)
        return _Reader(known).transform(tree)  # type: ignore[no-any-return]
    except VisitError as error:
        if isinstance(error.orig_exc, ShadergenError):
            raise error.orig_exc from None
        raise ShadergenError("SG0304", f"the IR text is invalid: {error.orig_exc}") from None
    except LarkError as error:
        first = str(error).splitlines()[0]
        raise ShadergenError("SG0304", f"the IR text does not parse: {first}") from None


class _Reader(Transformer):  # type: ignore[type-arg]
    """Builds the graph bottom-up; statements arrive in order, so operands are known."""

    def __init__(self, known: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self.known = known
        self.values: dict[str, Value] = {}

    def _of(self, token: Token) -> Value:
        if str(token) not in self.values:
            raise ShadergenError("SG0304", f"{token} is used before it is defined")
        return self.values[str(token)]

    def float_value(self, items: list[Token]) -> float:
        return float(items[0])

    def int_value(self, items: list[Token]) -> int:
        return int(items[0])

    def string_value(self, items: list[Token]) -> str:
        return str(json.loads(items[0]))

    def formula_value(self, items: list[Token]) -> Expr:
        return formula_parser.parse(str(items[0])[1:-1])

    def word_value(self, items: list[Token]) -> Any:
        words = {"none": None, "true": True, "false": False}
        return words[str(items[0])] if str(items[0]) in words else float(items[0])

    def sequence(self, items: list[Any]) -> tuple[Any, ...]:
        return () if items == [None] else tuple(items)

    def attribute(self, items: list[Any]) -> tuple[str, Any]:
        return str(items[0]), items[1]

    def attributes(self, items: list[Any]) -> dict[str, Any]:
        return dict(i for i in items if i is not None)

    def op_name(self, items: list[Token]) -> type[Op]:
        if str(items[0]) not in OPS:
            raise ShadergenError("SG0304", f"no operator is called {items[0]}")
        return OPS[str(items[0])]

    def op(self, items: list[Any]) -> Op:
        return self.op_name(items[:1])(**items[1])

    def layout(self, items: list[Any]) -> Layout:
        kind, texture_format, rows, slot, first, content, width = items
        return Layout(
            str(kind),  # type: ignore[arg-type]
            str(texture_format),  # type: ignore[arg-type]
            rows,
            None if slot is None else int(slot),
            int(first or 0),
            None if content is None else Halo(str(content), int(width)),  # type: ignore[arg-type]
        )

    def tensor_type(self, items: list[Any]) -> TensorType:
        dtype, shape, layout = items
        if str(dtype) not in DTYPES:
            raise ShadergenError("SG0304", f"no element type is called {dtype}")
        return TensorType(shape, str(dtype), layout)  # type: ignore[arg-type]

    def input(self, items: list[Any]) -> Input:
        name, label, t, port = items
        value = Input(t, json.loads(label), Port(**port))
        self.values[str(name)] = value
        return value

    def const(self, items: list[Any]) -> None:
        name, label, t, content = items
        if isinstance(content, Token):
            if str(content)[1:] not in self.known:
                raise ShadergenError("SG0304", f"constant {content} is missing")
            data = self.known[str(content)[1:]]
        else:
            data = np.array(content, t.dtype).reshape(t.shape)
        self.values[str(name)] = Constant(t, json.loads(label), data)

    def results(self, items: list[Token]) -> list[Token]:
        return items

    def types(self, items: list[TensorType]) -> list[TensorType]:
        return items

    def choice(self, items: list[Any]) -> Choice:
        return Choice(**items[0])

    def node(self, items: list[Any]) -> None:
        results, op, *operands, attributes, layers, choice, types = items
        inputs = tuple(self._of(o) for o in operands if o is not None)
        placed = tuple(types) if any(t.layout for t in types) else None
        node = Node(op(**(attributes or {})), inputs, layers, choice or Choice(), placed)
        if [r.type for r in node.results] != types:
            raise ShadergenError(
                "SG0304", f"the type written for {results[0]} differs from the inferred type"
            )
        self.values.update((str(n), r) for n, r in zip(results, node.results, strict=True))

    def output(self, items: list[Any]) -> Output:
        name, value, port = items
        return Output(json.loads(name), self._of(value), Port(**port))

    def start(self, items: list[Any]) -> Graph:
        name, *statements = items
        return Graph(
            json.loads(name),
            tuple(s for s in statements if isinstance(s, Input)),
            tuple(s for s in statements if isinstance(s, Output)),
        )
