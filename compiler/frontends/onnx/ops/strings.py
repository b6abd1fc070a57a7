"""Operators of strings, which lie on the GPU as numbers that stand for them.

What a string is made of is not there: what reads its characters is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from ..operands import Narrow
from ..read.types import STRING

if TYPE_CHECKING:
    from .elementwise import Handler
    from .node import OnnxNode


def string_normalizer(node: OnnxNode) -> Narrow:
    """StringNormalizer that neither removes words nor changes their case."""
    x = node.entry(0)
    if not isinstance(x, Narrow) or x.data_type != STRING:
        raise ShadergenError("SG0105", "input 0 of StringNormalizer is not a tensor of strings")
    if len(x.shape) != 1 and (len(x.shape) != 2 or x.shape[0] != 1):
        raise ShadergenError(
            "SG0205", f"StringNormalizer needs shape [N] or [1, N], not {list(x.shape)}"
        )
    node.choice("case_change_action", ("NONE",))
    node.ignore("is_case_sensitive", "locale")  # which say how to do these
    if node.has("stopwords") and node.texts("stopwords"):
        raise ShadergenError(
            "SG0202",
            "StringNormalizer with stopwords is not implemented",
            why="the size of the result depends on the data, and textures have fixed sizes",
        )
    return x


STRINGS: dict[str, Handler] = {
    "StringNormalizer": string_normalizer,
}
