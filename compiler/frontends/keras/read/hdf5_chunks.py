"""Chunked data sets, unpacked with a size limit for each chunk.

The HDF5 library inflates a chunk to any size and allocates it whole. Here a chunk must inflate to
exactly the size of its elements, otherwise it is refused.

Source: HDF5 file format specification 3.0, VII.A.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

import h5py
import numpy as np

from .hdf5_filters import FILTERS, OTHER_FILTERS, decode_chunk, packed_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SMALL = 2**20  # bytes: chunks up to here may be larger than what they hold


def check_chunks(data: h5py.Dataset) -> NDArray[np.int64]:
    """Demand that all chunks of a data set are in the file, of a size in proportion to it.

    Returns:
        The stored size of each chunk in bytes, an array with the axes of the data set.

    Raises:
        ValueError: when a chunk is missing or too large.
    """
    chunks, itemsize = data.chunks, data.dtype.itemsize
    if prod(chunks) * itemsize > max(2 * prod(data.shape) * itemsize, SMALL):
        raise ValueError(
            f"its chunks are too large: {prod(chunks)} elements each, "
            f"the whole array has {prod(data.shape)}"
        )
    counts = [-(-s // c) for s, c in zip(data.shape, chunks, strict=True)]
    found, wanted = data.id.get_num_chunks(), prod(counts)
    if found != wanted:
        raise ValueError(f"{found} of its {wanted} chunks are in the file")
    sizes = np.zeros(counts, np.int64)

    def note(chunk: h5py.h5d.StoreInfo) -> None:
        place = tuple(at // c for at, c in zip(chunk.chunk_offset, chunks, strict=True))
        if all(k < count for k, count in zip(place, counts, strict=True)):
            sizes[place] = chunk.size

    data.id.chunk_iter(note)
    if missing := int((sizes == 0).sum()):
        raise ValueError(f"{wanted - missing} of its {wanted} chunks are in the file")
    return sizes


def filters_of(data: h5py.Dataset) -> list[tuple[int, tuple[int, ...]]]:
    """Return number and parameters of each filter, in the order in which they were applied."""
    plist = data.id.get_create_plist()
    found = (plist.get_filter(i) for i in range(plist.get_nfilters()))
    return [(number, tuple(parameters)) for number, _, parameters, _ in found]


def unsupported_storage(data: h5py.Dataset, filters: Sequence[tuple[int, tuple[int, ...]]]) -> str:
    """Return the filter or the type of a data set that is not implemented, or an empty string."""
    for number, _ in filters:
        if number not in FILTERS:
            return f"the HDF5 filter {OTHER_FILTERS.get(number, number)}"
    stored = h5py.h5t.py_create(data.dtype)
    return "" if stored == data.id.get_type() else "a non-standard floating-point type"


def read_filtered(
    data: h5py.Dataset,
    filters: Sequence[tuple[int, tuple[int, ...]]],
    sizes: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Read a data set that was filtered.

    A file may leave chunks that reach beyond the data set unfiltered
    (H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS), and h5py has no function that says so. An unfiltered
    chunk has its nominal size in the file. A filtered one may have it too, as after a shuffle:
    where a chunk of this size can be decoded, so that its memory is known, HDF5 reads it.

    Args:
        data: the data set.
        filters: what :func:`filters_of` returns.
        sizes: what :func:`check_chunks` returns.

    Raises:
        ValueError: for a chunk that does not have the size it should.
    """
    result = np.empty(data.shape, np.float32)
    nominal = prod(data.chunks) * data.dtype.itemsize
    if (largest := int(sizes.max())) > packed_limit(nominal):
        raise ValueError(
            f"a chunk takes {largest} bytes in the file, but only {nominal} when unpacked"
        )
    steps = (range(0, s, c) for s, c in zip(data.shape, data.chunks, strict=True))
    for start in product(*steps):
        inside = tuple(
            slice(k, min(k + c, s)) for k, c, s in zip(start, data.chunks, data.shape, strict=True)
        )
        part = tuple(slice(0, i.stop - i.start) for i in inside)
        mask, packed = data.id.read_direct_chunk(start)
        partial = any(p.stop < c for p, c in zip(part, data.chunks, strict=True))
        ambiguous = partial and len(packed) == nominal
        try:
            unpacked = decode_chunk(packed, filters, mask, nominal)
        except ValueError:
            if not ambiguous:
                raise
            unpacked = packed  # it was not filtered
        with np.errstate(over="ignore"):
            if ambiguous and unpacked is not packed:
                result[inside] = data[inside]
            else:
                array = np.frombuffer(unpacked, data.dtype)
                result[inside] = array.reshape(data.chunks)[part]
    return result
