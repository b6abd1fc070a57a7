"""A device profile, and the limits that the specifications promise."""

from __future__ import annotations

from ...passes.placement.costs import UNMEASURED, Costs
from ...passes.placement.target import Fetch, GlslVersion, Limits, Products, Wgsl
from ...records import dataclass, replace
from ...runtime_glue.python.renderers import matches, words

LONGEST_NAME = 255  # the schedule's patterns have at most one more character


@dataclass(frozen=True)
class Device:
    """A profile.

    Attributes:
        limits: of its GL.
        glsl: the newest GLSL ES that builds for it use.
        fetch: how it reads textures of the runtime's own faster.
        costs: what things take on it, or on each device that builds for the profile run on.
        renderer: how the name begins that its GL, or WebGPU, gives itself; empty where many are
            meant.
        family: patterns of the names that drivers, ANGLE and browsers give GPUs of a family
            (``runtime_glue.python.renderers``).
        others: patterns of names that are of other GPUs nevertheless.
        gpu: the GPU that stands for the family: its rates make nanoseconds of cycles.
        webgl: whether its GL is WebGL 2, which has GLSL ES 300 alone, and no external textures.
        products: how its shaders add up products (``Target.products``).
        shares_programs: whether draws share programs (``Target.shares_programs``).
        wgsl: what WGSL builds for it use instead of GLSL ES, on WebGPU (``Target.wgsl``).
    """

    limits: Limits
    glsl: GlslVersion = 300
    fetch: Fetch = "texel"
    costs: tuple[Costs, ...] = (UNMEASURED,)
    renderer: str = ""
    family: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    gpu: str = ""
    webgl: bool = False
    products: Products = "column"
    shares_programs: bool = True
    wgsl: Wgsl | None = None

    @property
    def renderers(self) -> tuple[str, ...]:
        """Patterns of the names of its GL's renderers; none where many devices are meant."""
        if self.wgsl:
            return ()
        own = words(self.renderer)[:LONGEST_NAME]
        return (f"{own}*",) if own else self.family

    def recognises(self, renderer: str) -> bool:
        """Whether a renderer's name is of this device, or of its family."""
        return matches(self.renderers, renderer) and not matches(self.others, renderer)


ES30 = Limits(
    texture_size=2048,
    array_texture_layers=256,
    texture_units=16,
    draw_buffers=4,
    uniform_block_size=16384,
    uniform_blocks=12,
)
# ES 3.1 promises storage blocks and images to compute shaders only.
ES31 = replace(
    ES30,
    storage_block_size=2**27,
    compute_images=4,
    compute_texture_units=16,
    compute_uniform_blocks=12,
    workgroup_invocations=128,
    workgroup_count=65535,
)

ES32 = replace(
    ES31,
    texture_size=16384,
    array_texture_layers=2048,
    draw_buffers=8,
    uniform_block_size=65536,
    storage_blocks=8,
    fragment_images=8,
    compute_images=8,
    workgroup_invocations=1024,
)
# Players have no array textures; sizes are checked when they make a texture. They take 16 textures,
# but pass a position of each to the pixel, and OpenGL promises 16 vertex attributes.
USER_SHADER = replace(
    ES30,
    texture_size=32768,
    array_texture_layers=1,
    texture_units=15,
    draw_buffers=1,
    uniform_blocks=0,
)
# Compute passes write up to four planes side by side, two by two: a pass reads four times as many.
# 16384 is the largest side of textures of many GPUs.
USER_SHADER_COMPUTE = replace(
    USER_SHADER,
    texture_size=8192,
    draw_buffers=4,
    texture_units=4 * USER_SHADER.texture_units,
)
# Split planes take twice the room.
USER_SHADER_SPLIT = replace(
    USER_SHADER_COMPUTE, draw_buffers=2, texture_units=2 * USER_SHADER.texture_units
)
# The default limits of WebGPU's specification. It has 32 bytes for all render targets of a pixel,
# enough for two of four 32-bit floats. In a stage, it has 12 uniform buffers: one is for sizes.
WEBGPU = Limits(
    texture_size=8192,
    array_texture_layers=256,
    texture_units=16,
    draw_buffers=2,
    uniform_block_size=65536,
    uniform_blocks=11,
    storage_block_size=2**27,
    storage_blocks=8,
    compute_images=4,
    compute_texture_units=16,
    compute_uniform_blocks=11,
    workgroup_invocations=256,
    workgroup_count=65535,
)
MOBILE = replace(ES31, texture_size=4096, array_texture_layers=1024, storage_blocks=4)


def user_shader_limits(stage: str, intermediates: str = "half") -> Limits:
    """Return the limits of user shaders whose passes of several planes run in a stage."""
    if stage != "compute":
        return USER_SHADER
    return USER_SHADER_SPLIT if intermediates == "split" else USER_SHADER_COMPUTE
