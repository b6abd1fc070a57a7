"""Frozen dataclasses that are quick to make, to fill and to copy.

``dataclasses.dataclass`` compiles six methods for each frozen class. The program has hundreds of
them, and their methods took half of the time of its imports. Here Python compiles ``__init__``
alone; all classes share the other methods. Nothing refuses an assignment to a field at run time:
type checkers do.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:
    import dataclasses

    def dataclass(cls: type | None = None, *, frozen: bool = False, eq: bool = True, **options):
        """Make a dataclass as the standard library does, but frozen ones without compiled methods.

        Args:
            cls: the class.
            frozen: see this module; others are the standard library's.
            eq: whether equal fields make equal objects. Otherwise each object equals itself only.
            options: see ``dataclasses.dataclass``; frozen classes have no ``order``.
        """
        if not frozen:
            return dataclasses.dataclass(cls, eq=eq, **options)

        def made(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # else its signature is taken apart for one
            own = {name for name, value in vars(cls).items() if value is not None}
            cls = dataclasses.dataclass(repr=False, eq=False, **options)(cls)
            methods = {"__repr__": _repr} | (_comparisons(dataclasses.fields(cls)) if eq else {})
            for name, method in methods.items():
                if name not in own:
                    setattr(cls, name, method)
            given = [f.name for f in dataclasses.fields(cls) if f.init]
            cls._given = given, _values(given)
            return cls

        return made if cls is None else made(cls)

    def replace(record, /, **changes):
        """Return a copy with some fields changed, as ``dataclasses.replace`` does."""
        kept = vars(type(record)).get("_given")
        if kept is None:
            return dataclasses.replace(record, **changes)
        names, values = kept
        return type(record)(**dict(zip(names, values(record), strict=True)) | changes)

    def _repr(self: Any) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparisons(fields: tuple[Any, ...]) -> dict[str, Any]:
    """Return ``__eq__`` and ``__hash__`` of a class with these fields."""
    compared = _values([f.name for f in fields if f.compare])
    names = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
    hashed = attrgetter(*names) if names else _values(names)

    def equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or compared(self) == compared(other)

    return {"__eq__": equal, "__hash__": lambda self: hash(hashed(self))}


def _values(names: list[str]) -> Any:
    """Return a function that returns the values of these fields as a tuple."""
    if len(names) == 1:
        (name,) = names
        return lambda record: (getattr(record, name),)
    return attrgetter(*names) if names else lambda _: ()
