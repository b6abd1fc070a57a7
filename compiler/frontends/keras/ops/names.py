"""Spellings: what TensorFlow and Keras call the operations of :mod:`.table`."""

from __future__ import annotations

import re

# Keras 2 records a TensorFlow function by its public name, without "tf.".
_TENSORFLOW: dict[str, str] = {
    "__operators__.add": "add",
    "__operators__.getitem": "get_item",
    "abs": "absolute",
    "argsort": "argsort",
    "broadcast_to": "broadcast_to",
    "cast": "cast",
    "clip_by_value": "clip",
    "concat": "concatenate",
    "convert_to_tensor": "cast",
    "depth_to_space": "depth_to_space",
    "einsum": "einsum",
    "expand_dims": "expand_dims",
    "floor_div": "floor_divide",
    "gather": "take",
    "identity": "identity",
    "image.central_crop": "central_crop",
    "image.flip_left_right": "flip_left_right",
    "image.flip_up_down": "flip_up_down",
    "image.resize": "resize",
    "image.resize_nearest_neighbor": "resize_nearest_neighbor",
    "keras.backend.relu": "relu",
    "keras.backend.resize_images": "resize_images",
    "linalg.l2_normalize": "normalize",
    "linalg.matmul": "matmul",
    "linalg.norm": "norm",
    "math.abs": "absolute",
    "math.acos": "arccos",
    "math.add_n": "add_n",
    "math.asin": "arcsin",
    "math.atan": "arctan",
    "math.argmax": "argmax",
    "math.argmin": "argmin",
    "math.atan2": "arctan2",
    "math.cumprod": "cumprod",
    "math.cumsum": "cumsum",
    "math.floordiv": "floor_divide",
    "math.floormod": "mod",
    "math.is_finite": "isfinite",
    "math.is_inf": "isinf",
    "math.is_nan": "isnan",
    "math.l2_normalize": "normalize",
    "math.negative": "negative",
    "math.pow": "power",
    "math.rint": "round",
    "math.round": "round",
    "math.top_k": "top_k",
    "math.truediv": "divide",
    **{
        f"math.reduce_{name}": name
        for name in ("all", "any", "max", "mean", "min", "prod", "std", "sum")
    },
    "math.reduce_logsumexp": "logsumexp",
    "math.reduce_variance": "var",
    "matmul": "matmul",
    "norm": "norm",
    "neg": "negative",
    "negative": "negative",
    "nn.avg_pool": "average_pool",
    "nn.avg_pool1d": "average_pool",
    "nn.avg_pool2d": "average_pool",
    "nn.bias_add": "bias_add",
    "nn.conv1d": "conv",
    "nn.conv2d": "conv",
    "nn.convolution": "conv",
    "nn.depthwise_conv2d": "depthwise_conv",
    "nn.separable_conv2d": "separable_conv",
    "nn.gelu": "tf_gelu",
    "nn.l2_normalize": "normalize",
    "nn.leaky_relu": "leaky_relu",
    "nn.local_response_normalization": "lrn",
    "nn.lrn": "lrn",
    "nn.max_pool": "max_pool",
    "nn.max_pool1d": "max_pool",
    "nn.max_pool2d": "max_pool",
    "nn.moments": "moments",
    "nn.swish": "silu",
    "pad": "pad",
    "one_hot": "one_hot",
    "ones_like": "ones_like",
    "pow": "power",
    "realdiv": "divide",
    "repeat": "repeat",
    "reshape": "reshape",
    "reverse": "flip",
    "roll": "roll",
    "shape": "shape",
    "slice": "slice",
    "sort": "sort",
    "space_to_depth": "space_to_depth",
    "split": "split",
    "squeeze": "squeeze",
    "stack": "stack",
    "stop_gradient": "identity",
    "strided_slice": "strided_slice",
    "tensordot": "tensordot",
    "tile": "tile",
    "transpose": "transpose",
    "truediv": "divide",
    "unstack": "unstack",
    "where": "where",
    "zeros_like": "zeros_like",
    **{
        prefix + name: name
        for prefix in ("", "math.")
        for name in (
            *("add", "ceil", "cos", "cosh", "divide", "equal", "erf", "exp", "expm1", "floor"),
            *("greater", "greater_equal", "less", "less_equal", "log", "log1p", "logical_and"),
            *("logical_not", "logical_or", "logical_xor", "not_equal", "sinh"),
            *("log_sigmoid", "maximum", "minimum", "mod", "multiply", "reciprocal", "rsqrt"),
            *("sigmoid", "sign", "sin", "softplus", "softsign", "sqrt", "square"),
            *("squared_difference", "subtract", "tan", "tanh"),
        )
    },
    **{
        f"nn.{name}": name
        for name in (
            *("depth_to_space", "elu", "log_softmax", "relu", "relu6", "selu", "sigmoid", "silu"),
            *("softmax", "softplus", "softsign", "space_to_depth", "tanh"),
        )
    },
}
_KERAS = {
    "abs": "absolute",
    "concat": "concatenate",
    "convert_to_tensor": "cast",
    "copy": "identity",
    "fabs": "absolute",
    "fmax": "maximum",
    "fmin": "minimum",
    "rmsnorm": "rms_norm",
    "stop_gradient": "identity",
    "true_divide": "divide",
}
_NOT_IN_KERAS = ("tf_gelu", "resize_images", "resize_nearest_neighbor", "squared_difference")


def of_tensorflow(symbol: str) -> str | None:
    """Return the operation that ``tf.<symbol>`` computes, or None."""
    name = symbol.removeprefix("tf.")
    if name == "compat.v1.image.resize":  # other coordinates than tf.image.resize
        return None
    return _TENSORFLOW.get(name.removeprefix("compat.v1."))


def of_keras(class_name: str, operations: object) -> str | None:
    """Return the operation of a keras.ops class, or None."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()
    name = _KERAS.get(name, name)
    known = name in operations and name not in _NOT_IN_KERAS  # type: ignore[operator]
    return name if known else None


def tensorflow_symbols() -> list[str]:
    """Return the spellings, for messages."""
    return sorted(f"tf.{name}" for name in _TENSORFLOW)
