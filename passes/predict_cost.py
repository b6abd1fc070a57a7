"""Predict what a node takes with a choice, from counts and the target's costs for each.

    time = max(1, lanes / invocations of a pass) * sum(count * cost) + what does not depend on sizes

Counts (:class:`Work`) follow from the node and the choice alone; what each costs is a property of
the device (``placement.target.Costs``). A prediction serves to order the candidates of a node. It
knows nothing of caches, so its sizes are not to be relied on. The arithmetic of index maps has no
price: where that leaves two candidates of a loop nest too close to tell, the fewest GPU passes are
best.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from ..ir.expr import walk
from ..ir.graph import Result
from ..ir.nest import loads_of
from ..ir.nests import nest_of
from ..ir.ops import Conv, Pointwise
from ..ir.ops.convolution import is_depthwise
from ..ir.types import LANES
from .candidates import weight_floats
from .expand_winograd import steps
from .kernel_ops import WinogradPatches, WinogradResult, WinogradTiles, halves, parts
from .placement.kinds import (
    at_default,
    before_store,
    is_direct,
    is_separable,
    tensor_operands,
    unrolls_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..ir.graph import Choice, Node
    from ..ir.ops import Op
    from ..ir.types import TensorType
    from .placement.target import Target

# Predictions are no surer than that for loop nests, nor between a convolution in Winograd's tiles
# and a direct one, which needs a fraction of the memory.
DOUBT = 1.4
# Of vectors in the transform of one line of a patch.
ADDITIONS = {
    (WinogradPatches, 2): 4,
    (WinogradPatches, 4): 13,
    (WinogradResult, 2): 4,
    (WinogradResult, 4): 10,
}
FREE_TARGETS = 4  # render targets; the tiles that GPUs draw in have room for about as many


@dataclass(frozen=True)
class Work:
    """How often a node does each thing, in all its GPU passes; vectors are of four numbers.

    Attributes:
        passes: draws or dispatches.
        invocations: of shaders.
        loads: vectors read from tensors.
        weights: vectors of weights read.
        distinct: how many of them there are.
        multiplies: multiply-adds of vectors, and parts of formulas.
        stores: vectors written.
        accumulators: vectors that an invocation keeps at once.
        programs: of different text.
        code: multiply-adds of vectors in the text of a program.
    """

    passes: int
    invocations: int
    loads: int
    weights: int
    distinct: int
    multiplies: int
    stores: int
    accumulators: int
    programs: int
    code: int


def _work_of_nest(kernel: Op, types: tuple[TensorType, ...]) -> tuple[int, int]:
    """Return loads and steps of loops for an element, 0 without a nest; nodes that agree share it.

    The types are at the sizes that the build has by default.
    """
    nest = nest_of(kernel, *types)
    if nest is None:
        return 0, 0
    once = sum(1 for _ in loads_of(nest.once))
    each_step = sum(1 for _ in loads_of(nest.each_step))
    return once + each_step * nest.steps, nest.steps if nest.loops else 0


class Predictor:
    """Predicts the costs of a placed node's choices; what they have in common is counted once."""

    def __init__(self, node: Node, target: Target) -> None:
        node = at_default(node)
        self._stores = node.result.type.texels
        node = before_store(node)
        self._node, self._target = node, target
        p, t = parts(node), node.result.type
        self._kernel = p.kernel
        formula = p.kernel.expr if isinstance(p.kernel, Pointwise) else p.epilogue
        own = () if isinstance(p.kernel, Pointwise) else p.operands
        read = tensor_operands(node)
        self._places = t.texels // t.planes
        self._extra_loads = sum(v not in own for v in read) * t.texels
        self._formula = t.texels * (sum(1 for _ in walk(formula)) if formula is not None else 0)
        self._reads_own = any(isinstance(v, Result) for v in read)
        self._halves = (
            tuple(Predictor(n, target) for n in halves(node)) if is_separable(node) else ()
        )
        self._direct = is_direct(node)
        self._plane_floats = weight_floats(node, 1) if self._direct else 0
        self._steps_of: dict[int, tuple[Predictor, dict[str, float]]] = {}
        self._loads, self._steps = 0, 0
        if not self._direct:
            types = tuple(v.type.without_slot() for v in p.operands)
            self._loads, self._steps = _work_of_nest(p.kernel, types)

    def cost(self, choice: Choice) -> float:
        """Return nanoseconds."""
        costs = self._target.costs
        return float(sum(getattr(costs, name) * n for name, n in self.bill(choice).items()))

    def ranked(self, choices: Iterable[Choice]) -> tuple[tuple[float, Choice], ...]:
        """Return choices with their nanoseconds, the best first."""
        costs = [(self.cost(c), c) for c in choices]
        doubtful = 0.0 if self._direct else DOUBT * min(cost for cost, _ in costs)

        def order(pair: tuple[float, Choice]) -> tuple[bool, int, float]:
            cost, choice = pair
            if choice.winograd and choice.stage == "compute":
                cost *= DOUBT
            return cost > doubtful, self.work(choice).passes if cost <= doubtful else 0, cost

        return tuple(sorted(costs, key=order))

    def bill(self, choice: Choice) -> dict[str, float]:
        """Return how often each of the target's costs is paid, by the name of the cost."""
        if choice.winograd:
            return self._bill_in_tiles(choice)
        work, costs = self.work(choice), self._target.costs
        idle = max(1.0, costs.lanes * work.passes / work.invocations)
        paid: Counter[str] = Counter()
        for name, n in self._paid_by_size(work, choice):
            paid[name] += n
        bill = {name: n * idle for name, n in paid.items()}
        return bill | {"gpu_pass": work.passes, "code": work.code * work.programs}

    def _bill_in_tiles(self, choice: Choice) -> dict[str, float]:
        """Return what the steps of a convolution in tiles are billed, added up."""
        tile = choice.winograd
        if choice.stage == "fragment":
            found = steps(self._node, choice, self._target)
            assert found is not None
            return _sum(*(Predictor(n, self._target).bill(n.choice) for n in found))
        if tile not in self._steps_of:
            found = steps(self._node, choice, self._target)
            assert found is not None
            patches, products, result = (Predictor(n, self._target) for n in found)
            transforms = _sum(patches.bill(found[0].choice), result.bill(found[2].choice))
            self._steps_of[tile] = products, transforms
        products, transforms = self._steps_of[tile]
        return _sum(products.bill(replace(choice, winograd=0)), transforms)

    def _paid_by_size(self, work: Work, choice: Choice) -> Iterator[tuple[str, int]]:
        """Yield the name of each cost that grows with sizes, and how often it is paid."""
        compute, image = choice.stage == "compute", self._target.has_images
        yield "invocation" if compute else "fragment", work.invocations
        texel = "compute_texel" if compute else "texel"
        sampled = "sample" if not compute and self._target.samples else texel
        yield "image" if image and self._reads_own else sampled, work.loads
        block = choice.weights if choice.weights in ("ubo", "ssbo") else None
        yield block or ("image" if image else texel), work.weights
        yield "stream", work.distinct
        costs = self._target.costs
        yield (
            "multiply" if work.code <= costs.instruction_cache else "instruction_miss",
            work.multiplies,
        )
        yield "spill", work.multiplies * max(0, work.accumulators - costs.accumulators)
        layout = self._node.result.type.layout
        assert layout is not None
        half = "" if layout.format.endswith("32f") else "_half"
        yield ("image_store" if compute else "store") + half, work.stores
        targets = work.stores // work.invocations
        if not compute and targets > FREE_TARGETS:
            yield "mrt_penalty", work.stores

    def work(self, choice: Choice) -> Work:
        """Return how often each thing is done."""
        if isinstance(self._kernel, WinogradTiles):
            return self._tiles(self._kernel, choice)
        if self._direct:
            return self._convolution(choice)
        if self._halves:
            return self._pair(choice)
        if isinstance(self._kernel, (WinogradPatches, WinogradResult)):
            return self._transform(self._kernel, choice)
        t = self._node.result.type
        planes = choice.planes or 1
        groups = -(-t.planes // planes) if t.in_planes else 1
        passes = groups * t.shape[0] if t.in_planes else t.layers
        return Work(
            passes=t.shape[0] if choice.stage == "compute" else passes,
            invocations=self._places * groups if t.in_planes else t.texels,
            loads=self._loads * t.texels + self._extra_loads,
            weights=0,
            distinct=0,
            multiplies=self._steps * t.texels + self._formula,
            stores=t.texels,
            accumulators=planes,
            programs=1,
            code=0,
        )

    def _pair(self, choice: Choice) -> Work:
        """Count what both convolutions of a pair do, but for what is between: it is never read."""
        one, two = self._halves
        first = one.work(replace(choice, planes=1))
        second = two.work(choice)
        return Work(
            passes=second.passes,
            invocations=second.invocations,
            loads=first.loads + two._extra_loads,
            weights=first.weights + second.weights,
            distinct=first.distinct + second.distinct,
            multiplies=first.multiplies + second.multiplies,
            stores=second.stores,
            accumulators=first.accumulators + second.accumulators,
            programs=1,
            code=first.code + second.code,
        )

    def _transform(self, op: WinogradPatches | WinogradResult, choice: Choice) -> Work:
        """Count what a transform of tiles does: each invocation meets every line of a patch."""
        t = self._node.result.type
        columns, rows = choice.block
        n, _, height, width = t.shape
        invocations = n * t.planes * -(-width // columns) * -(-height // rows)
        line = ADDITIONS[type(op), op.tile] + columns * rows
        return Work(
            passes=n,
            invocations=invocations,
            loads=invocations * op.patch**2 + self._extra_loads,
            weights=0,
            distinct=0,
            multiplies=invocations * op.patch * line + self._formula,
            stores=t.texels,
            accumulators=columns * rows,
            programs=1,
            code=line,
        )

    def _tiles(self, op: WinogradTiles, choice: Choice) -> Work:
        """Count what a convolution in tiles does in a draw: an invocation is a tile."""
        t = self._node.result.type
        m, k = op.tile, op.patch
        n, _, height, width = t.shape
        planes, inputs = choice.planes or 1, parts(self._node).operands[0].type.planes
        groups = -(-t.planes // m**2 // planes)
        invocations = n * groups * height * width
        transform = 2 * k * ADDITIONS[WinogradPatches, m]
        result = (m + k) * ADDITIONS[WinogradResult, m]
        steps = self._plane_floats * planes // LANES + inputs * transform + planes * result
        return Work(
            passes=n * groups,
            invocations=invocations,
            loads=invocations * inputs * k**2 + self._extra_loads,
            weights=0,
            distinct=0,
            multiplies=invocations * steps,
            stores=t.texels,
            accumulators=planes * m**2,
            programs=groups,
            code=steps,
        )

    def _convolution(self, choice: Choice) -> Work:
        """Count what a convolution does: in compute, blocks of pixels share weights and inputs."""
        t = self._node.result.type
        n, _, height, width = t.shape
        p = parts(self._node)
        assert isinstance(p.kernel, Conv)
        conv, shape = p.kernel, p.kernel.packed_shape(p.operands[1].shape)
        _, per_group, kh, kw = shape
        planes, (columns, rows) = choice.planes or 1, choice.block
        groups = -(-t.planes // planes)
        invocations = n * groups * -(-width // columns) * -(-height // rows)
        if conv.positions > 1:  # a pixel meets the weights of its own row alone
            kh, kw = 1, 1
        tiles = self._plane_floats * planes // LANES // conv.positions  # vectors for a pixel
        lanes = 1 if is_depthwise(shape, conv.groups) else min(LANES, per_group * conv.groups)
        inputs = tiles // (kh * kw * planes * lanes)  # input planes that an output plane reads
        taps = kw * columns
        unrolled = unrolls_rows(conv, kw, columns)
        if unrolled:  # neighbours share the taps of a row
            step, stride = conv.dilations[1], conv.strides[1]
            taps = len({i * stride + k * step for i in range(columns) for k in range(kw)})
        loads = kh * taps * rows * inputs * (1 if conv.groups == 1 else planes)
        constants = choice.weights == "constants"
        passes = n if choice.stage == "compute" else n * groups
        body = tiles if constants else planes * lanes * (kw if unrolled else 1)
        return Work(
            passes=passes,
            invocations=invocations,
            loads=invocations * loads + self._extra_loads,
            weights=0 if constants else invocations * tiles,
            distinct=0 if constants else n * groups * tiles * conv.positions,
            multiplies=invocations * tiles * prod(choice.block) + self._formula,
            stores=self._stores,
            accumulators=planes * prod(choice.block),
            programs=groups if constants else 1,
            code=body * prod(choice.block),
        )


def _sum(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in one | other}
