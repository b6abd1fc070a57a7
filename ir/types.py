"""Tensor types and how a tensor lies in textures.

A tensor is logical NCHW (or of any lower rank, read as if padded with ones on the left, as numpy
broadcasts). A :class:`Layout` places it: four consecutive channels share the lanes of one texel, a
**plane** is one such group as a texture layer of H x W texels, and batches follow one another:
``layer = n * planes + c // 4``, ``lane = c % 4``.

Unused lanes of the last plane hold zero where a GPU pass wrote them and any finite value where the
application supplied the texture; kernels never let them reach a result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Literal, get_args

from ..errors import ShadergenError

if TYPE_CHECKING:
    from typing_extensions import Self

DType = Literal["float32", "float16", "float64", "int64", "int32", "uint8", "int8", "bool"]
DTYPES: tuple[str, ...] = get_args(DType)

TextureKind = Literal["2d", "array"]
TextureFormat = Literal[
    "r8", "rg8", "rgba8", "r16f", "rg16f", "rgba16f", "r32f", "rg32f", "rgba32f"
]
TEXTURE_FORMATS: tuple[str, ...] = get_args(TextureFormat)

LANES = 4
MAX_RANK = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """How a tensor is stored: one array texture, or one 2D texture for each layer.

    ``slot`` is the physical texture it shares with tensors that are never alive together, set by
    ``passes.plan_textures``.
    """

    kind: TextureKind
    format: TextureFormat
    slot: int | None = None


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
    def nchw(self) -> tuple[int, int, int, int]:
        """The shape padded with ones on the left to rank 4.

        Raises:
            ShadergenError: SG0206 for a higher rank, which no texture layout covers.
        """
        if self.rank > MAX_RANK:
            raise ShadergenError(
                "SG0206", f"a tensor of rank {self.rank}", where=str(self), supported="rank 0 to 4"
            )
        n, c, h, w = (1,) * (MAX_RANK - self.rank) + self.shape
        return n, c, h, w

    @property
    def planes(self) -> int:
        """Planes for one batch entry: ceil(C / 4)."""
        return -(-self.nchw[1] // LANES)

    @property
    def layers(self) -> int:
        """Texture layers: batch entries times planes."""
        return self.nchw[0] * self.planes

    @property
    def channels_per_texel(self) -> int:
        """Components a texel needs: 1 or 2 for thin tensors, else 4."""
        c = self.nchw[1]
        return c if c <= 2 else LANES

    def placed(self, layout: Layout | None) -> Self:
        return replace(self, layout=layout)

    def __str__(self) -> str:
        return f"{self.dtype} {'x'.join(map(str, self.shape)) or 'scalar'}"


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape that ``shapes`` broadcast to by numpy's rule, or None when they do not."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {s for s in sizes if s != 1}
        if len(wide) > 1:
            return None
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def format_for(channels_per_texel: int, storage: Literal["8", "16f", "32f"]) -> TextureFormat:
    """Return the texture format with that many components of that storage: 1, "16f" -> r16f."""
    name = {1: "r", 2: "rg", 4: "rgba"}[channels_per_texel] + storage
    if name not in TEXTURE_FORMATS:
        raise ValueError(name)
    return name  # type: ignore[return-value]
