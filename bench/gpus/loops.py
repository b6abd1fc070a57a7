"""The loops of a shader: how often they run, and variants of the shader to count their bodies.

Drivers count instructions as they stand in the program. So a shader is compiled again for each of
its loops, with that loop twice in a row. The second copy adds what the driver makes of the loop
alone: code that leads to it, and what the compiler moves out of it, both copies share.

    body = doubled - whole, for each loop, with the loops in it
    cycles = whole + (trips - 1) * body, for a shader with one loop

A driver may have unrolled some of the loops, whose trips are then in the body already. Most say
how many loops they have left, and doubling a loop says how many of these are its own. For others
each loop of constant trips is compiled with one trip more: a loop that is left takes as many
instructions as before.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

HEAD = re.compile(
    r"for \((?:int|var) (?P<counter>\w+) = (?P<start>[^;]+); (?P=counter) < (?P<end>[^;]+); "
    r"(?:\+\+(?P=counter)|(?P=counter) \+= (?P<step>\d+))\) \{"
)
FUNCTION = re.compile(r"^\w+ (?P<name>\w+)\([^;{}]*\)(?: -> \w+)? \{$", re.MULTILINE)
ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
}


@dataclass(frozen=True)
class Loop:
    """One loop.

    Attributes:
        begin: position in the source.
        end: position after it.
        trips: how often its body runs each time; None when that depends on data.
        constant: whether the source alone says so, and a driver can unroll it.
    """

    begin: int
    end: int
    trips: int | None
    constant: bool


@dataclass(frozen=True)
class Nest:
    """An outermost loop and the loops in it, as they stand in the source.

    ``copies`` is how often the function with the loops is called: drivers inline it.
    """

    loops: tuple[Loop, ...]
    copies: int = 1

    @property
    def known(self) -> bool:
        """Whether all trips are known."""
        return all(loop.trips is not None for loop in self.loops)

    @property
    def repeating(self) -> list[Loop]:
        """The loops without those that run once. Drivers unroll some of these, in any order."""
        return [loop for loop in self.loops if loop.trips != 1]

    def remaining(self, more: Mapping[Loop, float]) -> list[Loop]:
        """Return the loops that remain in a driver's code.

        Args:
            more: for each loop, how many more loops remain if this loop is doubled.

        Returns:
            The remaining loops; if ``more`` is ambiguous, the outermost loop with all trips.
        """

        def inner(loop: Loop) -> float:
            within = [k for k in self.loops if loop.begin < k.begin < loop.end]
            return sum(
                more[k] for k in within if not any(o.begin < k.begin < o.end for o in within)
            )

        outer, *_ = self.loops
        kept = [loop for loop in self.loops if more[loop] > inner(loop)]
        left = round(more[outer] / self.copies)
        if len(kept) == left:
            return kept
        # Doubled, an inner loop is unrolled that is left otherwise. What the outermost loop takes
        # once then counts for each trip of the innermost.
        return [replace(outer, trips=prod(loop.trips or 1 for loop in self.kept(left)))]

    def kept(self, left: int) -> list[Loop]:
        """Return the repeating loops without those that a driver unrolls if it leaves so many."""
        loops = self.repeating
        while len(loops) > max(left, 0):
            constant = [k for k, loop in enumerate(loops) if loop.constant]
            loops.pop(constant[-1] if constant else -1)
        return loops


def find_nests(source: str, uniforms: Mapping[str, int]) -> list[Nest]:
    """Return a shader's loop nests in order."""
    nests: list[list[Loop]] = []
    for head in HEAD.finditer(source):
        start, end = (_value(head[name], uniforms) for name in ("start", "end"))
        trips = None
        if start is not None and end is not None:
            trips = max(0, -(-(end - start) // int(head["step"] or 1)))
        constant = not re.search("[a-z_]", head["start"] + head["end"])
        loop = Loop(head.start(), _closing(source, head.end()), trips, constant)
        if nests and loop.begin < nests[-1][0].end:
            nests[-1].append(loop)
        else:
            nests.append([loop])
    return [Nest(tuple(loops), _calls(source, loops[0])) for loops in nests]


def doubled(source: str, loop: Loop) -> str:
    """Return a shader in which a loop stands twice in a row."""
    return source[: loop.end] + source[loop.begin : loop.end] + source[loop.end :]


def longer(source: str, loop: Loop) -> str:
    """Return a shader in which a loop of constant trips has one trip more."""
    head = HEAD.match(source, loop.begin)
    assert head is not None
    return f"{source[: head.end('end')]} + {head['step'] or 1}{source[head.end('end') :]}"


def _calls(source: str, loop: Loop) -> int:
    """Return how often the source calls the function that a loop is in."""
    function = [match["name"] for match in FUNCTION.finditer(source[: loop.begin])][-1]
    return max(1, len(re.findall(rf"\b{function}\(", source[loop.end :])))


def _value(text: str, names: Mapping[str, int]) -> int | None:
    """Return the value of an integer expression, or None when it depends on something else."""
    try:
        return _computed(ast.parse(text.strip(), mode="eval").body, names)
    except (SyntaxError, LookupError, ArithmeticError):
        return None


def _computed(node: ast.expr, names: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Attribute):  # a member of WGSL's struct of uniforms
        return names[node.attr]
    if isinstance(node, ast.BinOp):
        sides = (_computed(side, names) for side in (node.left, node.right))
        return int(ARITHMETIC[type(node.op)](*sides))
    raise LookupError(ast.dump(node))


def _closing(source: str, start: int) -> int:
    """Return the position after the brace that closes the one before ``start``."""
    depth = 1
    for brace in re.finditer(r"[{}]", source[start:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return start + brace.end()
    return len(source)
