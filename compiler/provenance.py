"""Where a network comes from: what its file says of authors and licence, and which file it is."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ..records import dataclass
from .frontends.signatures import KERAS_SIGNATURES

if TYPE_CHECKING:
    from pathlib import Path

    from onnx.onnx_ml_pb2 import ModelProto

LICENSE = ("license", "licence", "license_name", "model_license")  # keys of ONNX's metadata
LONGEST, MOST = 200, 20  # characters of a line, and values that are shown
LICENSE_LINES = 40  # of a license: MIT's has 21, BSD's 28
CHUNK = 1 << 20  # bytes of a file in memory at once


@dataclass(frozen=True)
class Provenance:
    """What to say of a model file.

    Attributes:
        license: as the file states it, or nothing.
        lines: the file's name and SHA-256, and what else it states, one fact each.
    """

    license: str
    lines: tuple[str, ...]


def provenance(model: Path) -> Provenance:
    """Return what a model file that the compiler has read says of itself.

    ONNX files have metadata (``ModelProto.metadata_props``, ``producer_name``, ``doc_string``).
    Keras files have none but the version of Keras.
    """
    digest = hashlib.sha256()
    with model.open("rb") as file:
        is_keras = file.read(16).startswith(KERAS_SIGNATURES)
        file.seek(0)
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    own = f"model: {model.name}, SHA-256 {digest.hexdigest()}"
    if is_keras:
        return Provenance("", (own,))
    from .frontends.onnx.read.model import parse_model

    license, facts = _stated(parse_model(model))
    return Provenance(license, (own, *facts))


def _stated(proto: ModelProto) -> tuple[str, list[str]]:
    """Return the licence, and the other facts."""
    known = {p.key.strip(): p.value.strip() for p in proto.metadata_props if p.value.strip()}
    license = next((known.pop(k) for k in [*known] if k.lower() in LICENSE), "")
    exporter = f"{proto.producer_name} {proto.producer_version}".strip()
    stated = {"exported by": exporter, "description": proto.doc_string.strip(), **known}
    facts = [f"{key}: {_short(value)}" for key, value in stated.items() if value]
    return _first_lines(license), facts[:MOST]


def _first_lines(license: str) -> str:
    """Return a license, cut where it would fill the header of a shader."""
    lines = license.splitlines()
    shown = [_short(line) for line in lines[:LICENSE_LINES]]
    if len(lines) > LICENSE_LINES:
        shown.append(f"... {len(lines) - LICENSE_LINES} more lines, in the model file")
    return "\n".join(shown)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
