"""What a report says of each group of layers, as the template takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...number_texts import short_text
from ..inspection import texture_bytes
from .network import group_title, texture_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..estimation import FrameEstimate
    from .content import Content, Group
    from .weights import Histogram

FEW = 3  # passes of a shader that are named
HISTOGRAM = 100  # the height of a histogram; each bar is 1 wide


def groups(content: Content, bar: float) -> list[dict[str, Any]]:
    """Return what the page says of each group.

    Args:
        content: of the report.
        bar: the length of a bar for all the work of a frame.
    """
    files = {path: k for k, path in enumerate(content.shaders)}
    textures = {t["name"]: _texture(t) for t in content.schedule["textures"]}
    buffers = {b["name"]: _buffer(b) for b in content.schedule["buffers"]}
    return [_group(group, content, textures, buffers, files, bar) for group in content.groups]


def milliseconds(passes: Iterable[int], frames: Sequence[FrameEstimate]) -> list[str]:
    """Return the milliseconds of some passes, on each GPU."""
    return [short_text(time) for time in _times(passes, frames)]


def _times(passes: Iterable[int], frames: Sequence[FrameEstimate]) -> list[float]:
    passes = tuple(passes)
    return [sum(frame.passes[k].milliseconds for k in passes) for frame in frames]


def _group(
    group: Group,
    content: Content,
    textures: Mapping[str, dict[str, Any]],
    buffers: Mapping[str, dict[str, Any]],
    files: Mapping[str, int],
    bar: float,
) -> dict[str, Any]:
    found, frames = content.found, content.found.estimates
    rows = [found.passes[k] for k in group.passes]
    macs = sum(p.macs for p in rows)
    times = _times(group.passes, frames)
    shares = [time / frame.milliseconds for time, frame in zip(times, frames, strict=True)]
    reads = dict.fromkeys(name for step in group.steps for name in step.reads)
    writes = dict.fromkeys(name for step in group.steps for name in step.writes)
    kept = [("reads", textures[name]) for name in reads if name not in writes]
    kept += [("writes", textures[name]) for name in writes]
    weights = dict.fromkeys(name for step in group.steps for name in step.weights)
    kept += [("weights", textures[name]) for name in weights]
    constants = dict.fromkeys(name for step in group.steps for name in step.buffers)
    kept += [("weights", buffers[name]) for name in constants]
    of_shader: dict[str, list[str]] = {}
    for k in group.passes:
        of_shader.setdefault(content.schedule["passes"][k]["shader"], []).append(
            found.passes[k].name
        )
    return {
        "title": group_title(group),
        "find": " ".join(dict.fromkeys((*group.layers, *(p.name for p in rows), *writes))),
        "macs": macs,
        "read": sum(p.bytes_read for p in rows),
        "written": sum(p.bytes_written for p in rows),
        "milliseconds": [short_text(time) for time in times],
        # without estimates, bars show multiply-adds
        "bars": [round(bar * share, 1) for share in shares or [macs / (found.macs or 1)]],
        "kept": kept,
        "rows": [
            {
                "number": k,
                "name": found.passes[k].name,
                "kernel": f"{found.passes[k].stage} {found.passes[k].kernel}",
                "macs": found.passes[k].macs,
                "bytes": found.passes[k].bytes_read + found.passes[k].bytes_written,
                "milliseconds": milliseconds([k], frames),
                "limits": [frame.passes[k].limit for frame in frames],
            }
            for k in group.passes
        ],
        "shaders": [
            {"number": files[path], "path": path, "passes": _some(names)}
            for path, names in of_shader.items()
        ],
        "decisions": group.decisions,
        "histograms": [_drawn(histogram) for histogram in group.weights],
    }


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more


def _texture(t: Mapping[str, Any]) -> dict[str, Any]:
    layers = f"{t['layers']}x" if t["layers"] != 1 else ""
    first, last = t["first"], t["last"]
    return {
        "name": t["name"],
        "tensor": texture_text(t),
        "texels": f"{layers}{t['height']}x{t['width']}",
        "bytes": texture_bytes(t),
        "passes": f"{first} to {last}" if first != last else str(first),
    }


def _drawn(histogram: Histogram) -> dict[str, Any]:
    most = max(histogram.counts)
    shape = "x".join(map(str, histogram.shape))
    low, high = f"{histogram.low:.3g}", f"{histogram.high:.3g}"
    figures = f"mean {histogram.mean:.2g}, standard deviation {histogram.deviation:.2g}"
    heights = [round(HISTOGRAM * count / most, 1) for count in histogram.counts]
    return {
        "name": histogram.name,
        "text": f"{shape}, {figures}",
        "low": low,
        "high": high,
        "bins": len(heights),
        "bars": [(HISTOGRAM - height, height) for height in heights],
    }


def _buffer(b: Mapping[str, Any]) -> dict[str, Any]:
    kind = f"{b['kind']} buffer"
    return {"name": b["name"], "tensor": kind, "texels": "-", "bytes": b["size"], "passes": "-"}
