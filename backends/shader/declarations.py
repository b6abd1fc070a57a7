"""The textures and sizes that a program declares during lowering."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

from ...errors import InternalError
from ...ir.dimensions import is_dynamic, statically_equal
from ...ir.expr import Extent
from ...ir.expr import walk as parts_of
from ...ir.graph import Constant, Result
from ...ir.types import IMAGE_FORMATS
from ..gpu import Blob, Read
from .constructors import integer
from .expressions import Uniform
from .namer import Namer
from .program import TextureBinding
from .textures import TensorTexture, choosing, float_size, from_external

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ir.dimensions import SymbolicInt
    from ...ir.expr import Expr
    from ...ir.graph import Precision, Stage, Value
    from ...passes.placement.target import Target
    from .expressions import Expression
    from .program import Function, TextureKind


class Declarations:
    """The textures and sizes of one program; all its names are distinct.

    Attributes:
        target: of the build.
        precision: of the program.
        stage: of the program.
        reads: what each texture reads, in the order of ``textures``.
        textures: the declared textures.
        sizes: values of the uniforms of sizes, by the name of the uniform.
        names: hands out distinct identifiers.
    """

    def __init__(self, target: Target, precision: Precision, stage: Stage) -> None:
        self.target = target
        self.precision = precision
        self.stage = stage
        self.reads: list[Read] = []
        self.textures: list[TextureBinding] = []
        self.sizes: dict[str, int] = {}
        self.names = Namer()
        self._extents = 0  # uniforms that are named by their number
        self._tensors: dict[tuple[Value, int | None], TensorTexture] = {}

    def texture(self, value: Value, role: str, batch: int | None = None) -> TensorTexture:
        """Declare the textures of a tensor, once, and return how to read it.

        Args:
            value: a tensor with a layout.
            role: the name to derive the textures' names from.
            batch: the batch entry to declare if each plane is a texture of its own; None declares
                all entries.
        """
        layout = value.type.layout
        if layout is None:
            raise InternalError(f"'{value.name}' was given no layout")
        several = value.type.in_planes and value.shape[0] > 1 and layout.kind != "array"
        key = (value, batch if several else None)
        if key not in self._tensors:
            self._tensors[key] = self._declared(value, self.names(role), key[1])
        return self._tensors[key]

    def _declared(self, value: Value, name: str, batch: int | None) -> TensorTexture:
        layout = value.type.layout
        assert layout is not None
        if layout.kind == "external":
            binding = TextureBinding(f"u_{name}", "external", matrix=f"u_{name}_matrix")
            self.textures.append(binding)
            self.reads.append(Read(binding.name, value, matrix=binding.matrix))
            width, height = (self.number(size) for size in value.type.extent[:2])
            function = from_external(name, binding, width, height)
            return TensorTexture(value, (binding,), 0, function=function)
        ours = isinstance(value, Result) and layout.slot is not None
        image: str = layout.format if ours else ""
        first, count, begin = 0, 1, layout.first
        if layout.kind == "array":
            bindings = [self._binding("array", f"u_{name}", value, None, image)]
        else:
            count = value.type.layers
            if batch is not None:
                first, count = batch * value.type.planes, value.type.planes
            if count > 1:
                image = ""  # image units are too few for one per plane
            bindings = []
            for k in range(count):
                called = f"u_{name}" if count == 1 else f"u_{self.names(f'{name}_{k}')}"
                layer = begin + first + k if value.type.layers > 1 else None
                bindings.append(self._binding("2d", called, value, layer, image))
        stacked = value.type.is_stacked
        sampled = bindings[0].unit is None and count == 1 and self._samples(value) and not stacked
        return TensorTexture(
            value,
            tuple(bindings),
            first,
            self.size(f"first_{name}", begin) if begin and layout.kind == "array" else None,
            self._sides(name, value) if sampled else None,
            choosing=self._choosing(name, value, bindings, first) if count > 1 else None,
            height=self.size(f"{name}_height", value.shape[2]) if stacked else None,
        )

    def _choosing(
        self, name: str, value: Value, bindings: Sequence[TextureBinding], first: int
    ) -> Callable[[int, int], Function]:
        """Return what makes the functions that read one of some textures, each once."""

        @cache
        def some(least: int, most: int) -> Function:
            within = bindings[least - first : most - first + 1]
            called = f"fetch_{name}" if len(within) == len(bindings) else f"fetch_{name}_{least}"
            return choosing(names(called), value, within, least)

        names = self.names
        return some

    def _sides(self, name: str, value: Value) -> Expression:
        """Return the vec2 of a map's width and height."""
        width, height, _ = value.type.extent
        return float_size(self.size(f"{name}_width", width), self.size(f"{name}_height", height))

    def _samples(self, value: Value) -> bool:
        """Whether to sample a tensor at its texels' centres; this needs a fixed size."""
        sized = not isinstance(value, Constant) and not any(
            is_dynamic(s) for s in value.type.extent
        )
        return sized and self.target.samples and self.stage == "fragment"

    def _binding(
        self, kind: TextureKind, name: str, source: Value | Blob, layer: int | None, image: str
    ) -> TextureBinding:
        """Declare a texture: an image if format and image units allow it, else a sampler."""
        units, room = 0, 0
        if self.target.has_images and image in IMAGE_FORMATS:
            units = sum(isinstance(r.place, int) for r in self.reads)
            room = self.target.limits.fragment_images
            if self.stage == "compute":
                units += 1  # image 0 is the result
                room = self.target.limits.compute_images
        is_image = units < room
        self.reads.append(Read(units if is_image else name, source, layer))
        unit, texels = (units, image) if is_image else (None, "")
        binding = TextureBinding(name, kind, unit, texels)
        self.textures.append(binding)
        return binding

    def size(self, name: str, value: int) -> Expression:
        """Return a size as an int: a uniform in dispatches, a literal in most draws.

        With uniforms, layers of different sizes share a program, so drivers compile few programs.
        Draws get uniforms only for the sizes that :mod:`..kernels.sharing` chose, because literals
        are faster and a draw has many short invocations.
        """
        names = self.target.uniform_sizes
        shared = self.stage == "compute" or names is None or f"u_{name}" in names
        if not shared and not is_dynamic(value):
            return integer(value)
        return self.uniform(name, value)

    def uniform(self, name: str, value: int) -> Expression:
        """Return an int as a uniform, whose value compilers do not know."""
        name = f"u_{name}"
        if self.sizes.setdefault(name, value) != value:
            raise InternalError(f"two sizes are called {name}")
        return Uniform(name)

    @property
    def _shares_sizes(self) -> bool:
        """Whether other layers may use this program with other sizes."""
        return self.stage == "compute" or self.target.uniform_sizes != frozenset()

    def names_of(self, expr: Expr) -> dict[str, Expression]:
        """Return the uniforms of the dynamic dimensions in an expression."""
        return {e.name: self.extent(e.size) for e in parts_of(expr) if isinstance(e, Extent)}

    def number(self, size: int) -> Expression:
        """Return a size as a literal, or as a uniform if it is dynamic."""
        return self.extent(size) if is_dynamic(size) else integer(size)

    def extent(self, size: SymbolicInt) -> Expression:
        """Return the uniform of a dynamic dimension; equal dimensions share one."""
        for name, size_of_name in self.sizes.items():
            if is_dynamic(size_of_name) and statically_equal(size_of_name, cast("int", size)):
                return Uniform(name)
        self._extents += 1
        return self.size(f"size_{self._extents - 1}", cast("int", size))
