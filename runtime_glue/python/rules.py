"""Rules between the parts of a schedule that a JSON Schema cannot state.

Each rule is a sentence of docs/schedule.md. A violation raises SG0503 with the member's name. All
runtimes have these rules: tools/make_web.py translates this file to C++ and JavaScript, so the file
uses only the Python that tools/runtimes/rules.py can translate.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from .parts import by_slot, listed, most, refuse, repeats
from .pixels import LANES, MAP_RANK, as_map, logical_shape
from .schedule import ComputePass, RenderPass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .parts import Layer, Place, Ref, Use
    from .schedule import Build, GpuPass, Port, Range, Texture

MAX_TEXTURE_BYTES = 1 << 33
ANY_LAYER = -1


def check(build: Build, weights_size: int) -> None:
    """Raise SG0503 if parts of a build contradict each other.

    Args:
        build: the schedule; shaders and weights are not read.
        weights_size: bytes of the weights file.
    """
    inputs: set[Ref] = {port.texture for port in build.inputs}
    outputs: set[Ref] = {port.texture for port in build.outputs}
    for i, texture in enumerate(build.textures.values()):
        _check_texture(texture, f"textures[{i}]", weights_size, texture.name in inputs)
    for i, buffer in enumerate(build.buffers.values()):
        _check_range(buffer.range, f"buffers[{i}]", weights_size)
    _check_ports(build, build.inputs, "inputs")
    _check_ports(build, build.outputs, "outputs")
    if len(inputs) < len(build.inputs):
        refuse("two inputs share a texture", "inputs")
    written: set[Layer] = set()
    _check_passes(build, inputs, written)
    for port in build.outputs:
        for layer in range(build.textures[port.texture].layers):
            if (port.texture, layer) not in written:
                refuse(
                    f"no GPU pass writes texture layer {layer} of the output {port.texture!r}",
                    "outputs",
                )
    _check_slots(build, outputs)
    _check_requirements(build)
    _check_limits(build)


def _check_range(where: Range, member: Place, weights_size: int) -> None:
    end = where.offset + where.size
    if end > weights_size:
        refuse(
            f"the bytes {where.offset} to {end} lie outside the weights file of "
            f"{weights_size} bytes",
            member,
        )


def _check_texture(texture: Texture, member: Place, weights_size: int, is_input: bool) -> None:
    if texture.bytes > MAX_TEXTURE_BYTES:
        refuse(f"the texture takes {texture.bytes} bytes, more than {MAX_TEXTURE_BYTES}", member)
    if texture.first > texture.last:
        refuse(f"the first pass, {texture.first}, is after the last, {texture.last}", member)
    is_plain = texture.layers == 1 and texture.is_planes and texture.format == "rgba8"
    if texture.is_external and not (is_plain and is_input):
        refuse(
            "an external texture must be an rgba8 input of one layer, packed in planes",
            f"{member}.kind",
        )
    if texture.data is not None:
        if is_input:
            refuse("an input cannot have data", f"{member}.data")
        _check_range(texture.data, f"{member}.data", weights_size)
        if texture.data.size != texture.bytes:
            refuse(
                f"the texels take {texture.bytes} bytes, the data has {texture.data.size} bytes",
                f"{member}.data",
            )
        return
    needed = texture.batch * ((texture.channels + LANES - 1) // LANES)
    room = texture.width * texture.height * texture.layers
    if not texture.is_planes and needed > room:
        refuse(
            f"{texture.batch} rows of {texture.channels} values need {needed} texels, the texture "
            f"has {room}",
            f"{member}.batch",
        )
    if texture.is_planes and needed != texture.layers:
        refuse(
            f"{texture.channels} channels with batch {texture.batch} take {needed} layers, "
            f"not {texture.layers}",
            f"{member}.layers",
        )
    if texture.components < min(texture.channels, LANES):
        refuse(f"{texture.channels} channels do not fit {texture.format}", f"{member}.format")
    if is_input != (texture.slot is None):
        refuse("slot must be null for inputs, a number otherwise", f"{member}.slot")


def _check_ports(build: Build, ports: Sequence[Port], member: Place) -> None:
    names: list[str] = []
    for i, port in enumerate(ports):
        place = f"{member}[{i}]"
        if port.name in names:
            refuse(f"the name {port.name!r} is taken", f"{place}.name")
        names.append(port.name)
        _check_known(build, port.texture, f"{place}.texture")
        _check_port(port, build.textures[port.texture], place)


def _check_port(port: Port, texture: Texture, member: Place) -> None:
    # the form has made sure that no axis is given twice
    rank = len(port.shape)
    if len(port.axes) != rank or any(axis >= rank for axis in port.axes):
        refuse(
            f"the axes {listed(port.axes)} must name each axis of the shape exactly once",
            f"{member}.axes",
        )
    shape = logical_shape(port.shape, port.axes)
    is_signed = port.encoding == "y2rg" or port.encoding == "y2rg_half"
    if texture.is_planes:
        if rank > MAP_RANK:
            refuse(f"planes hold up to {MAP_RANK} axes, not {rank}", f"{member}.shape")
        n, c, h, w = as_map(shape)
        channels_fit = (c == 1 and texture.channels <= 2) if is_signed else c == texture.channels
        if not (channels_fit and n == texture.batch and h == texture.height and w == texture.width):
            refuse(
                f"the shape has N, C, H, W = {n}, {c}, {h}, {w}; the texture has {texture.batch}, "
                f"{texture.channels}, {texture.height}, {texture.width}",
                f"{member}.shape",
            )
    elif is_signed:
        refuse(f"the encoding {port.encoding} needs a channel-packed texture", f"{member}.encoding")
    else:
        row = shape[rank - 1] if rank > 0 else 1
        if row != texture.channels or prod(shape) != texture.batch * texture.channels:
            refuse(
                f"the shape {listed(shape)} does not fit a texture of {texture.batch} rows of "
                f"{texture.channels} values",
                f"{member}.shape",
            )
    if port.dtype != "float32" and port.encoding != "float":
        refuse(f"the encoding {port.encoding} does not support {port.dtype}", f"{member}.dtype")
    if port.encoding == "unorm8" and texture.bits != 8:
        refuse(f"the encoding unorm8 needs an 8-bit texture, not {texture.format}", member)
    if (port.encoding == "float" or port.encoding == "y2rg") and texture.bits == 8:
        refuse(f"the encoding {port.encoding} needs a float texture", member)
    if is_signed and texture.components < 2:
        refuse(f"the encoding {port.encoding} needs two channels, not {texture.format}", member)


def _check_known(build: Build, name: Ref, member: Place) -> None:
    if name not in build.textures:
        refuse(f"there is no texture {name!r}", member)


def _check_passes(build: Build, inputs: set[Ref], written: set[Layer]) -> None:
    """Check the passes in order, and collect the layers that they write."""
    given: set[Ref] = {
        texture.name
        for texture in build.textures.values()
        if texture.data is not None or texture.name in inputs
    }
    for i, gpu_pass in enumerate(build.passes):
        place = f"passes[{i}]"
        slots: set[Layer] = set()  # that it reads, with each layer and with any
        _check_reads(build, gpu_pass, i, place, given, written, slots)
        _check_names(build, gpu_pass, place)
        _check_images(build, gpu_pass, place, inputs)
        _check_writes(build, gpu_pass, i, place, given, written, slots)


def _check_reads(
    build: Build,
    gpu_pass: GpuPass,
    index: int,
    member: Place,
    given: set[Ref],
    written: set[Layer],
    slots: set[Layer],
) -> None:
    for j, read in enumerate(gpu_pass.reads):
        place = f"{member}.reads[{j}]"
        _check_known(build, read.texture, place)
        texture = build.textures[read.texture]
        if texture.is_external and read.matrix is None:
            refuse("a read of an external texture needs a matrix", f"{place}.matrix")
        if not texture.is_external and read.matrix is not None:
            refuse("only reads of external textures have a matrix", f"{place}.matrix")
        low: int = 0
        high: int = texture.layers
        if read.layer is not None:
            if texture.is_array or read.layer >= texture.layers:
                refuse(f"{texture.name!r} has no 2D texture for layer {read.layer}", place)
            low = read.layer
            high = low + 1
        elif not texture.is_array and texture.layers > 1:
            refuse(f"{texture.name!r} has {texture.layers} layers: name one of them", place)
        if read.layers is not None:
            low = read.layers[0]
            high = low + read.layers[1]
            if not texture.is_array or high > texture.layers:
                refuse(
                    f"{texture.name!r} is not an array texture with a layer {high - 1}",
                    f"{place}.layers",
                )
        for layer in range(low, high):
            if read.texture not in given and (read.texture, layer) not in written:
                refuse(f"layer {layer} of {texture.name!r} is read before it is written", place)
            slots.add((texture.slot, layer))
        slots.add((texture.slot, ANY_LAYER))
        _check_lifetime(texture, index, place)


def _check_lifetime(texture: Texture, index: int, place: Place) -> None:
    if index < texture.first or index > texture.last:
        refuse(
            f"pass {index} uses {texture.name!r} outside its lifetime, passes {texture.first} to "
            f"{texture.last}",
            place,
        )


def _check_names(build: Build, gpu_pass: GpuPass, member: Place) -> None:
    blocks: list[str] = []
    for j, block in enumerate(gpu_pass.blocks):
        if block.buffer not in build.buffers:
            refuse(f"there is no buffer {block.buffer!r}", f"{member}.blocks[{j}]")
        blocks.append(block.block)
    if repeats(blocks):
        refuse("a block is given twice", f"{member}.blocks")
    uniforms: list[str] = []
    for uniform in gpu_pass.uniforms:
        uniforms.append(uniform.name)
    for read in gpu_pass.reads:
        if not read.is_image:
            uniforms.append(read.uniform)
        if read.matrix is not None:
            uniforms.append(read.matrix)
    if repeats(uniforms):
        refuse("a uniform is given twice", member)


def _check_images(build: Build, gpu_pass: GpuPass, member: Place, inputs: set[Ref]) -> None:
    """Check the image units of a pass."""
    units: list[int] = []
    for read in gpu_pass.reads:
        if read.is_image:
            if read.texture in inputs:
                refuse(f"the input {read.texture!r} cannot be read as an image", f"{member}.reads")
            _check_image(build.textures[read.texture], member)
            units.append(read.image)
    if isinstance(gpu_pass, ComputePass):
        name = gpu_pass.writes[0].texture
        if any(write.texture != name for write in gpu_pass.writes):
            refuse("a compute pass writes only one texture", f"{member}.writes")
        _check_known(build, name, f"{member}.writes")
        texture = build.textures[name]
        if len(gpu_pass.writes) > 1 and not texture.is_array:
            refuse(
                f"{name!r} is a 2D texture: several writes of a compute pass need an array",
                f"{member}.writes",
            )
        _check_image(texture, member)
        units.append(gpu_pass.image)
    if repeats(units):
        refuse("an image unit is given twice", member)


def _check_image(texture: Texture, member: Place) -> None:
    if not texture.has_images:
        refuse(f"{texture.name!r}: format {texture.format} cannot be bound as an image", member)


def _check_writes(
    build: Build,
    gpu_pass: GpuPass,
    index: int,
    member: Place,
    given: set[Ref],
    written: set[Layer],
    slots: set[Layer],
) -> None:
    layers: set[Layer] = set()
    for j, write in enumerate(gpu_pass.writes):
        place = f"{member}.writes[{j}]"
        _check_known(build, write.texture, place)
        texture = build.textures[write.texture]
        if write.texture in given:
            refuse(f"the pass writes {texture.name!r}, an input or a constant", place)
        if write.layer >= texture.layers:
            refuse(f"{texture.name!r} has no layer {write.layer}", place)
        # a draw, or on WebGPU any pass, may not even read other layers of the array that it writes
        is_draw = not isinstance(gpu_pass, ComputePass)
        is_alone = is_draw or build.requires.wgsl is not None
        layer = ANY_LAYER if is_alone and texture.is_array else write.layer
        if (texture.slot, layer) in slots:
            refuse(f"the pass reads what it writes: {texture.name!r} in slot {texture.slot}", place)
        _check_lifetime(texture, index, place)
        if isinstance(gpu_pass, RenderPass):
            width, height = gpu_pass.viewport
            if width > texture.width or height > texture.height:
                refuse(f"the viewport is larger than {texture.name!r}", f"{member}.viewport")
        layers.add((write.texture, write.layer))
        written.add((write.texture, write.layer))
    if len(layers) < len(gpu_pass.writes):
        refuse("the pass writes a layer twice", f"{member}.writes")


def _check_slots(build: Build, outputs: set[Ref]) -> None:
    for before, after in pairwise(by_slot(build)):
        if before.slot != after.slot:
            continue
        is_same = after.is_array == before.is_array and after.format == before.format
        if not (is_same and after.width == before.width and after.height == before.height):
            refuse(
                f"{before.name!r} and {after.name!r} share slot {after.slot} but differ in kind, "
                "format or size",
                "textures",
            )
        if after.first <= before.last:
            refuse(
                f"{before.name!r} and {after.name!r} share slot {after.slot} but their lifetimes "
                "overlap",
                "textures",
            )
        _check_shared(before, outputs)
        _check_shared(after, outputs)


def _check_shared(texture: Texture, outputs: set[Ref]) -> None:
    if texture.data is not None or texture.name in outputs:
        refuse(
            f"slot {texture.slot} is shared, but {texture.name!r} is a constant or an output",
            "textures",
        )


def _check_requirements(build: Build) -> None:
    """Check that the stated requirements cover the schedule."""
    if build.requires.wgsl is None and not build.requires.glsl >= 300:  # JavaScript: undefined
        refuse("glsl or wgsl is required", "requires")
    if build.requires.wgsl is not None:
        _check_wgsl(build)
    elif build.requires.glsl < 310:
        if any(buffer.is_storage for buffer in build.buffers.values()):
            refuse("storage buffers need glsl 310", "requires.glsl")
        if any(
            isinstance(gpu_pass, ComputePass)
            or gpu_pass.has_barriers
            or any(read.is_image for read in gpu_pass.reads)
            for gpu_pass in build.passes
        ):
            refuse("compute passes, images and barriers need glsl 310", "requires.glsl")
    for texture in build.textures.values():
        if texture.is_external and build.requires.extensions is None:
            refuse("external textures need an extension", "requires.extensions")
    for gpu_pass in build.passes:
        for write in gpu_pass.writes:
            texture = build.textures[write.texture]
            if texture.bits > build.requires.color_bits:
                refuse(
                    f"color_buffer does not allow format {texture.format}, which a pass writes",
                    "requires.color_buffer",
                )


def _check_wgsl(build: Build) -> None:
    """Check that a schedule of WGSL asks for nothing that WebGPU lacks."""
    if build.requires.glsl >= 300:
        refuse("shaders are GLSL ES or WGSL, not both", "requires.glsl")
    for gpu_pass in build.passes:
        if gpu_pass.has_barriers or any(read.is_image for read in gpu_pass.reads):
            refuse("WebGPU has no barriers, and shaders read no images", "requires.wgsl")


def _check_limits(build: Build) -> None:
    used: Use = {}
    for texture in build.textures.values():
        most(used, "texture_size", max(texture.width, texture.height))
        if texture.is_array or build.requires.wgsl is not None:
            most(used, "array_texture_layers", texture.layers)
    for buffer in build.buffers.values():
        kind = "storage_block_size" if buffer.is_storage else "uniform_block_size"
        most(used, kind, buffer.range.size)
    for gpu_pass in build.passes:
        images = sum(read.is_image for read in gpu_pass.reads)
        samplers = len(gpu_pass.reads) - images
        storage = sum(build.buffers[block.buffer].is_storage for block in gpu_pass.blocks)
        uniform = len(gpu_pass.blocks) - storage
        if isinstance(gpu_pass, ComputePass):
            most(used, "compute_texture_units", samplers)
            most(used, "compute_images", images + 1)
            most(used, "compute_uniform_blocks", uniform)
            most(used, "workgroup_invocations", prod(gpu_pass.workgroup))
            for count in gpu_pass.groups:
                most(used, "workgroup_count", count)
        else:
            most(used, "texture_units", samplers)
            most(used, "fragment_images", images)
            most(used, "uniform_blocks", uniform)
            most(used, "storage_blocks", storage)
            most(used, "draw_buffers", len(gpu_pass.writes))
    for name, value in used.items():
        if build.requires.limits[name] < value:
            refuse(
                f"the stated limit is {build.requires.limits[name]}, the passes use {value}",
                f"requires.limits.{name}",
            )
