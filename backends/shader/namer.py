"""Names of what a program declares."""

from __future__ import annotations

import re


class Namer:
    """Hands out readable, distinct identifiers of letters, digits and underscores, as in GLSL."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def __call__(self, wish: str) -> str:
        base = re.sub(r"[^A-Za-z0-9]+", "_", wish).strip("_")[:48].rstrip("_") or "value"
        if not base[0].isalpha() or base.startswith("gl_"):
            base = f"n_{base}"
        name, k = base, 1
        while name in self.taken:
            k += 1
            name = f"{base}_{k}"
        self.taken.add(name)
        return name
