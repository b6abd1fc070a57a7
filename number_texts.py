"""Numbers as people read them: multiply-adds, bytes, milliseconds."""

from __future__ import annotations


def si_text(number: float) -> str:
    """Return a number with k, M, G or T."""
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{short_text(number / factor)} {unit}"
    return f"{number:.0f}"


def passes_text(number: int) -> str:
    """Return ``1 GPU pass`` or ``2 GPU passes``."""
    return f"{number} GPU pass{'es' * (number != 1)}"


def bytes_text(number: float) -> str:
    """Return bytes in KiB, MiB or GiB."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= factor:
            return f"{short_text(number / factor)} {unit}"
    return f"{number:.0f} B"


def short_text(number: float) -> str:
    """Return three digits, or as many as stand before the point."""
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"
