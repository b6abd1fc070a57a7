"""Dynamic dimensions: heights and widths that are chosen when a build runs.

The words are those of PyTorch's shape environments (``torch.compile(dynamic=True)``):

    symbol               a name the application gives a value to: ``height``, ``width``
    polynomial           of symbols, quotients rounded down, minima, maxima (:mod:`.polynomial`)
    SymbolicInt          an integer with a polynomial, in place of an int in a shape; a *dynamic
                         dimension* (:mod:`.symbolic_int`)
    hint                 its value at the default sizes, those that the build has at first
    guard                a comparison that had to be decided by hints (:mod:`.environment`)
    ShapeEnvironment     the symbols of one compilation, with hints, bounds and guards
    SymbolicFraction     a dynamic dimension divided by a number, from which exported models compute
                         scales (:mod:`.fraction`); PyTorch's SymFloat

From a model to a build:

1. The frontend makes a ShapeEnvironment with a default and bounds for each symbol, and puts
   SymbolicInts from :func:`dimension` into the shapes of inputs.
2. Types are inferred and passes run as with ints. Arithmetic keeps polynomials in one normal form,
   so equal sizes have the same polynomial, and gives ints where symbols cancel.
3. A comparison is decided by bounds where they suffice. Otherwise the hints decide, and the outcome
   becomes a guard that names the layer (:func:`at_layer`). What follows holds for all sizes that
   pass the guards. The functions of :mod:`.queries` need no guard.
4. What needs a number, such as ``range(height)``, raises :class:`DynamicDimensionError`. So does
   what is beyond the limits on polynomials and guards, each of which bounds the time of compiling.
5. The back end writes polynomials as expressions in postfix notation, and the guards as the
   constraints of the schedule, without those that others imply. In shaders, SymbolicInts are
   uniforms.

Type checkers see an int throughout: code that computes sizes is written once for both.
"""

from __future__ import annotations

from .environment import Bounds, ShapeEnvironment
from .errors import DimensionLimitError, DynamicDimensionError, at_layer
from .queries import (
    at_most,
    bounds,
    environment_of,
    has_dynamic,
    hint,
    is_one,
    largest,
    same_shape,
    statically_equal,
    with_hints,
)
from .symbolic_int import SymbolicInt, dimension, is_dynamic

__all__ = [
    "Bounds",
    "DimensionLimitError",
    "DynamicDimensionError",
    "ShapeEnvironment",
    "SymbolicInt",
    "at_layer",
    "at_most",
    "bounds",
    "dimension",
    "environment_of",
    "has_dynamic",
    "hint",
    "is_dynamic",
    "is_one",
    "largest",
    "same_shape",
    "statically_equal",
    "with_hints",
]
