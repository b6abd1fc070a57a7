"""The expression language: element-wise mathematics as data.

    silu(x) = x * sigmoid(x)
    hard_sigmoid(x, alpha=0.2, beta=0.5) = clamp(alpha * x + beta, 0, 1)

An expression is a tree of :class:`Num`, :class:`Var` and :class:`Call`. A call names a primitive
(:mod:`.primitives`) or a formula of the library (:mod:`.formulas`). The same trees, read with
integer operands, are the index maps of data movement (:mod:`.indexing`). Equal expressions are one
object (:mod:`.interning`): comparing and hashing them takes no time, however deep they are.

One formula gives the numpy reference (:mod:`.evaluation`), the text (:func:`to_text`, which
:mod:`.formula_parser` reads back), and the shader code (``backends.shader.formulas``). Formulas
are fused by :func:`substitute`.
"""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from ..records import dataclass
from .dimensions import is_dynamic
from .interning import Interned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .dimensions import SymbolicInt

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Num(metaclass=Interned):
    """A literal. 0 and -0 differ: what divides by them tells."""

    value: float

    @staticmethod
    def key(value: float) -> tuple[Any, ...]:
        return value, math.copysign(1.0, value)

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, eq=False)
class Var(metaclass=Interned):
    """A free variable: an operand, a parameter, or a coordinate."""

    name: str

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, eq=False)
class Extent(Var):
    """A dynamic dimension as a number in an expression; ``name`` is its text.

    It is free like a variable and becomes a uniform in the shader. Extents of two models differ
    even if their texts are equal, so that caches do not mix models.
    """

    size: SymbolicInt

    @staticmethod
    def key(name: str, size: SymbolicInt) -> tuple[Any, ...]:
        return name, size.environment


@dataclass(frozen=True, eq=False)
class Call(metaclass=Interned):
    """A primitive or a library formula applied to arguments.

    ``attributes`` holds keyword arguments (only ``--define`` uses them, to call IR operators).
    """

    function: str
    args: tuple[Expr, ...]
    attributes: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def key(
        function: str, args: tuple[Expr, ...], attributes: tuple[tuple[str, Any], ...] = ()
    ) -> tuple[Any, ...]:
        return function, args, attributes

    def __str__(self) -> str:
        return to_text(self)


Expr = Num | Var | Call
if TYPE_CHECKING:
    Compute = Callable[[Expr, Mapping[str, Any]], Any]  # such as ``evaluation.evaluate_formula``


def literal(value: float) -> Num | Extent:
    """Return a number, or a dynamic dimension, as an expression."""
    return Extent(f"${value!r}", value) if is_dynamic(value) else Num(float(value))


def named(operands: Sequence[T], prefix: str = "x") -> dict[str, T]:
    """Return operands by what formulas call them: x0, x1, ... or, beside a kernel, e0, e1, ..."""
    return {f"{prefix}{k}": operand for k, operand in enumerate(operands)}


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
    if not isinstance(expr, Call):
        return leaf(expr)
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
