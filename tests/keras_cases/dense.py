"""Dense, einsum and embedding layers."""

from __future__ import annotations

from .case import IMAGE, SEQUENCE, VECTOR, VOLUME, Case, layers, model

CASES = [
    *layers(
        VECTOR,
        "Dense(5)",
        "Dense(1, activation='sigmoid')",
        "Dense(3, use_bias=False)",
        "Dense(9, activation='relu')",
        "Dense(4, activation='softmax')",
        "EinsumDense('ab,bc->ac', output_shape=5, bias_axes='c')",
        "EinsumDense('ab,bcd->adc', output_shape=(3, 2))",
    ),
    *layers(
        SEQUENCE,
        "Dense(3)",
        "Dense(5, activation='tanh', use_bias=False)",
        "EinsumDense('abc,cd->abd', output_shape=(None, 5), bias_axes='d', activation='relu')",
        "EinsumDense('abc,cde->abde', output_shape=(None, 3, 2), bias_axes='de')",
        "EinsumDense('abc,bd->adc', output_shape=(5, None))",
        "EinsumDense('...x,xy->...y', output_shape=3, bias_axes='y')",
        "EinsumDense('abc,bcd->ad', output_shape=3, bias_axes='d')",
        "EinsumDense('abc,bc->abc', output_shape=(7, 4))",
    ),
    *layers(
        IMAGE,
        "Dense(3)",
        "Dense(6, activation='relu')",
        "EinsumDense('...x,xy->...y', output_shape=3)",
        "EinsumDense('abcd,de->abce', output_shape=(None, None, 5), bias_axes='e')",
    ),
    *layers(VOLUME, "Dense(3)"),
    *layers(VECTOR, "Dense(3)", batch=3),
    *layers((5,), "Embedding(6, 3)", "Embedding(6, 4, mask_zero=True)", whole=6, dtype="int32"),
    *layers((5,), "Embedding(9, 2, input_length=5)", whole=9, keras=(2,)),
    *layers((5,), "Embedding(9, 2)", whole=9, keras=(3,)),
    *layers((3, 4), "Embedding(6, 3)", whole=6, dtype="int32"),
    *layers((5,), "ReversibleEmbedding(6, 3)", whole=6, dtype="int32", keras=(3,)),
]


@model((5,), whole=6, dtype="int32", keras=(3,))
def reversible_embedding_in_reverse(k, x):
    embedding = k.layers.ReversibleEmbedding(6, 3)
    return embedding(embedding(x[0]), reverse=True)


@model((5,), whole=6, dtype="int32", keras=(3,))
def reversible_embedding_in_reverse_with_its_own_weights_and_a_soft_cap(k, x):
    embedding = k.layers.ReversibleEmbedding(6, 3, tie_weights=False, logit_soft_cap=2.0)
    return embedding(embedding(x[0]), reverse=True)


@model(VECTOR)
def a_dense_layer_called_twice(k, x):
    shared = k.layers.Dense(6, activation="tanh")
    return shared(shared(x[0]))


@model((4, 3, 2))
def a_dense_layer_after_flatten(k, x):
    y = k.layers.Conv2D(3, 2)(x[0])
    return k.layers.Dense(4)(k.layers.Flatten()(y))


@model((3, 4, 2))
def a_dense_layer_after_flatten_of_planes(k, x):
    y = k.layers.Flatten(data_format="channels_first")(x[0])
    return k.layers.Dense(4)(y)


CASES += [value for value in globals().values() if isinstance(value, Case)]
