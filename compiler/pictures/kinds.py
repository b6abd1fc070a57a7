"""What a network makes of a picture, by the shapes of its input and its outputs."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Literal

from ...backends.picture_axes import CHANNELS, PictureAxes
from ...errors import ShadergenError
from ...records import dataclass
from .picture import axes_of, channels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...runtime_glue.python.schedule import Port
    from ..runtimes import Build

Kind = Literal["picture", "map", "classes", "scores", "category"]


@dataclass(frozen=True)
class Network:
    """A network that takes one picture.

    Attributes:
        kind: "picture"; "map", one number for each pixel, such as a depth; "classes", the number of
            a class for each pixel; "scores", of each class for each pixel; "category", a score of
            each class for the whole picture.
        input: the input.
        axes: of the input.
        channels: of the input.
        output: the output.
        row: the output's axis of rows; -1 of a category.
        column: the output's axis of columns; -1 of a category.
        depth: how many numbers the output has for each pixel.
    """

    kind: Kind
    input: Port
    axes: PictureAxes
    channels: int
    output: Port
    row: int
    column: int
    depth: int

    @property
    def size(self) -> tuple[int, int]:
        """Height and width that the build takes."""
        return self.input.shape[self.axes.row], self.input.shape[self.axes.column]

    @property
    def result_size(self) -> tuple[int, int]:
        """Height and width of a result that has them."""
        return self.output.shape[self.row], self.output.shape[self.column]


def network_of(build: Build, labels: Sequence[str] = ()) -> Network:
    """Return what a build makes of a picture.

    Args:
        build: at any size.
        labels: the names of the classes, if given: 3 or 4 channels are then scores.

    Raises:
        ShadergenError: SG0605 when it takes no picture, or gives nothing that can be shown.
    """
    source, output = only(build.inputs, "inputs"), only(build.outputs, "outputs")
    axes = axes_of(source.shape, source.axes, source.name)
    channels = channels_of(source.shape, axes)
    row, column = _spatial(source, axes, output)
    if row < 0:
        if prod(output.shape) == max(output.shape, default=1) > 1:
            return Network("category", source, axes, channels, output, -1, -1, prod(output.shape))
        raise _no_picture(output)
    depth = prod(output.shape) // (output.shape[row] * output.shape[column])
    kind: Kind
    if output.dtype != "float32" and depth == 1:
        kind = "classes"
    elif depth == 1:
        kind = "picture" if channels == 1 else "map"
    elif depth in CHANNELS and len(labels) != depth:
        kind = "picture"
    else:
        kind = "scores"
    if kind == "scores" and output.shape[0] != 1:
        raise _no_picture(output)
    return Network(kind, source, axes, channels, output, row, column, depth)


def _spatial(source: Port, axes: PictureAxes, output: Port) -> tuple[int, int]:
    """Return the axes of rows and columns of an output, or -1 twice.

    Raises:
        ShadergenError: SG0605 when they are not in this order.
    """
    field = output.receptive_field
    if field is not None and field.height is not None and field.width is not None:
        row, column = field.height.output_axis, field.width.output_axis
        if row > column:
            raise ShadergenError(
                "SG0605",
                f"output '{output.name}' has rows and columns exchanged",
                why="the network transposes the picture: rows lie along axis "
                f"{row} of the output, columns along axis {column}",
                help="use .npz files for input and output",
            )
        return row, column
    rank = len(output.shape)
    if rank == len(source.shape):
        row, column = axes.row, axes.column
    elif rank == 3 and output.shape[0] == 1:
        row, column = 1, 2
    else:
        return -1, -1
    height, width = output.shape[row], output.shape[column]
    taken = source.shape[axes.row], source.shape[axes.column]
    alike = abs(height * taken[1] - width * taken[0]) <= max(taken)  # the same aspect ratio
    return (row, column) if height > 1 and width > 1 and alike else (-1, -1)


def only(ports: Sequence[Port], what: str) -> Port:
    """Return the only input or output.

    Raises:
        ShadergenError: SG0605 when there are more, or none.
    """
    if len(ports) != 1:
        names = ", ".join(port.name for port in ports)
        raise ShadergenError(
            "SG0605",
            f"the build has {len(ports)} {what}: {names}",
            why=f"a picture works only if the build has one {what.removesuffix('s')}",
            help="use .npz files for input and output",
        )
    return ports[0]


def _no_picture(output: Port) -> ShadergenError:
    return ShadergenError(
        "SG0605",
        f"output '{output.name}' of shape {output.shape} cannot be shown",
        supported="a picture; one number for each pixel; class scores, for each pixel or for the "
        "whole picture",
        help="use .npz files for input and output",
    )
