"""Pictures: pixels, alpha and metadata, and arrays of them in a model's own shape.

A 1-channel network takes the luma (ITU-R BT.601, full range) of a colour picture; its result gets
the picture's chroma back, resized bicubically. Rows run from the top, as in the textures. Alpha is
not part of the colours, which are never multiplied by it.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.picture_axes import CHANNELS, PictureAxes, picture_axes
from ...errors import ShadergenError
from ...records import dataclass, replace
from .. import extras

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
ASPECT = 0.02  # relative change of an aspect ratio that nobody sees
SPACES = {b"GRAY": 1, b"RGB ": 3}  # of ICC profiles, and the channels of pictures in each


@dataclass(frozen=True)
class Metadata:
    """What a picture says about itself besides its pixels."""

    profile: bytes = b""
    exif: bytes = b""
    dpi: tuple[float, float] | None = None

    def of_channels(self, channels: int) -> Metadata:
        """Return the metadata without a profile that is of another kind of colours."""
        fits = SPACES.get(self.profile[16:20]) == channels  # ICC.1: data colour space
        return self if fits else replace(self, profile=b"")


@dataclass(frozen=True)
class Picture:
    """A picture, upright.

    Attributes:
        colours: (H, W, C) with 1 or 3 channels, uint8 or uint16.
        alpha: (H, W, 1) of the same type, or None.
        metadata: profile, EXIF without the orientation, resolution.
        notes: what reading changed, a line each.
    """

    colours: NDArray[Any]
    alpha: NDArray[Any] | None = None
    metadata: Metadata = field(default_factory=Metadata)
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.colours.shape[0], self.colours.shape[1]

    @property
    def channels(self) -> int:
        return int(self.colours.shape[2])

    @property
    def bits(self) -> int:
        return 8 * self.colours.dtype.itemsize

    def part(self, rows: slice, columns: slice, channels: int) -> Floats:
        """Return a part as floats in 0..1, (H, W, channels); one channel is the luma."""
        colours = as_floats(self.colours[rows, columns])
        if channels == 1:
            return luma(colours)
        if self.channels == 1:
            colours = colours.repeat(3, axis=2)
        if channels == 3:
            return colours
        opaque = np.ones((*colours.shape[:2], 1), np.float32)
        alpha = opaque if self.alpha is None else as_floats(self.alpha[rows, columns])
        return np.concatenate([colours, alpha], axis=2)


def as_floats(pixels: NDArray[Any]) -> Floats:
    """Return unsigned integers as floats in 0..1."""
    scaled: Floats = np.asarray(pixels, np.float32) / np.float32(np.iinfo(pixels.dtype).max)
    return scaled


def as_integers(pixels: Floats, bits: int) -> NDArray[Any]:
    """Return floats in 0..1, limited to this range, as unsigned integers."""
    most = 2**bits - 1
    kind = np.uint8 if bits == 8 else np.uint16
    rounded: NDArray[Any] = np.round(pixels.clip(0, 1) * most).astype(kind)
    return rounded


def luma(colours: Floats) -> Floats:
    """Return the luma of (H, W, 1 or 3) colours, (H, W, 1), unrounded."""
    weighted: Floats = colours if colours.shape[2] == 1 else (colours @ LUMA)[..., np.newaxis]
    return weighted


def axes_of(shape: tuple[int, ...], axes: tuple[int, ...], name: str) -> PictureAxes:
    """Return the axes of an input or output that is a picture.

    Raises:
        ShadergenError: SG0605 when it is none.
    """
    found = picture_axes(shape, axes)
    if found is None:
        raise ShadergenError(
            "SG0605",
            f"'{name}' of shape {shape} is not a picture",
            supported="one picture with 1, 3 or 4 channels",
            help="use .npz files for input and output",
        )
    return found


def channels_of(shape: tuple[int, ...], axes: PictureAxes) -> int:
    """Return the number of channels of a tensor that is a picture."""
    channels = 1 if axes.channel is None else shape[axes.channel]
    assert channels in CHANNELS
    return channels


def to_host(pixels: NDArray[Any], shape: tuple[int, ...], axes: PictureAxes) -> NDArray[Any]:
    """Return (H, W, C) pixels in the model's own shape, which has other height and width."""
    order = [a for a in (axes.row, axes.column, axes.channel) if a is not None]
    sizes = [1] * len(shape)
    for axis, size in zip(order, pixels.shape, strict=False):
        sizes[axis] = size
    inner = pixels.reshape(pixels.shape[: len(order)])
    host: NDArray[Any] = inner.transpose([order.index(a) for a in sorted(order)]).reshape(sizes)
    return host


def to_pixels(array: NDArray[Any], row: int, column: int) -> NDArray[Any]:
    """Return an array of one picture as (H, W, C): all axes but two are channels."""
    moved: NDArray[Any] = np.moveaxis(array, (row, column), (0, 1))
    return moved.reshape(*moved.shape[:2], -1)


def to_array(
    picture: Picture, shape: tuple[int, ...], axes: tuple[int, ...], name: str
) -> NDArray[Any]:
    """Return a whole picture as floats in 0..1 in the model's own shape.

    Args:
        picture: of the input's height and width.
        shape: of the input, in the model's order.
        axes: the port's permutation, host = logical.transpose(axes).
        name: the input's name.

    Raises:
        ShadergenError: SG0605 when the input is no picture or has another size.
    """
    found = axes_of(shape, axes, name)
    size = shape[found.row], shape[found.column]
    if picture.size != size:
        own = "x".join(map(str, picture.size))
        raise ShadergenError(
            "SG0605",
            f"the picture is {own}, the build takes {size[0]}x{size[1]}",
            help=f"compile with --input-size {own}, if the model allows",
        )
    everything = slice(None)
    pixels = picture.part(everything, everything, channels_of(shape, found))
    return to_host(pixels, shape, found)


def to_scaled_array(
    picture: Picture, shape: tuple[int, ...], axes: tuple[int, ...], name: str
) -> tuple[NDArray[Any], str]:
    """Return a whole picture as :func:`to_array`, scaled if it has another size; and a note of it.

    Raises:
        ShadergenError: SG0605 when the input is no picture.
    """
    found = axes_of(shape, axes, name)
    size = shape[found.row], shape[found.column]
    everything = slice(None)
    pixels = picture.part(everything, everything, channels_of(shape, found))
    if picture.size == size:
        return to_host(pixels, shape, found), ""
    own, wanted = ("x".join(map(str, sides)) for sides in (picture.size, size))
    note = f"the picture of {own} was scaled to {wanted}"
    return to_host(resized_picture(pixels, size), shape, found), note


def resized(pixels: NDArray[Any], size: tuple[int, int], how: str) -> Floats:
    """Return (H, W, C) floats at another height and width; ``how`` names Pillow's filter."""
    pillow = extras.pillow()
    method = getattr(pillow.Resampling, how)
    planes = [
        np.asarray(
            pillow.fromarray(np.ascontiguousarray(pixels[..., c], np.float32)).resize(
                (size[1], size[0]), method
            )
        )
        for c in range(pixels.shape[2])
    ]
    return np.stack(planes, axis=2)


def resized_picture(pixels: Floats, size: tuple[int, int]) -> Floats:
    """Return (H, W, C) pixels in 0..1, resized bicubically and clipped to 0..1.

    Pillow clips pictures of integers to their range, but not floats: near edges, they overshoot.
    """
    return resized(pixels, size, "BICUBIC").clip(0, 1)


def resize_note(size: tuple[int, int], taken: tuple[int, int]) -> str:
    """Return a note that a picture is resized to the size that a network takes."""
    (height, width), (rows, columns) = size, taken
    stretches = abs(rows * width - columns * height) > ASPECT * rows * width
    how = "bicubic, which changes its aspect ratio" if stretches else "bicubic"
    instead = "crop" if stretches else "resize"
    return (
        f"the picture of {height}x{width} was resized to the network's {rows}x{columns} ({how}); "
        f"to avoid this, {instead} the picture to {rows}x{columns} first"
    )


def enlarged(pixels: NDArray[Any], rows: tuple[int, int], size: tuple[int, int]) -> Floats:
    """Return rows of a picture that is resized bicubically, as floats in 0..1.

    Pictures of 8 bits are rounded to 8 bits after each axis, as the other runtimes do it.

    Args:
        pixels: (H, W, C) unsigned integers.
        rows: first and last + 1 of the result.
        size: of the whole result.
    """
    pillow = extras.pillow()
    height = pixels.shape[0]
    if pixels.shape[:2] == size:
        return as_floats(pixels[rows[0] : rows[1]])
    scale = height / size[0]
    margin = int(np.ceil(2 * max(scale, 1))) + 1  # what the kernel reads beyond
    first = max(0, int(rows[0] * scale) - margin)
    last = min(height, int(np.ceil(rows[1] * scale)) + margin)
    part = as_floats(pixels[first:last])
    box = (0.0, rows[0] * scale - first, float(size[1]), rows[1] * scale - first)
    planes = []
    for c in range(pixels.shape[2]):
        wide = pillow.fromarray(np.ascontiguousarray(part[..., c])).resize(
            (size[1], len(part)), pillow.Resampling.BICUBIC
        )
        limited = pillow.fromarray(_limited(wide, pixels.dtype))
        high = limited.resize((size[1], rows[1] - rows[0]), pillow.Resampling.BICUBIC, box)
        planes.append(_limited(high, pixels.dtype))
    return np.stack(planes, axis=2)


def _limited(plane: Any, bits: np.dtype[Any]) -> Floats:
    """Return numbers within 0..1, rounded to 8 bits for pictures of 8 bits; halves go up."""
    values: Floats = np.asarray(plane).clip(0, 1)
    return np.floor(values * 255 + 0.5) / np.float32(255) if bits == np.uint8 else values


def with_source(
    values: Floats, rows: tuple[int, int], size: tuple[int, int], source: Picture, bits: int
) -> NDArray[Any]:
    """Return rows of a network's result as pixels, with what the network left of its source.

    Args:
        values: the rows, (h, W, C), luma if the network takes luma and the source has colours.
        rows: first and last + 1 of the result.
        size: of the whole result.
        source: gives chroma to luma, and alpha to 1 or 3 channels.
        bits: 8 or 16.
    """
    if values.shape[2] == 1 and source.channels == 3:
        # Adding the change of luma to every component leaves chroma as the bicubic resize has it.
        resized = enlarged(source.colours, rows, size)
        values = resized + (values - luma(resized))
    if values.shape[2] != 4 and source.alpha is not None:
        values = np.concatenate([values, enlarged(source.alpha, rows, size)], axis=2)
    return as_integers(values, bits)
