"""The machine's packages, glslang and OpenGL ES, as the Python runtime finds them."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from .. import __version__
from ..backends.devices import PROFILE_SUFFIX, device, named_profile
from ..backends.replacing import replacing_file
from ..backends.validate import find_glslang
from ..errors import ShadergenError, reason
from ..passes.placement.target import Limits
from . import extras
from .probing import faster_fetch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..passes.placement.target import GlslVersion

PACKAGES = (
    *("numpy", "onnx", "h5py", "jsonschema", "jsonschema-rs"),
    *("PyOpenGL", "pillow", "onnxruntime", "keras"),
)


@dataclass(frozen=True)
class Findings:
    """The state of a machine; ``problem`` says why there is no GL, if there is none."""

    packages: dict[str, str]
    glslang: str
    renderer: str = ""
    gl_version: str = ""
    platform: str = ""
    float_targets: str = ""
    limits: dict[str, int] = field(default_factory=dict)
    glsl: int = 300
    problem: str = ""

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the findings as a two-column table."""
        yield "shadergen", f"{__version__} on Python {platform.python_version()}"
        yield from self.packages.items()
        yield "glslang", self.glslang or "not installed (Debian: glslang-tools)"
        if self.problem:
            yield "OpenGL ES", self.problem
            return
        yield "OpenGL ES", f"{self.gl_version} through EGL, {self.platform}"
        yield "renderer", self.renderer
        yield "device profile", named_profile(self.renderer) or "none for this GPU; see --save"
        yield "float render targets", self.float_targets
        yield "GLSL ES for builds", str(self.glsl)
        yield from ((name.replace("_", " "), str(value)) for name, value in self.limits.items())


def examine() -> Findings:
    """Look around. Nothing that is missing is an error."""
    packages = {name: _version(name) for name in PACKAGES}
    glslang = find_glslang() or ""
    try:
        runtime = extras.runtime()
        with runtime.HeadlessContext() as context:
            info = context.info()
            targets = {"32 bits": info.draws_float, "16 bits": info.draws_half_float}
            return Findings(
                packages,
                glslang,
                renderer=info.renderer,
                gl_version=info.version,
                platform=context.platform,
                float_targets=", ".join(k for k, v in targets.items() if v) or "none",
                limits=dict(info.limits),
                glsl=310 if info.es >= (3, 1) else 300,
            )
    except ShadergenError as error:
        return Findings(packages, glslang, problem=error.render())


def save_profile(found: Findings, path: Path) -> None:
    """Write what was found as a device profile (``backends.devices``), and how it reads faster.

    Raises:
        ShadergenError: SG0601 when there is no GL, SG0501 when the file cannot be written, SG0301
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
    if found.problem:
        raise ShadergenError("SG0601", "there is no OpenGL ES to profile", why=found.problem)
    limits = Limits(**found.limits)
    glsl: GlslVersion = 310 if found.glsl >= 310 else 300
    runtime = extras.runtime()
    with runtime.HeadlessContext() as context:
        fetch = faster_fetch(runtime, context, limits, glsl)
    profile = {
        "renderer": found.renderer,
        "version": found.gl_version,
        "glsl": glsl,
        "fetch": fetch,
        "limits": found.limits,
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
