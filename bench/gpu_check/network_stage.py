"""Whole networks in each precision: the error against onnxruntime."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from comparison.contenders import EXACT, HALF
from comparison.markdown import NOTHING, table
from comparison.turns import distance

from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.compiler.verification import run_build

from .jobs import run_jobs
from .samples import model_of, networks
from .setting import Record, Setting, reason

SHARE = 90
LIMIT = 60.0  # seconds for a network
PRECISIONS = {"highp": EXACT, "auto": HALF, "mediump": HALF}
MEASURED = ("mediump",)  # forced on every layer it may exceed the bound, which is no fault


def run(setting: Setting, seconds: float) -> Iterator[Record]:
    names = [entry.name for entry in networks(setting.quick)]
    jobs = [{"network": n, "precision": p} for p in PRECISIONS for n in names]
    yield from run_jobs(partial(_try, setting), jobs, seconds, LIMIT)


def _try(setting: Setting, job: Record) -> Record:
    model = model_of(job["network"], setting.quick, setting.folder / "models")
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
        build = Path(folder) / "build"
        compile_model(model.path, build, Options(device=setting.own, precision=job["precision"]))
        outputs, _ = run_build(build, {model.input_name: model.x})
    tolerance = PRECISIONS[job["precision"]]
    error = distance(outputs[model.output_name], model.y, tolerance)
    found: Record = {"error": round(error * tolerance, 9), "bound": tolerance}
    if error > 1 and job["precision"] not in MEASURED:
        found["fault"] = f"wrong by {error:.3g} times the bound"
    return found


def summary(records: Sequence[Record]) -> dict[str, Any]:
    return {"networks": list(records)}


def section(summary: Mapping[str, Any]) -> str:
    found = [r for r in summary["networks"] if "network" in r]
    names = dict.fromkeys(r["network"] for r in found)
    by = {(r["network"], r["precision"]): r for r in found}
    rows = [(n, *(_cell(by.get((n, p))) for p in PRECISIONS)) for n in names]
    words = (
        "### Errors of whole networks\n\n"
        "The largest difference from onnxruntime, divided by max(1, the largest output). "
        f"The bound is {EXACT:g} for highp and {HALF:g} for the others; larger errors are bold. "
        "`auto` computes a layer in 16 bits if its accuracy allows this, "
        "`mediump` computes all layers in 16 bits.\n\n"
    )
    return words + table(("network", *PRECISIONS), rows)


def _cell(record: Record | None) -> str:
    if record is None:
        return NOTHING
    if "error" not in record:
        return reason(record)
    bold = "**" * (record["error"] > record["bound"])
    return f"{bold}{record['error']:.1e}{bold}"
