"""The sums of a convolution: accumulators, and partial sums of 16-bit kernels.

In a 16-bit kernel, the accumulators have 16 bits if the sums are short, otherwise 32 bits
(:mod:`...passes.placement.summation`). Converting a product to 32 bits costs as much as computing
the product. A kernel with 32-bit accumulators therefore adds up a block of products in 16 bits and
converts only this *partial sum*. In kernels that loop over weights, a block is one texel.
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
        body: the statements to extend.
        shader: the kernel's shader; its precision is that of the products.
        node: the direct convolution.
    """

    def __init__(self, body: Body, shader: ShaderBuilder, node: Node) -> None:
        self._body = body
        self._most = node.choice.partial_terms
        self._full = shader.precision == "mediump" and not sums_in_half(node)
        self._partial: dict[str, Variable] = {}  # by name of the accumulator
        self._terms: dict[str, int] = {}  # length of each partial sum not yet added

    def declare(self, names: list[str], start: Expression) -> list[Variable]:
        """Declare accumulators with equal initial values."""
        first = self._body.let(names[0], start, self._full)
        return [first, *(self._body.let(name, first, self._full) for name in names[1:])]

    def declare_partial(self, names: list[str], terms: int) -> None:
        """Declare the partial sums of an unrolled kernel's accumulators.

        Args:
            names: the names of the accumulators.
            terms: the products that one texel adds to each accumulator. If a block has no room for
                two texels, no partial sum is declared.
        """
        if self._full and self._most >= 2 * terms:
            for name in names:
                self._partial[name] = self._body.declare(f"partial_{name}", VEC4)

    def add_texel(
        self, total: Variable, products: list[tuple[Expression, Expression]], terms: int
    ) -> None:
        """Add a texel's products to an accumulator's partial sum.

        Args:
            total: the accumulator.
            products: the weights and the texel's values.
            terms: by how much the length of the partial sum grows.
        """
        partial = self._partial.get(total.name)
        if partial is None:
            for pair in products:
                self.add(total, pair)
            return
        if self._terms.get(total.name, 0) + terms > self._most:
            self._complete(total)
        if total.name not in self._terms:
            (weight, v), *products = products
            self._body.assign(partial, weight * v)
        for pair in products:
            self._body.add_products(partial, pair)
        self._terms[total.name] = self._terms.get(total.name, 0) + terms

    def add(self, total: Variable, *products: tuple[Expression, Expression]) -> None:
        """Add products to an accumulator."""
        self._body.add_products(total, *products, summed_first=self._full and self._most > 0)

    def complete(self) -> None:
        """Add all partial sums to their accumulators."""
        for name in list(self._terms):
            self._complete(Variable(name, VEC4))

    def _complete(self, total: Variable) -> None:
        self._body.add(total, self._partial[total.name])
        del self._terms[total.name]
