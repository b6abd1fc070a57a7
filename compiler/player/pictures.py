"""A picture as a player shows it with a user shader."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ...records import dataclass
from ..pictures.files import write_result
from ..pictures.reading import read_picture
from .libplacebo import COLOURS, DEPTH, filtered
from .outline import check_single_stage, outline, read_shader, refusal

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Shown:
    """What was made of a picture or a video.

    Attributes:
        passes: how many of the user shader ran.
        size: height and width of the result.
        milliseconds: FFmpeg's, with start and compilation.
        frames: of a video; 0 for a picture.
        notes: what else to know, a line each.
    """

    passes: int
    size: tuple[int, int]
    milliseconds: float
    frames: int = 0
    notes: tuple[str, ...] = ()


def show_picture(shader: Path, source: Path, output: Path) -> Shown:
    """Write what FFmpeg's libplacebo filter makes of a picture with a user shader.

    A shader of luma gets the luma that ``shadergen run`` gives a build of one channel.

    Args:
        shader: the file.
        source: the picture.
        output: the picture to write.

    Raises:
        ShadergenError: SG0101, SG0501, SG0605 for files, SG0607 where FFmpeg cannot do it.
    """
    text = read_shader(shader)
    check_single_stage(text)
    picture = read_picture(source)
    plan = outline(text, picture.size)
    if plan.channels not in COLOURS:
        raise refusal(
            f"it replaces {plan.hook}, and pictures have luma or RGB only",
            "run it on a video, which has chroma",
        )
    everything = slice(None)
    values = picture.part(everything, everything, 1 if plan.channels == 1 else 4)
    frame = np.rint(values * DEPTH).astype("<u2")
    started = time.perf_counter()
    made = filtered(shader, frame, plan.size)
    elapsed = (time.perf_counter() - started) * 1e3
    result = (made[..., : plan.channels] / DEPTH).astype(np.float32)
    write_result(output, result, picture)
    return Shown(plan.passes, plan.size, elapsed, notes=plan.notes)
