"""Decode HDF5 chunk filters: none gives more bytes than the chunk may take.

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
# What messages call other filters, of the HDF Group's list of registered ones.
OTHER_FILTERS = {
    4: "szip",
    5: "nbit",
    6: "scaleoffset",
    307: "bzip2",
    32001: "blosc",
    32004: "lz4",
    32008: "bitshuffle",
    32013: "zfp",
    32015: "zstd",
    32017: "sz",
    32026: "blosc2",
}
CHECKSUM = 4  # bytes
WORDS = 2**15  # that are summed at once


def packed_limit(size: int) -> int:
    """Return the largest stored size of a chunk of ``size`` bytes."""
    return size + size // 32 + 64


def decode_chunk(
    packed: bytes, filters: Sequence[tuple[int, tuple[int, ...]]], mask: int, nominal: int
) -> bytes | memoryview:
    """Return the bytes of a chunk before its filters.

    Args:
        packed: the chunk as it is in the file.
        filters: number and parameters of each, in the order in which they were applied.
        mask: a bit for each filter, set where it was not applied to this chunk.
        nominal: how many bytes the chunk must have in the end.

    Raises:
        ValueError: when it has another number of bytes, or is damaged.
    """
    data: bytes | memoryview = packed
    limit = packed_limit(nominal)
    for k, (kind, parameters) in reversed(list(enumerate(filters))):
        if mask >> k & 1:
            continue
        if kind == DEFLATE:
            data = _inflate(data, limit)
        elif kind == LZF:
            data = _decompress_lzf(bytes(data), limit)
        elif kind == FLETCHER32:
            data = _verify_fletcher32(memoryview(data))
        else:
            data = _unshuffle(data, parameters)
    if len(data) != nominal:
        raise ValueError(f"a chunk has {len(data)} bytes, not {nominal}")
    return data


def _inflate(packed: bytes | memoryview, limit: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(packed, limit + 1)
    except zlib.error:
        raise ValueError("a chunk's gzip data is damaged") from None
    if len(data) > limit:
        raise ValueError("a chunk unpacks to more bytes than declared")
    if not inflater.eof:
        raise ValueError("a chunk's gzip data ends early")
    return data


def _unshuffle(packed: bytes | memoryview, parameters: Sequence[int]) -> bytes:
    """Put the bytes of each element together: the first of all come first, and so on.

    The parameter is the size of an element, which need not be that of the data set.
    """
    itemsize = parameters[0] if parameters else 0
    if itemsize == 0:
        raise ValueError("its shuffle filter does not give the size of an element")
    whole = len(packed) // itemsize * itemsize
    planes = np.frombuffer(packed, np.uint8, whole).reshape(itemsize, -1)
    together: bytes = planes.T.tobytes()
    return together + packed[whole:]


def _decompress_lzf(packed: bytes, limit: int) -> bytes:
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
                    raise ValueError("an LZF chunk refers to bytes before its start")
                copied = data[start : start + length]
                if len(copied) < length:  # it goes on with what it has copied
                    copied = (copied * (length // len(copied) + 1))[:length]
                data += copied
            if len(data) > limit:
                raise ValueError("a chunk unpacks to more bytes than declared")
    except IndexError:
        raise ValueError("an LZF chunk is truncated") from None
    return bytes(data)


def _verify_fletcher32(packed: memoryview) -> memoryview:
    """Return the data before a checksum.

    Raises:
        ValueError: when the checksum is another.
    """
    data, stored = packed[:-CHECKSUM], bytes(packed[-CHECKSUM:])
    if len(stored) < CHECKSUM:
        raise ValueError("a chunk ends within its checksum")
    # HDF5 before 1.6.3 swapped the bytes of both sums on little-endian CPUs.
    values = [np.frombuffer(stored, order).astype(int) for order in ("<u2", ">u2")]
    # Sums go round at 65535, which is 0 then.
    if _fletcher_sums(data) not in [tuple((v % 65535).tolist()) for v in values]:
        raise ValueError("a chunk's checksum is wrong")
    return data


def _fletcher_sums(data: memoryview) -> tuple[int, int]:
    """Return the sum of 16-bit words, the first byte being the high one, and the sum of sums."""
    first = second = 0
    for at in range(0, len(data), 2 * WORDS):
        piece = bytes(data[at : at + 2 * WORDS])
        words = np.frombuffer(piece + bytes(len(piece) % 2), ">u2").astype(np.int64)
        second += len(words) * first + int(words @ np.arange(len(words), 0, -1))
        first += int(words.sum())
    return first % 65535, second % 65535
