"""``make bench``: what is compared, that only what is right is timed, and what the tables say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from comparison import __main__ as program
from comparison.bars import bars, regret
from comparison.contenders import Contender, Setting, contenders
from comparison.contenders.litert_gpu import LiteRt
from comparison.contenders.ncnn_vulkan import NcnnVulkan
from comparison.contenders.own import Own
from comparison.contenders.pytorch import PyTorch
from comparison.load import Moment, share_of_others
from comparison.networks import (
    ENTRIES,
    Entry,
    Model,
    describe,
    fix_size,
    prepare,
    torch_network,
)
from comparison.report import Machine, Run, as_data, as_page, table
from comparison.results import ContenderResult, Cost, NetworkResult, geometric_mean
from comparison.shares import shares
from comparison.turns import Limits, compare, distance
from comparison_fakes import Fake
from networks.reference import run_onnx
from onnx import TensorProto, helper, numpy_helper, save
from support import gl_context

from shadergen.compiler.doctor import examine, save_profile
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options

SLOW = pytest.mark.slow
QUICK = Limits(frames=3, warm_up=1)
FAULTS = {
    "wrong": r"wrong by \S+ times the bound",
    "missing": "it is not installed",
    "refuses": "no such operator",
    "crashes": "start: ended with 3: out of ideas",
    "tires": "tired",
}
SETTING = Setting(Path("none.json"), "llvmpipe (a test)", 2)


def tiny(folder: Path, height: int | str = 6, width: int | str = 7) -> Path:
    """Write a convolution of 3 to 5 channels, a ReLU and a global pool."""
    rng = np.random.default_rng(0)
    weights = numpy_helper.from_array(rng.normal(size=(5, 3, 3, 3)).astype(np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("GlobalAveragePool", ["b"], ["y"]),
    ]
    shapes = ([1, 3, height, width], [1, 5, 1, 1])
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip("xy", shapes, strict=True)
    )
    opsets = [helper.make_opsetid("", 13)]
    graph = helper.make_graph(nodes, "tiny", [x], [y], [weights])
    save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "tiny.onnx")
    return folder / "tiny.onnx"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = tiny(tmp_path_factory.mktemp("model"))
    x = np.random.default_rng(1).normal(size=(1, 3, 6, 7)).astype(np.float32)
    ((y,),) = run_onnx(path, x)
    return describe("tiny", path, x, y)


def run(
    model: Model, folder: Path, *chosen: Contender, limits: Limits | None = QUICK
) -> NetworkResult:
    return compare("tiny", model, chosen, SETTING, limits, folder, lambda what: None)


@pytest.fixture(scope="module")
def result(model: Model, tmp_path_factory: pytest.TempPathFactory) -> NetworkResult:
    """Return a run of two that are right, among one of each that is not."""
    bad = (Fake(fault, fault) for fault in FAULTS)
    return run(model, tmp_path_factory.mktemp("work"), Fake("auto"), *bad, Fake("ncnn"))


def costs(*milliseconds: float) -> list[Cost]:
    """Return costs whose processor time is twice the wall's."""
    return [Cost(m, 2 * m) for m in milliseconds]


def network(name: str, others: float | None = 0.1, **frames: list[Cost]) -> NetworkResult:
    """Return the result of contenders with these frames; our own are as long when resident."""
    own = ("fragment", "compute", "auto", "tuned")
    found = {
        n: ContenderResult(
            version=f"{n} 1",
            convert=Cost(900.0, 1100.0),
            start=Cost(700.0, 3500.0),
            memory=5_000_000,
            error=0.1,
            passes=4 if n in own else None,
            macs=10**9 if n in own else None,
            frames=f,
            resident=f if n in own else [],
        )
        for n, f in frames.items()
    }
    return NetworkResult(name, (1, 3, 8, 8), True, found, {"Conv": 2, "MaxPool": 1}, others)


def as_run(*networks: NetworkResult) -> Run:
    machine = Machine("a processor", 2, "a system", "a renderer", "OpenGL ES 3.2")
    return Run(machine, QUICK, networks)


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


def test_a_model_of_open_size_is_fixed(tmp_path: Path) -> None:
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
    names = [c.name for c in contenders(software=False, timed=True)]
    assert names == [*own, "tuned", "ncnn", "LiteRT", "PyTorch", "onnxruntime"]


# measuring


@SLOW
def test_every_round_has_a_frame_of_each(result: NetworkResult) -> None:
    for name, resident in (("auto", 3), ("ncnn", 0)):
        found = result.contenders[name]
        assert (found.problem, found.version) == ("", "fake 1 on llvmpipe (a test)")
        assert (found.passes, found.macs) == (3, 1000)
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
    if sum(p["kernel"] == "winograd" for p in passes) != 2:
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
    options = Options(device=str(setting.profile), pairs="on")
    build = tmp_path / "build"
    passes = compile_model(path, build, options).files.schedule["passes"]
    if [p["kernel"] for p in passes] != ["convolution pair"]:
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


# what follows


def test_ratios_compare_frames_of_one_round() -> None:
    result = network("n", auto=costs(1, 10, 2), ncnn=costs(4, 50, 6))
    assert result.ratio("ncnn", "auto").median == 4
    assert result.ratio("ncnn", "fragment") is None
    assert geometric_mean([1, 100]) == pytest.approx(10)


def test_the_clock_changes_when_others_are_busy() -> None:
    assert network("n", others=0.1).clock == "wall"
    assert network("n", others=None).clock == "wall"
    busy = network("n", others=0.3, auto=costs(5))
    assert busy.clock == "cpu"
    assert busy.times("auto") == [10]
    assert busy.times("auto", "wall") == [5]


def test_auto_is_held_against_the_better_stage() -> None:
    result = network("n", fragment=costs(2, 2), compute=costs(1, 1), auto=costs(1.5, 1.5))
    assert regret(result) == pytest.approx(1.5)
    assert regret(network("n", auto=costs(1))) is None


def test_bars_are_met_missed_or_not_measured() -> None:
    times = {"fragment": costs(2), "compute": costs(3), "auto": costs(2), "tuned": costs(2)}
    espcn = replace(network("ESPCN", **times, ncnn=costs(24)), shares={"": 0.25, "conv": 0.5})
    resnet = network("ResNet-18", auto=costs(10), compute=costs(8), ncnn=costs(10), others=0.5)
    resnet = replace(resnet, shares={"": 0.2, "conv1": 0.3, "conv2": 0.4})
    found = {bar.asked: (bar.found, bar.met) for bar in bars([espcn, resnet])}
    assert found == {
        "auto, times as fast as ncnn, geometric mean: at least 4": ("3.5", False),
        "auto, times as fast as ncnn, every network: at least 1.2": ("1.0, ResNet-18", False),
        "auto, times as fast as ncnn, ESPCN: at least 10": ("12.0", True),
        "ESPCN, share of the multiply-add ceiling: at least 60%": ("25%", False),
        "ResNet-18, share of each convolution: at least 35%": (
            "1 of 2 below, the least 30%",
            False,
        ),
        "auto over the best forced stage, every network: at most 1.10": ("ResNet-18 1.25", False),
        "tuned over the best forced stage, every network: at most 1.03": (
            "1.00 at most, ESPCN",
            True,
        ),
        "ResNet-18, compiling: under 2 s": ("1.10 s", True),
        "MobileNet v2, compiling: under 2 s": ("not measured", None),
        "ResNet-18, files to first output: under 3 s": ("3.50 s", False),
        "ESPCN, files to first output: under 0.5 s": ("0.70 s", False),
        "ESPCN, GPU passes of compute: at most 3": ("4", False),
        "ESPCN, GPU passes of fragment: at most 4": ("4", True),
        "MobileNet v2, GPU passes of auto: at most 0, one per convolution, pool and dense layer": (
            "not measured",
            None,
        ),
        "ResNet-18, GPU passes of auto: at most 3, one per convolution, pool and dense layer": (
            "4",
            False,
        ),
    }


def test_the_page_shows_ratio_frames_start_and_what_is_missing() -> None:
    quiet = network("quiet", auto=costs(1, 2, 3), ncnn=costs(5, 8, 9))
    busy = network("busy", others=0.45, auto=costs(1), ncnn=costs(3))
    page = as_page(as_run(quiet, busy, NetworkResult("ACNet", (), True, problem="needs a file")))
    assert "- **ncnn**: ncnn 1" in page
    row = "3×8×8 | 2.00 | **4.0 (3.2 to 4.8)** | 4.0 (3.2 to 4.8) | 3 | 10% |"
    assert f"| quiet | {row}" in page
    assert "| busy | 3×8×8 | 2.00 | 3.0 (3.0 to 3.0) | **3.0 (3.0 to 3.0)** | 1 | 45% |" in page
    assert "| quiet | wall | 2.00 (1.20 to 2.80) | 8.00 (5.60 to 8.80) |" in page
    assert "| busy | cpu | 2.00 (2.00 to 2.00) | 6.00 (6.00 to 6.00) |" in page
    assert "| ACNet |  | – | – | – | – | – |" in page
    assert "- ACNet: needs a file" in page


def test_a_table_keeps_its_columns() -> None:
    assert table(("a", "b"), [("x|y", "1")]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |"


def test_the_page_json_and_picture_are_written(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"before\n{program.BEGIN}\nold\n{program.END}\nafter\n", "utf-8")
    result = network("n", auto=costs(1, 2), ncnn=costs(4, 8), fragment=costs(2, 2))
    program.write(as_run(result), document)
    text = document.read_text("utf-8")
    assert text.startswith(f"before\n{program.BEGIN}\n\n![")
    assert text.endswith(f"{program.END}\nafter\n")
    assert "old" not in text
    data = json.loads((tmp_path / "page.json").read_text("utf-8"))
    assert data == json.loads(json.dumps(as_data(as_run(result))))
    (found,) = data["networks"]
    assert found["contenders"]["auto"]["frames"]["cpu"] == {"median": 3.0, "p10": 2.2, "p90": 3.8}
    assert found["times_as_fast_as"]["ncnn"]["wall"]["median"] == 4.0
    picture = ElementTree.parse(tmp_path / "page.svg")
    assert picture.getroot().tag.endswith("svg")


def test_networks_are_chosen_by_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["comparison", "--list", "espcn", "net-18"])
    assert program.main() == 0
    assert capsys.readouterr().out.split("\n")[:-1] == ["ESPCN", "ESPCN, paper size", "ResNet-18"]


@pytest.mark.gl
def test_what_is_measured_before_an_interruption_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(entry: Entry, *others: object) -> NetworkResult:
        if entry.name == "ACNet":
            raise KeyboardInterrupt
        return network(entry.name, auto=costs(1), ncnn=costs(3))

    monkeypatch.setattr(program, "measure", measure)
    monkeypatch.setattr(program, "write", lambda *what: pytest.fail("nothing is to be written"))
    monkeypatch.setattr("sys.argv", ["comparison"])
    assert program.main() == 130
    printed = capsys.readouterr().out
    assert "| ESPCN, paper size | 3×8×8 | 2.00 | **3.0" in printed
    assert "ACNet" not in printed
