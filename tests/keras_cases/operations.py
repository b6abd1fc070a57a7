"""Functions recorded in a model: keras.ops in Keras 3, those of TensorFlow in Keras 2."""

from __future__ import annotations

import numpy as np

from .case import IMAGE, SEQUENCE, Case, model

POSITIVE = {"values": lambda arrays: [abs(a) + 0.25 for a in arrays]}
ABOVE_ONE = {"values": lambda arrays: [abs(a) + 1 for a in arrays]}
WITHIN_ONE = {"values": lambda arrays: [a / 2.5 for a in arrays]}

UNARY = (
    *("abs", "arctan", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor", "negative"),
    *("round", "sign", "sin", "sinc", "sinh", "square", "tan", "tanh", "trunc", "arcsinh"),
    *("relu", "relu6", "sigmoid", "silu", "softplus", "softsign", "elu", "selu", "celu", "gelu"),
    *("leaky_relu", "hard_sigmoid", "hard_silu", "hard_tanh", "log_sigmoid", "softmax"),
    *("log_softmax", "soft_shrink", "hard_shrink", "squareplus", "sparse_plus", "tanh_shrink"),
    *("cumsum", "cumprod", "flip", "ravel", "argmax", "argmin", "logsumexp", "isfinite"),
    *("deg2rad", "rad2deg", "cbrt", "nan_to_num", "logical_not", "zeros_like", "ones_like"),
)
OF_POSITIVES = ("log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt")
WITHIN = ("arccos", "arcsin", "arctanh")
BINARY = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "mod", "arctan2"),
    *("floor_divide", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal"),
    *("hypot", "logaddexp", "logical_and", "logical_or", "logical_xor", "heaviside"),
)
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "std", "var", "logsumexp", "amax", "any", "all")


def _unary(name, **options):
    return Case(
        f"ops.{name}", (IMAGE,), lambda k, x: getattr(k.ops, name)(x[0]), keras=(3,), **options
    )


def _binary(name):
    def build(k, x):
        return k.ops.cast(getattr(k.ops, name)(x[0], x[1]), "float32")

    return Case(f"ops.{name}", (IMAGE, (6, 4)), build, keras=(3,))


def _reduction(name, **arguments):
    text = ", ".join(f"{key}={value}" for key, value in arguments.items())

    def build(k, x):
        y = getattr(k.ops, name)(x[0], **arguments)
        return k.ops.cast(y, "float32")

    return Case(f"ops.{name}({text})", (IMAGE,), build, keras=(3,))


CASES = [
    *(_unary(name) for name in UNARY),
    *(_unary(name, **POSITIVE) for name in OF_POSITIVES),
    _unary("arccosh", **ABOVE_ONE),
    *(_unary(name, **WITHIN_ONE) for name in WITHIN),
    *map(_binary, BINARY),
    *(_reduction(name, axis=(1, 2)) for name in REDUCTIONS),
    *(_reduction(name, axis=-1, keepdims=True) for name in REDUCTIONS),
    *(_reduction(name, axis=1) for name in ("sum", "argmax", "argmin", "cumsum", "softmax")),
]


def expression(text, *shapes, keras=(3,), **options):
    """Return a case for an expression of x, y and the modules ops and L (layers)."""

    def build(k, x):
        names = {"k": k, "L": k.layers, "np": np, "ops": getattr(k, "ops", None)}
        names |= {"tf": _tensorflow(k), **dict(zip("xyz", x, strict=False))}
        return eval(text, names)

    return Case(text, shapes or (IMAGE,), build, keras=keras, **options)


def _tensorflow(k):
    if hasattr(k, "ops"):
        return None
    import tensorflow

    return tensorflow


CASES += [
    expression(text)
    for text in (
        "ops.clip(x, -0.5, 1.0)",
        "ops.power(x, 2)",
        "ops.where(x > 0, x, -1.0)",
        "ops.where(ops.greater(x, 0.5), x, ops.square(x))",
        "ops.reshape(x, (-1, 42, 4))",
        "ops.transpose(x, (0, 3, 1, 2))",
        "ops.swapaxes(x, 1, 2)",
        "ops.moveaxis(x, 3, 1)",
        "ops.expand_dims(x, 1)",
        "ops.squeeze(ops.expand_dims(x, 2), 2)",
        "ops.concatenate([x, -x], axis=1)",
        "ops.stack([x, x * 2.0], axis=-1)",
        "ops.split(x, 2, axis=-1)",
        "ops.split(x, [2, 5], axis=1)",
        "ops.unstack(x, axis=2)",
        "ops.tile(x, (1, 2, 1, 3))",
        "ops.repeat(x, 2, axis=1)",
        "ops.roll(x, 2, axis=1)",
        "ops.flip(x, axis=2)",
        "ops.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)))",
        "ops.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)), 'reflect')",
        "ops.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)), 'symmetric')",
        "ops.pad(x, ((0, 0), (1, 0), (0, 1), (0, 0)), constant_values=1.5)",
        "x[:, 1:-1, ::2, :3]",
        "x[:, 2]",
        "x[..., None, 1]",
        "x[:, ::-1]",
        "ops.take(x, [3, 0, 1], axis=-1)",
        "ops.take(x, 2, axis=1)",
        "ops.broadcast_to(x[:, :1], (1, 7, 6, 4))",
        "ops.average(x, axis=1)",
        "ops.normalize(x, axis=-1)",
        "ops.moments(x, axes=(1, 2))",
        "ops.glu(x)",
        "ops.threshold(x, 0.5, -1.0)",
        "ops.one_hot(ops.argmax(x, axis=-1), 4)",
        "ops.max_pool(x, 2, 2)",
        "ops.max_pool(x, (3, 2), 1, padding='same')",
        "ops.average_pool(x, 3, 2, padding='same')",
        "ops.image.resize(x, (10, 9))",
        "ops.image.resize(x, (5, 8), interpolation='bicubic')",
        "ops.image.resize(x, (10, 9), interpolation='nearest')",
        "ops.image.crop_images(x, top_cropping=1, left_cropping=2, target_height=4, "
        "target_width=3)",
        "ops.image.pad_images(x, top_padding=1, left_padding=2, target_height=10, target_width=9)",
        "ops.diff(x, axis=1)",
        "ops.conv(x, np.ones((3, 2, 4, 5)) / 8, 2, 'same')",
        "ops.depthwise_conv(x, np.ones((3, 3, 4, 2)) / 8, padding='same')",
        "ops.separable_conv(x, np.ones((3, 3, 4, 2)) / 8, np.ones((1, 1, 8, 3)) / 4)",
        "ops.einsum('abcd,ebcd->abce', x, x)",
        "ops.matmul(x, ops.transpose(x, (0, 1, 3, 2)))",
        "ops.layer_normalization(x)",
        "ops.rms_normalization(x)",
        "ops.count_nonzero(ops.relu(x), axis=-1)",
        "ops.depth_to_space(x, 2)",
        "ops.space_to_depth(x[:, :6], 2)",
        "ops.meshgrid(x[0, :, 0, 0], x[0, 0, :, 0])[0]",
        "ops.cast(ops.round(x), 'int32')",
        "ops.cast(x > 0.5, 'float32')",
        "x + 1",
        "2 - x",
        "x * x / (1 + abs(x))",
        "-x ** 2",
        "x // 0.75",
        "x % 0.75",
        "x @ ops.swapaxes(x, 2, 3)",
        "(x > 0) & (x < 1)",
    )
]
CASES += [
    expression(text, SEQUENCE, (4, 3))
    for text in (
        "ops.matmul(x, y)",
        "x @ y",
        "ops.einsum('abc,acd->abd', x, y)",
        "ops.tensordot(x[0], y[0], axes=1)",
        "ops.dot(x[0], y[0])",
    )
]
CASES += [
    expression("ops.dot_product_attention(x, y, z)", (5, 2, 3), (4, 2, 3), (4, 2, 3)),
    expression("ops.take_along_axis(x, ops.argsort(x, axis=1), axis=1)", (6,)),
    expression("ops.sort(x, axis=-1)", (6,)),
    expression("ops.top_k(x, 3)[0]", (6,)),
    expression("ops.outer(x[0], y[0])", (3,), (4,)),
    expression("ops.cross(x, y)", (5, 3), (5, 3)),
    expression("ops.inner(x[0], y[0])", (3,), (3,)),
    expression("ops.tril(x)", (5, 5)),
    expression("ops.triu(x, k=1)", (5, 5)),
    expression("ops.trace(x, axis1=1, axis2=2)", (5, 5)),
    expression("ops.diagonal(x, axis1=1, axis2=2)", (5, 5)),
]
CASES += [
    expression(text, keras=(2,))
    for text in (
        "x + 1.0",
        "2.0 - x",
        "x * x / (1.0 + abs(x))",
        "-x ** 2",
        "x // 0.75",
        "x % 0.75",
        "x[:, 1:-1, ::2, :3]",
        "x[..., tf.newaxis, 1]",
        "tf.nn.relu(x)",
        "tf.nn.relu6(x)",
        "tf.nn.silu(x)",
        "tf.nn.leaky_relu(x, 0.1)",
        "tf.nn.softmax(x)",
        "tf.nn.softmax(x, axis=1)",
        "tf.nn.log_softmax(x)",
        "tf.nn.gelu(x, approximate=True)",
        "tf.nn.l2_normalize(x, axis=-1)",
        "tf.nn.moments(x, axes=[1, 2])",
        "tf.nn.max_pool2d(x, 2, 2, 'SAME')",
        "tf.nn.avg_pool2d(x, 3, 2, 'VALID')",
        "tf.nn.depth_to_space(x, 2)",
        "tf.nn.space_to_depth(x[:, :6], 2)",
        "tf.nn.local_response_normalization(x, 2)",
        "tf.nn.lrn(x, depth_radius=1, bias=2.0, alpha=0.5, beta=0.75)",
        "tf.reduce_mean(x, axis=[1, 2])",
        "tf.reduce_mean(x, axis=-1, keepdims=True)",
        "tf.reduce_sum(x, 1)",
        "tf.reduce_max(x, axis=[1, 2], keepdims=True)",
        "tf.reduce_min(x, axis=3)",
        "tf.reduce_prod(x, axis=3)",
        "tf.reduce_logsumexp(x, axis=3)",
        "tf.math.reduce_std(x, axis=[1, 2])",
        "tf.math.reduce_variance(x, axis=3)",
        "tf.concat([x, -x], axis=1)",
        "tf.stack([x, 2.0 * x], axis=1)",
        "tf.unstack(x, axis=2)",
        "tf.split(x, [1, 3], axis=-1)",
        "tf.tile(x, [1, 2, 1, 3])",
        "tf.repeat(x, 2, axis=1)",
        "tf.roll(x, 2, axis=1)",
        "tf.reverse(x, axis=[1, 2])",
        "tf.transpose(x, [0, 3, 1, 2])",
        "tf.reshape(x, [-1, 42, 4])",
        "tf.expand_dims(x, 1)",
        "tf.squeeze(x[:, :1], 1)",
        "tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]])",
        "tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], mode='REFLECT')",
        "tf.gather(x, [3, 0, 1], axis=-1)",
        "tf.slice(x, [0, 1, 2, 0], [-1, 4, 3, 2])",
        "tf.strided_slice(x, [0, 1, 0, 0], [1, 7, 6, 4], [1, 2, 1, 1])",
        "tf.clip_by_value(x, -0.5, 1.0)",
        "tf.where(x > 0.0, x, 0.1 * x)",
        "tf.cast(x > 0.5, tf.float32)",
        "tf.cast(tf.argmax(x, axis=-1), tf.float32)",
        "tf.one_hot(tf.argmax(x, axis=-1), 4)",
        "tf.matmul(x, x, transpose_b=True)",
        "tf.cumsum(x, axis=1)",
        "tf.cumsum(x, axis=1, exclusive=True, reverse=True)",
        "tf.image.resize(x, (10, 9))",
        "tf.image.resize(x, (5, 8), method='bicubic')",
        "tf.image.resize(x, (10, 9), method='nearest')",
        "tf.image.resize(x, (3, 4), antialias=True)",
        "tf.image.resize(x, (3, 4), method='area')",
        "tf.image.flip_left_right(x)",
        "tf.image.central_crop(x, 0.5)",
        "tf.norm(x, axis=-1)",
        "tf.nn.conv2d(x, np.ones((3, 2, 4, 5), 'f4') / 8, 2, 'SAME')",
        "tf.nn.depthwise_conv2d(x, np.ones((3, 3, 4, 2), 'f4') / 8, [1, 1, 1, 1], 'VALID')",
        "tf.nn.separable_conv2d(x, np.ones((3, 3, 4, 2), 'f4') / 8, "
        "np.ones((1, 1, 8, 3), 'f4') / 4, [1, 1, 1, 1], 'SAME')",
        "tf.nn.bias_add(x, [1.0, 2.0, 3.0, 4.0])",
        "tf.math.squared_difference(x, 1.0)",
        "tf.math.rsqrt(tf.square(x) + 1.0)",
        "tf.math.sigmoid(x) * tf.tanh(x)",
        "tf.math.floordiv(x, 0.75)",
        "tf.math.top_k(x[:, 0, 0], 3)[0]",
        "tf.maximum(x, 0.0) + tf.minimum(x, 0.0)",
        "tf.math.softplus(x)",
        "tf.math.log1p(tf.abs(x))",
        "tf.math.greater(x, 0.5) & tf.math.less(x, 1.0)",
        "tf.zeros_like(x) + tf.ones_like(x) * x",
        "tf.broadcast_to(x[:, :1], [1, 7, 6, 4])",
        "tf.linalg.matmul(x, x, transpose_a=True)",
        "tf.tensordot(x, tf.ones((4, 2)), axes=1)",
        "k.backend.relu(x, alpha=0.1, max_value=1.0)",
        "k.backend.mean(x, axis=[1, 2])",
        "k.activations.softmax(x)",
        "k.activations.gelu(x)",
    )
]


# Keras 2 does not save the tensors of this one.
CASES.append(expression("tf.einsum('abcd,abed->abce', x, x)", keras=(2,), refused="SG0105"))


@model(IMAGE, (6, 4), keras=(3,))
def operations_and_layers(k, x):
    y = k.layers.Conv2D(4, 3, padding="same")(x[0])
    return k.ops.mean(k.ops.relu(y + x[1]) * 2.0, axis=(1, 2))


@model(IMAGE, keras=(3,))
def a_shape_computed_from_a_shape(k, x):
    _, h, w, c = k.ops.shape(x[0])
    return k.ops.reshape(x[0], (-1, h * w, c))


@model(IMAGE, keras=(2,))
def a_shape_computed_by_tensorflow(k, x):
    import tensorflow as tf

    shape = tf.shape(x[0])
    return tf.reshape(x[0], [shape[0], shape[1] * shape[2], 4])


@model(IMAGE, keras=(2,))
def self_normalising_with_tensorflow(k, x):
    import tensorflow as tf

    mean = tf.reduce_mean(x[0], axis=[1, 2], keepdims=True)
    deviation = tf.sqrt(tf.reduce_mean(tf.square(x[0] - mean), axis=[1, 2], keepdims=True) + 1e-3)
    return k.layers.Conv2D(2, 3)((x[0] - mean) / deviation)


CASES += [value for value in globals().values() if isinstance(value, Case)]
