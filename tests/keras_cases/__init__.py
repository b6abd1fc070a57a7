"""The catalogue of Keras layers and arguments, as data; no framework is imported here.

tests/frontends/keras/test_cases.py runs every case on GL: the files of Keras 2.15 as they lie in
its folder files (tools/make_keras_cases.py makes them), those of Keras 3 as it saves them now.
"""

from __future__ import annotations

from . import (
    activations,
    attention,
    convolutions,
    dense,
    masks,
    merging,
    models,
    movement,
    normalization,
    operations,
    pooling,
    preprocessing,
    recurrent,
    refusals,
)
from .case import Case

FAMILIES = (
    *(activations, attention, convolutions, dense, masks, merging, models, movement),
    *(normalization, operations, pooling, preprocessing, recurrent, refusals),
)


def of_keras(version: int) -> dict[str, Case]:
    """Return the cases of a major version by a name of their own."""
    found: dict[str, Case] = {}
    for family in FAMILIES:
        for case in family.CASES:
            if version in case.keras:
                name = f"{family.__name__.rpartition('.')[2]}: {case.name}"
                shapes = " ".join("x".join(map(str, s)) or "scalar" for s in case.shapes)
                if case.build is None:
                    name += f" of {shapes}"
                if case.batch is not None:
                    name += f", batch {case.batch}"
                if name in found:
                    raise ValueError(f"two cases are called {name}")
                found[name] = case
    return found


__all__ = ["Case", "of_keras"]
