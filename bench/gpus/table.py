"""The GPUs: how each one's driver is started, and how its statistics count as cycles.

Rates are per lane: one cycle is the time in which a lane of the GPU does one 32-bit multiply-add.
Sources: Mesa's shader statistics (``src/panfrost/compiler``, ``src/freedreno/ir3``,
``src/broadcom/compiler``, ``src/amd/compiler/aco_statistics.cpp``), Arm's data sheets of Mali
GPUs, and https://docs.mesa3d.org/drivers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
KEPT = PROJECT / ".build" / "gpus"  # what setup.sh installs, and what runs leave behind
ROOT = Path(os.environ.get("GPUCOMP", KEPT / "drivers"))
LIBRARIES = ROOT / "prefix" / "lib"
ICDS = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d")

CONSTANTS = 512  # vectors, that the stages of a draw share on Adreno
FULLSCREEN = 8  # of them for the vertex shader of fullscreen passes

MALI_REGISTERS = 64  # which two threads share, where both fit

Numbers = Mapping[str, float]
Units = dict[str, float]
Rates = Callable[[Numbers], Units]


@dataclass(frozen=True)
class Gpu:
    """A GPU and its compiler.

    Attributes:
        name: short, for options and tables.
        family: of GPUs with much the same compiler and rates; a device profile may have its name.
        title: as its vendor calls it.
        compiler: Mesa's name for it, and its version if setup.sh builds it.
        rates: cycles of each unit of the GPU for one invocation, by the driver's numbers. The unit
            of multiply-adds comes first.
        shim: the fake kernel to load, if the driver needs one.
        icd: the driver's name to the Vulkan loader, or nothing for OpenGL ES.
        environment: what chooses the GPU.
        own_mesa: whether the driver is the one that setup.sh builds, rather than the system's.
        draws: whether a draw follows. Drivers may compile once more for the formats in use.
        half_rate: multiply-adds of 16 bits in a cycle.
        half_rates: replaces ``rates`` for 16-bit shaders, if the driver's numbers do not show which
            instructions take less time in 16 bits.
        registers: the driver's name for the registers that a shader takes, or for what divides the
            64 registers of a Mali.
        variant: chooses, of the variants that the driver compiled, the one that runs.
        early_return: how much the driver's numbers count of what follows a return, without loops.
        tells_loops: whether the driver tells how many loops it has left.
    """

    name: str
    family: str
    title: str
    compiler: str
    rates: Rates
    shim: str = ""
    icd: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    own_mesa: bool = True
    draws: bool = True
    half_rate: int = 1
    half_rates: Rates | None = None
    registers: str = ""
    variant: Callable[[Sequence[Numbers]], Numbers] = lambda variants: variants[-1]
    early_return: float = 1.0
    tells_loops: bool = True

    def registers_of(self, numbers: Numbers) -> int | None:
        """Return the registers that a shader takes, or None where the driver does not tell."""
        if self.registers not in numbers:
            return None
        found = numbers[self.registers]
        return int(MALI_REGISTERS / found if self.registers == "threads" else found)

    @property
    def vulkan(self) -> bool:
        """Whether shaders are compiled by a Vulkan driver."""
        return bool(self.icd)

    def missing(self) -> str:
        """Return the file that its driver lacks on this machine, or nothing."""
        if self.vulkan and not icd_file(self.icd):
            return f"Mesa's Vulkan driver {self.icd}"
        needed = [LIBRARIES / f"lib{self.shim}_noop_drm_shim.so"] * bool(self.shim)
        needed += [LIBRARIES / "libEGL.so.1"] * self.own_mesa
        return next((str(path) for path in needed if not path.exists()), "")


def icd_file(driver: str) -> str:
    """Return the file by which the Vulkan loader finds a driver of Mesa, or nothing."""
    found = (path for folder in ICDS for path in Path(folder).glob(f"{driver}_icd*.json"))
    return str(next(found, ""))


def _bifrost(access: float) -> Rates:
    """Cycles of a core's 24 lanes; ``access`` is lanes for each access to memory and clock."""

    def rates(n: Numbers) -> Units:
        return {"arith": n["arith"] * 24, "tex": n["texture"] * 24, "ldst": n["ldst"] * access}

    return rates


def _valhall(n: Numbers) -> Units:
    names = {"fma": "fma", "cvt": "cvt", "sfu": "sfu", "tex": "t", "ldst": "ls"}
    return {unit: n[name] * 64 for unit, name in names.items()}  # of a core's 64 lanes


def _adreno(n: Numbers) -> Units:
    return {"issue": n["inst"], "tex": n["cat5"] * 4}  # four lanes share a texture address unit


def _adreno_half(n: Numbers) -> Units:
    """Count a multiply-add (category 3 of the driver) as half a cycle.

    Databases of GPUs list twice the rate of 32-bit arithmetic for 16 bits, from Adreno 5xx on.
    """
    return {**_adreno(n), "issue": n["inst"] - n["cat3"] / 2}


def _adreno_variant(variants: Sequence[Numbers]) -> Numbers:
    """Return the last variant if the first has too many constants beside a vertex shader's.

    ``ir3_trim_constlen`` of Mesa decides when drawing; the driver has compiled both by then.
    """
    fits = variants[0].get("constlen", 0) + FULLSCREEN <= CONSTANTS
    return variants[0 if fits else -1]


def _radeon(n: Numbers) -> Units:
    """Cycles of a lane; in shaders with loops all instructions, of which scalar ones are free.

    There the inverse throughput is a latency, with a guess of how often loops run.
    """
    if n.get("loops"):
        return {"issue": n["Instructions"]}
    return {"issue": n["Inverse Throughput"] / 2}  # a wave of 64 takes a SIMD of 32 lanes twice


def _radeon_vector(n: Numbers) -> Units:
    """Cycles of a lane; in shaders with loops vector instructions alone."""
    return {"issue": n["vector"]} if n.get("loops") else _radeon(n)


def _instructions(name: str) -> Rates:
    def rates(n: Numbers) -> Units:
        return {"issue": n[name]}

    return rates


def _intel_rates(n: Numbers) -> Units:
    """Cycles of 8 lanes in one, or 16 in two; 32 lanes take two instructions of 16."""
    return {"issue": n["inst"] * 16 / max(16, n["lanes"])}


def _mali(
    name: str, family: str, title: str, product: str, rates: Rates, registers: str = "threads"
) -> Gpu:
    settings = {"PAN_GPU_ID": product, "BIFROST_MESA_DEBUG": "shaderdb"}
    title, compiler = f"Arm {title}", "panfrost, Mesa 25.0.7"
    return Gpu(
        name,
        family,
        title,
        compiler,
        rates,
        "panfrost",
        environment=settings,
        half_rate=2,
        registers=registers,
    )


def _qualcomm(number: int, family: str) -> Gpu:
    settings = {"FD_GPU_ID": str(number), "FD_MESA_DEBUG": "shaderdb"}
    # Mesa 25.0.7 crashes in draws of programs with very many constants
    return Gpu(
        f"adreno-{number}",
        family,
        f"Qualcomm Adreno {number}",
        "ir3, Mesa 25.0.7",
        _adreno,
        "freedreno",
        environment=settings,
        draws=False,
        half_rate=2,
        half_rates=_adreno_half,
        registers="full",
        variant=_adreno_variant,
    )


def _intel(name: str, title: str) -> Gpu:
    return Gpu(
        f"intel-{name}",
        "intel-gen12",
        f"Intel {title}",
        "iris",
        _intel_rates,
        "intel",
        environment={"INTEL_STUB_GPU_PLATFORM": name},
        own_mesa=False,
        half_rate=2,
    )


GPUS = (
    _mali("mali-g72", "mali-bifrost", "Mali-G72", "6221", _bifrost(12), ""),
    _mali("mali-g52", "mali-bifrost", "Mali-G52", "7212", _bifrost(24)),
    _mali("mali-g610", "mali-valhall", "Mali-G610", "a867", _valhall),
    _qualcomm(530, "adreno-5xx"),
    _qualcomm(630, "adreno-6xx"),
    _qualcomm(740, "adreno-7xx"),
    Gpu(
        "rdna2",
        "amd-rdna",
        "AMD RDNA 2 (Navi 21)",
        "RADV/ACO",
        _radeon,
        icd="radeon",
        environment={"RADV_FORCE_FAMILY": "navi21"},
        own_mesa=False,
        half_rate=2,
        registers="VGPRs",
        early_return=0.75,
    ),
    Gpu(
        "nv-turing",
        "nvidia",
        "NVIDIA Turing (TU106)",
        "nouveau, Mesa 25.0.7",
        _instructions("inst"),
        "nouveau",
        environment={"NOUVEAU_CHIPSET": "160"},
        registers="gpr",
        tells_loops=False,
    ),
    _intel("tgl", "Tiger Lake (Gen 12)"),
    _intel("dg2", "DG2 (Gen 12.5)"),
    Gpu(
        "rpi4",
        "videocore-6",
        "Broadcom VideoCore VI",
        "v3d, Mesa 25.0.7",
        _instructions("inst-and-stalls"),
        "v3d",
        registers="max-temps",
    ),
)

VULKAN = (
    *(
        replace(gpu, name=f"{gpu.name}-vector", rates=_radeon_vector)
        for gpu in GPUS
        if gpu.icd == "radeon"
    ),
    *(
        replace(gpu, name=f"{gpu.name}-anv", compiler="ANV", icd="intel")
        for gpu in GPUS
        if gpu.shim == "intel"
    ),
)
"""GPUs whose compilers take SPIR-V."""


def chosen(names: str, gpus: Sequence[Gpu] = GPUS) -> list[Gpu]:
    """Return GPUs by their names, separated by commas; all of them for an empty text.

    Raises:
        ValueError: for an unknown name.
    """
    known = {gpu.name: gpu for gpu in gpus}
    wanted = [name for name in names.split(",") if name]
    for name in wanted:
        if name not in known:
            raise ValueError(f"GPU {name!r} is unknown; there are {', '.join(known)}")
    return [known[name] for name in wanted] or list(gpus)
