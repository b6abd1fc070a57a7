"""A build as C: its files as arrays, for an application that ships without any.

Every file is an array of 64-bit words, little-endian, padded with zeros: an eighth of the tokens of
an array of bytes, which is what compilers of C spend their time on, and within the limits that
string literals have (4095 characters by the standard).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .dialects.printer import comment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import IO

WORD = 8  # bytes
WORDS_OF_LINE = 4
_LINES_AT_ONCE = 1 << 14
_BYTES_AT_ONCE = 1 << 20
_DIGITS = 64  # of a SHA-256
_SECOND_LINE = (
    "   Unless somebody edits this file, a new build replaces it. SHA-256 of its name and text:\n"
)
_INDENT = "   "

_HEADER = """\


   {symbol}_files holds the files of the build. To run it in C++, with <shadergen/shadergen.hpp>:
       auto loaded = shadergen::load({symbol}_files, {symbol}_file_count);
   and in C, with <shadergen/shadergen.h>:
       shadergen_load_desc desc = {{.struct_size = sizeof desc, .files = {symbol}_files,
                                   .file_count = {symbol}_file_count}}; */
#ifndef {guard}
#define {guard}

#include <stddef.h>

#ifndef SHADERGEN_FILE
#define SHADERGEN_FILE
struct shadergen_file {{
    const char *path; /* as the schedule names it; "schedule.json" is the schedule itself */
    const void *data;
    size_t size; /* bytes */
}};
#endif

#ifdef __cplusplus
extern "C" {{
#endif

extern const struct shadergen_file {symbol}_files[];
extern const size_t {symbol}_file_count;

#ifdef __cplusplus
}}
#endif

#endif
"""

_START = """\
 */
#include "{stem}.h"

#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the arrays below, and the weights in them, are little-endian"
#endif
"""


def is_embedded(file: IO[bytes], name: str, schedule: dict[str, Any]) -> bool:
    """Return whether a file is one that :func:`embed_c` wrote for the model of a schedule.

    A file that was edited, renamed or copied under another name is not.

    Args:
        file: opened at its start.
        name: of the file.
        schedule: of the build, perhaps of another version; its form is not checked.
    """
    model, generator = schedule.get("model"), schedule.get("generator")
    if not name.endswith((".c", ".h")):
        return False
    if not isinstance(model, str) or not isinstance(generator, str):
        return False
    start = _first_line(model, generator).encode("utf-8", "replace")
    if file.read(len(start)) != start:
        return False
    start += file.readline(_BYTES_AT_ONCE) + file.read(len(_INDENT))  # worded as its version does
    found = file.read(_DIGITS)
    digest = _digest(name, start)
    while piece := file.read(_BYTES_AT_ONCE):
        digest.update(piece)
    return found == digest.hexdigest().encode()


def embed_c(folder: Path, name: str, schedule: dict[str, Any]) -> None:
    """Write ``name``.c and ``name``.h beside the files of a build; they hold the same.

    Args:
        folder: the build.
        name: what the application calls it; made an identifier where it is none.
        schedule: of the build.
    """
    symbol = re.sub(r"\W", "_", name, flags=re.ASCII)
    symbol = f"_{symbol}" if symbol[:1].isdigit() else symbol
    paths = sorted(p for p in folder.rglob("*") if p.is_file())
    start = (
        _first_line(schedule["model"], schedule["generator"]) + _SECOND_LINE + _INDENT
    ).encode()
    header = _HEADER.format(symbol=symbol, guard=f"{symbol.upper()}_H")
    _write(folder / f"{symbol}.h", start, [header])
    _write(folder / f"{symbol}.c", start, _source(folder, symbol, paths))


def _first_line(model: str, generator: str) -> str:
    """Return the line that both files begin with."""
    model = comment(model).replace("*/", "* /").replace("/*", "/ *")
    return f"/* A shadergen build as C: {model}, by {generator}.\n"


def _digest(name: str, start: bytes) -> hashlib._Hash:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape") + b"\n" + start)


def _write(path: Path, start: bytes, pieces: Iterable[str]) -> None:
    """Write a file that holds the checksum of its name and of the rest of its text."""
    digest = _digest(path.name, start)
    with path.open("wb") as out:
        out.write(start + b"0" * _DIGITS)
        for piece in pieces:
            text = piece.encode()
            digest.update(text)
            out.write(text)
        out.seek(len(start))
        out.write(digest.hexdigest().encode())


def _source(folder: Path, symbol: str, paths: list[Path]) -> Iterator[str]:
    """Yield the C source but for its first words."""
    yield _START.format(stem=symbol)
    for number, path in enumerate(paths):
        yield from _array(f"file_{number}", path)
    yield f"\nconst struct shadergen_file {symbol}_files[] = {{\n"
    for number, path in enumerate(paths):
        inside = path.relative_to(folder).as_posix()
        yield f'    {{"{inside}", file_{number}, {path.stat().st_size}}},\n'
    yield f"}};\nconst size_t {symbol}_file_count = {len(paths)};\n"


def _array(name: str, path: Path) -> Iterator[str]:
    """Yield a file as an array; of an empty one a single word, since C has no empty arrays."""
    yield f"\n/* {path.name} */\nstatic const uint64_t {name}[] = {{\n"
    for line in _lines(path):
        yield f"    {line},\n"
    yield "};\n"


def _lines(path: Path) -> Iterator[str]:
    size = path.stat().st_size
    if not size:
        yield "0"
    with path.open("rb") as file:
        while piece := file.read(_LINES_AT_ONCE * WORDS_OF_LINE * WORD):
            piece += bytes(-len(piece) % WORD)
            words = np.frombuffer(piece, "<u8").astype(">u8").tobytes().hex(",", -WORD).split(",")
            for start in range(0, len(words), WORDS_OF_LINE):
                yield ", ".join(f"0x{word}" for word in words[start : start + WORDS_OF_LINE])
