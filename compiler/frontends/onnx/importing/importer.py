"""Walk the nodes in order and build the graph; compute what needs no input at once.

What a node does is looked up in this order: the user's definitions, the model's own functions, the
tables of operators, and last the functions by which ONNX itself defines operators.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from onnx.onnx_ml_pb2 import AttributeProto

from .....errors import ShadergenError, did_you_mean, require_inputs
from .....ir.dimensions import DynamicDimensionError, at_layer
from .....ir.graph import Constant, Graph, Input, OperandError, Output, Port, Value
from .....ir.types import MAP_RANK, shape_text
from ....definitions import find, instantiate
from ...request import ValueNeededError
from ..folding.budget import Budget
from ..folding.by_numpy import COMPUTED
from ..folding.nodes import fold_node
from ..operands import (
    Item,
    Known,
    Narrow,
    TensorList,
    check_shape,
    inputs_behind,
    typed_item,
)
from ..ops.node import DataDependentError, OnnxNode
from ..ops.table import DATA_DEPENDENT, DOMAINS, RANDOM
from ..ops.versions import modernise
from ..read.graph_body import function_body, plain_domain, read_by
from ..read.model import read_opsets
from ..read.pytorch_origin import pytorch_operator
from ..read.types import STRING, type_name
from ..read.weights import read_sparse, read_tensor
from ..shapes.declared import DeclaredShapes
from ..shapes.inputs import read_input
from .fixed_inputs import fixed_input
from .functions import arguments, schema_function
from .image_axes import image_axes
from .scope import Scope, Subgraph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnx.onnx_ml_pb2 import FunctionProto, NodeProto, ValueInfoProto

    from .....ir.formula_parser import Definition
    from ...request import Request
    from ..operands import Tensor
    from ..read.model import Model

DECODERS = ("DecodeImage", "ImageDecoder")  # from the bytes of a file to a picture: no formula


class Importer:
    """Builds one graph. ``scope`` holds what each name of the model stands for, so far."""

    def __init__(self, model: Model, request: Request) -> None:
        self.model = model
        self.request = request
        self.budget = Budget()
        self.scope = Scope(model.body, {})
        self.declared = DeclaredShapes(model, request)

    def run(self) -> Graph:
        """Return the graph.

        Raises:
            ShadergenError: as ``load_onnx``.
        """
        fixed = self.request.values
        require_inputs("input-value", fixed, [info.name for info in self.model.inputs])
        axes = {i.name: self._image_axes(i) for i in self.model.inputs}
        tensors: dict[str, Known | Input] = {}
        # those that the graph uses as images come first: they say which sizes are dynamic
        for info in sorted(self.model.inputs, key=lambda info: axes[info.name] is None):
            if info.name in fixed:
                tensor: Known | Input = fixed_input(info, fixed[info.name])
            else:
                tensor = read_input(info, axes[info.name], self.request, self.declared)
            tensors[info.name] = tensor
            self.scope.items[info.name] = typed_item(tensor, info.type.tensor_type.elem_type)
        inputs = [t for i in self.model.inputs if isinstance(t := tensors[i.name], Input)]
        results = self._carry_out(self.scope)
        named = dict(zip(self.model.body.outputs, results, strict=True))  # each once
        declared = self.model.declared
        outputs = tuple(_output(name, item, declared[name]) for name, item in named.items())
        self.request.notes.extend(self.declared.notes())
        return Graph(self.model.name, tuple(inputs), outputs)

    def _image_axes(self, info: ValueInfoProto) -> tuple[int, int] | None:
        """Return the axes of an input's height and width, where the graph tells."""
        image = len(info.type.tensor_type.shape.dim) == MAP_RANK
        return image_axes(self.model.body.nodes, info.name) if image else None

    def _carry_out(self, scope: Scope) -> list[Item | None]:
        """Apply the nodes of a body and return what its outputs stand for."""
        for proto in scope.body.nodes:
            if scope.depth:
                self.budget.step()
            self._node(proto, scope)
        return [self._item(name, scope) for name in scope.body.outputs]

    def _item(self, name: str, scope: Scope) -> Item | None:
        """Look up a name; a weight is decoded at its first use."""
        body = scope.body
        if name in scope.items:
            return scope.items[name]
        if name not in body.initializers and name not in body.sparse and scope.around is not None:
            return self._item(name, scope.around)
        if name in body.sparse and name not in body.decoded:
            self.budget.take(max(prod(body.sparse[name].dims), 0))
            array = read_sparse(body.sparse[name], self.model.folder)
            body.decoded[name] = Known(name, array)
        if name not in body.decoded:
            array = read_tensor(body.initializers[name], self.model.folder)
            self.budget.add_weight(array.size)
            known = Known(name, array)
            body.decoded[name] = typed_item(known, body.initializers[name].data_type)
        return body.decoded[name]

    def _node(self, proto: NodeProto, scope: Scope) -> None:
        layer = scope.layer(proto)
        shapes: list[str] = []
        try:
            inputs = tuple(self._item(name, scope) if name else None for name in proto.input)
            shapes += (_described(item) for item in inputs if item is not None)
            with at_layer(layer):
                self._apply(scope.resolved(proto), layer, scope, inputs)
        except ShadergenError as error:
            if isinstance(error, DynamicDimensionError):
                error.where = ()  # the layer, which is named again here
            place = f"node {layer} ({proto.op_type})"
            if operator := pytorch_operator(proto):
                place += f", PyTorch's {operator}"
            place += f", inputs {', '.join(shapes)}" if shapes else ""
            if isinstance(error, OperandError):
                error = error.of_source(place)
            error.at(place)
            if isinstance(error, ValueNeededError) and not scope.depth:
                error.help = f"{error.help}\n{self._how_to_cut(proto)}".strip()
            raise error from None

    def _how_to_cut(self, proto: NodeProto) -> str:
        """Say which values to end the model with, so that a node is left out."""
        names = list(dict.fromkeys(read_by(proto)))
        computed = [n for n in names if not isinstance(self._item(n, self.scope), (Known, Input))]
        if not computed:
            return ""
        return (
            f"end the model before the operator with --outputs {','.join(computed)}, and run the "
            "operator in the application"
        )

    def _apply(
        self, proto: NodeProto, layer: str, scope: Scope, inputs: tuple[Item | None, ...]
    ) -> None:
        domain = plain_domain(proto.domain)
        node = OnnxNode(
            proto,
            layer,
            scope.body.opsets.get(domain, 0),
            inputs,
            tuple(bool(name) and scope.body.reads[name] > 0 for name in proto.output),
            self.model.folder,
            self.budget,
            lambda graph: Subgraph(graph, scope, layer, self._carry_out),
            lambda name: self._item(name, scope),
            self.request.user_shader,
        )
        definition = self._definition(proto, domain, layer)
        function = self.model.functions.get((domain, node.op, getattr(proto, "overload", "")))
        results: Sequence[Item | None]
        if definition is not None:
            results = [self._define(node, definition)]
        elif function is not None:
            results = self._call(function, node, scope, f"{layer}/" if scope.named else layer)
        else:
            results = self._implemented(node, domain, scope)
        for index, (name, used) in enumerate(zip(proto.output, node.used, strict=True)):
            if used and index >= len(results):
                raise ShadergenError(
                    "SG0202",
                    f"output {index + 1} of {node.op}, '{name}', is not implemented",
                    supported=f"the first {len(results)}" if len(results) > 1 else "the first",
                )
            if used:
                scope.items[name] = _as_known(results[index], name)
                self._check_declared(name, scope)

    def _check_declared(self, name: str, scope: Scope) -> None:
        """Compare the shape of a value of the model's own graph with the one it declares."""
        item = scope.items[name]
        if not scope.depth and item is not None and not isinstance(item, TensorList):
            self.declared.check(name, item.shape)

    def _implemented(self, node: OnnxNode, domain: str, scope: Scope) -> Sequence[Item | None]:
        """Carry out an operator of the tables, or by the function that defines it."""
        if not node.version and domain in DOMAINS:
            raise ShadergenError(
                "SG0105",
                f"the model does not say which version of {domain or 'ai.onnx'} it uses",
                help="export it again; the field opset_import is incomplete",
            )
        if not domain:
            modernise(node)
        results: Item | Sequence[Item | None]
        folded = None if domain else fold_node(node)
        if folded is not None:
            results = folded
        elif node.op in DOMAINS.get(domain, ()):
            results = DOMAINS[domain][node.op](node)
        elif not domain and node.op in DATA_DEPENDENT:
            raise DataDependentError(
                f"operator {node.op} is not implemented for tensors computed from the inputs",
                f"{DATA_DEPENDENT[node.op]}, and textures have fixed sizes",
                [i for item in node.inputs if item is not None for i in inputs_behind(item)],
            )
        elif function := schema_function(node, domain, scope.body.opsets.get("", 0)):
            return self._call(function, node, scope, node.layer, named=False)
        else:
            raise self._unknown(node, domain, scope)
        node.finish()
        return [results] if isinstance(results, Item) else results

    def _call(
        self, function: FunctionProto, node: OnnxNode, scope: Scope, path: str, named: bool = True
    ) -> list[Item | None]:
        """Run a function and return its results, None for unread ones."""
        body = function_body(function, read_opsets(function.opset_import), node.used)
        items, attributes = arguments(function, node)
        inner = Scope(body, items, None, attributes, path, named and scope.named, scope.depth + 1)
        results = iter(self._carry_out(inner))
        return [next(results) if used else None for used in node.used]

    def _definition(self, proto: NodeProto, domain: str, layer: str) -> Definition | None:
        """Return the user's definition: for this layer, for domain::Op, or for Op."""
        full = f"{domain or 'ai.onnx'}::{proto.op_type}"
        return find(self.request.definitions, layer, proto.name, full, proto.op_type)

    def _define(self, node: OnnxNode, definition: Definition) -> Tensor:
        inputs = list(node.inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        operands = [node.operand(i) for i in range(len(inputs))]
        attributes = {name: _attribute(node, name) for name in node.attributes}
        unread = sorted(set(attributes) - {name for name, _ in definition.parameters})
        if unread:
            note = f"the definition of {node.op} ignores the node's attributes {', '.join(unread)}"
            self.request.notes.extend([] if note in self.request.notes else [note])
        result = instantiate(definition, operands, attributes, self.request.definitions, node.layer)
        check_shape(node.layer, result.shape)
        return result

    def _unknown(self, node: OnnxNode, domain: str, scope: Scope) -> ShadergenError:
        """Return the error for an operator that is in no table."""
        full = f"{domain}::{node.op}" if domain else node.op
        names = _parameters(node)
        example = f'"{full}"' if domain else node.op
        define = (
            f"define the operator with --define FILE; FILE holds a line like: {example}"
            f"({', '.join(names)}) = ..."
        )
        weights = [n for n in names if n.startswith("w")]
        if weights:
            stand = "stand" if weights[1:] else "stands"
            define += f"\n{', '.join(weights)} {stand} for the operator's weight"
            define += "s" * (len(weights) > 1)
            if not scope.depth and (leave := self._how_to_cut(node.proto)):
                define += f"\nor {leave}"
        if node.op in DECODERS and node.proto.output:
            define = (
                "decode the picture in the application, and start the model after this operator: "
                f"--inputs {node.proto.output[0]}"
            )
        if domain not in DOMAINS:
            return ShadergenError(
                "SG0201",
                f"operator {full} is not implemented",
                why=f"domain {domain} is not ONNX's own",
                supported=f"operators of {', '.join(d or 'ai.onnx' for d in DOMAINS)}",
                help=define,
            )
        if not domain and node.op in RANDOM:
            return ShadergenError(
                "SG0201",
                f"operator {node.op} is not implemented",
                why="random numbers are not supported",
                help="draw the numbers in the application, and let the network take them as an "
                "input",
            )
        near = did_you_mean(node.op, DOMAINS[domain] if domain else [*DOMAINS[""], *COMPUTED])
        return ShadergenError(
            "SG0201",
            f"operator {full} is not implemented",
            why=f"domain {domain or 'ai.onnx'}, operator set {node.version}",
            help=f"{near}\n{define}".strip(),
        )


def _parameters(node: OnnxNode) -> list[str]:
    """Name a node's inputs for a definition: x1, x2, ..., and w1, w2, ... for weights."""
    items = list(node.inputs)
    while items and items[-1] is None:
        items.pop()
    kinds = ["w" if isinstance(item, (Known, Narrow)) else "x" for item in items] or ["x"]
    return [
        kind if kinds.count(kind) == 1 else f"{kind}{kinds[: place + 1].count(kind)}"
        for place, kind in enumerate(kinds)
    ]


def _output(name: str, item: Item | None, declared: int) -> Output:
    if item is None or isinstance(item, TensorList):
        raise ShadergenError("SG0206", f"output '{name}' is a sequence", supported="tensors")
    strings = isinstance(item, Narrow) and item.data_type == STRING
    if strings != (declared == STRING):  # a caller would take the numbers of strings for numbers
        said = f"it as {type_name(declared)}" if declared else "no type"
        raise ShadergenError(
            "SG0105",
            f"output '{name}' holds {'strings' if strings else 'numbers'}",
            why=f"the model declares {said}",
        )
    tensor = item.tensor if isinstance(item, Narrow) else item
    value: Value = tensor.operand if isinstance(tensor, Known) else tensor
    if value.type.is_empty:
        shape = shape_text(value.type.shape)
        raise ShadergenError("SG0206", f"output '{name}' is empty", why=f"its shape is {shape}")
    return Output(name, value, Port.plain(value.type.rank))


def _described(item: Item) -> str:
    """Return an operand's shape as messages have it."""
    if isinstance(item, TensorList):
        return f"sequence of {len(item.items)}"
    return shape_text(item.shape)


def _as_known(item: Item | None, name: str) -> Item | None:
    """Make constants known; they are what operators of the IR computed at once."""
    return Known(name, item.data) if isinstance(item, Constant) else item


def _attribute(node: OnnxNode, name: str) -> Any:
    """Return an attribute as a definition takes it."""
    readers: dict[int, Callable[[str], Any]] = {
        AttributeProto.INT: node.integer,
        AttributeProto.FLOAT: node.number,
        AttributeProto.STRING: node.text,
        AttributeProto.INTS: node.integers,
        AttributeProto.FLOATS: node.numbers,
    }
    read = readers.get(node.attributes[name].type)
    return None if read is None else read(name)
