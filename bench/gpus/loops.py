"""The loops of a shader: how often they run, and variants of the shader without them.

Drivers count instructions as they stand in the program. So a shader is compiled a second time with
its loops empty, and the difference is what the loops' bodies take once:

    cycles = empty + trips * (whole - empty)

A driver may have unrolled some of the loops, whose trips are then in the difference already. It
says how many loops it has left. It unrolls inner loops first, and only those of constant trips. It
may or may not have unrolled loops that run once; then the multiply-adds decide what is left.
Where nests follow one another, each nest's body is the difference of a variant that has only it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

HEAD = re.compile(
    r"for \(int (?P<counter>\w+) = (?P<start>[^;]+); (?P=counter) < (?P<end>[^;]+); "
    r"(?:\+\+(?P=counter)|(?P=counter) \+= (?P<step>\d+))\) \{"
)
FUNCTION = re.compile(r"^\w+ (?P<name>\w+)\([^;{}]*\) \{$", re.MULTILINE)
DECLARED = re.compile(r"\b(?P<type>vec4|float) (?P<name>\w+) = [^;]+;")
SEED = "u_seed"  # what stands for the results of loops that are empty
PIXEL, LANE = "gl_FragCoord.x", "uintBitsToFloat(gl_LocalInvocationID.x)"  # differ by invocation
LANES = {"vec4": "", "float": ".x"}
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
    """Loops within one another, the outermost first.

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

    def trips(self, left: int) -> int:
        """Return how often the body runs with that many repeating loops left, others unrolled."""
        loops = self.repeating
        while len(loops) > max(left, 0):
            constant = [k for k, loop in enumerate(loops) if loop.constant]
            loops.pop(constant[-1] if constant else -1)
        return prod(1 if loop.trips is None else loop.trips for loop in loops)


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


def emptied(source: str, nests: Sequence[Nest]) -> tuple[str, int]:
    """Return a shader in which some loop nests never run.

    Variables that such a loop would change begin with values that the compiler cannot know.
    Otherwise it would compute at compile time what follows from them.

    Returns:
        The source, and how many multiplications these values add.
    """
    seeds: list[int] = []
    position = LANE if "local_size_x" in source else PIXEL
    for nest in reversed(nests):
        begin, end = nest.loops[0].begin, nest.loops[0].end
        before, body, after = source[:begin], source[begin:end], source[end:]
        function = [match.end() for match in FUNCTION.finditer(before)][-1]
        lines = before[function:]
        for match in reversed(list(DECLARED.finditer(lines))):
            type, name = match["type"], match["name"]
            if re.search(rf"\b{name} \+?= ", body):
                seed = f"{SEED}[{len(seeds)}]{LANES[type]} * {position}"
                lines = f"{lines[: match.start()]}{type} {name} = {seed};{lines[match.end() :]}"
                seeds.append(4 if type == "vec4" else 1)
        body = HEAD.sub(_never, body)
        source = before[:function] + lines + body + after
    if seeds:
        first = FUNCTION.search(source)
        assert first is not None
        declared = f"uniform highp vec4 {SEED}[{len(seeds)}];\n\n"
        source = source[: first.start()] + declared + source[first.start() :]
    return source, sum(seeds)


def _calls(source: str, loop: Loop) -> int:
    """Return how often the source calls the function that a loop is in."""
    function = [match["name"] for match in FUNCTION.finditer(source[: loop.begin])][-1]
    return max(1, len(re.findall(rf"\b{function}\(", source[loop.end :])))


def _never(head: re.Match[str]) -> str:
    counter = head["counter"]
    return f"for (int {counter} = 0; {counter} < 0; ++{counter}) {{"


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
