"""Pictures on their way in and out: orientation, colour profiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from shadergen.compiler.pictures.picture import (
    Metadata,
    as_floats,
    enlarged,
    resize_note,
    resized_picture,
)
from shadergen.compiler.pictures.png import PngWriter
from shadergen.compiler.pictures.reading import read_picture
from shadergen.compiler.pictures.results import Range
from shadergen.compiler.pictures.writing import check_format, open_writer
from shadergen.errors import ShadergenError

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
    assert read_picture(tmp_path / f"a.{suffix}").colours.tolist() == upright.tolist()


def test_damaged_exif_leaves_a_picture_as_it_lies(tmp_path: Path) -> None:
    for number, exif in enumerate((b"Exif\0\0MM\0*\0\0", b"Exif\0\0garbage", b"Exif\0\0")):
        Image.fromarray(PIXELS).save(tmp_path / f"{number}.png", exif=exif)
        assert read_picture(tmp_path / f"{number}.png").colours.tolist() == PIXELS.tolist()


@pytest.mark.parametrize(("channels", "kept"), [(3, True), (1, False)])
def test_a_result_keeps_the_profile_that_is_of_its_colours(channels: int, kept: bool) -> None:
    assert Metadata(PROFILE).of_channels(channels).profile == (PROFILE if kept else b"")


def test_reading_keeps_the_profile(tmp_path: Path) -> None:
    Image.fromarray(PIXELS).save(tmp_path / "a.png", icc_profile=PROFILE)
    assert read_picture(tmp_path / "a.png").metadata == Metadata(PROFILE)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_tiff_files_of_16_bits_keep_them_and_the_metadata(tmp_path: Path, channels: int) -> None:
    pytest.importorskip("av")
    exif = Image.Exif()
    exif[0x010F] = "Camera"
    exif.get_ifd(0x8769)[0x9003] = "2026:01:02 03:04:05"
    profile = PROFILE if channels > 2 else b""
    metadata = Metadata(profile, exif.tobytes(), (300.0, 72.0))
    random = np.random.default_rng(channels)
    pixels = random.integers(0, 1 << 16, (23, 17, channels)).astype(np.uint16)
    path = tmp_path / "a.tif"
    with path.open("wb") as file:
        writer = open_writer(file, path, (23, 17), channels, 16, metadata)
        for first, last in ((0, 1), (1, 20), (20, 23)):
            writer.write(pixels[first:last])
        writer.close()
    found = read_picture(path)
    parts = [found.colours] if found.alpha is None else [found.colours, found.alpha]
    written = pixels[..., [0, 0, 0, 1]] if channels == 2 else pixels
    assert (np.concatenate(parts, axis=2) == written).all()
    assert (found.metadata.profile, found.metadata.dpi) == (profile, (300, 72))
    with Image.open(path) as image:
        kept = image.getexif()
        assert (kept[0x010F], kept.get_ifd(0x8769)[0x9003]) == ("Camera", "2026:01:02 03:04:05")


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_files_are_written_row_by_row(tmp_path: Path, channels: int, bits: int) -> None:
    random = np.random.default_rng(channels)
    kind = np.uint8 if bits == 8 else np.uint16
    pixels = random.integers(0, 2**bits, (23, 17, channels)).astype(kind)
    pixels[5:15] = 2 ** (bits - 1)  # of which the filters make little
    with (tmp_path / "a.png").open("wb") as file:
        writer = PngWriter(file, (23, 17), channels, bits, Metadata(dpi=(300, 72)))
        for first, last in ((0, 1), (1, 20), (20, 23)):
            writer.write(pixels[first:last])
        writer.close()
    found = read_picture(tmp_path / "a.png")
    assert found.bits == bits
    assert found.metadata.dpi == pytest.approx((300, 72), abs=0.1)
    parts = [found.colours] if found.alpha is None else [found.colours, found.alpha]
    assert (np.concatenate(parts, 2) == pixels).all()


def test_rows_of_an_enlarged_picture_are_those_of_the_whole() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (31, 20, 3)).astype(np.uint8)
    for size in ((93, 50), (17, 40)):
        whole = enlarged(pixels, (0, size[0]), size)
        bands = [enlarged(pixels, (k, min(k + 5, size[0])), size) for k in range(0, size[0], 5)]
        np.testing.assert_allclose(np.concatenate(bands), whole, atol=1e-5)


@pytest.mark.parametrize(("channels", "bits"), [(3, 16), (2, 16), (3, 8)])
def test_tiff_files_beyond_4_gib_are_refused_before_they_are_computed(
    channels: int, bits: int
) -> None:
    stored = 4 if channels == 2 else channels
    rows = (1 << 32) // (30_000 * stored * bits // 8)
    path = Path("a.tif")
    check_format(path, (rows - 100, 30_000), channels, bits)
    check_format(path.with_suffix(".png"), (rows, 30_000), channels, bits)
    with pytest.raises(ShadergenError, match="are more than a TIFF file holds") as caught:
        check_format(path, (rows, 30_000), channels, bits)
    assert caught.value.help == "name a .png file"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([[0.0, 1.0], [-0.1, 1.1]], ""),
        ([[0.5, 0.5, 0.5], [2.0]], ""),
        ([[0.5, 0.5], [2.0]], "33% of the values lie far outside 0..1 (0.5 to 2)"),
        ([[0.5], [-3.0]], "50% of the values lie far outside 0..1 (-3 to 0.5)"),
    ],
)
def test_values_that_no_picture_has_are_noted(parts: list[list[float]], says: str) -> None:
    watch = Range()
    for part in parts:
        watch.add(np.array(part, np.float32))
    assert watch.note().startswith(says)
    assert bool(watch.note()) == bool(says)


@pytest.mark.parametrize("size", [(24, 40), (5, 7)])
def test_a_resized_picture_stays_within_the_range_of_its_values(size: tuple[int, int]) -> None:
    """At edges of black and white, bicubic interpolation overshoots."""
    pixels = np.zeros((10, 14, 1), np.uint8)
    pixels[:, 7:] = 255
    found = resized_picture(as_floats(pixels), size)
    assert (found.min(), found.max()) == (0, 1)
    eight = Image.fromarray(pixels[..., 0]).resize(size[::-1], Image.Resampling.BICUBIC)
    assert np.abs(found[..., 0] * 255 - np.asarray(eight)).max() <= 1


@pytest.mark.parametrize(("size", "changes"), [((192, 192), False), ((193, 192), False),
                                               ((263, 387), True)])  # fmt: skip
def test_the_note_of_a_resized_picture_says_whether_the_aspect_ratio_changes(
    size: tuple[int, int], changes: bool
) -> None:
    assert ("bicubic, which changes its aspect ratio" in resize_note(size, (96, 96))) == changes
