"""One ONNX node as its handler sees it: operands, typed attributes, and how to emit.

Handlers (``operators``) never touch protobuf. What they do not read of a node is refused by
:meth:`OnnxNode.finish`, so that no attribute is dropped silently.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ShadergenError
from ....ir.graph import Constant, Value, apply, constant
from .tensors import read_tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx.onnx_ml_pb2 import AttributeProto, NodeProto

    from ....ir.ops import Op

COMPUTED_LIMIT = 1 << 24
COMPUTED_PER_WEIGHT = 4
LARGEST_TENSOR = 1 << 31
LONGEST_LIST = 1 << 10
HIGHEST_RANK = 8  # in passing: a pixel shuffle is spelled with 6; textures hold 4


@dataclass(frozen=True, eq=False)
class Known:
    """A tensor known at compile time, of any element type and rank."""

    name: str
    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @cached_property
    def operand(self) -> Constant:
        """The tensor as the IR's operators take it.

        Raises:
            ShadergenError: SG0106 when an element is not finite, SG0206 for one that is no float.
        """
        if self.array.dtype.kind != "f":
            raise ShadergenError(
                "SG0206",
                f"'{self.name}' has element type {self.array.dtype}",
                why="tensors are computed in floating point; integers are for shapes and the like",
            )
        check_shape(self.name, self.shape)
        with np.errstate(over="ignore"):
            result = constant(self.array, self.name)
        if not np.isfinite(result.data).all():
            raise ShadergenError(
                "SG0106",
                f"'{self.name}' holds NaN or infinity",
                help="the training has diverged, or the values exceed float32; export again",
            )
        return result


@dataclass(frozen=True, eq=False)
class Mask:
    """A tensor of truth values, computed as 0 and 1."""

    value: Value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


Tensor = Known | Mask | Value


@dataclass
class Budget:
    """How many elements the importer may still compute: shape arithmetic must not fill memory.

    Every weight that is really in the file adds to it, since exporters rearrange weights.
    """

    left: int = COMPUTED_LIMIT

    def add_weight(self, elements: int) -> None:
        self.left += COMPUTED_PER_WEIGHT * elements

    def take(self, elements: int) -> None:
        """Allow for a tensor; raise SG0401 when all computed constants together are too large."""
        self.left -= elements
        if self.left < 0:
            raise ShadergenError(
                "SG0401",
                "the constants that the model computes are too large",
                why=f"together they exceed {COMPUTED_LIMIT} elements and "
                f"{COMPUTED_PER_WEIGHT} times the weights",
            )


def check_shape(name: str, shape: tuple[int, ...]) -> None:
    """Refuse tensors that the IR cannot hold (SG0206) or no device could (SG0401)."""
    text = "x".join(map(str, shape))
    if len(shape) > HIGHEST_RANK:
        raise ShadergenError(
            "SG0206",
            f"'{name}' has rank {len(shape)}",
            why=f"its shape is {text}",
            supported=f"rank 0 to {HIGHEST_RANK}",
        )
    if prod(shape) > LARGEST_TENSOR:
        raise ShadergenError(
            "SG0401",
            f"'{name}' has {prod(shape)} elements",
            why=f"its shape is {text}",
            supported=f"up to {LARGEST_TENSOR}",
        )


@dataclass
class OnnxNode:
    """A node with its operands resolved.

    Attributes:
        proto: the node.
        layer: what people call it.
        version: of its operator set.
        inputs: None where the model leaves an optional one out.
        used: which of its results are read.
        folder: the model's.
        budget: shared by all nodes.
    """

    proto: NodeProto
    layer: str
    version: int
    inputs: tuple[Tensor | None, ...]
    used: tuple[bool, ...]
    folder: Path
    budget: Budget
    attributes: dict[str, AttributeProto] = field(init=False)
    unread: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.attributes = {a.name: a for a in self.proto.attribute}
        self.unread = set(self.attributes)
        if len(self.attributes) != len(self.proto.attribute):
            raise ShadergenError("SG0105", "an attribute is given twice")
        for name, a in self.attributes.items():
            if a.ref_attr_name:
                raise ShadergenError("SG0105", f"attribute '{name}' refers to a function's")

    @property
    def op(self) -> str:
        return self.proto.op_type

    def finish(self) -> None:
        """Refuse what the handler did not read.

        Raises:
            ShadergenError: SG0202 naming the attribute or the result.
        """
        for name in sorted(self.unread):
            raise ShadergenError(
                "SG0202",
                f"attribute '{name}' of {self.op} is not implemented",
                why=f"{self.op} of operator set {self.version}",
                supported=", ".join(sorted(set(self.attributes) - self.unread)),
            )

    # Attributes

    def has(self, name: str) -> bool:
        return name in self.attributes

    def ignore(self, *names: str) -> None:
        """Declare attributes that make no difference here."""
        self.unread.difference_update(names)

    def _read(self, name: str, kind: str, number: int, get: Callable[[AttributeProto], Any]) -> Any:
        if name not in self.attributes:
            raise ShadergenError("SG0105", f"attribute '{name}' of {self.op} is missing")
        self.unread.discard(name)
        proto = self.attributes[name]
        if proto.type not in (number, 0):  # 0: written before attributes had types
            raise ShadergenError("SG0105", f"attribute '{name}' of {self.op} is not {kind}")
        return get(proto)

    def integer(self, name: str, default: int | None = None) -> int:
        if default is not None and name not in self.attributes:
            return default
        return int(self._read(name, "an integer", 2, lambda a: a.i))

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        if default is not None and name not in self.attributes:
            return default
        return tuple(map(int, self._read(name, "a list of integers", 7, lambda a: a.ints)))

    def number(self, name: str, default: float | None = None) -> float:
        """Return a float as the shortest decimal that is the same in float32."""
        if default is not None and name not in self.attributes:
            return default
        stored = np.float32(self._read(name, "a number", 1, lambda a: a.f))
        if not np.isfinite(stored):
            raise ShadergenError("SG0105", f"attribute '{name}' of {self.op} is {stored}")
        return float(str(stored))

    def numbers(self, name: str) -> tuple[float, ...]:
        return tuple(map(float, self._read(name, "a list of numbers", 6, lambda a: a.floats)))

    def text(self, name: str, default: str | None = None) -> str:
        if default is not None and name not in self.attributes:
            return default
        data: bytes = self._read(name, "a text", 3, lambda a: a.s)
        return data.decode("utf-8", "replace")

    def tensor(self, name: str) -> NDArray[Any]:
        proto = self._read(name, "a tensor", 4, lambda a: a.t)
        return read_tensor(proto, self.folder, f"{name} of {self.layer}")

    def choice(self, name: str, supported: tuple[Any, ...], default: Any = None) -> Any:
        """Return a text or an integer out of ``supported``, the first of which is the default.

        Raises:
            ShadergenError: SG0202 naming the attribute, its value and what is supported.
        """
        default = supported[0] if default is None else default
        read = self.integer if isinstance(default, int) else self.text
        value = read(name, default)
        if value not in supported:
            raise self.refusal(name, value, supported)
        return value

    def refusal(self, name: str, value: object, supported: tuple[Any, ...]) -> ShadergenError:
        """Return the error for an attribute's value that is not implemented."""
        return ShadergenError(
            "SG0202",
            f"attribute {name}={value} of {self.op} is not implemented",
            supported=", ".join(f"{name}={s}" for s in supported),
        )

    # Operands

    def given(self, index: int) -> bool:
        """Return whether an optional input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def item(self, index: int) -> Tensor:
        item = self.inputs[index] if index < len(self.inputs) else None
        if item is None:
            raise ShadergenError("SG0105", f"input {index} of {self.op} is missing")
        return item

    def shape(self, index: int) -> tuple[int, ...]:
        return self.item(index).shape

    def operand(self, index: int) -> Value:
        """Return an input as a floating-point tensor of the IR."""
        item = self.item(index)
        if isinstance(item, Known):
            return item.operand
        if isinstance(item, Mask):
            raise ShadergenError(
                "SG0206",
                f"input {index} of {self.op} is a tensor of truth values",
                help="cast it to float first",
            )
        return item

    def mask(self, index: int) -> Value:
        """Return an input of truth values as zeros and ones."""
        item = self.item(index)
        if isinstance(item, Known) and item.array.dtype.kind == "b":
            return Known(item.name, item.array.astype(np.float32)).operand
        if isinstance(item, Mask):
            return item.value
        raise ShadergenError("SG0105", f"input {index} of {self.op} is not of type bool")

    def known(self, index: int, role: str) -> NDArray[Any]:
        """Return an input that must be known at compile time.

        Raises:
            ShadergenError: SG0202 naming its role when it is not.
        """
        item = self.item(index)
        if not isinstance(item, Known):
            raise ShadergenError(
                "SG0202",
                f"{role} of {self.op} must be known at compile time",
                why="it is computed from the model's inputs",
            )
        return item.array

    def weight(self, index: int, role: str) -> Constant:
        """Return a floating-point input that must be known at compile time."""
        self.known(index, role)
        value = self.operand(index)
        assert isinstance(value, Constant)
        return value

    def known_integers(self, index: int, role: str) -> tuple[int, ...]:
        array = self.known(index, role)
        if array.dtype.kind not in "iu" or array.ndim > 1 or array.size > LONGEST_LIST:
            raise ShadergenError(
                "SG0105",
                f"{role} of {self.op} must be a list of integers",
                why=f"it is a tensor of shape {list(array.shape)} and type {array.dtype}",
            )
        return tuple(array.reshape(-1).tolist())

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from the left; negative ones count from the right."""
        if not -rank <= axis < rank:
            raise ShadergenError("SG0105", f"axis {axis} of a tensor of rank {rank}")
        return axis % rank

    def axes(self, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        result = tuple(self.axis(a, rank) for a in axes)
        if len(set(result)) != len(result):
            raise ShadergenError("SG0105", f"an axis is repeated in {list(axes)}")
        return result

    # Results

    def apply(self, op: Op, *operands: Value) -> Value:
        """Apply an operator of the IR; of constants, compute the result now."""
        value = apply(op, *operands, layer=self.layer)
        check_shape(self.layer, value.shape)
        arrays = [v.data for v in operands if isinstance(v, Constant)]
        if len(arrays) < len(operands) or value.type.size > self.budget.left:
            return value
        self.budget.take(value.type.size)
        with np.errstate(all="ignore"):
            return constant(np.asarray(op.reference(*arrays)), self.layer)

    def move(self, op: Op, *indices: int) -> Tensor:
        """Apply an operator that moves elements and makes no new ones; they may be of any type."""
        items = [self.item(i) for i in indices]
        arrays = [item.array for item in items if isinstance(item, Known)]
        if len(arrays) < len(items):
            return self.apply(op, *map(self.operand, indices))
        result = np.asarray(op.reference(*arrays))
        if result.base is None:  # not a view of what is there anyway
            self.budget.take(result.size)
        return Known(self.layer, result)
