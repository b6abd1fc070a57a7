"""``make bench``: what follows from what was measured, and what the tables say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from comparison import __main__ as program
from comparison import runs
from comparison.bars import bars, regret
from comparison.markdown import table
from comparison.networks import (
    Entry,
)
from comparison.report import as_data, as_page
from comparison.results import NetworkResult, geometric_mean
from comparison.runs import Recorded, as_section, mean_of, read_runs, recorded, smallest, with_run
from support.comparison_fakes import as_run, costs, network


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
        "ESPCN, share of the multiply-add ceiling: at least 60%": ("25%", False),
        "ResNet-18, each convolution's share of the multiply-add ceiling: at least 35%": (
            "1 of 2 below, the least 30%",
            False,
        ),
        "auto / best forced, resident frames, every network: at most 1.10": (
            "ResNet-18 1.25",
            False,
        ),
        "tuned / best forced, resident frames, every network: at most 1.03": (
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
    row = "3×8×8 | 2.00 | **4.0 (3.2 to 4.8)** | 4.0 (3.2 to 4.8) | – | 3 | 10% |"
    assert f"| quiet | {row}" in page
    assert "| busy | 3×8×8 | 2.00 | 3.0 (3.0 to 3.0) | **3.0 (3.0 to 3.0)** | – | 1 | 45% |" in page
    assert "| quiet | wall | 2.00 (1.20 to 2.80) | 8.00 (5.60 to 8.80) |" in page
    assert "| busy | cpu | 2.00 (2.00 to 2.00) | 6.00 (6.00 to 6.00) |" in page
    assert "| ACNet |  | – | – | – | – | – | – |" in page
    assert "- ACNet: needs a file" in page


def test_a_table_keeps_its_columns() -> None:
    assert table(("a", "b"), [("x|y", "1")]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |"


PAGE = """before
<!-- measured: runs -->
old
<!-- end of runs -->
between
<!-- measured: benchmarks -->
old
<!-- end of benchmarks -->
after
"""
ONE = Recorded("2026-01-01", "one", "ncnn 1", {"ESPCN": 20.0, "U-Net": 5.0})
TWO = Recorded("2026-01-02", "two", "ncnn 1", {"ESPCN": 10.0, "U-Net": 8.0})


def test_the_page_json_and_picture_are_written(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(PAGE, "utf-8")
    result = network("n", auto=costs(1, 2), ncnn=costs(4, 8), fragment=costs(2, 2))
    program.write(as_run(result), [recorded("2026-01-03", "three", [result])], document)
    text = document.read_text("utf-8")
    assert text.startswith("before\n<!-- measured: runs -->\n\n![")
    assert text.endswith("<!-- end of benchmarks -->\nafter\n")
    assert "old" not in text
    data = json.loads((tmp_path / "page.json").read_text("utf-8"))
    (kept,) = data.pop("runs")
    assert kept["ratios"] == {"n": 4.0}
    assert data == json.loads(json.dumps(as_data(as_run(result))))
    (found,) = data["networks"]
    assert found["contenders"]["auto"]["frames"]["cpu"] == {"median": 3.0, "p10": 2.2, "p90": 3.8}
    assert found["times_as_fast_as"]["ncnn"]["wall"]["median"] == 4.0
    picture = ElementTree.parse(tmp_path / "page.svg")
    assert picture.getroot().tag.endswith("svg")


def test_a_short_run_leaves_the_tables_of_the_last_whole_one(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(PAGE, "utf-8")
    (tmp_path / "page.json").write_text('{"machine": "of the whole run"}', "utf-8")
    program.write(None, [ONE, TWO], document)
    text = document.read_text("utf-8")
    assert text.endswith(PAGE[PAGE.index("between") :])
    assert "| ESPCN | **10.0** | 20.0 | 20.0 | 10.0 |" in text
    data = json.loads((tmp_path / "page.json").read_text("utf-8"))
    assert data["machine"] == "of the whole run"
    assert read_runs(data) == [ONE, TWO]


def test_the_smallest_ratio_of_all_runs_counts() -> None:
    assert smallest([ONE, TWO]) == {"ESPCN": 10.0, "U-Net": 5.0}
    page = as_section([ONE, TWO])
    assert "| geometric mean | **7.1** | – | 10.0 | 8.9 |" in page
    assert "geometric mean: at least 4 | 7.1 | met |" in page
    assert "ESPCN: at least 10 | 10.0 | met |" in page
    assert "1. 2026-01-01, one; ncnn 1\n2. 2026-01-02, two; ncnn 1" in page


def test_superseded_runs_are_shown_and_do_not_count() -> None:
    old = replace(TWO, ratios={"ESPCN": 2.0, "U-Net": 30.0}, superseded="an older cost model")
    assert smallest([old, ONE]) == {"ESPCN": 20.0, "U-Net": 5.0}
    page = as_section([old, ONE])
    assert "| ESPCN | **20.0** | 20.0 | 2.0 | 20.0 |" in page
    assert "1. 2026-01-02, two; ncnn 1; does not count: an older cost model" in page
    assert mean_of([old, ONE]) == pytest.approx(10.0)


def test_a_mean_is_no_larger_for_a_network_that_only_one_run_has() -> None:
    """The mean of the smallest ratios is 10.0 here, and the second run's 5.0."""
    some = [replace(ONE, ratios={"ESPCN": 8.0, "ACNet": 20.0}), replace(TWO, ratios={"ESPCN": 5.0})]
    assert mean_of(some) == pytest.approx(5.0)
    assert "geometric mean: at least 4 | 5.0 | met |" in as_section(some)


def test_runs_of_one_day_and_machine_are_one_with_the_smaller_ratios() -> None:
    again = replace(ONE, ratios={"ESPCN": 25.0, "U-Net": 4.0, "ACNet": 3.0})
    assert with_run([ONE, TWO], again) == [
        TWO,
        replace(ONE, ratios={"ESPCN": 20.0, "U-Net": 4.0, "ACNet": 3.0}),
    ]


def test_a_run_says_whether_the_driver_could_use_avx_512(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it Mesa 22.3 needs four to six times as long for ncnn."""
    monkeypatch.setattr(runs, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.delenv(runs.OVERRIDE, raising=False)
    assert runs.vectors() == ""
    (tmp_path / "cpuinfo").write_text("flags : fma avx2 avx512f\n", "utf-8")
    assert runs.vectors() == "with AVX-512"
    monkeypatch.setenv(runs.OVERRIDE, "avx")
    assert runs.vectors() == "without AVX-512"
    (tmp_path / "cpuinfo").write_text("flags : fma avx2\n", "utf-8")
    monkeypatch.delenv(runs.OVERRIDE)
    assert runs.vectors() == "without AVX-512"


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
