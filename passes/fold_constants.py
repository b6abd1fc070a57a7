"""Compute operators of constants when compiling.

op(constants) = constant, computed in float64 and rounded once. Refused if a result is not finite,
so that errors about infinities name their origin; if it is much larger than its operands, because
a small file must not make the compiler allocate gigabytes; and if its size is dynamic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..ir.dimensions import has_dynamic
from ..ir.graph import Constant, constant
from .rule import Rule, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Node, Value
    from .rule import Context, Site

ALWAYS = 1 << 20  # elements that may be computed from however little
GROWTH = 4


@dataclass(eq=False)
class _Known:
    node: Node

    @cached_property
    def result(self) -> np.ndarray:
        known = [v.data for v in self.node.inputs if isinstance(v, Constant)]
        wide = [d.astype(np.float64) if d.dtype.kind == "f" else d for d in known]
        return np.asarray(self.node.op.reference(*wide))


def _match(site: Site) -> _Known | None:
    node = site.node
    known = all(isinstance(v, Constant) for v in node.inputs)
    if not known or len(node.results) != 1 or has_dynamic(node.op):
        return None
    return _Known(node)


def _check(found: _Known, context: Context) -> str:
    size = found.node.result.type.size
    if size > max(ALWAYS, GROWTH * sum(v.type.size for v in found.node.inputs)):
        return f"the result would have {size} elements"
    return "" if np.isfinite(found.result).all() else "the result is not finite"


def _rewrite(found: _Known) -> Value:
    return constant(np.array(found.result, order="C"), found.node.name)  # a copy; keeps scalars


FOLD: Rule[_Known] = Rule("fold constants", _match, _check, _rewrite)


def fold_constants(graph: Graph, context: Context) -> Graph:
    """Fold until no node has only constant operands."""
    return apply_rules(graph, context, FOLD)
