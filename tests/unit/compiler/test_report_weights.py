"""The histograms of a report count all numbers of a model's weights."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from support.cli_models import onnx

from shadergen.compiler.compilation import import_model
from shadergen.compiler.options import Options
from shadergen.compiler.report import weights
from shadergen.compiler.report.weights import BINS, histograms

RNG = np.random.default_rng(21)


def convolutions(folder, kernel):
    """Return the graph of two convolutions with one kernel."""
    nodes = (
        helper.make_node("Conv", ["x", "w"], ["c"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["c", "w"], ["y"], name="second", pads=[1, 1, 1, 1]),
    )
    return import_model(onnx(folder, *nodes, w=kernel), Options())


@pytest.mark.parametrize("block", [7, 1 << 20])
def test_numbers_are_counted_in_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(weights, "BLOCK", block)
    kernel = RNG.normal(size=(4, 4, 3, 3)).astype(np.float32)
    (found,) = histograms(convolutions(tmp_path, kernel))
    assert found.layers == ("first", "second")
    assert (found.name, found.shape) == ("w", (4, 4, 3, 3))
    assert (found.low, found.high) == (kernel.min(), kernel.max())
    assert found.mean == pytest.approx(kernel.mean(dtype=float))
    assert found.deviation == pytest.approx(kernel.std(dtype=float))
    limits = (kernel.min(), kernel.max())
    assert found.counts == tuple(np.histogram(kernel.astype(float), BINS, limits)[0])


def test_equal_numbers_are_in_one_bar(tmp_path):
    (found,) = histograms(convolutions(tmp_path, np.full((4, 4, 3, 3), 0.5)))
    assert sorted(found.counts) == [0] * (BINS - 1) + [144]
    assert found.deviation == 0


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_numbers_have_no_histogram(tmp_path, value):
    kernel = np.ones((4, 4, 3, 3))
    kernel[1, 2, 0, 1] = value
    assert histograms(convolutions(tmp_path, kernel)) == ()
