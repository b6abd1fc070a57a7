"""Tensors as texels, without GL."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python.pixels import (
    FORMATS,
    decode,
    encode,
    host_array,
    logical_shape,
    pack,
    to_logical,
    unpack,
)
from shadergen.runtime_glue.python.schedule import Port, Texture

CHANNELS = (1, 2, 3, 4, 5, 17)
FITTING = [
    (channels, name)
    for channels in CHANNELS
    for name, format in FORMATS.items()
    if format.components >= min(channels, 4)
]


def texture(
    format: str, batch: int, channels: int, width: int, height: int, packing: str = "planes"
) -> Texture:
    layers = batch * -(-channels // 4) if packing == "planes" else 1
    place = (width, height, layers, packing, channels, batch)
    return Texture("x", "array", format, *place, None, 0, 0, None)


def row(host: np.ndarray, encoding: str, format: str, dtype: str = "float32") -> np.ndarray:
    """Encode a one-channel image given as a matrix."""
    port = Port("x", "x", host.shape, (0, 1), encoding, dtype)
    return encode(host_array(host, port), port, texture(format, 1, 1, host.shape[1], host.shape[0]))


def numbers(shape: tuple[int, ...], format: str = "r32f") -> np.ndarray:
    whole = np.random.default_rng(7).integers(0, 255, shape)
    return whole.astype(FORMATS[format].dtype)


@pytest.mark.parametrize(("channels", "format"), FITTING)
def test_packing_is_undone_by_unpacking(channels: int, format: str) -> None:
    tensor = numbers((2, channels, 3, 5), format)
    place = texture(format, 2, channels, 5, 3)
    texels = pack(tensor, place)
    planes = -(-channels // 4)
    assert texels.shape == (2 * planes, 3, 5, FORMATS[format].components)
    assert texels.dtype == FORMATS[format].dtype
    assert texels.flags.c_contiguous
    np.testing.assert_array_equal(unpack(texels, place), tensor)


@pytest.mark.parametrize("channels", CHANNELS)
def test_a_channel_lies_in_the_stated_layer_and_lane(channels: int) -> None:
    tensor = numbers((2, channels, 3, 5))
    texels = pack(tensor, texture("rgba32f", 2, channels, 5, 3))
    planes = -(-channels // 4)
    for n in range(2):
        for c in range(channels):
            np.testing.assert_array_equal(texels[n * planes + c // 4, :, :, c % 4], tensor[n, c])


@pytest.mark.parametrize("channels", CHANNELS)
def test_lanes_without_a_channel_are_zero(channels: int) -> None:
    texels = pack(np.ones((1, channels, 2, 2), np.float32), texture("rgba32f", 1, channels, 2, 2))
    assert texels.sum() == channels * 4


@pytest.mark.parametrize(("channels", "format"), [(2, "r8"), (3, "rg16f"), (17, "rg32f")])
def test_more_channels_than_components_are_refused(channels: int, format: str) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        pack(np.zeros((1, channels, 1, 1)), texture(format, 1, channels, 1, 1))


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize(("width", "height", "layers"), [(5, 3, 1), (2, 4, 2), (15, 1, 3)])
def test_rows_fill_the_texels_in_order(channels: int, width: int, height: int, layers: int) -> None:
    planes = -(-channels // 4)
    rows = width * height * layers // planes
    place = Texture(
        "x", "array", "rgba32f", width, height, layers, "rows", channels, rows, None, 0, 0, None
    )
    tensor = numbers((rows, channels))
    texels = pack(tensor, place)
    assert texels.shape == (layers, height, width, 4)
    flat = texels.reshape(-1, 4)
    for r in range(rows):
        for c in range(channels):
            assert flat[r * planes + c // 4, c % 4] == tensor[r, c]
    np.testing.assert_array_equal(unpack(texels, place), tensor)


@pytest.mark.parametrize("rank", range(6))
def test_axes_lead_from_the_logical_tensor_to_the_host_array_and_back(rank: int) -> None:
    logical = numbers((2, 3, 4, 5, 2)[5 - rank :])
    for axes in permutations(range(rank)):
        host = logical.transpose(axes)
        assert logical_shape(host.shape, axes) == logical.shape
        np.testing.assert_array_equal(to_logical(host, axes), logical)


@pytest.mark.parametrize("rank", range(6))
def test_an_array_of_any_rank_and_order_survives_the_texels(rank: int) -> None:
    shape = (2, 3, 4, 5, 2)[5 - rank :]
    for axes in permutations(range(rank)):
        host = numbers(shape)
        logical = logical_shape(shape, axes)
        channels = (logical or (1,))[-1]
        port = Port("x", "x", shape, axes, "float", "int64")
        place = texture("rgba32f", host.size // channels, channels, 64, 4, "rows")
        back = decode(encode(host, port, place), port, place)
        assert back.dtype == np.int64
        np.testing.assert_array_equal(back, host)


def test_an_image_of_bytes_is_stored_as_it_is() -> None:
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    port = Port("x", "x", image.shape, (1, 2, 0), "unorm8", "float32")
    texels = encode(image, port, texture("rgba8", 1, 3, 4, 2))
    np.testing.assert_array_equal(texels[0, :, :, :3], image)


def test_an_image_of_floats_is_rounded_to_bytes() -> None:
    image = np.array([[0.0, 1.0, 0.5, 0.7 / 255, 0.4 / 255]])
    assert row(image, "unorm8", "r8").ravel().tolist() == [0, 255, 128, 1, 0]


@pytest.mark.parametrize("value", [1.01, -0.01, np.nan, np.inf])
def test_image_floats_outside_0_to_1_are_refused(value: float) -> None:
    with pytest.raises(ShadergenError, match="outside 0 to 1") as caught:
        row(np.array([[value]]), "unorm8", "r8")
    assert caught.value.code == "SG0605"


@pytest.mark.parametrize("dtype", [np.int32, np.bool_, np.int8])
def test_an_image_of_other_integers_is_refused(dtype: type) -> None:
    with pytest.raises(ShadergenError, match="cannot be given as"):
        row(np.zeros((2, 2), dtype), "unorm8", "r8")


@pytest.mark.parametrize("dtype", [np.complex64, "U3", object])
def test_an_array_that_is_not_of_real_numbers_is_refused(dtype: object) -> None:
    with pytest.raises(ShadergenError, match="real numbers"):
        row(np.zeros((2, 2), dtype), "float", "r32f")


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.uint8, np.bool_])
def test_a_tensor_of_any_real_type_is_stored_as_float(dtype: type) -> None:
    texels = row(np.array([[0, 1]], dtype), "float", "r32f")
    assert texels.dtype == np.float32
    assert texels.ravel().tolist() == [0, 1]


def test_a_number_too_large_for_the_format_is_refused() -> None:
    with pytest.raises(ShadergenError, match="the array holds 70000") as caught:
        row(np.array([[1.0, -70000.0]]), "float", "r16f")
    assert "65504" in caught.value.why or "65500" in caught.value.why


def test_infinity_is_stored_as_infinity() -> None:
    assert np.isinf(row(np.array([[np.inf]]), "float", "r16f")).all()


def test_bytes_read_back_as_0_to_1() -> None:
    texels = np.array([0, 51, 255], np.uint8).reshape(1, 1, 3, 1)
    port = Port("x", "x", (1, 3), (0, 1), "unorm8", "float32")
    values = decode(texels, port, texture("r8", 1, 1, 3, 1))
    np.testing.assert_allclose(values, [[0, 0.2, 1]], rtol=1e-6)


@pytest.mark.parametrize(("encoding", "sign"), [("y2rg", 1), ("y2rg_half", -1)])
@pytest.mark.parametrize("components", [2, 4])
def test_a_signed_value_is_put_together_from_two_channels(
    encoding: str, sign: int, components: int
) -> None:
    values = np.array([[-1.5, 0.0, 2.25]], np.float32)
    texels = np.zeros((1, 1, 3, components), np.float32)
    texels[0, :, :, 0] = np.maximum(values, 0)
    texels[0, :, :, 1] = sign * np.minimum(values, 0)
    port = Port("x", "x", (1, 3), (0, 1), encoding, "float32")
    place = texture({2: "rg32f", 4: "rgba32f"}[components], 1, components, 3, 1)
    np.testing.assert_array_equal(decode(texels, port, place), values)


@pytest.mark.parametrize(
    ("values", "dtype", "why"),
    [
        ([0.5], "int32", "fractions"),
        ([2], "bool", "other values than 0 and 1"),
        ([1 << 25], "int64", "16777216"),
    ],
)
def test_what_integers_cannot_hold_exactly_is_refused(values, dtype, why) -> None:
    with pytest.raises(ShadergenError, match=why) as caught:
        row(np.array([values]), "float", "r32f", dtype)
    assert caught.value.code == "SG0605"
