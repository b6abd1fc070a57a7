"""Opening a Keras file: the configuration, the version that saved it, and its weights.

A file is hostile input. Nothing is unpacked to disk, HDF5 links and external storage are refused,
and every stated size is compared with the bytes in the file. Weights are read in place, so memory
depends on the model's weights only, not on other content of the file.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO
from zlib import error as ZlibError

import h5py

from .....errors import ShadergenError
from .....records import dataclass
from ...signatures import HDF5_SIGNATURE, ZIP_SIGNATURE, refuse_torch
from .hdf5 import Hdf5, Heaps, guarded, links_to, opened, read_texts
from .weights import ArchiveWeights, LegacyWeights, Room, WeightStore, unpacked_limit
from .zip_members import Directory, Member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONFIG_LIMIT = 32 * 2**20  # a layer takes about 1 KB
PARSED_LIMIT = 192 * 2**20  # a layer takes about 6 KB
# How much memory the parts of a JSON text take in CPython: objects, arrays, numbers, texts.
PARSED_BYTES = {"{": 240, "[": 90, ",": 36, '"': 30}
FORMATS = "Keras .h5, .hdf5, .keras"


@dataclass(frozen=True)
class Archive:
    """A model file, open.

    Attributes:
        config: the model's configuration, a JSON object.
        version: major and minor version of the Keras that saved it.
        weights: where the weights are found; valid while the file is open.
    """

    config: dict[str, Any]
    version: tuple[int, int]
    weights: WeightStore


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a model file for as long as the context lasts.

    Raises:
        ShadergenError: SG0101 to SG0106, as the table of codes says.
    """
    if path.is_dir():
        raise directory_error(path)
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise ShadergenError(
            "SG0101", f"cannot open '{path}'", why=error.strerror or str(error)
        ) from None
    with ExitStack() as stack:
        if head.startswith(HDF5_SIGNATURE):
            raw = stack.enter_context(path.open("rb"))
            room = Room(path.stat().st_size)
            yield _read_hdf5(stack.enter_context(opened(raw, "the HDF5 file")), room)
        elif head.startswith(ZIP_SIGNATURE):
            yield _read_zip(path, stack)
        else:
            raise ShadergenError("SG0102", f"'{path.name}' is not a Keras model", supported=FORMATS)


def directory_error(path: Path) -> ShadergenError:
    """Return what to tell someone who gives a folder: perhaps a SavedModel."""
    if (path / "saved_model.pb").exists():
        return ShadergenError(
            "SG0102",
            f"'{path.name}' is a TensorFlow SavedModel",
            supported=f"{FORMATS}; ONNX .onnx",
            help=f"convert it to ONNX: python -m tf2onnx.convert --saved-model '{path.name}' "
            "--output model.onnx --opset 17\nor call model.save('model.keras') in the Python "
            "program that creates the model",
        )
    return ShadergenError(
        "SG0102",
        f"'{path.name or path}' is a folder, not a model file",
        supported=f"{FORMATS}; ONNX .onnx",
        help="this is a build: give the model that it was made from"
        if (path / "schedule.json").exists()
        else "",
    )


def _read_hdf5(source: Hdf5, room: Room) -> Archive:
    file = source.file
    if source.longest > CONFIG_LIMIT:
        raise ShadergenError(
            "SG0105",
            f"a string in the file is too long: {source.longest} bytes",
            supported=f"up to {CONFIG_LIMIT} bytes",
        )
    text, version = (_first(read_texts(file, name)) for name in ("model_config", "keras_version"))
    with guarded("the HDF5 file"):
        legacy_weights = "layer_names" in file.attrs or "layer_names0" in file.attrs
        new_weights = "layers" in file or "_layer_checkpoint_dependencies" in file
    if text is None:
        if legacy_weights or new_weights:
            raise _weights_only()
        raise ShadergenError(
            "SG0102",
            "the HDF5 file is not a Keras model",
            why="it has no attribute 'model_config'",
            supported=FORMATS,
        )
    config = _parse(text)
    if version is None:
        version = config.get("keras_version")
    root = links_to(file, "model_weights", h5py.Group)
    weights = LegacyWeights(file if root is None else root, room, source.longest)
    return Archive(config, _version(version), weights)


def _first(texts: list[str] | None) -> str | None:
    return texts[0] if texts else None


def _weights_only() -> ShadergenError:
    return ShadergenError(
        "SG0104",
        "the file holds weights but no architecture",
        why="it was written by save_weights(), which leaves the layers out",
        help="save the whole model with model.save('model.keras'); without the training script, "
        "rebuild the model in Python, call model.load_weights() and then model.save()",
    )


def _read_zip(path: Path, stack: ExitStack) -> Archive:
    with guarded("the .keras archive", zipfile.BadZipFile):
        raw = stack.enter_context(path.open("rb"))
        archive = stack.enter_context(zipfile.ZipFile(Directory(path)))
        names = set(archive.namelist())
    refuse_torch(path.name, names)
    if "config.json" not in names:
        raise ShadergenError(
            "SG0102",
            "the ZIP archive is not a Keras model",
            why="it has no config.json",
            supported=FORMATS,
        )
    size = path.stat().st_size
    config = _parse(_member(archive, raw, "config.json", size, CONFIG_LIMIT).read())
    metadata: dict[str, Any] = {}
    if "metadata.json" in names:
        metadata = _parse(_member(archive, raw, "metadata.json", size, CONFIG_LIMIT).read())
    if "model.weights.h5" not in names:
        raise ShadergenError(
            "SG0106",
            "the archive holds no weights",
            why="it has no model.weights.h5; weights in several files are not implemented",
            help="save the whole model with model.save('model.keras')",
        )
    heaps = Heaps()
    data = _member(archive, raw, "model.weights.h5", size, look=heaps.look)
    file = stack.enter_context(opened(data, "model.weights.h5", heaps)).file
    return Archive(
        config, _version(metadata.get("keras_version")), ArchiveWeights(file, Room(size))
    )


def _member(
    archive: zipfile.ZipFile,
    file: BinaryIO,
    name: str,
    stored: int,
    limit: int | None = None,
    look: Callable[[bytes], None] = lambda piece: None,
) -> BinaryIO:
    """Open one member, of at most ``limit`` bytes, no bomb in an archive of ``stored`` bytes.

    ``look`` is given all of it, in pieces.
    """
    info = archive.getinfo(name)
    most = unpacked_limit(min(info.compress_size, stored))
    most = most if limit is None else min(limit, most)
    if info.file_size > most:
        raise ShadergenError(
            "SG0103",
            f"'{name}' claims to unpack to {info.file_size} bytes",
            why=f"it is stored in {info.compress_size} bytes, which may unpack to at most {most}",
        )
    with guarded(f"'{name}'", zipfile.BadZipFile, ZlibError):
        return io.BufferedReader(Member(file, info, look))


def _parse(text: Any) -> dict[str, Any]:
    """Parse a JSON object from bytes or text.

    Raises:
        ShadergenError: SG0105 when it is not one, or would fill the memory.
    """
    why = ""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        memory = len(text) * (2 if text.isascii() else 5)
        memory += sum(text.count(part) * size for part, size in PARSED_BYTES.items())
        if memory > PARSED_LIMIT:
            raise ShadergenError(
                "SG0105",
                "the model's configuration is too large",
                why=f"it would take {memory >> 20} MiB of memory; the limit is "
                f"{PARSED_LIMIT >> 20} MiB",
            )
        config = json.loads(text)
    except (ValueError, TypeError) as error:
        why = str(error)
    except RecursionError:
        why = "it is nested too deeply"
    else:
        if isinstance(config, dict):
            return config
        why = "it is not a JSON object"
    raise ShadergenError("SG0105", "the model's configuration does not parse", why=why)


def _version(text: Any) -> tuple[int, int]:
    """Return major and minor version; a file that does not say is from Keras 2."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", text) if isinstance(text, str) else None
    version = (int(found[1]), int(found[2])) if found else (2, 0)
    if version[0] < 2:
        raise ShadergenError(
            "SG0102",
            f"the model was saved by Keras {text}",
            supported="Keras 2 and Keras 3",
            help="load the model and save it again with Keras 2.3.1, the last version that reads "
            "files of Keras 1: in Python 3.7, pip install keras==2.3.1 tensorflow==1.15.5 "
            "h5py==2.10.0",
        )
    return version
