"""Results of networks on whole pictures, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ShadergenError, count
from .picture import resized, to_pixels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .network import PictureNetwork, Progress
    from .picture import Picture

BEST = 5  # classes of a whole picture
BEYOND = 0.1  # of values that stand out of 0..1 by more than ringing at edges does
MANY = 0.25  # of the values of a picture


class Range:
    """Watches the values of a picture that is written in parts."""

    def __init__(self) -> None:
        self._number = self._beyond = 0
        self._least, self._largest = np.inf, -np.inf

    def add(self, values: NDArray[Any]) -> None:
        """Count the values of a part."""
        self._number += values.size
        self._beyond += int(np.sum((values < -BEYOND) | (values > 1 + BEYOND)))
        self._least = min(self._least, float(values.min()))
        self._largest = max(self._largest, float(values.max()))

    def note(self) -> str:
        """Return a note if many values are not those of a picture, else nothing."""
        if self._beyond <= MANY * self._number:
            return ""
        return (
            f"{self._beyond / self._number:.0%} of the values lie far outside 0..1 "
            f"({self._least:.3g} to {self._largest:.3g}) and are clipped: the network gets "
            "pictures with values of 0..1, and its results must have such values, too"
        )


def pixel_values(
    network: PictureNetwork, picture: Picture, progress: Progress
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return a number for each pixel of a picture: of a class, or of a map.

    Returns:
        (H, W) at the picture's size: int64 numbers of classes, or float32; and what was done to
        the network's result, a line each.
    """
    prepared = network.prepare(picture.size)
    of = prepared.network
    notes: tuple[str, ...] = ()
    if prepared.plan is None:
        array = network.resized(picture)
        found = _chosen(to_pixels(array, of.row, of.column), of.kind)
    else:
        parts = [_chosen(values, of.kind) for _, values in network.rows(picture, progress)]
        found = np.concatenate(parts)
    if found.shape != picture.size:
        size = "x".join(map(str, found.shape))
        notes = (f"the result of {size} was resized to the picture",)
        if of.kind == "map":
            found = resized(found[..., np.newaxis], picture.size, "BILINEAR")[..., 0]
        else:
            found = _nearest(found, picture.size)
    return found, notes


def _chosen(values: NDArray[Any], kind: str) -> NDArray[Any]:
    if kind == "scores":
        best: NDArray[Any] = np.argmax(values, axis=2)
        return best
    return values[..., 0].astype(np.float32 if kind == "map" else np.int64)


def _nearest(found: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    rows, columns = (
        (np.arange(wanted) * own // wanted) for own, wanted in zip(found.shape, size, strict=True)
    )
    enlarged: NDArray[Any] = found[rows[:, np.newaxis], columns]
    return enlarged


def best_classes(scores: NDArray[Any], labels: Sequence[str] = ()) -> list[tuple[str, float]]:
    """Return the names and the scores of the classes with the largest scores, best first."""
    flat = scores.reshape(-1)
    order = np.argsort(-flat, kind="stable")[:BEST]
    return [(labels[k] if k < len(labels) else f"class {k}", float(flat[k])) for k in order]


def check_labels(labels: Sequence[str], kind: str, depth: int) -> None:
    """Refuse labels that do not fit the network.

    Raises:
        ShadergenError: SG0301.
    """
    if not labels:
        return
    if kind in ("picture", "map"):
        raise ShadergenError(
            "SG0301",
            "--labels is for networks with classes",
            why=f"the output has {count(depth, 'number')} for each pixel, so it is read as a "
            "picture",
            help=f"omit --labels, or give {depth} labels if these numbers are scores",
        )
    if kind != "classes" and len(labels) != depth:
        raise ShadergenError(
            "SG0301", f"--labels has {len(labels)} names, the network has {depth} classes"
        )
