"""Parameter inputs: inputs that determine shapes and positions, but enter no computation.

Reshape's shape and Slice's starts must be known when compiling. A model may have them as inputs; a
caller who knows their values can fix them. An input is a parameter if every path from it to an
output leads through such an operand, so fixing it removes no computation on numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx.onnx_ml_pb2 import AttributeProto

from ..read.graph_body import plain_domain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx.onnx_ml_pb2 import GraphProto, NodeProto

# Operands of ai.onnx, in whichever version has them, that are shapes, sizes, counts, axes,
# positions or modes, and Compress's condition, which is to it what starts and ends are to Slice.
PARAMETERS: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "If": (0,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1, 2),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}
# Operands of which only the shape or the element type counts.
UNREAD: dict[str, tuple[int, ...]] = {
    "CastLike": (1,),
    "EyeLike": (0,),
    "OptionalHasElement": (0,),
    "SequenceLength": (0,),
    "Shape": (0,),
    "Size": (0,),
}


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
    own = not plain_domain(node.domain)
    apart = PARAMETERS.get(node.op_type, ()) + UNREAD.get(node.op_type, ()) if own else ()
    return (name for index, name in enumerate(node.input) if name and index not in apart)


def _bodies(node: NodeProto) -> Iterator[GraphProto]:
    return (a.g for a in node.attribute if a.type == AttributeProto.GRAPH)
