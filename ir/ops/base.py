"""Base class of operators: attributes, type inference, reference, optional decomposition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from math import copysign
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError, ShadergenError
from ..dimensions import is_dynamic
from ..expr import Call, Extent, Num, Var, walk
from ..types import TensorType, shape_text

if TYPE_CHECKING:
    from ..graph import Value
    from ..nest import Nest

MOST_OPERANDS = 16  # textures that a fragment shader can read on every GLES 3.0 device
Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]


OPS: dict[str, type[Op]] = {}  # by name: those that the text form and the verifier know


class Op:
    """An operator: a frozen dataclass of attributes whose docstring states the mathematics.

    Every subclass is an operator and enters ``OPS``, but for bases: ``class Base(Op,
    abstract=True)``.
    """

    for_kernels: ClassVar[bool] = False
    """Whether only passes create this operator (``passes.kernel_ops``); models never contain it."""

    row_packable: ClassVar[bool] = False
    """Whether row-packed results take no longer: no windows of pixels, no weights per channel."""

    def __init_subclass__(cls, abstract: bool = False) -> None:
        super().__init_subclass__()
        if not abstract and OPS.setdefault(cls.__name__, cls) is not cls:
            raise InternalError(f"two operators are called {cls.__name__}")

    @cached_property
    def structure(self) -> tuple[Any, ...] | None:
        """A key that is equal for operators with the same computation; None for dynamic sizes.

        Unlike ``==``, the key distinguishes 0 from -0 and 1 from 1.0, which differ in shaders.
        """
        found: list[Any] = [type(self)]
        todo: list[Any] = [*vars(self).values()]
        while todo:
            part = todo.pop()
            if isinstance(part, tuple):
                found.append(len(part))
                todo.extend(part)
            elif is_dynamic(part) or (isinstance(part, Op) and part.structure is None):
                return None
            elif isinstance(part, (Num, Var, Call)):
                if any(isinstance(e, Extent) for e in walk(part)):
                    return None
                found.append(part)
            elif isinstance(part, Op):
                found.append(part.structure)
            else:
                found += (type(part), part, isinstance(part, float) and copysign(1.0, part))
        return tuple(found)

    # Each operator names its operands in the signatures of these.
    infer: Callable[..., TensorType | tuple[TensorType, ...]]
    """From operand types to the result's type, or types; raises SG0205 when they do not fit."""

    reference: Callable[..., Any]
    """From operand arrays to the result, with numpy, in their precision (float64 included)."""

    def decompose(self, *inputs: Any) -> Value | tuple[Value, ...] | None:
        """Return the same results from simpler operators, or None where a kernel exists."""
        return None

    @property
    def discontinuous_in(self) -> slice:
        """The operands that are rounded or compared: a small change of them can be a large one."""
        return slice(0)

    def permuted(self, axes: tuple[int, ...]) -> Op | None:
        """Return the equivalent operator before a transpose, or None if there is none.

        With t = Transpose(axes): ``self(t(x), t(y), ...) = t(self.permuted(axes)(x, y, ...))``,
        except for operands that are constants or have a lower rank.
        """
        return None

    def determined(self, *known: Mask) -> Mask | None:
        """Return which elements of the result the operands determine, or None for all of them.

        Kernels may write anything to the others, and no operator that reads the result depends on
        them.

        Args:
            known: which elements of each operand are determined.
        """
        return None

    def nest(self, *inputs: Any) -> Nest | None:
        """Return the loop nest that computes an element, or None where another kernel exists."""
        return None


def unlike_text(shapes: Iterable[Iterable[int]], axis: int) -> str:
    """Return the message for tensors that cannot be joined, because other sizes differ."""
    different = " and ".join(dict.fromkeys(map(shape_text, shapes)))
    return f"tensors of {different} cannot be joined along axis {axis}: their other sizes differ"


def require(condition: bool, what: str, **details: str) -> None:
    """Raise SG0205 with ``what`` unless the condition holds."""
    if not condition:
        raise ShadergenError("SG0205", what, **details)
