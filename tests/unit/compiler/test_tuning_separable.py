"""Tuning where two convolutions may be one kernel: both ways are measured, and then decided on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import conv, graph_of, image, pointwise

from shadergen.compiler.cli import cli
from shadergen.compiler.options import Options
from shadergen.compiler.tuning import session
from shadergen.compiler.tuning.session import Session, tune_model
from shadergen.compiler.tuning.trials import Settings, Trial
from shadergen.ir.graph import Choice, Graph, Node
from shadergen.passes.placement.kinds import is_separable

pytestmark = pytest.mark.gl
Tune = Callable[..., Session]


def network(width: int = 32) -> Graph:
    rng = np.random.default_rng(0)
    x = image(1, 16, 32, width)
    y = conv(rng, pointwise("tanh(x0)", x, layer="start"), 16, (3, 3), "first", groups=16)
    return graph_of(conv(rng, y, 8, (1, 1), "second"), inputs=(x,))


@pytest.fixture
def tune(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tune:
    """Return what tunes the network, given the nanoseconds of the pair; other nodes take 1 ms."""
    monkeypatch.setattr(session, "import_model", lambda *a: network())

    def run(pair: float, wrong: str = "", seconds: float | None = None, **options: str) -> Session:
        def measured(node: Node, todo: list[Choice], *rest: object) -> list[Trial]:
            time = pair if is_separable(node) else 1e6
            return [Trial(c, time, wrong if is_separable(node) else "") for c in todo]

        monkeypatch.setattr(session, "measure", measured)
        chosen = Options(device="llvmpipe", **options)  # type: ignore[arg-type]
        path = tmp_path / "t.json"
        return tune_model(path, chosen, path, Settings(), seconds, True, lambda *a: None)

    return run


def rows(found: Session) -> list[tuple[bool, int, int, float | None, float | None]]:
    return [
        (is_separable(o.kind.node), o.kind.count, o.count, o.before, o.after)
        for o in sorted(found.outcomes, key=lambda o: not is_separable(o.kind.node))
        if o.kind.node.name != "start"
    ]


def test_one_run_measures_both_ways_and_decides(tune):
    found = tune(3e6)
    assert found.left == 0
    assert len(found.tuning.measured) == 4
    assert rows(found)[1:] == [(False, 0, 1, None, 1e6)] * 2
    assert rows(found)[0] == (True, 1, 0, 3e6, None)
    assert found.gain() == pytest.approx((3 + 1) / (2 + 1))  # with what is before both
    names = {o.kind.name for o in found.outcomes}
    assert names == {"start", "first", "second (Conv)", "second (SeparableConv)"}


@pytest.mark.parametrize(("pair", "shown"), [(3e6, {"1 -> 0", "0 -> 1"}), (1.5e6, set())])
def test_counts_that_tuning_changes_are_printed_before_and_after(
    tune: Tune, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, pair, shown
):
    found = tune(pair)
    model = tmp_path / "model.onnx"
    model.touch()
    monkeypatch.setattr(session, "tune_model", lambda *a: found)
    cli.main(["tune", str(model)], standalone_mode=False)
    said = capsys.readouterr().out
    assert ("nodes (untuned -> tuned)" in said) == bool(shown)
    assert set(re.findall(r"\d -> \d", said)) == shown


def test_a_pair_that_is_faster_stays(tune):
    found = tune(1.5e6)
    assert rows(found) == [(True, 1, 1, 1.5e6, 1.5e6), *[(False, 0, 0, None, None)] * 2]
    assert found.gain() == 1.0


def test_what_was_wrong_does_not_count_as_a_gain(tune):
    found = tune(1e3, wrong="it differs from the reference")
    assert rows(found) == [(True, 1, 0, None, None), *[(False, 0, 1, None, 1e6)] * 2]
    assert found.gain() == 1.0  # of the node before both alone
    assert {layer for layer, _, _ in found.wrong} == {"second (SeparableConv)"}


@pytest.mark.parametrize(("fuse_separable", "kinds"), [("on", 2), ("off", 3)])
def test_what_is_asked_for_is_measured_alone(tune, fuse_separable, kinds):
    assert len(tune(1e6, fuse_separable=fuse_separable).tuning.measured) == kinds


def test_what_has_one_candidate_is_measured_too(tune, monkeypatch):
    """Else a pair of it could not be decided on. A result one pixel wide has no blocks."""
    monkeypatch.setattr(session, "import_model", lambda *a: network(width=3))
    found = tune(3e6, weights="ubo", stage="compute")
    sizes = [len(o.measured) for o in found.outcomes if o.kind.node.name != "start"]
    assert sorted(sizes) == [1, 1, 2]  # the second alone has two planes to share out
    assert rows(found)[0][:3] == (True, 1, 0)
