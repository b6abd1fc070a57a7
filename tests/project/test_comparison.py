"""``make bench``: what is compared, and that only what is right is timed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from comparison.contenders import HALF, Contender, Setting, contenders
from comparison.contenders.litert_gpu import LiteRt
from comparison.contenders.ncnn_vulkan import BITS_16, OPTIONS, TRIED, NcnnVulkan
from comparison.contenders.own import Own
from comparison.contenders.pytorch import PyTorch
from comparison.load import Moment, share_of_others
from comparison.networks import (
    ENTRIES,
    Model,
    describe,
    fix_size,
    prepare,
    torch_network,
)
from comparison.report import as_page
from comparison.results import NetworkResult
from comparison.shares import shares
from comparison.turns import Limits, compare, distance
from networks.reference import run_onnx
from onnx import TensorProto, helper, numpy_helper, save
from support import gl_context
from support.comparison_fakes import QUICK, Fake, as_run, tiny, tiny_model

from shadergen.compiler.doctor import examine, save_profile
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options

SLOW = pytest.mark.slow
FAULTS = {
    "wrong": r"wrong by \S+ times the bound",
    "missing": "it is not installed",
    "refuses": "no such operator",
    "crashes": "start: ended with 3: out of ideas",
    "tires": "tired",
}
SETTING = Setting(Path("none.json"), "llvmpipe (a test)", 2)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return tiny_model(tmp_path_factory.mktemp("model"))


def run(
    model: Model, folder: Path, *chosen: Contender, limits: Limits | None = QUICK
) -> NetworkResult:
    return compare("tiny", model, chosen, SETTING, limits, folder, lambda what: None)


@pytest.fixture(scope="module")
def result(model: Model, tmp_path_factory: pytest.TempPathFactory) -> NetworkResult:
    """Return a run of two that are right, among one of each that is not."""
    bad = (Fake(fault, fault) for fault in FAULTS)
    return run(model, tmp_path_factory.mktemp("work"), Fake("auto"), *bad, Fake("ncnn"))


# what is compared


def test_the_networks_are_those_that_were_asked_for() -> None:
    timed = {e.name: e.size for e in ENTRIES if e.timed}
    assert timed == {
        "ESPCN": (360, 640),
        "ESPCN, paper size": (180, 320),
        "ACNet": (270, 480),
        "Fast style transfer": (256, 256),
        "U-Net": (256, 256),
        "MobileNet v2": (224, 224),
        "SqueezeNet 1.1": (224, 224),
        "ResNet-18": (224, 224),
    }
    assert {e.name for e in ENTRIES if not e.timed} == {"VGG16", "AlexNet", "LeNet-5"}


@pytest.mark.parametrize(
    ("name", "channels", "widths"),
    (("ESPCN", 1, (16, 16, 4)), ("ESPCN, paper size", 3, (64, 32, 12))),
)
def test_the_upscalers_have_the_widths_that_were_asked_for(
    name: str, channels: int, widths: tuple[int, ...]
) -> None:
    pytest.importorskip("torch")
    (entry,) = [e for e in ENTRIES if e.name == name]
    module = entry.source.network.make(entry.size)
    shapes = [tuple(p.shape) for n, p in module.named_parameters() if n.endswith("weight")]
    before = (channels, *widths[:-1])
    kernels = (5, 3, 3)
    assert shapes == [(b, a, k, k) for a, b, k in zip(before, widths, kernels, strict=True)]


def test_a_model_of_dynamic_size_is_fixed(tmp_path: Path) -> None:
    path = tiny(tmp_path, "h", "w")
    assert fix_size(path, tmp_path / "fixed.onnx", (10, 12)) == 3
    x = np.zeros((1, 3, 10, 12), np.float32)
    ((y,),) = run_onnx(tmp_path / "fixed.onnx", x)
    assert describe("tiny", tmp_path / "fixed.onnx", x, y).operations == {
        "Conv": 1,
        "Relu": 1,
        "GlobalAveragePool": 1,
    }
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        run_onnx(tmp_path / "fixed.onnx", x[:, :, :8])


def test_contenders_are_named_once() -> None:
    own = ["fragment", "compute", "auto"]
    names = [c.name for c in contenders(software=True, timed=False)]
    assert names == [*own, "ncnn", "onnxruntime"]
    half = ["auto, 16 bits", "ncnn, 16 bits"]
    names = [c.name for c in contenders(software=False, timed=True)]
    assert names == [*own, "tuned", "ncnn", *half, "LiteRT", "PyTorch", "onnxruntime"]
    assert [c.name for c in contenders(software=True, timed=True, short=True)] == ["auto", "ncnn"]


# measuring


@SLOW
def test_every_round_has_a_frame_of_each(result: NetworkResult) -> None:
    for name, resident in (("auto", 3), ("ncnn", 0)):
        found = result.contenders[name]
        assert (found.problem, found.version) == ("", "fake 1 on llvmpipe (a test)")
        assert (found.passes, found.macs, found.options) == (3, 1000, "all on")
        assert len(found.frames) == 3
        assert len(found.resident) == resident
        assert found.error == 0
        assert all(c.wall > 0 for c in (*found.frames, found.start, found.convert))
    assert result.ratio("ncnn", "auto") is not None


def test_one_for_memory_and_start_has_no_frames(model: Model, tmp_path: Path) -> None:
    result = run(model, tmp_path, Fake("auto"), limits=None)
    found = result.contenders["auto"]
    assert (result.timed, found.problem, found.frames) == (False, "", [])
    assert found.start is not None


@SLOW
@pytest.mark.parametrize("fault", FAULTS)
def test_what_fails_is_named_and_not_timed(fault: str, result: NetworkResult) -> None:
    found = result.contenders[fault]
    assert re.fullmatch(FAULTS[fault], found.problem)
    assert found.frames == []
    assert f"- tiny, {fault}: {found.problem}" in as_page(as_run(result))


@SLOW
def test_sixteen_bits_may_be_off_by_more(model: Model, tmp_path: Path) -> None:
    coarse, half = Fake("coarse", "coarse"), Fake("half", "coarse", tolerance=HALF)
    found = run(model, tmp_path, coarse, half).contenders
    assert found["coarse"].problem.startswith("wrong by 50 times the bound")
    assert (found["half"].problem, len(found["half"].frames)) == ("", 3)


@SLOW
def test_least_rounds_are_run_however_long_they_take(model: Model, tmp_path: Path) -> None:
    limits = Limits(frames=4, warm_up=2, seconds=0.0, least=2)
    result = run(model, tmp_path, Fake("auto"), limits=limits)
    assert len(result.contenders["auto"].frames) == 2


@SLOW
@pytest.mark.gl
def test_this_project_and_onnxruntime_run_a_network(model: Model, tmp_path: Path) -> None:
    found = examine()
    save_profile(found, tmp_path / "device.json")
    setting = Setting(tmp_path / "device.json", found.renderer, 2)
    every = contenders(software=True, timed=True)
    chosen = [c for c in every if not isinstance(c, NcnnVulkan)]
    result = compare("tiny", model, chosen, setting, QUICK, tmp_path / "work", lambda what: None)
    for contender in chosen:
        outcome = result.contenders[contender.name]
        assert outcome.problem == ""
        assert 0 <= outcome.error < 1
        assert outcome.memory > 0
        assert len(outcome.frames) == 3
        assert len(outcome.resident) == (3 if isinstance(contender, Own) else 0)
    assert result.contenders["fragment"].passes > 0
    assert result.contenders["auto"].macs == 6 * 7 * 5 * (3 * 9 + 1)  # the pool adds


@SLOW
@pytest.mark.gl
def test_ncnn_runs_a_network_or_says_why_not(model: Model, tmp_path: Path) -> None:
    setting = replace(SETTING, renderer=gl_context().info().renderer)
    result = compare("tiny", model, [NcnnVulkan()], setting, QUICK, tmp_path, lambda what: None)
    found = result.contenders["ncnn"]
    if found.problem:
        assert re.match(r"the package \w+ is not|no .*Vulkan", found.problem)
    else:
        assert (len(found.frames), found.resident) == (3, [])
        assert found.error < 1
        off = json.loads((tmp_path / "ncnn" / OPTIONS).read_text("utf-8"))
        assert {*BITS_16} <= {*off} <= {*BITS_16, *TRIED}
        assert len(off) <= len(BITS_16) + 1


@SLOW
@pytest.mark.parametrize(
    ("there", "module", "resident"),
    ((PyTorch(device="cpu"), "torch", 3), (LiteRt(device="CPU"), "litert_torch", 0)),
)
def test_modules_run_that_the_files_were_exported_from(
    there: Contender, module: str, resident: int, tmp_path: Path
) -> None:
    pytest.importorskip(module)
    (entry,) = (e for e in ENTRIES if e.name == "LeNet-5")
    result = compare(
        entry.name, prepare(entry, tmp_path), [there], SETTING, QUICK, tmp_path / "work", print
    )
    found = result.contenders[there.name]
    assert (found.problem, len(found.frames), len(found.resident)) == ("", 3, resident)
    assert found.error < 1
    with pytest.raises(LookupError, match="no module"):
        torch_network("ACNet")


@SLOW
@pytest.mark.gl
def test_shares_count_the_work_of_direct_convolutions(model: Model, tmp_path: Path) -> None:
    """Tiles of 2x2 multiply less; their share is still that of the direct computation."""
    found = examine()
    save_profile(found, tmp_path / "device.json")
    setting = Setting(tmp_path / "device.json", found.renderer, 2)
    build = tmp_path / "build"
    options = Options(device=str(setting.profile), winograd="2x2")
    passes = compile_model(model.path, build, options).files.schedule["passes"]
    if sum(p["kernel"].endswith("put transform") for p in passes) != 2:
        pytest.skip("this GL has no compute shaders")
    shown = shares(model, build, tmp_path / "direct", setting, lambda what: None)
    assert list(shown) == [passes[0]["layers"][0], ""]
    assert all(0 < share < 10 for share in shown.values())


@SLOW
@pytest.mark.gl
def test_shares_of_a_pair_are_of_the_work_of_both(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(1, 16, 32, 32)).astype(np.float32)
    weights = {"w": np.ones((16, 1, 3, 3), np.float32), "u": np.ones((8, 16, 1, 1), np.float32)}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["a"], "first", group=16),
            helper.make_node("Conv", ["a", "u"], ["y"], "second"),
        ],
        "pair",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path / "pair.onnx"
    opsets = [helper.make_opsetid("", 19)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    ((y,),) = run_onnx(path, x)
    pair = describe("pair", path, x, y)
    found = examine()
    save_profile(found, tmp_path / "device.json")
    setting = Setting(tmp_path / "device.json", found.renderer, 2)
    options = Options(device=str(setting.profile), fuse_separable="on")
    build = tmp_path / "build"
    passes = compile_model(path, build, options).files.schedule["passes"]
    if [p["kernel"] for p in passes] != ["separable convolution"]:
        pytest.skip("this GL has no compute shaders")
    shown = shares(pair, build, tmp_path / "direct", setting, lambda what: None)
    assert list(shown) == [passes[0]["layers"][0], ""]
    assert all(0 < share < 10 for share in shown.values())


def test_an_output_of_another_size_or_no_number_is_wrong() -> None:
    right = np.array([1.0, 200.0], np.float32)
    assert distance(right.reshape(2, 1), right) == 0
    assert distance(right + np.array([0, 0.01]), right) == pytest.approx(0.5, rel=1e-3)
    assert distance(right[:1], right) == np.inf
    assert distance(np.array([1, np.nan]), right) == np.inf


def test_other_programs_are_what_is_left() -> None:
    before, after = Moment(1000, 400, 100), Moment(1200, 560, 220)
    assert share_of_others(before, after) == pytest.approx(0.2)
    assert share_of_others(before, before) is None
    assert share_of_others(None, after) is None


def test_this_process_shows_in_the_counts() -> None:
    before = Moment.now()
    if before is None:
        pytest.skip("the system keeps no counts")
    while (after := Moment.now()).own == before.own:
        sum(range(1000))
    assert after.busy > 0
    assert after.total >= before.total
