"""The stages by name, in order. The last one gets the time that all others leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol, cast

from . import (
    conformance_stage,
    device_stage,
    frame_stage,
    model_stage,
    network_stage,
    peer_stage,
    prediction_stage,
)
from .setting import Record, Setting


class Stage(Protocol):
    """What a module of a stage has.

    Attributes:
        SHARE: of the time, relative to the other stages.
    """

    SHARE: float

    def run(self, setting: Setting, seconds: float) -> Iterator[Record]:
        """Yield records; begin nothing new after some seconds."""

    def summary(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return what is kept of the records."""

    def section(self, summary: Mapping[str, Any]) -> str:
        """Return a summary as a part of the page, under a heading of the third level."""


_MODULES: dict[str, ModuleType] = {
    "device": device_stage,
    "models": model_stage,
    "conformance": conformance_stage,
    "networks": network_stage,
    "frames": frame_stage,
    "prediction": prediction_stage,
    "peers": peer_stage,
}
STAGES = cast("dict[str, Stage]", _MODULES)
FIRST = "device"  # which all others need
