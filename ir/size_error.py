"""The error about dynamic sizes, and the layer that it names."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ..errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Iterator

_layer: ContextVar[str] = ContextVar("layer", default="")


class OpenSizeError(ShadergenError):
    """Something must know a size that the build leaves open."""

    def __init__(self, what: str, why: str = "") -> None:
        self._say(f"{what} needs a size when compiling that --input-size dynamic leaves open", why)

    def _say(self, message: str, why: str) -> None:
        layer = _layer.get()
        super().__init__(
            "SG0207",
            message,
            where=f"layer {layer}" if layer else (),
            why=why,
            help="compile it for one size: --input-size HxW",
        )


class SizeLimitError(OpenSizeError):
    """A formula of dynamic dimensions exceeds a limit.

    Args:
        what: the formula, with its number.
        limit: how large that number may be.
    """

    def __init__(self, what: str, limit: int) -> None:
        self._say(f"a dynamic size is too complex: {what}", f"the limit is {limit:,}")


@contextmanager
def at_layer(name: str) -> Iterator[None]:
    """Let errors and facts name the layer that is worked on."""
    token = _layer.set(name)
    try:
        yield
    finally:
        _layer.reset(token)


def layer_at_hand() -> str:
    """Return the name of the layer that is worked on, or nothing."""
    return _layer.get()
