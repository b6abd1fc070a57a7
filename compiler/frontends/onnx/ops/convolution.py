"""Convolutions: plain, transposed, deformable, causal, and the way back from columns."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.dimensions import hint
from .....ir.formula_parser import parse
from .....ir.ops import Col2Im, Concat, Conv, ConvTranspose, DeformConv, Pad, Pointwise, Slice
from ...activations import ACTIVATIONS
from .axes import of_maps
from .parameters import parameters
from .windows import numbers, read_windows, share

if TYPE_CHECKING:
    from .....ir.graph import Value
    from ...activations import ACTIVATIONS
    from .elementwise import Handler
    from .node import OnnxNode
from .windows import Sizes, Windows

ANY_PAD = -(1 << 30)


def _windows(node: OnnxNode, least_pad: int = 0) -> Windows:
    x, w = node.shape(0), node.shape(1)
    if len(w) != len(x):
        raise ShadergenError(
            "SG0105", f"the weights have rank {len(w)}, the input has rank {len(x)}"
        )
    return read_windows(node, w[2:], least_pad)


def _groups(node: OnnxNode, name: str = "group") -> int:
    groups = node.integer(name, 1)
    if groups < 1:
        raise ShadergenError(
            "SG0105", f"attribute {name}={groups} is invalid", supported="at least 1"
        )
    return groups


def _operands(node: OnnxNode) -> list[Value]:
    """Return input, weights and, where given, bias."""
    return [node.real(i) for i in range(3) if i < 2 or node.given(2)]


@of_maps
def conv(node: OnnxNode) -> Value:
    """Conv, over any number of spatial axes."""
    windows = _windows(node)
    op = Conv(windows.strides, windows.dilations, windows.padded(), _groups(node))
    return node.apply(op, *_operands(node))


@of_maps
def conv_transpose(node: OnnxNode) -> Value:
    """ConvTranspose; padding that makes the result larger becomes output padding."""
    windows = _windows(node, ANY_PAD)
    shape, strides, rank = windows.shape, windows.strides, windows.rank
    pads = windows.pads
    extra = numbers(node, "output_padding", 0, rank, 0)
    along = list(zip(strides, windows.reach, extra, strict=True))
    if any(e >= max(s, d) for e, s, d in zip(extra, strides, windows.dilations, strict=True)):
        raise ShadergenError(
            "SG0105",
            f"attribute output_padding={list(extra)} of {node.op} is invalid",
            supported="less than the stride or the dilation of each axis",
        )
    later = windows.auto_pad != "SAME_UPPER"
    if node.has("output_shape"):
        wanted = node.integers("output_shape")[-rank:]
        if len(wanted) != rank or min(wanted) < 1:
            raise ShadergenError(
                "SG0105",
                f"attribute output_shape={list(wanted)} is invalid",
                supported=f"{rank} sizes of at least 1",
            )
        natural = tuple(
            (size - 1) * s + reach for size, (s, reach, _) in zip(shape[2:], along, strict=True)
        )
        _require_in_reach(wanted, natural, strides)
        over = [n + e - w for n, e, w in zip(natural, extra, wanted, strict=True)]
        pads = share(tuple(max(o, 0) for o in over), later)
        extra = tuple(e + max(-o, 0) for e, o in zip(extra, over, strict=True))
    elif windows.auto_pad.startswith("SAME"):  # strides times as large, if windows reach so far
        pads = share(tuple(max(reach + e - s, 0) for s, reach, e in along), later)
    op = ConvTranspose(strides, windows.dilations, pads, extra, _groups(node))
    return node.apply(op, *_operands(node))


def _require_in_reach(wanted: Sizes, natural: Sizes, strides: Sizes) -> None:
    """Refuse a result that ends beyond all windows by a stride or more, as onnxruntime does.

    Args:
        wanted: the attribute output_shape.
        natural: over how many elements the windows reach.
        strides: of the windows.

    Raises:
        ShadergenError: SG0105 with the sizes that are possible. Dynamic ones are guarded.
    """
    if any(w - n >= s for w, n, s in zip(wanted, natural, strides, strict=True)):
        natural = tuple(map(hint, natural))
        most = "x".join(str(n + s - 1) for n, s in zip(natural, strides, strict=True))
        raise ShadergenError(
            "SG0105",
            f"output_shape {'x'.join(map(str, wanted))} is too large",
            why=f"the windows cover only {'x'.join(map(str, natural))} elements",
            supported=f"up to {most}",
        )


@of_maps
def deform_conv(node: OnnxNode) -> Value:
    """DeformConv, over two spatial axes."""
    windows = _windows(node)
    if windows.rank != 2:
        raise ShadergenError(
            "SG0206",
            f"DeformConv over {windows.rank} spatial axes is not supported",
            supported="two",
        )
    op = DeformConv(
        windows.strides,
        windows.dilations,
        windows.pads,
        _groups(node),
        _groups(node, "offset_group"),
    )
    order = (0, 1, 2, 4, 3)  # ONNX has the bias before the mask
    return node.apply(op, *(node.real(i) for i in order if i < 3 or node.given(i)))


def causal_conv_with_state(node: OnnxNode) -> list[Value]:
    """CausalConvWithState: depthwise 1-D convolution of the current and earlier elements.

    The second result is what has to be kept for the next call: the last elements read.
    """
    x, w = node.real(0), node.real(1)
    if x.type.rank != 3 or w.shape[:2] != (x.shape[1], 1) or len(w.shape) != 3:
        raise ShadergenError("SG0205", f"weights of shape {list(w.shape)} do not fit {x.type}")
    activation = node.choice("activation", ("none", "silu", "swish"))
    kept = w.shape[2] - 1
    if node.given(3):
        past = node.real(3)
        if past.shape != (*x.shape[:2], kept):
            raise ShadergenError(
                "SG0205", f"a state of shape {list(past.shape)} does not fit {x.type}"
            )
        x = node.apply(Concat(2), past, x)
    else:
        x = node.apply(Pad((0, 0, kept), (0, 0, 0)), x)
    bias = [node.real(2)] if node.given(2) else []
    y = node.apply(Conv((1,), (1,), (0, 0), x.shape[1]), x, w, *bias)
    if activation != "none":
        y = node.apply(Pointwise(parse(ACTIVATIONS["silu"])), y)
    if not any(node.used[1:]):
        return [y]
    if not kept:
        raise ShadergenError(
            "SG0205", "CausalConvWithState with a kernel of size 1 has no state to return"
        )
    state = Slice((0, 0, x.shape[2] - kept), (1, 1, 1), (*x.shape[:2], kept))
    return [y, node.apply(state, x)]


@parameters(1, 2)
def col2im(node: OnnxNode) -> Value:
    """Col2Im, over any number of spatial axes."""
    sizes = node.known_integers(1, "the image's shape")
    kernel = node.known_integers(2, "the block's shape")
    rank = len(sizes)
    if not rank or len(kernel) != rank or min(*sizes, *kernel) < 1:
        raise ShadergenError(
            "SG0105",
            f"block_shape {list(kernel)} and image_shape {list(sizes)} must have equal length and "
            "sizes above 0",
        )
    strides, dilations = (numbers(node, name, 1, rank, 1) for name in ("strides", "dilations"))
    pads = numbers(node, "pads", 0, 2 * rank, 0)
    x = node.real(0)
    if x.type.rank != 3 or x.shape[1] % prod(kernel):
        raise ShadergenError(
            "SG0205",
            f"Col2Im needs rank 3 and channels divisible by the block's {prod(kernel)} elements, "
            f"not {x.type}",
        )
    return node.apply(Col2Im(sizes, kernel, strides, dilations, pads), x)


CONVOLUTION: dict[str, Handler] = {
    "CausalConvWithState": causal_conv_with_state,
    "Col2Im": col2im,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
}
