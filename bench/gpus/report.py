"""The measured parts of docs/gpus.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from comparison.markdown import NOTHING, table

from .drivers import SECONDS, compiler_of
from .networks import GENERIC
from .results import Figures, NetworkResult
from .table import Gpu

SPILLS, SLOW = "S", "T"  # marks of shares
CHANGED = 0.005  # smaller changes are not shown
CELLS: dict[str, Callable[[Figures], str]] = {
    "Mcycles": lambda f: NOTHING if f.cycles is None else f"{f.cycles:.1f}",
    "of the bound": lambda f: NOTHING if f.share is None else f"{f.share:.0%}",
    "shaders": lambda f: str(f.programs),
    "registers": lambda f: NOTHING if f.registers is None else str(f.registers),
    "spills": lambda f: str(f.spills),
    "spilling": lambda f: str(f.spilling),
    "code, KiB": lambda f: f"{f.code:.0f}",
    "compiling, ms": lambda f: f"{f.ms:.0f}",
    "over 1 s": lambda f: str(f.slow),
    "costliest pass": lambda f: f.costliest,
}


def as_page(
    results: Sequence[NetworkResult],
    gpus: Sequence[Gpu],
    before: Sequence[NetworkResult] = (),
) -> str:
    """Return the tables.

    Args:
        results: of this run.
        gpus: that were measured.
        before: of an earlier run, to compare with.
    """
    parts = [_gpus(gpus), _shares(results, gpus), _profiles(results, gpus)]
    parts += [_changes(before, results, gpus)] if before else []
    parts += [_details(result, gpus) for result in results]
    parts += [_problems(results)]
    return "\n\n".join(filter(None, parts))


def _gpus(gpus: Sequence[Gpu]) -> str:
    rows = [(gpu.name, gpu.title, gpu.family, compiler_of(gpu)) for gpu in gpus]
    head = ("name", "GPU", "family", "compiler")
    return "## GPUs\n\n" + table(head, rows, right=len(head))


def _shares(results: Sequence[NetworkResult], gpus: Sequence[Gpu]) -> str:
    rows = [
        (r.name, f"{r.size[0]}×{r.size[1]}", *(_cell(r.of(gpu.name)) for gpu in gpus))
        for r in results
        if not r.problem
    ]
    head = ("network", "input", *(gpu.name for gpu in gpus))
    words = (
        "## Share of the multiply-add bound\n\n"
        f"{SPILLS}: a shader spills registers. {SLOW}: a shader takes over a second to compile. "
        f"{NOTHING}: a shader does not compile, or takes over {SECONDS} s to compile.\n\n"
    )
    return words + table(head, rows, right=2)


def _cell(figures: Figures | None) -> str:
    if figures is None or figures.share is None:
        return NOTHING
    marks = SPILLS * bool(figures.spills) + SLOW * bool(figures.slow)
    return f"{figures.share:.0%} {marks}".strip()


def _profiles(results: Sequence[NetworkResult], gpus: Sequence[Gpu]) -> str:
    """Return how many times the cycles of its family's profile a generic one takes."""
    rows = []
    for r in results:
        cells = [_over(r, profile, gpus) for profile in GENERIC]
        if any(cell != NOTHING for cell in cells):
            rows.append((r.name, *cells))
    if not rows:
        return ""
    words = (
        "## Generic device profiles\n\n"
        "Cycles with a generic profile divided by cycles with the profile of the GPU's family, "
        "on the GPU with the largest ratio.\n\n"
    )
    return words + table(("network", *GENERIC), rows)


def _over(result: NetworkResult, profile: str, gpus: Sequence[Gpu]) -> str:
    found = []
    for gpu in gpus:
        own, other = result.of(gpu.name), result.figures.get(profile, {}).get(gpu.name)
        if own and other and own is not other and own.cycles:
            if other.cycles is None:
                return f"does not compile, {gpu.name}"
            found.append((other.cycles / own.cycles, gpu.name))
    if not found:
        return NOTHING
    most, name = max(found)
    return f"{most:.2f}, {name}"


def _changes(
    before: Sequence[NetworkResult], after: Sequence[NetworkResult], gpus: Sequence[Gpu]
) -> str:
    """Return what a change does to cycles."""
    known = {r.name: r for r in before}
    rows = [
        (r.name, *(_change(known[r.name].of(gpu.name), r.of(gpu.name)) for gpu in gpus))
        for r in after
        if r.name in known
    ]
    head = ("network", *(gpu.name for gpu in gpus))
    words = (
        "## Before and after\n\nShare of the multiply-add bound in an earlier run and in this run; "
        "empty where nothing changed.\n\n"
    )
    return words + table(head, rows) if rows else ""


def _change(before: Figures | None, after: Figures | None) -> str:
    old, new = _cell(before), _cell(after)
    shares = [f.share if f else None for f in (before, after)]
    same = None not in shares and abs((shares[1] or 0) / (shares[0] or 1) - 1) < CHANGED
    return "" if same or old == new == NOTHING else f"{old} → {new}"


def _details(result: NetworkResult, gpus: Sequence[Gpu]) -> str:
    head = ("GPU", "profile", *CELLS)
    rows = []
    for gpu in gpus:
        found = result.of(gpu.name)
        if found:
            cells = (cell(found) for cell in CELLS.values())
            rows.append((gpu.name, result.own[gpu.name], *cells))
    height, width = result.size
    words = f"## {result.name}, {height}×{width}\n\n"
    return words + table(head, rows, right=2) if rows else ""


def _problems(results: Sequence[NetworkResult]) -> str:
    lines = [f"- {where}: {what}" for where, what in _all_problems(results)]
    return "## Not counted\n\n" + "\n".join(lines) if lines else ""


def _all_problems(results: Sequence[NetworkResult]) -> Iterator[tuple[str, str]]:
    for r in results:
        if r.problem:
            yield r.name, r.problem
        for profile, by_gpu in r.figures.items():
            for gpu, figures in by_gpu.items():
                if figures.failed:
                    first, *others = figures.failed
                    more = f"; other shaders that fail: {len(others)}" if others else ""
                    yield f"{r.name}, {profile}, {gpu}", first + more
