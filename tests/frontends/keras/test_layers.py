"""Layers and operations of Keras against Keras itself."""

from __future__ import annotations

import numpy as np
import pytest


def layer_cases():
    """Layers by class name, each with the arguments to try."""
    convolutions = [
        {"filters": 3, "kernel_size": 3},
        {
            "filters": 2,
            "kernel_size": (3, 2),
            "strides": (2, 1),
            "padding": "same",
            "activation": "relu",
        },
        {"filters": 2, "kernel_size": (2, 5), "strides": 3, "padding": "same", "use_bias": False},
        {"filters": 4, "kernel_size": 3, "dilation_rate": 2, "padding": "same", "groups": 2},
        {"filters": 2, "kernel_size": 4, "padding": "same", "activation": "hard_sigmoid"},
    ]
    cases = {"Conv2D": [*convolutions, {"filters": 2, "kernel_size": 9, "padding": "same"}]}
    cases["SeparableConv2D"] = [
        {
            "filters": 3,
            "kernel_size": 3,
            "depth_multiplier": 2,
            "padding": "same",
            "activation": "tanh",
        },
        {"filters": 2, "kernel_size": 2, "strides": 2, "use_bias": False},
    ]
    cases["DepthwiseConv2D"] = [
        {"kernel_size": 3, "depth_multiplier": 2, "padding": "same", "activation": "relu6"},
        {"kernel_size": (2, 3), "strides": 2},
    ]
    cases["Conv2DTranspose"] = [
        {"filters": 2, "kernel_size": k, "strides": s, "padding": p, "activation": "silu"}
        for k in (2, 3, 4, (1, 5))
        for s in (1, 2, 3)
        for p in ("same", "valid")
    ]
    cases["Conv2DTranspose"] += [
        {"filters": 2, "kernel_size": 3, "dilation_rate": 2, "padding": "valid"},
        {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "valid", "output_padding": 1},
        {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same", "output_padding": 1},
        {"filters": 1, "kernel_size": 8, "strides": 4, "padding": "same", "use_bias": False},
    ]
    cases["Activation"] = [{"activation": name} for name in ACTIVATIONS]
    cases["ReLU"] = [
        {},
        {"max_value": 1.0},
        {"negative_slope": 0.2},
        {"threshold": 0.5},
        {"max_value": 1.5, "negative_slope": 0.1, "threshold": 0.25},
        {"max_value": 1.5, "negative_slope": 0.3},
    ]
    cases["LeakyReLU"] = [{}, {"negative_slope": 0.05}]
    cases["ELU"] = [{}, {"alpha": 0.5}]
    cases["PReLU"] = [{}, {"shared_axes": [1, 2]}, {"shared_axes": [2]}]
    cases["BatchNormalization"] = [
        {},
        {"scale": False},
        {"center": False, "epsilon": 0.1},
        {"center": False, "scale": False},
        {"axis": 1},
        {"axis": 2},
    ]
    cases["ZeroPadding2D"] = [{}, {"padding": (2, 1)}, {"padding": ((1, 0), (2, 3))}]
    cases["Cropping2D"] = [{"cropping": 1}, {"cropping": ((1, 2), (0, 3))}]
    cases["UpSampling2D"] = [{}, {"size": (1, 3)}]
    for name in ("Dropout", "SpatialDropout2D", "GaussianNoise", "GaussianDropout", "AlphaDropout"):
        cases[name] = [{"stddev" if name == "GaussianNoise" else "rate": 0.5}]
    cases["ActivityRegularization"] = [{"l1": 0.1}]
    cases["Identity"] = [{}]
    cases["Rescaling"] = [
        {"scale": 2.0, "offset": -1.0},
        {"scale": [1.0, 2.0, 3.0, 4.0], "offset": 0},
    ]
    cases["Reshape"] = [{"target_shape": (6, -1, 2)}, {"target_shape": (24, 7)}]
    cases["Permute"] = [{"dims": (2, 1, 3)}, {"dims": (3, 1, 2)}]
    cases["Flatten"] = [{}]
    return [(name, arguments) for name, several in cases.items() for arguments in several]


ACTIVATIONS = (
    *("celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu"),
    *("hard_tanh", "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu"),
    *("sigmoid", "silu", "soft_shrink", "softplus", "softsign", "sparse_plus", "sparse_sigmoid"),
    *("squareplus", "tanh", "tanh_shrink"),
)


def case_name(value):
    return value if isinstance(value, str) else ",".join(f"{k}={v}" for k, v in value.items())


@pytest.mark.parametrize(("name", "arguments"), layer_cases(), ids=case_name)
def test_a_layer_computes_what_keras_computes(keras, same_as_keras, name, arguments):
    image = keras.Input((7, 6, 4))
    layer = getattr(keras.layers, name)(**arguments)
    # Two suffixes only where weights are: the configuration reads the same.
    model = keras.Model(image, layer(image))
    same_as_keras(model, (".keras", ".h5") if model.weights else (".h5",))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Add", {}),
        ("Subtract", {}),
        ("Multiply", {}),
        ("Average", {}),
        ("Maximum", {}),
        ("Minimum", {}),
        ("Concatenate", {}),
        ("Concatenate", {"axis": 1}),
        ("Concatenate", {"axis": -2}),
    ],
    ids=case_name,
)
def test_a_merge_layer_computes_what_keras_computes(keras, same_as_keras, name, arguments):
    inputs = [keras.Input((3, 4, 5), name=f"in{k}") for k in range(2 if name == "Subtract" else 3)]
    layer = getattr(keras.layers, name)(**arguments)
    same_as_keras(keras.Model(inputs, layer(inputs)), (".keras",))


def operation_cases(ops):
    """Expressions of keras.ops by name, each of an image x with 8 channels."""
    unary = (
        *(
            "abs",
            "ceil",
            "cos",
            "exp",
            "expm1",
            "erf",
            "floor",
            "hard_silu",
            "hard_tanh",
            "negative",
        ),
        *(
            "log_sigmoid",
            "relu6",
            "round",
            "selu",
            "sigmoid",
            "sign",
            "sin",
            "softplus",
            "softsign",
        ),
        *("sparse_plus", "sparse_sigmoid", "square", "tan", "tanh", "tanh_shrink", "trunc", "elu"),
        *("relu", "silu", "gelu", "leaky_relu", "hard_sigmoid", "celu", "soft_shrink"),
        *("hard_shrink", "squareplus"),
    )
    cases = {name: getattr(ops, name) for name in unary if hasattr(ops, name)}
    return cases | {
        "log": lambda x: ops.log(ops.abs(x) + 0.1) + ops.log1p(x * x),
        "sqrt": lambda x: ops.sqrt(ops.abs(x)) + ops.rsqrt(x * x + 1.0),
        "arithmetic": lambda x: 2.0 - (x + 1.5) * x / (3.0 + x * x),
        "power": lambda x: ops.power(ops.abs(x) + 0.1, 1.5) + 2.0 ** (x * 0.5),
        "mod": lambda x: ops.mod(x, 0.7),
        "bounds": lambda x: ops.maximum(ops.minimum(x, 1.0), ops.clip(x, -0.5, 0.25)),
        "per_channel": lambda x: x * np.arange(8, dtype="f4") + ops.arange(6.0)[:, None],
        "reversed_broadcast": lambda x: ops.subtract(np.ones((1, 7, 6, 8), "f4"), x[..., :1]),
        "gelu_exact": lambda x: ops.gelu(x, approximate=False),
        "elu_alpha": lambda x: ops.elu(x, alpha=0.3),
        "leaky": lambda x: ops.leaky_relu(x, negative_slope=0.4),
        "threshold": lambda x: ops.threshold(x, 0.3, -1.0),
        "depth_to_space": lambda x: ops.nn.depth_to_space(x, 2),
        "concatenate": lambda x: ops.concatenate([x, x * 2.0], axis=-1),
        "concatenate_rows": lambda x: ops.concatenate([x, x * 2.0], axis=1),
        "stack": lambda x: ops.stack([x[:, :, 0], x[:, :, 1]], axis=2),
        "split": lambda x: ops.concatenate(ops.split(x, 2, axis=-1)[::-1], axis=-1),
        "split_at": lambda x: ops.split(x, [3, 5], axis=-1)[1],
        "pad_constant": lambda x: ops.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], constant_values=0.5),
        "pad_reflect": lambda x: ops.pad(x, [[0, 0], [3, 2], [0, 1], [0, 0]], mode="reflect"),
        "pad_symmetric": lambda x: ops.pad(x, ((0, 0), (3, 2), (0, 1), (1, 0)), mode="symmetric"),
        "index": lambda x: x[:, 1:-1, ::2, 3],
        "index_ellipsis": lambda x: x[..., 1::3],
        "index_new_axis": lambda x: x[:, 2, None],
        "transpose": lambda x: ops.transpose(x, (0, 3, 1, 2)),
        "reshape": lambda x: ops.reshape(x, (1, 6, 7, -1)),
        "squeeze": lambda x: ops.squeeze(x[:, :1], axis=1),
        "expand_dims": lambda x: ops.expand_dims(x[:, 0], axis=-1)[:, :, 0],
        "cast": lambda x: ops.cast(x, "float32") + ops.stop_gradient(x),
        "unstack": lambda x: ops.unstack(x, axis=-1)[5],
        "resize": lambda x: ops.image.resize(x, (14, 18), interpolation="nearest"),
    }


def test_keras_operations_compute_what_keras_computes(keras, same_as_keras):
    """All in one model with as many outputs, which is far faster than a model for each."""
    image = keras.Input((7, 6, 8), batch_size=1)
    cases = operation_cases(keras.ops)
    assert len(cases) > 55
    outputs = {name: f(image) for name, f in sorted(cases.items())}
    same_as_keras(keras.Model(image, outputs))
