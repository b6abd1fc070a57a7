"""Textures on WebGPU: create, fill, read back. A tensor is one texture, of one layer or of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ShadergenError
from ..pixels import FORMATS
from ..textures import RESIZE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule import Port, Texture

_ROW_ALIGNMENT = 256  # bytes of a row of texels in a buffer
_COPY_SRC = 1  # of GPUTextureUsage
_USES = ("TEXTURE_BINDING", "COPY_DST", "COPY_SRC", "RENDER_ATTACHMENT")


def format_of(texture: Texture) -> str:
    """Return WebGPU's name of a texture's format: "rgba16float" of "rgba16f"."""
    kind = "unorm" if texture.bits == 8 else "float"
    return f"{'rgba'[: texture.components]}{texture.bits}{kind}"


def make_texture(wgpu: Any, device: Any, texture: Texture, layers: int) -> Any:
    """Create the texture of a tensor, without content."""
    usage = 0
    for use in (*_USES, *(["STORAGE_BINDING"] if texture.has_images else [])):
        usage |= getattr(wgpu.TextureUsage, use)
    return device.create_texture(
        label=texture.name,
        size=(texture.width, texture.height, layers),
        format=format_of(texture),
        usage=usage,
    )


def fill_texture(device: Any, texture: Texture, made: Any, texels: bytes | NDArray[Any]) -> None:
    """Upload the texels of all layers."""
    row = texture.width * FORMATS[texture.format].bytes
    device.queue.write_texture(
        {"texture": made},
        texels,
        {"bytes_per_row": row, "rows_per_image": texture.height},
        (texture.width, texture.height, texture.layers),
    )


def read_texture(device: Any, texture: Texture, made: Any) -> NDArray[Any]:
    """Return a tensor's texels, (layers, height, width, components); waits for the GPU."""
    components, dtype = FORMATS[texture.format]
    width, height, layers = texture.width, texture.height, texture.layers
    texel = FORMATS[texture.format].bytes
    row = -(-width * texel // _ROW_ALIGNMENT) * _ROW_ALIGNMENT
    data = device.queue.read_texture(
        {"texture": made}, {"bytes_per_row": row, "rows_per_image": height}, (width, height, layers)
    )
    rows = np.frombuffer(data, np.uint8).reshape(layers, height, row)[..., : width * texel]
    texels = np.ascontiguousarray(rows).view(dtype)
    return texels.reshape(layers, height, width, components)


def await_texture(device: Any, made: Any) -> None:
    """Wait until all work submitted so far is done: a copy of a texel comes after it.

    ``on_submitted_work_done_sync`` of wgpu 0.32 raises a TypeError.
    """
    layout = {"bytes_per_row": _ROW_ALIGNMENT, "rows_per_image": 1}
    device.queue.read_texture({"texture": made}, layout, (1, 1, 1))


def check_readable(port: Port, texture: Texture, made: Any) -> None:
    """Refuse to read an output in an application's texture that holds it otherwise.

    Raises:
        ShadergenError: SG0605.
    """
    wrong = ""
    if made.format != format_of(texture):
        wrong = f"it is in a texture of format {made.format}, not {format_of(texture)}"
    elif not made.usage & _COPY_SRC:
        wrong = "its texture has no usage COPY_SRC"
    if wrong:
        raise ShadergenError("SG0605", f"'{port.name}' cannot be read: {wrong}")


def check_texture(port: Port, texture: Texture, given: Any, uses: Any, use: str) -> None:
    """Refuse an application's texture that does not fit the schedule.

    Args:
        port: the input or output.
        texture: the port's texture in the schedule.
        given: a ``wgpu.GPUTexture``.
        uses: WebGPU's flags of uses.
        use: the one that the runner needs; what shaders store to must have the schedule's format.

    Raises:
        ShadergenError: SG0605.
    """
    size = getattr(given, "size", None)
    wanted = (texture.width, texture.height, texture.layers)
    wrong = ""
    if size is None:
        wrong = f"{given!r} is not a WebGPU texture"
    elif tuple(size) != wanted:
        wrong = f"the texture has size {_text(size)}, not {_text(wanted)} (width, height, layers)"
    elif given.dimension != "2d" or given.sample_count != 1:
        wrong = "the texture must be of dimension 2d and have one sample"
    elif not given.usage & getattr(uses, use):
        wrong = f"the texture lacks the usage {use}"
    elif not given.format.endswith(("float", "unorm")):
        wrong = f"the texture's format is {given.format}, but the shaders read and write floats"
    elif use == "STORAGE_BINDING" and given.format != format_of(texture):
        wrong = f"the texture's format is {given.format}, not {format_of(texture)}"
    if wrong:
        sized = size is not None and tuple(size)[:2] != wanted[:2]
        raise ShadergenError("SG0605", wrong, where=port.name, help=RESIZE if sized else "")


def _text(size: tuple[int, ...]) -> str:
    return "x".join(map(str, size))
