"""Estimate the errors that 16 bits cause in a network's outputs; keep layers in 32 bits if needed.

The network runs in numpy on a few inputs: in 32 bits, and with the chosen precisions. The second
run rounds to the nearest 16-bit float where the shaders round
(:class:`.placement.calibration.Halves`). The error of an output is the largest difference between
both runs, divided by max(1, largest output), as in ``verify``.

If an error exceeds :data:`BOUND`, some layers go back to 32 bits:

1. The 16-bit layers are split into at most :data:`RUNS` runs of consecutive layers. The error of
   each run is measured alone, on small images if the network accepts them.
2. The runs are ordered by error squared divided by savings (:func:`_gain`).
3. As many of the first runs as possible stay in 16 bits. The sum of their squared errors limits
   their number, as if errors were independent. Bisection then finds the largest number of runs
   whose error, measured together, does not exceed the bound.

Large networks (:data:`WHOLE`) run on small images in all steps.

The result is an estimate, not a proof. Errors are larger on GPUs that do not round to nearest, and
may be larger for other inputs; three quarters of the tolerance are left for both.
"""

from __future__ import annotations

import math
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError
from ..ir.dimensions import hint
from ..ir.graph import Result
from ..ir.reference import Machine, as_logical, evaluate_graph
from ..records import dataclass, replace
from .assign_layouts import assign_layouts
from .at_size import at_size
from .placement.calibration import Halves, central_slices
from .placement.costs import gain_from_half
from .placement.kinds import is_direct
from .placement.summation import nearest, sum_terms
from .placement.target import TOLERANCES
from .rule import Context

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ..ir.graph import Choice, Graph, Node, Value

    Place = tuple[int, int]  # the index of a node, and of one of its results
    Arrays = Mapping[str, NDArray[Any]]

BOUND = TOLERANCES["auto"] / 4  # other inputs and GPUs gave up to 3 times the estimate
SIDE = 64  # the largest side of small images, in pixels: networks halve images up to five times
WHOLE = 10**9  # the largest effort of a network that runs at its own size, in multiply-adds
NUMBER = 32  # multiply-adds that take as long as rounding, keeping and comparing one element
RUNS = 16  # the most runs of layers to measure alone
TRIALS = 4  # the most calibration samples to use
STEP = "estimate error"  # in --explain; tells the network from a layer of the same name


@dataclass(frozen=True)
class Prediction:
    """The errors that 16 bits cause, relative to max(1, largest magnitude).

    Attributes:
        wide: the nodes to keep in 32 bits, each with the output error that arises if only the
            node's run of layers has 16 bits.
        growth: the error of each 16-bit node's result, errors of its operands included.
        error: the largest error of the outputs; infinite if the network cannot run on trial inputs.
    """

    wide: Mapping[Node, float]
    growth: Mapping[Node, float]
    error: float


def predict_error(graph: Graph, context: Context, choices: Mapping[Node, Choice]) -> Prediction:
    """Choose the nodes that keep 32 bits, so that the outputs stay within the bound.

    Args:
        graph: before placement, after fusion: each node becomes one kernel.
        context: provides the inputs: its calibration samples, otherwise its ``trials``.
        choices: the choices of all nodes; nodes whose values fit 16 bits are mediump.
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
        # The errors of the judge are this many times those of the guide.
        larger = larger if math.isfinite(larger) else 1.0
        found = [measure(guide, run)[0] * larger for run in runs]
        alone = {k: e for run, e in zip(runs, found, strict=True) for k in run}
        gains = [sum(_gain(nodes[k], context) for k in run) for run in runs]
        order = sorted(range(len(runs)), key=lambda r: found[r] ** 2 / gains[r])
        total = np.cumsum([found[r] ** 2 for r in order])  # variances of independent errors add up
        few, many = 0, int((total <= BOUND**2).sum()) + 1
        half, error, growth = [], 0.0, {}
        middle = many - 1
        while few < middle < many:  # bisection: the most runs within the bound
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
    """Return the savings of 16 bits: bytes; on GPUs with fast 16 bits, multiply-adds too."""
    stored = float(saved_bytes(node)) or 1.0
    faster = gain_from_half(context.target.costs) and is_direct(node)
    return stored * (1 + sum_terms(node)) if faster else stored


def _choosing(graph: Graph, choices: Mapping[int, Choice]) -> Graph:
    """Return the graph with the given choice for each node, by index."""
    numbers = {node: k for k, node in enumerate(graph.nodes)}
    return graph.rewrite(lambda now, was: replace(now, choice=choices[numbers[was]]))


def _effort(graph: Graph) -> int:
    """Return the time to run a graph in numpy, in multiply-adds.

    An element of a result counts as :data:`NUMBER` multiply-adds. All results are kept in memory.
    """
    return sum(
        math.prod(map(hint, r.shape)) * (NUMBER + (sum_terms(n) if is_direct(n) else 0))
        for n in graph.nodes
        for r in n.results
    )


def _trials(graph: Graph, context: Context, side: int | None) -> _Trials | None:
    """Return the trials of a graph at a size, or None if the graph cannot run at this size."""
    try:
        sized = at_size(graph, side)
        return _Trials(sized, _inputs(graph, sized, context))
    except (ShadergenError, IndexError, ValueError):
        return None  # an operator needs another size, or an index is out of range


def _inputs(graph: Graph, sized: Graph, context: Context) -> list[Arrays]:
    """Return inputs for a resized graph: samples, cropped to their middle, otherwise trials."""
    samples = list(islice(context.samples, TRIALS))
    if not samples and context.trials is not None:
        return [as_logical(sized, arrays) for arrays in context.trials(sized)]
    shapes = {i.name: i.shape for i in sized.inputs}
    return [
        {
            name: array[central_slices(array.shape, shapes[name])]
            for name, array in as_logical(graph, s).items()
        }
        for s in samples
    ]


@dataclass
class _Trials:
    """A graph with inputs, and all its results in 32 bits."""

    graph: Graph
    inputs: list[Arrays]
    exact: list[dict[Place, NDArray[Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self.exact = []
        for arrays in self.inputs:
            keep = _Keep(self.graph)
            with np.errstate(all="ignore"):  # relative_error treats NaN as infinite
                evaluate_graph(self.graph, arrays, np.float32, keep)
            self.exact.append(keep.found)

    def errors(self, placed: Graph) -> tuple[float, dict[int, float]]:
        """Return the largest error of the outputs, and the errors of the nodes with any."""
        judged = _judged(placed)
        growth: dict[int, float] = {}
        error = 0.0
        for arrays, exact in zip(self.inputs, self.exact, strict=True):
            probe = _Probe(placed, exact)
            with np.errstate(all="ignore"):
                evaluate_graph(placed, arrays, np.float32, probe)
            for (node, _), e in probe.errors.items():
                growth[node] = max(e, growth.get(node, 0.0))
            error = max([error, *(probe.errors.get(place, 0.0) for place in judged)])
        return error, growth


def _places(graph: Graph) -> dict[Value, Place]:
    return {r: (k, r.index) for k, node in enumerate(graph.nodes) for r in node.results}


def _judged(graph: Graph) -> set[Place]:
    """Return the float outputs; for integer outputs, the float results they are computed from."""
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
    """Keeps all results."""

    def __init__(self, graph: Graph) -> None:
        self._places = _places(graph)
        self.found: dict[Place, NDArray[Any]] = {}

    def hold(self, value: Value, array: NDArray[Any]) -> NDArray[Any]:
        if value in self._places:
            self.found[self._places[value]] = array
        return array


class _Probe(Halves):
    """Computes as a GPU with 16 bits and compares with the exact results.

    Nodes that no rounding affects are not computed: their exact results are reused.
    """

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
    """Return the largest error divided by max(1, largest magnitude); infinite if it is NaN.

    The result is 0 for empty arrays, and for integers and booleans (see :func:`_judged`).
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
    """Return the decision for the whole network and its estimated error, for ``--explain``."""
    half = sum(n.choice.precision == "mediump" for n in graph.nodes)
    what = f"{half} of {len(graph.nodes)} layers in 16 bits"
    if math.isinf(prediction.error):
        return what, "the network does not run on trial inputs, so its error is not estimated"
    return what, f"estimated error {prediction.error:.2g}, kept below {BOUND:g}"
