"""Put builds together of schedules and files, and write them."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from .dynamic import good_dynamic
from .external import good_external
from .faults import RAW, SPOILED, SPOILED_COMPUTE, SPOILED_DYNAMIC, SPOILED_EXTERNAL, set_at
from .fixed import good, small, small_compute
from .members import Json
from .variants import SPOILED_PICKED, SPOILED_VARIANTS, good_variants

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_bytes(document: Json) -> bytes:
    return (json.dumps(document, indent=1) + "\n").encode()


def with_checksum(schedule: Json) -> Json:
    """Return a schedule with the checksum of its text."""
    zeroed = schedule | {"sha256": "0" * 64}
    return zeroed | {"sha256": hashlib.sha256(to_bytes(zeroed)).hexdigest()}


def write(folder: Path, files: Mapping[str, bytes | Json]) -> None:
    """Write files; a schedule gets the checksum of its text, unless it has one."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict):
            content = to_bytes(content if "sha256" in content else with_checksum(content))
        path.write_bytes(content)


def write_all(root: Path) -> None:
    for name, (schedule, files) in (
        ("good", good()),
        ("good_dynamic", good_dynamic()),
        ("good_external", good_external()),
        ("good_variants", good_variants()),
    ):
        write(root / name, {"schedule.json": schedule, **files})
    for name, (_, place, path, value) in SPOILED_PICKED.items():
        schedule, files = good_variants()
        spoiled = {
            file: with_checksum(content) if isinstance(content, dict) else content
            for file, content in {"schedule.json": schedule, **files}.items()
        }
        set_at(spoiled[place], path, value)
        write(root / "malformed_variants" / name, spoiled)
    malformed = root / "malformed"
    codes = {}
    for base, faults in (
        (good_dynamic(), SPOILED_DYNAMIC),
        (good_external(), SPOILED_EXTERNAL),
        (good_variants(), SPOILED_VARIANTS),
        (small_compute(), SPOILED_COMPUTE),
        (small(), SPOILED),
    ):
        schedule, files = with_checksum(base[0]), base[1]
        for name, (code, path, value) in faults.items():
            spoiled = copy.deepcopy(schedule)
            set_at(spoiled, path, value)
            write(malformed / name, {"schedule.json": spoiled, **files})
            codes[name] = code
    for name, (code, text) in RAW.items():
        content = to_bytes(schedule).replace(b'"small"', text, 1)
        write(malformed / name, {"schedule.json": content, **files})
        codes[name] = code
    write(malformed / "no_schedule", files)
    write(malformed / "empty_schedule", {"schedule.json": b"", **files})
    codes |= {"no_schedule": "SG0502", "empty_schedule": "SG0503"}
    write(malformed, {"expected.json": to_bytes(dict(sorted(codes.items())))})
