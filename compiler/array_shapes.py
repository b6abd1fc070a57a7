"""Arrays as inputs of a build: a shape that does not fit, and how to make the array fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError
from ..ir.types import MAP_RANK
from .size_texts import shape_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..runtime_glue.python.schedule import Build

    Shape = tuple[int, ...]

# Ways to give an array the axes of an image input, by the array's rank: the code, and the array's
# axes in the new order, None for a new axis of length 1. The first that fits is suggested.
FROM_CHANNELS_LAST = ((None, 2, 0, 1), (0, 3, 1, 2))
WAYS: dict[int, tuple[tuple[str, tuple[int | None, ...]], ...]] = {
    2: (
        ("array[None, None]", (None, None, 0, 1)),
        ("array[None, :, :, None]", (None, 0, 1, None)),
    ),
    3: (
        ("array.transpose(2, 0, 1)[None]", FROM_CHANNELS_LAST[0]),
        ("array.transpose(1, 2, 0)[None]", (None, 1, 2, 0)),
    ),
    4: (
        ("array.transpose(0, 3, 1, 2)", FROM_CHANNELS_LAST[1]),
        ("array.transpose(0, 2, 3, 1)", (0, 2, 3, 1)),
    ),
}


def check_shapes(build: Build, shapes: Mapping[str, Shape]) -> None:
    """Refuse arrays whose shapes no size of a build makes right.

    Args:
        build: fixed or dynamic.
        shapes: of the arrays, by the names of inputs, in the model's own order.

    Raises:
        ShadergenError: SG0605.
    """
    dynamic = {} if build.sizes is None else build.sizes.document
    declared = {port["name"]: port["shape"] for port in dynamic.get("inputs", ())}
    for port in build.inputs:
        wanted = declared.get(port.name, port.shape)
        if port.name not in shapes or _fits(found := shapes[port.name], wanted):
            continue
        takes = shape_text(wanted)
        has = (" x " if " x " in takes else "x").join(map(str, found)) or "a single number"
        raise ShadergenError(
            "SG0605",
            f"the input takes an array of shape {takes}, not {has}",
            where=f"input '{port.name}'",
            help=_help(found, wanted, port.axes, len(build.inputs) == 1),
        )


def _fits(found: Shape, wanted: Sequence[Any]) -> bool:
    """Whether an array's shape is an input's, where this is a number."""
    return len(found) == len(wanted) and all(
        isinstance(size, list) or size == own for own, size in zip(found, wanted, strict=True)
    )


def _help(found: Shape, wanted: Sequence[Any], axes: Sequence[int], alone: bool) -> str:
    """Return what makes an array fit, or nothing.

    Args:
        found: the array's shape.
        wanted: the input's, with lists for dynamic sizes.
        axes: the input's axes, as N, C, H, W.
        alone: whether the build has no other input.
    """
    if len(wanted) != MAP_RANK:
        return "add the batch axis: array[None]" if _fits((1, *found), wanted) else ""
    pairs = list(zip(wanted, axes, strict=True))
    free = [[] if axis >= MAP_RANK - 2 else size for size, axis in pairs]  # of any height and width
    dynamic = 'for arrays of all sizes, compile with input_size="dynamic"'
    if _fits(found, free):
        return dynamic
    if _fits((wanted[0], *found[1:]), free) and wanted[0] == 1:
        return (
            "run the entries of the batch one after another, array[k : k + 1]; or compile the "
            f"model for a batch of {found[0]}"
        )
    shape, how = (1, *found), "add the batch axis: array[None]"
    for code, order in WAYS.get(len(found), ()):
        if _fits(shape, free):
            break
        shape = tuple(1 if axis is None else found[axis] for axis in order)
        how = f"give the array the axes of the input: {code}"
        if order in FROM_CHANNELS_LAST:
            how = f"if the array is height x width x channels, transpose it: {code}"
            how += ", or pass the Pillow image" if alone else ""
    if not _fits(shape, free):
        return ""
    return how if _fits(shape, wanted) else f"{how}\n{dynamic}"
