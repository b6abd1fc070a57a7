"""``make gpu``: its stages, on a tiny network and the GL at hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from comparison.networks import Model
from gpu_check import frame_stage, network_stage, peer_stage, prediction_stage
from gpu_check.isolation import run_stage
from gpu_check.samples import networks
from gpu_check.setting import Setting, reason
from support import ROOT
from support.comparison_fakes import Fake, tiny_model

from shadergen.runtime_glue.python import HeadlessContext

SETTING = Setting("llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe", quick=True, cores=2)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """Let every network be a tiny one."""
    pytest.importorskip("onnxruntime")
    model = tiny_model(tmp_path)
    for stage in (network_stage, frame_stage, peer_stage, prediction_stage):
        monkeypatch.setattr(stage, "model_of", lambda *arguments: model)
    monkeypatch.setattr("gpu_check.setting.KEPT", tmp_path)
    yield model


@pytest.mark.gl
def test_networks_are_compared_in_each_precision(small: Model) -> None:
    for precision in network_stage.PRECISIONS:
        record = network_stage._try(SETTING, {"network": "tiny", "precision": precision})
        assert 0 <= record["error"] < record["bound"]
        assert not reason(record)


@pytest.mark.gl
def test_a_wrong_result_is_a_fault(small: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_stage, "distance", lambda *arguments: 3.0)
    tried = {
        p: network_stage._try(SETTING, {"network": "tiny", "precision": p})
        for p in ("highp", "mediump")
    }
    assert reason(tried["highp"]) == "wrong by 3 times the bound"
    assert not reason(tried["mediump"])


@pytest.mark.gl
def test_frames_of_every_profile_are_timed(small: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_stage, "FRAMES", 2)
    job = {"network": "tiny", "builds": list(frame_stage.BUILDS)}
    record = frame_stage._measure(SETTING, job)
    assert list(record["times"]) == list(frame_stage.BUILDS)
    for times in record["times"].values():
        assert times["frame_ms"] > 0
        assert times["rounds"] == 2
        assert times["timed_by"] in ("queries", "waiting")


@pytest.mark.gl
@pytest.mark.slow
def test_tuning_is_compared_with_predictions(small: Model) -> None:
    record = prediction_stage._tune(SETTING, {"network": "tiny", "seconds": 5})
    assert record["candidates"] > 2
    assert -1 <= record["overall"] <= 1
    again = prediction_stage._tune(SETTING, {"network": "tiny", "seconds": prediction_stage.KEPT})
    assert again["candidates"] == record["candidates"]


@pytest.mark.gl
def test_the_first_stage_finds_the_gl_that_builds_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_check.setting.KEPT", tmp_path)
    paths = (str(ROOT / "tests"), str(ROOT / "bench"), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    ran = run_stage("device", SETTING, 60)
    assert not ran.problem
    first = ran.records[0]
    with HeadlessContext() as context:
        assert (first["renderer"], first["platform"]) == (
            context.info().renderer,
            context.platform,
        )
    (probed,) = (r["probed"] for r in ran.records if "probed" in r)
    assert json.loads(Path(probed).read_text())["renderer"] == first["renderer"]


@pytest.mark.gl
def test_the_folder_runs_by_itself(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "gpu_check", "--only", "none"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "stage 'none' is unknown" in done.stderr


def test_programs_are_compared_until_the_time_is_up(
    small: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [replace(e, name=name) for e, name in zip(networks(True), "ABC", strict=False)]
    monkeypatch.setattr(peer_stage, "networks", lambda quick: entries)
    monkeypatch.setattr(peer_stage, "FRAMES", 3)
    who = [Fake("shadergen"), Fake("ncnn", "crashes"), Fake("onnxruntime", "missing")]
    monkeypatch.setattr(peer_stage, "contenders", lambda software: who)
    first, last = peer_stage.run(SETTING, 0.1)  # the first is compared however long it takes
    assert first["network"] == "A"
    assert first["contenders"]["shadergen"]["frames"] > 0
    assert first["contenders"]["ncnn"]["problem"] == "start: ended with 3: out of ideas"
    assert first["contenders"]["onnxruntime"]["problem"] == "it is not installed"
    assert last == {"left": 2}
