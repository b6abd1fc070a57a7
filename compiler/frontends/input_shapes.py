"""The shapes of a model's inputs: as declared, with the sizes that the request gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ShadergenError, count, require_inputs
from ...ir.types import MAP_RANK
from .dynamic_sizes import ASSUMED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ...ir.graph import Input
    from .request import Request


NO_SIZE = "SG0204"  # the error of a model that does not declare a size
SETTABLE = (
    "two kinds of sizes can be set: the height and width of images, and sizes that the model "
    "leaves dynamic"
)


def model_shapes(inputs: Iterable[Input]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of inputs by name, in the model's own order."""
    return {i.name: tuple(i.shape[a] for a in i.port.axes) for i in inputs}


def check_size_names(names: Collection[str], request: Request) -> None:
    """Refuse sizes for inputs that there are not.

    Raises:
        ShadergenError: SG0301 naming the input.
    """
    require_inputs("input-size", filter(None, request.sizes), names)


def check_sizes(shapes: Mapping[str, tuple[int, ...]], request: Request) -> None:
    """Refuse sizes that were asked for and that no input has.

    Args:
        shapes: of the inputs, those included that were cut off, by name.
        request: what was asked for.

    Raises:
        ShadergenError: SG0301 naming the size.
    """
    check_size_names(shapes, request)
    for name, size in request.sizes.items():
        text = "x".join(map(str, size))
        candidates = [shapes[name]] if name else list(shapes.values())
        if not any(fits_shape(size, shape) for shape in candidates):
            images = [n for n, shape in shapes.items() if len(shape) == MAP_RANK]
            named = f"name the input: --input-size {images[0]}={text}" if images else ""
            raise ShadergenError(
                "SG0301",
                f"--input-size {text} does not fit the model",
                where=", ".join(f"{n} {'x'.join(map(str, s))}" for n, s in shapes.items()),
                why=SETTABLE,
                help=named if len(shapes) > 1 and not name else "",
            )


def fits_shape(size: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a shape is ``size``, or has its two numbers as neighbouring axes."""
    return size == shape or size in [shape[i : i + 2] for i in range(1, len(shape) - 1)]


def resolve_shape(
    name: str,
    shape: Sequence[int | None],
    spatial: tuple[int, int] | None,
    request: Request,
    alone: bool = True,
    told: bool = True,
) -> tuple[int, ...]:
    """Return an input's static shape.

    Height and width of an image are as requested even where the model declares others, with a note.
    Numbers that an exporter computed for the declared size stay in the model.

    Args:
        name: the input's name.
        shape: as the model declares it, in the model's own order; None where dynamic.
        spatial: the positions of height and width in ``shape``, if it is an image.
        request: its ``sizes`` fill the dynamic axes; a dynamic batch is 1 unless it says more.
        alone: whether the model has no other input, and so needs no names in a help.
        told: whether the model says that these are height and width, and no convention.

    Raises:
        ShadergenError: SG0204 when a size is missing, SG0301 when it contradicts the model.
    """
    if name in request.replaced:
        return request.replaced[name]
    image = _spatial(shape, spatial) if len(shape) == MAP_RANK else None
    if request.dynamic is not None and image is not None and name not in request.sizes:
        told = told or image != spatial  # by which axes are dynamic
        shape = request.dynamic.shape(name, shape, image, told)
    wanted = request.sizes.get(name)
    if wanted is None and ((alone and image) or any(s is None for s in shape[1:])):
        wanted = request.sizes.get("")
    if wanted is None and any(s is None for s in shape[1:]):
        wanted = request.undeclared_size
    declared = " x ".join("?" if s is None else str(s) for s in shape)
    where = f"input '{name}' of shape {declared}"
    option = request.option(name)
    resolved = list(shape)
    spatial = _spatial(shape, spatial)
    if wanted is not None and image is not None:
        for axis in image:
            resolved[axis] = None
    if wanted is not None and len(wanted) == 2 and len(shape) != 2 and spatial is not None:
        for axis, size in zip(spatial, wanted, strict=True):
            _fix(resolved, axis, size, where, option)
    elif wanted is not None:
        if len(wanted) != len(shape):
            raise ShadergenError(
                "SG0301",
                f"{option} gives {count(len(wanted), 'number')}",
                where=where,
                supported=f"height and width, or all {len(shape)} sizes in the model's order",
            )
        for axis, size in enumerate(wanted):
            _fix(resolved, axis, size, where, option)
    if array := request.array_shape(name, resolved):
        resolved = list(array)
    if resolved and resolved[0] is None:
        resolved[0] = 1
    if any(s is None for s in resolved):
        raise ShadergenError(
            "SG0204",
            f"input '{name}' has an undeclared size",
            where=where,
            why="each size must be a number, except that height and width may be dynamic",
            help=_ways_to_say(
                "" if alone else f"{name}=",
                resolved,
                spatial,
                image is not None and request.dynamic is None,
            ),
        )
    if any(s is not None and s < 1 for s in resolved):
        raise ShadergenError("SG0105", f"input '{name}' is empty", where=where)
    if wanted is not None and image is not None:
        _note_replaced(name, shape, resolved, image, told, request)
    return tuple(s for s in resolved if s is not None)


def _note_replaced(
    name: str,
    declared: Sequence[int | None],
    resolved: Sequence[int | None],
    image: tuple[int, int],
    told: bool,
    request: Request,
) -> None:
    """Note it if the height and width of an image are not those that the model declares."""
    if all(declared[axis] in (None, resolved[axis]) for axis in image):
        return
    own, now = (
        "x".join(str(shape[axis] or "?") for axis in image) for shape in (declared, resolved)
    )
    axes = f"height is axis {image[0]}, width axis {image[1]}" + ("" if told else f" ({ASSUMED})")
    request.resized[name] = (
        f"'{name}': {now} instead of the declared {own}; {axes}; numbers in the file that "
        f"the exporter computed for {own} stay as they are"
    )


def _ways_to_say(
    named: str, shape: Sequence[int | None], spatial: tuple[int, int] | None, flexible: bool
) -> str:
    """Return the options that give an input its size.

    Args:
        named: ``name=`` with several inputs.
        shape: as far as it is known.
        spatial: the positions of height and width.
        flexible: whether height and width can be dynamic.
    """
    if {axis for axis, size in enumerate(shape) if size is None} - set(spatial or ()):
        example = "x".join(str(size or 16) for size in shape)
        return f"give all sizes, batch included: for example --input-size {named}{example}"
    one = f"give the size with --input-size {named}HxW, for example --input-size {named}360x640"
    return f"{one}\nor make height and width dynamic: --input-size dynamic" if flexible else one


def _spatial(
    shape: Sequence[int | None], otherwise: tuple[int, int] | None
) -> tuple[int, int] | None:
    """Return the positions of height and width: the two axes of unknown size, or ``otherwise``."""
    unknown = [axis for axis, s in enumerate(shape) if s is None and axis > 0]
    if len(unknown) == 2:  # an exporter may keep NHWC: the unknown are height and width
        return unknown[0], unknown[1]
    return otherwise


def _fix(sizes: list[int | None], axis: int, size: int, where: str, option: str) -> None:
    if size < 1:
        raise ShadergenError(
            "SG0301", f"{option}: a size must be at least 1, not {size}", where=where
        )
    if sizes[axis] is not None and sizes[axis] != size:
        raise ShadergenError(
            "SG0301",
            f"{option} gives {size} for an axis of size {sizes[axis]}",
            where=where,
            why=SETTABLE,
        )
    sizes[axis] = size
