"""A schedule as text: the bytes of schedule.json, and the checksum that they hold of themselves."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_UNKNOWN = "0" * 64  # stands for the checksum while it is computed


def schedule_text(schedule: dict[str, Any]) -> bytes:
    """Return the bytes of a schedule.json."""
    text = json.dumps(schedule, indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def text_with_checksum(schedule: dict[str, Any]) -> bytes:
    """Return the bytes of a schedule.json with the member ``sha256``: of one that is checked.

    The member is the SHA-256 of these very bytes with zeros for its digits. It comes before
    anything that a model may have named, so the first such zeros are its own.
    """
    start = {"format": schedule["format"], "sha256": _UNKNOWN}
    zeroed = schedule_text(start | schedule)
    return zeroed.replace(_UNKNOWN.encode(), hashlib.sha256(zeroed).hexdigest().encode(), 1)
