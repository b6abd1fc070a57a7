"""Layers that move data: reshaping, padding, cropping, repeating."""

from __future__ import annotations

from .case import IMAGE, PLANES, SEQUENCE, VECTOR, VOLUME, Case, layers, model

FIRST = "data_format='channels_first'"

CASES = [
    *layers(
        IMAGE,
        "Reshape((6, 7, 4))",
        "Reshape((-1, 4))",
        "Reshape((2, 84))",
        "Reshape((168,))",
        "Reshape((7, 2, 3, 4))",
        "Flatten()",
        "Permute((2, 1, 3))",
        "Permute((3, 1, 2))",
        "ZeroPadding2D()",
        "ZeroPadding2D((2, 1))",
        "ZeroPadding2D(((1, 0), (2, 3)))",
        "Cropping2D(1)",
        "Cropping2D(((1, 2), (0, 3)))",
        "Cropping2D((2, 0))",
        "UpSampling2D()",
        "UpSampling2D((1, 3))",
    ),
    *layers(
        SEQUENCE,
        "Reshape((4, 7))",
        "Reshape((2, 7, 2))",
        "Reshape((28,))",
        "Flatten()",
        "Permute((2, 1))",
        "ZeroPadding1D()",
        "ZeroPadding1D(2)",
        "ZeroPadding1D((0, 3))",
        "Cropping1D()",
        "Cropping1D((2, 1))",
        "UpSampling1D()",
        "UpSampling1D(3)",
    ),
    *layers(
        VECTOR, "RepeatVector(3)", "Reshape((2, 3))", "Reshape((1, 3, 2))", "Flatten()  # done"
    ),
    *layers((), "Flatten()  # of a number"),
    *layers(
        VOLUME,
        "Reshape((10, 4, 6))",
        "Flatten()",
        "Permute((4, 2, 3, 1))",
        "ZeroPadding3D()",
        "ZeroPadding3D(((1, 0), (0, 2), (1, 1)))",
        "Cropping3D()",
        "Cropping3D(((1, 2), (0, 1), (3, 0)))",
        "UpSampling3D()",
        "UpSampling3D((1, 2, 3))",
    ),
    *layers(
        PLANES,
        f"ZeroPadding2D(((1, 0), (2, 3)), {FIRST})",
        f"Cropping2D(((1, 2), (0, 3)), {FIRST})",
        f"UpSampling2D((2, 3), {FIRST})",
        f"Flatten({FIRST})",
    ),
    *layers((4, 7), f"Flatten({FIRST})  # of a sequence"),
    *layers(
        (2, 4, 3, 5),
        f"ZeroPadding3D(1, {FIRST})",
        f"Cropping3D(1, {FIRST})",
        f"UpSampling3D(2, {FIRST})",
        f"Flatten({FIRST})  # of a volume",
    ),
    *layers((4, 7), f"ZeroPadding1D(2, {FIRST})", keras=(3,)),
]


@model(IMAGE)
def a_channel_shuffle(k, x):
    L = k.layers
    y = L.Reshape((7, 6, 2, 2))(x[0])
    return L.Reshape((7, 6, 4))(L.Permute((1, 2, 4, 3))(y))


@model(IMAGE)
def reflecting_by_cropping_and_joining(k, x):
    L = k.layers
    left = L.Cropping2D(((0, 0), (0, 5)))(x[0])
    right = L.Cropping2D(((0, 0), (5, 0)))(x[0])
    return L.Concatenate(axis=2)([right, x[0], left])


CASES += [value for value in globals().values() if isinstance(value, Case)]
