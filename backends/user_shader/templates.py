"""The templates of user shaders, in the folder ``templates``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates() -> Environment:
    """Return the template environment: strict, and without stray blank lines."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # only user shaders need it

    return Environment(
        loader=PackageLoader(__package__.split(".")[0], "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
