"""Formulas and index maps of the graph (``ir.expr``) as expressions of a shader program."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.algebra import fold, shift
from ...ir.evaluation import bind
from ...ir.expr import Call, Expr, Num, Var, walk
from ...ir.formulas import FORMULAS
from .constructors import all_of, construct, filled, integer, intrinsic
from .expressions import Conditional, Construct, Expression, Negative, Number, Variable, binary
from .program import Function
from .statements import Body
from .types import BOOL, FLOAT, INT, UINT, VEC4, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...ir.graph import Precision
    from .operations import Operator

    Names = Mapping[str, Expression]

# What each precision's exponential can take: beyond, tanh is 1 to the last bit anyway.
TANH_MOST: dict[Precision, float] = {"highp": 10.0, "mediump": 5.0}
INFINITE = 0x7F800000  # the bits of a float's exponent
HIGH_BITS = 0xFFFFF000  # its sign, its exponent and the first 12 bits of its significand


def _test(name: str) -> Callable[[Expression, Expression], Expression]:
    return lambda a, b: construct(a.type, _compared(name, a, b))


def _compared(name: str, a: Expression, b: Expression) -> Expression:
    """Return a bool of two floats, or a bvec4 of two vectors."""
    function, operator = COMPARISONS[name]
    return binary(operator, a, b) if a.type == FLOAT else intrinsic(function, a, b)


def _of_bits(name: str) -> Callable[[Expression, Expression], Expression]:
    def made(a: Expression, b: Expression) -> Expression:
        kind = Type("int", a.type.lanes)
        return construct(a.type, binary(name, construct(kind, a), construct(kind, b)))  # type: ignore[arg-type]

    return made


def _bits(x: Expression, mask: int) -> Expression:
    return binary("&", intrinsic("float_bits", x), Number(mask, UINT))


def _classified(name: str) -> Callable[[Expression], Expression]:
    """By its bits: what languages have to ask whether a number is NaN may be false throughout."""

    def made(x: Expression) -> Expression:
        bits = _bits(x, 0x7FFFFFFF)
        return construct(x.type, intrinsic(name, bits, filled(INFINITE, bits.type)))

    return made


def _arc(x: Expression, swapped: bool) -> Expression:
    """Drivers' own asin and acos are good to three digits only."""
    other = intrinsic("sqrt", (1.0 - x) * (1.0 + x))
    return intrinsic("atan2", other, x) if swapped else intrinsic("atan2", x, other)


def _same(name: str) -> Callable[..., Expression]:
    return lambda *arguments: intrinsic(name, *arguments)


# The function of vectors and the operator of scalars.
COMPARISONS: dict[str, tuple[str, Operator]] = {
    "lt": ("less", "<"),
    "le": ("less_equal", "<="),
    "eq": ("equal", "=="),
}
# How each primitive is written.
SAME = (
    *("abs", "sign", "floor", "ceil", "trunc", "round_even", "sqrt", "exp", "log"),
    *("sin", "cos", "tan", "atan", "min", "max"),
)
PRIMITIVE: dict[str, Callable[..., Expression]] = {
    **{name: _same(name) for name in SAME},
    "asin": lambda x: _arc(x, swapped=False),
    "acos": lambda x: _arc(x, swapped=True),
    "lt": _test("lt"),
    "le": _test("le"),
    "eq": _test("eq"),
    "is_nan": _classified("greater"),
    "is_inf": _classified("equal"),
    "binade": lambda x: intrinsic("from_bits", _bits(x, INFINITE)),
    "high_part": lambda x: intrinsic("from_bits", _bits(x, HIGH_BITS)),
    "bit_and": _of_bits("&"),
    "bit_or": _of_bits("|"),
    "bit_xor": _of_bits("^"),
    "shift_left": _of_bits("<<"),
    "shift_right": _of_bits(">>"),
}
DEEPEST = 12  # calls within calls, in one line
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
# What is computed in float where its operands are floats.
SCALAR = {*SAME, "asin", "acos", *INFIX, "neg", "tanh", *COMPARISONS, "where"}


def is_scalar(expr: Expr) -> bool:
    """Whether an expression of floats is computed in float."""
    calls = (e.function for e in walk(fold(expr)) if isinstance(e, Call))
    return all(name in SCALAR or _is_inline(name) for name in calls)


@cache
def _is_inline(name: str) -> bool:
    """Whether a library formula of floats is written out: each parameter stands in it once."""
    if name not in FORMULAS:
        return False
    body = FORMULAS[name].body
    uses = operand_counts(body)
    once = all(uses[e] == 1 for e in walk(body) if isinstance(e, Var))
    return once and is_scalar(body)


def _shared(operands: list[Expression], type: Type) -> Type:
    """Return the type that operands are computed in: of floats float, of numbers alone ``type``."""
    types = {a.type for a in operands if not isinstance(a, Number)}
    return (VEC4 if VEC4 in types else FLOAT) if types else type


def widened(value: Expression, type: Type) -> Expression:
    """Return a value of a type, which one of fewer lanes fills."""
    value = filled(value, type)
    if value.type.lanes == type.lanes:
        return value
    number = _as_int(value)
    return construct(type, value if number is None else number)


def _as_int(value: Expression) -> Expression | None:
    """Return the int that a float is made of, None of others."""
    if isinstance(value, Number) and math.isfinite(value.value) and value.value % 1 == 0:
        return integer(int(value.value))
    if isinstance(value, Construct) and value.type == FLOAT and value.parts[0].type == INT:
        return value.parts[0]
    return None


@lru_cache(maxsize=4096)
def operand_counts(expr: Expr) -> Counter[Expr]:
    """Return how often each part of an expression is an operand in it."""
    return Counter(a for e in walk(expr) if isinstance(e, Call) for a in e.args)


@dataclass
class Formulas:
    """Translates formulas; library formulas become functions of the program, one each."""

    precision: Precision
    functions: dict[str, Function] = field(default_factory=dict)

    def function(self, name: str, expr: Expr, parameters: Mapping[str, str]) -> Function:
        """Return a function of vec4 that gives a formula, the same one for the same name.

        ``parameters`` has what each variable is called.
        """
        if name not in self.functions:
            variables = {key: Variable(called, VEC4) for key, called in parameters.items()}
            body = Body()
            body.give(self.compute(body, expr, variables))
            made = Function(name, tuple(variables.values()), VEC4, body.statements)
            self.functions[name] = made
        return self.functions[name]

    def compute(
        self, body: Body, expr: Expr, names: Names, prefix: str = "t", type: Type = VEC4
    ) -> Expression:
        """Return a formula as an expression of ``type``; declare variables for some of its parts.

        These are parts that occur twice, and parts of lines that would nest ``DEEPEST`` calls. The
        names begin with ``prefix``. ``names`` gives the value of each variable of the formula, a
        vec4 or a float. Parts of floats alone are computed as floats where functions allow it.
        """
        expr = fold(expr)
        uses = operand_counts(expr)
        known: dict[Expr, Expression] = {}
        depths: dict[Expr, int] = {}
        for e in walk(expr):
            if not isinstance(e, Call):
                continue
            depths[e] = 1 + max((depths.get(a, 0) for a in e.args), default=0)
            if uses[e] > 1 or (depths[e] >= DEEPEST and e is not expr):
                value = filled(self._value(e, names, known, type), type)
                known[e] = body.let(f"{prefix}{len(known)}", value)
                depths[e] = 0
        return widened(self._value(expr, names, known, type), type)

    def expression(self, expr: Expr, names: Names, type: Type = VEC4) -> Expression:
        """Return an expression, whatever occurs twice in it."""
        return widened(self._value(fold(expr), names, {}, type), type)

    def _value(
        self, e: Expr, names: Names, known: Mapping[Expr, Expression], type: Type
    ) -> Expression:
        """Return an expression, of a number a scalar."""
        if e in known:
            return known[e]
        if isinstance(e, Num):
            return Number(e.value, FLOAT)
        if isinstance(e, Var):
            return names[e.name]
        if e.function == "where":
            return self._where(e, names, known, type)
        arguments = [self._value(a, names, known, type) for a in e.args]
        if e.function in INFIX:
            a, b = arguments
            if isinstance(a, Number) and isinstance(b, Number):  # not finite: for the GPU
                a = filled(a, type)
            return binary(INFIX[e.function], a, b)  # type: ignore[arg-type]
        if e.function == "neg":
            return Negative(arguments[0])
        shared = _shared(arguments, type)
        if shared == FLOAT and _is_inline(e.function):
            return self._value(FORMULAS[e.function].body, self._bound(e, arguments), {}, FLOAT)
        if e.function not in SCALAR:
            shared = VEC4
        arguments = [widened(a, shared) for a in arguments]
        if e.function == "tanh":
            # By one exponential; GPUs' own takes two. Their division may give more than 1. Numbers
            # from 0 to 1 are clamped to it at no cost by many GPUs.
            limited = intrinsic("min", arguments[0], TANH_MOST[self.precision])
            power = intrinsic("exp", 2.0 * limited)
            return 1.0 - 2.0 * intrinsic("min", 1.0 / (power + 1.0), 1.0)
        if e.function == "pow":
            return self._power(e, arguments)
        if e.function in PRIMITIVE:
            return PRIMITIVE[e.function](*arguments)
        return self._formula(e, arguments)

    def _where(
        self, e: Call, names: Names, known: Mapping[Expr, Expression], type: Type
    ) -> Expression:
        """Return one of two values by a condition: of a float for all lanes, else lane by lane."""
        then, otherwise = (self._value(a, names, known, type) for a in e.args[1:])
        shared = _shared([then, otherwise], type)
        test = None if e.args[0] in known else self._test(e.args[0], names, known, type)
        if test is None:
            condition = self._value(e.args[0], names, known, type)
            condition = filled(condition, type)
            zero = filled(0.0, condition.type)
            if condition.type == FLOAT:
                test, then, otherwise = condition.equals(zero), otherwise, then
            else:
                test = intrinsic("not_equal", condition, zero)
        if test.type == BOOL:
            return Conditional(test, widened(then, shared), widened(otherwise, shared))
        return intrinsic("select", widened(otherwise, VEC4), widened(then, VEC4), test)

    def _test(
        self, e: Expr, names: Names, known: Mapping[Expr, Expression], type: Type
    ) -> Expression | None:
        """Return a condition as a bool or a bvec4, or None if it is no comparison."""
        if not isinstance(e, Call):
            return None
        if e.function in COMPARISONS:
            operands = [self._value(a, names, known, type) for a in e.args]
            left, right = map(_as_int, operands)
            if left is not None and right is not None:
                return binary(COMPARISONS[e.function][1], left, right)
            shared = _shared(operands, type)
            return _compared(e.function, *(widened(a, shared) for a in operands))
        if e.function != "mul":
            return None
        tests = [self._test(a, names, known, type) for a in e.args]
        scalars = [test for test in tests if test is not None and test.type == BOOL]
        return all_of(scalars) if len(scalars) == len(tests) else None

    def _power(self, e: Call, arguments: list[Expression]) -> Expression:
        exponent = e.args[1]
        if isinstance(exponent, Num) and exponent.value == 0.5:
            return intrinsic("sqrt", arguments[0])
        x = Variable("x", VEC4)
        if isinstance(exponent, Num) and exponent.value in (2.0, 3.0):
            name, product = ("squared", x * x) if exponent.value == 2.0 else ("cubed", x * x * x)
            return self._defined(name, (x,), product)(arguments[0])
        if "power" not in self.functions:
            self.functions["power"] = _power_function()
        return self.functions["power"](*arguments)

    def _bound(self, e: Call, arguments: list[Expression]) -> dict[str, Expression]:
        """Return the parameters of a library formula of floats by name."""
        definition = FORMULAS[e.function]
        defaults = bind(definition, e.args)
        values = dict(zip((p for p, _ in definition.parameters), arguments, strict=False))
        return {
            p: values[p] if p in values else self.expression(defaults[p], {}, FLOAT)
            for p, _ in definition.parameters
        }

    def _defined(self, name: str, parameters: tuple[Variable, ...], value: Expression) -> Function:
        if name not in self.functions:
            body = Body()
            body.give(value)
            self.functions[name] = Function(name, parameters, VEC4, body.statements)
        return self.functions[name]

    def _formula(self, e: Call, arguments: list[Expression]) -> Expression:
        """Return a library formula applied; parameters that are left out have their defaults."""
        definition = FORMULAS[e.function]
        arguments = [widened(a, VEC4) for a in arguments]
        defaults = bind(definition, e.args)
        rest = [name for name, _ in definition.parameters[len(arguments) :]]
        # No built-in function of a shading language and no name of a kernel begins so.
        called = {p: f"{p}_" for p, _ in definition.parameters}
        function = self.function(f"f_{e.function}", definition.body, called)
        return function(*arguments, *(self.expression(defaults[name], {}) for name in rest))


def _power_function() -> Function:
    """Return x to the power y, where languages leave x < 0 and x = 0 >= y undefined."""
    x, y = Variable("x", VEC4), Variable("y", VEC4)
    zero = filled(0.0, VEC4)
    body = Body()
    body.comment(
        "The function pow is undefined for x < 0, even if y is whole, and for x = 0 with y <= 0."
    )
    size = body.let("size", intrinsic("pow", intrinsic("abs", x), y))
    at_zero = construct(VEC4, intrinsic("equal", x, zero)) * intrinsic("max", -y, 0.0)
    over = intrinsic("not_equal", at_zero, zero)
    body.assign(size, intrinsic("select", size, 1.0 / intrinsic("abs", x), over))
    body.assign(size, intrinsic("select", size, 1.0, intrinsic("equal", y, zero)))
    half = 0.5 * y
    odd = intrinsic("not_equal", intrinsic("floor", half), half)
    signed = body.let("signed_size", intrinsic("select", size, -size, odd))
    whole = intrinsic("not_equal", intrinsic("floor", y), y)
    nothing = intrinsic("sqrt", -intrinsic("abs", y))
    below = body.let("below", intrinsic("select", signed, nothing, whole))
    body.give(intrinsic("select", size, below, intrinsic("less", x, zero)))
    return Function("power", (x, y), VEC4, body.statements)


def index(expr: Expr, names: Names) -> Expression:
    """Return an int expression of an index map; comparisons are bool."""
    return _index(fold(expr), names)


def _index(e: Expr, names: Names) -> Expression:
    if isinstance(e, Num):
        return integer(int(e.value))
    if isinstance(e, Var):
        return names[e.name]
    if e.function == "lt" and e.args[0] == Num(-1.0):  # i >= 0 reads better
        return _index(e.args[1], names) >= 0
    arguments = [_index(a, names) for a in e.args]
    if e.function in ("idiv", "imod") and (bits := shift(e.args[1])):
        return arguments[0] >> bits if e.function == "idiv" else arguments[0] & (2**bits - 1)
    if e.function in ("idiv", "imod") and isinstance(e.args[1], Num) and e.args[1].value > 0:
        return _divided(e.function, arguments[0], int(e.args[1].value))
    if e.function in INTEGER:
        return INTEGER[e.function](*arguments)
    if e.function == "max" or e.function == "min":
        inner = e.args[0]
        if e.function == "min" and isinstance(inner, Call) and inner.function == "max":
            bounds = [_index(a, names) for a in (*inner.args, e.args[1])]
            return intrinsic("clamp", *bounds)
        return intrinsic(e.function, *arguments)
    raise InternalError(f"no integer form of {e.function}")


def _divided(function: str, value: Expression, by: int) -> Expression:
    """Return the quotient or remainder of an int that is not negative and a constant.

    The division is one of uints. Compilers multiply and shift then; for ints, they add as many
    instructions for the sign.
    """
    unsigned, divisor = construct(UINT, value), Number(by, UINT)
    return construct(INT, unsigned // divisor if function == "idiv" else unsigned % divisor)


INTEGER: dict[str, Callable[..., Expression]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "idiv": lambda a, b: a // b,
    "imod": lambda a, b: a % b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a.equals(b),
    "where": lambda c, a, b: Conditional(c, a, b),
}
