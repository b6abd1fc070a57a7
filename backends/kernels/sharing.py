"""Which sizes the programs of draws read from uniforms, so that layers share programs.

A draw's program has its sizes as numbers: convolutions of 32 and of 48 planes are two programs. A
driver takes tens of milliseconds for each program, so a network of hundreds of draws starts slowly.
Layers whose programs differ in sizes alone share one: what differs among them becomes a uniform,
what is the same for all stays a number, which compilers make faster code of.

This is decided for networks of more than ``FEW_PROGRAMS``, and not for software rasterisers, whose
frames take longer with sizes in uniforms (``Target.shares_programs``). Constant weights differ in
all layers, and dispatches read all sizes from uniforms: neither is looked at.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from ...ir.dimensions import at_layer, hint
from ..dialects.glsl_es import print_program, without_comments
from .plane_groups import OWN_UNIFORMS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from ...ir.graph import Node, Value
    from ...passes.placement.target import Target
    from .family import Family

FEW_PROGRAMS = 12
Sizes = tuple[tuple[str, int], ...]
UNROLLED = {"kernel_height": 3, "kernel_width": 3}  # largest that drivers may unroll loops over


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
    if not target.shares_programs:
        return {}
    users: dict[str, list[Node]] = defaultdict(list)  # of a program, by its text
    sizes: dict[str, set[Sizes]] = defaultdict(set)
    known: dict[Hashable, dict[str, Sizes]] = {}
    draws = [(n, f) for n, f in found if n.choice.stage == "fragment" and n.choice.loops]
    for node, family in draws if len(draws) > 1 else ():
        firsts = (v.type.first_layer for v in node.inputs)
        values = (*node.inputs, *node.results)
        key = node.op, node.choice, *firsts, *map(_shape, values)
        if key not in known:
            with at_layer(node.name):
                known[key] = _programs(node, family, target)
        for text, own in known[key].items():
            sizes[text].add(own)
            users[text].append(node)
    if sum(map(len, sizes.values())) <= FEW_PROGRAMS:
        return {}
    names = {text: _differing(found) for text, found in sizes.items()}
    return _for_nodes(names, users)


def _shape(value: Value) -> Hashable:
    """Return what programs depend on of an operand or a result, near enough to compare them."""
    layout = value.type.layout
    return value.shape, layout and (layout.kind, layout.format)


def _programs(node: Node, family: Family, target: Target) -> dict[str, Sizes]:
    """Return the texts of a node's programs with all sizes as uniforms, and these sizes."""
    found: dict[str, Sizes] = {}
    passes = family.lower(node, replace(target, uniform_sizes=None))
    for program, gpu_pass in {p.program: p for p in passes}.items():
        text = without_comments(print_program(program, target.glsl))
        own = (u for u in gpu_pass.uniforms if u.name not in OWN_UNIFORMS)
        found[text] = tuple((u.name.removeprefix("u_"), hint(u.value)) for u in own)
    return found


def _differing(sizes: set[Sizes]) -> frozenset[str]:
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
