"""Software rasterisers, with costs that were measured on them."""

from __future__ import annotations

from ...passes.placement.costs import Costs, Unit
from ...records import replace
from .profile import ES30, ES32, WEBGPU, Device

# Of two cores, fitted to 972 ways to run 93 layers of five networks: predicted and measured times
# have rank correlations of 0.95 to 0.97 in each network. ``stream`` was chosen by frames of
# ResNet-18 and SqueezeNet; what it takes to start a pass, while threads wait for each other, is an
# estimate. An operation is half a multiply-add, as none are fused.
_LLVMPIPE = Costs(
    (
        Unit(
            invocation=2.5,
            texel=1.1,
            sample=0.65,
            compute_texel=3.2,
            image=0.55,
            ubo=1.3,
            ssbo=9.0,
            stream=0.4,
            multiply=0.11,
            multiply_half=0.11,
            operation=0.055,
            instruction_miss=0.05,
            crowding=0.0045,
            store=2.5,
            store_half=1.4,
            mrt_penalty=0.8,
            image_store=6.0,
            image_store_half=3.0,
        ),
    ),
    gpu_pass=50000.0,
    code=1200.0,
    lanes=64,
    cores=2,
    tile=64 * 64,
)

# Through ANGLE in Chromium, on two cores, measured by hand on convolutions of 3x3 and 5x5.
_SWIFTSHADER = Costs(
    (
        Unit(
            fragment=4.8,
            texel=3.0,
            sample=2.1,
            ubo=6.8,
            multiply=0.25,
            multiply_half=0.25,
            operation=0.125,
            instruction_miss=0.25,
            store=2.4,
            store_half=2.4,
        ),
    ),
    gpu_pass=50000.0,
    code=250.0,
    lanes=8,
    instruction_cache=200,
)

SOFTWARE = {
    "swiftshader": Device(
        replace(
            ES30,
            texture_size=8192,
            array_texture_layers=2048,
            texture_units=32,
            draw_buffers=6,
            uniform_block_size=65536,
            uniform_blocks=14,
        ),
        fetch="sample",
        costs=(_SWIFTSHADER,),
        renderer="ANGLE (Google, Vulkan 1.3.0 (SwiftShader",
        webgl=True,
        products="matrix",  # others are 6 to 20 % slower, see docs/decisions.md
        shares_programs=False,  # frames of ResNet-18 take 1.07 times as long with shared programs
    ),
    "swiftshader-webgpu": Device(
        replace(WEBGPU, draw_buffers=6, storage_blocks=0, workgroup_invocations=0),
        fetch="sample",
        costs=(_SWIFTSHADER,),
        products="matrix",
        shares_programs=False,
        wgsl="core",
    ),
    "llvmpipe": Device(
        replace(ES32, storage_blocks=16, compute_images=16),
        310,
        "image-zero",
        (_LLVMPIPE,),
        "llvmpipe",
        products="vector",  # by columns MobileNet v2 is 10 % slower
        shares_programs=False,
    ),
}
