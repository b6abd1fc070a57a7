"""The benchmark: what it measures hangs together, and what it writes can be read. No times."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from support import ESPCN, gl_context
from support.webgpu import context as webgpu_context

import shadergen
from shadergen.compiler import extras
from shadergen.compiler.benchmark import ceilings, transfer
from shadergen.compiler.benchmark.ceiling_builds import Shape, copy, multiply_adds
from shadergen.compiler.benchmark.latency import Frames, believable
from shadergen.compiler.benchmark.report import Settings, run_benchmark
from shadergen.compiler.benchmark.results import Ceiling, Ceilings, Ratio, Spread
from shadergen.compiler.benchmark.transfer import measure_transfers
from shadergen.compiler.cli import cli
from shadergen.compiler.random_inputs import random_inputs_of_ports
from shadergen.errors import ShadergenError
from shadergen.passes.placement.target import Wgsl
from shadergen.runtime_glue.python import Runner, load
from shadergen.runtime_glue.python.schedule import Port, Texture

FRAMES = 6
GL = pytest.mark.gl


@pytest.fixture(scope="module", autouse=True)
def quick_ceilings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ceilings, "ARITHMETIC_SIZE", 64)
        patch.setattr(ceilings, "COPIES", ((64, 1, 2), (64, 4, 1)))
        patch.setattr(ceilings, "ENOUGH", 0.5)
        yield


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "build"
    shadergen.compile_model(ESPCN, folder, input_size="16x24")
    return folder


@pytest.fixture(scope="module")
def data(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the JSON of one benchmark of a build against itself, with both kinds of charts."""
    folder = tmp_path_factory.mktemp("bench")
    run(build, build, "--json", folder / "b.json", "--chart", folder / "b.svg")
    return json.loads((folder / "b.json").read_text("utf-8")) | {"chart": folder / "b.svg"}


def context_for(wgsl: Wgsl | None) -> Any:
    """Return a context for shaders in WGSL, or in GLSL ES."""
    return webgpu_context() if wgsl else gl_context()


def run(*arguments: object) -> None:
    fixed = ("--frames", FRAMES, "--warm-up", 1, "--no-transfer")
    cli.main(["bench", *map(str, (*arguments, *fixed))], standalone_mode=False)


@GL
def test_work_is_what_the_schedule_says(data: Any, build: Path) -> None:
    passes = json.loads((build / "schedule.json").read_text("utf-8"))["passes"]
    for found in data["builds"]:
        assert [p["name"] for p in found["passes"]] == [p["name"] for p in passes]
        assert found["macs"] == sum(p["macs"] for p in found["passes"])
        assert found["macs"] == sum(p["macs"] for p in passes) > 0
        assert found["bytes"] == sum(sum(p["bytes"].values()) for p in passes)


@GL
def test_times_are_positive_and_in_order(data: Any) -> None:
    for found in data["builds"]:
        latency, start = found["latency_ms"], found["startup"]
        assert len(found["frames_ms"]) == FRAMES
        assert 0 < latency["min"] <= latency["median"] <= latency["p95"]
        assert latency["min"] == min(found["frames_ms"]) <= latency["mean"]
        assert min(start["load_ms"], start["init_ms"], start["first_frame_ms"]) > 0
        assert min(start["memory"].values(), default=0) >= 0
        assert found["wait_ms"] > 0
        assert all(p["milliseconds"] > 0 for p in found["passes"])
        assert found["passes_ms"] == pytest.approx(sum(p["milliseconds"] for p in found["passes"]))


@GL
def test_rates_follow_from_work_time_and_ceilings(data: Any) -> None:
    best = {(c["stage"], c["kind"]): max(c["shapes"].values()) for c in data["ceilings"]}
    assert set(best) >= {("fragment", "multiply-add"), ("fragment", "copy")}
    assert min(best.values()) > 0
    for p in (p for b in data["builds"] for p in b["passes"]):
        rates, seconds = p["rates"], p["milliseconds"] / 1e3
        assert rates["gflops"] == pytest.approx(2 * p["macs"] / seconds / 1e9)
        assert rates["gigabytes"] == pytest.approx(p["bytes"] / seconds / 1e9)
        share = rates["gflops"] / best[p["stage"], "multiply-add"]
        assert rates["of_arithmetic"] == pytest.approx(share)
    whole = data["builds"][0]
    seconds = whole["latency_ms"]["median"] / 1e3
    assert whole["rates"]["gflops"] == pytest.approx(2 * whole["macs"] / seconds / 1e9)


@GL
def test_ratios_are_to_the_first_build_of_the_same_round(data: Any) -> None:
    first, second = data["builds"]
    assert set(first["ratio"].values()) == {1.0}
    rounds = np.divide(second["frames_ms"], first["frames_ms"])
    assert second["ratio"]["median"] == pytest.approx(np.median(rounds))
    assert second["ratio"]["p10"] <= second["ratio"]["median"] <= second["ratio"]["p90"]


@GL
def test_the_machine_and_the_settings_are_named(data: Any) -> None:
    assert data["machine"]["renderer"] == gl_context().info().renderer
    assert (data["settings"]["frames"], data["settings"]["warm_up"]) == (FRAMES, 1)
    assert data["transfers"] == []


@GL
def test_an_svg_chart_names_builds_and_what_is_measured(data: Any, build: Path) -> None:
    root = ElementTree.parse(data["chart"]).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    said = data["chart"].read_text("utf-8")
    assert all(f"<!-- {name} -->" in said for name in (build, "milliseconds"))


@GL
def test_a_chart_takes_no_name_for_a_formula(tmp_path: Path) -> None:
    build = tmp_path / "$a_{$"
    shadergen.compile_model(ESPCN, build, input_size="16x24", validate=False)
    run(build, "--chart", tmp_path / "b.svg")
    assert "$a_{$" in (tmp_path / "b.svg").read_text("utf-8")


@GL
def test_a_png_chart_is_a_picture(build: Path, tmp_path: Path, capsys: Any) -> None:
    run(build, "--json", "-", "--chart", tmp_path / "b.png")
    assert len(json.loads(capsys.readouterr().out)["builds"]) == 1  # and nothing else is printed
    with Image.open(tmp_path / "b.png") as picture:
        picture.load()
        assert picture.format == "PNG"
        assert len(picture.getcolors(1 << 20)) > 10


@GL
def test_tables_say_every_pass(build: Path, capsys: Any) -> None:
    run(build)
    said = capsys.readouterr().out
    assert "multiply-add" in said
    assert "4 GPU passes; all 4 take " in said
    for p in load(build).passes:
        assert f"\n{p.name} " in said


@GL
def test_frames_end_with_the_time_allowed(build: Path) -> None:
    settings = Settings(frames=10**6, warm_up=10**6, seconds=0, transfer=False)
    report = run_benchmark([build], settings, lambda step: None)
    assert len(report.builds[0].frames_ms) == 1


@GL
def test_a_folder_that_is_no_build_is_refused_before_anything_is_measured(
    build: Path, tmp_path: Path
) -> None:
    steps: list[str] = []
    with pytest.raises(ShadergenError) as caught:
        run_benchmark([build, tmp_path], Settings(), steps.append)
    assert (caught.value.code, steps) == ("SG0502", ["loading"])


@pytest.mark.parametrize(
    ("name", "code"), [("b.pdf", "SG0301"), ("b", "SG0301"), ("absent/b.svg", "SG0501")]
)
def test_a_chart_that_cannot_be_is_refused_first(tmp_path: Path, name: str, code: str) -> None:
    with pytest.raises(ShadergenError) as caught:
        run(tmp_path / "no-build", "--chart", tmp_path / name)
    assert caught.value.code == code


def test_a_chart_without_matplotlib_says_how_to_install_it(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ShadergenError) as caught:
        extras.figure()
    assert caught.value.code == "SG0606"
    assert "pip install matplotlib" in caught.value.render()


@GL
@pytest.mark.parametrize("group", [None, (8, 8), (64, 1)], ids=str)
@pytest.mark.parametrize("wgsl", [None, "core"])
def test_the_shader_of_the_arithmetic_ceiling_computes_its_chains(
    wgsl: Wgsl | None, group: tuple[int, int] | None
) -> None:
    shape = Shape("rgba32f", 64, width=3, body=2, rounds=5, passes=2, group=group, wgsl=wgsl)
    build, macs = multiply_adds(shape)
    assert macs == 4 * (3 * 2) * 5 * 64 * 64 * 2
    with context_for(wgsl).runner(build) as runner:
        runner.run()
        runner.check()
        found = runner.read("y")[0]
    y, x = np.mgrid[:64, :64]
    m, b = 0.5 + x * 1e-5, 0.5 + y * 1e-5
    expected = np.zeros((64, 64))
    for k in range(3):
        a = k + m
        for _ in range(2 * 5):
            a = a * m + b
        expected += a
    assert np.abs(found[:4] - expected).max() < 1e-4


@GL
@pytest.mark.parametrize("group", [None, (8, 8)], ids=str)
@pytest.mark.parametrize("wgsl", [None, "core"])
def test_the_shader_of_the_copy_ceiling_copies(
    wgsl: Wgsl | None, group: tuple[int, int] | None
) -> None:
    build, size = copy(Shape("rgba32f", 64, width=4, passes=3, group=group, wgsl=wgsl))
    assert size == 2 * (64 * 64 * 4 * 16) * 3
    (x,) = random_inputs_of_ports(build.inputs, 0).values()
    with context_for(wgsl).runner(build) as runner:
        runner.upload("x", x)
        runner.run()
        runner.check()
        assert (runner.read("y") == x).all()


@GL
@pytest.mark.parametrize("wgsl", [None, "core"])
def test_transfers_of_every_format_are_measured(monkeypatch: Any, wgsl: Wgsl | None) -> None:
    monkeypatch.setattr(transfer, "SIZES", ((32, 16),))
    steps: list[str] = []
    found = measure_transfers(context_for(wgsl), steps.append, repeats=3)
    assert steps[-1] == "measuring transfers of rgba8 at 16x32"  # height first
    sizes = {t.format: t.bytes for t in found}
    assert sizes == {"rgba32f": 32 * 16 * 16, "rgba16f": 32 * 16 * 8, "rgba8": 32 * 16 * 4}
    for t in found:
        assert t.upload_gigabytes == pytest.approx(t.bytes / t.upload_ms.mean / 1e6)
        assert t.read_gigabytes == pytest.approx(t.bytes / t.read_ms.mean / 1e6)


@GL
def test_stepwise_frames_give_what_frames_give(build: Path) -> None:
    loaded = load(build)
    with Runner(loaded, gl_context()) as runner:
        for name, array in random_inputs_of_ports(loaded.inputs, 0).items():
            runner.upload(name, array)
        runner.run()
        runner.wait()
        want = runner.read("subpixel")
        for name, array in random_inputs_of_ports(loaded.inputs, 1).items():
            runner.upload(name, array)
        runner.run()
        assert (runner.read("subpixel") != want).any()
        for name, array in random_inputs_of_ports(loaded.inputs, 0).items():
            runner.upload(name, array)
        times = runner.run_stepwise()
        runner.check()
        assert (runner.read("subpixel") == want).all()
    assert len(times) == len(loaded.passes)
    assert min(times) > 0


@pytest.mark.parametrize(
    ("passes", "fit"),
    [((3.0, 4.0), True), ((), False), ((3.0, 1e-6), False), ((3.0, 9.0), False)],
)
def test_a_timer_is_believed_where_passes_fit_the_frame(
    passes: tuple[float, ...], fit: bool
) -> None:
    assert believable(passes, 10.0) == fit


def test_passes_of_a_timer_that_fails_once_are_all_measured_by_waiting() -> None:
    class Fake:
        answers = [(1e-3, 2e-3), (1e-9, 1e-9)]  # noqa: RUF012

        def run(self, timed: bool) -> None:
            assert timed

        def wait(self) -> None:
            while not sum(self.answers[0]) * 1e3:
                pass

        def timings(self) -> tuple[float, ...]:
            return self.answers.pop(0)

        def run_stepwise(self) -> tuple[float, ...]:
            return (5.0, 6.0)

    runner: Any = Fake()
    frames = Frames()
    for _ in range(3):
        frames.time_passes(runner)
    assert (frames.queries, frames.medians()) == (False, (5.0, 6.0))


def test_summaries_of_numbers() -> None:
    assert Spread.of([4.0, 1.0, 1.0]) == Spread(2.0, 1.0, pytest.approx(3.7), 1.0)
    assert Ratio.of([2.0, 6.0], [1.0, 2.0]) == Ratio(2.5, pytest.approx(2.1), pytest.approx(2.9))


def test_a_stage_without_a_ceiling_is_held_against_the_best() -> None:
    known = Ceilings(
        (
            Ceiling("fragment", "multiply-add", {"a": 10.0, "b": 20.0}),
            Ceiling("compute", "multiply-add", {"a": 40.0}),
            Ceiling("fragment", "copy", {"a": 5.0}),
        )
    )
    assert known.best("multiply-add", "fragment") == 20
    assert known.best("multiply-add") == 40
    assert known.best("copy", "compute") == 5
    assert known.rates(1, 1, 0.0) is None
    rates = known.rates(10**7, 10**6, 1.0, "compute")
    assert rates is not None
    assert (rates.of_arithmetic, rates.of_bandwidth) == (0.5, 0.2)


def test_inputs_of_a_build_are_what_its_ports_take() -> None:
    port = Port("x", "x", (50, 40), (0, 1), "float", "float32")
    ports = [
        port,
        replace(port, name="narrow", range=(3.0, 4.0)),
        replace(port, name="wide", range=(-9.0, 9.0)),
        replace(port, name="image", encoding="unorm8"),
        replace(port, name="index", dtype="int64"),
        replace(port, name="byte", dtype="uint8"),
        replace(port, name="truth", dtype="bool"),
    ]
    found = random_inputs_of_ports(ports, 0)
    ends = {name: (a.min(), a.max()) for name, a in found.items()}
    assert all(a.shape == (50, 40) for a in found.values())
    assert [a.dtype.name for a in found.values()] == [p.dtype for p in ports]
    assert 3 <= ends["narrow"][0] < ends["narrow"][1] <= 4
    assert 0 <= ends["x"][0] < 0.01 < 0.99 < ends["wide"][1] <= 1
    steps = found["image"].astype(np.float64) * 255
    assert np.abs(steps - np.round(steps)).max() < 1e-4
    assert ends["index"] == ends["byte"] == (0, 1)
    assert set(found["truth"].ravel()) == {False, True}


def test_an_image_is_read_back_from_webgpu_as_it_was_uploaded() -> None:
    texture = Texture(
        name="image", kind="2d", format="rgba8", width=5, height=3, layers=1, packing="planes",
        channels=4, batch=1, slot=None, first=0, last=0, data=None,
    )  # fmt: skip
    image = transfer._image(texture, 0)
    copies = transfer._WebGpuCopies(webgpu_context(), texture)
    copies.upload(image)
    np.testing.assert_array_equal(copies.read(), image)
    copies.close()


@pytest.fixture(scope="module")
def for_both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "both"
    device = "gles30,webgpu"
    shadergen.compile_model(ESPCN, folder, input_size="16x24", device=device, validate=False)
    return folder


def test_a_build_is_measured_on_webgpu(for_both: Path, capsys: Any) -> None:
    renderer = webgpu_context().info().renderer
    run(for_both, "--runtime", "webgpu", "--adapter", renderer[:6], "--json", "-")
    found = json.loads(capsys.readouterr().out)
    machine = found["machine"]
    assert (machine["runtime"], machine["renderer"]) == ("webgpu", renderer)
    assert machine["gl_version"].startswith("WebGPU on ")
    stages = {c["stage"] for c in found["ceilings"]}
    assert stages == {"fragment", "compute"}
    assert all(c["best"] > 0 for c in found["ceilings"])
    (build,) = found["builds"]
    assert build["name"] == f"{for_both} (webgpu)"
    assert len(build["frames_ms"]) == FRAMES
    assert all(p["milliseconds"] > 0 for p in build["passes"])


@GL
def test_builds_are_compared_on_a_runtime_of_all(build: Path, for_both: Path, capsys: Any) -> None:
    run(build, for_both, "--json", "-")
    assert json.loads(capsys.readouterr().out)["machine"]["runtime"] == "gles"


def test_builds_without_a_common_runtime_are_refused(build: Path, tmp_path: Path) -> None:
    other = tmp_path / "wgsl"
    shadergen.compile_model(ESPCN, other, input_size="16x24", device="webgpu", validate=False)
    with pytest.raises(ShadergenError) as caught:
        run(build, other)
    what = f"'{build}' and '{other}' cannot be compared"
    assert (caught.value.code, caught.value.what) == ("SG0301", what)
    with pytest.raises(ShadergenError, match="--runtime webgpu cannot run"):
        run(build, "--runtime", "webgpu")


def test_a_build_for_both_is_measured_without_pyopengl(
    for_both: Path, monkeypatch: Any, capsys: Any
) -> None:
    webgpu_context()
    monkeypatch.setitem(sys.modules, "OpenGL", None)
    run(for_both, "--json", "-")
    assert json.loads(capsys.readouterr().out)["machine"]["runtime"] == "webgpu"
