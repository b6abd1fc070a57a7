"""Tensor types and their layouts in textures.

A tensor may have any rank. A :class:`Layout` places it, in one of two ways:

- **planes**, for feature maps of rank 4 (N, C, H, W): four consecutive channels share the lanes of
  one texel, a plane is one such group as a texture layer of H x W texels, and batches follow one
  another: ``layer = n * planes + c // 4``, ``lane = c % 4``. "Stacked" planes, of one batch entry,
  lie below each other in one 2D texture instead: ``y = c // 4 * H + h``. Unused lanes of the last
  plane hold zero where a GPU pass wrote them and any finite value where the application supplied
  the texture; kernels never let them reach a result.
- **rows** (row-packed), for every other rank and for maps that exceed the texture limits:
  four consecutive elements of the last axis share a texel, and these texels, in row-major order
  of the tensor, fill the texture row by row and layer by layer. Unused lanes and texels are
  undefined; nothing reads them.

Integers and booleans are stored as floats: exact while their size is at most 2^24.
"""

from __future__ import annotations

import math
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from ..records import dataclass, replace
from .dimensions import is_dynamic, is_one

if TYPE_CHECKING:
    from collections.abc import Iterable

DType = Literal[
    "float32",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "bool",
]
DTYPES: tuple[str, ...] = get_args(DType)
EXACT_INTEGERS = 1 << 24  # the largest size up to which a float32 holds every integer

TextureKind = Literal["2d", "array", "external", "stacked"]
TextureFormat = Literal[
    "r8", "rg8", "rgba8", "r16f", "rg16f", "rgba16f", "r32f", "rg32f", "rgba32f"
]


class TexelFormat(NamedTuple):
    """The components of a texel and the bits of each: 8 for 0 to 1, else a float's."""

    components: int
    bits: int

    @property
    def bytes(self) -> int:
        """Bytes of one texel."""
        return self.components * self.bits // 8


FORMATS: dict[TextureFormat, TexelFormat] = {
    "r8": TexelFormat(1, 8),
    "rg8": TexelFormat(2, 8),
    "rgba8": TexelFormat(4, 8),
    "r16f": TexelFormat(1, 16),
    "rg16f": TexelFormat(2, 16),
    "rgba16f": TexelFormat(4, 16),
    "r32f": TexelFormat(1, 32),
    "rg32f": TexelFormat(2, 32),
    "rgba32f": TexelFormat(4, 32),
}
# What OpenGL ES 3.1 has images of; shaders have the same names for them.
IMAGE_FORMATS = ("rgba32f", "rgba16f", "r32f", "rgba8")

HALF_MAX = 65504.0  # the largest 16-bit float
HALF_MIN = 2.0**-14  # the least that has all its digits
DEAD = 2.0**-48  # of the largest channel: two layers' weights would have to span float32's digits
INT8_MAX = 127  # the largest whole number in 8 bits, kept as a byte from 1 to 255
INT8_ZERO = 128  # the byte that stands for 0
LANES = 4
MAP_RANK = 4  # of feature maps: N, C, H, W
MAX_RANK = 8


@dataclass(frozen=True, slots=True)
class Halo:
    """Texels around a map in its texture: zeros, or copies of the map's nearest texels."""

    content: Literal["zeros", "edge"]
    width: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The storage of a tensor: one array texture, or one 2D texture for each layer.

    An "external" one is an input of one layer, which only a sampler of its own kind reads. The
    planes of a "stacked" one lie below each other in one 2D texture, so that one draw writes all.

    ``rows`` is the width and height in texels of a texture that holds rows; None means planes.
    ``slot`` is the physical texture, shared by tensors with disjoint lifetimes
    (``passes.allocate_textures``). ``first`` is the tensor's first layer in that texture: not 0
    for an alias, which is some planes of another tensor's texture (``placement.aliases``).
    ``halo`` holds the padding of convolutions (``passes.store_halos``), at negative positions and
    at those beyond the map.
    """

    kind: TextureKind
    format: TextureFormat
    rows: tuple[int, int] | None = None
    slot: int | None = None
    first: int = 0
    halo: Halo | None = None


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape, element type and, once placed, layout of a tensor. Sizes are positive integers."""

    shape: tuple[int, ...]
    dtype: DType = "float32"
    layout: Layout | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def is_empty(self) -> bool:
        """Whether it has no elements."""
        return any(s == 0 for s in self.shape)

    @property
    def in_planes(self) -> bool:
        """Whether the tensor lies in planes; before it is placed, whether its rank lets it."""
        return self.rank == MAP_RANK and (self.layout is None or self.layout.rows is None)

    @property
    def is_stacked(self) -> bool:
        """Whether the planes of a map lie below each other in one texture."""
        return self.layout is not None and self.layout.kind == "stacked"

    @property
    def lane_axis(self) -> int:
        """The axis whose elements share texels: the channels of planes, else the last axis."""
        return 1 if self.in_planes else self.rank - 1

    @property
    def channels(self) -> int:
        """Size of the lane axis."""
        return self.shape[self.lane_axis] if self.shape else 1

    @property
    def planes(self) -> int:
        """Texels that hold one position's channels: ceil(channels / 4)."""
        return -(-self.channels // LANES)

    @property
    def texels(self) -> int:
        """Number of texels that hold elements."""
        return self.size // self.channels * self.planes

    @property
    def extent(self) -> tuple[int, int, int]:
        """Width, height and layers of the texture."""
        if self.in_planes:
            n, _, height, width = self.shape
            if self.is_stacked:
                return width, height * self.planes, 1
            return width, height, n * self.planes
        if self.layout is None or self.layout.rows is None:
            return self.planes, self.texels // self.planes, 1
        width, height = self.layout.rows
        if is_dynamic(height):  # which is then as high as it takes
            return width, height, 1
        return width, height, -(-self.texels // (width * height))

    @property
    def layers(self) -> int:
        """The number of texture layers."""
        return self.extent[2]

    @property
    def first_layer(self) -> int:
        """The layer of its texture from which the tensor's own begin."""
        return 0 if self.layout is None else self.layout.first

    @property
    def channels_per_texel(self) -> int:
        """Components of a texel: as its format has; before it is placed, as few as hold it."""
        if self.layout is not None:
            return FORMATS[self.layout.format].components
        return self.channels if self.channels <= 2 else LANES

    @property
    def component_bits(self) -> int:
        """Bits of a component of its texels: 8, 16 or 32; 0 before the tensor is placed."""
        return 0 if self.layout is None else FORMATS[self.layout.format].bits

    def of(self, shape: tuple[int, ...]) -> TensorType:
        """Return the type of a tensor of another shape and the same element type."""
        return TensorType(shape, self.dtype)

    def placed(self, layout: Layout | None) -> TensorType:
        return self if layout is self.layout else TensorType(self.shape, self.dtype, layout)

    def without_slot(self) -> TensorType:
        """Return the type in a texture of its own."""
        if self.layout is None:
            return self
        return self.placed(replace(self.layout, slot=None, first=0))

    def __str__(self) -> str:
        return f"{self.dtype} {shape_text(self.shape)}"


def shape_text(shape: Iterable[int]) -> str:
    """Return a shape as text: ``1x3x90x160``, ``1 x 3 x (height / 2) x 160``, ``scalar``."""
    sizes = [f"({s})" if " " in s else s for s in map(str, shape)]
    between = "x" if all(map(str.isdecimal, sizes)) else " x "
    return between.join(sizes) or "scalar"


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape that ``shapes`` broadcast to by numpy's rule, or None when they do not."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = [s for s in sizes if not is_one(s)]
        if any(s != wide[0] for s in wide):
            return None
        result.append(wide[0] if wide else 1)
    return tuple(result)


def fits_half(data: np.ndarray, axis: int | None = None) -> bool:
    """Whether 16-bit floats hold numbers of this magnitude.

    Along an axis of channels, no channel may be too small as a whole, since what follows may scale
    it up. Training leaves channels that are as good as zero, which count as such.
    """
    sizes = np.abs(data)
    if axis is not None:
        sizes = sizes.max(axis=tuple(k for k in range(data.ndim) if k != axis), initial=0)
        least = float(sizes.min(initial=math.inf, where=sizes > DEAD * sizes.max(initial=0)))
    else:
        least = float(sizes.max(initial=0)) or math.inf
    return least >= HALF_MIN and float(sizes.max(initial=0)) <= HALF_MAX


def fits_int8(data: np.ndarray) -> bool:
    """Whether all are whole numbers of at most :data:`INT8_MAX`."""
    return bool((np.abs(data) <= INT8_MAX).all()) and bool((data == np.round(data)).all())


def format_for(components: int, bits: int) -> TextureFormat:
    """Return the texture format with so many components of so many bits: 1, 16 -> r16f."""
    return next(name for name, texel in FORMATS.items() if texel == (components, bits))
