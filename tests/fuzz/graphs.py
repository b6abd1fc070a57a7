"""Random ONNX models."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import (  # noqa: F401 - their entries are the table's
    ops_chains,
    ops_constants,
    ops_control,
    ops_elementwise,
    ops_linear,
    ops_microsoft,
    ops_movement,
    ops_patterns,
    ops_quantization,
    ops_reduction,
    ops_resampling,
    ops_selection,
    ops_windows,
)
from .case import Arrays, Case
from .configurations import configuration
from .draw import Draw
from .net import Net, Rejected, reads
from .operators import grow

OPSETS = (7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18, 19, 20, 21, 22, 23, 24)
DYNAMIC = 0.25  # share of the graphs whose heights and widths are dynamic
OTHER_SIZES = 2  # at which such a graph is replayed, beside its own


def onnx_case(draw: Draw) -> Case:
    """Return a random ONNX model with inputs and options."""
    while True:
        try:
            return _case(draw)
        except Rejected:
            continue


def _case(draw: Draw) -> Case:
    net = Net(draw, draw.one(*OPSETS), draw.chance(DYNAMIC))
    for _ in range(draw.one(1, 1, 2, 3)):
        net.input(_input(net))
    inputs = len(net.pool)
    taken = grow(net, draw.integer(1, draw.one(3, 6, 12, 20)))
    made = net.pool[inputs:]
    if not made:
        raise Rejected("nothing was made")
    read = {name for node in net.nodes for name in reads(node)}
    ends = [n for n in made if n not in read]
    outputs = ends[-draw.integer(1, 4) :]
    outputs += [n for n in made if n in read and n not in outputs and draw.chance(0.05)]
    model = net.model(outputs)
    options = configuration(draw)
    if net.dynamic:
        first = net.values[net.inputs[0]]
        options["dynamic"] = [int(n) for n in first.shape[2:]]
    elif draw.chance(0.1):
        _open(model, options)
    names = [i.name for i in model.graph.input]
    feeds = [{n: net.values[n] for n in names}, *_more(net, names)]
    used = {node.op_type for node in model.graph.node}
    written = draw.chance(0.12)
    made_of = tuple(sorted({*taken} | used))
    return Case(model.SerializeToString(), ".onnx", options, tuple(feeds), written, made_of)


def _input(net: Net) -> Any:
    """Return an array for an input: an image, mostly."""
    draw = net.draw
    channels = draw.one(1, 2, 3, 3, 4, 5, 6, 8, 9, 17)
    if net.dynamic:
        if net.inputs:
            height, width = net.shape(net.inputs[0])[2:]
        else:
            height, width = draw.integer(6, 24), draw.integer(6, 24)
            if draw.chance(0.4):
                height, width = height // 4 * 4 + 4, width // 4 * 4 + 4
        return draw.normal(1, channels, height, width)
    kind = draw.weighted(
        ("image", "tokens", "rows", "signal", "volume", "whole", "bytes", "truth"),
        (10, 2, 2, 1, 0.7, 1, 1, 0.5),
    )
    batch = draw.one(1, 1, 1, 2, 3)
    if kind in ("image", "bytes", "truth"):
        shape = (batch, channels, draw.integer(1, 12), draw.integer(1, 12))
        if kind == "bytes":
            return draw.whole(0, 255, *shape, dtype=np.uint8)
        return draw.normal(*shape) if kind == "image" else draw.rng.random(shape) < 0.5
    if kind == "whole":
        shape = tuple(draw.integers(1, 6, draw.integer(1, 3)))
        return draw.whole(0, 5, *shape, dtype=draw.one(np.int64, np.int32))
    if kind == "tokens":
        return draw.normal(batch, draw.integer(1, 9), draw.one(1, 3, 4, 6, 8, 12))
    if kind == "rows":
        return draw.normal(draw.integer(1, 5), draw.integer(1, 20))
    if kind == "signal":
        return draw.normal(batch, channels, draw.integer(2, 30))
    return draw.normal(1, draw.integer(1, 5), *draw.integers(2, 6, 3))


def _more(net: Net, names: list[str]) -> list[Arrays]:
    """Return other inputs: of other sizes if these are dynamic, else the same numbers elsewhere."""
    draw, feeds = net.draw, []
    if not net.dynamic:
        shuffled = {n: draw.rng.permuted(net.values[n]) for n in names}
        return [shuffled] if draw.chance(0.5) else []
    height, width = net.shape(net.inputs[0])[2:]
    for _ in range(OTHER_SIZES):
        step = draw.one(1, 1, 2, 4)
        h, w = (max(2, n + step * draw.integer(-3, 8)) for n in (height, width))
        feeds.append({n: draw.normal(*net.shape(n)[:2], h, w) for n in names})
    return feeds


def _open(model: Any, options: dict[str, Any]) -> None:
    """Leave the inputs' sizes out of the model, and say them in the options."""
    sizes = {}
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        sizes[info.name] = [d.dim_value for d in dims]
        for k, d in enumerate(dims):
            d.dim_param = f"{info.name}_{k}"
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    options["input_size"] = sizes
