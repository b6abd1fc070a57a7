"""Compile an image's preprocessing into the network, as its first operators.

model input = (scale * reorder(image) - mean) / deviation, channel by channel. The image is the
application's texture: RGB, 0..1. Later passes fold the operators into the first convolution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShadergenError, count
from ..ir.formula_parser import parse
from ..ir.graph import Graph, Input, Value, apply, constant
from ..ir.ops import Pointwise, Slice
from ..records import dataclass, replace

if TYPE_CHECKING:
    from ..ir.graph import Node


@dataclass(frozen=True)
class Preprocessing:
    """The preprocessing of an image before the model.

    Attributes:
        reverse: the model wants BGR where the texture holds RGB.
        scale: factor that takes 0..1 to the model's range; one number for each channel, or one.
        mean: subtracted after scaling, in the model's channel order; likewise.
        deviation: divided by last, in the model's channel order; likewise.
        eight_bit: the input texture is an 8-bit image.
    """

    reverse: bool = False
    scale: tuple[float, ...] = (1.0,)
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)
    eight_bit: bool = False


def attach_preprocessing(graph: Graph, wanted: Preprocessing) -> Graph:
    """Return the graph with the preprocessing before its only image input.

    Raises:
        ShadergenError: SG0301 when there is not exactly one input, it is no image of 1, 3 or 4
            channels (axis 1), one channel is to be reversed, or the number of values is not that of
            its channels.
    """
    if len(graph.inputs) != 1 or graph.inputs[0].type.rank != 4:
        raise ShadergenError(
            "SG0301",
            "--preprocess needs a model with one image input",
            where=", ".join(f"{i.name} {i.type}" for i in graph.inputs),
        )
    (old,) = graph.inputs
    channels = old.shape[1]
    if channels not in (1, 3, 4):
        raise ShadergenError(
            "SG0301",
            f"--preprocess needs an image, the input has {count(channels, 'channel')}",
            where=f"input '{old.name}' of {old.type}",
            supported="1, 3 or 4 channels",
        )
    if wanted.reverse and channels == 1:
        raise ShadergenError(
            "SG0301",
            "--preprocess order=bgr needs an image with colours, the input has 1 channel",
            where=f"input '{old.name}' of {old.type}",
            help="omit order=bgr",
        )
    port = replace(old.port, encoding="unorm8") if wanted.eight_bit else old.port
    image = Input(old.type, old.name, port)
    scale, mean, deviation = (
        _per_channel(name, values, channels)
        for name, values in (
            ("scale", wanted.scale),
            ("mean", wanted.mean),
            ("std", wanted.deviation),
        )
    )
    if not all(np.isfinite(v).all() for v in (scale, mean, deviation)):
        raise ShadergenError("SG0301", "--preprocess: scale, mean and std must be finite numbers")
    if not deviation.all():
        raise ShadergenError("SG0301", "--preprocess: std must not be 0")
    slope, offset = scale / deviation, -mean / deviation
    order = slice(None, None, -1 if wanted.reverse else 1)
    value: Value = image
    if (slope != 1).any() or (offset != 0).any():
        value = apply(
            Pointwise(parse("x0 * x1 + x2")),
            value,
            constant(slope[order].reshape(1, -1, 1, 1), "scale"),
            constant(offset[order].reshape(1, -1, 1, 1), "offset"),
            layer="preprocess",
        )
    if wanted.reverse:
        cut = Slice((0, channels - 1, 0, 0), (1, -1, 1, 1), old.shape)
        value = apply(cut, value, layer="preprocess")
    return _replace_input(graph, old, image, value)


def _per_channel(name: str, values: tuple[float, ...], channels: int) -> np.ndarray:
    if len(values) not in (1, channels):
        raise ShadergenError(
            "SG0301",
            f"--preprocess: {name} has {count(len(values), 'value')}",
            why=f"the input has {count(channels, 'channel')}",
            supported="one value, or one for each channel",
        )
    wide: np.ndarray = np.broadcast_to(np.array(values, np.float64), (channels,)).copy()
    return wide


def _replace_input(graph: Graph, old: Input, image: Input, value: Value) -> Graph:
    """Rebuild the graph reading ``value`` where it read ``old``."""

    def read(now: Node, was: Node) -> Node:
        return replace(was, inputs=tuple(value if v is old else v for v in now.inputs))

    rebuilt = graph.rewrite(lambda now, was: read(now, was) if old in was.inputs else None)
    outputs = tuple(replace(o, value=value) if o.value is old else o for o in rebuilt.outputs)
    return Graph(graph.name, (image,), outputs)
