"""A picture as the input of a model, before the model is compiled: ``verify --input``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError
from ..records import replace
from .compilation import import_model
from .frontends.input_shapes import NO_SIZE, model_shapes
from .pictures.picture import to_scaled_array
from .pictures.reading import read_picture

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ..ir.graph import Graph
    from .options import Options


def picture_input(model: Path, options: Options, path: Path) -> tuple[dict[str, NDArray[Any]], str]:
    """Read a picture for the only input of a model.

    The input has the size that the model or the options state, and the picture is scaled to it.
    Otherwise, it has the picture's size.

    Args:
        model: the model file.
        options: of the compilation.
        path: the picture.

    Returns:
        The array by the input's name, in the model's own shape, and a note of scaling or nothing.

    Raises:
        ShadergenError: SG0101 for a picture that cannot be read, SG0605 for a model that does not
            take one picture; others as :func:`~.compilation.import_model`.
    """
    picture = read_picture(path)
    shapes = model_shapes((graph := import_at_size(model, options, picture.size)).inputs)
    if len(shapes) != 1:
        raise ShadergenError(
            "SG0605",
            f"one picture cannot fill {len(shapes)} inputs",
            supported=f"an .npz with the arrays {', '.join(shapes)}",
        )
    ((name, shape),) = shapes.items()
    array, note = to_scaled_array(picture, shape, graph.inputs[0].port.axes, name)
    return {name: array}, note


def import_at_size(model: Path, options: Options, size: tuple[int, int]) -> Graph:
    """Return a model at its own size or that of the options; if neither states one, at this.

    Raises:
        ShadergenError: as :func:`~.compilation.import_model`.
    """
    own = options.dynamic if isinstance(options.dynamic, tuple) else None
    fixed = replace(options, dynamic=None)
    if own is not None:
        size = own
    try:
        return import_model(model, fixed)
    except ShadergenError as error:
        if error.code != NO_SIZE:
            raise
    return import_model(model, replace(fixed, input_size={"": size, **options.input_size}))
