"""Cutting a model: any layer's result can become an input or an output, and the rest is dropped.

A layer goes by its name, one of a nested model by "model/layer". ``name:1`` is its second result,
or the result of its second call where the layer is shared; ``name:1:0`` says both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError, did_you_mean, nearest
from .....records import replace
from ..read.inbound_nodes import Ref, malformed, references_in, replaced
from ..read.model import LayerSpec, ModelSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Shape = tuple[int, ...]

MAX_CALLS = 20_000


def cut(
    model: ModelSpec,
    inputs: Sequence[str],
    outputs: Sequence[str],
    type_of: Callable[[ModelSpec, str], tuple[Shape, str]],
) -> ModelSpec:
    """Return the part of a model between some results.

    Args:
        model: the model.
        inputs: what becomes an input; the model's own inputs stay where they are still needed.
        outputs: what becomes an output; none keeps them all.
        type_of: returns shape, in the model's order, and element type of a model's only output,
            which goes by the name given.

    Raises:
        ShadergenError: SG0301 for a name that is unknown or ambiguous, or an input of no use; and
            what ``type_of`` raises.
    """
    flat = _Flattened(model)
    model = flat.model
    starts = [(name, _find(flat, name, "inputs")) for name in inputs]
    ends = [(name, _find(flat, name, "outputs")) for name in outputs] or model.outputs
    _require_distinct(starts, "inputs")
    _require_distinct(ends, "outputs")
    own = set(model.inputs)
    before = {n: _pruned(replace(model, outputs=[(n, r)])) for n, r in starts if r not in own}
    types = {name: type_of(part, name) for name, part in before.items()}
    change: dict[Ref, Ref] = {}
    for name, ref in starts:
        change[ref] = ref
        if name in types:
            shape, dtype = types[name]
            config = {"name": name, "batch_shape": list(shape), "dtype": dtype}
            key = f"input {name}"
            model.layers[key] = LayerSpec(name, "InputLayer", "InputLayer", "", config)
            change[ref] = Ref(key, 0, 0)
    for spec in model.layers.values():
        spec.calls = [replaced(call, lambda r: change.get(r, r)) for call in spec.calls]
    model.outputs = [(name, change.get(ref, ref)) for name, ref in ends]
    rest = [ref for ref in model.inputs if ref not in change]
    model.inputs = [*change.values(), *rest]
    result = _pruned(model)
    for name, ref in starts:
        if change[ref] not in result.inputs:
            raise ShadergenError(
                "SG0301",
                f"--inputs names '{name}', which no output needs",
                why="only these outputs are computed: "
                + ", ".join(f"'{name}'" for name, _ in ends),
            )
    return result


def _find(flat: _Flattened, name: str, option: str) -> Ref:
    """Return the result that a name stands for."""
    layer, numbers = name, list[int]()
    while not (found := _named(flat, layer)):
        layer, colon, number = layer.rpartition(":")
        if not colon or not number.isascii() or not number.isdigit() or len(number) > 9:
            raise ShadergenError(
                "SG0301",
                f"--{option} names '{name}', which is not a layer",
                supported=nearest(name, [*flat.model.layers, *flat.nested]),
                help=did_you_mean(name, [*flat.model.layers, *flat.nested]),
            )
        numbers.insert(0, int(number))
    if len(found) > 1:
        raise ShadergenError(
            "SG0301",
            f"--{option} {layer} is ambiguous: several layers have this name",
            supported=", ".join(found),
        )
    nested = flat.nested.get(found[0])
    calls = len(nested) if nested else max(len(flat.model.layers[found[0]].calls), 1)
    call = 0
    if calls > 1 and (not numbers or numbers[0] >= calls):
        raise ShadergenError(
            "SG0301",
            f"--{option} names '{name}', but layer '{layer}' is called {calls} times",
            supported=", ".join(f"{layer}:{i}" for i in range(calls)),
        )
    if calls > 1:
        call = numbers.pop(0)
    result = numbers.pop(0) if numbers else 0
    if numbers or (nested and result >= len(nested[call])):
        raise ShadergenError(
            "SG0301", f"--{option} names '{name}', which is not the result of a layer"
        )
    return nested[call][result] if nested else Ref(found[0], call, result)


def _named(flat: _Flattened, name: str) -> list[str]:
    """Return the layers by name; layers of nested models have longer names."""
    known = [*flat.model.layers, *flat.nested]
    if name in known:
        return [name]
    return [key for key in known if name and key.endswith(f"/{name}")]


def _require_distinct(found: Sequence[tuple[str, Ref]], option: str) -> None:
    refs = [ref for _, ref in found]
    for name, ref in found:
        if refs.count(ref) > 1:
            raise ShadergenError("SG0301", f"--{option} names the result '{name}' twice")


def _pruned(model: ModelSpec) -> ModelSpec:
    """Return a model without the inputs that its outputs do not need."""
    stack = [ref for _, ref in model.outputs]
    seen = set(stack)
    while stack:
        ref = stack.pop()
        for call in model.layers[ref.layer].calls[ref.call : ref.call + 1]:
            new = [r for r in call.references if r not in seen]
            seen.update(new)
            stack += new
    return replace(model, inputs=[ref for ref in model.inputs if ref in seen])


class _Flattened:
    """A model without nested ones: their layers become its own, once for all calls.

    Layer x of model m is called "m/x"; its calls are those within the first call of m, then those
    within the second, and so on.

    Attributes:
        model: the result.
        nested: for each model that was nested, and each of its calls, the results.
    """

    model: ModelSpec

    def __init__(self, model: ModelSpec, parents: tuple[LayerSpec, ...] = ()) -> None:
        self.whole = model
        self.parts: dict[str, _Flattened] = {}
        layers: dict[str, LayerSpec] = {}
        for name, spec in model.layers.items():
            if spec.model is None:
                layers[name] = replace(spec, parents=parents)
            else:
                self.parts[name] = _Flattened(spec.model, (*parents, spec))
        for name, part in self.parts.items():
            for key, spec in part.model.layers.items():
                if spec.class_name != "InputLayer":
                    layers[f"{name}/{key}"] = replace(spec, calls=[])
        for spec in layers.values():
            spec.calls = [replaced(call, self.followed) for call in spec.calls]
        self.nested: dict[str, list[list[Ref]]] = {}
        for name, part in self.parts.items():
            for number in range(len(model.layers[name].calls)):
                self.add_call(name, part, number, layers)
                if sum(len(spec.calls) for spec in layers.values()) > MAX_CALLS:
                    malformed(
                        f"the model calls layers more than {MAX_CALLS} times", f"layer '{name}'"
                    )
        outputs = [(name, self.followed(ref)) for name, ref in model.outputs]
        self.model = ModelSpec(model.name, layers, list(model.inputs), outputs)

    def add_call(
        self, name: str, part: _Flattened, number: int, layers: dict[str, LayerSpec]
    ) -> None:
        """Add the calls within one call of a nested model."""

        def outside(ref: Ref) -> Ref:
            return self.followed(self.outside(name, number, ref))

        for key, spec in part.model.layers.items():
            if spec.class_name != "InputLayer":
                layers[f"{name}/{key}"].calls += [replaced(c, outside) for c in spec.calls]
        results = [outside(ref) for _, ref in part.model.outputs]
        self.nested.setdefault(name, []).append(results)
        for key, calls in part.nested.items():
            found = [[outside(ref) for ref in results] for results in calls]
            self.nested.setdefault(f"{name}/{key}", []).extend(found)

    def followed(self, ref: Ref) -> Ref:
        """Follow the result of a nested model to the layer in it that computes it."""
        seen = set()
        while ref.layer in self.parts:
            part: ModelSpec = self.parts[ref.layer].model
            outputs = part.outputs
            if ref in seen or ref.result >= len(outputs):
                malformed(f"the model has no result {ref.result}", f"layer '{ref.layer}'")
            seen.add(ref)
            ref = self.outside(ref.layer, ref.call, outputs[ref.result][1])
        return ref

    def outside(self, name: str, call: int, ref: Ref) -> Ref:
        """Translate a reference inside a nested model's call to the outer model."""
        part: ModelSpec = self.parts[name].model
        if ref in part.inputs:
            operands = _operands(self.whole.layers[name], call, len(part.inputs))
            return operands[part.inputs.index(ref)]
        if part.layers[ref.layer].class_name == "InputLayer":
            malformed("the layer is not among the model's inputs", f"layer '{name}/{ref.layer}'")
        count = len(part.layers[ref.layer].calls)
        return Ref(f"{name}/{ref.layer}", call * count + ref.call, ref.result)


def _operands(spec: LayerSpec, number: int, count: int) -> list[Ref]:
    """Return the operands of a nested model's call."""
    call = spec.calls[number]
    refs = list(references_in(list(call.args)))
    for key, value in call.kwargs.items():
        if value not in (None, False):
            raise ShadergenError(
                "SG0202",
                f"argument {key} of a model's call is not implemented",
                where=spec.described,
            )
    if len(refs) != count:
        malformed(f"the model has {count} inputs and is called with {len(refs)}", spec.described)
    return refs
