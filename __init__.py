"""Turn trained networks into GLSL ES shaders and a schedule that a thin runtime runs.

    import shadergen
    build = shadergen.compile_model(network, example=torch.rand(1, 3, 360, 640))
    result = build(image)
    build.save("build/")

Names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import InternalError, ShadergenError

if TYPE_CHECKING:
    from .compiler.face import compile_model, load, run, verify
    from .compiler.session import Session

__version__ = "0.1.0"
__all__ = ["InternalError", "Session", "ShadergenError", "compile_model", "load", "run", "verify"]
MODULES = {  # which define the names that load on first use
    "Session": ".compiler.session",
    **dict.fromkeys(("compile_model", "load", "run", "verify"), ".compiler.face"),
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return getattr(import_module(MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
