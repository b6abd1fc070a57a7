"""Predict the time of a node with a choice: what its kernels do, times the target's costs.

    time = max(1, lanes / invocations of a pass) * sum(count * cost) + what does not depend on sizes

Counts (:class:`.placement.kernels.Work`) come from the programs that the kernels are lowered to;
costs are properties of the device (``placement.target.Costs``). Predictions order the candidates of
a node. They know nothing of caches, so their sizes are not to be relied on. The arithmetic of index
maps has no price: where loop nests are too close to tell, the fewest GPU passes are best.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from .placement.kinds import is_direct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..ir.graph import Choice, Node
    from .placement.kernels import Kernels, Work
    from .placement.target import Costs

# Predictions are no surer than that for loop nests, nor between a convolution in Winograd's tiles
# and a direct one, which needs a fraction of the memory.
DOUBT = 1.4
DRAWN_DOUBT = 1.25  # of tiles in draws, which need little memory but start slowly
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

    @cached_property
    def _direct(self) -> bool:
        return is_direct(self._node)

    def work(self, choice: Choice) -> tuple[Work, ...]:
        """Return what the node does, for each node that the choice makes of it."""
        if choice not in self._works:
            self._works[choice] = self._kernels.work(self._node, choice)
        return self._works[choice]

    def cost(self, choice: Choice) -> float:
        """Return nanoseconds, infinity where the kernel does not fit the device."""
        costs = self._kernels.target.costs
        try:
            paid = self.bill(choice)
        except ShadergenError:
            return inf
        return float(sum(getattr(costs, name) * n for name, n in paid.items()))

    def bill(self, choice: Choice) -> dict[str, float]:
        """Return how often each of the target's costs is paid, by the name of the cost."""
        paid: Counter[str] = Counter()
        for work in self.work(choice):
            for name, n in bill(work, self._kernels.target.costs):
                paid[name] += n  # type: ignore[assignment]  # a Counter adds up floats as well
        return dict(paid)

    def ranked(self, choices: Iterable[Choice]) -> tuple[tuple[float, Choice], ...]:
        """Return choices with their nanoseconds, the best first."""
        costs = [(self.cost(c), c) for c in choices]
        doubtful = 0.0 if self._direct else DOUBT * min(cost for cost, _ in costs)

        def order(pair: tuple[float, Choice]) -> tuple[bool, int, float]:
            cost, choice = pair
            if choice.winograd:
                cost *= DOUBT if choice.stage == "compute" else DRAWN_DOUBT
            close = cost <= doubtful < inf
            passes = sum(w.passes for w in self.work(choice)) if close else 0
            return not close, passes, cost

        return tuple(sorted(costs, key=order))


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
    yield texel if work.weights_from == "texel" else work.weights_from, work.weights
    yield "stream", work.distinct
    cached = work.code <= costs.instruction_cache
    arithmetic = work.multiplies + costs.operation * work.operations
    yield "multiply" if cached else "instruction_miss", arithmetic
    yield "spill", work.multiplies * max(0, work.accumulators - costs.accumulators)
    half = "_half" * work.halves
    yield ("image_store" if compute else "store") + half, work.stores
    if not compute and work.targets > FREE_TARGETS:
        yield "mrt_penalty", work.stores
