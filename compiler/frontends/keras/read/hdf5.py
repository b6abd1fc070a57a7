"""HDF5 files that may be damaged or hostile: opened, walked and read with care.

The HDF5 library trusts a file more than it should: some damage makes it crash or hang, which no
exception handler sees. What is known to do so is looked for before the library gets to it.
"""

from __future__ import annotations

import struct
from contextlib import ExitStack, contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, BinaryIO

import h5py
import numpy as np

from .....errors import ShadergenError
from .....records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEXTS = 100_000  # names in a list
TEXTS_LIMIT = 64 * 2**20  # bytes of an attribute
MAX_OBJECTS = 1_000_000  # in heaps
_BLOCK = 2**20
_HEAP = b"GCOL\x01\0\0\0"

# What h5py raises for a damaged file.
_DAMAGE: tuple[type[Exception], ...] = (
    *(AttributeError, KeyError, MemoryError, OSError, OverflowError, RuntimeError, TypeError),
    ValueError,
)


@contextmanager
def guarded(what: str, *others: type[Exception]) -> Iterator[None]:
    """Turn exceptions of libraries about damaged files into SG0103."""
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


@dataclass(frozen=True)
class Hdf5:
    """An HDF5 file, and of how many bytes its longest text of variable length is."""

    file: h5py.File
    longest: int


@contextmanager
def opened(file: BinaryIO, what: str, heaps: Heaps | None = None) -> Iterator[Hdf5]:
    """Open a file for as long as the context lasts.

    Args:
        file: its bytes.
        what: how messages call it.
        heaps: where it may have heaps, if that is known.

    Raises:
        ShadergenError: SG0103 when it is damaged or truncated.
    """
    with ExitStack() as stack:
        with guarded(what):
            if heaps is None:
                heaps = Heaps()
                while piece := file.read(_BLOCK):
                    heaps.look(piece)
            longest = heaps.longest_object(file)
            opened_file = stack.enter_context(h5py.File(file, "r"))
        yield Hdf5(opened_file, longest)


class Heaps:
    """Finds the global heaps of an HDF5 file, which hold texts, and checks them.

    The objects must fill a heap one after another: the library loops forever where one of size 0
    follows one whose size is wrong.

    Source: HDF5 file format specification 3.0, III.E, with 8-byte sizes as Keras writes them.
    """

    def __init__(self) -> None:
        self._places: list[int] = []
        self._size = 0
        self._end = b""

    def look(self, piece: bytes) -> None:
        """Take the next piece of the file.

        Raises:
            ValueError: when there are far too many heaps.
        """
        data, at = self._end + piece, -1
        begin = self._size - len(self._end)
        while (at := data.find(_HEAP, at + 1)) >= 0:
            if not (begin + at) % 8:
                self._places.append(begin + at)
                if len(self._places) > MAX_OBJECTS:
                    raise ValueError(f"it has more than {MAX_OBJECTS} heaps")
        self._size += len(piece)
        self._end = data[-(len(_HEAP) - 1) :]

    def longest_object(self, file: BinaryIO) -> int:
        """Return the size of the largest object in any heap.

        Raises:
            ValueError: when a heap is not as it should be.
        """
        longest = objects = 0
        for place in self._places:
            if self._size < place + 16:
                continue
            for extent in _heap(file, place, self._size):
                longest, objects = max(longest, extent), objects + 1
                if objects > MAX_OBJECTS:
                    raise ValueError(f"its heaps hold more than {MAX_OBJECTS} objects")
        return longest


def _heap(file: BinaryIO, at: int, size: int) -> Iterator[int]:
    """Yield the sizes of a heap's objects."""
    file.seek(at + 8)
    (extent,) = struct.unpack("<Q", file.read(8))
    place, end = at + 16, at + extent
    if end > size:
        raise ValueError(f"a heap at {at} ends beyond the file")
    while place + 16 <= end:
        file.seek(place)
        index, _, _, bytes_ = struct.unpack("<HHIQ", file.read(16))
        # Object 0 is the space that is left, its header included.
        place += 16 + -(-bytes_ // 8) * 8 if index else bytes_
        if place > end or (not index and bytes_ < 16):
            raise ValueError(f"an object of {bytes_} bytes does not fit into the heap at {at}")
        yield bytes_ if index else 0


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
                    f"'{part}' is a soft or external link",
                    why="shadergen follows only hard links, and Keras writes no others",
                )
            node = node[part]
    return node if isinstance(node, kind) else None


def read_texts(node: h5py.Group, attribute: str, longest: int = 0) -> list[str] | None:
    """Return an attribute that holds texts, or None when there is none.

    Its type is looked at first: HDF5 does not survive reading one that a damaged file gives wrong.

    Args:
        node: what has the attribute.
        attribute: its name.
        longest: of how many bytes the file's longest text of variable length is.
    """
    with guarded("the HDF5 file"):
        if attribute not in node.attrs:
            return None
        header = node.attrs.get_id(attribute)
        count, kind = prod(header.shape), header.get_type()
        if not count:
            return []
        if kind.get_class() != h5py.h5t.STRING or count > MAX_TEXTS:
            raise ValueError(f"attribute '{attribute}' is not a list of strings")
        if count * max(kind.get_size(), longest if count > 1 else 0) > TEXTS_LIMIT:
            raise ValueError(f"attribute '{attribute}' is too long")  # texts may share their bytes
        texts = np.ravel(node.attrs[attribute]).tolist()
        return [t.decode("utf-8") if isinstance(t, bytes) else str(t) for t in texts]
