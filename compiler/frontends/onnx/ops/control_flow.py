"""If, Loop and Scan: carried out when compiling, each time as nodes of their own.

How often a loop runs must be known by then, and which branch is taken, unless both have results of
the same shapes: then both are computed. What a loop carries need not be known, and may change its
shape from one iteration to the next.
Source: ONNX If, Loop and Scan, versions 1 to 25.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError, count
from .....ir.formula_parser import parse
from .....ir.ops import Concat, Pointwise, Reshape, Slice
from ..operands import Known, Narrow, TensorList, inputs_behind
from ..read.types import numpy_type, type_name
from .node import DataDependentError
from .parameters import parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .....ir.graph import Value
    from ..importing.scope import Subgraph
    from ..operands import Item, Tensor
    from .elementwise import Handler
    from .node import OnnxNode

BRANCH = "the choice of the branch"
YES_NO = ("[true]", "[false]")


@parameters(0)
def if_(node: OnnxNode) -> list[Item]:
    """If: a constant condition selects a branch; otherwise both run and the result is selected."""
    branches = node.graph("then_branch"), node.graph("else_branch")
    condition = node.item(0)
    if isinstance(condition, Known) or condition.type.dtype != "bool" or condition.type.size != 1:
        return branches[0 if _condition(node, condition, BRANCH) else 1].run([])
    results = [branch.run([], suffix) for branch, suffix in zip(branches, YES_NO, strict=True)]
    pairs = list(zip(*results, strict=False))
    choice = node.apply(Reshape(()), condition)
    return [_chosen(node, choice, *pair) for pair in pairs]


def _chosen(node: OnnxNode, condition: Value, yes: Item, no: Item) -> Item:
    """Return the one or the other; they must be alike."""
    if isinstance(yes, TensorList | Narrow) or isinstance(no, TensorList | Narrow):
        _known(node, condition, BRANCH)
    a, b = node.plain(yes, "a result"), node.plain(no, "a result")
    if a.shape != b.shape or a.type.dtype != b.type.dtype:
        _known(node, condition, BRANCH)
    operands = (x.operand if isinstance(x, Known) else x for x in (a, b))
    return node.apply(Pointwise(parse("where(x0, x1, x2)"), a.type.dtype), condition, *operands)


@parameters(0, 1)
def loop(node: OnnxNode) -> list[Item | None]:
    """Loop: runs its body up to a number of times, while the body's first result is true.

    The body maps (iteration, condition, carried...) to (condition, carried..., collected...).
    """
    body = node.graph("body")
    carried: list[Item] = [node.entry(i) for i in range(2, len(node.inputs))]
    collected: list[list[Tensor]] = [[] for _ in body.body.outputs[1 + len(carried) :]]
    if len(body.body.outputs) < 1 + len(carried):
        raise ShadergenError(
            "SG0105",
            f"the body returns {count(len(body.body.outputs), 'value')}, Loop needs "
            f"{1 + len(carried)} or more",
        )
    limit = None
    if node.given(0):
        array = _known(node, node.item(0), "the number of iterations")
        if array.size != 1:
            raise ShadergenError("SG0105", "the number of iterations of Loop is not one integer")
        limit = int(array.reshape(()))
    going = not node.given(1) or _condition(node, node.item(1), "the number of iterations")
    iteration = 0
    while going and (limit is None or iteration < limit):
        node.budget.step()
        first = Known("iteration", np.array(iteration, np.int64))
        condition: Item = Known("condition", np.array(True))
        returned = body.run([first, condition, *carried], f"[{iteration}]")
        going = _condition(node, returned[0], "the number of iterations")
        carried = returned[1 : 1 + len(carried)]
        for collection, item in zip(collected, returned[1 + len(carried) :], strict=True):
            collection.append(node.plain(item, "a scan output"))
        iteration += 1
    results: list[Item | None] = [*carried]
    for i, items in enumerate(collected, len(carried)):
        used = i < len(node.used) and node.used[i]
        results.append(_stacked(node, items, 0, body, 1 + i) if used else None)
    return results


def scan(node: OnnxNode) -> list[Item]:
    """Scan: runs its body once for each element along an axis of some inputs.

    The body maps (state..., elements...) to (state..., collected...).
    """
    if node.version < 9:
        return _scan_8(node)
    body = node.graph("body")
    scanned = node.integer("num_scan_inputs")
    states = len(node.inputs) - scanned
    if scanned < 1 or states < 0:
        raise _invalid_number(scanned, len(node.inputs))
    collected = len(node.used) - states
    inputs = [node.item(states + i) for i in range(scanned)]
    axes = _per(node, "scan_input_axes", scanned, 0)
    ways = _per(node, "scan_input_directions", scanned, 0)
    output_axes = _per(node, "scan_output_axes", collected, 0)
    output_ways = _per(node, "scan_output_directions", collected, 0)
    axes = tuple(node.axis(a, len(x.shape)) for a, x in zip(axes, inputs, strict=True))
    carried, rows = _scanned(
        node, body, [node.entry(i) for i in range(states)], inputs, axes, ways, ""
    )
    results: list[Item] = [*carried]
    for i, (row, axis, way) in enumerate(zip(rows, output_axes, output_ways, strict=True)):
        items = row[::-1] if way else row
        results.append(_stacked(node, items, axis, body, states + i))
    return results


def _invalid_number(scanned: int, most: int) -> ShadergenError:
    return ShadergenError("SG0105", f"num_scan_inputs={scanned} is invalid: 1 to {most}")


def _scan_8(node: OnnxNode) -> list[Item]:
    """Scan of operator set 8: all inputs have a batch first, then the axis that is scanned."""
    body = node.graph("body")
    scanned = node.integer("num_scan_inputs")
    ways = _per(node, "directions", scanned, 0)
    states = len(node.inputs) - 1 - scanned
    if scanned < 1 or states < 0:
        raise _invalid_number(scanned, len(node.inputs) - 1)
    inputs = [node.item(1 + states + i) for i in range(scanned)]
    initial = [node.item(1 + i) for i in range(states)]
    if any(len(x.shape) < 2 for x in inputs) or not all(x.shape for x in initial):
        raise ShadergenError("SG0105", "an input of Scan has no batch axis")
    batch, length = inputs[0].shape[:2]
    lengths = [length] * batch
    if node.given(0):
        lengths = _known(node, node.item(0), "the lengths").reshape(-1).tolist()
    if {x.shape[0] for x in (*inputs, *initial)} != {batch} or lengths != [length] * batch:
        raise ShadergenError(
            "SG0202",
            f"Scan of sequences of lengths {lengths} is not implemented",
            supported=f"{batch} sequences, each of length {length}",
        )
    results: list[list[Tensor]] = [[] for _ in node.used]
    for b in range(batch):
        carried, rows = _scanned(
            node,
            body,
            [_element(node, x, 0, b) for x in initial],
            [_element(node, x, 0, b) for x in inputs],
            (0,) * scanned,
            ways,
            f"[{b}]",
        )
        stacked = [_stacked(node, row, 0, body, states + i) for i, row in enumerate(rows)]
        last = [node.plain(item, "a state") for item in carried]
        for result, item in zip(results, [*last, *stacked], strict=True):
            result.append(item)
    return [_stacked(node, items, 0, body, i) for i, items in enumerate(results)]


def _scanned(
    node: OnnxNode,
    body: Subgraph,
    carried: Sequence[Item],
    inputs: Sequence[Tensor],
    axes: Sequence[int],
    ways: Sequence[int],
    label: str,
) -> tuple[list[Item], list[list[Tensor]]]:
    """Run a body along some axes; return the last states, and each collected result's elements."""
    states = len(carried)
    lengths = {x.shape[a] for x, a in zip(inputs, axes, strict=True)}
    if len(lengths) != 1:
        raise ShadergenError("SG0205", f"the scanned axes differ in length: {sorted(lengths)}")
    if len(body.body.outputs) != len(node.used):
        raise ShadergenError(
            "SG0105",
            f"the body returns {count(len(body.body.outputs), 'value')}, {node.op} needs "
            f"{len(node.used)}",
        )
    (length,) = lengths
    rows: list[list[Tensor]] = [[] for _ in body.body.outputs[states:]]
    carried = list(carried)
    for t in range(length):
        node.budget.step()
        elements = [
            _element(node, x, axis, length - 1 - t if way else t)
            for x, axis, way in zip(inputs, axes, ways, strict=True)
        ]
        results = body.run([*carried, *elements], f"{label}[{t}]")
        carried = results[:states]
        for row, item in zip(rows, results[states:], strict=True):
            row.append(node.plain(item, "a scan output"))
    return carried, rows


def _per(node: OnnxNode, name: str, count: int, default: int) -> tuple[int, ...]:
    values = node.integers(name, (default,) * count)
    if len(values) != count:
        raise ShadergenError("SG0105", f"attribute {name}={list(values)} needs {count} entries")
    return values


def _known(node: OnnxNode, item: Item, role: str) -> NDArray[Any]:
    if not isinstance(item, Known):
        raise DataDependentError(
            f"{role} of {node.op} depends on data",
            "it is computed from the model's inputs, which are unknown when compiling",
            inputs_behind(item),
        )
    if item.array.dtype.kind not in "biu":
        raise ShadergenError("SG0105", f"{role} of {node.op} is of type {item.array.dtype}")
    return item.array


def _condition(node: OnnxNode, item: Item, role: str) -> bool:
    array = _known(node, item, role)
    if array.size != 1 or array.dtype.kind != "b":
        raise ShadergenError("SG0105", f"the condition of {node.op} must be a single bool")
    return bool(array.reshape(()))


def _element(node: OnnxNode, item: Tensor, axis: int, index: int) -> Tensor:
    """Return one element along an axis, and remove this axis."""
    shape = item.shape
    starts, sizes = [0] * len(shape), list(shape)
    starts[axis], sizes[axis] = index, 1
    one = node.moved(Slice(tuple(starts), (1,) * len(shape), tuple(sizes)), item)
    return node.moved(Reshape(shape[:axis] + shape[axis + 1 :]), one)


def _stacked(
    node: OnnxNode, items: Sequence[Tensor], axis: int, body: Subgraph, output: int
) -> Tensor:
    """Return tensors of one shape along a new axis; of none, an empty one as the body declares."""
    if not items:
        return _empty(node, body, output)
    shape = items[0].shape
    if any(item.shape != shape for item in items):
        shapes = ", ".join(str(list(item.shape)) for item in items[:4])
        raise ShadergenError("SG0205", f"a scan output of {node.op} changes shape: {shapes}")
    axis = node.axis(axis, len(shape) + 1)
    wider = Reshape((*shape[:axis], 1, *shape[axis:]))
    rows = [node.moved(wider, item) for item in items]
    return node.moved(Concat(axis), *rows) if len(rows) > 1 else rows[0]


def _empty(node: OnnxNode, body: Subgraph, output: int) -> Known:
    tensor = body.proto.output[output].type.tensor_type
    dtype = numpy_type(tensor.elem_type)
    if dtype is None or not tensor.HasField("shape"):
        raise ShadergenError(
            "SG0205",
            f"{node.op} runs 0 iterations, and the body declares no type and shape for the scan "
            "output",
            where=f"element type {type_name(tensor.elem_type)}",
        )
    sizes = [d.dim_value for d in tensor.shape.dim]
    return Known(node.layer, np.zeros((0, *sizes), dtype))


CONTROL: dict[str, Handler] = {"If": if_, "Loop": loop, "Scan": scan}
