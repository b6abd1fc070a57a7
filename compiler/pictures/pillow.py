"""Networks on Pillow images, for the Python interface."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .network import PictureNetwork
from .picture import with_source
from .reading import from_pillow
from .results import pixel_values
from .writing import to_pillow

if TYPE_CHECKING:
    from ..session import Session
    from .picture import Picture


class PictureWarning(UserWarning):
    """How a picture was run by a build that does not take its size: resized, padded or in tiles."""


def run_image(session: Session, given: dict[str, Any]) -> Any:
    """Run a build on a Pillow image.

    Args:
        session: of the build.
        given: the image by the name of the input.

    Returns:
        As :meth:`..session.Session.__call__`.

    Raises:
        ShadergenError: SG0605 when they do not fit.
    """
    network = PictureNetwork(session)
    ((name, image),) = given.items()
    picture = from_pillow(image, f"the picture for '{name}'")
    prepared = network.prepare(picture.size)
    notes = (*picture.notes, *prepared.notes)
    result: Any
    if prepared.network.kind == "category":
        result = network.resized(picture)
    elif prepared.network.kind == "picture":
        result = _image(network, picture)
    else:
        result, more = pixel_values(network, picture, lambda step, done, total: None)
        notes = (*notes, *more)
    for note in notes:
        warnings.warn(note, PictureWarning, stacklevel=5)
    return result


def _image(network: PictureNetwork, picture: Picture) -> Any:
    """Return the result as an image, in 8 bits but for grey ones, of which Pillow has 16."""
    plan = network.prepare(picture.size).plan
    assert plan is not None
    bits = 16 if picture.bits == 16 and picture.channels == 1 and picture.alpha is None else 8
    rows = [
        with_source(values, (first, first + len(values)), plan.size, picture, bits)
        for first, values in network.rows(picture)
    ]
    pixels = np.concatenate(rows)
    if bits == 16 and pixels.shape[2] > 1:
        pixels = (pixels >> 8).astype(np.uint8)
    made = to_pillow(pixels)
    metadata = picture.metadata.of_channels(3 if pixels.shape[2] > 2 else 1)
    if metadata.profile:
        made.info["icc_profile"] = metadata.profile
    return made
