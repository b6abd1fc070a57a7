"""What work costs on a device: prices of each of its units, and what it can hold.

A device is priced by units that work side by side, such as arithmetic, textures, memory: the unit
that a GPU pass keeps busy the longest takes the time. A build for many devices is compared on each.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class Unit:
    """How long things keep a unit of a busy device busy, in nanoseconds.

    Vectors are of four numbers. What a unit has nothing to do with is free.

    Attributes:
        fragment: an invocation of a fragment shader.
        invocation: an invocation of a compute shader.
        unrolled_invocation: the same where weights are constants.
        texel: a vector read from a texture by ``texelFetch``, in a fragment shader.
        sample: the same by ``texture``.
        compute_texel: a vector read by ``texelFetch`` in a compute shader.
        image: a vector read from an image.
        ubo: a vector read from a uniform block.
        ssbo: a vector read from a storage block.
        literal: a vector of weights that are constants in the text; ``literal_half`` in programs
            of 16 bits.
        load: a vector of a tensor that comes from memory, where caches hold a pass's other reads.
        stream: the first read of a vector of weights in a pass, from memory; later reads hit a
            cache.
        multiply: a multiply-add of vectors; ``multiply_half`` in programs of 16 bits.
        operation: other arithmetic of a vector.
        instruction_miss: added to arithmetic in a program that exceeds the instruction cache.
        crowding: added to a multiply-add for each accumulator beyond those that do no harm.
        store: a vector written to a render target of 32 bits, ``store_half`` of fewer.
        mrt_penalty: added to a store in passes of more than four render targets.
        image_store: a vector written to an image of 32 bits, ``image_store_half`` of fewer.
    """

    fragment: float = 0.0
    invocation: float = 0.0
    unrolled_invocation: float = 0.0
    texel: float = 0.0
    sample: float = 0.0
    compute_texel: float = 0.0
    image: float = 0.0
    ubo: float = 0.0
    ssbo: float = 0.0
    literal: float = 0.0
    literal_half: float = 0.0
    load: float = 0.0
    stream: float = 0.0
    multiply: float = 0.0
    multiply_half: float = 0.0
    operation: float = 0.0
    instruction_miss: float = 0.0
    crowding: float = 0.0
    store: float = 0.0
    store_half: float = 0.0
    mrt_penalty: float = 0.0
    image_store: float = 0.0
    image_store_half: float = 0.0


PRICES = tuple(field.name for field in fields(Unit))


@dataclass(frozen=True)
class Costs:
    """What work costs on a device.

    Attributes:
        units: that work side by side.
        gpu_pass: nanoseconds to start a draw or a dispatch.
        code: nanoseconds to compile arithmetic of four floats, spread over the first frames: a
            thousand of software rasterisers, ten thousand of GPUs.
        lanes: invocations that run at once; fewer take as long.
        instruction_cache: multiply-adds of vectors that fit in the instruction cache.
        accumulators: vectors that an invocation keeps at once without harm.
        registers: floats and ints that an invocation holds; a kernel that needs more would spill
            them to memory, and comes after all that do not. 0 is no limit.
        literals: vectors of weights that a program may have as constants; the compiler keeps more
            in registers, which it spills. 0 is no limit.
        uniforms: vectors of weights that a program may have in a uniform block; more are read from
            memory. 0: no limit is known, and code does not name weights of blocks.
        taps: places that a program without loops may read; with more, the compiler holds too many
            at once, and spills. 0 is no limit.
        texture_registers: as ``registers``, of kernels that read weights from a texture: reads
            under way hold registers, too. 0 is as ``registers``.
        literal_registers: as ``registers``, of kernels whose weights are constants: compilers
            order code without loops better. 0 is as ``registers``.
    """

    units: tuple[Unit, ...]
    gpu_pass: float
    code: float = 0.0
    lanes: int = 1
    instruction_cache: int = 128
    accumulators: int = 16
    registers: int = 0
    literals: int = 0
    uniforms: int = 0
    taps: int = 0
    texture_registers: int = 0
    literal_registers: int = 0


UNMEASURED = Costs(
    (
        Unit(
            fragment=0.1,
            invocation=0.1,
            texel=0.02,
            sample=0.02,
            compute_texel=0.02,
            image=0.02,
            ubo=0.02,
            ssbo=0.03,
            multiply=0.01,
            multiply_half=0.005,
            operation=0.01,
            crowding=0.001,
            store=0.05,
            store_half=0.03,
            image_store=0.1,
            image_store_half=0.06,
        ),
    ),
    gpu_pass=10000.0,
)
"""Default costs, not measured on a device. Only ratios matter.

Reading costs more than multiplying, constants are free.
"""


def are_known(devices: tuple[Costs, ...]) -> bool:
    """Whether costs are those of one device."""
    return len(devices) == 1 and devices[0] != UNMEASURED


def are_priced(devices: tuple[Costs, ...]) -> bool:
    """Whether costs are those of devices, one or many, not the default costs."""
    return UNMEASURED not in devices


def count_memory(devices: tuple[Costs, ...]) -> bool:
    """Whether memory has a price in the costs of all devices."""
    return all(any(unit.load for unit in device.units) for device in devices)


def gain_from_half(devices: tuple[Costs, ...]) -> bool:
    """Whether 16-bit arithmetic is faster than 32-bit arithmetic on one of some devices."""

    def takes(device: Costs, name: str) -> float:
        return max(float(getattr(unit, name)) for unit in device.units)

    return any(takes(d, "multiply_half") < takes(d, "multiply") for d in devices)


def cost_text(devices: tuple[Costs, ...], cost: float, measured: bool = False) -> str:
    """Format a cost given in nanoseconds: as milliseconds, or as a relative cost.

    Predictions are times only if the device's costs were measured.
    """
    number = f"{cost / 1e6:.3g}"
    return f"{number} ms" if measured or are_known(devices) else f"relative cost {number}"


def geometric_mean(values: np.ndarray) -> float:
    """Return the geometric mean of positive numbers."""
    return float(np.exp(np.log(values).mean()))


def fair(times: np.ndarray, best: np.ndarray, mean: float | None = None) -> float:
    """Return one number for the times on many devices.

    It is the worst ratio to the best that can be had on a device, times the geometric mean of
    these; on one device the time there.

    Args:
        times: nanoseconds on each device.
        best: the nanoseconds of the best choice on each.
        mean: their :func:`geometric_mean`, where it is known.
    """
    if len(times) == 1:
        return float(times[0])
    return float((times / best).max()) * (geometric_mean(best) if mean is None else mean)
