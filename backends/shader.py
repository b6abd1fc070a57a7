"""A shader under construction: what it reads, the functions it needs, its text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from ..errors import InternalError
from ..ir.expr import Extent, walk
from ..ir.graph import Constant, Result
from ..ir.size import check_text, is_open, surely_equal
from ..ir.types import IMAGE_FORMATS, LANES, fits_half
from .device_limits import check_limit, check_units
from .glsl import Functions, Namer, comment, number, vec4
from .gpu import EXTERNAL, Blob, Block, Read
from .texture_reads import Texture, texel, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ir.expr import Expr
    from ..ir.graph import Precision, Stage, Value, WeightStorage
    from ..ir.size import Size
    from ..ir.target import Target
    from .lower.loads import LoadFunction


def weight_texture_width(rows: int) -> int:
    """Return the width of a texture for so many rows: a power of two, whole tiles, about square."""
    return max(LANES, 1 << ((rows - 1).bit_length() + 1) // 2)


@cache
def templates() -> Environment:
    """Return the template environment: strict, and without stray blank lines."""
    environment = Environment(
        loader=PackageLoader(__package__.rpartition(".")[0], "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )

    def fail(message: str) -> None:
        raise InternalError(message)

    environment.globals["fail"] = fail
    environment.filters["number"] = number
    environment.filters["comment"] = comment
    return environment


class Shader:
    """Collects declarations while a kernel is lowered, then renders the template."""

    def __init__(self, target: Target, precision: Precision, stage: Stage = "fragment") -> None:
        self.target = target
        self.precision = precision
        self.stage = stage
        self.functions = Functions(precision)
        self.reads: list[Read] = []
        self.blocks: list[Block] = []
        self.extensions: list[str] = []
        self.samplers: list[str] = []
        self.sizes: dict[str, int] = {}
        self.block_texts: list[str] = []
        self.fetchers: list[str] = []
        self.constants: list[str] = []
        self.names = Namer()
        self.loads: dict[tuple[str, Value], LoadFunction] = {}
        self._textures: dict[tuple[Value, int | None], Texture] = {}
        self._parameters: list[np.ndarray] = []
        self._weights: tuple[Blob, WeightStorage, bool] | None = None
        self._tail: list[np.ndarray] = []
        self._arrays: dict[tuple[Value, bool], str] = {}  # by value and whether it fills lanes

    def texture(self, value: Value, role: str, batch: int | None = None) -> Texture:
        """Declare the samplers for a tensor, once, and return how to read it.

        Args:
            value: a tensor with a layout.
            role: what the sampler is called after.
            batch: the only batch entry that is read, where the tensor has several and each plane is
                a texture; None reads all.
        """
        layout = value.type.layout
        if layout is None:
            raise InternalError(f"'{value.name}' was given no layout")
        several = value.type.in_planes and value.shape[0] > 1 and layout.kind != "array"
        key = (value, batch if several else None)
        if key in self._textures:
            return self._textures[key]
        name = self.names(role)
        ours = isinstance(value, Result) and layout.slot is not None  # the application's may not
        image: str = layout.format if ours else ""
        if layout.kind == "external":
            return self._external(key, name)
        if layout.kind == "array":
            samplers = [f"u_{name}"]
            image = self._declare("2DArray", samplers[0], value, None, image)
            first = 0
        else:
            if key[1] is None:
                first, count = 0, value.type.layers
            else:
                first, count = key[1] * value.type.planes, value.type.planes
            samplers = [f"u_{name}" if count == 1 else f"u_{name}_{k}" for k in range(count)]
            if len(samplers) > 1:
                image = ""  # units are few
            for k, sampler in enumerate(samplers):
                layer = first + k if value.type.layers > 1 else None
                image = self._declare("2D", sampler, value, layer, image)
        offset = value.type.first_layer
        begin = self.size(f"first_{name}", offset) if offset else ""
        sampled = not image and len(samplers) == 1 and self._samples(value)
        texture = Texture(name, value, tuple(samplers), first, bool(image), begin, sampled)
        if len(samplers) > 1:
            self.fetchers.append(texture.chain())
        self._textures[key] = texture
        return texture

    def _samples(self, value: Value) -> bool:
        """Whether to sample a tensor at its texels' centres, which takes a size in numbers."""
        known = not isinstance(value, Constant) and not any(is_open(s) for s in value.type.extent)
        return known and self.target.samples and self.stage == "fragment"

    def _external(self, key: tuple[Value, int | None], name: str) -> Texture:
        """Declare the sampler of an external texture, its matrix, and a function that reads it.

        The frame is of another size than the map, so texels are asked for at their centres. The
        matrix takes (0, 0) as the lower left of the picture, as Android's SurfaceTexture has it.
        """
        value = key[0]
        sampler, matrix = f"u_{name}", f"u_{name}_matrix"
        self.extensions.append(EXTERNAL)
        self.samplers.append(f"uniform highp samplerExternalOES {sampler};")
        self.samplers.append(f"uniform highp mat4 {matrix};")
        self.reads.append(Read(sampler, value, matrix=matrix))
        width, height = (
            f"float({self.number(size)})" if is_open(size) else f"{size}.0"
            for size in value.type.extent[:2]
        )
        lines = [
            f"vec4 fetch_{name}(ivec2 p) {{",
            f"    highp vec2 at = (vec2(p) + 0.5) / vec2({width}, {height});",
            f"    return texture({sampler}, ({matrix} * vec4(at.x, 1.0 - at.y, 0.0, 1.0)).xy);",
            "}",
        ]
        self.fetchers.append("\n".join(lines))
        texture = self._textures[key] = Texture(name, value, (sampler,), 0)
        return texture

    def _declare(
        self, kind: str, name: str, source: Value | Blob, layer: int | None, image: str
    ) -> str:
        """Declare a sampler, or an image of a format where that is possible; return the format."""
        units, room = 0, 0
        if self.target.has_images and image in IMAGE_FORMATS:
            units = sum(isinstance(r.place, int) for r in self.reads)
            room = self.target.limits.fragment_images
            if self.stage == "compute":
                units += 1  # the first is the result's
                room = self.target.limits.compute_images
        if units >= room:
            self.samplers.append(f"uniform sampler{kind} {name};")
            self.reads.append(Read(name, source, layer))
            return ""
        layout = f"layout({image}, binding = {units})"
        self.samplers.append(f"{layout} readonly uniform {self.precision} image{kind} {name};")
        self.reads.append(Read(units, source, layer))
        return image

    def size(self, name: str, value: int) -> str:
        """Return an int that layers of one kind differ in: a number, or in compute a uniform.

        So one program serves all of them, and drivers compile a few for a whole network. A draw's
        program has its numbers, as every invocation of one pixel would have to work with uniforms.
        """
        if self.stage != "compute" and not is_open(value):
            return str(value)
        if self.sizes.setdefault(name, value) != value:
            raise InternalError(f"two sizes are called {name}")
        return f"u_{name}"

    def names_of(self, expr: Expr) -> dict[str, str]:
        """Return the uniforms of the sizes in an expression that the build leaves open."""
        return {e.name: self.extent(e.size) for e in walk(expr) if isinstance(e, Extent)}

    def number(self, size: int) -> str:
        """Return an int as text: digits, or a uniform where it is open."""
        return self.extent(size) if is_open(size) else str(size)

    def extent(self, size: Size) -> str:
        """Return the uniform of a size that the build leaves open, one for equal ones."""
        for name, known in self.sizes.items():
            if is_open(known) and surely_equal(known, cast("int", size)):
                return f"u_{name}"
        count = sum(name.startswith("size_") for name in self.sizes)
        return self.size(f"size_{count}", cast("int", size))

    def weights(self, blob: Blob, storage: WeightStorage, tiled: bool) -> None:
        """Keep looped-over weights, so that ``weight(i)`` is row i; parameters follow them.

        Args:
            blob: the rows.
            storage: where they go.
            tiled: whether ``tile(i)`` is wanted, four rows from a multiple of four as a matrix.
        """
        self._weights = (blob, storage, tiled)

    def _declare_weights(self, weights: Blob, storage: WeightStorage, tiled: bool) -> None:
        tail = self._tail
        if weights.format == "rgba16f" and self.precision == "highp":
            weights = replace(weights, format="rgba16f" if all(map(fits_half, tail)) else "rgba32f")
        if tail and self._has_vectors:
            name = weights.name.removesuffix("weights") + "vectors"
            vectors = Blob(name, sum(map(len, tail)), lambda: np.concatenate(self._tail))
            at, read = self._declare_rows("vectors", vectors)
            self.fetchers.append(f"vec4 vector(int i) {{ return {read(at)}; }}")
            tail = []
        count = weights.count + sum(map(len, tail))
        blob = replace(weights, count=count, make=lambda: np.concatenate([weights.make(), *tail]))
        start = []
        if storage == "texture":
            at, read = self._declare_rows("weights", blob)
            row = read(at)
            start = [f"ivec2 at = {at};"]
            rows = [read(f"at + ivec2({k}, 0)" if k else "at") for k in range(LANES)]
        elif storage in ("ubo", "ssbo"):
            text = f"layout(std140) uniform Weights {{ vec4 weights[{count}]; }};"
            if storage == "ssbo":
                text = "layout(std430, binding = 0) readonly buffer Weights { vec4 weights[]; };"
            self.blocks.append(Block("Weights", "uniform" if storage == "ubo" else "storage", blob))
            self.block_texts.append(text)
            row = "weights[i]"
            rows = [f"weights[i + {k}]" if k else row for k in range(LANES)]
        else:
            raise InternalError(f"weights in {storage} are not looped over")
        self.fetchers.append(f"vec4 weight(int i) {{ return {row}; }}")
        if tiled:
            body = [*start, "return mat4(", *(f"    {r}," for r in rows[:-1]), f"    {rows[-1]}"]
            lines = ["mat4 tile(int i) {", *(f"    {line}" for line in body), "    );", "}"]
            self.fetchers.append("\n".join(lines))

    def _declare_rows(self, name: str, blob: Blob) -> tuple[str, Callable[[str], str]]:
        """Declare a texture of rows; return where row i is, and what reads a place."""
        image = self._declare("2D", f"u_{name}", blob, None, blob.format)
        width = weight_texture_width(blob.count)
        at = "ivec2(i, 0)"
        if blob.count > width or self.stage == "compute":
            mask = self.size(f"{name}_mask", width - 1)
            at = f"ivec2(i & {mask}, i >> {self.size(f'{name}_shift', width.bit_length() - 1)})"
        return at, lambda place: whole(texel(f"u_{name}", place, bool(image)), blob.format)

    @property
    def _has_vectors(self) -> bool:
        """Whether parameters beside looped-over weights have a texture of their own."""
        assert self._weights is not None
        weights, storage, _ = self._weights
        return storage == "texture" and weights.format == "rgba8"

    def parameter(self, value: Value, plane: int | str, number: int | None = None) -> str:
        """Return the vec4 of a number or a per-channel constant for a plane.

        Args:
            value: the constant.
            plane: its plane, or an int expression where one program draws several.
            number: the plane that this pass draws; beside looped-over weights it is kept there.
        """
        if value.type.size == 1:  # one number for all channels
            assert isinstance(value, Constant)
            rows = np.repeat(plane_rows(value.data)[:, :1], LANES, axis=1)
            return self._parameter((value, True), rows, 0)
        return self.channel_vector(value, plane, number)

    def channel_vector(self, value: Value, plane: int | str, number: int | None = None) -> str:
        """Return the vec4 of a vector with one number for each channel, a bias, for a plane."""
        assert isinstance(value, Constant)
        rows = plane_rows(value.data)
        if self.target.parameters == "constants" and self._weights is not None:
            reader = "vector" if self._has_vectors else "weight"
            if number is not None:
                return f"{reader}({self._after_weights(rows[number : number + 1])})"
            if self.stage == "compute" and len(rows) > 1:
                if (value, False) not in self._arrays:
                    start = self._after_weights(rows)
                    name = f"vector_{sum(len(t) > 1 for t in self._tail)}"
                    self._arrays[value, False] = self.size(name, start)
                return f"{reader}({plane} + {self._arrays[value, False]})"
        return self._parameter((value, False), rows, plane)

    def _after_weights(self, rows: np.ndarray) -> int:
        """Keep rows after the weights that are looped over; return where the first is."""
        assert self._weights is not None
        start = sum(map(len, self._tail)) + (0 if self._has_vectors else self._weights[0].count)
        self._tail.append(rows)
        return start

    def _parameter(self, key: tuple[Value, bool], rows: np.ndarray, plane: int | str) -> str:
        if len(rows) == 1:
            plane = 0
        if self.target.parameters == "ubo":
            return self._uniform_parameter(key, rows, plane)
        if isinstance(plane, int):
            return vec4(rows[plane])
        if key not in self._arrays:
            name = self.names(f"c_{key[0].name}")
            values = ",\n    ".join(vec4(r) for r in rows)
            self.constants.append(
                f"const vec4 {name}[{len(rows)}] = vec4[{len(rows)}](\n    {values}\n);"
            )
            self._arrays[key] = name
        return f"{self._arrays[key]}[{plane}]"

    def _uniform_parameter(
        self, key: tuple[Value, bool], rows: np.ndarray, plane: int | str
    ) -> str:
        if key not in self._arrays:
            start = sum(map(len, self._parameters))
            self._parameters.append(rows)
            self._arrays[key] = str(start)
        start = int(self._arrays[key])
        at = start + plane if isinstance(plane, int) else f"{plane} + {start}"
        return f"parameters[{at}]"

    def render(self, template: str, name: str, header: list[str], **context: object) -> str:
        """Return the shader's text, and close its list of blocks and samplers.

        Raises:
            ShadergenError: SG0402 when it reads more textures or parameters than a device allows.
        """
        if self._weights is not None:
            self._declare_weights(*self._weights)
        if self._parameters:
            rows = np.concatenate(self._parameters)
            blob = Blob(f"{name}.parameters", len(rows), lambda: rows)
            self.blocks.append(Block("Parameters", "uniform", blob))
            self.block_texts.append(
                f"layout(std140) uniform Parameters {{ vec4 parameters[{len(rows)}]; }};"
            )
            most = self.target.limits.uniform_block_size
            check_limit("bytes of parameters", len(rows) * 16, most, name)
        units = sum(isinstance(r.place, str) for r in self.reads)
        check_units(units, self.stage, self.target, name)
        source = (
            templates()
            .get_template(template)
            .render(
                version=self.target.glsl,
                precision=self.precision,
                stage=self.stage,
                extensions=dict.fromkeys(self.extensions),
                header=header,
                samplers=self.samplers,
                sizes=self.sizes,
                blocks=self.block_texts,
                constants=self.constants,
                functions=[*self.functions.texts.values(), *self.fetchers],
                **context,
            )
        )
        check_text(source)
        return source


def plane_rows(data: np.ndarray) -> np.ndarray:
    """Return a per-channel vector as rows of four lanes, zero-padded: (ceil(C/4), 4)."""
    flat = np.asarray(data, np.float32).reshape(-1)
    rows = np.zeros((-(-len(flat) // LANES), LANES), np.float32)
    rows.reshape(-1)[: len(flat)] = flat
    return rows
