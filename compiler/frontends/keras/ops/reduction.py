"""Operations that make one number of many: sums, extrema, statistics, running sums."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.expr import Expr
from .....ir.formula_parser import parse
from .....ir.ops import (
    LRN,
    ArgMax,
    ArgMin,
    CumProd,
    CumSum,
    LayerNormalization,
    LpNormalization,
    Reduce,
    RMSNormalization,
)
from ..layers.common import real
from ..layers.movement import reshape_all
from ..tensors import Tensor, arranged, pointwise, standard

if TYPE_CHECKING:
    from collections.abc import Callable

    from .....ir.ops import Op
    from .....ir.types import DType
    from ..layers.layer import Layer
    from .arguments import Arguments
    from .elementwise import Operation

PLAIN = parse("x0")
KEEP = ("keepdims", "keep_dims")


def reduced(
    layer: Layer, x: Tensor, axes: tuple[int, ...], keep: bool, op: Callable[[tuple[int, ...]], Op]
) -> Tensor:
    """Apply a reduction over axes of the model's order; no data moves for that.

    Args:
        layer: the layer.
        x: what to reduce.
        axes: over which axes.
        keep: they stay, with size 1; ``op`` must do the same.
        op: from logical axes to the operator.
    """
    over = tuple(sorted(x.axes[a] for a in axes))
    value = layer.apply(op(over), x.value)
    if keep:
        return Tensor(value, x.axes)
    rest = [k for k in range(x.rank) if k not in over]
    return Tensor(value, tuple(rest.index(x.axes[a]) for a in range(x.rank) if a not in axes))


def reduction(
    kind: str,
    element: Expr,
    dtype: DType | None,
    layer: Layer,
    a: Arguments,
) -> Tensor:
    """Reduce over ``axis``, all axes by default."""
    x = a.tensor(0, "x", "input_tensor", "tensor")
    axes = a.axes(1, x, None, "axis", "axes", "reduction_indices")
    keep = a.flag(2, False, *KEEP)
    for name in ("initial", "where"):
        if a.value(None, name) is not None:
            a.unsupported(name, a.value(None, name))
    a.ignore("dtype")
    if kind in ("mean", "log_sum_exp", "l2") or (x.dtype == "bool" and dtype is None):
        x = real(x, layer.name)
    if kind in ("max", "min") and element is PLAIN and x.dtype == "bool":
        dtype = "bool"
    if not axes:
        return pointwise("x0", [x], layer.name, x.dtype)
    return reduced(
        layer,
        x,
        axes,
        keep,
        lambda over: Reduce(kind, over, keep, element, dtype),  # type: ignore[arg-type]
    )


def moments_of(layer: Layer, x: Tensor, axes: tuple[int, ...], keep: bool) -> tuple[Tensor, Tensor]:
    """Return mean and variance; the variance is the mean of squared differences."""
    x = real(x, layer.name)
    mean = reduced(layer, x, axes, True, lambda over: Reduce("mean", over, True))
    apart = pointwise("square(x0 - x1)", [x, mean], layer.name)
    variance = reduced(layer, apart, axes, keep, lambda over: Reduce("mean", over, keep))
    if not keep:
        mean = reduced(layer, x, axes, False, lambda over: Reduce("mean", over, False))
    return mean, variance


def variance(root: bool, layer: Layer, a: Arguments) -> Tensor:
    """Return the variance (``var``) or the standard deviation (``std``)."""
    x = a.tensor(0, "x", "input_tensor")
    axes = a.axes(1, x, None, "axis")
    _, spread = moments_of(layer, x, axes, a.flag(2, False, *KEEP))
    return pointwise("sqrt(x0)" if root else "x0", [spread], layer.name)


def moments(layer: Layer, a: Arguments) -> list[Tensor]:
    """Return mean and variance."""
    x = a.tensor(0, "x")
    axes = a.axes(1, x, None, "axes")
    for name in ("shift", "synchronized"):
        if a.value(None, name):
            a.unsupported(name, a.value(None, name))
    return list(moments_of(layer, x, axes, a.flag(2, False, *KEEP)))


def extremum(op: type[ArgMax], layer: Layer, a: Arguments) -> Tensor:
    """Return where the largest or smallest element lies; without an axis, among all."""
    x = a.tensor(0, "x", "input")
    keep = a.flag(None, False, *KEEP)
    a.ignore("output_type")
    if a.value(1, "axis", "dimension") is None and layer.version[0] >= 3:
        x = reshape_all(layer, x)
        axes: tuple[int, ...] = (0,)
        if keep:
            a.unsupported("keepdims", True, "false, or true together with axis")
    else:
        axes = (a.axis(1, x, 0, "axis", "dimension"),)
    return reduced(layer, x, axes, keep, lambda over: op(over, keep))


def running(op: type[CumSum], layer: Layer, a: Arguments) -> Tensor:
    """Return running sums or products; without an axis, of all elements in a row."""
    x = a.tensor(0, "x")
    a.ignore("dtype")
    if a.value(1, "axis") is None and layer.version[0] >= 3:
        x = reshape_all(layer, x)
    axis = a.axis(1, x, 0, "axis")
    exclusive, reverse = a.flag(2, False, "exclusive"), a.flag(3, False, "reverse")
    return Tensor(layer.apply(op(x.axes[axis], exclusive, reverse), x.value), x.axes)


def average(layer: Layer, a: Arguments) -> Tensor:
    """Return the mean; weights are not implemented."""
    if a.value(1, "weights") is not None:
        a.refuse("argument weights")
    return reduction("mean", PLAIN, None, layer, a)


def norm(layer: Layer, a: Arguments) -> Tensor:
    """Return the Euclidean or the 1-norm of vectors."""
    kind = a.value(None, "ord")
    if kind not in (None, "euclidean", 2, 1):
        a.unsupported("ord", kind, "euclidean, 1, 2")
    x = a.tensor(0, "x", "tensor")
    if len(a.axes(None, x, None, "axis")) > 1 and kind not in (None, "euclidean"):
        a.unsupported("axis", a.value(None, "axis"), "one axis")
    return reduction("l1" if kind == 1 else "l2", PLAIN, None, layer, a)


def normalize(layer: Layer, a: Arguments) -> Tensor:
    """Give vectors the length 1, if they are longer than ``epsilon``."""
    x = real(a.tensor(0, "x"), layer.name)
    order = a.number(2, 2, "order") if layer.version[0] >= 3 else 2
    if order not in (1, 2):
        a.unsupported("order", order, "1, 2")
    given = a.number(None, 1e-12 if layer.version[0] < 3 else 1e-7, "epsilon")
    # TensorFlow bounds the square of the length.
    least = given**0.5 if layer.version[0] < 3 else given
    axes = a.axes(1, x, -1 if layer.version[0] >= 3 else None, "axis", "dim")
    over = tuple(sorted(x.axes[k] for k in axes))
    return Tensor(layer.apply(LpNormalization(over, int(order), least), x.value), x.axes)


def layer_norm(layer: Layer, a: Arguments) -> Tensor:
    """LayerNormalization as an operation; scale and shift may be tensors or absent."""
    x = real(a.tensor(0, "x"), layer.name)
    if a.flag(None, False, "rms_scaling"):
        a.unsupported("rms_scaling", True, "false")
    axes, epsilon = a.axes(None, x, -1, "axis"), a.number(None, 1e-7, "epsilon")
    over = tuple(sorted(x.axes[k] for k in axes))
    y = Tensor(layer.apply(LayerNormalization(over, epsilon), x.value), x.axes)
    return _scaled(layer, a, y, axes, ("gamma", "beta"))


def rms_norm(layer: Layer, a: Arguments) -> Tensor:
    """RMSNormalization as an operation."""
    x = real(a.tensor(0, "x"), layer.name)
    axes, epsilon = a.axes(None, x, -1, "axis"), a.number(None, 1e-7, "epsilon")
    over = tuple(sorted(x.axes[k] for k in axes))
    y = Tensor(layer.apply(RMSNormalization(over, epsilon), x.value), x.axes)
    return _scaled(layer, a, y, axes, ("scale",))


def _scaled(
    layer: Layer, a: Arguments, y: Tensor, axes: tuple[int, ...], names: tuple[str, ...]
) -> Tensor:
    for position, (name, formula) in enumerate(zip(names, ("x0 * x1", "x0 + x1"), strict=False)):
        if a.value(position + 1, name) is None:
            continue
        if axes != (y.rank - 1,):
            raise ShadergenError(
                "SG0202", f"{name} is implemented along the last axis only", where=a.where
            )
        y = pointwise(formula, [y, a.operand(position + 1, name)], layer.name)
    return y


def lrn(layer: Layer, a: Arguments) -> Tensor:
    """Local response normalisation over neighbouring channels, the last axis."""
    x = a.tensor(0, "input")
    radius = a.integer(1, "depth_radius", default=5)
    bias, alpha, beta = (
        a.number(position, default, name)
        for position, default, name in ((2, 1.0, "bias"), (3, 1.0, "alpha"), (4, 0.5, "beta"))
    )
    if x.rank != 4:
        a.malformed("input", "images of rank 4")
    size = 2 * radius + 1
    axes = standard(4, "channels_last")
    op = LRN(size, alpha * size, beta, bias)  # TensorFlow takes no mean
    return Tensor(layer.apply(op, arranged(x, axes, layer.name)), axes)


def _reduction(kind: str, element: str = "", dtype: DType | None = None) -> Operation:
    return partial(reduction, kind, parse(element) if element else PLAIN, dtype)


REDUCTION: dict[str, Operation] = {
    "all": _reduction("min", "ne(x0, 0)", "bool"),
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    "any": _reduction("max", "ne(x0, 0)", "bool"),
    "argmax": partial(extremum, ArgMax),
    "argmin": partial(extremum, ArgMin),
    "average": average,
    "count_nonzero": _reduction("sum", "ne(x0, 0)", "int32"),
    "cumprod": partial(running, CumProd),
    "cumsum": partial(running, CumSum),
    "layer_norm": layer_norm,
    "logsumexp": _reduction("log_sum_exp"),
    "lrn": lrn,
    "max": _reduction("max"),
    "mean": _reduction("mean"),
    "min": _reduction("min"),
    "moments": moments,
    "norm": norm,
    "normalize": normalize,
    "prod": _reduction("prod"),
    "rms_norm": rms_norm,
    "std": partial(variance, True),
    "sum": _reduction("sum"),
    "var": partial(variance, False),
}
