"""The schedule as Python objects; docs/schedule.md describes each member."""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import numpy as np

from ...records import dataclass
from .pixels import FORMATS, IMAGES, PLANES
from .summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ARRAY = "array"
EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Requires:
    """Requirements on the GL or WebGPU; ``limits`` maps limits to the values that the build needs.

    Shaders are either ``glsl`` of a version or ``wgsl``, "core" or "f16".
    """

    color_buffer: str
    limits: dict[str, int]
    glsl: int = 0
    extensions: tuple[str, ...] | None = None
    wgsl: str | None = None

    @property
    def color_bits(self) -> int:
        """Bits of the largest component that is drawn."""
        return {"none": 8, "half_float": 16, "float": 32}[self.color_buffer]


@dataclass(frozen=True, slots=True)
class Reach:
    """Element i of an output's axis reads floor(scale * i) - before to floor(scale * i) + after.

    ``scale`` is a fraction. Shifting the input by a multiple of ``period`` shifts the output.
    """

    input_axis: int
    output_axis: int
    scale: tuple[int, int]
    before: int
    after: int
    period: int


@dataclass(frozen=True, slots=True)
class ReceptiveField:
    """What part of an input an element of an output depends on; all of it if a layer is named."""

    input: str
    height: Reach | None = None
    width: Reach | None = None
    unbounded_by: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: the model's own shape, and ``host = logical.transpose(axes)``."""

    name: str
    texture: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    encoding: str
    dtype: str
    range: tuple[float, float] | None = None
    receptive_field: ReceptiveField | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of the weights file."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Texture:
    """A tensor in an array texture, in ``layers`` 2D textures, or in an external texture."""

    name: str
    kind: str
    format: str
    width: int
    height: int
    layers: int
    packing: str
    channels: int
    batch: int
    slot: int | None
    first: int
    last: int
    data: Range | None
    stacked: int | None = None

    @property
    def is_array(self) -> bool:
        return self.kind == ARRAY

    @property
    def is_external(self) -> bool:
        return self.kind == EXTERNAL

    @property
    def is_planes(self) -> bool:
        return self.packing == PLANES

    @property
    def has_images(self) -> bool:
        """Whether shaders can also bind it as an image."""
        return self.format in IMAGES

    @property
    def components(self) -> int:
        return FORMATS[self.format].components

    @property
    def bits(self) -> int:
        """Bits of each component."""
        return 8 * np.dtype(FORMATS[self.format].dtype).itemsize

    @property
    def objects(self) -> int:
        """The number of GL textures."""
        return 1 if self.is_array else self.layers

    @property
    def bytes(self) -> int:
        """Bytes of all texels."""
        return self.width * self.height * self.layers * FORMATS[self.format].bytes


@dataclass(frozen=True, slots=True)
class Buffer:
    """A range of the weights file, bound as a uniform or storage block (``kind``)."""

    name: str
    kind: str
    range: Range

    @property
    def is_storage(self) -> bool:
        return self.kind == "storage"


@dataclass(frozen=True, slots=True)
class Read:
    """A texture that a pass reads.

    ``layer`` selects one of a tensor's 2D textures; ``layers`` are the first layer and the number
    of layers that are read of an array texture. The texture is bound to the sampler ``uniform`` or,
    if this is empty, to image unit ``image``. For an external texture, ``matrix`` is the uniform of
    the application's matrix.
    """

    texture: str
    uniform: str = ""
    image: int = 0
    layer: int | None = None
    layers: tuple[int, int] | None = None
    matrix: str | None = None

    @property
    def is_image(self) -> bool:
        return not self.uniform


@dataclass(frozen=True, slots=True)
class Write:
    """A layer that is drawn or stored to."""

    texture: str
    layer: int


@dataclass(frozen=True, slots=True)
class Block:
    """A buffer bound to a block of the shader."""

    block: str
    buffer: str


@dataclass(frozen=True, slots=True)
class Uniform:
    """A uniform and its value."""

    name: str
    type: str
    value: tuple[float, ...]

    def __post_init__(self) -> None:
        number = int if self.type.startswith("i") else float
        object.__setattr__(self, "value", tuple(map(number, self.value)))


@dataclass(frozen=True, kw_only=True)
class GpuPass:
    """A GPU pass of either stage; ``barriers`` are issued before it."""

    name: str
    kernel: str
    shader: str
    layers: tuple[str, ...]
    reads: tuple[Read, ...]
    blocks: tuple[Block, ...]
    uniforms: tuple[Uniform, ...]
    writes: tuple[Write, ...]
    barriers: tuple[str, ...]
    weights: str
    macs: int
    bytes_read: int
    bytes_written: int

    @property
    def shaders(self) -> tuple[str, ...]:
        """Paths of its shaders."""
        return (self.shader,)

    @property
    def has_barriers(self) -> bool:
        return bool(self.barriers)

    @property
    def samplers(self) -> tuple[Read, ...]:
        """The reads by samplers."""
        return tuple(r for r in self.reads if not r.is_image)

    @property
    def images(self) -> tuple[Read, ...]:
        """The reads as images."""
        return tuple(r for r in self.reads if r.is_image)


@dataclass(frozen=True, kw_only=True)
class RenderPass(GpuPass):
    """One draw; attachment i is ``writes[i]``."""

    vertex: str
    viewport: tuple[int, int]

    @property
    def shaders(self) -> tuple[str, ...]:
        return (self.vertex, self.shader)


@dataclass(frozen=True, kw_only=True)
class ComputePass(GpuPass):
    """One dispatch; the texture of all ``writes`` is bound to the image unit ``image``."""

    image: int
    workgroup: tuple[int, int, int]
    groups: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The dynamic sizes of a build.

    ``values`` maps names to current sizes, ``document`` is the schedule with expressions.
    """

    values: Mapping[str, int]
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Build:
    """A build in memory: the schedule, shader sources by path, and weights.

    All numbers are for the current sizes; ``sizes`` is None if all sizes are fixed. ``variant`` is
    the name of this variant, empty for the generic build. ``variants`` lists the variants of a
    generic build, ``wgsl_variants`` those in WGSL.
    """

    folder: Path
    version: str
    generator: str
    model: str
    requires: Requires
    sizes: Sizes | None
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    textures: Mapping[str, Texture]
    buffers: Mapping[str, Buffer]
    passes: tuple[GpuPass, ...]
    shaders: Mapping[str, str]
    weights: bytes
    variant: str = ""
    variants: tuple[str, ...] = ()
    wgsl_variants: tuple[str, ...] = ()

    @property
    def texture_bytes(self) -> int:
        """Bytes of all textures; of those that share a slot, the largest counts."""
        slots: dict[object, int] = {}
        for t in self.textures.values():
            slot = t.name if t.slot is None else t.slot
            slots[slot] = max(slots.get(slot, 0), t.bytes)
        return sum(slots.values())

    def __repr__(self) -> str:
        language = "WGSL" if self.requires.wgsl else f"GLSL ES {self.requires.glsl}"
        variant = f", variant '{self.variant}'" if self.variant else ""
        title = f"Build '{self.model}' in '{self.folder}', {language}{variant}"
        return summary(self, title, len(self.weights))

    def bytes_of(self, where: Range) -> bytes:
        """Return a range of the weights."""
        return self.weights[where.offset : where.offset + where.size]


def parsed(kind: Any, value: Any) -> Any:
    """Return valid JSON as an object of this module, or as the type of one of its members.

    The schema accepts 640.0 as an integer, so every integer is converted.
    """
    return _conversion(kind)(value)


@cache
def _conversion(kind: Any) -> Callable[[Any], Any]:
    """Return what converts JSON to a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        members = [(name, _conversion(hint)) for name, hint in get_type_hints(kind).items()]
        return lambda value: kind(**{k: as_hint(value[k]) for k, as_hint in members if k in value})
    if origin is UnionType:
        present = _conversion(arguments[0])
        return lambda value: None if value is None else present(value)
    if origin is dict:
        item = _conversion(arguments[1])
        return lambda value: {k: item(v) for k, v in value.items()}
    if origin is tuple and arguments[-1] is ...:
        item = _conversion(arguments[0])
        return lambda value: tuple(map(item, value))
    if origin is tuple:
        items = tuple(map(_conversion, arguments))
        return lambda value: tuple(item(v) for item, v in zip(items, value, strict=True))
    return kind  # type: ignore[no-any-return]
