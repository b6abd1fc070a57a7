"""The verifier: what must hold of every graph, checked after each pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from ..errors import ShadergenError
from .graph import Constant, Input, Result, Value, infer
from .ops import OPS
from .types import FORMATS, TensorType, TextureKind

if TYPE_CHECKING:
    from .graph import Graph, Node
    from .ops import Op


@dataclass
class Sound:
    """Graph parts verified before; they are immutable, so a pass costs only its changes.

    Attributes:
        nodes: of the graph that was verified last.
        inferences: operators with the types of their operands and results, which agree.
    """

    nodes: set[Node] = field(default_factory=set)
    inferences: set[tuple[Op, tuple[TensorType, ...], tuple[TensorType, ...]]] = field(
        default_factory=set
    )


def verify(graph: Graph, sound: Sound | None = None) -> None:
    """Check a graph.

    ``sound`` holds the parts verified before; this graph's parts are added.

    Types re-infer to themselves, operands exist, sizes are positive, ports are permutations,
    names of inputs and of outputs are distinct, layouts are legal.

    Raises:
        ShadergenError: SG0105 with the value or node and the broken rule.
    """
    for role, names in (
        ("inputs", [i.name for i in graph.inputs]),
        ("outputs", [o.name for o in graph.outputs]),
    ):
        twice = {n for n, count in Counter(names).items() if count > 1}
        _hold(not twice, f"two {role} are called {', '.join(sorted(twice))}", graph.name)
    _hold(bool(graph.outputs), "the graph has no outputs", graph.name)
    sound = sound or Sound()
    inputs = set(graph.inputs)
    for i in graph.inputs:
        _check_type(i.type, i.name)
        _check_axes(i.port.axes, i.type, i.name)
    for o in graph.outputs:
        _check_axes(o.port.axes, o.value.type, o.name)
        _check_value(o.value, inputs, o.name)
    for node in graph.nodes:
        if node not in sound.nodes:
            _check_node(node, inputs, sound)
    sound.nodes = set(graph.nodes)


def _check_node(node: Node, inputs: set[Input], sound: Sound) -> None:
    _hold(OPS.get(type(node.op).__name__) is type(node.op), "unknown operator", node.name)
    for v in node.inputs:
        _check_value(v, inputs, node.name)
    found = tuple(r.type.placed(None) for r in node.results)
    inference = (node.op, tuple(v.type.placed(None) for v in node.inputs), found)
    if inference not in sound.inferences:
        types = tuple(t.placed(None) for t in infer(node.op, node.inputs, node.name))
        _hold(
            types == found,
            f"the results have types {_list(found)}, type inference gives {_list(types)}",
            node.name,
        )
        sound.inferences.add(inference)
    for r in node.results:
        _check_type(r.type, r.name)


def _list(types: tuple[TensorType, ...]) -> str:
    return ", ".join(map(str, types))


def _check_value(value: Value, inputs: set[Input], user: str) -> None:
    if isinstance(value, Input):
        _hold(value in inputs, f"'{value.name}' is not an input of the graph", user)
    elif isinstance(value, Constant):
        same = value.data.shape == value.shape and value.data.dtype.name == value.type.dtype
        _hold(same, f"constant '{value.name}' is not of its type {value.type}", user)
    else:
        own = isinstance(value, Result) and value.node.results[value.index] is value
        _hold(own, f"'{value.name}' is not among the results of the node that computes it", user)


def _check_type(t: TensorType, name: str) -> None:
    _hold(all(s >= 1 for s in t.shape), f"a tensor of shape {list(t.shape)} is empty", name)
    if t.layout is not None:
        legal = t.layout.kind in get_args(TextureKind) and t.layout.format in FORMATS
        _hold(legal, f"illegal layout {t.layout}", name)


def _check_axes(axes: tuple[int, ...], t: TensorType, name: str) -> None:
    _hold(sorted(axes) == list(range(t.rank)), f"port axes {axes} do not fit {t}", name)


def _hold(condition: bool, what: str, where: str) -> None:
    if not condition:
        raise ShadergenError("SG0105", f"the graph is malformed: {what}", where=where)
