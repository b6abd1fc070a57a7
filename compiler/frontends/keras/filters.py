"""Filters of HDF5 chunks, undone: none gives more bytes than the chunk may take.

Source: HDF5 file format specification 3.0, IV.A.2.l; liblzf's lzf_d.c; H5checksum.c of HDF5.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFLATE, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000
FILTERS = {DEFLATE: "deflate (gzip)", LZF: "lzf", SHUFFLE: "shuffle", FLETCHER32: "fletcher32"}
# What messages call others, of the HDF Group's list of registered filters.
OTHERS = {
    **{4: "szip", 5: "nbit", 6: "scaleoffset", 307: "bzip2", 32001: "blosc", 32004: "lz4"},
    **{32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32017: "sz", 32026: "blosc2"},
}
CHECKSUM = 4  # bytes
WORDS = 2**15  # that are summed at once


def packed_limit(size: int) -> int:
    """Return what any of the filters makes of so many bytes at worst."""
    return size + size // 32 + 64


def undone(
    packed: bytes, filters: Sequence[int], mask: int, nominal: int, itemsize: int
) -> bytes | memoryview:
    """Return what a chunk holds.

    Args:
        packed: the chunk as it is in the file.
        filters: of the data set, in the order in which they were applied.
        mask: a bit for each filter, set where it was not applied to this chunk.
        nominal: how many bytes the chunk must have in the end.
        itemsize: of an element, in bytes.

    Raises:
        ValueError: when it has another number of bytes, or is damaged.
    """
    data: bytes | memoryview = packed
    limit = packed_limit(nominal)
    for k, kind in reversed(list(enumerate(filters))):
        if mask >> k & 1:
            continue
        if kind == DEFLATE:
            inflater = zlib.decompressobj()
            data = inflater.decompress(data, limit + 1)
            if not inflater.eof:
                raise ValueError("a chunk inflates to more than it holds")
        elif kind == LZF:
            data = _expanded(bytes(data), limit)
        elif kind == FLETCHER32:
            data = _checked(memoryview(data))
        else:
            data = _unshuffled(data, itemsize)
    if len(data) != nominal:
        raise ValueError(f"a chunk has {len(data)} bytes, not {nominal}")
    return data


def _unshuffled(packed: bytes | memoryview, itemsize: int) -> bytes:
    """Put the bytes of each element together: the first of all come first, and so on."""
    whole = len(packed) // itemsize * itemsize
    planes = np.frombuffer(packed, np.uint8, whole).reshape(itemsize, -1)
    together: bytes = planes.T.tobytes()
    return together + packed[whole:]


def _expanded(packed: bytes, limit: int) -> bytes:
    """Undo LZF: a byte below 32 counts literals, others begin a copy of what came before.

    A copy is LLLddddd dddddddd, or 111ddddd LLLLLLLL dddddddd: of L + 2 bytes, d + 1 bytes back.
    """
    data = bytearray()
    at = 0
    try:
        while at < len(packed):
            control = packed[at]
            at += 1
            if control < 32:
                data += packed[at : at + control + 1]
                at += control + 1
            else:
                length = (control >> 5) + 2
                if length == 9:
                    length += packed[at]
                    at += 1
                start = len(data) - ((control & 31) << 8) - packed[at] - 1
                at += 1
                if start < 0:
                    raise ValueError("a chunk copies what is before its beginning")
                copied = data[start : start + length]
                if len(copied) < length:  # it goes on with what it has copied
                    copied = (copied * (length // len(copied) + 1))[:length]
                data += copied
            if len(data) > limit:
                raise ValueError("a chunk inflates to more than it holds")
    except IndexError:
        raise ValueError("a chunk ends within a copy") from None
    return bytes(data)


def _checked(packed: memoryview) -> memoryview:
    """Return the data before a checksum.

    Raises:
        ValueError: when it has another.
    """
    data, stored = packed[:-CHECKSUM], packed[-CHECKSUM:]
    value = int.from_bytes(stored, "little")
    # Sums go round at 65535, which is 0 then.
    if len(stored) < CHECKSUM or _sums(data) != (value % 65536 % 65535, (value >> 16) % 65535):
        raise ValueError("a chunk's checksum is wrong")
    return data


def _sums(data: memoryview) -> tuple[int, int]:
    """Return the sum of 16-bit words, the first byte being the high one, and the sum of sums."""
    first = second = 0
    for at in range(0, len(data), 2 * WORDS):
        piece = bytes(data[at : at + 2 * WORDS])
        words = np.frombuffer(piece + bytes(len(piece) % 2), ">u2").astype(np.int64)
        second += len(words) * first + int(words @ np.arange(len(words), 0, -1))
        first += int(words.sum())
    return first % 65535, second % 65535
