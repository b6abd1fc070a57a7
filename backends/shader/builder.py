"""A program under construction: textures, weights and uniforms declared during lowering.

All that a program declares is kept by one class, as names and units are shared by all kinds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import InternalError
from ...ir.dimensions import is_dynamic, statically_equal
from ...ir.expr import Extent
from ...ir.expr import walk as parts_of
from ...ir.graph import Constant, Result
from ...ir.types import IMAGE_FORMATS, LANES
from ..device_limits import check_limit, check_units
from ..gpu import Blob, Block, Read
from .expressions import (
    Numbers,
    Texel,
    Uniform,
    Variable,
    integer,
    ivec2,
    known,
    mat4,
    offset,
)
from .formulas import Formulas
from .namer import Namer
from .program import Array, Function, Program, TextureBinding
from .rows import EPILOGUE_ROWS, Rows, array_length, plane_rows, rows_at
from .statements import Body
from .textures import TensorTexture, choosing, float_size, from_external, whole
from .types import INT, IVEC2, MAT4, VEC4

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ir.dimensions import SymbolicInt
    from ...ir.expr import Expr
    from ...ir.graph import Precision, Stage, Value, WeightStorage
    from ...passes.placement.target import Target
    from .expressions import Expression, Int
    from .program import TextureKind
    from .statements import Statement


def weight_texture_width(rows: int) -> int:
    """Return the width of a texture for so many rows: a power of two, about square."""
    return max(LANES, 1 << ((rows - 1).bit_length() + 1) // 2)


WEIGHTS_ARRAY = "weights"  # in a buffer


class ShaderBuilder:
    """Collects the declarations of a kernel, then makes the program."""

    def __init__(self, target: Target, precision: Precision, stage: Stage = "fragment") -> None:
        self.target = target
        self.precision = precision
        self.stage = stage
        self.formulas = Formulas(precision)
        self.reads: list[Read] = []
        self.blocks: list[Block] = []
        self.textures: list[TextureBinding] = []
        self.sizes: dict[str, int] = {}
        self.arrays: list[Array] = []
        self.names = Namer()
        self._tensors: dict[tuple[Value, int | None], TensorTexture] = {}
        self._rows: list[np.ndarray] = []  # of the block of parameters
        self._parameters = Array("parameters", VEC4, buffer=("uniform", "Parameters"))
        self._weights: tuple[Blob, WeightStorage] | None = None
        self._tail: list[Rows] = []
        self._starts: dict[tuple[Value, bool], Expression] = {}  # by value, whether it fills lanes
        self._constants: dict[tuple[Value, bool], Array] = {}
        row = Variable("i", INT)
        self.weight = Function("weight", (row,), VEC4)
        self.weight_block = Function("weight_block", (row,), MAT4)
        self._position = Function("weight_position", (row,), IVEC2)
        self._weight_at = Function("weight_at", (Variable("at", IVEC2),), VEC4)
        self._vector = Function("vector", (row,), VEC4)

    def texture(self, value: Value, role: str, batch: int | None = None) -> TensorTexture:
        """Declare the textures of a tensor, once, and return how to read it.

        Args:
            value: a tensor with a layout.
            role: what the texture is called after.
            batch: the only batch entry that is read, where the tensor has several and each plane is
                a texture; None reads all.
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
        ours = isinstance(value, Result) and layout.slot is not None  # the application's may not
        image: str = layout.format if ours else ""
        first, count = 0, 1
        if layout.kind == "array":
            bindings = [self._binding("array", f"u_{name}", value, None, image)]
        else:
            count = value.type.layers
            if batch is not None:
                first, count = batch * value.type.planes, value.type.planes
            if count > 1:
                image = ""  # units are few
            bindings = []
            for k in range(count):
                called = f"u_{name}" if count == 1 else f"u_{self.names(f'{name}_{k}')}"
                layer = first + k if value.type.layers > 1 else None
                bindings.append(self._binding("2d", called, value, layer, image))
        begin = value.type.first_layer
        sampled = bindings[0].unit is None and count == 1 and self._samples(value)
        return TensorTexture(
            value,
            tuple(bindings),
            first,
            self.size(f"first_{name}", begin) if begin else None,
            self._sides(name, value) if sampled else None,
            choosing(name, value, bindings, first) if count > 1 else None,
        )

    def _sides(self, name: str, value: Value) -> Expression:
        """Return the vec2 of a map's width and height."""
        width, height, _ = value.type.extent
        return float_size(self.size(f"{name}_width", width), self.size(f"{name}_height", height))

    def _samples(self, value: Value) -> bool:
        """Whether to sample a tensor at its texels' centres, which takes a size in numbers."""
        sized = not isinstance(value, Constant) and not any(
            is_dynamic(s) for s in value.type.extent
        )
        return sized and self.target.samples and self.stage == "fragment"

    def _binding(
        self, kind: TextureKind, name: str, source: Value | Blob, layer: int | None, image: str
    ) -> TextureBinding:
        """Declare a texture: an image of a format where that is possible, else a sampler."""
        units, room = 0, 0
        if self.target.has_images and image in IMAGE_FORMATS:
            units = sum(isinstance(r.place, int) for r in self.reads)
            room = self.target.limits.fragment_images
            if self.stage == "compute":
                units += 1  # the first is the result's
                room = self.target.limits.compute_images
        is_image = units < room
        self.reads.append(Read(units if is_image else name, source, layer))
        unit, texels = (units, image) if is_image else (None, "")
        binding = TextureBinding(name, kind, unit, texels)
        self.textures.append(binding)
        return binding

    def size(self, name: str, value: int) -> Expression:
        """Return an int that layers of one kind differ in: a uniform, or in draws a number.

        So one program serves all of them, and drivers compile a few for a whole network. A draw's
        program has its numbers unless it shares them so (:mod:`..kernels.sharing`), as every
        invocation of one pixel has to work with uniforms.
        """
        names = self.target.uniform_sizes
        shared = self.stage == "compute" or names is None or name in names
        if not shared and not is_dynamic(value):
            return integer(value)
        return self.uniform(name, value)

    def uniform(self, name: str, value: int) -> Expression:
        """Return an int as a uniform, so that compilers do not know it."""
        if self.sizes.setdefault(name, value) != value:
            raise InternalError(f"two sizes are called {name}")
        return Uniform(f"u_{name}")

    @property
    def _shares_sizes(self) -> bool:
        """Whether other layers may have the program with other sizes."""
        return self.stage == "compute" or self.target.uniform_sizes != frozenset()

    def names_of(self, expr: Expr) -> dict[str, Expression]:
        """Return the uniforms of the dynamic dimensions in an expression."""
        return {e.name: self.extent(e.size) for e in parts_of(expr) if isinstance(e, Extent)}

    def number(self, size: int) -> Expression:
        """Return an int: a number, or a uniform where it is dynamic."""
        return self.extent(size) if is_dynamic(size) else integer(size)

    def extent(self, size: SymbolicInt) -> Expression:
        """Return the uniform of a dynamic dimension, one for equal ones."""
        for name, size_of_name in self.sizes.items():
            if is_dynamic(size_of_name) and statically_equal(size_of_name, cast("int", size)):
                return Uniform(f"u_{name}")
        count = sum(name.startswith("size_") for name in self.sizes)
        return self.size(f"size_{count}", cast("int", size))

    def weights(self, blob: Blob, storage: WeightStorage) -> None:
        """Keep looped-over weights: ``weight(i)`` is row i, ``weight_block(i)`` four from i on.

        Parameters follow them. A block begins at a multiple of four.
        """
        self._weights = (blob, storage)

    def weight_columns(self, body: Body, row: Expression) -> list[Expression]:
        """Return the columns of the block that begins at a row, each to be read by itself."""
        assert self._weights is not None
        if self._weights[1] != "texture":
            return [self.weight(row + n) for n in range(LANES)]
        at = body.let("at", self._position(row))
        return [self._weight_at(offset(at, n, 0)) for n in range(LANES)]

    def _define_weights(self, weights: Blob, storage: WeightStorage) -> None:
        tail = self._tail  # what makes the rows must not hold the whole program
        if weights.format == "rgba16f" and self.precision == "highp":
            fit = all(rows.fit_half for rows in tail)
            weights = replace(weights, format="rgba16f" if fit else "rgba32f")
        if tail and self._has_vectors:
            name = weights.name.removesuffix("weights") + "vectors"
            vectors = Blob(name, self._tail_count, partial(rows_at, tail), first=weights.first)
            at, read = self._declare_rows("vectors", vectors)
            body = Body()
            body.give(read(at))
            self._vector.body = body.statements
            blob = weights
        else:
            blob = replace(
                weights,
                count=weights.count + self._tail_count,
                make=lambda first: [*weights.make(first), *rows_at(tail, first)],
            )
        i = self.weight.parameters[0]
        row, block_body = Body(), Body()
        if storage == "texture":
            at, read = self._declare_rows("weights", blob)
            row.give(read(at))
            place, at_place = Body(), Body()
            place.give(at)
            at_place.give(read(self._weight_at.parameters[0]))
            self._position.body, self._weight_at.body = place.statements, at_place.statements
            first = block_body.let("at", at)
            rows = [read(offset(first, k, 0)) for k in range(LANES)]
        elif storage in ("ubo", "ssbo"):
            kind, block = ("uniform", "storage")[storage == "ssbo"], "Weights"
            if kind == "uniform" and self.stage != "compute" and self._shares_sizes:
                blob = blob.lengthened(array_length(blob.count, self._most_rows))
            array = Array(WEIGHTS_ARRAY, VEC4, blob.count, buffer=(kind, block))  # type: ignore[arg-type]
            self.arrays.append(array)
            self.blocks.append(Block(block, kind, blob))  # type: ignore[arg-type]
            row.give(array[i])
            rows = [array[i + k] for k in range(LANES)]
        else:
            raise InternalError(f"no kernel loops over weights in {storage}")
        block_body.give(mat4(*rows))
        self.weight.body, self.weight_block.body = row.statements, block_body.statements

    @property
    def by_column(self) -> bool:
        """Whether products are added up column of weights by column.

        In 16 bits those of a texel are added up before they are converted.
        """
        return self.precision == "highp" and self.target.products in ("column", "bias last")

    @property
    def bias_last(self) -> bool:
        """Whether a bias is added with the products of the last texel."""
        return self.precision == "highp" and self.target.products == "bias last"

    @property
    def _tail_count(self) -> int:
        return sum(rows.count for rows in self._tail)

    def _declare_rows(
        self, name: str, blob: Blob
    ) -> tuple[Expression, Callable[[Expression], Expression]]:
        """Declare a texture of rows; return where row i is, and what reads a place."""
        binding = self._binding("2d", f"u_{name}", blob, None, blob.format)
        width = weight_texture_width(blob.count)
        i = Variable("i", INT)
        at = ivec2(i, 0)
        if blob.count > width or self._shares_sizes:
            mask = self.size(f"{name}_mask", width - 1)
            shift = self.size(f"{name}_shift", width.bit_length() - 1)
            at = ivec2(i & mask, i >> shift)
        return at, lambda place: whole(Texel(binding, place), blob.format)

    @property
    def _has_vectors(self) -> bool:
        """Whether parameters beside looped-over weights have a texture of their own."""
        assert self._weights is not None
        weights, storage = self._weights
        return storage == "texture" and weights.format == "rgba8"

    def parameter(self, value: Value, plane: Int, number: int | None = None) -> Expression:
        """Return the vec4 of a number or a per-channel constant for a plane.

        Args:
            value: the constant.
            plane: its plane, or an expression where one program draws several.
            number: the plane that this pass draws; beside looped-over weights it is kept there.
        """
        if value.type.size == 1:  # one number for all channels
            assert isinstance(value, Constant)
            rows = np.repeat(plane_rows(value.data)[:, :1], LANES, axis=1)
            return self._parameter((value, True), rows, 0)
        return self.channel_vector(value, plane, number)

    def channel_vector(self, value: Value, plane: Int, number: int | None = None) -> Expression:
        """Return the vec4 of a vector with one number for each channel, a bias, for a plane."""
        assert isinstance(value, Constant)
        rows = plane_rows(value.data)
        if self.target.parameters == "constants" and self._weights is not None:
            reader = self._vector if self._has_vectors else self.weight
            if number is not None:
                plane_of_pass = number - (self._weights[0].first or 0)
                start = self._after_weights(Rows(rows, plane_of_pass))
                first = start - self._tail_count + 1  # of all that are kept there
                begin = self.size("first_parameter_row", first) if first else integer(0)
                return reader(begin + (start - first))
            if self._shares_sizes and len(rows) > 1 and self._has_room(len(rows)):
                if (value, False) not in self._starts:
                    start = self._after_weights(Rows(rows))
                    name = f"parameter_row_{sum(t.count > 1 for t in self._tail)}"
                    self._starts[value, False] = self.size(name, start)
                return reader(integer(plane) + self._starts[value, False])
        return self._parameter((value, False), rows, plane)

    def _has_room(self, rows: int) -> bool:
        """Whether so many rows of parameters fit after the weights."""
        assert self._weights is not None
        weights, storage = self._weights
        if storage != "ubo" or self.stage == "compute":
            return True
        return weights.count + self._tail_count + rows + EPILOGUE_ROWS <= self._most_rows

    @property
    def _most_rows(self) -> int:
        return self.target.limits.uniform_block_size // (LANES * 4)

    def _after_weights(self, rows: Rows) -> int:
        """Keep rows after the weights that are looped over; return where the first is."""
        assert self._weights is not None
        start = self._tail_count + (0 if self._has_vectors else self._weights[0].count)
        self._tail.append(rows)
        return start

    def _parameter(self, key: tuple[Value, bool], rows: np.ndarray, plane: Int) -> Expression:
        if len(rows) == 1:
            plane = 0
        if self.target.parameters == "ubo":
            if key not in self._starts:
                self._starts[key] = integer(sum(map(len, self._rows)))
                self._rows.append(rows)
            return self._parameters[integer(plane) + self._starts[key]]
        if (number := known(plane)) is not None:
            return constant(rows[number])
        if key not in self._constants:
            name = self.names(f"c_{key[0].name}")
            array = Array(name, VEC4, len(rows), tuple(map(constant, rows)))
            self.arrays.append(array)
            self._constants[key] = array
        return self._constants[key][plane]

    def finish(
        self,
        name: str,
        header: Sequence[str],
        main: Sequence[Statement],
        uniforms: Sequence[str],
        **written: Any,
    ) -> Program:
        """Return the program of a node called ``name``.

        Args:
            name: for messages.
            header: comment lines at the top.
            main: what an invocation does.
            uniforms: names of ints beside the sizes.
            written: what it writes, as fields of :class:`~.program.Program`.

        Raises:
            ShadergenError: SG0402 when it reads more textures or parameters than a device allows.
        """
        if self._weights is not None:
            self._define_weights(*self._weights)
        if self._rows:
            rows = np.concatenate(self._rows)
            self._parameters.count = len(rows)
            self.arrays.append(self._parameters)
            blob = Blob(f"{name}.parameters", len(rows), lambda _: [rows])
            self.blocks.append(Block("Parameters", "uniform", blob))
            most = self.target.limits.uniform_block_size
            check_limit("bytes of parameters", len(rows) * 16, most, name)
        units = sum(isinstance(r.place, str) for r in self.reads)
        check_units(units, self.stage, self.target, name)
        return Program(
            stage=self.stage,
            precision=self.precision,
            header=header,
            textures=self.textures,
            uniforms=[*uniforms, *(f"u_{size}" for size in self.sizes)],
            arrays=self.arrays,
            main=main,
            chained=self.target.products != "matrix",
            **written,
        )


def constant(numbers: np.ndarray) -> Expression:
    """Return four numbers as a vec4, or four columns of them as a mat4."""
    return Numbers(tuple(numbers.reshape(-1).tolist()))
