"""A whole benchmark, and its report."""

from __future__ import annotations

import json
import os
import platform
from contextlib import ExitStack
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...backends.replacing import replacing_file
from ...errors import ShadergenError, reason
from ...records import dataclass
from ...runtime_glue.python.loading import load
from ...runtime_glue.python.schedule import ComputePass
from ..runtimes import chosen, load_for, open_context, runtimes_of
from .ceilings import measure_ceilings, warm_up
from .latency import run_in_turns
from .results import BuildResult, Ceilings, PassResult, Ratio, Spread, Startup, Transfer
from .shader_cache import without_shader_cache
from .startup import start
from .transfer import measure_transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ..runtimes import Build
    from .latency import Frames


@dataclass(frozen=True)
class Settings:
    """Settings of ``shadergen bench``; see its ``--help``."""

    frames: int = 50
    warm_up: int = 10
    seconds: float | None = None
    transfer: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Machine:
    """Where it was measured; ``gl_version`` is that of the GL or WebGPU."""

    shadergen: str
    runtime: str
    renderer: str
    gl_version: str
    system: str
    cores: int


@dataclass(frozen=True)
class Report:
    """A benchmark of builds."""

    machine: Machine
    settings: Settings
    ceilings: Ceilings
    builds: tuple[BuildResult, ...]
    transfers: tuple[Transfer, ...]

    def as_data(self) -> dict[str, Any]:
        """Return it as what JSON holds."""
        data = asdict(self)
        data["ceilings"] = [asdict(c) | {"best": c.best} for c in self.ceilings.measured]
        return data


def run_benchmark(
    folders: Sequence[Path],
    settings: Settings,
    progress: Callable[[str], None],
    runtime: str = "auto",
    adapter: str = "",
) -> Report:
    """Measure builds on a headless context.

    Every build is read once before measuring, which refuses folders without a build and warms the
    system's caches equally. Builds start before ceilings are measured, so that their memory is not
    memory freed by others.

    Args:
        folders: of the builds.
        settings: how to measure.
        progress: told the step at hand.
        runtime: of ``RUNTIMES``; "auto" takes the first one installed that all builds run on.
        adapter: a part of the adapter's name; by default the runtime's own choice.

    Raises:
        ShadergenError: SG05xx, SG06xx; SG0606 when a package to run builds is missing; SG0301 when
            no runtime runs all builds.
    """
    progress("loading")
    names = _runtimes(runtime, {folder: load(folder) for folder in folders})
    with (
        without_shader_cache(),
        open_context(names, adapter) as context,
        ExitStack() as stack,
    ):
        warm_up(context)
        runners, starts = [], []
        for folder in folders:
            load_for(folder, context)  # the files of a variant, too
            progress(f"starting {folder}")
            runner, startup = start(folder, context, settings.seed)
            stack.callback(runner.close)
            runners.append(runner)
            starts.append(startup)
        ceilings = measure_ceilings(context, progress)
        measured = run_in_turns(
            runners, settings.frames, settings.warm_up, settings.seconds, progress
        )
        transfers = measure_transfers(context, progress) if settings.transfer else ()
        info = context.info()
        return Report(
            Machine(
                __version__,
                context.runtime,
                info.renderer,
                info.version,
                platform.platform(),
                os.cpu_count() or 1,
            ),
            settings,
            ceilings,
            tuple(
                _build_result(
                    _name(folder, runner.build),
                    runner.build,
                    startup,
                    frames,
                    measured[0],
                    ceilings,
                )
                for folder, runner, startup, frames in zip(
                    folders, runners, starts, measured, strict=True
                )
            ),
            transfers,
        )


def _runtimes(wanted: str, builds: Mapping[Path, Build]) -> tuple[str, ...]:
    """Return the runtimes to try, each of which runs all builds.

    Raises:
        ShadergenError: SG0301, when there is none.
    """
    (first, *_), found = builds, []
    for folder, build in builds.items():
        found.append(chosen(wanted, runtimes_of(build), f"'{folder}'"))
        common = tuple(name for name in found[0] if all(name in names for names in found))
        if not common:
            raise ShadergenError(
                "SG0301",
                f"'{first}' and '{folder}' cannot be compared",
                why="one has shaders in GLSL ES and the other in WGSL, for different runtimes",
                help="compile both with --device gles30,webgpu, then bench --runtime webgpu",
            )
    return common


def _name(folder: Path, build: Build) -> str:
    return f"{folder} ({build.variant})" if build.variant else str(folder)


def check_json(path: Path) -> None:
    """Find out before the work whether a report can be written.

    Raises:
        ShadergenError: SG0501, when another file is there, or no folder for it.
    """
    if not path.absolute().parent.is_dir():
        raise ShadergenError("SG0501", f"'{path.parent}' is not a folder")
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        found = json.loads(path.read_text("utf-8"))
        earlier = isinstance(found, dict) and {f.name for f in fields(Report)} <= found.keys()
    except (OSError, ValueError, RecursionError):
        earlier = False
    if not earlier:
        raise ShadergenError(
            "SG0501",
            f"'{path}' exists and is not a report of shadergen bench",
            help="name another file with --json",
        )


def save_json(report: Report, path: Path) -> None:
    """Write a report.

    Raises:
        ShadergenError: SG0501.
    """
    try:
        with replacing_file(path) as fresh:
            fresh.write_text(json.dumps(report.as_data(), indent=1) + "\n", "utf-8")
    except OSError as error:
        raise ShadergenError("SG0501", f"cannot write '{path}'", why=reason(error)) from None


def _build_result(
    name: str,
    build: Build,
    startup: Startup,
    frames: Frames,
    first: Frames,
    ceilings: Ceilings,
) -> BuildResult:
    medians = frames.medians()
    passes = []
    for p, milliseconds in zip(build.passes, medians, strict=True):
        stage = "compute" if isinstance(p, ComputePass) else "fragment"
        size = p.bytes_read + p.bytes_written
        rates = ceilings.rates(p.macs, size, milliseconds, stage)
        passes.append(
            PassResult(p.name, p.layers, stage, p.kernel, p.macs, size, milliseconds, rates)
        )
    macs, size = sum(p.macs for p in passes), sum(p.bytes for p in passes)
    latency = Spread.of(frames.latency)
    return BuildResult(
        name=name,
        model=build.model,
        macs=macs,
        bytes=size,
        startup=startup,
        latency_ms=latency,
        wait_ms=Spread.of(frames.waits).median,
        ratio=Ratio.of(frames.latency, first.latency),
        rates=ceilings.rates(macs, size, latency.median),
        passes_ms=sum(medians),
        passes_timed_by="queries" if frames.queries else "waiting",
        passes=tuple(passes),
        frames_ms=tuple(frames.latency),
    )
