"""Faults in the shaders of a kernel family: builds that are wrong in a known place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shadergen.backends import schedule
from shadergen.backends.kernels import family_of

if TYPE_CHECKING:
    import pytest

    from shadergen.backends.gpu import GpuPass
    from shadergen.backends.kernels.family import Family

STORED = re.compile(r"\b(target_\d = |(?:store|imageStore|textureStore)\(.*, )([^;]*?)(\)?;)$")
PRODUCT = re.compile(r"^ *\w+(?:\.\w+)? \+= .*$", re.MULTILINE)


def flipped_sign(source: str) -> str:
    """Return a shader that writes the negative of its results."""
    start = source.index("main(")
    lines = source[start:].split("\n")
    found = [k for k, line in enumerate(lines) if STORED.search(line)]
    for k in found:
        lines[k] = STORED.sub(r"\1-(\2)\3", lines[k])
    assert found, source
    return source[:start] + "\n".join(lines)


def dropped_product(source: str) -> str:
    """Return a shader without the first of its products; one that adds up none stays as it is."""
    start = source.index("main(")
    return source[:start] + PRODUCT.sub("", source[start:], count=1)


def inject(
    monkeypatch: pytest.MonkeyPatch,
    family: Family,
    change=flipped_sign,
    only=lambda gpu_pass: True,
) -> list[str]:
    """Make all builds wrong whose passes are of a kernel family; return the changed shaders' paths.

    Args:
        monkeypatch: undoes it.
        family: of ``backends.kernels``.
        change: of a shader's text.
        only: which of the passes.
    """
    printed = schedule._Assembly._printed
    changed = []

    def wrong(self: schedule._Assembly, position: int, p: GpuPass) -> str:
        before = set(self.shaders)
        path = printed(self, position, p)
        if family_of(p.node) is family and only(p) and path not in before:
            right = self.shaders[path]
            self.shaders[path] = change(right)
            changed.extend([path] if self.shaders[path] != right else [])
        return path

    monkeypatch.setattr(schedule._Assembly, "_printed", wrong)
    return changed
