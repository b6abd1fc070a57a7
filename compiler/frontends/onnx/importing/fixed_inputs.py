"""Inputs whose value the caller fixes: from the numbers given to a tensor of the declared type."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from ..operands import Known
from ..read.narrow_types import NARROW
from ..read.types import dimensions, numpy_type, type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from onnx.onnx_ml_pb2 import ValueInfoProto


def fixed_input(info: ValueInfoProto, given: ArrayLike) -> Known:
    """Return an input as a tensor known at compile time.

    Args:
        info: how the model declares it.
        given: of the declared shape; a list will do where that leaves no doubt.

    Raises:
        ShadergenError: SG0301 when the value does not fit the declaration, SG0206 when the input is
            no tensor of numbers.
    """
    where = f"input '{info.name}'"
    tensor = info.type.tensor_type
    dtype = _held_as(tensor.elem_type) if info.type.HasField("tensor_type") else None
    if dtype is None:
        kind = info.type.WhichOneof("value") or "nothing"
        named = kind.removesuffix("_type")
        if kind == "tensor_type":
            named = type_name(tensor.elem_type)
        raise ShadergenError("SG0206", f"{where} of type {named} cannot be a constant")
    given = np.asarray(given)
    with np.errstate(all="ignore"):
        array = given.astype(dtype)
        same = dtype.kind == "f" or np.array_equal(array.astype(given.dtype), given)
    if not same:
        raise ShadergenError(
            "SG0301",
            f"--input-value {info.name} does not fit type {type_name(tensor.elem_type)}",
            where=where,
            why=f"the given value is {given.tolist()}",
        )
    if not tensor.HasField("shape"):
        return Known(info.name, array)
    return Known(info.name, _shaped(array, dimensions(tensor.shape), where))


def _held_as(data_type: int) -> np.dtype[np.generic] | None:
    """Return the numpy type in which a tensor known at compile time is held."""
    return np.dtype(NARROW[data_type].dtype) if data_type in NARROW else numpy_type(data_type)


def _shaped(
    array: NDArray[np.generic], declared: Sequence[int | None], where: str
) -> NDArray[np.generic]:
    if len(declared) == array.ndim and all(
        d in (None, size) for d, size in zip(declared, array.shape, strict=True)
    ):
        return array
    sizes = [d for d in declared if d is not None]
    if array.ndim <= 1 and len(sizes) == len(declared) and prod(sizes) == array.size:
        return array.reshape(sizes)
    shape = " x ".join("?" if d is None else str(d) for d in declared)
    given = " x ".join(map(str, array.shape)) if array.ndim > 1 else array.size
    raise ShadergenError(
        "SG0301",
        f"--input-value gives {given} numbers",
        where=where,
        supported=f"a tensor of shape {shape}{', where ? is any size' * (None in declared)}"
        if declared
        else "one number: the input is a scalar",
    )
