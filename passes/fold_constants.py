"""Compute at compile time what depends on constants alone.

op(constants) = constant, computed in float64 and rounded once. Refused when a result is not
finite, so that the model's own infinities are met where they arise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir.graph import Constant, constant
from .rule import Rule, apply_rules

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context, Site


def _match(site: Site) -> tuple[str, np.ndarray] | None:
    node = site.node
    known = [v.data for v in node.inputs if isinstance(v, Constant)]
    if len(known) != len(node.inputs) or len(node.results) != 1:
        return None
    wide = [d.astype(np.float64) if d.dtype.kind == "f" else d for d in known]
    return node.name, np.asarray(node.op.reference(*wide))


def _check(found: tuple[str, np.ndarray], context: Context) -> str:
    return "" if np.isfinite(found[1]).all() else "the result is not finite"


def _rewrite(found: tuple[str, np.ndarray]) -> Value:
    name, data = found
    return constant(np.array(data, order="C"), name)  # a copy; scalars stay scalars


FOLD = Rule("fold constants", _match, _check, _rewrite)


def fold_constants(graph: Graph, context: Context) -> Graph:
    """Fold until no node has only constant operands."""
    return apply_rules(graph, context, FOLD)
