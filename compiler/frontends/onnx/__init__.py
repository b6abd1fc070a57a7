"""The ONNX frontend: a ``.onnx`` file in, a graph in the IR's own terms out.

``model`` reads the file and checks that it holds together, ``tensors`` its weights, ``importer``
walks the nodes, ``operators`` is the table of what is implemented.

Everything is computed in float32: float16, bfloat16 and float64 weights are converted, inputs of
those types are declared float32. Integer tensors exist at compile time only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .importer import Importer
from .model import read_model

if TYPE_CHECKING:
    from pathlib import Path

    from ....ir.graph import Graph
    from ..base import Request

__all__ = ["load_onnx"]


def load_onnx(path: Path, request: Request) -> Graph:
    """Read an ONNX model.

    Args:
        path: the model; external data lies in its folder.
        request: sizes of dynamic inputs, definitions of custom operators.

    Raises:
        ShadergenError: SG0101 to SG0107 when the file is unreadable, no model, damaged or
            malformed; SG0201 to SG0206 when it holds what is not implemented; SG0301 when a
            requested size contradicts the model.
    """
    return Importer(read_model(path), request).run()
