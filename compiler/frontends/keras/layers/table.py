"""Layers of Keras by class name: the table. Each family of handlers has a file of its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .activation import (
    activation,
    elu,
    leaky_relu,
    prelu,
    relu,
    softmax_layer,
    thresholded_relu,
)
from .attention import additive_attention, dot_product_attention
from .common import identity
from .convolution import conv, conv_transpose, depthwise_conv, separable_conv
from .convolutional_recurrence import conv_lstm
from .dense import dense, einsum_dense, embedding, reversible_embedding
from .locally_connected import locally_connected
from .merging import average, concatenate, dot, merged, subtract
from .movement import (
    cropping,
    flatten,
    permute,
    repeat_vector,
    reshape,
    up_sampling,
    zero_padding,
)
from .multi_head_attention import grouped_query_attention, multi_head_attention
from .normalization import (
    batch_normalization,
    group_normalization,
    layer_normalization,
    layer_scale,
    rms_normalization,
    spectral_normalization,
    unit_normalization,
)
from .pooling import adaptive_pool, global_pool, pool
from .preprocessing import category_encoding, discretization, normalization, rescaling
from .recurrence import bidirectional, recurrent
from .resampling import center_crop, random_crop, resizing, up_sampling2d
from .wrappers import masking, pipeline, time_distributed

if TYPE_CHECKING:
    from .common import Handler
    from .pooling import Kind

# What is there for training alone.
NOTHING = (
    *("ActivityRegularization", "AlphaDropout", "AugMix", "CutMix", "Dropout", "GaussianDropout"),
    *("GaussianNoise", "Identity", "MixUp", "RandAugment", "RandomBrightness"),
    *("RandomColorDegeneration", "RandomColorJitter", "RandomContrast", "RandomElasticTransform"),
    *("RandomErasing", "RandomFlip", "RandomGaussianBlur", "RandomGrayscale", "RandomHeight"),
    *("RandomHue", "RandomInvert", "RandomPerspective", "RandomPosterization", "RandomRotation"),
    *("RandomSaturation", "RandomSharpness", "RandomShear", "RandomTranslation", "RandomWidth"),
    *("RandomZoom", "Solarization", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"),
)


def _pooling() -> dict[str, Handler]:
    """Return pooling layers of all kinds and ranks, by all their names."""
    found: dict[str, Handler] = {}
    kinds: tuple[tuple[Kind, str, str], ...] = (
        ("max", "Max", "Max"),
        ("average", "Average", "Avg"),
    )
    for kind, long, short in kinds:
        for axes in (1, 2, 3):
            for word in dict.fromkeys((f"{long}Pooling", f"{short}Pool")):
                found[f"{word}{axes}D"] = partial(pool, kind, axes)
                found[f"Global{word}{axes}D"] = partial(global_pool, kind, axes)
            found[f"Adaptive{long}Pooling{axes}D"] = partial(adaptive_pool, kind, axes)
    return found


def _of_each_rank() -> dict[str, Handler]:
    """Return layers that exist for one, two and three spatial axes."""
    found: dict[str, Handler] = {}
    for axes in (1, 2, 3):
        for word in ("Conv", "Convolution"):
            found[f"{word}{axes}D"] = partial(conv, axes)
            found[f"{word}{axes}DTranspose"] = partial(conv_transpose, axes)
            if axes < 3:
                found[f"Separable{word}{axes}D"] = partial(separable_conv, axes)
        if axes < 3:
            found[f"DepthwiseConv{axes}D"] = partial(depthwise_conv, axes)
            found[f"LocallyConnected{axes}D"] = partial(locally_connected, axes)
        found[f"ConvLSTM{axes}D"] = partial(conv_lstm, axes)
        found[f"Cropping{axes}D"] = partial(cropping, axes)
        found[f"UpSampling{axes}D"] = partial(up_sampling, axes)
        found[f"ZeroPadding{axes}D"] = partial(zero_padding, axes)
    return found | {"UpSampling2D": up_sampling2d}


_PLAIN: dict[str, Handler] = {
    **dict.fromkeys(NOTHING, identity),
    **_pooling(),
    **_of_each_rank(),
    "Activation": activation,
    "Add": partial(merged, "{0} + {1}"),
    "AdditiveAttention": additive_attention,
    "Attention": dot_product_attention,
    "Average": average,
    "BatchNormalization": batch_normalization,
    "BatchNormalizationV1": batch_normalization,
    "BatchNormalizationV2": batch_normalization,
    "Bidirectional": bidirectional,
    "CategoryEncoding": category_encoding,
    "CenterCrop": center_crop,
    "Concatenate": concatenate,
    "CuDNNGRU": recurrent,
    "CuDNNLSTM": recurrent,
    "Dense": dense,
    "Discretization": discretization,
    "Dot": dot,
    "ELU": elu,
    "EinsumDense": einsum_dense,
    "Embedding": embedding,
    "Flatten": flatten,
    "GRU": recurrent,
    "GroupNormalization": group_normalization,
    "GroupQueryAttention": grouped_query_attention,
    "GroupedQueryAttention": grouped_query_attention,
    "LSTM": recurrent,
    "LayerNormalization": layer_normalization,
    "LayerScale": layer_scale,
    "LeakyReLU": leaky_relu,
    "Masking": masking,
    "Maximum": partial(merged, "max({0}, {1})"),
    "Minimum": partial(merged, "min({0}, {1})"),
    "MultiHeadAttention": multi_head_attention,
    "Multiply": partial(merged, "{0} * {1}"),
    "Normalization": normalization,
    "PReLU": prelu,
    "Permute": permute,
    "Pipeline": pipeline,
    "RMSNormalization": rms_normalization,
    "RNN": recurrent,
    "RandomCrop": random_crop,
    "ReLU": relu,
    "RepeatVector": repeat_vector,
    "Rescaling": rescaling,
    "Reshape": reshape,
    "Resizing": resizing,
    "ReversibleEmbedding": reversible_embedding,
    "SimpleRNN": recurrent,
    "Softmax": softmax_layer,
    "SpectralNormalization": spectral_normalization,
    "Subtract": subtract,
    "ThresholdedReLU": thresholded_relu,
    "TimeDistributed": time_distributed,
    "UnitNormalization": unit_normalization,
}

# Layers of QKeras whose weights and results are quantised, and that compute nothing else anew.
_QUANTISED = (
    *("Activation", "BatchNormalization", "Conv1D", "Conv2D", "Conv2DTranspose", "Dense"),
    *("DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D"),
)

LAYERS: dict[str, Handler] = {**_PLAIN, **{f"Q{name}": _PLAIN[name] for name in _QUANTISED}}

_OF_ATTENTION = ("return_attention_scores", "use_causal_mask")
_OF_HEADS = (
    *("query", "value", "key", "query_mask", "value_mask", "key_mask", "attention_mask"),
    *_OF_ATTENTION,
)

# Arguments of a call that the handlers look at, other than operands by position and one mask.
CALL_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "AdditiveAttention": _OF_ATTENTION,
    "Attention": _OF_ATTENTION,
    "CategoryEncoding": ("count_weights",),
    "GroupQueryAttention": _OF_HEADS,
    "GroupedQueryAttention": _OF_HEADS,
    "MultiHeadAttention": _OF_HEADS,
    "ReversibleEmbedding": ("reverse",),
    **dict.fromkeys(
        (
            *("Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "CuDNNGRU", "CuDNNLSTM"),
            *("GRU", "LSTM", "RNN", "SimpleRNN"),
        ),
        ("initial_state",),
    ),
}
