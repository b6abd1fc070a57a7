"""The Python runtime: run a build on a real OpenGL ES context, with or without a screen.

>>> with HeadlessContext() as context, Runner(load("build"), context) as runner:
...     runner.upload("img", image)
...     runner.run()
...     result = runner.read("out")

:func:`load` reads and checks a build without touching GL; :class:`Runner` makes its GL objects once
and then only binds and draws. If a build has variants, ``load("build", device=context.info())``
loads the variant for the context's GPU. An application with its own context passes ``None`` for the
context and passes its textures to :meth:`Runner.bind_input` and :meth:`Runner.bind_output`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any
from warnings import warn

if TYPE_CHECKING:
    from .context import HeadlessContext
    from .device import DeviceInfo, query_device
    from .loading import load, resized
    from .runner import Runner
    from .schedule import Build

__all__ = ["Build", "DeviceInfo", "HeadlessContext", "Runner", "load", "query_device", "resized"]

# Imported when first used: the compiler needs a few modules of this package, and never a runner.
MODULES = {
    "Build": "schedule",
    "DeviceInfo": "device",
    "HeadlessContext": "context",
    "Runner": "runner",
    "load": "loading",
    "query_device": "device",
    "resized": "loading",
}


def __getattr__(name: str) -> Any:
    """Import a name of this package, or :class:`Runner` for its deprecated name ``Player``."""
    if name == "Player":
        warn("Player is now called Runner", DeprecationWarning, stacklevel=2)
        name = "Runner"
    if name not in MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{MODULES[name]}", __name__), name)
