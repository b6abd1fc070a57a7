"""What ``view`` shows: a build runs once, and each of its tensors becomes a sheet of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass
from ...runtime_glue.python.loading import load
from ..debugging.probes import probed, run, textures_of
from ..debugging.sheets import as_maps, columns_of, sheet
from ..random_inputs import random_inputs_of_ports
from ..running import read_inputs
from ..runtimes import chosen, for_context, open_context, runtimes_of
from .pictures import GAP, colour_png, indices, palette, png, shrunk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from ...runtime_glue.python.schedule import Build

ASPECT = 3.0  # of a sheet: its width for its height
PIXELS = 4_000_000  # of a sheet on a page, about
MAP_SIDE = 192  # pixels of a map on a page, by default
PICTURE_SIDE = 640  # pixels of a picture in colour
SLIGHTLY = 0.25  # of the largest number of a picture, that others may lie below 0
OUTLIERS = 0.005  # share of the numbers of a map, at either end, that colours do not span


@dataclass(frozen=True)
class Shown:
    """A tensor as a sheet of maps.

    Attributes:
        name: of its texture in the build.
        layers: of the model that its GPU passes compute; empty for an input.
        kernels: what computes it, each once.
        passes: the positions of the GPU passes that write it.
        shape: as batch, channels, height, width; of a row-packed tensor rows, elements.
        low: the least finite number.
        high: the largest.
        mean: of the finite numbers.
        not_finite: how many are infinite or NaN.
        constant: the channels that hold one number alone.
        ranges: the least and the largest number of each map.
        map_size: rows and columns of a map in the sheet.
        averaged: the side of the squares of numbers that a pixel averages.
        columns: maps side by side.
        size: rows and columns of the sheet.
        png: the sheet.
        picture: an input or an output of 3 channels as a PNG in colour; empty for other tensors.
    """

    name: str
    layers: tuple[str, ...]
    kernels: tuple[str, ...]
    passes: tuple[int, ...]
    shape: tuple[int, ...]
    low: float
    high: float
    mean: float
    not_finite: int
    constant: tuple[int, ...]
    ranges: tuple[tuple[float, float], ...]
    map_size: tuple[int, int]
    averaged: int
    columns: int
    size: tuple[int, int]
    png: bytes
    picture: bytes = b""


@dataclass(frozen=True)
class View:
    """A build on one input.

    Attributes:
        title: the model's name in the build.
        source: the name of the input file; empty for random inputs.
        renderer: what ran the build.
        scale: of ``SCALES``.
        passes: how many GPU passes the build has.
        tensors: the inputs, then what the GPU passes write, in order.
        note: what was done to the input, if anything.
    """

    title: str
    source: str
    renderer: str
    scale: str
    passes: int
    tensors: tuple[Shown, ...]
    note: str = ""


def view_build(
    folder: Path,
    source: Path | None = None,
    scale: str = "channel",
    map_side: int | None = MAP_SIDE,
    variant: str | None = None,
    runtime: str = "auto",
    adapter: str = "",
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> View:
    """Run a build and show all of its tensors.

    Args:
        folder: the build.
        source: a picture, or arrays, as ``run`` takes them; None for random inputs.
        scale: the range of colours is that of each channel, or of all of a layer.
        map_side: the most pixels of a map's side; larger maps are averaged. None keeps them.
        variant: the name of the variant to run; by default the one for the adapter.
        runtime: of ``RUNTIMES``.
        adapter: a part of the adapter's name.
        seed: of random inputs.
        progress: called with the name of each step.

    Raises:
        ShadergenError: SG01xx, SG05xx, SG06xx; SG0301 for an external input.
    """
    build = load(folder, variant=variant)
    names = chosen(runtime, runtimes_of(build), f"'{folder}'")
    if any(t.is_external for t in build.textures.values()):
        raise ShadergenError(
            "SG0301",
            f"'{folder}' reads an external texture, which cannot be viewed",
            help="compile without --input-external",
        )
    inputs, note = None, ""
    if source is not None:
        build, inputs, note = read_inputs(build, source)
    with open_context(names, adapter) as context:
        build = for_context(build, context)
        if inputs is None:
            inputs = random_inputs_of_ports(build.inputs, seed)
        progress("running the build")
        textures = textures_of(build, run(context, probed(build), inputs))
        renderer = str(context.info().renderer)
    ports = {port.texture: port for port in build.inputs}
    for name, port in ports.items():
        logical = inputs[port.name].transpose(np.argsort(port.axes))
        textures[name] = np.asarray(logical, np.float32)
    progress("drawing")
    order = [*ports, *(name for name in _written(build) if name not in ports)]
    in_colour = {port.texture for port in (*build.inputs, *build.outputs)} if source else set()
    tensors = (
        _shown(build, name, textures[name], scale, map_side, name in in_colour) for name in order
    )
    title, file = build.model, "" if source is None else source.name
    return View(title, file, renderer, scale, len(build.passes), tuple(tensors), note)


def _written(build: Build) -> list[str]:
    """Return the textures that passes write, in the order of their first passes."""
    return list(dict.fromkeys(w.texture for p in build.passes for w in p.writes))


def _shown(
    build: Build,
    name: str,
    array: NDArray[Any],
    scale: str,
    map_side: int | None,
    in_colour: bool,
) -> Shown:
    passes = [
        (k, p) for k, p in enumerate(build.passes) if any(w.texture == name for w in p.writes)
    ]
    maps = as_maps(array.astype(np.float64))
    finite = np.isfinite(maps)
    lows = np.where(finite, maps, np.inf).min(axis=(1, 2), initial=np.inf)
    highs = np.where(finite, maps, -np.inf).max(axis=(1, 2), initial=-np.inf)
    lows, highs = np.where(lows > highs, 0.0, lows), np.where(lows > highs, 0.0, highs)
    count = max(1, int(finite.sum()))
    mean = float(maps.sum(where=finite)) / count
    small, averaged = (maps, 1) if map_side is None else shrunk(maps, map_side, PIXELS)
    first, last = _span(maps, finite, lows, highs)
    several = maps.shape[1] * maps.shape[2] > 1
    if scale == "layer" or not several:  # a map of one number has no range of its own
        first, last = np.full_like(first, first.min()), np.full_like(last, last.max())
    signed = bool(lows.min() < 0 < highs.max())
    if in_colour and _is_rgb(array) and lows.min() >= -SLIGHTLY * highs.max():  # a photograph
        signed, first = False, np.maximum(first, 0.0)
    if signed:  # black is 0
        last = np.maximum(np.abs(first), np.abs(last))
        first = -last
    columns = columns_of(len(small), small.shape[1], small.shape[2], ASPECT)
    image = sheet(indices(small, first, last), GAP, columns)
    constant = np.flatnonzero((lows == highs) & finite.all(axis=(1, 2)))
    return Shown(
        name,
        tuple(dict.fromkeys(layer for _, p in passes for layer in p.layers)),
        tuple(dict.fromkeys(p.kernel for _, p in passes)),
        tuple(k for k, _ in passes),
        array.shape,
        low=float(lows.min()),
        high=float(highs.max()),
        mean=mean,
        not_finite=int((~finite).sum()),
        constant=tuple(map(int, constant)) if several else (),
        ranges=tuple(zip(map(float, lows), map(float, highs), strict=True)),
        map_size=(small.shape[1], small.shape[2]),
        averaged=averaged,
        columns=columns,
        size=(image.shape[0], image.shape[1]),
        png=png(image, palette(signed)),
        picture=colour_png(array[0], PICTURE_SIDE) if in_colour and _is_rgb(array) else b"",
    )


def _is_rgb(array: NDArray[Any]) -> bool:
    picture = array.ndim == 4 and array.shape[:2] == (1, 3) and min(array.shape[2:]) > 1
    return picture and bool(np.isfinite(array).all())


def _span(
    maps: NDArray[Any], finite: NDArray[np.bool_], lows: NDArray[Any], highs: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the numbers of the first and the last colour of each map: its range but outliers."""
    first, last = lows.copy(), highs.copy()
    for k, (one, known) in enumerate(zip(maps, finite, strict=True)):
        if known.any():
            low, high = np.quantile(one[known], (OUTLIERS, 1 - OUTLIERS))
            if low < high:
                first[k], last[k] = low, high
    return first, last
