"""The expression language: element-wise mathematics as data.

    silu(x) = x * sigmoid(x)
    hard_sigmoid(x, alpha=0.2, beta=0.5) = clamp(alpha * x + beta, 0, 1)

An expression is a tree of :class:`Num`, :class:`Var` and :class:`Call`. A call names a primitive
(:mod:`.primitives`) or a formula of the library (:mod:`.formulas`). The same trees, read with
integer operands, are the index maps of data movement (:mod:`.indexing`).

One formula gives the numpy reference (:mod:`.evaluation`), the text (:func:`to_text`, which
:mod:`.formula_parser` reads back), and in ``backends.glsl`` the shader code. Fusing is
:func:`substitute`.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .size import is_open

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .size import Size


@dataclass(frozen=True, slots=True, eq=False)
class Num:
    """A literal. 0 and -0 differ: what divides by them tells."""

    value: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Num) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.value)

    def _key(self) -> tuple[float, float]:
        return self.value, math.copysign(1.0, self.value)

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True)
class Var:
    """A free variable: an operand, a parameter, or a coordinate."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True, eq=False)
class Extent(Var):
    """A size that the build leaves open, as a number in an expression; ``name`` is its text.

    It is free like a variable, and bound to a uniform where a shader is written. Those of two
    models differ, whatever their text: what is kept of one must not serve the other.
    """

    size: Size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Extent):
            return False
        return self.name == other.name and self.size.trace is other.size.trace

    __hash__ = Var.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A primitive or a library formula applied to arguments.

    ``attributes`` holds keyword arguments (only ``--define`` uses them, to call IR operators).
    The hash is kept, since trees are shared and compared often.
    """

    function: str
    args: tuple[Expr, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.function, self.args, self.attributes)))

    def __eq__(self, other: object) -> bool:
        """Compare part by part, those that are shared once: written out, trees may be endless."""
        if self is other:
            return True
        if not isinstance(other, Call) or not self._like(other):
            return False
        stack = self._apart(other)
        equal: set[tuple[int, int]] = set()
        while stack:
            a, b = stack.pop()
            if not isinstance(a, Call) or not isinstance(b, Call):
                if isinstance(a, Call) or isinstance(b, Call) or a != b:
                    return False
            elif (id(a), id(b)) not in equal:
                equal.add((id(a), id(b)))
                if not a._like(b):
                    return False
                stack += a._apart(b)
        return True

    def __hash__(self) -> int:
        return self._hash

    def _like(self, other: Call) -> bool:
        """Whether two calls are equal but perhaps for parts of their arguments."""
        return (
            self._hash == other._hash
            and self.function == other.function
            and len(self.args) == len(other.args)
            and self.attributes == other.attributes
        )

    def _apart(self, other: Call) -> list[tuple[Expr, Expr]]:
        """Return the arguments of two calls that are not the same objects."""
        return [(a, b) for a, b in zip(self.args, other.args, strict=True) if a is not b]

    def __str__(self) -> str:
        return to_text(self)


Expr = Num | Var | Call
if TYPE_CHECKING:
    Compute = Callable[[Expr, Mapping[str, Any]], Any]  # such as ``evaluation.evaluate``


def literal(value: float) -> Num | Extent:
    """Return a number as an expression, also where it is a size that the build leaves open."""
    return Extent(f"${value!r}", value) if is_open(value) else Num(float(value))


_INFIX = {"add": (1, " + "), "sub": (1, " - "), "mul": (2, " * "), "div": (2, " / ")}
_COMPARE = {"lt": " < ", "le": " <= ", "eq": " == "}


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same float: 3, 0.1, 1e-05, inf."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        negative_zero = value == 0 and math.copysign(1, value) < 0
        return "-0.0" if negative_zero else str(int(value))
    return repr(float(value))


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value_text, value))}]"
    if isinstance(value, Var):
        return value.name
    return number_text(value)


def to_text(expr: Expr, parent: int = 0) -> str:
    """Return the text that ``formula_parser.parse`` reads back as the same tree."""
    if isinstance(expr, Num):
        if expr.value < 0 or (expr.value == 0 and math.copysign(1, expr.value) < 0):
            return f"({number_text(expr.value)})" if parent else number_text(expr.value)
        return number_text(expr.value)
    if isinstance(expr, Var):
        return expr.name
    f, args = expr.function, expr.args
    if f in _INFIX:
        level, sign = _INFIX[f]
        text = to_text(args[0], level) + sign + to_text(args[1], level + 1)
        return f"({text})" if parent > level else text
    if f in _COMPARE:
        text = to_text(args[0], 1) + _COMPARE[f] + to_text(args[1], 1)
        return f"({text})" if parent > 0 else text
    if f == "neg" and not isinstance(args[0], Num):  # -3 reads back as a literal
        text = "-" + to_text(args[0], 3)
        return f"({text})" if parent > 1 else text
    keywords = [f"{k}={_value_text(v)}" for k, v in expr.attributes]
    return f"{f}({', '.join([*map(to_text, args), *keywords])})"


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield every distinct subexpression once, operands before what uses them."""
    seen: set[Expr] = set()
    entered: list[Call] = []
    stack: list[Expr | None] = [expr]  # None ends the arguments of the call entered last
    while stack:
        e = stack.pop()
        if e is None:
            yield entered.pop()
        elif e not in seen:
            seen.add(e)
            if isinstance(e, Call):
                entered.append(e)
                stack.append(None)
                stack.extend(reversed(e.args))
            else:
                yield e


def sizes(expr: Expr) -> tuple[int, int]:
    """Return how many different parts an expression has, and how many when it is written out."""
    written: dict[Expr, int] = {}
    for e in walk(expr):
        written[e] = 1 + sum(map(written.__getitem__, e.args)) if isinstance(e, Call) else 1
    return len(written), written[expr]


@lru_cache(maxsize=4096)
def variables(expr: Expr) -> tuple[str, ...]:
    """Return the names of the free variables, in order of first use."""
    return tuple(e.name for e in walk(expr) if isinstance(e, Var))


def transform(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """Rebuild the tree with ``leaf`` applied to every Num and Var; what stays as it is is kept."""
    memo: dict[Expr, Expr] = {}
    for e in walk(expr):
        if isinstance(e, Call):
            args = tuple(memo[a] for a in e.args)
            same = all(map(operator.is_, args, e.args))
            memo[e] = e if same else Call(e.function, args, e.attributes)
        else:
            memo[e] = leaf(e)
    return memo[expr]


def replace_parts(expr: Expr, bindings: Mapping[Expr, Expr]) -> Expr:
    """Replace whole subexpressions, the outermost first."""
    if expr in bindings:
        return bindings[expr]
    if not isinstance(expr, Call):
        return expr
    args = tuple(replace_parts(a, bindings) for a in expr.args)
    return Call(expr.function, args, expr.attributes)


def substitute(expr: Expr, bindings: Mapping[str, Expr]) -> Expr:
    """Replace variables by expressions, all at once."""
    return transform(expr, lambda e: bindings.get(e.name, e) if isinstance(e, Var) else e)
