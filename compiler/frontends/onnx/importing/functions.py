"""Operators that expand to other nodes: functions of the model and of ONNX.

A function is imported at each call, with its own names and operator sets, without copying its
nodes. The importer's budget bounds functions that call each other many times. Source: the ONNX IR
specification, "Functions"; the function bodies of ``onnx.defs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import defs
from onnx.onnx_ml_pb2 import FunctionProto, TypeProto

from .....errors import ShadergenError, count
from ..operands import TensorList, element_type
from ..read.graph_body import plain_domain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx.onnx_ml_pb2 import AttributeProto

    from ..operands import Item
    from ..ops.node import OnnxNode


def schema_function(node: OnnxNode, domain: str, opset: int) -> FunctionProto | None:
    """Return the nodes by which ONNX defines an operator, if it does.

    Some bodies depend on the attributes and on which operands are given; some have versions, of
    which the latest is taken that the operator set of ai.onnx knows.

    Args:
        node: the node.
        domain: its domain.
        opset: the version of ai.onnx.
    """
    try:
        schema: Any = defs.get_schema(node.op, node.version, domain)
    except defs.SchemaError:
        return None
    function = FunctionProto()
    if schema.has_context_dependent_function:
        types = [_type(item).SerializeToString() for item in node.inputs]
        version = _latest(schema.context_dependent_function_opset_versions, opset)
        try:
            data = schema.get_context_dependent_function_with_opset_version(
                version, node.proto.SerializeToString(), types
            )
        except Exception:  # whatever somebody else's code makes of a malformed node
            return None
    elif schema.has_function:
        version = _latest(schema.function_opset_versions, opset)
        data = schema.get_function_with_opset_version(version)
    else:
        return None
    function.ParseFromString(data)
    if not any(plain_domain(entry.domain) == "" for entry in function.opset_import):
        function.opset_import.add(version=opset)
    for name in function.attribute:
        default = schema.attributes[name].default_value
        if default.type:
            function.attribute_proto.append(default)
    return function if function.node else None


def _latest(versions: Sequence[int], opset: int) -> int:
    return max((v for v in versions if v <= opset), default=min(versions))


def _type(item: Item | None) -> TypeProto:
    result = TypeProto()
    if item is not None and not isinstance(item, TensorList):
        result.tensor_type.elem_type = element_type(item)
        for size in item.shape:
            result.tensor_type.shape.dim.add().dim_value = size
    return result


def arguments(
    function: FunctionProto, node: OnnxNode
) -> tuple[dict[str, Item | None], dict[str, AttributeProto]]:
    """Bind a function's inputs and attributes for a call.

    Raises:
        ShadergenError: SG0105 when the call has more of either than the function.
    """
    if len(node.inputs) > len(function.input) or len(node.used) > len(function.output):
        raise ShadergenError(
            "SG0105",
            f"function {node.op} has {count(len(function.input), 'input')} and "
            f"{count(len(function.output), 'result')}, the call has "
            f"{count(len(node.inputs), 'input')} and {count(len(node.used), 'result')}",
        )
    missing = [None] * (len(function.input) - len(node.inputs))
    items = dict(zip(function.input, [*node.inputs, *missing], strict=True))
    defaults = {a.name: a for a in function.attribute_proto}
    return items, {**defaults, **node.attributes}
