"""The measured part of docs/gpu.md: a section for each GPU."""

from __future__ import annotations

from pathlib import Path

from comparison.markdown import table

from .results import DeviceResult, Results
from .stages import STAGES

BEGIN, END = "<!-- measured: gpu -->", "<!-- end of gpu -->"
NONE = "No GPU has been measured yet."


def as_page(results: Results) -> str:
    """Return the sections of all renderers."""
    return "\n\n".join(as_section(device) for _, device in sorted(results.items())) or NONE


def as_section(device: DeviceResult) -> str:
    """Return the section of one renderer."""
    machine = device.machine
    facts = {
        "GL": f"{machine.version}, {machine.vendor}",
        "EGL platform": machine.platform,
        "device profile": machine.profile,
        "machine": f"{machine.processor}, {machine.cores} cores, {machine.system}",
    }
    parts = [
        f"## {machine.renderer}",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        _stages(device),
    ]
    for name, stage in STAGES.items():
        if name in device.stages:
            parts.append(stage.section(device.stages[name].summary))
    return "\n\n".join(parts)


def _stages(device: DeviceResult) -> str:
    rows = []
    for name in STAGES:
        stage = device.stages.get(name)
        if stage is None:
            rows.append((name, "skipped", "", "", ""))
        else:
            end = stage.problem or ("done, small sizes" if stage.quick else "done")
            rows.append((name, end, f"{stage.seconds:.0f}", stage.date, stage.revision))
    return table(("stage", "", "seconds", "date", "revision"), rows, right=2)


def replaced(text: str, measured: str) -> str:
    """Return a page with its measured part replaced."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{measured}\n\n{END}{rest.partition(END)[2]}"


def write_page(results: Results, page: Path) -> None:
    """Write the measured part of a page, or all of a new one."""
    text = page.read_text("utf-8") if page.exists() else f"# A GPU\n\n{BEGIN}{END}\n"
    page.write_text(replaced(text, as_page(results)), "utf-8")
