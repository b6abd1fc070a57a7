"""From a model's layers and calls to a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....errors import ShadergenError, count
from .....ir.graph import Graph, Output, Port
from .....records import replace
from ...input_shapes import check_size_names, check_sizes, model_shapes
from ..layers.layer import Layer, Surroundings
from ..layers.table import LAYERS
from ..read.inbound_nodes import CallSpec, Ref
from ..shapes.cut_inputs import CutInputs
from ..shapes.inputs import batch_of, data_format_of, read_input
from ..tensors import Tensor
from .cut import MAX_CALLS, cut
from .layer_calls import called, check_call, masked, tensors_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...request import Request
    from ..read.model import LayerSpec, ModelSpec
    from ..read.weights import WeightStore


def build_graph(
    model: ModelSpec, version: tuple[int, int], weights: WeightStore, request: Request
) -> Graph:
    """Turn a model into a graph.

    Raises:
        ShadergenError: SG0105, SG0106 when the file contradicts itself, SG02xx for what is not
            implemented.
    """
    data_format = data_format_of(model) or "channels_last"
    fixed = any(batch_of(model.layers[ref.layer]) is not None for ref in model.inputs)
    around = Surroundings(version, data_format, request.definitions, weights, LAYERS, called, fixed)
    cuts = CutInputs(request, data_format, lambda part, x: _Builder(around).run(part, (), x))
    if request.inputs or request.outputs:
        model = cut(model, request.inputs, request.outputs, cuts.type_of)
    specs = [model.layers[ref.layer] for ref in model.inputs]
    check_size_names([i.name for i in cuts.dropped] + [spec.name for spec in specs], request)
    inputs = [read_input(spec, data_format, request, len(specs) == 1) for spec in specs]
    names = [i.name for i in inputs]
    if len(set(names)) < len(names):
        raise ShadergenError("SG0105", "two inputs are the same layer", where=", ".join(names))
    check_sizes(model_shapes([*cuts.dropped, *inputs]), request)
    tensors = [Tensor(i, i.port.axes) for i in inputs]
    try:
        results = _Builder(around).run(model, (), tensors)
    except ShadergenError as error:
        error.help = "\n".join(filter(None, [error.help, *cuts.hints(inputs)]))
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
            if spec.class_name == "InputLayer":
                raise ShadergenError(
                    "SG0105",
                    "the InputLayer is used, but the model does not list it as an input",
                    where=spec.described,
                )
            if number >= len(spec.calls):
                raise ShadergenError(
                    "SG0105",
                    f"call {number} of the layer does not exist",
                    where=spec.described,
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
            raise ShadergenError("SG0105", f"the model calls layers more than {MAX_CALLS} times")
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
            f"the model reads result {ref.result} of a layer with {count(len(results), 'result')}",
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
