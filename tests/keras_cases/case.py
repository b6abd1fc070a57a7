"""What a case is, and how a model is built from one, with Keras 2 as with Keras 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

Shape = tuple[int, ...]

# Shapes without the batch, small and odd, shared so that a reference compiles for few of them.
VECTOR = (6,)
SEQUENCE = (7, 4)
IMAGE = (7, 6, 4)
PLANES = (4, 7, 6)  # an image with its channels first
VOLUME = (5, 4, 6, 2)
FRAMES = (3, 6, 5, 2)  # a sequence of images


@dataclass(frozen=True)
class Case:
    """A model in few words.

    Attributes:
        name: what the case tries; unique. For a layer, the call that makes it.
        shapes: of the inputs, without the batch.
        build: from ``keras`` and the inputs, in a list, to the output or outputs. None: the name
            is the constructor of a layer, called with the inputs.
        keras: the major versions that have what it tries.
        refused: the error code where it must be refused, else empty.
        whole: inputs are whole numbers from 0 up to this, exclusive; 0 for others.
        dtype: of the inputs.
        batch: the size the model fixes; None: it leaves it open, and one sample is taken.
        spread: a layer takes its inputs as so many arguments, not as a list.
        define: lines of a --define file.
        tolerance: how far results may lie apart, as a part of the largest, or of 1.
        values: changes the inputs that would be drawn.
        instead: from ``keras`` and the model, one that Keras can run here and that computes the
            same. None: the model itself.
    """

    name: str
    shapes: tuple[Shape, ...]
    build: Callable[[Any, list[Any]], Any] | None = None
    keras: tuple[int, ...] = (2, 3)
    refused: str = ""
    whole: int = 0
    dtype: str = "float32"
    batch: int | None = None
    spread: bool = False
    define: str = ""
    tolerance: float = 1e-4
    values: Callable[[list[np.ndarray]], list[np.ndarray]] | None = None
    instead: Callable[[Any, Any], Any] | None = None

    @property
    def seed(self) -> int:
        return crc32(self.name.encode())

    def model(self, keras: Any) -> Any:
        """Build the model with weights that are drawn from the case's seed."""
        inputs = [
            keras.Input(batch_shape=(self.batch, *s), dtype=self.dtype, name=f"in{k}")
            for k, s in enumerate(self.shapes)
        ]
        if self.build is not None:
            outputs = self.build(keras, inputs)
        else:
            layer = eval(self.name, {**vars(keras.layers), "keras": keras, "np": np})
            outputs = layer(*inputs) if self.spread or len(inputs) == 1 else layer(inputs)
        model = outputs if isinstance(outputs, keras.Model) else keras.Model(inputs, outputs)
        randomise(model, np.random.default_rng(self.seed))
        return model

    def inputs(self) -> list[np.ndarray]:
        """Return the inputs, drawn from the case's seed."""
        rng = np.random.default_rng(self.seed + 1)
        arrays = []
        for shape in self.shapes:
            if self.whole:
                array = rng.integers(0, self.whole, (self.batch or 1, *shape))
            else:
                # Odd multiples of 2^-7 compress well, and are no ties of any rounding.
                array = rng.integers(-128, 128, (self.batch or 1, *shape)) / 64 + 1 / 128
            arrays.append(array.astype(self.dtype))
        return arrays if self.values is None else self.values(arrays)


def randomise(model: Any, rng: np.random.Generator) -> None:
    """Give every weight a value; what stands for a variance or a deviation a positive one."""
    for weight in model.weights:
        name = getattr(weight, "path", weight.name)
        if "count" in name or "seed" in name:
            continue
        steps = (24, 64) if "variance" in name else (-44, 58)
        weight.assign((rng.integers(*steps, weight.shape) / 64).astype("float32"))
    for layer in model.layers:
        if hasattr(layer, "finalize_state"):  # statistics that are kept in another form too
            layer.finalize_state()


def layers(shapes: Shape | list[Shape], *calls: str, **options: Any) -> list[Case]:
    """Return a case for each layer: a constructor's call, which is its name."""
    several = shapes if isinstance(shapes, list) else [shapes]
    return [Case(" ".join(call.split()), tuple(several), **options) for call in calls]


def model(*shapes: Shape, **options: Any) -> Callable[[Callable[[Any, list[Any]], Any]], Case]:
    """Turn a function of keras and the inputs into a case of the function's name."""

    def made(build: Callable[[Any, list[Any]], Any]) -> Case:
        name = build.__name__.strip("_").replace("_", " ")
        return Case(name, shapes, build, **options)

    return made
