"""Reading a layer's configuration with types checked: it is hostile input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from .....errors import ShadergenError
from .....records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LARGEST_INTEGER = 2**31 - 1
_REQUIRED: Any = object()
_DEEPEST_LIST = 2  # [[before, after], ...]


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a JSON value is an integer of sensible size (true and false are not)."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INTEGER


def is_number(value: object) -> TypeGuard[float]:
    """Whether a JSON value is a number; infinities and NaN are."""
    return is_integer(value) or isinstance(value, float)


def plain(value: Any, depth: int = 0) -> Any:
    """Return a JSON value as Keras takes it: numpy's numbers unwrapped, whole floats as integers.

    Keras 3 wraps arrays as {"class_name": "__numpy__"} and tuples as "__tuple__", Keras 1 and 2
    arrays as {"type": "ndarray"}. Some programs write 2.0 for 2.
    """
    if isinstance(value, dict):
        config = value.get("config")
        if value.get("class_name") == "__numpy__" and isinstance(config, dict):
            return plain(config.get("value"), depth)
        if value.get("class_name") in ("__tuple__", "TensorShape"):
            return plain(value.get("items"), depth)
        if value.get("type") == "ndarray" and "value" in value:
            return plain(value["value"], depth)
    if isinstance(value, (list, tuple)) and depth < _DEEPEST_LIST:
        return [plain(v, depth + 1) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_INTEGER:
        return int(value)
    return value


def truth(value: object) -> bool | None:
    """Return a flag, which may be written as 0 or 1; None for anything else."""
    value = plain(value)
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


def shown(value: object) -> str:
    """Return a short text for a configuration value in a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class Config:
    """The configuration of one layer.

    Attributes:
        where: the layer, as messages show it.
        entries: the JSON object.
    """

    where: str
    entries: Mapping[str, Any]

    def malformed(self, key: str, wanted: str) -> NoReturn:
        """Raise SG0105: the entry is absent or of the wrong kind."""
        got = shown(self.entries[key]) if key in self.entries else "nothing"
        raise ShadergenError(
            "SG0105", f"'{key}' must be {wanted}, the model has {got}", where=self.where
        )

    def unsupported(self, key: str, value: object, supported: str = "", help: str = "") -> NoReturn:
        """Raise SG0202: the entry is meaningful but not implemented, or only these values."""
        raise ShadergenError(
            "SG0202",
            f"{key}={shown(value)} is not implemented",
            where=self.where,
            supported=f"{key}: {supported}" if supported else f"{key}: None, or omitted",
            help=help,
        )

    def refuse(self, what: str, supported: str = "") -> NoReturn:
        """Raise SG0202: something beside the entries is not implemented."""
        raise ShadergenError(
            "SG0202", f"{what} is not implemented", where=self.where, supported=supported
        )

    def get(self, *keys: str, default: Any = None) -> Any:
        """Return the first entry among ``keys`` that is present and not null."""
        for key in keys:
            if self.entries.get(key) is not None:
                return self.entries[key]
        return default

    def value(self, key: str, default: Any = None) -> Any:
        """Return an entry as :func:`plain` has it, true and false as 1 and 0."""
        value = plain(self.get(key, default=default))
        return int(value) if isinstance(value, bool) else value

    def integer(self, key: str, default: Any = _REQUIRED, *, least: int = 1) -> int:
        value = self.value(key, default)
        if not is_integer(value) or value < least:
            self.malformed(key, f"an integer of at least {least}")
        return value

    def number(self, key: str, default: Any = _REQUIRED) -> float:
        value = self.value(key, default)
        if not is_number(value) or not math.isfinite(value):
            self.malformed(key, "a finite number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Return a boolean; null is false, as Keras has it."""
        value = truth(self.entries.get(key, default) or False)
        if value is None:
            self.malformed(key, "true or false, or 1 or 0")
        return value

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        value = self.get(key, default=default)
        if not isinstance(value, str):
            self.malformed(key, "a text")
        return value

    def choice(self, key: str, supported: Iterable[str], default: Any = _REQUIRED) -> str:
        """Return a text that is one of ``supported``; others are SG0202."""
        value = self.text(key, default)
        if value not in supported:
            self.unsupported(key, value, ", ".join(supported))
        return value

    def sizes(
        self, key: str, count: int, default: Any = _REQUIRED, *, least: int = 1
    ) -> tuple[int, ...]:
        """Return an integer for each of ``count`` axes; one number stands for all."""
        value = self.value(key, default)
        sizes = [value] * count if is_integer(value) else value
        if not (
            isinstance(sizes, (list, tuple))
            and len(sizes) == count
            and all(is_integer(s) and s >= least for s in sizes)
        ):
            number = {1: "one integer", 2: "two integers", 3: "three integers"}[count]
            self.malformed(key, f"{number} of at least {least}")
        return tuple(int(s) for s in sizes)

    def borders(self, key: str, count: int) -> list[tuple[int, int]]:
        """Return the amounts before and after each of ``count`` axes.

        It is written as [[before, after], ...], as [both, ...] or as a number for all; of one
        axis also as [before, after].
        """
        value = self.value(key)
        sides = [value] * count if is_integer(value) else value
        if count == 1 and isinstance(sides, (list, tuple)) and len(sides) == 2:
            sides = [sides]
        if isinstance(sides, (list, tuple)) and len(sides) == count:
            pairs = [[s, s] if is_integer(s) else s for s in sides]
            if all(
                isinstance(p, (list, tuple)) and len(p) == 2 and all(map(_is_size, p))
                for p in pairs
            ):
                return [(int(before), int(after)) for before, after in pairs]
        self.malformed(
            key, f"a number of at least 0, or for each of {count} axes one or two such numbers"
        )

    def integers(self, key: str, default: Any = _REQUIRED, *, least: int = 0) -> tuple[int, ...]:
        """Return a list of integers; one number stands for a list of one."""
        value = self.value(key, default)
        items: Sequence[Any] = [value] if is_integer(value) else value
        if not isinstance(items, (list, tuple)) or not all(
            is_integer(i) and i >= least for i in items
        ):
            self.malformed(key, f"a list of integers of at least {least}")
        return tuple(int(i) for i in items)


def _is_size(value: object) -> bool:
    return is_integer(value) and value >= 0
