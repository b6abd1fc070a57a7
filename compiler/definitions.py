"""User definitions (``--define``): unknown layers as formulas and IR operators.

    Mish2(x, beta=1.0) = x * tanh(softplus(beta * x))
    "my.domain::Shuffle"(x, block_size) = depth_to_space(x, block=block_size, order="dcr")

A definition applies to an ONNX operator (``Op`` or ``domain::Op``), a Keras layer class, or one
layer by its name, and precedes built-in layers. The first parameters take the layer's inputs in
order; the others take the attribute (ONNX) or configuration entry (Keras) of the same name, or
their default. The body mixes formulas with IR operators in snake case, whose
attributes are keywords; tensors are NCHW inside a definition, whatever the model's own order.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from inspect import signature
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from ..errors import ShadergenError, count, did_you_mean
from ..ir.expr import Call, Expr, Num, Var, named, substitute, variables
from ..ir.formula_parser import Definition
from ..ir.formula_parser import parse_definitions as parse
from ..ir.formulas import FORMULAS
from ..ir.graph import Value, apply, constant
from ..ir.ops import OPS, Op, Pointwise
from ..ir.primitives import FLOAT_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


CALLABLE: dict[str, type[Op]] = {
    _snake(name): op for name, op in OPS.items() if op is not Pointwise and not op.for_kernels
}
VALUES = "numbers, strings, and lists of them"


class Definitions(dict[str, Definition]):
    """Definitions by name, and the layers that each was used for."""

    def __init__(self) -> None:
        super().__init__()
        self.used: dict[str, list[str]] = {}
        self.asked: set[str] = set()  # names under which a definition was looked for

    def notes(self) -> list[str]:
        """Return one line for each definition: where it was used, or that it was not."""
        lines = []
        for name in self:
            layers = self.used.get(name, [])
            more = f" and {len(layers) - 5} more" if len(layers) > 5 else ""
            where = f"computes {', '.join(layers[:5])}{more}" if layers else "was not used"
            near = "" if layers else did_you_mean(name, self.asked - set(self))
            lines.append(f"definition {name} {where}" + (f": {near}" if near else ""))
        return lines

    def hint(self) -> str:
        """List the definitions, for the error about an undefined layer; "" without definitions."""
        missing = self.asked - set(self)
        near = (did_you_mean(name, missing) for name in self if name not in self.used)
        meant = next(filter(None, near), "")
        names = ", ".join(f"'{name}'" for name in self)
        return f"--define defines {names}" + (f"; {meant}" if meant else "") if self else ""


def read_all(paths: Iterable[Path]) -> Definitions:
    """Read definition files; of two definitions of a name the last one counts.

    Raises:
        ShadergenError: as :func:`read`.
    """
    known = Definitions()
    for path in paths:
        known.update(read(path))
    return known


def read(path: Path) -> dict[str, Definition]:
    """Read a definition file.

    Raises:
        ShadergenError: SG0101 when it cannot be read, SG0302 when it does not parse, SG0303 when
            it calls a function that does not exist.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            error.strerror or str(error) if isinstance(error, OSError) else "it is not a text file"
        )
        raise ShadergenError(
            "SG0101",
            f"cannot read the definitions in '{path}'",
            why=reason,
            help="--define takes a text file of lines like: Swoosh(x) = x * sigmoid(x)\n"
            "see docs/expressions.md",
        ) from None
    return parse(text, origin=str(path))


def find(known: Mapping[str, Definition], *names: str) -> Definition | None:
    """Return the definition of the first of some names that has one."""
    if isinstance(known, Definitions):
        known.asked.update(names)
    return next((known[name] for name in names if name in known), None)


def instantiate(
    definition: Definition,
    inputs: Sequence[Value],
    attributes: Mapping[str, Any],
    definitions: Mapping[str, Definition],
    layer: str,
) -> Value:
    """Apply a definition to a layer's inputs.

    Args:
        definition: what to apply.
        inputs: the layer's tensors; feature maps are NCHW.
        attributes: the layer's attributes, for parameters that take no input.
        definitions: the others, which the body may call.
        layer: the source layer's name, kept by the nodes.

    Raises:
        ShadergenError: SG0303 when inputs and parameters do not fit or the body is wrong.
    """
    if isinstance(definitions, Definitions):
        definitions.used.setdefault(definition.name, []).append(layer)
    try:
        return _Body(definitions, layer).build(definition, inputs, attributes)
    except ShadergenError as error:
        raise error.at(f"definition of {definition.name}") from None


class _Body:
    """Builds one definition's nodes. Pointwise parts stay expressions as long as possible."""

    def __init__(self, definitions: Mapping[str, Definition], layer: str) -> None:
        self.definitions = definitions
        self.layer = layer
        self.operands: list[Value] = []
        self.depth = 0

    def build(
        self, definition: Definition, inputs: Sequence[Value], attributes: Mapping[str, Any]
    ) -> Value:
        names = [name for name, _ in definition.parameters]
        if len(inputs) > len(names):
            raise ShadergenError(
                "SG0303",
                f"{definition.name} takes {len(names)} inputs, the layer has {len(inputs)}",
            )
        env: dict[str, Any] = {}
        for position, (name, default) in enumerate(definition.parameters):
            if position < len(inputs):
                env[name] = self.operand(inputs[position])
            elif attributes.get(name) is not None:
                env[name] = _attribute(attributes[name], name)
            elif default is not None:
                env[name] = _attribute(default, name)
            else:
                raise _no_value(name, len(inputs), attributes)
        return self.materialise(self.visit(definition.body, env))

    def operand(self, value: Value) -> Expr:
        for i, known in enumerate(self.operands):
            if known is value:
                return Var(f"x{i}")
        self.operands.append(value)
        return Var(f"x{len(self.operands) - 1}")

    def materialise(self, expr: Any) -> Value:
        """Turn an expression over operands into a value."""
        if isinstance(expr, Var):
            return named(self.operands)[expr.name]
        if isinstance(expr, Num):
            return constant(expr.value)
        if not isinstance(expr, Call):
            raise ShadergenError("SG0303", f"{expr!r} is not a tensor")
        names = variables(expr)
        renamed = {name: Var(f"x{i}") for i, name in enumerate(names)}
        operands = [named(self.operands)[name] for name in names]
        return apply(Pointwise(substitute(expr, renamed)), *operands, layer=self.layer)

    def visit(self, expr: Expr, env: Mapping[str, Any]) -> Any:
        if isinstance(expr, Num):
            return expr
        if isinstance(expr, Var):
            if expr.name not in env:
                raise ShadergenError(
                    "SG0303", f"'{expr.name}' is not a parameter", help=did_you_mean(expr.name, env)
                )
            return env[expr.name]
        args = [self.visit(a, env) for a in expr.args]
        if expr.function in self.definitions:
            return self.call_definition(expr, args, env)
        if expr.function in CALLABLE:
            op = _make(CALLABLE[expr.function], dict(expr.attributes), env)
            _check_tensors(op, len(args))
            return self.operand(apply(op, *map(self.materialise, args), layer=self.layer))
        if expr.function in FLOAT_FUNCTIONS or expr.function in FORMULAS:
            args += _keyword_arguments(expr, len(args), env)
            for a in args:
                if not isinstance(a, (Num, Var, Call)):
                    raise ShadergenError("SG0303", f"{expr.function}() takes numbers, not {a!r}")
            return Call(expr.function, tuple(args))
        raise ShadergenError(
            "SG0303",
            f"no function is called '{expr.function}'",
            help=did_you_mean(
                expr.function, [*FLOAT_FUNCTIONS, *FORMULAS, *CALLABLE, *self.definitions]
            )
            or "functions and operators are listed in docs/expressions.md",
        )

    def call_definition(self, call: Call, args: list[Any], env: Mapping[str, Any]) -> Any:
        self.depth += 1
        if self.depth > 50:
            raise ShadergenError("SG0303", f"'{call.function}' calls itself")
        keywords = {k: _parameter(v, env) for k, v in call.attributes}
        inputs = [self.materialise(a) for a in args]
        value = self.build(self.definitions[call.function], inputs, keywords)
        self.depth -= 1
        return self.operand(value)


def _keyword_arguments(call: Call, given: int, env: Mapping[str, Any]) -> list[Any]:
    """Return a formula's keyword arguments in the order of its parameters."""
    if not call.attributes:
        return []
    named = {k: _parameter(v, env) for k, v in call.attributes}
    formula = FORMULAS.get(call.function)
    rest = formula.parameters[given:] if formula else ()
    unknown = set(named) - {name for name, _ in rest}
    if unknown:
        raise ShadergenError(
            "SG0303",
            f"{call.function}() takes no '{sorted(unknown)[0]}'",
            supported=", ".join(name for name, _ in rest)
            or f"{call.function}() without keyword arguments",
        )
    values = [named.get(name, default) for name, default in rest]
    if any(v is None for v in values):
        raise ShadergenError("SG0303", f"{call.function}() lacks an argument")
    return [_attribute(v, call.function) for v in values]


def _no_value(name: str, inputs: int, attributes: Mapping[str, Any]) -> ShadergenError:
    """Return the error for a parameter without input, default, or attribute that it can take."""
    if name in attributes:
        why = f"the layer's attribute '{name}' is not a number, a string or a list of these"
        help = "rename the parameter and give it a default"
    else:
        why = f"the layer has {count(inputs, 'input')} and no attribute of that name"
        help = "give the parameter a default, or rename it after an attribute: "
        help += ", ".join(sorted(attributes)) or "(the layer has none)"
    return ShadergenError("SG0303", f"parameter '{name}' has no value", why=why, help=help)


def _parameter(value: Any, env: Mapping[str, Any]) -> Any:
    """Return a keyword's value: a literal, or the value of the parameter of that name."""
    if not isinstance(value, Var):
        return value
    if value.name not in env:
        raise ShadergenError(
            "SG0303", f"'{value.name}' is not a parameter", help=did_you_mean(value.name, env)
        )
    return env[value.name]


def _attribute(value: Any, name: str) -> Any:
    """Numbers become literals of the expression; strings and lists stay for operator attributes."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        if isinstance(value, (bool, str, tuple, list, Num, Var, Call)):
            return tuple(value) if isinstance(value, list) else value
        raise ShadergenError(
            "SG0303",
            f"parameter '{name}' cannot take the value of the layer's attribute '{name}'",
            why=f"the attribute is of type {type(value).__name__}",
            supported=VALUES,
            help=f"rename the parameter, for example to {name}_value, and give it a default; "
            "parameters take the values of attributes of the same name",
        )
    return Num(float(value))


def _make(op: type[Op], attributes: dict[str, Any], env: Mapping[str, Any]) -> Op:
    """Construct an operator from keyword attributes, which may name parameters."""
    hints = get_type_hints(op)
    known = {f.name: f.default for f in fields(op)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in attributes.items():
        if key not in known:
            raise ShadergenError(
                "SG0303",
                f"{_snake(op.__name__)}() has no attribute '{key}'",
                supported=", ".join(sorted(known)),
            )
        default = known[key]
        count = len(default) if isinstance(default, tuple) else 0
        values[key] = _coerce(_parameter(value, env), hints[key], key, count)
    missing = [name for name, default in known.items() if default is MISSING and name not in values]
    if missing:
        raise ShadergenError(
            "SG0303",
            f"{_snake(op.__name__)}() needs a value for {' and '.join(missing)}",
            help=f"give attributes as keywords, for example {missing[0]}=1",
        )
    return op(**values)


def _check_tensors(op: Op, given: int) -> None:
    """Refuse to apply an operator to fewer or more tensors than it takes (SG0303)."""
    taken = signature(op.infer).parameters.values()
    named = [p.name for p in taken if p.kind is not p.VAR_POSITIONAL]
    open_ended = len(named) < len(taken)
    if given == len(named) or (open_ended and given > len(named)):
        return
    name = _snake(type(op).__name__)
    raise ShadergenError(
        "SG0303",
        f"{name}() takes {count(len(named), 'tensor')}{' or more' * open_ended}, not {given}",
        supported=f"{name}({', '.join(named + ['...'] * open_ended)})",
    )


def _coerce(value: Any, hint: Any, key: str, count: int = 0) -> Any:
    """Fit a literal to an attribute's type; one number stands for ``count`` equal ones."""
    if isinstance(value, Num):
        value = value.value
    parts = get_args(hint)
    if getattr(hint, "__origin__", None) is tuple:
        if not isinstance(value, (tuple, list)):
            value = (value,) * ((count or 1) if Ellipsis in parts else len(parts))
        return tuple(_coerce(v, parts[0], key) for v in value)
    if parts and isinstance(parts[0], str) and value not in parts:
        supported = ", ".join(map(repr, parts))
        raise ShadergenError("SG0303", f"{key}={value!r} is not supported", supported=supported)
    if hint is int:
        if not isinstance(value, (int, float)) or value % 1 != 0:
            raise ShadergenError("SG0303", f"{key}={value!r} is not an integer")
        return int(value)
    if hint is float and not isinstance(value, (int, float)):
        raise ShadergenError("SG0303", f"{key}={value!r} is not a number")
    return float(value) if hint is float else value
