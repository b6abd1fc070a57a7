"""Convolution, transposed convolution and batch normalisation.

One-dimensional convolutions are computed as two-dimensional ones of height 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import ShadergenError
from ....ir.ops import BatchNormalization, Conv, ConvTranspose, Reshape

if TYPE_CHECKING:
    from ....ir.graph import Value
    from .node import OnnxNode

Sizes = tuple[int, ...]
AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


class _Window:
    """The attributes that both convolutions share, checked, for ``rank`` spatial axes."""

    def __init__(self, node: OnnxNode) -> None:
        self.x, self.w = node.shape(0), node.shape(1)
        self.rank = rank = len(self.x) - 2
        if rank not in (1, 2):
            raise ShadergenError(
                "SG0206",
                f"{node.op} of a tensor of rank {len(self.x)}",
                supported="rank 3 (1D) and rank 4 (2D)",
            )
        if len(self.w) != len(self.x):
            raise ShadergenError(
                "SG0105", f"the weights have rank {len(self.w)}, the input has rank {len(self.x)}"
            )
        self.kernel = self.w[2:]
        if node.integers("kernel_shape", self.kernel) != self.kernel:
            raise ShadergenError("SG0105", "kernel_shape contradicts the shape of the weights")
        self.strides = _sizes(node, "strides", 1, rank, 1)
        self.dilations = _sizes(node, "dilations", 1, rank, 1)
        self.pads = _sizes(node, "pads", 0, 2 * rank, 0)
        self.auto_pad: str = node.choice("auto_pad", AUTO_PADS)
        self.groups = node.integer("group", 1)
        if self.groups < 1:
            raise ShadergenError("SG0105", f"group={self.groups}")
        if self.auto_pad != "NOTSET":
            self.pads = (0,) * (2 * rank)

    @property
    def reach(self) -> Sizes:
        """Over how many elements the kernel reaches, its holes included."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def share(self, totals: Sizes, larger_first: bool) -> Sizes:
        """Split each axis's padding between its ends."""
        small = tuple(t // 2 for t in totals)
        large = tuple(t - s for t, s in zip(totals, small, strict=True))
        return large + small if larger_first else small + large

    def operands(self, node: OnnxNode) -> list[Value]:
        """Return input, weights and bias as a two-dimensional convolution takes them."""
        x, w = node.operand(0), node.weight(1, "the weights")
        operands: list[Value] = [x, w]
        if self.rank == 1:
            operands = [
                node.apply(Reshape((*self.x[:2], 1, *self.x[2:])), x),
                node.apply(Reshape((*self.w[:2], 1, *self.w[2:])), w),
            ]
        if node.given(2):
            operands.append(node.weight(2, "the bias"))
        return operands

    def pair(self, sizes: Sizes, missing: int) -> tuple[int, int]:
        y, x = (missing,) * (2 - self.rank) + sizes
        return y, x

    def four(self) -> tuple[int, int, int, int]:
        """Return the padding as top, left, bottom, right."""
        return (
            *self.pair(self.pads[: self.rank], 0),
            *self.pair(self.pads[self.rank :], 0),
        )

    def result(self, node: OnnxNode, y: Value) -> Value:
        if self.rank == 1:
            n, c, _, size = y.shape
            y = node.apply(Reshape((n, c, size)), y)
        return y


def _sizes(node: OnnxNode, name: str, default: int, count: int, least: int) -> Sizes:
    values = node.integers(name, (default,) * count)
    if len(values) != count:
        raise ShadergenError("SG0105", f"attribute {name}={list(values)} has not {count} entries")
    if min(values) < least:
        raise ShadergenError(
            "SG0202",
            f"attribute {name}={list(values)} of {node.op} is not implemented",
            supported=f"entries of {least} or more",
        )
    return values


def conv(node: OnnxNode) -> Value:
    """Conv; "same" padding makes the result ceil(size / stride) large."""
    window = _Window(node)
    if window.auto_pad.startswith("SAME"):
        totals = tuple(
            max((-(-size // s) - 1) * s + reach - size, 0)
            for size, s, reach in zip(window.x[2:], window.strides, window.reach, strict=True)
        )
        window.pads = window.share(totals, window.auto_pad == "SAME_LOWER")
    op = Conv(
        strides=window.pair(window.strides, 1),
        dilations=window.pair(window.dilations, 1),
        pads=window.four(),
        groups=window.groups,
    )
    return window.result(node, node.apply(op, *window.operands(node)))


def conv_transpose(node: OnnxNode) -> Value:
    """ConvTranspose; padding that makes the result larger becomes output padding."""
    window = _Window(node)
    rank = window.rank
    extra = _sizes(node, "output_padding", 0, rank, 0)
    natural = tuple(
        (size - 1) * s + reach + e
        for size, s, reach, e in zip(window.x[2:], window.strides, window.reach, extra, strict=True)
    )
    wanted: Sizes | None = None
    if node.has("output_shape"):
        wanted = node.integers("output_shape")[-rank:]
        if len(wanted) != rank or min(wanted) < 1:
            raise ShadergenError("SG0105", f"attribute output_shape={list(wanted)}")
    elif window.auto_pad.startswith("SAME"):
        wanted = tuple(a * s for a, s in zip(window.x[2:], window.strides, strict=True))
    if wanted is not None:
        totals = tuple(max(a - b, 0) for a, b in zip(natural, wanted, strict=True))
        window.pads = window.share(totals, window.auto_pad != "SAME_UPPER")
        extra = tuple(e + max(b - a, 0) for e, a, b in zip(extra, natural, wanted, strict=True))
    op = ConvTranspose(
        strides=window.pair(window.strides, 1),
        dilations=window.pair(window.dilations, 1),
        pads=window.four(),
        output_padding=window.pair(extra, 0),
        groups=window.groups,
    )
    return window.result(node, node.apply(op, *window.operands(node)))


def batch_normalization(node: OnnxNode) -> Value:
    """BatchNormalization at inference, with the statistics of training."""
    node.ignore("momentum")
    epsilon = node.number("epsilon", 1e-5)
    node.choice("training_mode", (0,))
    node.choice("spatial", (1,))
    if any(node.used[1:]):
        raise ShadergenError(
            "SG0202",
            "BatchNormalization with more than one result is not implemented",
            why="it would compute statistics, as in training",
            help="export the model for inference",
        )
    roles = ("the scale", "the bias", "the mean", "the variance")
    parameters = [node.weight(i, role) for i, role in enumerate(roles, 1)]
    return node.apply(BatchNormalization(epsilon), node.operand(0), *parameters)
