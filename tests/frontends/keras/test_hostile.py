"""Keras files that are made to do harm, and damaged ones."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from copy import deepcopy

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.keras_reading import (
    FIXTURES,
    altered,
    conv,
    refusal,
)

from shadergen.compiler.frontends import Request, load
from shadergen.errors import ShadergenError
from shadergen.ir.graph import Constant
from shadergen.ir.ops import Conv


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
    error = refusal(path)
    assert error.code == "SG0103"
    assert error.what.endswith("is an external or virtual HDF5 dataset")


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
    assert refusal(path).why == "attribute 'keras_version' is not a list of strings"


def test_a_zip_bomb_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b" " * (40 << 20))
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
    with tarfile.open(FIXTURES / "keras2_cases.tar.xz") as archive:
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
