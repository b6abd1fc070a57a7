"""Device profiles: the limits a build may count on.

The ``-min`` profiles are the minimum maxima of the OpenGL ES specifications (tables 6.30 to 6.35
of ES 3.0.6, 20.40 and following of ES 3.1 and 3.2) and of WebGL 2; the others are what practically
every device of their class offers.
"""

from __future__ import annotations

from ..errors import ShadergenError, did_you_mean
from ..ir.target import Limits

DEVICES: dict[str, Limits] = {
    "gles30": Limits(
        texture_size=4096,
        array_texture_layers=256,
        texture_units=16,
        draw_buffers=4,
        uniform_block_size=16384,
        uniform_blocks=12,
    ),
    "gles30-min": Limits(
        texture_size=2048,
        array_texture_layers=256,
        texture_units=16,
        draw_buffers=4,
        uniform_block_size=16384,
        uniform_blocks=12,
    ),
    "webgl2-min": Limits(
        texture_size=2048,
        array_texture_layers=256,
        texture_units=16,
        draw_buffers=4,
        uniform_block_size=16384,
        uniform_blocks=12,
    ),
    "gles31-min": Limits(
        texture_size=2048,
        array_texture_layers=256,
        texture_units=16,
        draw_buffers=4,
        uniform_block_size=16384,
        uniform_blocks=12,
        storage_block_size=2**27,
        storage_blocks=0,  # ES 3.1 only promises them to compute shaders
    ),
    "gles31-mobile": Limits(
        texture_size=4096,
        array_texture_layers=1024,
        texture_units=16,
        draw_buffers=4,
        uniform_block_size=16384,
        uniform_blocks=12,
        storage_block_size=2**27,
        storage_blocks=4,
    ),
    "gles32-desktop": Limits(
        texture_size=16384,
        array_texture_layers=2048,
        texture_units=16,
        draw_buffers=8,
        uniform_block_size=65536,
        uniform_blocks=12,
        storage_block_size=2**27,
        storage_blocks=8,
    ),
}
DEFAULT_DEVICE = "gles30"


def device(name: str) -> Limits:
    """Return a profile's limits.

    Raises:
        ShadergenError: SG0301 for an unknown name.
    """
    if name not in DEVICES:
        raise ShadergenError(
            "SG0301",
            f"no device profile is called '{name}'",
            supported=", ".join(DEVICES),
            help=did_you_mean(name, DEVICES),
        )
    return DEVICES[name]
