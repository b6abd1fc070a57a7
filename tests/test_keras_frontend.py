"""The Keras frontend against Keras itself, against files of Keras 2, and against hostile files."""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import tarfile
import zipfile
from copy import deepcopy
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shadergen.compiler.frontends import Request, load
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse_definitions
from shadergen.ir.graph import Constant
from shadergen.ir.ops import Conv
from shadergen.ir.reference import evaluate

FIXTURES = Path(__file__).parent / "fixtures" / "keras"
MODELS = Path(__file__).parents[2] / "shared" / "models"
SHUFFLE = {"up": 'up(x) = depth_to_space(x, block=2, order="dcr")'}


def defined(*lines):
    return parse_definitions("\n".join(lines))


def run(path, inputs, **request):
    """Load a model and run it in float64; arrays in the model's own axis order."""
    graph = load(path, Request(**request))
    feed = {
        i.name: x.transpose(np.argsort(i.port.axes))
        for i, x in zip(graph.inputs, inputs, strict=True)
    }
    results = evaluate(graph, feed)
    return [results[o.name].transpose(o.port.axes) for o in graph.outputs]


def assert_close(got, wanted, tolerance=1e-5):
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        assert g.shape == w.shape
        assert np.abs(g - w).max() <= tolerance * max(1, np.abs(w).max())


def refusal(path, **request):
    """Return the error that loading raises."""
    with pytest.raises(ShadergenError) as caught:
        load(path, Request(**request))
    return caught.value


# --- Against Keras --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keras():
    """Keras, without its random initial weights: JAX compiles a program for each shape of those."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    module = pytest.importorskip("keras")
    with pytest.MonkeyPatch.context() as patch:
        initial = module.initializers
        patch.setattr(initial.GlorotUniform, "__call__", initial.Zeros.__call__)
        yield module


@pytest.fixture
def same_as_keras(keras, tmp_path):
    """Save a model in both formats and compare what each gives with what Keras computes."""

    def compare(model, suffixes=(".keras", ".h5"), **request):
        rng = np.random.default_rng(3)
        for weight in model.weights:
            low = 0.4 if "variance" in weight.path else -0.7
            weight.assign(rng.uniform(low, 0.9, weight.shape).astype("f4"))
        inputs = [
            rng.uniform(
                -2,
                2,
                tuple(s or k for s, k in zip(i.shape, (1, 7, 6), strict=False))
                + tuple(i.shape[3:]),
            ).astype("f4")
            for i in model.inputs
        ]
        wanted = model(inputs if len(inputs) > 1 else inputs[0])
        wanted = list(wanted.values()) if isinstance(wanted, dict) else wanted
        wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        wanted = [np.asarray(keras.ops.convert_to_numpy(w)) for w in wanted]
        for suffix in suffixes:
            path = tmp_path / f"model{suffix}"
            model.save(path)
            assert_close(run(path, inputs, **request), wanted)

    return compare


def layer_cases():
    """Layers by class name, each with the arguments to try."""
    convolutions = [
        {"filters": 3, "kernel_size": 3},
        {
            "filters": 2,
            "kernel_size": (3, 2),
            "strides": (2, 1),
            "padding": "same",
            "activation": "relu",
        },
        {"filters": 2, "kernel_size": (2, 5), "strides": 3, "padding": "same", "use_bias": False},
        {"filters": 4, "kernel_size": 3, "dilation_rate": 2, "padding": "same", "groups": 2},
        {"filters": 2, "kernel_size": 4, "padding": "same", "activation": "hard_sigmoid"},
    ]
    cases = {"Conv2D": [*convolutions, {"filters": 2, "kernel_size": 9, "padding": "same"}]}
    cases["SeparableConv2D"] = [
        {
            "filters": 3,
            "kernel_size": 3,
            "depth_multiplier": 2,
            "padding": "same",
            "activation": "tanh",
        },
        {"filters": 2, "kernel_size": 2, "strides": 2, "use_bias": False},
    ]
    cases["DepthwiseConv2D"] = [
        {"kernel_size": 3, "depth_multiplier": 2, "padding": "same", "activation": "relu6"},
        {"kernel_size": (2, 3), "strides": 2},
    ]
    cases["Conv2DTranspose"] = [
        {"filters": 2, "kernel_size": k, "strides": s, "padding": p, "activation": "silu"}
        for k in (2, 3, 4, (1, 5))
        for s in (1, 2, 3)
        for p in ("same", "valid")
    ]
    cases["Conv2DTranspose"] += [
        {"filters": 2, "kernel_size": 3, "dilation_rate": 2, "padding": "valid"},
        {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "valid", "output_padding": 1},
        {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same", "output_padding": 1},
        {"filters": 1, "kernel_size": 8, "strides": 4, "padding": "same", "use_bias": False},
    ]
    cases["Activation"] = [{"activation": name} for name in ACTIVATIONS]
    cases["ReLU"] = [
        {},
        {"max_value": 1.0},
        {"negative_slope": 0.2},
        {"threshold": 0.5},
        {"max_value": 1.5, "negative_slope": 0.1, "threshold": 0.25},
        {"max_value": 1.5, "negative_slope": 0.3},
    ]
    cases["LeakyReLU"] = [{}, {"negative_slope": 0.05}]
    cases["ELU"] = [{}, {"alpha": 0.5}]
    cases["PReLU"] = [{}, {"shared_axes": [1, 2]}, {"shared_axes": [2]}]
    cases["BatchNormalization"] = [
        {},
        {"scale": False},
        {"center": False, "epsilon": 0.1},
        {"center": False, "scale": False},
        {"axis": 1},
        {"axis": 2},
    ]
    cases["ZeroPadding2D"] = [{}, {"padding": (2, 1)}, {"padding": ((1, 0), (2, 3))}]
    cases["Cropping2D"] = [{"cropping": 1}, {"cropping": ((1, 2), (0, 3))}]
    cases["UpSampling2D"] = [{}, {"size": (1, 3)}]
    for name in ("Dropout", "SpatialDropout2D", "GaussianNoise", "GaussianDropout", "AlphaDropout"):
        cases[name] = [{"stddev" if name == "GaussianNoise" else "rate": 0.5}]
    cases["ActivityRegularization"] = [{"l1": 0.1}]
    cases["Identity"] = [{}]
    cases["Rescaling"] = [
        {"scale": 2.0, "offset": -1.0},
        {"scale": [1.0, 2.0, 3.0, 4.0], "offset": 0},
    ]
    cases["Reshape"] = [{"target_shape": (6, -1, 2)}, {"target_shape": (24, 7)}]
    cases["Permute"] = [{"dims": (2, 1, 3)}, {"dims": (3, 1, 2)}]
    cases["Flatten"] = [{}]
    return [(name, arguments) for name, several in cases.items() for arguments in several]


ACTIVATIONS = (
    *("celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu"),
    *("hard_tanh", "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu"),
    *("sigmoid", "silu", "soft_shrink", "softplus", "softsign", "sparse_plus", "sparse_sigmoid"),
    *("squareplus", "tanh", "tanh_shrink"),
)


def case_name(value):
    return value if isinstance(value, str) else ",".join(f"{k}={v}" for k, v in value.items())


@pytest.mark.parametrize(("name", "arguments"), layer_cases(), ids=case_name)
def test_a_layer_computes_what_keras_computes(keras, same_as_keras, name, arguments):
    image = keras.Input((7, 6, 4))
    layer = getattr(keras.layers, name)(**arguments)
    # Two suffixes only where weights are: the configuration reads the same.
    model = keras.Model(image, layer(image))
    same_as_keras(model, (".keras", ".h5") if model.weights else (".h5",))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Add", {}),
        ("Subtract", {}),
        ("Multiply", {}),
        ("Average", {}),
        ("Maximum", {}),
        ("Minimum", {}),
        ("Concatenate", {}),
        ("Concatenate", {"axis": 1}),
        ("Concatenate", {"axis": -2}),
    ],
    ids=case_name,
)
def test_a_merge_layer_computes_what_keras_computes(keras, same_as_keras, name, arguments):
    inputs = [keras.Input((3, 4, 5), name=f"in{k}") for k in range(2 if name == "Subtract" else 3)]
    layer = getattr(keras.layers, name)(**arguments)
    same_as_keras(keras.Model(inputs, layer(inputs)), (".keras",))


def operation_cases(ops):
    """Expressions of keras.ops by name, each of an image x with 8 channels."""
    unary = (
        *(
            "abs",
            "ceil",
            "cos",
            "exp",
            "expm1",
            "erf",
            "floor",
            "hard_silu",
            "hard_tanh",
            "negative",
        ),
        *(
            "log_sigmoid",
            "relu6",
            "round",
            "selu",
            "sigmoid",
            "sign",
            "sin",
            "softplus",
            "softsign",
        ),
        *("sparse_plus", "sparse_sigmoid", "square", "tan", "tanh", "tanh_shrink", "trunc", "elu"),
        *("relu", "silu", "gelu", "leaky_relu", "hard_sigmoid", "celu", "soft_shrink"),
        *("hard_shrink", "squareplus"),
    )
    cases = {name: getattr(ops, name) for name in unary if hasattr(ops, name)}
    return cases | {
        "log": lambda x: ops.log(ops.abs(x) + 0.1) + ops.log1p(x * x),
        "sqrt": lambda x: ops.sqrt(ops.abs(x)) + ops.rsqrt(x * x + 1.0),
        "arithmetic": lambda x: 2.0 - (x + 1.5) * x / (3.0 + x * x),
        "power": lambda x: ops.power(ops.abs(x) + 0.1, 1.5) + 2.0 ** (x * 0.5),
        "mod": lambda x: ops.mod(x, 0.7),
        "bounds": lambda x: ops.maximum(ops.minimum(x, 1.0), ops.clip(x, -0.5, 0.25)),
        "per_channel": lambda x: x * np.arange(8, dtype="f4") + ops.arange(6.0)[:, None],
        "reversed_broadcast": lambda x: ops.subtract(np.ones((1, 7, 6, 8), "f4"), x[..., :1]),
        "gelu_exact": lambda x: ops.gelu(x, approximate=False),
        "elu_alpha": lambda x: ops.elu(x, alpha=0.3),
        "leaky": lambda x: ops.leaky_relu(x, negative_slope=0.4),
        "threshold": lambda x: ops.threshold(x, 0.3, -1.0),
        "depth_to_space": lambda x: ops.nn.depth_to_space(x, 2),
        "concatenate": lambda x: ops.concatenate([x, x * 2.0], axis=-1),
        "concatenate_rows": lambda x: ops.concatenate([x, x * 2.0], axis=1),
        "stack": lambda x: ops.stack([x[:, :, 0], x[:, :, 1]], axis=2),
        "split": lambda x: ops.concatenate(ops.split(x, 2, axis=-1)[::-1], axis=-1),
        "split_at": lambda x: ops.split(x, [3, 5], axis=-1)[1],
        "pad_constant": lambda x: ops.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], constant_values=0.5),
        "pad_reflect": lambda x: ops.pad(x, [[0, 0], [3, 2], [0, 1], [0, 0]], mode="reflect"),
        "pad_symmetric": lambda x: ops.pad(x, ((0, 0), (3, 2), (0, 1), (1, 0)), mode="symmetric"),
        "index": lambda x: x[:, 1:-1, ::2, 3],
        "index_ellipsis": lambda x: x[..., 1::3],
        "index_new_axis": lambda x: x[:, 2, None],
        "transpose": lambda x: ops.transpose(x, (0, 3, 1, 2)),
        "reshape": lambda x: ops.reshape(x, (1, 6, 7, -1)),
        "squeeze": lambda x: ops.squeeze(x[:, :1], axis=1),
        "expand_dims": lambda x: ops.expand_dims(x[:, 0], axis=-1)[:, :, 0],
        "cast": lambda x: ops.cast(x, "float32") + ops.stop_gradient(x),
        "unstack": lambda x: ops.unstack(x, axis=-1)[5],
        "resize": lambda x: ops.image.resize(x, (14, 18), interpolation="nearest"),
    }


def test_keras_operations_compute_what_keras_computes(keras, same_as_keras):
    """All in one model with as many outputs, which is far faster than a model for each."""
    image = keras.Input((7, 6, 8), batch_size=1)
    cases = operation_cases(keras.ops)
    assert len(cases) > 55
    outputs = {name: f(image) for name, f in sorted(cases.items())}
    same_as_keras(keras.Model(image, outputs))


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
    assert (error.code, error.what) == ("SG0204", "input 'photo' has a dynamic size")
    sizes = {"photo": (12, 16)}
    assert load(tmp_path / "m.keras", Request(sizes=sizes)).outputs[0].value.shape == (1, 2, 6, 8)


def test_shapes_that_do_not_fit_are_told_as_the_model_has_them(keras, tmp_path):
    image = keras.Input((None, None, 3), name="photo")
    down = keras.layers.Conv2D(3, 3, strides=2, padding="same")(image)
    up = keras.layers.UpSampling2D(name="up")(down)
    hint = "the sizes follow from --input-size: a model that halves sizes and doubles them again"
    for layer, what in (
        (keras.layers.Concatenate(name="cat"), "the inputs differ elsewhere than on axis 3"),
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
        "  = why: its Python code is never loaded from a model file",
        "  = help: write what it computes into a file and pass --define FILE; for example: "
        "up(x) = x * sigmoid(x)",
    ]
    with np.load(path.with_suffix(".npz")) as arrays:
        got = run(path, [arrays["input/0"]], definitions=defined(SHUFFLE["up"]))
        assert_close(got, [arrays["output/0"]])


# --- Models made by others ------------------------------------------------------------------------


def third_party(name):
    path = MODELS / name
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


# --- Refusals -------------------------------------------------------------------------------------


def config_of(path):
    with h5py.File(path) as file:
        return json.loads(file.attrs["model_config"])


def altered(tmp_path, change, name="espcn.h5"):
    """Copy a fixture with its configuration changed in place."""
    config = config_of(FIXTURES / name)
    change(config)
    path = tmp_path / name
    shutil.copy(FIXTURES / name, path)
    path.chmod(0o644)
    with h5py.File(path, "r+") as file:
        file.attrs["model_config"] = json.dumps(config)
    return path


def conv(config):
    return next(entry for entry in config["config"]["layers"] if entry["class_name"] == "Conv2D")


def test_a_layer_that_is_not_implemented(tmp_path):
    def change(config):
        conv(config).update(class_name="StringLookup", config={"name": "feature"})

    error = refusal(altered(tmp_path, change))
    assert error.code == "SG0201"
    assert error.what == "layer class StringLookup is not implemented"
    assert error.where[-1] == "layer 'feature' (StringLookup)"
    assert "Conv2D" in error.supported


def test_a_layer_that_keras_does_not_have(tmp_path):
    error = refusal(altered(tmp_path, lambda c: conv(c).update(class_name="Conv2d")))
    assert error.code == "SG0203"
    assert "did you mean 'Conv2D'?" in error.help


def test_a_function_that_is_not_implemented(tmp_path):
    def change(config):
        config["config"]["layers"][-1]["config"]["function"] = "nn.dilation2d"

    error = refusal(altered(tmp_path, change))
    assert (error.code, error.what) == ("SG0201", "operation tf.nn.dilation2d is not implemented")
    assert "tf.nn.depth_to_space" in error.supported


@pytest.mark.parametrize(
    ("entries", "code", "what", "supported"),
    [
        ({"padding": "causal"}, "SG0202", "padding='causal' is not implemented", "valid, same"),
        ({"activation": "mine"}, "SG0203", "activation 'mine' has no definition", "relu"),
        ({"dtype": {"class_name": "QuantizedDTypePolicy"}}, "SG0202", "dtype=", "DTypePolicy"),
        ({"kernel_size": [3]}, "SG0105", "'kernel_size' must be two integers", ""),
        ({"kernel_size": [3, True]}, "SG0105", "'kernel_size' must be two integers", ""),
        ({"filters": None}, "SG0105", "'filters' must be an integer", ""),
        ({"strides": 0}, "SG0105", "'strides' must be two integers", ""),
        ({"data_format": "sideways"}, "SG0105", "'data_format' must be", ""),
        ({"groups": 3}, "SG0105", "'groups' must be a divisor", ""),
        ({"filters": 6}, "SG0106", "weight 'feature/kernel:0' has shape (3, 3, 2, 5)", ""),
        ({"use_bias": False}, "SG0106", "the layer needs 1 weights, the file has 2", ""),
        ({"kernel_size": 10**12}, "SG0105", "'kernel_size' must be two integers", ""),
    ],
)
def test_a_configuration_that_does_not_fit(tmp_path, entries, code, what, supported):
    error = refusal(altered(tmp_path, lambda c: conv(c)["config"].update(entries)))
    assert error.code == code
    assert error.what.startswith(what)
    assert "layer 'feature' (Conv2D)" in error.where
    assert supported in error.supported


def test_an_argument_that_is_not_implemented(tmp_path):
    def change(config):
        config["config"]["layers"][-1]["inbound_nodes"][0][3]["data_format"] = "NCHW_VECT_C"

    error = refusal(altered(tmp_path, change))
    assert (error.code, error.what) == ("SG0202", "data_format='NCHW_VECT_C' is not implemented")
    assert error.where[-1] == "layer 'tf.nn.depth_to_space' (tf.nn.depth_to_space)"


def test_an_argument_that_nobody_reads_is_refused(tmp_path):
    def change(config):
        config["config"]["layers"][-1]["inbound_nodes"][0][3]["surprise"] = 1

    assert refusal(altered(tmp_path, change)).what == "surprise=1 is not implemented"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda c: c["config"].update(layers=[]), "the model has no layers"),
        (lambda c: c["config"]["layers"].append(conv(c)), "two layers are called 'feature'"),
        (lambda c: conv(c).update(inbound_nodes=[[["nowhere", 0, 0, {}]]]), "there is no layer"),
        (lambda c: conv(c).update(inbound_nodes=[[["shuffle", 0, 0, {}]]]), "the layer depends on"),
        (lambda c: conv(c).update(inbound_nodes=[[["image", 0, 3, {}]]]), "layer 'image' has no"),
        (lambda c: conv(c).update(inbound_nodes=[[["image", 7, 0, {}]]]), "layer 'image' has no"),
        (lambda c: conv(c).update(inbound_nodes=5), "'inbound_nodes' is not a list"),
        (lambda c: conv(c).update(name=None, config={}), "a layer of class 'Conv2D' has no name"),
        (lambda c: c["config"].update(output_layers=[["nowhere", 0, 0]]), "there is no layer"),
        (lambda c: c["config"].update(output_layers=[]), "the model has no inputs or no outputs"),
        (
            lambda c: c["config"].update(input_layers=[["feature", 0, 0]]),
            "layer 'feature' (Conv2D)",
        ),
        (lambda c: c.pop("class_name"), "the configuration does not name the model's class"),
    ],
)
def test_a_model_that_contradicts_itself(tmp_path, change, what):
    error = refusal(altered(tmp_path, change))
    assert error.code == "SG0105"
    assert error.what.startswith(what)


def test_a_subclassed_model_has_no_architecture(tmp_path):
    path = altered(tmp_path, lambda c: c.update(class_name="Mine", config={"units": 3}))
    error = refusal(path)
    assert error.code == "SG0104"
    assert "Functional" in error.help


def test_an_input_type_that_is_not_implemented(tmp_path):
    path = altered(tmp_path, lambda c: c["config"]["layers"][0]["config"].update(dtype="string"))
    assert refusal(path).code == "SG0206"


def test_weights_without_architecture_say_what_to_do(tmp_path, keras):
    old = tmp_path / "old.h5"
    with h5py.File(old, "w") as file:
        file.attrs["layer_names"] = ["conv"]
    model = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Conv2D(2, 1)])
    model.save_weights(tmp_path / "new.weights.h5")
    for path in (old, tmp_path / "new.weights.h5"):
        error = refusal(path)
        assert error.code == "SG0104"
        assert "save_weights()" in error.why
        assert "model.save(" in error.help


def test_files_that_are_no_models(tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"] = np.zeros(3)
    assert refusal(tmp_path / "data.h5").code == "SG0102"
    with zipfile.ZipFile(tmp_path / "data.keras", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    assert refusal(tmp_path / "data.keras").code == "SG0102"
    (tmp_path / "text.h5").write_text("not a model at all")
    assert refusal(tmp_path / "text.h5").code == "SG0102"
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "saved_model.pb").touch()
    error = refusal(saved)
    assert error.code == "SG0102"
    assert "SavedModel" in error.what and "load_model" in error.help


def test_keras_1_is_refused(tmp_path):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        file.attrs["keras_version"] = "1.2.0"
    assert refusal(path).what == "the model was saved by Keras 1.2.0"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite(tmp_path, value):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        file["model_weights/shuffle/shuffle/bias:0"][2] = value
    error = refusal(path)
    assert (error.code, error.what) == ("SG0106", "weight 'shuffle/bias:0' is not finite")
    assert error.where[-1] == "layer 'shuffle' (Conv2D)"
    assert error.why == "1 of 4 numbers are NaN or infinite"


def test_a_weight_that_is_missing(tmp_path):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        del file["model_weights/shuffle/shuffle/bias:0"]
    error = refusal(path)
    assert (error.code, error.what) == ("SG0106", "weight 'shuffle/bias:0' is missing")


def test_long_lists_of_names_come_in_parts(tmp_path):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        group = file["model_weights/shuffle"]
        names = list(group.attrs["weight_names"])
        del group.attrs["weight_names"]
        for k, name in enumerate(names):
            group.attrs[f"weight_names{k}"] = [name]
    assert len(load(path, Request()).constants) == 4


# --- Hostile files --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [h5py.ExternalLink, h5py.SoftLink])
def test_links_out_of_the_file_are_not_followed(tmp_path, kind):
    path = altered(tmp_path, lambda c: None)
    name = "model_weights/shuffle/shuffle/bias:0"
    with h5py.File(path, "r+") as file:
        other = "model_weights/feature/feature/bias:0"
        del file[name]
        file[name] = kind(
            *([str(FIXTURES / "nested.h5")] if kind is h5py.ExternalLink else []), other
        )
    assert refusal(path).code == "SG0103"


def test_weights_outside_the_file_are_not_read(tmp_path):
    path = altered(tmp_path, lambda c: None)
    (tmp_path / "secret").write_bytes(bytes(64))
    name = "model_weights/shuffle/shuffle/bias:0"
    with h5py.File(path, "r+") as file:
        del file[name]
        file.create_dataset(name, (4,), "f4", external=[(str(tmp_path / "secret"), 0, 16)])
    assert refusal(path).code == "SG0103"


def test_a_size_in_a_header_is_not_believed(tmp_path):
    path = altered(tmp_path, lambda c: conv(c)["config"].update(filters=2**28))
    with h5py.File(path, "r+") as file:
        group = file["model_weights/feature/feature"]
        del group["kernel:0"], group["bias:0"]
        group.create_dataset("kernel:0", (3, 3, 2, 2**28), "f4", chunks=(3, 3, 2, 64))
        group.create_dataset("bias:0", (2**28,), "f4", chunks=(64,))
    error = refusal(path)
    assert error.code == "SG0103"
    assert error.what.endswith("bytes and has 0 in the file")


@pytest.mark.parametrize("size", [0, 9000, 2**64 - 16])
def test_a_heap_that_would_hang_the_hdf5_library_is_refused(tmp_path, size):
    data = bytearray((FIXTURES / "espcn.h5").read_bytes())
    struct.pack_into("<HHIQ", data, data.index(b"GCOL") + 16, 0, 0, 0, size)
    (tmp_path / "m.h5").write_bytes(data)
    error = refusal(tmp_path / "m.h5")
    assert error.code == "SG0103"
    assert "does not fit into the heap" in error.why


def test_an_attribute_of_another_type_is_not_read(tmp_path):
    path = altered(tmp_path, lambda c: None)
    with h5py.File(path, "r+") as file:
        file.attrs["keras_version"] = 3
    assert refusal(path).why == "attribute 'keras_version' is not a list of texts"


def test_a_zip_bomb_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b" " * (4 << 20))
    error = refusal(tmp_path / "bomb.keras")
    assert error.code == "SG0103"
    assert "claims to unpack to" in error.what


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000, '{"a": ' * 5000, "\x00"])
def test_a_configuration_that_does_not_parse(tmp_path, text):
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.writestr("config.json", text)
    assert refusal(tmp_path / "m.keras").code == "SG0105"


def test_models_that_multiply_are_stopped(tmp_path):
    """Thirty models, each of which calls the next twice, would make 2**30 calls."""
    config = {"class_name": "Sequential", "config": {"name": "s", "layers": [INPUT, identity("i")]}}
    for k in range(30):
        calls = [[["in", 0, 0, {}]], [[f"m{k}", 1, 0, {}]]]
        inner = {**config, "name": f"m{k}", "inbound_nodes": calls}
        layers = [{**INPUT, "name": "in", "inbound_nodes": []}, inner]
        config = functional(f"m{k + 1}", layers, [f"m{k}", 2, 0])
    error = refusal(written(tmp_path, config))
    assert error.code == "SG0105"
    assert "calls" in error.what


INPUT = {"class_name": "InputLayer", "config": {"name": "in", "batch_input_shape": [1, 2, 2, 1]}}


def identity(name):
    return {"class_name": "Dropout", "config": {"name": name, "rate": 0.5}}


def functional(name, layers, output):
    inner = {
        "name": name,
        "layers": layers,
        "input_layers": [["in", 0, 0]],
        "output_layers": [output],
    }
    return {"class_name": "Functional", "config": inner}


def written(folder, config):
    with h5py.File(folder / "made.h5", "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["model_config"] = json.dumps(config)
        file.create_group("model_weights")
    return folder / "made.h5"


def test_a_model_of_a_thousand_layers_is_read(tmp_path):
    layers = [{**INPUT, "name": "in", "inbound_nodes": []}]
    for k in range(1000):
        before = f"d{k - 1}" if k else "in"
        layers.append(
            {**identity(f"d{k}"), "name": f"d{k}", "inbound_nodes": [[[before, 0, 0, {}]]]}
        )
    path = written(tmp_path, functional("deep", layers[::-1], ["d999", 0, 0]))
    assert len(load(path, Request()).nodes) == 1000


def places(value, here=()):
    """Yield the path of everything inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*here, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*here, key))


JUNK = st.one_of(
    st.sampled_from([None, True, -1, 0, 3, 2**40, 1e300, float("nan"), "", "relu", [], {}, [[]]]),
    st.sampled_from([["image", 0, 0], ["tf.concat", 0, 0], {"class_name": "Add", "config": {}}]),
    st.lists(st.one_of(st.integers(-3, 9), st.none(), st.text(max_size=3)), max_size=4),
)


@pytest.fixture(scope="module")
def mutable(tmp_path_factory, keras):
    """Models to damage, as bytes of .keras archives: of Keras 3 one, of Keras 2 a catalogue."""
    ops, layers = keras.ops, keras.layers
    image = keras.Input((6, 5, 4), name="image")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    x = ops.nn.depth_to_space(layers.BatchNormalization()(x), 2)
    x = ops.pad(ops.concatenate([x, 2.0 - x]), [[0, 0], [1, 1], [0, 0], [0, 0]], mode="reflect")
    x = ops.split(layers.PReLU(shared_axes=[1, 2])(x)[:, 1:-1], 2, axis=-1)[1]
    x = ops.image.resize(ops.transpose(x, (0, 2, 1, 3)), (4, 4), interpolation="nearest")
    x = layers.Conv2DTranspose(2, 3, strides=2)(ops.clip(ops.reshape(x, (-1, 4, 4, 2)), 0.0, 1.0))
    body = keras.Sequential([keras.Input((9, 9, 2)), layers.SeparableConv2D(2, 3)], name="body")
    path = tmp_path_factory.mktemp("mutable") / "m.keras"
    keras.Model(image, [layers.Flatten()(body(x)), x]).save(path)
    load(path, Request())  # whole, it is accepted
    with tarfile.open(FIXTURES.parent / "keras2_cases.tar.xz") as archive:
        members = [m for m in archive.getmembers() if m.name.endswith(".keras")]
        catalogue = [archive.extractfile(m).read() for m in members]
    large = [path.read_bytes(), (FIXTURES / "nested.keras").read_bytes()]
    return large * 100 + catalogue  # the large ones are drawn as often as all the others


def loads_or_refuses(folder, data, suffix=".keras"):
    path = folder / f"mutant{suffix}"
    path.write_bytes(data)
    try:
        load(path, Request(sizes={"": (8, 8)}))
    except ShadergenError as error:
        assert error.render().startswith("error[SG0")


FUZZ = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FUZZ
@given(st.data())
def test_any_change_of_a_configuration_loads_or_is_refused(mutable, tmp_path, data):
    source = data.draw(st.sampled_from(mutable))
    with zipfile.ZipFile(io.BytesIO(source)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    for _ in range(data.draw(st.integers(1, 3))):
        *path, key = data.draw(st.sampled_from(list(places(config))))
        at = config
        for step in path:
            at = at[step]
        if data.draw(st.booleans()) or not isinstance(at, dict):
            at[key] = deepcopy(data.draw(JUNK))  # the next change may go inside
        else:
            del at[key]
    members["config.json"] = json.dumps(config).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    loads_or_refuses(tmp_path, buffer.getvalue())


@FUZZ
@given(st.data())
def test_any_truncated_archive_is_refused(mutable, tmp_path, data):
    source = data.draw(st.sampled_from(mutable))
    cut = data.draw(st.integers(0, len(source) - 1))
    path = tmp_path / "cut.keras"
    path.write_bytes(source[:cut])
    assert refusal(path).code in ("SG0102", "SG0103")


@FUZZ
@given(st.data())
def test_any_truncated_h5_file_is_refused(tmp_path, data):
    source = (FIXTURES / "espcn.h5").read_bytes()
    path = tmp_path / "cut.h5"
    path.write_bytes(source[: data.draw(st.integers(0, len(source) - 1))])
    assert refusal(path).code in ("SG0102", "SG0103")


@FUZZ
@given(st.data())
def test_any_damaged_h5_file_loads_or_is_refused(tmp_path, data):
    """Bytes changed anywhere but in the library's own structures, which HDF5 itself checks."""
    source = bytearray((FIXTURES / "espcn.h5").read_bytes())
    start = source.index(b'{"class_name"')
    for _ in range(data.draw(st.integers(1, 4))):
        source[data.draw(st.integers(start, start + 3500))] = data.draw(st.integers(0, 255))
    loads_or_refuses(tmp_path, bytes(source), ".h5")


def test_convolutions_are_the_only_kernels_of_espcn():
    graph = load(FIXTURES / "espcn.h5", Request())
    assert sum(isinstance(n.op, Conv) for n in graph.nodes) == 2
    assert all(isinstance(c, Constant) and c.data.dtype == np.float32 for c in graph.constants)
