"""Choose the sizes that fragment programs read from uniforms, so that layers share programs.

Sizes in a fragment program are literals, so convolutions of 32 and of 48 planes are two programs.
A driver takes tens of milliseconds to compile each program, so a network of hundreds of draws
starts slowly. Layers whose programs differ only in sizes therefore share one program. Sizes that
differ between these layers become uniforms. Sizes that are equal stay literals, from which
compilers make faster code. Programs with and without inner loops (:mod:`.convolution_loops`) differ
in more than sizes and are never shared.

Two cases keep all sizes as literals. Networks of at most ``FEW_PROGRAMS`` start fast enough. Frames
of software rasterisers take longer with sizes in uniforms (``Target.shares_programs``).

Two kinds of passes take no part. Programs with constant weights differ in each layer. Dispatches
read all sizes from uniforms anyway.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ...ir.dimensions import at_layer, hint
from ...records import replace
from ..shader.structure import structural_key
from .plane_groups import OWN_UNIFORMS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from ...ir.graph import Node, Value
    from ...passes.placement.target import Target
    from .family import Family

FEW_PROGRAMS = 12
Sizes = tuple[tuple[str, int], ...]
UNROLLED = {"u_kernel_height": 2, "u_kernel_width": 2}  # larger ones become uniforms: _differing


def sizes_in_uniforms(
    found: Iterable[tuple[Node, Family]], target: Target
) -> dict[Node, frozenset[str]]:
    """Return the names of the sizes that become uniforms in each node's programs.

    Args:
        found: all nodes to lower, with their kernel families.
        target: of the build.

    Returns:
        ``Target.uniform_sizes`` by node; nodes whose sizes all stay literals are left out.
    """
    if not target.shares_programs:
        return {}
    users: dict[int, list[Node]] = defaultdict(list)  # nodes by the number of their programs' key
    sizes: dict[int, set[Sizes]] = defaultdict(set)  # these nodes' sizes, by the same number
    numbers: dict[Hashable, int] = {}  # of structural keys
    known: dict[Hashable, dict[int, Sizes]] = {}
    draws = [(n, f) for n, f in found if n.choice.stage == "fragment" and n.choice.loops]
    for node, family in draws if len(draws) > 1 else ():
        firsts = (v.type.first_layer for v in node.inputs)
        values = (*node.inputs, *node.results)
        key = node.op, node.choice, *firsts, *map(_shape, values)
        if key not in known:
            with at_layer(node.name):
                made = _programs(node, family, target)
            known[key] = {numbers.setdefault(k, len(numbers)): own for k, own in made.items()}
        for program, own in known[key].items():
            sizes[program].add(own)
            users[program].append(node)
    if sum(map(len, sizes.values())) <= FEW_PROGRAMS:
        return {}
    names = {program: _differing(found) for program, found in sizes.items()}
    return _for_nodes(names, users)


def _shape(value: Value) -> Hashable:
    """Return the properties of an operand or result that decide the structure of a program."""
    layout = value.type.layout
    return value.shape, layout and (layout.kind, layout.format)


def _programs(node: Node, family: Family, target: Target) -> dict[Hashable, Sizes]:
    """Lower a node with all sizes as uniforms; return the sizes by the key of each program."""
    found: dict[Hashable, Sizes] = {}
    passes = family.lower(node, replace(target, uniform_sizes=None))
    for program, gpu_pass in {p.program: p for p in passes}.items():
        own = (u for u in gpu_pass.uniforms if u.name not in OWN_UNIFORMS)
        found[structural_key(program)] = tuple((u.name, hint(u.value)) for u in own)
    return found


def _differing(sizes: set[Sizes]) -> frozenset[str]:
    """Return the names of the sizes of one program that become uniforms.

    These are the sizes that differ between layers, and kernel sizes beyond :data:`UNROLLED`.
    Drivers unroll loops with literal ends: a depthwise kernel of 7x7 then takes ten times as long
    to compile, and one of 3x3 spills registers on VideoCore VI.
    """
    values = {pair for one in sizes for pair in one}
    names = [name for name, _ in values]
    slow = {name for name, value in values if value > UNROLLED.get(name, value)}
    return frozenset(name for name in names if names.count(name) > 1) | slow


def _for_nodes(
    names: dict[int, frozenset[str]], users: dict[int, list[Node]]
) -> dict[Node, frozenset[str]]:
    """Return the names by node; all nodes that share a program get the same names.

    A node may have two programs, each shared with other nodes. A name that one program needs then
    spreads to these nodes, so the loop runs until nothing changes.
    """
    found: dict[Node, frozenset[str]] = {}
    while True:
        before = dict(found)
        for program, nodes in users.items():
            together = names[program].union(*(found.get(node, frozenset()) for node in nodes))
            found |= dict.fromkeys(nodes, together)
        if found == before:
            return {node: own for node, own in found.items() if own}
