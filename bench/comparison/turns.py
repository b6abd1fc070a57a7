"""One network, all contenders: convert, start, check, and then frames in turns.

A contender whose output is wrong is not timed. Every round runs one frame of each, in an order of
its own, so that other load on the machine meets all of them; ratios compare frames of one round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .contenders import EXACT, Array, Contender, Setting
from .load import Moment, share_of_others
from .networks import Model
from .results import ContenderResult, NetworkResult
from .worker import LIMIT, Failed, Worker


@dataclass(frozen=True)
class Limits:
    """Limits on frames and seconds of a measurement.

    Attributes:
        frames: rounds to measure.
        warm_up: rounds before that.
        seconds: to end after, a third of them for warming up.
        least: rounds to measure however long they take.
        request: seconds for one request to a contender.
    """

    frames: int = 20
    warm_up: int = 10
    seconds: float = 150.0
    least: int = 5
    request: float = LIMIT


def compare(
    name: str,
    model: Model,
    contenders: Sequence[Contender],
    setting: Setting,
    limits: Limits | None,
    folder: Path,
    progress: Callable[[str], None],
) -> NetworkResult:
    """Measure a network.

    Args:
        name: of the network.
        model: its file, input and right output.
        contenders: what runs it.
        setting: what they share.
        limits: of the frames; None for none of them, only conversion and start.
        folder: for what they convert.
        progress: told what is at hand.
    """
    results = {contender.name: ContenderResult() for contender in contenders}
    network = NetworkResult(name, model.x.shape, limits is not None, results, model.operations)
    ready: dict[str, Worker] = {}
    longest = limits.request if limits else LIMIT
    before = Moment.now()
    with ExitStack() as stack:
        for contender in contenders:
            own, result = folder / contender.name, results[contender.name]
            try:
                progress(f"{name}: {contender.name} converts")
                with Worker(contender, model, own, setting, longest) as worker:
                    result.version = worker.ask("version")
                    result.convert, told = worker.ask("convert")
                    result.passes, result.macs = told.get("passes"), told.get("macs")
                    result.options = told.get("options", "")
                progress(f"{name}: {contender.name} starts")
                worker = stack.enter_context(Worker(contender, model, own, setting, longest))
                result.start, result.memory, output = worker.ask("start")
                result.error = distance(output, model.y, contender.tolerance)
                if result.error > 1:
                    raise Failed(f"wrong by {result.error:.3g} times the bound")
            except Failed as error:
                result.problem = str(error)
            if limits is None or result.problem:
                worker.close()
            else:
                ready[contender.name] = worker
        if limits is not None:
            _take_turns(ready, results, limits, lambda what: progress(f"{name}: {what}"))
        after = Moment.now(worker.process for worker in ready.values())
    return replace(network, others=share_of_others(before, after))


def distance(output: Array, right: Array, tolerance: float = EXACT) -> float:
    """Return the largest difference over the bound; infinite where there is no comparing."""
    if output.size != right.size:
        return float("inf")
    difference = np.abs(output.astype(np.float64).reshape(right.shape) - right).max()
    bound = tolerance * max(1.0, float(np.abs(right).max()))
    return float(difference / bound) if np.isfinite(difference) else float("inf")


def _take_turns(
    workers: dict[str, Worker],
    results: dict[str, ContenderResult],
    limits: Limits,
    progress: Callable[[str], None],
) -> None:
    """Run the rounds and add their costs to the results.

    One that fails meanwhile loses its frames and its place among the workers; the others go on.
    """
    rng = np.random.default_rng(0)

    def round_of_all() -> None:
        for name in rng.permutation(sorted(workers)).tolist():
            result = results[name]
            try:
                result.frames.append(workers[name].ask("frame"))
                if (cost := workers[name].ask("resident")) is not None:
                    result.resident.append(cost)
            except Failed as error:
                result.problem = str(error)
                del workers[name]

    began = time.perf_counter()
    for number in range(limits.warm_up):
        progress(f"warms up, {number + 1} of {limits.warm_up}")
        round_of_all()
        if time.perf_counter() - began > limits.seconds / 3:
            break
    for result in results.values():
        result.frames.clear()
        result.resident.clear()
    for number in range(limits.frames):
        progress(f"frame {number + 1} of {limits.frames}")
        round_of_all()
        if number + 1 >= limits.least and time.perf_counter() - began > limits.seconds:
            break
    for name, result in results.items():
        if name not in workers:
            result.frames.clear()
            result.resident.clear()
