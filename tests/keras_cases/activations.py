"""Activations: as layers, by name, and inside other layers."""

from __future__ import annotations

from .case import IMAGE, SEQUENCE, VECTOR, Case, layers, model

IN_BOTH = (
    *("elu", "exponential", "gelu", "hard_sigmoid", "linear", "mish", "relu", "selu"),
    *("sigmoid", "softmax", "softplus", "softsign", "swish", "tanh"),
)
IN_KERAS_3 = (
    *("celu", "glu", "hard_shrink", "hard_silu", "hard_swish", "hard_tanh", "leaky_relu"),
    *("log_sigmoid", "log_softmax", "relu6", "silu", "soft_shrink", "sparse_plus"),
    *("sparse_sigmoid", "sparsemax", "squareplus", "tanh_shrink", "threshold"),
)

CASES = [
    *layers(IMAGE, *(f"Activation('{name}')" for name in IN_BOTH)),
    *layers(
        IMAGE, *(f"Activation('{name}')" for name in IN_KERAS_3 if name != "threshold"), keras=(3,)
    ),
    *layers(
        SEQUENCE,
        "Activation('softmax')",
        "Activation('relu')",
        "Activation(keras.activations.tanh)",
        "Softmax()",
        "Softmax(axis=1)",
        "Softmax(axis=(1, 2))",
        "PReLU()",
        "PReLU(shared_axes=[1])",
    ),
    *layers(SEQUENCE, "Activation('sparsemax')", "Activation('log_softmax')", keras=(3,)),
    *layers(VECTOR, "Activation('softmax')", "Softmax()", "PReLU()", "ReLU()"),
    *layers(VECTOR, "Activation('sparsemax')", "Activation('glu')", keras=(3,)),
    *layers(
        IMAGE,
        "ReLU()",
        "ReLU(max_value=1)",
        "ReLU(negative_slope=0.25)",
        "ReLU(threshold=0.5)",
        "ReLU(max_value=1.5, negative_slope=0.1, threshold=0.25)",
        "ReLU(6.0, 0.5)",
        "LeakyReLU()",
        "ELU()",
        "ELU(alpha=0.5)",
        "PReLU()",
        "PReLU(shared_axes=[1, 2])",
        "PReLU(shared_axes=[3])",
        "PReLU(alpha_initializer='ones', alpha_constraint='non_neg')",
        "Softmax()",
        "Softmax(axis=1)",
        "Softmax(axis=2)",
        "Softmax(axis=(1, 2))",
    ),
    *layers(IMAGE, "LeakyReLU(negative_slope=0.1)", keras=(3,)),
    *layers(IMAGE, "LeakyReLU(alpha=0.1)", "ThresholdedReLU(0.5)", "ThresholdedReLU()", keras=(2,)),
    *layers(IMAGE, "Conv2D(4, 3, activation='softmax')", "Conv2D(2, 3, activation='elu')"),
    *layers(IMAGE, "Conv2D(2, 3, activation='glu')", keras=(3,)),
    *layers(VECTOR, "Dense(4, activation=LeakyReLU())"),
    *layers(IMAGE, "Conv2D(3, 1, activation=ReLU(max_value=1))"),
]


@model(IMAGE)
def activations_in_a_row(k, x):
    y = x[0]
    for name in ("relu", "tanh", "softplus", "sigmoid"):
        y = k.layers.Activation(name)(y)
    return y


CASES += [value for value in globals().values() if isinstance(value, Case)]
