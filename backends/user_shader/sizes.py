"""Sizes in a user shader, in postfix notation for the player.

A schedule's sizes are expressions of the symbols ``height`` and ``width`` (:mod:`..sizes`). The
player computes ``//!WIDTH``, ``//!HEIGHT`` and ``//!WHEN`` in float32, with few operators and at
most ``MOST_TERMS`` terms. It has no division that rounds down, so a / b becomes (a - a % b) / b,
which is exact for the sizes of pictures. The numerators of a layer's sizes are never negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..sizes import Expression

MOST_TERMS = 32  # of mpv and libplacebo
SYMBOLS = ("width", "height")  # by axis

LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}

Tree = int | str | tuple[str, "Tree", "Tree"]  # a number, a symbol, or an operator and its operands


def tree(size: int | Expression) -> Tree:
    """Return a size of a schedule as a tree, which compares as a value."""
    if isinstance(size, int):
        return size
    stack: list[Tree] = []
    for term in size:
        if term in ("+", "-", "*", "/", "%", "min", "max"):
            right, left = stack.pop(), stack.pop()
            stack.append((str(term), left, right))
        else:
            stack.append(term)
    return stack.pop()


def is_fixed(size: Tree) -> bool:
    """Whether a size is the same for all pictures."""
    if isinstance(size, tuple):
        return is_fixed(size[1]) and is_fixed(size[2])
    return isinstance(size, int)


def postfix(size: Tree, names: Mapping[Tree, str]) -> list[str]:
    """Return a size in the player's postfix notation.

    Args:
        size: of integers and symbols.
        names: what sizes are called; both symbols have a name.
    """
    if size in names:
        return [names[size]]
    if not isinstance(size, tuple):
        return [str(size)]
    sign, first, second = size
    a, b = postfix(first, names), postfix(second, names)
    if sign == "/":
        return [*a, *a, *b, "%", "-", *b, "/"]
    if sign == "min":  # b + (a - b) * (a < b)
        return [*b, *a, *b, "-", *a, *b, "<", "*", "+"]
    if sign == "max":
        return [*b, *a, *b, "-", *a, *b, ">", "*", "+"]
    return [*a, *b, sign]


def infix(size: Tree) -> str:
    """Return a size as people write it: ``(height + 3)/4*2``, where divisions round down."""
    return _infix(size)[0]


def _infix(size: Tree) -> tuple[str, int]:
    """Return a size's text, and how tightly its last operator binds."""
    if not isinstance(size, tuple):
        return str(size), 3
    sign, *operands = size
    (left, loose), (right, tight) = map(_infix, operands)
    if sign not in LEVELS:
        return f"{sign}({left}, {right})", 3
    level = LEVELS[sign]
    left = f"({left})" if loose < level else left
    right = f"({right})" if tight <= level else right
    return f"{left}{sign if level == 2 else f' {sign} '}{right}", level


def rounds(size: Tree) -> bool:
    """Whether a size has a division."""
    return isinstance(size, tuple) and (size[0] == "/" or any(map(rounds, size[1:])))


def checked(terms: Sequence[str], what: str) -> str:
    """Return terms as the text of a header line.

    Raises:
        ShadergenError: SG0405 when they are more than players compute.
    """
    if len(terms) > MOST_TERMS:
        raise ShadergenError(
            "SG0405",
            f"the expression for {what} has {len(terms)} numbers and operators",
            why=f"players compute at most {MOST_TERMS}",
            help="use fewer strides and resizes, or only factors that are powers of two",
        )
    return " ".join(terms)


def plus(size: Tree, more: int) -> Tree:
    """Return a size and some texels."""
    return ("+", size, more) if more else size


def divided(size: Tree, factor: int) -> Tree:
    """Return a size of which another one is a multiple."""
    if isinstance(size, tuple) and size[0] == "*" and size[2] == factor:
        return size[1]
    return ("/", size, factor)


def times(size: Tree, factor: int) -> Tree:
    """Return a multiple of a size."""
    return size if factor == 1 else ("*", size, factor)
