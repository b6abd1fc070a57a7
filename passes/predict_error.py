"""Predict what 16 bits cost a network's outputs, and choose the layers that pay too much for them.

The network is carried out with numpy on a few inputs, in 32 bits and as chosen: all is rounded to
the nearest 16-bit float that the shaders round (:class:`.placement.calibration.Halves`). An output
errs by its largest difference, over its largest number or 1, as ``verify`` measures it. If an
output errs by more than :data:`BOUND`, runs of layers are measured alone, with small images if the
network takes them. Those that gain the most for their error keep 16 bits, as many as together stay
within the bound; all others compute and store in 32. What is large (:data:`WHOLE`) is measured with
small images throughout.

This is an estimate, not a proof: other inputs may err by more, for which half of the tolerance is
left, and GPUs that do not round to nearest do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError
from ..ir.dimensions import hint, same_shape, with_hints
from ..ir.graph import Graph, Node, Result
from ..ir.reference import Machine, as_logical, evaluate
from ..ir.types import MAP_RANK
from .assign_layouts import assign_layouts
from .placement.calibration import Halves
from .placement.costs import gain_from_half
from .placement.kinds import is_direct
from .placement.summation import nearest, sum_terms
from .placement.target import TOLERANCES
from .rule import Context

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ..ir.graph import Choice, Input, Value

    Place = tuple[int, int]  # the number of a node, and of its result
    Arrays = Mapping[str, NDArray[Any]]

BOUND = TOLERANCES["auto"] / 2  # other inputs may err by twice as much
SIDE = 64  # of images, in pixels: networks halve them up to five times
WHOLE = 10**9  # multiply-adds, or as long, of a network that is measured at its own size
NUMBER = 32  # multiply-adds take numpy as long as to round, keep and compare a number
RUNS = 16  # of layers that are measured alone
TRIALS = 4  # inputs at most
STEP = "estimate error"  # what it says of a network, which may be named as one of its layers


@dataclass(frozen=True)
class Prediction:
    """The errors of 16 bits, of 1 where outputs are as large or smaller.

    Attributes:
        wide: nodes that keep 32 bits, with what 16 would add to the outputs' error.
        growth: the error of each node's result, as chosen, and its operands' errors in it.
        error: of the outputs, as chosen; infinite if the network could not be carried out.
    """

    wide: Mapping[Node, float]
    growth: Mapping[Node, float]
    error: float


def predict_error(graph: Graph, context: Context, choices: Mapping[Node, Choice]) -> Prediction:
    """Choose the nodes that keep 32 bits, so that the outputs stay within the bound.

    Args:
        graph: not placed yet, its nodes as they will be kernels.
        context: its ``trials`` make the inputs, unless there are samples to calibrate with.
        choices: of all nodes; mediump are those whose numbers 16 bits can hold.
    """
    nodes = graph.nodes
    half = [k for k, n in enumerate(nodes) if choices[n].precision == "mediump"]
    guide = _trials(graph, context, SIDE)
    whole = guide is None or _effort(graph) <= WHOLE
    judge = (_trials(graph, context, None) if whole else None) or guide
    if judge is None:
        return Prediction(dict.fromkeys((nodes[k] for k in half), math.inf), {}, math.inf)
    guide = guide or judge
    scratch = Context(context.kernels)

    def measure(trials: _Trials, some: Iterable[int]) -> tuple[float, dict[int, float]]:
        kept = set(some)
        wide = {k: replace(choices[n], precision="highp", partial_terms=0) for k, n in at.items()}
        plan = {k: choices[at[k]] if k in kept else wide[k] for k in at}
        placed = assign_layouts(_choosing(trials.graph, plan), scratch)
        return trials.errors(placed)

    at = dict(enumerate(nodes))
    error, growth = measure(judge, half)
    alone: dict[int, float] = {}
    if not error <= BOUND:
        runs = [list(map(int, run)) for run in np.array_split(half, min(RUNS, len(half)))]
        larger = error / (measure(guide, half)[0] or math.inf)
        larger = larger if math.isfinite(larger) else 1.0  # than the guide's errors
        found = [measure(guide, run)[0] * larger for run in runs]
        alone = {k: e for run, e in zip(runs, found, strict=True) for k in run}
        gains = [sum(_gain(nodes[k], context) for k in run) for run in runs]
        order = sorted(range(len(runs)), key=lambda r: found[r] ** 2 / gains[r])
        total = np.cumsum([found[r] ** 2 for r in order])  # as if errors were independent
        few, many = 0, int((total <= BOUND**2).sum()) + 1
        half, error, growth = [], 0.0, {}
        middle = many - 1
        while few < middle < many:  # the most of them that do stay within the bound
            some = [k for r in order[:middle] for k in runs[r]]
            together, grown = measure(judge, some)
            if together <= BOUND:
                few, half, error, growth = middle, some, together, grown
            else:
                many = middle
            middle = (few + many) // 2
    return Prediction(
        {nodes[k]: e for k, e in alone.items() if k not in half},
        {nodes[k]: growth[k] for k in half if k in growth},
        error,
    )


def _gain(node: Node, context: Context) -> float:
    """Return how much 16 bits gain: multiply-adds where those are faster, else bytes."""
    stored = float(saved_bytes(node)) or 1.0
    faster = gain_from_half(context.target.costs) and is_direct(node)
    return stored * (1 + sum_terms(node)) if faster else stored


def _choosing(graph: Graph, choices: Mapping[int, Choice]) -> Graph:
    """Return a graph with a choice for each node, by its number."""
    numbers = {node: k for k, node in enumerate(graph.nodes)}
    return graph.rewrite(lambda now, was: replace(now, choice=choices[numbers[was]]))


def _effort(graph: Graph) -> int:
    """Return how long it takes to carry a graph out, in multiply-adds of its convolutions.

    Each number of a result takes as long as :data:`NUMBER`; so many are kept in memory at once.
    """
    return sum(
        math.prod(map(hint, r.shape)) * (NUMBER + (sum_terms(n) if is_direct(n) else 0))
        for n in graph.nodes
        for r in n.results
    )


def _trials(graph: Graph, context: Context, side: int | None) -> _Trials | None:
    """Return what to measure with, or None where a graph cannot be carried out at that size."""
    try:
        sized = at_size(graph, side)
        return _Trials(sized, _inputs(graph, sized, context))
    except (ShadergenError, IndexError, ValueError):
        return None  # a size is part of what it computes; an index points beyond a table


def at_size(graph: Graph, side: int | None) -> Graph:
    """Return a graph without dynamic dimensions, its images no larger than a side.

    Nodes are not rewritten one part at a time: operands of a known size that meet an operator of an
    open one would decide that size for the whole compilation.

    Raises:
        ShadergenError: when its operators do not fit such images.
    """

    def sized(i: Input) -> Input:
        shape = with_hints(i.shape)
        if side is not None and len(shape) == MAP_RANK:
            shape = (*shape[:2], *(min(size, side) for size in shape[2:]))
        return i if same_shape(shape, i.shape) else replace(i, type=i.type.of(shape))

    inputs = tuple(map(sized, graph.inputs))
    new: dict[Value, Value] = dict(zip(graph.inputs, inputs, strict=True))
    new |= {c: c for c in graph.constants}
    for node in graph.nodes:
        operands = tuple(new[v] for v in node.inputs)
        now = Node(with_hints(node.op), operands, node.layers, node.choice, like=node)
        new |= zip(node.results, now.results, strict=True)
    return Graph(graph.name, inputs, tuple(replace(o, value=new[o.value]) for o in graph.outputs))


def _inputs(graph: Graph, sized: Graph, context: Context) -> list[Arrays]:
    """Return inputs of a graph at its size: the middle of samples, else what trials make."""
    samples = list(islice(context.samples, TRIALS))
    if not samples and context.trials is not None:
        return [as_logical(sized, arrays) for arrays in context.trials(sized)]
    shapes = {i.name: i.shape for i in sized.inputs}
    return [
        {name: _middle(array, shapes[name]) for name, array in as_logical(graph, s).items()}
        for s in samples
    ]


def _middle(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    starts = [(have - want) // 2 for have, want in zip(array.shape, shape, strict=True)]
    return array[tuple(slice(a, a + n) for a, n in zip(starts, shape, strict=True))]


@dataclass
class _Trials:
    """A graph with inputs, and what it computes of them in 32 bits."""

    graph: Graph
    inputs: list[Arrays]
    exact: list[dict[Place, NDArray[Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self.exact = []
        for arrays in self.inputs:
            keep = _Keep(self.graph)
            with np.errstate(all="ignore"):  # what is not finite errs without bound
                evaluate(self.graph, arrays, np.float32, keep)
            self.exact.append(keep.found)

    def errors(self, placed: Graph) -> tuple[float, dict[int, float]]:
        """Return the outputs' error, and each changed node's, of the graph with its choices."""
        judged = _judged(placed)
        growth: dict[int, float] = {}
        error = 0.0
        for arrays, exact in zip(self.inputs, self.exact, strict=True):
            probe = _Probe(placed, exact)
            with np.errstate(all="ignore"):
                evaluate(placed, arrays, np.float32, probe)
            for (node, _), e in probe.errors.items():
                growth[node] = max(e, growth.get(node, 0.0))
            error = max([error, *(probe.errors.get(place, 0.0) for place in judged)])
        return error, growth


def _places(graph: Graph) -> dict[Value, Place]:
    return {r: (k, r.index) for k, node in enumerate(graph.nodes) for r in node.results}


def _judged(graph: Graph) -> set[Place]:
    """Return the outputs, and what those of integers were picked by."""
    places = _places(graph)
    stack: list[Value] = [o.value for o in graph.outputs]
    found: set[Place] = set()
    seen: set[Value] = set()
    while stack:
        value = stack.pop()
        if isinstance(value, Result) and value not in seen:
            seen.add(value)
            if value.type.dtype == "float32":
                found.add(places[value])
            else:
                stack.extend(value.node.inputs)
    return found


class _Keep(Machine):
    """Remembers all results."""

    def __init__(self, graph: Graph) -> None:
        self._places = _places(graph)
        self.found: dict[Place, NDArray[Any]] = {}

    def hold(self, value: Value, array: NDArray[Any]) -> NDArray[Any]:
        if value in self._places:
            self.found[self._places[value]] = array
        return array


class _Probe(Halves):
    """Rounds to 16 bits, compares with what is exact, and computes only what differs from it."""

    def __init__(self, graph: Graph, exact: Mapping[Place, NDArray[Any]]) -> None:
        super().__init__(nearest)
        self._places, self._exact = _places(graph), exact
        self._changed: set[Value] = set()
        self.errors: dict[Place, float] = {}

    def hold(self, value: Value, array: NDArray[Any]) -> NDArray[Any]:
        held = super().hold(value, array)
        exact = self._exact[self._places[value]] if value in self._places else array
        if held is not exact:
            self._changed.add(value)
            if value in self._places:
                self.errors[self._places[value]] = relative_error(held, exact)
        return held

    def run(self, node: Node, operands: list[Any]) -> Any:
        rounds = node.choice.precision == "mediump"
        if rounds or self._changed.intersection(node.inputs):
            return super().run(node, operands)
        results = tuple(self._exact[self._places[r]] for r in node.results)
        return results if len(results) > 1 else results[0]


def relative_error(found: NDArray[Any], exact: NDArray[Any]) -> float:
    """Return the largest error over the largest number, or over 1; infinite if that is no number.

    Of nothing it is 0, and of integers and truth values it is not told: others judge those.
    """
    if not exact.size or exact.dtype.kind != "f":
        return 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        error = float(np.abs(found - exact).max()) / max(1.0, float(np.abs(exact).max()))
    return math.inf if math.isnan(error) else error


def saved_bytes(node: Node) -> int:
    """Return the bytes that 16-bit results save, at the default sizes."""
    return sum(2 * math.prod(map(hint, r.type.shape)) for r in node.results)


def summary(prediction: Prediction, graph: Graph) -> tuple[str, str]:
    """Return what was chosen for a network as a whole, and what it costs."""
    half = sum(n.choice.precision == "mediump" for n in graph.nodes)
    what = f"{half} of {len(graph.nodes)} layers in 16 bits"
    if math.isinf(prediction.error):
        return what, "the network does not run on trial inputs, so its error is not estimated"
    return what, f"estimated error {prediction.error:.2g}, kept below {BOUND:g}"
