"""The sums of a convolution: their accumulators, and partial sums in 16 bits.

A 16-bit kernel has 16-bit accumulators where a sum is short, else 32-bit ones (see
``passes.placement.summation``). Converting each product to 32 bits costs as much as the product.
So unrolled kernels add up several products in a 16-bit variable first; kernels that loop over
weights, those of one texel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...passes.placement.summation import sums_in_half
from ..shader.expressions import Variable
from ..shader.types import VEC4

if TYPE_CHECKING:
    from ...ir.graph import Node
    from ..shader.builder import ShaderBuilder
    from ..shader.expressions import Expression
    from ..shader.statements import Body


class Sums:
    """Declares accumulators and adds products to them.

    Args:
        body: where the statements go.
        shader: the kernel's; its precision decides.
        node: the direct convolution.
    """

    def __init__(self, body: Body, shader: ShaderBuilder, node: Node) -> None:
        self._body = body
        self._most = node.choice.partial_terms
        self._full = shader.precision == "mediump" and not sums_in_half(node)
        self._terms = 0  # in each partial sum
        self._partial: dict[str, Variable] = {}  # by the name of the accumulator
        self._declared: set[str] = set()

    def declare(self, names: list[str], start: Expression) -> list[Variable]:
        """Declare accumulators that begin alike."""
        first = self._body.let(names[0], start, self._full)
        return [first, *(self._body.let(name, first, self._full) for name in names[1:])]

    def declare_partial(self, names: list[str], terms: int) -> None:
        """Declare partial sums of unrolled products for accumulators.

        Args:
            names: of the accumulators.
            terms: products of a texel for each accumulator. A partial sum has at least these.
        """
        if self._full and self._most >= 2 * terms:
            for name in names:
                self._declared.add(name)
                self._body.declare(f"partial_{name}", VEC4)

    def begin(self, terms: int) -> None:
        """Begin the products of a texel; complete the partial sums that lack room for them."""
        if self._terms + terms > self._most:
            self.complete()
        self._terms += terms

    def add(self, total: Variable, *products: tuple[Expression, Expression]) -> None:
        """Add products to an accumulator, or to its partial sum."""
        if total.name not in self._declared:
            self._body.add_products(total, *products, summed_first=self._full)
            return
        if total.name not in self._partial:
            partial = Variable(f"partial_{total.name}", VEC4)
            self._partial[total.name] = partial
            (weight, v), *products_left = products
            self._body.assign(partial, weight * v)
            products = tuple(products_left)
        for pair in products:
            self._body.add_products(self._partial[total.name], pair)

    def complete(self) -> None:
        """Add the partial sums to their accumulators."""
        for name, partial in self._partial.items():
            self._body.add(Variable(name, VEC4), partial)
        self._partial.clear()
        self._terms = 0
