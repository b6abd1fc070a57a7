"""Check how the parts of a schedule refer to each other: the rules a JSON Schema cannot state.

Each rule is a sentence of docs/schedule.md, and each refusal an SG0503 that names the member.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NoReturn

from .document import SCHEDULE, malformed
from .pixels import FORMATS, IMAGES, LANES, MAP_RANK, PLANES, as_map, logical_shape
from .schedule import ComputePass, RenderPass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .schedule import Build, GpuPass, Port, Range, Texture

MAX_TEXTURE_BYTES = 1 << 33
_COLOR_BUFFER = {"8": 0, "16f": 1, "32f": 2}
_COLOR_BUFFER_OFFERED = {"none": 0, "half_float": 1, "float": 2}


def check(build: Build, weights_size: int) -> None:
    """Refuse a build whose parts do not fit each other.

    Args:
        build: the schedule; its shaders and weights are not looked at.
        weights_size: bytes of the weights file.
    """
    inputs = {port.texture for port in build.inputs}
    outputs = {port.texture for port in build.outputs}
    for i, texture in enumerate(build.textures.values()):
        _check_texture(texture, f"textures[{i}]", weights_size, texture.name in inputs)
    for i, buffer in enumerate(build.buffers.values()):
        _check_range(buffer.range, f"buffers[{i}]", weights_size)
    for member, ports in (("inputs", build.inputs), ("outputs", build.outputs)):
        names: set[str] = set()
        for i, port in enumerate(ports):
            _check_port(build, port, f"{member}[{i}]", names)
    if len(inputs) < len(build.inputs):
        refuse("two inputs share a texture", "inputs")
    used = _check_passes(build, inputs)
    for name in sorted(outputs):
        for layer in range(build.textures[name].layers):
            if (name, layer) not in used.written:
                refuse(f"no GPU pass writes layer {layer} of the output {name!r}", "outputs")
    _check_slots(build, outputs)
    _check_requirements(build)


def refuse(what: str, member: str) -> NoReturn:
    """Raise SG0503 at a member of the schedule."""
    malformed(what, f"{SCHEDULE}: {member}")


def _check_range(where: Range, member: str, weights_size: int) -> None:
    if where.offset + where.size > weights_size:
        refuse(
            f"the bytes {where.offset} to {where.offset + where.size} lie outside the weights "
            f"file of {weights_size} bytes",
            member,
        )


def _check_texture(texture: Texture, member: str, weights_size: int, is_input: bool) -> None:
    if texture.bytes > MAX_TEXTURE_BYTES:
        refuse(f"a texture of {texture.bytes} bytes is beyond all devices", member)
    if texture.first > texture.last:
        refuse(f"it is used first in pass {texture.first}, last in {texture.last}", member)
    plain = texture.layers == 1 and texture.packing == PLANES and texture.format == "rgba8"
    if texture.is_external and not (plain and is_input):
        refuse("an external texture is an input of one layer of rgba8, in planes", f"{member}.kind")
    if texture.data:
        if is_input:
            refuse("an input cannot have data", f"{member}.data")
        _check_range(texture.data, f"{member}.data", weights_size)
        if texture.data.size != texture.bytes:
            refuse(
                f"its texels take {texture.bytes} bytes, its data has {texture.data.size}",
                f"{member}.data",
            )
        return
    planes = -(-texture.channels // LANES)
    if texture.packing != PLANES:
        room = texture.width * texture.height * texture.layers
        if texture.batch * planes > room:
            refuse(
                f"{texture.batch} rows of {texture.channels} take {texture.batch * planes} texels, "
                f"there are {room}",
                f"{member}.batch",
            )
    elif texture.layers != texture.batch * planes:
        refuse(
            f"{texture.batch} x {texture.channels} channels take {texture.batch * planes} "
            f"layers, not {texture.layers}",
            f"{member}.layers",
        )
    if FORMATS[texture.format].components < min(texture.channels, LANES):
        refuse(f"{texture.channels} channels do not fit {texture.format}", f"{member}.format")
    if is_input != (texture.slot is None):
        refuse("inputs, and no others, have the slot null", f"{member}.slot")


def _check_port(build: Build, port: Port, member: str, names: set[str]) -> None:
    if port.name in names:
        refuse(f"the name {port.name!r} is taken", f"{member}.name")
    names.add(port.name)
    texture = _texture(build, port.texture, f"{member}.texture")
    if sorted(port.axes) != list(range(len(port.shape))):
        refuse(f"the axes {list(port.axes)} do not permute the shape's", f"{member}.axes")
    shape = logical_shape(port.shape, port.axes)
    signed = port.encoding in ("y2rg", "y2rg_half")
    if texture.packing == PLANES:
        _check_planes(shape, texture, signed, member)
    elif signed:
        refuse(f"the encoding {port.encoding} needs planes", f"{member}.encoding")
    elif prod(shape) != texture.batch * texture.channels or (shape or (1,))[-1] != texture.channels:
        refuse(
            f"the shape {list(shape)} does not fit {texture.batch} rows of {texture.channels}",
            f"{member}.shape",
        )
    if port.dtype != "float32" and port.encoding != "float":
        refuse(f"the encoding {port.encoding} holds no {port.dtype}", f"{member}.dtype")
    eight_bits = texture.format.endswith("8")
    if port.encoding == "unorm8" and not eight_bits:
        refuse(f"the encoding unorm8 needs an 8-bit texture, not {texture.format}", member)
    if port.encoding in ("float", "y2rg") and eight_bits:
        refuse(f"the encoding {port.encoding} needs a float texture", member)
    if signed and FORMATS[texture.format].components < 2:
        refuse(f"the encoding {port.encoding} needs two channels, not {texture.format}", member)


def _check_planes(shape: tuple[int, ...], texture: Texture, signed: bool, member: str) -> None:
    if len(shape) > MAP_RANK:
        refuse(f"planes hold up to {MAP_RANK} axes, not {len(shape)}", f"{member}.shape")
    n, c, h, w = as_map(shape)
    channels_fit = (c == 1 and texture.channels <= 2) if signed else c == texture.channels
    if not channels_fit or (n, h, w) != (texture.batch, texture.height, texture.width):
        refuse(
            f"N, C, H, W of {n}, {c}, {h}, {w} do not fit a texture of {texture.batch}, "
            f"{texture.channels}, {texture.height}, {texture.width}",
            f"{member}.shape",
        )


def _texture(build: Build, name: str, member: str) -> Texture:
    if name not in build.textures:
        refuse(f"there is no texture {name!r}", member)
    return build.textures[name]


class _Use:
    """Layers that hold something, as passes are walked in order."""

    def __init__(self, build: Build, inputs: set[str]) -> None:
        self.written: set[tuple[str, int]] = set()
        self.given = {t.name for t in build.textures.values() if t.data} | inputs

    def holds(self, texture: Texture, layer: int) -> bool:
        return texture.name in self.given or (texture.name, layer) in self.written


def _check_passes(build: Build, inputs: set[str]) -> _Use:
    use = _Use(build, inputs)
    for i, gpu_pass in enumerate(build.passes):
        member = f"passes[{i}]"
        read = _check_reads(build, gpu_pass, i, member, use)
        _check_blocks(build, gpu_pass, member)
        names = [u.name for u in gpu_pass.uniforms] + [r.uniform for r in gpu_pass.samplers]
        names += [r.matrix for r in gpu_pass.reads if r.matrix]
        if len(set(names)) < len(names):
            refuse("a uniform is given twice", member)
        _check_images(build, gpu_pass, member, inputs)
        for j, write in enumerate(gpu_pass.writes):
            place = f"{member}.writes[{j}]"
            texture = _texture(build, write.texture, place)
            if texture.name in use.given:
                refuse(f"{texture.name!r} is an input or a constant", place)
            if write.layer >= texture.layers:
                refuse(f"{texture.name!r} has no layer {write.layer}", place)
            # a draw may not even sample other layers of what it draws to
            layer = write.layer if isinstance(gpu_pass, ComputePass) else None
            if (texture.slot, layer) in read:
                refuse(f"it reads what it writes: {texture.name!r} in slot {texture.slot}", place)
            _check_lifetime(texture, i, place)
            if isinstance(gpu_pass, RenderPass):
                width, height = gpu_pass.viewport
                if width > texture.width or height > texture.height:
                    refuse(f"the viewport is larger than {texture.name!r}", f"{member}.viewport")
        writes = {(w.texture, w.layer) for w in gpu_pass.writes}
        if len(writes) < len(gpu_pass.writes):
            refuse("it writes a layer twice", f"{member}.writes")
        use.written |= writes
    return use


def _check_reads(
    build: Build, gpu_pass: GpuPass, index: int, member: str, use: _Use
) -> set[tuple[int | None, int | None]]:
    """Check what a pass reads and return the slots, with each layer and with None for any."""
    found: set[tuple[int | None, int | None]] = set()
    for j, read in enumerate(gpu_pass.reads):
        place = f"{member}.reads[{j}]"
        texture = _texture(build, read.texture, place)
        if texture.is_external != bool(read.matrix):
            refuse("external textures, and no others, are read through a matrix", f"{place}.matrix")
        if read.layer is not None and (texture.is_array or read.layer >= texture.layers):
            refuse(f"{texture.name!r} has no 2D texture {read.layer} to read", place)
        if read.layer is None and not texture.is_array and texture.layers > 1:
            refuse(f"{texture.name!r} has {texture.layers} 2D textures: name a layer", place)
        layers = range(texture.layers) if read.layer is None else range(read.layer, read.layer + 1)
        if read.layers is not None:
            layers = range(read.layers[0], sum(read.layers))
            if not texture.is_array or layers[-1] >= texture.layers:
                refuse(f"{texture.name!r} is no array with layer {layers[-1]}", f"{place}.layers")
        for layer in layers:
            if not use.holds(texture, layer):
                refuse(f"layer {layer} of {texture.name!r} is read before it is written", place)
        _check_lifetime(texture, index, place)
        if texture.slot is not None:
            found |= {(texture.slot, layer) for layer in (*layers, None)}
    return found


def _check_images(build: Build, gpu_pass: GpuPass, member: str, inputs: set[str]) -> None:
    """Check what a pass has bound to image units."""
    units = [read.image for read in gpu_pass.images]
    names = [read.texture for read in gpu_pass.images]
    for name in names:
        if name in inputs:
            refuse(f"{name!r} is an input, which may have no images", f"{member}.reads")
    if isinstance(gpu_pass, ComputePass):
        units.append(gpu_pass.image)
        names += [write.texture for write in gpu_pass.writes]
        if len({write.texture for write in gpu_pass.writes}) > 1:
            refuse("a compute pass writes one texture", f"{member}.writes")
        texture = _texture(build, names[-1], f"{member}.writes")
        if len(gpu_pass.writes) > 1 and not texture.is_array:
            refuse(f"an image is one layer of {texture.name!r}", f"{member}.writes")
    if len(set(units)) < len(units):
        refuse("an image unit is given twice", member)
    for name in names:
        format = build.textures[name].format
        if format not in IMAGES:
            refuse(f"{name!r} is {format}, of which there are no images", member)


def _check_lifetime(texture: Texture, index: int, place: str) -> None:
    if not texture.first <= index <= texture.last:
        refuse(
            f"pass {index} uses {texture.name!r} outside its lifetime, {texture.first} to "
            f"{texture.last}",
            place,
        )


def _check_blocks(build: Build, gpu_pass: GpuPass, member: str) -> None:
    for j, block in enumerate(gpu_pass.blocks):
        if block.buffer not in build.buffers:
            refuse(f"there is no buffer {block.buffer!r}", f"{member}.blocks[{j}]")
    names = {block.block for block in gpu_pass.blocks}
    if len(names) < len(gpu_pass.blocks):
        refuse("a block is given twice", f"{member}.blocks")


def _check_slots(build: Build, outputs: set[str]) -> None:
    sharing: dict[int, list[Texture]] = {}
    for texture in build.textures.values():
        if texture.slot is not None:
            sharing.setdefault(texture.slot, []).append(texture)
    for slot, textures in sorted(sharing.items()):
        textures.sort(key=lambda t: t.first)
        first = textures[0]
        physical = (first.kind, first.format, first.width, first.height)
        for before, after in pairwise(textures):
            place = f"textures {before.name!r} and {after.name!r}"
            if (after.kind, after.format, after.width, after.height) != physical:
                refuse(f"they share slot {slot} and differ in kind, format or size", place)
            if after.first <= before.last:
                refuse(f"they share slot {slot} and are alive together", place)
            for texture in (before, after):
                if texture.data or texture.name in outputs:
                    refuse(f"slot {slot} is shared, and {texture.name!r} may not share", place)


def _check_requirements(build: Build) -> None:
    """The stated requirements must cover what the schedule does."""
    requires = build.requires
    if requires.glsl < 310:
        if any(b.kind == "storage" for b in build.buffers.values()):
            refuse("storage buffers need glsl 310", "requires.glsl")
        if any(isinstance(p, ComputePass) or p.images or p.barriers for p in build.passes):
            refuse("compute passes, images and barriers need glsl 310", "requires.glsl")
    if any(t.is_external for t in build.textures.values()) and not requires.extensions:
        refuse("external textures need an extension", "requires.extensions")
    for name, used in _largest_use(build).items():
        if requires.limits[name] < used:
            refuse(
                f"it is stated as {requires.limits[name]}, and {used} is used",
                f"requires.limits.{name}",
            )
    drawn = {build.textures[w.texture].format for p in build.passes for w in p.writes}
    for format in sorted(drawn):
        need = _COLOR_BUFFER[format.lstrip("rgba")]
        if need > _COLOR_BUFFER_OFFERED[requires.color_buffer]:
            refuse(f"{format} is drawn to", "requires.color_buffer")


def _largest_use(build: Build) -> dict[str, int]:
    textures = build.textures.values()
    draws = [p for p in build.passes if isinstance(p, RenderPass)]
    dispatches = [p for p in build.passes if isinstance(p, ComputePass)]

    def most(counts: Iterable[int]) -> int:
        return max(counts, default=0)

    used = {
        "texture_size": max((max(t.width, t.height) for t in textures), default=0),
        "array_texture_layers": max((t.layers for t in textures if t.is_array), default=0),
        "texture_units": most(len(p.samplers) for p in draws),
        "draw_buffers": most(len(p.writes) for p in draws),
        "fragment_images": most(len(p.images) for p in draws),
        "compute_images": most(len(p.images) + 1 for p in dispatches),
        "compute_texture_units": most(len(p.samplers) for p in dispatches),
        "workgroup_invocations": most(prod(p.workgroup) for p in dispatches),
        "workgroup_count": most(max(p.groups) for p in dispatches),
    }
    names: dict[str, set[str]] = {}
    for kind in ("uniform", "storage"):
        of_kind = [b for b in build.buffers.values() if b.kind == kind]
        names[kind] = {b.name for b in of_kind}
        used[f"{kind}_block_size"] = most(b.range.size for b in of_kind)
        used[f"{kind}_blocks"] = most(sum(b.buffer in names[kind] for b in p.blocks) for p in draws)
    used["compute_uniform_blocks"] = most(
        sum(b.buffer in names["uniform"] for b in p.blocks) for p in dispatches
    )
    return used
