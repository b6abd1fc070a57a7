"""The target of a build: the device's limits and the user's options."""

from __future__ import annotations

from typing import Literal

from ...ir.graph import Precision, Stage, WeightStorage
from ...records import dataclass
from .costs import UNMEASURED, Costs

GlslVersion = Literal[300, 310, 320]
Wgsl = Literal["core", "f16"]
Fetch = Literal["texel", "sample", "image", "image-zero"]
Products = Literal["matrix", "vector", "column", "bias last"]
WeightFormat = Literal["float32", "float16", "int8"]
TILES_OF = {"2x2": 2, "4x4": 4}  # pixels of Winograd's tiles along an axis, by the option's name
TOLERANCES = {"highp": 1e-4, "mediump": 1e-2, "auto": 1e-2}
"""For each precision, the largest error of an output, relative to max(1, its largest magnitude)."""
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
class Target:
    """The inputs of the passes besides the graph.

    Attributes:
        limits: of the device.
        glsl: the version of GLSL ES, 300, 310 or 320.
        precision: "highp" computes and stores 32-bit floats, "mediump" 16-bit ones; "auto" uses
            16 bits if no input within ``input_range`` can overflow them.
        textures: one array texture for a tensor, or one 2D texture for each plane, or, "stacked",
            one 2D texture for all planes, where a draw can write them; "auto" uses 2D for inputs
            and outputs of one plane, and stacks planes where that is faster.
        weights: where convolution weights live; "auto" chooses for each layer.
        prefers_constants: whether "auto" makes all weights constants that the budget for unrolled
            code has room for, whatever the predicted times.
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
        uniform_sizes: the uniforms from which programs of draws read sizes, as those of dispatches
            read all; None is all. ``backends.kernels.sharing`` sets it for each node.
        shares_programs: whether draws that differ in sizes alone share a program.
        stores_halos: whether textures of results may hold padding around the map.
        dispatches_draws: whether draws of several render targets become dispatches. These targets
            may also be the pixels of a shuffled map of one plane, or of a block.
        costs: of each device that kernels are chosen for. With several devices, the choice has the
            smallest worst-case slowdown (``placement.costs.minimax_cost``).
        products: how 32-bit products of weights are added up. "matrix": a matrix is multiplied by a
            vector first. The others add each product to its sum by itself, which takes one
            instruction where multiply-adds are fused: "vector" sum by sum, "column" column of
            weights by column, which are then held one at a time; "bias last" the same, where a bias
            that is a constant begins the sum of the last texel of unrolled code.
        wgsl: shaders are WGSL instead of GLSL ES, for WebGPU: its core, or "f16" with the feature
            shader-f16, which mediump programs then compute with.
    """

    limits: Limits
    glsl: GlslVersion = 300
    precision: Precision | Literal["auto"] = "highp"
    textures: Literal["auto", "2d", "array", "stacked"] = "auto"
    weights: Literal["auto"] | WeightStorage = "auto"
    prefers_constants: bool = False
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
    shares_programs: bool = True
    stores_halos: bool = False
    dispatches_draws: bool = False
    input_range: tuple[float, float] = (-256.0, 256.0)
    costs: tuple[Costs, ...] = (UNMEASURED,)
    products: Products = "column"
    wgsl: Wgsl | None = None

    @property
    def has_images(self) -> bool:
        """Whether the runtime's own textures are read as images, within the limits."""
        return self.fetch.startswith("image")

    @property
    def samples(self) -> bool:
        """Whether fragment shaders sample textures that are not bound as images."""
        return self.fetch != "texel"

    @property
    def language(self) -> str:
        """The name of the shading language, with its version."""
        return "WGSL" if self.wgsl else f"GLSL ES {self.glsl}"

    @property
    def has_storage(self) -> bool:
        """Whether the shading language has compute shaders and storage blocks."""
        return self.wgsl is not None or self.glsl >= 310

    @property
    def computes(self) -> bool:
        """Whether the device and the options permit the compute stage."""
        return self.stage != "fragment" and not self.lacks_compute

    @property
    def lacks_compute(self) -> str:
        """The reason for having no compute shaders, or nothing."""
        if not self.has_storage:
            return f"{self.language} has no compute shaders"
        most = self.limits.workgroup_invocations
        if not most:
            return "the device profile has no compute shaders"
        if most < WORKGROUP:
            return f"the device allows {most} invocations in a workgroup, {WORKGROUP} are needed"
        if not self.limits.compute_images:
            return "the device profile has no image units for compute shaders"
        return ""
