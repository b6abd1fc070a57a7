"""Kernel families: the choices of each node, their work, and lowering to GPU passes.

A family is a module that ends with a :class:`.family.Family`, listed in ``FAMILIES``.
:mod:`.work` counts the operations of a choice in its lowered program.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import InternalError, ShadergenError
from ...ir.dimensions import at_layer
from ...ir.ops import Conv
from ...passes.kernel_ops import parts
from ...passes.placement.kinds import at_default
from ...passes.placement.target import TILES_OF
from ...passes.placement.tuning_key import tuning_key
from ...records import replace
from . import weight_storage, winograd
from .convolution import CONVOLUTION
from .convolution_slices import slices
from .fragment_blocks import FRAGMENT_BLOCKS
from .loop_nest import LOOP_NEST, check_planes
from .pointwise import POINTWISE
from .separable_convolution import SEPARABLE_CONVOLUTION
from .sharing import sizes_in_uniforms
from .winograd import WINOGRAD
from .work import Outlines, kept_share, stored, unrolled

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...ir.graph import Choice, Graph, Node, WeightStorage
    from ...passes.placement.kernels import Work
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from .family import Family

FAMILIES: tuple[Family, ...] = (
    CONVOLUTION,
    SEPARABLE_CONVOLUTION,
    FRAGMENT_BLOCKS,
    WINOGRAD,
    POINTWISE,
)
"""Each offers choices for the nodes that it accepts; ``LOOP_NEST`` computes all other nodes."""


def families_of(node: Node) -> tuple[Family, ...]:
    """Return the families that can compute a node with the choice made for it so far."""
    return tuple(f for f in FAMILIES if f.accepts(node)) or (LOOP_NEST,)


def family_of(node: Node) -> Family:
    """Return the family that computes a node; the preferred family if nothing is chosen yet."""
    return next((f for f in FAMILIES if f.accepts(node)), LOOP_NEST)


def lower(graph: Graph, target: Target) -> tuple[GpuPass, ...]:
    """Return the GPU passes of a placed graph, in order of execution.

    Raises:
        ShadergenError: SG0402 when a kernel does not fit the device.
        InternalError: for an operator that should have been decomposed.
    """
    found = [(n, family_of(n)) for n in graph.nodes if not n.choice.alias]
    for node, family in found:
        if family is LOOP_NEST:  # fails early, before a shader is written for each plane
            check_planes(node, target)
    passes: list[GpuPass] = []
    sizes = sizes_in_uniforms(found, target)
    for node, family in found:
        own = replace(target, uniform_sizes=sizes[node]) if node in sizes else target
        with at_layer(node.name):
            passes.extend(family.lower(node, own))
    return tuple(passes)


class KernelFamilies:
    """Implements ``passes.placement.kernels.Kernels`` with the families.

    The work of a choice is counted once for all nodes of a tuning key.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self._works: dict[tuple[str, Choice], tuple[Work, ...]] = {}
        self._known: dict[Node, tuple[str, Node]] = {}  # tuning keys; at default sizes
        self._expanded: dict[tuple[str, Choice], tuple[Node, ...]] = {}
        self._outlines = Outlines(target)
        self._steps: dict[Node, Work] = {}
        self._kept: dict[Node, float] = {}

    def choices(self, node: Node, tiles: bool = True) -> tuple[Choice, ...]:
        """Return every choice for a placed node, in order of preference for ties."""
        target = self.target
        families = (f for f in families_of(node) if tiles or f is not WINOGRAD)
        every = [c for family in families for c in family.choices(node, target)]
        found = [c for c in every if _agrees(c, node.choice)]
        computed = [c for c in found if c.stage == "compute"]
        found = computed if computed and target.stage == "compute" else found
        tiled = [c for c in found if c.winograd == TILES_OF.get(target.winograd)]
        return tuple(tiled or found)

    def work(self, node: Node, choice: Choice) -> tuple[Work, ...]:
        """Return the work of a node with a choice, for each node that the choice expands to."""
        # Only textures hold 8-bit weights, and reading one unpacks them: other storages do not.
        looped: WeightStorage = "ubo" if self.target.weight_format == "int8" else "texture"
        name, node = self._plain(node)
        if slices(node, choice, self.target):
            return self._sliced(name, node, choice)
        with suppress(ShadergenError):  # the weights' texture may exceed the units
            if choice.weights in ("ubo", "ssbo") and choice.weights != looped:
                alike = self.work(node, replace(choice, weights=looped))
                return tuple(stored(w, node, choice, self.target) for w in alike)
            if choice.weights == "constants" and not choice.winograd:
                (work,) = self.work(node, replace(choice, weights=looped))
                return (unrolled(work, node, self._kept_share(node)),)
        key = name, choice
        works = self._works.get(key)
        if works is None:
            works = tuple(map(self._work_of, self._made(name, node, choice)))
            self._works[key] = works
        return works

    def _sliced(self, name: str, node: Node, choice: Choice) -> tuple[Work, ...]:
        """Return the work of a convolution that is cut into slices of its input planes."""
        if (name, choice) not in self._works:
            made = CONVOLUTION.expand(replace(node, choice=choice), self.target)
            works = [self.work(n, choice) for n in made if not n.choice.alias]
            self._works[name, choice] = tuple(w for own in works for w in own)
        return self._works[name, choice]

    def _work_of(self, node: Node) -> Work:
        """Return the work of an expanded node; several choices may share it."""
        if node not in self._steps:
            self._steps[node] = self._outlines.work(node, family_of(node))
        return self._steps[node]

    def work_key(self, node: Node, choices: tuple[Choice, ...]) -> Hashable:
        """Return a key; nodes with equal keys have equal work with each of the choices."""
        unrolls = any(c.weights == "constants" and not c.winograd for c in choices)
        plain, node = self._plain(node)
        return plain, choices, self._kept_share(node) if unrolls else None

    def _kept_share(self, node: Node) -> float:
        if node not in self._kept:
            self._kept[node] = kept_share(node)
        return self._kept[node]

    def _plain(self, node: Node) -> tuple[str, Node]:
        """Return the tuning key of a node, and the node at default sizes."""
        if node not in self._known:
            plain = at_default(node)  # the key's text of dynamic sizes would record guards
            self._known[node] = tuning_key(plain, self.target), plain
        return self._known[node]

    def _made(self, name: str, node: Node, choice: Choice) -> tuple[Node, ...]:
        """Return the nodes that a node expands to with a choice.

        Winograd choices share an expansion if they differ only in block, planes and the storage of
        looped weights. Draws in blocks share one if they differ only in planes and weights.
        """
        drawn = choice.stage == "fragment" and choice.block != (1, 1)
        if not choice.winograd and not drawn:
            return (replace(node, choice=choice),)
        kept = choice.block if drawn else (1, 1)
        weights = None if choice.loops or drawn else choice.weights
        shared = replace(choice, block=kept, planes=None, weights=weights)
        key = name, shared
        if key not in self._expanded:
            node = replace(node, choice=shared)
            self._expanded[key] = family_of(node).expand(node, self.target)
        block, planes, weights = choice.block, choice.planes, choice.weights
        return tuple(
            replace(n, choice=replace(n.choice, block=block, planes=planes, weights=weights))
            if n.choice.planes is None
            else n
            for n in self._expanded[key]
        )

    def expand(self, node: Node) -> Node | None:
        """Return the last node of a node's expansion, or None if the node stays as it is."""
        *_, last = family_of(node).expand(node, self.target)
        return None if last is node else last

    def why_not_compute(self, node: Node) -> str:
        """Return why a placed node cannot run in the compute stage; empty if it can."""
        return family_of(node).why_not_compute(node, self.target)

    def why_not_winograd(self, node: Node) -> str:
        """Return why a convolution does not use the Winograd tiles of ``--winograd``."""
        return winograd.why_not_winograd(node, self.target)

    def refusal(self, node: Node) -> ShadergenError:
        """Return the error for a convolution without choices: its weights do not fit.

        Raises:
            InternalError: for any other node. These always have choices, so it is a bug.
        """
        if not isinstance(parts(node).kernel, Conv):
            raise InternalError(f"no kernel family has a choice for layer {node.name}")
        return weight_storage.refusal(node, self.target)


def _agrees(choice: Choice, pinned: Choice) -> bool:
    """Whether a choice has every property that is pinned; None and 0 pin nothing."""
    names = ("stage", "planes", "weights", "winograd")
    return all(getattr(pinned, n) in (None, 0, getattr(choice, n)) for n in names)
