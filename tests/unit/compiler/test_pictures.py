"""Pictures on their way in and out: orientation, colour profiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from shadergen.compiler.pictures import read_picture, to_picture

ORIENTATION = 0x0112
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 10


@pytest.mark.parametrize("suffix", ["png", "tiff", "webp"])
@pytest.mark.parametrize(
    ("orientation", "upright"),
    [(1, PIXELS), (3, PIXELS[::-1, ::-1]), (6, np.rot90(PIXELS, -1)), (8, np.rot90(PIXELS))],
)
def test_pictures_are_turned_as_their_exif_orientation_says(
    tmp_path: Path, suffix: str, orientation: int, upright: np.ndarray
) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    lossless = {"lossless": True} if suffix == "webp" else {}
    Image.fromarray(PIXELS).save(tmp_path / f"a.{suffix}", exif=exif, **lossless)
    assert np.asarray(read_picture(tmp_path / f"a.{suffix}")).tolist() == upright.tolist()


def test_damaged_exif_leaves_a_picture_as_it_lies(tmp_path: Path) -> None:
    for number, exif in enumerate((b"Exif\0\0MM\0*\0\0", b"Exif\0\0garbage", b"Exif\0\0")):
        Image.fromarray(PIXELS).save(tmp_path / f"{number}.png", exif=exif)
        assert np.asarray(read_picture(tmp_path / f"{number}.png")).tolist() == PIXELS.tolist()


def written(profile: bytes, channels: int, mode: str) -> bytes | None:
    source = Image.new(mode, (3, 2))
    source.info["icc_profile"] = profile
    result = to_picture(np.zeros((1, channels, 2, 3)), (0, 1, 2, 3), "y", source)
    return result.info.get("icc_profile")


@pytest.mark.parametrize(
    ("channels", "mode", "kept"), [(1, "RGB", True), (3, "RGB", True), (4, "RGBA", True),
                                   (1, "L", False)],
)  # fmt: skip
def test_a_result_keeps_the_profile_that_is_of_its_colours(
    channels: int, mode: str, kept: bool
) -> None:
    assert written(PROFILE, channels, mode) == (PROFILE if kept else None)


def test_reading_keeps_the_profile(tmp_path: Path) -> None:
    Image.fromarray(PIXELS).save(tmp_path / "a.png", icc_profile=PROFILE)
    assert read_picture(tmp_path / "a.png").info == {"icc_profile": PROFILE}
