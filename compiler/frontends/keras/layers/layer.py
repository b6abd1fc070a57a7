"""The interface of layer handlers: configuration, weights, and functions that make nodes."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError, count
from .....ir.graph import apply, constant
from .....records import dataclass, replace
from ....definitions import instantiate
from ..read.config import Config
from ..read.model import LayerSpec, Part, read_layer
from ..tensors import Tensor, arranged, features, plain, standard
from .qkeras import quantised

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from .....ir.formula_parser import Definition
    from .....ir.graph import Constant, Value
    from .....ir.ops import Op
    from ..read.weights import WeightStore

_MAX_INNER = 8
_DEEPEST_CHAIN = 64


@dataclass(frozen=True)
class Surroundings:
    """State that all layers of one model share.

    ``constants`` remembers the constants made for a layer, so that calls of a shared layer share
    them: by the layer's place in the tree and the shapes that the call asks for. ``parts``
    remembers the layers that are read from the configuration of another. ``run`` applies any
    layer, model or operation to the arguments of its call. ``fixed_batch``: the model itself says
    how many samples it takes.
    """

    version: tuple[int, int]
    data_format: str
    definitions: Mapping[str, Definition]
    weights: WeightStore
    handlers: Mapping[str, Callable[[Layer, list[Tensor]], Tensor | list[Tensor]]]
    run: Callable[[Layer], list[Tensor]]
    fixed_batch: bool
    constants: dict[Any, dict[str, Constant]] = field(default_factory=dict)
    parts: dict[Any, LayerSpec] = field(default_factory=dict)


@dataclass(frozen=True)
class Layer:
    """One layer, while its calls are turned into nodes.

    Attributes:
        chain: its specification, preceded by the nested models that contain it.
        around: what the model's layers share.
        depth: how many layers it is an activation of.
        args: positional arguments of the call, references already replaced by tensors.
        kwargs: its keyword arguments.
    """

    chain: tuple[LayerSpec, ...]
    around: Surroundings
    depth: int = 0
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> LayerSpec:
        return self.chain[-1]

    @property
    def name(self) -> str:
        """The name, with the names of nested models in front."""
        return "/".join(s.name for s in self.chain)

    @property
    def described(self) -> str:
        return f"layer '{self.name}' ({self.spec.class_name})"

    @property
    def config(self) -> Config:
        return Config(self.described, self.spec.config)

    @property
    def version(self) -> tuple[int, int]:
        return self.around.version

    @property
    def definitions(self) -> Mapping[str, Definition]:
        return self.around.definitions

    @property
    def data_format(self) -> str:
        value = self.config.get("data_format", default=self.around.data_format)
        if value == "default":
            return self.around.data_format
        if value not in ("channels_last", "channels_first"):
            self.config.malformed("data_format", "'channels_last' or 'channels_first'")
        return str(value)

    def apply(self, op: Op, *inputs: Value) -> Value:
        return apply(op, *inputs, layer=self.name)

    def feature_map(self, x: Tensor, axes: int = 2) -> Value:
        """Return an operand with so many spatial axes as N, C, spatial by the layer's data format.

        Raises:
            ShadergenError: SG0205 for another rank.
        """
        if x.rank != axes + 2:
            what = {1: "sequences", 2: "images", 3: "volumes"}.get(axes, "feature maps")
            raise ShadergenError(
                "SG0205",
                f"the layer takes {what} of rank {axes + 2}, not a tensor of rank {x.rank}",
                where=self.described,
            )
        return arranged(x, self._features(x.rank), self.name)

    def result(self, value: Value) -> Tensor:
        """Return a value of N, C, spatial as the layer's result."""
        return Tensor(value, self._features(value.type.rank))

    def _features(self, rank: int) -> tuple[int, ...]:
        """Return the order of a feature map's axes.

        Layers of sequences without a data format, such as UpSampling1D, have no other than
        channels_last, whatever the rest of the model has.
        """
        if rank == 3 and self.config.get("data_format", default=None) is None:
            return features(rank, "channels_last")
        return features(rank, self.data_format)

    def weights(
        self, shapes: Mapping[str, tuple[int, ...]], unread: Collection[str] = ()
    ) -> dict[str, NDArray[np.float32]]:
        """Read the layer's weights, all of the given shapes, in this order, but for ``unread``.

        Raises:
            ShadergenError: SG0106 when one is missing, has another shape, or is not finite.
        """
        if self.depth:
            self.config.unsupported(
                "activation", self.spec.class_name, "functions and layers without weights"
            )
        found = self.around.weights.find(self.chain)
        if len(found) != len(shapes):
            raise ShadergenError(
                "SG0106",
                f"the layer needs {count(len(shapes), 'weight')}, the file has {len(found)}",
                where=self.described,
                why=f"needed: {', '.join(shapes) or 'none'}; "
                f"found: {', '.join(w.name for w in found) or 'none'}",
            )
        for weight, (role, shape) in zip(found, shapes.items(), strict=True):
            if weight.shape != shape:
                raise ShadergenError(
                    "SG0106",
                    f"weight '{weight.name}' has shape {weight.shape}, not {shape}",
                    where=self.described,
                    why=f"the layer's configuration requires shape {shape} for the {role}",
                )
        arrays = {
            role: weight.read(self.described)
            for weight, role in zip(found, shapes, strict=True)
            if role not in unread
        }
        if not self.spec.is_quantised:
            return arrays
        return {role: quantised(self.config, role, array) for role, array in arrays.items()}

    def constants(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        prepare: Callable[[dict[str, NDArray[np.float32]]], dict[str, NDArray[np.float32]]]
        | None = None,
        unread: Collection[str] = (),
    ) -> dict[str, Constant]:
        """Return the layer's weights as constants, the same ones for every call of the layer.

        ``prepare`` turns the arrays of the file into those the operators take.
        """
        memo = self.around.constants
        key = (self.chain, tuple(shapes.items()))
        if key not in memo:
            arrays = self.weights(shapes, unread)
            memo[key] = {
                role: constant(np.ascontiguousarray(array), f"{self.name}/{role}")
                for role, array in (prepare(arrays) if prepare else arrays).items()
            }
        return memo[key]

    def implements(self, class_name: str) -> bool:
        return class_name in self.around.handlers

    def compute(self, *inputs: Tensor) -> Tensor | list[Tensor]:
        """Apply the handler of the layer's class."""
        return self.around.handlers[self.spec.class_name](self, list(inputs))

    def part(self, data: Any, names: tuple[str, ...], which: slice = slice(None)) -> Layer:
        """Return a layer that this one contains; see :class:`..read.model.Part`.

        Args:
            data: its configuration within this one's.
            names: what this one calls it.
            which: of this one's weights are its own.
        """
        memo, key = self.around.parts, (self.chain, names)
        if key not in memo:
            spec = read_layer(data, self.version, self.described)
            spec.part = Part(names, which)
            memo[key] = spec
        if len(self.chain) > _DEEPEST_CHAIN:
            self.config.malformed(names[0], "nested less deeply")
        return Layer((*self.chain, memo[key]), self.around)

    def applied(self, *inputs: Tensor) -> list[Tensor]:
        """Apply a part, whatever it is, to tensors."""
        return self.around.run(replace(self, args=inputs))

    def inner(self, class_name: str, config: Any) -> Layer:
        """Return an activation layer that is written inside this layer's configuration."""
        if self.depth >= _MAX_INNER or not isinstance(config, dict):
            self.config.malformed("activation", "the name of a function or a layer")
        spec = LayerSpec(self.spec.name, class_name, class_name, "keras.layers", config)
        return Layer((*self.chain[:-1], spec), self.around, self.depth + 1)

    def defined(
        self, definition: Definition, inputs: Sequence[Tensor], attributes: Mapping[str, Any]
    ) -> Tensor:
        """Apply a user's definition, which sees images as NCHW."""
        operands = [
            arranged(x, standard(x.rank, self.around.data_format), self.name) for x in inputs
        ]
        try:
            value = instantiate(definition, operands, attributes, self.definitions, self.name)
        except ShadergenError as error:
            raise error.at(self.described) from None
        rank = len(value.shape)
        axes = standard(rank, self.around.data_format) if rank == 4 else plain(rank)
        return Tensor(value, axes)

    def example(self, name: str, inputs: int) -> str:
        """Return a line that would define ``name``."""
        quoted = name if name.isidentifier() else f'"{name}"'
        names = ("x", "y", "z", "w")[: max(inputs, 1)]
        body = " + ".join(names) if len(names) > 1 else "x * sigmoid(x)"
        return f"{quoted}({', '.join(names)}) = {body}"
