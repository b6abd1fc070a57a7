"""The ordered list of optimisation passes: what happens between a frontend and a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InternalError, ShadergenError
from ..ir.verifier import Sound, verify
from .absorb_transposes import absorb_transposes
from .alias_planes import alias_planes
from .allocate_textures import allocate_textures, separate_textures
from .apply_options import apply_options
from .assign_layouts import assign_layouts
from .canonicalise import canonicalise
from .choose_kernels import choose_kernels
from .choose_precision import choose_precision
from .compose_index_maps import compose_index_maps
from .drop_dead_channels import drop_dead_channels
from .drop_identities import drop_identities
from .expand_choices import expand_choices
from .fold_affine import fold_affine
from .fold_constants import fold_constants
from .fuse_crelu import fuse_crelu
from .fuse_pads import fuse_pads
from .fuse_pointwise import fuse_pointwise
from .fuse_residual_resize import fuse_residual_resize
from .fuse_separable import fuse_separable
from .fuse_stores import fuse_stores
from .fuse_upsampling import fuse_upsampling
from .quantise_weights import quantise_weights
from .recognise_pixel_shuffle import recognise_pixel_shuffle
from .split_wide_maps import split_wide_maps
from .stack_planes import stack_planes
from .store_halos import store_halos

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..ir.graph import Graph
    from .rule import Context

MATHEMATICS = (
    canonicalise,
    fold_constants,
    drop_identities,
    recognise_pixel_shuffle,
    absorb_transposes,
    fuse_pads,
    fuse_upsampling,
    fuse_residual_resize,
    fold_affine,
    drop_dead_channels,
    apply_options,
    quantise_weights,
    split_wide_maps,
    fuse_pointwise,
    fuse_crelu,
    compose_index_maps,
)
NCHW = MATHEMATICS[: MATHEMATICS.index(absorb_transposes) + 1]
PLACEMENT = (
    choose_precision,
    assign_layouts,
    fuse_stores,
    fuse_separable,
    stack_planes,
    choose_kernels,
    alias_planes,
    expand_choices,
    compose_index_maps,
    store_halos,
    allocate_textures,
)
OPTIONAL = (
    drop_identities,
    recognise_pixel_shuffle,
    absorb_transposes,
    fuse_pads,
    fuse_upsampling,
    fuse_residual_resize,
    fold_affine,
    drop_dead_channels,
    fuse_pointwise,
    fuse_crelu,
    compose_index_maps,
    fuse_stores,
    fuse_separable,
    stack_planes,
    alias_planes,
    allocate_textures,
)
"""Passes without which builds are right but slower. Without ``allocate_textures`` no tensors share
textures."""


def to_nchw(graph: Graph, context: Context) -> Graph:
    """Run the passes that bring images to NCHW, whatever order the model's own framework keeps."""
    for step in NCHW:
        graph = step(graph, context)
    return graph


def optimise(
    graph: Graph,
    context: Context,
    observe: Callable[[str, Graph], None] = lambda name, graph: None,
    disabled: Collection[str] = (),
) -> Graph:
    """Run every pass: :func:`simplify`, then :func:`place`."""
    sound = Sound()
    graph = simplify(graph, context, observe, disabled, sound)
    return place(graph, context, observe, disabled, sound)


def simplify(
    graph: Graph,
    context: Context,
    observe: Callable[[str, Graph], None] = lambda name, graph: None,
    disabled: Collection[str] = (),
    sound: Sound | None = None,
) -> Graph:
    """Run the mathematical passes in order, verify after each, and show each result to ``observe``.

    Args:
        graph: as imported.
        context: of all passes.
        observe: shown the name of each pass, and the graph after it.
        disabled: names of ``OPTIONAL`` passes to leave out.
        sound: the same for :func:`place`, so that it verifies only what it changes.

    Raises:
        InternalError: when a pass breaks the graph.
    """
    sound = sound or Sound()
    verify(graph, sound)
    observe("import", graph)
    return _run(MATHEMATICS, graph, context, observe, disabled, sound)


def place(
    graph: Graph,
    context: Context,
    observe: Callable[[str, Graph], None] = lambda name, graph: None,
    disabled: Collection[str] = (),
    sound: Sound | None = None,
) -> Graph:
    """Choose kernels and textures for a graph from :func:`simplify`; the arguments are the same.

    Raises:
        ShadergenError: when the graph does not fit the target.
        InternalError: when a pass breaks the graph.
    """
    return _run(PLACEMENT, graph, context, observe, disabled, sound or Sound())


def _run(
    steps: tuple[Callable[[Graph, Context], Graph], ...],
    graph: Graph,
    context: Context,
    observe: Callable[[str, Graph], None],
    disabled: Collection[str],
    sound: Sound,
) -> Graph:
    for step in steps:
        if step.__name__ not in disabled:
            graph = step(graph, context)
        elif step is allocate_textures:
            graph = separate_textures(graph)
        try:
            verify(graph, sound)
        except ShadergenError as error:
            raise InternalError(f"pass {step.__name__} broke the graph: {error}") from error
        observe(step.__name__, graph)
    return graph
