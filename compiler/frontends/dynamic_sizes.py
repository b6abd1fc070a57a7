"""Which sizes of a model's inputs are dynamic: ``--input-size dynamic``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError, few
from ...ir.dimensions import ShapeEnvironment, dimension, is_dynamic
from ...ir.types import MAP_RANK

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ...ir.graph import Input

DEFAULT = (256, 384)  # halved seven times without a rest, and no square
EXPORT_DYNAMIC = "if the model was exported at one size, export it with dynamic height and width"
ASSUMED = "assumed, because no operator of the model tells which axes are height and width"


class DynamicInputs:
    """Makes height and width of a model's images dynamic.

    The first image's height and width are the symbols ``height`` and ``width``. Further images
    share them where the model declares the same sizes for them; others keep their own.

    Args:
        most: of height and width, the largest texture of the device.
        default: height and width that the build has at first; None takes what the model declares.
        scales: how many times as high and wide as the others an image is, by its name.
    """

    def __init__(
        self,
        most: int,
        default: tuple[int, int] | None = None,
        scales: Mapping[str, int] | None = None,
    ) -> None:
        self._most = most
        self._default = default
        self._scales = scales or {}
        self.default = default or DEFAULT
        self._first: tuple[int | None, int | None] | None = None
        self._sizes = (0, 0)
        self._dynamic: dict[tuple[int, int, bool], list[str]] = {}
        self._kept: list[str] = []

    def shape(
        self, name: str, shape: Sequence[int | None], spatial: tuple[int, int], told: bool = True
    ) -> list[int | None]:
        """Return the shape of an input with its height and width dynamic.

        Args:
            name: of the input.
            shape: as the model declares it; None where dynamic.
            spatial: the positions of height and width.
            told: whether the model says so, and no convention.

        Raises:
            ShadergenError: SG0301 for a default beyond the device.
        """
        scale = self._scales.get(name, 1)
        height, width = (None if (s := shape[axis]) is None else s // scale for axis in spatial)
        if self._first is None:
            self._first = height, width
            self._sizes = self._symbols(height, width)
        elif self._first != (height, width):
            self._kept.append(name)
            return list(shape)
        self._dynamic.setdefault((*spatial, told), []).append(name)
        result = list(shape)
        for axis, size in zip(spatial, self._sizes, strict=True):
            result[axis] = size * scale
        return result

    def _symbols(self, height: int | None, width: int | None) -> tuple[int, int]:
        defaults = self._default or (height or DEFAULT[0], width or DEFAULT[1])
        if not all(1 <= size <= self._most for size in defaults):
            raise ShadergenError(
                "SG0301",
                f"the initial size {defaults[0]}x{defaults[1]} is not supported",
                supported=f"1 to {self._most}, the largest texture of the device",
            )
        names = ("height", "width")
        bounds = dict.fromkeys(names, (1.0, float(self._most)))
        environment = ShapeEnvironment(dict(zip(names, defaults, strict=True)), bounds)
        return dimension(environment, "height"), dimension(environment, "width")

    @property
    def is_declared(self) -> bool:
        """Whether builds begin with the sizes that models declare."""
        return self._default is None

    @property
    def images(self) -> list[str]:
        """The names of the inputs that are dynamic."""
        return [name for names in self._dynamic.values() for name in names]

    def notes(self, always: bool = False) -> list[str]:
        """Return which axes are dynamic, a line for each way that inputs have theirs.

        Args:
            always: whether every build of the kind is dynamic: only assumed axes are worth a line.
        """
        notes = []
        for (height, width, told), names in self._dynamic.items():
            if told and always:
                continue
            line = f"dynamic: height is axis {height}, width axis {width} of {_quoted(names)}"
            notes.append(line + ("" if told else f" ({ASSUMED})"))
        if self._kept:
            notes.append(
                f"not dynamic: {_quoted(self._kept)}, whose declared size differs from the size "
                "of the dynamic inputs"
            )
        return notes

    def check(self, inputs: Iterable[Input]) -> None:
        """Refuse a model without a dynamic dimension.

        Args:
            inputs: of the graph.

        Raises:
            ShadergenError: SG0301.
        """
        inputs = tuple(inputs)
        if any(is_dynamic(size) for i in inputs for size in i.shape):
            return
        if not any(i.type.rank == MAP_RANK for i in inputs):
            raise ShadergenError(
                "SG0301",
                "--input-size dynamic needs an image input, the model has none",
                supported="inputs of rank 4",
            )
        shapes = (f"{i.name} {'x'.join(map(str, i.shape))}" for i in inputs)
        raise ShadergenError(
            "SG0301",
            "--input-size dynamic has no effect",
            where=", ".join(shapes),
            why="other options set the size of every image",
            help="omit --input-size dynamic, or an option that sets a size",
        )


def check_dynamic(
    schedule: Mapping[str, Any], inputs: Iterable[Input], cut: Collection[str]
) -> None:
    """Refuse a build whose constraints admit one size only.

    Args:
        schedule: of the build.
        inputs: of the graph.
        cut: the names of those that ``--inputs`` made.

    Raises:
        ShadergenError: SG0301.
    """
    sizes = schedule.get("sizes")
    if sizes is None or any(p["min"] < p["max"] for p in sizes["parameters"]):
        return
    size = "x".join(str(p["default"]) for p in sizes["parameters"])
    name = next(i.name for i in inputs if any(map(is_dynamic, i.shape)))
    help = f"compile with --input-size {size}\n{EXPORT_DYNAMIC}"
    if name in cut:
        help = f"compile with --inputs {name}={size}"
    raise ShadergenError(
        "SG0301",
        "--input-size dynamic has no effect: the model takes one size only",
        why="\n".join(dict.fromkeys(c["why"] for c in sizes["constraints"])),
        help=help,
    )


def fixed_notes(schedule: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where constraints that leave few sizes may come from.

    A reshape to constants fixes the number of pixels, as in a group normalisation that PyTorch
    exported at the example's size.

    Args:
        schedule: of the build.
    """
    constraints = schedule.get("sizes", {}).get("constraints", ())
    fixed = any(c["min"] == c["max"] and c["value"][-1] != "%" for c in constraints)
    return (EXPORT_DYNAMIC,) if fixed else ()


def _quoted(names: Iterable[str]) -> str:
    return few(f"'{name}'" for name in names)
