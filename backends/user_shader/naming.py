"""Names of passes and of what they save: what a pass computes, and its number in the network.

A pass is described as "convolution 2 of 9 (body.1), channels 4 to 7 of 8", and saves ``conv2_c4``.
Exporters make names of layers: these stand in parentheses, without what exporters add, and whole in
the comments of the pass.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ...ir.graph import Constant
from ...ir.ops import Concat, Conv, DepthToSpace, Pointwise, Pool, ResizeLinear, ResizeNearest
from ...ir.types import LANES
from ...passes.kernel_ops import IndexMapped, parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...ir.graph import Node
    from ...ir.ops.base import Op
    from ..gpu import GpuPass

# What a kernel does, and the stem of the names of its results.
KINDS: dict[type[Op], tuple[str, str]] = {
    Conv: ("convolution", "conv"),
    DepthToSpace: ("pixel shuffle", "shuffled"),
    Pool: ("pooling", "pooled"),
    Pointwise: ("formula", "map"),
    Concat: ("join", "joined"),
    ResizeLinear: ("linear resize", "resized"),
    ResizeNearest: ("nearest resize", "enlarged"),
}
INTERPOLATION = "linear enlargement", "enlarged"
OPERATOR = re.compile(r"[A-Z]\w*")  # that ONNX exporters add to the name of a module
CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])")
ROUNDING = 1e-5  # of sums of weights


class PassNames:
    """The names of the passes of a network."""

    def __init__(self, passes: Iterable[GpuPass]) -> None:
        self._number: dict[Node, int] = {}
        self._all: Counter[tuple[str, str]] = Counter()
        for gpu_pass in passes:
            node = gpu_pass.node
            if node not in self._number:
                kind = _kind(node)
                self._all[kind] += 1
                self._number[node] = self._all[kind]

    def description(self, gpu_pass: GpuPass) -> str:
        """Return what a pass computes, unlike that of any other pass."""
        node = gpu_pass.node
        kind, number = _kind(node), self._number[node]
        of = f" {number} of {self._all[kind]}" if self._all[kind] > 1 else ""
        stored = f" and {KINDS[DepthToSpace][0]}" if parts(node).store else ""
        return f"{kind[0]}{of}{stored} ({layer(node.name)}){_channels(gpu_pass)}"

    def saved(self, gpu_pass: GpuPass) -> str:
        """Return the name of the texture that a pass saves."""
        node, first = gpu_pass.node, _first_channel(gpu_pass)
        several = len(gpu_pass.layers) < node.result.type.layers
        return f"{_kind(node)[1]}{self._number[node]}{f'_c{first}' if several else ''}"


def layer(name: str) -> str:
    """Return a layer's name without what exporters add to it.

    TorchScript's exporter writes the path of modules and an operator, each module with its parent:
    ``/body/body.1/Relu`` is ``body.1``. The newer one puts ``node_`` before the operator.
    """
    *modules, last = [part for part in name.split("/") if part] or [name]
    if not modules or not OPERATOR.fullmatch(last):
        modules.append(last)
    path: list[str] = []
    for module in modules:
        if path and module.startswith(f"{path[-1]}."):
            path.pop()
        path.append(module)
    return ".".join(path).removeprefix("node_")


def _kind(node: Node) -> tuple[str, str]:
    """Return what a node's kernel does, and the stem of the names of its results."""
    kernel = parts(node).kernel
    if isinstance(kernel, IndexMapped):
        kernel = kernel.kernel
    if isinstance(kernel, Conv):
        return INTERPOLATION if interpolates(node) else KINDS[Conv]
    words = CAPITALS.sub(" ", type(kernel).__name__).lower()
    return KINDS.get(type(kernel), (words, words.replace(" ", "_")))


def interpolates(node: Node) -> bool:
    """Whether a convolution's results are weighted means of neighbours, as in a linear resize.

    Each result then reads one channel with weights that are not negative and have the sum 1, and
    several results read the same channel.
    """
    p = parts(node)
    if not isinstance(p.kernel, Conv) or len(p.operands) > 2 or p.kernel.groups > 1:
        return False
    weights = p.operands[1]
    if not isinstance(weights, Constant):
        return False
    w = weights.data  # OIHW
    out, into = w.shape[:2]
    if out == into or w[0, 0].size == 1 or w.min() < 0:
        return False
    reads_one = (np.count_nonzero(w.any((2, 3)), 1) == 1).all()
    return bool(reads_one and (abs(w.sum((1, 2, 3)) - 1) < ROUNDING).all())


def _first_channel(gpu_pass: GpuPass) -> int:
    return LANES * (gpu_pass.layers[0] - gpu_pass.node.result.type.first_layer)


def _channels(gpu_pass: GpuPass) -> str:
    """Return which channels a pass computes, unless it is all."""
    t, layers = gpu_pass.node.result.type, gpu_pass.layers
    if t.layers == len(layers):
        return ""
    first = _first_channel(gpu_pass)
    last = min(first + LANES * len(layers), t.channels) - 1
    return f", channels {first} to {last} of {t.channels}"
