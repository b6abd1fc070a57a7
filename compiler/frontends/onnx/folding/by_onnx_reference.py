"""Operators on tensors known at compile time, carried out by ONNX's own reference implementation.

It computes in the tensors' own types and takes any version of an operator. Only operators whose
work and memory are in proportion to their operands and results are left to it, and the sizes of
the results are found and paid for first. It is imported when it is first needed.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import defs, helper, numpy_helper
from onnx.onnx_ml_pb2 import NodeProto

from .....errors import ShadergenError
from ..operands import Known, element_type
from ..read.types import dimensions, numpy_type
from .budget import work

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx.onnx_ml_pb2 import OperatorSetIdProto, TypeProto

    from ..ops.node import OnnxNode

EVALUATED = frozenset(
    (
        *("ArgMax", "ArgMin", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"),
        *("CumSum", "IsInf", "IsNaN", "NonZero", "OneHot", "ReduceL1", "ReduceL2", "ReduceLogSum"),
        *("ReduceLogSumExp", "ReduceMean", "ReduceSumSquare", "TopK", "Unique"),
    )
)
SHAPE_OPERAND = 1 << 10  # elements: operands up to here may decide on the shape of a result


def evaluate_node(node: OnnxNode) -> list[Known]:
    """Carry out a node of ``EVALUATED`` whose inputs are all known.

    Raises:
        ShadergenError: SG0205 when the operands do not fit the operator or each other, SG0401 when
            the results are too large.
    """
    arrays = {
        f"x{i}": node.known(i, "an operand") for i in range(len(node.inputs)) if node.given(i)
    }
    if node.op == "CumSum" and arrays["x1"].size == 1:
        arrays["x1"] = arrays["x1"].reshape(())  # PyTorch writes a list of one axis
    proto = NodeProto(op_type=node.op)
    proto.input.extend(f"x{i}" if node.given(i) else "" for i in range(len(node.inputs)))
    proto.output.extend(f"y{i}" for i in range(len(node.used)))
    proto.attribute.extend(node.attributes.values())
    node.ignore(*node.attributes)
    opset = helper.make_opsetid("", node.version)
    try:
        types = _types(node, proto, arrays, opset)
        for name in proto.output:
            node.budget.take(_size(types[name], arrays) * work(*arrays.values()))
        from onnx.reference import ReferenceEvaluator

        inputs = [helper.make_tensor_value_info(n, 1, None) for n in arrays]
        outputs = [helper.make_tensor_value_info(n, 1, None) for n in proto.output]
        graph = helper.make_graph([proto], "g", inputs, outputs)
        model = helper.make_model(graph, opset_imports=[opset])
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, arrays)
    except ShadergenError:
        raise
    except Exception as error:  # whatever somebody else's code makes of a malformed node
        raise ShadergenError(
            "SG0205",
            f"the operands do not fit {node.op}",
            why=(str(error).splitlines() or [type(error).__name__])[0][:200],
        ) from None
    return [
        Known(node.layer, np.asarray(y).astype(numpy_type(types[n].tensor_type.elem_type)))
        for n, y in zip(proto.output, results, strict=True)
    ]


def _types(
    node: OnnxNode, proto: NodeProto, arrays: dict[str, NDArray[Any]], opset: OperatorSetIdProto
) -> dict[str, TypeProto]:
    """Return the types of the results, by ONNX's shape inference."""
    from onnx.shape_inference import infer_node_outputs

    types = {
        name: helper.make_tensor_type_proto(element_type(Known(name, x)), x.shape)
        for name, x in arrays.items()
    }
    data = {
        name: numpy_helper.from_array(np.ascontiguousarray(x), name)
        for name, x in arrays.items()
        if x.size <= SHAPE_OPERAND
    }
    schema = defs.get_schema(node.op, node.version, "")
    return infer_node_outputs(schema, proto, types, data, opset_imports=[opset])


def _size(inferred: TypeProto, arrays: dict[str, NDArray[Any]]) -> int:
    """Return how many elements a result has, or may have where data decides."""
    shape = inferred.tensor_type.shape
    sizes = dimensions(shape)
    if inferred.tensor_type.HasField("shape") and None not in sizes:
        return prod(s for s in sizes if s is not None)
    return max((x.size * max(x.ndim, 1) for x in arrays.values()), default=1)
