"""Results that become inputs (``--inputs``): their shapes and element types."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.types import MAP_RANK
from .....records import replace
from ...input_shapes import NO_SIZE
from ..tensors import Tensor, standard
from .inputs import read_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from .....ir.graph import Input
    from ...request import Request
    from ..read.model import ModelSpec

    Run = Callable[[ModelSpec, list[Tensor]], list[Tensor]]


@dataclass
class CutInputs:
    """Shapes of results that become inputs.

    Attributes:
        request: its sizes are those of the model's own inputs, and of these.
        data_format: of the model.
        run: computes the outputs of a part of the model.
        dropped: inputs of the model that such results are computed from.
        stated: results whose shape is what the request says, whatever comes before them.
    """

    request: Request
    data_format: str
    run: Run
    dropped: list[Input] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)

    def type_of(self, part: ModelSpec, name: str) -> tuple[tuple[int, ...], str]:
        """Return shape and element type of the one result of a part of the model.

        They are those that come out if the layers before it are implemented and know their sizes;
        with a height and a width from the request, what comes out needs only its other sizes from
        there. Else the request says the whole shape.

        Raises:
            ShadergenError: SG0204 when neither tells.
        """
        request = self.request.fixed()
        try:
            result = self._result(part, request, self.dropped)
        except ShadergenError as error:
            size = request.sizes.get(name)
            if size is None:
                raise _unknown_size(name, self.data_format, error) from None
            if len(size) == 2 and error.code == NO_SIZE:
                with suppress(ShadergenError):
                    result = self._result(part, replace(request, sizes={"": size}), [])
                    if result.rank == MAP_RANK and result.axes == standard(4, self.data_format):
                        logical = (*result.value.shape[:2], *size)
                        return tuple(logical[a] for a in result.axes), result.dtype
            self.stated.append(name)
            return self.request.sizes[name], "float32"
        return result.shape, result.value.type.dtype

    def _result(self, part: ModelSpec, request: Request, dropped: list[Input]) -> Tensor:
        """Return the one result of a part of the model; its inputs go to ``dropped``."""
        inputs = [read_input(part.layers[r.layer], self.data_format, request) for r in part.inputs]
        (result,) = self.run(part, [Tensor(i, i.port.axes) for i in inputs])
        dropped += inputs
        return result

    def hints(self, inputs: list[Input]) -> list[str]:
        """Return what to look at when a model does not go on from inputs as requested."""
        return [_hint(i) for i in inputs if i.name in self.stated]


def _unknown_size(name: str, data_format: str, reason: ShadergenError) -> ShadergenError:
    if reason.code == NO_SIZE:
        say = f"give its height and width, for example --inputs {name}=45x80, or give --input-size"
    else:
        example = "1x45x80x64" if data_format == "channels_last" else "1x64x45x80"
        say = "give it with the batch, in the model's own order, for example "
        say += f"--inputs {name}={example}"
    return ShadergenError(
        "SG0204",
        f"the size of '{name}' is not known",
        why=f"it depends on layers whose shapes cannot be computed: {reason.what}",
        help=say,
    )


def _hint(i: Input) -> str:
    """Return what to look at when a model does not go on from an input as the request has it."""
    shape = "x".join(str(i.shape[a]) for a in i.port.axes)
    order = "batch first"
    if len(i.shape) == MAP_RANK:
        order += ", channels last" if i.port.axes == standard(4, "channels_last") else ""
    return (
        f"--inputs gives '{i.name}' the shape {shape}; check that it lists all sizes in the "
        f"model's order: {order}"
    )
