"""Pictures as network inputs and outputs, for ``shadergen run``.

A 1-channel network takes the luma (ITU-R BT.601, full range) of a colour picture; its result gets
the picture's chroma back, resized bicubically. Rows run from the top, as in the textures.
A picture is turned as its EXIF orientation says; its ICC profile goes on into the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError, reason
from . import extras

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")
MODES = {1: "L", 3: "RGB", 4: "RGBA"}
PROFILE = "icc_profile"  # in a PIL image's info
SPACES = {b"GRAY": "L", b"RGB ": "RGB"}  # of ICC profiles, and the mode of pictures in each
LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def read_picture(path: Path) -> Any:
    """Open a picture, upright, as a PIL image in mode L, RGB or RGBA.

    Raises:
        ShadergenError: SG0101 when it cannot be read as a picture, SG0605 when its values have
            no known range.
    """
    pillow = extras.pillow()
    try:
        with pillow.open(path) as stored:
            return normalised(stored, f"'{path}'")
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        raise ShadergenError(
            "SG0101", f"cannot read '{path}' as a picture", why=reason(error)
        ) from None


def normalised(stored: Any, what: str) -> Any:
    """Return a PIL image upright and in mode L, RGB or RGBA, with its ICC profile.

    Args:
        stored: the image, as opened.
        what: the image, for the message.

    Raises:
        ShadergenError: SG0605 when its values have no known range.
    """
    image, profile = _upright(stored), stored.info.get(PROFILE)
    if image.mode.startswith("I;16"):  # Pillow would clip, not scale
        deep = np.asarray(image).astype(np.float64)
        image = extras.pillow().fromarray(np.round(deep / 257).astype(np.uint8), "L")
    if image.mode in ("I", "F"):
        raise ShadergenError(
            "SG0605",
            f"{what} has 32-bit pixels of unknown range",
            supported="pictures of 8 or 16 bits; other data in .npz or .npy",
        )
    gray = image.mode in ("1", "L")
    alpha = image.mode in ("RGBA", "LA", "PA")
    picture = image.convert("L" if gray else "RGBA" if alpha else "RGB")
    picture.info = {} if profile is None else {PROFILE: profile}
    return picture


def _upright(image: Any) -> Any:
    """Turn a picture as its EXIF orientation says; leave it where that cannot be read."""
    try:
        return extras.pillow_operations().exif_transpose(image)
    except Exception:  # Pillow raises whatever parsing damaged EXIF comes to
        image.load()
        return image


def to_array(
    image: Any, shape: tuple[int, ...], axes: tuple[int, ...], name: str
) -> NDArray[np.float32]:
    """Return a picture as floats in 0..1 in the model's own shape.

    Args:
        image: as from :func:`read_picture`.
        shape: of the input, in the model's order.
        axes: the port's permutation, host = logical.transpose(axes).
        name: the input's name.

    Raises:
        ShadergenError: SG0605 when the input is no image or has another size.
    """
    n, channels, height, width = _logical(shape, axes, name)
    if n != 1 or channels not in MODES:
        raise ShadergenError(
            "SG0605",
            f"input '{name}' of shape {shape} is not a picture",
            supported="one picture with 1, 3 or 4 channels; otherwise give an .npz",
        )
    if image.size != (width, height):
        raise ShadergenError(
            "SG0605",
            f"the picture is {image.size[1]}x{image.size[0]}, the build takes {height}x{width}",
            help=f"compile with --input-size {image.size[1]}x{image.size[0]}, if the model allows",
        )
    pixels: NDArray[np.float32]
    if channels == 1:
        pixels = luma(image)[..., np.newaxis]
    else:
        pixels = _floats(image.convert(MODES[channels]))
    host: NDArray[np.float32] = pixels[np.newaxis].transpose(0, 3, 1, 2).transpose(axes)
    return host


def sized(shape: tuple[int, ...], axes: tuple[int, ...], image: Any) -> tuple[int, ...]:
    """Return the shape of an input, in the model's order, with a picture's height and width."""
    if len(shape) < 2:
        return shape
    logical = [shape[axes.index(a)] for a in range(len(shape))]
    logical[-2:] = image.size[1], image.size[0]
    return tuple(logical[a] for a in axes)


def luma(image: Any) -> NDArray[np.float32]:
    """Return the luma of a picture, (H, W) in 0..1, unrounded."""
    if image.mode == "L":
        return _floats(image)
    weighted: NDArray[np.float32] = _floats(image.convert("RGB")) @ LUMA
    return weighted


def to_picture(array: NDArray[Any], axes: tuple[int, ...], name: str, source: Any) -> Any:
    """Return an output in 0..1 as a PIL image, with the source's chroma where it is luma only.

    The source's ICC profile is kept in ``info`` where it is of the result's kind of colours.

    Raises:
        ShadergenError: SG0605 when the output is no image.
    """
    pillow = extras.pillow()
    n, channels, height, width = _logical(array.shape, axes, name)
    if n != 1 or channels not in MODES:
        raise ShadergenError(
            "SG0605",
            f"output '{name}' of shape {array.shape} is not a picture",
            help="name an output file that ends in .npz",
        )
    logical = np.transpose(array, np.argsort(axes)).reshape(channels, height, width)
    pixels = logical.transpose(1, 2, 0)
    mode = MODES[channels]
    if channels == 1 and source.mode != "L":
        # Adding the change of luma to every component leaves chroma as the bicubic resize has it.
        resized = source.convert("RGB").resize((width, height), pillow.Resampling.BICUBIC)
        pixels = _floats(resized) + (pixels - luma(resized)[..., np.newaxis])
        mode = "RGB"
    rounded = np.round(pixels.clip(0, 1) * 255).astype(np.uint8)
    image = pillow.fromarray(rounded[..., 0] if mode == "L" else rounded, mode)
    profile = source.info.get(PROFILE, b"")
    if SPACES.get(profile[16:20]) == mode.removesuffix("A"):  # ICC.1: data colour space
        image.info[PROFILE] = profile
    return image


def _floats(image: Any) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = np.asarray(image, np.float32) / np.float32(255)
    return scaled


def _logical(shape: tuple[int, ...], axes: tuple[int, ...], name: str) -> tuple[int, ...]:
    if len(shape) != 4:
        raise ShadergenError(
            "SG0605",
            f"'{name}' of shape {shape} is not a picture",
            help="use .npz files for input and output",
        )
    return tuple(shape[a] for a in np.argsort(axes))
