"""Opening a Keras file: the configuration, the version that saved it, and its weights.

A file is hostile input. Nothing is unpacked to disk, HDF5 links and external storage are refused,
and no size is believed before it is compared with the bytes that are there.
"""

from __future__ import annotations

import json
import re
import zipfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import error as ZlibError

import h5py

from ....errors import ShadergenError
from ..base import HDF5_MAGIC, ZIP_MAGIC
from ..foreign import refuse_torch
from .hdf5 import guarded, links_to, opened, read_texts
from .weights import ArchiveWeights, LegacyWeights, WeightStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG_LIMIT = 64 * 2**20
WEIGHTS_LIMIT = 4 * 2**30
RATIO_LIMIT = 200  # compressed weights never come near this
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
        if head.startswith(HDF5_MAGIC):
            file = stack.enter_context(opened(path, "the HDF5 file"))
            yield _read_hdf5(file)
        elif head.startswith(ZIP_MAGIC):
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
            help="load it with Keras and save it again: "
            f"keras.models.load_model('{path.name}').save('{path.name}.keras')",
        )
    return ShadergenError(
        "SG0102",
        f"'{path.name or path}' is a folder, not a model file",
        supported=f"{FORMATS}; ONNX .onnx",
    )


def _read_hdf5(file: h5py.File) -> Archive:
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
    return Archive(config, _version(version), LegacyWeights(file if root is None else root))


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
        archive = stack.enter_context(zipfile.ZipFile(path))
        names = set(archive.namelist())
    refuse_torch(path.name, names)
    if "config.json" not in names:
        raise ShadergenError(
            "SG0102",
            "the ZIP archive is not a Keras model",
            why="it has no config.json",
            supported=FORMATS,
        )
    config = _parse(_member(archive, "config.json", CONFIG_LIMIT))
    metadata: dict[str, Any] = {}
    if "metadata.json" in names:
        metadata = _parse(_member(archive, "metadata.json", CONFIG_LIMIT))
    if "model.weights.h5" not in names:
        raise ShadergenError(
            "SG0106",
            "the archive holds no weights",
            why="it has no model.weights.h5; weights in several files are not implemented",
            help="save the whole model with model.save('model.keras')",
        )
    data = _member(archive, "model.weights.h5", WEIGHTS_LIMIT)
    file = stack.enter_context(opened(data, "model.weights.h5"))
    return Archive(config, _version(metadata.get("keras_version")), ArchiveWeights(file))


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Read one member, at most ``limit`` bytes and no bomb."""
    info = archive.getinfo(name)
    if info.file_size > min(limit, 2**20 + RATIO_LIMIT * info.compress_size):
        raise ShadergenError(
            "SG0103",
            f"'{name}' claims to unpack to {info.file_size} bytes",
            why=f"it is stored in {info.compress_size} bytes; the limit is {limit} bytes and "
            f"{RATIO_LIMIT} times its stored size",
        )
    with (
        guarded(f"'{name}'", zipfile.BadZipFile, ZlibError, NotImplementedError, EOFError),
        archive.open(info) as file,
    ):
        return file.read(limit)


def _parse(text: Any) -> dict[str, Any]:
    """Parse a JSON object from bytes or text.

    Raises:
        ShadergenError: SG0105 when it is not one.
    """
    why = ""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
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
            help="load it with Keras 2 and save it again",
        )
    return version
