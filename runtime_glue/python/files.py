"""Read the files of a build: only from its folder, and only with the stated size and checksum."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError
from .document import SCHEDULE, malformed, parse_document, read_limited

if TYPE_CHECKING:
    from pathlib import Path

MAX_SHADER_BYTES = 1 << 24
COPY = "copy the whole build folder again, or compile the model again"


def resolve(folder: Path, name: str) -> Path:
    """Return the path of a file of the build.

    Raises:
        ShadergenError: SG0503 if the path leads outside the folder, SG0505 if the file is missing.
    """
    # a drive letter or backslash cannot come here: the schema allows only [A-Za-z0-9_.-] and /
    if ".." in name.split("/"):
        malformed(f"the path {name!r} leads outside the build's folder")
    try:
        root = folder.resolve(strict=True)
        path = (root / name).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of symbolic links
        raise ShadergenError("SG0505", f"the build's file '{name}' is missing", help=COPY) from None
    if not path.is_relative_to(root):
        malformed(f"the path {name!r} leads outside the build's folder")
    if not path.is_file():
        raise ShadergenError("SG0505", f"'{name}' is not a file", help=COPY)
    return path


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(name, error) from None


def _unreadable(name: str, error: OSError) -> ShadergenError:
    why = str(error.strerror)
    return ShadergenError("SG0505", f"the build's file '{name}' cannot be read", why=why)


def read_variant(path: Path, name: str) -> dict[str, Any]:
    """Return the schedule of a variant, checked against the schema. Variants have no variants."""
    try:
        document = parse_document(read_limited(path))
    except OSError as error:
        raise _unreadable(name, error) from None
    if "variants" in document:
        malformed("the schedule of a variant cannot list variants", f"{SCHEDULE}: variants")
    return document


def read_shader(folder: Path, name: str) -> str:
    """Return the source of a shader."""
    path = resolve(folder, name)
    if path.stat().st_size > MAX_SHADER_BYTES:
        raise ShadergenError(
            "SG0505", f"the shader is larger than {MAX_SHADER_BYTES >> 20} MiB", where=name
        )
    try:
        return _read(path, name).decode("utf-8")
    except UnicodeDecodeError:
        raise ShadergenError("SG0505", "the shader is not UTF-8", where=name) from None


def read_weights(folder: Path, name: str, size: int, sha256: str) -> bytes:
    """Return the weights file, of the stated size and checksum."""
    path = resolve(folder, name)
    found = path.stat().st_size
    if found != size:
        raise ShadergenError(
            "SG0505",
            f"the weights file is {'truncated' if found < size else 'too long'}",
            where=name,
            why=f"it has {found} bytes, the schedule says {size}",
            help=COPY,
        )
    content = _read(path, name)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ShadergenError(
            "SG0505",
            "the weights file has been altered",
            where=name,
            why="the schedule lists another SHA-256 checksum",
            help=COPY,
        )
    return content
