"""From a configuration to layers and the calls that connect them.

Sequential and Functional models, Keras 2 and Keras 3, nested to any sensible depth, become one
form: a :class:`ModelSpec` of :class:`LayerSpec`, each with the calls made to it. A reference names
a layer, which call of it, and which of that call's results.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from itertools import pairwise
from typing import Any

from .....errors import ShadergenError
from .....records import dataclass
from .built_in_layers import BUILT_IN
from .config import shown
from .inbound_nodes import MAX_DEPTH, CallReader, CallSpec, Ref, endpoints, malformed, replaced

# What Keras calls a class that it offers under another name.
_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}


def snake_case(class_name: str) -> str:
    """Return a class name as archives spell it: Conv2DTranspose -> conv2d_transpose."""
    name = re.sub(r"\W+", "", class_name.split(">")[-1])
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


@dataclass(frozen=True)
class Part:
    """The relation of a layer to a layer that contains it: a wrapper or a model.

    Attributes:
        names: what the other may call it; .keras archives keep its weights under one of them.
        which: of the other's weights are its own; .h5 files keep them in one list.
    """

    names: tuple[str, ...]
    which: slice


@dataclass(eq=False)
class LayerSpec:
    """One layer of a model.

    ``is_operation`` tells nodes of keras.ops from layers: their class names overlap. ``rank``
    counts the layers of the same class before it, ``siblings`` all of them. ``parents`` are the
    nested models that contained it before they were flattened. ``part`` is set where it is one.
    """

    name: str
    class_name: str
    registered_name: str
    module: str
    config: dict[str, Any]
    build_shape: Any = None
    calls: list[CallSpec] = field(default_factory=list)
    model: ModelSpec | None = None
    is_operation: bool = False
    rank: int = 0
    siblings: int = 1
    parents: tuple[LayerSpec, ...] = ()
    part: Part | None = None

    @property
    def described(self) -> str:
        return f"layer '{self.name}' ({self.class_name})"

    @property
    def is_quantised(self) -> bool:
        """Whether it is a layer of QKeras: one of Keras with a Q before its name."""
        return self.class_name.startswith("Q") and self.class_name[1:] in BUILT_IN

    @property
    def snake(self) -> str:
        """The class name as archives spell it."""
        return snake_case(_CLASSES.get(self.class_name, self.class_name))


@dataclass(eq=False)
class ModelSpec:
    """A model: its layers by name, its inputs, and its outputs with the names they are given."""

    name: str
    layers: dict[str, LayerSpec]
    inputs: list[Ref]
    outputs: list[tuple[str, Ref]]


def read_model(config: dict[str, Any], version: tuple[int, int]) -> ModelSpec:
    """Read the configuration of a whole model.

    Raises:
        ShadergenError: SG0104 when the layers are not in the file, SG0105 when it contradicts
            itself.
    """
    name = config.get("class_name")
    if not isinstance(name, str):
        raise ShadergenError("SG0105", "the configuration does not name the model's class")
    inner = config.get("config")
    if not is_model(name, inner):
        raise ShadergenError(
            "SG0104",
            f"the file does not hold the layers of the model '{name}'",
            why="a subclassed model computes in Python code; Keras saves only the constructor's "
            "arguments",
            supported="Sequential and Functional models",
            help="rebuild it as a Functional model, copy the weights over, and save that",
        )
    return _Reader(version).model(config, 0)


def read_layer(data: Any, version: tuple[int, int], where: str) -> LayerSpec:
    """Read a layer that is written in the configuration of another.

    Raises:
        ShadergenError: SG0105 when it is none.
    """
    return _Reader(version).layer(data, where, 0)


def is_model(class_name: str, config: Any) -> bool:
    """Whether a configuration is that of a Sequential or Functional model."""
    if class_name == "Sequential":
        return isinstance(config, (dict, list))
    return (
        isinstance(config, dict)
        and isinstance(config.get("layers"), list)
        and "input_layers" in config
        and "output_layers" in config
    )


class _Reader:
    """Reads models of one version of Keras."""

    def __init__(self, version: tuple[int, int]) -> None:
        self.version = version

    def model(self, data: dict[str, Any], depth: int) -> ModelSpec:
        if depth > MAX_DEPTH:
            raise ShadergenError("SG0105", f"models are nested deeper than {MAX_DEPTH}")
        config = data["config"]
        if isinstance(config, list):  # Sequential before Keras 2.3
            config = {"layers": config}
        name = config.get("name") or data.get("name") or "model"
        if not isinstance(name, str):
            malformed(f"the model's name is {shown(name)}", "model")
        where = f"model '{name}'"
        entries = config.get("layers")
        if not isinstance(entries, list) or not entries:
            malformed("the model has no layers", where)
        specs = [self.layer(entry, where, depth) for entry in entries]
        layers = {spec.name: spec for spec in specs}
        if len(layers) < len(specs):
            twice = Counter(s.name for s in specs).most_common(1)[0][0]
            malformed(f"two layers are called '{twice}'", where)
        if data["class_name"] == "Sequential":
            spec = self.sequential(name, specs, data, config)
        else:
            spec = self.functional(name, layers, entries, config)
        classes = Counter(s.snake for s in spec.layers.values() if not s.is_operation)
        seen: Counter[str] = Counter()
        for layer in spec.layers.values():
            if not layer.is_operation:
                layer.rank, layer.siblings = seen[layer.snake], classes[layer.snake]
                seen[layer.snake] += 1
        return spec

    def layer(self, data: Any, where: str, depth: int) -> LayerSpec:
        if not isinstance(data, dict) or not isinstance(data.get("class_name"), str):
            malformed("an entry of 'layers' is not a layer", where)
        class_name, config = data["class_name"], data.get("config")
        inner = config if isinstance(config, dict) else {}
        name = data.get("name") or inner.get("name")
        if not isinstance(name, str) and isinstance(config, list):
            name = "sequential"
        if not isinstance(name, str) or not name:
            malformed(f"a layer of class {shown(class_name)} has no name", where)
        registered, module = data.get("registered_name"), data.get("module")
        build = data.get("build_config")
        spec = LayerSpec(
            name,
            class_name,
            registered if isinstance(registered, str) else class_name,
            module if isinstance(module, str) else "",
            inner,
            build.get("input_shape") if isinstance(build, dict) else None,
        )
        # In .h5 files, which do not name modules, layers say whether they are trainable, a few
        # of Keras's own only their type or their parts; operations say none, and Cast only a type.
        spec.is_operation = spec.module.startswith(("keras.src.ops", "keras.ops")) or (
            self.version[0] >= 3
            and not spec.module
            and "trainable" not in inner
            and not (class_name in BUILT_IN and ("dtype" in inner or "layers" in inner))
        )
        if is_model(class_name, config):
            spec.is_operation = False
            spec.model = self.model(data, depth + 1)
            spec.config = {"trainable": True}
        elif not isinstance(config, dict):
            malformed("the layer has no configuration", spec.described)
        return spec

    def sequential(
        self, name: str, specs: list[LayerSpec], data: dict[str, Any], config: dict[str, Any]
    ) -> ModelSpec:
        """Chain the layers; add an InputLayer where the file leaves it out."""
        first = specs[0]
        if first.class_name != "InputLayer":
            build = data.get("build_config")
            shapes = (
                first.config.get("batch_input_shape"),
                config.get("build_input_shape"),
                build.get("input_shape") if isinstance(build, dict) else None,
                first.build_shape,
                _input_shape(first.model),
            )
            shape = next((s for s in shapes if s is not None), None)
            entries = {"name": f"{first.name}_input", "batch_shape": shape}
            specs = [
                LayerSpec(f"{first.name}_input", "InputLayer", "InputLayer", "", entries),
                *specs,
            ]
        for before, spec in pairwise(specs):
            spec.calls = [CallSpec((Ref(before.name, 0, 0),), {})]
        outputs = [(specs[-1].name, Ref(specs[-1].name, 0, 0))]
        layers = {s.name: s for s in specs}
        return ModelSpec(name, layers, [Ref(specs[0].name, 0, 0)], outputs)

    def functional(
        self, name: str, layers: dict[str, LayerSpec], entries: list[Any], config: dict[str, Any]
    ) -> ModelSpec:
        where = f"model '{name}'"
        for spec, entry in zip(layers.values(), entries, strict=True):
            nodes = entry.get("inbound_nodes") or []
            if not isinstance(nodes, list):
                malformed("'inbound_nodes' is not a list", spec.described)
            spec.calls = [CallReader(layers, spec.described).read(node) for node in nodes]
        inputs = [ref for _, ref in endpoints(config["input_layers"], where)]
        outputs = list(endpoints(config["output_layers"], where))
        if not inputs or not outputs:
            malformed("the model has no inputs or no outputs", where)
        self.count_from_zero(layers, outputs)
        for ref in inputs:
            if ref.layer not in layers or ref.call or ref.result:
                malformed(f"input '{ref.layer}' is not a layer", where)
        used = [(s.described, r) for s in layers.values() for c in s.calls for r in c.references]
        for place, ref in [*used, *((where, ref) for _, ref in outputs)]:
            if ref.layer not in layers:
                malformed(
                    f"it reads the result of a layer '{ref.layer}', which does not exist", place
                )
            source = layers[ref.layer]
            calls = len(source.calls) or (source.class_name == "InputLayer")
            if not 0 <= ref.call < calls or ref.result < 0:
                what = f"result {ref.result} of call {ref.call} of layer '{ref.layer}'"
                malformed(f"the model reads {what}, which does not exist", place)
        return ModelSpec(name, layers, inputs, outputs)

    def count_from_zero(self, layers: dict[str, LayerSpec], outputs: list[tuple[str, Ref]]) -> None:
        """Renumber the calls of nested models, which Keras counts from 1 in places.

        A nested Functional model was called once when it was made. Keras 2 counts that call
        everywhere, Keras 3 only in the list of outputs.
        """
        nested = {name for name, spec in layers.items() if spec.model is not None}
        inner = [r for s in layers.values() for c in s.calls for r in c.references]
        first: dict[str, int] = {}
        for ref in [*inner, *(r for _, r in outputs)]:
            if ref.layer in nested:
                first[ref.layer] = min(first.get(ref.layer, ref.call), ref.call)
        last: dict[str, int] = {}
        for ref in inner:
            last[ref.layer] = max(last.get(ref.layer, 0), ref.call)

        def within(ref: Ref) -> Ref:
            if ref.layer not in nested:
                return ref
            if self.version[0] < 3:
                return ref._replace(call=ref.call - first[ref.layer])
            return ref._replace(call=ref.call - (last[ref.layer] >= len(layers[ref.layer].calls)))

        def outward(ref: Ref) -> Ref:
            if self.version[0] < 3 or ref.layer not in nested:
                return within(ref)
            sequential = layers[ref.layer].class_name == "Sequential"
            return ref if sequential or not ref.call else ref._replace(call=ref.call - 1)

        for spec in layers.values():
            spec.calls = [replaced(call, within) for call in spec.calls]
        outputs[:] = [(name, outward(ref)) for name, ref in outputs]


def _input_shape(model: ModelSpec | None) -> Any:
    if model is None or len(model.inputs) != 1:
        return None
    config = model.layers[model.inputs[0].layer].config
    return config.get("batch_shape") or config.get("batch_input_shape")
