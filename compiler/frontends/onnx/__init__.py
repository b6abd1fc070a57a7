"""The ONNX frontend: a ``.onnx`` file in, a graph in the IR's own terms out.

In order: ``read`` turns the file into a checked model, ``shapes`` has its input and declared
shapes, ``importing`` walks the nodes and builds the graph. ``ops`` has a handler for each operator;
``folding`` computes nodes whose inputs are all known. ``operands`` has the values of names during
the import: graph tensors, known arrays, lists of them.

Everything is computed in float32: float16, bfloat16 and float64 weights are converted, inputs of
those types are declared float32. Integers and booleans keep their types and are exact up to
2^24 (``ir.integers``); constants are computed in their own type. ``read.narrow_types`` has the
narrower types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....records import replace
from ..input_shapes import check_size_names, check_sizes, model_shapes
from .importing.chains import with_whole_operators
from .importing.cut import cut
from .importing.importer import Importer
from .read.model import check_model, parse_model

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from onnx.onnx_ml_pb2 import ModelProto

    from ....ir.graph import Graph
    from ..request import Request

__all__ = ["load_onnx", "load_onnx_proto"]


def load_onnx(path: Path, request: Request) -> Graph:
    """Read an ONNX model.

    Args:
        path: the model; external data lies in its folder.
        request: sizes of dynamic inputs, where to cut, definitions of custom operators.

    Raises:
        ShadergenError: SG0101 to SG0107 when the file is unreadable, no model, damaged or
            malformed; SG0201 to SG0206 when it holds what is not implemented; SG0301 when what is
            requested contradicts the model.
    """
    return _imported(parse_model(path), path.parent, path.stem, request)


def load_onnx_proto(proto: ModelProto, request: Request) -> Graph:
    """Take an ONNX model that lies in memory, without external data.

    Raises:
        ShadergenError: as :func:`load_onnx`.
    """
    return _imported(proto, None, "model", request)


def _imported(proto: ModelProto, folder: Path | None, name: str, request: Request) -> Graph:
    model = check_model(proto, folder, name)
    dropped: Mapping[str, tuple[int, ...]] = {}
    if request.inputs or request.outputs:
        part = cut(proto, request)
        sizes = {part.values.get(key, key): size for key, size in request.sizes.items()}
        inputs, outputs = (
            tuple(part.values[name] for name in names)
            for names in (request.inputs, request.outputs)
        )
        request = replace(request, sizes=sizes, inputs=inputs, outputs=outputs)
        model = check_model(part.model, folder, name, part.names)
        dropped = part.dropped
    check_size_names([*dropped, *(info.name for info in model.inputs)], request)
    graph = Importer(with_whole_operators(model, request), request).run()
    check_sizes({**dropped, **model_shapes(graph.inputs)}, request)
    return graph
