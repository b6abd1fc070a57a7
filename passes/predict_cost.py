"""Predict the time of a node with a choice: what its kernels do, times the target's costs.

    time of a unit = sum(count * price)
    time of a kernel = the slowest unit's + SHOWS * the others' + what starts its passes

Where a pass has fewer invocations than the device runs at once, it takes as long as with these.

Counts (:class:`.placement.kernels.Work`) come from the programs that the kernels are lowered to;
prices are properties of the device (:mod:`.placement.costs`). Predictions order the candidates of
a node. They know nothing of caches, so their sizes are not to be relied on. The arithmetic of index
maps has no price: where loop nests are too close to tell, the fewest GPU passes are best.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShadergenError
from .placement.costs import PRICES, Costs, fair, geometric_mean
from .placement.kinds import is_direct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..ir.graph import Choice, Node
    from .placement.kernels import Kernels, Work

# Predictions are no surer than that for loop nests, nor between a convolution in Winograd's tiles
# and a direct one, which needs a fraction of the memory, where costs do not include memory. Those
# of GPUs do: networks count fewest cycles there if tiles are chosen without doubt.
DOUBT = 1.4
DRAWN_DOUBT = 1.25  # of tiles in draws, which need little memory but start slowly
SPILLED = 4.0  # times as long takes a kernel that spills what it computes with, at least
HOPELESS = 2.0  # times a device's registers: its compiler takes many seconds for such a kernel
CROWDED = 2.0  # times as long takes one with more weights than its device holds as constants
SHOWS = 0.1  # of the time of units beside the slowest, which hides the rest
FREE_TARGETS = 4  # render targets; the tiles that GPUs draw in have room for about as many


class Predictor:
    """Predicts the costs of a placed node's choices.

    Args:
        node: its own choice does not count.
        kernels: what the kernel families offer for the target, which has the costs.
        every: all choices of the node, where they are known.
    """

    def __init__(self, node: Node, kernels: Kernels, every: tuple[Choice, ...] = ()) -> None:
        self._node, self._kernels = node, kernels
        self._every = every
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
        found = self._works.get(choice)
        if found is None:
            found = self._works[choice] = self._kernels.work(self._node, choice)
        return found

    def cost(self, choice: Choice) -> float:
        """Return nanoseconds, infinity where the kernel does not fit the device.

        For many devices it is the worst ratio of what the choice takes on one of them to the best
        choice there, times the geometric mean of these best.
        """
        try:
            times, _ = self._on_devices(choice)
        except ShadergenError:
            return inf
        return fair(times, *self._best) if len(times) > 1 else float(times[0])

    @cached_property
    def _best(self) -> tuple[np.ndarray, float]:
        """The nanoseconds of the best choice on each device, and their geometric mean."""
        times = []
        for choice in self._every or self._kernels.choices(self._node):
            with suppress(ShadergenError):
                times.append(self._on_devices(choice)[0])
        least: np.ndarray = np.min(times, axis=0) if times else np.ones(1)  # none fits
        return least, geometric_mean(least)

    def spills(self, choice: Choice) -> bool:
        """Whether a kernel of the choice spills registers or constants on all of the devices.

        One that is hopeless on a single device counts, too.
        """
        try:
            return self._on_devices(choice)[1]
        except ShadergenError:
            return False

    def _on_devices(self, choice: Choice) -> tuple[np.ndarray, bool]:
        """Return the nanoseconds on each device, and what :meth:`spills` returns."""
        found = self._nanoseconds.get(choice)
        if found is None:
            works = self.work(choice)
            first, *others = map(self._devices.times, works)
            times, spills = first
            for own, also in others:
                times, spills = times + own, spills | also
            worst = bool(spills.all()) or any(map(self._devices.hopeless, works))
            found = self._nanoseconds[choice] = times, worst
        return found

    def bill(self, choice: Choice) -> dict[str, float]:
        """Return how often each of the target's costs is paid, by the name of the cost."""
        bills = [bill(work, self._devices.costs[0]) for work in self.work(choice)]
        return {name: sum(paid[name] for paid in bills) for name in bills[0]}

    def ranked(self, choices: Iterable[Choice]) -> tuple[tuple[float, Choice], ...]:
        """Return choices with their nanoseconds, the best first."""
        costs = [(self.cost(c), c) for c in choices]
        doubtful = 0.0 if self._direct else DOUBT * min(cost for cost, _ in costs)

        def order(pair: tuple[float, Choice]) -> tuple[bool, bool, int, float]:
            cost, choice = pair
            if choice.winograd:
                cost *= self._devices.doubt(choice)
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
        gpu_pass: what a GPU pass takes to start on each; ``code`` likewise.
        registers: of each, infinite without a limit; the other limits likewise.
    """

    costs: tuple[Costs, ...]
    prices: np.ndarray
    starts: list[int]
    gpu_pass: np.ndarray
    code: np.ndarray
    registers: np.ndarray
    literals: np.ndarray
    uniforms: np.ndarray
    taps: np.ndarray
    texture_registers: np.ndarray

    def doubt(self, tiles: Choice) -> float:
        """Return how many times as long Winograd's tiles may take as predicted."""
        if all(any(unit.load for unit in own.units) for own in self.costs):
            return 1.0  # memory has a price
        return DOUBT if tiles.stage == "compute" else DRAWN_DOUBT

    def times(self, work: Work) -> tuple[np.ndarray, np.ndarray]:
        """Return the nanoseconds of a kernel on each device, and whether it spills there."""
        paid = bill(work, self.costs[0])
        units = self.prices @ list(paid.values())[: len(PRICES)]
        slowest, every = (f.reduceat(units, self.starts) for f in (np.maximum, np.add))
        slower = self.spilling(work)
        running = (slowest + SHOWS * (every - slowest)) * slower
        times = running + paid["gpu_pass"] * self.gpu_pass + paid["code"] * self.code
        return times, slower > 1

    def spilling(self, work: Work) -> np.ndarray:
        """Return the factor on each device by which spilling slows a kernel down; 1 is none."""
        spilled = (work.alive > self._registers(work)) | (work.taps > self.taps)
        slower: np.ndarray = 1.0 + (SPILLED - 1.0) * spilled
        held = None
        if work.weights_from == "literal":
            held = work.code > self.literals
        elif work.weights_from == "ubo":
            held = work.distinct / work.passes > self.uniforms
        return slower if held is None else np.maximum(slower, 1.0 + (CROWDED - 1.0) * held)

    def hopeless(self, work: Work) -> bool:
        """Whether a kernel needs so many registers that a device's compiler hardly finishes."""
        return bool((work.alive > HOPELESS * self._registers(work)).any())

    def _registers(self, work: Work) -> np.ndarray:
        return self.texture_registers if work.weights_from == "texel" else self.registers


@cache
def _devices(costs: tuple[Costs, ...]) -> _Devices:
    return _Devices(
        costs,
        np.array([[getattr(unit, name) for name in PRICES] for own in costs for unit in own.units]),
        list(accumulate((len(own.units) for own in costs[:-1]), initial=0)),
        np.array([own.gpu_pass for own in costs]),
        np.array([own.code for own in costs]),
        np.array([own.registers or inf for own in costs]),
        np.array([own.literals or inf for own in costs]),
        np.array([own.uniforms or inf for own in costs]),
        np.array([own.taps or inf for own in costs]),
        np.array([own.texture_registers or own.registers or inf for own in costs]),
    )


def instruction_time(works: Iterable[Work], costs: Costs) -> float:
    """Return nanoseconds of the unit that each kernel's instructions keep busy the longest, summed.

    Memory, starting and compiling do not count; the last of a GPU's units is memory.
    """
    return sum(
        max(
            sum(float(getattr(unit, name)) * paid[name] for name in PRICES)
            for unit in costs.units[:-1]
        )
        for paid in (bill(work, costs) for work in works)
    )


def bill(work: Work, costs: Costs) -> dict[str, float]:
    """Return how often each cost of a device is paid, by its name."""
    compute = work.stage == "compute"
    texel = "compute_texel" if compute else "texel"
    stored, arithmetic = "_half" * work.halves, "_half" * work.mediump
    paid = dict.fromkeys(PRICES, 0.0)
    paid["invocation" if compute else "fragment"] = work.invocations
    paid[texel] = work.texels
    paid["sample"] = work.samples
    paid["image"] = work.images
    weights = {"texel": texel, "literal": f"literal{arithmetic}"}
    paid[weights.get(work.weights_from, work.weights_from)] += work.weights
    paid["load"] = work.loads
    paid["stream"] = work.distinct
    paid[f"multiply{arithmetic}"] = work.multiplies
    paid["operation"] = work.operations
    if work.code > costs.instruction_cache:
        paid["instruction_miss"] = work.multiplies + work.operations / 2  # fewer instructions
    paid["crowding"] = work.multiplies * max(0, work.accumulators - costs.accumulators)
    paid[("image_store" if compute else "store") + stored] = work.stores
    if not compute and work.targets > FREE_TARGETS:
        paid["mrt_penalty"] = work.stores
    idle = max(1.0, costs.lanes * work.passes / work.invocations)
    started = {"gpu_pass": float(work.passes), "code": work.text * work.programs}
    if idle > 1.0:
        paid = {name: n * idle for name, n in paid.items()}
    return paid | started
