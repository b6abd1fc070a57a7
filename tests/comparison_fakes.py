"""Contenders that misbehave. They are found by name from the processes that they run in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison.contenders import Running, Setting, Unavailable
from comparison.networks import Model


@dataclass(frozen=True)
class Fake:
    """One that knows the right output, with a fault.

    ``fault`` is one of: "" for none, "wrong", "missing", "refuses", "crashes", "tires" (its third
    frame fails).
    """

    name: str
    fault: str = ""

    def version(self, setting: Setting) -> str:
        if self.fault == "missing":
            raise Unavailable("it is not installed")
        return f"fake 1 on {setting.renderer}"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, int]:
        if self.fault == "refuses":
            raise ValueError("no such operator")
        (folder / "converted").touch()
        return {"passes": 3, "macs": 1000}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        assert (folder / "converted").exists()
        frames = 0

        def frame(x: Any) -> Any:
            nonlocal frames
            frames += 1
            if self.fault == "crashes":
                os.write(2, b"out of ideas\n")
                os._exit(3)
            if self.fault == "tires" and frames == 3:
                raise RuntimeError("tired")
            return model.y + 1 if self.fault == "wrong" else model.y

        resident = (lambda: None) if self.name == "auto" else None
        return Running(frame, resident)
