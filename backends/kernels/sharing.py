"""Which sizes the programs of draws read from uniforms, so that layers share programs.

A draw's program has its sizes as numbers: convolutions of 32 and of 48 planes are two programs. A
driver takes tens of milliseconds for each program, so a network of hundreds of draws starts slowly.
Layers whose programs differ in sizes alone share one: what differs among them becomes a uniform,
what is the same for all stays a number, which compilers make faster code of.

This is decided for networks of more than ``FEW_PROGRAMS``. Constant weights differ in all layers,
and dispatches read all sizes from uniforms: neither is looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from ...ir.dimensions import at_layer, hint
from ..dialects.glsl_es import print_program
from .plane_groups import OWN_UNIFORMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...ir.graph import Node
    from ...passes.placement.target import Target
    from .family import Family

FEW_PROGRAMS = 16
UNROLLED = {"kernel_height": 3, "kernel_width": 3}  # largest that drivers may unroll loops over
COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)


def sizes_in_uniforms(
    found: Iterable[tuple[Node, Family]], target: Target
) -> dict[Node, frozenset[str]]:
    """Return the names of the sizes that the programs of nodes read from uniforms.

    Args:
        found: all nodes that are lowered, with their kernels' families.
        target: of the build.

    Returns:
        ``Target.uniform_sizes`` of the nodes that share programs so.
    """
    every = replace(target, uniform_sizes=None)
    users: dict[str, list[Node]] = defaultdict(list)  # of a program, by its text
    sizes: dict[str, set[tuple[tuple[str, int], ...]]] = defaultdict(set)
    for node, family in found:
        if node.choice.stage == "compute" or node.choice.weights == "constants":
            continue
        with at_layer(node.name):
            passes = {p.program: p for p in family.lower(node, every)}
        for program, gpu_pass in passes.items():
            text = COMMENT.sub("", print_program(program, target.glsl))
            own = (u for u in gpu_pass.uniforms if u.name not in OWN_UNIFORMS)
            sizes[text].add(tuple((u.name.removeprefix("u_"), hint(u.value)) for u in own))
            users[text].append(node)
    if sum(map(len, sizes.values())) <= FEW_PROGRAMS:
        return {}
    names = {text: _differing(found) for text, found in sizes.items()}
    return _for_nodes(names, users)


def _differing(sizes: set[tuple[tuple[str, int], ...]]) -> frozenset[str]:
    """Return the names of which there are several values, or one that makes drivers slow.

    Drivers unroll loops whose ends are numbers: a depthwise kernel of 7x7 then takes ten times as
    long to compile.
    """
    values = {pair for one in sizes for pair in one}
    names = [name for name, _ in values]
    slow = {name for name, value in values if value > UNROLLED.get(name, value)}
    return frozenset(name for name in names if names.count(name) > 1) | slow


def _for_nodes(
    names: dict[str, frozenset[str]], users: dict[str, list[Node]]
) -> dict[Node, frozenset[str]]:
    """Return the names for nodes: equal ones for all that share a program.

    A node may have two programs, each shared with other nodes.
    """
    found: dict[Node, frozenset[str]] = {}
    while True:
        before = dict(found)
        for text, nodes in users.items():
            together = names[text].union(*(found.get(node, frozenset()) for node in nodes))
            found |= dict.fromkeys(nodes, together)
        if found == before:
            return {node: own for node, own in found.items() if own}
