"""Frames from memory to memory against other programs, each checked before it is timed.

The programs and the turns are those of ``make bench``; a program that is missing is named.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from comparison.contenders import HALF, Contender
from comparison.contenders.litert_gpu import LiteRt
from comparison.contenders.ncnn_vulkan import NcnnVulkan
from comparison.contenders.onnx_runtime import OnnxRuntime, OnnxRuntimeGpu
from comparison.contenders.own import Own
from comparison.contenders.pytorch import PyTorch
from comparison.markdown import NOTHING, table
from comparison.results import NetworkResult, Spread
from comparison.turns import Limits, compare

from .jobs import first_line
from .samples import Missing, model_of, networks
from .setting import Record, Setting, reason

SHARE = 150
OWN, PEER = "shadergen", "ncnn"
FRAMES, WARM_UP, SECONDS, REQUEST = 30, 5, 6.0, 30.0


def contenders(software: bool) -> list[Contender]:
    """Return who takes part; what computes on GPUs alone does not if the GL is software."""
    return [
        Own(OWN),
        Own("shadergen, 16 bits", {"precision": "mediump"}, tolerance=HALF),
        NcnnVulkan(PEER, search=False),
        NcnnVulkan("ncnn, 16 bits", half=True, search=False, tolerance=HALF),
        *([] if software else [OnnxRuntimeGpu(), PyTorch(), LiteRt()]),
        OnnxRuntime(),
    ]


def run(setting: Setting, seconds: float) -> Iterator[Record]:
    deadline = time.monotonic() + seconds
    entries = networks(setting.quick)
    limits = Limits(FRAMES, WARM_UP, SECONDS, request=REQUEST)
    began, longest = time.monotonic(), 0.0
    for number, entry in enumerate(entries):
        longest = max(longest, time.monotonic() - began)
        began = time.monotonic()
        if began + longest > deadline:  # what is not finished by then would be lost
            yield {"left": len(entries) - number}
            return
        folder = setting.folder / "peers" / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            model = model_of(entry.name, setting.quick, setting.folder / "models")
        except Missing as error:
            yield {"network": entry.name, "problem": str(error)}
            continue
        except Exception as error:  # of any framework that makes networks
            yield {"network": entry.name, "fault": first_line(error)}
            continue
        who = contenders(setting.software)
        found = compare(entry.name, model, who, setting.peers, limits, folder, print)
        shutil.rmtree(folder, ignore_errors=True)  # hundreds of megabytes of weights
        yield record_of(found)


def record_of(found: NetworkResult) -> Record:
    """Return a network's result as a record: medians in place of rounds, by program."""
    every: dict[str, Record] = {}
    for name, result in found.contenders.items():
        own: Record = {"version": result.version}
        if result.problem:
            own["problem"] = " ".join(result.problem.split())
        for kind in ("frames", "resident"):
            times = found.times(name, "wall", kind == "resident")
            if times:
                own[kind] = round(Spread.of(times).median, 4)
        every[name] = own
    return {"network": found.name, "input": list(found.shape[1:]), "contenders": every}


def summary(records: Sequence[Record]) -> dict[str, Any]:
    return {"networks": list(records)}


def section(summary: Mapping[str, Any]) -> str:
    found = [r for r in summary["networks"] if "contenders" in r]
    names = list(dict.fromkeys(name for r in found for name in r["contenders"]))
    versions = {
        name: next((v for r in found if (v := r["contenders"][name]["version"])), "not measured")
        for name in names
    }
    listed = "\n".join(f"- **{name}**: {version}" for name, version in versions.items())
    words = (
        "A frame goes from an input in memory to an output in memory. In brackets: without "
        "upload and download, for programs that can keep input and output on the GPU. Medians, by "
        "the processor's clock."
    )
    rows = [(r["network"], *(_cell(r["contenders"].get(n, {})) for n in names)) for r in found]
    parts = ["### Against other programs, ms", words, listed, table(("network", *names), rows)]
    problems = [f"- {where}: {what}" for where, what in _problems(summary["networks"], names)]
    parts += ["\n".join(problems)] * bool(problems)
    left = sum(r.get("left", 0) for r in summary["networks"])
    parts += [f"Not measured for want of time: {left} networks."] * bool(left)
    return "\n\n".join(parts)


def _cell(own: Record) -> str:
    if "frames" not in own:
        return NOTHING
    resident = f" ({own['resident']:.2f})" if "resident" in own else ""
    return f"{own['frames']:.2f}{resident}"


def _problems(records: Sequence[Record], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what went wrong; what is the same for every network once."""
    for r in records:
        if reason(r):
            yield r["network"], reason(r)
    for name in names:
        where: dict[str, list[str]] = {}
        for r in records:
            problem = r.get("contenders", {}).get(name, {}).get("problem")
            if problem:
                where.setdefault(problem, []).append(r["network"])
        for problem, found in where.items():
            yield f"{name} ({'; '.join(found)})", problem
