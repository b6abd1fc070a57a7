"""The text form of a graph: what ``--dump-ir`` writes, and its parser.

    graph "espcn" {
      input %0 "img": float32[1, 1, 360, 640] {axes=[0, 2, 3, 1], encoding="float"}
      const %1 "conv1.kernel": float32[16, 1, 5, 5] = #8d2f0c1b6a7e9f30
      %2 = Conv(%0, %1) {pads=[2, 2, 2, 2]} ["conv1"]: float32[1, 16, 360, 640] @array.rgba32f.0
      output "out" = %2 {axes=[0, 2, 3, 1], encoding="float"}
    }

Attributes that have their default value are left out. Small constants stand in the text; others by
digest, and lie in ``constants.npz`` beside it. Formulas stand between backquotes. Printing and
parsing are inverse to each other: ``parse(to_text(g), constants(g))`` prints as the same text.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from lark import Lark, Token, Transformer
from lark.exceptions import LarkError, VisitError

from ..errors import ShadergenError
from . import formula_parser
from .dimensions import is_dynamic
from .expr import to_text as formula_text
from .graph import Choice, Constant, Graph, Input, Node, Output, Port, Value
from .ops import OPS, Op
from .types import DTYPES, Halo, Layout, TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .expr import Expr

INLINE_SIZE = 8

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


def digest(c: Constant) -> str:
    """Return what names a constant's contents in the text."""
    head = f"{c.type.dtype}{c.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(c.data).tobytes()).hexdigest()[:16]


def _inline(c: Constant) -> bool:
    return c.data.size <= INLINE_SIZE and bool(np.isfinite(c.data).all())


def constants(graph: Graph) -> dict[str, np.ndarray]:
    """Return the arrays that the text names by digest."""
    return {digest(c): c.data for c in graph.constants if not _inline(c)}


def to_text(graph: Graph) -> str:
    """Print a graph; equal graphs print equally."""
    ids: dict[Value, str] = {}
    lines = [f"graph {json.dumps(graph.name)} {{"]
    for i in graph.inputs:
        ids[i] = f"%{len(ids)}"
        lines.append(f"  input {ids[i]} {json.dumps(i.name)}: {type_text(i.type)} {_port(i.port)}")
    for c in graph.constants:
        ids[c] = f"%{len(ids)}"
        data = _value(c.data.reshape(-1).tolist()) if _inline(c) else f"#{digest(c)}"
        lines.append(f"  const {ids[c]} {json.dumps(c.name)}: {type_text(c.type)} = {data}")
    for node in graph.nodes:
        operands = ", ".join(ids[v] for v in node.inputs)
        for r in node.results:
            ids[r] = f"%{len(ids)}"
        results = ", ".join(ids[r] for r in node.results)
        choice = "" if node.choice == Choice() else f" choose {_attributes(node.choice)}"
        attributes = _attributes(node.op)
        lines.append(
            f"  {results} = {type(node.op).__name__}({operands})"
            f"{'' if attributes == '{}' else ' ' + attributes} {_value(node.layers)}{choice}: "
            + ", ".join(type_text(r.type) for r in node.results)
        )
    for o in graph.outputs:
        lines.append(f"  output {json.dumps(o.name)} = {ids[o.value]} {_port(o.port)}")
    return "\n".join([*lines, "}", ""])


def op_text(op: Op) -> str:
    """Print an operator with its attributes."""
    return _value(op)


def type_text(t: TensorType) -> str:
    """Print a type with its layout."""
    text = f"{t.dtype}[{', '.join(map(str, t.shape))}]"
    if t.layout is not None:
        slot = "" if t.layout.slot is None else f".{t.layout.slot}"
        rows = "" if t.layout.rows is None else _value(t.layout.rows)
        first = f"+{t.layout.first}" if t.layout.first else ""
        halo = f"~{t.layout.halo.content}.{t.layout.halo.width}" if t.layout.halo else ""
        text += f" @{t.layout.kind}.{t.layout.format}{rows}{slot}{first}{halo}"
    return text


def _port(port: Port) -> str:
    external = ", external=true" if port.external else ""
    return f"{{axes={_value(port.axes)}, encoding={_value(port.encoding)}{external}}}"


def _attributes(record: Any) -> str:
    parts = []
    for f in fields(record):
        value = getattr(record, f.name)
        if f.default is MISSING or value != f.default:
            parts.append(f"{f.name}={_value(value)}")
    return f"{{{', '.join(parts)}}}"


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Op):
        return f"{type(value).__name__}{_attributes(value)}"
    if is_dynamic(value):
        return repr(value)
    return f"`{formula_text(value)}`"


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", maybe_placeholders=True)


def parse(text: str, known: Mapping[str, np.ndarray]) -> Graph:
    """Parse the text form.

    Args:
        text: as printed by :func:`to_text`.
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
