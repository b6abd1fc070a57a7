"""HTML pages of one file each: their templates, and the policy that lets them load nothing.

Names in models and builds are untrusted: the templates escape all texts.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..errors import printable
from ..number_texts import bytes_text, si_text

if TYPE_CHECKING:
    from jinja2 import Environment


def script_hash(script: str) -> str:
    """Return the hash by which a page's content security policy allows its script."""
    return b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def templates() -> Environment:
    """Return the environment of HTML templates: strict, and it escapes."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__.split(".")[0], "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
        finalize=_shown,
    )
    environment.filters |= {"bytes": bytes_text, "si": si_text, "folded": _folded}
    return environment


def _shown(value: Any) -> Any:
    """Return a text without characters that could not be seen or written; markup as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return printable(value)
    return value


def _folded(name: str) -> Markup:
    """Return a name that may be broken into lines after each slash."""
    return Markup("/<wbr>").join(printable(name).split("/"))
