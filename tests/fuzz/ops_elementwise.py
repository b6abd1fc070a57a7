"""Functions of each element, arithmetic with broadcasting, comparisons, logic, integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto

from .draw import Draw
from .net import Net, Rejected
from .operators import operator

Drawn = Callable[[Draw], Any]
Range = tuple[float | None, float | None]
ALL: Range = (None, None)


def real(low: float, high: float) -> Drawn:
    return lambda draw: draw.real(low, high)


# operator: the range that its operand is cut to, and its attributes
UNARY: dict[str, tuple[Range, dict[str, Drawn]]] = {
    **{name: (ALL, {}) for name in ("Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Sin", "Cos", "Atan")},
    **{name: (ALL, {}) for name in ("Erf", "Softplus", "Softsign", "Asinh", "Mish", "HardSwish")},
    **{name: (ALL, {}) for name in ("Identity", "Sign", "Floor", "Ceil", "Round")},
    **{name: ((-3.0, 3.0), {}) for name in ("Exp", "Sinh", "Cosh")},
    **{name: ((-0.95, 0.95), {}) for name in ("Asin", "Acos", "Atanh")},
    "Tan": ((-1.2, 1.2), {}),
    "Log": ((0.1, None), {}),
    "Sqrt": ((0.0, None), {}),
    "Reciprocal": ((0.3, None), {}),
    "Acosh": ((1.05, None), {}),
    "Elu": (ALL, {"alpha": real(-1, 2)}),
    "Celu": (ALL, {"alpha": real(0.3, 2)}),
    "Selu": (ALL, {"alpha": real(0.5, 2), "gamma": real(-1, 2)}),
    "LeakyRelu": (ALL, {"alpha": real(-1, 2)}),
    "ThresholdedRelu": (ALL, {"alpha": real(-1, 1)}),
    "HardSigmoid": (ALL, {"alpha": real(-0.5, 1), "beta": real(-0.5, 1)}),
    "Shrink": (ALL, {"bias": real(-1, 1), "lambd": real(0, 1)}),
    "Gelu": (ALL, {"approximate": lambda draw: draw.one("none", "tanh", None)}),
    "Swish": (ALL, {"alpha": real(-1, 2)}),
}


def _unary(name: str) -> Callable[[Net], str]:
    (low, high), attributes = UNARY[name]

    def make(net: Net) -> str:
        x = net.pick()
        if low is not None or high is not None:
            x = net.between(x, low, high)
        drawn = {k: draw(net.draw) for k, draw in attributes.items() if net.draw.chance(0.8)}
        return str(net(name, x, **drawn))

    return make


for _name in UNARY:
    operator(_name, weight=0.35, dynamic=True)(_unary(_name))


def other(net: Net, x: str, low: float = -2.0, high: float = 2.0) -> str:
    """Return an operand that broadcasts with one: of the pool, or constant and of any shape."""
    shape, kind = net.shape(x), net.values[x].dtype

    def fits(array: np.ndarray) -> bool:
        if array.dtype != kind:
            return False
        try:
            return np.broadcast_shapes(shape, array.shape) is not None
        except ValueError:
            return False

    if net.draw.chance(0.45):
        try:
            return net.pick(kind.kind, (0, 1, 2, 3, 4, 5), fits)
        except Rejected:
            pass
    return constant(net, x, low, high)


def constant(net: Net, x: str, low: float = -2.0, high: float = 2.0) -> str:
    """Return a constant that broadcasts to a tensor: some of its last axes, some of them 1."""
    shape = net.shape(x)
    ones = {k for k in range(len(shape)) if (net.dynamic and k > 1) or net.draw.chance(0.4)}
    sizes = [1 if k in ones else s for k, s in enumerate(shape)]
    sizes = sizes[net.draw.integer(0, len(sizes)) :]
    if not net.dynamic and net.draw.chance(0.1) and len(shape) < 4:
        sizes = [net.draw.integer(1, 3), *((1,) * (len(shape) - len(sizes))), *sizes]
    kind = net.values[x].dtype
    if kind.kind == "f":
        return net.constant(net.draw.uniform(low, high, *sizes))
    if kind.kind == "b":
        return net.constant(net.draw.whole(0, 1, *sizes, dtype=np.bool_))
    return net.constant(net.draw.whole(0 if kind.kind == "u" else -3, 5, *sizes, dtype=kind))


def ordered(net: Net, a: str, b: str) -> tuple[str, str]:
    return (a, b) if net.draw.chance(0.6) else (b, a)


@operator("Add", "Sub", "Mul", weight=4, dynamic=True)
def arithmetic(net: Net) -> str:
    x = net.pick("ffffi")
    return str(net(net.draw.one("Add", "Sub", "Mul"), *ordered(net, x, other(net, x))))


@operator("Div", dynamic=True)
def divide(net: Net) -> str:
    x = net.pick()
    if net.draw.chance(0.5):
        return str(net("Div", x, constant(net, x, 0.4, 3)))
    below = net("Add", net("Abs", net.pick()), net.constant(np.float32(0.5)))
    return str(net("Div", other(net, below), below))


@operator("Pow", weight=0.7, dynamic=True)
def power(net: Net) -> str:
    if net.draw.chance(0.5):
        exponent = net.draw.one(0.0, 1.0, 2.0, 3.0, 4.0)
        return str(net("Pow", net.pick(), net.constant(np.float32(exponent))))
    x = net.between(net.pick(), 0.2, 3.0)
    return str(net("Pow", x, constant(net, x, -2, 2)))


@operator("Max", "Min", "Sum", "Mean", weight=1.5, dynamic=True)
def several(net: Net) -> str:
    x = net.pick()
    operands = [x, *(other(net, x) for _ in range(net.draw.integer(0, 2)))]
    return str(net(net.draw.one("Max", "Min", "Sum", "Mean"), *net.draw.some(operands)))


@operator("PRelu", dynamic=True)
def parametric_relu(net: Net) -> str:
    x = net.pick()
    return str(net("PRelu", x, constant(net, x, -1, 1)))


@operator("Clip", dynamic=True)
def clip(net: Net) -> str:
    low = net.draw.one(None, -1.0, 0.0, net.draw.real(-2, 0))
    high = net.draw.one(None, 6.0, 1.0, net.draw.real(0, 2))
    return str(net("Clip", net.pick("fffi"), min=low, max=high))


@operator("Mod", weight=0.5, dynamic=True)
def modulo(net: Net) -> str:
    x = net.pick("fi")
    if net.values[x].dtype.kind == "f":
        return str(net("Mod", x, constant(net, x, 0.5, 3), fmod=1))
    divisor = net.constant(net.draw.one(2, 3, 5, -4), net.values[x].dtype)
    return str(net("Mod", x, divisor, fmod=net.draw.one(0, 1)))


@operator("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", weight=1.5, dynamic=True)
def compare(net: Net) -> str:
    name = net.draw.one("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
    x = net.pick("fi")
    return str(net(name, *ordered(net, x, other(net, x))))


@operator("And", "Or", "Xor", "Not", weight=0.7, dynamic=True)
def logic(net: Net) -> str:
    x, name = net.pick("b"), net.draw.one("And", "Or", "Xor", "Not")
    return str(net("Not", x) if name == "Not" else net(name, x, other(net, x)))


@operator("Where", dynamic=True)
def where(net: Net) -> str:
    x = net.pick("ffi")
    shape = net.shape(x)

    def fits(array: np.ndarray) -> bool:
        return array.ndim <= len(shape) and all(
            a in (1, b) for a, b in zip(array.shape[::-1], shape[::-1], strict=False)
        )

    if net.draw.chance(0.5):
        condition = net("Greater", x, other(net, x))
    else:
        condition = net.pick("b", fits=fits)
    return str(net("Where", condition, *ordered(net, x, other(net, x))))


@operator("Cast", weight=1.5, dynamic=True)
def cast(net: Net) -> str:
    x = net.pick("fbiu")
    if net.values[x].dtype.kind == "f":
        if net.draw.chance(0.3):
            return str(net("Cast", net("Cast", x, to=TensorProto.FLOAT16), to=TensorProto.FLOAT))
        x = net.between(x, -100, 100)
        return str(
            net("Cast", x, to=net.draw.one(TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL))
        )
    if net.draw.chance(0.8):
        return str(net("Cast", x, to=TensorProto.FLOAT))
    return str(
        net("Cast", x, to=net.draw.one(TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL))
    )


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", weight=0.6, dynamic=True)
def bits(net: Net) -> str:
    x = net.pick("iu")
    name = net.draw.one("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift")
    if name == "BitShift":
        x = net(
            "Cast", net.between(net("Cast", x, to=TensorProto.FLOAT), 0, 200), to=TensorProto.UINT8
        )
        by = net.constant(net.draw.integer(0, 7), np.uint8)
        return str(net(name, x, by, direction=net.draw.one("LEFT", "RIGHT")))
    return str(net(name, x, other(net, x)))


@operator("Abs of integers", "Div of integers", weight=0.6, dynamic=True)
def integers(net: Net) -> str:
    x = net.pick("i")
    name = net.draw.one("Abs", "Neg", "Sign", "Max", "Min", "Div")
    if name == "Div":
        return str(net("Div", x, net.constant(net.draw.one(1, 2, 3, 7), net.values[x].dtype)))
    return str(net(name, x, other(net, x)) if name in ("Max", "Min") else net(name, x))


@operator("Dropout", weight=0.3, dynamic=True)
def dropout(net: Net) -> str:
    return str(net("Dropout", net.pick(), ratio=net.draw.real(0, 0.9)))


@operator("CumSum", weight=0.6)
def cumulative_sum(net: Net) -> str:
    x = net.pick("fffi")
    axis = net.constant(net.draw.axis(net.rank(x)), net.draw.one(np.int32, np.int64))
    return str(net("CumSum", x, axis, exclusive=net.draw.one(0, 1), reverse=net.draw.one(0, 1)))
