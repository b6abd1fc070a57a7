"""The text form of a graph, which ``--dump-ir`` writes and :mod:`.text_parser` reads back.

    graph "espcn" {
      input %0 "img": float32[1, 1, 360, 640] {axes=[0, 2, 3, 1], encoding="float"}
      const %1 "conv1.kernel": float32[16, 1, 5, 5] = #8d2f0c1b6a7e9f30
      %2 = Conv(%0, %1) {pads=[2, 2, 2, 2]} ["conv1"]: float32[1, 16, 360, 640] @array.rgba32f.0
      output "out" = %2 {axes=[0, 2, 3, 1], encoding="float"}
    }

Attributes that have their default value are left out. Small constants stand in the text; others by
digest, and lie in ``constants.npz`` beside it. Formulas stand between backquotes. Printing and
parsing are inverse to each other: ``text_parser.parse(to_text(g), constants(g))`` prints as the
same text.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from .dimensions import is_dynamic
from .expr import to_text as formula_text
from .graph import Choice, Constant, Graph, Port, Value
from .ops import Op
from .types import TensorType

if TYPE_CHECKING:
    pass

INLINE_SIZE = 8


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
