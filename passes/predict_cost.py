"""Predict the time of a node with a choice: what its kernels do, times the target's costs.

    time = max(1, lanes / invocations of a pass) * sum(count * cost) + what does not depend on sizes

A GPU's units, of arithmetic, textures, memory, work side by side: the slowest takes the time.

Counts (:class:`.placement.kernels.Work`) come from the programs that the kernels are lowered to;
costs are properties of the device (``placement.target.Costs``). Predictions order the candidates of
a node. They know nothing of caches, so their sizes are not to be relied on. The arithmetic of index
maps has no price: where loop nests are too close to tell, the fewest GPU passes are best.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShadergenError
from .placement.kinds import is_direct
from .placement.target import Costs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..ir.graph import Choice, Node
    from .placement.kernels import Kernels, Work

# Predictions are no surer than that for loop nests, nor between a convolution in Winograd's tiles
# and a direct one, which needs a fraction of the memory.
DOUBT = 1.4
DRAWN_DOUBT = 1.25  # of tiles in draws, which need little memory but start slowly
SPILLED = 4.0  # times as long takes a kernel that spills what it computes with, at least
LITERALS_SPILLED = 2.0  # times as long takes one that spills constants of its text
PRICES = tuple(f.name for f in fields(Costs) if f.type == "float")
FREE_TARGETS = 4  # render targets; the tiles that GPUs draw in have room for about as many


class Predictor:
    """Predicts the costs of a placed node's choices.

    Args:
        node: its own choice does not count.
        kernels: what the kernel families offer for the target, which has the costs.
    """

    def __init__(self, node: Node, kernels: Kernels) -> None:
        self._node, self._kernels = node, kernels
        self._works: dict[Choice, tuple[Work, ...]] = {}
        self._nanoseconds: dict[Choice, tuple[np.ndarray, bool]] = {}

    @cached_property
    def _devices(self) -> _Devices:
        return _devices(self._kernels.target.costs)

    @cached_property
    def _direct(self) -> bool:
        return is_direct(self._node)

    def work(self, choice: Choice) -> tuple[Work, ...]:
        """Return what the node does, for each node that the choice makes of it."""
        if choice not in self._works:
            self._works[choice] = self._kernels.work(self._node, choice)
        return self._works[choice]

    def cost(self, choice: Choice) -> float:
        """Return nanoseconds, infinity where the kernel does not fit the device.

        For many devices it is the worst ratio of what the choice takes on one of them to the best
        choice there, times the geometric mean of these best.
        """
        try:
            times, _ = self._on_devices(choice)
        except ShadergenError:
            return inf
        if len(times) == 1:
            return float(times[0])
        return float((times / self._best).max() * np.exp(np.log(self._best).mean()))

    @cached_property
    def _best(self) -> np.ndarray:
        """The nanoseconds of the best choice on each device."""
        every = self._kernels.choices(self._node)
        found = [c for c in every if not c.winograd] or every  # generic profiles take no tiles
        times = []
        for choice in found:
            with suppress(ShadergenError):
                times.append(self._on_devices(choice)[0])
        least: np.ndarray = np.min(times, axis=0) if times else np.ones(1)  # none fits
        return least

    def spills(self, choice: Choice) -> bool:
        """Whether a kernel of the choice spills registers or constants on all of the devices."""
        try:
            return self._on_devices(choice)[1]
        except ShadergenError:
            return False

    def _on_devices(self, choice: Choice) -> tuple[np.ndarray, bool]:
        """Return the nanoseconds on each device, and whether a kernel spills on all of them."""
        if choice not in self._nanoseconds:
            devices, paid = self._devices, self.bill(choice)
            units = devices.prices @ [paid.get(name, 0.0) for name in PRICES]
            slowest = np.maximum.reduceat(units, devices.starts)
            slower = np.max([devices.spilling(work) for work in self.work(choice)], axis=0)
            self._nanoseconds[choice] = slowest * slower, bool(slower.min() > 1)
        return self._nanoseconds[choice]

    def bill(self, choice: Choice) -> dict[str, float]:
        """Return how often each of the target's costs is paid, by the name of the cost."""
        paid: Counter[str] = Counter()
        for work in self.work(choice):
            for name, n in bill(work, self._devices.costs[0]):
                paid[name] += n  # type: ignore[assignment]  # a Counter adds up floats as well
        return dict(paid)

    def ranked(self, choices: Iterable[Choice]) -> tuple[tuple[float, Choice], ...]:
        """Return choices with their nanoseconds, the best first."""
        costs = [(self.cost(c), c) for c in choices]
        doubtful = 0.0 if self._direct else DOUBT * min(cost for cost, _ in costs)

        def order(pair: tuple[float, Choice]) -> tuple[bool, bool, int, float]:
            cost, choice = pair
            if choice.winograd:
                cost *= DOUBT if choice.stage == "compute" else DRAWN_DOUBT
            close = cost <= doubtful < inf
            passes = sum(w.passes for w in self.work(choice)) if close else 0
            return self.spills(choice), not close, passes, cost

        return tuple(sorted(costs, key=order))


@dataclass(frozen=True)
class _Devices:
    """The costs of one device or of many, as arrays.

    Attributes:
        costs: of each. What is counted depends on the first's.
        prices: a row for each unit of each, in the order of ``PRICES``.
        starts: the first row of each.
        registers: of each, infinite without a limit; ``literals`` likewise.
    """

    costs: tuple[Costs, ...]
    prices: np.ndarray
    starts: list[int]
    registers: np.ndarray
    literals: np.ndarray

    def spilling(self, work: Work) -> np.ndarray:
        """Return the factor on each device by which spilling slows a kernel down; 1 is none."""
        slower: np.ndarray = 1.0 + (SPILLED - 1.0) * (work.alive > self.registers)
        if work.weights_from == "literal":
            literal = 1.0 + (LITERALS_SPILLED - 1.0) * (work.code > self.literals)
            slower = np.maximum(slower, literal)
        return slower


@cache
def _devices(costs: Costs) -> _Devices:
    every = costs.devices or (costs,)
    units = [(device, *device.beside) for device in every]
    return _Devices(
        every,
        np.array([[getattr(unit, name) for name in PRICES] for own in units for unit in own]),
        list(accumulate((len(own) for own in units[:-1]), initial=0)),
        np.array([device.registers or inf for device in every]),
        np.array([device.literals or inf for device in every]),
    )


def bill(work: Work, costs: Costs) -> Iterator[tuple[str, float]]:
    """Yield the name of each cost, and how often it is paid."""
    idle = max(1.0, costs.lanes * work.passes / work.invocations)
    for name, n in _by_size(work, costs):
        yield name, n * idle
    yield "gpu_pass", work.passes
    yield "code", work.text * work.programs


def _by_size(work: Work, costs: Costs) -> Iterator[tuple[str, float]]:
    """Yield the name of each cost that grows with sizes, and how often it is paid."""
    compute = work.stage == "compute"
    yield "invocation" if compute else "fragment", work.invocations
    texel = "compute_texel" if compute else "texel"
    yield texel, work.texels
    yield "sample", work.samples
    yield "image", work.images
    weights = texel if work.weights_from == "texel" else work.weights_from
    in_half = "_half" * work.mediump
    yield weights + (in_half if weights == "literal" else ""), work.weights
    yield "load", work.loads
    yield "stream", work.distinct
    other = costs.operation * work.operations
    yield "multiply" + in_half, work.multiplies
    yield "multiply", other
    if work.code > costs.instruction_cache:
        yield "instruction_miss", work.multiplies + other
        yield "multiply", -work.multiplies - other
    yield "spill", work.multiplies * max(0, work.accumulators - costs.accumulators)
    half = "_half" * work.halves
    yield ("image_store" if compute else "store") + half, work.stores
    if not compute and work.targets > FREE_TARGETS:
        yield "mrt_penalty", work.stores
