"""Families of GPUs: what kernels cost on them, and the limits that a build for them relies on.

Cycles are those of one lane of an arithmetic unit. They are fitted to instruction counts of the
family's compiler for candidates of networks' layers (bench/gpus). Mali's compilers count the
instructions of each unit. Other arithmetic costs as much as a multiply-add. Three things are
estimates from published rates of the named GPU: cycles per nanosecond, memory traffic, the start
of a pass. ``code`` is the time that the compilers took, spread over ten thousand frames.

Limits of Adreno, Intel and NVIDIA are the least of those that Mesa's drivers report and those of
practically every device of the class; where no driver was at hand, the class's alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...passes.placement.target import Costs, unit
from .profile import ES30, ES32, MOBILE, Device

TEXEL_BYTES, HALF_BYTES = 16, 8  # of four numbers


@dataclass(frozen=True)
class _Gpu:
    """A device that stands for its family.

    Attributes:
        lanes: multiply-adds of 32 bits that it starts in a cycle.
        gigahertz: cycles in a nanosecond.
        gigabytes: what memory gives in a second.
        gpu_pass: nanoseconds to start a pass, an estimate.
    """

    lanes: int
    gigahertz: float
    gigabytes: float
    gpu_pass: float

    def costs(
        self,
        cycles: dict[str, float],
        *beside: dict[str, float],
        code: float,
        registers: int = 0,
        literals: int = 0,
    ) -> Costs:
        """Return costs in nanoseconds of cycles of the arithmetic unit and of those beside it.

        Memory is one more unit: it moves what a pass reads for the first time and what it writes.
        """
        rate = self.lanes * self.gigahertz
        whole, half = TEXEL_BYTES / self.gigabytes, HALF_BYTES / self.gigabytes
        traffic = unit(load=whole, stream=whole, store=whole, store_half=half,
                       image_store=whole, image_store_half=half)  # fmt: skip
        units = [unit(**{name: n / rate for name, n in _in_half(one).items()}) for one in beside]
        arithmetic = unit(**{name: n / rate for name, n in _in_half(cycles).items()})
        return replace(
            arithmetic,
            gpu_pass=self.gpu_pass,
            code=code,
            operation=1.0,
            instruction_miss=arithmetic.multiply,
            registers=registers,
            literals=literals,
            beside=(*units, traffic),
        )


def _in_half(cycles: dict[str, float]) -> dict[str, float]:
    """Return cycles with those of 16-bit programs, which are the same unless stated."""
    alike = {f"{n}_half": cycles[n] for n in ("multiply", "literal") if n in cycles}
    return alike | cycles


# Mali-G72 MP12 of a Kirin 970. Registers: 64, of which addresses take some.
_BIFROST = _Gpu(144, 0.85, 29.8, 20000.0).costs(
    {"multiply": 4.0, "multiply_half": 2.0, "texel": 4.0, "sample": 4.0, "compute_texel": 6.0,
     "fragment": 30.0, "invocation": 300.0, "ubo": 3.6, "ssbo": 5.0, "literal": 0.7,
     "literal_half": 0.3},
    {"texel": 12.0, "sample": 12.0, "compute_texel": 13.0},
    {"ubo": 13.0, "ssbo": 13.0, "image_store": 12.0, "image_store_half": 12.0},
    code=10.0,
    registers=72,
)  # fmt: skip

# Mali-G610 MP4 of an RK3588.
_VALHALL = _Gpu(256, 1.0, 34.0, 20000.0).costs(
    {"multiply": 4.0, "multiply_half": 2.0},
    {"compute_texel": 9.3, "texel": 5.9, "ubo": 4.2, "literal": 5.1,
     "literal_half": 2.3},
    {"texel": 16.0, "sample": 16.0, "compute_texel": 17.4},
    {"ubo": 70.0, "ssbo": 70.0, "image_store": 109.0, "image_store_half": 109.0},
    code=10.0,
    registers=72,
)  # fmt: skip

# Adreno 630 of a Snapdragon 845.
_ADRENO_6XX = _Gpu(256, 0.71, 29.9, 20000.0).costs(
    {"multiply": 4.0, "multiply_half": 3.9, "texel": 4.2, "sample": 4.2, "compute_texel": 10.5,
     "invocation": 490.0, "ubo": 1.2, "ssbo": 40.0, "literal": 3.0, "literal_half": 2.4},
    code=50.0,
    registers=112,
)  # fmt: skip

# Adreno 740 of a Snapdragon 8 Gen 2.
_ADRENO_7XX = _Gpu(768, 0.68, 67.0, 20000.0).costs(
    {"multiply": 4.2, "multiply_half": 3.9, "texel": 4.2, "sample": 4.2, "compute_texel": 10.5,
     "invocation": 370.0, "ubo": 1.2, "ssbo": 40.0, "literal": 1.0, "literal_half": 1.7},
    code=50.0,
    registers=136,
)  # fmt: skip

# Radeon RX 6800.
_RDNA = _Gpu(3840, 2.1, 512.0, 5000.0).costs(
    {"multiply": 4.0, "texel": 1.5, "sample": 1.5, "compute_texel": 2.1,
     "invocation": 157.0, "ubo": 0.3, "ssbo": 0.4},
    code=5.0,
)  # fmt: skip

# GeForce RTX 2080. The compiler does not say which loops it unrolls, so that most kernels that loop
# cannot be counted: their costs are those of a few.
_NVIDIA = _Gpu(2944, 1.71, 448.0, 5000.0).costs(
    {"multiply": 4.1, "texel": 5.0, "sample": 5.0, "compute_texel": 14.0,
     "fragment": 100.0, "invocation": 1500.0, "ubo": 5.0, "ssbo": 5.0, "literal": 0.3},
    code=50.0,
    registers=184,
)  # fmt: skip

# Iris Xe of 96 units. Literals become registers.
_INTEL = _Gpu(768, 1.3, 68.0, 5000.0).costs(
    {"multiply": 4.0, "texel": 10.0, "sample": 10.0, "compute_texel": 13.0, "fragment": 170.0,
     "invocation": 370.0, "ubo": 10.0, "ssbo": 10.0, "literal": 4.0},
    code=150.0,
    registers=92,
    literals=120,
)  # fmt: skip

# VideoCore VI of a Raspberry Pi 4.
_VIDEOCORE = _Gpu(32, 0.5, 4.0, 50000.0).costs(
    {"multiply": 4.0, "texel": 17.0, "sample": 17.0, "compute_texel": 28.0, "fragment": 70.0,
     "invocation": 1100.0, "ubo": 15.0, "ssbo": 15.0, "literal": 2.0},
    code=30.0,
    registers=58,
)  # fmt: skip

# Apple M1. No compiler was at hand: registers, rates and the cost of texels follow
# https://dougallj.github.io/applegpu/docs.html and Apple's published rates.
_APPLE = _Gpu(1024, 1.28, 68.0, 10000.0).costs(
    {"multiply": 4.0, "texel": 6.0, "sample": 4.0, "compute_texel": 8.0,
     "fragment": 50.0, "invocation": 100.0, "ubo": 1.0, "ssbo": 4.0, "literal": 0.5},
    {"texel": 16.0, "sample": 16.0, "compute_texel": 16.0},
    code=50.0,
    registers=120,
)  # fmt: skip

FAMILIES: dict[str, Device] = {
    "mali-bifrost": Device(
        MOBILE,
        310,
        costs=_BIFROST,
        gpu="Mali-G72 MP12",
        family=r"Mali[- ]G(31|51|52|71|72|76)\b(?!.*or similar)",
    ),
    "mali-valhall": Device(
        MOBILE,
        310,
        costs=_VALHALL,
        gpu="Mali-G610 MP4",
        family=r"Mali[- ]G(57|68|77|78(AE)?|[35679]\d\d(v\d)?|1-\w+)\b|Immortalis",
    ),
    "adreno-6xx": Device(
        MOBILE,
        310,
        costs=_ADRENO_6XX,
        gpu="Adreno 630",
        family=r"(Adreno ?(\(TM\))? ?(6\d\d|702|\dcx?\+? Gen \d)|\bFD(6\d\d|702)\b)"
        r"(?!.*or similar)",
    ),
    "adreno-7xx": Device(
        MOBILE,
        310,
        costs=_ADRENO_7XX,
        gpu="Adreno 740",
        family=r"(Adreno ?(\(TM\))? ?(7(?!02)\d\d|X1-\d|A32)|\bFD(7(?!02)\d\d|A32)\b)"
        r"(?!.*or similar)",
    ),
    "amd-rdna": Device(
        ES32,
        310,
        costs=_RDNA,
        gpu="Radeon RX 6800",
        family=r"Radeon( ?\(TM\)|T)? +(RX [5-9]\d{3}|(?i:Pro) (W[5-7]|5)\d00"
        r"|[678][1-9]0M\b|80\d0S\b)"
        r"|AMD Custom GPU 0|(?i:navi[1-4]\d|gfx1[0-2]\d\d|vangogh|rembrandt|raphael|phoenix"
        r"|strix(1|_halo)|krackan|sienna_|navy_|dimgrey_|beige_|yellow_carp)"
        r"|AMD.*\(0x0000(73[1-9A-F]|74[2-8]|75[59]|1114|13C0|1435|1506|150E|1586|15BF|15C8|163F"
        r"|164[DE]|1681|190[0-2])",
    ),
    "nvidia": Device(
        ES32,
        310,
        costs=_NVIDIA,
        gpu="GeForce RTX 2080",
        family=r"NVIDIA|GeForce|Quadro|/PCIe/SSE2|\bNV(1[0-9A-F]|[5-9A-E])[0-9A-F]\b",
    ),
    "intel-gen12": Device(
        ES32,
        310,
        costs=_INTEL,
        gpu="Iris Xe (96 units)",
        family=r"Intel.*(\bXe\b|\b(?i:Arc)\b|UHD Graphics 7\d0|Data Center GPU Flex"
        r"|\((TGL|RKL|ADL|RPL|DG1|SG1|DG2|ATS-M|MTL|ARL|LNL|BMG|PTL)\b"
        r"|\(0x0000(9A|4C[89]|46[2-9A-D]|A7[28A]|490|56[9A-C]|7D[4-6D]|64[2AB]|E2[01]|B0[89A-B]))",
    ),
    "videocore-6": Device(
        MOBILE,
        310,
        costs=_VIDEOCORE,
        gpu="VideoCore VI (Raspberry Pi 4)",
        family=r"\bV3D 4\.\d",
    ),
    "apple": Device(
        replace(ES30, texture_size=4096),
        fetch="sample",
        costs=_APPLE,
        gpu="Apple M1",
        family=r"\bApple (GPU|[AM]\d|Paravirtual)",
    ),
}
"""Each with what names of its GPUs hold; where a browser gives many families one name, none."""

FITTED = tuple(family.costs for name, family in FAMILIES.items() if name != "apple")
DESKTOP = tuple(FAMILIES[name].costs for name in ("amd-rdna", "nvidia", "intel-gen12"))
