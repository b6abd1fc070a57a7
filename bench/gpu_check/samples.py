"""The networks and the conformance cases to try."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from comparison.networks import ENTRIES, Entry, Model, prepare
from conformance.suite import Case
from networks.catalogue import Case as NetworkCase

from shadergen.compiler.frontends.onnx.ops.table import DOMAINS

SEED = 0
FEW, QUICK_FEW = 8, 1  # cases of a family of operators
FORCED, QUICK_FORCED = 4, 1  # the same with each kernel choice forced
# Families whose operators have kernels with choices.
CHOSEN = (
    *("attention", "convolution", "linear_algebra", "normalization"),
    *("pooling", "recurrence", "reduction", "resize"),
)
SMALL = (36, 64)  # of networks that have no small size of their own
UNTIMED = ("LeNet-5",)  # besides those that make bench times: a network with dense layers alone


class Missing(Exception):
    """A network cannot be made here. The text is what it needs."""


def networks(quick: bool) -> list[Entry]:
    """Return the networks of ``make bench`` whose frames count; if quick, at small sizes."""
    entries = [e for e in ENTRIES if e.timed or e.name in UNTIMED]
    return [_small(e) for e in entries] if quick else entries


def _small(entry: Entry) -> Entry:
    if not isinstance(entry.source, NetworkCase):
        return replace(entry, size=SMALL)
    network = entry.source.network
    size = SMALL if network.small == network.size != (32, 32) else network.small
    return replace(entry, source=replace(entry.source, size=size), size=size)


def model_of(name: str, quick: bool, folder: Path) -> Model:
    """Make a network's file, or find the one that was made before.

    Args:
        name: of the network.
        quick: whether it is small.
        folder: for files that are changed.

    Raises:
        Missing: when it cannot be made here.
    """
    (entry,) = (e for e in networks(quick) if e.name == name)
    if absent := entry.missing():
        raise Missing(f"needs {absent}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return prepare(entry, folder)
    except ModuleNotFoundError as error:
        raise Missing(f"needs {error.name}") from None


def family(case: Case) -> str:
    """Return the family of a case's operator: the module of its handler, or the case's kind."""
    if not case.op:
        return case.kind
    handlers = (table[case.op] for table in DOMAINS.values() if case.op in table)
    module = getattr(next(handlers, None), "__module__", "others")
    return module.rpartition(".")[2]


def sample(cases: Iterable[Case], few: int, families: Iterable[str] = ()) -> list[Case]:
    """Return a few cases of each family, or of some; whole networks of the suite are left out."""
    wanted = set(families)
    groups: defaultdict[str, list[Case]] = defaultdict(list)
    for case in sorted(cases, key=lambda c: c.name):
        if case.kind != "light" and (not wanted or family(case) in wanted):
            groups[family(case)].append(case)
    rng = random.Random(SEED)
    return [
        case
        for _, group in sorted(groups.items())
        for case in rng.sample(group, min(few, len(group)))
    ]
