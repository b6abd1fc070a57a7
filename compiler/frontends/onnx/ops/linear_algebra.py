"""Products of matrices and sums of products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.expr import Call, Expr, Num, Var
from .....ir.integers import is_integer
from .....ir.ops import Det, Einsum, MatMul, Pointwise, Transpose
from .elementwise import alike

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .....ir.types import DType
    from .elementwise import Handler
    from .node import OnnxNode


def matmul(node: OnnxNode) -> Value:
    """MatMul: the product of matrices, or of many at once."""
    return node.apply(MatMul(), *alike(node, 0, 1))


def fused_matmul(node: OnnxNode) -> Value:
    """FusedMatMul of com.microsoft: alpha * A * B; transA and transB swap the last two axes."""
    matrices = []
    for name, x in zip(("transA", "transB"), alike(node, 0, 1), strict=True):
        rank = x.type.rank
        if node.choice(name, (0, 1)) and rank >= 2:  # vectors stay as they are
            x = node.apply(Transpose((*range(rank - 2), rank - 1, rank - 2)), x)
        node.choice(name.replace("trans", "transBatch"), (0,))
        matrices.append(x)
    alpha = node.number("alpha", 1.0)
    y = node.apply(MatMul(), *matrices)
    return y if alpha == 1 else node.apply(Pointwise(_times(alpha, Var("x0"))), y)


def gemm(node: OnnxNode) -> Value:
    """Gemm: alpha * A * B + beta * C, C optional since operator set 11."""
    operands = alike(node, *(i for i in range(3) if i < 2 or node.given(i)))
    dtype = operands[0].type.dtype
    alpha, beta = _factor(node, "alpha", dtype), _factor(node, "beta", dtype)
    matrices = []
    for name, x in zip(("transA", "transB"), operands, strict=False):
        if x.type.rank != 2:
            raise ShadergenError("SG0105", f"Gemm needs tensors of rank 2, not {x.type.rank}")
        flip = node.integer(name, 0)
        matrices.append(node.apply(Transpose((1, 0)), x) if flip else x)
    y = node.apply(MatMul(), *matrices)
    if len(operands) == 2:
        scaled = _times(alpha, Var("x0"))
        return y if alpha == 1 else node.apply(Pointwise(scaled, dtype), y)
    total = Call("add", (_times(alpha, Var("x0")), _times(beta, Var("x1"))))
    result = node.apply(Pointwise(total, dtype), y, operands[2])
    if result.shape != y.shape:
        raise ShadergenError(
            "SG0205", f"C of shape {list(operands[2].shape)} does not fit {list(y.shape)}"
        )
    return result


def _factor(node: OnnxNode, name: str, dtype: DType) -> float:
    value = node.number(name, 1.0)
    if is_integer(dtype) and value != int(value):
        raise ShadergenError(
            "SG0202",
            f"attribute {name}={value} of Gemm is not implemented for {dtype}",
            supported="whole numbers",
        )
    return value


def _times(factor: float, x: Expr) -> Expr:
    return x if factor == 1 else Call("mul", (Num(factor), x))


def einsum(node: OnnxNode) -> Value:
    """Einsum: a sum of products by Einstein's convention."""
    equation = node.text("equation")
    return node.apply(Einsum(equation), *alike(node, *range(len(node.inputs))))


def det(node: OnnxNode) -> Value:
    """Det: the determinant of small matrices."""
    return node.apply(Det(), node.real(0))


LINEAR_ALGEBRA: dict[str, Handler] = {
    "Det": det,
    "Einsum": einsum,
    "Gemm": gemm,
    "MatMul": matmul,
}
