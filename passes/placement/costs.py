"""Costs of operations on a device, and the limits of its registers and caches.

A GPU has units that work in parallel, such as arithmetic, textures and memory. The slowest unit
decides the time of a GPU pass (:mod:`..predict_cost`). A generic build has the costs of several
devices; :func:`minimax_cost` combines the times on all of them into one number.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ...records import dataclass, replace


@dataclass(frozen=True)
class Unit:
    """The costs of operations on one unit of a GPU, in nanoseconds.

    A cost is the time that one operation takes on a fully occupied GPU; 0 if the unit takes no part
    in the operation. A vector has four numbers.

    Attributes:
        fragment: an invocation of a fragment shader.
        invocation: an invocation of a compute shader.
        unrolled_invocation: an invocation of a compute shader whose weights are constants.
        texel: a vector read by ``texelFetch`` in a fragment shader.
        sample: a vector read by ``texture`` in a fragment shader.
        compute_texel: a vector read by ``texelFetch`` in a compute shader.
        image: a vector read from an image.
        ubo: a vector read from a uniform block.
        ssbo: a vector read from a storage block.
        literal: a vector of constant weights; ``literal_half`` in 16-bit programs.
        load: a vector of a tensor, read from memory for the first time in a pass. Repeated reads
            come from a cache and do not count.
        stream: a vector of weights, read from memory for the first time in a pass.
        multiply: a multiply-add of vectors; ``multiply_half`` in 16-bit programs.
        operation: any other arithmetic operation on a vector.
        instruction_miss: added to a multiply-add, and half of it to another operation, if the
            program exceeds ``Costs.instruction_cache``.
        crowding: added to a multiply-add for each accumulator beyond ``Costs.accumulators``.
        store: a vector written to a 32-bit render target; ``store_half`` to 16 bits or fewer.
        mrt_penalty: added to a store in passes of more than four render targets.
        image_store: a vector written to a 32-bit image; ``image_store_half`` to 16 bits or fewer.
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


VIDEO = 100  # times as many pixels as the default sizes have
PRICES = tuple(field.name for field in fields(Unit))


@dataclass(frozen=True)
class Costs:
    """The costs and limits of one device.

    A kernel that exceeds ``registers``, ``literals``, ``uniforms``, ``taps`` or
    ``depthwise_taps`` is predicted to spill. Such a kernel is chosen only if all other candidates
    spill too. 0 means no limit.

    Attributes:
        units: the units that work in parallel.
        gpu_pass: nanoseconds to start a draw or a dispatch.
        code: nanoseconds to compile one vector operation, divided by the frames that repay
            compiling: 1000 on software rasterisers, 10,000 on GPUs.
        lanes: invocations that run at once; a pass of fewer invocations takes as long.
        cores: processor cores of a software rasteriser; one core computes a whole tile of the
            render target.
        tile: pixels of such a tile. A draw of at most this many pixels runs on one core; other
            draws and all dispatches run on all cores. Render targets are taken as square.
        instruction_cache: vector multiply-adds whose code fits the instruction cache.
        accumulators: vectors that an invocation can accumulate without the cost ``crowding``.
        registers: scalars that an invocation can hold in registers.
        pairs_half: whether 16-bit types of user shaders run two multiply-adds at once.
        literals: vectors of constant weights in one program that the compiler neither moves to
            registers nor takes over a second for.
        dispatch_literals: replaces ``literals`` for ``Work.dispatched``. 0: use ``literals``.
        uniforms: vectors of weights in a uniform block that fit constant registers; more are read
            from memory. 0: unknown, so kernels read uniform blocks only in loops.
        streamed: vectors of weights that a draw can read from a uniform block as a stream, in the
            order of the block. A layer with more weights is cut into slices of input planes. 0: the
            device reads no streams.
        taps: positions of a map that a program without loops may read; beyond this, the compiler
            keeps too many texels in registers at once.
        depthwise_taps: the same for depthwise convolutions with constant weights, counted for each
            plane. 0: no limit beside ``taps``.
        texture_registers: replaces ``registers`` for draws that read weights from a texture,
            because pending reads occupy registers. 0: use ``registers``.
        compute_registers: replaces ``registers`` for dispatches that read weights from memory. 0:
            use ``registers``.
        literal_registers: replaces ``registers`` for kernels with constant weights, because
            compilers schedule code without loops better. 0: use ``registers``.
        dispatch_registers: replaces ``literal_registers`` for ``Work.dispatched``. 0: use these.
    """

    units: tuple[Unit, ...]
    gpu_pass: float
    code: float = 0.0
    lanes: int = 1
    cores: int = 1
    tile: int = 0
    instruction_cache: int = 128
    accumulators: int = 16
    registers: int = 0
    pairs_half: bool = True
    literals: int = 0
    dispatch_literals: int = 0
    uniforms: int = 0
    streamed: int = 0
    taps: int = 0
    depthwise_taps: int = 0
    texture_registers: int = 0
    compute_registers: int = 0
    literal_registers: int = 0
    dispatch_registers: int = 0


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
"""Default costs for profiles without costs of their own. Only their ratios matter.

Reading costs more than multiplying, constants are free.
"""


def are_known(devices: tuple[Costs, ...]) -> bool:
    """Whether these are the costs of one device, so that predictions are times."""
    return len(devices) == 1 and devices[0] != UNMEASURED


def are_priced(devices: tuple[Costs, ...]) -> bool:
    """Whether all costs come from devices, not from the defaults :data:`UNMEASURED`."""
    return UNMEASURED not in devices


def count_memory(devices: tuple[Costs, ...]) -> bool:
    """Whether the costs of all devices include reads from memory."""
    return all(any(unit.load for unit in device.units) for device in devices)


def with_pairs(device: Costs) -> Costs:
    """Return costs for programs with explicit 16-bit types: most GPUs multiply pairs of numbers.

    Costs are fitted to OpenGL ES, where ``mediump`` leaves the choice to the compiler.
    """

    def paired(unit: Unit) -> Unit:
        pairs = min(unit.multiply_half, unit.multiply / 2)
        return replace(unit, multiply_half=pairs if device.pairs_half else unit.multiply)

    return replace(device, units=tuple(map(paired, device.units)))


def of_user_shaders(devices: tuple[Costs, ...]) -> tuple[Costs, ...]:
    """Return costs for programs with explicit 16-bit types, whose maps are 16-bit floats.

    Kernels are compared at the default sizes, which may be those of a small picture that the model
    was exported with. Videos have far more pixels. Therefore the times to start and to compile a
    pass are divided by ``VIDEO``, and each pass is assumed to fill the GPU.
    """

    def halved(unit: Unit) -> Unit:
        return replace(unit, load=unit.load / 2, store=unit.store_half)

    return tuple(
        replace(
            d,
            units=tuple(map(halved, with_pairs(d).units)),
            gpu_pass=d.gpu_pass / VIDEO,
            code=d.code / VIDEO,
            lanes=1,
        )
        for d in devices
    )


def gain_from_half(devices: tuple[Costs, ...]) -> bool:
    """Whether 16-bit arithmetic is faster than 32-bit arithmetic on any of the devices."""

    def slowest(device: Costs, name: str) -> float:
        return max(float(getattr(unit, name)) for unit in device.units)

    return any(slowest(d, "multiply_half") < slowest(d, "multiply") for d in devices)


def cost_text(devices: tuple[Costs, ...], cost: float, measured: bool = False) -> str:
    """Format a cost given in nanoseconds: as milliseconds, or as a relative cost.

    Predictions are times only if the device's costs were measured.
    """
    number = f"{cost / 1e6:.3g}"
    return f"{number} ms" if measured or are_known(devices) else f"relative cost {number}"


def geometric_mean(values: np.ndarray) -> float:
    """Return the geometric mean of positive numbers."""
    return float(np.exp(np.log(values).mean()))


def minimax_cost(times: np.ndarray, best: np.ndarray, mean: float | None = None) -> float:
    """Return one cost for a candidate's times on several devices.

    The cost is max(times / best) * geometric_mean(best): the worst slowdown relative to the best
    candidate of each device, scaled so that costs of different nodes can be added up. With one
    device, the cost is the time.

    Args:
        times: nanoseconds of the candidate on each device.
        best: nanoseconds of the fastest candidate on each device.
        mean: the geometric mean of ``best``, if the caller has it.
    """
    if len(times) == 1:
        return float(times[0])
    return float((times / best).max()) * (geometric_mean(best) if mean is None else mean)
