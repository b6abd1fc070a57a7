"""Resampling and the other layers that prepare pictures; augmentation does nothing at inference."""

from __future__ import annotations

from .case import IMAGE, PLANES, SEQUENCE, VECTOR, Case, layers, model

FIRST = "data_format='channels_first'"
IN_KERAS_2 = ("area", "gaussian", "lanczos3", "lanczos5", "mitchellcubic", "bicubic")
AUGMENTATIONS = (
    *("RandomFlip()", "RandomRotation(0.2)", "RandomZoom(0.2)", "RandomContrast(0.2)"),
    *("RandomTranslation(0.1, 0.1)", "RandomBrightness(0.2)"),
)
NEW_AUGMENTATIONS = (
    *("RandomHue(0.2)", "RandomSaturation(0.2)", "RandomShear(0.2)", "RandomSharpness(0.2)"),
    *("RandomErasing()", "RandomGaussianBlur()", "RandomPerspective()", "RandomInvert()"),
    *("RandomPosterization(4)", "RandomColorJitter(0.2)", "RandomColorDegeneration(0.2)"),
    *("RandomGrayscale()", "RandomElasticTransform()", "MixUp()", "CutMix()", "AugMix()"),
    "RandAugment()",
)

CASES = [
    *layers(
        IMAGE,
        "UpSampling2D(2, interpolation='bilinear')",
        "UpSampling2D((3, 2), interpolation='bilinear')",
        "UpSampling2D((1, 4), interpolation='bilinear')",
        "UpSampling2D(2, interpolation='bicubic')",
        "UpSampling2D(3, interpolation='lanczos3')",
        "UpSampling2D((2, 3), interpolation='lanczos5')",
        "Resizing(10, 9)",
        "Resizing(3, 4)",
        "Resizing(14, 3)",
        "Resizing(7, 6)",
        "Resizing(10, 9, interpolation='nearest')",
        "Resizing(3, 4, interpolation='nearest')",
        "Resizing(5, 13, interpolation='nearest')",
        "Resizing(10, 9, interpolation='bicubic')",
        "Resizing(4, 3, interpolation='bicubic')",
        "Resizing(10, 9, interpolation='lanczos3')",
        "Resizing(4, 13, interpolation='lanczos3')",
        "Resizing(10, 9, interpolation='lanczos5')",
        "Resizing(4, 8, crop_to_aspect_ratio=True)",
        "Resizing(9, 3, crop_to_aspect_ratio=True, interpolation='nearest')",
        "CenterCrop(3, 4)",
        "CenterCrop(5, 3)",
        "CenterCrop(7, 6)",
        "CenterCrop(2, 5)",
        "CenterCrop(9, 4)",
        "CenterCrop(8, 10)",
        "RandomCrop(4, 3)",
        "RandomCrop(7, 6)",
        "RandomCrop(9, 4)",
    ),
    *layers(
        IMAGE,
        *(f"UpSampling2D(2, interpolation='{name}')" for name in IN_KERAS_2 if name != "bicubic"),
        *(f"Resizing(10, 9, interpolation='{name}')" for name in ("area", "gaussian")),
        "Resizing(4, 3, interpolation='area')",
        "Resizing(10, 4, interpolation='mitchellcubic')",
        keras=(2,),
    ),
    *layers(
        IMAGE,
        "Resizing(4, 8, pad_to_aspect_ratio=True)",
        "Resizing(9, 3, pad_to_aspect_ratio=True, fill_value=0.5)",
        "Resizing(3, 4, antialias=True)",
        "Resizing(10, 9, antialias=True)",
        "Resizing(4, 3, interpolation='bicubic', antialias=True)",
        "Resizing(3, 9, interpolation='lanczos3', antialias=True)",
        "Resizing(5, 5, pad_to_aspect_ratio=True, antialias=True)",
        keras=(3,),
    ),
    *layers(
        PLANES,
        f"UpSampling2D(2, {FIRST}, interpolation='bilinear')",
    ),
    *layers(
        PLANES,
        f"Resizing(10, 9, {FIRST})",
        f"Resizing(4, 8, {FIRST}, crop_to_aspect_ratio=True)",
        f"CenterCrop(3, 4, {FIRST})",
        keras=(3,),
    ),
    *layers(
        IMAGE,
        "Rescaling(1 / 127.5, offset=-1)",
        "Rescaling(scale=[1.0, 2.0, 3.0, 4.0], offset=0)",
        "Rescaling(2.0, [0.5, 1.0, 0.0, -1.0])",
        "Normalization()",
        "Normalization(axis=None)",
        "Normalization(axis=(1, 3))",
        "Normalization(mean=[0.5, 1.0, 0.25, 2.0], variance=[1.0, 4.0, 0.5, 2.0])",
        "Normalization(mean=0.5, variance=2.0)",
        "Normalization(invert=True)",
        "Normalization(mean=0.5, variance=2.0, invert=True)",
    ),
    *layers(PLANES, "Normalization(axis=1)"),
    *layers(VECTOR, "Rescaling(3.0)", "Normalization()", "Discretization([-1.0, 0.0, 1.0])"),
    *layers(
        VECTOR,
        "Discretization([-1.0, 1.0], output_mode='multi_hot')",
        "Discretization([-1.0, 1.0], output_mode='count')",
    ),
    *layers((1,), "Discretization([0.0, 0.5], output_mode='one_hot')"),
    *layers(
        (5,),
        "CategoryEncoding(6)",
        "CategoryEncoding(6, output_mode='count')",
        whole=6,
        dtype="int32",
    ),
    *layers((1,), "CategoryEncoding(6, output_mode='one_hot')", whole=6, dtype="int32"),
    *layers(IMAGE, *AUGMENTATIONS),
    *layers((7, 6, 3), *NEW_AUGMENTATIONS, keras=(3,)),
    *layers((7, 6, 3), "Solarization()", keras=(3,)),
    *layers(IMAGE, "Pipeline([Rescaling(2.0), Resizing(5, 8), RandomFlip()])", keras=(3,)),
    *layers(IMAGE, "RandomHeight(0.2)", "RandomWidth(0.2)", keras=(2,)),
    *layers(
        IMAGE,
        "Dropout(0.5)",
        "SpatialDropout2D(0.5)",
        "GaussianNoise(0.5)",
        "GaussianDropout(0.5)",
        "AlphaDropout(0.5)",
        "ActivityRegularization(l1=0.1)",
        "Identity()",
    ),
    *layers(SEQUENCE, "Dropout(0.5, noise_shape=(None, 1, 4))", "SpatialDropout1D(0.5)"),
    *layers((3, 4, 5, 2), "SpatialDropout3D(0.5)"),
]


@model((7, 6, 3))
def preparing_a_picture(k, x):
    L = k.layers
    y = L.Resizing(8, 8)(L.CenterCrop(6, 6)(x[0]))
    return L.Conv2D(2, 3)(L.Rescaling(2.0, -1.0)(L.RandomFlip()(y)))


CASES += [value for value in globals().values() if isinstance(value, Case)]
