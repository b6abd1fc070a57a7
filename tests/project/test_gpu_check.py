"""``make gpu``: stages that crash or hang, the command, what is tried."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from comparison.contenders import Setting as PeerSetting
from comparison.contenders import Unavailable, is_software
from comparison.contenders.onnx_runtime import GPUS, OnnxRuntimeGpu
from conformance.matrix import CHOICES
from conformance.suite import Case
from gpu_check import __main__ as launcher
from gpu_check import command
from gpu_check.command import chosen, has_fault, main, measure
from gpu_check.conformance_stage import jobs_of
from gpu_check.isolation import Ran, run_process
from gpu_check.jobs import OUT_OF_TIME, run_jobs
from gpu_check.results import read_results
from gpu_check.samples import Missing, family, networks, sample
from gpu_check.setting import Record, Setting, reason
from gpu_check.stages import STAGES
from networks import cache
from support import ROOT
from support.gpu_records import DISPLAY

LLVMPIPE = "llvmpipe (LLVM 15.0.6, 256 bits)"
SETTING = Setting(LLVMPIPE, "llvmpipe", quick=True, cores=2)

# a process with a deadline

CRASHES = """
import json, os, signal, sys
with open(sys.argv[1], "a") as file:
    file.write('{"n": 1}\\n{"n": 2}\\n{"n": ')
print("the driver gave up", flush=True)
os.kill(os.getpid(), signal.SIGSEGV)
"""
HANGS = """
import subprocess, sys, time
with open(sys.argv[1], "a") as file:
    file.write('{"n": 1}\\n')
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open(sys.argv[1] + ".child", "w") as file:
    file.write(str(child.pid))
time.sleep(60)
"""


def run_code(code: str, folder: Path, seconds: float) -> Ran:
    records = folder / "records"
    command = [sys.executable, "-c", code, str(records)]
    return run_process(command, records, folder / "log", seconds)


def test_a_stage_that_crashes_leaves_its_whole_records_and_its_last_words(tmp_path: Path) -> None:
    ran = run_code(CRASHES, tmp_path, 30)
    assert ran.records == ({"n": 1}, {"n": 2})
    assert ran.problem == "ended with SIGSEGV: the driver gave up"


def test_a_stage_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    ran = run_code(HANGS, tmp_path, 2)
    assert ran.records == ({"n": 1},)
    assert ran.problem == "took more than 2 s"
    assert 2 <= ran.seconds < 20
    child = Path("/proc") / (tmp_path / "records.child").read_text() / "stat"
    deadline = time.monotonic() + 10
    while child.exists() and child.read_text().split()[2] not in "ZX":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_stage_that_ends_well_has_no_problem(tmp_path: Path) -> None:
    ran = run_code("print('noise')", tmp_path, 30)
    assert (ran.records, ran.problem) == ((), "")


# jobs


def do(job: Record) -> Record:
    kind = job["kind"]
    if kind == "crashes":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hangs":
        time.sleep(60)
    if kind == "fails":
        raise ValueError("no such thing\nand more")
    if kind == "needs":
        raise Missing("needs torch")
    return {"done": True}


def test_jobs_that_crash_hang_or_fail_cost_no_other_job() -> None:
    kinds = ("good", "crashes", "fails", "good", "hangs", "needs", "good")
    records = list(run_jobs(do, [{"kind": kind} for kind in kinds], 30, 1))
    assert [r["kind"] for r in records] == list(kinds)
    assert [reason(r) for r in records] == [
        "",
        "the process ended: SIGKILL",
        "no such thing",
        "",
        "it took more than 1 seconds",
        "needs torch",
        "",
    ]
    assert [has_fault(r) for r in records] == [False, True, True, False, True, False, False]


def test_a_job_is_no_fault_that_the_stage_has_no_time_for() -> None:
    jobs = [{"kind": "hangs"}, {"kind": "good"}, {"kind": "good"}]
    records = list(run_jobs(do, jobs, 1, 30))
    assert records == [{"kind": "hangs", "problem": OUT_OF_TIME}, {"left": 2}]


# the command

SOFTWARE = {**DISPLAY, "renderer": LLVMPIPE, "software": True, "profile": "llvmpipe"}


class Runs:
    """Runs no stage: returns records, and notes what it was asked for."""

    def __init__(self, display: Record, problems: dict[str, str] | None = None) -> None:
        self.display, self.problems = display, problems or {}
        self.asked: dict[str, tuple[Setting, float]] = {}

    def __call__(self, name: str, setting: Setting, seconds: float) -> Ran:
        self.asked[name] = setting, seconds
        records = {
            "device": (self.display, {"probed": "probed.json"}),
            "models": ({"network": "ESPCN", "problem": "needs torch"},),
            "conformance": ({"forced": "", "case": "test_abs", "status": "pass"},),
        }
        return Ran(records.get(name, ()), 1.0, self.problems.get(name, ""))


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command, "KEPT", tmp_path / "kept")
    return tmp_path / "docs" / "gpu.md"


def test_a_software_renderer_is_refused_by_name(page: Path, capsys) -> None:
    runs = Runs(SOFTWARE)
    assert main([], runs, page) == 2
    assert list(runs.asked) == ["device"]
    message = capsys.readouterr().err
    assert f"'{LLVMPIPE}' is a software renderer" in message
    assert "make gpu ARGS=--software" in message
    assert not page.exists()


def test_results_of_software_are_kept_from_the_page_unless_asked_for(page: Path) -> None:
    assert main(["--software"], Runs(SOFTWARE), page) == 0
    assert not page.exists()
    assert LLVMPIPE in (page.parents[1] / "kept" / "gpu.md").read_text()
    assert main(["--software", "--publish"], Runs(SOFTWARE), page) == 0
    assert LLVMPIPE in page.read_text()


def test_software_is_measured_at_small_sizes_and_a_gpu_is_not(page: Path) -> None:
    for display, quick in ((SOFTWARE, True), (DISPLAY, False)):
        runs = Runs(display)
        main(["--software"], runs, page)
        settings = [setting for name, (setting, _) in runs.asked.items() if name != "device"]
        assert {s.quick for s in settings} == {quick}
        assert {s.own for s in settings} == {display["profile"]}


def test_a_gpu_of_no_known_family_is_built_for_with_its_limits(page: Path) -> None:
    runs = Runs({**DISPLAY, "profile": ""})
    main([], runs, page)
    assert runs.asked["frames"][0].own == "probed.json"
    assert "device profile: the limits of this GL" in page.read_text()


def test_without_gl_the_reason_is_printed(page: Path, capsys) -> None:
    found = {"display": "by default", "problem": "device 0: eglInitialize failed"}
    assert main([], Runs(found), page) == 2
    assert "device 0: eglInitialize failed" in capsys.readouterr().err


def test_a_stage_that_does_not_end_well_is_recorded_and_loses_no_other(page: Path) -> None:
    assert main([], Runs(DISPLAY, {"models": "ended with SIGSEGV"}), page) == 1
    (device,) = read_results(page.with_suffix(".json")).values()
    assert {n: s.problem for n, s in device.stages.items() if s.problem} == {
        "models": "ended with SIGSEGV"
    }
    assert list(device.stages) == list(STAGES)
    text = page.read_text()
    assert "| models | ended with SIGSEGV |" in text
    assert "| nothing | 1 | 1 |" in text


def test_results_of_a_run_that_is_broken_off_are_kept(page: Path) -> None:
    class Broken(Runs):
        def __call__(self, name: str, setting: Setting, seconds: float) -> Ran:
            if name == "networks":
                raise KeyboardInterrupt
            return super().__call__(name, setting, seconds)

    with pytest.raises(KeyboardInterrupt):
        main([], Broken(DISPLAY), page)
    (device,) = read_results(page.with_suffix(".json")).values()
    assert list(device.stages) == ["device", "models", "conformance"]


def test_results_of_other_gpus_and_of_skipped_stages_stay(page: Path, tmp_path: Path) -> None:
    main([], Runs(DISPLAY), page)
    main(["--only", "conformance"], Runs({**DISPLAY, "version": "a newer driver"}), page)
    other = tmp_path / "elsewhere" / "gpu.md"
    main(["--skip", "peers"], Runs({**DISPLAY, "renderer": "Mali-G72"}), other)
    assert main(["--add", str(other.with_suffix(".json"))], page=page) == 0
    results = read_results(page.with_suffix(".json"))
    assert list(results) == ["Mali-G72", DISPLAY["renderer"]]
    assert list(results[DISPLAY["renderer"]].stages) == list(STAGES)
    assert results[DISPLAY["renderer"]].machine.version == "a newer driver"
    assert page.read_text().index("## Mali-G72") < page.read_text().index("## NVIDIA H200")


def test_a_file_that_is_added_must_hold_results(page: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "other.json").write_text('{"GPU": {"stages": 3}}')
    for name in ("other.json", "none.json"):
        with pytest.raises(SystemExit) as ended:
            main(["--add", str(tmp_path / name)], page=page)
        assert ended.value.code == 2
        assert f"{name} has no results of make gpu" in capsys.readouterr().err


def test_time_that_a_stage_leaves_goes_to_the_later_ones() -> None:
    runs = Runs(DISPLAY)
    list(measure(runs, SETTING, ["models", "conformance", "networks"], 280))
    limits = [seconds for _, seconds in runs.asked.values()]
    # of 100, 90 and 90 parts; the stages take next to nothing
    assert limits == pytest.approx([100, 140, 280], abs=1)


def test_stages_are_chosen_by_name_and_unknown_names_refused() -> None:
    assert chosen("", "peers,models") == [n for n in STAGES if n not in ("peers", "models")]
    assert chosen("frames,conformance", "") == ["device", "conformance", "frames"]
    with pytest.raises(ValueError, match="stage 'frame' is unknown; there are device, models"):
        chosen("frame", "")


@pytest.mark.parametrize(
    ("renderer", "software"),
    (
        (LLVMPIPE, True),
        ("ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero) (0x0000C0DE)))", True),
        ("ANGLE (Microsoft, Microsoft Basic Render Driver Direct3D11 vs_5_0)", True),
        ("Apple Software Renderer", True),
        ("NVIDIA H200/PCIe/SSE2", False),
        ("Mali-G610 (Panfrost)", False),
        ("Mesa Intel(R) UHD Graphics 630 (CFL GT2)", False),
    ),
)
def test_software_renderers_are_known_by_name(renderer: str, software: bool) -> None:
    assert is_software(renderer) == software


def test_a_link_to_another_checkout_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, links = tmp_path / "other", tmp_path / "links"
    for folder in (other, links):
        folder.mkdir()
    (links / "shadergen").symlink_to(other)
    monkeypatch.setattr(launcher, "LINKS", links)
    monkeypatch.setattr(launcher, "PACKAGE", links / "shadergen")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setenv("PYTHONPATH", "before")
    launcher.find_modules()
    assert (links / "shadergen").resolve() == ROOT
    assert sys.path[0] == str(links)
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0::3] == [str(links), "before"]


# what is tried


def cases() -> list[Case]:
    operators = ("Conv", "MaxPool", "MatMul", "Relu", "Softmax", "Range")
    every = [Case(f"test_{op}_{i}".lower(), "node", op) for op in operators for i in range(9)]
    return [*every, Case("test_whole", "light"), Case("test_simple", "simple")]


def test_a_few_cases_of_each_family_are_drawn_the_same_each_time() -> None:
    drawn = sample(cases(), 4)
    assert drawn == sample(reversed(cases()), 4)
    assert set(Counter(map(family, drawn)).values()) == {4, 1}
    assert {"convolution", "pooling", "linear_algebra", "elementwise", "others", "simple"} <= set(
        map(family, drawn)
    )
    assert "test_whole" not in [case.name for case in drawn]


def test_every_kernel_choice_is_forced_on_the_same_cases() -> None:
    jobs = jobs_of(cases(), SETTING)
    forced = Counter(job["forced"] for job in jobs)
    assert [f for f in forced if f not in CHOICES] == ["", "device=llvmpipe"]
    assert {forced[choice] for choice in CHOICES} == {4}  # families of kernels in these cases


def test_small_networks_are_those_of_make_bench() -> None:
    small, full = networks(quick=True), networks(quick=False)
    assert [e.name for e in small] == [e.name for e in full]
    assert all(max(e.size) <= 64 for e in small)
    assert {e.name: e.size for e in full}["ESPCN"] == (360, 640)


def test_a_network_that_was_copied_serves_where_its_framework_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = (e for e in networks(quick=True) if e.name == "LeNet-5")
    case = entry.source
    monkeypatch.setattr(cache, "CACHE", tmp_path)
    monkeypatch.setattr(cache, "find_spec", lambda name: None)
    assert cache.missing(case) == "torch, torchvision, onnxscript"
    copied = tmp_path / f"{case}-00000000"
    copied.mkdir()
    for name in ("reference.npz", "model.onnx"):
        (copied / name).touch()
    assert cache.missing(case) == ""
    assert cache.model_file(case) == copied / "model.onnx"


def test_onnxruntime_without_a_gpu_says_so() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    if set(GPUS) & set(onnxruntime.get_available_providers()):
        pytest.skip("this onnxruntime computes on a GPU")
    with pytest.raises(Unavailable, match="has no provider for a GPU"):
        OnnxRuntimeGpu().version(PeerSetting(Path("none"), "a GPU", 1))
