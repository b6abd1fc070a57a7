"""Arrays of float64 beyond the range of float32, as sums of parts that are within it.

x = p0 + 2^64 p1 + 2^128 p2 + ..., where each number is in the part that its size belongs to, and 0
in the others: p1 and those after it hold sizes from 2^-33 to 2^31, p0 holds everything below that,
infinities and NaN included. A model that is linear in x but for a constant, f(x) = L(x) + c, gives

    f(x) = f(p0) + 2^64 L(p1) + 2^128 L(p2) + ...

and shaders compute f and L. Each term is as exact as float32 makes it of numbers near 1, so their
sum, in float64, is as exact as that, relative to its largest term. What is below the range of
float32 in p0 counts as 0, as in any other array. Parts reach 2^31, so a model that multiplies them
by more than about 1e29 gets infinity for a term, although the result may be within float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..onnx_values import Arrays

STEP = 64  # powers of 2 from one part to the next
LARGEST = float(np.finfo(np.float32).max)


def beyond_float32(arrays: Mapping[str, NDArray[Any]]) -> frozenset[str]:
    """Return the names of the arrays that hold finite numbers which float32 does not reach."""
    wide = {name: np.abs(a[np.isfinite(a)]) for name, a in arrays.items() if a.dtype == np.float64}
    return frozenset(name for name, sizes in wide.items() if sizes.max(initial=0) > LARGEST)


def split(arrays: Mapping[str, NDArray[Any]], names: frozenset[str]) -> dict[int, Arrays]:
    """Return the parts of some arrays by their power of 2, 0 first; the others are in each."""
    places = {name: _places(arrays[name]) for name in names}
    steps = {0}.union(*(np.unique(p).tolist() for p in places.values()))
    return {
        STEP * step: {
            name: np.ldexp(np.where(places[name] == step, a, 0.0), -STEP * step)
            if name in names
            else a
            for name, a in arrays.items()
        }
        for step in sorted(steps)
    }


def _places(array: NDArray[Any]) -> NDArray[Any]:
    """Return the part that each number belongs to."""
    _, exponents = np.frexp(array)
    return np.asarray(np.maximum((exponents + STEP // 2) // STEP, 0))


def joined(terms: Mapping[int, Mapping[str, NDArray[Any]]]) -> Arrays:
    """Sum the results of the parts; a result that is not linear in them is in one part only."""
    results = dict(terms[0])
    for power, found in terms.items():
        for name, term in found.items() if power else ():
            with np.errstate(over="ignore"):  # float64 ends too
                scaled = np.ldexp(term.astype(np.float64), power)
            results[name] = results[name].astype(np.float64) + scaled
    return results
