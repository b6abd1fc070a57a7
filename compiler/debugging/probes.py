"""Builds in memory that show what another build computes on the way.

The runtimes take them as they take any build. In :func:`probed`, each tensor has a texture of its
own, which is an output: after a frame, all of them can be read. In :func:`isolated`, the textures
that the passes of one tensor read are inputs: so the passes can be given right ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...ir.types import LANES
from ...records import replace
from ...runtime_glue.python.schedule import Port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ...runtime_glue.python.schedule import Build, Texture
    from ..runtimes import Context

WRITTEN = " (written)"  # after the name of a texture of which a pass reads other layers
TEXTURE = "\0"  # before the name of an output that is a texture; no name of a build holds it


def probed(build: Build) -> Build:
    """Return a build that also outputs all textures that its passes write, each of its own memory.

    :func:`textures_of` finds them among the outputs.
    """
    written = list(dict.fromkeys(w.texture for p in build.passes for w in p.writes))
    own = {name: replace(build.textures[name], slot=k) for k, name in enumerate(written)}
    textures = {name: own.get(name, texture) for name, texture in build.textures.items()}
    ports = (_port(texture, encoded=False) for texture in own.values())
    outputs = tuple(replace(port, name=TEXTURE + port.name) for port in ports)
    return replace(build, outputs=(*build.outputs, *outputs), textures=textures)


def textures_of(build: Build, outputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the textures among the outputs of a build from :func:`probed`, by their names.

    A texture of planes has the axes batch, channels, height, width; a row-packed one has rows and
    their elements.
    """
    found = {
        name.removeprefix(TEXTURE): array
        for name, array in outputs.items()
        if name.startswith(TEXTURE)
    }
    return {name: as_map(array, build.textures[name]) for name, array in found.items()}


def as_map(array: NDArray[Any], texture: Texture) -> NDArray[Any]:
    """Return what is read of a texture; of stacked planes, as 1, C, H, W.

    Raises:
        ShadergenError: SG0503 if the schedule names channels that the texture cannot hold.
    """
    if texture.stacked is None:
        return array
    planes = -(-texture.stacked // LANES)
    if texture.height % planes or array.shape != (texture.width * texture.height, LANES):
        raise ShadergenError(
            "SG0503",
            f"texture {texture.name!r} does not hold {planes} stacked planes",
            why=f"{texture.height} rows are not a multiple of {planes}"
            if texture.height % planes
            else f"it is {texture.height}x{texture.width} texels; {len(array)} were read",
            help="compile the model again",
        )
    lanes = array.reshape(planes, -1, texture.width, LANES).transpose(0, 3, 1, 2)
    every: NDArray[Any] = lanes.reshape(1, planes * LANES, -1, texture.width)
    return every[:, : texture.stacked]


def from_map(array: NDArray[Any], texture: Texture) -> NDArray[Any]:
    """Return a tensor as a texture takes it: the reverse of :func:`as_map`."""
    if texture.stacked is None:
        return array
    _, channels, height, width = array.shape
    lanes: NDArray[Any] = np.zeros((-(-channels // LANES) * LANES, height, width), array.dtype)
    lanes[:channels] = array[0]
    planes: NDArray[Any] = lanes.reshape(-1, LANES, height, width)
    texels: NDArray[Any] = planes.transpose(0, 2, 3, 1).reshape(-1, LANES)
    return texels


def isolated(build: Build, positions: Sequence[int]) -> Build:
    """Return a build of the passes of one tensor; what they read are its inputs.

    Args:
        build: at fixed sizes.
        positions: of the passes, which write the same texture.
    """
    passes = [build.passes[k] for k in positions]
    written = passes[0].writes[0].texture
    read = dict.fromkeys(r.texture for p in passes for r in p.reads)
    own = [build.textures[name] for name in read if build.textures[name].data is None]
    constant = [build.textures[name] for name in read if build.textures[name].data is not None]
    result = replace(build.textures[written], name=written + WRITTEN, slot=0)
    passes = [
        replace(p, writes=tuple(replace(w, texture=result.name) for w in p.writes)) for p in passes
    ]
    inputs = [replace(texture, slot=None) for texture in own]
    buffers = {b.buffer for p in passes for b in p.blocks}
    return replace(
        build,
        inputs=tuple(_port(texture, encoded=True) for texture in inputs),
        outputs=(_port(result, encoded=False),),
        textures={t.name: t for t in (*inputs, *constant, result)},
        buffers={name: buffer for name, buffer in build.buffers.items() if name in buffers},
        passes=tuple(passes),
        shaders={path: build.shaders[path] for p in passes for path in p.shaders},
    )


def run(
    context: Context, build: Build, inputs: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Run a build once and return its outputs by name.

    Raises:
        ShadergenError: SG06xx.
    """
    with context.runner(build) as runner:
        for port in build.inputs:
            runner.upload(port.name, inputs[port.name])
        runner.run()
        runner.check()
        return {port.name: runner.read(port.name) for port in build.outputs}


def as_stored(array: NDArray[Any], texture: Texture) -> NDArray[Any]:
    """Return numbers as a texture of this format holds them, in float32."""
    stored: NDArray[Any]
    if texture.bits == 8:
        stored = np.rint(np.clip(array, 0, 1) * 255) / 255
    else:
        with np.errstate(over="ignore"):
            stored = array.astype(np.float16 if texture.bits == 16 else np.float32)
    return stored.astype(np.float32, copy=False)


def _port(texture: Texture, encoded: bool) -> Port:
    """Return a port of a whole texture; ``encoded`` where it takes 8-bit images."""
    shape: tuple[int, ...] = (texture.batch, texture.channels)
    if texture.is_planes:
        shape += (texture.height, texture.width)
    encoding = "unorm8" if encoded and texture.bits == 8 else "float"
    axes = tuple(range(len(shape)))
    return Port(texture.name, texture.name, shape, axes, encoding, "float32")
