"""Cutting Keras models at a layer's result: shared layers, nested models, several results."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from shadergen.compiler.frontends import Request, load
from shadergen.compiler.options import Options
from shadergen.compiler.verification import verify_model
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
keras = pytest.importorskip("keras")


def backbone() -> Any:
    x = keras.Input((8, 8, 3), name="picture")
    a = keras.layers.Conv2D(4, 3, padding="same", name="conv", bias_initializer="normal")(x)
    b = keras.layers.ReLU(name="act")(a)
    return keras.Model(x, [b, a], name="backbone")


def network() -> Any:
    """Return a model with a nested one that is called twice, and a layer that is shared."""
    keras.utils.set_random_seed(0)
    x = keras.Input((8, 8, 3), name="left")
    y = keras.Input((8, 8, 3), name="right")
    body = backbone()
    one, two = body(x), body(y)
    joined = keras.layers.Add(name="sum")([one[0], two[1]])
    shared = keras.layers.Conv2D(4, 1, name="shared", bias_initializer="normal")
    first = shared(joined)
    second = shared(keras.layers.Activation("tanh", name="bend")(first))
    return keras.Model([x, y], keras.layers.Multiply(name="last")([first, second]), name="net")


@pytest.fixture(scope="module", params=["keras", "h5"])
def path(request: Any, tmp_path_factory: Any) -> Path:
    file: Path = tmp_path_factory.mktemp("cut") / f"net.{request.param}"
    network().save(file)
    return file


def verified(path: Path, *outputs: str, inputs: tuple[str, ...] = ()) -> Any:
    report = verify_model(path, Options(inputs=inputs, outputs=outputs))
    assert report.ok
    return report


CUTS = {
    "a layer": ((), ("sum",)),
    "calls of a shared layer": ((), ("shared:0", "shared:1")),
    "results of a nested model": ((), ("backbone:0", "backbone:1:1")),
    "a layer as input": (("sum",), ()),
    "between two layers": (("sum",), ("bend",)),
    "the second call as input": (("shared:1",), ("last",)),
    "one of two inputs stays": (("backbone:0",), ("sum",)),
}


@pytest.mark.parametrize("case", CUTS)
def test_a_part_computes_what_keras_does(path: Path, case: str) -> None:
    inputs, outputs = CUTS[case]
    report = verified(path, *outputs, inputs=inputs)
    assert report.reference == "keras"
    assert not report.note
    assert [o.name for o in report.outputs] == list(outputs or ["last"])


def test_a_layer_of_a_nested_model_goes_by_its_path_or_its_own_name(path: Path) -> None:
    for name in ("backbone/conv:1", "conv:1"):
        graph = load(path, Request(outputs=(name,)))
        assert [i.name for i in graph.inputs] == ["right"]
        assert [o.name for o in graph.outputs] == [name]


def test_the_size_of_an_input_follows_from_the_layers_before_it(path: Path) -> None:
    graph = load(path, Request(inputs=("sum",)))
    assert [(i.name, i.shape) for i in graph.inputs] == [("sum", (1, 4, 8, 8))]


def test_layers_before_an_input_need_not_be_implemented(tmp_path: Path) -> None:
    x = keras.Input((6,), name="x")
    odd = keras.layers.Lambda(lambda t: t * 2, name="odd", output_shape=(6,))(x)
    y = keras.layers.ReLU(name="act")(keras.layers.Reshape((2, 3), name="shape")(odd))
    file = tmp_path / "odd.h5"
    keras.Model(x, y).save(file)
    graph = load(file, Request({"odd": (1, 6)}, inputs=("odd",)))
    assert [(i.name, i.shape) for i in graph.inputs] == [("odd", (1, 6))]
    with pytest.raises(ShadergenError) as caught:
        load(file, Request(inputs=("odd",)))
    assert caught.value.render().replace(str(file), "odd.h5") == (
        "error[SG0204]: the size of 'odd' is not known\n"
        "  --> odd.h5\n"
        "  = why: it depends on layers whose shapes cannot be computed: Lambda layer 'odd' has no "
        "definition\n"
        "  = help: give it with the batch, in the model's own order, for example --inputs "
        "odd=1x45x80x64"
    )
    with pytest.raises(ShadergenError) as caught:
        load(file, Request({"odd": (6, 1)}, inputs=("odd",)))
    assert caught.value.help.endswith(
        "--inputs gives 'odd' the shape 6x1; check that it lists all sizes in the model's order: "
        "batch first"
    )


def open_network(tmp_path: Path, data_format: str = "channels_last") -> Path:
    """Write a model that declares no height and width."""
    shape = (None, None, 3) if data_format == "channels_last" else (3, None, None)
    x = keras.Input(shape, name="picture")
    options = {"strides": 2, "padding": "same", "data_format": data_format}
    a = keras.layers.Conv2D(4, 3, name="first", **options)(x)
    y = keras.layers.Conv2D(2, 3, name="last", **options)(a)
    file = tmp_path / "open.keras"
    keras.Model(x, y).save(file)
    return file


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_a_height_and_a_width_do_where_the_rest_follows(tmp_path: Path, data_format: str) -> None:
    file = open_network(tmp_path, data_format)
    for size in ((6, 10), (1, 6, 10, 4) if data_format == "channels_last" else (1, 4, 6, 10)):
        graph = load(file, Request({"first": size}, inputs=("first",)))
        assert [(i.name, i.shape) for i in graph.inputs] == [("first", (1, 4, 6, 10))]
    with pytest.raises(ShadergenError) as caught:
        load(file, Request(inputs=("first",)))
    assert caught.value.help == (
        "give its height and width, for example --inputs first=45x80, or give --input-size"
    )


def test_sizes_in_another_order_than_the_models_are_blamed_on_the_option(tmp_path: Path) -> None:
    file = open_network(tmp_path)
    with pytest.raises(ShadergenError) as caught:
        load(file, Request({"first": (1, 4, 6, 10)}, inputs=("first",)))
    assert caught.value.help == (
        "--inputs gives 'first' the shape 1x4x6x10; check that it lists all sizes in the model's "
        "order: batch first, channels last"
    )


REFUSED = {
    "unknown": ((), ("summ",), "--outputs names 'summ', which is not a layer"),
    "several calls": ((), ("shared",), "names 'shared', but layer 'shared' is called 2 times"),
    "no such call": ((), ("shared:2",), "names 'shared:2', but layer 'shared' is called 2 times"),
    "no such result": ((), ("backbone:0:2",), "which is not the result of a layer"),
    "too many numbers": ((), ("sum:0:0",), "which is not the result of a layer"),
    "of no use": (("last",), ("sum",), "--inputs names 'last', which no output needs"),
    "twice": ((), ("sum", "sum:0"), "--outputs names the result 'sum' twice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_cut_is_refused_by_name(path: Path, case: str) -> None:
    inputs, outputs, expected = REFUSED[case]
    with pytest.raises(ShadergenError) as caught:
        load(path, Request(inputs=inputs, outputs=outputs))
    assert caught.value.code == "SG0301"
    assert expected in caught.value.what


def test_a_suggestion_is_made_for_a_near_name(path: Path) -> None:
    with pytest.raises(ShadergenError) as caught:
        load(path, Request(outputs=("summ",)))
    assert caught.value.help == "did you mean 'sum'?"
    assert caught.value.supported == "sum, last, shared, right, left and 4 more"


def test_cutting_nothing_away_changes_nothing(path: Path) -> None:
    whole, part = load(path, Request()), load(path, Request(outputs=("last",)))
    assert [o.value.shape for o in whole.outputs] == [o.value.shape for o in part.outputs]
    assert len(whole.nodes) == len(part.nodes)
    for a, b in zip(whole.constants, part.constants, strict=True):
        np.testing.assert_array_equal(a.data, b.data)
