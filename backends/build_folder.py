"""Contents of an output folder: the files of a build, by its schedule, and foreign files.

A folder holds a build if its schedule.json has our format, in any version. The build's files are
the regular files that this schedule and those of its variants name, and the unchanged C files that
embed it. All else is foreign: links, folders with the name of a file, additional files. This
module never overwrites or removes foreign files, and never follows links.
"""

from __future__ import annotations

import json
import os
import re
import stat
from bisect import bisect_left
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from ..errors import ShadergenError, few
from ..records import dataclass
from .embed import is_embedded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEDULE = "schedule.json"
MAX_SCHEDULE_BYTES = 1 << 26  # runtimes read no larger one
MAX_PATH_LENGTH = 1024  # nor longer paths
_FORMAT = "shadergen"
_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
_PATH = re.compile(r"(?!\.\.?(/|$))[\w.-]+(/(?!\.\.?(/|$))[\w.-]+)*", re.ASCII)
_SHADERS = ("vertex", "shader")  # members of a pass


@dataclass(frozen=True)
class Contents:
    """Paths in a folder, with ``/`` between their parts.

    Attributes:
        files: regular files that the schedules name, which themselves are the last: first those
            of variants, then schedule.json.
        embedded: the build as C.
        folders: that hold the files; a folder comes before those inside.
        foreign: everything else, with an explanation unless the name is enough.
        missing: schedule.json and files that the schedules name, if they are not regular files.
    """

    files: tuple[str, ...]
    embedded: tuple[str, ...]
    folders: tuple[str, ...]
    foreign: tuple[str, ...]
    missing: tuple[str, ...]


class NotRegularError(OSError):
    """A link, a folder, a pipe or a device."""


def open_regular(path: Path) -> IO[bytes]:
    """Open a file to read, neither through a link nor waiting for a pipe.

    Raises:
        NotRegularError: when it is not a regular file.
        OSError: when it cannot be opened.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise NotRegularError
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    descriptor = os.open(path, sum(flags, os.O_RDONLY))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # it was replaced meanwhile
        os.close(descriptor)
        raise NotRegularError
    return os.fdopen(descriptor, "rb")


def contents(folder: Path) -> Contents:
    """List the build's files and the foreign files of a folder.

    Raises:
        OSError: when it cannot be read.
    """
    schedule = _read_schedule(folder / SCHEDULE)
    variants = set(_variants(schedule))
    named = set(_named(schedule)) | variants
    for variant in variants:
        if not _through_link(folder, variant):
            named.update(_files_of(_read_schedule(folder / variant)))
    in_order = sorted(named)
    files: list[str] = []
    embedded: list[str] = []
    folders: list[str] = []
    foreign: list[str] = []
    pending = [""]
    while pending:
        with os.scandir(folder / pending[0]) as entries:
            found = sorted(entries, key=lambda e: e.name)
        for entry in found:
            path = f"{pending[0]}/{entry.name}".lstrip("/")
            holds_named = _holds(path, in_order)
            if entry.is_file(follow_symlinks=False):
                if path in named:
                    files.append(path)
                else:
                    as_c = not pending[0] and _is_embedded(folder / path, schedule)
                    (embedded if as_c else foreign).append(path)
            elif holds_named and entry.is_dir(follow_symlinks=False):
                folders.append(path)
                pending.append(path)
            else:
                expected = holds_named or path in named
                foreign.append(f"{path} ({_kind(entry)})" if expected else path)
        del pending[0]
    files.sort(key=lambda path: (path == SCHEDULE, path in variants))
    missing = sorted({SCHEDULE, *named}.difference(files))
    return Contents(*map(tuple, (files, embedded, folders, foreign, missing)))


def check_own(folder: Path, help: str) -> None:
    """Refuse a folder that is not empty and holds more than a build, or none.

    Raises:
        ShadergenError: SG0501, naming what it holds.
        OSError: when it cannot be read.
    """
    found = contents(folder)
    if not found.foreign:
        return
    what = f"'{folder}' holds files that are not part of a build: {few(found.foreign, 5)}"
    if SCHEDULE in found.foreign:
        what = f"'{folder}' is not a build: shadergen did not write its {SCHEDULE}"
    raise ShadergenError(
        "SG0501",
        what,
        why="a build replaces the whole folder",
        help=help,
    )


def remove_build(folder: Path) -> None:
    """Remove a build, or an empty folder.

    The schedule is the last file to go: what is left by an interruption is still known as a build.

    Raises:
        ShadergenError: SG0501 when the folder holds anything else; nothing is removed then.
        OSError: when something cannot be removed.
    """
    check_own(folder, "move files you need, then remove the folder")
    found = contents(folder)
    for path in (*found.embedded, *found.files[:-1]):
        (folder / path).unlink()
    for path in reversed(found.folders):
        (folder / path).rmdir()
    for path in found.files[-1:]:
        (folder / path).unlink()
    folder.rmdir()


def _read_schedule(path: Path) -> dict[str, Any]:
    """Return the schedule in a file, its form unchecked; empty where is none."""
    try:
        with open_regular(path) as file:
            text = file.read(MAX_SCHEDULE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, NotRegularError):
        return {}
    if len(text) > MAX_SCHEDULE_BYTES:
        return {}
    try:
        schedule = json.loads(text.decode())
    except (ValueError, RecursionError):
        return {}
    if not isinstance(schedule, dict) or schedule.get("format") != _FORMAT:
        return {}
    version = schedule.get("version")
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    return schedule if known else {}


def _is_embedded(path: Path, schedule: dict[str, Any]) -> bool:
    try:
        with open_regular(path) as file:
            return is_embedded(file, path.name, schedule)
    except NotRegularError:  # it was replaced meanwhile
        return False


def _named(schedule: dict[str, Any]) -> Iterator[str]:
    """Yield the files of a build by its schedule, whose form is not checked."""
    if not schedule:
        return
    yield SCHEDULE
    yield from _files_of(schedule)


def _variants(schedule: dict[str, Any]) -> Iterator[str]:
    """Yield the schedules of variants that lie in the folder."""
    entries = schedule.get("variants")
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("schedule") if isinstance(entry, dict) else None
        if isinstance(name, str) and len(name) <= MAX_PATH_LENGTH and _PATH.fullmatch(name):
            yield name


def _through_link(folder: Path, path: str) -> bool:
    """Whether a folder on the way to a file is a link."""
    return any((folder / inner).is_symlink() for inner in PurePosixPath(path).parents)


def _files_of(schedule: dict[str, Any]) -> Iterator[str]:
    """Yield the files beside a schedule that it names."""
    passes, weights = schedule.get("passes"), schedule.get("weights")
    places = [(p, m) for p in (passes if isinstance(passes, list) else ()) for m in _SHADERS]
    for place, member in (*places, (weights, "file")):
        name = place.get(member) if isinstance(place, dict) else None
        if isinstance(name, str) and len(name) <= MAX_PATH_LENGTH:
            yield name


def _holds(folder: str, in_order: list[str]) -> bool:
    """Return whether one of the paths lies in a folder."""
    inside = f"{folder}/"
    at = bisect_left(in_order, inside)
    return at < len(in_order) and in_order[at].startswith(inside)


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "a link"
    return "a folder" if entry.is_dir() else "not a regular file"
