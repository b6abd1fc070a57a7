"""Predict the time of each candidate of a node: counted operations times the target's costs.

    time of a unit = sum(count * cost)
    time of a kernel = slowest unit + EXPOSED * sum of the other units + start of its GPU passes

Units work in parallel: most of the other units' time is hidden behind the slowest unit.

A pass with fewer invocations than the device runs at once takes as long as a full one.

The counts (:class:`.placement.kernels.Work`) come from the lowered programs, the costs from the
device (:mod:`.placement.costs`). Predictions rank the candidates of a node; as absolute times they
are inexact, because they do not model caches. The arithmetic of index maps has no cost: if the
predicted times of loop nests are close, the candidate with the fewest GPU passes is chosen.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache, cached_property
from itertools import accumulate, compress
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShadergenError
from ..records import dataclass
from .placement.costs import PRICES, Costs, count_memory, geometric_mean, minimax_cost
from .placement.kinds import is_direct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..ir.graph import Choice, Node
    from .placement.kernels import Kernels, Work

DOUBT = 1.4  # predicted times within this ratio count as equal for loop nests
# Winograd's tiles must be faster than a direct convolution by this ratio if costs do not include
# memory, because tiles need more of it. The costs of GPUs include memory; with these, the predicted
# time of tiles is taken as it is.
TILED_DOUBT = 1.2
DRAWN_DOUBT = 1.25  # the same for tiles in draws, which need little memory but start slowly
SPILLED = 4.0  # factor on the time of a kernel that spills registers
HOPELESS = 2.0  # times a device's registers: the compiler takes many seconds for such a kernel
CROWDED = 2.0  # factor on the time of a kernel with more weights than the device's constants hold
EXPOSED = 0.1  # share of the other units' time that is not hidden behind the slowest unit
FREE_TARGETS = 4  # render targets; the tiles that GPUs draw in have room for about as many


class Predictor:
    """Predicts the costs of a node's candidates.

    Args:
        node: a node with layouts; its own choice is ignored.
        kernels: the kernel families for the target, which has the costs.
        every: all candidates of the node, if the caller has them.
    """

    def __init__(self, node: Node, kernels: Kernels, every: tuple[Choice, ...] = ()) -> None:
        self._node, self._kernels = node, kernels
        self._every = every
        self._works: dict[Choice, tuple[Work, ...]] = {}
        self._nanoseconds: dict[Choice, np.ndarray] = {}  # without those that do not fit
        self._spilling: set[Choice] = set()
        self._spilling_somewhere: set[Choice] = set()

    @cached_property
    def _devices(self) -> _Devices:
        return _devices(self._kernels.target.costs)

    @cached_property
    def _direct(self) -> bool:
        return is_direct(self._node)

    def work(self, choice: Choice) -> tuple[Work, ...]:
        """Return the work of the node with a choice, for each node that the choice expands to."""
        found = self._works.get(choice)
        if found is None:
            found = self._works[choice] = self._kernels.work(self._node, choice)
        return found

    def cost(self, choice: Choice) -> float:
        """Return predicted nanoseconds, or infinity if the kernel does not fit the device.

        For several devices, it is one relative cost (:func:`.placement.costs.minimax_cost`).
        """
        self._predict((choice,))
        if choice not in self._nanoseconds:
            return inf
        times = self._nanoseconds[choice]
        return minimax_cost(times, *self._best) if len(times) > 1 else float(times[0])

    def times(self, choice: Choice) -> np.ndarray | None:
        """Return predicted nanoseconds on each device; None if the choice does not fit them."""
        self._predict((choice,))
        return self._nanoseconds.get(choice)

    def restarts(self, choice: Choice) -> np.ndarray:
        """Return nanoseconds on each device to start all GPU passes of a choice but the first."""
        passes = sum(work.passes for work in self.work(choice))
        found: np.ndarray = (passes - 1) * self._devices.gpu_pass
        return found

    @cached_property
    def _best(self) -> tuple[np.ndarray, float]:
        """The nanoseconds of the best choice on each device, and their geometric mean."""
        every = self._every or self._kernels.choices(self._node)
        self._predict(every)
        times = [self._nanoseconds[c] for c in every if c in self._nanoseconds]
        least: np.ndarray = np.min(times, axis=0) if times else np.ones(1)  # none fits
        return least, geometric_mean(least)

    def spills(self, choice: Choice) -> bool:
        """Whether a kernel of the choice is predicted to spill on all devices.

        A kernel with more than ``HOPELESS`` times the registers of any device counts as well.
        """
        self._predict((choice,))
        return choice in self._spilling

    def spills_somewhere(self, choice: Choice) -> bool:
        """Whether a dispatch of the choice, with weights, is predicted to spill on any device.

        Predictions of draws are too rough for this: many that count as spilling do not.
        """
        self._predict((choice,))
        return choice in self._spilling_somewhere

    def _predict(self, choices: Iterable[Choice]) -> None:
        """Cache the nanoseconds of choices on each device, and whether they spill.

        All choices in one call: numpy takes as long for one as for many.
        """
        works: list[Work] = []
        firsts: dict[Choice, int] = {}  # index of each choice's first work
        for choice in choices:
            if choice not in self._nanoseconds:
                with suppress(ShadergenError):  # it does not fit the device
                    own = self.work(choice)
                    firsts[choice] = len(works)
                    works += own
        if not works:
            return
        rows = list(firsts.values())
        times, slow, spills, hopeless = self._devices.predict(works)
        self._nanoseconds |= zip(firsts, np.add.reduceat(times, rows), strict=True)
        everywhere = np.logical_and.reduce(np.logical_or.reduceat(slow, rows), axis=1)
        far_too_many = np.logical_or.reduceat(hopeless.any(axis=1), rows)
        self._spilling.update(compress(firsts, everywhere | far_too_many))
        somewhere = np.logical_or.reduceat(spills.any(axis=1), rows)
        self._spilling_somewhere.update(compress(firsts, somewhere))

    def cost_counts(self, choice: Choice) -> dict[str, float]:
        """Return how often each of the target's costs is paid, by the name of the cost."""
        bills = [cost_counts(work, self._devices.costs[0]) for work in self.work(choice)]
        return {name: sum(paid[name] for paid in bills) for name in bills[0]}

    def ranked(self, choices: Iterable[Choice]) -> tuple[tuple[float, Choice], ...]:
        """Return choices with their nanoseconds, the best first."""
        choices = tuple(choices)
        self._predict(choices)
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
    """The costs of one or several devices, as arrays.

    Attributes:
        costs: the devices' costs. Operations are counted with the limits of the first.
        prices: a row for each unit of each device, columns in the order of ``PRICES``.
        starts: the index of each device's first row.
        gpu_pass: ``Costs.gpu_pass`` of each device; ``code`` likewise.
        registers: ``Costs.registers`` of each device, infinite if unlimited; the other limits
            likewise.
    """

    costs: tuple[Costs, ...]
    prices: np.ndarray
    starts: list[int]
    gpu_pass: np.ndarray
    code: np.ndarray
    registers: np.ndarray
    literals: np.ndarray
    dispatch_literals: np.ndarray
    uniforms: np.ndarray
    taps: np.ndarray
    depthwise_taps: np.ndarray
    texture_registers: np.ndarray
    compute_registers: np.ndarray
    literal_registers: np.ndarray
    dispatch_registers: np.ndarray

    def doubt(self, tiles: Choice) -> float:
        """Return the factor by which Winograd tiles must be predicted faster than other choices."""
        if count_memory(self.costs):
            return 1.0
        return TILED_DOUBT if tiles.stage == "compute" else DRAWN_DOUBT

    def predict(self, works: Sequence[Work]) -> tuple[np.ndarray, ...]:
        """Return four arrays with a row for each kernel and a column for each device.

        The arrays hold nanoseconds, whether the kernel exceeds a limit of the device, whether it is
        a dispatch with weights that spills registers, and whether it needs more than ``HOPELESS``
        times the device's registers.
        """
        bills = [cost_counts(work, self.costs[0]) for work in works]
        paid = np.array([[own[name] for name in (*PRICES, "gpu_pass", "code")] for own in bills])
        # Not by BLAS, in which kernels that do the same may differ in the last bit.
        units = np.einsum("wp,up->wu", paid[:, : len(PRICES)], self.prices)
        slowest, every = (f.reduceat(units, self.starts, axis=1) for f in (np.maximum, np.add))
        alive = np.array([[work.alive] for work in works])
        registers = np.array([self._registers(work) for work in works])
        taps = np.array([[work.taps] for work in works])
        depthwise = np.array([[_taps_multiplied_once(work)] for work in works])
        spills = (alive > registers) | (taps > self.taps) | (depthwise > self.depthwise_taps)
        crowded = np.array([self._exceeds_constants(work) for work in works])
        slower = np.where(spills, SPILLED, np.where(crowded, CROWDED, 1.0))
        running = (slowest + EXPOSED * (every - slowest)) * slower
        times = running + paid[:, -2:-1] * self.gpu_pass + paid[:, -1:] * self.code
        dispatched = np.array([[work.stage == "compute" and work.weights > 0] for work in works])
        return times, slower > 1, spills & dispatched, alive > HOPELESS * registers

    def _exceeds_constants(self, work: Work) -> np.ndarray:
        """Return whether each device holds fewer weights as constants than a kernel has."""
        exceeds: np.ndarray = np.zeros(len(self.costs), bool)
        if work.weights_from == "literal":
            exceeds = work.code > (self.dispatch_literals if work.dispatched else self.literals)
        elif work.weights_from == "ubo":
            exceeds = work.distinct / work.passes > self.uniforms
        return exceeds

    def _registers(self, work: Work) -> np.ndarray:
        if work.weights_from == "literal":
            return self.dispatch_registers if work.dispatched else self.literal_registers
        in_texture = work.weights_from == "texel"
        if in_texture and work.multiplies and not work.weights:
            return np.full(len(self.costs), inf)  # transforms, whose family chooses blocks that fit
        if work.stage == "compute":
            return self.compute_registers
        return self.texture_registers if in_texture else self.registers


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
        np.array([own.dispatch_literals or own.literals or inf for own in costs]),
        np.array([own.uniforms or inf for own in costs]),
        np.array([own.taps or inf for own in costs]),
        np.array([own.depthwise_taps or inf for own in costs]),
        np.array([own.texture_registers or own.registers or inf for own in costs]),
        np.array([own.compute_registers or own.registers or inf for own in costs]),
        np.array([own.literal_registers or own.registers or inf for own in costs]),
        np.array(
            [
                own.dispatch_registers or own.literal_registers or own.registers or inf
                for own in costs
            ]
        ),
    )


def _taps_multiplied_once(work: Work) -> int:
    """Return the taps of a kernel with constant weights if each is multiplied once: depthwise."""
    return work.taps if work.weights_from == "literal" and work.code <= work.taps else 0


def instruction_time(works: Iterable[Work], costs: Costs) -> float:
    """Return nanoseconds of the unit that each kernel's instructions keep busy the longest, summed.

    Memory, starting and compiling do not count; the last of a GPU's units is memory.
    """
    return sum(
        max(
            sum(float(getattr(unit, name)) * paid[name] for name in PRICES)
            for unit in costs.units[:-1]
        )
        for paid in (cost_counts(work, costs) for work in works)
    )


def cost_counts(work: Work, costs: Costs) -> dict[str, float]:
    """Return how often each cost of a device is paid, by its name."""
    compute = work.stage == "compute"
    texel = "compute_texel" if compute else "texel"
    stored, arithmetic = "_half" * work.halves, "_half" * work.mediump
    paid = dict.fromkeys(PRICES, 0.0)
    dispatched = "unrolled_invocation" if work.weights_from == "literal" else "invocation"
    paid[dispatched if compute else "fragment"] = work.invocations
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
    if not compute and work.invocations <= costs.tile * work.passes:
        idle = max(idle, costs.cores)
    started = {"gpu_pass": float(work.passes), "code": work.text * work.programs}
    if idle > 1.0:
        paid = {name: n * idle for name, n in paid.items()}
    return paid | started
