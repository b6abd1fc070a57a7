"""Count what user shaders for video players take on GPUs.

    make gpus ARGS=--user-shaders                   five upscalers beside hand-written ones: in
                                                    both stages, and for each GPU's family
    make gpus ARGS="--user-shaders net.glsl ..."    any user shaders
    ... --gpus mali-g72,rdna2 --precision fp16 --networks artcnn,acnet

A pass becomes a shader as players wrap it. OpenGL ES 3.1 has no explicit 16-bit types: with
``--precision fp16`` the precision of all floats is mediump there, as in the hand-written figures.
Cycles are those of a pixel of the picture at the hook, before it is enlarged.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from comparison.networks import SHARED
from support import picture_networks

from shadergen.backends.devices import DEFAULT_DEVICE
from shadergen.backends.devices.families import FAMILIES
from shadergen.compiler.choices import PRECISIONS
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options

from .counts import Count, measure
from .shaders import Shader
from .table import Gpu

PICTURE = 1920.0, 1080.0  # width and height
OUTPUT = 2  # times as large
STAGES = ("fragment", "compute")
SAMPLED, SAVED = "rgba8", "rgba16f"  # formats of the player's picture and of results
MULTIPLIES = re.compile(r"^// (\d+) multiply-adds", re.MULTILINE)
FLOAT16 = "GL_EXT_shader_explicit_arithmetic_types_float16"
# What 16-bit types are in OpenGL ES, and a condition that holds.
MEDIUMP = "\n".join(
    (
        "#define float16_t float",
        *(f"#define f16{name} {name}" for name in ("vec2", "vec3", "vec4", "mat4")),
        "#if 1",
    )
)
BINARY: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    ">": lambda a, b: float(a > b),
    "<": lambda a, b: float(a < b),
    "=": lambda a, b: float(a == b),
}


@dataclass(frozen=True)
class Upscaler:
    """A network of the shape of one that somebody wrote by hand, and what that takes.

    Attributes:
        name: of the hand-written file.
        model: writes the network's file to a folder and returns its path.
        by_hand: cycles per pixel by precision and GPU, counted in the same way; a GPU is absent
            where registers spill so much that a comparison says nothing.
    """

    name: str
    model: Callable[[Path], Path]
    by_hand: Mapping[str, Mapping[str, int]]


def _figures(fp32: Sequence[int], fp16: Sequence[int]) -> Mapping[str, Mapping[str, int]]:
    gpus = ("rdna2", "mali-g72", "mali-g610", "adreno-740", "nv-turing")
    return {
        name: {gpu: n for gpu, n in zip(gpus, numbers, strict=False) if n}
        for name, numbers in (("fp32", fp32), ("fp16", fp16))
    }


UPSCALERS = (
    Upscaler(
        "ACNet",
        lambda folder: SHARED / "acnet_gan_x2.onnx",
        _figures((5348, 5214, 85536, 6248, 6750), (5348, 5508, 15136)),
    ),
    Upscaler(
        "ArtCNN C4F16",
        lambda folder: picture_networks.save(picture_networks.artcnn(), folder),
        _figures((16473, 13968, 19328, 17921, 17074), (8721, 7736, 19328)),
    ),
    Upscaler(
        "FSRCNNX 8",
        lambda folder: picture_networks.save(picture_networks.fsrcnnx(), folder),
        _figures((3941, 3763, 4322, 4567, 4871), (3941, 2700, 3584)),
    ),
    Upscaler(
        "Anime4K M",
        lambda folder: picture_networks.save(picture_networks.anime4k(), folder),
        _figures((3264, 2677, 30584, 3500, 3616), (3264, 1577, 1868)),
    ),
    Upscaler(
        "CuNNy fast",
        lambda folder: picture_networks.save(picture_networks.cunny(), folder),
        _figures((3354, 19128, 0, 4737, 4715), (1820, 2397)),
    ),
)


@dataclass
class HookPass:
    """A pass of a user shader.

    Attributes:
        headers: its lines of one value, by name.
        binds: names of the textures that it reads.
        body: its code.
        size: width and height of what it writes.
    """

    headers: dict[str, str] = field(default_factory=dict)
    binds: list[str] = field(default_factory=list)
    body: str = ""
    size: tuple[float, float] = PICTURE

    @property
    def block(self) -> tuple[int, int, int, int] | None:
        """Width and height of what a workgroup writes and of its invocations, in compute."""
        if "COMPUTE" not in self.headers:
            return None
        numbers = [int(n) for n in self.headers["COMPUTE"].split()]
        across, down, *threads = numbers
        columns, rows = threads or (across, down)
        return across, down, columns, rows

    @property
    def invocations(self) -> float:
        """How many there are for each pixel of the picture."""
        share = self.size[0] * self.size[1] / (PICTURE[0] * PICTURE[1])
        if self.block is None:
            return share
        across, down, columns, rows = self.block
        return share * columns * rows / (across * down)

    @property
    def multiply_adds(self) -> float:
        """Of one invocation, as a comment of the code says."""
        found = MULTIPLIES.search(self.body)
        return int(found[1]) / self.invocations if found else 0.0


def parse(text: str) -> tuple[list[HookPass], list[str]]:
    """Return the passes of a user shader, and the names of its textures of constants."""
    blocks = re.split(r"^(?=//!(?:HOOK|TEXTURE) )", text, flags=re.MULTILINE)[1:]
    tables = [block.split()[1] for block in blocks if block.startswith("//!TEXTURE")]
    sizes = dict.fromkeys(("HOOKED", "LUMA", "MAIN", "RGB", "NATIVE", "CHROMA"), PICTURE)
    sizes["OUTPUT"] = PICTURE[0] * OUTPUT, PICTURE[1] * OUTPUT
    passes = [_parsed(block, sizes) for block in blocks if block.startswith("//!HOOK")]
    return passes, tables


def _parsed(block: str, sizes: dict[str, tuple[float, float]]) -> HookPass:
    found = HookPass()
    for line in block.splitlines():
        header = re.fullmatch(r"//!([A-Z]+) (.+)", line)
        if header is None:
            found.body += f"{line}\n"
        elif header[1] == "BIND":
            found.binds.append(header[2])
        else:
            found.headers[header[1]] = header[2]
    width, height = (
        _value(found.headers.get(name, f"HOOKED.{name[0].lower()}"), sizes)
        for name in ("WIDTH", "HEIGHT")
    )
    found.size = width, height
    if "SAVE" in found.headers:
        sizes[found.headers["SAVE"]] = found.size
    return found


def _value(expression: str, sizes: Mapping[str, tuple[float, float]]) -> float:
    """Return the value of a size in postfix notation."""
    stack: list[float] = []
    for term in expression.split():
        if term in BINARY:
            right, left = stack.pop(), stack.pop()
            stack.append(BINARY[term](left, right))
        elif re.fullmatch(r"[\d.]+", term):
            stack.append(float(term))
        else:
            name, _, side = term.partition(".")
            stack.append(sizes[name][side[0] == "h"])
    return stack.pop()


def shader_of(one: HookPass, tables: Sequence[str], vulkan: bool, half: bool) -> Shader:
    """Return a pass as a player gives it to a driver: Vulkan's, or OpenGL ES's."""
    read = [name for name in tables if name in one.body]
    binds = [name for name in one.binds if name not in tables]
    body = one.body if half else one.body.replace(FLOAT16, "NO_FLOAT16")
    if half and not vulkan:  # where all floats are mediump, with the code for 16-bit types
        body = body.replace(f"#if defined({FLOAT16}) && __VERSION__ >= 450", MEDIUMP)
        body = body.replace(f"#extension {FLOAT16} : enable\n", "")
    main = f"void main() {{ {'' if one.block else 'color = '}hook(); }}\n"
    source = "\n".join([*_declared(one, binds, read, vulkan, half), body, main])
    formats = {f"{name}_raw": SAMPLED if name == "HOOKED" else SAVED for name in binds}
    formats |= dict.fromkeys(read, "rgba32f") | {"out_image": SAVED}
    return Shader(
        "compute" if one.block else "fragment",
        source,
        VERTEX.format(version="450" if vulkan else "310 es"),
        () if one.block else (SAVED,),
        tuple(sorted(formats.items())),
        (),
        one.multiply_adds,
    )


# With more than 16 bits of a position in any case.
VERTEX = """#version {version}
layout(location = 0) out highp vec2 position;
void main() {{
    vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
    position = corner * 0.5 + 0.5;
    gl_Position = vec4(corner, 0.0, 1.0);
}}
"""


def _declared(
    one: HookPass, binds: Sequence[str], tables: Sequence[str], vulkan: bool, half: bool
) -> Iterator[str]:
    """Yield the lines that a player writes before a pass."""
    yield "#version 450" if vulkan else "#version 310 es"
    if not vulkan:
        precision = "mediump" if half else "highp"
        yield f"precision {precision} float;"
        yield "precision highp int;"
        yield f"precision {precision} sampler2D;"
        yield f"precision {precision} image2D;"
    position = "position"
    if one.block is None:
        yield "layout(location = 0) in highp vec2 position;"
        yield "layout(location = 0) out highp vec4 color;"
    else:
        yield "layout(local_size_x = {2}, local_size_y = {3}) in;".format(*one.block)
        image = f"layout({SAVED}, binding = {31 if vulkan else 0})"  # behind the textures
        yield f"{image} writeonly uniform highp image2D out_image;"
    for name in binds:
        yield f"uniform sampler2D {name}_raw;"
        yield f"uniform highp vec2 {name}_size;"
        yield f"uniform highp vec2 {name}_pt;"
        if one.block is not None:
            position = f"({name}_pt * (vec2(gl_GlobalInvocationID.xy) + 0.5))"
        yield f"#define {name}_pos {position}"
        yield f"#define {name}_tex(at) textureLod({name}_raw, at, 0.0)"
    for name in tables:
        yield f"uniform sampler2D {name};"


@dataclass(frozen=True)
class Total:
    """What a user shader takes on a GPU, for each pixel of the picture, and the sum's parts."""

    cycles: float
    ms: float
    spills: int
    error: str
    counts: Sequence[Count]


def count(
    text: str, gpus: Sequence[Gpu], half: bool, progress: Callable[[str], None]
) -> dict[str, Total]:
    """Count what a user shader takes on GPUs, by their names."""
    passes, tables = parse(text)
    totals = {}
    for vulkan in (False, True):
        users = [gpu for gpu in gpus if gpu.vulkan == vulkan]
        shaders = [shader_of(one, tables, vulkan, half) for one in passes]
        for name, counts in measure(shaders, users, progress).items():
            totals[name] = Total(
                sum(c.cycles * one.invocations for c, one in zip(counts, passes, strict=True)),
                sum(c.ms for c in counts),
                sum(c.spills for c in counts),
                next((c.error for c in counts if c.error), ""),
                counts,
            )
    return totals


def written(
    upscaler: Upscaler, precision: str, stage: str = "auto", device: str = DEFAULT_DEVICE
) -> str:
    """Return the user shader of a network."""
    with tempfile.TemporaryDirectory(prefix="shadergen-") as scratch:
        folder = Path(scratch)
        file = folder / "net.glsl"
        options = Options(
            package="mpv", stage=stage, precision=PRECISIONS[precision], device=device
        )
        compile_model(upscaler.model(folder), file, options)
        return file.read_text("utf-8")


def upscalers(words: str) -> list[Upscaler]:
    """Return the upscalers with one of some words, separated by commas, in their name."""
    wanted = [word.lower() for word in words.split(",") if word]
    return [u for u in UPSCALERS if not wanted or any(w in u.name.lower() for w in wanted)]


def report(
    files: Sequence[Path],
    words: str,
    gpus: Sequence[Gpu],
    precision: str,
    progress: Callable[[str], None],
) -> Iterator[str]:
    """Yield the lines of a table: files, or all upscalers in both stages and for each GPU's family.

    Beside the cycles of an upscaler stands what part of the hand-written file's they are.
    """
    half = precision == "fp16"
    yield "| shader | passes | " + " | ".join(gpu.title for gpu in gpus) + " |"
    yield "| --- | --- |" + " --- |" * len(gpus)
    for file in files:
        text = file.read_text("utf-8")
        yield _row(file.name, [(text, gpus)], half, {}, progress)
    for upscaler in () if files else upscalers(words):
        by_hand = upscaler.by_hand.get(precision, {})
        for stage in STAGES:
            text = written(upscaler, precision, stage)
            yield _row(f"{upscaler.name}, {stage}", [(text, gpus)], half, by_hand, progress)
        devices = [gpu.family if gpu.family in FAMILIES else DEFAULT_DEVICE for gpu in gpus]
        texts = [written(upscaler, precision, device=name) for name in devices]
        own = [(text, [gpu]) for text, gpu in zip(texts, gpus, strict=True)]
        yield _row(f"{upscaler.name}, --device", own, half, by_hand, progress)


def _row(
    title: str,
    texts: Sequence[tuple[str, Sequence[Gpu]]],
    half: bool,
    by_hand: Mapping[str, int],
    progress: Callable[[str], None],
) -> str:
    """Return a row of user shaders, each with the GPUs to count it for."""
    cells, passes = [], []
    for text, gpus in texts:
        totals = count(text, gpus, half, lambda what: progress(f"{title}, {what}"))
        passes.append(text.count("//!HOOK"))
        for gpu in gpus:
            total = totals[gpu.name]
            cell = f"{total.cycles:.0f}"
            if gpu.name in by_hand:
                cell += f" ({total.cycles / by_hand[gpu.name]:.2f})"
            if total.spills:
                cell += f", {total.spills} spills"
            cells.append(total.error or cell)
    several = " or ".join(map(str, sorted(set(passes))))
    return f"| {title} | {several} | {' | '.join(cells)} |"
