"""What all stages share."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comparison.contenders import Setting as PeerSetting
from comparison.contenders import is_software

PROJECT = Path(__file__).resolve().parents[2]
KEPT = PROJECT / ".build" / "gpu"
Record = dict[str, Any]  # what JSON holds


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
        """What runs on this GPU leave behind."""
        return KEPT / re.sub(r"\W+", "-", self.renderer.lower()).strip("-")

    @property
    def peers(self) -> PeerSetting:
        """The same for the contenders of ``make bench``."""
        return PeerSetting(Path(self.own), self.renderer, self.cores)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Setting:
        return cls(**json.loads(path.read_text("utf-8")))
