"""A kernel that reads operands through views: movements that it does not wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..nests import by_structure, nest_of
from ..views import read_through, simplified_load
from .base import Op, require
from .movement import Movement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..indexing import Load
    from ..nest import Nest
    from ..types import TensorType

Chain = tuple[Movement, ...]


@dataclass(frozen=True)
class Viewed(Op):
    """y = kernel(view0(x0), view1(x1), ...).

    A view is a chain of movements of one operand each, the first applied first; () leaves the
    operand as it is. The kernel has a nest, whose loads take the views' index maps in (ir.views).
    """

    kernel: Op
    views: tuple[Chain, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        require(len(inputs) == len(self.views), f"{len(inputs)} operands of {len(self.views)}")
        y = self.kernel.infer(*self._seen(inputs))
        require(not isinstance(y, tuple), "a kernel of several results has no views")
        assert not isinstance(y, tuple)
        return y

    def reference(self, *inputs: Any) -> Any:
        return self.kernel.reference(*self.look(inputs))

    def look(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the operands as the kernel sees them."""
        found = []
        for x, chain in zip(inputs, self.views, strict=True):
            for movement in chain:
                x = movement.reference(x)
            found.append(x)
        return found

    def nest(self, *inputs: TensorType) -> Nest | None:
        nest = nest_of(self.kernel, *self._seen(inputs))
        for operand, (chain, x) in enumerate(zip(self.views, inputs, strict=True)):
            for k in range(len(chain) - 1, -1, -1):
                if nest is not None:
                    nest = read_through(nest, operand, _index_map(chain[k], seen(chain[:k], x)))
        return nest

    def _seen(self, inputs: tuple[TensorType, ...]) -> list[TensorType]:
        """Return the operands' types as the kernel sees them."""
        return [seen(chain, x) for chain, x in zip(self.views, inputs, strict=True)]


@by_structure
def _index_map(movement: Movement, x: TensorType) -> Load:
    return simplified_load(movement.load(x), seen((movement,), x).shape)


def seen(chain: Chain, x: TensorType) -> TensorType:
    """Return the type of a tensor seen through a view."""
    for movement in chain:
        x = _moved(movement, x)
    return x


@by_structure
def _moved(movement: Movement, x: TensorType) -> TensorType:
    y = movement.infer(x)
    assert not isinstance(y, tuple)
    return y
