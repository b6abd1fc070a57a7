"""Quantised operators, computed in floating point.

A quantised tensor is (q - zero) * scale. Its integers are exact, and so are sums of products of
them up to 2^24: 258 products of 8 bits always, more as they usually cancel. Larger sums are rounded
to 24 bits, far less than a step of the result. A sum near a tie may then round to the other
neighbour, so results differ by one step at most.

Scales and zero points are for a whole tensor, for each slice of an axis, or for blocks of an axis.
Source: ONNX QuantizeLinear-25, QLinearConv-10, QLinearMatMul-21; ONNX Runtime for com.microsoft.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ShadergenError, count
from .....ir.expr import Call, Expr, Num, Var, substitute
from .....ir.formula_parser import parse
from .....ir.formulas import summary
from .....ir.ops import Concat, MatMul, Pointwise, Reshape, ResizeNearest, Transpose
from ..operands import Known, Narrow, element_type, typed_item
from ..read.narrow_types import NARROW, IntegerFormat
from ..read.types import ir_type, type_name
from .axes import in_place, of_maps
from .convolution import conv

if TYPE_CHECKING:
    from collections.abc import Callable

    from .....ir.graph import Value
    from ..operands import Item, Tensor
    from .elementwise import Handler
    from .node import OnnxNode

Sizes = tuple[int, ...]
UINT8 = 2
QUANTIZED = (2, 3, 4, 5, *NARROW)


@in_place
def quantize_linear(node: OnnxNode) -> Item:
    """QuantizeLinear: q = saturate(round(x / scale) + zero), ties to even."""
    node.ignore("precision")
    saturate = bool(node.choice("saturate", (1, 0)))
    to = node.integer("output_dtype", 0) or UINT8
    if node.given(2):
        to = element_type(node.stored(2))
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    x = node.numeric(0)
    scale = _aligned(node, 1, x.shape, axis, block)
    zero = _aligned(node, 2, x.shape, axis, block) if node.given(2) else None
    return _quantized(node, x, scale, zero, to, saturate)


def _quantized(
    node: OnnxNode, x: Value, scale: Tensor, zero: Tensor | None, to: int, saturate: bool = True
) -> Item:
    if to not in QUANTIZED:
        supported = tuple(map(type_name, QUANTIZED))
        raise node.refusal("output_dtype", type_name(to), supported)
    dtype = ir_type(to)
    assert dtype is not None
    target = NARROW.get(to)
    if target is not None and not isinstance(target, IntegerFormat):
        expr = substitute(target.cast(saturate, "nearest"), {"x0": parse("quotient(x0, x1)")})
        y = node.apply(Pointwise(expr), x, _value(scale))  # the zero point of floats is 0
    else:
        info = np.iinfo(dtype)
        low, high = target.limits if target else (info.min, info.max)
        rounded: Expr = parse("round_even(quotient(x0, x1))")
        operands = [x, _value(scale)]
        if zero is not None:
            rounded = Call("add", (rounded, Var("x2")))
            operands.append(_value(zero))
        limits = (Num(float(low)), Num(float(high)))
        y = node.apply(Pointwise(Call("clamp", (rounded, *limits)), dtype), *operands)
    return typed_item(y, to)


@in_place
def dequantize_linear(node: OnnxNode) -> Tensor:
    """DequantizeLinear: x = (q - zero) * scale."""
    node.ignore("output_dtype")  # a float of whatever width
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    return _dequantized(node, 0, axis, block)


def _dequantized(node: OnnxNode, index: int, axis: int = 1, block: int = 0) -> Tensor:
    """Return the numbers that an input stands for; its scale and zero point follow it."""
    x = _tensor(node, index)
    scale = _aligned(node, index + 1, x.shape, axis, block)
    centred = _centred(node, index, index + 2, axis, block)
    if isinstance(centred, Known) and isinstance(scale, Known):
        node.budget.take(centred.array.size)
        product = centred.array * scale.array.astype(np.float64)
        return Known(node.layer, product.astype(np.float32))
    return node.apply(Pointwise(parse("x0 * x1")), _value(centred), _value(scale))


def _centred(node: OnnxNode, index: int, zero_at: int, axis: int = 1, block: int = 0) -> Tensor:
    """Return an input less its zero point, as floats."""
    x = _tensor(node, index)
    zero = _aligned(node, zero_at, x.shape, axis, block) if node.given(zero_at) else None
    if isinstance(x, Known) and (zero is None or isinstance(zero, Known)):
        node.budget.take(x.array.size)
        start = 0.0 if zero is None else zero.array.astype(np.float64)
        return Known(node.layer, x.array.astype(np.float64) - start)
    if zero is None:
        return node.apply(Pointwise(Var("x0")), _value(x))
    return node.apply(Pointwise(parse("x0 - x1")), _value(x), _value(zero))


def _tensor(node: OnnxNode, index: int) -> Tensor:
    entry = node.stored(index)
    return entry.tensor if isinstance(entry, Narrow) else entry


def _value(tensor: Tensor) -> Value:
    return tensor.operand if isinstance(tensor, Known) else tensor


def _aligned(node: OnnxNode, index: int, shape: Sizes, axis: int, block: int = 0) -> Tensor:
    """Return a scale or a zero point so that it broadcasts to the tensor of ``shape``.

    Raises:
        ShadergenError: SG0205 when it fits neither the tensor, nor an axis, nor blocks of one.
    """
    t = _tensor(node, index)
    if not t.shape or (t.shape == (1,) and not block):
        return node.moved(Reshape(()), t) if t.shape else t
    axis = node.axis(axis, len(shape))
    if len(t.shape) == 1 and t.shape[0] == shape[axis] and not block:
        return node.moved(Reshape((*t.shape, *(1,) * (len(shape) - axis - 1))), t)
    blocks = list(shape)
    blocks[axis] = -(-shape[axis] // max(block, 1))
    if block and t.shape == tuple(blocks):
        steps = tuple((1, 0, block if a == axis else 1) for a in range(len(shape)))
        return node.moved(ResizeNearest(shape, steps), t)
    raise ShadergenError(
        "SG0205",
        f"input {index} of {node.op} has shape {list(t.shape)}, which does not fit {list(shape)}",
        supported=f"one number, {shape[axis]} numbers (axis {axis}), or one number for each block",
    )


def _factor(node: OnnxNode, scales: list[Tensor], divisor: Tensor) -> Value:
    """Return the product of scales over the result's scale."""
    if all(isinstance(s, Known) for s in (*scales, divisor)):
        arrays = [np.asarray(s.array, np.float32) for s in scales if isinstance(s, Known)]
        assert isinstance(divisor, Known)
        product = arrays[0] * arrays[1] / divisor.array.astype(np.float32)
        return Known(f"{node.layer}.scale", np.asarray(product)).operand
    return node.apply(Pointwise(parse("x0 * x1 / x2")), *map(_value, (*scales, divisor)))


def _requantized(node: OnnxNode, y: Value, factor: Value, scale_at: int) -> Item:
    """Return whole numbers times a factor, as the type of the result's zero point has them."""
    to = element_type(node.stored(scale_at + 1)) if node.given(scale_at + 1) else UINT8
    zero = _aligned(node, scale_at + 1, y.shape, 1) if node.given(scale_at + 1) else None
    whole = node.apply(Pointwise(Var("x0"), "int32"), y)  # 16-bit floats would not hold it
    scaled = node.apply(Pointwise(parse("x0 * x1")), whole, factor)
    return _quantized(node, scaled, Known("one", np.float32(1)), zero, to)


def _with_inputs(node: OnnxNode, inputs: tuple[Item | None, ...], handler: Handler) -> Value:
    """Carry an operator out on other operands than the node's."""
    own, node.inputs = node.inputs, inputs
    result: Any = handler(node)
    node.inputs = own
    return _value(result)


@of_maps
def qlinear_conv(node: OnnxNode) -> Item:
    """QLinearConv: the bias is in units of the input's scale times the weights'."""
    node.choice("channels_last", (0,))
    x, w = _centred(node, 0, 2), _centred(node, 3, 5, axis=0)
    bias = None
    if node.given(8):
        bias = _tensor(node, 8)
        if isinstance(bias, Known):
            bias = Known(bias.name, bias.array.astype(np.float32))
        else:
            bias = node.apply(Pointwise(Var("x0")), bias)
    y = _with_inputs(node, (x, w, bias), conv)
    scales = [_aligned(node, 1, x.shape, 1), _aligned(node, 4, y.shape, 1)]
    return _requantized(node, y, _factor(node, scales, _aligned(node, 6, y.shape, 1)), 6)


@of_maps
def conv_integer(node: OnnxNode) -> Value:
    """ConvInteger; sums are exact up to 2^24."""
    y = _with_inputs(node, (_centred(node, 0, 2), _centred(node, 1, 3, axis=0)), conv)
    return node.apply(Pointwise(Var("x0"), "int32"), y)


def _rows(node: OnnxNode, index: int, shape: Sizes) -> Tensor:
    """Return a left matrix's scale or zero point: one, or one for each row."""
    t = _tensor(node, index)
    return _aligned(node, index, shape, -2) if len(t.shape) <= 1 and len(shape) > 1 else t


def _columns(node: OnnxNode, index: int, shape: Sizes) -> Tensor:
    """Return a right matrix's scale or zero point: one, or one for each column."""
    t = _tensor(node, index)
    return _aligned(node, index, shape, -1) if len(t.shape) <= 1 else t


def _difference(node: OnnxNode, index: int, zero: Tensor | None) -> Value:
    x = _tensor(node, index)
    if zero is None:
        return node.apply(Pointwise(Var("x0")), _value(x))
    return node.apply(Pointwise(parse("x0 - x1")), _value(x), _value(zero))


def _matrix_product(node: OnnxNode, a: int, b: int, a_zero: int, b_zero: int) -> Value:
    left = _rows(node, a_zero, node.shape(a)) if node.given(a_zero) else None
    right = _columns(node, b_zero, node.shape(b)) if node.given(b_zero) else None
    return node.apply(MatMul(), _difference(node, a, left), _difference(node, b, right))


def qlinear_matmul(node: OnnxNode) -> Item:
    """QLinearMatMul: the product of quantised matrices."""
    y = _matrix_product(node, 0, 3, 2, 5)
    scales = [_rows(node, 1, node.shape(0)), _columns(node, 4, node.shape(3))]
    return _requantized(node, y, _factor(node, scales, _rows(node, 6, y.shape)), 6)


def matmul_integer(node: OnnxNode) -> Value:
    """MatMulInteger; sums are exact up to 2^24."""
    y = _matrix_product(node, 0, 1, 2, 3)
    return node.apply(Pointwise(Var("x0"), "int32"), y)


def matmul_integer_to_float(node: OnnxNode) -> Value:
    """MatMulIntegerToFloat of com.microsoft: the product times both scales, plus a bias."""
    y = _matrix_product(node, 0, 1, 4, 5)
    scales = _rows(node, 2, node.shape(0)), _columns(node, 3, node.shape(1))
    operands = [y, *map(_value, scales)]
    text = "x0 * x1 * x2"
    if node.given(6):
        text, operands = f"{text} + x3", [*operands, node.real(6)]
    return node.apply(Pointwise(parse(text)), *operands)


def qgemm(node: OnnxNode) -> Item:
    """QGemm of com.microsoft: alpha * A * B + C; a float if the result has no scale."""
    matrices = []
    for index, name in ((0, "transA"), (3, "transB")):
        flip = node.choice(name, (0, 1))
        axis = 0 if index == 3 and flip else 1
        x = _value(_centred(node, index, index + 2, axis))
        matrices.append(node.apply(Transpose((1, 0)), x) if flip else x)
    y = node.apply(MatMul(), *matrices)
    if node.given(6):
        y = node.apply(Pointwise(parse("x0 + x1")), y, _value(_tensor(node, 6)))
    alpha = Known("alpha", np.float32(node.number("alpha", 1.0)))
    weights = _aligned(node, 4, y.shape, 1)
    scale = _factor(node, [_aligned(node, 1, y.shape, 1), weights], Known("one", np.float32(1)))
    factor = node.apply(Pointwise(parse("x0 * x1")), scale, alpha.operand)
    if not node.given(7):
        return node.apply(Pointwise(parse("x0 * x1")), y, factor)
    divisor = _value(_aligned(node, 7, y.shape, 1))
    return _requantized(
        node, y, node.apply(Pointwise(parse("quotient(x0, x1)")), factor, divisor), 7
    )


def quantized(function: Callable[[OnnxNode, list[Value]], Value], operands: int) -> Handler:
    """An operator of com.microsoft on numbers: each operand and the result is quantised."""

    @wraps(function)
    def handler(node: OnnxNode) -> Item:
        values = [_value(_dequantized(node, 3 * k)) for k in range(operands)]
        return _result(node, function(node, values), 3 * operands)

    return handler


def _result(node: OnnxNode, y: Value, scale_at: int) -> Item:
    to = element_type(node.stored(scale_at + 1)) if node.given(scale_at + 1) else UINT8
    zero = _aligned(node, scale_at + 1, y.shape, 1) if node.given(scale_at + 1) else None
    return _quantized(node, y, _aligned(node, scale_at, y.shape, 1), zero, to)


def pointwise(text: str, **defaults: float) -> Handler:
    """A formula of quantised operands."""
    expr = parse(text)
    operands = 2 if "x1" in text else 1

    @in_place
    def function(node: OnnxNode, values: list[Value]) -> Value:
        bound: dict[str, Expr] = {n: Num(node.number(n, v)) for n, v in defaults.items()}
        return node.apply(Pointwise(substitute(expr, bound)), *values)

    function.__doc__ = f"On quantised tensors: {summary(text)}"
    return quantized(function, operands)


def on_floats(inner: Handler) -> Handler:
    """An operator on one quantised operand that exists for floats."""

    @wraps(inner)
    def function(node: OnnxNode, values: list[Value]) -> Value:
        node.choice("channels_last", (0,))
        if node.has("opset"):  # whose meaning QLinearSoftmax has
            node.version = node.integer("opset")
        return _with_inputs(node, (values[0],), inner)

    function.__doc__ = f"On quantised tensors: {inner.__doc__}"
    return quantized(function, 1)


@in_place
def qlinear_concat(node: OnnxNode) -> Item:
    """QLinearConcat of com.microsoft: the result's scale comes first."""
    if len(node.inputs) < 5 or len(node.inputs) % 3 != 2:
        number = count(len(node.inputs), "input")
        raise ShadergenError(
            "SG0105", f"QLinearConcat has {number}, needs 2 for the result and 3 for each tensor"
        )
    parts = [_value(_dequantized(node, k)) for k in range(2, len(node.inputs), 3)]
    axis = node.axis(node.integer("axis"), parts[0].type.rank)
    return _result(node, node.apply(Concat(axis), *parts), 0)


QUANTIZATION: dict[str, Handler] = {
    "ConvInteger": conv_integer,
    "DequantizeLinear": dequantize_linear,
    "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
    "QuantizeLinear": quantize_linear,
}
