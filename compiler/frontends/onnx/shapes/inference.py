"""The types that ONNX's own shape inference finds in a model."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from onnx import defs
from onnx.onnx_ml_pb2 import ModelProto, TensorProto, TypeProto

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LARGEST_OPERAND = 1 << 10  # elements: tensors up to here may be shapes or axes
FLOATS = {f"tensor({kind})" for kind in ("bfloat16", "double", "float", "float16")}


def infer_types(
    proto: ModelProto, shapes: Mapping[str, tuple[int, ...]], declared: bool = True
) -> dict[str, TypeProto]:
    """Return the types of values by name, as far as found; large weights are not looked at.

    Args:
        proto: the model.
        shapes: of its inputs, where they are chosen.
        declared: whether to go by the shapes that the model declares of computed values, too.
    """
    from onnx import checker, shape_inference

    failures = shape_inference.InferenceError, checker.ValidationError, RuntimeError, ValueError
    light = ModelProto(ir_version=proto.ir_version)
    light.opset_import.extend(proto.opset_import)
    light.functions.extend(proto.functions)
    graph = light.graph
    graph.name = "g"
    graph.input.extend(proto.graph.input)
    graph.output.extend(proto.graph.output)
    if declared:
        graph.value_info.extend(proto.graph.value_info)
    else:
        for info in graph.output:
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
    for info in graph.input:
        for axis, size in enumerate(shapes.get(info.name, ())):
            info.type.tensor_type.shape.dim[axis].dim_value = size
    given = {i.name for i in graph.input}
    for tensor in proto.graph.initializer:
        if not _large(tensor):
            graph.initializer.append(tensor)
        elif tensor.name not in given:
            graph.input.add(name=tensor.name).type.CopyFrom(tensor_type(tensor))
    for node in proto.graph.node:
        large = [a.t for a in node.attribute if node.op_type == "Constant" and _large(a.t)]
        if large and node.output:
            graph.input.add(name=node.output[0]).type.CopyFrom(tensor_type(large[0]))
        else:
            graph.node.append(node)
    try:
        found = shape_inference.infer_shapes(light, data_prop=True).graph
    except failures:  # the user can state the size
        return {}
    return {i.name: i.type for i in (*found.output, *found.value_info) if i.HasField("type")}


def _large(tensor: TensorProto) -> bool:
    return prod(tensor.dims) > LARGEST_OPERAND or tensor.data_location == TensorProto.EXTERNAL


def types_by_use(proto: ModelProto, types: Mapping[str, TypeProto]) -> dict[str, int]:
    """Return the element types of values by what reads them, where that leaves no choice.

    ``Mul(x, weight)`` says that x is of the weight's type, and ``Conv(x, ...)`` says float32: it
    takes no integers. A cast says nothing.

    Args:
        proto: the model.
        types: those that are known otherwise.
    """
    found = {n: t.tensor_type.elem_type for n, t in types.items() if t.tensor_type.elem_type}
    known = set(found)
    versions = {o.domain: o.version for o in proto.opset_import}
    for node in reversed(proto.graph.node):  # users come first
        if node.domain not in versions or not defs.has(node.op_type, node.domain):
            continue
        try:
            schema = defs.get_schema(node.op_type, versions[node.domain], node.domain)
        except defs.SchemaError:  # of a later operator set
            continue
        inputs = _formal(node.input, schema.inputs)
        stated = {
            formal.type_str: found[name]
            for name, formal in (*inputs, *_formal(node.output, schema.outputs))
            if name in found
        }
        for name, formal in inputs:
            letter = formal.type_str
            if letter in stated:
                found.setdefault(name, stated[letter])
            elif formal.types and formal.types <= FLOATS:
                found.setdefault(name, TensorProto.FLOAT)
    return {name: kind for name, kind in found.items() if name not in known}


def _formal(
    names: Sequence[str], parameters: Sequence[defs.OpSchema.FormalParameter]
) -> list[tuple[str, defs.OpSchema.FormalParameter]]:
    """Return names with their types in the operator's definition, if unique."""
    pairs = []
    for index, name in enumerate(names):
        formal = parameters[min(index, len(parameters) - 1)]
        if name and formal.is_homogeneous:
            pairs.append((name, formal))
    return pairs


def tensor_type(tensor: TensorProto) -> TypeProto:
    """Return the type of a weight."""
    result = TypeProto()
    result.tensor_type.elem_type = tensor.data_type
    for size in tensor.dims:
        result.tensor_type.shape.dim.add().dim_value = size
    return result
