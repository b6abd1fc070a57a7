"""The optional packages, imported when a command needs them, with an error that teaches."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import ShadergenError, pip_install

EXTRAS = {  # which extra has a package
    "av": "video",
    "PyOpenGL": "run",
    "pillow": "run",
    "Pygments": "report",
    "wgpu": "webgpu",
}


def need(module: str, package: str, purpose: str) -> Any:
    """Import a package of one of the extras.

    Raises:
        ShadergenError: SG0606 when it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ShadergenError(
            "SG0606",
            f"{purpose} needs the Python package {package}",
            why=str(error),
            help=pip_install(extra) if (extra := EXTRAS.get(package)) else f"pip install {package}",
        ) from None


def runtime(name: str = "gles") -> Any:
    """Return a Python runtime.

    Args:
        name: "gles" or "webgpu".

    Raises:
        ShadergenError: SG0606 when PyOpenGL, or wgpu, is missing.
    """
    if name == "webgpu":
        need("wgpu", "wgpu", "running on WebGPU")
        return import_module("..runtime_glue.python.webgpu", __package__)
    need("OpenGL", "PyOpenGL", "running on OpenGL ES")
    return import_module("..runtime_glue.python", __package__)


def pillow() -> Any:
    """Return ``PIL.Image``."""
    return need("PIL.Image", "pillow", "reading and writing pictures")


def pillow_drawing() -> tuple[Any, Any]:
    """Return ``PIL.ImageDraw`` and ``PIL.ImageFont``."""
    purpose = "drawing pictures"
    return need("PIL.ImageDraw", "pillow", purpose), need("PIL.ImageFont", "pillow", purpose)


def figure() -> Any:
    """Return ``matplotlib.figure``, which draws to files without a screen.

    Raises:
        ShadergenError: SG0606 when matplotlib is missing.
    """
    return need("matplotlib.figure", "matplotlib", "drawing a chart")
