"""weights.bin: ranges of bytes, 16-byte aligned, equal contents stored once.

What a model weighs goes to a temporary file as it is made, never all of it to memory at once.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from hashlib import _Hash as Hash
    from pathlib import Path

ALIGNMENT = 16
BEGINNING = 64  # bytes, by which contents that may be equal are found
PIECE = 1 << 20  # bytes that are read at once
IN_MEMORY = 1 << 24  # bytes: what most networks weigh needs no file


def _temporary() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(IN_MEMORY)


@dataclass
class WeightFile:
    """The weight file being written. ``size`` counts its bytes."""

    size: int = 0
    _file: IO[bytes] = field(default_factory=_temporary)
    _known: dict[tuple[int, bytes], list[int]] = field(default_factory=dict)
    _digest: Hash = field(default_factory=hashlib.sha256)

    def add(self, parts: Iterable[np.ndarray]) -> dict[str, int]:
        """Append arrays, little-endian, and return their range as offset and size in bytes."""
        start, digest, size = self.size, self._digest.copy(), 0
        self._file.seek(start)
        beginning = b""
        for part in parts:
            data = np.ascontiguousarray(part, part.dtype.newbyteorder("<")).reshape(-1)
            content = data.view(np.uint8).data
            beginning += bytes(content[: BEGINNING - len(beginning)])
            digest.update(content)
            self._file.write(content)
            size += len(content)
        alike = self._known.setdefault((size, beginning), [])
        for offset in alike:
            if self._same(offset, start, size):
                self._file.truncate(start)
                return {"offset": offset, "size": size}
        alike.append(start)
        padding = bytes(-size % ALIGNMENT)
        self._file.seek(start + size)
        self._file.write(padding)
        digest.update(padding)
        self._digest = digest
        self.size += size + len(padding)
        return {"offset": start, "size": size}

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
        return self._digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write the file."""
        self._file.seek(0)
        with path.open("wb") as target:
            shutil.copyfileobj(self._file, target, PIECE)
