"""Reading a model: its first bytes choose the frontend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ShadergenError
from .signatures import KERAS_SIGNATURES, ONNX_FIRST_FIELDS, refuse_foreign

if TYPE_CHECKING:
    from pathlib import Path

    from onnx.onnx_ml_pb2 import ModelProto

    from ...ir.graph import Graph
    from .request import Request


def load(path: Path, request: Request) -> Graph:
    """Read a model; its content, not its name, tells the format.

    Raises:
        ShadergenError: SG01xx when the file cannot be read, SG02xx when it holds something that
            is not implemented.
    """
    if path.is_dir():
        from .keras.read.archive import directory_error

        raise directory_error(path).at(str(path))
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise ShadergenError(
            "SG0101",
            f"cannot open '{path}'",
            why=error.strerror or str(error),
        ) from None
    try:
        if head.startswith(KERAS_SIGNATURES):
            from .keras import load_keras

            if request.values:
                raise ShadergenError(
                    "SG0301",
                    "--input-value is for ONNX models",
                    why="it is for inputs that hold shapes or axes; Keras models have none",
                )
            return load_keras(path, request)
        refuse_foreign(path.name, head)
        keras = path.suffix.lower() in (".h5", ".hdf5", ".keras")
        if keras and not head.startswith(ONNX_FIRST_FIELDS):  # an ONNX model under its name is one
            raise ShadergenError(
                "SG0102",
                f"'{path.name}' is not a Keras model",
                why="a Keras model begins with the HDF5 or ZIP signature",
                supported="Keras .h5, .hdf5, .keras; ONNX .onnx",
            )
        from .onnx import load_onnx

        return load_onnx(path, request)
    except ShadergenError as error:
        if error.code == "SG0205" and request.sizes and not error.help:
            error.help = (
                "the sizes follow from --input-size: a model that halves sizes and doubles them "
                "again may need multiples of 8, 16 or 32"
            )
        raise error.at(str(path)) from None


def load_proto(model: ModelProto, request: Request) -> Graph:
    """Take an ONNX model that lies in memory.

    Raises:
        ShadergenError: as :func:`load`.
    """
    from .onnx import load_onnx_proto

    return load_onnx_proto(model, request)
