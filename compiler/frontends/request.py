"""The caller's options for an import."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ...errors import ShadergenError
from ...records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ...ir.formula_parser import Definition
    from ...ir.graph import Input
    from .dynamic_sizes import DynamicInputs


@dataclass(frozen=True)
class Request:
    """The caller's options for an import.

    Attributes:
        sizes: shapes for inputs, by name; under the key "" for whichever input needs one. Two
            numbers are height and width, otherwise the whole shape in the model's own order.
        definitions: formulas for custom operators and layers (``compiler.definitions``).
        values: inputs whose value is fixed when compiling, by name. They are then constants of the
            model, and no inputs of the build.
        inputs: values of the model that become its inputs, and so cut off what computes them.
        outputs: values of the model that become its outputs, all of them; none keeps its own.
        shapes: of arrays that wait to be fed, by name as ``sizes``: where they fit, they fill the
            sizes that are unknown after all that.
        strings: take inputs of strings, as numbers that stand for them: equal ones where, and only
            where, the strings are.
        dynamic: makes heights and widths dynamic (``--input-size dynamic``); None fixes all sizes.
        user_shader: passes of the build cannot read tables of positions, so cubic resizes by whole
            factors are imported as convolutions.
        replaced: shapes of inputs in place of those that the model and the sizes above give.
        undeclared_size: height and width of images that declare none, if ``sizes`` give none.
        resized: inputs whose declared height and width the sizes above replace, by name, each with
            a note; filled by the import.
        notes: what a frontend adds for the user to know of the model, a line each.
    """

    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    values: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    strings: bool = False
    dynamic: DynamicInputs | None = None
    user_shader: bool = False
    replaced: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    undeclared_size: tuple[int, int] | None = None
    resized: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def fixed(self) -> Request:
        """Return the request for what ``--inputs`` cuts off: at the sizes that a build begins with.

        What is cut off does not constrain the dynamic dimensions of the part.
        """
        if self.dynamic is None:
            return self
        if self.dynamic.is_declared:
            return replace(self, undeclared_size=self.dynamic.default, dynamic=None)
        return replace(self, sizes={"": self.dynamic.default, **self.sizes}, dynamic=None)

    def option(self, name: str) -> str:
        """Return the option by which the size of an input is given."""
        return "--inputs" if name in self.inputs else "--input-size"

    def array_shape(self, name: str, shape: Sequence[int | None]) -> tuple[int, ...] | None:
        """Return the shape of an input's array, if it fits the known part of the input's shape."""
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
        word, constant = "input", "the input always has the same value"
        if len(inputs) > 1:
            word, constant = "inputs", "the inputs always have the same values"
        super().__init__(
            code,
            what,
            why=why or (f"computed from {word} {names}" if inputs else ""),
            help=f"if {constant}, compile with {examples}" if few else "",
        )
