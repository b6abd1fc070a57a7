"""What EGL offers: a record for each display, and for the context that builds take by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from comparison.contenders import is_software
from comparison.markdown import table

from shadergen.backends.devices import named_profile
from shadergen.compiler.doctor import examine, save_profile
from shadergen.runtime_glue.python import HeadlessContext
from shadergen.runtime_glue.python.context import list_devices
from shadergen.runtime_glue.python.gl import load_egl
from shadergen.runtime_glue.python.timer import EXTENSION as TIMER_QUERIES

from .jobs import run_jobs
from .setting import Record, Setting

SHARE = 20
LIMIT = 60.0  # seconds for a display
PROBED = "device.json"  # a device profile with the limits of this GL
DRM_FILE = 0x3233  # EGL_DRM_DEVICE_FILE_EXT


def run(setting: Setting, seconds: float) -> Iterator[Record]:
    folder = str(setting.folder)
    first = {"display": "by default", "folder": folder}
    yield from run_jobs(_describe, [first], seconds, LIMIT)
    devices: list[Record] = [{"display": f"device {i}"} for i in range(_count(seconds))]
    others = [{"display": "surfaceless"}, *devices, {"display": "default"}]
    yield from run_jobs(_describe, others, seconds, LIMIT)


def _count(seconds: float) -> int:
    (record,) = run_jobs(_devices, [{}], seconds, LIMIT)
    return int(record.get("devices", 0))


def _devices(job: Record) -> Record:
    return {"devices": len(list_devices(load_egl()))}


def _describe(job: Record) -> Record:
    """Open a display; save a device profile of the one by default."""
    platform, _, number = job["display"].partition(" ")
    default = job["display"] == "by default"
    arguments = () if default else (platform, int(number) if number else None)
    with HeadlessContext(*arguments) as context:
        info = context.info()
        egl = load_egl()
        display = egl.eglGetCurrentDisplay()
        names = (egl.EGL_VENDOR, egl.EGL_VERSION)
        offered = [(egl.eglQueryString(display, name) or b"").decode() for name in names]
        found: Record = {
            "platform": context.platform,
            "egl": ", ".join(offered),
            "renderer": info.renderer,
            "vendor": info.vendor,
            "version": info.version,
            "software": is_software(info.renderer),
            "queries": TIMER_QUERIES in info.extensions,
        }
        if platform == "device":
            found["file"] = _file(egl, context.platform)
    if default:
        from pathlib import Path

        path = Path(job["folder"]) / PROBED
        save_profile(examine(), path)
        found["profile"] = named_profile(found["renderer"])
        found["probed"] = str(path)
    return found


def _file(egl: Any, name: str) -> str:
    """Return the file of a device in /dev, where EGL tells it."""
    handle, _ = list_devices(egl)[name]
    return (egl.eglQueryDeviceStringEXT(handle, DRM_FILE) or b"").decode()


def summary(records: Sequence[Record]) -> dict[str, Any]:
    described = [{k: v for k, v in r.items() if k not in ("folder", "probed")} for r in records]
    return {"displays": [r for r in described if "display" in r]}


def section(summary: Mapping[str, Any]) -> str:
    rows = []
    for d in summary["displays"]:
        said = d.get("problem") or d["renderer"]
        kind = "" if "problem" in d else "software" if d["software"] else "GPU"
        timed = "" if "problem" in d else "yes" if d["queries"] else "no"
        rows.append((d["display"], d.get("platform", ""), d.get("egl", ""), said, kind, timed))
    head = ("EGL display", "platform", "EGL", "renderer", "", "timer queries")
    return "### EGL\n\n" + table(head, rows, right=len(head))
