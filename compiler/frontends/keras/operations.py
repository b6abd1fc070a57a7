"""Calls of functions recorded in a model: keras.ops nodes of Keras 3, TFOpLambda of Keras 2.

Both become a name in the spelling of keras.ops and arguments; :data:`OPERATIONS` is the table.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ShadergenError
from ....ir.graph import constant
from ....ir.ops import DepthToSpace, Pad, ResizeNearest
from .activation_layers import rectified
from .arguments import Arguments
from .merging import joined
from .movement import resolved, transposed
from .selection import expand_dims, get_item, split, squeeze, stack, unstack
from .tensors import Tensor, arranged, call, pointwise, reshaped, standard

if TYPE_CHECKING:
    from collections.abc import Callable

    from .layer import Layer

    Operation = Callable[[Layer, Arguments], "Tensor | list[Tensor]"]


def unary(formula: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula to one operand."""
    return pointwise(formula, [a.tensor(0, "x", "a", "features", "input", "image")], layer.name)


def binary(formula: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula to two operands, either of which may be a constant."""
    first = a.operand(0, "x1", "x", "a", "logits")
    return pointwise(formula, [first, a.operand(1, "x2", "y", "b")], layer.name)


def add_n(layer: Layer, a: Arguments) -> Tensor:
    """Add any number of operands."""
    operands = a.tensors(0, "inputs")
    return pointwise(" + ".join(f"x{k}" for k in range(len(operands))), operands, layer.name)


def depth_to_space(layer: Layer, a: Arguments) -> Tensor:
    """Pixel shuffle with the channels innermost, as TensorFlow does it."""
    x = a.tensor(0, "x", "input")
    block = a.integer(1, "block_size", least=1)
    data_format = a.data_format(2, layer.around.data_format)
    value = arranged(x, _image_axes(x, data_format, layer), layer.name)
    y = layer.apply(DepthToSpace((block, block), "dcr"), value)
    return Tensor(y, standard(4, data_format))


def _image_axes(x: Tensor, data_format: str, layer: Layer) -> tuple[int, ...]:
    if x.rank != 4:
        raise ShadergenError(
            "SG0205",
            f"the operation takes images of rank 4, not a tensor of rank {x.rank}",
            where=layer.described,
        )
    return standard(4, data_format)


def clip(layer: Layer, a: Arguments) -> Tensor:
    """Bound from below and above; a bound that is absent does nothing."""
    x = a.tensor(0, "x", "t")
    text, operands = "x0", [x]
    for position, function, names in (
        (1, "max", ("x_min", "clip_value_min", "min_value")),
        (2, "min", ("x_max", "clip_value_max", "max_value")),
    ):
        if a.value(position, *names) is not None:
            text = f"{function}({text}, x{len(operands)})"
            operands.append(a.operand(position, *names))  # type: ignore[arg-type]
    return pointwise(text, operands, layer.name)


def relu(layer: Layer, a: Arguments) -> Tensor:
    """keras.backend.relu with its options; without them, relu."""
    x = a.tensor(0, "x", "features")
    slope = a.number(None, 0.0, "alpha", "negative_slope")
    ceiling = a.number(None, float("inf"), "max_value")
    threshold = a.number(None, 0.0, "threshold")
    return rectified(layer, x, None if np.isinf(ceiling) else ceiling, slope, threshold)


def parametric(
    function: str, default: float, names: tuple[str, ...], layer: Layer, a: Arguments
) -> Tensor:
    """Apply a formula with one numeric parameter."""
    x = a.tensor(0, "x", "features", "value")
    return pointwise(call(function, a.number(1, default, *names)), [x], layer.name)


def formula_with(text: str, default: float, name: str, layer: Layer, a: Arguments) -> Tensor:
    """Apply a formula of x0 and one numeric parameter, x1."""
    x = a.tensor(0, "x")
    return pointwise(text, [x, a.number(1, default, name)], layer.name)


def gelu(default: bool, layer: Layer, a: Arguments) -> Tensor:
    """Apply the Gaussian error linear unit, exactly or through tanh."""
    x = a.tensor(0, "x", "features")
    approximate = a.value(1, "approximate")
    approximate = default if approximate is None else approximate
    if not isinstance(approximate, bool):
        a.malformed("approximate", "true or false")
    return pointwise("gelu_tanh(x0)" if approximate else "gelu(x0)", [x], layer.name)


def hard_sigmoid(layer: Layer, a: Arguments) -> Tensor:
    """Apply hard_sigmoid, whose slope changed between Keras 2 and 3."""
    slope = 0.2 if layer.version[0] < 3 else 1 / 6
    return pointwise(call("hard_sigmoid", slope, 0.5), [a.tensor(0, "x")], layer.name)


def threshold(layer: Layer, a: Arguments) -> Tensor:
    """Replace what does not exceed the threshold."""
    x = a.tensor(0, "x")
    limit, other = (
        a.number(1, 0.0, "threshold", "threshold_value"),
        a.number(2, 0.0, "value", "default_value"),
    )
    return pointwise("where(x1 < x0, x0, x2)", [x, limit, other], layer.name)


def concatenate(layer: Layer, a: Arguments) -> Tensor:
    """Join tensors, and constants of as many axes, along ``axis``."""
    axis = a.integer(1, "axis", default=-1, least=-16)
    operands = a.operands(0, "xs", "values", "tensors")
    rank = max((o.rank for o in operands if isinstance(o, Tensor)), default=0)
    tensors = []
    for o in operands:
        if isinstance(o, np.ndarray) and o.ndim == rank:
            o = Tensor(constant(o, f"{layer.name}/constant"), tuple(range(rank)))
        if not isinstance(o, Tensor):
            a.malformed("values", "a list of tensors")
        tensors.append(o)
    return joined(layer, tensors, axis)


def pad(layer: Layer, a: Arguments) -> Tensor:
    """Continue a tensor beyond its borders."""
    x = a.tensor(0, "x", "tensor")
    widths = a.value(1, "pad_width", "paddings")
    if isinstance(widths, np.ndarray) and (widths == widths.astype(int)).all():
        widths = widths.astype(int).tolist()
    mode = a.value(2, "mode")
    mode = "constant" if mode is None else mode
    if not isinstance(mode, str) or mode.lower() not in ("constant", "reflect", "symmetric"):
        a.unsupported("mode", mode, "constant, reflect, symmetric")
    value = a.number(3, 0.0, "constant_values")
    pairs = a.pairs("pad_width", widths, x.rank)
    before, after = [0] * x.rank, [0] * x.rank
    for axis, (low, high) in zip(x.axes, pairs, strict=True):
        before[axis], after[axis] = low, high
    op = Pad(tuple(before), tuple(after), mode.lower(), value)  # type: ignore[arg-type]
    return Tensor(layer.apply(op, x.value), x.axes)


def resize(half_pixel: bool, layer: Layer, a: Arguments) -> Tensor:
    """Resample by nearest neighbour.

    Source: tf.image.resize reads floor((i + 0.5) * in / out), the older resize_nearest_neighbor
    floor(i * in / out).
    """
    x = a.tensor(0, "images", "image", "x")
    size = a.integers(1, "size", length=2, least=1)
    method = a.value(2, "method", "interpolation") if half_pixel else "nearest"
    if method != "nearest":
        a.unsupported("method", "bilinear" if method is None else method, "nearest")
    for key in (
        "preserve_aspect_ratio",
        "align_corners",
        "crop_to_aspect_ratio",
        "pad_to_aspect_ratio",
    ):
        if a.value(None, key) not in (None, False):
            a.unsupported(key, a.value(None, key), "false")
    half_pixel = half_pixel or a.value(None, "half_pixel_centers") is True
    a.ignore("antialias", "fill_mode", "fill_value")
    axes = _image_axes(x, a.data_format(None, layer.around.data_format), layer)
    value = arranged(x, axes, layer.name)
    n, c, h, w = value.shape
    steps = [(1, 0, 1), (1, 0, 1)]
    for before, after in zip((h, w), size, strict=True):
        steps.append((2 * before, before, 2 * after) if half_pixel else (before, 0, after))
    return Tensor(layer.apply(ResizeNearest((n, c, *size), tuple(steps)), value), axes)


def up_sampling(layer: Layer, a: Arguments) -> Tensor:
    """keras.backend.resize_images: repeat rows and columns."""
    x = a.tensor(0, "x")
    factors = a.integer(1, "height_factor", least=1), a.integer(2, "width_factor", least=1)
    if a.value(4, "interpolation") not in (None, "nearest"):
        a.unsupported("interpolation", a.value(4, "interpolation"), "nearest")
    axes = _image_axes(x, a.data_format(3, layer.around.data_format), layer)
    value = arranged(x, axes, layer.name)
    n, c, h, w = value.shape
    steps = ((1, 0, 1), (1, 0, 1), (1, 0, factors[0]), (1, 0, factors[1]))
    op = ResizeNearest((n, c, h * factors[0], w * factors[1]), steps)
    return Tensor(layer.apply(op, value), axes)


def reshape(layer: Layer, a: Arguments) -> Tensor:
    """Give a tensor another shape, the batch included."""
    x = a.tensor(0, "x", "tensor")
    shape = a.integers(1, "newshape", "shape", least=-1)
    return reshaped(x, resolved(layer, shape, x.value.type.size), layer.name)


def transpose(layer: Layer, a: Arguments) -> Tensor:
    """Permute the axes; without an order, reverse them."""
    x = a.tensor(0, "x", "a")
    a.ignore("conjugate")  # of real numbers
    if a.value(1, "axes", "perm") is None:
        return transposed(layer, x, tuple(reversed(range(x.rank))))
    order = a.integers(1, "axes", "perm", least=-x.rank)
    return transposed(layer, x, tuple(k % x.rank for k in order if k < x.rank))


def cast(layer: Layer, a: Arguments) -> Tensor:
    """Conversions between floating-point types do nothing; others are refused."""
    x = a.tensor(0, "x", "value")
    dtype = a.value(1, "dtype")
    if isinstance(dtype, dict) and isinstance(dtype.get("config"), dict):
        dtype = dtype["config"].get("name")
    if dtype not in (None, "float16", "float32", "float64", "bfloat16"):
        a.unsupported("dtype", dtype, "float16, float32, float64, bfloat16")
    a.ignore("sparse")
    return pointwise("x0", [x], layer.name)


def _unary(**formulas: str) -> dict[str, Operation]:
    return {name: partial(unary, text) for name, text in formulas.items()}


def _binary(**formulas: str) -> dict[str, Operation]:
    return {name: partial(binary, text) for name, text in formulas.items()}


def operate(layer: Layer, name: str, arguments: Arguments) -> Any:
    """Apply the operation and refuse arguments that it did not look at."""
    result = OPERATIONS[name](layer, arguments)
    arguments.finish()
    return result


OPERATIONS: dict[str, Operation] = {
    **_unary(
        absolute="abs(x0)",
        arccos="acos(x0)",
        arcsin="asin(x0)",
        arctan="atan(x0)",
        ceil="ceil(x0)",
        cos="cos(x0)",
        erf="erf(x0)",
        exp="exp(x0)",
        expm1="exp(x0) - 1",
        floor="floor(x0)",
        hard_silu="hard_swish(x0)",
        hard_tanh="clamp(x0, -1, 1)",
        identity="x0",
        log="log(x0)",
        log1p="log(1 + x0)",
        log_sigmoid="log_sigmoid(x0)",
        negative="-x0",
        reciprocal="1 / x0",
        relu6="relu6(x0)",
        round="round_even(x0)",
        rsqrt="rsqrt(x0)",
        selu="selu(x0)",
        sigmoid="sigmoid(x0)",
        sign="sign(x0)",
        sin="sin(x0)",
        softplus="softplus(x0)",
        softsign="softsign(x0)",
        sparse_plus="where(x0 <= -1, 0, where(x0 < 1, 0.25 * square(x0 + 1), x0))",
        sparse_sigmoid="clamp(0.5 * (x0 + 1), 0, 1)",
        sqrt="sqrt(x0)",
        square="square(x0)",
        tan="tan(x0)",
        tanh="tanh(x0)",
        tanh_shrink="x0 - tanh(x0)",
        trunc="trunc(x0)",
    ),
    **_binary(
        add="x0 + x1",
        divide="x0 / x1",
        maximum="max(x0, x1)",
        minimum="min(x0, x1)",
        mod="mod(x0, x1)",
        multiply="x0 * x1",
        power="pow(x0, x1)",
        squared_difference="square(x0 - x1)",
        subtract="x0 - x1",
    ),
    "add_n": add_n,
    "cast": cast,
    "celu": partial(parametric, "celu", 1.0, ("alpha",)),
    "clip": clip,
    "concatenate": concatenate,
    "depth_to_space": depth_to_space,
    "elu": partial(parametric, "elu", 1.0, ("alpha",)),
    "expand_dims": expand_dims,
    "gelu": partial(gelu, True),
    "get_item": get_item,
    "hard_shrink": partial(formula_with, "where(x1 < abs(x0), x0, 0)", 0.5, "threshold"),
    "hard_sigmoid": hard_sigmoid,
    "leaky_relu": partial(parametric, "leaky_relu", 0.2, ("negative_slope", "alpha")),
    "pad": pad,
    "relu": relu,
    "reshape": reshape,
    "resize": partial(resize, True),
    "resize_images": up_sampling,
    "resize_nearest_neighbor": partial(resize, False),
    "silu": partial(parametric, "swish", 1.0, ("beta",)),
    "soft_shrink": partial(formula_with, "x0 - clamp(x0, -x1, x1)", 0.5, "threshold"),
    "split": split,
    "squareplus": partial(formula_with, "0.5 * (x0 + sqrt(square(x0) + x1))", 4.0, "b"),
    "squeeze": squeeze,
    "stack": stack,
    "tf_gelu": partial(gelu, False),
    "threshold": threshold,
    "transpose": transpose,
    "unstack": unstack,
}
