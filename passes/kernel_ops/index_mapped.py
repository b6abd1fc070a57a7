"""A kernel that reads its operands through the index maps of movements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.index_maps import read_through, simplified_load
from ...ir.nests import by_structure, nest_of
from ...ir.ops.base import Op, require
from ...ir.ops.movement import Movement
from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...ir.indexing import Load
    from ...ir.nest import Nest
    from ...ir.types import TensorType

Chain = tuple[Movement, ...]


@dataclass(frozen=True)
class IndexMapped(Op):
    """y = kernel(chain0(x0), chain1(x1), ...).

    A chain is a sequence of movements, the first applied first; () is the operand itself. The
    kernel is a loop nest, whose loads take in the movements' index maps (``ir.index_maps``).
    """

    for_kernels = True

    kernel: Op
    chains: tuple[Chain, ...]

    def infer(self, *inputs: TensorType) -> TensorType:
        require(
            len(inputs) == len(self.chains),
            f"{len(inputs)} operands for {len(self.chains)} chains of movements",
        )
        y = self.kernel.infer(*self._moved_types(inputs))
        require(not isinstance(y, tuple), "kernels of several results have no index maps")
        assert not isinstance(y, tuple)
        return y

    def reference(self, *inputs: Any) -> Any:
        return self.kernel.reference(*self.move(inputs))

    def move(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the operands after their movements."""
        found = []
        for x, chain in zip(inputs, self.chains, strict=True):
            for movement in chain:
                x = movement.reference(x)
            found.append(x)
        return found

    def nest(self, *inputs: TensorType) -> Nest | None:
        nest = nest_of(self.kernel, *self._moved_types(inputs))
        for operand, (chain, x) in enumerate(zip(self.chains, inputs, strict=True)):
            for k in range(len(chain) - 1, -1, -1):
                if nest is not None:
                    nest = read_through(
                        nest, operand, _index_map(chain[k], moved_type(chain[:k], x))
                    )
        return nest

    def _moved_types(self, inputs: tuple[TensorType, ...]) -> list[TensorType]:
        """Return the operands' types after their movements."""
        return [moved_type(chain, x) for chain, x in zip(self.chains, inputs, strict=True)]


@by_structure
def _index_map(movement: Movement, x: TensorType) -> Load:
    return simplified_load(movement.load(x), moved_type((movement,), x).shape)


def moved_type(chain: Chain, x: TensorType) -> TensorType:
    """Return the type of a tensor after a chain of movements."""
    for movement in chain:
        x = _moved(movement, x)
    return x


@by_structure
def _moved(movement: Movement, x: TensorType) -> TensorType:
    y = movement.infer(x)
    assert not isinstance(y, tuple)
    return y
