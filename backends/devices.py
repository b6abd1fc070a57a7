"""Device profiles: limits that a build may rely on, and costs of operations.

- ``-min`` profiles: the minimum maxima of the OpenGL ES specifications (tables 6.30 to 6.35 of ES
  3.0.6, 20.40 and following of ES 3.1 and 3.2) and of WebGL 2.
- ``llvmpipe``: Mesa's software rasteriser, with measured costs.
- ``swiftshader``: Chromium's software rasteriser. Versions differ in draw buffers: 6 in 150, 8 in
  156.
- The other profiles: limits of practically every device of their class.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import get_args

from ..errors import ShadergenError, did_you_mean, reason
from ..passes.placement.target import UNMEASURED, Costs, Fetch, GlslVersion, Limits


@dataclass(frozen=True)
class Device:
    """A profile.

    Attributes:
        limits: of its GL.
        glsl: the newest GLSL ES that builds for it use.
        fetch: how it reads textures of the runtime's own faster.
        costs: what things take on it.
        renderer: how the name begins that its GL gives itself; empty where many are meant.
        webgl: whether its GL is WebGL 2, which has GLSL ES 300 alone, and no external textures.
    """

    limits: Limits
    glsl: GlslVersion = 300
    fetch: Fetch = "texel"
    costs: Costs = UNMEASURED
    renderer: str = ""
    webgl: bool = False


_ES30 = Limits(
    texture_size=2048,
    array_texture_layers=256,
    texture_units=16,
    draw_buffers=4,
    uniform_block_size=16384,
    uniform_blocks=12,
)
# ES 3.1 promises storage blocks and images to compute shaders only.
_ES31 = replace(
    _ES30,
    storage_block_size=2**27,
    compute_images=4,
    compute_texture_units=16,
    compute_uniform_blocks=12,
    workgroup_invocations=128,
    workgroup_count=65535,
)

_ES32 = replace(
    _ES31,
    texture_size=16384,
    array_texture_layers=2048,
    draw_buffers=8,
    uniform_block_size=65536,
    storage_blocks=8,
    fragment_images=8,
    compute_images=8,
    workgroup_invocations=1024,
)

# Of two cores, fitted to 530 ways to run 45 layers of seven networks, which they predict within a
# quarter (root mean square). Storage blocks were measured apart; ``stream`` was chosen by frames of
# ResNet-18 and SqueezeNet; what it takes to start a pass, while threads wait for each other, is an
# estimate. An operation is half a multiply-add, as none are fused. Operations at borders were
# taken off ``texel``, ``sample`` and ``code``, which had been fitted with them.
_LLVMPIPE = Costs(
    gpu_pass=50000.0,
    code=1200.0,
    fragment=0.0,
    invocation=3.4,
    texel=1.1,
    sample=0.65,
    compute_texel=4.5,
    image=0.39,
    ubo=0.89,
    ssbo=13.0,
    stream=0.4,
    multiply=0.11,
    instruction_miss=0.16,
    operation=0.5,
    spill=0.0045,
    store=2.5,
    store_half=1.4,
    mrt_penalty=0.8,
    image_store=8.0,
    image_store_half=4.0,
    instruction_cache=128,
    accumulators=16,
    lanes=64,
)

# Through ANGLE in Chromium, on two cores, measured by hand on convolutions of 3x3 and 5x5.
_SWIFTSHADER = Costs(
    gpu_pass=50000.0,
    code=250.0,
    fragment=4.8,
    texel=3.0,
    sample=2.1,
    ubo=6.8,
    stream=0.0,
    multiply=0.25,
    instruction_miss=0.5,
    operation=0.5,
    spill=0.0,
    store=2.4,
    store_half=2.4,
    instruction_cache=200,
    lanes=8,
)

DEVICES: dict[str, Device] = {
    "gles30": Device(replace(_ES30, texture_size=4096)),
    "gles30-min": Device(_ES30),
    "webgl2-min": Device(_ES30, fetch="sample", webgl=True),
    "swiftshader": Device(
        replace(
            _ES30,
            texture_size=8192,
            array_texture_layers=2048,
            texture_units=32,
            draw_buffers=6,
            uniform_block_size=65536,
            uniform_blocks=14,
        ),
        fetch="sample",
        costs=_SWIFTSHADER,
        renderer="ANGLE (Google, Vulkan 1.3.0 (SwiftShader",
        webgl=True,
    ),
    "gles31-min": Device(_ES31, 310),
    "gles31-mobile": Device(
        replace(_ES31, texture_size=4096, array_texture_layers=1024, storage_blocks=4), 310
    ),
    "gles32-desktop": Device(_ES32, 310),
    "llvmpipe": Device(
        replace(_ES32, storage_blocks=16, compute_images=16),
        310,
        "image-zero",
        _LLVMPIPE,
        "llvmpipe",
    ),
}
DEFAULT_DEVICE = "gles30"
SAVED = "shadergen doctor --save FILE.json writes one for the GL at hand"
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
    raise ShadergenError(
        "SG0301",
        f"no device profile is called '{name}'",
        supported=f"{', '.join(DEVICES)}, or a {PROFILE_SUFFIX} file",
        help=did_you_mean(name, DEVICES),
    )


def _read(path: Path) -> Device:
    names = {f.name for f in fields(Limits)}
    try:
        found = json.loads(path.read_text("utf-8"))
        numbers = {name: int(found["limits"][name]) for name in sorted(names)}
        glsl, fetch = int(found["glsl"]), found["fetch"]
        renderer = str(found.get("renderer", ""))
        if glsl not in get_args(GlslVersion) or fetch not in get_args(Fetch):
            raise ValueError(
                f"glsl is {glsl}, fetch is {fetch!r}: glsl must be 300, 310 or 320, fetch texel, "
                "sample, image or image-zero"
            )
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
    if min(numbers.values()) < 0 or min(numbers["texture_size"], numbers["draw_buffers"]) < 1:
        raise ShadergenError("SG0301", f"'{path}' has impossible limits")
    known = named_profile(renderer)
    costs = DEVICES[known].costs if known else UNMEASURED
    return Device(Limits(**numbers), glsl, fetch, costs, renderer)  # type: ignore[arg-type]


def _wrong(error: Exception) -> str:
    """Explain an error in a profile in the file's terms, not Python's."""
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    if isinstance(error, (json.JSONDecodeError, RecursionError, UnicodeDecodeError)):
        return "it is not JSON"
    if isinstance(error, TypeError):
        return "it is not an object of glsl, fetch and limits"
    return reason(error)


def named_profile(renderer: str) -> str:
    """Return the name of the profile of a renderer alone, or nothing."""
    own = (name for name, d in DEVICES.items() if d.renderer and renderer.startswith(d.renderer))
    return next(own, "")
