"""Tensors as texels: pure numpy, no GL.

The model's own array is ``logical.transpose(axes)``. A logical tensor is stored in one of two
layouts. Channel-packed, it is N, C, H, W, with ones added on the left of its shape: four
consecutive channels share a texel, so layer ``n * ceil(C/4) + c // 4`` holds channel c of batch
entry n in lane ``c % 4``. Texel row 0 is tensor row 0. Row-packed, it is ``batch`` rows of
``channels`` elements along the last axis: four neighbours share a texel, and texels fill the
texture from left to right, from top to bottom, then layer by layer. Texels are arrays of (layers,
height, width, components).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import ShadergenError
from ...records import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from .schedule import Port, Texture

LANES = 4
MAP_RANK = 4  # N, C, H, W
PLANES = "planes"
_KINDS = {"U": "text", "S": "text", "O": "objects", "c": "complex numbers"}
EXACT_INTEGERS = 1 << 24  # up to here a float32 holds every integer


class TexelFormat(NamedTuple):
    """Components of a texel and the numpy type of each."""

    components: int
    dtype: DTypeLike

    @property
    def bytes(self) -> int:
        """Bytes of one texel."""
        return self.components * np.dtype(self.dtype).itemsize


FORMATS: dict[str, TexelFormat] = {
    prefix + suffix: TexelFormat(components, dtype)
    for suffix, dtype in (("8", np.uint8), ("16f", np.float16), ("32f", np.float32))
    for prefix, components in (("r", 1), ("rg", 2), ("rgba", 4))
}

IMAGES = ("rgba32f", "rgba16f", "r32f", "rgba8")  # the formats that shaders see as images too


def logical_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Return the logical shape of a host array of ``shape``: ``host = logical.transpose(axes)``."""
    logical = [1] * len(shape)
    for size, axis in zip(shape, axes, strict=True):
        logical[axis] = size
    return tuple(logical)


def as_map(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape of up to four axes as N, C, H, W, padded with ones on the left."""
    return (1,) * (MAP_RANK - len(shape)) + tuple(shape)


def to_logical(host: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    """Return the host array as the logical tensor."""
    return host.transpose(np.argsort(axes)) if host.ndim else host


def pack(logical: NDArray[Any], texture: Texture) -> NDArray[Any]:
    """Return a logical tensor as the texels of a texture; unused lanes are zero.

    Numbers are converted to the format's type as numpy does; see :func:`encode` for images.
    """
    components, dtype = FORMATS[texture.format]
    batch, channels = texture.batch, texture.channels
    planes = -(-channels // LANES)
    if components < min(channels, LANES):
        raise ValueError(f"{channels} channels do not fit {texture.format}")
    if texture.packing == PLANES:
        n, c, h, w = as_map(logical.shape)
        padded = np.zeros((n, planes * LANES, h, w), dtype)
        padded[:, :c] = logical.reshape(n, c, h, w)
        texels = padded.reshape(n * planes, LANES, h, w).transpose(0, 2, 3, 1)[..., :components]
        return np.ascontiguousarray(texels)
    rows = np.zeros((batch, planes * components), dtype)
    rows[:, :channels] = logical.reshape(batch, channels)
    shape = (texture.layers, texture.height, texture.width, components)
    texels = np.zeros((prod(shape[:3]), components), dtype)
    texels[: batch * planes] = rows.reshape(-1, components)
    return texels.reshape(shape)


def unpack(texels: NDArray[Any], texture: Texture) -> NDArray[Any]:
    """Return texels as N, C, H, W or as rows (batch, channels), of the texels' type."""
    _, h, w, components = texels.shape
    batch, channels = texture.batch, texture.channels
    planes = -(-channels // LANES)
    if components < min(channels, LANES):
        raise ValueError(f"texels {texels.shape} do not hold {batch} x {channels} channels")
    if texture.packing == PLANES:
        lanes = texels.transpose(0, 3, 1, 2).reshape(batch, planes * components, h, w)
        logical: NDArray[Any] = lanes[:, :channels]
        return logical
    used = texels.reshape(-1, components)[: batch * planes]
    return used.reshape(batch, planes * components)[:, :channels]


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as people write it: ``1x3x90x160``."""
    return "x".join(map(str, shape)) or "a single number"


def host_array(array: ArrayLike, port: Port) -> NDArray[Any]:
    """Return an array of real numbers that has the input's shape.

    Raises:
        ShadergenError: SG0605.
    """
    try:
        host = np.asarray(array)
    except ValueError as error:  # lists of lists of unequal lengths
        raise ShadergenError(
            "SG0605", f"input '{port.name}' is not an array", why=str(error)
        ) from None
    if host.dtype.kind not in "fiub":
        kind = _KINDS.get(host.dtype.kind, str(host.dtype))
        raise ShadergenError("SG0605", f"arrays of {kind} are not supported, only real numbers")
    if host.shape != port.shape:
        wanted, found = shape_text(port.shape), shape_text(host.shape)
        raise ShadergenError("SG0605", f"the input takes an array of shape {wanted}, not {found}")
    return host


def encode(host: NDArray[Any], port: Port, texture: Texture) -> NDArray[Any]:
    """Return the model's own array as texels of an input texture.

    Raises:
        ShadergenError: SG0605 if the texture cannot represent numbers in ``host``.
    """
    format = texture.format
    if port.encoding == "unorm8":
        host = _to_unorm8(host)
    else:
        _check_span(host, port)
        if port.dtype != "float32":
            _check_integers(host, port)
        # a conversion that overflows is reported just below, in the user's terms
        with np.errstate(over="ignore"):
            stored = host.astype(FORMATS[format].dtype)
        if host.dtype.kind == "f" and (np.isinf(stored) & np.isfinite(host)).any():
            largest = np.abs(host[np.isfinite(host)]).max()
            raise ShadergenError(
                "SG0605",
                f"the array holds {largest:g}, too large for {format}",
                why=f"the limit is {np.finfo(stored.dtype).max:g}",
            )
        host = stored
    return pack(to_logical(host, port.axes), texture)


def _check_span(host: NDArray[Any], port: Port) -> None:
    """Refuse values outside the build's input range."""
    if port.range is None or not host.size:
        return
    low, high = port.range
    if not ((host >= low) & (host <= high)).all():
        raise ShadergenError(
            "SG0605",
            f"input '{port.name}' holds values from {host.min():g} to {host.max():g}",
            why=f"the build's 16-bit floats are for inputs from {low:g} to {high:g}",
            help="compile with a wider --input-range, or with --precision highp",
        )


def _check_integers(host: NDArray[Any], port: Port) -> None:
    """Refuse values that an integer or bool input cannot represent exactly."""
    if host.dtype.kind == "f" and not (host == np.rint(host)).all():
        raise ShadergenError(
            "SG0605", f"input '{port.name}' is of type {port.dtype}, the array holds fractions"
        )
    if port.dtype == "bool" and not np.isin(host, (0, 1)).all():
        raise ShadergenError(
            "SG0605",
            f"input '{port.name}' is of type bool, the array holds other values than 0 and 1",
        )
    # Compared as they are: the size of int64's least number is no int64.
    if host.size and (host.max() > EXACT_INTEGERS or host.min() < -EXACT_INTEGERS):
        raise ShadergenError(
            "SG0605",
            f"the array holds integers from {host.min()} to {host.max()}",
            why=f"shaders hold integers exactly up to {EXACT_INTEGERS}",
        )


def _to_unorm8(host: NDArray[Any]) -> NDArray[np.uint8]:
    """Return image values 0..255; floats in 0..1 are scaled and rounded."""
    if host.dtype == np.uint8:
        return host
    supported = "uint8 from 0 to 255, or floats from 0 to 1"
    if host.dtype.kind != "f":
        raise ShadergenError(
            "SG0605", f"an image cannot be given as {host.dtype}", supported=supported
        )
    # written so that NaN is refused too
    if not ((host >= 0) & (host <= 1)).all():
        raise ShadergenError(
            "SG0605",
            "an image given in floats holds values outside 0 to 1",
            supported=supported,
            help="divide by 255, or convert to uint8",
        )
    return np.rint(host.astype(np.float32) * 255).astype(np.uint8)


def decode(texels: NDArray[Any], port: Port, texture: Texture) -> NDArray[Any]:
    """Return texels of an output texture as the model's own array, of the port's type.

    8-bit texels represent 0..1. With encoding ``y2rg`` a number is R + G, its positive and its
    negative part; with ``y2rg_half`` it is R - G.
    """
    values = texels.astype(np.float32)
    if texels.dtype == np.uint8:
        values /= np.float32(255)
    shape = logical_shape(port.shape, port.axes)
    if port.encoding in ("y2rg", "y2rg_half"):
        red, green = values[..., 0:1], values[..., 1:2]
        values = red + green if port.encoding == "y2rg" else red - green
        texture = replace(texture, channels=1)
    logical = unpack(values, texture).reshape(shape)
    host = logical.transpose(port.axes) if shape else logical
    return np.asarray(host.astype(port.dtype, copy=False), order="C")
