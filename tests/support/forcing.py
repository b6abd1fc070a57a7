"""Options that are forced on every compilation, whatever a test asks for."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadergen.passes.placement.target import Target


@contextmanager
def forced(text: str) -> Iterator[None]:
    """Compile with these options: ``stage=compute,fetch=image``; none where ``text`` is empty."""
    from shadergen.compiler.options import Options

    pairs = [part.split("=") for part in text.split(",") if part]
    values = {name: int(v) if v.isdigit() else v for name, v in pairs}
    original = Options.target

    def target(self: Options) -> Target:
        return original(replace(self, **values))

    Options.target = target  # type: ignore[method-assign]
    try:
        yield
    finally:
        Options.target = original  # type: ignore[method-assign]
