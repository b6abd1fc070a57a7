"""The table of GPU passes: of ``inspect``, of notebooks and of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..number_texts import bytes_text, si_text

if TYPE_CHECKING:
    from .inspection import PassRow

COLUMNS = "pass", "layers", "kernel", "HxW", "packing", "weights", "MACs", "bytes"


def pass_cells(p: PassRow) -> tuple[str, ...]:
    """Return a pass's texts, one for each of ``COLUMNS``."""
    return (
        p.name,
        ", ".join(p.layers),
        f"{p.stage} {p.kernel}",
        f"{p.height}x{p.width}",
        _packing(p),
        p.weights,
        si_text(p.macs) if p.macs else "-",
        bytes_text(p.bytes_read + p.bytes_written),
    )


def _packing(p: PassRow) -> str:
    if p.packing == "rows":
        return p.packing
    return f"{p.planes} plane{'s' * (p.planes > 1)}" + " stacked" * (p.packing == "stacked")
