"""Tensors as texels: pure numpy, no GL.

A logical tensor is N, C, H, W. Four consecutive channels share the lanes of one texel, so layer
``n * ceil(C/4) + c // 4`` holds channel c of batch entry n in lane ``c % 4``, and texel row 0 is
tensor row 0. The model's own array is ``logical.transpose(axes)``, its shape padded with ones on
the left to rank 4 first. Texels are arrays of (layers, height, width, components).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

LANES = 4
RANK = 4


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


def logical_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, int, int, int]:
    """Return N, C, H, W of a host array of ``shape``, where ``host = logical.transpose(axes)``."""
    logical = [1] * len(shape)
    for size, axis in zip(shape, axes, strict=True):
        logical[axis] = size
    n, c, h, w = [1] * (RANK - len(shape)) + logical
    return n, c, h, w


def to_logical(host: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    """Return the host array as N, C, H, W."""
    logical = host.transpose(np.argsort(axes)) if host.ndim else host
    return logical.reshape(logical_shape(host.shape, axes))


def to_host(logical: NDArray[Any], shape: Sequence[int], axes: Sequence[int]) -> NDArray[Any]:
    """Return N, C, H, W as the model's own array of ``shape``."""
    unpadded = [0] * len(shape)
    for size, axis in zip(shape, axes, strict=True):
        unpadded[axis] = size
    reshaped = logical.reshape(unpadded)
    return np.ascontiguousarray(reshaped.transpose(axes) if len(shape) else reshaped)


def pack(logical: NDArray[Any], format: str) -> NDArray[Any]:
    """Lay N, C, H, W out as texels of ``format``; lanes that hold no channel are zero.

    Numbers are converted to the format's type as numpy does; see :func:`encode` for images.
    """
    components, dtype = FORMATS[format]
    n, c, h, w = logical.shape
    if components < min(c, LANES):
        raise ValueError(f"{c} channels do not fit {format}")
    planes = -(-c // LANES)
    padded = np.zeros((n, planes * LANES, h, w), dtype)
    padded[:, :c] = logical
    texels = padded.reshape(n * planes, LANES, h, w).transpose(0, 2, 3, 1)[..., :components]
    return np.ascontiguousarray(texels)


def unpack(texels: NDArray[Any], batch: int, channels: int) -> NDArray[Any]:
    """Return texels as N, C, H, W of their own type. Reverses :func:`pack`."""
    layers, h, w, components = texels.shape
    planes = -(-channels // LANES)
    if layers != batch * planes or components < min(channels, LANES):
        raise ValueError(f"texels {texels.shape} do not hold {batch} x {channels} channels")
    lanes = texels.transpose(0, 3, 1, 2).reshape(batch, planes * components, h, w)
    logical: NDArray[Any] = lanes[:, :channels]
    return logical


def encode(host: NDArray[Any], axes: Sequence[int], encoding: str, format: str) -> NDArray[Any]:
    """Return the model's own array as texels of an input texture.

    Raises:
        ShadergenError: SG0605, when ``host`` holds numbers that the texture cannot.
    """
    if host.dtype.kind not in "fiub":
        raise ShadergenError("SG0605", f"an array of {host.dtype} is not an input of real numbers")
    if encoding == "unorm8":
        host = _to_unorm8(host)
    else:
        # a conversion that overflows is reported just below, in the user's terms
        with np.errstate(over="ignore"):
            stored = host.astype(FORMATS[format].dtype)
        if host.dtype.kind == "f" and (np.isinf(stored) & np.isfinite(host)).any():
            raise ShadergenError(
                "SG0605",
                f"the array holds {np.abs(host[np.isfinite(host)]).max():g}",
                why=f"the largest number of {format} is {np.finfo(stored.dtype).max:g}",
            )
        host = stored
    return pack(to_logical(host, axes), format)


def _to_unorm8(host: NDArray[Any]) -> NDArray[np.uint8]:
    """Return image values 0..255; floats are taken as 0..1 and rounded."""
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


def decode(
    texels: NDArray[Any], shape: Sequence[int], axes: Sequence[int], encoding: str
) -> NDArray[np.float32]:
    """Return texels of an output texture as the model's own array.

    8-bit texels stand for 0..1. ``y2rg`` holds a number as R + G, its positive and its negative
    part; ``y2rg_half`` as R - G.
    """
    values = texels.astype(np.float32)
    if texels.dtype == np.uint8:
        values /= np.float32(255)
    if encoding in ("y2rg", "y2rg_half"):
        red, green = values[..., 0:1], values[..., 1:2]
        values = red + green if encoding == "y2rg" else red - green
    n, c, _, _ = logical_shape(shape, axes)
    return to_host(unpack(values, n, c), shape, axes)
