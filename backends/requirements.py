"""What a build requires of a device: the member ``requires`` of the schedule."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..ir.dimensions import at_layer, is_dynamic, largest
from .gpu import EXTERNAL, ComputePass
from .sizes import expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..ir.graph import Graph
    from ..passes.placement.target import Target
    from .gpu import GpuPass

    Members = Sequence[Mapping[str, Any]]

COLOR_BUFFERS = {8: "none", 16: "half_float", 32: "float"}  # extensions, by bits of a component


def requirements(
    graph: Graph,
    passes: Sequence[GpuPass],
    target: Target,
    textures: Members,
    buffers: Members,
    extents: Sequence[tuple[int, str]],
) -> dict[str, Any]:
    """Return the shading language, the extensions, the kind of color buffers, and the limits.

    Args:
        graph: the placed graph.
        passes: its GPU passes.
        target: the target that the graph was compiled for.
        textures: the schedule's member of that name.
        buffers: the schedule's member of that name.
        extents: the widths and heights of all textures, each with the name of its tensor.

    Raises:
        DynamicDimensionError: for a size that no runtime can work out.
    """
    bits = max((p.node.result.type.component_bits for p in passes), default=8)
    external = any(i.port.external for i in graph.inputs)
    halves = target.wgsl == "f16" and any(p.program.precision == "mediump" for p in passes)
    wgsl = {"wgsl": "f16" if halves else "core"}
    return {
        **(wgsl if target.wgsl else {"glsl": target.glsl}),
        "color_buffer": COLOR_BUFFERS[bits],
        **({"extensions": [EXTERNAL]} if external else {}),
        "limits": _limits(passes, textures, buffers, extents, target.wgsl is not None),
    }


def _limits(
    passes: Sequence[GpuPass],
    textures: Members,
    buffers: Members,
    extents: Sequence[tuple[int, str]],
    layered: bool,
) -> dict[str, Any]:
    """Return the limits; ``layered``: all tensors are array textures, also those of kind 2d."""
    draws = [p for p in passes if not isinstance(p, ComputePass)]
    dispatches = [p for p in passes if isinstance(p, ComputePass)]
    groups = (number for p in dispatches for number in p.groups)
    return {
        "texture_size": _largest_extent(extents),
        "array_texture_layers": _most(
            t["layers"] for t in textures if layered or t["kind"] == "array"
        ),
        "texture_units": _samplers(draws),
        "draw_buffers": _most(len(p.layers) for p in draws),
        "uniform_block_size": _most(b["size"] for b in buffers if b["kind"] == "uniform"),
        "uniform_blocks": _blocks(draws, "uniform"),
        "storage_block_size": _most(b["size"] for b in buffers if b["kind"] == "storage"),
        "storage_blocks": _blocks(draws, "storage"),
        "fragment_images": _images(draws),
        "compute_images": _images(dispatches) + bool(dispatches),
        "compute_texture_units": _samplers(dispatches),
        "compute_uniform_blocks": _blocks(dispatches, "uniform"),
        "workgroup_invocations": _most(prod(p.workgroup) for p in dispatches),
        "workgroup_count": expression(largest(0, *groups)),
    }


def _most(counts: Iterable[int]) -> int:
    return max(counts, default=0)


def _blocks(passes: Sequence[GpuPass], kind: str) -> int:
    return _most(sum(b.kind == kind for b in p.blocks) for p in passes)


def _samplers(passes: Sequence[GpuPass]) -> int:
    return _most(sum(isinstance(r.place, str) for r in p.reads) for p in passes)


def _images(passes: Sequence[GpuPass]) -> int:
    return _most(sum(isinstance(r.place, int) for r in p.reads) for p in passes)


def _largest_extent(extents: Sequence[tuple[int, str]]) -> int | list[int | str]:
    """Return the largest width or height of a texture.

    Raises:
        DynamicDimensionError: for the layer whose texture has the longest expression.
    """
    terms = [size.polynomial.count if is_dynamic(size) else 1 for size, _ in extents]
    with at_layer(extents[terms.index(max(terms))][1]):
        return expression(largest(*(size for size, _ in extents)))
