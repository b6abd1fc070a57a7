"""A program under construction: adds weights and parameters to the declarations.

A parameter is a bias, or a number or per-channel vector of a formula. Parameters are constants in
the code, rows of a uniform block, or rows after the weights that a loop reads.
"""

from __future__ import annotations

from functools import partial
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InternalError
from ...ir.graph import Constant
from ...ir.types import LANES
from ...records import replace
from ..device_limits import check_parameters, check_units
from ..gpu import Blob, Block
from .constructors import integer, ivec2, mat4, offset
from .declarations import Declarations
from .expressions import Numbers, Texel, Variable, known
from .formulas import Formulas
from .program import Array, Function, Program
from .rows import EPILOGUE_ROWS, Rows, array_length, plane_rows, rows_at
from .statements import Body
from .textures import float_size, whole
from .types import INT, IVEC2, MAT4, VEC4

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ir.graph import Precision, Stage, Value, WeightStorage
    from ...passes.placement.target import Target
    from .expressions import Expression, Int
    from .statements import Statement


def weight_texture_width(rows: int) -> int:
    """Return the width of a texture for so many rows: a power of two, about square."""
    return max(LANES, 1 << ((rows - 1).bit_length() + 1) // 2)


WEIGHTS_ARRAY = "weights"  # in a buffer


class ShaderBuilder(Declarations):
    """Collects the declarations of a kernel, then makes the program."""

    def __init__(self, target: Target, precision: Precision, stage: Stage = "fragment") -> None:
        super().__init__(target, precision, stage)
        self.formulas = Formulas(precision)
        self.blocks: list[Block] = []
        self.arrays: list[Array] = []
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

    def weights(self, blob: Blob, storage: WeightStorage) -> None:
        """Declare weights that loops read: ``weight(i)`` is row i, ``weight_block(i)`` four rows.

        Rows of parameters follow the weights. A weight block begins at a multiple of four.
        """
        self._weights = (blob, storage)

    def weight_columns(self, body: Body, row: Expression) -> list[Expression]:
        """Return the columns of the weight block that begins at a row, as separate reads."""
        assert self._weights is not None
        if self._weights[1] != "texture":
            return [self.weight(row + n) for n in range(LANES)]
        at = body.let("at", self._position(row))
        return [self._weight_at(offset(at, n, 0)) for n in range(LANES)]

    def _define_weights(self, name: str, weights: Blob, storage: WeightStorage) -> None:
        tail = self._tail  # a local: the blob's function must not keep this builder alive
        if weights.format == "rgba16f" and self.precision == "highp":
            fit = all(rows.fit_half for rows in tail)
            weights = replace(weights, format="rgba16f" if fit else "rgba32f")
        if tail and self._has_vectors:
            rows_of_pass = partial(rows_at, tail)
            vectors = Blob(f"{name}.vectors", self._tail_count, rows_of_pass, first=weights.first)
            at, read = self._declare_rows("vectors", vectors)
            body = Body()
            body.give(read(at))
            self._vector.body = body.statements
            blob = weights
        else:
            blob = replace(
                weights,
                count=weights.count + self._tail_count,
                make=lambda first: chain(weights.make(first), rows_at(tail, first)),
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
            count = blob.count if kind == "uniform" else 0
            array = Array(WEIGHTS_ARRAY, VEC4, count, buffer=(kind, block))  # type: ignore[arg-type]
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
        """Whether products are added to an accumulator one column of weights at a time.

        16-bit programs add up a texel's products first, before the conversion to 32 bits.
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
        """Declare a texture of rows; return the position of row i, and a function that reads it."""
        binding = self._binding("2d", f"u_{name}", blob, None, blob.format)
        width = weight_texture_width(blob.count)
        i = Variable("i", INT)
        at = ivec2(i, 0)
        if blob.count > width or self._shares_sizes:
            mask = self.size(f"{name}_mask", width - 1)
            shift = self.size(f"{name}_shift", width.bit_length() - 1)
            at = ivec2(i & mask, i >> shift)
        size: Expression | None = None
        if self.target.samples and self.stage == "fragment" and binding.unit is None:
            height = self.size(f"{name}_height", -(-blob.count // width))
            size = float_size(self.size(f"{name}_width", width), height)
        return at, lambda place: whole(Texel(binding, place, size=size), blob.format)

    @property
    def _has_vectors(self) -> bool:
        """Whether parameters beside looped-over weights have a texture of their own."""
        assert self._weights is not None
        weights, storage = self._weights
        return storage == "texture" and weights.format == "rgba8"

    def parameter(
        self, value: Value, plane: Int, number: int | None = None, stacked: bool = False
    ) -> Expression:
        """Return the vec4 of a number or a per-channel constant for a plane.

        Args:
            value: the constant.
            plane: its plane, or an expression if one program draws several planes.
            number: the plane that this pass draws, if known. The vector is then stored after the
                weights that a loop reads, if there are any.
            stacked: whether the fragments of a draw differ in the plane. The vectors of all planes
                are then stored there: they would be an array that fragments index.
        """
        if value.type.size == 1:  # the same for all channels
            assert isinstance(value, Constant)
            rows = np.repeat(plane_rows(value.data)[:, :1], LANES, axis=1)
            return self._parameter((value, True), rows, 0)
        return self.channel_vector(value, plane, number, stacked)

    def channel_vector(
        self, value: Value, plane: Int, number: int | None = None, stacked: bool = False
    ) -> Expression:
        """Return the vec4 of a vector with one number for each channel, a bias, for a plane."""
        assert isinstance(value, Constant)
        rows = plane_rows(value.data)
        if self.target.parameters == "constants" and self._weights is not None:
            reader = self._vector if self._has_vectors else self.weight
            if number is not None:
                plane_of_pass = number - (self._weights[0].first or 0)
                start = self._after_weights(Rows(rows, plane_of_pass))
                first = start - self._tail_count + 1  # index after the weights
                begin = self.size("first_parameter_row", first) if first else integer(0)
                return reader(begin + (start - first))
            if (stacked or self._shares_sizes) and len(rows) > 1 and self._has_room(len(rows)):
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
        """Store rows after the weights that a loop reads; return the index of the first."""
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
        """Return the finished program.

        Args:
            name: the node's name, for messages and the names of parameters.
            header: comment lines at the top.
            main: the statements of an invocation.
            uniforms: names of int uniforms other than sizes.
            written: fields of :class:`~.program.Program` that describe its results.

        Raises:
            ShadergenError: SG0402 if the device has too few texture units or too small blocks.
        """
        if self._weights is not None:
            self._define_weights(name, *self._weights)
        if self._rows:
            rows = np.concatenate(self._rows)
            self._parameters.count = len(rows)
            self.arrays.append(self._parameters)
            blob = Blob(f"{name}.parameters", len(rows), lambda _: [rows])
            self.blocks.append(Block("Parameters", "uniform", blob))
            check_parameters(len(rows) * 16, self.target, name)
        program = Program(
            stage=self.stage,
            precision=self.precision,
            header=header,
            textures=self.textures,
            uniforms=[*uniforms, *self.sizes],
            arrays=self.arrays,
            main=main,
            chained=self.target.products != "matrix",
            **written,
        )
        if any(len(tensor.bindings) > 1 for tensor in self._tensors.values()):
            self._drop_unread(program)
        units = sum(isinstance(r.place, str) for r in self.reads)
        check_units(units, self.stage, self.target, name)
        return program

    def _drop_unread(self, program: Program) -> None:
        """Drop the textures of a tensor that the program does not read, where each is a plane."""
        read = program.textures_read
        kept = [t in read or t.unit is not None for t in self.textures]
        self.textures[:] = compress(self.textures, kept)
        self.reads[:] = compress(self.reads, kept)


def constant(numbers: np.ndarray) -> Expression:
    """Return four numbers as a vec4, or four columns of them as a mat4."""
    return Numbers(tuple(numbers.reshape(-1).tolist()))
