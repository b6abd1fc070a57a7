"""Unrolled convolutions: code without loops that loads texels one by one and uses each at once.

Weights are constants, or elements of a uniform block at fixed indices.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...ir.ops import Conv
from ...ir.ops.window import may_pad
from ...ir.types import LANES
from ...passes.placement.halos import holds_padding
from ...records import replace
from ..shader.builder import constant
from ..shader.constructors import integer, offset
from ..shader.expressions import Conditional, Variable
from ..shader.types import BOOL, VEC4
from .input_loader import (
    CORNER,
    inside_map,
    loader,
    pads_with_zeros,
    sampler_pads,
    with_prologue,
)
from .loads import LANE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...passes.kernel_ops import Parts
    from ..shader.builder import ShaderBuilder
    from ..shader.expressions import Expression
    from ..shader.program import Function
    from ..shader.statements import Body
    from .input_loader import Beside
    from .plane_groups import Group
    from .sums import Sums
    from .weight_blocks import WeightBlocks

    Pairs = list[tuple[Expression, Expression]]  # the factors of products to add up
    # By input plane: each accumulator that takes products of its texel, with these products.
    Readers = dict[int, list[tuple[int, Pairs]]]

TEXEL = Variable("texel", VEC4)  # the texel that was loaded last
LOADED = Variable("loaded", VEC4)  # the same before a prologue of several formulas


def readers_of(
    cut: np.ndarray | None,
    shader: ShaderBuilder,
    blocks: WeightBlocks,
    planes_of_map: int,
    in_turn: bool = False,
) -> list[Readers]:
    """Return the products of each tap's texels, and the accumulators that take these products.

    Args:
        cut: the weights if they are constants, otherwise None. Products with 0 are left out.
        shader: reads the weights if they are no constants.
        blocks: the weight blocks of the GPU pass.
        planes_of_map: of the map that is read, of which a prologue may make copies. The copies of a
            plane follow each other.
        in_turn: each column of weights is multiplied for all planes before the next column.
    """
    taps, depth, planes, width, _ = blocks.shape
    found = []
    for tap in range(taps):
        readers: Readers = {}
        for block, n, k in product(range(depth * in_turn), range(width), range(planes)):
            row = ((tap * depth + block) * width + n) * planes + k
            pair = shader.weight(integer(row)), TEXEL.lanes(LANE[n])
            readers.setdefault(blocks.first[k] + block, []).append((k, [pair]))
        for block, k in product(range(0 if in_turn else depth), range(planes)):
            pairs: Pairs
            if cut is None:
                row = ((tap * depth + block) * planes + k) * width
                weights = [shader.weight(integer(row + n)) for n in range(width)]
                pairs = [(weight, TEXEL.lanes(LANE[n])) for n, weight in enumerate(weights)]
            else:
                pairs = products(cut[tap, block, k], TEXEL, blocks.diagonal)
            if pairs:
                readers.setdefault(blocks.first[k] + block, []).append((k, pairs))
        in_order = sorted(readers, key=lambda plane: (plane % planes_of_map, plane))
        found.append({plane: readers[plane] for plane in in_order})
    return found


def last_texels(readers: Sequence[Readers]) -> dict[int, tuple[int, int]]:
    """Return the tap and the input plane of the last texel that each accumulator takes.

    Accumulators that take a single texel are left out.
    """
    texels: dict[int, list[tuple[int, int]]] = {}
    for tap, by_plane in enumerate(readers):
        for plane, used in by_plane.items():
            for k, _ in used:
                texels.setdefault(k, []).append((tap, plane))
    return {k: every[-1] for k, every in texels.items() if len(every) > 1}


def unrolled(
    body: Body,
    shader: ShaderBuilder,
    p: Parts,
    group: Group,
    blocks: WeightBlocks,
    readers: Sequence[Readers],
    sums: Sums,
    biases: Mapping[tuple[int, int, int], Expression],
) -> None:
    """Write a load, and the products of the loaded texel, for each tap and input plane in use.

    There are two ways to treat a tap outside the map, where padding is 0. The shader selects 0
    for each texel of the tap, or saves all sums before the tap and selects the saved sums. The
    second way is taken if there are fewer sums than texels. It is impossible for 16-bit partial
    sums, which may span several taps, and for sums that take a bias from ``biases``.

    Args:
        body: where the statements go.
        shader: declares textures, weights and sizes.
        p: the convolution and the formulas fused into it.
        group: the planes that the GPU pass computes.
        blocks: the weight blocks of the GPU pass.
        readers: the products of each tap's texels.
        sums: adds products to the accumulators.
        biases: by accumulator, tap and input plane: the bias with which the sum of this texel's
            products begins.
    """
    conv = p.kernel
    assert isinstance(conv, Conv)
    x, w = p.operands[:2]
    _, depth, planes, width, _ = blocks.shape
    dy, dx = conv.dilations
    totals = [Variable(name, VEC4) for name in group.results]
    body.declare(TEXEL.name, VEC4)
    keeps = planes < depth and shader.precision == "highp" and not biases
    padded = holds_padding(x, p) or sampler_pads(shader, conv, x, group)
    keeps = keeps and not padded and pads_with_zeros(shader, conv, x, group)
    befores = [body.declare(f"before_{t.name}", VEC4) for t in totals] if keeps else []
    several, planes_of_map = len(p.prologue) > 1, x.type.planes
    raw = replace(p, prologue=()) if several else p
    if several:
        body.declare(LOADED.name, VEC4)
    loads: dict[Beside, Function] = {}
    inside = body.declare("inside", BOOL) if keeps else None
    for tap, by_plane in enumerate(readers):
        if not by_plane:
            continue
        ky, kx = divmod(tap, w.shape[3])
        test = None if padded else inside_map(shader, conv, x, w, (ky, kx))
        beside: Beside = "anything" if keeps else "padding"
        # Biases are for Intel. If only some loads test for the border, its compiler runs half as
        # many lanes at once, so then all loads do.
        if test is None and not padded and may_pad(conv.pads) and not biases:
            beside = "nothing"
        if beside not in loads:
            loads[beside] = loader(shader, conv, raw, x, group, beside=beside)
        at = offset(CORNER, kx * dx, ky * dy)
        if beside == "anything":
            for before, total in zip(befores, totals, strict=True):
                body.assign(before, total)
        loaded = None
        for plane, used in by_plane.items():
            body.comment(f"tap ({ky}, {kx}), input plane {plane}")
            copy, own = divmod(plane, planes_of_map)
            if own != loaded:
                body.assign(LOADED if several else TEXEL, loads[beside](at, integer(own)))
                loaded = own
            if several:
                body.assign(TEXEL, with_prologue(shader, p, LOADED, copy))
            if any((k, tap, plane) in biases for k, _ in used):
                body.comment("the last texel: its sums begin with the bias, which saves registers")
            for k, pairs in used:
                if (k, tap, plane) in biases:
                    last = body.let(f"last_{totals[k].name}", biases[k, tap, plane])
                    for pair in pairs:
                        sums.add(last, pair)
                    body.add(totals[k], last)
                else:
                    sums.add_texel(totals[k], pairs, width)
        if beside == "anything" and inside is not None and test is not None:
            body.assign(inside, test)
            for before, total in zip(befores, totals, strict=True):
                body.assign(total, Conditional(inside, total, before))
    sums.complete()


def products(columns: np.ndarray, v: Expression, diagonal: bool = False) -> Pairs:
    """Return the products of one block of constant weights with a vector.

    Columns that are all 0 are left out.

    Args:
        columns: of the block: the weights of each input channel.
        v: the vector of input channels.
        diagonal: whether the only column multiplies the vector lane by lane.
    """
    kept = np.count_nonzero(columns, axis=1).tolist()
    if diagonal:
        return [(constant(columns[0]), v)] if kept[0] else []
    if len(columns) == LANES and all(kept):
        return [(constant(columns), v)]
    return [(constant(c), v.lanes(LANE[i])) for i, c in enumerate(columns) if kept[i]]
