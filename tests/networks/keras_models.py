"""Networks in Keras: those of keras.applications, and a few that it does not have."""

from __future__ import annotations

from typing import Any


def application(name: str, size: tuple[int, int], **arguments: Any) -> Any:
    """Return one of keras.applications without weights."""
    from keras import applications

    return getattr(applications, name)(weights=None, input_shape=(*size, 3), **arguments)


def style_transfer(size: tuple[int, int]) -> Any:
    """Johnson et al. 2016 as Keras ports have it: group normalisation with one channel a group."""
    import keras
    from keras import layers

    def styled(x: Any, filters: int, kernel: int, stride: int = 1) -> Any:
        x = layers.Conv2D(filters, kernel, stride, padding="same")(x)
        return layers.GroupNormalization(groups=-1, epsilon=1e-5)(x)

    inputs = x = keras.Input((*size, 3), name="image")
    for filters, kernel, stride in ((16, 9, 1), (32, 3, 2), (64, 3, 2)):
        x = layers.ReLU()(styled(x, filters, kernel, stride))
    for _ in range(3):
        y = layers.ReLU()(styled(x, 64, 3))
        x = layers.Add()([x, styled(y, 64, 3)])
    for filters in (32, 16):
        x = layers.Conv2DTranspose(filters, 3, 2, padding="same")(x)
        x = layers.ReLU()(layers.GroupNormalization(groups=-1, epsilon=1e-5)(x))
    x = layers.Conv2D(3, 9, padding="same", activation="tanh")(x)
    return keras.Model(inputs, layers.Rescaling(127.5, 127.5)(x), name="style_transfer")


def unet(size: tuple[int, int]) -> Any:
    """U-Net with separable convolutions and bilinear upsampling, down to a sixteenth."""
    import keras
    from keras import layers

    def twice(x: Any, filters: int) -> Any:
        for _ in range(2):
            x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False)(x)
            x = layers.Activation("relu")(layers.BatchNormalization()(x))
        return x

    inputs = x = keras.Input((*size, 3), name="image")
    skips = []
    for filters in (16, 32, 64, 128):
        x = twice(x, filters)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dropout(0.5)(twice(x, 256))
    for filters in (128, 64, 32, 16):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        x = twice(layers.Concatenate()([x, skips.pop()]), filters)
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x), name="unet")


def fsrcnn(size: tuple[int, int]) -> Any:
    """FSRCNN (Dong et al. 2016), d = 32, s = 5, m = 1, with PReLU shared over positions."""
    import keras
    from keras import layers

    inputs = x = keras.Input((*size, 1), name="low")
    for filters, kernel in ((32, 5), (5, 1), (5, 3), (32, 1)):
        x = layers.Conv2D(filters, kernel, padding="same")(x)
        x = layers.PReLU(shared_axes=[1, 2])(x)
    x = layers.Conv2DTranspose(1, 9, 2, padding="same")(x)
    return keras.Model(inputs, x, name="fsrcnn")


def lenet5(size: tuple[int, int]) -> Any:
    """LeNet-5 (LeCun et al. 1998), sequential, with average pools and a softmax."""
    import keras
    from keras import layers

    return keras.Sequential(
        [
            keras.Input((*size, 1)),
            layers.Conv2D(6, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Conv2D(16, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(120, activation="tanh"),
            layers.Dense(84, activation="tanh"),
            layers.Dense(10, activation="softmax"),
        ],
        name="lenet5",
    )
