"""A WebGPU device for tests: Mesa's software Vulkan where there is no GPU."""

from __future__ import annotations

import atexit
from functools import cache

import pytest

from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python.webgpu import HeadlessContext


def context() -> HeadlessContext:
    """Return the tests' device; skip a test where there is none."""
    found = _context()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@cache
def _context() -> HeadlessContext | str:
    try:
        made = HeadlessContext()
    except ShadergenError as error:
        return f"{error.what}: {error.why}"
    atexit.register(made.close)
    return made
