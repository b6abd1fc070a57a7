"""Drivers' shader caches, off: else the second benchmark of a build finds its shaders compiled."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_CACHE = {"MESA_SHADER_CACHE_DISABLE": "true", "__GL_SHADER_DISK_CACHE": "0"}


@contextmanager
def without_shader_cache() -> Iterator[None]:
    """Tell Mesa's and NVIDIA's drivers, where they are not loaded yet, to keep no shaders."""
    before = {name: os.environ.get(name) for name in _NO_CACHE}
    os.environ.update(_NO_CACHE)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
