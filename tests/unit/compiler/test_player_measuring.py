"""How ``bench`` measures a user shader."""

from __future__ import annotations

import pytest

from shadergen.compiler.player.measuring import FEWEST, _times

COMPILATION = 30.0  # seconds


def frames_of(seconds: float):
    return (COMPILATION + number * seconds for number in range(10_000))


@pytest.mark.parametrize(
    ("frame", "frames", "seconds", "measured"),
    [
        (0.1, 50, 60.0, 50),
        (0.1, 50, 1.05, 11),  # the last one began within the time
        (0.1, 2, 60.0, 2),
        (1.0, 50, 5.0, FEWEST),
    ],
)
def test_the_time_begins_with_the_first_frame(frame, frames, seconds, measured):
    steps: list[str] = []
    first, median, found = _times(frames_of(frame), frames, seconds, steps.append)
    assert (first, median) == (pytest.approx(1e3 * COMPILATION), pytest.approx(1e3 * frame))
    assert found == measured
    assert steps[0] == "compiling"
    assert steps[-1] == f"frame {measured + 1} of {frames + 1}"


def test_a_few_frames_give_no_time():
    assert _times(frames_of(1.0), 50, FEWEST - 1, print)[1:] == (None, FEWEST - 1)
    assert _times(frames_of(1.0), 50, 0.0, print)[1:] == (None, 0)


def test_one_slow_frame_does_not_count():
    arrivals = iter([1.0, 1.1, 1.2, 5.2, 5.3, 5.4])
    assert _times(arrivals, 5, 60.0, print)[1] == pytest.approx(100)
