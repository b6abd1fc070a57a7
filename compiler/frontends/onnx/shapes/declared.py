"""Compare the shapes that a file declares of computed values with the shapes computed here.

If both are numbers and differ, either the declaration is stale (a tool changed the model) or this
importer misreads an operator.

- Outputs: refused, unless ``--outputs`` names the value, because applications rely on the shape.
- Intermediate values: refused, unless ONNX's shape inference agrees with the computed shape. Then
  the declaration is stale; a note says so.
- With chosen dynamic sizes, declared intermediate sizes are those of the exporter's example. Only
  outputs are compared, and noted. With sizes in place of declared ones, nothing is compared.
- A dynamic batch becomes 1. Differences from the exporter's batch are noted: on axis 0, and where
  ONNX's shape inference agrees with the computed shape.

Symbolic names are not compared, because exporters use one name for different sizes. Declared sizes
of 0 are not compared either: old exporters write them for unknown sizes. Some exporters write a
scalar shape for an unknown shape; a note says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.dimensions import is_dynamic
from ..read.types import dimensions
from .inference import infer_types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...request import Request
    from ..read.model import Model

Shape = tuple[int, ...]


@dataclass
class DeclaredShapes:
    """Declared shapes and their differences from computed ones.

    Args:
        model: the model.
        request: its ``outputs`` are values of the model.
    """

    model: Model
    request: Request
    _inputs: dict[str, Shape] = field(default_factory=dict)
    _chosen: bool = False
    _replaced: bool = False
    _undeclared_batch: bool = False
    _stale: dict[str, str] = field(default_factory=dict)

    def add_input(self, name: str, declared: Sequence[int | None], shape: Shape) -> None:
        """Take note of an input's shape, and of whether anything but the batch was chosen.

        Args:
            name: of the input.
            declared: its shape in the file.
            shape: as it is compiled.
        """
        self._inputs[name] = shape
        own = [1 if axis == 0 and s is None else s for axis, s in enumerate(declared)]
        self._undeclared_batch |= own != list(declared)
        dynamic = self.request.dynamic is not None
        self._chosen |= dynamic or bool(self.request.sizes) or own != list(shape)
        self._replaced |= not dynamic and bool(_contradicting(declared, shape))

    def check(self, name: str, shape: Shape) -> None:
        """Compare the shape of a value that was computed with the one declared.

        Raises:
            ShadergenError: SG0105 when they contradict each other; see the module.
        """
        declared = self.model.shapes.get(name)
        if self._replaced or declared is None or not _contradicting(declared, shape):
            return
        output = name in self.model.body.outputs
        said = f"'{name}' has shape {_text(shape)} where the model declares {_text(declared)}"
        if self._chosen or name in self.request.outputs or not declared:
            if output:
                self._stale[name] = said
            return
        confirmed = self._inference_gives(name, declared, shape)
        of_batch = self._undeclared_batch and (confirmed or _contradicting(declared, shape) == [0])
        if of_batch or (confirmed and not output):
            self._stale[name] = said
            return
        why = "either the declared shape is stale, or shadergen misreads the operator"
        if confirmed:
            why = f"ONNX's shape inference gives {_text(shape)}, too: the declared shape is stale"
        remove = "if declared shapes are stale, delete them: del model.graph.value_info[:]"
        accept = f"to ignore the declared shape, name this output: --outputs {name}"
        raise ShadergenError("SG0105", said, why=why, help=accept if output else remove)

    def _inference_gives(self, name: str, declared: Sequence[int | None], shape: Shape) -> bool:
        """Whether ONNX's shape inference agrees where the declared shape does not."""
        inferred = self._inferred.get(name)
        if inferred is None or len(inferred) != len(shape):
            return False
        axes: Sequence[int] = range(len(shape))
        if len(declared) == len(shape):
            axes = _contradicting(declared, shape)
        return all(inferred[axis] == shape[axis] for axis in axes)

    @cached_property
    def _inferred(self) -> Mapping[str, Sequence[int | None]]:
        types = infer_types(self.model.proto, self._inputs, declared=False)
        return {n: dimensions(t.tensor_type.shape) for n, t in types.items()}

    def notes(self) -> list[str]:
        """Return one line about stale declarations."""
        if not self._stale:
            return []
        more = f", and so on for {len(self._stale) - 1} more" if len(self._stale) > 1 else ""
        return [f"stale shapes in the file: {next(iter(self._stale.values()))}{more}"]


def _contradicting(declared: Sequence[int | None], shape: Shape) -> Sequence[int]:
    """Return the axes at which two shapes have different numbers, all of them for other ranks."""
    if len(declared) != len(shape):
        return range(max(len(declared), len(shape)))
    pairs = enumerate(zip(declared, shape, strict=True))
    return [axis for axis, (a, b) in pairs if a and not is_dynamic(b) and a != b]


def _text(shape: Sequence[int | None]) -> str:
    return "x".join("?" if s is None else str(s) for s in shape) or "no axes"
