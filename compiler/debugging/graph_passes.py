"""Which pass of the compiler made a graph wrong: the graph after each pass, interpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.schedule import label
from ...records import dataclass, replace
from ..compilation import compile_graph
from ..judging import judge
from .import_faults import find_wrong_value
from .interpreted import interpreted
from .pixels import difference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ...ir.graph import Graph, Value
    from ..verification import Verification

IMPORT = "import"  # the name under which the imported graph is observed


@dataclass(frozen=True)
class GraphFault:
    """The first step after which the compiler's graph differs from the reference.

    Attributes:
        step: the name of a pass, or "import".
        layer: the first layer whose value the pass changed, or value that is imported wrongly;
            empty if none of a name was.
    """

    step: str
    layer: str


def find_graph_fault(
    verified: Verification, progress: Callable[[str], None] = lambda step: None
) -> GraphFault | None:
    """Return the step that made the graph of a build wrong; None if the graph is right.

    The passes are searched by halves, so that few graphs are interpreted.

    Args:
        verified: the verification of one build.
        progress: called with the name of each step.
    """
    ((variant, compiled),) = verified.builds.items()
    if _is_right(verified, compiled.graph):
        return None
    seen: list[tuple[str, Graph]] = []

    def observe(step: str, graph: Graph) -> None:
        if not seen or seen[-1][1] is not graph:
            seen.append((step, graph))

    progress("compiling step by step")
    options = replace(verified.options_of(variant), validate=False)
    compile_graph(compiled.model, options, observe=observe)
    if not _is_right(verified, seen[0][1]):
        return GraphFault(IMPORT, find_wrong_value(verified, progress))
    right, wrong = 0, len(seen) - 1
    while wrong - right > 1:
        middle = (right + wrong) // 2
        progress(f"interpreting the graph after {seen[middle][0]}")
        if _is_right(verified, seen[middle][1]):
            right = middle
        else:
            wrong = middle
    return GraphFault(seen[wrong][0], _changed_layer(verified, seen[right][1], seen[wrong][1]))


def outputs_of(verified: Verification, graph: Graph) -> dict[str, NDArray[Any]]:
    """Return the outputs of a graph by the interpreter, as the build would give them."""
    found = interpreted(graph, _inputs(verified), {o.value for o in graph.outputs})
    arrays = {}
    for o in graph.outputs:
        array = found[o.value]
        if o.port.encoding == "y2rg" and array.shape[1] == 2:
            array = array[:, :1] + array[:, 1:]
        elif o.port.encoding == "y2rg_half" and array.shape[1] == 2:
            array = array[:, :1] - array[:, 1:]
        elif o.port.encoding == "unorm8":
            array = array.clip(0, 1)
        arrays[label(o.name)] = array.transpose(o.port.axes)
    return arrays


def _inputs(verified: Verification) -> dict[str, NDArray[Any]]:
    (compiled,) = verified.builds.values()
    names = {label(i.name): i.name for i in compiled.graph.inputs}
    return {names[name]: array for name, array in verified.inputs.items()}


def _is_right(verified: Verification, graph: Graph) -> bool:
    outputs = outputs_of(verified, graph)
    errors, _ = judge(graph.outputs, outputs, verified.expected, verified.options)
    return all(e.ok for e in errors)


def _changed_layer(verified: Verification, before: Graph, after: Graph) -> str:
    """Return the first layer whose last value differs between two graphs."""
    inputs = _inputs(verified)
    old = _by_layer(interpreted(before, inputs, {n.results[0] for n in before.nodes}))
    new = _by_layer(interpreted(after, inputs, {n.results[0] for n in after.nodes}))
    for name, array in new.items():
        if name in old and old[name].shape == array.shape:
            bound = 1e-4 * max(1.0, float(np.abs(old[name][np.isfinite(old[name])]).max(initial=0)))
            if difference(array, old[name]).max(initial=0) > bound:
                return name
    return ""


def _by_layer(values: dict[Value, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {label(value.name): np.asarray(array, np.float64) for value, array in values.items()}
