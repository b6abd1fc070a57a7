"""The Python runtimes, on OpenGL ES and on WebGPU: which one runs a build, and on which adapter.

Their contexts (``HeadlessContext``) have the same methods: ``info()`` describes the adapter, and
``runner()`` makes a runner of a build. Whoever has a context need not know its runtime.
"""

from __future__ import annotations

import atexit
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from ..backends.devices import DEFAULT_DEVICE, device
from ..errors import ShadergenError, did_you_mean, pip_install
from ..runtime_glue.python.loading import load
from . import extras
from .choices import RUNTIMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ..runtime_glue import python as gles
    from ..runtime_glue.python import webgpu

    Build = gles.Build
    Context = gles.HeadlessContext | webgpu.HeadlessContext
    Runner = gles.Runner | webgpu.Runner

GLES: Final = "gles"
WEBGPU: Final = "webgpu"
TITLES = {GLES: "OpenGL ES", WEBGPU: "WebGPU"}
LANGUAGES = {GLES: "GLSL ES", WEBGPU: "WGSL"}
UNAVAILABLE = ("SG0601", "SG0606")  # errors: no adapter, no package
INSTEAD = (
    "without OpenGL ES: compile with --device webgpu. To run the build on Vulkan, Metal or "
    f"Direct3D 12: {pip_install('webgpu')}"
)


def default_device(runtime: str) -> str:
    """Return the device profile to compile and run for where none is named.

    Args:
        runtime: of ``RUNTIMES``; "auto" is OpenGL ES unless only the package for WebGPU is there.
    """
    if runtime == "auto" and not find_spec("OpenGL") and find_spec("wgpu"):
        return WEBGPU
    return WEBGPU if runtime == WEBGPU else DEFAULT_DEVICE


def runtime_of(profile: str) -> str:
    """Return the runtime of builds for a device profile.

    Raises:
        ShadergenError: SG0301 for an unknown profile.
    """
    return WEBGPU if device(profile).wgsl else GLES


def runtimes_of(build: Build) -> tuple[str, ...]:
    """Return the runtimes that a build runs on, that of the generic build first."""
    if build.requires.wgsl:
        return (WEBGPU,)
    return (GLES, WEBGPU) if build.wgsl_variants else (GLES,)


def chosen(wanted: str, possible: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the runtimes to try.

    Args:
        wanted: of ``RUNTIMES``; "auto" takes all that are possible.
        possible: in their order.
        what: would run on them, for the message.

    Raises:
        ShadergenError: SG0301 for one that is unknown or not possible.
    """
    check_runtime(wanted)
    if wanted == "auto":
        return tuple(possible)
    if wanted not in possible:
        raise ShadergenError(
            "SG0301",
            f"--runtime {wanted} cannot run {what}",
            why=f"its shaders are {LANGUAGES[possible[0]]}, and {TITLES[wanted]} takes "
            f"{LANGUAGES[wanted]}",
            supported=f"--runtime {', '.join(possible)}",
            help=f"compile with --device {default_device(wanted)}",
        )
    return (wanted,)


def check_runtime(wanted: str) -> None:
    """Refuse a runtime that is not known.

    Raises:
        ShadergenError: SG0301.
    """
    if wanted not in RUNTIMES:
        raise ShadergenError(
            "SG0301",
            f"no runtime is called '{wanted}'",
            supported=", ".join(RUNTIMES),
            help=did_you_mean(wanted, RUNTIMES),
        )


def _open(name: str, adapter: str) -> Context:
    context: Context = extras.runtime(name).HeadlessContext(adapter=adapter)
    return context


@cache
def _shared(name: str, adapter: str) -> Context:
    context = _open(name, adapter)
    atexit.register(context.close)
    return context


def open_context(
    names: Iterable[str], adapter: str = "", opening: Callable[[str, str], Context] = _open
) -> Context:
    """Open a context of the first of some runtimes that this machine can run.

    Args:
        names: of the runtimes, at least one.
        adapter: a part of the adapter's name; by default the runtime's own choice.
        opening: opens one.

    Raises:
        ShadergenError: SG0601, without an adapter of any of them; SG0606, without a package.
    """
    failures: dict[str, ShadergenError] = {}
    for name in names:
        try:
            return opening(name, adapter)
        except ShadergenError as error:
            if error.code not in UNAVAILABLE:
                raise
            failures[name] = error
    first = next(iter(failures.values()))
    helps = [error.help for error in failures.values()]
    if list(failures) == [GLES] and not adapter:
        helps.append(INSTEAD)
    first.help = "\n".join(filter(None, helps))
    raise first


def shared_context(names: Iterable[str], adapter: str = "") -> Context:
    """Return the context that all of the process share, as :func:`open_context`."""
    return open_context(names, adapter, _shared)


def for_context(build: Build, context: Context) -> Build:
    """Return the variant of a build for a context, at the same sizes.

    Raises:
        ShadergenError: SG0502 to SG0505 for a malformed variant.
    """
    if not build.variants:
        return build
    return load_for(build.folder, context, dict(build.sizes.values) if build.sizes else None)


def load_for(folder: Path, context: Context, sizes: Mapping[str, int] | None = None) -> Build:
    """Read a build, or its variant for a context.

    Raises:
        ShadergenError: SG0502 to SG0505 for a malformed build.
    """
    found = load(folder, sizes, context.info())
    if context.runtime == WEBGPU and not found.requires.wgsl and found.wgsl_variants:
        # No variant fits. The runner says of this one what the adapter lacks.
        return load(folder, sizes, variant=found.wgsl_variants[-1])
    return found
