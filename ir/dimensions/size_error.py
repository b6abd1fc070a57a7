"""The error about dynamic sizes, and the layer that it names."""

from __future__ import annotations

from contextvars import ContextVar

from ...errors import ShadergenError

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


class at_layer:
    """Let errors and facts name the layer that is worked on.

    A class, as every node enters it in every pass: a generator takes three times as long.
    """

    __slots__ = ("name", "token")

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.token = _layer.set(self.name)

    def __exit__(self, *error: object) -> None:
        _layer.reset(self.token)


def layer_at_hand() -> str:
    """Return the name of the layer that is worked on, or nothing."""
    return _layer.get()
