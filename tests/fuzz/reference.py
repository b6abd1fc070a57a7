"""What onnxruntime computes, and how far rounding alone can move it.

A step at a threshold, or a difference of nearly equal numbers, makes any two implementations differ
by more than the tolerance. :func:`movement` measures that on the reference itself: it adds noise of
the size of rounding errors behind every node that rounds, and sees how far each element of the
results moves. A product whose factors, in another order, leave float32's range may become anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Arrays = Mapping[str, NDArray[Any]]

TRIES = 12
ROUNDED = {  # types of numbers that builds round, with their names in ONNX
    np.dtype(np.float32): onnx.TensorProto.FLOAT,
    np.dtype(np.float64): onnx.TensorProto.DOUBLE,
}
# What computes float32 without rounding: noise behind these would hide mistakes at thresholds.
# Of 16 bits nothing is exact, since what is stored is rounded.
FLOAT32 = 1e-5  # rounding errors below are of float32
EXACT = {
    *("Abs", "Neg", "Relu", "Sign", "Floor", "Ceil", "Round", "Max", "Min", "Clip", "Identity"),
    *("Where", "Cast", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Concat"),
    *("Split", "Slice", "Pad", "Tile", "Expand", "Gather", "GatherElements", "GatherND"),
    *("ScatterND", "ScatterElements", "DepthToSpace", "SpaceToDepth", "MaxPool", "ReduceMax"),
    *("ReduceMin", "GlobalMaxPool", "TopK", "OneHot", "Hardmax", "Dropout", "Trilu", "Compress"),
    *("ReverseSequence", "CenterCropPad", "EyeLike", "ConstantOfShape", "DequantizeLinear"),
    *("Constant", "Range", "Shrink"),
}


class Failed(Exception):
    """onnxruntime does not take the model."""


def session(model: onnx.ModelProto) -> Any:
    """Return a session without optimisations, of one thread.

    Raises:
        Failed: when there is none.
    """
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # its errors have no class of their own
        raise Failed(str(error)) from None


def run(model: onnx.ModelProto, feed: Arrays) -> dict[str, NDArray[Any]]:
    """Return the model's results by name.

    Raises:
        Failed: when it does not take the model or the arrays.
    """
    opened = session(model)
    names = [o.name for o in opened.get_outputs()]
    try:
        wanted = {i.name: feed[i.name] for i in opened.get_inputs()}
        return dict(zip(names, opened.run(names, wanted), strict=True))
    except Exception as error:
        raise Failed(str(error)) from None


def run_all(model: onnx.ModelProto, feed: Arrays) -> dict[str, NDArray[Any]]:
    """Return every value that the model computes."""
    opened = onnx.ModelProto()
    opened.CopyFrom(model)
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                opened.graph.output.append(onnx.ValueInfoProto(name=name))
    return run(opened, feed)


def movement(
    model: onnx.ModelProto, feed: Arrays, size: float, weights: float, seed: int, tries: int = TRIES
) -> dict[str, NDArray[Any]]:
    """Return how far each element of the results moves when the model's numbers are rounded.

    Infinity stands for any distance.

    Args:
        model: the model.
        feed: its inputs.
        size: of the rounding errors, relative to the largest number of a value.
        weights: of those of the weights.
        seed: of the errors.
        tries: how often the model is run with errors.

    Raises:
        ValueError: if onnxruntime fails with all of the errors.
    """
    values = run_all(model, feed)
    still = {o.name: np.asarray(values[o.name], np.float64) for o in model.graph.output}
    if _a_product_may_overflow(model, {**feed, **values}):
        return {name: np.full(value.shape, np.inf) for name, value in still.items()}
    moved = {name: np.zeros(value.shape) for name, value in still.items()}
    failed = []
    for k in range(tries):
        rng = np.random.default_rng((seed, k))
        noisy, errors = _noisy(model, values, size, weights, rng)
        given = {n: shaken(a, size, rng) if a.dtype in ROUNDED else a for n, a in feed.items()}
        given |= errors
        try:
            found = run(noisy, given)
        except Failed as error:  # a threshold decides a shape, say
            failed.append(error)
            continue
        for name, value in found.items():
            if value.shape == still[name].shape:
                away = np.nan_to_num(np.abs(value.astype(np.float64) - still[name]), nan=np.inf)
                moved[name] = np.maximum(moved[name], away)
    if len(failed) == tries:
        raise ValueError(f"no run with rounding errors succeeded: {failed[0]}")
    return moved


def _a_product_may_overflow(model: onnx.ModelProto, values: Arrays) -> bool:
    """Return whether some order of a product's factors leaves float32's range on the way.

    Taken for products of a whole value, whatever their axes.
    """
    limits = np.finfo(np.float32)
    for node in model.graph.node:
        if node.op_type == "ReduceProd" and node.input[0] in values:
            factors = np.abs(values[node.input[0]].astype(np.float64))
            bits = np.log2(factors[factors > 0])
            if bits[bits > 0].sum() > limits.maxexp or bits[bits < 0].sum() < limits.minexp:
                return True
    return False


def _noisy(
    model: onnx.ModelProto, values: Arrays, size: float, weights: float, rng: np.random.Generator
) -> tuple[onnx.ModelProto, Arrays]:
    """Return the model with noise, and the errors that it takes as further inputs.

    They are no initializers: of those onnxruntime knows the shape, which it compares with its own
    inference, and that errs for some windows.
    """
    errors_of = {}
    noisy = onnx.ModelProto()
    noisy.CopyFrom(model)
    graph = noisy.graph
    if weights:
        for tensor in graph.initializer:
            array = numpy_helper.to_array(tensor)
            if array.dtype == np.float32 and array.ndim > 1:
                tensor.CopyFrom(numpy_helper.from_array(shaken(array, weights, rng), tensor.name))
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        rounded = onnx.NodeProto()
        rounded.CopyFrom(node)
        errors = []
        for k, name in enumerate(node.output):
            rounds = size > FLOAT32 or node.op_type not in EXACT
            if rounds and name and values[name].dtype in ROUNDED:
                noise = np.asarray(shaken(values[name], size, rng) - values[name])
                plain, error = f"{name}/plain", f"{name}/error"
                rounded.output[k] = plain
                graph.input.append(
                    helper.make_tensor_value_info(error, ROUNDED[values[name].dtype], None)
                )
                errors_of[error] = noise
                errors.append(helper.make_node("Add", [plain, error], [name]))
        graph.node.append(rounded)
        graph.node.extend(errors)
    return noisy, errors_of


def shaken(array: NDArray[Any], size: float, rng: np.random.Generator) -> NDArray[Any]:
    """Return numbers with errors of a size, relative to each and to the largest."""
    most = np.abs(array).max(initial=0)
    errors = array * rng.uniform(-1, 1, array.shape) + most * rng.uniform(-0.5, 0.5, array.shape)
    return np.asarray(array + size * errors, array.dtype)  # of a scalar numpy makes no array
