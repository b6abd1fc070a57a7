"""What EGL offers: a record for each display, the one that builds take by default being the first.

It also saves a device profile with the limits of that GL, for GPUs of an unknown family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparison.contenders import is_software
from comparison.markdown import table

from shadergen.backends.devices import named_profile
from shadergen.compiler.doctor import examine, save_profile
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import HeadlessContext
from shadergen.runtime_glue.python.context import list_devices
from shadergen.runtime_glue.python.gl import load_egl
from shadergen.runtime_glue.python.timer import EXTENSION as TIMER_QUERIES

from .jobs import run_jobs
from .setting import Record, Setting, reason

SHARE = 40
LIMIT = 60.0  # seconds for a display
DEFAULT = "by default"  # the display that builds take
PROBED = "device.json"  # a device profile with the limits of this GL
DRM_FILE = 0x3233  # EGL_DRM_DEVICE_FILE_EXT


def run(setting: Setting, seconds: float) -> Iterator[Record]:
    yield from run_jobs(_describe, [{"display": DEFAULT}], seconds, LIMIT)
    yield from run_jobs(_probe, [{"probed": str(setting.folder / PROBED)}], seconds, LIMIT)
    (listed,) = run_jobs(_list, [{}], seconds, LIMIT)
    names = ("surfaceless", *listed.get("devices", ()), "default")
    yield from run_jobs(_describe, [{"display": name} for name in names], seconds, LIMIT)


def _list(job: Record) -> Record:
    """List the devices, in a process of its own: another process may not load the driver."""
    return {"devices": list(list_devices(load_egl()))}


def _describe(job: Record) -> Record:
    """Open a display and describe the GL that it has."""
    platform, _, number = job["display"].partition(" ")
    try:
        if job["display"] == DEFAULT:
            opened = HeadlessContext()
        else:
            opened = HeadlessContext(platform, int(number) if number else None)
    except ShadergenError as error:
        return {"problem": " ".join((error.why or error.what).split())}
    with opened as context:
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
            "profile": named_profile(info.renderer),
        }
        if platform == "device":
            found["file"] = _file(egl, context.platform)
    return found


def _probe(job: Record) -> Record:
    """Save a device profile of the GL that builds take."""
    save_profile(examine("gles"), Path(job["probed"]))
    return {}


def _file(egl: Any, name: str) -> str:
    """Return the file of a device in /dev, where EGL tells it."""
    handle, _ = list_devices(egl)[name]
    return (egl.eglQueryDeviceStringEXT(handle, DRM_FILE) or b"").decode()


def summary(records: Sequence[Record]) -> dict[str, Any]:
    probes = [{"fault": reason(r)} for r in records if "probed" in r and reason(r)]
    return {"displays": [r for r in records if "display" in r], "probes": probes}


def section(summary: Mapping[str, Any]) -> str:
    rows = []
    for d in summary["displays"]:
        if "renderer" not in d:
            rows.append((d["display"], "", reason(d), "", ""))
            continue
        kind, timed = ("GPU", "software")[d["software"]], ("no", "yes")[d["queries"]]
        name = f"chosen by shadergen: {d['platform']}" if d["display"] == DEFAULT else d["display"]
        name = ", ".join(filter(None, (name, d.get("file"))))
        rows.append((name, d["egl"], d["renderer"], kind, timed))
    head = ("EGL display", "EGL", "renderer", "", "timer queries")
    problems = [f"The limits of the GL are not known: {reason(r)}." for r in summary["probes"]]
    return "\n\n".join(["### EGL", table(head, rows, right=len(head)), *problems])
