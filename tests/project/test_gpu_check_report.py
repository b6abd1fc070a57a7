"""``make gpu``: the page, from records of every stage."""

from __future__ import annotations

from comparison.contenders import is_software
from comparison.results import ContenderResult, NetworkResult
from gpu_check import command, frame_stage, peer_stage
from gpu_check.command import has_fault
from gpu_check.isolation import Ran
from gpu_check.report import as_page, as_section, replaced
from gpu_check.results import DeviceResult, read_results
from gpu_check.setting import Record
from support.comparison_fakes import costs
from support.gpu_records import DISPLAY


def device(**summaries: Record) -> DeviceResult:
    machine = command.machine_of(DISPLAY, "nvidia")
    stages = {
        name: command.as_result(name, Ran(tuple(records), 1.0), quick=False)
        for name, records in summaries.items()
    }
    return DeviceResult(machine, stages)


def test_the_page_says_when_nothing_was_measured() -> None:
    assert as_page({}) == "No GPU has been measured yet."


def test_the_page_shows_the_results_that_are_stored_and_those_of_gpus_alone() -> None:
    stored = command.PAGE.with_suffix(".json")
    results = read_results(stored) if stored.exists() else {}
    text = command.PAGE.read_text("utf-8")
    assert text == replaced(text, as_page(results)), "run: make gpu ARGS='--add docs/gpu.json'"
    assert not [renderer for renderer in results if is_software(renderer)]


def test_displays_that_do_not_open_stand_beside_those_that_do() -> None:
    missing = {"display": "surfaceless", "problem": "EGL lists no such platform or device"}
    card = {**DISPLAY, "display": "device 0", "file": "/dev/dri/card0"}
    text = as_section(device(device=[DISPLAY, missing, card]))
    assert (
        "| chosen by shadergen: device 0 | NVIDIA, 1.5 | NVIDIA H200/PCIe/SSE2 | GPU | yes |"
        in text
    )
    assert "| surfaceless |  | EGL lists no such platform or device |" in text
    assert "| device 0, /dev/dri/card0 |" in text


def test_errors_beyond_the_bound_are_bold_and_faults_but_for_mediump() -> None:
    tries = [
        {"network": "A", "precision": "highp", "error": 2e-5, "bound": 1e-4},
        {"network": "A", "precision": "mediump", "error": 0.5, "bound": 1e-2},
        {"network": "B", "precision": "highp", "fault": "no such kernel"},
    ]
    text = as_section(device(networks=tries))
    assert "| A | 2.0e-05 | – | **5.0e-01** |" in text
    assert "| B | no such kernel | – | – |" in text


def test_conformance_counts_by_forced_choice_and_lists_what_fails() -> None:
    tries = [
        {"forced": "", "case": "test_a", "status": "pass"},
        {"forced": "stage=compute", "case": "test_a", "status": "wrong", "fault": "wrong: by 1"},
        {"forced": "stage=compute", "case": "test_b", "fault": "it took more than 30 seconds"},
        {"left": 7},
    ]
    text = as_section(device(conformance=tries))
    assert "| nothing | 1 | 1 |  |  |  |  |" in text
    assert "| `stage=compute` | 2 |  |  |  | 1 | 1 |" in text
    assert "- test_b (stage=compute): it took more than 30 seconds" in text
    assert "Not tried for want of time: 7 cases." in text


def frame(milliseconds: float, queries: bool = True) -> Record:
    return {
        "frame_ms": milliseconds,
        "passes_ms": milliseconds / 2,
        "timed_by": "queries" if queries else "waiting",
        "passes": 3,
        "macs": 10**9,
        "start_ms": 20.0,
    }


def test_frames_of_builds_that_ran_alone_join_those_of_their_network() -> None:
    records = [
        {"ceilings": {"multiply-add": 2000.0, "copy": 100.0}},
        {"network": "A", "builds": ["own", "gles30"], "fault": "the process ended: SIGSEGV"},
        {"network": "A", "builds": ["own"], "input": [3, 8, 8], "times": {"own": frame(4)}},
        {"network": "A", "builds": ["gles30"], "fault": "the process ended: SIGSEGV"},
    ]
    text = as_section(device(frames=records))
    assert "| A | 3×8×8 | 4.00 (2.00) | – | – | – | – |" in text
    assert "| A | 2.00 | 1000 | 50% | 3 | 20 | queries |" in text
    assert "- A, gles30: the process ended: SIGSEGV" in text


def test_frames_of_two_builds_that_ran_alone_join() -> None:
    alone = ({"network": "A", "builds": [n], "times": {n: frame(4)}} for n in ("own", "gles30"))
    (found,) = frame_stage.summary([*alone])["networks"]
    assert sorted(found["times"]) == ["gles30", "own"]


def test_missing_programs_are_named_once() -> None:
    gone = ContenderResult(problem="the package ncnn is not installed")
    own = ContenderResult(version="shadergen 1", frames=costs(3, 1, 2), resident=costs(1, 1, 1))
    found = [
        NetworkResult(name, (1, 3, 8, 8), True, {"shadergen": own, "ncnn": gone})
        for name in ("A", "B")
    ]
    text = as_section(device(peers=[peer_stage.record_of(result) for result in found]))
    assert "| A | 2.00 (1.00) | – |" in text
    assert text.count("ncnn is not installed") == 1
    assert "- ncnn (A; B): the package ncnn is not installed" in text


def test_predictions_are_listed_by_network_with_what_was_not_measured() -> None:
    good = {"layers": 3, "left_layers": 2, "candidates": 30, "overall": 0.9, "within": None}
    records = [
        {"network": "A", **good, "gain": 1.2, "fault": "", "wrong": 0},
        {"network": "B", **good, "gain": 1.2, "fault": "conv, x: it differs", "wrong": 1},
        {"network": "C", "problem": "needs torch"},
    ]
    text = as_section(device(prediction=records))
    assert "| A | 3 of 5 | 30 | 0.90 | – | 1.20 | 0 |" in text
    assert "- B: conv, x: it differs" in text
    assert "- C: needs torch" in text
    assert [has_fault(r) for r in records] == [False, True, False]
