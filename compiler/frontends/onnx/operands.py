"""Values of an ONNX model during the import: graph tensors, known arrays, lists of them."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ShadergenError
from ....ir.dimensions import DynamicDimensionError, has_dynamic, is_dynamic
from ....ir.dimensions.fraction import SymbolicFraction, as_fraction
from ....ir.graph import Input, Result, Value, apply, constant
from ....ir.ops import Concat, Range, Reshape
from ....ir.ops.base import MOST_OPERANDS
from ....ir.types import EXACT_INTEGERS, MAX_RANK, TensorType
from ....records import dataclass
from .read.narrow_types import NARROW
from .read.types import STRING, number_of_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

LARGEST_TENSOR = 1 << 31


@dataclass(frozen=True, eq=False)
class Known:
    """A tensor known at compile time, of any element type and rank."""

    name: str
    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def type(self) -> TensorType:
        """Of :attr:`operand`."""
        kind = self.array.dtype.kind
        dtype = {"f": "float32", "O": "int64"}.get(kind, self.array.dtype.name)
        return TensorType(self.shape, "float32" if has_fractions(self.array) else dtype)

    @cached_property
    def operand(self) -> Value:
        """The tensor as the IR's operators take it: floats as float32, all else as it is.

        A constant, unless some of its numbers are dynamic.

        Raises:
            ShadergenError: SG0106 for what float32 cannot hold: NaN, and float64 beyond its range.
                SG0206 for integers that it does not hold exactly.
        """
        check_shape(self.name, self.shape)
        if self.array.dtype.kind == "O":
            return self._dynamic_operand()
        if self.array.dtype.kind in "iu":
            self._check_exact()
        with np.errstate(over="ignore"):
            result = constant(self.array, self.name)
        if self.array.dtype.kind != "f" or not self.array.size:
            return result
        if np.isnan(result.data.min()):
            raise ShadergenError(
                "SG0106",
                f"'{self.name}' holds NaN",
                help="the training diverged; export an earlier checkpoint",
            )
        if self.array.dtype == np.float64 and (np.isinf(result.data) > np.isinf(self.array)).any():
            raise ShadergenError(
                "SG0106",
                f"'{self.name}' holds numbers beyond the range of float32",
                why="all arithmetic is float32",
            )
        return result

    def _dynamic_operand(self) -> Value:
        if not 1 <= self.array.size <= MOST_OPERANDS:
            raise DynamicDimensionError(f"a tensor of {self.array.size} values computed from sizes")
        dtype = self.type.dtype
        ratios = map(as_fraction, self.array.flat)
        numbers = [
            apply(Range(1, x.numerator, 0, x.denominator, dtype), layer=self.name) for x in ratios
        ]
        joined = apply(Concat(0), *numbers, layer=self.name) if numbers[1:] else numbers[0]
        return apply(Reshape(self.shape), joined, layer=self.name) if self.shape != (1,) else joined

    def _check_exact(self) -> None:
        low, high = (int(self.array.min()), int(self.array.max())) if self.array.size else (0, 0)
        if max(-low, high) > EXACT_INTEGERS:
            raise ShadergenError(
                "SG0206",
                f"'{self.name}' holds the integer {high if high > EXACT_INTEGERS else low}",
                why="integers are computed as float32, which is exact up to 2^24",
                supported=f"integers from {-EXACT_INTEGERS} to {EXACT_INTEGERS}",
            )


Tensor = Known | Value


@dataclass(frozen=True, eq=False)
class Narrow:
    """A tensor of one of ``narrow_types``'s element types, which few operators take.

    Or of strings, each held as the number that stands for it (:attr:`~..base.Request.strings`).
    """

    tensor: Tensor
    data_type: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape


@dataclass(frozen=True, eq=False)
class TensorList:
    """A sequence, whose length is known at compile time; or an optional that holds nothing."""

    items: tuple[Tensor | Narrow, ...] = ()
    nothing: bool = False


Item = Tensor | Narrow | TensorList


def typed_item(tensor: Tensor, data_type: int) -> Tensor | Narrow:
    """Return a tensor as operators take it; ``data_type`` is ONNX's number of its type."""
    return Narrow(tensor, data_type) if data_type in (*NARROW, STRING) else tensor


def element_type(item: Tensor | Narrow) -> int:
    """Return ONNX's number of a tensor's element type."""
    if isinstance(item, Narrow):
        return item.data_type
    if isinstance(item, Known) and item.array.dtype.kind != "O":
        return number_of_type(item.array.dtype)
    return number_of_type(np.dtype(item.type.dtype))


def inputs_behind(item: Item) -> tuple[Input, ...]:
    """Return the model's inputs that a tensor is computed from."""
    return tuple(value for value in behind(item) if isinstance(value, Input))


def is_computed_from_sizes(item: Item) -> bool:
    """Whether a tensor is computed from constants and dynamic dimensions only."""
    values = behind(item)
    nodes = (value.node for value in values if isinstance(value, Result))
    return not inputs_behind(item) and any(has_dynamic(node.op) for node in nodes)


def behind(item: Item) -> dict[Value, None]:
    """Return every value that a tensor is computed from, itself included."""
    seen: dict[Value, None] = {}
    tensor = item.tensor if isinstance(item, Narrow) else item
    todo = [tensor] if isinstance(tensor, Value) else []
    while todo:
        value = todo.pop()
        if value not in seen:
            seen[value] = None
            todo.extend(value.node.inputs if isinstance(value, Result) else ())
    return seen


def whole_numbers(sizes: Sequence[int]) -> NDArray[Any]:
    """Return a list of integers as an array, of objects where some are dynamic."""
    if not any(map(is_dynamic, sizes)):
        return np.array(sizes, np.int64)
    return objects((len(sizes),), sizes)


def has_fractions(array: NDArray[Any]) -> bool:
    """Whether an array is of fractions of dynamic dimensions, in place of floats."""
    return array.dtype.kind == "O" and any(isinstance(x, SymbolicFraction) for x in array.flat)


def has_dynamic_fractions(array: NDArray[Any]) -> bool:
    """Whether a fraction among them is dynamic."""
    return array.dtype.kind == "O" and any(
        isinstance(x, SymbolicFraction) and is_dynamic(x.numerator) for x in array.flat
    )


def objects(shape: tuple[int, ...], items: Iterable[object]) -> NDArray[Any]:
    """Return an array of objects, which numpy would ask for numbers otherwise."""
    array = np.empty(shape, object)
    for k, item in enumerate(items):
        array.flat[k] = item
    return array


def check_shape(name: str, shape: tuple[int, ...]) -> None:
    """Refuse tensors that the IR cannot hold (SG0206) or no device could (SG0401)."""
    text = "x".join(map(str, shape))
    if len(shape) > MAX_RANK:
        raise ShadergenError(
            "SG0206",
            f"'{name}' has rank {len(shape)}",
            why=f"its shape is {text}",
            supported=f"rank 0 to {MAX_RANK}",
        )
    if prod(shape) > LARGEST_TENSOR:
        raise ShadergenError(
            "SG0401",
            f"'{name}' has {prod(shape)} elements",
            why=f"its shape is {text}",
            supported=f"up to {LARGEST_TENSOR}",
        )
