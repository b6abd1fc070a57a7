"""Pooling: windows, whole maps, and adaptive."""

from __future__ import annotations

from .case import IMAGE, PLANES, SEQUENCE, VOLUME, layers

CASES = [
    *(
        case
        for kind in ("Max", "Average")
        for case in (
            *layers(
                SEQUENCE,
                f"{kind}Pooling1D(2)",
                f"{kind}Pooling1D(3, strides=1, padding='same')",
                f"{kind}Pooling1D(3, strides=2, padding='same')",
                f"{kind}Pooling1D(4, strides=3)",
                f"Global{kind}Pooling1D()",
                f"Global{kind}Pooling1D(keepdims=True)",
            ),
            *layers(
                (4, 7),
                f"{kind}Pooling1D(2, data_format='channels_first')",
                f"Global{kind}Pooling1D(data_format='channels_first')",
            ),
            *layers(
                IMAGE,
                f"{kind}Pooling2D(2)",
                f"{kind}Pooling2D(3, strides=2, padding='same')",
                f"{kind}Pooling2D((2, 3), strides=(1, 2), padding='same')",
                f"{kind}Pooling2D((3, 2), strides=1)",
                f"{kind}Pooling2D(2, strides=3, padding='same')",
                f"Global{kind}Pooling2D()",
                f"Global{kind}Pooling2D(keepdims=True)",
            ),
            *layers(
                PLANES,
                f"{kind}Pooling2D(2, data_format='channels_first')",
                f"{kind}Pooling2D(3, strides=2, padding='same', data_format='channels_first')",
                f"Global{kind}Pooling2D(data_format='channels_first')",
                f"Global{kind}Pooling2D(data_format='channels_first', keepdims=True)",
            ),
            *layers(
                VOLUME,
                f"{kind}Pooling3D(2)",
                f"{kind}Pooling3D((1, 2, 3), strides=(2, 1, 2), padding='same')",
                f"Global{kind}Pooling3D()",
                f"Global{kind}Pooling3D(keepdims=True)",
            ),
            *layers(
                (2, 5, 4, 6),
                f"{kind}Pooling3D(2, data_format='channels_first')",
                f"Global{kind}Pooling3D(data_format='channels_first')",
            ),
            *layers(
                SEQUENCE,
                f"Adaptive{kind}Pooling1D(3)",
                f"Adaptive{kind}Pooling1D(1)",
                keras=(3,),
            ),
            *layers(
                IMAGE,
                f"Adaptive{kind}Pooling2D(3)",
                f"Adaptive{kind}Pooling2D((4, 2))",
                keras=(3,),
            ),
            *layers(
                PLANES, f"Adaptive{kind}Pooling2D((3, 5), data_format='channels_first')", keras=(3,)
            ),
            *layers(VOLUME, f"Adaptive{kind}Pooling3D((2, 3, 4))", keras=(3,)),
        )
    ),
    *layers(SEQUENCE, "MaxPooling1D()"),
    *layers(IMAGE, "MaxPooling2D()"),
    *layers(VOLUME, "MaxPooling3D()"),
    *layers(IMAGE, "AveragePooling2D()", keras=(2,)),
    *layers(IMAGE, "AvgPool2D(3)", "MaxPool2D(3)", "GlobalAvgPool2D()", "GlobalMaxPool2D()"),
    *layers(SEQUENCE, "AvgPool1D(3)", "MaxPool1D(3)", "GlobalAvgPool1D()", "GlobalMaxPool1D()"),
    *layers(VOLUME, "AvgPool3D(2)", "MaxPool3D(2)", "GlobalAvgPool3D()", "GlobalMaxPool3D()"),
    *layers((4, 5, 3), "MaxPooling2D(2)", "AveragePooling2D(3, 1, 'same')", batch=2),
]
