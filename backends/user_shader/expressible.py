"""What a user shader cannot express, refused by the layer's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError, count, few
from ...ir.dimensions import is_dynamic
from ...ir.types import MAP_RANK
from ...records import dataclass
from ..devices.profile import USER_SHADER
from ..gpu import RenderPass
from .hooks import CHROMA, LUMA_SCALE
from .sizes import SYMBOLS, is_fixed, times, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...ir.graph import Graph
    from ..gpu import GpuPass

TABLES = {"rgba32f": np.float32, "rgba16f": np.float16}  # textures of constants, by format
LARGEST_TABLE = 8192  # texels along a side, which players' GPUs have
LUMA_OPTION = "if one input is luma and the other is chroma of half the size, add --luma NAME"
FIX_INPUTS = "set the other inputs to constants with --input-value NAME=..."


@dataclass(frozen=True)
class Ports:
    """What a network reads and writes.

    Attributes:
        picture: the texture of the input that the network replaces.
        luma: the texture of the input of luma that it reads besides; empty if there is none.
        result: the texture of its output.
        channels: how many the picture has.
    """

    picture: str
    luma: str
    result: str
    channels: int


def check_graph(graph: Graph, luma: str | None) -> None:
    """Refuse a network that is not one picture in, apart from luma, and one out.

    Such a network is refused before its layers are, which may be of any kind then.

    Args:
        graph: as imported, with dynamic sizes.
        luma: the name of an input of luma beside one of chroma, if there is one.

    Raises:
        ShadergenError: SG0405; SG0301 for luma alone.
    """
    inputs = [i.name for i in graph.inputs if i.name != luma]
    if not inputs:
        why = f"'{luma}' is the only input, and --luma is for networks that also read chroma"
        raise ShadergenError("SG0301", "--luma has no effect", why=why, help="omit --luma")
    for kind, names, option in (
        ("input", inputs, f"{FIX_INPUTS}, or start the network at one tensor with"),
        ("output", [o.name for o in graph.outputs], "keep one output with"),
    ):
        if len(names) != 1:
            beside = " beside luma" if luma and kind == "input" else ""
            pair = f"\n{LUMA_OPTION}" if kind == "input" and not luma and len(names) > 1 else ""
            raise ShadergenError(
                "SG0405",
                f"a user shader has one {kind}{beside}, the model has {len(names)}",
                where=few(names),
                help=f"{option} --{kind}s NAME{pair}",
            )
    (output,) = graph.outputs
    shape = output.value.type.shape
    if sum(map(is_dynamic, shape)) < len(SYMBOLS):
        raise ShadergenError(
            "SG0405",
            f"output '{output.name}' is not a picture",
            why=f"its shape is {_shape(shape)}; the output of a user shader needs dynamic height "
            "and width",
            help="export the model with dynamic height and width"
            if len(shape) == MAP_RANK and min(shape[2:]) > 1
            else "end the network at a picture with --outputs NAME",
        )


def check_ports(schedule: Mapping[str, Any], luma: str | None) -> Ports:
    """Return what a network reads and writes, of a graph that ``check_graph`` accepts.

    Args:
        schedule: of the build.
        luma: the name of an input of luma beside one of chroma, if there is one.

    Raises:
        ShadergenError: SG0405 for ports that are not pictures, or not of one kind.
    """
    inputs = [port for port in schedule["inputs"] if port["name"] != luma]
    textures = {t["name"]: t for t in schedule["textures"]}
    (given,), (made,) = inputs, schedule["outputs"]
    picture, result = textures[given["texture"]], textures[made["texture"]]
    _check_picture("input", given, picture)
    _check_picture("output", made, result)
    if (picture["width"], picture["height"]) != tuple([symbol] for symbol in SYMBOLS):
        raise ShadergenError(
            "SG0405",
            f"input '{given['name']}' has a fixed size",
            why="videos can have any size",
            help="omit --input-size, or give --input-size dynamic:HxW",
        )
    if picture["channels"] != result["channels"]:
        earlier = ""
        if _has_picture(textures.values(), picture, result):
            wanted = count(picture["channels"], "channel")
            earlier = f"\nor end the network where it has {wanted}: --outputs NAME"
        raise ShadergenError(
            "SG0405",
            f"the network takes {count(picture['channels'], 'channel')} and gives "
            f"{result['channels']}",
            why="a user shader's result must have as many channels as its input picture",
            help="use a build, whose result can have any number of channels: compile without "
            f"--target mpv, then shadergen run{earlier}",
        )
    channels = int(picture["channels"])
    read = [port for port in schedule["inputs"] if port["name"] == luma]
    for port in read:
        _check_luma(port, textures[port["texture"]], channels)
    beside = read[0]["texture"] if read else ""
    return Ports(given["texture"], beside, made["texture"], channels)


def _has_picture(
    textures: Iterable[Mapping[str, Any]],
    picture: Mapping[str, Any],
    result: Mapping[str, Any],
) -> bool:
    """Whether a layer inside the network has the picture's size and number of channels."""
    traits = "packing", "channels", *SYMBOLS
    return any(
        [t[trait] for trait in traits] == [picture[trait] for trait in traits]
        for t in textures
        if t is not picture and t is not result
    )


def _check_luma(port: Mapping[str, Any], texture: Mapping[str, Any], channels: int) -> None:
    """Refuse an input of luma that the player does not have: only chroma is processed after it."""
    _check_picture("input", port, texture)
    wrong = ""
    if channels != CHROMA:
        wrong = f"the other input has {count(channels, 'channel')}, chroma has {CHROMA}"
    elif texture["channels"] != 1:
        wrong = f"it has {count(texture['channels'], 'channel')}, luma has 1"
    elif [tree(texture[side]) for side in SYMBOLS] != [times(s, LUMA_SCALE) for s in SYMBOLS]:
        wrong = f"its size is not {LUMA_SCALE} times that of chroma"
    if wrong:
        raise ShadergenError("SG0405", f"input '{port['name']}' cannot be luma", why=wrong)


def _check_picture(kind: str, port: Mapping[str, Any], texture: Mapping[str, Any]) -> None:
    """Refuse a port that is not one float image."""
    wrong = ""
    if texture["packing"] != "planes" and len(port["shape"]) == MAP_RANK:
        wrong = "it is stored as rows of numbers, not as an image"
    elif texture["packing"] != "planes":
        shape = _shape(port["shape"])
        wrong = f"it has the shape {shape}, a picture is batch x channels x height x width"
    elif port["dtype"] != "float32":
        wrong = f"its type is {port['dtype']}, pictures are float32, 0 to 1"
    elif texture["batch"] != 1:
        wrong = f"it is a batch of {_side(texture['batch'])}"
    elif _is_turned(port["axes"]):
        wrong = "its width comes before its height"
    elif texture["layers"] != 1:
        wrong = f"it has {texture['channels']} channels"
    if wrong:
        raise ShadergenError("SG0405", f"{kind} '{port['name']}' is not a picture", why=wrong)


def _is_turned(axes: Sequence[int]) -> bool:
    """Whether the model has the columns of the texture's picture as rows."""
    height, width = len(axes) - 2, len(axes) - 1
    return height >= 0 and axes.index(width) < axes.index(height)


def check_passes(schedule: Mapping[str, Any], passes: Sequence[GpuPass]) -> None:
    """Refuse what a pass of a user shader cannot do.

    Raises:
        ShadergenError: SG0405 with the layer.
    """
    textures = {t["name"]: t for t in schedule["textures"]}
    for entry, gpu_pass in zip(schedule["passes"], passes, strict=True):
        layer, result_type = gpu_pass.node.name, gpu_pass.node.result.type
        result = textures[entry["writes"][0]["texture"]]
        if entry["blocks"] or not isinstance(gpu_pass, RenderPass):
            raise _refusal(layer, "its weights are in a buffer", "use --weights constants")
        if result_type.rank == 1 and any(map(is_dynamic, result_type.shape)):
            why = "the layer first computes a list of positions, one for each row or column"
            help = "resize by a whole factor with mode linear or nearest, or use DepthToSpace"
            raise _refusal(layer, why, help)
        if result["packing"] != "planes" or result["batch"] != 1:
            why = f"its result is stored as rows of numbers, not as an image: {result_type}"
            raise _refusal(layer, why)
        if result_type.dtype not in ("float32", "bool"):
            why = f"its result is {result_type.dtype}, textures hold 16-bit floats"
            raise _refusal(layer, why)
        sides = [tree(result[side]) for side in SYMBOLS]
        if any(map(is_fixed, sides)):
            why = "it computes a number from the whole picture, as global pooling does"
            help = "use layers that read only a part of the picture, such as MaxPool\n"
            help += "or end the network before the layer with --outputs NAME\n"
            help += "or omit --target mpv: the result is a build folder for your own application"
            raise _refusal(layer, why, help)
        for read in entry["reads"]:
            table = textures[read["texture"]]
            if table["data"] is not None and (
                table["format"] not in TABLES
                or max(table["width"], table["height"]) > LARGEST_TABLE
            ):
                size = f"{table['width']}x{table['height']} texels of {table['format']}"
                most = f"{LARGEST_TABLE}x{LARGEST_TABLE} texels of {' or '.join(TABLES)}"
                why = f"it reads the table '{table['name']}' of {size}; the limit is {most}"
                raise _refusal(layer, why)


def check_binds(layer: str, number: int) -> None:
    """Refuse a pass that binds more textures than players allow.

    Raises:
        ShadergenError: SG0405.
    """
    most = USER_SHADER.texture_units
    if number > most:
        why = f"it binds {number} textures of four channels, players on OpenGL allow {most}"
        raise _refusal(layer, why, "use fewer channels")


def _refusal(layer: str, why: str, help: str = "") -> ShadergenError:
    return ShadergenError(
        "SG0405",
        f"'{layer}' cannot be a pass of a user shader",
        where=f"layer {layer}",
        why=why,
        help=help or "end the network before it with --outputs NAME, or replace the layer",
    )


def _side(size: Any) -> str:
    return str(size) if isinstance(size, int) else "dynamic"


def _shape(shape: Sequence[Any]) -> str:
    sides = list(map(_side, shape))
    return (" x " if "dynamic" in sides else "x").join(sides)
