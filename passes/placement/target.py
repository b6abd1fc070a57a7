"""The target of a build: the device's limits and the user's options."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from ...ir.graph import Precision, Stage, WeightStorage

GlslVersion = Literal[300, 310, 320]
Fetch = Literal["texel", "sample", "image", "image-zero"]
WeightFormat = Literal["float32", "float16", "int8"]
TILES_OF = {"2x2": 2, "4x4": 4}  # pixels of Winograd's tiles along an axis, by the option's name
WORKGROUP = 64  # invocations; every OpenGL ES 3.1 allows 128


@dataclass(frozen=True)
class Limits:
    """GL limits of a device, of the fragment stage unless named otherwise.

    Sizes are texels or bytes. Compute limits are 0 on a device without compute shaders.
    """

    texture_size: int
    array_texture_layers: int
    texture_units: int
    draw_buffers: int
    uniform_block_size: int
    uniform_blocks: int
    storage_block_size: int = 0
    storage_blocks: int = 0
    fragment_images: int = 0
    compute_images: int = 0
    compute_texture_units: int = 0
    compute_uniform_blocks: int = 0
    workgroup_invocations: int = 0
    workgroup_count: int = 0


@dataclass(frozen=True)
class Costs:
    """Costs of operations on a busy device in nanoseconds; the defaults are no device's.

    The defaults follow what most GPUs have in common: reading costs more than multiplying,
    constants are free, many live values slow an invocation down. Only ratios matter.

    Attributes:
        gpu_pass: a draw or a dispatch.
        code: compiling arithmetic of four floats, spread over the first frames: a thousand of
            software rasterisers, ten thousand of GPUs.
        fragment: an invocation of a fragment shader.
        invocation: an invocation of a compute shader.
        texel: four numbers read from a texture by ``texelFetch``, in a fragment shader.
        sample: the same by ``texture``.
        compute_texel: four read by ``texelFetch`` in a compute shader.
        image: four read from an image.
        ubo: four read from a uniform block.
        ssbo: four read from a storage block.
        literal: four weights that are constants in the text.
        load: four of a tensor that come from memory, where caches hold the other reads of a pass.
        stream: the first read of four weights of a pass, from memory; later reads hit a cache.
        multiply: a multiply-add of four numbers.
        instruction_miss: a multiply-add in a program that exceeds ``instruction_cache``.
        operation: other arithmetic of four floats, as a share of a multiply-add.
        spill: added to a multiply-add for each accumulator beyond ``accumulators``.
        store: four numbers written to a render target of 32 bits, ``store_half`` of fewer.
        mrt_penalty: added to a store in passes of more than four render targets.
        image_store: four written to an image of 32 bits, ``image_store_half`` of fewer.
        instruction_cache: multiply-adds of four numbers that fit in the instruction cache.
        accumulators: vectors of four that an invocation keeps at once without harm.
        lanes: invocations that run at once; fewer take as long.
        registers: floats and ints that an invocation holds; a kernel that needs more would spill
            them to memory, and comes after all that do not. 0 is no limit.
        literals: vectors of four weights that a program may have as constants; the compiler keeps
            more in registers, which it spills. 0 is no limit.
        chained: shaders add each product to its sum by itself, which takes one instruction where
            multiply-adds are fused; otherwise a matrix is multiplied by a vector first.
        beside: costs of units that work at the same time as what the others are costs of: the
            slowest unit takes the time.
        devices: of a profile for many devices, their costs: what is chosen is the least bad for
            the worst of them.
    """

    gpu_pass: float = 10000.0
    code: float = 0.0
    fragment: float = 0.1
    invocation: float = 0.1
    texel: float = 0.02
    sample: float = 0.02
    compute_texel: float = 0.02
    image: float = 0.02
    ubo: float = 0.02
    ssbo: float = 0.03
    literal: float = 0.0
    load: float = 0.0
    stream: float = 0.0
    multiply: float = 0.01
    instruction_miss: float = 0.01
    operation: float = 1.0
    spill: float = 0.001
    store: float = 0.05
    store_half: float = 0.03
    mrt_penalty: float = 0.0
    image_store: float = 0.1
    image_store_half: float = 0.06
    instruction_cache: int = 128
    accumulators: int = 16
    lanes: int = 1
    registers: int = 0
    literals: int = 0
    chained: bool = True
    beside: tuple[Costs, ...] = ()
    devices: tuple[Costs, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the costs are those of one device."""
        return not self.devices and self != UNMEASURED

    def price(self, name: str) -> float:
        """Return what something costs on the unit that it keeps busy the longest."""
        return max(float(getattr(unit, name)) for unit in (self, *self.beside))


def unit(**costs: float) -> Costs:
    """Return the costs of a unit that does nothing else."""
    free = {f.name: 0.0 for f in fields(Costs) if f.type == "float"}
    return Costs(**(free | costs))  # type: ignore[arg-type]


UNMEASURED = Costs()


def cost_text(costs: Costs, cost: float, measured: bool = False) -> str:
    """Format a cost given in nanoseconds: as milliseconds, or as a relative cost.

    Predictions are times only if the device's costs were measured.
    """
    number = f"{cost / 1e6:.3g}"
    return f"{number} ms" if measured or costs.known else f"relative cost {number}"


@dataclass(frozen=True)
class Target:
    """The inputs of the passes besides the graph.

    Attributes:
        limits: of the device.
        glsl: the language version, 300, 310 or 320 (all "es").
        precision: "highp" computes and stores 32-bit floats, "mediump" 16-bit ones; "auto" uses
            16 bits if no input within ``input_range`` can overflow them.
        textures: one array texture for a tensor, or one 2D texture for each plane; "auto" uses
            2D for inputs and outputs of one plane.
        weights: where convolution weights live; "auto" chooses for each layer.
        weight_format: format of weights in textures; arithmetic is not affected.
        winograd: size of the Winograd tiles of 3x3 convolutions; "off" computes them directly,
            "auto" takes the faster way.
        fuse_separable: fuse a depthwise convolution and the 1x1 convolution after it wherever
            possible ("on"), nowhere ("off"), or where faster ("auto").
        parameters: where biases and other per-channel values live.
        stage: of kernels; "auto" uses compute where it is faster.
        fetch: how shaders read textures: "texel" by ``texelFetch``; "sample" by ``texture`` at
            texel centres, if all invocations of a draw read; "image" as images if the runtime owns
            the texture, else as "sample"; "image-zero" as "image", relying on zeros outside the
            image instead of border tests.
        planes_per_pass: output planes of a fragment pass (MRT); None takes the device's limit.
        output_encoding: how one-channel outputs are written (``ir.graph.Port``).
        input_range: range of inputs other than images; only "auto" relies on it.
        zero_guard: value that replaces exact zeros in convolutions; 0 is off.
        uniform_sizes: the names of sizes that programs of draws read from uniforms, as those of
            dispatches read all; None is all. ``backends.kernels.sharing`` sets it for each node.
        costs: of operations, to choose kernels.
    """

    limits: Limits
    glsl: GlslVersion = 300
    precision: Precision | Literal["auto"] = "highp"
    textures: Literal["auto", "2d", "array"] = "auto"
    weights: Literal["auto"] | WeightStorage = "auto"
    weight_format: WeightFormat = "float32"
    winograd: Literal["auto", "off", "2x2", "4x4"] = "auto"
    fuse_separable: Literal["auto", "off", "on"] = "auto"
    parameters: Literal["constants", "ubo"] = "constants"
    stage: Literal["auto"] | Stage = "auto"
    fetch: Fetch = "texel"
    planes_per_pass: int | None = None
    output_encoding: Literal["float", "unorm8", "y2rg", "y2rg_half"] = "float"
    zero_guard: float = 0.0
    uniform_sizes: frozenset[str] | None = frozenset()
    input_range: tuple[float, float] = (-256.0, 256.0)
    costs: Costs = UNMEASURED

    @property
    def has_images(self) -> bool:
        """Whether the runtime's own textures are read as images, within the limits."""
        return self.fetch.startswith("image")

    @property
    def samples(self) -> bool:
        """Whether fragment shaders sample textures that are not bound as images."""
        return self.fetch != "texel"

    @property
    def lacks_compute(self) -> str:
        """The reason for having no compute shaders, or nothing."""
        if self.glsl < 310:
            return f"GLSL ES {self.glsl} has no compute shaders"
        most = self.limits.workgroup_invocations
        if not most:
            return "the device profile has no compute shaders"
        if most < WORKGROUP:
            return f"the device allows {most} invocations in a workgroup, {WORKGROUP} are needed"
        if not self.limits.compute_images:
            return "the device profile has no image units for compute shaders"
        return ""
