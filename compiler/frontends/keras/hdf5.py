"""HDF5 files that may be damaged or hostile: opened, walked and read with care.

The HDF5 library trusts a file more than it should: some damage makes it crash or hang, which no
exception handler sees. What is known to do so is looked for before the library gets to it.
"""

from __future__ import annotations

import io
import mmap
import struct
from contextlib import ExitStack, contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from ....errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_TEXTS = 100_000  # names in a list

# What h5py raises for a damaged file.
_DAMAGE: tuple[type[Exception], ...] = (
    *(AttributeError, KeyError, MemoryError, OSError, OverflowError, RuntimeError, TypeError),
    ValueError,
)


@contextmanager
def guarded(what: str, *others: type[Exception]) -> Iterator[None]:
    """Turn what a damaged file makes a library raise into SG0103."""
    damage: tuple[type[Exception], ...] = (*_DAMAGE, *others)
    try:
        yield
    except damage as error:
        reason = str(error).strip("'\"") or type(error).__name__
        raise ShadergenError(
            "SG0103",
            f"{what} is damaged or truncated",
            why=reason.splitlines()[0][:200] if reason else "",
            help="copy or download the file again",
        ) from None


@contextmanager
def opened(source: Path | bytes, what: str) -> Iterator[h5py.File]:
    """Open a file, or the bytes of one, for as long as the context lasts.

    Raises:
        ShadergenError: SG0103 when it is damaged or truncated.
    """
    with ExitStack() as stack:
        with guarded(what):
            if isinstance(source, bytes):
                _check_heaps(source)
                file = stack.enter_context(h5py.File(io.BytesIO(source), "r"))
            else:
                with (
                    source.open("rb") as raw,
                    mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as data,
                ):
                    _check_heaps(data)
                file = stack.enter_context(h5py.File(source, "r"))
        yield file


def _check_heaps(data: bytes | mmap.mmap) -> None:
    """Verify that the objects in every global heap, which hold texts, fill it one after another.

    The library loops forever where one of size 0 follows one whose size is wrong.

    Source: HDF5 file format specification 3.0, III.E, with 8-byte sizes as Keras writes them.
    """
    at = -1
    while (at := data.find(b"GCOL\x01\0\0\0", at + 1)) >= 0:
        if at % 8 or len(data) < at + 16:
            continue
        (end,) = struct.unpack_from("<Q", data, at + 8)
        place, end = at + 16, at + end
        if end > len(data):
            raise ValueError(f"a heap at {at} ends beyond the file")
        while place + 16 <= end:
            index, _, _, size = struct.unpack_from("<HHIQ", data, place)
            # Object 0 is the space that is left, its header included.
            place += 16 + -(-size // 8) * 8 if index else size
            if place > end or (not index and size < 16):
                raise ValueError(f"an object of {size} bytes does not fit into the heap at {at}")


def links_to(group: h5py.Group, path: str, kind: type) -> Any:
    """Return the object at ``path`` below a group, or None; only hard links are followed."""
    node: Any = group
    for part in path.split("/"):
        if not part:
            continue
        with guarded("the HDF5 file"):
            if not isinstance(node, h5py.Group) or part == "." or part not in node:
                return None
            if not isinstance(node.get(part, getlink=True), h5py.HardLink):
                raise ShadergenError(
                    "SG0103",
                    f"'{part}' is a link to another place",
                    why="Keras writes no soft or external links, and they are not followed",
                )
            node = node[part]
    return node if isinstance(node, kind) else None


def read_texts(node: h5py.Group, attribute: str) -> list[str] | None:
    """Return an attribute that holds texts, or None when there is none.

    Its type is looked at first: HDF5 does not survive reading one that a damaged file gives wrong.
    """
    with guarded("the HDF5 file"):
        if attribute not in node.attrs:
            return None
        header = node.attrs.get_id(attribute)
        if 0 in header.shape:
            return []
        if header.get_type().get_class() != h5py.h5t.STRING or prod(header.shape) > MAX_TEXTS:
            raise ValueError(f"attribute '{attribute}' is not a list of texts")
        texts = np.ravel(node.attrs[attribute]).tolist()
        return [t.decode("utf-8") if isinstance(t, bytes) else str(t) for t in texts]
