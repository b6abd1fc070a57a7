"""A model's inputs: their shapes and element types, as the file and the request have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from .....errors import ShadergenError
from .....ir.graph import Input, Port
from .....ir.types import MAX_RANK, DType, TensorType
from ...input_shapes import resolve_shape
from ..read.config import Config, is_integer, plain, shown
from ..tensors import standard

if TYPE_CHECKING:
    from ...request import Request
    from ..read.model import LayerSpec, ModelSpec

# What an input may hold, and how the IR calls it.
INPUT_TYPES: dict[str, DType] = {
    **dict.fromkeys(("float32", "float16", "bfloat16", "float64"), "float32"),
    **{name: name for name in get_args(DType)},
}


def data_format_of(model: ModelSpec) -> str | None:
    """Return the first data format that a layer of the model names."""
    for spec in model.layers.values():
        found = spec.config.get("data_format")
        if spec.model is not None:
            found = data_format_of(spec.model)
        if found in ("channels_last", "channels_first"):
            return str(found)
    return None


def batch_of(spec: LayerSpec) -> Any:
    """Return the number of samples that an input asks for, or None."""
    shape = spec.config.get("batch_shape") or spec.config.get("batch_input_shape")
    shape = plain(shape)
    return shape[0] if isinstance(shape, list) and shape else None


def read_input(spec: LayerSpec, data_format: str, request: Request, alone: bool = True) -> Input:
    """Return an input of the graph, its shape resolved.

    Args:
        spec: the layer that stands for it.
        data_format: of the model: tells which axes of an image are height and width.
        request: its sizes fill those that the file does not declare.
        alone: whether the model has no other input.

    Raises:
        ShadergenError: SG0105 and SG0206 for what the file says, and as ``resolve_shape``.
    """
    where = f"input '{spec.name}'"
    if spec.class_name != "InputLayer":
        raise ShadergenError("SG0105", f"{spec.described} is listed as an input and is not one")
    config = Config(where, spec.config)
    shape = plain(config.get("batch_shape", "batch_input_shape"))
    if not isinstance(shape, list) or not all(s is None or is_integer(s) for s in shape):
        raise ShadergenError(
            "SG0105",
            "the model does not say the input's shape",
            where=where,
            why=f"the file stores {shown(shape)} as the shape",
            help="build the model before saving it, for example with keras.Input(shape) as its "
            "first layer",
        )
    dtype = config.get("dtype", default="float32")
    if not isinstance(dtype, str) or dtype not in INPUT_TYPES:
        supported = ", ".join(INPUT_TYPES)
        raise ShadergenError(
            "SG0206",
            f"input type {shown(dtype)} is not supported",
            where=where,
            supported=supported,
        )
    if not 1 <= len(shape) <= MAX_RANK:
        raise ShadergenError(
            "SG0206",
            f"an input of rank {len(shape)} is not supported",
            where=where,
            supported=f"ranks 1 to {MAX_RANK}",
        )
    axes = standard(len(shape), data_format)
    spatial = None
    if len(shape) == 4:
        spatial = (1, 2) if data_format == "channels_last" else (2, 3)
    sizes = resolve_shape(spec.name, shape, spatial, request, alone)
    logical = [0] * len(sizes)
    for size, axis in zip(sizes, axes, strict=True):
        logical[axis] = size
    return Input(TensorType(tuple(logical), INPUT_TYPES[dtype]), spec.name, Port(axes))
