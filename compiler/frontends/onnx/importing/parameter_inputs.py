"""Parameter inputs: inputs that determine shapes and positions, but enter no computation.

Reshape's shape and Slice's starts must be known when compiling. A model may have them as inputs; a
caller who knows their values can fix them. An input is a parameter if every path from it to an
output leads through such an operand, so fixing it removes no computation on numbers. Handlers are
marked with these operands (:mod:`..ops.parameters`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx.onnx_ml_pb2 import AttributeProto

from ..folding.by_numpy import COMPUTED
from ..ops.parameters import parameters_of
from ..ops.table import DOMAINS
from ..read.graph_body import plain_domain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx.onnx_ml_pb2 import GraphProto, NodeProto

# Operators without a handler, which ONNX defines by a function; the operand is the length.
WINDOWS = ("BlackmanWindow", "HammingWindow", "HannWindow")


def data_inputs(graph: GraphProto) -> frozenset[str]:
    """Return the inputs whose value a result is computed from; the others are parameters."""
    names = [i.name for i in graph.input]
    return frozenset(name for name in names if _reaches_output(graph, {name}))


def _reaches_output(graph: GraphProto, tainted: set[str]) -> bool:
    """Whether an output is computed from the values that ``tainted`` names, which grows."""
    for node in graph.node:
        if any(name in tainted for name in _data_operands(node)) or any(
            _reaches_output(body, set(tainted)) for body in _bodies(node)
        ):
            tainted.update(filter(None, node.output))
    return any(o.name in tainted for o in graph.output)


def _data_operands(node: NodeProto) -> Iterator[str]:
    found = _parameters(plain_domain(node.domain), node.op_type)
    return (name for index, name in enumerate(node.input) if name and index not in found)


def _parameters(domain: str, op: str) -> tuple[int, ...]:
    """Return the positions of an operator's parameters."""
    if not domain and op in WINDOWS:
        return (0,)
    computed = COMPUTED.get(op) if not domain else None
    return parameters_of(DOMAINS.get(domain, {}).get(op, computed))


def _bodies(node: NodeProto) -> Iterator[GraphProto]:
    return (a.g for a in node.attribute if a.type == AttributeProto.GRAPH)
