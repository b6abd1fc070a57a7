"""Networks from the literature at small sizes, on GL, against their own frameworks.

``make networks`` tries all of them, in full size and every form.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from networks.cache import missing
from networks.catalogue import NETWORKS, Case, cases
from networks.images import scenes
from networks.reference import check_not_degenerate, margin
from networks.runner import run_case

from shadergen.compiler.options import Options

TESTS = Path(__file__).parents[1]


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("case", cases(everyday=True), ids=str)
def test_network_on_gl_gives_what_its_framework_gives(case):
    if absent := missing(case):
        pytest.skip(f"needs {absent}")
    # Those from torch with all weights in textures: constants take drivers a few seconds a network
    # to compile, and the large set has them.
    weights = "texture" if case.framework == "torch" else "auto"
    result = run_case(case, Options(weights=weights))
    assert result.ok, result


def test_cases_have_names_of_their_own():
    for everyday in (False, True):
        names = [str(c) for c in cases(everyday)]
        assert len(set(names)) == len(names)


def test_naming_the_networks_imports_no_framework():
    code = "import sys, networks.catalogue, networks.cache; print(*sys.modules)"
    found = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=TESTS)
    assert not {"torch", "keras", "tensorflow", "onnxruntime"} & set(found.split())


def classifier() -> Case:
    network = next(n for n in NETWORKS if n.classifier)
    return Case(network, network.forms[0], network.small)


def test_scenes_differ_in_the_mean_as_photographs_do():
    means = scenes(8, (3, 64, 48), seed=0).mean((2, 3))
    assert (means.std(0) > 0.2).all()


@pytest.mark.parametrize(
    ("outputs", "said"),
    (
        (np.ones((4, 1, 10)), "hardly depends on the image"),
        (np.full((4, 1, 10), np.nan), "not finite"),
        (np.random.default_rng(0).normal(size=(4, 1, 10)) * 1e6, "vast"),
        (np.outer(np.arange(1, 5), np.arange(10)).reshape(4, 1, 10), "rank classes alike"),
    ),
)
def test_networks_whose_outputs_prove_nothing_are_found_out(outputs, said):
    with pytest.raises(AssertionError, match=said):
        check_not_degenerate(classifier(), [outputs])


def test_margin_is_the_closest_race_among_the_first_six():
    assert margin(np.array([0.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.45])) == pytest.approx(0.1)
    assert margin(np.array([0.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.249])) == pytest.approx(0.5)


def test_a_saturated_softmax_has_no_margin():
    assert margin(np.array([1, 1e-9, 1e-12, 1e-15, 1e-18, 1e-21, 1e-24])) == 0
