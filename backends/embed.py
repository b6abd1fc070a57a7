"""A build as C: its files as arrays, for an application that ships without any.

Every file is an array of 64-bit words, little-endian, padded with zeros: an eighth of the tokens of
an array of bytes, which is what compilers of C spend their time on, and within the limits that
string literals have (4095 characters by the standard).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

WORD = 8  # bytes
WORDS_OF_LINE = 4
_LINES_AT_ONCE = 1 << 14
_MARK = "/* A shadergen build as C: "

_HEADER = """\
{mark}{model}, by {generator}.

   {symbol}_files holds the files of the build. To play it in C++, with <shadergen/shadergen.hpp>:
       auto loaded = shadergen::load({symbol}_files, {symbol}_file_count); */
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
{mark}{model}, by {generator}. */
#include "{stem}.h"

#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the arrays below, and the weights in them, are little-endian"
#endif
"""


def is_embedded(path: Path) -> bool:
    """Return whether a file is one that :func:`embed_c` writes."""
    if path.suffix not in (".c", ".h") or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK.encode()


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
    words = {
        "mark": _MARK,
        "model": schedule["model"].replace("*/", "* /").replace("\n", " "),
        "generator": schedule["generator"],
        "symbol": symbol,
        "stem": symbol,
        "guard": f"{symbol.upper()}_H",
    }
    (folder / f"{symbol}.h").write_text(_HEADER.format(**words), "utf-8", newline="\n")
    with (folder / f"{symbol}.c").open("w", encoding="utf-8", newline="\n") as out:
        out.write(_START.format(**words))
        for number, path in enumerate(paths):
            _write_array(out, f"file_{number}", path)
        out.write(f"\nconst struct shadergen_file {symbol}_files[] = {{\n")
        for number, path in enumerate(paths):
            inside = path.relative_to(folder).as_posix()
            out.write(f'    {{"{inside}", file_{number}, {path.stat().st_size}}},\n')
        out.write(f"}};\nconst size_t {symbol}_file_count = {len(paths)};\n")


def _write_array(out: TextIO, name: str, path: Path) -> None:
    """Write a file as an array; of an empty one a single word, since C has no empty arrays."""
    out.write(f"\n/* {path.name} */\nstatic const uint64_t {name}[] = {{\n")
    for line in _lines(path):
        out.write(f"    {line},\n")
    out.write("};\n")


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
