"""How long a frame of a user shader takes: estimated as for builds (:mod:`.estimation`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..backends.devices import family_of
from ..backends.devices.gpus import GPUS
from ..backends.user_shader.frame import frame_of
from ..backends.user_shader.hooks import CHROMA, STAGES, full_hd
from ..errors import ShadergenError
from ..number_texts import short_text
from ..runtime_glue.python.sizes import defaults
from .estimation import estimate

if TYPE_CHECKING:
    from ..backends.build_files import BuildFiles
    from ..backends.user_shader.file import UserShader
    from .options import Options

DESKTOP = "desktop"  # the system of graphics cards, which are known by their names
FILM = 24  # frames a second
TYPICAL = ("GeForce RTX 3060", "Van Gogh", "Adreno 740")  # a desktop, a handheld PC, a phone


def frame_for(files: BuildFiles, shader: UserShader, options: Options) -> dict[str, Any]:
    """Return the schedule of a frame for a picture of 1080x1920, or of the initial size.

    Args:
        files: of the build that the file was written from.
        shader: the file.
        options: as given.

    Raises:
        ShadergenError: SG0605 for a size that the network does not take.
    """
    height, width = full_hd(STAGES[shader.hook].channels)
    if isinstance(options.dynamic, tuple):
        height, width = options.dynamic
    return frame_of(files, shader, {"height": height, "width": width}, options.luma)


def work_per_pixel(files: BuildFiles, shader: UserShader, options: Options) -> float:
    """Return the multiply-adds for each pixel of the picture, at the size of the estimates.

    At the initial size if the network does not take that size: halved maps are rounded up, so
    smaller pictures need a little more.
    """
    try:
        frame = frame_for(files, shader, options)
    except ShadergenError:
        frame = frame_of(files, shader, defaults(files.schedule), options.luma)
    picture = frame["passes"][0]  # its copy
    pixels: int = math.prod(picture["viewport"])
    work: int = sum(p["macs"] for p in frame["passes"])
    return work / pixels


def frame_notes(files: BuildFiles, shader: UserShader, options: Options) -> tuple[str, ...]:
    """Return a line with estimates, for the GPUs of ``--device`` or for typical ones.

    None for a size that the network does not take, and for split values, which are not estimated.
    """
    if options.intermediates == "split":
        return ()
    try:
        frame = frame_for(files, shader, options)
    except ShadergenError:
        return ()
    family = family_of(options.device)
    gpus = {n: g for n, g in GPUS.items() if (g.family == family if family else n in TYPICAL)}
    times = [
        f"{short_text(f.milliseconds)} ms on {f.gpu}" + f" ({f.system})" * (f.system != DESKTOP)
        for f in estimate(frame, gpus)
    ]
    height, width = (frame["passes"][0]["viewport"][k] for k in (1, 0))
    what = "chroma" if STAGES[shader.hook].channels == CHROMA else "pictures"
    text = f"estimated for {what} of {height}x{width}: {', '.join(times)}"
    budget = f"{FILM} frames a second leave {1e3 / FILM:.0f} ms for each frame"
    return (f"{text}; {budget}",) if times else ()
