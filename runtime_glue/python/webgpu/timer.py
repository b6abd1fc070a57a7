"""Times of GPU passes, by timestamps that the GPU writes."""

from __future__ import annotations

from typing import Any

import numpy as np

_BYTES = 8  # of a timestamp, in nanoseconds


class Timer:
    """Two timestamps for each of a number of passes."""

    def __init__(self, wgpu: Any, device: Any, count: int) -> None:
        self._device = device
        self._count = count
        self._queries = device.create_query_set(type="timestamp", count=2 * count)
        uses = wgpu.BufferUsage
        self._times = device.create_buffer(
            size=2 * _BYTES * count, usage=uses.QUERY_RESOLVE | uses.COPY_SRC
        )

    def of(self, index: int) -> dict[str, Any]:
        """Return what makes a pass write its timestamps."""
        return {
            "timestamp_writes": {
                "query_set": self._queries,
                "beginning_of_pass_write_index": 2 * index,
                "end_of_pass_write_index": 2 * index + 1,
            }
        }

    def resolve(self, encoder: Any) -> None:
        """Record that the timestamps become readable."""
        encoder.resolve_query_set(self._queries, 0, 2 * self._count, self._times, 0)

    def milliseconds(self) -> tuple[float, ...]:
        """Return the time of each pass; waits for the GPU."""
        stamps = np.frombuffer(self._device.queue.read_buffer(self._times), "<u8").reshape(-1, 2)
        return tuple(float(end - begin) / 1e6 for begin, end in stamps.astype(np.int64))
