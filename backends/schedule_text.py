"""A schedule as text: the bytes of schedule.json, and the checksum that they hold of themselves."""

from __future__ import annotations

import hashlib
import json
from json.encoder import encode_basestring
from typing import Any

_UNKNOWN = "0" * 64  # stands for the checksum while it is computed


def schedule_text(schedule: dict[str, Any]) -> bytes:
    """Return the bytes of a schedule.json."""
    return f"{_text(schedule, chr(10))}\n".encode()


def _text(value: Any, line: str) -> str:
    """Return a value as ``json.dumps`` writes it with indent=1, which takes twice as long.

    Args:
        value: plain data.
        line: the end of a line with the indent of the next.
    """
    if isinstance(value, str):
        return encode_basestring(value)
    if type(value) is int:
        return repr(value)
    inner = f"{line} "
    if isinstance(value, dict) and value:
        members = [f"{encode_basestring(name)}: {_text(v, inner)}" for name, v in value.items()]
        return f"{{{inner}{f',{inner}'.join(members)}{line}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join([_text(v, inner) for v in value])}{line}]"
    return json.dumps(value, allow_nan=False)


def text_with_checksum(schedule: dict[str, Any]) -> bytes:
    """Return the bytes of a schedule.json with the member ``sha256``: of one that is checked.

    The member is the SHA-256 of these very bytes with zeros for its digits. It comes before
    anything that a model may have named, so the first such zeros are its own.
    """
    start = {"format": schedule["format"], "sha256": _UNKNOWN}
    zeroed = schedule_text(start | schedule)
    return zeroed.replace(_UNKNOWN.encode(), hashlib.sha256(zeroed).hexdigest().encode(), 1)
