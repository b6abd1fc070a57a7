"""A driver's messages about a shader, taken apart.

Every driver words its own, for example::

    MESA_SHADER_FRAGMENT shader: 664 inst, 22.000000 arith, 12.500000 texture, 0:0 spills:fills
    FRAG shader: 651 inst, 29 nops, 0 half, 12 full, 0 stp, 0 ldp, 25 cat5, 0 loops
    FS SIMD16 shader: 1119 inst, 0 loops, 2:3 spills:fills, compacted 17904 to 14064 bytes.
    type: 4, local: 0, shared: 0, gpr: 30, inst: 719, bytes: 11504
    Fragment Shader wave64: VGPRs=32; Code size=4516; Inverse Throughput=1064;
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

Stage = Literal["fragment", "compute"]

# How messages about a stage begin: panfrost and v3d, freedreno, iris, nouveau, RADV, ANV.
BEGINNINGS: dict[Stage, tuple[str, ...]] = {
    "fragment": (
        "MESA_SHADER_FRAGMENT",
        "FRAG shader",
        "FS ",
        "type: 4,",
        "Fragment Shader",
        "SIMD",
    ),
    "compute": ("MESA_SHADER_COMPUTE", "CL shader", "CS ", "type: 5,", "Compute Shader", "compute"),
}
COUNTED = re.compile(r"([\d.]+) ([A-Za-z(][\w()-]*)")  # 664 inst
LABELLED = re.compile(r"(\w+): ([\d.]+)")  # inst: 719
ASSIGNED = re.compile(r"([A-Za-z][\w -]*)=([\d.e+]+)")  # Code size=4516
WIDTH = re.compile(r"SIMD(\d+) shader")  # lanes
SPILLS = re.compile(r"(\d+):(\d+) spills:fills")
SIZES = {"quadwords": 16, "dwords": 4, "Code size": 1, "bytes": 1}  # in bytes
INSTRUCTION = 8  # bytes, for VideoCore and ANV, which give no size


def about(messages: Iterable[str], stage: Stage) -> tuple[str, ...]:
    """Return the messages about shaders of a stage."""
    return tuple(m for m in messages if m.startswith(BEGINNINGS[stage]))


def variants(messages: Iterable[str], stage: Stage) -> list[dict[str, float]]:
    """Return the numbers of each message about a stage: of the variants that were compiled."""
    return [_numbers(message) for message in about(messages, stage)]


def _numbers(message: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for value, name in COUNTED.findall(message):
        found.setdefault(name, float(value))
    for name, value in (*LABELLED.findall(message), *ASSIGNED.findall(message)):
        found.setdefault(name.strip(), float(value))
    if width := WIDTH.search(message):
        found["lanes"] = float(width[1])
    if both := SPILLS.search(message):
        found["spills"], found["fills"] = float(both[1]), float(both[2])
    return found


def code_size(found: Mapping[str, float]) -> int:
    """Return the bytes of machine code."""
    for name, unit in SIZES.items():
        if name in found:
            return int(found[name] * unit)
    return int(found.get("inst", 0) * INSTRUCTION)


def spills(found: Mapping[str, float]) -> int:
    """Return the spills and fills, or what the driver tells in their place.

    AMD's counts registers, nouveau the bytes of memory for them.
    """
    names = ("spills", "fills", "stp", "ldp", "Spilled VGPRs", "local")
    return int(sum(found.get(name, 0) for name in names))
