"""From a model's layers and calls to a graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....errors import ShadergenError, did_you_mean
from ....ir.graph import Graph, Input, Output, Port
from ....ir.types import MAX_RANK, TensorType
from ..base import check_sizes, model_shapes, resolve_shape
from .arguments import Arguments
from .calls import CallSpec, Ref
from .catalogue import BUILT_IN
from .config import Config, is_integer, shown
from .cut import MAX_CALLS, cut
from .layer import Layer, Surroundings
from .layers import LAYERS
from .operations import OPERATIONS, operate
from .symbols import of_keras, of_tensorflow, tensorflow_symbols
from .tensors import Tensor, standard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..base import Request
    from .topology import LayerSpec, ModelSpec
    from .weights import WeightStore

FLOATS = ("float32", "float16", "bfloat16", "float64")
_LAMBDA_OPERATIONS = ("TFOpLambda", "SlicingOpLambda", "ClassMethod", "InstanceMethod")

# Call arguments that say what an exported model does anyway.
_INFERENCE = {"training": (None, False), "mask": (None,)}


def build_graph(
    model: ModelSpec, version: tuple[int, int], weights: WeightStore, request: Request
) -> Graph:
    """Turn a model into a graph.

    Raises:
        ShadergenError: SG0105, SG0106 when the file contradicts itself, SG02xx for what is not
            implemented.
    """
    data_format = _data_format(model) or "channels_last"
    around = Surroundings(version, data_format, request.definitions, weights, LAYERS, {})
    dropped: list[Input] = []
    if request.inputs or request.outputs:

        def type_of(part: ModelSpec, name: str) -> tuple[tuple[int, ...], str]:
            return _type_at(part, name, around, request, dropped)

        model = cut(model, request.inputs, request.outputs, type_of)
    inputs = [_input(model.layers[ref.layer], data_format, request) for ref in model.inputs]
    names = [i.name for i in inputs]
    if len(set(names)) < len(names):
        raise ShadergenError("SG0105", "two inputs are the same layer", where=", ".join(names))
    check_sizes(model_shapes([*dropped, *inputs]), request)
    tensors = [Tensor(i, i.port.axes) for i in inputs]
    results = _Builder(around).run(model, (), tensors)
    outputs: list[Output] = []
    taken: set[str] = set()
    for (name, _), tensor in zip(model.outputs, results, strict=True):
        unique, k = name, 0
        while unique in taken:
            k += 1
            unique = f"{name}_{k}"
        taken.add(unique)
        outputs.append(Output(unique, tensor.value, Port(tensor.axes)))
    return Graph(model.name, tuple(inputs), tuple(outputs))


def _type_at(
    part: ModelSpec, name: str, around: Surroundings, request: Request, dropped: list[Input]
) -> tuple[tuple[int, ...], str]:
    """Return shape and element type of a result that becomes an input.

    They are those that come out if the layers before it are implemented; otherwise the request
    must say the shape, and the type is float.

    Raises:
        ShadergenError: SG0204 when neither tells.
    """
    try:
        inputs = [_input(part.layers[r.layer], around.data_format, request) for r in part.inputs]
        tensors = [Tensor(i, i.port.axes) for i in inputs]
        (result,) = _Builder(around).run(part, (), tensors)
    except ShadergenError as error:
        if name in request.sizes:
            return request.sizes[name], "float32"
        raise ShadergenError(
            "SG0204",
            f"the size of '{name}' is not known",
            why=f"it follows from layers that cannot be computed: {error.what}",
            help=f"say it, batch included, for example --inputs {name}=1x45x80x64",
        ) from None
    dropped += inputs
    return result.shape, result.value.type.dtype


def _data_format(model: ModelSpec) -> str | None:
    """Return the first data format that a layer of the model names."""
    for spec in model.layers.values():
        found = spec.config.get("data_format")
        if spec.model is not None:
            found = _data_format(spec.model)
        if found in ("channels_last", "channels_first"):
            return str(found)
    return None


def _input(spec: LayerSpec, data_format: str, request: Request) -> Input:
    where = f"input '{spec.name}'"
    if spec.class_name != "InputLayer":
        raise ShadergenError("SG0105", f"{spec.described} is listed as an input and is not one")
    config = Config(where, spec.config)
    shape = config.get("batch_shape", "batch_input_shape")
    if not isinstance(shape, list) or not all(s is None or is_integer(s) for s in shape):
        raise ShadergenError(
            "SG0105",
            "the model does not say the input's shape",
            where=where,
            why=f"it has {shown(shape)}",
            help="build the model before saving it, for example with keras.Input(shape) as its "
            "first layer",
        )
    dtype = config.get("dtype", default="float32")
    if dtype not in FLOATS:
        raise ShadergenError(
            "SG0206", f"an input of type {shown(dtype)}", where=where, supported=", ".join(FLOATS)
        )
    if not 1 <= len(shape) <= MAX_RANK:
        raise ShadergenError(
            "SG0206", f"an input of rank {len(shape)}", where=where, supported="ranks 1 to 4"
        )
    axes = standard(len(shape), data_format)
    spatial = None
    if len(shape) == 4:
        spatial = (1, 2) if data_format == "channels_last" else (2, 3)
    sizes = resolve_shape(spec.name, shape, spatial, request)
    logical = [0] * len(sizes)
    for size, axis in zip(sizes, axes, strict=True):
        logical[axis] = size
    return Input(TensorType(tuple(logical)), spec.name, Port(axes))


@dataclass
class _Builder:
    """Runs a model's calls on tensors; a nested model each time it is called."""

    around: Surroundings
    calls: int = field(default=0)

    def run(
        self, model: ModelSpec, chain: tuple[LayerSpec, ...], inputs: list[Tensor]
    ) -> list[Tensor]:
        """Return the model's outputs, computing only what they need."""
        values: dict[tuple[str, int], list[Tensor]] = {}
        for ref, tensor in zip(model.inputs, inputs, strict=True):
            values[ref.layer, 0] = [tensor]
        for _, ref in model.outputs:
            self.provide(model, chain, (ref.layer, ref.call), values)
        return [_pick(values, ref) for _, ref in model.outputs]

    def provide(
        self,
        model: ModelSpec,
        chain: tuple[LayerSpec, ...],
        wanted: tuple[str, int],
        values: dict[tuple[str, int], list[Tensor]],
    ) -> None:
        """Compute one call and whatever it needs, without recursion."""
        stack, waiting = [wanted], {wanted}
        while stack:
            name, number = key = stack[-1]
            if key in values:
                stack.pop()
                continue
            spec = model.layers[name]
            if spec.class_name == "InputLayer" or number >= len(spec.calls):
                raise ShadergenError(
                    "SG0105", "the layer is not among the model's inputs", where=spec.described
                )
            call = spec.calls[number]
            needed = [(r.layer, r.call) for r in call.references]
            missing = list(dict.fromkeys(k for k in needed if k not in values))
            if not missing:
                values[key] = self.call((*chain, *spec.parents, spec), call, values)
                continue
            if any(k in waiting for k in missing):
                raise ShadergenError(
                    "SG0105", "the layer depends on its own result", where=spec.described
                )
            waiting.update(missing[-1:])
            stack += missing[-1:]

    def call(
        self,
        chain: tuple[LayerSpec, ...],
        call: CallSpec,
        values: Mapping[tuple[str, int], list[Tensor]],
    ) -> list[Tensor]:
        """Apply one layer to the arguments of one call."""
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise ShadergenError("SG0105", f"the model makes more than {MAX_CALLS} calls")
        args = [_filled(a, values) for a in call.args]
        kwargs = {k: _filled(v, values) for k, v in call.kwargs.items()}
        layer = Layer(chain, self.around)
        spec = layer.spec
        if spec.model is not None:
            _check_call(layer, kwargs)
            inputs = _tensors(args)
            if len(inputs) != len(spec.model.inputs):
                raise ShadergenError(
                    "SG0105",
                    f"the model has {len(spec.model.inputs)} inputs and is called with "
                    f"{len(inputs)}",
                    where=layer.described,
                )
            return self.run(spec.model, chain, inputs)
        if spec.class_name in _LAMBDA_OPERATIONS or spec.is_operation:
            result = _operation(layer, args, kwargs)
        else:
            result = _layer(layer, args, kwargs)
        return result if isinstance(result, list) else [result]


def _pick(values: Mapping[tuple[str, int], list[Tensor]], ref: Ref) -> Tensor:
    results = values[ref.layer, ref.call]
    if ref.result >= len(results):
        raise ShadergenError(
            "SG0105",
            f"layer '{ref.layer}' has no result {ref.result}",
            where=f"layer '{ref.layer}'",
        )
    return results[ref.result]


def _filled(value: Any, values: Mapping[tuple[str, int], list[Tensor]]) -> Any:
    """Replace references by tensors."""
    if isinstance(value, Ref):
        return _pick(values, value)
    if isinstance(value, (list, tuple)):
        return [_filled(v, values) for v in value]
    if isinstance(value, dict):
        return {k: _filled(v, values) for k, v in value.items()}
    return value


def _tensors(value: Any) -> list[Tensor]:
    """Return every tensor among nested arguments, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, list) else []


def _layer(layer: Layer, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    spec = layer.spec
    inputs = _tensors([args, kwargs])
    definition = _definition(layer, spec.registered_name, spec.class_name)
    if definition is not None:
        arguments = layer.config.get("arguments", default={})
        extra = arguments if isinstance(arguments, dict) else {}
        return layer.defined(definition, inputs, {**spec.config, **extra, **kwargs})
    if spec.class_name in LAYERS:
        _check_call(layer, kwargs)
        policy = layer.config.get("dtype")
        if isinstance(policy, dict) and policy.get("class_name") not in ("DTypePolicy", "Policy"):
            layer.config.unsupported("dtype", policy.get("class_name"), "DTypePolicy")
        return layer.compute(*inputs)
    if spec.class_name in BUILT_IN and spec.class_name != "Lambda":
        raise ShadergenError(
            "SG0201",
            f"layer class {spec.class_name} is not implemented",
            where=layer.described,
            supported=", ".join(sorted(LAYERS)),
            help="where formulas and IR operators can express it, define it: --define FILE, see "
            "docs/expressions.md",
        )
    is_lambda = spec.class_name == "Lambda"
    near = "" if is_lambda else did_you_mean(spec.class_name, LAYERS)
    body = 'depth_to_space(x, block=2, order="dcr")'
    raise ShadergenError(
        "SG0203",
        f"{'Lambda' if is_lambda else 'custom'} layer '{layer.name}' has no definition",
        where=layer.described,
        why="its Python code is never loaded from a model file"
        if is_lambda
        else f"'{spec.class_name}' is not a layer of Keras",
        help="\n".join(
            filter(
                None,
                [
                    near,
                    "write what it computes into a file and pass --define FILE; for example: "
                    + layer.example(layer.name, len(inputs), body),
                ],
            )
        ),
    )


def _operation(layer: Layer, args: list[Any], kwargs: dict[str, Any]) -> Any:
    spec = layer.spec
    if spec.class_name in _LAMBDA_OPERATIONS:
        symbol = layer.config.text("function", default=spec.class_name)
        name, called = of_tensorflow(symbol), f"tf.{symbol.removeprefix('tf.')}"
        config: dict[str, Any] = {}
        known = tensorflow_symbols()
    else:
        name, called = of_keras(spec.class_name, OPERATIONS), f"keras.ops {spec.class_name}"
        config = {k: _decoded(v) for k, v in spec.config.items()}
        known = sorted(OPERATIONS)
    definition = _definition(layer, spec.class_name, called)
    if definition is not None:
        return layer.defined(definition, _tensors([args, kwargs]), {**config, **kwargs})
    if name is not None:
        where = f"layer '{layer.name}' ({called})"
        try:
            return operate(layer, name, Arguments(where, args, {**config, **kwargs}))
        except ShadergenError as error:
            raise error if error.where else error.at(where) from None
    short = called.split(".")[-1].split(" ")[-1]
    raise ShadergenError(
        "SG0201",
        f"operation {called} is not implemented",
        where=layer.described,
        supported=", ".join(known),
        help=did_you_mean(short, known)
        or "where formulas and IR operators can express it, define it: --define FILE, see "
        "docs/expressions.md",
    )


def _decoded(value: Any) -> Any:
    """Unwrap what Keras 3 wraps in an operation's configuration."""
    if isinstance(value, dict) and value.get("class_name") == "__tuple__":
        return value.get("items")
    return value


def _definition(layer: Layer, *names: str) -> Any:
    for name in (layer.name, layer.spec.name, *names, layer.spec.class_name.split(">")[-1]):
        if name in layer.definitions:
            return layer.definitions[name]
    return None


def _check_call(layer: Layer, kwargs: Mapping[str, Any]) -> None:
    """Refuse call arguments that change what a layer computes."""
    for key, value in kwargs.items():
        if isinstance(value, Tensor) or (isinstance(value, list) and _tensors(value)):
            continue
        if key == "mask" and isinstance(value, list) and not any(value):
            continue  # one None for each input of a nested model
        if not any(value is v for v in _INFERENCE.get(key, (None,))):
            layer.config.unsupported(key, value, "not given")
