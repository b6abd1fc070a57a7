"""User shaders on pictures of 16 bits, and those that compute or store in 16 bits."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support.picture_networks import anime4k, cunny, espcn, padded, residual, shuffled
from support.players import MPV, through_mpv
from support.user_shaders import (
    COMPUTE,
    NETWORKS,
    STORED,
    TOLERANCE_16,
    codes_apart,
    noise,
    reference,
    through_filter,
    written,
)

pytestmark = pytest.mark.gl
# Of 1, where products and sums are rounded, too. Players on OpenGL compute in 32 bits all the same.
TOLERANCE_FP16 = 1e-2


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("name", NETWORKS)
def test_ffmpeg_shows_it_in_16_bits(name, stage, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    frame = noise(29, 37, 1 if name == "espcn" else 3, np.uint16)
    got = through_filter(written(model, tmp_path, stage=stage), frame, scale)
    assert abs(got / 65535 - reference(model, frame / 65535)).max() <= TOLERANCE_16


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("name", NETWORKS)
def test_ffmpeg_computes_in_16_bits(name, stage, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    frame = noise(29, 37, 1 if name == "espcn" else 3, np.uint16)
    shader = written(model, tmp_path, stage=stage, precision="mediump")
    got = through_filter(shader, frame, scale)
    assert abs(got / 65535 - reference(model, frame / 65535)).max() <= TOLERANCE_FP16
    in_32_bits = through_filter(written(model, tmp_path, stage=stage), frame, scale)
    assert (got != in_32_bits).any()


@pytest.mark.parametrize(
    ("stage", "output"), [("fragment", o) for o in MPV] + [("compute", o) for o in COMPUTE]
)
@pytest.mark.parametrize("name", NETWORKS)
def test_mpv_plays_shaders_of_16_bits(name, stage, output, tmp_path):
    make, scale = NETWORKS[name]
    model = make()
    frame = noise(29, 37, 1 if name == "espcn" else 3)
    shader = written(model, tmp_path, stage=stage, precision="mediump")
    shown = through_mpv(shader, frame.squeeze(), output, (29 * scale, 37 * scale))
    wanted = reference(model, frame / 255)
    assert abs(shown[..., : wanted.shape[2]] / 255 - wanted).max() <= TOLERANCE_FP16 + 0.5 / 255


@pytest.mark.parametrize(
    ("make", "channels", "scale", "size", "strength"),
    [
        (espcn, 1, 2, (29, 37), 1),
        (cunny, 1, 2, (29, 37), 1),
        (padded, 1, 1, (1, 3), 1),
        (anime4k, 3, 2, (29, 37), 1),
        (partial(shuffled, 64, "CRD"), 3, 2, (9, 13), 1),  # stores the pixels of blocks
        (residual, 3, 1, (29, 37), 0.5),
    ],
)
def test_split_intermediates_lose_no_digits(make, channels, scale, size, strength, tmp_path):
    model = make()
    shader = written(model, tmp_path, intermediates="split", strength=strength)

    def wanted(picture: np.ndarray) -> np.ndarray:
        result = reference(model, picture)
        return result if strength == 1 else (result + picture) / 2

    frame = noise(*size, channels, np.uint16)
    got = through_filter(shader, frame, scale)
    assert abs(got / 65535 - wanted(frame / 65535)).max() <= STORED[channels]
    frame = noise(*size, channels)
    assert codes_apart(through_filter(shader, frame, scale), wanted(frame / 255)) <= 1


@pytest.mark.parametrize("output", COMPUTE)
def test_mpv_splits_intermediates(output, tmp_path):
    model = cunny()
    frame = noise(29, 37, 1)
    shader = written(model, tmp_path, intermediates="split")
    shown = through_mpv(shader, frame.squeeze(), output, (58, 74))
    assert codes_apart(shown[..., :1], reference(model, frame / 255)) <= 1
