"""Operators of com.microsoft: what ONNX Runtime's optimiser and its exporters make of networks.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import ShadergenError
from ....ir.expr import Call, Num, Var, parse, substitute
from ....ir.ops import Pointwise
from .convolution import conv
from .elementwise import formula
from .linear_algebra import fused_matmul, gemm
from .normalization import simplified_layer_normalization, skip_layer_normalization

if TYPE_CHECKING:
    from ....ir.expr import Expr
    from ....ir.graph import Value
    from .elementwise import Handler
    from .node import OnnxNode, Tensor

# The activations that are fused into kernels, with their parameters in order.
ACTIVATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Clip": ("clamp(x0, low, high)", ("low", "high")),
    "HardSigmoid": ("hard_sigmoid(x0, alpha, beta)", ("alpha", "beta")),
    "LeakyRelu": ("leaky_relu(x0, alpha)", ("alpha",)),
    "Relu": ("relu(x0)", ()),
    "Sigmoid": ("sigmoid(x0)", ()),
    "Tanh": ("tanh(x0)", ()),
}


def fused_conv(node: OnnxNode) -> Value:
    """FusedConv: activation(conv(x, w) + bias + z); all but the convolution may be missing."""
    y = conv(node)
    if node.given(3):
        y = node.apply(Pointwise(parse("x0 + x1")), y, node.operand(3))
    if not node.text("activation", ""):
        return y
    text, names = ACTIVATIONS[node.choice("activation", tuple(ACTIVATIONS))]
    parameters = node.numbers("activation_params") if names else ()
    node.ignore("activation_params")
    if len(parameters) < len(names):
        raise ShadergenError(
            "SG0105", f"attribute activation_params={list(parameters)}", supported=", ".join(names)
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
    text, names = ACTIVATIONS[node.choice("activation", ("LeakyRelu", "Relu", "Sigmoid", "Tanh"))]
    bound = {n: Num(node.number(f"activation_{n}")) for n in names}
    return node.apply(Pointwise(substitute(parse(text), bound)), y)


def with_bias(function: str) -> Handler:
    """A function of x, or of x + bias where a bias is given."""

    def handler(node: OnnxNode) -> Value:
        total: Expr = Var("x0")
        operands = [node.operand(0)]
        if node.given(1):
            total = Call("add", (total, Var("x1")))
            operands.append(node.operand(1))
        return node.apply(Pointwise(Call(function, (total,))), *operands)

    return handler


def as_version(handler: Handler, version: int) -> Handler:
    """An operator that ONNX took over, or took from there: as it is in that operator set."""

    def adapted(node: OnnxNode) -> Tensor | list[Tensor]:
        node.version = version
        return handler(node)

    return adapted


def bias_add(node: OnnxNode) -> Value:
    """BiasAdd: x + bias + skip."""
    return node.apply(Pointwise(parse("x0 + x1 + x2")), *(node.real(i) for i in range(3)))


MICROSOFT: dict[str, Handler] = {
    "BiasAdd": bias_add,
    "BiasGelu": with_bias("gelu"),
    "FastGelu": with_bias("gelu_tanh"),
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "Gelu": formula("gelu(x0)"),
    "QuickGelu": formula("swish(x0, alpha)", alpha=1.702),
    "SimplifiedLayerNormalization": simplified_layer_normalization,
    "SkipLayerNormalization": skip_layer_normalization(centred=True),
    "SkipSimplifiedLayerNormalization": skip_layer_normalization(centred=False),
    "TransposeMatMul": fused_matmul,
}
