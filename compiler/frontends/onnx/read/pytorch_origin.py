"""Which PyTorch operator and module a node comes from, as PyTorch's exporter notes it.

``torch.onnx.export(..., dynamo=True)`` writes into each node's ``metadata_props``, for example:

    pkg.torch.onnx.class_hierarchy   ['Net', 'Head', 'aten.nonzero.default']
    pkg.torch.onnx.name_scopes       ['', 'head', 'nonzero']

The texts are only read for messages, and not trusted: other forms give nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx.onnx_ml_pb2 import NodeProto

PREFIX = "pkg.torch.onnx."
MOST = 4_000  # characters of a text that is looked at
QUOTED = re.compile(r"'([^']*)'")


def pytorch_origin(proto: NodeProto) -> str:
    """Return ``PyTorch's aten.nonzero in head``, or "" where the exporter noted nothing."""
    noted = {p.key: p.value for p in proto.metadata_props if p.key.startswith(PREFIX)}
    classes = QUOTED.findall(noted.get(f"{PREFIX}class_hierarchy", "")[:MOST])
    scopes = QUOTED.findall(noted.get(f"{PREFIX}name_scopes", "")[:MOST])
    if not classes or not re.fullmatch(r"\w+\.\w+(\.\w+)?", classes[-1]):
        return ""
    operator = ".".join(classes[-1].split(".")[:2])
    module = scopes[-2] if len(scopes) > 1 else ""
    return f"PyTorch's {operator}" + (f" in {module}" if module else "")
