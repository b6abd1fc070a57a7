"""How 16-bit convolutions add up their products: blocked summation.

A sum of n terms in floats of precision u errs by up to (n - 1) u sum|w x|. Blocked summation adds
up b terms in 16 bits, and the results of these blocks in 32 bits: up to b u sum|w x|, whatever n
is. A sum of at most b terms is a single block, and needs no 32-bit accumulator.

Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 4.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ..kernel_ops import parts

if TYPE_CHECKING:
    from ...ir.graph import Node

PARTIAL_TERMS = 16


def sum_terms(node: Node) -> int:
    """Return how many products a direct convolution adds up for one number of its result."""
    return prod(parts(node).operands[1].shape[1:])


def sums_in_half(node: Node) -> bool:
    """Whether the sums of a mediump convolution fit one block: 16 bits hold them altogether."""
    return sum_terms(node) <= node.choice.partial_terms
