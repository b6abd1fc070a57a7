"""weights.bin: ranges of bytes, 16-byte aligned, equal contents stored once.

Weights go to an unnamed file as they are made, so memory never holds all of them.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import numpy as np

from ..errors import FREE_SPACE, ShadergenError, unwritable, unwritable_for_now

if TYPE_CHECKING:
    from collections.abc import Iterable
    from hashlib import _Hash as Hash
    from pathlib import Path

ALIGNMENT = 16
BEGINNING = 64  # bytes, by which contents that may be equal are found
PIECE = 1 << 20  # bytes that are read at once


@dataclass
class WeightFile:
    """The weight file being written. ``size`` counts its bytes.

    A thread computes the digest of what is written while the next weights are made.

    Attributes:
        folder: a folder on the file system where the file will be saved. On Linux, the unnamed file
            is made there, and saving links it. Without a folder, or on other systems, the unnamed
            file is in the system's folder for temporary files, and saving copies it.
    """

    folder: Path | None = None
    size: int = 0
    _file: IO[bytes] = field(init=False)
    _linkable: bool = False
    _linked: bool = False
    _known: dict[tuple[int, bytes], list[int]] = field(default_factory=dict)
    _digest: Hash = field(default_factory=hashlib.sha256)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _hashed: list[Future[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        with suppress(AttributeError, OSError):
            if self.folder is not None:
                descriptor = os.open(self.folder, os.O_TMPFILE | os.O_RDWR, 0o666)
                self._file = os.fdopen(descriptor, "w+b")
                self._linkable = True
                return
        try:
            self._file = TemporaryFile()  # noqa: SIM115 (it is closed with this object)
        except OSError as error:
            raise unwritable_for_now("the weights", error) from None

    def add(self, parts: Iterable[np.ndarray]) -> dict[str, int]:
        """Append arrays, little-endian, and return their range as offset and size in bytes.

        Raises:
            ShadergenError: SG0501 when the arrays cannot be written.
        """
        try:
            return self._add(parts)
        except OSError as error:
            if self._linkable:
                raise unwritable(f"the weights to '{self.folder}'", error, FREE_SPACE) from None
            raise unwritable_for_now("the weights", error) from None

    def _add(self, parts: Iterable[np.ndarray]) -> dict[str, int]:
        start, size = self.size, 0
        self._file.seek(start)
        beginning = b""
        for part in parts:
            data = np.ascontiguousarray(part, part.dtype.newbyteorder("<")).reshape(-1)
            content = data.view(np.uint8).data
            beginning += bytes(content[: BEGINNING - len(beginning)])
            self._file.write(content)
            size += len(content)
        alike = self._known.setdefault((size, beginning), [])
        for offset in alike:
            if self._same(offset, start, size):
                return {"offset": offset, "size": size}
        alike.append(start)
        padding = bytes(-size % ALIGNMENT)
        self._file.seek(start + size)
        self._file.write(padding)
        self._file.flush()
        self.size += size + len(padding)
        if size:  # of nothing there is no map
            self._hashed.append(self._thread.submit(self._hash, start, self.size))
        return {"offset": start, "size": size}

    def _hash(self, start: int, end: int) -> None:
        """Add a range of the file to the digest; mapped, it takes no lock and no memory."""
        with (
            mmap.mmap(self._file.fileno(), end, access=mmap.ACCESS_READ) as file,
            memoryview(file) as content,
            content[start:end] as written,
        ):
            self._digest.update(written)

    def _same(self, one: int, other: int, size: int) -> bool:
        """Whether two ranges of the file hold the same."""
        for at in range(0, size, PIECE):
            pieces = []
            for offset in (one, other):
                self._file.seek(offset + at)
                pieces.append(self._file.read(min(PIECE, size - at)))
            if pieces[0] != pieces[1]:
                return False
        return True

    def read(self, offset: int, size: int) -> bytes:
        """Return a range of the file."""
        self._file.seek(offset)
        return self._file.read(size)

    def sha256(self) -> str:
        """Return the digest of the whole file."""
        for each in self._hashed:
            each.result()
        return self._digest.hexdigest()

    def save(self, path: Path) -> None:
        """Save the weights. :meth:`add` must not be called afterwards.

        Raises:
            ShadergenError: SG0505 if the weights were saved before and that file has changed since.
        """
        # Waits for the thread that hashes the file, because this thread maps the file into memory.
        # No mapping may remain after saving, because others may then shorten the file.
        digest = self.sha256()
        if not self._linked:
            self._file.truncate(self.size)
        if self._linkable:
            self._linkable = False  # a second save copies: two builds never share a file
            with suppress(OSError):
                descriptor = self._file.fileno()
                # With src_dir_fd, Python follows the link in /proc, and links the file itself.
                os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor)
                self._linked = True
                return
        self._file.seek(0)
        copied = hashlib.sha256()
        with path.open("wb") as target:
            while piece := self._file.read(PIECE):
                target.write(piece)
                if self._linked:
                    copied.update(piece)
        if self._linked and copied.hexdigest() != digest:
            raise ShadergenError(
                "SG0505",
                f"cannot copy the weights to '{path}'",
                why=f"the weights are in the {path.name} of an earlier save(), and that file was "
                "changed",
                help="compile the model again",
            )
