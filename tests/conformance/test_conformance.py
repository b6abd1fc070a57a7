"""A sample of the suite, and the scoreboard's agreement with itself and with what runs."""

from __future__ import annotations

import re

import onnx
import pytest
from onnx.backend.test.loader import load_model_tests
from support.forcing import forced

from shadergen.compiler.compilation import import_model
from shadergen.compiler.frontends.onnx.importing.parameter_inputs import data_inputs
from shadergen.compiler.frontends.onnx.ops.table import DOMAINS
from shadergen.compiler.frontends.request import ValueNeededError
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError

from .scoreboard import DOCUMENT, STATUSES, Scoreboard
from .suite import KINDS, Case, Outcome, Suite
from .workers import run_all

EVERY = 20


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNX_MODELS", str(tmp_path_factory.mktemp("models")))
        return Suite()


@pytest.fixture(scope="module")
def board() -> Scoreboard:
    return Scoreboard.load()


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.third_party
def test_a_sample_of_the_suite_is_right_and_passes_what_passed(
    suite: Suite, board: Scoreboard
) -> None:
    sample = [case for case in suite.cases if case.kind != "light"][::EVERY]
    assert len(sample) > 90
    outcomes = {case: suite.run(case) for case in sample}
    assert not {c.name: o for c, o in outcomes.items() if o.failed}
    known = board.results if board.version == onnx.__version__ else {}
    lost = [c.name for c, o in outcomes.items() if c in known and known[c].ok and not o.ok]
    assert not lost


@pytest.mark.gl
@pytest.mark.third_party
@pytest.mark.parametrize("choice", ["device=webgpu", "stage=compute,device=gles31-min"])
def test_a_forced_device_runs_on_its_own_runtime(suite: Suite, choice: str) -> None:
    pytest.importorskip("wgpu")
    (case,) = (c for c in suite.cases if c.name == "test_softsign")
    with forced(choice):
        assert suite.run(case).status == "pass"


@pytest.mark.slow
@pytest.mark.third_party
@pytest.mark.usefixtures("suite")  # which has the suite's data made
def test_operands_that_handlers_need_at_compile_time_are_marked_as_parameters() -> None:
    needed, unmarked = set(), {}
    for case in load_model_tests(kind="node"):
        graph = case.model.graph
        if len(graph.node) > 1 or graph.node[0].op_type not in DOMAINS[""]:
            continue
        try:
            import_model(case.model, Options(strings=True))
        except ValueNeededError as error:
            needed.add(graph.node[0].op_type)
            if names := data_inputs(graph).intersection(error.inputs):
                unmarked[case.name] = names
        except ShadergenError:
            pass
    assert not unmarked
    assert {"Reshape", "Resize", "Loop", "TopK", "Upsample"} <= needed


@pytest.mark.third_party
def test_the_scoreboard_has_every_case_of_the_suite(suite: Suite, board: Scoreboard) -> None:
    if board.version != onnx.__version__:
        pytest.skip(f"the scoreboard is of onnx {board.version}")
    assert set(board.results) == set(suite.cases)
    assert len(suite.cases) == len({case.name for case in suite.cases})


def test_the_scoreboard_has_nothing_wrong_and_a_reason_for_every_refusal(
    board: Scoreboard,
) -> None:
    assert not {c.name: o for c, o in board.results.items() if o.failed}
    for case, outcome in board.results.items():
        assert outcome.status in STATUSES
        refused = outcome.status == "refused"
        assert bool(outcome.reason) == refused, case
        assert bool(re.fullmatch(r"SG0\d{3}|folded", outcome.code)) == refused, case


def test_the_document_and_the_results_agree(board: Scoreboard) -> None:
    text = DOCUMENT.read_text("utf-8")
    assert text == board.to_markdown(), "run: make conformance"
    counts = {kind: board.count(lambda c, kind=kind: c.kind == kind) for kind in KINDS}
    assert sum(c.total() for c in counts.values()) == len(board.results)
    for kind, count in counts.items():
        assert f"| {kind} | {count.total()} | {count['pass']} |" in text
    assert Scoreboard.load().to_json() == board.to_json()


def test_crashes_and_hangs_cost_no_other_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.workers.LIMIT", 2.0)
    cases = [Case(name, "node") for name in ("good", "crash", "good 2", "hang", "good 3")]
    outcomes = {c.name: o for c, o in run_all(_Faulty(), cases, 2)}  # type: ignore[arg-type]
    assert {name: o.status for name, o in outcomes.items()} == {
        "good": "pass",
        "crash": "broken",
        "good 2": "pass",
        "hang": "broken",
        "good 3": "pass",
    }
    assert "SIGKILL" in outcomes["crash"].reason
    assert "2 seconds" in outcomes["hang"].reason


class _Faulty:
    """A suite some of whose cases take their process with them."""

    def run(self, case: Case) -> Outcome:
        if case.name == "crash":
            import os
            import signal

            os.kill(os.getpid(), signal.SIGKILL)
        if case.name == "hang":
            import time

            time.sleep(60)
        return Outcome("pass")
