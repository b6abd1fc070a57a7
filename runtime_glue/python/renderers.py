"""Recognise GPUs by the renderer names of drivers, ANGLE and browsers.

A name is read as words: runs of ASCII letters and digits in lower case, without the marks "r" and
"tm". ``ANGLE (Qualcomm, Adreno (TM) 640, OpenGL ES 3.2)`` is read as ``angle qualcomm adreno 640
opengl es 3 2``. A pattern matches consecutive whole words; in it, ``?`` stands for one letter or
digit and ``*`` for any characters, spaces included: ``adreno 6??*``, ``intel* xe``.

All runtimes match the same way (cpp/src/variants.cpp, web/variants.js). Patterns are not regular
expressions, because these differ between languages and can take exponential time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARKS = ("r", "tm")


def words(renderer: str) -> str:
    """Return the words of a renderer's name, with spaces between them."""
    found = (word.lower() for word in re.findall("[A-Za-z0-9]+", renderer))
    return " ".join(word for word in found if word not in _MARKS)


def matches(patterns: Iterable[str], renderer: str) -> bool:
    """Whether one of the patterns matches a renderer's name."""
    text = f" {words(renderer)} "
    return any(_matches(pattern, text) for pattern in patterns)


def _matches(pattern: str, text: str) -> bool:
    """Find the parts between ``*`` from left to right, each at its first occurrence."""
    at = 0
    for part in f" {pattern} ".split("*"):
        found = re.compile(re.escape(part).replace(r"\?", "[a-z0-9]")).search(text, at)
        if found is None:
            return False
        at = found.end()
    return True
