"""Dynamic sizes: evaluate the expressions of a schedule.

A schedule may have expressions in place of integers: arrays of integers, parameters and operators
in postfix notation, such as ``["width", 3, "+", 4, "/"]``. :func:`resolve` replaces them with
integers, so that the code after it only handles fixed sizes.
"""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError, did_you_mean
from .document import SCHEDULE, malformed, place
from .members import MEMBERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_CHECKS = 100_000  # of constraints, in search of sizes that a build can have
_NEAREST = 100  # sizes of each parameter that are tried with those of the others
LARGEST = 2**53 - 1  # the largest integer below which every runtime's numbers are exact

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}

_Tree = dict[str, "_Tree"]


def _tree(members: Iterable[str]) -> _Tree:
    """Return paths of members as a tree of their parts; leaves are empty."""
    tree: _Tree = {}
    for member in members:
        below = tree
        for part in member.split("."):
            below = below.setdefault(part, {})
    return tree


_TREE = _tree(MEMBERS)


def evaluate_postfix(expression: Sequence[Any], values: Mapping[str, int]) -> int:
    """Return the value of an expression in postfix notation.

    Args:
        expression: integers, names of parameters and operators.
        values: of the parameters, by name.

    Raises:
        ValueError: the reason, as a clause after a colon.
    """
    stack: list[int] = []
    for term in expression:
        if not isinstance(term, str):
            stack.append(int(term))
        elif term in OPERATORS:
            if len(stack) < 2:
                raise ValueError(f"{term!r} has fewer than two operands")
            right, left = stack.pop(), stack.pop()
            if term in "/%" and right == 0:
                raise ValueError("it divides by zero")
            stack.append(OPERATORS[term](left, right))
        elif term in values:
            stack.append(values[term])
        else:
            raise ValueError(f"there is no parameter {term!r}")
        if abs(stack[-1]) > LARGEST:
            raise ValueError(f"{stack[-1]} is beyond 2^53")
    if len(stack) != 1:
        raise ValueError(f"its expression leaves {len(stack)} values, not one")
    return stack[0]


def defaults(document: Mapping[str, Any]) -> dict[str, int]:
    """Return the default of each parameter of a valid document; empty for a fixed build.

    Raises:
        ShadergenError: SG0503 if a name is used twice or a default is outside its bounds.
    """
    values: dict[str, int] = {}
    for i, parameter in enumerate(document.get("sizes", {}).get("parameters", ())):
        member = f"{SCHEDULE}: sizes.parameters[{i}]"
        name, default = parameter["name"], int(parameter["default"])
        if name in values:
            malformed(f"the name {name!r} is taken", f"{member}.name")
        if not parameter["min"] <= default <= parameter["max"]:
            malformed(f"the default {default} is out of bounds", f"{member}.default")
        values[name] = default
    return values


def resolve(document: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return a valid document without expressions.

    Args:
        document: fits the schema.
        sizes: a value for every parameter, from :func:`defaults` or :func:`chosen`.

    Raises:
        ShadergenError: SG0503 if an expression cannot be evaluated; SG0605 if the sizes violate a
            constraint of the build.
    """
    known: dict[tuple[Any, ...], int] = {}

    def value_of(expression: Sequence[Any], path: tuple[str | int, ...]) -> int:
        key = tuple(expression)
        if not sizes:
            malformed("expressions need the member 'sizes'", f"{SCHEDULE}: {place(path)}")
        if key not in known:
            try:
                known[key] = evaluate_postfix(expression, sizes)
            except ValueError as error:
                malformed(f"this size cannot be computed: {error}", f"{SCHEDULE}: {place(path)}")
        return known[key]

    for i, constraint in enumerate(document.get("sizes", {}).get("constraints", ())):
        value = value_of(constraint["value"], ("sizes", "constraints", i, "value"))
        if not constraint["min"] <= value <= constraint["max"]:
            raise ShadergenError(
                "SG0605",
                f"the build does not support {described(sizes)}",
                why=constraint["why"],
                help=_nearest(document["sizes"], sizes),
            )

    def walk(node: Any, members: _Tree, path: tuple[str | int, ...]) -> Any:
        """Return a part of the document with the expressions in ``members`` evaluated."""
        if not members:
            return value_of(node, path) if isinstance(node, list) else node
        result = node
        for name, below in members.items():
            every = node if isinstance(node, dict) else range(len(node))
            for key in every if name == "*" else (name,) if name in node else ():
                value = walk(node[key], below, (*path, key))
                if value is not node[key]:
                    result = node.copy() if result is node else result
                    result[key] = value
        return result

    resolved: dict[str, Any] = walk(document, _TREE, ())
    return resolved


def chosen(
    document: Mapping[str, Any], present: Mapping[str, int], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Return the current sizes with some of them replaced.

    Raises:
        ShadergenError: SG0605 if there is no such parameter or the size is outside its bounds.
    """
    values = dict(present)
    dynamic_sizes = document.get("sizes", {})
    bounds = {p["name"]: p for p in dynamic_sizes.get("parameters", ())}
    for name, value in sizes.items():
        if name not in bounds:
            raise ShadergenError(
                "SG0605",
                f"the build has no dynamic size '{name}'",
                why="" if bounds else "all its sizes are fixed",
                supported=", ".join(bounds),
                help=did_you_mean(name, bounds)
                if bounds
                else "compile the model with --input-size dynamic",
            )
        least, most = int(bounds[name]["min"]), int(bounds[name]["max"])
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            own = (
                c["why"]
                for c in dynamic_sizes["constraints"]
                if c["value"] == [name]
                and isinstance(value, int)
                and not c["min"] <= value <= c["max"]
            )
            raise ShadergenError(
                "SG0605",
                f"{name} {value!r} is not supported",
                why=next(own, ""),
                supported=f"{'' if isinstance(value, int) else 'integers from '}{least} to {most}",
                help=_nearest(dynamic_sizes, {**present, **sizes}),
            )
        values[name] = value
    return values


def _nearest(dynamic_sizes: Mapping[str, Any], sizes: Mapping[str, Any]) -> str:
    """Return a help text with supported sizes: the nearest ones, or any if the search is long."""
    bounds = {p["name"]: (int(p["min"]), int(p["max"])) for p in dynamic_sizes["parameters"]}
    wanted: dict[str, int] = {name: sizes[name] for name in bounds}
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in wanted.values()):
        return ""
    search = _Search(dynamic_sizes["constraints"])
    near = {
        name: list(islice(search.allowed(name, wanted[name], *bounds[name]), _NEAREST))
        for name in bounds
    }

    def distance(values: Sequence[int]) -> int:
        return sum(abs(v - w) for v, w in zip(values, wanted.values(), strict=True))

    for combination in sorted(product(*near.values()), key=distance):
        values = dict(zip(bounds, combination, strict=True))
        if search.holds(values):
            return f"the nearest supported size is {described(values)}"
    # from sizes that it can have, each parameter as near as the others let it
    values = {p["name"]: int(p["default"]) for p in dynamic_sizes["parameters"]}
    search = _Search(dynamic_sizes["constraints"])
    if not search.holds(values):
        return ""
    for name in bounds:
        for value in search.allowed(name, wanted[name], *bounds[name]):
            if search.holds({**values, name: value}):
                values[name] = value
                break
    return f"a supported size is {described(values)}"


class _Search:
    """Checks constraints up to a maximum count, since a schedule may have very many."""

    def __init__(self, constraints: Sequence[Any]) -> None:
        self.left = _CHECKS
        self.constraints = constraints

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether sizes satisfy all constraints on these parameters; False past the maximum."""
        for constraint in self.constraints:
            expression = constraint["value"]
            if not all(t in values or t in OPERATORS for t in expression if isinstance(t, str)):
                continue
            self.left -= 1
            try:
                value = evaluate_postfix(expression, values)
            except ValueError:
                return False
            if self.left < 0 or not constraint["min"] <= value <= constraint["max"]:
                return False
        return True

    def allowed(self, name: str, wanted: int, least: int, most: int) -> Iterator[int]:
        """Yield values of a parameter that satisfy the constraints on it alone, nearest first."""
        start = min(max(wanted, least), most)
        for step in range(max(start - least, most - start) + 1):
            for value in dict.fromkeys((start - step, start + step)):
                if self.left < 0:
                    return
                self.left -= 1
                if least <= value <= most and self.holds({name: value}):
                    yield value


def described(sizes: Mapping[str, int]) -> str:
    """Return sizes as people write them: ``a height of 360 and a width of 640``."""
    return " and ".join(f"a {name} of {value}" for name, value in sizes.items())
