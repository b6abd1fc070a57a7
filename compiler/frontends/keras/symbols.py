"""Spellings: what TensorFlow and Keras call the operations of :mod:`.operations`."""

from __future__ import annotations

import re

# Keras 2 records a TensorFlow function by its public name, without "tf.".
_TENSORFLOW: dict[str, str] = {
    "__operators__.add": "add",
    "__operators__.getitem": "get_item",
    "abs": "absolute",
    "cast": "cast",
    "clip_by_value": "clip",
    "concat": "concatenate",
    "convert_to_tensor": "cast",
    "depth_to_space": "depth_to_space",
    "expand_dims": "expand_dims",
    "identity": "identity",
    "image.resize": "resize",
    "image.resize_nearest_neighbor": "resize_nearest_neighbor",
    "keras.backend.relu": "relu",
    "keras.backend.resize_images": "resize_images",
    "math.abs": "absolute",
    "math.acos": "arccos",
    "math.add_n": "add_n",
    "math.asin": "arcsin",
    "math.atan": "arctan",
    "math.floormod": "mod",
    "math.negative": "negative",
    "math.pow": "power",
    "math.rint": "round",
    "math.round": "round",
    "math.truediv": "divide",
    "neg": "negative",
    "negative": "negative",
    "nn.gelu": "tf_gelu",
    "nn.leaky_relu": "leaky_relu",
    "nn.swish": "silu",
    "pad": "pad",
    "pow": "power",
    "realdiv": "divide",
    "reshape": "reshape",
    "split": "split",
    "squeeze": "squeeze",
    "stack": "stack",
    "stop_gradient": "identity",
    "transpose": "transpose",
    "truediv": "divide",
    "unstack": "unstack",
    **{
        prefix + name: name
        for prefix in ("", "math.")
        for name in (
            *("add", "ceil", "cos", "divide", "erf", "exp", "expm1", "floor", "log", "log1p"),
            *("log_sigmoid", "maximum", "minimum", "mod", "multiply", "reciprocal", "rsqrt"),
            *("sigmoid", "sign", "sin", "softplus", "softsign", "sqrt", "square"),
            *("squared_difference", "subtract", "tan", "tanh"),
        )
    },
    **{
        f"nn.{name}": name
        for name in (
            *("depth_to_space", "elu", "relu", "relu6", "selu", "sigmoid", "silu", "softplus"),
            *("softsign", "tanh"),
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
