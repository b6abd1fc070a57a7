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
    from pathlib import Path

ALIGNMENT = 16
IN_MEMORY = 1 << 24  # bytes: what most networks weigh needs no file


def _temporary() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(IN_MEMORY)


@dataclass
class WeightFile:
    """The weight file being written. ``size`` counts its bytes."""

    size: int = 0
    _file: IO[bytes] = field(default_factory=_temporary)
    _known: dict[bytes, dict[str, int]] = field(default_factory=dict)

    def add(self, parts: Iterable[np.ndarray]) -> dict[str, int]:
        """Append arrays, little-endian, and return their range as offset and size in bytes."""
        start, digest = self.size, hashlib.sha256()
        self._file.seek(start)
        size = 0
        for part in parts:
            data = np.ascontiguousarray(part, part.dtype.newbyteorder("<")).reshape(-1)
            content = data.view(np.uint8).data
            digest.update(content)
            self._file.write(content)
            size += len(content)
        if digest.digest() in self._known:
            self._file.truncate(start)
        else:
            padding = -size % ALIGNMENT
            self._file.write(bytes(padding))
            self._known[digest.digest()] = {"offset": start, "size": size}
            self.size += size + padding
        return dict(self._known[digest.digest()])

    def sha256(self) -> str:
        """Return the digest of the whole file."""
        self._file.seek(0)
        whole = hashlib.sha256()
        while chunk := self._file.read(1 << 20):
            whole.update(chunk)
        return whole.hexdigest()

    def save(self, path: Path) -> None:
        """Write the file."""
        self._file.seek(0)
        with path.open("wb") as target:
            shutil.copyfileobj(self._file, target, 1 << 20)
