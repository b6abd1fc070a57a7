"""Layers of several inputs."""

from __future__ import annotations

from .case import IMAGE, SEQUENCE, VECTOR, Case, layers, model

PIXEL = (1, 1, 4)

CASES = [
    *layers(
        [IMAGE, IMAGE],
        "Add()",
        "Subtract()",
        "Multiply()",
        "Average()",
        "Maximum()",
        "Minimum()",
        "Concatenate()",
        "Concatenate(axis=1)",
        "Concatenate(axis=-2)",
    ),
    *layers([IMAGE] * 3, "Add()  # of three", "Average()  # of three", "Concatenate()  # of three"),
    *layers([IMAGE] * 3, "Multiply()  # of three", "Maximum()  # of three"),
    *layers(
        [IMAGE, PIXEL],
        "Add()  # broadcast",
        "Multiply()  # broadcast",
        "Subtract()  # broadcast",
        "Maximum()  # broadcast",
    ),
    *layers([(7, 1, 4), (1, 6, 1)], "Add()  # both broadcast", "Minimum()  # both broadcast"),
    *layers([IMAGE, (4,)], "Add()  # of other ranks", "Multiply()  # of other ranks"),
    *layers([(2, 3, 1), (2, 3, 4), (2, 3, 2)], "Concatenate()  # of other sizes"),
    *layers([VECTOR, VECTOR], "Add()  # of vectors", "Concatenate()  # of vectors"),
    *layers(
        [SEQUENCE, SEQUENCE],
        "Multiply()  # of sequences",
        "Concatenate(axis=1)  # of sequences",
        "Dot(axes=1)",
        "Dot(axes=2)",
        "Dot(axes=(2, 2), normalize=True)",
        "Dot(axes=-1)",
    ),
    *layers([SEQUENCE, (4, 5)], "Dot(axes=(2, 1))"),
    *layers([VECTOR, VECTOR], "Dot(axes=1)  # of vectors", "Dot(axes=1, normalize=True)"),
    *layers([(5, 4), (4,)], "Dot(axes=(2, 1))  # with a vector"),
    *layers([(2, 3, 4), (5, 4)], "Dot(axes=(3, 2))"),
]


@model(IMAGE, IMAGE)
def merging_what_was_computed(k, x):
    L = k.layers
    a, b = L.Conv2D(3, 3)(x[0]), L.Conv2D(3, 3)(x[1])
    return L.Concatenate()([L.Add()([a, b]), L.Multiply()([a, b])])


@model(IMAGE)
def adding_an_image_to_itself(k, x):
    return k.layers.Add()([x[0], x[0]])


@model(IMAGE)
def gating_channels(k, x):
    L = k.layers
    y = L.GlobalAveragePooling2D()(x[0])
    y = L.Dense(4, activation="sigmoid")(L.Dense(2, activation="relu")(y))
    return L.Multiply()([x[0], L.Reshape((1, 1, 4))(y)])


CASES += [value for value in globals().values() if isinstance(value, Case)]
