"""Operators of com.microsoft: what ONNX Runtime's optimiser and its exporters make of networks.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.expr import Call, Num, Var, substitute
from .....ir.formula_parser import parse
from .....ir.ops import Pointwise, Reshape, Softmax
from ...activations import ACTIVATIONS as FORMULAS
from .activation import ACTIVATIONS, activation
from .attention import attention, microsoft_rotary_embedding, multi_head_attention
from .axes import in_place, of_maps
from .convolution import conv
from .elementwise import formula
from .linear_algebra import fused_matmul, gemm
from .normalization import (
    layer_normalization,
    simplified_layer_normalization,
    skip_layer_normalization,
)
from .padding import pad
from .parameters import parameters
from .pooling import average_pool, global_pool
from .quantization import (
    dequantize_linear,
    matmul_integer_to_float,
    on_floats,
    pointwise,
    qgemm,
    qlinear_concat,
    qlinear_conv,
    quantize_linear,
)
from .reduction import over_axis
from .sampling import grid_sample
from .selection import gather_nd, trilu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .....ir.expr import Expr
    from .....ir.graph import Value
    from ..operands import Item, Tensor
    from .elementwise import Handler
    from .node import OnnxNode

# The activations that are fused into kernels. Their parameters are in order, none has a default.
FUSED: dict[str, tuple[str, tuple[str, ...]]] = {
    "Clip": (FORMULAS["clip"], ("low", "high")),
    **{
        name: (ACTIVATIONS[name].formula, tuple(ACTIVATIONS[name].defaults))
        for name in ("HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh")
    },
}


@of_maps
def fused_conv(node: OnnxNode) -> Value:
    """FusedConv: activation(conv(x, w) + bias + z); bias, z and activation are optional."""
    y = conv(node)
    if node.given(3):
        y = node.apply(Pointwise(parse("x0 + x1")), y, node.operand(3))
    if not node.text("activation", ""):
        return y
    text, names = FUSED[node.choice("activation", tuple(FUSED))]
    parameters = node.numbers("activation_params") if names else ()
    node.ignore("activation_params")
    if len(parameters) < len(names):
        raise ShadergenError(
            "SG0105",
            f"attribute activation_params={list(parameters)} has too few entries",
            supported=", ".join(names),
        )
    bound = {name: Num(value) for name, value in zip(names, parameters, strict=False)}
    return node.apply(Pointwise(substitute(parse(text), bound)), y)


def fused_gemm(node: OnnxNode) -> Value:
    """FusedGemm: activation(alpha * A * B + beta * C)."""
    y = gemm(node)
    name = node.text("activation", "")
    node.ignore("activation_alpha", "activation_beta", "activation_gamma")
    if not name:
        return y
    text, names = FUSED[node.choice("activation", ("LeakyRelu", "Relu", "Sigmoid", "Tanh"))]
    bound = {n: Num(node.number(f"activation_{n}")) for n in names}
    return node.apply(Pointwise(substitute(parse(text), bound)), y)


def with_bias(function: str) -> Handler:
    """A function of x, or of x + bias where a bias is given."""

    @in_place
    def handler(node: OnnxNode) -> Value:
        total: Expr = Var("x0")
        operands = [node.operand(0)]
        if node.given(1):
            total = Call("add", (total, Var("x1")))
            operands.append(node.operand(1))
        return node.apply(Pointwise(Call(function, (total,))), *operands)

    handler.__doc__ = f"y = {function}(x + bias); the bias may be missing."
    return handler


def quantized_activation(name: str) -> Handler:
    """An activation of quantised numbers."""
    return pointwise(ACTIVATIONS[name].formula, **ACTIVATIONS[name].defaults)


def as_version(handler: Handler, version: int) -> Handler:
    """An operator that ONNX took over, or took from there: as it is in that operator set."""

    @wraps(handler)
    def adapted(node: OnnxNode) -> Item | Sequence[Item | None]:
        node.version = version
        return handler(node)

    return adapted


@parameters(1)
def expand_dims(node: OnnxNode) -> Tensor:
    """ExpandDims: a new axis of size 1; the axis is an operand."""
    shape = node.shape(0)
    axis = node.axis(node.known_integer(1, "the axis"), len(shape) + 1)
    return node.moved(Reshape((*shape[:axis], 1, *shape[axis:])), node.item(0))


def bias_add(node: OnnxNode) -> Value:
    """BiasAdd: x + bias + skip."""
    return node.apply(Pointwise(parse("x0 + x1 + x2")), *(node.real(i) for i in range(3)))


MICROSOFT: dict[str, Handler] = {
    "Attention": attention,
    "BiasAdd": bias_add,
    "BiasGelu": with_bias("gelu"),
    "DequantizeLinear": dequantize_linear,
    "ExpandDims": expand_dims,
    "FastGelu": with_bias("gelu_tanh"),
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "GatherND": as_version(gather_nd, 11),
    "Gelu": formula(FORMULAS["gelu"]),
    "GridSample": as_version(grid_sample, 16),
    "MatMulIntegerToFloat": matmul_integer_to_float,
    "MultiHeadAttention": multi_head_attention,
    "Pad": as_version(pad, 11),
    "QGemm": qgemm,
    "QLinearAdd": pointwise("x0 + x1"),
    "QLinearAveragePool": on_floats(average_pool),
    "QLinearConcat": qlinear_concat,
    "QLinearConv": qlinear_conv,
    "QLinearGlobalAveragePool": on_floats(global_pool("average")),
    "QLinearLeakyRelu": quantized_activation("LeakyRelu"),
    "QLinearMul": pointwise("x0 * x1"),
    "QLinearSigmoid": quantized_activation("Sigmoid"),
    "QLinearSoftmax": on_floats(over_axis(Softmax)),
    "QuantizeLinear": quantize_linear,
    "LayerNormalization": layer_normalization,
    "QuickGelu": activation("QuickGelu"),
    "RotaryEmbedding": microsoft_rotary_embedding,
    "SimplifiedLayerNormalization": simplified_layer_normalization,
    "SkipLayerNormalization": skip_layer_normalization(centred=True),
    "SkipSimplifiedLayerNormalization": skip_layer_normalization(centred=False),
    "TransposeMatMul": fused_matmul,
    "Trilu": as_version(trilu, 14),
}
