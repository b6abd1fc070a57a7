"""Recurrent layers and what wraps layers to run along a sequence."""

from __future__ import annotations

import tempfile

from .case import FRAMES, IMAGE, SEQUENCE, Case, layers, model

CASES = [
    *(
        case
        for kind in ("SimpleRNN", "LSTM", "GRU")
        for case in layers(
            SEQUENCE,
            f"{kind}(3)",
            f"{kind}(5, return_sequences=True)",
            f"{kind}(3, go_backwards=True)",
            f"{kind}(2, return_sequences=True, go_backwards=True)",
            f"{kind}(3, use_bias=False)",
            f"{kind}(3, activation='relu')",
            f"{kind}(3, return_state=True)",
            f"{kind}(2, unroll=True, return_sequences=True)",
            f"{kind}(3, dropout=0.5, recurrent_dropout=0.5)",
            f"Bidirectional({kind}(3))",
            f"Bidirectional({kind}(2, return_sequences=True))",
            f"RNN({kind}Cell(3), return_sequences=True)",
        )
    ),
    *layers(
        SEQUENCE,
        "LSTM(3, recurrent_activation='hard_sigmoid')",
        "LSTM(3, unit_forget_bias=False, implementation=1)",
        "LSTM(3, activation='softsign', recurrent_activation='tanh', return_sequences=True)",
        "GRU(3, reset_after=False)",
        "GRU(3, reset_after=False, return_sequences=True, use_bias=False)",
        "GRU(3, recurrent_activation='hard_sigmoid', implementation=1)",
        "GRU(3, return_state=True, return_sequences=True)",
        "SimpleRNN(3, activation=None)",
        *(
            f"Bidirectional(LSTM(3, return_sequences=True), merge_mode='{mode}')"
            for mode in ("sum", "mul", "ave")
        ),
        "Bidirectional(GRU(3, return_sequences=True), merge_mode=None)",
        "Bidirectional(LSTM(2), backward_layer=GRU(2, go_backwards=True))",
        "Bidirectional(LSTM(2, return_state=True))",
        "Bidirectional(RNN(GRUCell(2)))",
        "RNN([LSTMCell(3), GRUCell(2)])",
        "RNN(StackedRNNCells([SimpleRNNCell(n) for n in (3, 2)]))",
        "RNN([LSTMCell(2), LSTMCell(3)], return_sequences=True)",
        "RNN(GRUCell(3, reset_after=False), go_backwards=True)",
        "RNN(LSTMCell(2), return_state=True)",
        "RNN(LSTMCell(2), unroll=True)",
        "TimeDistributed(Dense(3))",
        "TimeDistributed(Dense(2, activation='softmax'))",
        "TimeDistributed(Reshape((2, 2)))",
    ),
    *layers(SEQUENCE, "LSTM(2, time_major=True)", "GRU(2, time_major=True)", keras=(2,)),
    *layers(SEQUENCE, "LSTM(3, stateful=True)", "GRU(3, stateful=True)", batch=1, refused="SG0202"),
    *layers(SEQUENCE, "LSTM(3)", "GRU(3, return_sequences=True)", "SimpleRNN(2)", batch=2),
    *layers((1, 4), "LSTM(3)  # of one step"),
    *layers(
        FRAMES,
        "TimeDistributed(Conv2D(3, 3))",
        "TimeDistributed(MaxPooling2D(2))",
        "TimeDistributed(BatchNormalization())",
        "TimeDistributed(Flatten())",
        "TimeDistributed(GlobalAveragePooling2D())",
        "ConvLSTM2D(3, 2)",
        "ConvLSTM2D(2, 3, padding='same', return_sequences=True)",
        "ConvLSTM2D(2, (2, 3), strides=2, activation='relu')",
        "ConvLSTM2D(2, 2, dilation_rate=2, use_bias=False)",
        "ConvLSTM2D(2, 2, go_backwards=True, recurrent_activation='sigmoid')",
        "ConvLSTM2D(2, 2, return_state=True)",
        "Bidirectional(ConvLSTM2D(2, 2, padding='same'))",
    ),
    *layers((3, 2, 5, 4), "ConvLSTM2D(2, 2, data_format='channels_first')"),
    *layers(
        (4, 6, 2),
        "ConvLSTM1D(3, 2)",
        "ConvLSTM1D(2, 3, padding='same', return_sequences=True)",
        "ConvLSTM1D(2, 3, strides=2)",
        "TimeDistributed(Conv1D(3, 2))",
        "TimeDistributed(LSTM(2))",
    ),
    *layers((2, 3, 4, 3, 1), "ConvLSTM3D(2, 2)"),
]


@model(SEQUENCE)
def recurrent_layers_in_a_row(k, x):
    y = k.layers.LSTM(3, return_sequences=True)(x[0])
    return k.layers.Dense(2)(k.layers.GRU(4)(y))


@model(SEQUENCE, (5, 4))
def an_encoder_and_a_decoder(k, x):
    L = k.layers
    _, h, c = L.LSTM(3, return_state=True)(x[0])
    y = L.LSTM(3, return_sequences=True)(x[1], initial_state=[h, c])
    return L.Dense(2, activation="softmax")(y)


@model(SEQUENCE, (3,))
def a_gru_with_its_state_given(k, x):
    return k.layers.GRU(3)(x[0], initial_state=x[1])


@model(SEQUENCE, (2,), (2,))
def a_bidirectional_layer_with_its_states_given(k, x):
    return k.layers.Bidirectional(k.layers.GRU(2))(x[0], initial_state=[x[1], x[2]])


@model(IMAGE)
def rows_as_a_sequence(k, x):
    y = k.layers.Reshape((7, 24))(x[0])
    return k.layers.LSTM(3)(y)


@model((3, 7, 6, 2))
def a_model_along_a_sequence(k, x):
    L = k.layers
    inside = k.Sequential([k.Input((7, 6, 2)), L.Conv2D(2, 3), L.GlobalMaxPooling2D()])
    return L.LSTM(3)(L.TimeDistributed(inside)(x[0]))


@model((4, 7, 2))
def a_recurrent_layer_over_features_of_a_convolution(k, x):
    L = k.layers
    y = L.TimeDistributed(L.Conv1D(3, 2, activation="relu"))(x[0])
    return L.GRU(2)(L.TimeDistributed(L.GlobalAveragePooling1D())(y))


def _cudnn(kind, **arguments):
    """Return a case of a layer that runs on CUDA alone; Keras converts its weights to others."""
    text = ", ".join(f"{key}={value!r}" for key, value in arguments.items())

    def built(k, layer):
        inputs = k.Input(SEQUENCE)
        return k.Model(inputs, layer(name="layer", **arguments)(inputs))

    def build(k, x):
        import tensorflow as tf

        return built(k, getattr(tf.compat.v1.keras.layers, f"CuDNN{kind}"))

    def instead(k, model):
        with tempfile.TemporaryDirectory() as folder:
            model.save_weights(f"{folder}/weights.h5")
            other = built(k, getattr(k.layers, kind))
            other.load_weights(f"{folder}/weights.h5")
        return other

    return Case(f"CuDNN{kind}({text})", (SEQUENCE,), build, keras=(2,), instead=instead)


CASES += [
    _cudnn("LSTM", units=3),
    _cudnn("LSTM", units=2, return_sequences=True, go_backwards=True),
    _cudnn("GRU", units=3),
    _cudnn("GRU", units=2, return_sequences=True),
]
CASES += [value for value in globals().values() if isinstance(value, Case)]
