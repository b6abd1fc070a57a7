"""Walk the nodes in order and build the graph; compute what needs no input at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx.onnx_ml_pb2 import AttributeProto

from ....errors import ShadergenError, did_you_mean
from ....ir.graph import Constant, Graph, Input, Output, Port, Value
from ....ir.types import TensorType
from ...definitions import instantiate
from ..base import resolve_shape
from .computed import COMPUTED, compute
from .model import layer_name, plain_domain
from .node import Budget, Known, Mask, OnnxNode, Tensor, check_shape
from .operators import BEFORE_7, OPERATORS
from .tensors import FLOATS, read_tensor, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnx.onnx_ml_pb2 import NodeProto, ValueInfoProto

    from ....ir.expr import Definition
    from ..base import Request
    from .model import Model


class Importer:
    """Builds one graph. ``tensors`` holds what each name of the model stands for, so far."""

    def __init__(self, model: Model, request: Request) -> None:
        self.model = model
        self.request = request
        self.budget = Budget()
        self.tensors: dict[str, Tensor] = {}

    def run(self) -> Graph:
        """Return the graph.

        Raises:
            ShadergenError: as ``load_onnx``.
        """
        inputs = tuple(map(self._input, self.model.inputs))
        self.tensors.update((i.name, i) for i in inputs)
        for proto in self.model.nodes:
            self._node(proto)
        outputs = tuple(map(self._output, self.model.outputs))
        return Graph(self.model.name, inputs, outputs)

    def _input(self, info: ValueInfoProto) -> Input:
        where = f"input '{info.name}'"
        if not info.type.HasField("tensor_type"):
            kind = info.type.WhichOneof("value") or "nothing"
            raise ShadergenError(
                "SG0206", f"{where} is of type {kind}", supported="tensors of float"
            )
        tensor = info.type.tensor_type
        if tensor.elem_type not in FLOATS:
            raise ShadergenError(
                "SG0206",
                f"{where} has element type {type_name(tensor.elem_type)}",
                supported=", ".join(map(type_name, FLOATS)) + " (all computed as float)",
            )
        if not tensor.HasField("shape"):
            shape = self._whole_shape(info.name)
        else:
            shape = resolve_shape(
                info.name,
                declared := _dimensions(tensor.shape),
                (2, 3) if len(declared) == 4 else None,
                self.request,
            )
        check_shape(info.name, shape)
        return Input(TensorType(shape), info.name, Port.plain(len(shape)))

    def _whole_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an input for which the model declares none."""
        sizes = self.request.sizes
        wanted = sizes.get(name) or sizes.get("", ())
        if not wanted or (len(wanted) == 2 and name not in sizes):
            raise ShadergenError(
                "SG0204",
                f"input '{name}' has no shape",
                why="the model does not even say how many axes it has",
                help=f"give all its sizes, for example --input-size {name or 'NAME'}=1x3x360x640",
            )
        return resolve_shape(name, (None,) * len(wanted), None, self.request)

    def _output(self, name: str) -> Output:
        item = self._tensor(name)
        if isinstance(item, Mask) or (isinstance(item, Known) and item.array.dtype.kind != "f"):
            kind = "bool" if isinstance(item, Mask) else item.array.dtype.name
            raise ShadergenError(
                "SG0206",
                f"output '{name}' has element type {kind}",
                supported="float",
                help="cast it to float at the end of the model",
            )
        value: Value = item.operand if isinstance(item, Known) else item
        return Output(name, value, Port.plain(value.type.rank))

    def _tensor(self, name: str) -> Tensor:
        """Return what a name stands for; a weight is decoded when it is first asked for."""
        if name not in self.tensors:
            if name in self.model.sparse:
                raise ShadergenError("SG0206", f"initialiser '{name}' is sparse")
            array = read_tensor(self.model.initializers[name], self.model.folder)
            self.budget.add_weight(array.size)
            self.tensors[name] = Known(name, array)
        return self.tensors[name]

    def _node(self, proto: NodeProto) -> None:
        layer = layer_name(proto)
        shapes: list[str] = []
        try:
            inputs = tuple(self._tensor(name) if name else None for name in proto.input)
            shapes += ("x".join(map(str, t.shape)) or "scalar" for t in inputs if t is not None)
            self._apply(proto, layer, inputs)
        except ShadergenError as error:
            if not any(place.startswith(f"{layer} (") for place in error.where):
                place = f"node {layer} ({proto.op_type})"
                error.at(f"{place}, inputs {', '.join(shapes)}" if shapes else place)
            raise error from None

    def _apply(self, proto: NodeProto, layer: str, inputs: tuple[Tensor | None, ...]) -> None:
        domain = plain_domain(proto.domain)
        node = OnnxNode(
            proto,
            layer,
            self.model.opsets.get(domain, 0),
            inputs,
            tuple(bool(name) and self.model.reads[name] > 0 for name in proto.output),
            self.model.folder,
            self.budget,
        )
        definition = self._definition(proto, domain, layer)
        results: Sequence[Tensor]
        if definition is not None:
            results = [self._define(node, definition)]
        else:
            self._require_known(node, domain)
            results = self._implemented(node)
            node.finish()
        for index, (name, used) in enumerate(zip(proto.output, node.used, strict=True)):
            if used and index >= len(results):
                raise ShadergenError(
                    "SG0202", f"result {index} of {node.op}, '{name}', is not implemented"
                )
            if used:
                self.tensors[name] = _as_known(results[index], name)

    def _implemented(self, node: OnnxNode) -> Sequence[Tensor]:
        if node.op in COMPUTED and all(isinstance(i, Known) or i is None for i in node.inputs):
            return [compute(node)]
        if node.op not in OPERATORS:
            raise ShadergenError(
                "SG0201",
                f"operator {node.op} is implemented for tensors known at compile time only",
                why="here an operand is computed from the model's inputs",
            )
        results = OPERATORS[node.op](node)
        return results if isinstance(results, (list, tuple)) else [results]

    def _definition(self, proto: NodeProto, domain: str, layer: str) -> Definition | None:
        """Return the user's definition: for this layer, for domain::Op, or for Op."""
        known = self.request.definitions
        for key in (layer, f"{domain or 'ai.onnx'}::{proto.op_type}", proto.op_type):
            if key in known:
                return known[key]
        return None

    def _define(self, node: OnnxNode, definition: Definition) -> Tensor:
        inputs = list(node.inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        operands = [node.operand(i) for i in range(len(inputs))]
        attributes = {name: _attribute(node, name) for name in node.attributes}
        result = instantiate(definition, operands, attributes, self.request.definitions, node.layer)
        check_shape(node.layer, result.shape)
        return result

    def _require_known(self, node: OnnxNode, domain: str) -> None:
        """Refuse operators, domains and versions that are not implemented."""
        full = f"{domain or 'ai.onnx'}::{node.op}"
        example = f"{node.op}(x) = ..." if not domain else f'"{full}"(x) = ...'
        define = f"define it with --define FILE, which holds a line like: {example}"
        if f"{domain}::{node.op}" in self.model.functions:
            raise ShadergenError(
                "SG0201",
                f"operator {full} is a function of the model's own",
                help="inline it: onnx.save(onnx.inliner.inline_local_functions(onnx.load(path)), "
                f"path)\nor {define}",
            )
        if domain:
            raise ShadergenError(
                "SG0201",
                f"operator {full} is not implemented",
                why=f"domain {domain} is not ONNX's own",
                supported="operators of ai.onnx",
                help=define,
            )
        if not node.version:
            raise ShadergenError(
                "SG0105", "the model does not say which version of ai.onnx it uses"
            )
        if node.op not in OPERATORS and node.op not in COMPUTED:
            near = did_you_mean(node.op, [*OPERATORS, *COMPUTED])
            raise ShadergenError(
                "SG0201",
                f"operator {node.op} is not implemented",
                why=f"domain ai.onnx, operator set {node.version}",
                help=f"{near}\n{define}".strip(),
            )
        if node.version < 7 and node.version < BEFORE_7.get(node.op, 7):
            raise ShadergenError(
                "SG0202",
                f"{node.op} of operator set {node.version} is not implemented",
                supported="operator set 7 and later",
                help="onnx.version_converter.convert_version(model, 13) brings it up to date",
            )


def _dimensions(shape: Any) -> list[int | None]:
    """Return the declared sizes; names, nothing at all and negative numbers mean: not fixed."""
    sizes: list[int | None] = []
    for d in shape.dim:
        fixed = d.HasField("dim_value") and d.dim_value >= 0
        sizes.append(d.dim_value if fixed else None)
    return sizes


def _as_known(item: Tensor, name: str) -> Tensor:
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
