"""The schedule as Python objects, and :func:`load`, which reads one from a build folder.

Everything is checked before a single GL call: the form (:mod:`.document`), the files
(:mod:`.files`) and how the parts refer to each other (:mod:`.checks`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError
from . import checks
from .document import SCHEDULE, malformed, read_document
from .files import read_shader, read_weights
from .pixels import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

ARRAY = "array"


@dataclass(frozen=True, slots=True)
class Requires:
    """What the GL must offer; ``limits`` holds the largest use made of each limit."""

    glsl: int
    color_buffer: str
    limits: Mapping[str, int]


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


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of the weights file."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Texture:
    """A tensor in one array texture, or in ``layers`` 2D textures."""

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

    @property
    def is_array(self) -> bool:
        return self.kind == ARRAY

    @property
    def objects(self) -> int:
        """How many GL textures it takes."""
        return 1 if self.is_array else self.layers

    @property
    def bytes(self) -> int:
        """Bytes of all its texels."""
        return self.width * self.height * self.layers * FORMATS[self.format].bytes


@dataclass(frozen=True, slots=True)
class Buffer:
    """A range of the weights file that shaders see as a ``kind`` block."""

    name: str
    kind: str
    range: Range


@dataclass(frozen=True, slots=True)
class Read:
    """A texture, or with ``layer`` one layer of a 2D one, bound to a sampler."""

    uniform: str
    texture: str
    layer: int | None


@dataclass(frozen=True, slots=True)
class Write:
    """A layer drawn to."""

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


@dataclass(frozen=True, slots=True)
class RenderPass:
    """One draw; attachment i is ``writes[i]``."""

    name: str
    kernel: str
    vertex: str
    shader: str
    layers: tuple[str, ...]
    reads: tuple[Read, ...]
    blocks: tuple[Block, ...]
    uniforms: tuple[Uniform, ...]
    writes: tuple[Write, ...]
    viewport: tuple[int, int]
    weights: str
    macs: int
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True, slots=True)
class Build:
    """A build in memory: the schedule, its shaders' sources by path, and its weights."""

    folder: Path
    version: str
    generator: str
    model: str
    requires: Requires
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    textures: Mapping[str, Texture]
    buffers: Mapping[str, Buffer]
    passes: tuple[RenderPass, ...]
    shaders: Mapping[str, str]
    weights: bytes

    def bytes_of(self, where: Range) -> bytes:
        """Return a range of the weights."""
        return self.weights[where.offset : where.offset + where.size]


def load(folder: str | Path) -> Build:
    """Read and check the build in ``folder``. Makes no GL call.

    Raises:
        ShadergenError: SG0502 to SG0505, for whatever keeps the build from being played.
    """
    folder = Path(folder)
    try:
        document = read_document(folder)
        weights = document["weights"]
        size = int(weights["size"])
        build = _build(folder, document)
        checks.check(build, size)
        shaders = {path for p in build.passes for path in (p.vertex, p.shader)}
        return replace(
            build,
            shaders={path: read_shader(folder, path) for path in sorted(shaders)},
            weights=read_weights(folder, weights["file"], size, weights["sha256"]),
        )
    except ShadergenError as error:
        raise error.at(str(folder)) from None


def _build(folder: Path, document: Mapping[str, Any]) -> Build:
    requires = document["requires"]
    return Build(
        folder=folder,
        version=document["version"],
        generator=document["generator"],
        model=document["model"],
        requires=Requires(
            int(requires["glsl"]),
            requires["color_buffer"],
            {name: int(value) for name, value in requires["limits"].items()},
        ),
        inputs=tuple(map(_port, document["inputs"])),
        outputs=tuple(map(_port, document["outputs"])),
        textures=_by_name("textures", map(_texture, document["textures"])),
        buffers=_by_name("buffers", map(_buffer, document["buffers"])),
        passes=tuple(map(_render_pass, document["passes"])),
        shaders={},
        weights=b"",
    )


def _by_name(member: str, items: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for i, item in enumerate(items):
        if item.name in result:
            malformed(f"the name {item.name!r} is taken", f"{SCHEDULE}: {member}[{i}].name")
        result[item.name] = item
    return result


# JSON knows no integers: 640.0 is one by the schema, so every one is converted.


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def _port(d: Mapping[str, Any]) -> Port:
    shape, axes = _ints(d["shape"]), _ints(d["axes"])
    limits = d.get("range")  # outputs have none
    span = None if limits is None else (float(limits[0]), float(limits[1]))
    return Port(d["name"], d["texture"], shape, axes, d["encoding"], d["dtype"], span)


def _range(d: Mapping[str, Any]) -> Range:
    return Range(int(d["offset"]), int(d["size"]))


def _texture(d: Mapping[str, Any]) -> Texture:
    return Texture(
        name=d["name"],
        kind=d["kind"],
        format=d["format"],
        width=int(d["width"]),
        height=int(d["height"]),
        layers=int(d["layers"]),
        packing=d["packing"],
        channels=int(d["channels"]),
        batch=int(d["batch"]),
        slot=None if d["slot"] is None else int(d["slot"]),
        first=int(d["first"]),
        last=int(d["last"]),
        data=None if d["data"] is None else _range(d["data"]),
    )


def _buffer(d: Mapping[str, Any]) -> Buffer:
    return Buffer(d["name"], d["kind"], _range(d))


def _render_pass(d: Mapping[str, Any]) -> RenderPass:
    width, height = _ints(d["viewport"])
    return RenderPass(
        name=d["name"],
        kernel=d["kernel"],
        vertex=d["vertex"],
        shader=d["shader"],
        layers=tuple(d["layers"]),
        reads=tuple(
            Read(r["uniform"], r["texture"], int(r["layer"]) if "layer" in r else None)
            for r in d["reads"]
        ),
        blocks=tuple(Block(b["block"], b["buffer"]) for b in d["blocks"]),
        uniforms=tuple(map(_uniform, d["uniforms"])),
        writes=tuple(Write(w["texture"], int(w["layer"])) for w in d["writes"]),
        viewport=(width, height),
        weights=d["weights"],
        macs=int(d["macs"]),
        bytes_read=int(d["bytes"]["read"]),
        bytes_written=int(d["bytes"]["written"]),
    )


def _uniform(d: Mapping[str, Any]) -> Uniform:
    number = int if d["type"] in ("int", "ivec2") else float
    return Uniform(d["name"], d["type"], tuple(number(v) for v in d["value"]))
