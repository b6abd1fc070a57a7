"""weights.bin: ranges of bytes, 16-byte aligned, equal contents stored once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

ALIGNMENT = 16


@dataclass
class WeightFile:
    """The weight file being written."""

    chunks: list[bytes] = field(default_factory=list)
    size: int = 0
    _known: dict[bytes, dict[str, int]] = field(default_factory=dict)

    def add(self, data: np.ndarray) -> dict[str, int]:
        """Append an array, little-endian, and return its range as offset and size in bytes."""
        content = np.ascontiguousarray(data, data.dtype.newbyteorder("<")).tobytes()
        digest = hashlib.sha256(content).digest()
        if digest not in self._known:
            self._known[digest] = {"offset": self.size, "size": len(content)}
            padding = -len(content) % ALIGNMENT
            self.chunks.append(content + b"\0" * padding)
            self.size += len(content) + padding
        return dict(self._known[digest])

    def content(self) -> bytes:
        return b"".join(self.chunks)
