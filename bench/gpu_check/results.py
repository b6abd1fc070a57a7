"""The results of all GPUs as JSON: by renderer, and for each its stages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shadergen.backends.replacing import replacing_file


@dataclass(frozen=True)
class Machine:
    """What was measured, and with what.

    Attributes:
        renderer: what the GL calls itself; results of one renderer replace each other.
        vendor, version: of its GL, with the driver's version.
        platform: of EGL.
        profile: the device profile that builds are for.
        processor, cores, system: of the machine.
    """

    renderer: str
    vendor: str
    version: str
    platform: str
    profile: str
    processor: str
    cores: int
    system: str


@dataclass(frozen=True)
class StageResult:
    """What a stage found.

    Attributes:
        date: of the run, a stage may be older than others.
        revision: of the project.
        seconds: that it took.
        quick: whether it was cut short, for a software renderer.
        problem: why it did not end well, or nothing.
        summary: as its module makes it.
    """

    date: str
    revision: str
    seconds: float
    quick: bool
    problem: str
    summary: Mapping[str, Any]


@dataclass(frozen=True)
class DeviceResult:
    """One renderer."""

    machine: Machine
    stages: dict[str, StageResult] = field(default_factory=dict)

    def with_stages(self, before: DeviceResult | None) -> DeviceResult:
        """Return these results, with the stages of an earlier run that this one left out."""
        kept = before.stages if before else {}
        return DeviceResult(self.machine, {**kept, **self.stages})


Results = dict[str, DeviceResult]


def read_results(path: Path) -> Results:
    """Read the results of all renderers."""
    data = json.loads(path.read_text("utf-8"))
    found = {}
    for renderer, device in data.items():
        stages = {name: StageResult(**stage) for name, stage in device["stages"].items()}
        found[renderer] = DeviceResult(Machine(**device["machine"]), stages)
    return found


def write_results(results: Results, path: Path) -> None:
    """Write the results, a stage on a line."""
    devices = []
    for renderer, device in sorted(results.items()):
        stages = ",\n  ".join(
            f"{json.dumps(name)}: {json.dumps(asdict(stage))}"
            for name, stage in device.stages.items()
        )
        machine = json.dumps(asdict(device.machine))
        members = f' "machine": {machine},\n "stages": {{\n  {stages}\n }}'
        devices.append(f"{json.dumps(renderer)}: {{\n{members}\n}}")
    with replacing_file(path) as fresh:
        fresh.write_text("{" + ",\n".join(devices) + "}\n", "utf-8")
