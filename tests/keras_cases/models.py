"""How models are put together: nested, shared, several inputs and outputs, types, custom parts."""

from __future__ import annotations

from .case import IMAGE, VECTOR, Case, model


@model(IMAGE)
def a_sequential_model(k, x):
    L = k.layers
    first = L.Conv2D(3, 3, activation="relu")
    return k.Sequential([k.Input(IMAGE), first, L.MaxPooling2D(), L.Flatten(), L.Dense(2)])


@model(IMAGE)
def a_nested_model_called_twice(k, x):
    L = k.layers
    inside = k.Input(IMAGE)
    body = k.Model(inside, L.Conv2D(4, 3, padding="same", activation="tanh")(inside), name="body")
    return body(body(x[0]))


@model(IMAGE)
def a_sequential_model_inside_a_model(k, x):
    L = k.layers
    stem = k.Sequential([L.Conv2D(3, 3), L.BatchNormalization(), L.ReLU()], name="stem")
    return L.GlobalAveragePooling2D()(stem(x[0]))


@model(IMAGE)
def a_model_inside_a_model_inside_a_model(k, x):
    L = k.layers
    deep = k.Sequential([k.Input(IMAGE), L.Conv2D(4, 1), L.LeakyReLU()], name="deep")
    middle = k.Sequential([deep, L.Conv2D(4, 1)], name="middle")
    return L.Add()([x[0], middle(x[0])])


@model(IMAGE, IMAGE)
def a_nested_model_with_two_inputs_and_outputs(k, x):
    L = k.layers
    a, b = k.Input(IMAGE), k.Input(IMAGE)
    y = L.Conv2D(2, 3)(L.Add()([a, b]))
    pair = k.Model([a, b], [y, L.ReLU()(y)], name="pair")
    first, second = pair([x[0], x[1]])
    return L.Concatenate()([first, second])


@model(IMAGE, IMAGE)
def a_shared_layer(k, x):
    shared = k.layers.Conv2D(3, 3)
    return k.layers.Subtract()([shared(x[0]), shared(x[1])])


@model(IMAGE, (4, 5, 4))
def a_shared_layer_at_two_sizes(k, x):
    shared = k.layers.Conv2D(3, 3)
    pool = k.layers.GlobalMaxPooling2D()
    return k.layers.Add()([pool(shared(x[0])), pool(shared(x[1]))])


@model(IMAGE)
def three_outputs(k, x):
    L = k.layers
    y = L.Conv2D(4, 3, padding="same")(x[0])
    return [y, L.ReLU()(y), L.GlobalAveragePooling2D()(y)]


@model(IMAGE)
def outputs_in_a_dictionary(k, x):
    L = k.layers
    return {"a": L.MaxPooling2D()(x[0]), "b": L.UpSampling2D()(x[0])}


@model(IMAGE, VECTOR)
def inputs_of_two_ranks(k, x):
    L = k.layers
    y = L.Concatenate()([L.GlobalAveragePooling2D()(x[0]), L.Dense(3)(x[1])])
    return L.Dense(2)(y)


@model(IMAGE)
def an_input_that_is_an_output(k, x):
    return [x[0], k.layers.ReLU()(x[0])]


@model(IMAGE)
def an_inception_block(k, x):
    L = k.layers
    a = L.Conv2D(2, 1, padding="same", activation="relu")(x[0])
    b = L.Conv2D(2, 3, padding="same", activation="relu")(L.Conv2D(2, 1)(x[0]))
    c = L.Conv2D(3, 1)(L.MaxPooling2D(3, 1, "same")(x[0]))
    return L.Concatenate()([a, b, c])


@model((8, 8, 2))
def a_small_u_net(k, x):
    L = k.layers
    a = L.Conv2D(4, 3, padding="same", activation="relu")(x[0])
    b = L.Conv2D(6, 3, padding="same", activation="relu")(L.MaxPooling2D()(a))
    c = L.Conv2DTranspose(4, 2, strides=2)(b)
    return L.Conv2D(1, 1, activation="sigmoid")(L.Concatenate()([a, c]))


@model((8, 8, 1))
def lenet(k, x):
    L = k.layers
    y = L.AveragePooling2D(2)(L.Conv2D(4, 3, activation="tanh")(x[0]))
    return L.Dense(5, activation="softmax")(L.Dense(6, activation="tanh")(L.Flatten()(y)))


@model((8, 8, 4))
def an_inverted_residual_block(k, x):
    L = k.layers
    y = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(8, 1, use_bias=False)(x[0])))
    y = L.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
    y = L.ReLU(6.0)(L.BatchNormalization()(y))
    y = L.BatchNormalization()(L.Conv2D(4, 1, use_bias=False)(y))
    return L.Add()([x[0], y])


@model((8, 8, 4))
def a_convnext_block(k, x):
    L = k.layers
    y = L.LayerNormalization(epsilon=1e-6)(L.DepthwiseConv2D(5, padding="same")(x[0]))
    y = L.Dense(4)(L.Dense(8, activation="gelu")(y))
    return L.Add()([x[0], y])


@model(IMAGE)
def a_squeeze_and_excitation_block(k, x):
    L = k.layers
    y = L.GlobalAveragePooling2D(keepdims=True)(x[0])
    y = L.Conv2D(2, 1, activation="swish")(y)
    return L.Multiply()([x[0], L.Conv2D(4, 1, activation="sigmoid")(y)])


@model(IMAGE, tolerance=1e-2)  # Keras computes in 16 bits
def half_precision(k, x):
    L = k.layers
    y = L.Conv2D(3, 3, activation="relu", dtype="mixed_float16")(x[0])
    y = L.GlobalAveragePooling2D(dtype="mixed_float16")(y)
    return L.Dense(2, dtype="float32")(L.Activation("linear", dtype="float32")(y))


@model(IMAGE, tolerance=1e-2)
def a_mixed_precision_policy_with_bfloat16(k, x):
    L = k.layers
    y = L.Conv2D(3, 3, dtype="mixed_bfloat16")(x[0])
    return L.Activation("linear", dtype="float32")(y)


@model(IMAGE, define="up(x) = relu(x) * 0.5 + 1")
def a_lambda_that_is_defined(k, x):
    return _lambda(k)(x[0])


@model(IMAGE, refused="SG0203")
def a_lambda_that_is_not_defined(k, x):
    return _lambda(k)(x[0])


def _lambda(k):
    # Keras saves bytecode, which holds the name of the file it was compiled from.
    code = compile("lambda x: maximum(x, 0.0) * 0.5 + 1", "model.py", "eval")
    maximum = k.ops.maximum if hasattr(k, "ops") else k.backend.maximum
    return k.layers.Lambda(eval(code, {"maximum": maximum}), output_shape=IMAGE, name="up")


@model(IMAGE)
def initialisers_regularisers_and_constraints(k, x):
    return k.layers.Conv2D(
        3,
        3,
        kernel_initializer=k.initializers.HeNormal(seed=1),
        bias_initializer=k.initializers.Constant(0.5),
        kernel_regularizer=k.regularizers.L1L2(0.1, 0.1),
        activity_regularizer="l1",
        kernel_constraint=k.constraints.MaxNorm(2.0),
    )(x[0])


@model(IMAGE)
def layers_that_are_not_trainable(k, x):
    L = k.layers
    y = L.BatchNormalization(trainable=False)(L.Conv2D(3, 3, trainable=False)(x[0]))
    return L.PReLU(shared_axes=[1, 2])(y)


@model((5, 4))
def layers_of_parts_inside_a_model(k, x):
    L = k.layers
    y = inside = k.Input((5, 4))
    y = L.Bidirectional(L.LSTM(2, return_sequences=True), name="both")(y)
    y = L.TimeDistributed(L.Dense(4), name="each")(y)
    y = L.MultiHeadAttention(2, 2, name="attend")(y, y)
    y = L.RNN([L.GRUCell(3), L.LSTMCell(2)], name="deep")(y)
    body = k.Model(inside, y, name="body")
    return L.Concatenate()([body(x[0]), L.GRU(2)(x[0])])


@model((5, 4))
def two_of_each_layer_inside_a_model_inside_a_model(k, x):
    L = k.layers
    twice = [L.GRU(3, return_sequences=True), L.GRU(4, return_sequences=True)]
    deep = k.Sequential([k.Input((5, 4)), *twice], name="deep")
    dense = [L.TimeDistributed(L.Dense(3)), L.TimeDistributed(L.Dense(4))]
    middle = k.Sequential([deep, *dense], name="middle")
    return L.LSTM(2)(middle(x[0]))


@model((5, 4))
def a_shared_recurrent_layer(k, x):
    shared = k.layers.Bidirectional(k.layers.GRU(2, return_sequences=True))
    return shared(shared(x[0]))


@model((3, 5, 4, 2))
def a_model_of_many_layers_along_a_sequence(k, x):
    L = k.layers
    first = [L.Conv2D(2, 2), L.BatchNormalization(), L.ReLU()]
    second = [L.Conv2D(3, 2), L.BatchNormalization(), L.GlobalAveragePooling2D()]
    return L.TimeDistributed(k.Sequential([k.Input((5, 4, 2)), *first, *second]))(x[0])


@model(IMAGE)
def a_regulariser_and_an_initialiser_of_ones_own(k, x):
    @k.utils.register_keras_serializable("mine")
    class Softer(k.regularizers.Regularizer):
        def __call__(self, w):
            return 0.0

        def get_config(self):
            return {}

    @k.utils.register_keras_serializable("mine")
    class Halves(k.initializers.Initializer):
        def __call__(self, shape, dtype=None, **kwargs):
            return k.initializers.Constant(0.5)(shape, dtype)

        def get_config(self):
            return {}

    return k.layers.Conv2D(2, 3, kernel_regularizer=Softer(), kernel_initializer=Halves())(x[0])


@model(IMAGE, keras=(3,))
def the_scale_of_convnext(k, x):
    from keras.src.applications.convnext import LayerScale

    return LayerScale(0.5, 4)(k.layers.LayerNormalization()(x[0]))


@model(IMAGE, define='"mine>Twice"(x, factor) = factor * x')
def a_custom_layer_that_is_defined(k, x):
    return _twice(k)(x[0])


@model(IMAGE, refused="SG0203")
def a_custom_layer_that_is_not_defined(k, x):
    return _twice(k)(x[0])


def _twice(k):
    @k.utils.register_keras_serializable("mine")
    class Twice(k.layers.Layer):
        factor = 2.0

        def call(self, inputs):
            return inputs * self.factor

        def get_config(self):
            return {**super().get_config(), "factor": self.factor}

    return Twice()


CASES = [value for value in globals().values() if isinstance(value, Case)]
