"""Element types and shapes as ONNX declares them, in terms of numpy and of the IR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx.onnx_ml_pb2 import TensorProto

from .....records import dataclass
from .narrow_types import NARROW

if TYPE_CHECKING:
    from .....ir.types import DType


@dataclass(frozen=True)
class Encoding:
    """The storage of elements: their numpy type, and the field for data not in raw bytes."""

    dtype: str
    field: str


BFLOAT16 = 16
STRING = 8
ENCODINGS: dict[int, Encoding] = {
    1: Encoding("<f4", "float_data"),
    2: Encoding("u1", "int32_data"),
    3: Encoding("i1", "int32_data"),
    4: Encoding("<u2", "int32_data"),
    5: Encoding("<i2", "int32_data"),
    6: Encoding("<i4", "int32_data"),
    7: Encoding("<i8", "int64_data"),
    9: Encoding("u1", "int32_data"),
    10: Encoding("<f2", "int32_data"),
    11: Encoding("<f8", "double_data"),
    12: Encoding("<u4", "uint64_data"),
    13: Encoding("<u8", "uint64_data"),
    BFLOAT16: Encoding("<u2", "int32_data"),
}
BOOL = 9
FLOATS = (1, 10, 11, BFLOAT16)


def type_name(data_type: int) -> str:
    """Return ONNX's name of an element type, in lower case: float, int64."""
    try:
        return str(TensorProto.DataType.Name(data_type)).lower()
    except ValueError:
        return f"number {data_type}"


def numpy_type(data_type: int) -> np.dtype[np.generic] | None:
    """Return the numpy type that holds an ONNX element type, or None where there is none."""
    if data_type == BOOL:
        return np.dtype(bool)
    if data_type == BFLOAT16:
        return np.dtype(np.float32)
    encoding = ENCODINGS.get(data_type)
    return np.dtype(encoding.dtype).newbyteorder("=") if encoding else None


def number_of_type(dtype: np.dtype[Any]) -> int:
    """Return ONNX's number of a numpy type."""
    return next(n for n in (1, *ENCODINGS) if numpy_type(n) == dtype)


def ir_type(data_type: int) -> DType | None:
    """Return the IR's type of an ONNX element type, or None where there is none."""
    if data_type in NARROW:
        return NARROW[data_type].dtype
    dtype = numpy_type(data_type)
    if dtype is None:
        return None
    return "float32" if dtype.kind == "f" else dtype.name


def dimensions(shape: Any) -> list[int | None]:
    """Return the declared sizes; names, nothing at all and negative numbers mean: not fixed."""
    sizes: list[int | None] = []
    for d in shape.dim:
        fixed = d.HasField("dim_value") and d.dim_value >= 0
        sizes.append(d.dim_value if fixed else None)
    return sizes
