"""GPU passes: what lowering produces and the schedule lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ..ir.graph import Node, Value

BufferKind = Literal["uniform", "storage"]


@dataclass(frozen=True, eq=False)
class Blob:
    """Rows of four float32 that a shader indexes: weights or parameters.

    ``make`` gives the ``count`` rows, of shape (count, 4), when they are written: a large model's
    rearranged weights must not all be held at once. ``half`` stores a texture of them in 16 bits.
    """

    name: str
    count: int
    make: Callable[[], np.ndarray]
    half: bool = False

    @property
    def nbytes(self) -> int:
        return self.count * 16


@dataclass(frozen=True)
class Read:
    """A sampler and what is bound to it; ``layer`` picks one 2D texture of a tensor."""

    uniform: str
    source: Value | Blob
    layer: int | None = None


@dataclass(frozen=True)
class Block:
    """A uniform or storage block and the data behind it."""

    name: str
    kind: BufferKind
    blob: Blob


@dataclass(frozen=True)
class Uniform:
    """An int that differs between the GPU passes of one program."""

    name: str
    value: int


@dataclass(frozen=True, eq=False)
class RenderPass:
    """A full-screen triangle drawn into some layers of one result.

    ``layers`` are texture layers of the result, one for each render target, in order.
    """

    node: Node
    kernel: str
    source: str
    reads: tuple[Read, ...]
    blocks: tuple[Block, ...]
    layers: tuple[int, ...]
    weights: str
    macs: int
    uniforms: tuple[Uniform, ...] = ()
