"""Keras files that would fill the memory: bombs of every form, and large honest files."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib

import h5py
import numpy as np
import pytest
from support.keras_archives import archive, dense, legacy, sequential
from support.keras_reading import refusal
from support.memory import within_bounds

MIB = 2**20


def ones(file):
    file["layers/dense/vars/0"] = np.ones((4, 3), "f4")


def test_what_no_layer_needs_takes_no_memory(tmp_path):
    """Noise and zeros of an optimiser, deflated: 17 MiB took 4.1 GiB."""

    def weights(file):
        ones(file)
        file["optimizer/vars/0"] = np.zeros(100 * MIB, "f4")
        file["optimizer/vars/1"] = np.random.default_rng(0).integers(0, 256, 17 * MIB, "u1")

    path = archive(tmp_path / "m.keras", weights)
    assert path.stat().st_size < 20 * MIB
    assert within_bounds(path) == ""


def test_what_would_unpack_to_far_more_is_refused(tmp_path):
    path = archive(tmp_path / "m.keras", lambda f: f.create_dataset("x", data=np.zeros(30 * MIB)))
    error = refusal(path)
    assert error.code == "SG0103"
    assert "claims to unpack to" in error.what


def test_weights_are_read_from_where_they_lie(tmp_path):
    units = 12 * MIB
    kernel = np.random.default_rng(0).integers(0, 99, (4, units)).astype("f4")
    path = tmp_path / "m.keras"
    archive(path, lambda f: f.create_dataset("layers/dense/vars/0", data=kernel), units, 0)
    assert within_bounds(path) == ""


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_any_place_of_a_member_is_read_as_it_was_written(tmp_path, compression):
    """More than one state of the inflater is needed: 4 MiB lie between two."""
    from shadergen.compiler.frontends.keras.read.zip_members import Member

    rng = np.random.default_rng(1)
    data = (rng.integers(0, 9, 11 * MIB) ** 2).astype("u1").tobytes()
    with zipfile.ZipFile(tmp_path / "a.zip", "w", compression) as made:
        made.writestr("x", data)
    with (tmp_path / "a.zip").open("rb") as raw, zipfile.ZipFile(raw) as made:
        member = io.BufferedReader(Member(raw, made.getinfo("x"), lambda piece: None))
        for place in [0, len(data) - 5, *rng.integers(0, len(data), 40)]:
            member.seek(int(place))
            size = int(rng.integers(0, 6 * MIB))
            assert member.read(size) == data[place : place + size]


def test_a_damaged_member_is_refused_wherever_the_damage_is(tmp_path):
    path = archive(tmp_path / "m.keras", ones, compression=zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[data.index(struct.pack("<4f", 1, 1, 1, 1)) + 2] ^= 1
    path.write_bytes(data)
    error = refusal(path)
    assert error.code == "SG0103"
    assert error.why == "its size or its checksum is wrong"


def test_a_list_of_many_members_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as made:
        made.writestr("config.json", "{}")
        for k in range(25_000):
            made.writestr(zipfile.ZipInfo(str(k)), b"")
    assert "its list of members takes" in refusal(tmp_path / "m.keras").why


@pytest.mark.parametrize(
    "part", ['{"a":{}},', "[],", '"ab",', "1.5,", '[{"a":"\\u00e9\\u4e2d"}],', '"中",']
)
def test_a_large_configuration_is_refused_before_it_fills_the_memory(tmp_path, part):
    with zipfile.ZipFile(tmp_path / "m.keras", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("config.json", f'{{"a": [{part * (28 * MIB // len(part.encode()))} 0]}}')
    assert "the model's configuration is too large" in within_bounds(tmp_path / "m.keras")


def filled(group, name):
    group.create_dataset(name, (4, 64 * MIB), "f4", chunks=(1, MIB))


def partly_filled(group, name):
    data = group.create_dataset(name, (4, 64 * MIB), "f4", chunks=(1, MIB))
    data[0, :MIB] = np.random.default_rng(0).random(MIB)


def virtual(group, name):
    source = group.create_dataset("source", data=np.ones(1024, "f4"))
    layout = h5py.VirtualLayout((4, 64 * MIB), "f4")
    layout[0, :1024] = h5py.VirtualSource(".", source.name, (1024,))
    group.create_virtual_dataset(name, layout)


def deflated(group, name):
    shape = (4, 64 * MIB)
    data = group.create_dataset(name, shape, "f4", chunks=(1, MIB), compression="gzip")
    chunk = zlib.compress(bytes(4 * MIB))
    for row in range(4):
        for column in range(0, shape[1], MIB):
            data.id.write_direct_chunk((row, column), chunk)


@pytest.mark.parametrize("kernel", [filled, partly_filled, virtual, deflated])
def test_weights_that_are_not_in_the_file_are_refused(tmp_path, kernel):
    outcome = within_bounds(legacy(tmp_path / "m.h5", kernel, 64 * MIB))
    assert "error[SG0103]" in outcome
    assert ("virtual HDF5 dataset" if kernel is virtual else "bytes") in outcome


def inflating(group, name):
    """A chunk of 48 bytes that inflates to 512 MiB."""
    data = group.create_dataset(name, (4, 3), "f4", chunks=(4, 3), compression="gzip")
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(64 * MIB)) for _ in range(8)) + packer.flush()
    data.id.write_direct_chunk((0, 0), packed)


def inflating_twice(group, name):
    """A chunk of as many bytes as it may have, which two filters make 512 MiB of."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4, 1024))
    plist.set_deflate(9)
    plist.set_deflate(9)
    space = h5py.h5s.create_simple((4, 1024))
    made = h5py.h5d.create(group.id, name.encode(), h5py.h5t.IEEE_F32LE, space, plist)
    packer = zlib.compressobj(9)
    once = b"".join(packer.compress(bytes(64 * MIB)) for _ in range(8)) + packer.flush()
    made.write_direct_chunk((0, 0), zlib.compress(once, 9))


def expanding(group, name):
    """A chunk of 4 MiB, as it may have, that LZF would make 352 MiB of."""
    shape = (4, MIB // 4)
    data = group.create_dataset(name, shape, "f4", chunks=shape, compression="lzf")
    data.id.write_direct_chunk((0, 0), b"\0\0" + b"\xe0\xff\0" * (4 * MIB // 3))


def in_a_vast_chunk(group, name):
    shape, chunks = (4, 3), (4, 64 * MIB)
    data = group.create_dataset(
        name, shape, "f4", chunks=chunks, maxshape=(None, None), compression=1
    )
    data[...] = 1


@pytest.mark.parametrize(
    ("kernel", "units"),
    [(inflating, 3), (inflating_twice, 1024), (expanding, MIB // 4), (in_a_vast_chunk, 3)],
)
def test_a_chunk_that_unpacks_to_more_than_its_elements_is_refused(tmp_path, kernel, units):
    outcome = within_bounds(legacy(tmp_path / "m.h5", kernel, units))
    assert "chunk" in outcome
    assert "error[SG0103]" in outcome


def test_layers_that_share_their_bytes_are_refused_beyond_32_times_the_file(tmp_path):
    count, units = 200, 1024
    config = sequential(dense("d", units), *(dense(f"d{k}", units) for k in range(count)))
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["model_config"] = json.dumps(config)
        kernel = file.create_dataset("w", data=np.ones((units, units), "f4"))
        for name, size in (("d", 4), *((f"d{k}", units) for k in range(count))):
            group = file.create_group(f"model_weights/{name}")
            group.attrs["weight_names"] = [b"k"]
            group["k"] = kernel if size == units else np.ones((4, units), "f4")
    error = refusal(tmp_path / "m.h5")
    assert error.code == "SG0103"
    assert error.what.startswith("the weights unpack to more than")


def test_names_that_share_one_long_text_are_refused(tmp_path):
    """4,000 names of 10 MB are 64 KB and one text in the file."""
    path = legacy(tmp_path / "m.h5", lambda group, name: group.create_dataset(name, data=[1.0]))
    with h5py.File(path, "r+") as file:
        group = file["model_weights/dense"]
        names = np.array(["x"] * 3000, object)
        group.attrs.create("weight_names", names, dtype=h5py.string_dtype())
        group.attrs.create("long", "y" * (10 * MIB), dtype=h5py.string_dtype())
    assert "attribute 'weight_names' is too long" in within_bounds(path)


def test_a_configuration_of_hundreds_of_megabytes_is_not_read(tmp_path):
    path = legacy(tmp_path / "m.h5", lambda group, name: group.create_dataset(name, data=[1.0]))
    with h5py.File(path, "r+") as file:
        del file.attrs["model_config"]
        file.attrs.create("model_config", " " * (300 * MIB), dtype=h5py.string_dtype())
    assert f"a string in the file is too long: {300 * MIB} bytes" in within_bounds(path)


def test_heaps_within_heaps_are_not_searched_for_ever(tmp_path):
    path = legacy(tmp_path / "m.h5", lambda group, name: group.create_dataset(name, data=[1.0]))
    chain = (b"GCOL\x01\0\0\0" + struct.pack("<Q", MIB)) * 100_000
    objects = struct.pack("<HHIQ", 1, 0, 0, 0) * 100_000
    path.write_bytes(path.read_bytes() + chain + objects)
    assert refusal(path).code == "SG0103"
