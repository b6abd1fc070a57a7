"""Equations of Einstein's summation convention: from text to a label for each axis."""

from __future__ import annotations

from collections import Counter
from string import ascii_letters
from typing import TYPE_CHECKING

from .base import require

if TYPE_CHECKING:
    from collections.abc import Sequence

Equation = tuple[tuple[str, ...], str]
"""The labels of each operand and of the result, without ellipsis."""


def parse_equation(equation: str, ranks: Sequence[int]) -> Equation:
    """Return the labels of operands and result; an ellipsis becomes letters that were not used.

    Raises:
        ShadergenError: SG0205 if the equation is invalid or does not fit operands of ``ranks``.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    require(
        all(c in ascii_letters for c in text.replace("->", "").replace(",", "").replace("...", ""))
        and "," not in right
        and all(t.count("...") <= 1 for t in (*terms, right)),
        f"'{equation}' is not a valid equation",
        supported="letters, commas, '...' and '->', such as ij,jk->ik",
    )
    require(
        len(terms) == len(ranks), f"'{equation}' is for {len(terms)} operands, not {len(ranks)}"
    )
    wide = max(
        (rank - len(t) + 3 for t, rank in zip(terms, ranks, strict=True) if "..." in t), default=0
    )
    free = [c for c in ascii_letters if c not in text]
    require(0 <= wide <= len(free), f"'{equation}' does not fit operands of ranks {list(ranks)}")
    ellipsis = "".join(free[:wide])
    resolved = []
    for term, rank in zip(terms, ranks, strict=True):
        own = rank - len(term) + 3
        full = term.replace("...", ellipsis[wide - own :] if own > 0 else "")
        require(
            len(full) == rank, f"'{term}' of '{equation}' does not fit an operand of rank {rank}"
        )
        resolved.append(full)
    if arrow:
        result = right.replace("...", ellipsis)
    else:
        count = Counter(left.replace("...", "").replace(",", ""))
        result = ellipsis + "".join(sorted(c for c, n in count.items() if n == 1))
    known = set("".join(resolved))
    require(
        len(set(result)) == len(result) and set(result) <= known,
        f"the result of '{equation}' has a label twice, or a label that is in no operand",
    )
    return tuple(resolved), result


def label_sizes(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Return the size of each label; sizes of 1 broadcast.

    Raises:
        ShadergenError: SG0205 if a label has several sizes.
    """
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for label, size in zip(term, shape, strict=True):
            known = sizes.get(label, 1)
            require(
                1 in (known, size) or known == size,
                f"axes of sizes {known} and {size} share the label {label}",
            )
            sizes[label] = max(known, size)
    return sizes
