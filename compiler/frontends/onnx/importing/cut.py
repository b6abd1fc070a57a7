"""Cutting a model: any value can become an input or an output, and the rest is dropped.

What is behind the outputs goes, and what only feeds the inputs. So the part of a detector that
shaders cannot compute is left to the application, and a part of a network can be looked at alone.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from onnx.onnx_ml_pb2 import ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from .....errors import ShadergenError, did_you_mean, nearest
from .....records import dataclass, replace
from ...input_shapes import resolve_shape
from ..read.graph_body import layer_name, needed, read_by, subgraphs
from ..read.pytorch_origin import module_names
from ..read.types import dimensions
from ..shapes.inference import infer_types, tensor_type, types_by_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnx.onnx_ml_pb2 import GraphProto

    from ...request import Request


@dataclass(frozen=True)
class Part:
    """A model after cutting.

    Attributes:
        model: what is left.
        values: the value that each name asked for stands for.
        names: those of nodes by their modules, as in the whole model.
        dropped: the shapes of the whole model's inputs, as far as they are known.
    """

    model: ModelProto
    values: Mapping[str, str]
    names: Mapping[str, str]
    dropped: Mapping[str, tuple[int, ...]]


def cut(proto: ModelProto, request: Request) -> Part:
    """Keep the part of a sound model between the inputs and outputs asked for.

    Both are values, or nodes with one result. The model's own inputs stay where they are still
    needed; without outputs asked for, its own stay as well.

    Raises:
        ShadergenError: SG0301 for a name that is unknown or ambiguous, or an input of no use.
    """
    graph, names = proto.graph, module_names(proto.graph.node)
    starts = {name: _value(graph, name, "inputs", names) for name in request.inputs}
    ends = {name: _value(graph, name, "outputs", names) for name in request.outputs}
    _require_distinct(starts.values(), "inputs")
    _require_distinct(ends.values(), "outputs")
    outputs = [*ends.values()] or [o.name for o in graph.output]
    types = _declared(graph)
    shapes = _input_shapes(graph, request)
    if not all(_complete(types.get(name)) for name in starts.values()):
        types = {**types, **infer_types(proto, shapes)}
    untyped = {name for name in starts.values() if not _element_type(types.get(name))}
    used = types_by_use(proto, types) if untyped else {}
    for name in sorted(untyped - used.keys()):
        request.notes.append(
            f"input '{name}' is read as float32: the model does not state its type; for integers, "
            "declare the type in the model (value_info)"
        )
    part = ModelProto(ir_version=proto.ir_version)
    part.opset_import.extend(proto.opset_import)
    part.functions.extend(proto.functions)
    part.graph.name = graph.name
    nodes = needed(list(_without(graph.node, {*starts.values()})), outputs)
    wanted = {*outputs, *(name for node in nodes for name in read_by(node))}
    for name, value in starts.items():
        if value not in wanted:
            raise ShadergenError(
                "SG0301",
                f"--inputs names '{name}', which no output needs",
                why="only these outputs are computed: "
                + ", ".join(f"'{name}'" for name in outputs),
            )
    wanted.difference_update(starts.values())
    part.graph.node.extend(nodes)
    part.graph.input.extend(_input(name, types, used) for name in starts.values())
    part.graph.input.extend(i for i in graph.input if i.name in wanted)
    part.graph.output.extend(_info(name, types) for name in outputs)
    computed = {name for node in nodes for name in node.output}
    part.graph.value_info.extend(i for i in graph.value_info if i.name in computed)
    part.graph.initializer.extend(t for t in graph.initializer if t.name in wanted)
    part.graph.sparse_initializer.extend(
        t for t in graph.sparse_initializer if t.values.name in wanted
    )
    return Part(part, {**starts, **ends}, names, shapes)


def _value(graph: GraphProto, name: str, option: str, names: Mapping[str, str]) -> str:
    """Return the value that a name stands for: its own, or the one result of a node."""
    values = [i.name for i in graph.input] + [t.name for t in graph.initializer]
    values += [result for node in graph.node for result in node.output if result]
    if name in values:
        return name
    nodes = [node for node in graph.node if node.name]
    named = [n for n in graph.node if name in (n.name, names.get(next(iter(n.output), "")))]
    results = [r for node in named for r in node.output if r]
    if len(results) == 1:
        return str(results[0])
    if results:
        raise ShadergenError(
            "SG0301",
            f"--{option} names '{name}', which has {len(results)} results",
            supported=", ".join(results),
        )
    known = dict.fromkeys([*values, *names.values(), *(node.name for node in nodes)])
    inner = [layer for layer in names.values() if layer.startswith((f"{name}/", f"{name}."))]
    help = did_you_mean(name, known)
    if inner:
        help = f"the last layer of the module '{name}' is '{inner[-1]}'"
    weights = {t.name for t in graph.initializer}
    nested = any(True for node in graph.node for _ in subgraphs(node))
    raise ShadergenError(
        "SG0301",
        f"--{option} names '{name}', which the model does not compute",
        why="it is neither a value nor a node of the model's graph"
        + ("; the bodies of If, Loop and Scan are not part of it" if nested else ""),
        supported=nearest(name, [n for n in known if n not in weights]),
        help=help,
    )


def _require_distinct(values: Iterable[str], option: str) -> None:
    for value, count in Counter(values).items():
        if count > 1:
            raise ShadergenError("SG0301", f"--{option} names '{value}' twice")


def _declared(graph: GraphProto) -> dict[str, TypeProto]:
    """Return the types that the model states."""
    types = {t.name: tensor_type(t) for t in graph.initializer}
    for info in (*graph.value_info, *graph.output, *graph.input):
        if info.HasField("type"):
            types.setdefault(info.name, info.type)
    return types


def _complete(stated: TypeProto | None) -> bool:
    """Whether a type has a shape without dynamic dimensions."""
    return (
        stated is not None
        and stated.HasField("tensor_type")
        and stated.tensor_type.HasField("shape")
        and None not in dimensions(stated.tensor_type.shape)
    )


def _input_shapes(graph: GraphProto, request: Request) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the inputs, weights apart, as the request fixes them, where it does."""
    fixed = replace(request.fixed(), resized={})  # what is kept is the importer's to note
    weights = {t.name for t in graph.initializer}
    weights |= {s.values.name for s in graph.sparse_initializer}
    shapes = {}
    for info in graph.input:
        if info.name in weights or not info.type.tensor_type.HasField("shape"):
            continue
        declared = dimensions(info.type.tensor_type.shape)
        with suppress(ShadergenError):
            spatial = (2, 3) if len(declared) == 4 else None
            alone = len(graph.input) - len(weights.intersection(i.name for i in graph.input)) == 1
            shapes[info.name] = resolve_shape(info.name, declared, spatial, fixed, alone)
    return shapes


def _without(nodes: Iterable[NodeProto], starts: set[str]) -> Iterator[NodeProto]:
    """Yield the nodes; results that became inputs are renamed."""
    for node in nodes:
        if starts.isdisjoint(node.output):
            yield node
            continue
        changed = NodeProto()
        changed.CopyFrom(node)
        for index, name in enumerate(node.output):
            if name in starts:
                changed.output[index] = f"{name} of {layer_name(node)}, not used"
        yield changed


def _element_type(stated: TypeProto | None) -> bool:
    """Whether a type says of what it has elements; one that is no tensor does."""
    if stated is None or not stated.WhichOneof("value"):
        return False
    return not stated.HasField("tensor_type") or bool(stated.tensor_type.elem_type)


def _input(name: str, types: Mapping[str, TypeProto], used: Mapping[str, int]) -> ValueInfoProto:
    """Declare an input: as the model has it, else by its use, else as float."""
    info = _info(name, types)
    if not _element_type(info.type):
        info.type.tensor_type.elem_type = used.get(name, TensorProto.FLOAT)
    return info


def _info(name: str, types: Mapping[str, TypeProto]) -> ValueInfoProto:
    info = ValueInfoProto(name=name)
    if name in types:
        info.type.CopyFrom(types[name])
    return info
