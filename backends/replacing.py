"""Replace a folder or a file: an interruption leaves either the old or the new one, complete.

The new one is written in a scratch folder beside its destination, ``.NAME.shadergen-XXXXXXXX``:

- ``new``: the build being written.
- ``old``: a complete build, either the destination's or the one to move there.
- ``gone``: a build being removed, file by file; only files of a build are removed.

Linux and macOS exchange ``old`` and the destination in one step. If the system or the file system
cannot, the destination moves to ``old``, then ``new`` takes its place. A process killed between
these two steps leaves no destination; the next process that writes there moves ``old`` back.

A process locks its scratch folder while it lives. The next process with the same destination
recognises and removes the scratch folder of a killed one. ``.NAME.shadergen-lock`` is locked while
scratch folders are created, removed or moved, so processes with one destination take turns. The
holder of the lock removes this file; a file left by a killed process is taken over. Without locks
(Windows, some network file systems) leftovers of other processes stay.

If a foreign file appears in a folder just before it is replaced, the whole old folder is kept as
``NAME.kept-XXXXXXXX``.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ShadergenError, reason, unwritable
from .build_folder import remove_build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ANY_FOLDER = -1  # descriptor of none: the paths are absolute
_RENAME_EXCHANGE = 2  # <linux/fs.h>
_RENAME_SWAP = 2  # <sys/stdio.h> of macOS
_RANDOM = r"[a-z0-9_]{8}"  # what tempfile.mkdtemp appends
_START = 4096  # bytes of a file that show what made it
_LONGEST_NAME = 200  # bytes; with what is added here, file systems take 255
_PATIENCE = 30.0  # seconds to wait for a turn, which takes others milliseconds
_INTERVAL = 0.01  # seconds between two attempts


@contextmanager
def replacing_folder(
    output: Path, check: Callable[[Path], None], kept: list[Path] | None = None
) -> Iterator[Path]:
    """Give an empty folder to fill, which takes the place of another when the block ends well.

    Args:
        output: the folder to replace: a build, empty, or missing.
        check: refuses what must not be replaced; called before and right before it is.
        kept: gains the replaced folders that hold something foreign.

    Raises:
        ShadergenError: SG0501, for a name or a lock that cannot be had; what ``check`` raises.
        OSError: when something cannot be written or moved; ``output`` is as it was then.
    """
    output = _resolved(output)
    with _scratch_beside(output, check, [] if kept is None else kept) as scratch:
        fresh = scratch / "new"
        fresh.mkdir()
        yield fresh
        with _locked(output):
            check(output)
            _move_into_place(scratch, output)


@contextmanager
def replacing_file(output: Path) -> Iterator[Path]:
    """Give a path to write a file to, which takes the place of another when the block ends well.

    Links are followed. A device or a pipe is written to as it is.

    Raises:
        ShadergenError: SG0501 when another process holds its lock.
        OSError: when it cannot be written; ``output`` is as it was then.
    """
    target = Path(os.path.realpath(output))
    if output.exists() and not output.is_file():  # the target of a pipe's link has no path
        yield output
        return
    with _scratch_beside(target, lambda path: None, []) as scratch:
        (scratch / "new").mkdir()
        fresh = scratch / "new" / output.name  # its ending may say what is to be written
        yield fresh
        fresh.replace(target)


def check_own_file(output: Path, made: bytes, kind: str, help: str) -> None:
    """Refuse to write over a file that is neither an earlier one of its kind nor empty.

    Args:
        output: the file to write.
        made: what the first bytes of our files of this kind hold.
        kind: of the file, for the message.
        help: what to do about a file that cannot be written.

    Raises:
        ShadergenError: SG0501.
    """
    try:
        if output.exists() and not (output.is_file() or output.is_dir()):
            return  # a device or a pipe, which must not be read
        with output.open("rb") as file:
            start = file.read(_START)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unwritable(f"'{output}'", error, help) from None
    if start and made not in start:
        raise ShadergenError(
            "SG0501",
            f"'{output}' exists and is not a {kind} of shadergen",
            help="name another file with -o, or delete this one",
        )


def replace_own_file(output: Path, text: str, made: bytes, kind: str, help: str) -> None:
    """Write a file, or leave an earlier one as it is; the arguments of :func:`check_own_file`.

    Raises:
        ShadergenError: SG0501.
    """
    check_own_file(output, made, kind, help)
    try:
        with replacing_file(output) as fresh:
            fresh.write_text(text, "utf-8")
    except OSError as error:
        raise unwritable(f"'{output}'", error, help) from None


def prepare(output: Path, check: Callable[[Path], None]) -> list[Path]:
    """Put right what killed processes left beside a destination, and check that.

    The old one is put back where there is none, the rest is removed.

    Returns:
        Where folders are now that hold something foreign.

    Raises:
        ShadergenError: SG0501, for a name or a lock that cannot be had; what ``check`` raises.
    """
    resolved = _resolved(output)
    kept: list[Path] = []
    with suppress(OSError), _locked(resolved):  # in a folder that is not writable nothing is left
        _recover(resolved, kept)
    check(output)
    return kept


def _resolved(output: Path) -> Path:
    """Return where the system finds a path's last name; only that may be a link."""
    if output.name in ("", ".."):
        raise ShadergenError(
            "SG0501",
            f"'{output}' does not name a folder",
            why="the output replaces a whole folder, so the folder must be named",
            help="run this in the parent folder and name the folder, for example -o build",
        )
    return Path(os.path.realpath(output.parent)) / output.name


def _recover(output: Path, kept: list[Path]) -> None:
    pattern = re.compile(re.escape(_prefix(output)) + _RANDOM)
    try:
        found = [entry for entry in os.scandir(output.parent) if pattern.fullmatch(entry.name)]
    except OSError:
        return
    for left in found:
        descriptor = _lock(Path(left)) if left.is_dir(follow_symlinks=False) else None
        if descriptor is None:  # somebody is writing there
            continue
        try:
            own = os.fstat(descriptor).st_uid == os.geteuid()
            if own and _leads_to(Path(left), descriptor):
                with suppress(OSError):
                    _settle(Path(left), output, kept)
        finally:
            _unlock(descriptor)


def _prefix(output: Path) -> str:
    return f".{_short(output.name)}.shadergen-"


def _short(name: str) -> str:
    """Return a name that leaves room for more in a file's name, another for every other name."""
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    return f"{name[:32]}-{hashlib.sha256(encoded).hexdigest()[:16]}"


@contextmanager
def _scratch_beside(
    output: Path, check: Callable[[Path], None], kept: list[Path]
) -> Iterator[Path]:
    """Give a locked scratch folder for a destination, and remove it in the end."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with _locked(output):
        _recover(output, kept)
        check(output)
        scratch = Path(tempfile.mkdtemp(prefix=_prefix(output), dir=output.parent))
        descriptor = _lock(scratch)
    try:
        yield scratch
    finally:
        try:
            # What stays is removed by the next.
            with suppress(OSError, ShadergenError), _locked(output):
                _settle(scratch, output, kept)
        finally:
            _unlock(descriptor)


def _settle(scratch: Path, output: Path, kept: list[Path]) -> None:
    """Remove a scratch folder; what came out of the destination goes back if that is missing.

    What is to be removed and holds something foreign moves out beside the destination.
    """
    old, gone = scratch / "old", scratch / "gone"
    if old.exists():
        old.rename(gone if os.path.lexists(output) else output)
    if gone.exists():
        try:
            remove_build(gone)
        except ShadergenError:
            aside = output.with_name(f"{_short(output.name)}.kept-{scratch.name[-8:]}")
            gone.rename(aside)
            kept.append(aside)
    shutil.rmtree(scratch / "new", ignore_errors=True)
    scratch.rmdir()


def _move_into_place(scratch: Path, output: Path) -> None:
    fresh, old = scratch / "new", scratch / "old"
    if not output.exists():
        fresh.rename(output)
        return
    fresh.rename(old)  # before it holds what must not be lost
    if not _exchange(old, output):
        old.rename(fresh)
        output.rename(old)
        fresh.rename(output)


def _exchange(a: Path, b: Path) -> bool:
    """Exchange two folders in one step; return whether that was possible."""
    if os.name != "posix":
        return False
    library = ctypes.CDLL(None)
    first, second = os.fsencode(a), os.fsencode(b)
    if hasattr(library, "renameat2"):
        folder = ctypes.c_int(_ANY_FOLDER)
        status = library.renameat2(folder, first, folder, second, _RENAME_EXCHANGE)
    elif hasattr(library, "renamex_np"):
        status = library.renamex_np(first, second, _RENAME_SWAP)
    else:
        return False
    return bool(status == 0)


@contextmanager
def _locked(output: Path) -> Iterator[None]:
    """Hold the lock of a destination, where there are such locks.

    Raises:
        ShadergenError: SG0501 when it cannot be had.
        OSError: when no file can be made there.
    """
    path = output.with_name(f"{_prefix(output)}lock")
    descriptor = _wait_for(path, output)
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):  # the next takes it over
                if _leads_to(path, descriptor):
                    path.unlink()
            _unlock(descriptor)


def _wait_for(path: Path, output: Path) -> int | None:
    """Return a descriptor that holds the lock of a file until it is closed; None without locks."""
    try:
        import fcntl
    except ImportError:
        return None
    deadline = time.monotonic() + _PATIENCE
    while True:
        descriptor = _open_lock(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _leads_to(path, descriptor):  # else the last holder has removed it meanwhile
                return descriptor
        except BlockingIOError:
            if time.monotonic() > deadline:
                _unlock(descriptor)
                raise ShadergenError(
                    "SG0501",
                    f"'{output}' is being written by another process",
                    why=f"that process holds the lock '{path}'",
                    help="wait until that process ends, or name another output",
                ) from None
        except OSError:
            _unlock(descriptor)
            path.unlink()
            return None
        _unlock(descriptor)
        time.sleep(_INTERVAL)


def _open_lock(path: Path) -> int:
    """Open a lock's file, or make it; it is empty."""
    why = "it is not a lock file of shadergen"
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and not status.st_size:
            return descriptor
        _unlock(descriptor)
    except OSError as error:
        if not os.path.lexists(path):
            raise
        why = reason(error)
    raise ShadergenError(
        "SG0501",
        f"'{path}' cannot be locked",
        why=why,
        help="move it away if no other shadergen is running",
    )


def _lock(folder: Path) -> int | None:
    """Return a descriptor that holds a folder's lock until it is closed.

    None stands for a lock that another has, or for a system or file system without locks.
    """
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _leads_to(path: Path, descriptor: int) -> bool:
    """Return whether a path still names what was opened."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _unlock(descriptor: int | None) -> None:
    if descriptor is not None:
        with suppress(OSError):  # no data is lost with a lock's descriptor
            os.close(descriptor)
