"""Device profiles: the limits a build may count on.

The ``-min`` profiles are the minimum maxima of the OpenGL ES specifications (tables 6.30 to 6.35
of ES 3.0.6, 20.40 and following of ES 3.1 and 3.2) and of WebGL 2; the others are what practically
every device of their class offers.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

from ..errors import ShadergenError, did_you_mean
from ..ir.target import Limits

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

DEVICES: dict[str, Limits] = {
    "gles30": replace(_ES30, texture_size=4096),
    "gles30-min": _ES30,
    "webgl2-min": _ES30,
    "gles31-min": _ES31,
    "gles31-mobile": replace(_ES31, texture_size=4096, array_texture_layers=1024, storage_blocks=4),
    "gles32-desktop": replace(
        _ES31,
        texture_size=16384,
        array_texture_layers=2048,
        draw_buffers=8,
        uniform_block_size=65536,
        storage_blocks=8,
        fragment_images=8,
        compute_images=8,
        workgroup_invocations=1024,
    ),
}
DEFAULT_DEVICE = "gles30"


def device(name: str) -> Limits:
    """Return a profile's limits, by name or from a file that ``shadergen doctor --save`` wrote.

    Raises:
        ShadergenError: SG0301 for an unknown name or a file that is no profile.
    """
    if name in DEVICES:
        return DEVICES[name]
    if name.endswith(".json"):
        return _read(Path(name))
    raise ShadergenError(
        "SG0301",
        f"no device profile is called '{name}'",
        supported=f"{', '.join(DEVICES)}, or a .json file",
        help=did_you_mean(name, DEVICES),
    )


def _read(path: Path) -> Limits:
    names = {f.name for f in fields(Limits)}
    try:
        limits = json.loads(path.read_text("utf-8"))["limits"]
        numbers = {name: int(limits[name]) for name in names}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ShadergenError(
            "SG0301",
            f"'{path}' is not a device profile",
            why=repr(error),
            help="shadergen doctor --save FILE.json writes one for the GL at hand",
        ) from None
    if min(numbers.values()) < 0 or min(numbers["texture_size"], numbers["draw_buffers"]) < 1:
        raise ShadergenError("SG0301", f"'{path}' holds limits that no device has")
    return Limits(**numbers)
