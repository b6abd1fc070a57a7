"""Find the height and width axes of an input from its uses in the graph.

ONNX's convolutions, pools and their like have the channels at axis 1 and height and width at 2 and
3. Exporters from TensorFlow keep inputs with the channels last and transpose them first. So the
input is followed through operators that move no axis, and through transposes, to the first one
whose axes are known. Handlers are marked with what their operators do (:mod:`..ops.axes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....ir.types import MAP_RANK
from ..ops.axes import is_in_place, is_of_maps
from ..ops.table import DOMAINS
from ..read.graph_body import plain_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx.onnx_ml_pb2 import NodeProto

    Axes = tuple[int, ...]

LAST: dict[tuple[int, ...], tuple[int, int]] = {  # what transposes alone suggest
    (0, 3, 1, 2): (1, 2),
    (0, 2, 3, 1): (2, 3),
}


def image_axes(nodes: Iterable[NodeProto], name: str) -> tuple[int, int] | None:
    """Return the axes of height and width of an input of rank 4, None where nothing tells.

    Args:
        nodes: of the graph, operands before users.
        name: of the input.
    """
    followed: dict[str, Axes] = {name: tuple(range(MAP_RANK))}  # where each axis was in the input
    suggested: tuple[int, int] | None = None
    for node in nodes:
        found = [(at, followed[v]) for at, v in enumerate(node.input) if v in followed]
        if not found:
            continue
        at, axes = found[0]
        domain = plain_domain(node.domain)
        handler = DOMAINS.get(domain, {}).get(node.op_type)
        if is_of_maps(handler):
            if at == 0:
                return axes[2], axes[3]
        elif not domain and node.op_type == "Transpose":
            order = _order(node)
            if len(order) == MAP_RANK:
                axes = tuple(axes[a] for a in order)
                suggested = suggested or LAST.get(axes)
                followed.update(dict.fromkeys(node.output, axes))
        elif is_in_place(handler) and (at == 0 or node.op_type not in ("Pad", "Resize")):
            followed.update(dict.fromkeys(node.output, axes))
    return suggested


def _order(node: NodeProto) -> Axes:
    return next((tuple(_valid(a.ints)) for a in node.attribute if a.name == "perm"), (3, 2, 1, 0))


def _valid(order: Iterable[int]) -> Iterator[int]:
    return (axis for axis in order if 0 <= axis < MAP_RANK)
