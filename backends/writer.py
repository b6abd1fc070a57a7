"""Writing a build: all of it or nothing, and never over something else."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ShadergenError
from .embed import embed_c, is_embedded
from .schedule_text import schedule_text, text_with_checksum

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schedule import BuildFiles

OWN = {"schedule.json", "weights.bin", "shaders"}


def check_replaceable(output: Path) -> None:
    """Refuse to write over anything but an earlier build.

    Raises:
        ShadergenError: SG0501 when the folder holds other things, or its parent is not writable.
    """
    if output.is_symlink():
        raise ShadergenError(
            "SG0501",
            f"'{output}' is a symbolic link",
            why="a build replaces the whole folder, and a link cannot be replaced so",
            help="name the folder itself with -o",
        )
    if output.exists() and not output.is_dir():
        raise ShadergenError("SG0501", f"'{output}' exists and is not a folder")
    try:
        if output.exists():
            foreign = _foreign(output)
            if foreign:
                raise ShadergenError(
                    "SG0501",
                    f"'{output}' holds other things than a build: {', '.join(foreign[:5])}",
                    why="a build replaces the whole folder",
                    help="name a new or empty folder with -o",
                )
        parent = output.absolute().parent
        existing = next(p for p in (parent, *parent.parents) if p.exists())
    except OSError as error:
        raise _unwritable(output, error) from None
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise ShadergenError(
            "SG0501",
            f"cannot write '{output}'",
            why=f"'{existing}' is not a writable folder",
            help="choose another folder with -o",
        )


def _foreign(output: Path) -> list[str]:
    """Return what no build puts into its folder; without a schedule, nothing there is ours."""
    names = {p.name for p in output.iterdir() if not is_embedded(p)}
    if "schedule.json" not in names:
        return sorted(names)
    shaders = output / "shaders"
    inside = shaders.iterdir() if shaders.is_dir() else ()
    return sorted(names - OWN) + sorted(
        f"shaders/{p.name}" for p in inside if p.suffix not in (".vert", ".frag", ".comp")
    )


def write_build(
    files: BuildFiles,
    output: Path,
    check: Callable[[Path], None] | None = None,
    embed: bool = False,
) -> None:
    """Write a build beside its destination, let ``check`` look at it, then move it into place.

    An earlier build stays as it was unless everything succeeds.

    Args:
        files: the build.
        output: its folder.
        check: raises where the build is not as runtimes demand. What it has let pass holds its own
            checksum, the schedule's member ``sha256``; without it the schedule has none.
        embed: write the build as C, too, under the folder's name.

    Raises:
        ShadergenError: SG0501 when the folder cannot be written.
    """
    check_replaceable(output)
    output = Path(os.path.abspath(output))  # without "..", which may lead through the build
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    except OSError as error:
        raise _unwritable(output, error) from None
    try:
        fresh = scratch / "new"
        (fresh / "shaders").mkdir(parents=True)
        text = text_with_checksum(files.schedule) if check else schedule_text(files.schedule)
        (fresh / "schedule.json").write_bytes(text)
        files.weights.save(fresh / "weights.bin")
        for path, source in files.shaders.items():
            (fresh / path).write_bytes(source.encode())
        if check:
            check(fresh)
        if embed:
            embed_c(fresh, output.name, files.schedule)
        if output.exists():
            output.rename(scratch / "old")
        try:
            fresh.rename(output)
        except BaseException:  # an interrupt, too, must not cost the earlier build
            if (scratch / "old").exists():
                (scratch / "old").rename(output)
            raise
    except OSError as error:
        raise _unwritable(output, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unwritable(output: Path, error: OSError) -> ShadergenError:
    return ShadergenError(
        "SG0501",
        f"cannot write '{output}'",
        why=error.strerror or str(error),
        help="choose another folder with -o",
    )
