"""The package wgpu, which is imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ....errors import ShadergenError, pip_install


def load_wgpu() -> Any:
    """Return the package wgpu.

    Raises:
        ShadergenError: SG0606, when it is not installed.
    """
    try:
        return import_module("wgpu")
    except ImportError as error:
        raise ShadergenError(
            "SG0606",
            "running on WebGPU needs the Python package wgpu",
            why=str(error),
            help=pip_install("webgpu"),
        ) from None
