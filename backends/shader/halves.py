"""16-bit floats as types of their own, for languages that have no precision qualifiers.

In GLSL ES a program of precision mediump computes in 16 bits wherever no variable asks for more.
Languages with a 16-bit type convert nothing by themselves: here every value gets its type, and
every conversion is written. Numbers take the type of what they are combined with; of two values
the wider type wins, as in GLSL ES.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from ...errors import InternalError
from ...ir.types import HALF_MAX
from ...records import replace
from .expressions import (
    Binary,
    Column,
    Conditional,
    Construct,
    Element,
    Intrinsic,
    Invoke,
    Lanes,
    Negative,
    Number,
    Numbers,
    Texel,
    Variable,
)
from .program import Array, Function, Program
from .statements import (
    Add,
    Assign,
    Comment,
    Declare,
    If,
    Loop,
    MultiplyAdd,
    Perform,
    Return,
    Scope,
    WriteImage,
    WriteTarget,
)
from .types import FLOAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .expressions import Expression
    from .statements import Statement
    from .types import Scalar, Type

Variables = dict[str, Variable]  # by name: those in sight
FLOATS: tuple[Scalar, ...] = ("half", "float")  # the wider last
IN_32_BITS = ("float_bits",)  # functions of the bits of a float


def with_half_types(program: Program) -> Program:
    """Return a program of precision mediump with a type for every value; another one as it is.

    Constants in the text become 16-bit floats. What is read from textures and buffers is converted
    where it is read, what is written where it is written.

    Raises:
        InternalError: for a variable of 32 bits that a function writes.
    """
    if program.precision == "highp":
        return program
    typed = _Typed()
    main = typed.block(program.main, {})
    arrays = [typed.array(a) for a in program.arrays]
    return replace(program, precision="highp", arrays=arrays, main=main)


class _Typed:
    """Gives types to the values of one program."""

    def __init__(self) -> None:
        self._functions: dict[Function, Function] = {}
        self._arrays: dict[Array, Array] = {}

    def array(self, array: Array) -> Array:
        """Return an array: constants of 16 bits, or a buffer as it is."""
        if array.buffer is not None or array.element.scalar != "float":
            return array
        if array not in self._arrays:
            values = tuple(fitted(v, "half") for v in array.values)
            self._arrays[array] = replace(array, element=narrow(array.element), values=values)
        return self._arrays[array]

    def function(self, function: Function) -> Function:
        """Return a function whose floats have 16 bits."""
        if function not in self._functions:
            parameters, results = (
                tuple(map(narrow_variable, vs)) for vs in (function.parameters, function.results)
            )
            returns = function.returns and narrow(function.returns)
            made = Function(function.name, parameters, returns, results=results)
            self._functions[function] = made
            known = {v.name: v for v in (*parameters, *results)}
            made.body = self.block(function.body, known, returns)
        return self._functions[function]

    # Statements

    def block(
        self, statements: Sequence[Statement], outer: Variables, returns: Type | None = None
    ) -> tuple[Statement, ...]:
        """Return statements that see the variables of ``outer``, in a function that returns."""
        known = dict(outer)
        return tuple(self._statement(s, known, returns) for s in statements)

    def _statement(self, s: Statement, known: Variables, returns: Type | None) -> Statement:
        value = partial(self.expression, known=known)
        inner = partial(self.block, outer=known, returns=returns)
        match s:
            case Comment():
                return s
            case Declare():
                first = s.value and value(s.value)
                variable = s.variable if s.full else narrow_variable(s.variable)
                known[variable.name] = variable
                return Declare(variable, first and fitted(first, variable.type.scalar))
            case Assign() | Add():
                target = known[s.target.name]
                return replace(s, target=target, value=fitted(value(s.value), target.type.scalar))
            case MultiplyAdd():
                target = known[s.target.name]
                is_narrow = target.type.scalar == "half"
                fit = _narrowed if is_narrow else _alike
                pairs = (fit(value(a), value(b)) for a, b in s.products)
                products = tuple((a, b) for a, b in pairs)
                return replace(s, target=target, products=products)
            case Loop():
                counted = {**known, s.counter.name: s.counter}
                body = self.block(s.body, counted, returns)
                return replace(s, start=value(s.start), end=value(s.end), body=body)
            case If():
                return If(value(s.condition), inner(s.body))
            case Scope():
                return Scope(inner(s.body))
            case Return():
                kind = returns.scalar if returns else "float"
                return Return(s.value and fitted(value(s.value), kind))
            case Perform():
                call = value(s.call)
                assert isinstance(call, Invoke)
                return Perform(call)
            case WriteTarget():
                return replace(s, value=fitted(value(s.value), "float"))
            case WriteImage():
                layer = s.layer and value(s.layer)
                return WriteImage(value(s.position), layer, fitted(value(s.value), "float"))
        raise InternalError(f"{type(s).__name__} has no 16-bit form")

    # Expressions

    def expression(self, e: Expression, known: Variables) -> Expression:
        """Return an expression, typed; a number stays 32 bits wide until it is combined."""
        value = partial(self.expression, known=known)
        match e:
            case Variable():
                return known[e.name]
            case Binary():
                return Binary(e.operator, *_alike(value(e.left), value(e.right)))
            case Conditional():
                return Conditional(value(e.condition), *_alike(value(e.then), value(e.otherwise)))
            case Construct():
                return _constructed(e.type, tuple(map(value, e.parts)))
            case Intrinsic():
                arguments = tuple(map(value, e.arguments))
                if e.name in IN_32_BITS:
                    return Intrinsic(e.name, tuple(fitted(a, "float") for a in arguments))
                return Intrinsic(e.name, _alike(*arguments))
            case Invoke():
                return self._invoked(e, tuple(map(value, e.arguments)))
            case Element():
                element = Element(self.array(e.array), value(e.index))
                return fitted(element, "half")
            case Texel():
                centre = e.centre and fitted(value(e.centre), "float")
                position, layer = e.position and value(e.position), e.layer and value(e.layer)
                return fitted(replace(e, position=position, layer=layer, centre=centre), "half")
            case Column():
                return Column(value(e.matrix), e.index)
            case Lanes():
                return Lanes(value(e.vector), e.names)
            case Negative():
                return Negative(value(e.operand))
        return e

    def _invoked(self, e: Invoke, arguments: tuple[Expression, ...]) -> Invoke:
        function = self.function(e.function)
        count = len(function.parameters)
        given = zip(arguments, function.parameters, strict=False)
        values = (fitted(a, p.type.scalar) for a, p in given)
        for argument, result in zip(arguments[count:], function.results, strict=True):
            if argument.type != result.type:
                raise InternalError(f"{function.name} writes 16 bits to a variable of 32")
        return Invoke(function, (*values, *arguments[count:]))


def narrow(t: Type) -> Type:
    """Return a type with 16-bit floats in place of others."""
    return t._replace(scalar="half") if t.scalar == "float" else t


def narrow_variable(v: Variable) -> Variable:
    """Return a variable of :func:`narrow` type."""
    return Variable(v.name, narrow(v.type))


def _is_known(e: Expression) -> bool:
    """Whether an expression is made of numbers alone, which take any type."""
    if isinstance(e, (Number, Numbers)):
        return True
    made = isinstance(e, (Negative, Binary, Construct))
    return made and e.type.scalar in FLOATS and all(map(_is_known, e.operands))


def _alike(*values: Expression) -> tuple[Expression, ...]:
    """Return values, the floats among them of one type: the widest of those that are not known."""
    kinds = {v.type.scalar for v in values if not _is_known(v)}
    wanted = next((kind for kind in reversed(FLOATS) if kind in kinds), None)
    return tuple(fitted(v, wanted) for v in values) if wanted else values


def _narrowed(*values: Expression) -> tuple[Expression, ...]:
    """Return values, floats as 16-bit floats."""
    return tuple(fitted(v, "half") for v in values)


def _constructed(t: Type, parts: tuple[Expression, ...]) -> Expression:
    """Return a vector or a matrix of typed parts, or a value as another type.

    An int may need all of 32 bits. The answer to a test is 0 or 1, and fits in 16.
    """
    if t.scalar != "float":
        return Construct(t, parts)
    kinds = {p.type.scalar for p in parts if not _is_known(p)}
    if kinds and kinds <= {"half", "bool"}:
        return Construct(narrow(t), tuple(_part(p, narrow(t)) for p in parts))
    return Construct(t, parts)


def fitted(e: Expression, kind: Scalar) -> Expression:
    """Return a value as a 16- or a 32-bit float; one that is neither as it is."""
    if kind not in FLOATS or e.type.scalar not in FLOATS or e.type.scalar == kind:
        return e
    t = e.type._replace(scalar=kind)
    if not _is_known(e):
        return Construct(t, (e,))
    match e:
        case Number():
            return _number(e.value, t)
        case Numbers() if t.is_matrix:
            rows = range(0, len(e.values), t.lanes)
            columns = (Numbers(e.values[i : i + t.lanes]) for i in rows)
            return Construct(t, tuple(fitted(c, kind) for c in columns))
        case Numbers():
            numbers = e.values[:1] if len(set(e.values)) == 1 else e.values
            return Construct(t, tuple(_lane(v, t) for v in numbers))
        case Negative():
            return Negative(fitted(e.operand, kind))
        case Binary():
            return Binary(e.operator, fitted(e.left, kind), fitted(e.right, kind))
    return Construct(t, e.operands)


def _number(value: float, t: Type) -> Number:
    """Return a number as a 16-bit float: one that is too large as the largest."""
    if math.isfinite(value):
        value = min(max(value, -HALF_MAX), HALF_MAX)
    return Number(value, t)


def _part(e: Expression, t: Type) -> Expression:
    """Return a part of a vector of a type; a number needs no conversion there."""
    return _lane(e.value, t) if isinstance(e, Number) else fitted(e, "half")


def _lane(value: float, t: Type) -> Number:
    """Return a number of a vector of a type; those that are finite need no conversion there."""
    number = _number(value, t.of(1))
    return replace(number, type=FLOAT) if math.isfinite(value) else number
