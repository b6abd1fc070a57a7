"""Masks: where they come from, which layers hand them on, and which compute with them."""

from __future__ import annotations

import numpy as np

from .case import SEQUENCE, Case, layers, model


def with_steps_to_skip(arrays):
    """Set whole steps of every sequence to 0: the first, one within, and the last."""
    for k, array in enumerate(arrays):
        if array.ndim == 3:
            array[:, [0, 3, -1] if k == 0 else [1, -2]] = 0
    return arrays


def ending_in_zeros(arrays):
    """Set the last words to 0, as padding does."""
    for array in arrays:
        array[:, -2:] = 0
        array[:, :-2] = np.maximum(array[:, :-2], 1)
    return arrays


def masks_of_zeros_and_ones(arrays):
    """Make masks of what has one axis: some steps count, one of them the first."""
    return [(a > 0) * np.float32(1) if a.ndim == 2 else a for a in arrays]


SKIP = {"values": with_steps_to_skip}
PART_WHOLE = {"values": masks_of_zeros_and_ones}
WORDS = {"whole": 6, "dtype": "int32", "values": ending_in_zeros}

CASES = [
    *layers(SEQUENCE, "Masking()", "Masking(mask_value=0.0078125)", **SKIP),
]


def _recurrent(name, arguments):
    def build(k, x):
        layer = getattr(k.layers, name)(**arguments)
        return layer(k.layers.Masking()(x[0]))

    text = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return Case(f"{name}({text}) after Masking", (SEQUENCE,), build, values=with_steps_to_skip)


CASES += [
    _recurrent(name, arguments)
    for name in ("SimpleRNN", "LSTM", "GRU")
    for arguments in (
        {"units": 3},
        {"units": 3, "return_sequences": True},
        {"units": 2, "go_backwards": True},
    )
]
CASES += [
    _recurrent("LSTM", {"units": 2, "return_sequences": True, "unroll": True}),
    _recurrent("LSTM", {"units": 2, "zero_output_for_mask": True, "return_sequences": True}),
    _recurrent("Dense", {"units": 3}),
    _recurrent("GlobalAveragePooling1D", {}),
    _recurrent("GlobalMaxPooling1D", {}),
    _recurrent("Dropout", {"rate": 0.5}),
    _recurrent("LayerNormalization", {}),
]


@model(SEQUENCE, **SKIP)
def a_bidirectional_layer_after_masking(k, x):
    L = k.layers
    return L.Bidirectional(L.LSTM(3, return_sequences=True))(L.Masking()(x[0]))


@model(SEQUENCE, **SKIP)
def recurrent_layers_in_a_row_after_masking(k, x):
    L = k.layers
    y = L.LSTM(3, return_sequences=True)(L.Masking()(x[0]))
    return L.GRU(2)(L.Dropout(0.5)(y))


@model(SEQUENCE, **SKIP)
def masking_through_activation_and_dense(k, x):
    L = k.layers
    return L.LSTM(3)(L.Activation("tanh")(L.Dense(4)(L.Masking()(x[0]))))


@model(SEQUENCE, **SKIP)
def masking_through_a_layer_along_the_sequence(k, x):
    L = k.layers
    return L.GRU(3)(L.TimeDistributed(L.Dense(3))(L.Masking()(x[0])))


@model(SEQUENCE, SEQUENCE, **SKIP)
def masking_through_add(k, x):
    L = k.layers
    return L.LSTM(3)(L.Add()([L.Masking()(x[0]), L.Masking()(x[1])]))


@model(SEQUENCE, SEQUENCE, **SKIP)
def masking_through_concatenate(k, x):
    L = k.layers
    return L.LSTM(3)(L.Concatenate()([L.Masking()(x[0]), x[1]]))


@model(SEQUENCE, SEQUENCE, **SKIP)
def dot_product_attention_over_what_is_masked(k, x):
    L = k.layers
    return L.Attention()([L.Masking()(x[0]), L.Masking()(x[1])])


@model(SEQUENCE, SEQUENCE, **SKIP)
def additive_attention_over_what_is_masked(k, x):
    L = k.layers
    return L.AdditiveAttention()([L.Masking()(x[0]), L.Masking()(x[1])])


@model(SEQUENCE, SEQUENCE, **SKIP)
def multi_head_attention_over_what_is_masked(k, x):
    L = k.layers
    return L.MultiHeadAttention(2, 2)(L.Masking()(x[0]), L.Masking()(x[1]))


@model(SEQUENCE, **SKIP)
def batch_normalisation_of_what_is_masked(k, x):
    return k.layers.BatchNormalization()(k.layers.Masking()(x[0]))


@model(SEQUENCE, **SKIP)
def a_convolution_drops_the_mask(k, x):
    L = k.layers
    return L.LSTM(2)(L.Conv1D(3, 3, padding="same")(L.Masking()(x[0])))


@model((6,), **WORDS)
def words_with_padding(k, x):
    L = k.layers
    return L.Dense(2)(L.LSTM(3)(L.Embedding(6, 3, mask_zero=True)(x[0])))


@model((6,), **WORDS)
def averaging_words_with_padding(k, x):
    y = k.layers.Embedding(6, 3, mask_zero=True)(x[0])
    return k.layers.GlobalAveragePooling1D()(y)


@model((6,), **WORDS)
def attention_between_words_with_padding(k, x):
    y = k.layers.Embedding(6, 4, mask_zero=True)(x[0])
    return k.layers.MultiHeadAttention(2, 2)(y, y)


@model((6,), **WORDS)
def bidirectional_over_words_with_padding(k, x):
    L = k.layers
    y = L.Embedding(6, 3, mask_zero=True)(x[0])
    return L.Bidirectional(L.GRU(3))(L.SpatialDropout1D(0.2)(y))


@model(SEQUENCE, (7,), keras=(3,), **PART_WHOLE)
def an_explicit_mask_of_steps(k, x):
    return k.layers.LSTM(3)(x[0], mask=k.ops.cast(x[1], "bool"))


@model(SEQUENCE, (7,), keras=(2,), **PART_WHOLE)
def an_explicit_mask_of_steps_in_keras_2(k, x):
    import tensorflow as tf

    return k.layers.LSTM(3)(x[0], mask=tf.cast(x[1], tf.bool))


@model(SEQUENCE, SEQUENCE, (7,), keras=(3,), **PART_WHOLE)
def an_explicit_mask_of_values(k, x):
    attend = k.layers.MultiHeadAttention(2, 2)
    return attend(x[0], x[1], value_mask=k.ops.cast(x[2], "bool"))


@model(SEQUENCE, SEQUENCE, (7,), (7,), keras=(3,), **PART_WHOLE)
def explicit_masks_of_attention(k, x):
    masks = [k.ops.cast(m, "bool") for m in x[2:]]
    return k.layers.Attention()(x[:2], mask=masks)


@model(SEQUENCE, SEQUENCE, (7,), keras=(3,), refused="SG0202", **PART_WHOLE)
def an_explicit_mask_of_queries(k, x):
    attend = k.layers.MultiHeadAttention(2, 2)
    return attend(x[0], x[1], query_mask=k.ops.cast(x[2], "bool"))


CASES += [value for value in globals().values() if isinstance(value, Case)]
