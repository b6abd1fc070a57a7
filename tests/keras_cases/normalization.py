"""Normalisation by stored statistics and by the sample's own."""

from __future__ import annotations

from .case import IMAGE, PLANES, SEQUENCE, VECTOR, VOLUME, Case, layers, model

CASES = [
    *layers(
        IMAGE,
        "BatchNormalization()",
        "BatchNormalization(scale=False)",
        "BatchNormalization(center=False, epsilon=0.1)",
        "BatchNormalization(center=False, scale=False)",
        "BatchNormalization(axis=1)",
        "BatchNormalization(axis=-2, momentum=0.5)",
        "LayerNormalization()",
        "LayerNormalization(axis=1)",
        "LayerNormalization(axis=[1, 2, 3], epsilon=0.01)",
        "LayerNormalization(axis=(2, 3), center=False)",
        "LayerNormalization(scale=False)",
        "GroupNormalization(groups=2)",
        "GroupNormalization(groups=-1)",
        "GroupNormalization(groups=1, epsilon=0.1)",
        "GroupNormalization(groups=4, center=False)",
        "GroupNormalization(groups=2, scale=False)",
        "GroupNormalization(groups=3, axis=2)",
        "UnitNormalization()",
        "UnitNormalization(axis=1)",
        "UnitNormalization(axis=[1, 2])",
    ),
    *layers(
        IMAGE,
        "RMSNormalization()",
        "RMSNormalization(epsilon=0.1)",
        "RMSNormalization(axis=(2, 3))",
        keras=(3,),
    ),
    *layers(PLANES, "BatchNormalization(axis=1)", "GroupNormalization(groups=2, axis=1)"),
    *layers(
        SEQUENCE,
        "BatchNormalization()",
        "BatchNormalization(axis=1)",
        "LayerNormalization()",
        "LayerNormalization(axis=[1, 2])",
        "GroupNormalization(groups=2)",
        "UnitNormalization()",
    ),
    *layers(SEQUENCE, "RMSNormalization()", keras=(3,)),
    *layers(
        VECTOR,
        "BatchNormalization()",
        "LayerNormalization()",
        "GroupNormalization(groups=3)",
        "UnitNormalization()",
    ),
    *layers(VOLUME, "BatchNormalization()", "LayerNormalization(axis=-1)"),
    *layers(
        IMAGE,
        "SpectralNormalization(Conv2D(3, 3))",
        "SpectralNormalization(Conv2DTranspose(2, 2))",
    ),
    *layers(VECTOR, "SpectralNormalization(Dense(3), power_iterations=2)"),
    *layers((4, 3, 4), "GroupNormalization(groups=2)", "LayerNormalization()", batch=2),
]


@model(IMAGE)
def convolution_and_batch_normalisation(k, x):
    y = k.layers.Conv2D(3, 3, use_bias=False)(x[0])
    return k.layers.ReLU()(k.layers.BatchNormalization()(y))


@model(IMAGE)
def a_residual_block(k, x):
    L = k.layers
    y = L.Conv2D(4, 3, padding="same", activation="relu")(x[0])
    y = L.BatchNormalization()(L.Conv2D(4, 3, padding="same")(y))
    return L.Activation("relu")(L.Add()([x[0], y]))


CASES += [value for value in globals().values() if isinstance(value, Case)]
