"""Writing a build: all of it or nothing, and never over something else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError, unwritable
from .build_folder import SCHEDULE, check_own
from .embed import embed_c
from .replacing import replacing_folder
from .schedule_text import schedule_text, text_with_checksum

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .build_files import BuildFiles

OTHER_FOLDER = "choose another folder with -o"


def check_replaceable(output: Path) -> None:
    """Refuse to write over anything but an earlier build or an empty folder.

    Raises:
        ShadergenError: SG0501 when the folder holds other things, or its parent is not writable.
    """
    try:
        if output.is_symlink():
            raise ShadergenError(
                "SG0501",
                f"'{output}' is a symbolic link",
                why="a build replaces the whole folder; a link cannot be replaced",
                help="name the folder itself with -o",
            )
        if output.exists():
            if not output.is_dir():
                raise ShadergenError("SG0501", f"'{output}' exists and is not a folder")
            check_own(output, "name a new or empty folder with -o")
        parent = output.absolute().parent
        existing = next(p for p in (parent, *parent.parents) if p.exists())
    except OSError as error:
        raise unwritable(f"'{output}'", error, OTHER_FOLDER) from None
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise ShadergenError(
            "SG0501",
            f"cannot write '{output}'",
            why=f"'{existing}' is not a writable folder",
            help=OTHER_FOLDER,
        )


def write_build(
    files: BuildFiles,
    output: Path,
    check: Callable[[Path], None] | None = None,
    embed: bool = False,
) -> list[Path]:
    """Write a build beside its destination, let ``check`` look at it, then move it into place.

    An earlier build stays as it was unless everything succeeds.

    Args:
        files: the build.
        output: its folder.
        check: raises where the build is not as runtimes demand. What it has let pass holds its own
            checksum, the schedule's member ``sha256``; without it the schedule has none.
        embed: write the build as C, too, under the folder's name.

    Returns:
        Where earlier folders are kept that turned out to hold more than a build.

    Raises:
        ShadergenError: SG0501 when the folder cannot be written.
    """
    kept: list[Path] = []
    try:
        with replacing_folder(output, check_replaceable, kept) as fresh:
            for place, build in {SCHEDULE: files, **files.variants}.items():
                _write(fresh, place, build, text_with_checksum if check else schedule_text)
            if check:
                check(fresh)
            if embed:
                embed_c(fresh, output.name, files.schedule)
    except OSError as error:
        raise unwritable(f"'{output}'", error, OTHER_FOLDER) from None
    return kept


def _write(
    folder: Path, place: str, build: BuildFiles, text: Callable[[dict[str, Any]], bytes]
) -> None:
    """Write the files of a build, but for those that another one has written."""
    files = {place: text(build.schedule)}
    files |= {path: source.encode() for path, source in build.shaders.items()}
    for path, content in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    weights = folder / build.weights_path
    if not weights.exists():
        build.weights.save(weights)
