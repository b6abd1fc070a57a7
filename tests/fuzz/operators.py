"""The table of the operators that graphs are made of.

An entry is a function that adds an operator to a graph: it draws the operands and the attributes
from all that the specification allows. ``dynamic`` marks those that build no height or width in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .net import Net, Rejected

Made = str | tuple[str, ...]
Make = Callable[[Net], Made]
ATTEMPTS = 40


@dataclass(frozen=True)
class Operator:
    """An entry: how often it is drawn relative to others, and whether sizes may be dynamic."""

    name: str
    make: Make
    weight: float
    dynamic: bool


OPERATORS: dict[str, Operator] = {}

# Of the operators that the compiler has, those without an entry, and why.
LEFT_OUT = {
    **dict.fromkeys(("ArrayFeatureExtractor", "Binarizer", "Scaler"), "machine learning"),
    **dict.fromkeys(("NonMaxSuppression", "NonZero", "Unique"), "sizes that follow from data"),
    **dict.fromkeys(("BitCast", "CausalConvWithState", "CumProd", "SwiGLU"), "beyond OPSETS"),
    "Scatter": "ScatterElements under another name, deprecated",
    "SimplifiedLayerNormalization": "in no domain's document",
    "TensorScatter": "beyond OPSETS",
    "StringNormalizer": "strings",
    "MelWeightMatrix": "a constant",
    **dict.fromkeys(("SequenceAt", "SequenceConstruct", "SequenceEmpty"), "lists"),
    **dict.fromkeys(("SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap"), "lists"),
    **dict.fromkeys(("ConcatFromSequence", "SplitToSequence"), "lists"),
    **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), "lists"),
    **dict.fromkeys(("Affine", "Crop", "DynamicSlice", "GivenTensorFill"), "retired"),
    **dict.fromkeys(("ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"), "retired"),
    **dict.fromkeys(("BipolarQuant", "IntQuant", "Quant", "Trunc"), "not in ONNX Runtime"),
    "Gradient": "not in ONNX Runtime",
    # Of com.microsoft, those that tests/frontends/onnx alone have cases of:
    **dict.fromkeys(("BiasAdd", "ExpandDims", "FusedGemm", "TransposeMatMul"), "other domain"),
    **dict.fromkeys(("MatMulIntegerToFloat", "MultiHeadAttention", "QGemm"), "other domain"),
    **dict.fromkeys(("QLinearAveragePool", "QLinearGlobalAveragePool"), "other domain"),
    **dict.fromkeys(("QLinearConcat", "QLinearSoftmax"), "other domain"),
}


def operator(*names: str, weight: float = 1.0, dynamic: bool = False) -> Callable[[Make], Make]:
    """Enter a function under the names of operators; several share its weight."""

    def enter(make: Make) -> Make:
        for name in names:
            OPERATORS[name] = Operator(name, make, weight / len(names), dynamic)
        return make

    return enter


def grow(net: Net, count: int) -> list[str]:
    """Add some operators to a graph; return the names of the entries that were taken."""
    entries = [o for o in OPERATORS.values() if o.dynamic or not net.dynamic]
    weights = [o.weight for o in entries]
    taken: list[str] = []
    for _ in range(ATTEMPTS * count):
        if len(taken) == count:
            break
        entry = net.draw.weighted(entries, weights)
        try:
            with net.attempt():
                made = entry.make(net)
                net.offer(*((made,) if isinstance(made, str) else made))
        except Rejected:
            continue
        taken.append(entry.name)
    return taken
