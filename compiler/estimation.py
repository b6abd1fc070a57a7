"""Estimates of a build's times on named GPUs: what limits each GPU pass, and milliseconds a frame.

    schedule (counts of each pass) -> Traffic, Work -> milliseconds of each unit -> the slowest

The units work side by side, so the slowest takes a pass's time; starting the pass comes on top.

- arithmetic: the instructions that a family's compiler makes of the pass, by the family's fitted
  costs. A cycle is a multiply-add on a lane (docs/gpus.md); the GPU's lanes and clock make
  milliseconds of cycles. Shaders of 16 bits have costs of their own, and others again if their
  16-bit types are explicit, as in WGSL and user shaders; before format 5.7 they count as 32-bit.
- textures: texels fetched, wide ones slower, at the rate of the texture units.
- memory: each texel once, as if caches held all others. Without a cache, each fetch counts.
- render targets: pixels that draws write, wide ones slower.

Nothing is known of latency, of code that exceeds an instruction cache, of what compresses render
targets, and of what clocks a device keeps once it is warm.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from ..backends.devices import DEVICES, DRAWN, device, family_of
from ..backends.devices.families import FAMILIES, FITTED
from ..backends.devices.gpus import GPUS, RENDER_TARGET_BYTES, Gpu
from ..backends.user_shader.frame import EXPLICIT
from ..errors import ShadergenError
from ..ir.types import FORMATS, LANES
from ..passes.placement.costs import with_pairs
from ..passes.placement.kernels import Work
from ..passes.predict_cost import instruction_time
from ..records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..passes.placement.costs import Costs

Unit = Literal["arithmetic", "textures", "memory", "render targets", "start"]
VECTOR_BYTES = 16  # of four floats in a block of weights
MILLI, NANO_IN_MILLI = 1e3, 1e6
WEIGHTS_FROM: dict[str, Literal["literal", "ubo", "ssbo"]] = {
    "constants": "literal",
    "ssbo": "ssbo",
}


@dataclass(frozen=True)
class Traffic:
    """Bytes that a GPU pass moves.

    Attributes:
        read: of textures and blocks, each texel and vector once: what an ideal cache leaves.
        weights: the part of these that are weights and other constants.
        fetched: of textures and blocks without a cache: every fetch.
        written: of its result.
        texels: how many texels are fetched, by their format.
        constants: vectors of blocks that are read at constant indices.
    """

    read: int
    weights: int
    fetched: int
    written: int
    texels: dict[str, int]
    constants: int = 0


@dataclass(frozen=True)
class PassEstimate:
    """A GPU pass on a GPU.

    Attributes:
        name: of the pass.
        macs: the model's multiply-adds.
        traffic: bytes.
        units: milliseconds of each unit, and of the start before they begin.
        limit: what takes longest.
        milliseconds: of the pass: the start and the slowest unit.
        milliseconds_uncached: the same if no cache held a texel or a weight.
    """

    name: str
    macs: int
    traffic: Traffic
    units: dict[Unit, float]
    limit: Unit
    milliseconds: float
    milliseconds_uncached: float


@dataclass(frozen=True)
class FrameEstimate:
    """A frame on a GPU, whose passes run one after another.

    Attributes:
        gpu: its name; ``system`` and ``family`` as :class:`~..backends.devices.gpus.Gpu` has them.
        milliseconds: of the frame, ``milliseconds_uncached`` without caches.
        limits: the share of the frame in the passes that each unit limits, the largest first.
        passes: in order.
    """

    gpu: str
    system: str
    family: str
    milliseconds: float
    milliseconds_uncached: float
    limits: dict[Unit, float]
    passes: tuple[PassEstimate, ...]


def gpus_of(profile: str) -> dict[str, Gpu]:
    """Return the GPUs of a device profile: of its family, or of all families that it stands for.

    Raises:
        ShadergenError: SG0301 for an unknown profile, and for one of a device whose rates are not
            published.
    """
    if family := family_of(profile):
        return {name: gpu for name, gpu in GPUS.items() if gpu.family == family}
    if len(many := device(profile).costs) > 1:
        # Apple's costs are not fitted, but generic builds run there, too
        every = many in (FITTED, DRAWN)
        return {n: gpu for n, gpu in GPUS.items() if every or FAMILIES[gpu.family].costs[0] in many}
    raise ShadergenError(
        "SG0301",
        f"no GPU of device profile '{profile}' has published rates",
        supported=", ".join(FAMILIES),
        help="shadergen bench BUILD measures on the installed GL",
    )


def estimate(data: Mapping[str, Any], gpus: Mapping[str, Gpu]) -> tuple[FrameEstimate, ...]:
    """Estimate a frame of a build on each of some GPUs.

    Args:
        data: the schedule, resolved for sizes (:func:`.size_texts.at_defaults`).
        gpus: by their names.

    Raises:
        ShadergenError: SG0301 for a build without counts.
    """
    if not all(map(_is_counted, data["passes"])):
        raise ShadergenError(
            "SG0301",
            "--device needs counts of operations and bytes, which this build lacks",
            why=f"this build has schedule format {data['version']}; 5.3 added the counts",
            help="compile the model again, or use shadergen inspect MODEL",
        )
    textures = {t["name"]: t for t in data["textures"]}
    buffers = {b["name"]: b for b in data["buffers"]}
    counted = [(p, _traffic(p, textures, buffers)) for p in data["passes"]]
    explicit = data.get(EXPLICIT) or data["requires"].get("wgsl") == "f16"

    def costs_of(gpu: Gpu) -> Costs:
        (costs,) = DEVICES[gpu.family].costs
        return with_pairs(costs) if explicit else costs

    return tuple(
        _frame(
            name,
            gpu,
            [_pass_estimate(p, traffic, textures, gpu, costs_of(gpu)) for p, traffic in counted],
        )
        for name, gpu in gpus.items()
    )


def _is_counted(p: Mapping[str, Any]) -> bool:
    reads, blocks = p["reads"], p["blocks"]
    counted = all("fetches" in r for r in reads) and all("loads" in b for b in blocks)
    return counted and "work" in p


def _frame(name: str, gpu: Gpu, passes: Sequence[PassEstimate]) -> FrameEstimate:
    total = sum(p.milliseconds for p in passes)
    limits: defaultdict[Unit, float] = defaultdict(float)
    for p in passes:
        limits[p.limit] += p.milliseconds / total
    return FrameEstimate(
        name,
        gpu.system,
        gpu.family,
        total,
        sum(p.milliseconds_uncached for p in passes),
        dict(sorted(limits.items(), key=lambda pair: -pair[1])),
        tuple(passes),
    )


def _traffic(
    p: Mapping[str, Any], textures: Mapping[str, Any], buffers: Mapping[str, Any]
) -> Traffic:
    invocations = p["work"]["invocations"]
    # by what is read: bytes of all fetches, and of the whole
    fetched: defaultdict[tuple[str, object], int] = defaultdict(int)
    whole: dict[tuple[str, object], int] = {}
    texels: defaultdict[str, int] = defaultdict(int)
    for r in p["reads"]:
        t = textures[r["texture"]]
        key = r["texture"], r.get("layer")
        fetches = invocations * r["fetches"]
        texels[t["format"]] += fetches
        fetched[key] += fetches * _texel(t)
        layers = 1 if "layer" in r else r["layers"][1] if "layers" in r else t["layers"]
        whole[key] = t["width"] * t["height"] * layers * _texel(t)
    constants = 0
    for b in p["blocks"]:
        key = b["buffer"], None
        whole[key] = buffers[b["buffer"]]["size"]
        fetched[key] += invocations * b["loads"] * VECTOR_BYTES
        if not b["loads"]:  # read into constant registers once
            fetched[key] += whole[key]
            constants += whole[key] // VECTOR_BYTES
    read = {key: min(size, fetched[key]) for key, size in whole.items()}
    constant = (n for (name, _), n in read.items() if _is_constant(name, textures))
    return Traffic(
        read=sum(read.values()),
        weights=sum(constant),
        fetched=sum(fetched.values()),
        written=p["bytes"]["written"],
        texels=dict(texels),
        constants=constants,
    )


def _is_constant(name: str, textures: Mapping[str, Any]) -> bool:
    """Whether a texture or a buffer holds constants, as all buffers do."""
    return name not in textures or textures[name]["data"] is not None


def _pass_estimate(
    p: Mapping[str, Any], traffic: Traffic, textures: Mapping[str, Any], gpu: Gpu, costs: Costs
) -> PassEstimate:
    invocations = p["work"]["invocations"]
    texels = sum(
        invocations * r["fetches"] * max(1.0, _texel(textures[r["texture"]]) / gpu.texel_bytes)
        for r in p["reads"]
    )
    pixels = 0.0
    if p["stage"] == "fragment":
        pixels = prod(p["viewport"]) * sum(
            max(1.0, _texel(textures[w["texture"]]) / RENDER_TARGET_BYTES) for w in p["writes"]
        )
    clock = MILLI / (gpu.gigahertz * 1e9)
    byte, tensor_byte = (MILLI / (n * 1e9) for n in (gpu.gigabytes, gpu.tensor_gigabytes))
    units: dict[Unit, float] = {
        "arithmetic": _cycles(p, traffic.constants, textures, costs) / gpu.lanes * clock,
        "textures": texels / gpu.texels * clock,
        "memory": (traffic.read + traffic.written) * tensor_byte,
        "render targets": pixels / gpu.pixels * clock,
    }
    start = costs.gpu_pass / NANO_IN_MILLI
    busy = max(units.values())
    units["start"] = start
    return PassEstimate(
        p["name"],
        p["macs"],
        traffic,
        units,
        max(units, key=lambda unit: units[unit]),
        start + busy,
        start + max(busy, (traffic.fetched + traffic.written) * byte),
    )


def _cycles(
    p: Mapping[str, Any], constants: int, textures: Mapping[str, Any], costs: Costs
) -> float:
    """Return the cycles of a pass's instructions; a multiply-add takes a lane one."""
    multiply_add = max(unit.multiply for unit in costs.units) / LANES
    return instruction_time([_work(p, constants, textures, costs)], costs) / multiply_add


def _work(p: Mapping[str, Any], constants: int, textures: Mapping[str, Any], costs: Costs) -> Work:
    """Return a pass's work, without what instructions do not depend on.

    Weights that a device reads as a stream cost what constants do. Vectors of blocks at constant
    indices cost loads only if they exceed the constant registers.
    """
    counts = p["work"]
    invocations = counts["invocations"]
    written = _texel(textures[p["writes"][0]["texture"]])
    multiplies = counts["multiplies"] / LANES
    weights_from = WEIGHTS_FROM.get(p["weights"], "ubo")
    drawn = p["stage"] == "fragment" and len(p["writes"]) == LANES
    if costs.streamed and drawn and p["weights"] == "ubo":
        weights_from = "literal"
    loads = sum(b["loads"] for b in p["blocks"]) + constants * (constants > costs.uniforms)

    def fetched(kind: str) -> int:
        return int(invocations * sum(r["fetches"] for r in p["reads"] if kind in r))

    return Work(
        stage=p["stage"],
        passes=1,
        invocations=invocations,
        texels=fetched("uniform"),
        samples=0,
        images=fetched("image"),
        loads=0,
        weights=round(invocations * (multiplies if weights_from == "literal" else loads)),
        weights_from=weights_from,
        distinct=0,
        multiplies=invocations * multiplies,
        operations=invocations * counts["operations"] / LANES,
        accumulators=0,
        alive=0,
        stores=p["bytes"]["written"] // written,
        halves=written < VECTOR_BYTES,
        mediump=counts.get("precision") == "mediump",
        targets=len(p["writes"]),
        programs=0,
        code=0,
        text=0,
    )


def _texel(texture: Mapping[str, Any]) -> int:
    return FORMATS[texture["format"]].bytes
