"""Weights: from a ``TensorProto`` to a numpy array, memory-mapped if in a file.

Headers are not trusted: declared sizes must agree with the bytes present before anything is
allocated. External data must lie inside the model's folder, symbolic links resolved.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from onnx.onnx_ml_pb2 import TensorProto

from .....errors import ShadergenError
from .narrow_types import NARROW, unpack
from .types import BFLOAT16, BOOL, ENCODINGS, Encoding, type_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx.onnx_ml_pb2 import SparseTensorProto


def read_tensor(proto: TensorProto, folder: Path | None, name: str = "") -> NDArray[np.generic]:
    """Decode a tensor; the array must not be written to.

    Args:
        proto: as stored in the model.
        folder: the model's, for external data; None for a model that has none.
        name: what to call the tensor in a message, if it has no name of its own.

    Raises:
        ShadergenError: SG0106 when shape and data disagree, SG0107 for external data that cannot
            be used, SG0206 for an element type that is not implemented.
    """
    name = proto.name or name
    narrow = NARROW.get(proto.data_type)
    encoding = Encoding("u1", "int32_data") if narrow else ENCODINGS.get(proto.data_type)
    if encoding is None:
        raise ShadergenError(
            "SG0206",
            f"tensor '{name}' has element type {type_name(proto.data_type)}",
            supported=", ".join(map(type_name, (*ENCODINGS, *NARROW))),
        )
    if proto.HasField("segment"):
        raise ShadergenError(
            "SG0206",
            f"tensor '{name}' is stored in segments, which is not implemented",
            help="export the model with each tensor whole",
        )
    shape = tuple(proto.dims)
    if min(shape, default=0) < 0 or len(shape) > 32:
        raise ShadergenError("SG0106", f"tensor '{name}' has the invalid shape {list(shape)}")
    dtype = np.dtype(encoding.dtype)
    count = -(-prod(shape) * narrow.bits // 8) if narrow else prod(shape)
    if proto.data_location == TensorProto.EXTERNAL:
        data = _external(proto, folder, name, dtype, count)
    elif proto.HasField("raw_data"):
        raw = proto.raw_data
        _check_length(name, shape, count * dtype.itemsize, len(raw), "bytes")
        data = np.frombuffer(raw, dtype)
    else:
        stored: Sequence[float] = getattr(proto, encoding.field)
        _check_length(name, shape, count, len(stored), "elements")
        data = _from_field(stored, encoding)
    if narrow:
        data = narrow.decode(unpack(data.astype(np.uint8), narrow.bits, prod(shape)))
    elif proto.data_type == BOOL:
        data = data != 0
    elif proto.data_type == BFLOAT16:
        data = (data.astype(np.uint32) << 16).view(np.float32)
    return data.reshape(shape)


def read_sparse(
    proto: SparseTensorProto, folder: Path | None, name: str = ""
) -> NDArray[np.generic]:
    """Decode a tensor of which only some elements are stored; the others are zero.

    Raises:
        ShadergenError: SG0106 when the elements do not lie in the tensor, and as ``read_tensor``.
    """
    name = proto.values.name or name
    shape = tuple(proto.dims)
    values = read_tensor(proto.values, folder, name)
    indices = read_tensor(proto.indices, folder, f"indices of {name}")
    try:
        if indices.ndim == 2 and indices.shape[1] == len(shape):
            indices = np.ravel_multi_index(tuple(indices.T), shape)
        result = np.zeros(shape, values.dtype)
        inside = indices.size == 0 or (indices.min() >= 0 and indices.max() < result.size)
        if indices.ndim == values.ndim == 1 and inside:
            np.put(result, indices.astype(np.int64), values)
            return result
    except (TypeError, ValueError):  # no integers, elements outside, a size below 0
        pass
    raise ShadergenError(
        "SG0106",
        f"the indices of the sparse tensor '{name}' do not fit the tensor's shape {list(shape)}",
        why=f"the array of the indices has shape {list(indices.shape)}",
        supported="for each value, one index into the flat tensor, or an index for each axis",
    )


def _from_field(stored: Sequence[float], encoding: Encoding) -> NDArray[np.generic]:
    """Decode elements that protobuf holds one by one; float16 as the bits in an integer."""
    if encoding.field != "int32_data":
        return np.array(stored, encoding.dtype)
    integers = np.array(stored, np.int32)
    if encoding.dtype == "<f2":
        return integers.astype(np.uint16).view(np.float16)
    return integers.astype(encoding.dtype)


def _check_length(name: str, shape: tuple[int, ...], wanted: int, found: int, unit: str) -> None:
    if wanted != found:
        raise ShadergenError(
            "SG0106",
            f"tensor '{name}' has the wrong number of elements",
            why=f"shape {'x'.join(map(str, shape)) or 'scalar'} needs {wanted} {unit}, "
            f"the file holds {found}",
        )


def _external(
    proto: TensorProto, folder: Path | None, name: str, dtype: np.dtype[np.generic], count: int
) -> NDArray[np.generic]:
    """Map a tensor stored in a file of its own."""
    if folder is None:
        raise ShadergenError(
            "SG0107",
            f"tensor '{name}' is external data, but the model is not a file",
            help="load the model with onnx.load(path), which also loads external data",
        )
    entries = {e.key: e.value for e in proto.external_data}
    location = entries.get("location", "")
    nbytes = count * dtype.itemsize
    where = f"tensor '{name}' in '{location}'"
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", nbytes))
    except ValueError:
        raise ShadergenError("SG0105", "offset and length must be numbers", where=where) from None
    if length != nbytes:
        _check_length(name, tuple(proto.dims), nbytes, length, "bytes")
    path = _inside(folder, location, where)
    size = path.stat().st_size
    if offset < 0 or offset + nbytes > size:
        raise ShadergenError(
            "SG0107",
            "external data is too short",
            where=where,
            why=f"bytes {offset} to {offset + nbytes} are needed, the file has {size}",
        )
    if not count:
        return np.zeros(0, dtype)
    return np.memmap(path, dtype, "r", offset, count)


def _inside(folder: Path, location: str, where: str) -> Path:
    """Return the file at ``location`` after making sure that it lies in ``folder``."""
    try:
        root = folder.resolve()
        path = (root / location).resolve()
        inside, there = path.is_relative_to(root), path.is_file()
    except (OSError, ValueError, RuntimeError):  # names too long or with a NUL, loops of links
        inside, there = True, False
    if not inside:
        raise ShadergenError(
            "SG0107",
            "external data lies outside the model's folder",
            where=where,
            why="external data must lie in the model's folder or a subfolder, also after symbolic "
            "links are resolved",
        )
    if not there:
        raise ShadergenError(
            "SG0107",
            "external data is missing",
            where=where,
            help="keep the model and its data files together, under the names they were saved with",
        )
    return path
