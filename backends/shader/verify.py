"""Verify a shader program: types fit, names are declared, bindings exist."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...errors import InternalError
from .expressions import (
    LANES,
    Binary,
    Conditional,
    Construct,
    Element,
    Intrinsic,
    Invoke,
    Lanes,
    Texel,
    Uniform,
    Variable,
    known,
    walk,
)
from .operations import COMPARISONS, type_of
from .statements import (
    Add,
    Assign,
    Declare,
    If,
    Loop,
    MultiplyAdd,
    Return,
    WriteImage,
    WriteTarget,
)
from .types import BOOL, INT, IVEC2, MAT4, VEC2, VEC4, Type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .expressions import Expression
    from .operations import Operator
    from .program import Function, Program
    from .statements import Statement

Scope = dict[str, Type]


def verify(program: Program) -> None:
    """Check a program.

    Raises:
        InternalError: with what is wrong, and where.
    """
    functions = [f.name for f in program.functions]
    textures = [name for t in program.textures for name in (t.name, t.matrix) if name]
    arrays = [a.name for a in program.arrays]
    for name, count in Counter([*functions, *textures, *arrays, *program.uniforms]).items():
        _require(count == 1, f"{count} functions, textures, arrays or uniforms are called {name}")
    for function in program.functions:
        variables = (*function.parameters, *function.results)
        scope = {v.name: v.type for v in variables}
        _require(len(scope) == len(variables), f"parameters of {function.name} share a name")
        try:
            _check(program, function.body, scope, function)
        except InternalError as error:
            raise InternalError(f"function {function.name}: {error}") from None
    _check(program, program.main, {}, None)


def _check(
    program: Program, body: Sequence[Statement], outer: Mapping[str, Type], inside: Function | None
) -> None:
    """Check statements that see the variables of ``outer``, in a function or in ``main``."""
    scope = dict(outer)
    own: set[str] = set()
    for s in body:
        for e in walk(*s.expressions):
            _check_expression(program, e, scope)
        if isinstance(s, Declare):
            name = s.variable.name
            _require(name not in own, f"{name} is declared twice")
            fits = s.value is None or s.value.type == s.variable.type
            _require(fits, f"{name} is declared with a type that differs from its value")
            own.add(name)
            scope[name] = s.variable.type
        elif isinstance(s, (Assign, Add, MultiplyAdd)):
            known = scope.get(s.target.name) == s.target.type
            _require(known, f"{s.target.name} is not declared with this type")
            if not isinstance(s, MultiplyAdd):
                _require(
                    s.value.type == s.target.type, f"{s.target.name} gets a value of another type"
                )
            else:
                kinds = {type_of("*", a.type, b.type) for a, b in s.products}
                narrow = s.target.type._replace(scalar="half")  # are converted
                fits = kinds in ({s.target.type}, {narrow})
                _require(fits, f"{s.target.name} gets a value of another type")
        elif isinstance(s, Loop):
            _require(s.start.type == s.end.type == INT, "the bounds of a loop are not ints")
            _check_inner_trips(s, scope)
            _check(program, s.body, scope | {s.counter.name: INT}, inside)
        elif isinstance(s, Return):
            returns = None if inside is None else inside.returns
            _require((s.value and s.value.type) == returns, "the returned value has the wrong type")
        elif isinstance(s, WriteTarget):
            _require(inside is None and s.target < program.targets, "no such render target")
            _require(s.value.type == VEC4, "a render target takes a vec4")
        elif isinstance(s, WriteImage):
            _require(program.result is not None, "there is no image to store in")
            _require(s.position.type == IVEC2 and s.value.type == VEC4, "an image takes a vec4")
        else:
            if isinstance(s, If):
                _require(s.condition.type == BOOL, "a condition is no bool")
            for inner in s.bodies:
                _check(program, inner, scope, inside)


def _check_inner_trips(loop: Loop, scope: Mapping[str, Type]) -> None:
    """Check that a loop can be printed as two."""
    if loop.inner_trips == 1:
        return
    first, last = known(loop.start), known(loop.end)
    if first is not None and last is not None:
        whole = (last - first) % (loop.inner_trips * loop.step) == 0
        fault = f"the trip count of {loop.counter.name} is not a multiple of {loop.inner_trips}"
        _require(whole, fault)
    hidden = [name for name in loop.printed_names if name in scope]
    _require(not hidden, f"the printed loop counter {', '.join(hidden)} would shadow another name")


def _check_expression(program: Program, e: Expression, scope: Mapping[str, Type]) -> None:
    """Check one expression without its subexpressions."""
    fault = None
    if isinstance(e, Variable):
        if scope.get(e.name) != e.type:
            fault = f"{e.name} is not declared with this type"
    elif isinstance(e, Binary):
        if not _operands_match(e.operator, e.left.type, e.right.type):
            fault = f"{e.operator} of {e.left.type} and {e.right.type}"
    elif isinstance(e, Lanes):
        vector = e.vector.type
        if not (vector.is_vector and set(e.names) <= set(LANES[: vector.lanes])):
            fault = f"no components {e.names} in {vector}"
    elif isinstance(e, Conditional):
        if e.condition.type != BOOL or e.then.type != e.otherwise.type:
            fault = "a conditional of different types, or with a condition that is no bool"
    elif isinstance(e, Construct):
        lanes = sum(p.type.lanes for p in e.parts)
        column = e.type.of(e.type.lanes)
        whole = e.type.is_matrix and [p.type for p in e.parts] == [column] * e.type.columns
        if not whole and lanes not in (1, e.type.lanes):
            fault = f"{lanes} components of {e.type}"
    elif isinstance(e, Invoke):
        wanted = [v.type for v in (*e.function.parameters, *e.function.results)]
        if wanted != [a.type for a in e.arguments]:
            fault = f"the arguments of {e.function.name} have other types than its parameters"
    elif isinstance(e, Intrinsic):
        alike = e.arguments[:2] if e.name == "select" else e.arguments  # its third is a condition
        if len({a.type for a in alike}) != 1:
            fault = f"{e.name} is applied to different types"
    elif isinstance(e, Texel):
        placed = (e.position is None or e.position.type == IVEC2) and (
            e.sampled_at is None or e.sampled_at.type == VEC2
        )
        layered = (e.layer is not None) == (e.texture.kind == "array")
        if e.texture not in program.textures:
            fault = f"{e.texture.name} is not declared"
        elif not (placed and layered):
            fault = f"{e.texture.name} is read with coordinates of another texture kind"
    elif isinstance(e, Element):
        if e.array not in program.arrays or e.index.type != INT:
            fault = f"no array {e.array.name}"
    elif isinstance(e, Uniform) and e.type != MAT4 and e.name not in program.uniforms:
        fault = f"{e.name} is not declared"
    if fault is not None:
        raise InternalError(fault)


def _operands_match(operator: Operator, a: Type, b: Type) -> bool:
    """Whether an operator is defined for operands of these types."""
    if operator in ("&&", "||"):
        return a == b == BOOL
    if operator in COMPARISONS:
        return a == b and (operator == "==" or a.lanes == 1)
    scaled = a.scalar == b.scalar and 1 in (a.lanes, b.lanes)
    return a == b or scaled or (operator == "*" and a.is_matrix and b == a.of(a.columns))


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise InternalError(what)
