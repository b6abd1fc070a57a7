"""The machine's packages, glslang, players, OpenGL ES and WebGPU, as shadergen finds them."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from dataclasses import asdict, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..backends.devices import DEVICES, PROFILE_SUFFIX, device, named_profile
from ..backends.replacing import replacing_file
from ..backends.validate import find_glslang
from ..errors import ShadergenError, reason
from ..passes.placement.target import Limits
from ..records import dataclass, replace
from ..runtime_glue.python.schedule import Requires
from ..runtime_glue.python.webgpu.device import F16, TIMESTAMPS
from . import extras
from .probing import faster_fetch
from .runtimes import GLES, TITLES, WEBGPU, check_runtime, open_context

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..passes.placement.target import GlslVersion, Wgsl
    from ..runtime_glue.python.webgpu import DeviceInfo

PACKAGES = (
    *("numpy", "onnx", "h5py", "jsonschema", "jsonschema-rs"),
    *("PyOpenGL", "wgpu", "pillow", "onnxruntime", "keras"),
)
FEATURES = {  # of WebGPU: what happens without them
    F16: "shaders compute in 32 bits",
    TIMESTAMPS: "bench and tune measure GPU passes with the CPU's clock",
}


@dataclass(frozen=True)
class Adapter:
    """A WebGPU adapter.

    Attributes:
        name: as ``--adapter`` takes it.
        backend: the system's interface below it, such as Vulkan.
        features: those of ``FEATURES`` that it has.
        limits: by the schedule's names.
        profiles: for each device profile in WGSL, what the adapter lacks of its requirements.
    """

    name: str
    backend: str
    features: tuple[str, ...]
    limits: dict[str, int]
    profiles: dict[str, tuple[str, ...]]

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield what is known of it."""
        yield "backend", self.backend
        for name, without in FEATURES.items():
            yield name, "yes" if name in self.features else f"no: {without}"
        for name, lacking in self.profiles.items():
            yield f"--device {name}", f"no: lacks {'; '.join(lacking)}" if lacking else "yes"
        yield from ((name.replace("_", " "), str(value)) for name, value in self.limits.items())


@dataclass(frozen=True)
class Findings:
    """The state of a machine.

    ``problem`` says why there is no GL, if there is none, and ``webgpu_problem`` why no WebGPU.
    """

    packages: dict[str, str]
    glslang: str
    players: dict[str, str]
    renderer: str = ""
    gl_version: str = ""
    platform: str = ""
    float_targets: str = ""
    limits: dict[str, int] = field(default_factory=dict)
    glsl: int = 300
    problem: str = ""
    adapters: tuple[Adapter, ...] = ()
    webgpu_problem: str = ""

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the findings but for WebGPU's adapters as a two-column table."""
        yield "shadergen", f"{__version__} on Python {platform.python_version()}"
        yield from self.packages.items()
        yield "glslang", self.glslang or "not installed (Debian: glslang-tools)"
        yield from self.players.items()
        if self.adapters:
            yield "WebGPU", ", ".join(dict.fromkeys(a.name for a in self.adapters))
        yield from _lines("WebGPU", self.webgpu_problem)
        yield from _lines("OpenGL ES", self.problem)
        if not self.renderer:
            return
        yield "OpenGL ES", f"{self.gl_version} through EGL, {self.platform}"
        yield "renderer", self.renderer
        yield "device profile", named_profile(self.renderer) or "none for this GPU; see --save"
        yield "float render targets", self.float_targets
        yield "GLSL ES for builds", str(self.glsl)
        yield from ((name.replace("_", " "), str(value)) for name, value in self.limits.items())

    def adapter_rows(self) -> Iterator[tuple[str, ...]]:
        """Yield what is known of WebGPU's adapters, in a column for each."""
        for same in zip(*(a.rows() for a in self.adapters), strict=True):
            yield same[0][0], *(value for _, value in same)


def _lines(name: str, problem: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a problem, if there is one, in rows of their own."""
    for number, line in enumerate(problem.split("\n") if problem else ()):
        yield "" if number else name, line


def examine(runtime: str = "auto", adapter: str = "") -> Findings:
    """Look around. Nothing that is missing is an error.

    Args:
        runtime: of ``RUNTIMES``; "auto" examines both.
        adapter: a part of the adapters' names; by default all of WebGPU, and the first of GL.

    Raises:
        ShadergenError: SG0301 for an unknown runtime.
    """
    check_runtime(runtime)
    packages = {name: _version(name) for name in PACKAGES}
    found = Findings(packages, find_glslang() or "", _players())
    if runtime != WEBGPU:
        found = replace(found, **_gl(adapter))
    return found if runtime == GLES else replace(found, **_webgpu(adapter))


def _players() -> dict[str, str]:
    """Return the versions of mpv and FFmpeg, and whether FFmpeg can run user shaders."""
    found = {}
    for name, question in (("mpv", "--version"), ("ffmpeg", "-version")):
        if not shutil.which(name):
            found[name] = "not installed"
            continue
        # The first line is "mpv 0.35.1 ..." or "ffmpeg version 5.1.6 ...".
        words = _said(name, question).removeprefix(f"{name} ").removeprefix("version ").split()
        found[name] = words[0] if words else "installed, but does not run"
        if name == "ffmpeg" and words:
            has = " libplacebo " in _said(name, "-hide_banner", "-filters")
            found[name] += f", {'with' if has else 'without'} the libplacebo filter"
    return found


def _said(program: str, *arguments: str) -> str:
    """Return what a program prints; empty if it fails."""
    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _gl(adapter: str) -> dict[str, Any]:
    try:
        with extras.runtime(GLES).HeadlessContext(adapter=adapter) as context:
            info = context.info()
            targets = {"32 bits": info.draws_float, "16 bits": info.draws_half_float}
            return {
                "renderer": info.renderer,
                "gl_version": info.version,
                "platform": context.platform,
                "float_targets": ", ".join(k for k, v in targets.items() if v) or "none",
                "limits": dict(info.limits),
                "glsl": 310 if info.has_compute else 300,
            }
    except ShadergenError as error:
        return {"problem": error.render()}


def _webgpu(adapter: str) -> dict[str, Any]:
    try:
        every = extras.runtime(WEBGPU).list_adapters()
    except ShadergenError as error:
        return {"webgpu_problem": error.render()}
    named = [info for info in every if info.matches(adapter)]
    if not named:
        names = ", ".join(dict.fromkeys(info.renderer for info in every))
        return {"webgpu_problem": f"no adapter is called '{adapter}'; there are: {names}"}
    return {"adapters": tuple(map(_adapter, named))}


def _adapter(info: DeviceInfo) -> Adapter:
    profiles = {
        name: tuple(info.missing(Requires("float", asdict(profile.limits), wgsl=profile.wgsl)))
        for name, profile in DEVICES.items()
        if profile.wgsl
    }
    features = tuple(name for name in FEATURES if name in info.features)
    return Adapter(info.renderer, info.backend, features, dict(info.limits), profiles)


def save_profile(found: Findings, path: Path, adapter: str = "") -> None:
    """Write a device profile (``backends.devices``) of the GL, or else of the WebGPU adapter.

    Args:
        found: what was examined.
        path: of the file.
        adapter: a part of the name of the adapter.

    Raises:
        ShadergenError: SG0601 when there is neither, SG0501 when the file cannot be written, SG0301
            for a name that is none of a profile.
    """
    if not path.name.endswith(PROFILE_SUFFIX):
        raise ShadergenError(
            "SG0301",
            f"--save '{path}': a device profile's name must end in {PROFILE_SUFFIX}",
            why=f"--device reads a name without {PROFILE_SUFFIX} as a built-in profile",
            help=f"for example --save mine{PROFILE_SUFFIX}",
        )
    if path.is_file() and path.stat().st_size:
        try:
            device(str(path))
        except ShadergenError as error:
            raise ShadergenError(
                "SG0501",
                f"'{path}' exists and is not a device profile",
                why=error.why or error.what,
                help="name another file with --save",
            ) from None
    problems = {GLES: found.problem, WEBGPU: found.webgpu_problem}
    missing = {name: problem for name, problem in problems.items() if problem}
    if not (found.renderer or found.adapters):
        titles = " and no ".join(TITLES[name] for name in missing)
        why = "\n".join(missing.values())
        raise ShadergenError(
            "SG0601", f"there is no {titles} to write a device profile of", why=why
        )
    with open_context([GLES if found.renderer else WEBGPU], adapter) as context:
        info = context.info()
        limits = Limits(**info.limits)
        glsl: GlslVersion = 310 if found.glsl >= 310 else 300
        wgsl: Wgsl | None = None
        if context.runtime == WEBGPU:
            wgsl = "f16" if F16 in context.info().features else "core"
        fetch = faster_fetch(context, limits, glsl, wgsl)
    profile = {
        "renderer": info.renderer,
        "version": info.version,
        **({"wgsl": wgsl} if wgsl else {"glsl": glsl}),
        "fetch": fetch,
        "limits": asdict(limits),
    }
    try:
        with replacing_file(path) as fresh:
            fresh.write_text(json.dumps(profile, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise ShadergenError("SG0501", f"cannot write '{path}'", why=reason(error)) from None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
