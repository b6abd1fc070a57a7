"""A frame of a user shader: its GPU passes for pictures of one size, as schedules state passes.

A user shader is written from the schedule of a build, so the schedule states what its passes do.
The file differs in four things:

- The first passes copy what the player hands over.
- Players store all results as 16-bit floats, four in a texel, and share no textures.
- 16-bit types are explicit where the player's GPU has them; estimates count these.
- A linear resize that passes sample from the picture is not made (``sampling``).

Compute passes are stated as the draws of several render targets that they were made from: the costs
of families of GPUs are fitted to draws, and halos are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.types import FORMATS
from ...runtime_glue.python.sizes import resolve
from .expressible import check_ports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...ir.types import TextureFormat
    from ..build_files import BuildFiles
    from .file import UserShader

STORED: TextureFormat = "rgba16f"
EXPLICIT = "explicit_16_bits"  # member of a frame: estimates count explicit 16-bit types


def frame_of(
    files: BuildFiles, shader: UserShader, sizes: Mapping[str, int], luma: str | None = None
) -> dict[str, Any]:
    """Return the schedule of a frame; its passes are the blocks of the file, in their order.

    Args:
        files: of the build that the file was written from.
        shader: the file.
        sizes: height and width of the picture, by the names of the schedule's parameters.
        luma: the name of an input of luma beside one of chroma, if there is one.

    Raises:
        ShadergenError: SG0605 for a size that the network does not take.
    """
    ports = check_ports(files.schedule, luma)
    data = resolve(files.schedule, sizes)
    textures = {t["name"]: t | _stored(t) for t in data["textures"]}
    nodes = {block.node for block in shader.blocks}
    made, sampled = [], set()
    for entry, gpu_pass in zip(data["passes"], files.passes, strict=True):
        if gpu_pass.node in nodes:
            made.append(entry)
        else:
            sampled.add(entry["writes"][0]["texture"])
    for entry in made:
        reads = [
            r | {"texture": ports.picture} if r["texture"] in sampled else r for r in entry["reads"]
        ]
        read = sum(_bytes(textures[name]) for name in {r["texture"] for r in reads})
        width, height = (textures[entry["writes"][0]["texture"]][s] for s in ("width", "height"))
        written = width * height * len(entry["writes"]) * FORMATS[STORED].bytes
        entry |= {"reads": reads, "bytes": {"read": read, "written": written}}
    inputs = [ports.picture, ports.luma] if ports.luma else [ports.picture]
    copies = [_copy(name, textures[name]) for name in inputs]
    kept = [t for t in textures.values() if t["name"] not in sampled]
    return data | {"textures": kept, "passes": [*copies, *made], EXPLICIT: True}


def _stored(texture: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a player stores a texture, unless it holds constants."""
    return {} if texture["data"] is not None else {"format": STORED, "slot": None}


def _bytes(texture: Mapping[str, Any]) -> int:
    size = FORMATS[texture["format"]].bytes
    return int(texture["width"] * texture["height"] * texture["layers"] * size)


def _copy(name: str, texture: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pass that copies what the player hands over."""
    moved = _bytes(texture)
    return {
        "name": f"copy of {name}",
        "kernel": "copy",
        "stage": "fragment",
        "layers": [],
        "viewport": [texture["width"], texture["height"]],
        "reads": [{"uniform": "u_x", "texture": name, "fetches": 1}],
        "blocks": [],
        "writes": [{"texture": name, "layer": 0}],
        "weights": "none",
        "macs": 0,
        "bytes": {"read": moved, "written": moved},
        "work": {
            "invocations": texture["width"] * texture["height"],
            "multiplies": 0,
            "operations": 0,
        },
    }
