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
    logical_shape,
    pack,
    to_host,
    to_logical,
    unpack,
)

CHANNELS = (1, 2, 3, 4, 5, 17)
FITTING = [
    (channels, name)
    for channels in CHANNELS
    for name, format in FORMATS.items()
    if format.components >= min(channels, 4)
]


def numbers(shape: tuple[int, ...], format: str = "r32f") -> np.ndarray:
    whole = np.random.default_rng(7).integers(0, 255, shape)
    return whole.astype(FORMATS[format].dtype)


@pytest.mark.parametrize(("channels", "format"), FITTING)
def test_packing_is_undone_by_unpacking(channels: int, format: str) -> None:
    tensor = numbers((2, channels, 3, 5), format)
    texels = pack(tensor, format)
    planes = -(-channels // 4)
    assert texels.shape == (2 * planes, 3, 5, FORMATS[format].components)
    assert texels.dtype == FORMATS[format].dtype
    assert texels.flags.c_contiguous
    np.testing.assert_array_equal(unpack(texels, 2, channels), tensor)


@pytest.mark.parametrize("channels", CHANNELS)
def test_a_channel_lies_in_the_stated_layer_and_lane(channels: int) -> None:
    tensor = numbers((2, channels, 3, 5))
    texels = pack(tensor, "rgba32f")
    planes = -(-channels // 4)
    for n in range(2):
        for c in range(channels):
            np.testing.assert_array_equal(texels[n * planes + c // 4, :, :, c % 4], tensor[n, c])


@pytest.mark.parametrize("channels", CHANNELS)
def test_lanes_without_a_channel_are_zero(channels: int) -> None:
    texels = pack(np.ones((1, channels, 2, 2), np.float32), "rgba32f")
    assert texels.sum() == channels * 4


@pytest.mark.parametrize(("channels", "format"), [(2, "r8"), (3, "rg16f"), (17, "rg32f")])
def test_more_channels_than_components_are_refused(channels: int, format: str) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        pack(np.zeros((1, channels, 1, 1)), format)


def test_texels_of_another_size_are_not_unpacked() -> None:
    with pytest.raises(ValueError, match="do not hold"):
        unpack(np.zeros((3, 2, 2, 4)), 1, 5)


@pytest.mark.parametrize("rank", range(5))
def test_axes_lead_from_the_logical_tensor_to_the_host_array_and_back(rank: int) -> None:
    logical = numbers((2, 3, 4, 5)[4 - rank :])
    for axes in permutations(range(rank)):
        host = logical.transpose(axes)
        padded = logical.reshape((1,) * (4 - rank) + logical.shape)
        assert logical_shape(host.shape, axes) == padded.shape
        np.testing.assert_array_equal(to_logical(host, axes), padded)
        np.testing.assert_array_equal(to_host(padded, host.shape, axes), host)


def test_an_image_of_bytes_is_stored_as_it_is() -> None:
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    texels = encode(image, (1, 2, 0), "unorm8", "rgba8")
    np.testing.assert_array_equal(texels[0, :, :, :3], image)


def test_an_image_of_floats_is_rounded_to_bytes() -> None:
    image = np.array([[0.0, 1.0, 0.5, 0.7 / 255, 0.4 / 255]])
    assert encode(image, (0, 1), "unorm8", "r8").ravel().tolist() == [0, 255, 128, 1, 0]


@pytest.mark.parametrize("value", [1.01, -0.01, np.nan, np.inf])
def test_image_floats_outside_0_to_1_are_refused(value: float) -> None:
    with pytest.raises(ShadergenError, match="outside 0 to 1") as caught:
        encode(np.array([[value]]), (0, 1), "unorm8", "r8")
    assert caught.value.code == "SG0605"


@pytest.mark.parametrize("dtype", [np.int32, np.bool_, np.int8])
def test_an_image_of_other_integers_is_refused(dtype: type) -> None:
    with pytest.raises(ShadergenError, match="cannot be given as"):
        encode(np.zeros((2, 2), dtype), (0, 1), "unorm8", "r8")


@pytest.mark.parametrize("dtype", [np.complex64, "U3", object])
def test_an_array_that_is_not_of_real_numbers_is_refused(dtype: object) -> None:
    with pytest.raises(ShadergenError, match="real numbers"):
        encode(np.zeros((2, 2), dtype), (0, 1), "float", "r32f")


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.uint8, np.bool_])
def test_a_tensor_of_any_real_type_is_stored_as_float(dtype: type) -> None:
    texels = encode(np.array([[0, 1]], dtype), (0, 1), "float", "r32f")
    assert texels.dtype == np.float32
    assert texels.ravel().tolist() == [0, 1]


def test_a_number_too_large_for_the_format_is_refused() -> None:
    with pytest.raises(ShadergenError, match="the array holds 70000") as caught:
        encode(np.array([[1.0, -70000.0]]), (0, 1), "float", "r16f")
    assert "65504" in caught.value.why or "65500" in caught.value.why


def test_infinity_is_stored_as_infinity() -> None:
    assert np.isinf(encode(np.array([[np.inf]]), (0, 1), "float", "r16f")).all()


def test_bytes_read_back_as_0_to_1() -> None:
    texels = np.array([0, 51, 255], np.uint8).reshape(1, 1, 3, 1)
    values = decode(texels, (1, 3), (0, 1), "unorm8")
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
    np.testing.assert_array_equal(decode(texels, (1, 3), (0, 1), encoding), values)
