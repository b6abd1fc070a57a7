"""Messages for callers of the Python interface, who give options as keywords."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from .choices import CHOICES, EMBEDDINGS, PACKAGES, REFERENCES, RUNTIMES
from .keywords import CompileOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: ((?:[^\s,;()']|,(?=\S))*[^\s,;:.()']))?")
VALUE = re.compile(r"[A-Z]|.*[\d=]|dynamic$")  # of an option; other words go on with the sentence
NAMES = {"inputs", "outputs"}  # options whose values may be any word
JOINING = {"and", "or", "gives", "names"}  # words that go on with the sentence after them
KINDS = {name: kind.__forward_arg__ for name, kind in CompileOptions.__annotations__.items()}
KINDS |= dict.fromkeys(("reference", "runtime", "adapter"), "str")  # of ``verify``
ALLOWED = CHOICES | {
    "embed": EMBEDDINGS,
    "target": PACKAGES,
    "reference": REFERENCES,
    "runtime": RUNTIMES,
}


@contextmanager
def in_keywords() -> Iterator[None]:
    """Let errors of the body name options as keywords of the Python interface.

    ``--input-size 360x640`` becomes ``input_size="360x640"``.
    """
    try:
        yield
    except ShadergenError as error:
        for part in ("what", "why", "supported", "help"):
            setattr(error, part, keyword_text(getattr(error, part)))
        raise


def keyword_text(text: str) -> str:
    """Return a message with the options of the command line as keywords.

    Commands stay as they are, to the end of their line.
    """
    return "\n".join(
        line if "shadergen " in line else OPTION.sub(_keyword, line) for line in text.split("\n")
    )


def _keyword(found: re.Match[str]) -> str:
    option, value = found.groups()
    name = option.replace("-", "_")
    if name not in KINDS:
        return found.group()
    kind = KINDS[name]
    rest = f" {value}" if value else ""
    if kind == "bool":
        return f"{name}=True{rest}"
    is_value = value in ALLOWED.get(name, ()) or VALUE.match(value or "")
    if not value or not (is_value or (name in NAMES and value not in JOINING)):
        return name + rest
    if name == "input_value":
        key, _, numbers = value.partition("=")
        return f'{name}={{"{key}": [{numbers.replace(",", ", ")}]}}'
    return f"{name}={value}" if kind in ("int", "float") else f'{name}="{value}"'
