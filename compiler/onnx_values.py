"""Arrays as an ONNX model declares them: element types, dynamic shapes, strings as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray

from ..errors import ShadergenError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Arrays = dict[str, NDArray[Any]]  # by the names of inputs or outputs


def has_dynamic_shape(info: onnx.ValueInfoProto) -> bool:
    """Whether an input's shape is unknown when compiling."""
    tensor = info.type.tensor_type
    return not tensor.HasField("shape") or not all(
        d.HasField("dim_value") and d.dim_value >= 0 for d in tensor.shape.dim
    )


def _dtype(info: onnx.ValueInfoProto) -> np.dtype[Any] | None:
    """Return the declared element type, or None where none is."""
    kind = info.type.tensor_type.elem_type if info.type.HasField("tensor_type") else 0
    return onnx.helper.tensor_dtype_to_np_dtype(kind) if kind else None


def given(value: ArrayLike, info: onnx.ValueInfoProto) -> NDArray[Any]:
    """Return an input as an array of the declared type."""
    kind = info.type.WhichOneof("value") or "tensor_type"
    if kind != "tensor_type":
        what = f"input '{info.name}' is of type {kind.removesuffix('_type')}"
        raise ShadergenError("SG0206", what, supported="tensors")
    array, dtype = np.asarray(value), _dtype(info)
    if dtype is not None and dtype.kind == "O":
        array = array.astype(object)
        if not all(isinstance(text, (str, bytes)) for text in array.flat):
            raise ShadergenError("SG0605", f"input '{info.name}' takes only strings")
    if dtype is None or array.dtype == dtype:
        return array
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ShadergenError(
            "SG0605", f"input '{info.name}' has element type {array.dtype}", supported=str(dtype)
        )
    return array.astype(dtype)


def numbered(arrays: Arrays) -> tuple[Arrays, NDArray[Any]]:
    """Return arrays with the places of strings in a list in place of them, and that list."""
    strings = {name: a for name, a in arrays.items() if a.dtype.kind == "O"}
    texts: dict[Any, int] = {}
    numbers = {
        name: np.array([texts.setdefault(t, len(texts)) for t in a.flat], np.int32).reshape(a.shape)
        for name, a in strings.items()
    }
    return arrays | numbers, np.array([*texts], object)


def declared(result: NDArray[Any], info: onnx.ValueInfoProto, texts: NDArray[Any]) -> NDArray[Any]:
    """Return an output as an array of the declared type; of strings, out of a list of all."""
    if info.type.tensor_type.elem_type == onnx.TensorProto.STRING:
        chosen: NDArray[Any] = texts[result.reshape(-1)].reshape(result.shape)
        return chosen
    with np.errstate(over="ignore", invalid="ignore"):
        return result.astype(_dtype(info) or result.dtype, copy=False)
