"""The command that measures builds: ``bench``."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ...errors import ShadergenError, few
from .help import command
from .options import is_given, measuring_options, runtime_options
from .output import (
    bytes_text,
    echo,
    new_table,
    passes_text,
    print_json,
    print_table,
    progress_line,
    short_text,
    si_text,
)

if TYPE_CHECKING:
    from ..benchmark.report import Report
    from ..benchmark.results import BuildResult, Rates

DEFAULT_SIZE = "360x640"
DEAREST = 10  # passes of a build in the table


@command(
    short_help="Measure builds: start-up, frames, passes, and the GPU's peak rates.",
    epilog="Example: [bold]shadergen bench build/ other-build/ --chart bench.svg[/bold]",
)
@click.argument("builds", metavar="BUILD...", nargs=-1, required=True,
                type=click.Path(path_type=Path))  # fmt: skip
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write all results to this file as JSON; '-' prints the JSON instead of the tables.",
)
@click.option(
    "--chart",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a chart of frame times and passes as .svg or .png.",
)
@measuring_options(
    "build",
    50,
    "Stop measuring frames after N seconds, compilation not counted; by default 60 for user "
    "shaders.",
)
@click.option("--no-transfer", is_flag=True, help="Do not measure upload and read-back.")
@runtime_options("auto: gles if installed and all builds have shaders for it, else webgpu.")
@click.option(
    "--size",
    metavar="HxW",
    help=f"Size of the pictures for user shaders. [default: {DEFAULT_SIZE}]",
)
def bench(
    builds: tuple[Path, ...],
    json_file: Path | None,
    chart: Path | None,
    frames: int,
    warm_up: int,
    seconds: float | None,
    no_transfer: bool,
    runtime: str,
    adapter: str,
    size: str | None,
) -> None:
    """Measure each BUILD and the peak rates (ceilings) of the installed OpenGL ES or WebGPU.

    Builds take turns frame by frame, so that other load slows all of them equally. Ratios are
    relative to the first build.

    User shaders (.glsl), hand-written ones too, are measured in FFmpeg's libplacebo filter instead.
    Each is compared with plain scaling to the same size.
    """
    from ..player.outline import is_user_shader

    if any(map(is_user_shader, builds)):
        _bench_user_shaders(builds, json_file, frames, seconds, size)
        return
    if size is not None:
        raise ShadergenError(
            "SG0301",
            "--size applies only to user shaders (.glsl)",
            why="a build is measured at its default size",
            help="omit --size",
        )
    from ..benchmark.chart import check_chart, draw_chart
    from ..benchmark.report import Settings, check_json, run_benchmark, save_json

    if chart is not None:
        check_chart(chart)
    if json_file is not None and str(json_file) != "-":
        check_json(json_file)
    settings = Settings(frames, warm_up, seconds, not no_transfer)
    with progress_line() as progress:
        report = run_benchmark(builds, settings, progress, runtime, adapter)
    if str(json_file) == "-":
        print_json(report.as_data())
    else:
        _print_report(report)
        if json_file is not None:
            save_json(report, json_file)
    if chart is not None:
        draw_chart(report, chart)


def _bench_user_shaders(
    shaders: tuple[Path, ...],
    json_file: Path | None,
    frames: int,
    seconds: float | None,
    size: str | None,
) -> None:
    """Measure user shaders; options of builds have no meaning for them, and are refused."""
    from ..player.measuring import SECONDS, measure
    from ..player.outline import is_user_shader

    for name in ("chart", "warm_up", "no_transfer", "runtime", "adapter"):
        if is_given(name):
            flag = "--" + name.replace("_", "-")
            raise ShadergenError("SG0301", f"{flag} is not supported with user shaders")
    if other := next((path for path in shaders if not is_user_shader(path)), None):
        if other.is_file():
            raise ShadergenError(
                "SG0301",
                f"'{other}' is neither a user shader (.glsl) nor a build",
                why="bench generates its own frames and takes only builds and user shaders",
                help="to choose the size of the frames: --size HxW",
            )
        raise ShadergenError(
            "SG0301",
            "builds and user shaders cannot be measured together",
            why="the time of a user shader includes uploading, scaling and downloading the frame",
            help="run bench once for the builds and once for the user shaders",
        )
    if json_file is not None and str(json_file) != "-":
        raise ShadergenError(
            "SG0301",
            f"--json {json_file} is not supported with user shaders",
            supported="--json -, which prints the JSON",
        )
    with progress_line() as progress:
        budget = SECONDS if seconds is None else seconds
        found = measure(shaders, _size(size), frames, budget, progress)
    if json_file is not None:
        print_json([asdict(f) for f in found])
        return
    table = new_table("FFmpeg's libplacebo", "result", "passes", "first frame ms", "frame ms",
                      "frames")  # fmt: skip
    for f in found:
        result = "x".join(map(str, f.size))
        name = f.name or "plain scaling"
        times = (short_text(f.first), "-" if f.frame is None else short_text(f.frame))
        table.add_row(name, result, str(f.passes), *times, str(f.frames))
    print_table(table)
    if short := [f.name or "plain scaling" for f in found if f.frame is None]:
        echo(f"{few(short)}: too few frames; give more --seconds")


def _size(text: str | None) -> tuple[int, int]:
    """Parse ``360x640``."""
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text or DEFAULT_SIZE)
    if found is None:
        raise ShadergenError("SG0301", f"--size {text} is not a size", supported="HxW")
    return int(found[1]), int(found[2])


def _print_report(report: Report) -> None:
    machine = report.machine
    echo(f"{machine.renderer}, {machine.gl_version}, {machine.cores} CPU cores", "")
    _print_ceilings(report)
    _print_startup(report)
    _print_latency(report)
    for build in report.builds:
        _print_passes(build)
    if report.transfers:
        _print_transfers(report)


def _print_ceilings(report: Report) -> None:
    table = new_table("ceiling", "stage", "rate", "measured with")
    for c in report.ceilings.measured:
        unit = "GFLOP/s" if c.kind == "multiply-add" else "GB/s"
        shape = max(c.shapes, key=lambda name: c.shapes[name])
        table.add_row(c.kind, c.stage, f"{short_text(c.best)} {unit}", shape)
    print_table(table)


def _print_startup(report: Report) -> None:
    table = new_table("start-up", "load ms", "init ms", "first frame ms", "memory")
    for b in report.builds:
        s, memory = b.startup, "unknown"
        if s.memory:
            memory = bytes_text(s.memory.load + s.memory.init + s.memory.first_frame)
        times = (s.load_ms, s.init_ms, s.first_frame_ms)
        table.add_row(b.name, *map(short_text, times), memory)
    print_table(table)


def _print_latency(report: Report) -> None:
    table = new_table(
        "frame", "median ms", "mean ms", "p95 ms", "min ms", "ratio", "10..90 %", "passes", "MACs",
        "GFLOP/s", "of max", "GB/s", "of max",
    )  # fmt: skip
    for b in report.builds:
        t, r = b.latency_ms, b.ratio
        table.add_row(
            b.name,
            *map(short_text, (t.median, t.mean, t.p95, t.min)),
            f"{r.median:.2f}",
            f"{r.p10:.2f}..{r.p90:.2f}",
            str(len(b.passes)),
            si_text(b.macs) if b.macs else "-",
            *_rates(b.rates),
        )
    print_table(table)


def _print_passes(build: BuildResult) -> None:
    dearest = sorted(build.passes, key=lambda p: -p.milliseconds)[:DEAREST]
    number = len(build.passes)
    how = "timer queries" if build.passes_timed_by == "queries" else "waiting for each pass"
    rest = "" if len(dearest) == number else f"{DEAREST} slowest of "
    echo(
        f"{build.name}: {rest}{passes_text(number)}; all {number} take "
        f"{short_text(build.passes_ms)} ms (timed by {how})"
    )
    table = new_table(
        "pass", "layers", "kernel", "ms", "share", "MACs", "GFLOP/s", "of max", "bytes", "GB/s",
        "of max",
    )  # fmt: skip
    for p in dearest:
        gflops, of_arithmetic, gigabytes, of_bandwidth = _rates(p.rates)
        table.add_row(
            p.name,
            ", ".join(p.layers),
            f"{p.stage} {p.kernel}",
            short_text(p.milliseconds),
            f"{p.milliseconds / build.passes_ms:.0%}",
            si_text(p.macs) if p.macs else "-",
            gflops,
            of_arithmetic,
            bytes_text(p.bytes),
            gigabytes,
            of_bandwidth,
        )
    print_table(table)


def _rates(rates: Rates | None) -> tuple[str, str, str, str]:
    if rates is None:
        return "-", "-", "-", "-"
    arithmetic = (short_text(rates.gflops), f"{rates.of_arithmetic:.0%}")
    if not rates.gflops:
        arithmetic = ("-", "-")
    return *arithmetic, short_text(rates.gigabytes), f"{rates.of_bandwidth:.0%}"


def _print_transfers(report: Report) -> None:
    table = new_table(
        "transfer", "HxW", "upload ms", "p95 ms", "GB/s", "read-back ms", "p95 ms", "GB/s"
    )
    for t in report.transfers:
        row: list[Any] = [t.upload_ms.mean, t.upload_ms.p95, t.upload_gigabytes]
        row += [t.read_ms.mean, t.read_ms.p95, t.read_gigabytes]
        table.add_row(t.format, f"{t.height}x{t.width}", *map(short_text, row))
    print_table(table)
