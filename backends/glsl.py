"""GLSL ES text: numbers, names, comments, and expressions over vec4 or int."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import InternalError
from ..ir.algebra import fold, shift
from ..ir.evaluation import bind
from ..ir.expr import Call, Expr, Num, Var, walk
from ..ir.formulas import FORMULAS
from ..ir.primitives import PRIMITIVES
from ..ir.size import MARK

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..ir.graph import Precision

# What each precision's exponential can take: beyond, tanh is 1 to the last bit anyway.
TANH_RANGE: dict[Precision, float] = {"highp": 10.0, "mediump": 5.0}


def number(value: float) -> str:
    """Return a float literal that reads back as the same float32 and has a decimal point.

    Infinities, and what float32 rounds to one, have no literal and are written by their bits.

    Raises:
        InternalError: for NaN, which GLSL ES need not support.
    """
    if math.isnan(value):
        raise InternalError("NaN has no GLSL literal")
    return _number(abs(value)) if math.copysign(1, value) > 0 else f"-{_number(abs(value))}"


@lru_cache(maxsize=65536)
def _number(size: float) -> str:
    with np.errstate(over="ignore"):
        single = np.float32(size)
    if np.isinf(single):
        return "uintBitsToFloat(0x7F800000u)"
    if single == 0 or 1e-4 <= single < 1e7:
        return np.format_float_positional(single, trim="0")
    return np.format_float_scientific(single, trim="0", exp_digits=2)


def vec4(values: np.ndarray) -> str:
    """Return a vec4 constructor; one number stands for four equal ones."""
    texts = [number(float(v)) for v in values]
    return f"vec4({texts[0]})" if len(set(texts)) == 1 else f"vec4({', '.join(texts)})"


def comment(text: str) -> str:
    """Make any text safe inside a line comment."""
    return re.sub(r"[^\x20-\x7e]", "?", text.replace(MARK, "")).replace("\\", "/")


class Namer:
    """Hands out identifiers that are legal in GLSL, readable, and distinct."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def __call__(self, wish: str) -> str:
        base = re.sub(r"[^A-Za-z0-9]+", "_", wish).strip("_")[:48] or "value"
        if not base[0].isalpha() or base.startswith("gl_"):
            base = f"n_{base}"
        name, k = base, 1
        while name in self.taken:
            k += 1
            name = f"{base}_{k}"
        self.taken.add(name)
        return name


# How GLSL writes each primitive over vec4; {0}, {1}, ... are operands, each a vec4.
FLOAT: dict[str, str] = {
    "abs": "abs({0})",
    "sign": "sign({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "trunc": "trunc({0})",
    "round_even": "roundEven({0})",
    "sqrt": "sqrt({0})",
    "exp": "exp({0})",
    "log": "log({0})",
    "sin": "sin({0})",
    "cos": "cos({0})",
    "tan": "tan({0})",
    # Drivers' own asin and acos are good to three digits only.
    "asin": "atan({0}, sqrt((1.0 - {0}) * (1.0 + {0})))",
    "acos": "atan(sqrt((1.0 - {0}) * (1.0 + {0})), {0})",
    "atan": "atan({0})",
    "min": "min({0}, {1})",
    "max": "max({0}, {1})",
    "pow": "power({0}, {1})",
    "lt": "vec4(lessThan({0}, {1}))",
    "le": "vec4(lessThanEqual({0}, {1}))",
    "eq": "vec4(equal({0}, {1}))",
    "where": "mix({2}, {1}, notEqual({0}, vec4(0.0)))",
    # By their bits: isnan() and isinf() may be false throughout.
    "is_nan": "vec4(greaterThan(floatBitsToUint({0}) & 0x7FFFFFFFu, uvec4(0x7F800000u)))",
    "is_inf": "vec4(equal(floatBitsToUint({0}) & 0x7FFFFFFFu, uvec4(0x7F800000u)))",
    "binade": "uintBitsToFloat(floatBitsToUint({0}) & 0x7F800000u)",
    "bit_and": "vec4(ivec4({0}) & ivec4({1}))",
    "bit_or": "vec4(ivec4({0}) | ivec4({1}))",
    "bit_xor": "vec4(ivec4({0}) ^ ivec4({1}))",
    "shift_left": "vec4(ivec4({0}) << ivec4({1}))",
    "shift_right": "vec4(ivec4({0}) >> ivec4({1}))",
}
INFIX: dict[str, tuple[int, str]] = {
    "add": (1, "+"),
    "sub": (1, "-"),
    "mul": (2, "*"),
    "div": (2, "/"),
}
POWER = """vec4 power(vec4 x, vec4 y) {
    // pow() is undefined for x < 0, where whole exponents have a result, and for x = 0 >= y.
    vec4 size = pow(abs(x), y);
    size = mix(size, 1.0 / abs(x), notEqual(vec4(equal(x, vec4(0.0))) * max(-y, 0.0), vec4(0.0)));
    size = mix(size, vec4(1.0), equal(y, vec4(0.0)));
    vec4 signed_size = mix(size, -size, notEqual(floor(0.5 * y), 0.5 * y));
    vec4 below = mix(signed_size, sqrt(-abs(y)), notEqual(floor(y), y));
    return mix(size, below, lessThan(x, vec4(0.0)));
}"""


# Those of them that read the same over float.
SCALAR = {name for name, text in FLOAT.items() if "vec4" not in text} - {"pow"} | {
    *INFIX,
    "neg",
    "tanh",
}
Type = Literal["vec4", "float"]


def is_scalar(expr: Expr) -> bool:
    """Whether an expression can be computed in float."""
    return all(e.function in SCALAR for e in walk(fold(expr)) if isinstance(e, Call))


def mixes_freely(expr: Expr, floats: Collection[str]) -> bool:
    """Whether an expression over vec4 may have these variables as float: arithmetic alone."""
    expr = fold(expr)

    def is_vector(e: Expr) -> bool:
        return any(isinstance(part, Var) and part.name not in floats for part in walk(e))

    uses = operand_counts(expr)  # what has several becomes a local variable, which is a vec4
    return is_vector(expr) and all(
        e.function in INFIX and (is_vector(e) or uses[e] == 1)
        for e in walk(expr)
        if isinstance(e, Call)
    )


@lru_cache(maxsize=4096)
def operand_counts(expr: Expr) -> Counter[Expr]:
    """Return how often each part of an expression is an operand in it."""
    return Counter(a for e in walk(expr) if isinstance(e, Call) for a in e.args)


@dataclass
class Functions:
    """The GLSL functions a shader needs: one for each library formula that it uses."""

    precision: Precision
    texts: dict[str, str] = field(default_factory=dict)

    def expression(self, expr: Expr, names: Mapping[str, str], type: Type = "vec4") -> str:
        """Return an expression; ``names`` gives the text of each variable, of the same type."""
        return _of(type, *self._print(fold(expr), names, {}, type))

    def body(self, expr: Expr, names: Mapping[str, str]) -> list[str]:
        """Return statements that end in ``return``; repeated parts become local variables."""
        return self.statements(expr, names, "return ")

    def statements(
        self,
        expr: Expr,
        names: Mapping[str, str],
        assign: str,
        prefix: str = "t",
        type: Type = "vec4",
    ) -> list[str]:
        """Return statements that end in ``assign`` the expression; locals begin with ``prefix``."""
        expr = fold(expr)
        uses = operand_counts(expr)
        lines: list[str] = []
        known: dict[Expr, str] = {}
        for e in walk(expr):
            if isinstance(e, Call) and uses[e] > 1:
                name = f"{prefix}{len(known)}"
                lines.append(f"{type} {name} = {_of(type, *self._print(e, names, known, type))};")
                known[e] = name
        lines.append(f"{assign}{_of(type, *self._print(expr, names, known, type))};")
        return lines

    def _print(
        self, e: Expr, names: Mapping[str, str], known: Mapping[Expr, str], type: Type
    ) -> tuple[str, int]:
        """Return text and precedence level; level NUMBER marks a float literal."""
        if e in known:
            return known[e], ATOM
        if isinstance(e, Num):
            return number(e.value), NUMBER
        if isinstance(e, Var):
            return names[e.name], ATOM
        if e.function in INFIX:
            return self._infix(e, names, known, type)
        if e.function == "neg":
            text, level = self._print(e.args[0], names, known, type)
            inner = text if level >= ATOM and not text.startswith("-") else f"({text})"
            return f"-{inner}", 2
        args = [_of(type, *self._print(a, names, known, type)) for a in e.args]
        if e.function == "tanh":
            # By one exponential; GPUs' own takes two. What their division leaves below -1 is cut.
            reach = number(TANH_RANGE[self.precision])
            power = f"exp(2.0 * clamp({args[0]}, -{reach}, {reach}))"
            return f"max(1.0 - 2.0 / ({power} + 1.0), -1.0)", ATOM
        if e.function == "pow":
            return self._power(e, args)
        if e.function in PRIMITIVES:
            return FLOAT[e.function].format(*args), ATOM
        return f"{self._formula(e, args)}({', '.join(self._all_args(e, args))})", ATOM

    def _infix(
        self, e: Call, names: Mapping[str, str], known: Mapping[Expr, str], type: Type
    ) -> tuple[str, int]:
        level, sign = INFIX[e.function]
        texts, numbers = [], 0
        for side, a in enumerate(e.args):
            text, own = self._print(a, names, known, type)
            numbers += own == NUMBER
            if side == 1 and own == NUMBER and sign == "+" and text.startswith("-"):
                sign, text = "-", text[1:]
            weak = own < level + (side == 1) or text.startswith("-")
            texts.append(f"({text})" if weak else text)
        if numbers == 2:  # not folded, so not finite: let the GPU compute it
            texts[0] = f"{type}({texts[0]})"
        return f"{texts[0]} {sign} {texts[1]}", level

    def _power(self, e: Call, args: list[str]) -> tuple[str, int]:
        exponent = e.args[1]
        if isinstance(exponent, Num) and exponent.value in (0.5, 2.0, 3.0):
            if exponent.value == 0.5:
                return f"sqrt({args[0]})", ATOM
            name = {2.0: "squared", 3.0: "cubed"}[exponent.value]
            product = " * ".join(["x"] * int(exponent.value))
            self.texts.setdefault(name, f"vec4 {name}(vec4 x) {{ return {product}; }}")
            return f"{name}({args[0]})", ATOM
        self.texts.setdefault("power", POWER)
        return FLOAT["pow"].format(*args), ATOM

    def _all_args(self, e: Call, args: list[str]) -> list[str]:
        definition = FORMULAS[e.function]
        defaults = bind(definition, e.args)
        rest = [name for name, _ in definition.parameters[len(args) :]]
        return [*args, *(self.expression(defaults[name], {}) for name in rest)]

    def _formula(self, e: Call, args: list[str]) -> str:
        """Emit the function of a library formula, after those it calls, and return its name."""
        definition = FORMULAS[e.function]
        name = f"f_{e.function}"  # no built-in of GLSL and no name of a kernel begins so
        if name not in self.texts:
            parameters = {p: f"{p}_" for p, _ in definition.parameters}
            lines = self.body(definition.body, parameters)
            head = f"vec4 {name}({', '.join(f'vec4 {p}' for p in parameters.values())})"
            self.texts[name] = function_text(head, lines)
        return name


NUMBER = 9
ATOM = 8


def _of(type: Type, text: str, level: int) -> str:
    """Return an expression of a type, of which a float literal is none yet unless it is float."""
    return f"vec4({text})" if type == "vec4" and level == NUMBER else text


def function_text(head: str, lines: list[str]) -> str:
    """Return a function, on one line when it is short."""
    if len(lines) == 1 and len(head) + len(lines[0]) <= 94:
        return f"{head} {{ {lines[0]} }}"
    return "\n".join([f"{head} {{", *(f"    {line}" for line in lines), "}"])


def integer(expr: Expr, names: Mapping[str, str]) -> str:
    """Return an int expression for an index map; comparisons print as bool."""
    return _integer(fold(expr), names)[0]


INTEGER_INFIX = {
    "add": (3, "+"),
    "sub": (3, "-"),
    "mul": (4, "*"),
    "idiv": (4, "/"),
    "imod": (4, "%"),
    "lt": (2, "<"),
    "le": (2, "<="),
    "eq": (2, "=="),
}


def _integer(e: Expr, names: Mapping[str, str]) -> tuple[str, int]:
    if isinstance(e, Num):
        text = str(int(e.value))
        return (f"({text})" if e.value < 0 else text), ATOM
    if isinstance(e, Var):
        return names[e.name], ATOM
    if e.function == "add" and isinstance(e.args[1], Num) and e.args[1].value < 0:
        e = Call("sub", (e.args[0], Num(-e.args[1].value)))
    if e.function == "lt" and e.args[0] == Num(-1.0):  # i >= 0 reads better
        text, level = _integer(e.args[1], names)
        return f"{text if level > 2 else f'({text})'} >= 0", 2
    if e.function in ("idiv", "imod") and (bits := shift(e.args[1])):
        left, left_level = _integer(e.args[0], names)
        left = left if left_level == ATOM else f"({left})"
        return (f"{left} >> {bits}", 2) if e.function == "idiv" else (f"{left} & {2**bits - 1}", 0)
    if e.function in INTEGER_INFIX:
        level, sign = INTEGER_INFIX[e.function]
        left, left_level = _integer(e.args[0], names)
        right, right_level = _integer(e.args[1], names)
        left = f"({left})" if left_level < level else left
        right = f"({right})" if right_level <= level else right
        return f"{left} {sign} {right}", level
    if e.function in ("min", "max"):
        inner = e.args[0]
        if e.function == "min" and isinstance(inner, Call) and inner.function == "max":
            args = [_integer(a, names)[0] for a in (*inner.args, e.args[1])]
            return f"clamp({', '.join(args)})", ATOM
        args = [_integer(a, names)[0] for a in e.args]
        return f"{e.function}({', '.join(args)})", ATOM
    if e.function == "where":
        c, a, b = (_integer(a, names)[0] for a in e.args)
        return f"({c} ? {a} : {b})", ATOM
    raise InternalError(f"no integer form of {e.function}")
