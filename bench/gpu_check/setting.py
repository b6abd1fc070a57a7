"""What all stages share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comparison.contenders import Setting as PeerSetting
from comparison.contenders import is_software

PROJECT = Path(__file__).resolve().parents[2]
KEPT = PROJECT / ".build" / "gpu"
# What JSON holds. Of a job that did not end well, "fault" says what is wrong with this project or
# the driver, "problem" why nothing was measured.
Record = dict[str, Any]


def file_name(text: str) -> str:
    """Return a text as the name of a file."""
    return re.sub(r"\W+", "-", text.lower()).strip("-")


def reason(record: Mapping[str, Any]) -> str:
    """Return why a job did not end well, or nothing."""
    return str(record.get("fault") or record.get("problem") or "")


@dataclass(frozen=True)
class Setting:
    """The GPU, and how much to measure.

    Attributes:
        renderer: what its GL calls itself.
        own: the device profile to build for: its family's, or a file with its limits.
        quick: measure small networks and few cases, for software renderers.
        cores: of the processor.
    """

    renderer: str
    own: str
    quick: bool
    cores: int

    @property
    def software(self) -> bool:
        return is_software(self.renderer)

    @property
    def folder(self) -> Path:
        """The folder of its logs, records and tuning files."""
        return KEPT / file_name(self.renderer)

    @property
    def peers(self) -> PeerSetting:
        """The same for the contenders of ``make bench``."""
        return PeerSetting(Path(self.own), self.renderer, self.cores)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Setting:
        return cls(**json.loads(path.read_text("utf-8")))
