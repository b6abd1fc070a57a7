"""Types of values in a shader program."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

Scalar = Literal["float", "half", "int", "uint", "bool"]


class Type(NamedTuple):
    """A scalar, a vector, or a matrix of columns.

    Attributes:
        scalar: what one component is. Programs with a ``half``, a float of 16 bits, are made by
            :mod:`.halves`, for languages that have such a type.
        lanes: components of a vector, or rows of a matrix.
        columns: of a matrix; 1 for all else.
    """

    scalar: Scalar
    lanes: int = 1
    columns: int = 1

    @property
    def is_vector(self) -> bool:
        return self.lanes > 1 and self.columns == 1

    @property
    def is_matrix(self) -> bool:
        return self.columns > 1

    def of(self, lanes: int) -> Type:
        """Return the vector, or scalar, of so many components of the same kind."""
        return _vector(self.scalar, lanes)


@lru_cache
def _vector(scalar: Scalar, lanes: int) -> Type:
    return Type(scalar, lanes)


FLOAT, VEC2, VEC4 = (Type("float", n) for n in (1, 2, 4))
HALF = Type("half")
INT, IVEC2 = (Type("int", n) for n in (1, 2))
UINT, UVEC2, UVEC4 = Type("uint"), Type("uint", 2), Type("uint", 4)
BOOL, BVEC2, BVEC4 = Type("bool"), Type("bool", 2), Type("bool", 4)
MAT4 = Type("float", 4, 4)
