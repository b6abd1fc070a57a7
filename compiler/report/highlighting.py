"""Shaders as highlighted HTML.

Pygments finds the tokens. Only those with a colour become an element; shaders hold so many numbers
that Pygments' own HTML would be several times as long.
"""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import Any

from markupsafe import Markup

from ...errors import printable
from ..extras import need

CLASSES = (  # of tokens, by Pygments' names; the first that a token's name begins with
    ("Token.Comment.Preproc", "p"),
    ("Token.Comment", "c"),
    ("Token.Keyword.Type", "t"),
    ("Token.Keyword", "k"),
    ("Token.Name.Builtin", "f"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Decorator", "p"),
    ("Token.Literal.Number", "n"),
)


def lexer(wgsl: bool) -> Any:
    """Return Pygments' lexer of GLSL or WGSL.

    Raises:
        ShadergenError: SG0606 when Pygments is missing.
    """
    lexers = need("pygments.lexers", "Pygments", "highlighting shaders")
    return lexers.get_lexer_by_name("wgsl" if wgsl else "glsl", stripnl=False, ensurenl=False)


def highlighted(source: str, lexer: Any) -> Markup:
    r"""Return a shader as HTML: its text, escaped, with a ``span`` around coloured tokens.

    Control characters become escapes such as ``\x1b``: a build's shaders are untrusted.
    """
    source = "\n".join(printable(line.expandtabs(4)) for line in source.split("\n"))
    tokens = ((_class(str(kind)), text) for kind, text in lexer.get_tokens(source))
    parts = []
    for name, run in groupby(tokens, key=lambda token: token[0]):
        text = escape("".join(text for _, text in run))
        parts.append(f'<span class="{name}">{text}</span>' if name else text)
    return Markup("".join(parts))


def _class(kind: str) -> str:
    return next((name for start, name in CLASSES if kind.startswith(start)), "")
