"""Interned values: equal values are one object, so comparing and hashing is fast."""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Interned(type):
    """Makes a class return the object that it made of equal arguments, while that is in use.

    Such classes are immutable and compare by identity (``dataclass(frozen=True, eq=False)``). Where
    values share their parts, comparing these by their contents takes exponential time. The table
    is weak: it keeps nothing in memory. Threads share it: two equal objects would compare unequal.
    """

    _instances: WeakValueDictionary[tuple[Any, ...], Any]
    _lock: Lock

    def __init__(cls, *arguments: Any) -> None:
        super().__init__(*arguments)
        cls._instances = WeakValueDictionary()
        cls._lock = Lock()

    @staticmethod
    def key(*arguments: Any) -> tuple[Any, ...]:
        """Return what tells apart objects made of arguments; a class may have its own."""
        return arguments

    def __call__(cls: type[T], *arguments: Any, **named: Any) -> T:
        instances = cls._instances  # type: ignore[attr-defined]
        key = cls.key(*arguments, **named)  # type: ignore[attr-defined]
        found: T | None = instances.get(key)
        if found is None:
            made = type.__call__(cls, *arguments, **named)
            with cls._lock:  # type: ignore[attr-defined]
                found = instances.setdefault(key, made)
        return found
