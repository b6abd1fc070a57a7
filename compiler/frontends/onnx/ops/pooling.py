"""Pooling, over windows and over whole maps, and unpooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.graph import Result
from .....ir.ops import MaxPoolIndices, MaxUnpool, Pad, Pool, Reduce
from .axes import of_maps
from .parameters import parameters
from .windows import read_windows

if TYPE_CHECKING:
    from .....ir.graph import Value
    from .....ir.ops.pooling import Kind
    from .elementwise import Handler
    from .node import OnnxNode


def _pool(node: OnnxNode, kind: Kind, count_include_pad: bool = False, p: float = 2.0) -> Pool:
    windows = read_windows(node)
    ceil = bool(node.choice("ceil_mode", (0, 1)))
    if kind != "max":  # onnxruntime refuses that one
        windows.refuse_cropping(node)
    return Pool(
        kind,
        windows.kernel,
        windows.strides,
        windows.dilations,
        windows.padded(),
        ceil and not windows.auto_pad.startswith("SAME"),  # which settles the size by itself
        count_include_pad,
        p,
    )


def _order(node: OnnxNode) -> float:
    """Return the order of a norm, which was any number at first."""
    p = node.number("p", 2.0) if node.version < 2 else float(node.integer("p", 2))
    if p <= 0:
        raise ShadergenError(
            "SG0202", f"attribute p={p:g} of {node.op} is not supported", supported="above 0"
        )
    return p


@of_maps
def max_pool(node: OnnxNode) -> list[Value]:
    """MaxPool; the second result says where each maximum was."""
    column_major = bool(node.choice("storage_order", (0, 1)))
    op = _pool(node, "max")
    x = node.numeric(0)
    y = node.apply(op, x)
    if not any(node.used[1:]):
        return [y]
    where = MaxPoolIndices(op.kernel, op.strides, op.dilations, op.pads, op.ceil_mode, column_major)
    return [y, node.apply(where, x, y)]


@of_maps
def average_pool(node: OnnxNode) -> Value:
    """AveragePool; before operator set 7 the average always leaves out the padding."""
    include = bool(node.choice("count_include_pad", (0, 1)))
    return node.apply(_pool(node, "average", include), node.real(0))


@of_maps
def lp_pool(node: OnnxNode) -> Value:
    """LpPool: the Lp norm of each window."""
    p = _order(node)
    return node.apply(_pool(node, "lp", p=p), node.real(0))


def global_pool(kind: Kind) -> Handler:
    """A pooling over all positions of each channel."""

    @of_maps
    def handler(node: OnnxNode) -> Value:
        x = node.real(0)
        space = tuple(range(2, x.type.rank))
        if not space:
            raise ShadergenError("SG0206", f"{node.op} needs rank 3 or more, not {x.type.rank}")
        if kind != "lp":
            return node.apply(Reduce("mean" if kind == "average" else "max", space), x)
        p = _order(node)
        if p in (1, 2):
            return node.apply(Reduce("l1" if p == 1 else "l2", space), x)
        return node.apply(Pool("lp", x.shape[2:], p=p), x)

    what = {"max": "maximum", "average": "average", "lp": "Lp norm"}[kind]
    handler.__doc__ = f"The {what} of each channel over all positions."
    return handler


@of_maps
@parameters(2)
def max_unpool(node: OnnxNode) -> Value:
    """MaxUnpool; indices refer to the size given by kernel, strides and pads, not output_shape."""
    windows = read_windows(node, dilated=False)
    x, indices = node.real(0), node.numeric(1)
    rank = windows.rank
    sizes = tuple(
        (size - 1) * s - before - after + k
        for size, s, k, before, after in zip(
            x.shape[2:],
            windows.strides,
            windows.kernel,
            windows.pads[:rank],
            windows.pads[rank:],
            strict=True,
        )
    )
    op = MaxUnpool(sizes)
    found = indices.node.op if isinstance(indices, Result) else None
    if (
        isinstance(found, MaxPoolIndices)
        and isinstance(indices, Result)
        and (found.kernel, found.strides, found.pads)
        == (windows.kernel, windows.strides, windows.pads)
        and not found.column_major
        and set(found.dilations) <= {1}
        and indices.node.inputs[0].shape == (*x.shape[:2], *sizes)
    ):
        op = MaxUnpool(sizes, found.kernel, found.strides, found.pads)
    y = node.apply(op, x, indices)
    if node.given(2):
        wanted = node.known_integers(2, "the result's shape")
        if len(wanted) != rank + 2 or any(a < b for a, b in zip(wanted, y.shape, strict=False)):
            raise ShadergenError(
                "SG0205", f"output_shape {list(wanted)} is smaller than the result, {list(y.shape)}"
            )
        after = tuple(a - b for a, b in zip(wanted, y.shape, strict=True))
        if any(after):
            y = node.apply(Pad((0,) * len(after), after), y)
    return y


POOLING: dict[str, Handler] = {
    "AveragePool": average_pool,
    "GlobalAveragePool": global_pool("average"),
    "GlobalLpPool": global_pool("lp"),
    "GlobalMaxPool": global_pool("max"),
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
}
