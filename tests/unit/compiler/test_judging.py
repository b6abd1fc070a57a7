"""Errors and their bounds: one number that stands for infinity does not let others be wrong."""

import numpy as np
import pytest

from shadergen.compiler.judging import error_and_bound

LOWEST = -3.4028235e38


@pytest.mark.parametrize(
    ("found", "right"),
    [
        ([1.0, LOWEST], True),
        ([1.00009, LOWEST], True),
        ([1.5, LOWEST], False),
        ([1.0, LOWEST * 0.99995], True),
        ([1.0, LOWEST * 0.999], False),
        ([1.0, -65504.0], False),
        ([1.0, 0.0], False),
        ([1.0, -LOWEST], False),
    ],
)
def test_numbers_that_stand_for_infinity(found, right):
    want = np.array([1.0, LOWEST])
    error, bound = error_and_bound(np.abs(np.array(found) - want), want, 1e-4)
    assert (error.max() <= bound) == right


def test_the_bound_grows_with_the_largest_usual_number():
    want = np.array([50.0, np.inf, np.nan, -2e30])
    _, bound = error_and_bound(np.zeros(4), want, 1e-4)
    assert bound == pytest.approx(5e-3)
    known = np.array([False, True, True, True])
    assert error_and_bound(np.zeros(4), want, 1e-4, known)[1] == 1e-4


def test_infinities_keep_their_errors():
    want = np.array([np.inf, 1.0])
    error, bound = error_and_bound(np.array([np.inf, 0.0]), want, 1e-4)
    assert not error.max() <= bound
