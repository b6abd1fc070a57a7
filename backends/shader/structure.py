"""Structural keys of programs: programs with equal keys compute the same in every dialect.

Nodes are compared by their fields. A key leaves out what dialects do not print as code: the header,
comments, and the parameters and arguments that functions do not read. Names distinguish functions
and arrays within a program, so calls and elements have names, and the key has each body once.
"""

from __future__ import annotations

import struct
from functools import cache
from itertools import compress
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any

from ...records import replace
from .expressions import Invoke, Number, Numbers, Variable
from .program import Array, Function
from .statements import Comment
from .types import Type

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from .program import Program


def structural_key(program: Program) -> Hashable:
    """Return the key of a program."""
    keys = _Keys()
    own = keys.record(replace(program, header=()))
    arrays = tuple(map(keys.record, program.arrays))
    return own, arrays, tuple(keys.functions.items())


class _Keys:
    """Makes the keys of one program's parts.

    Attributes:
        functions: keys of the functions called so far, by name.
    """

    def __init__(self) -> None:
        self.functions: dict[str, Hashable] = {}
        self._special: dict[type, Callable[[Any], Hashable]] = {
            **dict.fromkeys((int, str, bool, NoneType, Type), lambda plain: plain),
            **dict.fromkeys((tuple, list), self._sequence),
            Array: lambda array: array.name,
            Invoke: self._call,
            Number: lambda e: (_bits(e.value), e.type),
            Numbers: lambda e: _bits(*e.values),
            Variable: lambda v: (v.name, v.type),  # as any record, but the most frequent one
        }

    def record(self, record: object) -> Hashable:
        """Return the key of a dataclass: its kind, and the keys of its fields."""
        kind = type(record)
        return kind, *map(self._key, _fields(kind)(record))  # type: ignore[arg-type]  # a type

    def _key(self, part: object) -> Hashable:
        special = self._special.get(type(part))
        return special(part) if special else self.record(part)

    def _sequence(self, items: Sequence[object]) -> Hashable:
        return tuple([self._key(item) for item in items if type(item) is not Comment])

    def _call(self, e: Invoke) -> Hashable:
        function = e.function
        if function.name not in self.functions:
            self.functions[function.name] = self._function(function)
        arguments = compress(e.arguments, function.needed)
        return Invoke, function.name, *map(self._key, arguments)

    def _function(self, function: Function) -> Hashable:
        parameters = tuple(compress(function.parameters, function.needed))
        parts = (parameters, function.returns, function.body, function.results)
        return tuple(map(self._key, parts))


def _bits(*numbers: float) -> bytes:
    """Return numbers as 0.0 and -0.0 differ, which are equal."""
    return struct.pack(f"{len(numbers)}d", *numbers)


@cache
def _fields(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what reads the fields that a dataclass is made of."""
    names = kind.__match_args__
    if len(names) == 1:
        return lambda record: (getattr(record, names[0]),)
    return attrgetter(*names)
