"""Cast, CastLike and operators that take tensors of narrow element types as they are.

All floats of 16 bits and more are computed as float32, so a cast among them changes nothing.
"""

from __future__ import annotations

from functools import wraps
from math import trunc
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError
from .....ir.dimensions import DynamicDimensionError, is_dynamic
from .....ir.dimensions.fraction import SymbolicFraction
from .....ir.expr import Call, Expr, Var
from .....ir.formula_parser import parse
from .....ir.integers import wrapped
from .....ir.ops import Pointwise
from ...constant_folding import fold_formula
from ..operands import Known, Narrow, element_type, objects
from ..read.narrow_types import NARROW
from ..read.types import ENCODINGS, ir_type, numpy_type, type_name
from .axes import in_place
from .parameters import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .....ir.graph import Value
    from .....ir.types import DType
    from ..operands import Item
    from .elementwise import Handler
    from .node import OnnxNode

X = Var("x0")
SAME_BITS: tuple[set[DType], ...] = ({"int8", "uint8"}, {"int16", "uint16"}, {"bool", "uint8"})
ROUND_MODES = ("up", "down", "nearest")


@in_place
def cast(node: OnnxNode) -> Item:
    """Cast to the type that an attribute names."""
    return _cast(node, node.integer("to"))


@in_place
@parameters(1)
def cast_like(node: OnnxNode) -> Item:
    """Cast to the element type of another tensor."""
    return _cast(node, element_type(node.stored(1)))


def _cast(node: OnnxNode, to: int) -> Item:
    saturate = bool(node.choice("saturate", (1, 0)))
    mode = node.choice("round_mode", ROUND_MODES)
    if to not in ENCODINGS and to not in NARROW:
        supported = tuple(map(type_name, (*ENCODINGS, *NARROW)))
        raise node.refusal("to", type_name(to), supported)
    stored = node.stored(0)
    x = stored.tensor if isinstance(stored, Narrow) else stored
    if to not in NARROW:
        return _as_array(node, x, to) if isinstance(x, Known) else _as_value(node, x, to)
    target = NARROW[to]
    expr = target.cast(saturate, mode)
    if isinstance(x, Known):
        node.budget.take(x.array.size)
        result = fold_formula(expr, x.array.astype(np.float64))
        return Narrow(Known(node.layer, result.astype(target.dtype)), to)
    return Narrow(node.apply(Pointwise(expr, target.dtype), x), to)


def _as_array(node: OnnxNode, x: Known, to: int) -> Known:
    dtype = numpy_type(to)
    if x.array.dtype.kind == "O" and dtype is not None:
        return Known(node.layer, _dynamic_array(x.array, np.dtype(dtype)))
    if dtype is None or dtype == x.array.dtype:
        return x
    node.budget.take(x.array.size)
    with np.errstate(all="ignore"):
        return Known(node.layer, x.array.astype(dtype))


def _dynamic_array(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Cast sizes, or fractions of them, of which some are dynamic."""
    if not any(isinstance(x, SymbolicFraction) or is_dynamic(x) for x in array.flat):
        return array.astype(np.int64).astype(dtype)
    if dtype.kind == "f" and dtype.itemsize >= np.float32().itemsize:
        return objects(
            array.shape,
            (x if isinstance(x, SymbolicFraction) else SymbolicFraction(x) for x in array.flat),
        )
    if dtype.kind not in "iu":
        raise DynamicDimensionError(f"casting a size to {dtype.name}")
    return objects(array.shape, map(trunc, array.flat))


def _as_value(node: OnnxNode, x: Value, to: int) -> Value:
    source, target = x.type.dtype, ir_type(to)
    assert target is not None
    if source == target:
        return x
    expr: Expr = X
    if target == "bool":
        expr = parse("ne(x0, 0)")
    elif target != "float32" and source != "bool":
        expr = Call("trunc", (X,)) if source == "float32" else X
        expr = wrapped(expr, target)
    return node.apply(Pointwise(expr, target), x)


def bit_cast(node: OnnxNode) -> Item:
    """BitCast between signed and unsigned integers of 8 or 16 bits, and between bool and uint8."""
    to, x = node.integer("to"), node.item(0)
    source, target = x.type.dtype, ir_type(to)
    if target is None or (source != target and {source, target} not in SAME_BITS):
        raise ShadergenError(
            "SG0202",
            f"BitCast from {source} to {type_name(to)} is not implemented",
            why="tensors are stored as float32, which does not keep the bit patterns of "
            "other types",
            supported="between " + ", or ".join(" and ".join(sorted(pair)) for pair in SAME_BITS),
        )
    return _as_array(node, x, to) if isinstance(x, Known) else _as_value(node, x, to)


FIRST = slice(0, 1)


def of_any_type(handler: Handler, moved: slice = FIRST) -> Handler:
    """Let an operator that moves elements, or nothing, take narrow types and strings as well.

    Args:
        handler: takes tensors of all other types.
        moved: the inputs whose elements the results are made of.
    """

    @wraps(handler)
    def kept(node: OnnxNode) -> Any:
        data_type = _unwrapped(node, moved)
        result: Any = handler(node)
        if not data_type:
            return result
        several = isinstance(result, list)
        typed = [Narrow(tensor, data_type) for tensor in (result if several else [result])]
        return typed if several else typed[0]

    return kept


def compared(handler: Handler) -> Handler:
    """Let an operator that asks whether elements are equal take narrow types and strings."""

    @wraps(handler)
    def kept(node: OnnxNode) -> Any:
        _unwrapped(node, slice(None))
        return handler(node)

    return kept


def _unwrapped(node: OnnxNode, which: slice) -> int:
    """Put what holds tensors of one narrow type in their place; return the type's number, or 0."""
    entries = node.inputs[which]
    types = {e.data_type if isinstance(e, Narrow) else 0 for e in entries if e is not None}
    if types <= {0}:
        return 0
    if len(types) > 1:
        names = ", ".join(type_name(t) if t else "others" for t in sorted(types))
        raise ShadergenError("SG0105", f"operands of {node.op} differ in type: {names}")
    inputs: list[Item | None] = list(node.inputs)
    inputs[which] = [e.tensor if isinstance(e, Narrow) else e for e in entries]
    node.inputs = tuple(inputs)
    return types.pop()


CASTS: dict[str, Handler] = {
    "BitCast": bit_cast,
    "Cast": cast,
    "CastLike": cast_like,
}
