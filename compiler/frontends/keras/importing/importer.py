"""From a model's layers and calls to a graph."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from .....errors import ShadergenError
from .....ir.graph import Graph, Input, Output, Port
from .....ir.types import MAP_RANK, MAX_RANK, DType, TensorType
from ...input_shapes import check_size_names, check_sizes, model_shapes, resolve_shape
from ..layers.layer import Layer, Surroundings
from ..layers.table import LAYERS
from ..read.config import Config, is_integer, plain, shown
from ..read.inbound_nodes import CallSpec, Ref
from ..tensors import Tensor, standard
from .cut import MAX_CALLS, cut
from .layer_calls import called, check_call, masked, tensors_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...request import Request
    from ..read.model import LayerSpec, ModelSpec
    from ..read.weights import WeightStore

# What an input may hold, and how the IR calls it.
INPUT_TYPES: dict[str, DType] = {
    **dict.fromkeys(("float32", "float16", "bfloat16", "float64"), "float32"),
    **{name: name for name in get_args(DType)},
}


def build_graph(
    model: ModelSpec, version: tuple[int, int], weights: WeightStore, request: Request
) -> Graph:
    """Turn a model into a graph.

    Raises:
        ShadergenError: SG0105, SG0106 when the file contradicts itself, SG02xx for what is not
            implemented.
    """
    data_format = _data_format(model) or "channels_last"
    fixed = any(_batch(model.layers[ref.layer]) is not None for ref in model.inputs)
    around = Surroundings(version, data_format, request.definitions, weights, LAYERS, called, fixed)
    dropped: list[Input] = []
    stated: list[str] = []  # inputs whose shape is what the request says, whatever came before
    if request.inputs or request.outputs:

        def type_of(part: ModelSpec, name: str) -> tuple[tuple[int, ...], str]:
            found = _type_at(part, name, around, request.closed(), dropped)
            if found is None:
                stated.append(name)
            return found or (request.sizes[name], "float32")

        model = cut(model, request.inputs, request.outputs, type_of)
    specs = [model.layers[ref.layer] for ref in model.inputs]
    check_size_names([i.name for i in dropped] + [spec.name for spec in specs], request)
    inputs = [_input(spec, data_format, request, len(specs) == 1) for spec in specs]
    names = [i.name for i in inputs]
    if len(set(names)) < len(names):
        raise ShadergenError("SG0105", "two inputs are the same layer", where=", ".join(names))
    check_sizes(model_shapes([*dropped, *inputs]), request)
    tensors = [Tensor(i, i.port.axes) for i in inputs]
    try:
        results = _Builder(around).run(model, (), tensors)
    except ShadergenError as error:
        said = [_said(i) for i in inputs if i.name in stated]
        error.help = "\n".join(filter(None, [error.help, *said]))
        raise
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
) -> tuple[tuple[int, ...], str] | None:
    """Return shape and element type of a result that becomes an input, or None.

    They are those that come out if the layers before it are implemented and know their sizes; with
    a height and a width from the request, what comes out needs only its other sizes from there.
    None means that the request says the whole shape.

    Raises:
        ShadergenError: SG0204 when neither tells.
    """
    try:
        result = _result(part, around, request, dropped)
    except ShadergenError as error:
        size = request.sizes.get(name)
        if size is None:
            raise _unknown_size(name, around.data_format, error) from None
        if len(size) == 2 and error.code == "SG0204":
            with suppress(ShadergenError):
                result = _result(part, around, replace(request, sizes={"": size}), [])
                if result.rank == MAP_RANK and result.axes == standard(4, around.data_format):
                    logical = (*result.value.shape[:2], *size)
                    return tuple(logical[a] for a in result.axes), result.dtype
        return None
    return result.shape, result.value.type.dtype


def _result(
    part: ModelSpec, around: Surroundings, request: Request, dropped: list[Input]
) -> Tensor:
    """Return the one result of a part of the model; its inputs go to ``dropped``."""
    inputs = [_input(part.layers[r.layer], around.data_format, request) for r in part.inputs]
    (result,) = _Builder(around).run(part, (), [Tensor(i, i.port.axes) for i in inputs])
    dropped += inputs
    return result


def _unknown_size(name: str, data_format: str, reason: ShadergenError) -> ShadergenError:
    if reason.code == "SG0204":
        say = f"say its height and width, for example --inputs {name}=45x80, or give --input-size"
    else:
        example = "1x45x80x64" if data_format == "channels_last" else "1x64x45x80"
        say = "say it, batch included and in the model's own order, for example "
        say += f"--inputs {name}={example}"
    return ShadergenError(
        "SG0204",
        f"the size of '{name}' is not known",
        why=f"it follows from layers that cannot be computed: {reason.what}",
        help=say,
    )


def _said(i: Input) -> str:
    """Return what to look at when a model does not go on from an input as the request has it."""
    shape = "x".join(str(i.shape[a]) for a in i.port.axes)
    order = "batch first"
    if len(i.shape) == MAP_RANK:
        order += ", channels last" if i.port.axes == standard(4, "channels_last") else ""
    return f"--inputs says that '{i.name}' is {shape}: all its sizes, in the model's order, {order}"


def _data_format(model: ModelSpec) -> str | None:
    """Return the first data format that a layer of the model names."""
    for spec in model.layers.values():
        found = spec.config.get("data_format")
        if spec.model is not None:
            found = _data_format(spec.model)
        if found in ("channels_last", "channels_first"):
            return str(found)
    return None


def _batch(spec: LayerSpec) -> Any:
    """Return the number of samples that an input asks for, or None."""
    shape = spec.config.get("batch_shape") or spec.config.get("batch_input_shape")
    shape = plain(shape)
    return shape[0] if isinstance(shape, list) and shape else None


def _input(spec: LayerSpec, data_format: str, request: Request, alone: bool = True) -> Input:
    where = f"input '{spec.name}'"
    if spec.class_name != "InputLayer":
        raise ShadergenError("SG0105", f"{spec.described} is listed as an input and is not one")
    config = Config(where, spec.config)
    shape = plain(config.get("batch_shape", "batch_input_shape"))
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
    if not isinstance(dtype, str) or dtype not in INPUT_TYPES:
        supported = ", ".join(INPUT_TYPES)
        raise ShadergenError(
            "SG0206", f"an input of type {shown(dtype)}", where=where, supported=supported
        )
    if not 1 <= len(shape) <= MAX_RANK:
        raise ShadergenError(
            "SG0206",
            f"an input of rank {len(shape)}",
            where=where,
            supported=f"ranks 1 to {MAX_RANK}",
        )
    axes = standard(len(shape), data_format)
    spatial = None
    if len(shape) == 4:
        spatial = (1, 2) if data_format == "channels_last" else (2, 3)
    sizes = resolve_shape(spec.name, shape, spatial, request, alone)
    logical = [0] * len(sizes)
    for size, axis in zip(sizes, axes, strict=True):
        logical[axis] = size
    return Input(TensorType(tuple(logical), INPUT_TYPES[dtype]), spec.name, Port(axes))


class _Builder:
    """Runs a model's calls on tensors; a nested model each time it is called."""

    def __init__(self, around: Surroundings) -> None:
        self.around = replace(around, run=self.apply)
        self.calls = 0

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
        return self.apply(Layer(chain, self.around, args=args, kwargs=kwargs))

    def apply(self, layer: Layer) -> list[Tensor]:
        """Apply one layer, model or operation to the arguments of its call."""
        model = layer.spec.model
        if model is None:
            return called(layer)
        check_call(layer)
        inputs = tensors_in(layer.args)
        if len(inputs) != len(model.inputs):
            raise ShadergenError(
                "SG0105",
                f"the model has {len(model.inputs)} inputs and is called with {len(inputs)}",
                where=layer.described,
            )
        return self.run(model, layer.chain, masked(layer, inputs))


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
