"""Running a build on files: pictures, folders, videos and numpy archives in and out."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.replacing import replacing_file
from ..errors import ShadergenError, reason
from ..records import dataclass
from .array_shapes import check_shapes
from .arrays import ARRAYS, named, read_arrays
from .pictures.detections import detector_of
from .pictures.files import (
    Made,
    Settings,
    pictures_in,
    run_detector,
    run_folder,
    run_picture,
)
from .pictures.kinds import only
from .pictures.network import PictureNetwork
from .pictures.picture import axes_of, to_scaled_array
from .pictures.reading import SUFFIXES, read_picture
from .pictures.video import VIDEOS, WRITTEN
from .session import Session, fitted

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from .pictures.network import Progress
    from .runtimes import Build


@dataclass(frozen=True)
class Run:
    """Times and device of a run; ``variant`` is empty for the generic build.

    ``pictures`` are what was written for each picture, ``errors`` are of those that failed.
    ``frames`` counts those of a video. ``skipped`` are the names of what a folder holds besides
    pictures; those of subfolders end in a slash.
    """

    runtime: str
    renderer: str
    variant: str
    passes: int
    init_milliseconds: float
    milliseconds: float
    pictures: dict[str, Made] = field(default_factory=dict)
    errors: dict[str, ShadergenError] = field(default_factory=dict)
    frames: int = 0
    skipped: tuple[str, ...] = ()


def run_file(
    folder: Path,
    source: Path,
    output: Path | None,
    variant: str | None = None,
    runtime: str = "auto",
    adapter: str = "",
    settings: Settings | None = None,
    progress: Progress = lambda step, done, total: None,
) -> Run:
    """Run a build on a file, or on a folder of pictures, and write the result.

    Args:
        folder: the build.
        source: a picture, a folder of pictures, a video, an ``.npz`` with an array for every
            input, or an ``.npy`` for the one.
        output: a picture, a folder, a video, an ``.npz`` with every output, or an ``.npy`` with
            the one; None for networks that classify pictures.
        variant: the name of the variant to run; by default the one for the adapter.
        runtime: of ``RUNTIMES``; "auto" takes the first one installed that the build runs on.
        adapter: a part of the adapter's name; by default the runtime's own choice.
        settings: how results are shown.
        progress: told the step at hand, how much of it is done, and of how much.

    Raises:
        ShadergenError: SG01xx, SG0301, SG05xx, SG06xx.
    """
    with Session(folder, runtime, adapter, variant, alone=True) as session:
        return _run(session, source, output, settings or Settings(), progress)


def _run(
    session: Session, source: Path, output: Path | None, settings: Settings, progress: Progress
) -> Run:
    start = time.perf_counter()
    if source.suffix.lower() in ARRAYS or (output and output.suffix.lower() in ARRAYS):
        return _run_arrays(session, source, output)
    check_source(source, output)
    detector = None if len(session.build.outputs) == 1 else detector_of(session.build)
    if detector is not None:
        drawn = {str(source): run_detector(session, detector, source, output, settings)}
        return _described(session, session.times.init, session.times.frame, drawn)
    network = PictureNetwork(session, settings.labels, settings.overlap, settings.tile)
    found: dict[str, Made] = {}
    errors: dict[str, ShadergenError] = {}
    frames = 0
    skipped: tuple[str, ...] = ()
    if source.is_dir():
        skipped = pictures_in(source)[1]

        def run(path: Path, target: Path | None) -> Made:
            return run_picture(network, path, target, settings, lambda step, done, total: None)

        for path, made in run_folder(source, output, run, progress):
            if isinstance(made, Made):
                found[str(path)] = made
            else:
                errors[str(path)] = made
    elif source.suffix.lower() in VIDEOS:
        from .pictures.video import run_video

        frames, made = run_video(network, source, output, settings, progress)
        found[str(source)] = made
    else:
        found[str(source)] = run_picture(network, source, output, settings, progress)
    milliseconds = (time.perf_counter() - start) * 1e3
    single = len(found) == 1 and not frames and next(iter(found.values())).tiles == 1
    init, frame = session.times.init, session.times.frame if single else milliseconds
    return _described(session, init, frame, found, errors, frames, skipped)


def _run_arrays(session: Session, source: Path, output: Path | None) -> Run:
    build = session.build
    check_source(source, output)
    if output is None or output.suffix.lower() not in ARRAYS:
        raise ShadergenError(
            "SG0605",
            "the input is arrays, so the output must be arrays",
            help="name an output file that ends in .npz or .npy",
        )
    if output.suffix.lower() != ".npz" and len(build.outputs) != 1:
        raise ShadergenError(
            "SG0605",
            f"the build has {len(build.outputs)} outputs",
            help="name an output file ending in .npz",
        )
    outputs = session.run(read_inputs(build, source)[1])
    try:
        with replacing_file(output) as fresh:
            if output.suffix.lower() == ".npz":
                np.savez(fresh, **outputs)  # type: ignore[arg-type]
            else:
                np.save(fresh, next(iter(outputs.values())))
    except OSError as error:
        raise ShadergenError("SG0501", f"cannot write '{output}'", why=reason(error)) from None
    return _described(session, session.times.init, session.times.frame)


def read_inputs(build: Build, source: Path) -> tuple[Build, dict[str, NDArray[Any]], str]:
    """Read the inputs of a build from a file: a picture, an ``.npz`` or an ``.npy``.

    A picture is scaled to a build of fixed size.

    Returns:
        The build at the sizes of the inputs, the inputs by name, and a note of scaling or nothing.

    Raises:
        ShadergenError: SG0101 for a file that cannot be read, SG0605 for one that does not fit.
    """
    if source.suffix.lower() in ARRAYS:
        inputs = named(read_arrays(source), [port.name for port in build.inputs])
        shapes = {name: array.shape for name, array in inputs.items()}
        check_shapes(build, shapes)
        return fitted(build, shapes), inputs, ""
    port = only(build.inputs, "inputs")
    axes = axes_of(port.shape, port.axes, port.name)
    picture = read_picture(source)
    shape = list(port.shape)
    shape[axes.row], shape[axes.column] = picture.size
    build = fitted(build, {port.name: tuple(shape)})
    (port,) = build.inputs
    array, note = to_scaled_array(picture, port.shape, port.axes, port.name)
    return build, {port.name: array}, note


def _described(
    session: Session,
    init: float,
    frame: float,
    pictures: dict[str, Made] | None = None,
    errors: dict[str, ShadergenError] | None = None,
    frames: int = 0,
    skipped: tuple[str, ...] = (),
) -> Run:
    context, build = session.context, session.running
    return Run(
        context.runtime,
        session.renderer,
        build.variant,
        len(build.passes),
        init,
        frame,
        pictures or {},
        errors or {},
        frames,
        skipped,
    )


def check_source(source: Path, output: Path | None) -> None:
    """Find out before the work whether the result can be written.

    Raises:
        ShadergenError: SG0101, SG0501, SG0605.
    """
    if not source.exists():
        raise ShadergenError("SG0101", f"cannot read '{source}'", why=os.strerror(errno.ENOENT))
    if output is None:
        return
    suffix = output.suffix.lower()
    if source.is_dir():
        if output.exists() and not output.is_dir():
            raise ShadergenError(
                "SG0501", f"'{output}' is not a folder", help="name a folder with -o"
            )
        return
    is_video = source.suffix.lower() in VIDEOS
    allowed = WRITTEN if is_video else (*ARRAYS, *SUFFIXES)
    if suffix not in allowed:
        what = "a video" if is_video else "a picture or arrays"
        raise ShadergenError(
            "SG0605",
            f"the format of '{output}' is not supported",
            why=f"for the input '{source.name}', the result is {what}",
            supported=", ".join(allowed),
        )
    if not output.absolute().parent.is_dir():
        raise ShadergenError("SG0501", f"'{output.parent}' is not a folder")
    if output.exists() and output.samefile(source):
        raise ShadergenError(
            "SG0501",
            f"'{output}' is the input",
            why="the result would replace it",
            help="name another file with -o",
        )
