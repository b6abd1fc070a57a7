"""A model's inputs: their shapes and element types, as the file and the request have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .....errors import ShadergenError
from .....ir.graph import Input, Port
from .....ir.types import MAP_RANK, TensorType
from ...input_shapes import resolve_shape
from ..operands import Known, check_shape
from ..read.narrow_types import NARROW
from ..read.types import ENCODINGS, STRING, dimensions, ir_type, type_name

if TYPE_CHECKING:
    from onnx.onnx_ml_pb2 import ValueInfoProto

    from ...request import Request
    from .declared import DeclaredShapes


def read_input(
    info: ValueInfoProto, axes: tuple[int, int] | None, request: Request, declared: DeclaredShapes
) -> Known | Input:
    """Return an input of the graph; an empty one, of which only the type counts, is known.

    Args:
        info: its declaration.
        axes: of height and width, where the graph tells.
        request: its sizes fill those that the file does not declare.
        declared: takes note of the shape.

    Raises:
        ShadergenError: SG0206 for what is no tensor of a type that is implemented, and as
            ``resolve_shape``.
    """
    where = f"input '{info.name}'"
    if not info.type.HasField("tensor_type"):
        kind = info.type.WhichOneof("value")
        wrong = f"is of type {kind.removesuffix('_type')}" if kind else "has no type"
        raise ShadergenError("SG0206", f"{where} {wrong}", supported="tensors")
    tensor = info.type.tensor_type
    strings = tensor.elem_type == STRING and request.strings
    dtype = "int32" if strings else ir_type(tensor.elem_type)
    if dtype is None:
        raise ShadergenError(
            "SG0206",
            f"{where} has element type {type_name(tensor.elem_type)}",
            supported=", ".join(map(type_name, (*ENCODINGS, *NARROW))),
        )
    sizes = dimensions(tensor.shape)
    if 0 in sizes and None not in sizes:
        check_shape(info.name, tuple(s or 1 for s in sizes))
        return Known(info.name, np.zeros([s or 0 for s in sizes], dtype))
    if not tensor.HasField("shape"):
        shape = _whole_shape(info.name, request)
    else:
        spatial = (axes or (2, 3)) if len(sizes) == MAP_RANK else None
        alone = len(declared.model.inputs) - len(request.values) == 1
        told = axes is not None
        shape = resolve_shape(info.name, sizes, spatial, request, alone, told)
    declared.add_input(info.name, sizes, shape)
    check_shape(info.name, shape)
    return Input(TensorType(shape, dtype), info.name, Port.plain(len(shape)))


def _whole_shape(name: str, request: Request) -> tuple[int, ...]:
    """Return the shape of an input for which the model declares none."""
    sizes, shapes = request.sizes, request.shapes
    wanted = sizes.get(name, sizes.get(""))
    if wanted is None or (len(wanted) == 2 and name not in sizes):
        wanted = shapes.get(name, shapes.get(""))
    if wanted is None:
        raise ShadergenError(
            "SG0204",
            f"input '{name}' has no shape",
            why="even the number of its axes is unknown",
            help=f"give all its sizes, for example --input-size {name or 'NAME'}=1x3x360x640",
        )
    return resolve_shape(name, (None,) * len(wanted), None, request)
