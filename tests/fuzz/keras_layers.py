"""The table of Keras's layers and operations, written from their signatures and documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from .keras_net import KerasNet, Tensor
from .net import Rejected

Make = Callable[[KerasNet], Tensor]
L = keras.layers
ATTEMPTS = 30
ACTIVATIONS = (
    *("celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu", "linear"),
    *("hard_tanh", "leaky_relu", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu"),
    *("sigmoid", "silu", "softmax", "soft_shrink", "softplus", "softsign", "sparse_plus", "tanh"),
    *("sparse_sigmoid", "sparsemax", "squareplus", "tanh_shrink", "threshold", "glu"),
)


@dataclass(frozen=True)
class Entry:
    """A layer: how often it is drawn, and whether heights and widths may stay open."""

    name: str
    make: Make
    weight: float
    dynamic: bool


LAYERS: dict[str, Entry] = {}


def layer(*names: str, weight: float = 1.0, dynamic: bool = False) -> Callable[[Make], Make]:
    """Enter a function under the names of layers."""

    def enter(make: Make) -> Make:
        for name in names:
            LAYERS[name] = Entry(name, make, weight / len(names), dynamic)
        return make

    return enter


def grow(net: KerasNet, count: int) -> list[str]:
    """Add some layers to a model; return the names of the entries that were taken."""
    entries = [e for e in LAYERS.values() if e.dynamic or not net.dynamic]
    weights = [e.weight for e in entries]
    taken: list[str] = []
    for _ in range(ATTEMPTS * count):
        if len(taken) == count:
            break
        entry = net.draw.weighted(entries, weights)
        before = len(net.layers)
        try:
            net.offer(entry.make(net))
        except Rejected:
            del net.layers[before:]
            continue
        taken.append(entry.name)
    return taken


def activation(net: KerasNet) -> str | None:
    return net.draw.one(None, None, "relu", *ACTIVATIONS)


def dimensions(net: KerasNet, *allowed: int) -> tuple[Tensor, int]:
    """Return an image, a signal or a volume, and how many axes it has in space."""
    x = net.pick(tuple(n + 2 for n in allowed or (2, 2, 2, 1, 3)))
    return x, x.value.ndim - 2


def spread(net: KerasNet, count: int, low: int, high: int) -> int | tuple[int, ...]:
    """Return a number for all axes, or one for each."""
    if net.draw.chance(0.6):
        return net.draw.integer(low, high)
    return tuple(net.draw.integers(low, high, count))


def windowed(net: KerasNet, x: Tensor, count: int, dilated: bool = True) -> dict[str, Any]:
    """Return the arguments of convolutions."""
    draw = net.draw
    found: dict[str, Any] = {
        "kernel_size": 3 if draw.chance(0.4) else spread(net, count, 1, 4),
        "padding": draw.one("valid", "same"),
        "use_bias": draw.chance(0.7),
        "activation": activation(net),
    }
    if draw.chance(0.4):
        found["strides"] = draw.integer(1, 3) if draw.chance(0.7) else spread(net, count, 1, 3)
    elif dilated and draw.chance(0.3):
        found["dilation_rate"] = draw.integer(1, 3)
    if draw.chance(0.08):
        found["data_format"] = "channels_first"
    return found


def channels(x: Tensor, named: dict[str, Any]) -> int:
    return x.shape[0 if named.get("data_format") == "channels_first" else -1]


@layer("Conv", weight=5, dynamic=True)
def convolution(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    named = windowed(net, x, count)
    groups = net.draw.one(1, 1, 1, net.draw.divisor(channels(x, named)))
    filters = groups * net.draw.integer(1, 5)
    kind = (L.Conv1D, L.Conv2D, L.Conv3D)[count - 1]
    return net(kind(filters, groups=groups, **named), x)


@layer("DepthwiseConv", "SeparableConv", weight=2.5, dynamic=True)
def depthwise(net: KerasNet) -> Tensor:
    x, count = dimensions(net, 2, 2, 1)
    named = windowed(net, x, count)
    if isinstance(named.get("strides"), tuple):
        named["strides"] = named["strides"][0]
    named["depth_multiplier"] = net.draw.one(1, 1, 2, 3)
    if net.draw.chance(0.5):
        return net((L.DepthwiseConv1D, L.DepthwiseConv2D)[count - 1](**named), x)
    kind = (L.SeparableConv1D, L.SeparableConv2D)[count - 1]
    return net(kind(net.draw.integer(1, 6), **named), x)


@layer("ConvTranspose", weight=2, dynamic=True)
def transposed(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    named = windowed(net, x, count)
    kind = (L.Conv1DTranspose, L.Conv2DTranspose, L.Conv3DTranspose)[count - 1]
    return net(kind(net.draw.integer(1, 6), **named), x)


@layer("MaxPooling", "AveragePooling", weight=3, dynamic=True)
def pooling(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    named: dict[str, Any] = {"padding": net.draw.one("valid", "same")}
    if net.draw.chance(0.5):
        named["strides"] = spread(net, count, 1, 3)
    if net.draw.chance(0.08):
        named["data_format"] = "channels_first"
    name = net.draw.one("MaxPooling", "AveragePooling")
    return net(getattr(L, f"{name}{count}D")(spread(net, count, 1, 3), **named), x)


@layer("GlobalMaxPooling", "GlobalAveragePooling", weight=1, dynamic=True)
def global_pooling(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    name = net.draw.one("GlobalMaxPooling", "GlobalAveragePooling")
    return net(getattr(L, f"{name}{count}D")(keepdims=net.draw.chance(0.5)), x)


@layer("AdaptivePooling", weight=0.4)
def adaptive(net: KerasNet) -> Tensor:
    x, count = dimensions(net, 2, 1)
    name = net.draw.one("AdaptiveMaxPooling", "AdaptiveAveragePooling")
    return net(getattr(L, f"{name}{count}D")(spread(net, count, 1, 4)), x)


@layer("UpSampling", weight=1.5, dynamic=True)
def upsampling(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    if count == 1:
        return net(L.UpSampling1D(net.draw.integer(1, 3)), x)
    size = spread(net, count, 1, 3)
    if count == 3:
        return net(L.UpSampling3D(size), x)
    methods = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
    method = net.draw.weighted(methods, (4, 3, 0.4, 0.2, 0.2))
    return net(L.UpSampling2D(size, interpolation=method), x)


@layer("ZeroPadding", "Cropping", weight=1.5, dynamic=True)
def borders(net: KerasNet) -> Tensor:
    x, count = dimensions(net)
    pairs: Any = tuple((net.draw.integer(0, 2), net.draw.integer(0, 2)) for _ in range(count))
    pairs = net.draw.one(pairs, net.draw.integer(0, 2)) if count > 1 else pairs[0]
    return net(getattr(L, f"{net.draw.one('ZeroPadding', 'Cropping')}{count}D")(pairs), x)


@layer("Resizing", "CenterCrop", weight=1)
def resizing(net: KerasNet) -> Tensor:
    x, draw = net.pick(4), net.draw
    height, width = draw.integers(1, 14, 2)
    if draw.chance(0.3):
        return net(L.CenterCrop(min(height, x.shape[0]), min(width, x.shape[1])), x)
    methods = ("bilinear", "nearest", "bicubic", "lanczos3")
    named: dict[str, Any] = {"interpolation": draw.weighted(methods, (3, 3, 0.5, 0.3))}
    named["antialias"] = draw.chance(0.2)
    if draw.chance(0.2):
        named[draw.one("crop_to_aspect_ratio", "pad_to_aspect_ratio")] = True
    return net(L.Resizing(height, width, **named), x)


@layer("Dense", weight=3, dynamic=True)
def dense(net: KerasNet) -> Tensor:
    units, used = net.draw.integer(1, 9), activation(net)
    return net(L.Dense(units, activation=used, use_bias=net.draw.chance(0.7)), net.pick())


@layer("EinsumDense", weight=0.7)
def einsum(net: KerasNet) -> Tensor:
    x = net.pick((2, 3))
    units = net.draw.integer(1, 6)
    if x.value.ndim == 2:
        named: dict[str, Any] = {"bias_axes": net.draw.one(None, "c")}
        return net(L.EinsumDense("ab,bc->ac", output_shape=units, **named), x)
    equation, axes = net.draw.one(("abc,cd->abd", "d"), ("...x,xy->...y", "y"))
    shape = (None, units)
    return net(L.EinsumDense(equation, shape, bias_axes=net.draw.one(None, axes)), x)


@layer("Activation", weight=2.5, dynamic=True)
def activated(net: KerasNet) -> Tensor:
    return net(L.Activation(net.draw.one(*ACTIVATIONS)), net.pick())


@layer("ReLU", "LeakyReLU", "PReLU", "ELU", "Softmax", weight=2.5, dynamic=True)
def activating(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    name = draw.one("ReLU", "LeakyReLU", "PReLU", "ELU", "Softmax")
    if name == "ReLU":
        named: dict[str, Any] = {"max_value": draw.one(None, 6.0, draw.real(0.5, 3))}
        named |= {"negative_slope": draw.one(0.0, draw.real(0, 0.5))}
        return net(L.ReLU(threshold=draw.one(0.0, draw.real(0, 0.4)), **named), x)
    if name == "LeakyReLU":
        return net(L.LeakyReLU(negative_slope=draw.real(0, 0.9)), x)
    if name == "ELU":
        return net(L.ELU(alpha=draw.real(0.2, 2)), x)
    rank = x.value.ndim
    if name == "Softmax":
        axis: Any = draw.one(-1, draw.integer(1, rank - 1))
        if rank > 3 and draw.chance(0.2):
            axis = [1, 2]
        return net(L.Softmax(axis), x)
    if net.dynamic:
        shared = [1, 2] if rank == 4 else None
    else:
        shared = sorted(draw.some(range(1, rank), 0)) or None
    return net(L.PReLU(shared_axes=shared), x)


@layer("BatchNormalization", weight=2, dynamic=True)
def batch_normalization(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    axis = -1 if net.dynamic or draw.chance(0.8) else draw.integer(1, x.value.ndim - 1)
    named = {"center": draw.chance(0.8), "scale": draw.chance(0.8)}
    return net(L.BatchNormalization(axis, epsilon=draw.one(1e-3, 0.1), **named), x)


@layer("LayerNormalization", "RMSNormalization", "UnitNormalization", weight=1.5)
def normalization(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    rank = x.value.ndim
    name = draw.one("LayerNormalization", "RMSNormalization", "UnitNormalization")
    axis: Any = draw.one(-1, -1, draw.integer(1, rank - 1))
    if name == "RMSNormalization":
        return net(L.RMSNormalization(axis), x)
    if rank > 2 and draw.chance(0.3):
        axis = sorted(draw.some(range(1, rank)))
    if name == "UnitNormalization":
        return net(L.UnitNormalization(axis), x)
    named = {"center": draw.chance(0.8), "scale": draw.chance(0.8)}
    return net(L.LayerNormalization(axis, epsilon=draw.one(1e-3, 0.1), **named), x)


@layer("GroupNormalization", weight=0.7, dynamic=True)
def group_normalization(net: KerasNet) -> Tensor:
    x = net.pick((3, 4))
    groups = net.draw.one(-1, net.draw.divisor(x.shape[-1]))
    return net(L.GroupNormalization(groups, scale=net.draw.chance(0.8)), x)


@layer("Rescaling", "Dropout", weight=1, dynamic=True)
def rescaling(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    noise = (L.Dropout(0.3), L.GaussianNoise(0.2), L.GaussianDropout(0.2), L.Identity())
    if draw.chance(0.4):
        return net(draw.one(*noise, L.AlphaDropout(0.2)), x)
    scale: Any = draw.one(draw.real(-2, 2), [draw.real(-2, 2) for _ in range(x.shape[-1])])
    return net(L.Rescaling(scale, draw.real(-1, 1)), x)


@layer("Normalization", weight=0.4)
def standardization(net: KerasNet) -> Tensor:
    x, draw = net.pick((2, 3, 4)), net.draw
    mean, variance = draw.normal(x.shape[-1]), draw.uniform(0.3, 2, x.shape[-1])
    named = {"mean": mean.tolist(), "variance": variance.tolist(), "invert": draw.chance(0.3)}
    return net(L.Normalization(axis=-1, **named), x)


@layer("merge", weight=4, dynamic=True)
def merge(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    kinds = (L.Add, L.Add, L.Multiply, L.Average, L.Maximum, L.Minimum, L.Subtract)
    kind = draw.one(*kinds)
    count = 1 if kind is L.Subtract else draw.integer(1, 2)
    others = [net.pick(x.value.ndim, lambda a: a.shape == x.value.shape) for _ in range(count)]
    return net(kind(), x, *others)


@layer("Concatenate", weight=2.5, dynamic=True)
def concatenate(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    axis = draw.integer(1, x.value.ndim - 1)
    if draw.chance(0.6) or net.dynamic:
        axis = x.value.ndim - 1
    rest = np.delete(x.value.shape, axis).tolist()
    others = [
        net.pick(x.value.ndim, lambda a: np.delete(a.shape, axis).tolist() == rest)
        for _ in range(draw.integer(1, 2))
    ]
    return net(L.Concatenate(axis=draw.one(axis, axis - x.value.ndim)), x, *others)


@layer("Dot", weight=0.5)
def dot(net: KerasNet) -> Tensor:
    x = net.pick((2, 3))
    other = net.pick(x.value.ndim, lambda a: a.shape == x.value.shape)
    axes = net.draw.integer(1, x.value.ndim - 1)
    return net(L.Dot(axes, normalize=net.draw.chance(0.3)), x, other)


@layer("Reshape", "Flatten", "Permute", "RepeatVector", weight=2)
def arranged(net: KerasNet) -> Tensor:
    x, draw = net.pick(), net.draw
    name, shape = draw.one("Reshape", "Flatten", "Permute", "RepeatVector"), x.shape
    if name == "Flatten":
        named = {"data_format": "channels_first"} if draw.chance(0.15) else {}
        return net(L.Flatten(**named), x)
    if name == "Permute":
        return net(L.Permute([int(k) + 1 for k in draw.rng.permutation(len(shape))]), x)
    if name == "RepeatVector":
        return net(L.RepeatVector(draw.integer(1, 5)), net.pick(2))
    sizes = list(shape)
    k = draw.integer(0, len(sizes) - 1)
    if len(sizes) > 1 and draw.chance(0.5):
        k = min(k, len(sizes) - 2)
        sizes[k : k + 2] = [sizes[k] * sizes[k + 1]]
    else:
        part = draw.divisor(sizes[k])
        sizes[k : k + 1] = [part, sizes[k] // part]
    if draw.chance(0.3):
        sizes[draw.integer(0, len(sizes) - 1)] = -1
    return net(L.Reshape(sizes), x)


@layer("SimpleRNN", "GRU", "LSTM", "Bidirectional", weight=2)
def recurrent(net: KerasNet) -> Tensor:
    x, draw = net.pick(3, lambda a: a.shape[1] <= 10), net.draw
    kind = draw.one(L.SimpleRNN, L.GRU, L.LSTM)
    named: dict[str, Any] = {"return_sequences": draw.chance(0.5)}
    named |= {"use_bias": draw.chance(0.8), "go_backwards": draw.chance(0.2)}
    named["activation"] = draw.one("tanh", "tanh", "relu", "softsign")
    if kind is not L.SimpleRNN:
        named["recurrent_activation"] = draw.one("sigmoid", "hard_sigmoid")
    if kind is L.GRU:
        named["reset_after"] = draw.chance(0.5)
    made = kind(draw.integer(1, 6), **named)
    if draw.chance(0.3):
        made = L.Bidirectional(made, merge_mode=draw.one("concat", "sum", "mul", "ave"))
    return net(made, x)


@layer("TimeDistributed", weight=0.6)
def distributed(net: KerasNet) -> Tensor:
    draw = net.draw
    if draw.chance(0.5):
        return net(L.TimeDistributed(L.Dense(draw.integer(1, 5), activation="tanh")), net.pick(3))
    x = net.pick(5)
    return net(L.TimeDistributed(L.Conv2D(draw.integer(1, 4), 3, padding="same")), x)


@layer("ConvLSTM", weight=0.3)
def convolutional_recurrent(net: KerasNet) -> Tensor:
    x, draw = net.pick((4, 5), lambda a: a.shape[1] <= 6), net.draw
    kind = L.ConvLSTM1D if x.value.ndim == 4 else L.ConvLSTM2D
    named = {"padding": draw.one("same", "valid"), "return_sequences": draw.chance(0.5)}
    return net(kind(draw.integer(1, 3), draw.integer(1, 3), **named), x)


@layer("Attention", "AdditiveAttention", "MultiHeadAttention", weight=1.5)
def attention(net: KerasNet) -> Tensor:
    x, draw = net.pick(3), net.draw
    name = draw.one("Attention", "AdditiveAttention", "MultiHeadAttention", "Grouped")
    width = x.shape[-1]
    other = net.pick(3, lambda a: a.shape[-1] == width)
    causal = {"use_causal_mask": True} if draw.chance(0.25) else {}
    if name == "AdditiveAttention":
        return net(L.AdditiveAttention(use_scale=draw.chance(0.5)), x, other, **causal)
    if name == "Attention":
        mode = draw.one("dot", "concat")
        made = L.Attention(use_scale=draw.chance(0.5), score_mode=mode)
        return net(made, x, other, **causal)
    if name == "Grouped":
        groups = draw.integer(1, 2)
        heads = groups * draw.integer(1, 2)
        made = L.GroupQueryAttention(draw.integer(1, 4), heads, groups)
        return net(made, x, other, **causal)
    heads, size = draw.integer(1, 3), draw.integer(1, 4)
    made = L.MultiHeadAttention(heads, size, draw.one(None, 3), use_bias=draw.chance(0.7))
    return net(made, x, other, **causal)


@layer("Embedding", weight=0.7)
def embedding(net: KerasNet) -> Tensor:
    found = [t for t in net.pool[-1 if net.chain else 0 :] if t.value.dtype.kind == "i"]
    if not found:
        raise Rejected("no indices")
    return net(L.Embedding(10, net.draw.integer(1, 6)), net.draw.one(*found))


@layer("operation", weight=3, dynamic=True)
def operation(net: KerasNet) -> Tensor:
    """Add a function of keras.ops, of each element."""
    ops, draw = keras.ops, net.draw
    if net.chain:
        raise Rejected("a chain")
    x = net.pick()
    names = ("abs", "sin", "cos", "tanh", "square", "negative", "sign", "floor", "ceil", "round")
    names += ("arctan", "erf", "expm1", "relu6", "silu", "softplus", "exp2", "logaddexp", "trunc")
    name = draw.one(*names)
    if name in ("expm1", "exp2"):
        x = net(ops.clip, x, x_min=-3.0, x_max=3.0)
    if name == "logaddexp":
        return net(ops.logaddexp, x, net.pick(fits=lambda a: a.shape == x.value.shape))
    return net(getattr(ops, name), x)


@layer("reduction", weight=1.5, dynamic=True)
def reduction(net: KerasNet) -> Tensor:
    ops, draw = keras.ops, net.draw
    if net.chain:
        raise Rejected("a chain")
    x = net.pick((3, 4))
    axis: Any = draw.integer(1, x.value.ndim - 1)
    if draw.chance(0.3):
        axis = tuple(sorted(draw.some(range(1, x.value.ndim))))
    named = {"axis": axis, "keepdims": draw.chance(0.7) or x.value.ndim == 3}
    return net(draw.one(ops.mean, ops.sum, ops.max, ops.min, ops.var, ops.logsumexp), x, **named)


@layer("movement", weight=1)
def movement(net: KerasNet) -> Tensor:
    ops, draw = keras.ops, net.draw
    if net.chain:
        raise Rejected("a chain")
    x = net.pick((3, 4))
    axis = draw.integer(1, x.value.ndim - 1)
    name = draw.one("flip", "roll", "repeat", "transpose", "take", "cumsum", "swapaxes")
    if name == "flip":
        return net(ops.flip, x, axis=axis)
    if name == "roll":
        return net(ops.roll, x, shift=draw.integer(-3, 3), axis=axis)
    if name == "repeat":
        return net(ops.repeat, x, repeats=draw.integer(1, 3), axis=axis)
    if name == "cumsum":
        return net(ops.cumsum, x, axis=axis)
    if name == "swapaxes":
        return net(ops.swapaxes, x, axis1=axis, axis2=draw.integer(1, x.value.ndim - 1))
    if name == "transpose":
        order = [0, *(int(k) + 1 for k in draw.rng.permutation(x.value.ndim - 1))]
        return net(ops.transpose, x, axes=order)
    return net(ops.take, x, indices=draw.whole(0, x.shape[axis - 1] - 1, 3).tolist(), axis=axis)
