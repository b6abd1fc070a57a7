"""Random Keras models, saved as Keras saves them."""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np

from . import (  # noqa: F401 - their entries are the table's
    layers_chains,
    layers_elementwise,
    layers_linear,
    layers_movement,
    layers_operations,
    layers_recurrent,
    layers_windows,
)
from .case import Case
from .configurations import configuration
from .draw import Draw
from .keras_layers import grow
from .keras_net import KerasNet
from .keras_oracle import loaded, saved
from .net import Rejected

DYNAMIC = 0.2
OTHER_SIZES = 2


def keras_case(draw: Draw) -> Case:
    """Return a random Keras model with inputs and options."""
    keras.utils.set_random_seed(draw.integer(0, 2**31))  # names of layers and weights restart too
    while True:
        keras.utils.clear_session(free_memory=False)
        try:
            return _case(draw)
        except Rejected:
            continue


def _case(draw: Draw) -> Case:
    dynamic = draw.chance(DYNAMIC)
    net = KerasNet(draw, dynamic, chain=draw.chance(0.2))
    for _ in range(1 if net.chain else draw.one(1, 1, 2)):
        net.input(_input(net))
    inputs = len(net.pool)
    taken = grow(net, draw.integer(1, draw.one(2, 5, 10)))
    made = net.pool[inputs:]
    ends = [t for t in made if id(t.symbol) not in net.read]
    if not ends or (net.chain and len(ends) != 1):
        raise Rejected("nothing was made")
    ends = ends[-draw.integer(1, 3) :]
    suffix = draw.one(".keras", ".keras", ".h5")
    try:
        model, used = _model(net, ends)
        data = saved(model, suffix)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # remarks on lists of one, and on none
            again = loaded(data, suffix)([i.value for i in used], training=False)
    except Exception as error:  # Keras cannot save or load what it made
        raise Rejected(str(error)) from None
    for y, end in zip(keras.tree.flatten(again), ends, strict=True):
        if not np.allclose(keras.ops.convert_to_numpy(y), end.value, atol=1e-3):
            raise Rejected("Keras does not load what it saved")  # from .h5, lists of axes
    feeds = [{i.symbol.name: i.value for i in used}]
    options = configuration(draw)
    if dynamic:
        height, width = used[0].value.shape[1:3]
        options["dynamic"] = [int(height), int(width)]
        for _ in range(OTHER_SIZES):
            h, w = (max(2, n + draw.one(1, 2, 4) * draw.integer(-3, 6)) for n in (height, width))
            feeds.append({i.symbol.name: draw.normal(1, h, w, i.value.shape[3]) for i in used})
    return Case(data, suffix, options, tuple(feeds), True, tuple(sorted({*taken})))


def _model(net: KerasNet, ends: list[Any]) -> tuple[Any, list[Any]]:
    if net.chain:
        return keras.Sequential([net.inputs[0].symbol, *net.layers]), net.inputs
    symbols = [t.symbol for t in ends]
    for used in (net.inputs, net.inputs[:1], net.inputs[1:]):
        if used:
            try:
                return keras.Model([t.symbol for t in used], symbols), used
            except ValueError:  # an input that nothing reads, or that is missing
                continue
    raise Rejected("no model")


def _input(net: KerasNet) -> Any:
    """Return an array for an input, with the batch of one that builds have."""
    draw = net.draw
    depth = draw.one(1, 2, 3, 3, 4, 5, 6, 8, 9, 17)
    if net.dynamic:
        if net.inputs:
            return draw.normal(1, *net.inputs[0].value.shape[1:3], depth)
        return draw.normal(1, *draw.integers(6, 20, 2), depth)
    kind = draw.weighted(("image", "tokens", "rows", "volume", "whole"), (10, 3, 2, 1, 0.7))
    if kind == "image":
        return draw.normal(1, *draw.integers(1, 12, 2), depth)
    if kind == "tokens":
        return draw.normal(1, draw.integer(2, 10), depth)
    if kind == "rows":
        return draw.normal(1, draw.integer(1, 20))
    if kind == "volume":
        return draw.normal(1, *draw.integers(2, 6, 3), draw.integer(1, 4))
    return draw.whole(0, 9, 1, draw.integer(1, 7), dtype=np.int32)
