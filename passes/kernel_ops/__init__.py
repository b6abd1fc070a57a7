"""Operators that exist for kernels only: passes make them of the operators that models mean.

``blocks``                 a convolution whose invocations compute several pixels
``fused``                  a kernel with formulas on its loads and its result
``index_mapped``           a kernel that reads through the index maps of movements
``separable_convolution``  a depthwise convolution and the 1x1 convolution after it
``winograd``               the steps of a convolution by minimal filtering
``winograd_strips``        these steps where draws do them

Like all operators they infer types and have a numpy reference, so every graph between passes can be
verified, printed and evaluated.
"""

from __future__ import annotations

from .blocks import ConvBlocks
from .fused import Fused, Parts, apart, assemble, keeps_padding, parts
from .index_mapped import IndexMapped
from .separable_convolution import SeparableConv, halves, separable
from .winograd import (
    WinogradConv,
    WinogradPatches,
    WinogradProducts,
    WinogradResult,
    WinogradRow,
    WinogradTiles,
)
from .winograd_strips import StripColumns, StripPatches, StripProducts, StripRows

__all__ = [
    "ConvBlocks",
    "Fused",
    "IndexMapped",
    "Parts",
    "SeparableConv",
    "StripColumns",
    "StripPatches",
    "StripProducts",
    "StripRows",
    "WinogradConv",
    "WinogradPatches",
    "WinogradProducts",
    "WinogradResult",
    "WinogradRow",
    "WinogradTiles",
    "apart",
    "assemble",
    "halves",
    "keeps_padding",
    "parts",
    "separable",
]
