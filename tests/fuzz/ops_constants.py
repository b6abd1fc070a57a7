"""What is known from shapes and constants alone, and tensors of other types."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from .net import Net, Rejected
from .operators import operator


@operator("Constant", weight=0.7)
def constant_node(net: Net) -> str:
    x, draw = net.pick(), net.draw
    spelling = draw.one("value", "value_float", "value_floats") if net.opset > 11 else "value"
    if spelling == "value_float":
        found = net("Constant", value_float=draw.real(-2, 2))
    elif spelling == "value_floats":
        found = net("Constant", value_floats=draw.normal(net.shape(x)[-1]).tolist())
    else:
        found = net("Constant", value=numpy_helper.from_array(draw.normal(*net.shape(x)[-1:])))
    return str(net("Mul", x, found))


@operator("ConstantOfShape", "EyeLike", weight=0.5)
def filled(net: Net) -> str:
    draw = net.draw
    if draw.chance(0.5):
        x = net.pick("fi", 2)
        kind = draw.one(None, TensorProto.FLOAT, TensorProto.INT64)
        return str(
            net(
                "Add",
                x,
                net("Cast", net("EyeLike", x, k=draw.integer(-2, 2), dtype=kind), to=_type(net, x)),
            )
        )
    x = net.pick()
    value = numpy_helper.from_array(np.float32([draw.real(-2, 2)]))
    return str(net("Add", x, net("ConstantOfShape", net("Shape", x), value=value)))


def _type(net: Net, x: str) -> int:
    return {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32}.get(
        net.values[x].dtype.name, TensorProto.INT64
    )


@operator("Range", "Size", weight=0.5)
def numbers(net: Net) -> str:
    x, draw = net.pick(), net.draw
    if draw.chance(0.4):
        count = net("Cast", net("Size", x), to=TensorProto.FLOAT)
        return str(net("Div", x, count))
    start, step = draw.real(-2, 2), draw.one(1.0, 0.5, -0.25)
    limit = np.float32(start + step * (net.shape(x)[-1] - 0.5))
    bounds = [net.constant(np.float32(v)) for v in (start, limit, step)]
    return str(net("Add", x, net("Range", *bounds)))


@operator("CastLike", weight=0.4, dynamic=True)
def cast_like(net: Net) -> str:
    return str(net("CastLike", net.pick("biu"), net.pick("f")))


@operator("IsInf", "IsNaN", weight=0.4, dynamic=True)
def unusual(net: Net) -> str:
    """Add a test for infinities, some of which a division by zero makes."""
    draw = net.draw
    x = net.pick()
    if draw.chance(0.3):
        return str(net("IsNaN", x))
    signs = {"detect_negative": draw.one(None, 0, 1), "detect_positive": draw.one(None, 0, 1)}
    return str(net("IsInf", x, **signs))


@operator("BitwiseNot", weight=0.3, dynamic=True)
def inverted(net: Net) -> str:
    return str(net("BitwiseNot", net.pick("iu")))


@operator("double", weight=0.7, dynamic=True)
def double(net: Net) -> str:
    """Compute in float64 for a while."""
    x, draw = net.pick(), net.draw
    wide = net("Cast", x, to=TensorProto.DOUBLE)
    for _ in range(draw.integer(1, 3)):
        if draw.chance(0.5):
            wide = net(draw.one("Abs", "Relu", "Sigmoid", "Neg", "Floor", "Sin"), wide)
        else:
            factor = net.constant(draw.real(-2, 2), np.float64)
            wide = net(draw.one("Add", "Mul", "Sub", "Max"), wide, factor)
    return str(net("Cast", wide, to=TensorProto.FLOAT))


@operator("MaxUnpool", weight=0.4)
def unpool(net: Net) -> str:
    x = net.pick(rank=4, fits=lambda a: min(a.shape[2:]) > 1)
    shape = {"kernel_shape": [2, 2], "strides": [2, 2]}
    y, places = net("MaxPool", x, outputs=2, **shape)
    if any(n % 2 for n in net.shape(x)[2:]):
        # onnxruntime takes indices as of the larger size, against the specification's example
        raise Rejected("not the size that follows")
    sizes = [net.constant(net.shape(x), np.int64)] if net.draw.chance(0.5) else []
    return str(net("MaxUnpool", net(net.draw.one("Tanh", "Neg"), y), places, *sizes, **shape))


@operator("Col2Im", weight=0.4)
def blocks(net: Net) -> str:
    """Add the sum of overlapping blocks, whose columns are of any number of channels."""
    draw = net.draw
    block = draw.integers(1, 3, 2)
    x = net.pick(rank=3, fits=lambda a: a.shape[1] % int(np.prod(block)) == 0)
    count = net.shape(x)[2]
    rows = draw.divisor(count)
    image = [rows + block[0] - 1, count // rows + block[1] - 1]
    sizes = (net.constant(image, np.int64), net.constant(block, np.int64))
    return str(net("Col2Im", x, *sizes))


@operator("Det", weight=0.3)
def determinant(net: Net) -> str:
    x = net.pick(rank=(2, 3, 4), fits=lambda a: a.shape[-1] == a.shape[-2] <= 5)
    return str(net("Det", x))


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", weight=0.5)
def losses(net: Net) -> str:
    x, draw = net.pick(rank=(2, 3, 4)), net.draw
    batch, classes, *rest = net.shape(x)
    labels = draw.whole(0, classes - 1, batch, *rest)
    named = {"reduction": draw.one(None, "none", "sum", "mean")}
    if draw.chance(0.3) and classes > 1:
        named["ignore_index"] = draw.integer(0, classes - 1)
        labels.flat[0] = (int(named["ignore_index"]) + 1) % classes  # never all of them
    weights = [net.constant(draw.uniform(0.2, 2, classes))] if draw.chance(0.4) else []
    operands = [x, net.constant(labels), *weights]
    name = draw.one("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    return str(net(name, *operands, **named))


@operator("RotaryEmbedding", weight=0.4)
def rotary(net: Net) -> str:
    draw = net.draw
    x = net.pick(rank=4, fits=lambda a: a.shape[3] % 2 == 0)
    batch, _, time, width = net.shape(x)
    angles = draw.uniform(-3, 3, batch, time, width // 2)
    caches = [net.constant(np.cos(angles)), net.constant(np.sin(angles))]
    return str(net("RotaryEmbedding", x, *caches, interleaved=draw.one(None, 0, 1)))


@operator("DFT", "STFT", weight=0.6)
def spectra(net: Net) -> str:
    draw = net.draw
    if draw.chance(0.3):
        x = net.pick(rank=2, fits=lambda a: a.shape[1] >= 4)
        length = draw.integer(2, net.shape(x)[1])
        step = net.constant(draw.integer(1, 4), np.int64)
        window = net.constant(draw.uniform(0.1, 1, length)) if draw.chance(0.6) else ""
        size = net.constant(length, np.int64)
        signal = net("Unsqueeze", x, axes=[2])
        return str(net("STFT", signal, step, window, size, onesided=draw.one(0, 1)))
    x = net.pick(rank=(3, 4), fits=lambda a: a.shape[-1] in (1, 2))
    rank = net.rank(x)
    axis = draw.integer(1, rank - 2)
    inverse, real = draw.one(0, 1), net.shape(x)[-1] == 1
    length = draw.one("", net.constant(draw.integer(1, net.shape(x)[axis] + 2), np.int64))
    named = {"inverse": inverse, "onesided": int(real and not inverse and draw.chance(0.5))}
    if net.opset < 20:
        return str(net("DFT", x, *([length] if length else []), axis=axis, **named))
    place = net.constant(draw.one(axis, axis - rank), np.int64)
    return str(net("DFT", x, length, place, **named))
