"""Device profiles: limits that a build may rely on, and costs of operations.

- ``-min`` profiles: the minimum maxima of the OpenGL ES specifications (tables 6.30 to 6.35 of ES
  3.0.6, 20.40 and following of ES 3.1 and 3.2) and of WebGL 2.
- Other generic profiles: limits of practically every device of their class.
- ``llvmpipe`` and ``swiftshader`` (:mod:`.software`): software rasterisers, with measured costs.
  Versions of SwiftShader differ in draw buffers: 6 in 150, 8 in 156.
- Families of GPUs (:mod:`.families`), with costs fitted to what their compilers make of kernels.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ...errors import ShadergenError, did_you_mean, reason
from ...passes.placement.target import Fetch, GlslVersion, Limits, Products, Wgsl
from ...records import replace
from .families import DESKTOP, FAMILIES, FITTED
from .profile import ES30, ES31, ES32, MOBILE, WEBGPU, Device
from .software import SOFTWARE

if TYPE_CHECKING:
    from collections.abc import Collection

# Mesa's compilers for Intel and others move a constant bias to the end of a chain of multiply-adds
# and execute the chain after the last load. All texels of a layer then live at once, and spill.
GENERIC_PRODUCTS: Products = "bias last"

# VideoCore's compiler spills neither draws of four planes (38 scalars alive) nor blocks of two
# pixels and two planes (42). Beside dispatches the lower limit stays: without it, draws replace
# dispatches that suit other families.
DRAWN_TEXTURE_REGISTERS = 42
DRAWN = tuple(
    replace(costs, texture_registers=DRAWN_TEXTURE_REGISTERS) if costs.texture_registers else costs
    for costs in FITTED
)

# A build for a generic profile is the least bad for the worst of the families that were fitted.
DEVICES: dict[str, Device] = {
    "gles30": Device(replace(ES30, texture_size=4096), costs=DRAWN, products=GENERIC_PRODUCTS),
    "gles30-min": Device(ES30, costs=DRAWN, products=GENERIC_PRODUCTS),
    "webgl2-min": Device(ES30, costs=DRAWN, webgl=True, products=GENERIC_PRODUCTS),
    "gles31-min": Device(ES31, 310, costs=FITTED, products=GENERIC_PRODUCTS),
    "gles31-mobile": Device(MOBILE, 310, costs=FITTED, products=GENERIC_PRODUCTS),
    "gles32-desktop": Device(ES32, 310, costs=DESKTOP, products=GENERIC_PRODUCTS),
    "webgpu": Device(WEBGPU, wgsl="core", costs=FITTED, products=GENERIC_PRODUCTS),
    "webgpu-f16": Device(WEBGPU, wgsl="f16", costs=FITTED, products=GENERIC_PRODUCTS),
    **FAMILIES,
    **SOFTWARE,
}
DEFAULT_DEVICE = "gles30"
SAVED = "to make a profile of the installed GL or WebGPU: shadergen doctor --save FILE.json"
WGSL_FETCHES = ("texel", "sample")
PROFILE_SUFFIX = ".json"  # of files: other names are of profiles above


def device(name: str) -> Device:
    """Return a profile, by name or from a file that ``shadergen doctor --save`` wrote.

    Raises:
        ShadergenError: SG0301 for an unknown name or a file that is no profile.
    """
    if name in DEVICES:
        return DEVICES[name]
    if name.endswith(PROFILE_SUFFIX):
        return _read(Path(name))
    of_gpu = named_profile(name)
    raise ShadergenError(
        "SG0301",
        f"no device profile is called '{name}'",
        supported=f"{', '.join(DEVICES)}, or a {PROFILE_SUFFIX} file",
        help=f"for this GPU: --device {of_gpu}" if of_gpu else did_you_mean(name, DEVICES),
    )


def _read(path: Path) -> Device:
    names = {f.name for f in fields(Limits)}
    try:
        found = json.loads(path.read_text("utf-8"))
        numbers = {name: int(found["limits"][name]) for name in sorted(names)}
        wgsl, fetch = found.get("wgsl"), found["fetch"]
        glsl = 300 if wgsl else int(found["glsl"])
        renderer = str(found.get("renderer", ""))
        if wgsl is not None:
            _one_of("wgsl", wgsl, get_args(Wgsl))
        _one_of("glsl", glsl, get_args(GlslVersion))
        _one_of("fetch", fetch, WGSL_FETCHES if wgsl else get_args(Fetch))
    except OSError as error:
        raise ShadergenError(
            "SG0301", f"cannot read the device profile '{path}'", why=reason(error), help=SAVED
        ) from None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ShadergenError(
            "SG0301",
            f"'{path}' is not a device profile",
            why=_wrong(error),
            help=SAVED,
        ) from None
    least = {"texture_size": 1, "draw_buffers": 1}
    wrong = [f"{name} is {n}" for name, n in numbers.items() if n < least.get(name, 0)]
    if wrong:
        raise ShadergenError(
            "SG0301",
            f"'{path}' has impossible limits",
            why=", ".join(wrong),
            supported="texture_size and draw_buffers of 1 or more, other limits of 0 or more",
            help=SAVED,
        )
    known = named_profile(renderer)
    like = DEVICES[known] if known else DEVICES["webgpu"] if wgsl else Device(ES30)
    return replace(
        like,
        limits=Limits(**numbers),
        glsl=glsl,  # type: ignore[arg-type]
        fetch=fetch,
        renderer=renderer,
        family=(),
        others=(),
        webgl=False,
        wgsl=wgsl,
    )


def _one_of(name: str, value: Any, values: Collection[Any]) -> None:
    if value not in values:
        raise ValueError(f"{name} is {value!r}, must be one of {', '.join(map(str, values))}")


def _wrong(error: Exception) -> str:
    """Explain an error in a profile in the file's terms, not Python's."""
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    if isinstance(error, (json.JSONDecodeError, RecursionError, UnicodeDecodeError)):
        return "it is not JSON"
    if isinstance(error, TypeError):
        return "a profile is a JSON object with fetch, limits, and either glsl or wgsl"
    return reason(error)


def family_of(profile: str) -> str:
    """Return the family of GPUs of a profile, or nothing.

    Raises:
        ShadergenError: as :func:`device`.
    """
    known = device(profile)
    if known.wgsl:
        return ""
    family = profile if profile in FAMILIES else named_profile(known.renderer)
    return family if family in FAMILIES else ""


def named_profile(renderer: str) -> str:
    """Return the name of the profile of a renderer or its family, or nothing."""
    return next((name for name, d in DEVICES.items() if d.recognises(renderer)), "")
