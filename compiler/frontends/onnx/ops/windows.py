"""The attributes that all sliding windows share: kernels, strides, padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....errors import ShadergenError
from .....ir.dimensions import is_dynamic
from .....ir.ops.window import same_padding
from .....records import dataclass

if TYPE_CHECKING:
    from .node import OnnxNode

Sizes = tuple[int, ...]
AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True)
class Windows:
    """Windows over the spatial axes of an operand, the attributes read and checked.

    ``pads`` are as given, or zeros where ``auto_pad`` says otherwise; :meth:`padded` settles it.
    """

    shape: Sizes
    kernel: Sizes
    strides: Sizes
    dilations: Sizes
    pads: Sizes
    auto_pad: str

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.shape) - 2

    @property
    def reach(self) -> Sizes:
        """Over how many elements a window reaches, its holes included."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def padded(self) -> Sizes:
        """Return the padding; "same" makes the result ceil(size / stride) large."""
        if not self.auto_pad.startswith("SAME"):
            return self.pads
        totals = tuple(
            same_padding(size, s, reach)
            for size, s, reach in zip(self.shape[2:], self.strides, self.reach, strict=True)
        )
        return share(totals, self.auto_pad == "SAME_LOWER")

    def refuse_cropping(self, node: OnnxNode) -> None:
        """Refuse a padding "same" that is negative at both ends, as windows jump over elements.

        The standard's formula then crops, TensorFlow's does not, and onnxruntime does in LpPool and
        in AveragePool of operator set 19 and later.
        """
        if not self.auto_pad.startswith("SAME"):
            return
        for size, stride, reach in zip(self.shape[2:], self.strides, self.reach, strict=True):
            rest = stride - 1 if is_dynamic(size) else (size - 1) % stride
            if reach - 1 - rest < -1:
                raise ShadergenError(
                    "SG0202",
                    f"{node.op} with auto_pad={self.auto_pad} and a stride of {stride} is not "
                    f"supported for windows of {reach}",
                    why="the padding would be negative, which implementations interpret "
                    "differently",
                    help="export the model with explicit pads",
                )


def read_windows(
    node: OnnxNode, kernel: Sizes | None = None, least_pad: int = 0, dilated: bool = True
) -> Windows:
    """Read the attributes of windows over the first input.

    Args:
        node: the node.
        kernel: its size, where the weights say it.
        least_pad: the smallest padding that is implemented.
        dilated: whether the operator has dilations; otherwise the attribute is refused, as any
            attribute that is not read.

    Raises:
        ShadergenError: SG0105 and SG0202 for attributes that contradict each other or are not
            implemented, SG0206 for an input without spatial axes.
    """
    shape = node.shape(0)
    rank = len(shape) - 2
    if rank < 1:
        raise ShadergenError(
            "SG0206",
            f"{node.op} does not support rank {len(shape)}",
            supported="batch, channels, and at least one spatial axis",
        )
    given = node.integers("kernel_shape", kernel)
    if kernel is not None and given != kernel:
        raise ShadergenError("SG0105", "kernel_shape contradicts the shape of the weights")
    if len(given) != rank or min(given) < 1:
        raise ShadergenError(
            "SG0105",
            f"attribute kernel_shape={list(given)} of {node.op} does not fit {rank} spatial axes",
        )
    strides = numbers(node, "strides", 1, rank, 1)
    dilations = numbers(node, "dilations", 1, rank, 1) if dilated else (1,) * rank
    pads = numbers(node, "pads", 0, 2 * rank, least_pad)
    auto_pad: str = node.choice("auto_pad", AUTO_PADS)
    if auto_pad != "NOTSET":
        pads = (0,) * (2 * rank)
    return Windows(shape, given, strides, dilations, pads, auto_pad)


def share(totals: Sizes, larger_first: bool) -> Sizes:
    """Split each axis's padding between its ends."""
    small = tuple(t // 2 for t in totals)
    large = tuple(t - s for t, s in zip(totals, small, strict=True))
    return large + small if larger_first else small + large


def numbers(node: OnnxNode, name: str, default: int, count: int, least: int) -> Sizes:
    """Read ``count`` integers of at least ``least``, by default all equal."""
    values = node.integers(name, (default,) * count)
    if len(values) != count:
        raise ShadergenError("SG0105", f"attribute {name}={list(values)} needs {count} entries")
    if min(values) < least:
        raise ShadergenError(
            "SG0202",
            f"attribute {name}={list(values)} of {node.op} is not implemented",
            supported=f"entries of {least} or more",
        )
    return values
