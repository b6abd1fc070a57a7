"""Attention."""

from __future__ import annotations

from .case import IMAGE, SEQUENCE, Case, layers, model

QUERY = (5, 4)

CASES = [
    *layers(
        [QUERY, SEQUENCE],
        "Attention()",
        "Attention(use_scale=True)",
        "Attention(score_mode='concat')",
        "Attention(dropout=0.5)",
        "AdditiveAttention()",
        "AdditiveAttention(use_scale=False)",
        "AdditiveAttention(dropout=0.5)",
    ),
    *layers([SEQUENCE] * 3, "Attention()  # of three", "AdditiveAttention()  # of three"),
    *layers(
        [QUERY, SEQUENCE],
        "MultiHeadAttention(2, 3)",
        "MultiHeadAttention(1, 4)",
        "MultiHeadAttention(2, 3, value_dim=2)",
        "MultiHeadAttention(2, 3, use_bias=False)",
        "MultiHeadAttention(2, 2, output_shape=5)",
        "MultiHeadAttention(3, 2, dropout=0.5)",
        spread=True,
    ),
    *layers([QUERY, SEQUENCE, SEQUENCE], "MultiHeadAttention(2, 3)", spread=True),
    *layers([(2, 3, 4), (5, 3, 4)], "MultiHeadAttention(2, 2, attention_axes=(1,))", spread=True),
    *layers(
        [(2, 3, 4), (2, 3, 4)],
        "MultiHeadAttention(2, 2, attention_axes=(1, 2))",
        "MultiHeadAttention(2, 2)  # over two axes",
        spread=True,
    ),
    *layers(
        [QUERY, SEQUENCE, SEQUENCE],
        "GroupQueryAttention(3, 4, 2)",
        "GroupQueryAttention(3, 2, 1)",
        "GroupQueryAttention(2, 2, 2, use_bias=False)",
        "GroupQueryAttention(2, 2, 2, use_gate=True)",
        keras=(3,),
        spread=True,
    ),
    *layers([QUERY, SEQUENCE], "MultiHeadAttention(2, 2, use_gate=True)", keras=(3,), spread=True),
    *layers([QUERY, SEQUENCE], "MultiHeadAttention(2, 2)", batch=2, spread=True),
]


@model(SEQUENCE)
def self_attention(k, x):
    return k.layers.MultiHeadAttention(2, 2)(x[0], x[0])


@model(SEQUENCE)
def causal_self_attention(k, x):
    return k.layers.MultiHeadAttention(2, 2)(x[0], x[0], use_causal_mask=True)


@model(QUERY, SEQUENCE)
def causal_dot_product_attention(k, x):
    return k.layers.Attention()([x[0], x[1]], use_causal_mask=True)


@model(QUERY, SEQUENCE)
def causal_additive_attention(k, x):
    return k.layers.AdditiveAttention()([x[0], x[1]], use_causal_mask=True)


@model(QUERY, SEQUENCE)
def attention_and_its_scores(k, x):
    return list(k.layers.Attention()([x[0], x[1]], return_attention_scores=True))


@model(QUERY, SEQUENCE)
def multi_head_attention_and_its_scores(k, x):
    attend = k.layers.MultiHeadAttention(2, 2)
    return list(attend(x[0], x[1], return_attention_scores=True))


@model(QUERY, SEQUENCE)
def multi_head_attention_by_keywords(k, x):
    return k.layers.MultiHeadAttention(2, 2)(query=x[0], value=x[1])


@model(QUERY, SEQUENCE, (5, 7), whole=2)
def attention_with_a_mask_of_its_own(k, x):
    return k.layers.MultiHeadAttention(2, 2)(x[0], x[1], attention_mask=x[2])


@model(SEQUENCE)
def a_transformer_block(k, x):
    L = k.layers
    y = L.LayerNormalization()(x[0])
    y = L.Add()([x[0], L.MultiHeadAttention(2, 2)(y, y)])
    z = L.Dense(4)(L.Dense(8, activation="gelu")(L.LayerNormalization()(y)))
    return L.Add()([y, z])


@model((8, 6, 3))
def patches_of_a_vision_transformer(k, x):
    L = k.layers
    y = L.Reshape((12, 4))(L.Conv2D(4, 2, strides=2)(x[0]))
    y = L.Add()([y, L.MultiHeadAttention(2, 2)(y, y)])
    return L.Dense(3)(L.GlobalAveragePooling1D()(L.LayerNormalization()(y)))


@model(IMAGE)
def attention_between_pixels(k, x):
    L = k.layers
    y = L.Reshape((42, 4))(x[0])
    return L.Reshape((7, 6, 4))(L.Attention()([y, y]))


CASES += [value for value in globals().values() if isinstance(value, Case)]
