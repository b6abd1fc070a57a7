"""Detectors: networks that give boxes and scores, drawn on the picture.

Recognised are two outputs, or three: boxes (N, 4), scores (N,), (N, C) or (C, N), and numbers of
classes (N,), all with further axes of size 1. A box is two corners: x1, y1, x2, y2, or in outputs
called ``detection_boxes``, as TensorFlow has them, y1, x1, y2, x2. Corners count pixels of the
network's input, or shares of its sides if none exceeds 2.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError
from ...records import dataclass
from .. import extras
from .drawing import COLOURS, palette
from .kinds import only
from .picture import as_integers, axes_of, channels_of, resize_note, resized_picture, to_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...runtime_glue.python.schedule import Port
    from ..runtimes import Build
    from ..session import Session
    from .picture import Picture

    Floats = NDArray[np.float32]

LEAST = 0.5  # score of a box that is shown
SHARED = (
    0.5  # of two boxes of a class: intersection over union from which the lesser one is dropped
)
MOST = 100  # boxes that are shown
SHARES = 2.0  # largest corner of boxes whose corners are shares
TENSORFLOW = "detection_boxes"


@dataclass(frozen=True)
class Box:
    """An object in a picture.

    Attributes:
        name: of its class.
        number: of its class.
        score: from 0 to 1.
        corners: x1, y1, x2, y2 in pixels of the picture.
    """

    name: str
    number: int
    score: float
    corners: tuple[float, float, float, float]


@dataclass(frozen=True)
class Detector:
    """The outputs of a network that detects objects: their names, and the number of boxes."""

    boxes: str
    scores: str
    classes: str | None
    count: int


def detector_of(build: Build) -> Detector | None:
    """Return the outputs of a detector; None for other networks of several outputs.

    Raises:
        ShadergenError: SG0605 for boxes whose scores cannot be told.
    """
    boxes = [port for port in build.outputs if len(port.shape) > 1 and port.shape[-1] == 4]
    boxes = [port for port in boxes if prod(port.shape) == 4 * port.shape[-2]]
    named = [port for port in boxes if "box" in port.name.lower()] or boxes
    if len(build.outputs) not in (2, 3) or len(named) != 1:
        return None
    (chosen,) = named
    count = chosen.shape[-2]
    rest = [port for port in build.outputs if port is not chosen]
    floats = [port for port in rest if port.dtype == "float32" and _fits(port, count)]
    whole = [port for port in rest if port.dtype != "float32" and prod(port.shape) == count]
    if len(floats) == 2:  # classes as floats are known by their name
        whole = [port for port in floats if any(w in port.name.lower() for w in ("class", "label"))]
        floats = [port for port in floats if port not in whole]
    if len(floats) != 1 or len(whole) != len(rest) - 1:
        shapes = ", ".join(f"{port.name} {port.shape}" for port in build.outputs)
        raise ShadergenError(
            "SG0605",
            f"cannot identify the scores of the boxes '{chosen.name}'",
            why=f"the outputs are {shapes}",
            supported=f"one output of scores, of shape ({count},) or ({count}, number of classes), "
            f"and at most one of class numbers, of shape ({count},)",
            help="use .npz files for input and output",
        )
    return Detector(chosen.name, floats[0].name, whole[0].name if whole else None, count)


def _fits(port: Port, count: int) -> bool:
    sizes = [size for size in port.shape if size != 1]
    return sizes == [count] or (len(sizes) == 2 and count in sizes)


def detect(
    session: Session, detector: Detector, picture: Picture, labels: Sequence[str]
) -> tuple[list[Box], tuple[str, ...]]:
    """Return the objects in a picture, the best first, and what was done.

    Raises:
        ShadergenError: SG0605 when the boxes are not corners.
    """
    port = only(session.build.inputs, "inputs")
    axes = axes_of(port.shape, port.axes, port.name)
    size = port.shape[axes.row], port.shape[axes.column]
    everything = slice(None)
    pixels = picture.part(everything, everything, channels_of(port.shape, axes))
    host = to_host(resized_picture(pixels, size), port.shape, axes)
    outputs = session.run({port.name: host})
    corners = outputs[detector.boxes].reshape(-1, 4).astype(np.float64)
    order = "x1, y1, x2, y2"
    if TENSORFLOW in detector.boxes:
        corners, order = corners[:, [1, 0, 3, 2]], "y1, x1, y2, x2"
    scores, numbers = _best(outputs, detector)
    sure = np.flatnonzero(scores >= LEAST)
    sure = sure[np.argsort(-scores[sure], kind="stable")]
    if (corners[sure, 2:] < corners[sure, :2]).any():
        raise ShadergenError(
            "SG0605",
            f"the numbers in '{detector.boxes}' are not corners of boxes",
            why=f"read as {order}, some boxes have negative sizes",
            help="use .npz files for input and output",
        )
    shares = not sure.size or corners[sure].max() <= SHARES
    unit = "fractions of height and width" if shares else f"pixels of {size[0]}x{size[1]}"
    sides = np.array(picture.size[::-1] * 2, np.float64)
    corners = corners * (sides if shares else sides / np.array(size[::-1] * 2))
    found = []
    for k in _without_doubles(corners, numbers, sure)[:MOST]:
        number = int(numbers[k])
        name = labels[number] if number < len(labels) else f"class {number}"
        x1, y1, x2, y2 = map(float, corners[k])
        found.append(Box(name, number, float(scores[k]), (x1, y1, x2, y2)))
    notes = [f"boxes read as {order}, in {unit}; those with scores below {LEAST} left out"]
    if picture.size != size:
        notes.insert(0, resize_note(picture.size, size))
    return found, tuple(notes)


def _best(outputs: dict[str, NDArray[Any]], detector: Detector) -> tuple[Any, Any]:
    """Return the score and the class of each box."""
    scores = np.squeeze(outputs[detector.scores]).astype(np.float64)
    if scores.ndim == 2:
        scores = scores if scores.shape[0] == detector.count else scores.T
        return scores.max(1), scores.argmax(1)
    scores = scores.reshape(detector.count)
    if detector.classes is None:
        return scores, np.zeros(detector.count, np.int64)
    return scores, np.rint(outputs[detector.classes]).astype(np.int64).reshape(detector.count)


def _without_doubles(corners: Any, numbers: Any, order: Any) -> list[int]:
    """Return boxes in their order, without those that share most of a better one of the class."""
    kept: list[int] = []
    areas = np.prod(corners[:, 2:] - corners[:, :2], axis=1)
    for k in order:
        better = [j for j in kept if numbers[j] == numbers[k]]
        low = np.maximum(corners[better, :2], corners[k, :2])
        high = np.minimum(corners[better, 2:], corners[k, 2:])
        shared = np.prod(np.maximum(high - low, 0), axis=1)
        union = areas[better] + areas[k] - shared
        if not (shared > SHARED * union).any():
            kept.append(int(k))
    return kept


def draw_boxes(picture: Picture, boxes: Sequence[Box]) -> NDArray[np.uint8]:
    """Return a picture (H, W, 3) with boxes and their names."""
    pillow = extras.pillow()
    draws = extras.need("PIL.ImageDraw", "pillow", "drawing")
    everything = slice(None)
    image = pillow.fromarray(as_integers(picture.part(everything, everything, 3), 8))
    draw = draws.Draw(image)
    width = max(1, max(picture.size) // 300)
    for box in reversed(boxes):  # the best ones on top
        colour = tuple(map(int, palette()[(box.number + 1) % COLOURS]))
        draw.rectangle(box.corners, outline=colour, width=width)
        text, at = f"{box.name} {box.score:.2f}", box.corners[:2]
        draw.rectangle(draw.textbbox(at, text), fill=colour)
        draw.text(at, text, fill="white" if sum(colour) < 380 else "black")
    drawn: NDArray[np.uint8] = np.asarray(image)
    return drawn
