"""What is implemented, as the tables that the frontends and the IR work by say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Entry:
    """One operator, layer or function.

    Attributes:
        source: where it comes from: "onnx" and the domain's name, "keras layer", ..., "ir".
        name: as the source spells it.
        summary: what it does and within which limits, where the table's entry says so.
    """

    source: str
    name: str
    summary: str


def entries() -> Iterator[Entry]:
    """Yield everything that is implemented, source by source."""
    from ..ir.ops import OPS
    from .frontends.keras.activations import ACTIVATIONS, OVER_AN_AXIS
    from .frontends.keras.layers import LAYERS
    from .frontends.keras.operations import OPERATIONS
    from .frontends.onnx.computed import COMPUTED
    from .frontends.onnx.evaluation import EVALUATED
    from .frontends.onnx.operators import DOMAINS

    for domain, operators in DOMAINS.items():
        yield from _table(f"onnx {domain or 'ai.onnx'}", operators)
    known = set(DOMAINS[""])
    for name in sorted({*COMPUTED, *EVALUATED} - known):
        yield Entry("onnx ai.onnx", name, "Of operands known at compile time.")
    yield from _table("keras layer", LAYERS)
    yield from _table("keras activation", {**ACTIVATIONS, **OVER_AN_AXIS})
    yield from _table("keras operation", OPERATIONS)
    yield from _table("ir", OPS)


def matching(pattern: str) -> list[Entry]:
    """Return the entries whose name contains ``pattern``, whatever the case; "" is all of them.

    Raises:
        ShadergenError: SG0201 when there is none, with the nearest name.
    """
    every = list(entries())
    found = [e for e in every if pattern.lower() in e.name.lower()]
    if not found:
        near = did_you_mean(pattern, dict.fromkeys(e.name for e in every))
        define = "a custom one may have a formula: --define, docs/expressions.md"
        raise ShadergenError(
            "SG0201", f"nothing called '{pattern}' is implemented", help=f"{near}\n{define}".strip()
        )
    return found


def _table(source: str, table: Mapping[str, Any]) -> Iterator[Entry]:
    for name, handler in sorted(table.items()):
        yield Entry(source, name, _summary(handler))


def _summary(handler: Any) -> str:
    """Return the first paragraph of a docstring, or nothing where a table holds something else."""
    text = getattr(handler, "__doc__", None) if callable(handler) else None
    if not text or hasattr(handler, "func"):  # a partial has the docstring of its class
        return ""
    paragraph = text.strip().split("\n\n", 1)[0]
    return " ".join(paragraph.split()).replace("``", "")
