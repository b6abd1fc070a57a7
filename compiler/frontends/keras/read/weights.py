"""Finding a layer's weights in a file.

Two arrangements exist. A legacy .h5 has a group for each layer of the outermost model, with an
attribute that lists its data sets; the layers of a nested model are all in that one group. A
.keras archive follows the objects: ``layers/conv2d_1/vars/0``, named by class and counted.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from .....errors import ShadergenError
from .....records import dataclass
from .hdf5 import MAX_TEXTS, guarded, links_to, read_texts
from .hdf5_chunks import check_chunks, filters_of, read_filtered, unsupported_storage
from .hdf5_filters import FILTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .model import LayerSpec

LARGEST_WEIGHT = 2 * 2**30  # bytes
RATIO_LIMIT = 32  # what deflating makes of weights of which 98 in 100 are zero
ALLOWANCE = 64 * 2**20  # bytes that any file may unpack to
DEEPEST_PART = 4  # bidirectional/forward_rnn/stacked_rnn_cells/lstm_cell/kernel


def unpacked_limit(stored: int) -> int:
    """Return how many bytes may be unpacked from so many."""
    return ALLOWANCE + RATIO_LIMIT * stored


@dataclass
class Room:
    """The bytes of weights that a file may still yield; shared or compressed bytes count too."""

    file_size: int
    taken: int = 0

    def take(self, size: int, where: str) -> None:
        """Count a weight.

        Raises:
            ShadergenError: SG0103 when all are too many for the file.
        """
        self.taken += size
        if self.taken > unpacked_limit(self.file_size):
            raise ShadergenError(
                "SG0103",
                f"the weights unpack to more than {unpacked_limit(self.file_size)} bytes",
                where=where,
                why=f"the file has {self.file_size} bytes; the limit is {RATIO_LIMIT} times its "
                f"size plus {ALLOWANCE >> 20} MiB",
                help="load the model with Keras and save it again, uncompressed",
            )


@dataclass(frozen=True)
class Weight:
    """A weight in the file, not read yet."""

    name: str
    data: h5py.Dataset
    room: Room

    @property
    def shape(self) -> tuple[int, ...]:
        with guarded(f"weight '{self.name}'"):
            return tuple(int(s) for s in self.data.shape or ())

    def read(self, where: str) -> NDArray[np.float32]:
        """Read the array.

        Raises:
            ShadergenError: SG0103 when the bytes are not there, SG0106 when they are not finite
                floating-point numbers, SG0206 for a compression that is not implemented.
        """
        with guarded(f"weight '{self.name}'"):
            kind, stored = self.data.dtype.kind, self.data.id.get_storage_size()
            size = prod(self.shape) * self.data.dtype.itemsize
            elsewhere = self.data.external or self.data.is_virtual
            chunked = self.data.chunks is not None
        if kind != "f":
            raise ShadergenError(
                "SG0106",
                f"weight '{self.name}' holds {self.data.dtype}, not floating-point numbers",
                where=where,
            )
        if elsewhere:
            raise ShadergenError(
                "SG0103",
                f"weight '{self.name}' is an external or virtual HDF5 dataset",
                where=where,
                why="shadergen reads only data that the dataset itself holds",
                help="load the model with Keras and save it again",
            )
        if size > LARGEST_WEIGHT or (size > stored and not (chunked and stored)):
            raise ShadergenError(
                "SG0103",
                f"weight '{self.name}' claims {size} bytes and has {stored} in the file",
                where=where,
            )
        self.room.take(max(size, 4 * prod(self.shape)), where)
        with guarded(f"weight '{self.name}'"):
            chunked = chunked and size > 0
            sizes = check_chunks(self.data) if chunked else None
            filters = filters_of(self.data) if chunked else []
            unknown = unsupported_storage(self.data, filters) if filters else ""
        if unknown:
            raise ShadergenError(
                "SG0206",
                f"weight '{self.name}' is stored with {unknown}, which is not implemented",
                where=where,
                supported=", ".join(FILTERS.values()),
                help="load the model with Keras and save it again",
            )
        with guarded(f"weight '{self.name}'"):
            array = (
                read_filtered(self.data, filters, sizes)
                if filters and sizes is not None
                else np.asarray(self.data.astype(np.float32)[()])
            )
        if not np.isfinite(array).all():
            count = int((~np.isfinite(array)).sum())
            raise ShadergenError(
                "SG0106",
                f"weight '{self.name}' is not finite",
                where=where,
                why=f"{count} of {array.size} numbers are NaN or infinite",
                help="the training diverged; use an earlier checkpoint",
            )
        return array


class WeightStore(ABC):
    """Where a file keeps its weights."""

    @abstractmethod
    def find(self, chain: Sequence[LayerSpec]) -> list[Weight]:
        """Return a layer's weights in the order in which Keras makes them.

        Args:
            chain: the layer, preceded by the nested models that contain it, outermost first.
        """


def _names(group: h5py.Group, attribute: str, longest: int) -> list[str]:
    """Return a list of texts from an attribute, which Keras splits in parts when it is long."""
    whole = read_texts(group, attribute, longest)
    if whole is not None:
        return whole
    names: list[str] = []
    for k in range(MAX_TEXTS):
        part = read_texts(group, f"{attribute}{k}", longest)
        if part is None:
            break
        names += part
    return names


@dataclass(frozen=True)
class LegacyWeights(WeightStore):
    """The weights of .h5 files, where a layer's weights include its parts' weights.

    ``longest``: see :func:`.hdf5.read_texts`.
    """

    root: h5py.Group
    room: Room
    longest: int

    def find(self, chain: Sequence[LayerSpec]) -> list[Weight]:
        part = chain[-1].part
        return self.find(chain[:-1])[part.which] if part else self.of_layer(chain)

    def of_layer(self, chain: Sequence[LayerSpec]) -> list[Weight]:
        group = links_to(self.root, chain[0].name, h5py.Group)
        if group is None:
            return []
        weights = []
        for name in _names(group, "weight_names", self.longest):
            data = links_to(group, name, h5py.Dataset)
            if data is None:
                raise ShadergenError(
                    "SG0106", f"weight '{name}' is missing", where=chain[0].described
                )
            weights.append(Weight(name, data, self.room))
        return weights if len(chain) == 1 else _belonging(weights, [s.name for s in chain])


def _belonging(weights: list[Weight], chain: list[str]) -> list[Weight]:
    """Select a nested layer's weights, whose names end in ``.../layer/kernel:0``.

    Models between may be named or not, and parts of the layer may be named behind it. Old versions
    append a number to the layer's name.
    """
    for exact, parts in product((True, False), range(DEEPEST_PART + 1)):
        best = 0
        found: list[Weight] = []
        for weight in weights:
            places = weight.name.split("/")[:-1]
            places = places[: len(places) - parts]
            if not exact:
                places = [re.sub(r"_\d+$", "", p) for p in places]
            score = 0
            for place, name in zip(reversed(places), reversed(chain), strict=False):
                if place != name:
                    break
                score += 1
            if score > best:
                best, found = score, []
            if score and score == best:
                found.append(weight)
        if found:
            return found
    return []


@dataclass(frozen=True)
class ArchiveWeights(WeightStore):
    """The arrangement of .keras archives."""

    root: h5py.File
    room: Room

    def find(self, chain: Sequence[LayerSpec]) -> list[Weight]:
        group: Any = self.root
        for spec in chain:
            group = _part(group, spec.part.names) if spec.part else _child(group, spec)
            if group is None:
                return []
        variables = links_to(group, "vars", h5py.Group)
        weights: list[Weight] = []
        while variables is not None:
            data = links_to(variables, str(len(weights)), h5py.Dataset)
            if data is None:
                break
            weights.append(Weight(f"{spec.name}/{len(weights)}", data, self.room))
        return weights


def _part(group: h5py.Group, names: Sequence[str]) -> h5py.Group | None:
    found = (links_to(group, name, h5py.Group) for name in names)
    return next((g for g in found if g is not None), None)


def _child(group: h5py.Group, spec: LayerSpec) -> h5py.Group | None:
    """Return the group of one layer of a model.

    Newer files note the layer's name. In older ones the k-th layer of a class has the k-th of
    the groups named after the class; some versions leave numbers out.
    """
    container = links_to(group, "layers", h5py.Group)
    if container is None:
        container = links_to(group, "_layer_checkpoint_dependencies", h5py.Group)
    if container is None:
        return None
    counted = f"{spec.snake}_{spec.rank}" if spec.rank else spec.snake
    if _label(container, counted) == spec.name:
        return links_to(container, counted, h5py.Group)
    pattern = re.compile(re.escape(spec.snake) + r"(?:_(\d{1,9}))?")
    with guarded("the HDF5 file"):
        matches = [m for m in map(pattern.fullmatch, container) if m]
    names = [m[0] for m in sorted(matches, key=lambda m: int(m[1] or 0))]
    for name in names:
        if _label(container, name) == spec.name:
            return links_to(container, name, h5py.Group)
    if len(names) == spec.siblings:
        counted = names[spec.rank]
    return links_to(container, counted, h5py.Group)


def _label(container: h5py.Group, name: str) -> str | None:
    variables = links_to(container, f"{name}/vars", h5py.Group)
    label = read_texts(variables, "name") if variables is not None else None
    return label[0] if label else None
