"""The first bytes of files: models of Keras and ONNX, and what people take for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ShadergenError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
ZIP_SIGNATURE = b"PK\x03\x04"
KERAS_SIGNATURES = (HDF5_SIGNATURE, ZIP_SIGNATURE)
ONNX_FIRST_FIELDS = (b"\x08", b"\x3a")  # how a model's bytes begin: ir_version, or else graph
SUPPORTED = "Keras .h5, .hdf5, .keras; ONNX .onnx"
EXPORT = "export it in Python: torch.onnx.export(model, example_input, 'model.onnx')"


def is_keras(path: Path) -> bool:
    """Whether a file that can be read is one of Keras, by its content."""
    with path.open("rb") as file:
        return file.read(8).startswith(KERAS_SIGNATURES)


def refuse_foreign(name: str, head: bytes) -> None:
    """Refuse a file that begins like one of a well-known other kind.

    Args:
        name: of the file.
        head: its first bytes, at least 64 where it has as many.

    Raises:
        ShadergenError: SG0102, with the way to a model.
    """
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not head:
        raise _refusal(name, "empty", "download or export it again")
    if head[4:8] == b"TFL3":
        convert = f"python -m tf2onnx.convert --tflite {name} --output model.onnx"
        raise _refusal(name, "a TensorFlow Lite model", f"convert it: {convert}")
    if head.startswith(b"version https://git-lfs"):
        raise _refusal(name, "a pointer of Git LFS, not the file itself", "fetch it: git lfs pull")
    if text.startswith((b"<!doctype", b"<html")):
        raise _refusal(name, "a web page", "download the file itself, not the page that shows it")
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise _refusal(name, "a Python pickle, perhaps a checkpoint of PyTorch", EXPORT)

    if text.startswith((b"//", b"/*")):
        raise ShadergenError(
            "SG0102",
            f"'{name}' is shader code, not a model",
            supported=SUPPORTED,
            help="run, bench and verify --build take user shaders; give other commands the model\n"
            "inspect MODEL --target mpv shows the passes of a user shader",
        )


def refuse_torch(name: str, members: Iterable[str]) -> None:
    """Refuse a ZIP archive that PyTorch wrote, by its members.

    Raises:
        ShadergenError: SG0102.
    """
    if any(m == "data.pkl" or m.endswith("/data.pkl") for m in members):
        raise _refusal(name, "a checkpoint of PyTorch", EXPORT)


def _refusal(name: str, what: str, help: str) -> ShadergenError:
    return ShadergenError("SG0102", f"'{name}' is {what}", supported=SUPPORTED, help=help)
