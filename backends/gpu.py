"""GPU passes: what lowering produces and the schedule lists."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..ir.graph import Node, Value
    from ..ir.types import TextureFormat
    from .shader.program import Program

EXTERNAL = "GL_OES_EGL_image_external_essl3"  # what shaders need to read external textures
BufferKind = Literal["uniform", "storage"]


@dataclass(frozen=True, eq=False)
class Blob:
    """Rows of four float32 that a shader indexes: weights or parameters.

    They are made when they are written: a large model's rearranged weights must not all be held at
    once.

    Attributes:
        name: for people.
        count: how many rows.
        make: gives the rows of the GPU pass that writes from a plane on, in arrays of shape (n, 4).
        format: that of a texture of them; "rgba8" holds whole numbers (``ir.types.fits_int8``).
        first: the first plane that the GPU pass writes; None if the rows are the same for all.
    """

    name: str
    count: int
    make: Callable[[int], Iterable[np.ndarray]]
    format: TextureFormat = "rgba32f"
    first: int | None = None

    @property
    def rows(self) -> Iterable[np.ndarray]:
        return self.make(self.first or 0)

    def at(self, first: int) -> Blob:
        """Return the rows of the GPU pass of the same program that writes from a plane on."""
        return self if self.first is None else replace(self, first=first)

    def lengthened(self, count: int) -> Blob:
        """Return so many rows, the last of them zeros."""
        zeros = np.zeros((count - self.count, 4), np.float32)
        return replace(self, count=count, make=lambda first: chain(self.make(first), [zeros]))

    @property
    def nbytes(self) -> int:
        return self.count * 16


@dataclass(frozen=True)
class Read:
    """A tensor and where a shader has it; ``layer`` picks one 2D texture of it.

    ``place`` is a sampler's name or an image's unit. ``matrix`` is the uniform through which an
    external texture is read.
    """

    place: str | int
    source: Value | Blob
    layer: int | None = None
    matrix: str = ""


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


@dataclass(frozen=True, kw_only=True, eq=False)
class GpuPass:
    """A draw or a dispatch: a program, its reads, and the layers of one result that it writes.

    ``layers`` are texture layers of the result. ``invocations`` is how often the program runs but
    for invocations beyond the result.
    """

    node: Node
    kernel: str
    program: Program
    reads: tuple[Read, ...]
    blocks: tuple[Block, ...]
    layers: tuple[int, ...]
    weights: str
    macs: int
    invocations: int
    uniforms: tuple[Uniform, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class RenderPass(GpuPass):
    """A full-screen triangle; render target i is ``layers[i]``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ComputePass(GpuPass):
    """A dispatch of workgroups, which store into the result's texture, bound to image unit 0.

    Attributes:
        workgroup: invocations in a workgroup, along x and y.
        groups: workgroups along x and y.
    """

    workgroup: tuple[int, int]
    groups: tuple[int, int]
