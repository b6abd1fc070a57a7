"""Members of a ZIP archive as files that are read at any place, in little memory.

What is stored is a part of the archive. What is deflated is inflated once from end to end, which
checks its size and checksum; the states of the inflater on the way are kept, so that any place is
reached again from the nearest state before it. At most 64 MiB of the member are in memory.

Source: APPNOTE.TXT 6.3.10, 4.3 and 4.4; RFC 1951.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from bisect import bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _typeshed import WriteableBuffer

DIRECTORY_LIMIT = 2**20  # bytes; a Keras archive has a few members, each takes about 60
PIECE = 2**14  # of deflated bytes, at a time
STATES = 256  # of the inflater, about 45 KB each
CACHE = 64 * 2**20


class Directory(io.FileIO):
    """An archive for ``ZipFile``, which would read a directory of any size."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = os.fstat(self.fileno()).st_size - self.tell()
        if size > DIRECTORY_LIMIT:
            raise zipfile.BadZipFile(f"its list of members takes {size} bytes")
        data = super().read(size)
        return data if data is not None else b""


class Member(io.RawIOBase):
    """One member of an archive.

    Args:
        file: the archive.
        info: the member, stored or deflated.
        look: is given all of it once, in pieces.

    Raises:
        zipfile.BadZipFile: when the bytes are not those that the archive's directory describes.
    """

    def __init__(
        self, file: BinaryIO, info: zipfile.ZipInfo, look: Callable[[bytes], None]
    ) -> None:
        super().__init__()
        if info.flag_bits & 1 or info.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise zipfile.BadZipFile("it is encrypted, or neither stored nor deflated")
        file.seek(info.header_offset)
        header = file.read(30)
        if len(header) < 30 or not header.startswith(b"PK\x03\x04"):
            raise zipfile.BadZipFile("its header is not where the list of members says")
        name, extra = struct.unpack_from("<HH", header, 26)
        self._file = file
        self._start = info.header_offset + 30 + name + extra
        self._stored = info.compress_type == zipfile.ZIP_STORED
        self._size = info.file_size
        self._place = 0
        self._span = max(4 * 2**20, info.file_size // STATES)
        self._states: list[tuple[int, int, zlib._Decompress]] = []
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._check(info, look)

    def _check(self, info: zipfile.ZipInfo, look: Callable[[bytes], None]) -> None:
        """Read the member once: its size, its checksum, and the states on the way."""
        crc = done = 0
        pieces = self._window(0, info.file_size) if self._stored else self._inflated()
        for piece in pieces:
            crc, done = zlib.crc32(piece, crc), done + len(piece)
            if done > info.file_size:
                break
            look(piece)
        if done != info.file_size or crc != info.CRC:
            raise zipfile.BadZipFile("its size or its checksum is wrong")

    def _window(self, place: int, size: int) -> Iterator[bytes]:
        self._file.seek(self._start + place)
        while size > 0 and (piece := self._file.read(min(size, 64 * PIECE))):
            size -= len(piece)
            yield piece

    def _inflated(self) -> Iterator[bytes]:
        """Yield the whole member, at most 64 times as much at a time as is read."""
        inflater, done, place, states = zlib.decompressobj(-zlib.MAX_WBITS), 0, self._start, 0
        while not inflater.eof:
            if done >= states * self._span:
                self._states.append((done, place, inflater.copy()))
                states = done // self._span + 1
            self._file.seek(place)
            raw = self._file.read(PIECE)
            piece = inflater.decompress(raw, 64 * PIECE)
            place += len(raw) - len(inflater.unconsumed_tail)
            if not raw and not piece:
                return
            done += len(piece)
            yield piece

    def _part(self, state: int) -> bytes:
        """Return what lies between two states."""
        if state in self._cache:
            self._cache.move_to_end(state)
            return self._cache[state]
        while self._cache and (len(self._cache) + 1) * self._span > CACHE:
            self._cache.popitem(last=False)
        begin, place, inflater = self._states[state]
        ends = [s[0] for s in self._states[state + 1 : state + 2]] or [self._size]
        inflater, pieces = inflater.copy(), []
        left = ends[0] - begin
        while left > 0:
            self._file.seek(place)
            raw = self._file.read(PIECE)
            piece = inflater.decompress(raw, min(left, 64 * PIECE))
            place += len(raw) - len(inflater.unconsumed_tail)
            if not raw and not piece:
                raise zipfile.BadZipFile("the archive changed while it was read")
            left -= len(piece)
            pieces.append(piece)
        self._cache[state] = b"".join(pieces)
        return self._cache[state]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        self._place = max(start + offset, 0)
        return self._place

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        view = view[: max(min(len(view), self._size - self._place), 0)]
        done = 0
        if self._stored:
            for piece in self._window(self._place, len(view)):
                view[done : done + len(piece)] = piece
                done += len(piece)
        while not self._stored and done < len(view):
            state = self._state_before(self._place + done)
            part = self._part(state)
            begin = self._place + done - self._states[state][0]
            piece = part[begin : begin + len(view) - done]
            view[done : done + len(piece)] = piece
            done += len(piece)
        self._place += done
        return done

    def _state_before(self, place: int) -> int:
        return bisect_right(self._states, place, key=lambda s: s[0]) - 1
