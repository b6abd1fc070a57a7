"""Predicates on placed nodes and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.dimensions import is_dynamic, is_one, same_shape, with_hints
from ...ir.expr import variables
from ...ir.graph import Constant
from ...ir.indexing import coordinates
from ...ir.nest import loads_of
from ...ir.nests import nest_of
from ...ir.ops import Concat, Conv, OnlineStatistics, Pointwise, Pool, Reduce, Slice
from ...ir.ops.convolution import is_depthwise
from ...ir.types import LANES, Layout, format_for
from ...records import replace
from ..kernel_ops import IndexMapped, SeparableConv, assemble, parts

if TYPE_CHECKING:
    from ...ir.graph import Graph, Node, Precision, Value
    from ...ir.types import TensorType
    from .target import Target


def is_parameter(value: Value, result: TensorType) -> bool:
    """Whether a value is a constant number, or has one constant for each channel of a map."""
    if not isinstance(value, Constant):
        return False
    if value.type.size == 1:
        return True
    per_channel = value.type.rank >= 3 and value.shape[-3] == value.type.size
    return result.in_planes and per_channel


def is_direct(node: Node) -> bool:
    """Whether a node is a convolution of channel-packed maps with constant weights."""
    p = parts(node)
    if not isinstance(p.kernel, Conv):
        return False
    x, *parameters = p.operands
    constant = all(isinstance(v, Constant) for v in parameters)
    return constant and x.type.in_planes and node.result.type.in_planes


def is_separable(node: Node) -> bool:
    """Whether a node is a fused separable convolution."""
    return isinstance(parts(node).kernel, SeparableConv)


def has_weights(node: Node) -> bool:
    """Whether a node is a direct or a fused separable convolution."""
    return is_direct(node) or is_separable(node)


def joins_planes(node: Node) -> bool:
    """Whether a node joins maps whose planes are planes of the result."""
    if not isinstance(node.op, Concat) or node.op.axis != 1 or not node.result.type.in_planes:
        return False
    return all(v.type.in_planes and v.shape[1] % LANES == 0 for v in node.inputs[:-1])


def cuts_planes(node: Node) -> bool:
    """Whether a node is a slice of consecutive whole planes of a map."""
    op = node.op
    if not isinstance(op, Slice) or not (
        node.result.type.in_planes and node.inputs[0].type.in_planes
    ):
        return False
    x = node.inputs[0].shape
    start, end = op.starts[1], op.starts[1] + op.sizes[1]
    whole = same_shape(op.sizes, (x[0], op.sizes[1], *x[2:]))
    rest_is_whole = whole and set(op.steps) == {1}
    return rest_is_whole and start % LANES == 0 and (end % LANES == 0 or end == x[1])


def before_store(node: Node) -> Node:
    """Return the node without its scatter epilogue: what its invocations compute."""
    p = parts(node)
    if not p.store or node.result.type.layout is None:
        return node
    inner = assemble(replace(p, store=()), node.layers, node.choice)
    bits = max(node.result.type.component_bits, 16)
    placed = inner.result.type.placed(Layout("array", format_for(LANES, bits)))
    return replace(inner, types=(placed,))


def input_planes(shape: tuple[int, ...], groups: int, plane: int) -> range:
    """Return the input planes that an output plane of a convolution reads; weights OIHW."""
    o, per_group = shape[:2]
    out_per_group = o // groups
    last = min((plane + 1) * LANES, o) - 1
    low = plane * LANES // out_per_group * per_group
    high = (last // out_per_group + 1) * per_group - 1
    return range(low // LANES, high // LANES + 1)


def planes_in_a_pass(t: TensorType, target: Target) -> int:
    """Return how many planes one fragment pass writes at most; 1 for row-packed results."""
    most = target.limits.draw_buffers
    return shared_out(t, min(most, target.planes_per_pass or most))


def shared_out(t: TensorType, limit: int) -> int:
    """Return the planes of one pass, if as few passes as possible share them evenly."""
    if not t.in_planes:
        return 1
    passes = -(-t.planes // limit)
    return -(-t.planes // passes)


def tensor_operands(node: Node) -> tuple[Value, ...]:
    """Return the operands that a node's GPU passes read as textures, each once.

    These are the kernel's operands except a convolution's weights, and the operands of formulas
    except parameters (:func:`is_parameter`).
    """
    p = parts(node)
    kernel, formula = p.operands, p.extras
    if isinstance(p.kernel, Pointwise):
        kernel, formula = (), p.operands
    elif has_weights(node):
        kernel = p.operands[:1]
    read = (v for v in formula if not is_parameter(v, node.result.type))
    return tuple(dict.fromkeys((*kernel, *read)))


def computes_in_full(node: Node) -> bool:
    """Whether a node computes in 32 bits even if its tensors are stored in 16 bits.

    Loops do, because sums and extremes lose too much in 16 bits. So do formulas of coordinates,
    and integers, whose products must be exact.
    """
    if {v.type.dtype for v in (node.result, *node.inputs)} != {"float32"}:
        return True
    p = parts(node)
    nest = None if is_direct(node) else nest_of(p.kernel, *(v.type for v in p.operands))
    return nest is not None and (bool(nest.loops) or nest.counts())


def precision(node: Node) -> Precision:
    """Return the precision of a node's shaders: mediump only if all its textures have 16 bits."""
    if node.choice.precision != "mediump" or computes_in_full(node):
        return "highp"
    tensors = (node.result, *tensor_operands(node))
    return "highp" if any(v.type.component_bits == 32 for v in tensors) else "mediump"


def index_values(graph: Graph) -> set[Value]:
    """Return index-determining values: indices of gathers, and all values they are computed from.

    A 16-bit float holds an index of some hundreds to a tenth or worse. The search stops at
    convolutions: their results are as accurate in 16 bits as the rest of a network.
    """
    found: set[Value] = set()
    for node in reversed(graph.nodes):
        p = parts(node)
        if found.intersection(node.results) and not isinstance(p.kernel, Conv):
            found.update(node.inputs)
        nest = None if is_direct(node) else nest_of(p.kernel, *(v.type for v in p.operands))
        if nest is not None:
            found.update(p.operands[k] for k in nest.index_operands())
    return found


def statistics(graph: Graph) -> set[Value]:
    """Return the statistics that layers are normalised by, and values computed from these alone.

    A mean or maximum is subtracted from values of about its own size, which leaves few of the
    digits of a 16-bit float. There are few statistics, so that 32 bits cost almost nothing.
    """
    found: set[Value] = set()
    for node in graph.nodes:
        p = parts(node)
        tensors = [v for v in node.inputs if not isinstance(v, Constant)]
        nest = None if is_direct(node) else nest_of(p.kernel, *(v.type for v in p.operands))
        derived = bool(tensors) and found.issuperset(tensors)
        kernel = p.kernel.kernel if isinstance(p.kernel, IndexMapped) else p.kernel
        if isinstance(kernel, OnlineStatistics) or (derived and nest and not nest.loops):
            found.update(node.results)
    return found


def compared_extremes(graph: Graph) -> dict[Value, set[Value]]:
    """Return maxima and minima whose positions are computed, each with the tensors it is taken of.

    Their positions are found by comparison with the elements. A maximum that is rounded more
    than its elements equals none of them.
    """
    extremes = {n.result: set(n.inputs) for n in graph.nodes if _kind(n) in ("max", "min")}
    found: dict[Value, set[Value]] = {}
    for node in graph.nodes:
        if node.result.type.dtype != "float32":
            for value in extremes.keys() & set(node.inputs):
                found.setdefault(value, set()).update(extremes[value].intersection(node.inputs))
    return found


def _kind(node: Node) -> str:
    """Return what a reduction or pooling computes, or nothing of other nodes."""
    kernel = parts(node).kernel
    kernel = kernel.kernel if isinstance(kernel, IndexMapped) else kernel
    return kernel.kind if isinstance(kernel, (Reduce, Pool)) else ""


def planes_share_a_program(node: Node) -> bool:
    """Whether one program, with the plane as a variable, can compute all planes of a node."""
    apart = reads_groups(node) or (is_direct(node) and node.choice.weights == "constants")
    return not apart and _has_every_plane_at_hand(node)


def groups_share_a_program(node: Node) -> bool:
    """Whether the first input plane can be a variable of draws, too, as the plane is.

    Draws of a grouped convolution, each within a group, then share a program.
    """
    draws = node.choice.stage == "fragment" and node.choice.loops
    return draws and reads_groups(node) and _has_every_plane_at_hand(node)


def reads_groups(node: Node) -> bool:
    """Whether a node is a direct convolution of groups of several channels."""
    p = parts(node)
    if not isinstance(p.kernel, Conv) or not is_direct(node):
        return False
    return p.kernel.groups > 1 and not is_depthwise(p.operands[1].shape, p.kernel.groups)


def _has_every_plane_at_hand(node: Node) -> bool:
    """Whether a program can read any plane of the operands by its number."""
    layouts = [(v.type.layout, v.type.layers) for v in tensor_operands(node)]
    return all(a is not None and (a.kind == "array" or layers == 1) for a, layers in layouts)


def entries_share_a_program(node: Node) -> bool:
    """Whether one program, with the entry as a variable, can compute all batch entries of a map.

    It cannot if entries read different tensors, as after a concatenation along the batch axis.
    """
    t = node.result.type
    if not t.in_planes or is_one(t.shape[0]) or not _has_every_plane_at_hand(node):
        return False
    p = parts(node)
    nest = None if has_weights(node) else nest_of(p.kernel, *(v.type for v in p.operands))
    loads = loads_of(nest.bindings if nest is not None else ())
    several = (load.sources for _, load in loads if len(load.sources) > 1)
    entry = coordinates(t.rank)[0].name
    return not any(entry in variables(e) for sources in several for s in sources for e in s.valid)


def at_default(node: Node) -> Node:
    """Return a node with hints in place of its dynamic dimensions.

    Only for decisions that do not affect results. The operands get types with hints, too; the nodes
    that compute the operands stay unchanged.
    """
    types = [*(v.type for v in node.inputs), *(r.type for r in node.results)]
    if not any(is_dynamic(s) for t in types for s in t.shape):
        return node
    inputs = tuple(replace(v, type=with_hints(v.type)) for v in node.inputs)
    return replace(
        node,
        op=with_hints(node.op),
        inputs=inputs,
        types=tuple(with_hints(r.type) for r in node.results),
    )
