"""Data sets in chunks, unpacked with the size that each may have in hand.

The HDF5 library inflates a chunk to whatever size its bytes give, and makes room for each chunk
whole. Here a chunk gives as many bytes as it has elements, or is refused.

Source: HDF5 file format specification 3.0, VII.A.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

import h5py
import numpy as np

from .filters import FILTERS, OTHERS, packed_limit, undone

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALL = 2**20  # bytes: chunks up to here may be larger than what they hold


def check_chunks(data: h5py.Dataset) -> None:
    """Demand that all chunks of a data set are in the file, of a size in proportion to it.

    Raises:
        ValueError: when they are not.
    """
    chunks, itemsize = data.chunks, data.dtype.itemsize
    wanted = prod(-(-s // c) for s, c in zip(data.shape, chunks, strict=True))
    found = data.id.get_num_chunks()
    if found != wanted:
        raise ValueError(f"{found} of its {wanted} chunks are in the file")
    if prod(chunks) * itemsize > max(2 * prod(data.shape) * itemsize, SMALL):
        raise ValueError(f"a chunk of it has {prod(chunks)} elements")


def filters_of(data: h5py.Dataset) -> list[int]:
    """Return the numbers of a data set's filters, in the order in which they were applied."""
    plist = data.id.get_create_plist()
    return [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]


def obstacle(data: h5py.Dataset) -> str:
    """Return the filter or the type of a data set that is not implemented, or nothing."""
    for number in filters_of(data):
        if number not in FILTERS:
            return f"filter {OTHERS.get(number, number)}"
    stored = h5py.h5t.py_create(data.dtype)
    return "" if stored == data.id.get_type() else "a floating-point type of its own"


def read_filtered(data: h5py.Dataset) -> NDArray[np.float32]:
    """Read a data set that was filtered.

    Raises:
        ValueError: for a chunk that does not have the size it should.
    """
    filters = filters_of(data)
    result = np.empty(data.shape, np.float32)
    steps = (range(0, s, c) for s, c in zip(data.shape, data.chunks, strict=True))
    for start in product(*steps):
        info = data.id.get_chunk_info_by_coord(start)
        nominal = prod(data.chunks) * data.dtype.itemsize
        if info.size > packed_limit(nominal):
            raise ValueError(f"a chunk of {nominal} bytes takes {info.size}")
        mask, packed = data.id.read_direct_chunk(start)
        unpacked = undone(packed, filters, mask, nominal, data.dtype.itemsize)
        array = np.frombuffer(unpacked, data.dtype)
        inside = tuple(
            slice(k, min(k + c, s)) for k, c, s in zip(start, data.chunks, data.shape, strict=True)
        )
        part = tuple(slice(0, i.stop - i.start) for i in inside)
        with np.errstate(over="ignore"):
            result[inside] = array.reshape(data.chunks)[part]
    return result
