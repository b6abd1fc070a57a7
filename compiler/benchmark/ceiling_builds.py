"""Builds whose passes do nothing but multiply and add, or copy.

They are run as any build is, so a ceiling has the overhead that a network has. Loops go around
small bodies, as often as a uniform says: unrolled code would measure how fast instructions are
fetched, and a constant count lets drivers unroll.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime_glue.python.schedule import (
    Build,
    ComputePass,
    Port,
    Read,
    RenderPass,
    Requires,
    Texture,
    Uniform,
    Write,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...runtime_glue.python.schedule import GpuPass

LANES = 4
COLOR_BUFFERS = {"rgba32f": "float", "rgba16f": "half_float", "rgba8": "none"}
PRECISION = "precision highp float; precision highp int;"  # an int's would spread to floats
VERTEX = """#version 300 es
void main() {
    gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0);
}
"""


@dataclass(frozen=True)
class Shape:
    """One variant of a ceiling shader: stage, format, texels, repetitions.

    ``width`` is the vec4 that an invocation has at work: accumulators, or layers copied. ``body``
    is how often a loop's body uses each. ``group`` is the workgroup, empty for fragments.
    """

    format: str
    size: int
    width: int = 1
    body: int = 1
    rounds: int = 1
    passes: int = 1
    group: tuple[int, int] | None = None

    @property
    def stage(self) -> str:
        return "compute" if self.group else "fragment"

    @property
    def texels(self) -> int:
        return self.size * self.size


def multiply_adds(shape: Shape) -> tuple[Build, int]:
    """Return a build of independent chains ``a = a * m + b``, and its multiply-adds."""
    names = [f"a{k}" for k in range(shape.width)]
    chains = [f"vec4 {a} = vec4({k}.0) + m;" for k, a in enumerate(names)]
    body = [f"{a} = {a} * m + b;" for _ in range(shape.body) for a in names]
    code = [
        "float m = 0.5 + float(p.x) * 1e-5;",
        "float b = 0.5 + float(p.y) * 1e-5;",
        *chains,
        "for (int i = 0; i < u_rounds; ++i) {",
        *body,
        "}",
        _store(shape, 0, " + ".join(names)),
    ]
    shader = _shader(shape, ["uniform int u_rounds;"], code, 1)
    rounds = Uniform("u_rounds", "int", (shape.rounds,))
    macs = LANES * shape.width * shape.body * shape.rounds * shape.texels * shape.passes
    return _build(shape, shader, (), (rounds,), 1), macs


def copy(shape: Shape) -> tuple[Build, int]:
    """Return a build that copies layers of the input "x" to the output "y", and its bytes."""
    code = [_store(shape, k, f"texelFetch(u_x, ivec3(p, {k}), 0)") for k in range(shape.width)]
    declared = ["uniform highp sampler2DArray u_x;"]
    shader = _shader(shape, declared, code, shape.width)
    build = _build(shape, shader, (Read("x", "u_x"),), (), shape.width)
    size = build.textures["x"].bytes + build.textures["y"].bytes
    return build, size * shape.passes


def _shader(shape: Shape, declared: Iterable[str], code: Iterable[str], layers: int) -> str:
    """Return a shader of statements for the texel p, which store ``layers`` layers."""
    if shape.group:
        x, y = shape.group
        head = [
            "#version 310 es",
            PRECISION,
            f"layout(local_size_x = {x}, local_size_y = {y}) in;",
            f"layout({shape.format}, binding = 0) uniform writeonly highp image2DArray u_y;",
        ]
        place = "ivec2(gl_GlobalInvocationID.xy)"
    else:
        head = ["#version 300 es", PRECISION]
        head += [f"layout(location = {k}) out vec4 o_{k};" for k in range(layers)]
        place = "ivec2(gl_FragCoord.xy)"
    return "\n".join([*head, *declared, "void main() {", f"ivec2 p = {place};", *code, "}", ""])


def _store(shape: Shape, layer: int, value: str) -> str:
    if shape.group:
        return f"imageStore(u_y, ivec3(p, {layer}), {value});"
    return f"o_{layer} = {value};"


def _build(
    shape: Shape, shader: str, reads: tuple[Read, ...], uniforms: tuple[Uniform, ...], layers: int
) -> Build:
    tensors = {"x": None, "y": 0} if reads else {"y": 0}
    textures = {name: _texture(shape, name, layers, slot) for name, slot in tensors.items()}
    ports = {name: _port(shape, name, layers) for name in tensors}
    extension = "comp" if shape.group else "frag"
    return Build(
        folder=Path("ceiling"),
        version="",
        generator="",
        model="ceiling",
        requires=Requires(COLOR_BUFFERS[shape.format], {}, glsl=310 if shape.group else 300),
        sizes=None,
        inputs=(ports["x"],) if reads else (),
        outputs=(ports["y"],),
        textures=textures,
        buffers={},
        passes=tuple(_pass(shape, k, reads, uniforms, layers) for k in range(shape.passes)),
        shaders={f"ceiling.{extension}": shader, "ceiling.vert": VERTEX},
        weights=b"",
    )


def _pass(
    shape: Shape,
    number: int,
    reads: tuple[Read, ...],
    uniforms: tuple[Uniform, ...],
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
            shader="ceiling.comp",
            barriers=(),
            image=0,
            workgroup=(x, y, 1),
            groups=(shape.size // x, shape.size // y, 1),
        )
    return RenderPass(
        **common,  # type: ignore[arg-type]
        shader="ceiling.frag",
        barriers=(),
        vertex="ceiling.vert",
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
