"""Keras files that would fill the memory: bombs of every form, and large honest files."""

from __future__ import annotations

import io
import json
import struct
import time
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
from keras_reading import assert_close, refusal, run
from memory import within_bounds

FIXTURES = Path(__file__).parent / "fixtures" / "keras"
MIB = 2**20
INPUT = {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [1, 4]}}


def dense(name, units):
    config = {"name": name, "units": units, "use_bias": False, "trainable": True}
    return {"class_name": "Dense", "config": {**config, "activation": "linear"}}


def sequential(*layers):
    return {"class_name": "Sequential", "config": {"name": "s", "layers": [INPUT, *layers]}}


def archive(path, weights, units=3, compression=zipfile.ZIP_DEFLATED):
    """Write a .keras archive whose HDF5 file has what ``weights`` puts into it."""
    source = path.with_suffix(".h5")
    with h5py.File(source, "w") as file:
        weights(file)
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as made:
        made.writestr("config.json", json.dumps(sequential(dense("dense", units))))
        made.writestr("metadata.json", '{"keras_version": "3.3.0"}')
        made.write(source, "model.weights.h5")
    return path


def legacy(path, kernel, units=3):
    """Write an .h5 file whose only weight is what ``kernel`` makes of a group and a name."""
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["model_config"] = json.dumps(sequential(dense("dense", units)))
        group = file.create_group("model_weights/dense")
        group.attrs["weight_names"] = [b"kernel"]
        kernel(group, "kernel")
    return path


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
    from shadergen.compiler.frontends.keras.members import Member

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
    assert "bytes" in outcome
    assert "error[SG0103]" in outcome


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
    assert f"a text in the file takes {300 * MIB} bytes" in within_bounds(path)


def test_heaps_within_heaps_are_not_searched_for_ever(tmp_path):
    path = legacy(tmp_path / "m.h5", lambda group, name: group.create_dataset(name, data=[1.0]))
    chain = (b"GCOL\x01\0\0\0" + struct.pack("<Q", MIB)) * 100_000
    objects = struct.pack("<HHIQ", 1, 0, 0, 0) * 100_000
    path.write_bytes(path.read_bytes() + chain + objects)
    assert refusal(path).code == "SG0103"


GZIP, LZF = {"compression": "gzip"}, {"compression": "lzf"}
SHUFFLE, SUMS = {"shuffle": True}, {"fletcher32": True}
FILTERS = {
    "none": {},
    "gzip": GZIP,
    "shuffle, gzip": SHUFFLE | GZIP,
    "shuffle, gzip, fletcher32": SHUFFLE | GZIP | SUMS,
    "lzf": LZF,
    "shuffle, lzf": SHUFFLE | LZF,
    "lzf, fletcher32": LZF | SUMS,
    "fletcher32": SUMS,
}


@pytest.mark.parametrize("options", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<f2", ">f4"])
def test_weights_in_chunks_are_read(tmp_path, dtype, options):
    """Chunks that do not fill their data set evenly, noise and what compresses, by all filters."""
    rng = np.random.default_rng(2)
    values = rng.uniform(-1, 1, (4, 37)).astype(dtype)
    values[:2] = values[0, 0]
    path = legacy(
        tmp_path / "m.h5",
        lambda group, name: group.create_dataset(name, data=values, chunks=(3, 8), **options),
        37,
    )
    x = rng.uniform(-1, 1, (1, 4)).astype("f4")
    assert_close(run(path, [x]), [x @ values.astype("f4")])


@pytest.mark.parametrize("options", [SHUFFLE | LZF | SUMS, SHUFFLE | GZIP | SUMS], ids=str)
def test_large_chunks_are_read_as_they_were_written(tmp_path, options):
    """Long and short copies, of near and far; words whose sums go round."""
    from shadergen.compiler.frontends.keras.chunks import check_chunks, filters_of, read_filtered

    rng = np.random.default_rng(3)
    kinds = [
        np.zeros(5000),
        rng.integers(0, 3, 50_000) / 4,
        rng.normal(size=50_000),
        np.tile(rng.normal(size=700), 40),
        np.full(9000, -np.finfo("f4").max),
    ]
    values = np.concatenate(kinds).astype("f4")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        data = file.create_dataset("x", data=values, chunks=values.shape, **options)
        assert data.id.get_chunk_info(0).filter_mask == 0
        assert data.id.get_chunk_info(0).size < 0.9 * values.nbytes
        read = read_filtered(data, filters_of(data), check_chunks(data))
        np.testing.assert_array_equal(read, values)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 2**16 - 1, 2**16 + 1])
def test_checksums_of_any_number_of_bytes_are_those_of_hdf5(tmp_path, size):
    from shadergen.compiler.frontends.keras.filters import FLETCHER32, decode_chunk

    for values in (np.random.default_rng(size).integers(0, 256, size), np.full(size, 255)):
        with h5py.File(tmp_path / "m.h5", "w") as file:
            data = file.create_dataset("x", data=values.astype("u1"), chunks=(size,), **SUMS)
            packed = data.id.read_direct_chunk((0,))[1]
        for swapped in (False, True):
            stored = packed[-4:]
            old = bytes(stored[k] for k in (1, 0, 3, 2)) if swapped else stored
            read = decode_chunk(packed[:-4] + old, [(FLETCHER32, ())], 0, size)
            assert bytes(read) == bytes(values.tolist())


def test_a_chunk_whose_checksum_is_wrong_is_refused(tmp_path):
    values = np.full((4, 3), 1.25, "f4")
    path = legacy(
        tmp_path / "m.h5", lambda group, name: group.create_dataset(name, data=values, **SUMS)
    )
    data = bytearray(path.read_bytes())
    data[data.index(values.tobytes()) + 2] ^= 1
    path.write_bytes(data)
    error = refusal(path)
    assert error.code == "SG0103"
    assert error.why == "a chunk's checksum is wrong"


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"\x20\x00", "a chunk copies what is before its beginning"),
        (b"\x00\x01\xe0", "a chunk ends within a copy"),
        (b"\x07\x01", "a chunk has 1 bytes, not 48"),
        (b"\xff", "a chunk ends within a copy"),
    ],
)
def test_a_damaged_chunk_of_lzf_is_refused(tmp_path, packed, why):
    def kernel(group, name):
        data = group.create_dataset(name, (4, 3), "f4", chunks=(4, 3), compression="lzf")
        data.id.write_direct_chunk((0, 0), packed)

    error = refusal(legacy(tmp_path / "m.h5", kernel))
    assert error.code == "SG0103"
    assert error.why == why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda packed: packed[:-9], "a chunk's gzip data ends early"),
        (lambda packed: packed[:-4] + b"abcd", "a chunk's gzip data is damaged"),
        (lambda packed: b"no gzip", "a chunk's gzip data is damaged"),
    ],
)
def test_a_damaged_chunk_of_gzip_is_refused(tmp_path, change, why):
    def kernel(group, name):
        data = group.create_dataset(name, (4, 3), "f4", chunks=(4, 3), compression="gzip")
        data.id.write_direct_chunk((0, 0), change(zlib.compress(np.ones((4, 3), "f4"))))

    error = refusal(legacy(tmp_path / "m.h5", kernel))
    assert error.code == "SG0103"
    assert error.why == why


def test_the_shuffle_filter_gives_the_size_of_an_element():
    from shadergen.compiler.frontends.keras.filters import DEFLATE, SHUFFLE, decode_chunk

    assert decode_chunk(b"acebdf", [(SHUFFLE, (2,))], 0, 6) == b"abcdef"
    packed = zlib.compress(b"acebdfg")
    assert decode_chunk(packed, [(SHUFFLE, (2,)), (DEFLATE, (4,))], 0, 7) == b"abcdefg"
    assert decode_chunk(b"abcdef", [(SHUFFLE, (2**32 - 1,))], 0, 6) == b"abcdef"
    for parameters in [(), (0,)]:
        with pytest.raises(ValueError, match="does not give the size of an element"):
            decode_chunk(b"abcdef", [(SHUFFLE, parameters)], 0, 6)


@pytest.mark.parametrize("filters", ["s", "ss", "sd", "d", "l", "sl", "f"])
@pytest.mark.parametrize("borders", ["filtered", "unfiltered"])
def test_chunks_at_the_border_are_read_filtered_or_not(borders, filters):
    """Files of HDF5 1.10 may leave those unfiltered, without a mark at the chunk.

    The data sets are named by their filters: (s)huffle, (d)eflate, (l)zf, (f)letcher32.
    """
    from shadergen.compiler.frontends.keras.weights import Room, Weight

    path = FIXTURES / "border_chunks.h5"
    with h5py.File(path) as file:
        data = file[borders][filters]
        read = Weight(filters, data, Room(path.stat().st_size)).read("")
        np.testing.assert_array_equal(read, np.arange(91, dtype="f4").reshape(13, 7) / 7)


def test_many_chunks_are_read_in_linear_time(tmp_path):
    """40,000 chunks took 27 s, one search through all for each."""
    from shadergen.compiler.frontends.keras.weights import Room, Weight

    values = np.arange(40_000, dtype="f4")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        data = file.create_dataset("x", data=values, chunks=(1,), shuffle=True)
        began = time.process_time()
        read = Weight("x", data, Room(MIB)).read("")
        assert time.process_time() - began < 10
        np.testing.assert_array_equal(read, values)


def test_another_filter_is_refused_by_name(tmp_path):
    values = np.ones((4, 3), "f4")
    path = legacy(
        tmp_path / "m.h5",
        lambda group, name: group.create_dataset(name, data=values, scaleoffset=3),
    )
    error = refusal(path)
    assert error.code == "SG0206"
    assert (
        error.what == "weight 'kernel' is stored with filter scaleoffset, which is not implemented"
    )
    assert error.supported == "deflate (gzip), lzf, shuffle, fletcher32"
