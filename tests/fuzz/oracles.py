"""What a model ought to compute: onnxruntime's results, or Keras's."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import onnx

from . import reference
from .case import Arrays, Case
from .reference import TRIES


class Oracle(Protocol):
    """Runs a model.

    Attributes:
        half: whether it rounds to 16 bits somewhere, which the compiler does not.
    """

    half: bool

    def run(self, feed: Arrays) -> list[Any]:
        """Return the results in the model's order.

        Raises:
            Failed: when the model does not take the inputs.
        """

    def movement(self, feed: Arrays, noise: float, weights: float, tries: int = TRIES) -> list[Any]:
        """Return how far rounding errors of a size move each element of the results."""

    def largest(self, feed: Arrays) -> float:
        """Return the largest number that the model computes on the way."""


class OnnxOracle:
    """onnxruntime."""

    def __init__(self, case: Case) -> None:
        self.model = onnx.load_from_string(case.model)
        self.half = any(
            a.name == "to" and a.i == onnx.TensorProto.FLOAT16
            for node in self.model.graph.node
            for a in node.attribute
        )

    def run(self, feed: Arrays) -> list[Any]:
        return list(reference.run(self.model, feed).values())

    def movement(self, feed: Arrays, noise: float, weights: float, tries: int = TRIES) -> list[Any]:
        moved = reference.movement(self.model, feed, noise, weights, 1, tries)
        return [moved[o.name] for o in self.model.graph.output]

    def largest(self, feed: Arrays) -> float:
        values = reference.run_all(self.model, feed).values()
        return max(float(np.abs(v.astype(np.float64)).max(initial=0)) for v in values)


def oracle_for(case: Case) -> Oracle:
    """Return what computes a case's results."""
    if case.suffix == ".onnx":
        return OnnxOracle(case)
    from .keras_oracle import KerasOracle  # Keras takes seconds to import

    return KerasOracle(case)
