"""Count the work of a node with a choice, in the program that the node is lowered to.

The programs of nodes that differ only in sizes differ only in trip counts. Only one of these nodes
is lowered. The others share its *outline*, the counts of each loop body, and multiply it by their
own trip counts. Some counts grow linearly with the pixels or planes of an invocation
(:attr:`.family.Family.growth`): counts of large blocks are then extrapolated from small blocks.
"""

from __future__ import annotations

from functools import partial
from math import ceil, prod
from typing import TYPE_CHECKING, Literal

from ...ir.graph import Constant, Result
from ...ir.ops import Conv
from ...ir.ops.convolution import is_depthwise
from ...ir.types import LANES
from ...passes.kernel_ops import parts
from ...passes.placement.halos import halo_for
from ...passes.placement.kernels import Work
from ...passes.placement.kinds import (
    before_store,
    entries_share_a_program,
    has_weights,
    precision,
)
from ...passes.placement.summation import sums_in_half, texel_terms
from ...records import dataclass, replace
from ..gpu import Blob
from ..shader.builder import WEIGHTS_ARRAY
from ..shader.counting import PROMOTION, outline
from .dispatch import block_counts
from .program_keys import operands_key
from .weight_blocks import cut_weights
from .weight_storage import names_weights, pass_floats, streamed

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Mapping

    from ...ir.graph import Choice, Node, Value
    from ...ir.types import TensorType
    from ...passes.placement.target import Target
    from ..gpu import GpuPass
    from ..shader.counting import Counts, Outline
    from ..shader.expressions import Texel
    from .family import Family

TEXELS, SAMPLES, IMAGES = "texels", "samples", "images"  # kinds of texel reads
WEIGHTS, IMAGES_OF_WEIGHTS = "weights", "images of weights"
HELD = 16 + 3  # scalars of a 4x4 block of weights, and its loop counters


@dataclass(frozen=True)
class _Program:
    """The parts that the programs of a node's choices have in common.

    Attributes:
        node: the node.
        family: its kernel family.
        key: the number of its key (:mod:`.program_keys`).
        trips: the trip counts of size-dependent loops, by loop counter.
    """

    node: Node
    family: Family
    key: int
    trips: Mapping[str, int]


class Outlines:
    """Counts the work of nodes, and caches the outlines of their programs.

    Args:
        target: the target that nodes are lowered for.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._keys: dict[Hashable, int] = {}  # numbers of keys, which compare faster
        self._numbers: dict[Hashable, int] = {}  # the number of each node's key
        self._outlines: dict[Hashable, tuple[Outline, dict[str, int]]] = {}
        self._totals: dict[Hashable, Counts] = {}

    def work(self, node: Node, family: Family) -> Work:
        """Return the work of a placed node, as if all its GPU passes were like the first.

        Args:
            node: a node with a choice and fixed sizes.
            family: the family of its kernel.
        """
        program = _Program(node, family, self._key(node, family), family.trips(node))
        counts = self._counts(program, node.choice)
        # Blocks of other draws have planes for each pixel.
        pixels = prod(node.choice.block) if self._target.dispatches_draws else 1
        work = _work(node, family, counts, pixels)
        dispatched = self._target.dispatches_draws and work.targets * pixels > 1
        return replace(work, dispatched=True) if dispatched else work

    def _counts(self, of: _Program, choice: Choice) -> Counts:
        key = of.key, choice, *of.trips.items()
        if key in self._totals:
            return self._totals[key]
        growth = of.family.growth(of.node, choice)
        if growth is None:
            outlined, trips = self._outline(of, choice)
            counts = outlined.total({**trips, **of.trips})
        else:
            small, larger = (self._counts(of, c) for c in (growth.small, growth.larger))
            counts = small.grown(larger, growth.steps)
        self._totals[key] = counts
        return counts

    def _outline(self, of: _Program, choice: Choice) -> tuple[Outline, dict[str, int]]:
        """Return the outline of a program, and the trip counts of loops that end at uniforms."""
        once = tuple(n == 1 for n in of.trips.values())  # kernels then omit the loop
        key = of.key, choice, once
        if key not in self._outlines:
            node = replace(of.node, choice=choice)
            gpu_pass = _lowered(node, of.family, self._target)
            found = outline(gpu_pass.program, partial(_kind, _weights(gpu_pass)))
            uniforms = {u.name: u.value for u in gpu_pass.uniforms}
            self._outlines[key] = found, found.trips_at(uniforms)
        return self._outlines[key]

    def _key(self, node: Node, family: Family) -> int:
        """Return the number of a node's key; nodes of equal number share outlines."""
        known = (node.op, node.inputs, node.result.type)
        if known not in self._numbers:
            key = family.program_key(node), operands_key(node)
            self._numbers[known] = self._keys.setdefault(key, len(self._keys))
        return self._numbers[known]


def _weights(gpu_pass: GpuPass) -> frozenset[str]:
    """Return the names of the textures with weights in a GPU pass."""
    pairs = zip(gpu_pass.program.textures, gpu_pass.reads, strict=True)
    return frozenset(t.name for t, read in pairs if isinstance(read.source, Blob))


def _kind(weights: Container[str], read: Texel) -> str:
    """Return the kind of a texel read."""
    image = read.texture.unit is not None
    if read.texture.name in weights:
        return IMAGES_OF_WEIGHTS if image else WEIGHTS
    return IMAGES if image else TEXELS if read.centre is None else SAMPLES


def _lowered(node: Node, family: Family, target: Target) -> GpuPass:
    """Lower a node as if the runtime created all its operands; return its first GPU pass.

    Padding is counted where it will be stored (``passes.store_halos``), as far as nodes tell.
    """
    placed: dict[Value, Value] = {}
    p = parts(node)
    for v in node.inputs:
        layout = v.type.layout
        if isinstance(v, Result) and layout is not None and layout.slot is None:
            stores = target.stores_halos and v is p.operands[0] and layout.kind == "2d"
            halo = halo_for(p) if stores else None
            placed[v] = replace(v, type=v.type.placed(replace(layout, slot=0, halo=halo)))
    inputs = tuple(placed.get(v, v) for v in node.inputs)
    types = tuple(r.type for r in node.results)
    return next(family.lower(replace(node, inputs=inputs, types=types), target))


def _work(node: Node, family: Family, found: Counts, pixels: int = 1) -> Work:
    """Return the work of a node from the counts of one invocation.

    Args:
        node: the node.
        family: the family of its kernel.
        found: the counts of one invocation.
        pixels: of the result that an invocation of a draw computes.
    """
    t, inner = node.result.type, before_store(node)
    planes = family.planes_of_pass(inner)
    entries = t.shape[0] if t.in_planes else 1
    targets = found.stores // pixels
    if node.choice.stage == "fragment":
        computed = inner.result.type
        passes = entries * ceil(computed.layers / entries / targets)
        each = prod(computed.extent[:2] if pixels == 1 else block_counts(inner))
    else:
        passes = entries * -(-inner.result.type.planes // planes)
        each = prod(block_counts(inner)) * -(-planes // (node.choice.planes or 1))
    times = passes * each
    # Of a map of several 2D textures, each read reads one.
    texels, samples, images = (
        round(found.reads[kind] - found.unread[kind]) for kind in (TEXELS, SAMPLES, IMAGES)
    )
    weights = found.reads[WEIGHTS] + found.reads[IMAGES_OF_WEIGHTS] + found.elements[WEIGHTS_ARRAY]
    storage = node.choice.weights
    source: Literal["texel", "image", "ubo", "ssbo", "literal"] = "texel"
    if storage == "constants":
        source = "literal"
        weights = round(found.code)
    elif storage == "ubo" or storage == "ssbo":
        source = storage
    elif found.reads[IMAGES_OF_WEIGHTS]:
        source = "image"
    distinct = 0
    if has_weights(node) and storage != "constants":
        distinct = pass_floats(inner, planes) // LANES
    assert t.layout is not None
    reads = texels + samples + images
    maps = [v.type for v in dict.fromkeys(node.inputs) if v.type.layout is not None]
    return Work(
        stage=node.choice.stage or "fragment",
        passes=passes,
        invocations=times,
        texels=texels * times,
        samples=samples * times,
        images=images * times,
        loads=passes * min(reads * each, sum(m.texels for m in maps) // entries),
        weights=weights * times,
        weights_from=source,
        distinct=distinct * passes,
        multiplies=found.multiplies * times,
        operations=found.operations * times,
        accumulators=found.accumulators,
        alive=found.alive - found.accumulators * _unused_lanes(inner.result.type),
        stores=found.stores * times,
        halves=t.component_bits < 32,
        mediump=precision(node) == "mediump",
        targets=targets,
        programs=programs_of(node, passes) if storage == "constants" else 1,
        code=found.code,
        text=found.text,
        taps=_taps(node, targets) if _is_depthwise(node) else 0,
    )


def _unused_lanes(result: TensorType) -> int:
    """Return the lanes of each accumulator that no channel of the result uses.

    Compilers leave out what only computes these lanes. They are counted only for results of a
    single plane: passes of several planes have programs that use all lanes.
    """
    return LANES - result.channels if result.in_planes and result.channels < LANES else 0


def programs_of(node: Node, passes: int) -> int:
    """Return the number of programs of a node with constant weights and so many GPU passes."""
    return passes // (node.result.shape[0] if entries_share_a_program(node) else 1)


def kept_share(node: Node) -> float:
    """Return the share of a convolution's weight vectors that are not zero.

    A weight vector holds the weights of one input channel for the four channels of a result plane.
    A looped convolution reads vectors of zeros too, also those that fill up the last input plane.
    An unrolled convolution leaves these vectors out.
    """
    p = parts(before_store(node))
    weights = p.operands[1]
    if not isinstance(weights, Constant):
        return 1.0
    assert isinstance(p.kernel, Conv)
    planes = range(ceil(weights.type.shape[0] / LANES))
    return float(cut_weights(weights.data, p.kernel.groups, planes).any(axis=-1).mean())


def _conversions_saved(work: Work, node: Node) -> float:
    """Return the operations that partial sums longer than a texel save.

    These operations convert 16-bit sums to 32 bits and add them.
    """
    terms = node.choice.partial_terms
    if not work.mediump or not terms or sums_in_half(node):
        return 0.0
    p = parts(node)
    assert isinstance(p.kernel, Conv)
    texel = texel_terms(p.operands[1].shape, p.kernel.groups)
    return PROMOTION * work.multiplies / texel * (1 - 1 / max(1, terms // texel))


def unrolled(work: Work, node: Node, kept: float) -> Work:
    """Return the work of a convolution with constant weights, from its work with loops.

    The code of an unrolled convolution contains every operation, and reads no weights.

    Args:
        work: of the convolution with loops.
        node: the convolution.
        kept: the share of its weight vectors that are not zero (:func:`kept_share`).
    """
    programs = programs_of(node, work.passes)
    multiplies = work.multiplies * kept
    operations = work.operations - _conversions_saved(work, node)
    return replace(
        work,
        multiplies=multiplies,
        operations=operations,
        weights=round(multiplies),
        weights_from="literal",
        distinct=0,
        alive=work.alive - HELD,
        programs=programs,
        code=multiplies / work.invocations,
        text=(multiplies + operations) / work.invocations,
        taps=_taps(node, work.targets),
    )


def _taps(node: Node, planes: int) -> int:
    """Return the positions that a convolution without loops reads, for so many result planes.

    Depthwise convolutions count as well: compilers unroll their short loops.
    """
    p = parts(before_store(node))
    assert isinstance(p.kernel, Conv)
    taps = prod(p.operands[1].shape[2:])
    return taps * planes if _is_depthwise(node) else taps


def _is_depthwise(node: Node) -> bool:
    p = parts(before_store(node))
    return isinstance(p.kernel, Conv) and is_depthwise(p.operands[1].shape, p.kernel.groups)


def stored(work: Work, node: Node, choice: Choice, target: Target) -> Work:
    """Return the work with weights in a uniform or storage block, from that with a texture.

    In unrolled code, each weight has a fixed index in the block. Multiply-adds then read the
    weights directly from constant registers, so no weight is counted as read.
    Weights that are read as a stream cost what constants cost.
    """
    weights = choice.weights
    assert weights == "ubo" or weights == "ssbo"
    if names_weights(node, choice, target):
        named = (work.multiplies + work.operations) / work.invocations
        work = replace(work, alive=work.alive - HELD, weights=0, text=named)
        if streamed(choice, target):
            return replace(work, weights=round(work.multiplies), weights_from="literal")
    return replace(work, weights_from=weights)
