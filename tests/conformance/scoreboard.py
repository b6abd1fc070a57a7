"""The results as a file that diffs well, and as a document."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .matrix import Matrix
from .suite import KINDS, LOOSENED, Case, Outcome

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests" / "conformance" / "results.json"
DOCUMENT = ROOT / "docs" / "conformance.md"
STATUSES = ("pass", "compile-time", "refused", "wrong", "broken")
HEAD = """\
# Conformance

<!-- written by `make conformance` from tests/conformance/results.json -->

This page shows the results of the backend test suite of the `onnx` package, version {version}, with
`shadergen.compiler.onnx_backend`. Each model is compiled and runs on OpenGL ES ({renderer}), with
its inputs in textures. The results are compared within the suite's tolerances.

- **pass**: shaders computed the right result from uploaded inputs.
- **compile-time**: the result depends on no input value (`Constant`, `Shape`, `Range` with fixed
  operands); shaders only write the result.
- **refused**: an error with a code, which names what is not supported. Code `folded`: the compiler
  removed all of the model's computations on inputs, so no shader reads an input and the case proves
  nothing.
- **wrong** and **broken** (crashed, hung, a bug) fail `make conformance`.

Inputs that only parametrise an operator (shapes, axes, sizes, the value of a padding) are compiled
in if the operator needs them as constants. An input of data is never compiled in.
Handlers are marked with the operands that may be compiled in
([compiler/frontends/onnx/ops/parameters.py](../compiler/frontends/onnx/ops/parameters.py)).

Two kinds of arrays are converted before upload. Strings become numbers, which shaders move and
compare. A float64 array with values beyond float32's range is split by magnitude into several
arrays. Each of these is scaled into the range by its own power of 2. The model runs on each array,
and the rescaled results are added. The sum is correct if the model is linear up to a constant
([compiler/wide_float64/](../compiler/wide_float64/__init__.py)).

{loosened} have a tolerance of 1e-6 where the exact
result is 0: the suite expects the rounding errors of one implementation there.
"""


@dataclass(frozen=True)
class Scoreboard:
    """What became of every case.

    Attributes:
        version: of the onnx package.
        renderer: what GL ran on.
        results: by case.
    """

    version: str
    renderer: str
    results: Mapping[Case, Outcome]

    def save(self) -> None:
        """Write both files."""
        RESULTS.write_text(self.to_json(), "utf-8")
        DOCUMENT.write_text(self.to_markdown(), "utf-8")

    def to_json(self) -> str:
        """Return the results with a line for each case."""
        lines = [
            json.dumps([c.name, c.kind, c.op, c.floats, o.status, o.code, o.reason, list(o.fixed)])
            for c, o in sorted(self.results.items(), key=lambda item: _place(item[0]))
        ]
        head = json.dumps({"onnx": self.version, "renderer": self.renderer})
        return f'{head[:-1]}, "cases": [\n' + ",\n".join(lines) + "\n]}\n"

    @staticmethod
    def load() -> Scoreboard:
        data = json.loads(RESULTS.read_text("utf-8"))
        results = {
            Case(name, kind, op, floats): Outcome(status, code, reason, tuple(fixed))
            for name, kind, op, floats, status, code, reason, fixed in data["cases"]
        }
        return Scoreboard(data["onnx"], data["renderer"], results)

    def count(self, chosen: Callable[[Case], bool]) -> Counter[str]:
        """Return how many of the chosen cases have each status."""
        return Counter(o.status for c, o in self.results.items() if chosen(c))

    def totals(self) -> dict[str, Counter[str]]:
        """Return the statuses of each kind."""
        groups: dict[str, Callable[[Case], bool]] = {
            "node": lambda c: c.kind == "node",
            "node, float32 only": lambda c: c.floats,
        }
        for kind in list(KINDS)[1:]:
            groups[kind] = lambda c, kind=kind: c.kind == kind  # type: ignore[misc]
        return {name: self.count(chosen) for name, chosen in groups.items()}

    def to_markdown(self) -> str:
        """Return the document."""
        loosened = " and ".join(f"`{name}`" for name in LOOSENED)
        head = HEAD.format(version=self.version, renderer=self.renderer, loosened=loosened)
        columns = ("cases", *STATUSES)
        totals = [(name, *_numbers(counts)) for name, counts in self.totals().items()]
        return "\n".join(
            (
                head,
                f"## Totals\n\n{table(('', *columns), totals)}\n",
                '"float32 only": node cases with only float32 tensors and `ai.onnx` operators.\n',
                "## Every kernel choice forced\n\n"
                "All cases except the whole networks of the suite's group `light`, with options\n"
                "that apply to every layer (`make matrix`). Layers that exceed the limits of a\n"
                "choice are refused.\n",
                f"{_matrix()}\n",
                f"## Operators\n\nNode cases.\n\n{self._operators()}\n",
                "## Fixed inputs\n\nPassing node cases with compiled-in inputs, by operator.\n\n"
                f"{self._fixed()}\n",
                f"## Refused\n\n{self._listed('refused')}\n",
                f"## Wrong or broken\n\n{self._listed('wrong', 'broken')}\n",
            )
        )

    def _operators(self) -> str:
        rows = []
        for op in sorted({c.op for c in self.results if c.op}):
            counts = self.count(lambda c, op=op: c.op == op)  # type: ignore[misc]
            codes = Counter(o.code for c, o in self.results.items() if c.op == op and o.code)
            listed = ", ".join(f"{code} {n}" for code, n in sorted(codes.items()))
            rows.append((f"`{op}`", *_numbers(counts), listed))
        return table(("operator", "cases", *STATUSES, "codes"), rows)

    def _fixed(self) -> str:
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for case, outcome in self.results.items():
            if case.op and outcome.status == "pass":
                found[case.op].update(outcome.fixed)
        rows = [
            (f"`{op}`", ", ".join(f"`{name}` {n}" for name, n in sorted(counts.items())))
            for op, counts in sorted(found.items())
            if counts
        ]
        return table(("operator", "inputs, each with its number of cases"), rows)

    def _listed(self, *statuses: str) -> str:
        rows = [
            (f"`{c.name}`", c.kind, o.code or o.status, o.reason.replace("](", "] ("))
            for c, o in sorted(self.results.items(), key=lambda item: _place(item[0]))
            if o.status in statuses
        ]
        return table(("case", "kind", "code", "reason"), rows) if rows else "None."


def _matrix() -> str:
    counts = Matrix.load().counts
    rows = [(f"`{choice}`", *_numbers(Counter(count))) for choice, count in counts.items()]
    return table(("forced", "cases", *STATUSES), rows) if rows else "Not tried yet."


def _place(case: Case) -> tuple[int, str]:
    return list(KINDS).index(case.kind), case.name


def _numbers(counts: Counter[str]) -> tuple[str, ...]:
    return (str(counts.total()), *(str(counts[s]) if counts[s] else "" for s in STATUSES))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    head = tuple(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines
    )
