"""Errors about dynamic dimensions, and the layer that they name."""

from __future__ import annotations

from contextvars import ContextVar

from ...errors import ShadergenError

_layer: ContextVar[str] = ContextVar("layer", default="")


class DynamicDimensionError(ShadergenError):
    """Something needs the value of a dynamic dimension when compiling."""

    def __init__(self, what: str, why: str = "") -> None:
        self._say(f"{what} needs a fixed size, not --input-size dynamic", why)

    def _say(self, message: str, why: str) -> None:
        layer = _layer.get()
        super().__init__(
            "SG0207",
            message,
            where=f"layer {layer}" if layer else (),
            why=why,
            help="compile the model for one size: --input-size HxW",
        )


class DimensionLimitError(DynamicDimensionError):
    """A formula of dynamic dimensions exceeds a limit.

    Args:
        what: the formula, with its number.
        limit: how large that number may be.
    """

    def __init__(self, what: str, limit: int) -> None:
        self._say(f"a dynamic size is too complex: {what}", f"the limit is {limit:,}")


class at_layer:
    """Let errors and guards name the layer that is worked on.

    A class, as every node enters it in every pass: a generator takes three times as long.
    """

    __slots__ = ("name", "token")

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.token = _layer.set(self.name)

    def __exit__(self, *error: object) -> None:
        _layer.reset(self.token)


def current_layer() -> str:
    """Return the name of the layer that is worked on, or nothing."""
    return _layer.get()
