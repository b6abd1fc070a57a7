"""Operators on tensors known at compile time: the arithmetic by which exporters find out sizes.

Carried out with numpy in the tensors' own types, integers included. Operators that also exist
for tensors of the graph, Slice or Reshape say, handle both themselves (``ops.movement``).
"""

from __future__ import annotations

from math import lcm, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError
from .....ir.dimensions import DimensionLimitError, is_dynamic
from .....ir.dimensions.fraction import SymbolicFraction, as_fraction
from .....ir.dimensions.polynomial import LARGEST
from .....ir.ops import Expand, Range, Tile
from ..operands import Known, has_dynamic_fractions, has_fractions
from ..ops.node import LONGEST_LIST
from ..ops.parameters import parameters
from .budget import WORK_PER_TERM, work

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .....ir.types import DType
    from ..operands import Tensor
    from ..ops.node import OnnxNode

    Compute = Callable[..., NDArray[Any]]

FILLING = ("ConstantOfShape", "Expand", "Tile")  # their last input is a shape
FILLED_PER_COMPUTED = 16  # elements of one repeated number that count as one


def is_computed(node: OnnxNode) -> bool:
    """Whether a node is one of ``COMPUTED`` whose inputs are all known.

    Quotients by dynamic dimensions do not find out sizes but are data, a step of coordinates say,
    and computed as floats where the model runs.
    """
    if node.op not in COMPUTED or not all(isinstance(i, Known) or i is None for i in node.inputs):
        return False
    return node.op != "Div" or not has_dynamic_fractions(node.known(1, "the divisor"))


def compute(node: OnnxNode) -> Tensor:
    """Carry out a node of ``COMPUTED`` whose inputs are all known.

    What has a dynamic shape becomes a tensor of the graph, known or not.

    Raises:
        ShadergenError: SG0205 when the operands do not fit the operator or each other.
    """
    arrays = [node.known(i, "an operand") for i in range(len(node.inputs)) if node.given(i)]
    try:
        if node.op in FILLING and any(map(is_dynamic, arrays[-1].flat)):
            return _filled(node)
        if node.op == "Range" and any(a.dtype.kind == "O" for a in arrays):
            return _dynamic_range(node, *arrays)
        with np.errstate(all="ignore"):
            result = COMPUTED[node.op](node, *arrays)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise ShadergenError(
            "SG0205", f"the operands do not fit {node.op}", why=str(error).splitlines()[0]
        ) from None
    return Known(node.layer, np.asarray(result))


def elementwise(function: Callable[..., Any]) -> Compute:
    """An operator that broadcasts."""

    def handler(node: OnnxNode, *arrays: NDArray[Any]) -> NDArray[Any]:
        node.budget.take(prod(np.broadcast_shapes(*(a.shape for a in arrays))) * work(*arrays))
        result = np.asarray(function(*arrays))
        if result.dtype.kind == "O":
            node.budget.take(_terms(result))
        # numpy 1 widens where arrays without axes meet; ONNX never does
        if result.dtype.kind in "bO":
            return result
        return result.astype(arrays[-1].dtype)

    return handler


def _terms(array: NDArray[Any]) -> int:
    """Return what computing an array of dynamic dimensions takes of the budget, by their lengths.

    Raises:
        DimensionLimitError: for integers beyond 64 bits, which wrap around where the model runs.
    """
    terms = 0
    for x in array.flat:
        number = x.numerator if isinstance(x, SymbolicFraction) else x
        if is_dynamic(number):
            terms += number.polynomial.count
        elif abs(number) > LARGEST:
            raise DimensionLimitError("a number beyond 64 bits", LARGEST)
    return WORK_PER_TERM * terms


def variadic(function: Callable[[Any, Any], Any]) -> Compute:
    """An operator of any number of operands that broadcast."""

    def fold(first: Any, *rest: Any) -> Any:
        for other in rest:
            first = function(first, other)
        return first

    return elementwise(fold)


def _divide(a: NDArray[Any], b: NDArray[Any]) -> Any:
    """Divide; integers truncate towards zero."""
    if a.dtype.kind == "f" or has_fractions(a) or has_fractions(b):
        return a / b
    if not np.all(b):
        raise ZeroDivisionError("division by zero")
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def _mod(node: OnnxNode, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    function = np.fmod if node.choice("fmod", (0, 1)) else np.mod
    if a.dtype.kind != "f" and not np.all(b):
        raise ZeroDivisionError("division by zero")
    return elementwise(function)(node, a, b)


@parameters(0, 1, 2)
def _range(node: OnnxNode, start: Any, limit: Any, delta: Any) -> NDArray[Any]:
    node.ignore("stash_type")
    first, step = start.item(), delta.item()
    count = max(int(np.ceil((limit.item() - first) / step)), 0)
    node.budget.take(count)
    return np.asarray(first + np.arange(count) * step).astype(start.dtype)


def _dynamic_range(node: OnnxNode, *arrays: NDArray[Any]) -> Tensor:
    """Return a range of dynamic length or numbers."""
    node.ignore("stash_type")
    start, limit, delta = (as_fraction(a.item()) for a in arrays)
    if delta == 0:
        raise ZeroDivisionError("division by zero")
    span = start - limit if delta < 0 else limit - start
    count = (span / abs(delta)).__ceil__().numerator
    dtype: DType = "float32" if any(map(has_fractions, arrays)) else "int64"
    if count <= 0:
        return Known(node.layer, np.zeros(0, dtype))
    divisor = lcm(start.denominator, delta.denominator)
    first, step = (x.numerator * (divisor // x.denominator) for x in (start, delta))
    return node.apply(Range(count, first, step, divisor, dtype))


def _expand(node: OnnxNode, x: NDArray[Any], shape: NDArray[Any]) -> NDArray[Any]:
    wanted = np.broadcast_shapes(x.shape, _sizes(shape))
    node.budget.take(prod(wanted))
    return np.broadcast_to(x, wanted)


def _tile(node: OnnxNode, x: NDArray[Any], repeats: NDArray[Any]) -> NDArray[Any]:
    node.budget.take(x.size * prod(_sizes(repeats)))
    return np.tile(x, _sizes(repeats))


@parameters(0)
def _constant_of_shape(node: OnnxNode, shape: NDArray[Any]) -> NDArray[Any]:
    """Return one number many times; it takes no room until something is computed with it."""
    node.budget.take(prod(_sizes(shape)) // FILLED_PER_COMPUTED)
    return np.broadcast_to(_value(node).reshape(()), _sizes(shape))


def _filled(node: OnnxNode) -> Tensor:
    """Repeat elements to a dynamic shape."""
    sizes = _not_negative(node.known_integers(len(node.inputs) - 1, "the shape"))
    if node.op == "Tile":
        return node.moved(Tile(sizes), node.item(0))
    if node.op == "Expand":
        return node.moved(Expand(sizes), node.item(0))
    return node.moved(Expand(sizes), Known(node.layer, _value(node).reshape(())))


def _value(node: OnnxNode) -> NDArray[Any]:
    return node.tensor("value") if node.has("value") else np.zeros(1, np.float32)


def _non_zero(node: OnnxNode, x: NDArray[Any]) -> NDArray[Any]:
    node.budget.take(x.size)
    return np.asarray(np.nonzero(x), np.int64)


def _sizes(array: NDArray[Any]) -> tuple[int, ...]:
    return _not_negative(_integers(array))


def _not_negative(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if any(size < 0 for size in sizes if not is_dynamic(size)):
        raise ValueError(f"{list(sizes)} has a negative size")
    return sizes


def reduction(function: Callable[..., Any]) -> Compute:
    """A reduction; the axes are an attribute or, later, an input."""

    def handler(node: OnnxNode, x: NDArray[Any], *axes: NDArray[Any]) -> NDArray[Any]:
        keep = bool(node.choice("keepdims", (1, 0)))
        nothing = bool(node.choice("noop_with_empty_axes", (0, 1)))
        given = _integers(axes[0]) if axes else node.integers("axes", ())
        if not given and nothing:
            return x
        if x.dtype.kind == "O" and x.size > LONGEST_LIST:
            raise DimensionLimitError(f"a reduction of {x.size:,} sizes", LONGEST_LIST)
        over = node.axes(given, x.ndim) if given else tuple(range(x.ndim))
        return np.asarray(function(x, axis=over, keepdims=keep)).astype(x.dtype)

    return handler


def _largest(x: NDArray[Any], **how: Any) -> Any:
    """Return the maximum: of nothing, the smallest number of the type."""
    return np.max(x, **how) if x.size else np.max(x, initial=_limits(x.dtype)[0], **how)


def _smallest(x: NDArray[Any], **how: Any) -> Any:
    """Return the minimum: of nothing, the largest number of the type."""
    return np.min(x, **how) if x.size else np.min(x, initial=_limits(x.dtype)[1], **how)


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind == "f":
        return -np.inf, np.inf
    return (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def _integers(array: NDArray[Any]) -> tuple[int, ...]:
    if array.size > LONGEST_LIST:
        raise ValueError(f"a list of {array.size} integers")
    return tuple(map(int, array.reshape(-1)))


COMPUTED: dict[str, Compute] = {
    "Abs": elementwise(np.abs),
    "Add": elementwise(np.add),
    "And": elementwise(np.logical_and),
    "Ceil": elementwise(np.ceil),
    "ConstantOfShape": _constant_of_shape,
    "Div": elementwise(_divide),
    "Equal": elementwise(np.equal),
    "Expand": _expand,
    "Floor": elementwise(np.floor),
    "Greater": elementwise(np.greater),
    "GreaterOrEqual": elementwise(np.greater_equal),
    "Less": elementwise(np.less),
    "LessOrEqual": elementwise(np.less_equal),
    "Max": variadic(np.maximum),
    "Min": variadic(np.minimum),
    "Mod": _mod,
    "Mul": elementwise(np.multiply),
    "Neg": elementwise(np.negative),
    "NonZero": _non_zero,
    "Not": elementwise(np.logical_not),
    "Or": elementwise(np.logical_or),
    "Range": _range,
    "ReduceMax": reduction(_largest),
    "ReduceMin": reduction(_smallest),
    "ReduceProd": reduction(np.prod),
    "ReduceSum": reduction(np.sum),
    "Round": elementwise(np.round),
    "Sqrt": elementwise(np.sqrt),
    "Sub": elementwise(np.subtract),
    "Sum": variadic(np.add),
    "Tile": _tile,
    "Where": elementwise(np.where),
    "Xor": elementwise(np.logical_xor),
}
