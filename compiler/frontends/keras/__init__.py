"""Keras models: .h5 and .hdf5 of Keras 2 and 3, and .keras archives.

The file is read with h5py and the standard library; Keras is not needed, and no code that a model
carries is ever run. In the order in which data flows: ``read`` opens the file and reads layers and
calls from its configuration, ``importing`` runs the calls through ``layers`` and ``ops``, which
read weights as they need them. ``tensors`` are what layers are called with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import ShadergenError
from .importing.importer import build_graph
from .read.archive import open_archive
from .read.model import read_model

if TYPE_CHECKING:
    from pathlib import Path

    from ....ir.graph import Graph
    from ..request import Request


def load_keras(path: Path, request: Request) -> Graph:
    """Read a Keras model; images become NCHW, ports keep the model's own order.

    Raises:
        ShadergenError: SG01xx when the file cannot be read, SG02xx when it holds something that
            is not implemented.
    """
    with open_archive(path) as archive:
        try:
            model = read_model(archive.config, archive.version)
            return build_graph(model, archive.version, archive.weights, request)
        except RecursionError:
            raise ShadergenError("SG0105", "the configuration is nested too deeply") from None
