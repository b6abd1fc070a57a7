"""The contents of ``shadergen inspect``: GPU passes, memory and estimates, from a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError
from ..ir.types import FORMATS, LANES
from ..records import dataclass, replace
from ..runtime_glue.python.loading import check_schedule
from . import compilation, driver
from .dump import Dump
from .estimation import FrameEstimate, estimate, gpus_of
from .size_texts import at_defaults, shape_text, size_lines
from .user_shader_frame import frame_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ..backends.devices.gpus import Gpu
    from ..backends.user_shader.file import UserShader
    from .compilation import Compilation
    from .options import Options


PACKINGS = {"planes": "channel-packed", "rows": "row-packed"}


@dataclass(frozen=True)
class PassRow:
    """One GPU pass: width and height in pixels, sizes in bytes.

    ``packing`` is how the texture that it writes holds its tensor: "planes", "rows", or "stacked"
    planes. ``planes`` is how many layers or stacked planes of it the pass writes.
    """

    name: str
    layers: tuple[str, ...]
    stage: str
    kernel: str
    width: int
    height: int
    packing: str
    planes: int
    weights: str
    macs: int
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True)
class Inspection:
    """A build at a glance. Memory in bytes; ``peak`` shares textures, ``total`` does not.

    ``variants`` are the names of the builds for other devices in the folder, ``variant`` is that of
    this one; empty for the generic build. ``calibrated`` are the
    layers in 16 bits by what inputs showed and not by proof. ``sizes`` says which sizes a dynamic
    build accepts; the figures are those of its defaults. ``estimates`` are for the GPUs of a device
    profile. ``hook`` is the stage of the player's picture that a user shader replaces; empty for
    a build.
    """

    model: str
    glsl: int | None
    wgsl: str | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    passes: tuple[PassRow, ...]
    texture_bytes_peak: int
    texture_bytes_total: int
    weight_bytes: int
    calibrated: tuple[str, ...]
    sizes: tuple[str, ...]
    variants: tuple[str, ...]
    variant: str = ""
    estimates: tuple[FrameEstimate, ...] = ()
    hook: str = ""

    @property
    def language(self) -> str:
        """What the shaders are written in."""
        if self.hook:
            return f"user shader on {self.hook}"
        return f"GLSL ES {self.glsl}" if self.glsl else "WGSL"

    @property
    def macs(self) -> int:
        return sum(p.macs for p in self.passes)


def inspect_build(
    folder: Path, profile: str | None = None, variant: str | None = None
) -> Inspection:
    """Read a build's schedule, checked as runtimes do before they run it.

    Args:
        folder: of the build.
        profile: a device profile to estimate times for, or None.
        variant: the name of the variant to inspect; by default that of the profile, if there is
            one, else the generic build.

    Raises:
        ShadergenError: SG0502 when the folder is no build, SG0503 to SG0505 when its schedule is
            malformed, of another version or missing, SG0605 for an unknown variant, SG0301 where
            nothing can be estimated.
    """
    gpus = _gpus(profile)
    try:
        schedule = check_schedule(folder, variant)
        names = [entry["name"] for entry in schedule.get("variants", ())]
        if variant is None and profile in names:
            variant, schedule = profile, check_schedule(folder, profile)
        return replace(inspection(schedule, gpus), variants=tuple(names), variant=variant or "")
    except ShadergenError as error:
        raise error.at(str(folder)) from None


def inspect_model(
    model: Path,
    options: Options,
    profile: str | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Inspection:
    """Compile a model in memory and inspect the build or user shader that would be written.

    Raises:
        ShadergenError: as :func:`.compilation.compile_graph` and :func:`.compilation.import_model`;
            SG0301 where nothing can be estimated.
    """
    gpus = _gpus(profile)
    if options.package == "mpv":
        return _inspect_user_shader(model, options, gpus, progress)
    try:
        progress("reading the model")
        graph = compilation.import_model(model, options)
        _, files, _ = compilation.compile_graph(graph, options, progress)
    except ShadergenError as error:
        raise error.at(str(model)) from None
    return inspection(files.schedule, gpus)


def _inspect_user_shader(
    model: Path, options: Options, gpus: Mapping[str, Gpu], progress: Callable[[str], None]
) -> Inspection:
    """Compile a model into a user shader in memory, and inspect a frame of it."""
    _, shader, frame = user_shader_frame(model, options, progress)
    return as_user_shader(inspection(frame, gpus), shader)


def user_shader_frame(
    model: Path, options: Options, progress: Callable[[str], None]
) -> tuple[Compilation, UserShader, dict[str, Any]]:
    """Compile a model into a user shader in memory; also return the schedule of a frame."""
    dump = Dump(options.dump_ir)
    compiled, shader = driver.user_shader_in_memory(model, model, options, dump, progress)
    try:
        return compiled, shader, frame_for(compiled.files, shader, options)
    except ShadergenError as error:
        raise error.at(str(model)) from None


def as_user_shader(found: Inspection, shader: UserShader) -> Inspection:
    """Return the figures of a frame, with what only the user shader states."""
    stages = ("compute" if block.compute else "fragment" for block in shader.blocks)
    rows = tuple(replace(p, stage=s) for p, s in zip(found.passes, stages, strict=True))
    return replace(found, passes=rows, sizes=shader.notes, hook=shader.hook)


def _gpus(profile: str | None) -> Mapping[str, Gpu]:
    return {} if profile is None else gpus_of(profile)


def peak_bytes(schedule: Mapping[str, Any]) -> int:
    """Return the bytes of a build's textures, inputs and constants included."""
    slots: dict[int, int] = {}
    loose = 0
    for t in schedule["textures"]:
        if t["slot"] is None:
            loose += texture_bytes(t)
        else:
            slots[t["slot"]] = max(slots.get(t["slot"], 0), texture_bytes(t))
    return loose + sum(slots.values())


def stacked_planes(texture: Mapping[str, Any]) -> int:
    """Return how many planes lie below each other in a texture of a schedule; 0 if none do."""
    channels: int = texture.get("stacked", 0)
    return -(-channels // LANES)


def inspection(schedule: dict[str, Any], gpus: Mapping[str, Gpu]) -> Inspection:
    """Return a schedule's figures, at the default sizes.

    Raises:
        ShadergenError: SG0301 for GPUs and a build without counts of its work.
    """
    data = at_defaults(schedule)
    textures = {t["name"]: t for t in data["textures"]}

    def port(p: dict[str, Any]) -> str:
        return (
            f"{p['name']} {shape_text(p['shape'])} ({PACKINGS[textures[p['texture']]['packing']]})"
        )

    def row(p: dict[str, Any]) -> PassRow:
        written = textures[p["writes"][0]["texture"]]
        stacked = stacked_planes(written)
        return PassRow(
            name=p["name"],
            layers=tuple(p["layers"]),
            stage=p["stage"],
            kernel=p["kernel"],
            width=written["width"],
            height=written["height"] // (stacked or 1),
            packing="stacked" if stacked else written["packing"],
            planes=stacked or len(p["writes"]),
            weights=p["weights"],
            macs=p["macs"],
            bytes_read=p["bytes"]["read"],
            bytes_written=p["bytes"]["written"],
        )

    return Inspection(
        model=data["model"],
        glsl=data["requires"].get("glsl"),
        wgsl=data["requires"].get("wgsl"),
        inputs=tuple(map(port, schedule["inputs"])),
        outputs=tuple(map(port, schedule["outputs"])),
        passes=tuple(map(row, data["passes"])),
        texture_bytes_peak=peak_bytes(data),
        texture_bytes_total=sum(map(texture_bytes, data["textures"])),
        weight_bytes=data["weights"]["size"],
        sizes=tuple(size_lines(schedule)),
        calibrated=tuple(map(str, data.get("calibrated", ()))),
        variants=tuple(str(entry["name"]) for entry in schedule.get("variants", ())),
        estimates=estimate(data, gpus) if gpus else (),
    )


def texture_bytes(t: Mapping[str, Any]) -> int:
    """Return the bytes of a texture of a schedule, at fixed sizes."""
    size = FORMATS[t["format"]].bytes
    return int(t["width"]) * int(t["height"]) * int(t["layers"]) * size
