"""Records behave as the frozen dataclasses of the standard library do."""

from __future__ import annotations

import pickle
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from math import nan

import pytest

from shadergen import records


def classes(make):
    """Return classes of all kinds, made by one of the two decorators."""

    @make(frozen=True)
    class Pair:
        left: int
        right: object = None

    @make(frozen=True)
    class Triple(Pair):
        """One more field, which is neither compared nor shown."""

        note: str = field(default="", compare=False, repr=False)

        @cached_property
        def total(self) -> int:
            return self.left + 1

    @make(frozen=True)
    class Empty:
        pass

    @make(frozen=True)
    class One:
        value: object

    @make(frozen=True, eq=False)
    class Itself:
        value: int

    @make(frozen=True, slots=True)
    class Slotted:
        value: int

    @make(frozen=True)
    class Own:
        value: int

        def __hash__(self) -> int:
            return 7

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    @make(frozen=True)
    class Alike:
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Alike)

    @make(frozen=True)
    class Hashed:
        value: int
        rest: list[int] = field(default_factory=list, hash=False)

    @make(frozen=True, kw_only=True)
    class Named:
        value: int

    return Pair, Triple, Empty, One, Itself, Slotted, Own, Alike, Hashed, Named


def described(make):
    """Return what objects of all kinds do."""
    pair, triple, empty, one, itself, slotted, own, alike, hashed, named = classes(make)
    objects = [
        pair(1),
        pair(1, 2),
        pair(1, 2),
        triple(1, 2),
        triple(1, 2, "said"),
        empty(),
        empty(),
        one(nan),
        one((1,)),
        one(1),
        itself(1),
        itself(1),
        slotted(3),
        slotted(3),
        own(1),
        own(2),
        alike(1),
        hashed(1),
        hashed(1, [2]),
        named(value=1),
    ]
    numbers = {repr(h): i for i, h in enumerate(dict.fromkeys(map(hash, objects)))}
    return {
        "equal": [[a == b for b in objects] for a in objects],
        "hashes": [numbers[repr(hash(o))] for o in objects],
        "shown": [repr(o) for o in objects if type(o) is not itself],
        "fields": [[f.name for f in fields(o)] for o in objects],
        "as data": [asdict(o) for o in objects],
        "replaced": repr(replace(objects[0], right=5)),
        "cached": triple(1).total,
        "other classes": objects[0] == 1,
    }


def test_records_compare_hash_and_print_as_the_standard_librarys_do():
    ours, theirs = described(records.dataclass), described(dataclass)
    ours["shown"] = [text.replace("records.dataclass", "dataclass") for text in ours["shown"]]
    assert ours == theirs


def test_classes_that_are_not_frozen_are_the_standard_librarys():
    @records.dataclass
    class Open:
        value: int

    opened = Open(1)
    opened.value = 2
    assert (opened, repr(opened)) == (Open(2), f"{Open.__qualname__}(value=2)")
    with pytest.raises(TypeError):
        hash(opened)


@records.dataclass(frozen=True, slots=True)
class Kept:
    value: int


def test_copies_of_records_differ_in_what_is_changed_alone():
    pair, triple, *_, named = classes(records.dataclass)
    base = triple(1, 2, "said")
    assert base.total == 2  # kept by the object, no field
    assert records.replace(base, left=5) == triple(5, 2)
    assert (records.replace(base, left=5).note, records.replace(base, left=5).total) == ("said", 6)
    assert records.replace(named(value=1), value=2) == named(value=2)
    with pytest.raises(TypeError, match="middle"):
        records.replace(pair(1), middle=3)


def test_records_can_be_pickled():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)
