"""What the frontends share: the request, the choice by file content, sizes of dynamic inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ...errors import ShadergenError, count, require_inputs
from ...ir.types import MAP_RANK
from .foreign import refuse_foreign

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from onnx.onnx_ml_pb2 import ModelProto

    from ...ir.formula_parser import Definition
    from ...ir.graph import Graph, Input
    from .opening import Opening

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
ZIP_MAGIC = b"PK\x03\x04"
KERAS_MAGIC = (HDF5_MAGIC, ZIP_MAGIC)
ONNX_FIRST_FIELDS = (b"\x08", b"\x3a")  # how a model's bytes begin: ir_version, or else graph


@dataclass(frozen=True)
class Request:
    """What the caller says about a model besides its file.

    Attributes:
        sizes: shapes for inputs, by name; under the key "" for whichever input needs one. Two
            numbers are height and width, otherwise the whole shape in the model's own order.
        definitions: formulas for custom operators and layers (``compiler.definitions``).
        values: inputs whose value is fixed when compiling, by name. They are then constants of the
            model, and no inputs of the build.
        inputs: values of the model that become its inputs, and so cut off what computes them.
        outputs: values of the model that become its outputs, all of them; none keeps its own.
        shapes: of arrays that wait to be fed, by name as ``sizes``: where they fit, they fill the
            sizes that are open after all that.
        strings: take inputs of strings, as numbers that stand for them: equal ones where, and only
            where, the strings are.
        opening: leaves heights and widths open (``--input-size dynamic``); None fixes all sizes.
        notes: what a frontend adds for the user to know of the model, a line each.
    """

    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    values: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    strings: bool = False
    opening: Opening | None = None
    notes: list[str] = field(default_factory=list)

    def closed(self) -> Request:
        """Return the request for what ``--inputs`` cuts off: at the sizes that a build begins with.

        What is cut off has no say in what the part leaves open.
        """
        if self.opening is None:
            return self
        return replace(self, sizes={"": self.opening.default, **self.sizes}, opening=None)

    def option(self, name: str) -> str:
        """Return the option by which the size of an input is given."""
        return "--inputs" if name in self.inputs else "--input-size"

    def array_shape(self, name: str, shape: Sequence[int | None]) -> tuple[int, ...] | None:
        """Return the shape of the array for an input, if it fits what is known of the input's."""
        found = self.shapes.get(name, self.shapes.get(""))
        if found is None or len(found) != len(shape):
            return None
        fits = all(s in (None, size) for s, size in zip(shape, found, strict=True))
        return found if fits else None


class ValueNeededError(ShadergenError):
    """An operand must be known at compile time and depends on inputs.

    ``inputs`` are their names: their values in :attr:`Request.values` would make it known.

    Args:
        what: which operand of which operator.
        inputs: what it is computed from.
        code: of the error.
        why: by default, from which inputs it is computed.
    """

    def __init__(
        self, what: str, inputs: Sequence[Input], code: str = "SG0202", why: str = ""
    ) -> None:
        self.inputs = tuple(sorted(i.name for i in inputs))
        names = ", ".join(f"'{name}'" for name in self.inputs)
        examples = " ".join(f"--input-value {name}=1,2,3" for name in self.inputs)
        few = inputs and all(i.type.rank <= 1 for i in inputs)  # numbers that one can write down
        super().__init__(
            code,
            what,
            why=why or (f"computed from input{'s' * (len(inputs) > 1)} {names}" if inputs else ""),
            help=f"if it is always the same, fix it when compiling: {examples}" if few else "",
        )


def load(path: Path, request: Request) -> Graph:
    """Read a model; its content, not its name, tells the format.

    Raises:
        ShadergenError: SG01xx when the file cannot be read, SG02xx when it holds something that
            is not implemented.
    """
    if path.is_dir():
        from .keras.read.archive import directory_error

        raise directory_error(path).at(str(path))
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise ShadergenError(
            "SG0101",
            f"cannot open '{path}'",
            why=error.strerror or str(error),
        ) from None
    try:
        if head.startswith(KERAS_MAGIC):
            from .keras import load_keras

            if request.values:
                raise ShadergenError(
                    "SG0301",
                    "--input-value is for ONNX models",
                    why="no layer of Keras takes its shape or its axes from an input",
                )
            return load_keras(path, request)
        refuse_foreign(path.name, head)
        keras = path.suffix.lower() in (".h5", ".hdf5", ".keras")
        if keras and not head.startswith(ONNX_FIRST_FIELDS):  # an ONNX model under its name is one
            raise ShadergenError(
                "SG0102",
                f"'{path.name}' is not a Keras model",
                why="a Keras model begins with the HDF5 or ZIP signature",
                supported="Keras .h5, .hdf5, .keras; ONNX .onnx",
            )
        from .onnx import load_onnx

        return load_onnx(path, request)
    except ShadergenError as error:
        if error.code == "SG0205" and request.sizes and not error.help:
            error.help = (
                "the sizes follow from --input-size: a model that halves sizes and doubles them "
                "again may need multiples of 8, 16 or 32"
            )
        raise error.at(str(path)) from None


def is_keras(path: Path) -> bool:
    """Whether a file that can be read is one of Keras, by its content."""
    with path.open("rb") as file:
        return file.read(8).startswith(KERAS_MAGIC)


def load_proto(model: ModelProto, request: Request) -> Graph:
    """Take an ONNX model that lies in memory.

    Raises:
        ShadergenError: as :func:`load`.
    """
    from .onnx import load_onnx_proto

    return load_onnx_proto(model, request)


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
        if not any(_within(size, shape) for shape in candidates):
            raise ShadergenError(
                "SG0301",
                f"--input-size {text} does not fit the model",
                where=", ".join(f"{n} {'x'.join(map(str, s))}" for n, s in shapes.items()),
                why="only sizes that the model leaves open can be chosen",
            )


def nearest(name: str, known: Collection[str]) -> str:
    """Return the few names most like one that is not among them, and how many there are."""
    near = get_close_matches(name, known, n=5, cutoff=0.0)
    more = f" and {len(known) - len(near)} more" if len(known) > len(near) else ""
    return ", ".join(near) + more


def _within(size: tuple[int, ...], shape: tuple[int, ...]) -> bool:
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
    image = _spatial(shape, spatial) if len(shape) == MAP_RANK else None
    if request.opening is not None and image is not None and name not in request.sizes:
        told = told or image != spatial  # by which axes are dynamic
        shape = request.opening.open(name, shape, image, told)
    wanted = request.sizes.get(name)
    if wanted is None and any(s is None for s in shape[1:]):
        wanted = request.sizes.get("")
    declared = " x ".join("?" if s is None else str(s) for s in shape)
    where = f"input '{name}' of shape {declared}"
    option = request.option(name)
    resolved = list(shape)
    spatial = _spatial(shape, spatial)
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
            f"input '{name}' has a dynamic size",
            where=where,
            why="a build is for one size, unless height and width are left open",
            help=_ways_to_say(
                "" if alone else f"{name}=",
                resolved,
                spatial,
                image is not None and request.opening is None,
            ),
        )
    if any(s is not None and s < 1 for s in resolved):
        raise ShadergenError("SG0105", f"input '{name}' is empty", where=where)
    return tuple(s for s in resolved if s is not None)


def _ways_to_say(
    named: str, shape: Sequence[int | None], spatial: tuple[int, int] | None, opens: bool
) -> str:
    """Return the options that give an input its size.

    Args:
        named: ``name=`` with several inputs.
        shape: as far as it is known.
        spatial: the positions of height and width.
        opens: whether height and width can be left open.
    """
    if {axis for axis, size in enumerate(shape) if size is None} - set(spatial or ()):
        example = "x".join(str(size or 16) for size in shape)
        return f"say all sizes, batch included: for example --input-size {named}{example}"
    one = f"say which with --input-size {named}HxW, for example --input-size {named}360x640"
    return f"{one}\nor leave height and width open with --input-size dynamic" if opens else one


def _spatial(
    shape: Sequence[int | None], otherwise: tuple[int, int] | None
) -> tuple[int, int] | None:
    """Return the positions of height and width: of the two axes that are open, or as is said."""
    open_axes = [axis for axis, s in enumerate(shape) if s is None and axis > 0]
    if len(open_axes) == 2:  # an exporter may keep NHWC: what is open is height and width
        return open_axes[0], open_axes[1]
    return otherwise


def _fix(sizes: list[int | None], axis: int, size: int, where: str, option: str) -> None:
    if size < 1:
        raise ShadergenError("SG0301", f"{option} gives a size of {size}", where=where)
    if sizes[axis] is not None and sizes[axis] != size:
        raise ShadergenError(
            "SG0301",
            f"{option} gives {size} for an axis whose size is {sizes[axis]}",
            where=where,
            why="only sizes that the model leaves open can be chosen",
        )
    sizes[axis] = size
