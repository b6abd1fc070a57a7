"""The arguments of a recorded call, read with types checked; what nobody reads is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .....errors import ShadergenError
from .....ir.graph import Constant
from ..read.config import is_integer, is_number, shown, truth
from ..tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MEANINGLESS = ("name", "trainable", "dtype_policy")  # entries that change no result
_DEFAULTS = {"decimals": 0}  # entries that change no result while they have this value


class Arguments:
    """Positional and keyword arguments; a name stands for a position or a keyword.

    Args:
        where: the call, as messages show it.
        args: positional arguments, references already replaced by tensors.
        kwargs: keyword arguments, and the configuration of a keras.ops node.
    """

    def __init__(self, where: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.where = where
        self.args = list(args)
        self.kwargs = dict(kwargs)
        self.read: set[int | str] = set(_MEANINGLESS)

    def malformed(self, name: str, wanted: str) -> NoReturn:
        """Raise SG0105: an argument is absent or of the wrong kind."""
        raise ShadergenError("SG0105", f"argument '{name}' must be {wanted}", where=self.where)

    def unsupported(self, name: str, value: object, supported: str = "") -> NoReturn:
        """Raise SG0202: an argument is meaningful but not implemented, or only these values."""
        raise ShadergenError(
            "SG0202",
            f"{name}={shown(value)} is not implemented",
            where=self.where,
            supported=f"{name}: {supported}" if supported else f"{name}: None, or omitted",
        )

    def refuse(self, what: str, supported: str = "") -> NoReturn:
        """Raise SG0202: something else is not implemented."""
        raise ShadergenError(
            "SG0202", f"{what} is not implemented", where=self.where, supported=supported
        )

    def value(self, position: int | None, *names: str) -> Any:
        """Return the argument at a position or under one of the names, or None."""
        if position is not None and position < len(self.args):
            self.read.add(position)
            if self.args[position] is not None:
                return self.args[position]
        found = None
        for name in names:
            self.read.add(name)
            if found is None:
                found = self.kwargs.get(name)
        return found

    def ignore(self, *names: str) -> None:
        """Count keywords as read that change no result."""
        self.read |= set(names)

    def finish(self) -> None:
        """Refuse arguments that nothing has read.

        Raises:
            ShadergenError: SG0202 naming the first.
        """
        for position, value in enumerate(self.args):
            if position not in self.read and value is not None:
                self.unsupported(f"argument {position + 1}", value)
        for name, value in self.kwargs.items():
            if name not in self.read and value is not None and value != _DEFAULTS.get(name):
                self.unsupported(name, value)

    def flag(self, position: int | None, default: bool, *names: str) -> bool:
        value = self.value(position, *names)
        flag = truth(default if value is None else value)
        if flag is None:
            self.malformed(names[0], "true or false, or 1 or 0")
        return flag

    def axes(
        self, position: int | None, x: Tensor, default: int | None, *names: str
    ) -> tuple[int, ...]:
        """Return axes of x counted from the left; without a default, all of them."""
        value = known(self.value(position, *names))
        value = default if value is None else value
        if value is None:
            return tuple(range(x.rank))
        axes = [value] if is_integer(value) else value
        if not isinstance(axes, (list, tuple)) or not all(
            is_integer(a) and -x.rank <= a < x.rank for a in axes
        ):
            self.malformed(names[0], f"axes of a tensor of rank {x.rank}")
        found = tuple(a % x.rank for a in axes)
        if len(set(found)) < len(found):
            self.malformed(names[0], "axes, each named once")
        return found

    def axis(self, position: int | None, x: Tensor, default: int, *names: str) -> int:
        """Return one axis of x counted from the left."""
        axes = self.axes(position, x, default, *names)
        if len(axes) != 1:
            self.unsupported(names[0], list(axes), "one axis")
        return axes[0]

    def tensor(self, position: int | None, *names: str) -> Tensor:
        value = self.value(position, *names)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, Tensor):
            self.malformed(names[0], "a tensor")
        return value

    def operand(self, position: int | None, *names: str) -> Tensor | np.ndarray | float:
        """Return a tensor, an array or a finite number."""
        return self._operand(self.value(position, *names), names[0])

    def _operand(self, value: Any, name: str) -> Tensor | np.ndarray | float:
        if isinstance(value, (Tensor, np.ndarray)):
            return value if isinstance(value, Tensor) or value.ndim else float(value)
        if isinstance(value, list) and value:
            try:
                with np.errstate(over="ignore"):
                    array = np.asarray(value, np.float32)
            except (ValueError, TypeError, OverflowError):
                self.malformed(name, "a tensor or an array of numbers")
            if np.isfinite(array).all():
                return array
        if not is_number(value) or not math.isfinite(value):
            self.malformed(name, "a tensor, an array or a finite number")
        return float(value)

    def operands(self, position: int, *names: str) -> list[Tensor | np.ndarray | float]:
        value = self.value(position, *names)
        if isinstance(value, Tensor):
            value = [value]
        if not isinstance(value, list) or not value:
            self.malformed(names[0], "a list of tensors")
        return [self._operand(v, names[0]) for v in value]

    def tensors(self, position: int, *names: str) -> list[Tensor]:
        found = [o for o in self.operands(position, *names) if isinstance(o, Tensor)]
        if len(found) < len(self.operands(position, *names)):
            self.malformed(names[0], "a list of tensors")
        return found

    def number(self, position: int | None, default: float, *names: str) -> float:
        value = known(self.value(position, *names))
        if isinstance(value, list) and len(value) == 1:
            (value,) = value
        if value is None:
            return default
        if not is_number(value) or math.isnan(value):
            self.malformed(names[0], "a number")
        return float(value)

    def integer(
        self, position: int | None, *names: str, default: int | None = None, least: int = 0
    ) -> int:
        value: Any = known(self.value(position, *names))
        value = default if value is None else value
        if not is_integer(value) or value < least:
            self.malformed(names[0], f"an integer of at least {least}")
        return int(value)

    def integers(
        self, position: int | None, *names: str, length: int | None = None, least: int = 0
    ) -> tuple[int, ...]:
        value = known(self.value(position, *names))
        if (
            not isinstance(value, list)
            or not all(is_integer(v) and v >= least for v in value)
            or (length is not None and len(value) != length)
        ):
            count = "" if length is None else f"{length} "
            self.malformed(names[0], f"a list of {count}integers of at least {least}")
        return tuple(value)

    def pairs(self, name: str, value: Any, length: int) -> list[tuple[int, int]]:
        """Check a list of ``length`` pairs of sizes; one pair or number stands for all."""
        value = known(value)
        if is_integer(value):
            value = [[value, value]] * length
        if isinstance(value, list) and len(value) == 2 and all(map(is_integer, value)):
            value = [value] * length
        if not (
            isinstance(value, list)
            and len(value) == length
            and all(
                isinstance(p, list) and len(p) == 2 and all(is_integer(v) and v >= 0 for v in p)
                for p in value
            )
        ):
            self.malformed(name, f"{length} pairs of integers, none negative")
        return [(p[0], p[1]) for p in value]

    def data_format(self, position: int | None, default: str) -> str:
        """Return "channels_last" or "channels_first", also from TensorFlow's NHWC and NCHW."""
        value = self.value(position, "data_format")
        known = {
            None: default,
            "NHWC": "channels_last",
            "NCHW": "channels_first",
            "channels_last": "channels_last",
            "channels_first": "channels_first",
        }
        if isinstance(value, (list, dict, Tensor, np.ndarray)) or value not in known:
            self.unsupported("data_format", value, "channels_last, channels_first, NHWC, NCHW")
        return known[value]


def known(value: Any) -> Any:
    """Turn arrays, and tensors that are known, into numbers and lists; whole numbers into int."""
    if isinstance(value, Tensor) and isinstance(value.value, Constant):
        value = value.value.data.transpose(value.axes)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [known(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**31:
        return int(value)
    return value
