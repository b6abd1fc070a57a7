"""Families of GPUs: what kernels cost on them, and the limits that a build for them relies on.

Cycles are those of one lane of an arithmetic unit. They are fitted to instruction counts of the
family's compiler for candidates of networks' layers (bench/gpus). Mali's compilers count the
instructions of each unit. Cycles per nanosecond and memory traffic follow from published rates of
the named GPU (:mod:`.gpus`); the start of a pass is an estimate. ``code`` is the time that the
compilers took, spread over ten thousand frames.

Limits of Adreno, Intel and NVIDIA are the least of those that Mesa's drivers report and those of
practically every device of the class; where no driver was at hand, the class's alone.
"""

from __future__ import annotations

from typing import Any

from ...passes.placement.costs import Costs, Unit
from ...records import replace
from .gpus import GPUS
from .profile import ES30, ES32, MOBILE, Device

TEXEL_BYTES, HALF_BYTES = 16, 8  # of four numbers


def _costs(
    gpu: str,
    *units: dict[str, float],
    gpu_pass: float,
    code: float,
    **limits: Any,
) -> tuple[Costs]:
    """Return costs in nanoseconds, of cycles of a lane; the first unit is arithmetic.

    Memory is one more unit: it moves what a pass reads for the first time and what it writes.

    Args:
        gpu: that stands for its family.
        units: cycles of vectors of four numbers.
        gpu_pass: nanoseconds to start a pass, an estimate.
        code: as in :class:`~...passes.placement.costs.Costs`.
        limits: likewise, such as ``registers``.
    """
    rates = GPUS[gpu]
    rate = rates.lanes * rates.gigahertz
    whole, half = (n / rates.tensor_gigabytes for n in (TEXEL_BYTES, HALF_BYTES))
    memory = Unit(load=whole, stream=whole, store=whole, store_half=half,
                  image_store=whole, image_store_half=half)  # fmt: skip
    priced = (Unit(**{n: c / rate for n, c in _completed(unit).items()}) for unit in units)
    return (Costs((*priced, memory), gpu_pass, code, **limits),)


def _completed(cycles: dict[str, float]) -> dict[str, float]:
    """Return cycles with those of 16-bit and of unrolled programs, the same unless stated."""
    alike = {f"{n}_half": cycles[n] for n in ("multiply", "literal") if n in cycles}
    if "invocation" in cycles:
        alike["unrolled_invocation"] = cycles["invocation"]
    return alike | cycles


# Mali-G72 MP12 of a Kirin 970. Registers: 64, of which addresses take some.
_BIFROST = _costs(
    "Mali-G72 MP12",
    {"multiply": 4.0, "multiply_half": 2.0, "operation": 1.1, "texel": 2.0, "sample": 0.5,
     "compute_texel": 3.6, "fragment": 5.0, "invocation": 260.0, "ubo": 2.0, "ssbo": 5.2,
     "literal": 0.2, "literal_half": 0.1},
    {"texel": 12.0, "sample": 12.0, "compute_texel": 12.0},
    {"ubo": 12.0, "ssbo": 12.0, "image_store": 24.0, "image_store_half": 24.0},
    gpu_pass=20000.0,
    code=10.0,
    registers=67,
    dispatch_registers=60,
)  # fmt: skip

# Mali-G610 MP4 of an RK3588.
_VALHALL = _costs(
    "Mali-G610 MP4",
    {"multiply": 4.0, "multiply_half": 2.0, "sample": 1.2},
    {"operation": 1.5, "texel": 4.3, "sample": 2.4, "compute_texel": 5.6, "fragment": 25.0,
     "invocation": 350.0, "ubo": 2.0, "ssbo": 2.2, "literal": 4.2, "literal_half": 2.0},
    {"texel": 1.3, "compute_texel": 2.2, "fragment": 26.0, "invocation": 315.0},
    {"texel": 16.0, "sample": 16.0, "compute_texel": 16.0},
    {"ubo": 64.0, "ssbo": 64.0, "image_store": 128.0, "image_store_half": 128.0},
    gpu_pass=20000.0,
    code=10.0,
    registers=67,
    dispatch_registers=51,
)  # fmt: skip

# Vectors, of 512 that the stages of a draw share: a vertex shader takes 8, biases and sizes some.
# Where they do not fit after all, weights in a block are read, and constants of the text spill: so
# literals are priced above a block's, though they take no longer.
_ADRENO_CONSTANTS = 496
# Mesa's compiler gives dispatches 256 on Adreno 6xx: 216 weights fit, 288 take registers and spill.
_ADRENO_6XX_DISPATCHED = 240

# Adreno 630 of a Snapdragon 845.
_ADRENO_6XX = _costs(
    "Adreno 630",
    {"multiply": 4.2, "multiply_half": 2.4, "operation": 2.5, "texel": 4.8, "sample": 2.0,
     "compute_texel": 7.0, "invocation": 550.0, "ubo": 4.5, "ssbo": 40.0, "literal": 1.4},
    {"texel": 3.7, "sample": 3.2, "compute_texel": 3.9},
    gpu_pass=20000.0,
    code=50.0,
    registers=112,
    literals=_ADRENO_CONSTANTS,
    dispatch_literals=_ADRENO_6XX_DISPATCHED,
    uniforms=_ADRENO_CONSTANTS,
)  # fmt: skip

# Adreno 740 of a Snapdragon 8 Gen 2.
_ADRENO_7XX = _costs(
    "Adreno 740",
    {"multiply": 4.4, "multiply_half": 2.4, "operation": 2.5, "texel": 4.8, "sample": 2.0,
     "compute_texel": 7.5, "invocation": 500.0, "ubo": 4.2, "ssbo": 4.5, "literal": 0.9},
    {"texel": 3.7, "sample": 3.1, "compute_texel": 3.9, "ssbo": 3.9},
    gpu_pass=20000.0,
    code=50.0,
    registers=119,
    literals=_ADRENO_CONSTANTS,
    uniforms=_ADRENO_CONSTANTS,
)  # fmt: skip

# Radeon RX 6800. ``texel`` and ``sample`` are below the fitted 3.2. With 3.2, the first layer of
# ESPCN would be a dispatch, which takes more cycles than the draw.
_RDNA = _costs(
    "Radeon RX 6800",
    {"multiply": 4.0, "operation": 4.1, "texel": 2.2, "sample": 2.2, "compute_texel": 2.7,
     "invocation": 74.0, "ubo": 0.3, "ssbo": 0.4},
    gpu_pass=2000.0,
    code=5.0,
    registers=190,
)  # fmt: skip

# GeForce RTX 2080. ``code`` is an estimate: the compiler is Mesa's. Invocations are priced above
# the fit, which would be 200: with that, MobileNet's small layers take blocks that are too small.
# Those of unrolled code have blocks of one size, and are priced as fitted.
_NVIDIA = _costs(
    "GeForce RTX 2080",
    {"multiply": 4.1, "operation": 4.5, "texel": 4.7, "sample": 4.7, "compute_texel": 8.0,
     "fragment": 20.0, "invocation": 1200.0, "unrolled_invocation": 200.0, "ubo": 4.5,
     "ssbo": 9.0, "literal": 0.2},
    gpu_pass=2000.0,
    code=20.0,
    registers=165,
    literal_registers=190,
)  # fmt: skip

# Iris Xe of 96 units. Invocations, of draws too, are priced above the fit as NVIDIA's are. With 92
# scalars, blocks of 1x8 pixels do not spill, but those of three planes do, and those that find the
# columns of their input before the loops. Depthwise draws with constants read the texels of all
# planes ahead: 18 fit, 36 spill. Mesa's compiler takes 0.4 to 0.5 ms for each constant number: more
# than 450 vectors would take over a second.
_INTEL = _costs(
    "Iris Xe (96 units)",
    {"multiply": 4.1, "operation": 5.0, "texel": 5.0, "sample": 5.0, "compute_texel": 9.0,
     "fragment": 300.0, "invocation": 1000.0, "ubo": 4.0, "ssbo": 4.4, "literal": 4.4},
    gpu_pass=2000.0,
    code=150.0,
    registers=89,
    literals=450,
    dispatch_registers=72,
    depthwise_taps=27,
)  # fmt: skip

# VideoCore VI of a Raspberry Pi 4. Weights in uniform blocks come from the stream of uniforms in
# draws only; constants come from it in draws and dispatches. Mesa's driver has uniform blocks of 64
# KiB. A shader of 576 vectors of constants takes over a second to compile, one of 288 half a
# second. In user shaders, whose draws become dispatches, a limit of 560 vectors would make the cost
# model choose Winograd tiles, which spill, so their limit is 640. With weights in memory,
# dispatches of two pixels and two planes hold 41 scalars and do not spill, those of four planes
# hold 45 and do.
_VIDEOCORE = _costs(
    "VideoCore VI (Raspberry Pi 4)",
    {"multiply": 4.0, "operation": 3.7, "texel": 9.5, "sample": 2.0, "compute_texel": 14.0,
     "fragment": 20.0, "invocation": 172.0, "ubo": 7.0, "ssbo": 10.0, "literal": 0.4,
     "image_store": 183.0, "image_store_half": 183.0},
    gpu_pass=50000.0,
    code=45.0,
    registers=47,
    pairs_half=False,
    literals=560,
    dispatch_literals=640,
    streamed=384,
    taps=25,
    texture_registers=30,
    compute_registers=42,
)  # fmt: skip

# For this family alone, user shaders of half the size: each compiles in 0.2 s instead of 1 to 2 s
# and takes up to 1.08 times the cycles. The limit of registers admits no Winograd tiles. In generic
# profiles, these limits would cost other GPUs up to 1.06 times the cycles.
_VIDEOCORE_ALONE = (replace(_VIDEOCORE[0], dispatch_literals=420, dispatch_registers=32),)

# Apple M1. No compiler was at hand: registers, rates and the cost of texels follow
# https://dougallj.github.io/applegpu/docs.html and Apple's published rates.
_APPLE = _costs(
    "Apple M1",
    {"multiply": 4.0, "operation": 4.0, "texel": 6.0, "sample": 4.0, "compute_texel": 8.0,
     "fragment": 50.0, "invocation": 100.0, "ubo": 1.0, "ssbo": 4.0, "literal": 0.5},
    {"texel": 16.0, "sample": 16.0, "compute_texel": 16.0},
    gpu_pass=10000.0,
    code=50.0,
    registers=120,
)  # fmt: skip

OR_SIMILAR = "or similar"  # Firefox gives several families one name; see tests/support/renderers.py


def _ids(vendor: str, ids: str) -> tuple[str, ...]:
    """Return patterns of PCI device numbers, which ANGLE gives, by their first digits."""
    return tuple(f"{vendor}* 0x0000{start}*" for start in ids.split())


FAMILIES: dict[str, Device] = {
    "mali-bifrost": Device(
        MOBILE,
        310,
        "sample",
        costs=_BIFROST,
        gpu="Mali-G72 MP12",
        family=("mali g31", "mali g51", "mali g52", "mali g71", "mali g72", "mali g76"),
        others=(OR_SIMILAR,),
    ),
    "mali-valhall": Device(
        MOBILE,
        310,
        "sample",
        costs=_VALHALL,
        gpu="Mali-G610 MP4",
        family=(
            *("mali g57", "mali g68", "mali g77", "mali g78", "mali g78ae", "mali g1 ?*"),
            *(f"mali g{n}??{more}" for n in "35679" for more in ("", "v?")),
            "immortalis",
        ),
    ),
    "adreno-6xx": Device(
        MOBILE,
        310,
        "sample",
        costs=_ADRENO_6XX,
        gpu="Adreno 630",
        family=(
            *("adreno 6??*", "adreno 702*", "adreno ?c gen ?*", "adreno ?cx gen ?*"),
            *("fd6??", "fd702"),
        ),
        others=(OR_SIMILAR,),
    ),
    "adreno-7xx": Device(
        MOBILE,
        310,
        "sample",
        costs=_ADRENO_7XX,
        gpu="Adreno 740",
        family=("adreno 7??*", "adreno x1 ?*", "adreno a32*", "fd7??", "fda32"),
        others=(OR_SIMILAR, "adreno 702*", "fd702"),
    ),
    "amd-rdna": Device(
        ES32,
        310,
        costs=_RDNA,
        gpu="Radeon RX 6800",
        family=(
            *(f"radeon rx {n}???*" for n in "56789"),
            *("radeon pro w5?00*", "radeon pro w6?00*", "radeon pro w7?00*", "radeon pro 5?00*"),
            *("radeon* 6?0m", "radeon* 7?0m", "radeon* 8?0m", "radeon* 80?0s"),
            "amd custom gpu 0*",
            *("navi1?*", "navi2?*", "navi3?*", "navi4?*", "gfx10??*", "gfx11??*", "gfx12??*"),
            *("vangogh*", "rembrandt*", "raphael*", "phoenix*", "strix1*", "strix halo*"),
            *("krackan*", "sienna cichlid*", "navy flounder*", "dimgrey cavefish*"),
            *("beige goby*", "yellow carp*"),
            *_ids("amd", "731 732 733 734 735 736 737 738 739 73a 73b 73c 73d 73e 73f"),
            *_ids("amd", "742 743 744 745 746 747 748 755 759 1114 13c0 1435 1506 150e 1586 15bf"),
            *_ids("amd", "15c8 163f 164d 164e 1681 1900 1901 1902"),
        ),
    ),
    "nvidia": Device(
        ES32,
        310,
        costs=_NVIDIA,
        gpu="GeForce RTX 2080",
        family=(
            *("nvidia*", "geforce*", "quadro*", "pcie sse2"),
            *("nv1??", *(f"nv{n}?" for n in "56789abcde")),  # nouveau's names
        ),
    ),
    "intel-gen12": Device(
        ES32,
        310,
        costs=_INTEL,
        products="bias last",
        gpu="Iris Xe (96 units)",
        family=(
            *("intel* xe", "intel* arc", "intel* uhd graphics 7?0", "intel* gpu flex*"),
            *("intel* tgl", "intel* rkl", "intel* adl", "intel* rpl", "intel* dg1", "intel* sg1"),
            *("intel* dg2", "intel* mtl", "intel* arl", "intel* lnl", "intel* bmg", "intel* ptl"),
            "intel* ats m*",
            *_ids("intel", "9a 4c8 4c9 462 463 464 465 466 467 468 469 46a 46b 46c 46d"),
            *_ids("intel", "a72 a78 a7a 490 569 56a 56b 56c 7d4 7d5 7d6 7dd 642 64a 64b"),
            *_ids("intel", "e20 e21 b08 b09 b0a b0b"),
        ),
    ),
    "videocore-6": Device(
        replace(MOBILE, uniform_block_size=65536),
        310,
        "sample",
        costs=_VIDEOCORE_ALONE,
        gpu="VideoCore VI (Raspberry Pi 4)",
        family=("v3d 4 ?*",),
    ),
    "apple": Device(
        replace(ES30, texture_size=4096),
        fetch="sample",
        costs=_APPLE,
        gpu="Apple M1",
        family=(
            *("apple gpu", "apple paravirtual*"),
            *("apple a?", "apple a??", "apple a???", "apple m?", "apple m??"),
        ),
    ),
}
"""Families with the name patterns of their GPUs.

A name that browsers give to GPUs of many families has no pattern.
"""

FITTED = (
    *(f.costs[0] for name, f in FAMILIES.items() if name not in ("videocore-6", "apple")),
    *_VIDEOCORE,
)
DESKTOP = tuple(FAMILIES[name].costs[0] for name in ("amd-rdna", "nvidia", "intel-gen12"))
