"""The expression language: element-wise mathematics as data.

One formula gives the numpy reference (:func:`evaluate`), the text (:func:`to_text`), and in
``backends.glsl`` the shader code. Fusing is :func:`substitute`. Truth is 1.0 and falsehood 0.0.

    silu(x) = x * sigmoid(x)
    hard_sigmoid(x, alpha=0.2, beta=0.5) = clamp(alpha * x + beta, 0, 1)

An expression is a tree of :class:`Num`, :class:`Var` and :class:`Call`. A call names a primitive
(``PRIMITIVES``) or a formula of the library (``ir.formulas``). The same trees, read with integer
operands, are the index maps of data movement (``ir.indexing``); ``idiv`` and ``imod`` exist for
those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, VisitError

from ..errors import ShadergenError, did_you_mean
from .size import is_open

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import ArrayLike

    from .size import Size


@dataclass(frozen=True, slots=True, eq=False)
class Num:
    """A literal. 0 and -0 differ: what divides by them tells."""

    value: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Num) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[float, float]:
        return self.value, math.copysign(1.0, self.value)

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True)
class Var:
    """A free variable: an operand, a parameter, or a coordinate."""

    name: str

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True)
class Extent(Var):
    """A size that the build leaves open, as a number in an expression; ``name`` is its text.

    It is free like a variable, and bound to a uniform where a shader is written.
    """

    size: Size


@dataclass(frozen=True, slots=True)
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

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return to_text(self)


Expr = Num | Var | Call
if TYPE_CHECKING:
    Compute = Callable[[Expr, Mapping[str, Any]], Any]  # such as :func:`evaluate`


def literal(value: float) -> Num | Extent:
    """Return a number as an expression, also where it is a size that the build leaves open."""
    return Extent(f"${value!r}", value) if is_open(value) else Num(float(value))


@dataclass(frozen=True)
class Primitive:
    """An elementary function: its arity and its meaning in numpy."""

    arity: int
    numpy: Callable[..., Any]


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    def as_number(*args: ArrayLike) -> Any:
        dtype = np.result_type(*args)  # of literals alone it is float64, as all else computes
        return np.asarray(function(*args)).astype(dtype if dtype.kind == "f" else np.float64)

    return as_number


def _bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of whole numbers in two's complement, of 32 bits on the GPU."""

    def of_whole(*args: ArrayLike) -> Any:
        dtype = np.result_type(*args)
        result = function(*(np.asarray(a).astype(np.int64) for a in args))
        return result.astype(dtype if dtype.kind == "f" else np.float64)

    return of_whole


def _binade(x: ArrayLike) -> Any:
    """Return the largest power of 2 up to abs(x); infinity for infinity and NaN."""
    x = np.abs(x)
    _, exponent = np.frexp(x)
    power = np.ldexp(np.ones_like(x, np.result_type(x, np.float32)), exponent - 1)
    return np.where(np.isfinite(x), np.where(x < SMALLEST_NORMAL, 0, power), np.inf)


SMALLEST_NORMAL = 2.0**-126  # of float32
PRIMITIVES: dict[str, Primitive] = {
    "add": Primitive(2, np.add),
    "sub": Primitive(2, np.subtract),
    "mul": Primitive(2, np.multiply),
    "div": Primitive(2, np.divide),
    "neg": Primitive(1, np.negative),
    "pow": Primitive(2, np.power),
    "min": Primitive(2, np.minimum),
    "max": Primitive(2, np.maximum),
    "abs": Primitive(1, np.abs),
    "sign": Primitive(1, np.sign),
    "floor": Primitive(1, np.floor),
    "ceil": Primitive(1, np.ceil),
    "trunc": Primitive(1, np.trunc),
    "round_even": Primitive(1, np.round),
    "sqrt": Primitive(1, np.sqrt),
    "exp": Primitive(1, np.exp),
    "log": Primitive(1, np.log),
    "sin": Primitive(1, np.sin),
    "cos": Primitive(1, np.cos),
    "tan": Primitive(1, np.tan),
    "asin": Primitive(1, np.arcsin),
    "acos": Primitive(1, np.arccos),
    "atan": Primitive(1, np.arctan),
    "tanh": Primitive(1, np.tanh),
    "lt": Primitive(2, _truth(np.less)),
    "le": Primitive(2, _truth(np.less_equal)),
    "eq": Primitive(2, _truth(np.equal)),
    "where": Primitive(3, lambda c, a, b: np.where(np.asarray(c) != 0, a, b)),
    "is_nan": Primitive(1, _truth(np.isnan)),
    "is_inf": Primitive(1, _truth(np.isinf)),
    "binade": Primitive(1, _binade),
    "bit_and": Primitive(2, _bits(np.bitwise_and)),
    "bit_or": Primitive(2, _bits(np.bitwise_or)),
    "bit_xor": Primitive(2, _bits(np.bitwise_xor)),
    "shift_left": Primitive(2, _bits(np.left_shift)),
    "shift_right": Primitive(2, _bits(np.right_shift)),
    "idiv": Primitive(2, np.floor_divide),
    "imod": Primitive(2, np.mod),
}

MAX_DEPTH = 150  # of a parse tree: everything below walks expressions recursively
INTEGER_FUNCTIONS = frozenset({"idiv", "imod"})  # of index maps alone
FLOAT_FUNCTIONS = tuple(name for name in PRIMITIVES if name not in INTEGER_FUNCTIONS)

GRAMMAR = r"""
    start: definition*
    definition: name "(" [parameter ("," parameter)*] ")" "=" expr
    parameter: NAME ["=" value]
    name: NAME | STRING
    ?expr: sum
         | sum "<" sum   -> lt
         | sum "<=" sum  -> le
         | sum ">" sum   -> gt
         | sum ">=" sum  -> ge
         | sum "==" sum  -> eq
    ?sum: product
        | sum "+" product -> add
        | sum "-" product -> sub
    ?product: unary
        | product "*" unary -> mul
        | product "/" unary -> div
    ?unary: atom
        | "-" unary -> neg
    ?atom: NUMBER -> number
        | NAME -> variable
        | NAME "(" [argument ("," argument)*] ")" -> call
        | "(" expr ")"
    ?argument: expr | NAME "=" value -> keyword
    value: SIGNED_NUMBER -> number_value
        | STRING -> string_value
        | "[" [value ("," value)*] "]" -> list_value
        | NAME -> name_value
    NAME: /[A-Za-z_][A-Za-z0-9_]*/
    STRING: /"[^"\n]*"/
    NUMBER: /(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?|inf\b/
    SIGNED_NUMBER: /[+-]?((\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?|inf\b)/
    %import common.WS
    %ignore WS
    %ignore /#[^\n]*/
"""


@dataclass(frozen=True)
class Definition:
    """``name(parameters) = body``; a parameter without default has the value None."""

    name: str
    parameters: tuple[tuple[str, Any], ...]
    body: Expr

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(name for name, default in self.parameters if default is None)


@dataclass(frozen=True)
class _Keyword:
    name: str
    value: Any


class _Builder(Transformer):  # type: ignore[type-arg]
    """Turns a parse tree into expressions and definitions."""

    def start(self, items: list[Any]) -> Any:
        return items

    def name(self, items: list[Token]) -> str:
        return str(items[0]).strip('"')

    def parameter(self, items: list[Any]) -> tuple[str, Any]:
        return str(items[0]), items[1]

    def definition(self, items: list[Any]) -> Definition:
        name, *parameters, body = items
        return Definition(name, tuple(p for p in parameters if p is not None), body)

    def number(self, items: list[Token]) -> Expr:
        return Num(float(items[0]))

    def variable(self, items: list[Token]) -> Expr:
        return Var(str(items[0]))

    def keyword(self, items: list[Any]) -> _Keyword:
        return _Keyword(str(items[0]), items[1])

    def number_value(self, items: list[Token]) -> float | int:
        text = str(items[0])
        return int(text) if text.lstrip("+-").isdigit() else float(text)

    def string_value(self, items: list[Token]) -> str:
        return str(items[0])[1:-1]

    def name_value(self, items: list[Token]) -> Var:
        return Var(str(items[0]))

    def list_value(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(i for i in items if i is not None)

    def call(self, items: list[Any]) -> Expr:
        function, *arguments = items
        args = tuple(a for a in arguments if a is not None and not isinstance(a, _Keyword))
        keywords = tuple((a.name, a.value) for a in arguments if isinstance(a, _Keyword))
        return Call(str(function), args, keywords)

    def gt(self, items: list[Expr]) -> Expr:
        return Call("lt", (items[1], items[0]))

    def ge(self, items: list[Expr]) -> Expr:
        return Call("le", (items[1], items[0]))

    def neg(self, items: list[Expr]) -> Expr:
        (x,) = items
        return Num(-x.value) if isinstance(x, Num) else Call("neg", (x,))

    def __default__(self, data: Any, children: list[Any], meta: Any) -> Any:
        return Call(str(data), tuple(children))


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", start=["start", "expr"], maybe_placeholders=True)


def _depth(tree: Any) -> int:
    """Return the depth of a parse tree, without recursion."""
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [child for t in level for child in getattr(t, "children", ())]
    return deepest


def _parse(text: str, start: str, origin: str) -> Any:
    try:
        tree = _parser().parse(text, start=start)
        if _depth(tree) > MAX_DEPTH:
            raise ShadergenError("SG0302", "a formula is nested too deeply", where=origin)
        return _Builder().transform(tree)
    except UnexpectedInput as error:
        if isinstance(error, UnexpectedEOF):
            found = "end of the text"
        elif isinstance(error, UnexpectedCharacters):
            found = f"'{error.char}'"
        else:
            found = f"'{getattr(error, 'token', '')}'"
        if found == "''":  # lark's end-of-text token
            found = "end of the text"
        lines = text.split("\n")
        line = lines[error.line - 1] if 0 < error.line <= len(lines) else ""
        raise ShadergenError(
            "SG0302",
            f"unexpected {found} in a formula",
            where=f"{origin}, line {max(error.line, 1)}" if origin else (),
            why=line.strip(),
            help="a definition reads: name(x, alpha=0.1) = max(x, 0) + alpha * min(x, 0)",
        ) from None
    except VisitError as error:
        raise ShadergenError("SG0302", f"invalid formula: {error.orig_exc}", where=origin) from None


@lru_cache(maxsize=4096)
def parse(text: str) -> Expr:
    """Parse one expression.

    Raises:
        ShadergenError: SG0302 when the text is not an expression.
    """
    return _parse(text, "expr", "")  # type: ignore[no-any-return]


def parse_definitions(text: str, origin: str = "") -> dict[str, Definition]:
    """Parse ``name(parameters) = expression`` definitions, any number, ``#`` comments allowed.

    Raises:
        ShadergenError: SG0302 when the text does not parse or a name is defined twice.
    """
    definitions: dict[str, Definition] = {}
    for definition in _parse(text, "start", origin):
        if definition.name in definitions:
            raise ShadergenError("SG0302", f"'{definition.name}' is defined twice", where=origin)
        _check_parameters(definition, origin)
        definitions[definition.name] = definition
    return definitions


def _check_parameters(definition: Definition, origin: str) -> None:
    where = (origin, f"definition of {definition.name}") if origin else definition.name
    names = [name for name, _ in definition.parameters]
    for name, default in definition.parameters:
        if names.count(name) > 1:
            raise ShadergenError("SG0302", f"two parameters are called '{name}'", where=where)
        if isinstance(default, Var):
            raise ShadergenError(
                "SG0302",
                f"the default of '{name}' is the name {default.name}",
                where=where,
                supported="a number, a string in quotes, or a list of them",
            )


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
    """Return the text that :func:`parse` reads back as the same tree."""
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

    def visit(e: Expr) -> Iterator[Expr]:
        if e in seen:
            return
        seen.add(e)
        if isinstance(e, Call):
            for a in e.args:
                yield from visit(a)
        yield e

    yield from visit(expr)


def tree_size(expr: Expr) -> int:
    """Return the number of nodes of the expression written out, shared parts counted each time."""
    sizes: dict[Expr, int] = {}
    for e in walk(expr):
        sizes[e] = 1 + sum(sizes[a] for a in e.args) if isinstance(e, Call) else 1
    return sizes[expr]


def variables(expr: Expr) -> tuple[str, ...]:
    """Return the names of the free variables, in order of first use."""
    return tuple(e.name for e in walk(expr) if isinstance(e, Var))


def transform(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """Rebuild the tree with ``leaf`` applied to every Num and Var, sharing kept."""
    memo: dict[Expr, Expr] = {}

    def visit(e: Expr) -> Expr:
        if e not in memo:
            if isinstance(e, Call):
                memo[e] = Call(e.function, tuple(map(visit, e.args)), e.attributes)
            else:
                memo[e] = leaf(e)
        return memo[e]

    return visit(expr)


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


def library() -> Mapping[str, Definition]:
    """Return the formula library (``ir.formulas``)."""
    from .formulas import FORMULAS

    return FORMULAS


def bind(definition: Definition, args: tuple[Expr, ...]) -> dict[str, Expr]:
    """Match call arguments with a formula's parameters, defaults filled in.

    Raises:
        ShadergenError: SG0303 for too few or too many arguments.
    """
    required = len(definition.required)
    if not required <= len(args) <= len(definition.parameters):
        raise ShadergenError(
            "SG0303",
            f"{definition.name}() takes {required} to {len(definition.parameters)} arguments, "
            f"not {len(args)}",
        )
    bound = dict(zip((name for name, _ in definition.parameters), args, strict=False))
    for name, default in definition.parameters[len(args) :]:
        bound[name] = Num(float(default))
    return bound


def check(expr: Expr) -> None:
    """Verify that every call names a primitive or a formula and has the right arity.

    Raises:
        ShadergenError: SG0303 naming the function, with the nearest known one.
    """
    for e in walk(expr):
        if not isinstance(e, Call):
            continue
        if e.function in FLOAT_FUNCTIONS:
            if len(e.args) != PRIMITIVES[e.function].arity:
                raise ShadergenError(
                    "SG0303",
                    f"{e.function}() takes {PRIMITIVES[e.function].arity} arguments, "
                    f"not {len(e.args)}",
                )
        elif e.function in library():
            bind(library()[e.function], e.args)
        else:
            raise ShadergenError(
                "SG0303",
                f"no function is called '{e.function}'",
                help=did_you_mean(e.function, [*FLOAT_FUNCTIONS, *library()])
                or "the functions are listed in docs/expressions.md",
            )


@lru_cache(maxsize=4096)
def expand(expr: Expr) -> Expr:
    """Replace formula calls by their bodies until only primitives remain."""
    memo: dict[Expr, Expr] = {}
    for e in walk(expr):
        if not isinstance(e, Call):
            memo[e] = e
            continue
        args = tuple(memo[a] for a in e.args)
        if e.function in PRIMITIVES:
            memo[e] = Call(e.function, args)
        else:
            definition = library()[e.function]
            memo[e] = expand(substitute(definition.body, bind(definition, args)))
    return memo[expr]


def evaluate(
    expr: Expr,
    env: Mapping[str, ArrayLike],
    held: Callable[[Any], Any] = lambda number: number,
) -> Any:
    """Compute with numpy, broadcasting. Overflow and invalid operations follow IEEE silently.

    Args:
        expr: any formula.
        env: its variables.
        held: what becomes of every operand and every number computed on the way.
    """
    values: dict[Expr, Any] = {}
    with np.errstate(all="ignore"):
        for e in walk(expand(expr)):
            if isinstance(e, Num):
                values[e] = e.value
            elif isinstance(e, Var):
                values[e] = held(env[e.name])
            else:
                values[e] = held(PRIMITIVES[e.function].numpy(*(values[a] for a in e.args)))
    return values[expand(expr)]


def fold(expr: Expr) -> Expr:
    """Compute calls whose arguments are all literals, and drop ``x + 0``, ``x * 1`` and the like.

    ``x * 0`` stays: it is not 0 when x is infinite or NaN. ``tanh(softplus(x))``, as exporters
    spell Mish, becomes the quotient that it is: GPUs' tanh of small numbers has few digits.
    """
    memo: dict[Expr, Expr] = {}
    for e in walk(expr):
        if not isinstance(e, Call):
            memo[e] = e
            continue
        args = tuple(memo[a] for a in e.args)
        memo[e] = _fold_call(Call(e.function, args, e.attributes))
    return memo[expr]


def _fold_call(call: Call) -> Expr:
    if call.args and all(isinstance(a, Num) for a in call.args):
        value = float(evaluate(call, {}))
        if math.isfinite(value):
            return Num(value)
    inner = call.args[0] if call.args else None
    if call.function == "tanh" and isinstance(inner, Call) and inner.function == "softplus":
        size = Call("abs", inner.args)
        return Call("mish_gate", (*inner.args, Call("exp", (Call("neg", (size,)),))))
    if len(call.args) == 2:
        left, right = call.args
        if call.function in ("add", "sub") and right == Num(0.0):
            return left
        if call.function == "add" and left == Num(0.0):
            return right
        if call.function in ("mul", "div", "idiv") and right == Num(1.0):
            return left
        if call.function == "mul" and left == Num(1.0):
            return right
        if call.function == "min" and right == Num(math.inf):
            return left
        if call.function == "max" and right == Num(-math.inf):
            return left
    return call


def affine(expr: Expr, variable: str) -> tuple[Expr, Expr] | None:
    """Return (a, b) with ``expr = a * variable + b``, or None when it is not affine in it."""
    zero, one = Num(0.0), Num(1.0)
    memo: dict[Expr, tuple[Expr, Expr] | None] = {}
    free: set[Expr] = set()  # of the variable; x - x is not, though its slope is 0
    expr = expand(expr)
    for e in walk(expr):
        memo[e] = None
        args = e.args if isinstance(e, Call) else ()
        if e == Var(variable):
            memo[e] = (one, zero)
        elif all(a in free for a in args):
            free.add(e)
            memo[e] = (zero, e)
        elif isinstance(e, Call):
            lines = [p for p in (memo[a] for a in args) if p is not None]
            if len(lines) < len(args):
                continue
            if e.function in ("add", "sub", "neg"):
                slope, offset = zip(*lines, strict=True)
                memo[e] = (Call(e.function, slope), Call(e.function, offset))
            elif e.function in ("mul", "div") and args[1] in free:
                a, b = lines[0]
                memo[e] = (Call(e.function, (a, args[1])), Call(e.function, (b, args[1])))
            elif e.function == "mul" and args[0] in free:
                a, b = lines[1]
                memo[e] = (Call("mul", (a, args[0])), Call("mul", (b, args[0])))
    found = memo[expr]
    return None if found is None else (fold(found[0]), fold(found[1]))
