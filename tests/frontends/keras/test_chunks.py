"""Weights of Keras files stored in filtered HDF5 chunks."""

from __future__ import annotations

import time
import zlib

import h5py
import numpy as np
import pytest
from support.keras_archives import legacy
from support.keras_reading import FIXTURES, assert_close, refusal, run

MIB = 2**20
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
    from shadergen.compiler.frontends.keras.read.hdf5_chunks import (
        check_chunks,
        filters_of,
        read_filtered,
    )

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
    from shadergen.compiler.frontends.keras.read.hdf5_filters import FLETCHER32, decode_chunk

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
        (b"\x20\x00", "an LZF chunk refers to bytes before its start"),
        (b"\x00\x01\xe0", "an LZF chunk is truncated"),
        (b"\x07\x01", "a chunk has 1 bytes, not 48"),
        (b"\xff", "an LZF chunk is truncated"),
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
    from shadergen.compiler.frontends.keras.read.hdf5_filters import DEFLATE, SHUFFLE, decode_chunk

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
    from shadergen.compiler.frontends.keras.read.weights import Room, Weight

    path = FIXTURES / "border_chunks.h5"
    with h5py.File(path) as file:
        data = file[borders][filters]
        read = Weight(filters, data, Room(path.stat().st_size)).read("")
        np.testing.assert_array_equal(read, np.arange(91, dtype="f4").reshape(13, 7) / 7)


def test_many_chunks_are_read_in_linear_time(tmp_path):
    """40,000 chunks took 27 s, one search through all for each."""
    from shadergen.compiler.frontends.keras.read.weights import Room, Weight

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
        error.what
        == "weight 'kernel' is stored with the HDF5 filter scaleoffset, which is not implemented"
    )
    assert error.supported == "deflate (gzip), lzf, shuffle, fletcher32"
