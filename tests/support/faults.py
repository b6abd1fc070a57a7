"""Faults in the shaders of a kernel family: builds that are wrong in a known place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shadergen.backends import schedule
from shadergen.backends.kernels import family_of
from shadergen.backends.shader_files import print_shaders
from shadergen.compiler import compilation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from shadergen.backends.gpu import GpuPass
    from shadergen.backends.kernels.family import Family
    from shadergen.backends.shader_files import ShaderFiles
    from shadergen.passes.placement.target import Target

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
    changed = []

    def wrong(passes: Sequence[GpuPass], target: Target) -> ShaderFiles:
        files = print_shaders(passes, target)
        for path, p in dict([*zip(files.of_passes, passes, strict=True)][::-1]).items():
            right = files.sources[path]
            if family_of(p.node) is family and only(p):
                files.sources[path] = change(right)
                changed.extend([path] if files.sources[path] != right else [])
        return files

    for module in (compilation, schedule):
        monkeypatch.setattr(module, "print_shaders", wrong)
    return changed
