"""Builds whose passes do nothing but multiply and add, or copy.

They are run as any build is, so a ceiling has the overhead that a network has. Loops go around
small bodies, as often as a uniform says: unrolled code would measure how fast instructions are
fetched, and a constant count lets drivers unroll.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from ...backends.devices.profile import ES30
from ...backends.dialects.language import print_program, print_vertex
from ...backends.shader.constructors import construct, integer, ivec2, vec4
from ...backends.shader.expressions import BuiltIn, Texel, Uniform
from ...backends.shader.program import Program, TextureBinding
from ...backends.shader.statements import Body
from ...backends.shader.types import FLOAT
from ...passes.placement.target import Target
from ...records import dataclass
from ...runtime_glue.python.schedule import (
    Build,
    ComputePass,
    Port,
    Read,
    RenderPass,
    Requires,
    Texture,
    Write,
)
from ...runtime_glue.python.schedule import Uniform as UniformValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...backends.shader.expressions import Expression
    from ...passes.placement.target import Wgsl
    from ...runtime_glue.python.schedule import GpuPass

LANES = 4
COLOR_BUFFERS = {"rgba32f": "float", "rgba16f": "half_float", "rgba8": "none"}
ROUNDS = "u_rounds"
SHADER, VERTEX = "ceiling", "vertex"


@dataclass(frozen=True)
class Shape:
    """One variant of a ceiling shader: stage, format, texels, repetitions.

    ``width`` is the vec4 that an invocation has at work: accumulators, or layers copied. ``body``
    is how often a loop's body uses each. ``group`` is the workgroup's width and height, empty for
    fragments. ``wgsl`` writes WGSL instead of GLSL ES.
    """

    format: str
    size: int
    width: int = 1
    body: int = 1
    rounds: int = 1
    passes: int = 1
    group: tuple[int, int] | None = None
    wgsl: Wgsl | None = None

    @property
    def texels(self) -> int:
        return self.size * self.size

    @property
    def target(self) -> Target:
        """The shading language; the limits are of no account."""
        return Target(ES30, 310 if self.group else 300, wgsl=self.wgsl)

    @property
    def requires(self) -> Requires:
        """What the build requires."""
        target = self.target
        glsl = 0 if target.wgsl else target.glsl
        return Requires(COLOR_BUFFERS[self.format], {}, glsl, wgsl=target.wgsl)


def multiply_adds(shape: Shape) -> tuple[Build, int]:
    """Return a build of independent chains ``a = a * m + b``, and its multiply-adds."""
    main = Body()
    p = _position(main, shape)
    m = main.let("m", construct(FLOAT, p.x) * 1e-5 + 0.5)
    b = main.let("b", construct(FLOAT, p.y) * 1e-5 + 0.5)
    chains = [main.let(f"a{k}", vec4(float(k)) + m) for k in range(shape.width)]
    with main.loop("i", Uniform(ROUNDS)):
        for chain in chains * shape.body:
            main.assign(chain, chain * m + b)
    _store(main, shape, p, 0, reduce(add, chains))
    rounds = UniformValue(ROUNDS, "int", (shape.rounds,))
    macs = LANES * shape.width * shape.body * shape.rounds * shape.texels * shape.passes
    return _build(shape, main, (), (rounds,), 1), macs


def copy(shape: Shape) -> tuple[Build, int]:
    """Return a build that copies layers of the input "x" to the output "y", and its bytes."""
    main, x = Body(), TextureBinding("u_x", "array")
    p = _position(main, shape)
    for k in range(shape.width):
        _store(main, shape, p, k, Texel(x, p, integer(k)))
    build = _build(shape, main, (x,), (), shape.width)
    size = build.textures["x"].bytes + build.textures["y"].bytes
    return build, size * shape.passes


def _position(main: Body, shape: Shape) -> Expression:
    """Return the texel of an invocation."""
    if shape.group is None:
        return main.let("p", BuiltIn("pixel"))
    width, height = shape.group
    lane = BuiltIn("lane")
    x = BuiltIn("group_x") * width + lane % width
    y = BuiltIn("group_y") * height + lane // width
    return main.let("p", ivec2(x, y))


def _store(main: Body, shape: Shape, p: Expression, layer: int, value: Expression) -> None:
    if shape.group:
        main.store_image(p, integer(layer), value)
    else:
        main.write(layer, value)


def _program(shape: Shape, main: Body, textures: Sequence[TextureBinding], layers: int) -> Program:
    """Return the shader of statements that store some layers."""
    group = shape.group
    return Program(
        stage="compute" if group else "fragment",
        precision="highp",
        header=(),
        textures=textures,
        uniforms=() if textures else (ROUNDS,),
        arrays=(),
        main=main.statements,
        targets=0 if group else layers,
        result=TextureBinding("u_result", "array", 0, shape.format) if group else None,
        workgroup=prod(group) if group else 0,
    )


def _build(
    shape: Shape,
    main: Body,
    textures: tuple[TextureBinding, ...],
    uniforms: tuple[UniformValue, ...],
    layers: int,
) -> Build:
    reads = tuple(Read("x", texture.name) for texture in textures)
    tensors = {"x": None, "y": 0} if reads else {"y": 0}
    held = {name: _texture(shape, name, layers, slot) for name, slot in tensors.items()}
    ports = {name: _port(shape, name, layers) for name in tensors}
    program = _program(shape, main, textures, layers)
    return Build(
        folder=Path("ceiling"),
        version="",
        generator="",
        model="ceiling",
        requires=shape.requires,
        sizes=None,
        inputs=(ports["x"],) if reads else (),
        outputs=(ports["y"],),
        textures=held,
        buffers={},
        passes=tuple(_pass(shape, k, reads, uniforms, layers) for k in range(shape.passes)),
        shaders={
            SHADER: print_program(program, shape.target).text,
            VERTEX: print_vertex(shape.target),
        },
        weights=b"",
    )


def _pass(
    shape: Shape,
    number: int,
    reads: tuple[Read, ...],
    uniforms: tuple[UniformValue, ...],
    layers: int,
) -> GpuPass:
    common = {
        "name": f"ceiling{number}",
        "kernel": "ceiling",
        "layers": (),
        "reads": reads,
        "blocks": (),
        "uniforms": uniforms,
        "writes": tuple(Write("y", k) for k in range(layers)),
        "weights": "none",
        "macs": 0,
        "bytes_read": 0,
        "bytes_written": 0,
    }
    if shape.group:
        x, y = shape.group
        return ComputePass(
            **common,  # type: ignore[arg-type]
            shader=SHADER,
            barriers=(),
            image=0,
            workgroup=(x * y, 1, 1),
            groups=(shape.size // x, shape.size // y, 1),
        )
    return RenderPass(
        **common,  # type: ignore[arg-type]
        shader=SHADER,
        barriers=(),
        vertex=VERTEX,
        viewport=(shape.size, shape.size),
    )


def _texture(shape: Shape, name: str, layers: int, slot: int | None) -> Texture:
    return Texture(
        name=name,
        kind="array",
        format=shape.format,
        width=shape.size,
        height=shape.size,
        layers=layers,
        packing="planes",
        channels=LANES * layers,
        batch=1,
        slot=slot,
        first=0,
        last=0,
        data=None,
    )


def _port(shape: Shape, name: str, layers: int) -> Port:
    logical = (1, LANES * layers, shape.size, shape.size)
    encoding = "unorm8" if shape.format == "rgba8" else "float"
    return Port(name, name, logical, (0, 1, 2, 3), encoding, "float32")
