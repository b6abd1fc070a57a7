"""Options that are forced on every compilation, whatever a test asks for."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadergen.passes.placement.target import Target


_device = [""]  # that is forced now


def forced_device() -> str:
    """Return the device that :func:`forced` names at present, or nothing."""
    return _device[0]


@contextmanager
def forced(text: str) -> Iterator[None]:
    """Compile with these options: ``stage=compute,fetch=image``; none where ``text`` is empty."""
    from shadergen.compiler.options import Options

    pairs = [part.split("=") for part in text.split(",") if part]
    values = {name: int(v) if v.isdigit() else v for name, v in pairs}
    original, device = Options.target, _device[0]

    def target(self: Options) -> Target:
        return original(replace(self, **values))

    Options.target = target  # type: ignore[method-assign]
    _device[0] = str(values.get("device", ""))
    try:
        yield
    finally:
        _device[0] = device
        Options.target = original  # type: ignore[method-assign]
