"""Whole Keras models, of Keras 3 and 2, of others and of one's own layers, against Keras."""

from __future__ import annotations

import numpy as np
import pytest
from support import SHARED_MODELS
from support.keras_reading import (
    FIXTURES,
    SHUFFLE,
    assert_close,
    defined,
    refusal,
    run,
)

from shadergen.compiler.frontends import Request, load


def test_channels_first_models_keep_their_axis_order(keras, same_as_keras, tmp_path):
    first = {"data_format": "channels_first"}
    image = keras.Input((4, 7, 6))
    x = keras.layers.Conv2D(6, 3, padding="same", strides=2, **first)(image)
    x = keras.layers.BatchNormalization(axis=1)(x)
    x = keras.layers.PReLU(shared_axes=[2, 3])(x)
    x = keras.layers.UpSampling2D(**first)(keras.layers.ZeroPadding2D(**first)(x))
    model = keras.Model(image, [x, keras.layers.Flatten(**first)(x)])
    if keras.backend.backend() == "tensorflow":
        pytest.skip("TensorFlow has no channels_first convolution on the CPU")
    same_as_keras(model)
    model.save(tmp_path / "m.keras")
    assert load(tmp_path / "m.keras", Request()).inputs[0].port.axes == (0, 1, 2, 3)


def test_channels_last_after_channels_first_is_transposed(keras, same_as_keras):
    image = keras.Input((4, 7, 6))
    x = keras.layers.Conv2D(5, 3, data_format="channels_first")(image)
    x = keras.layers.Conv2D(3, 2, data_format="channels_last")(x)
    same_as_keras(keras.Model(image, x), (".keras",))


@pytest.mark.parametrize("name", ["UpSampling1D", "Cropping1D"])
def test_layers_of_sequences_without_a_data_format_are_channels_last(keras, same_as_keras, name):
    """Whatever another layer of the model names."""
    sequence = keras.Input((9, 5))
    x = getattr(keras.layers, name)(2)(sequence)
    x = keras.layers.Flatten(data_format="channels_first")(x)
    same_as_keras(keras.Model(sequence, x), (".keras",))


def test_a_graph_has_nchw_inside_and_nhwc_ports(keras, tmp_path):
    image = keras.Input((7, 6, 3), name="photo")
    y = keras.layers.Conv2D(5, 3, name="edges", activation="relu")(image)
    keras.Model(image, y, name="finder").save(tmp_path / "m.keras")
    graph = load(tmp_path / "m.keras", Request())
    assert graph.name == "finder"
    assert (graph.inputs[0].name, graph.inputs[0].shape) == ("photo", (1, 3, 7, 6))
    assert graph.inputs[0].port.axes == graph.outputs[0].port.axes == (0, 2, 3, 1)
    assert (graph.outputs[0].name, graph.outputs[0].value.shape) == ("edges", (1, 5, 5, 4))
    assert [node.layers for node in graph.nodes] == [("edges",), ("edges",)]


def test_models_nest_and_layers_are_shared(keras, same_as_keras, tmp_path):
    layers = keras.layers
    x = inside = keras.Input((7, 6, 3))
    x = layers.Conv2D(3, 3, padding="same", name="conv")(x)
    body = keras.Model(inside, layers.BatchNormalization(name="normal")(x), name="body")
    deep = keras.Sequential([layers.Conv2D(3, 1, name="conv"), keras.models.clone_model(body)])
    left, right = keras.Input((7, 6, 3), name="left"), keras.Input((7, 6, 3), name="right")
    shared = layers.Conv2D(3, 1, name="shared")
    y = body(layers.Add()([body(left), shared(right)]))
    model = keras.Model([left, right], [deep(y), shared(y), body(deep(right))])
    same_as_keras(model, (".keras",))
    model.save(tmp_path / "m.keras")
    graph = load(tmp_path / "m.keras", Request())
    kernels = {n.inputs[1] for n in graph.nodes if n.name == "shared"}
    assert len(kernels) == 1


def test_models_nest_in_h5_files(keras, same_as_keras):
    layers = keras.layers
    x = inside = keras.Input((7, 6, 3))
    x = layers.BatchNormalization(name="normal")(layers.Conv2D(3, 3, name="conv")(x))
    body = keras.Model(inside, x, name="body")
    tail = keras.Sequential([body, layers.Conv2D(2, 1, name="mix")], name="tail")
    tail.layers[0].layers[1].trainable = False  # moves its weights behind the others
    image = keras.Input((7, 6, 3))
    same_as_keras(keras.Model(image, tail(image)), (".h5",))


def test_sequential_models_need_no_input_layer(keras, same_as_keras):
    model = keras.Sequential([keras.layers.Conv2D(2, 3), keras.layers.ReLU()])
    model.build((None, 7, 6, 3))
    same_as_keras(model)


def test_activation_layers_inside_layers(keras, same_as_keras):
    image = keras.Input((7, 6, 3))
    x = keras.layers.Conv2D(2, 3, activation=keras.layers.LeakyReLU(0.05))(image)
    x = keras.layers.Activation(keras.activations.gelu)(x)
    same_as_keras(keras.Model(image, x), (".keras",))


def test_tensors_of_lower_rank(keras, same_as_keras):
    vector, rows = keras.Input((6,), name="vector"), keras.Input((5, 6), name="rows")
    x = keras.layers.BatchNormalization()(vector)
    y = keras.layers.PReLU()(keras.layers.BatchNormalization()(rows))
    same_as_keras(keras.Model([vector, rows], [x * 2.0, y + vector, keras.layers.Flatten()(y)]))


def test_names_of_outputs_are_unique(keras, tmp_path):
    image = keras.Input((7, 6, 3))
    layer = keras.layers.ReLU(name="twice")
    keras.Model(image, [layer(image), layer(layer(image))]).save(tmp_path / "m.keras")
    names = [o.name for o in load(tmp_path / "m.keras", Request()).outputs]
    assert names == ["twice", "twice_1"]


def test_the_size_of_a_dynamic_input_is_asked_for(keras, same_as_keras, tmp_path):
    image = keras.Input((None, None, 1), name="photo")
    model = keras.Model(image, keras.layers.Conv2D(2, 3, strides=2, padding="same")(image))
    same_as_keras(model, sizes={"": (7, 6)})
    model.save(tmp_path / "m.keras")
    error = refusal(tmp_path / "m.keras")
    assert (error.code, error.what) == ("SG0204", "input 'photo' has an undeclared size")
    sizes = {"photo": (12, 16)}
    assert load(tmp_path / "m.keras", Request(sizes=sizes)).outputs[0].value.shape == (1, 2, 6, 8)


def test_shapes_that_do_not_fit_are_told_as_the_model_has_them(keras, tmp_path):
    image = keras.Input((None, None, 3), name="photo")
    down = keras.layers.Conv2D(3, 3, strides=2, padding="same")(image)
    up = keras.layers.UpSampling2D(name="up")(down)
    hint = "the sizes follow from --input-size: a model that halves sizes and doubles them again"
    for layer, what in (
        (
            keras.layers.Concatenate(name="cat"),
            "tensors of 1x16x14x3 and 1x15x14x3 cannot be joined along axis 3: "
            "their other sizes differ",
        ),
        (keras.layers.Add(name="cat"), "the operands' shapes do not broadcast"),
    ):
        keras.Model(image, layer([up, image])).save(tmp_path / "m.keras")
        error = refusal(tmp_path / "m.keras", sizes={"": (15, 14)})
        assert (error.code, error.what) == ("SG0205", what)
        place = f"layer 'cat' ({type(layer).__name__}), inputs 1x16x14x3, 1x15x14x3"
        assert error.where == (str(tmp_path / "m.keras"), place)
        assert error.help.startswith(hint)
        assert load(tmp_path / "m.keras", Request(sizes={"": (16, 14)})).outputs


def test_within_a_definition_the_operator_is_the_one_that_was_written(keras, tmp_path):
    image = keras.Input((5, 6, 3), name="photo")
    keras.Model(image, keras.layers.ReLU(name="act")(image)).save(tmp_path / "m.keras")
    definition = defined("act(x) = depth_to_space(x, block=2)")
    error = refusal(tmp_path / "m.keras", definitions=definition)
    assert error.where[1:3] == ("layer 'act' (ReLU)", "definition of act")
    assert error.where[3].startswith("act (DepthToSpace) of float32 1x3x5x6")


def test_custom_layers_take_their_formula_from_the_user(keras, tmp_path):
    @keras.saving.register_keras_serializable("mine")
    class Swell(keras.layers.Layer):
        def __init__(self, gain=1.0, **options):
            super().__init__(**options)
            self.gain = gain

        def call(self, x):
            return x * self.gain

        def get_config(self):
            return {**super().get_config(), "gain": self.gain}

    image = keras.Input((3, 4, 2))
    keras.Model(image, Swell(2.5, name="louder")(image)).save(tmp_path / "m.keras")
    keras.Model(image, Swell(2.5, name="louder")(image)).save(tmp_path / "m.h5")
    x = np.ones((1, 3, 4, 2), "f4")
    for path in (tmp_path / "m.keras", tmp_path / "m.h5"):
        error = refusal(path)
        assert error.code == "SG0203"
        assert "--define FILE" in error.help and "Swell(x) = " in error.help
        for line in (
            "louder(x) = 2.5 * x",
            "Swell(x, gain) = gain * x",
            '"mine>Swell"(x, gain) = x * gain',
        ):
            (y,) = run(path, [x], definitions=defined(line))
            assert (y == 2.5).all()


# --- Files of Keras 2 -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["espcn.h5", "espcn.keras", "operations.h5", "nested.h5", "nested.keras", "activations.h5"],
)
def test_files_of_keras_2_compute_what_it_computed(name):
    path = FIXTURES / name
    with np.load(path.with_suffix(".npz")) as arrays:
        inputs = [arrays[k] for k in sorted(arrays) if k.startswith("input")]
        outputs = [arrays[k] for k in sorted(arrays) if k.startswith("output")]
    assert_close(run(path, inputs), outputs)


def test_a_lambda_is_refused_until_the_user_defines_it():
    path = FIXTURES / "named.h5"
    assert refusal(path).render().splitlines() == [
        "error[SG0203]: Lambda layer 'up' has no definition",
        f"  --> {path}: layer 'up' (Lambda)",
        "  = why: the Python code of a Lambda layer is never loaded from a model file",
        "  = help: write a definition into FILE and pass --define FILE; for example: "
        "up(x) = x * sigmoid(x)",
    ]
    with np.load(path.with_suffix(".npz")) as arrays:
        got = run(path, [arrays["input/0"]], definitions=defined(SHUFFLE["up"]))
        assert_close(got, [arrays["output/0"]])


# --- Models made by others ------------------------------------------------------------------------


def third_party(name):
    path = SHARED_MODELS / name
    if not path.exists():
        pytest.skip(f"{name} is not in shared/models")
    return path


@pytest.mark.third_party
def test_nnaa_computes_what_keras_computes(keras):
    path = third_party("nnaa.keras")
    x = np.random.default_rng(0).uniform(0, 1, (1, 21, 18, 1)).astype("f4")
    wanted = keras.ops.convert_to_numpy(keras.models.load_model(path, compile=False)(x))
    assert_close(run(path, [x], sizes={"": (21, 18)}), [np.asarray(wanted)])


@pytest.mark.third_party
@pytest.mark.parametrize("name", ["mlperf_tiny_resnet8.h5", "fer2013_mini_xception.hdf5"])
def test_a_classifier_of_others_computes_what_keras_computes(keras, name):
    path = third_party(name)
    model = keras.models.load_model(path, compile=False)
    x = np.random.default_rng(0).random((1, *model.input_shape[1:])).astype("f4")
    wanted = np.asarray(keras.ops.convert_to_numpy(model(x, training=False)))
    assert_close(run(path, [x]), [wanted])
