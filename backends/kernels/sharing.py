"""Which nodes share programs with others by reading sizes from uniforms.

A draw's program has its sizes as numbers: convolutions of 32 and of 48 planes are two programs. A
driver takes tens of milliseconds for each program, so a network of hundreds of draws starts slowly.
With sizes in uniforms (``Target.uniform_sizes``) such layers have one program. Only nodes of which
another then has the same program are lowered so, and only in networks of more than
``FEW_PROGRAMS``: all others keep their numbers, which compilers make faster code of.

Constant weights differ in all layers, and dispatches have uniforms already: neither is looked at.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...ir.dimensions import hint
from ..dialects.glsl_es import print_program
from .plane_groups import OWN_UNIFORMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...ir.graph import Node
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from .family import Family

FEW_PROGRAMS = 16
COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)


def shared_passes(
    found: Iterable[tuple[Node, Family]], target: Target
) -> dict[Node, tuple[GpuPass, ...]]:
    """Return the GPU passes of the nodes that share programs by uniforms, in order.

    Args:
        found: all nodes that are lowered, with their kernels' families.
        target: of the build.
    """
    uniform = replace(target, uniform_sizes=True)
    lowered: dict[Node, tuple[GpuPass, ...]] = {}
    sizes: dict[str, set[tuple[int, ...]]] = {}  # of the nodes with a program, by its text
    texts: dict[Node, set[str]] = {}
    for node, family in found:
        if node.choice.stage == "compute" or node.choice.weights == "constants":
            continue
        lowered[node] = tuple(family.lower(node, uniform))
        texts[node] = set()
        for program, gpu_pass in {p.program: p for p in lowered[node]}.items():
            text = COMMENT.sub("", print_program(program, target.glsl))
            own = tuple(hint(u.value) for u in gpu_pass.uniforms if u.name not in OWN_UNIFORMS)
            sizes.setdefault(text, set()).add(own)
            texts[node].add(text)
    if sum(map(len, sizes.values())) <= FEW_PROGRAMS:
        return {}
    return {n: p for n, p in lowered.items() if any(len(sizes[text]) > 1 for text in texts[n])}
