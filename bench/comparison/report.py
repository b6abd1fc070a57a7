"""A run as JSON and as the tables of docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .bars import bars, regret
from .markdown import NOTHING, bar_table, table
from .results import HALVES, OWN, PEER, ContenderResult, Cost, NetworkResult, Spread
from .turns import Limits

CLOCKS = ("wall", "cpu")


@dataclass(frozen=True)
class Machine:
    """Where it was measured."""

    processor: str
    cores: int
    system: str
    renderer: str
    gl_version: str


@dataclass(frozen=True)
class Run:
    """A comparison."""

    machine: Machine
    limits: Limits
    networks: tuple[NetworkResult, ...]

    @property
    def names(self) -> list[str]:
        """The contenders', in order."""
        return list(dict.fromkeys(n for r in self.networks for n in r.contenders))


def as_data(run: Run) -> dict[str, Any]:
    """Return what JSON holds: medians and spread in place of every round."""
    return {
        "machine": asdict(run.machine),
        "limits": asdict(run.limits),
        "bars": [asdict(bar) for bar in bars(run.networks)],
        "networks": [_network_data(r, run.names) for r in run.networks],
    }


def _network_data(result: NetworkResult, names: Sequence[str]) -> dict[str, Any]:
    data = asdict(result)
    data["clock"] = result.clock
    for name, own in data["contenders"].items():
        for field in ("convert", "start"):
            own[field] = own[field] and {k: round(v, 1) for k, v in own[field].items()}
        for field in ("frames", "resident"):
            times = {c: result.times(name, c, field == "resident") for c in CLOCKS}
            own["rounds"] = len(result.times(name))
            own[field] = {c: _rounded(Spread.of(t)) for c, t in times.items() if t}
    data["times_as_fast_as"] = {
        name: {c: _rounded(ratio) for c in CLOCKS if (ratio := result.ratio(name, OWN, c))}
        for name in names
        if name != OWN and result.times(name) and result.times(OWN)
    }
    return data


def _rounded(numbers: Any) -> dict[str, float]:
    return {name: round(value, 4) for name, value in asdict(numbers).items()}


def as_page(run: Run) -> str:
    """Return the tables."""
    parts = (_where, _bars, _speed, _options, _frames, _shares, _starts, _problems)
    return "\n\n".join(filter(None, (part(run) for part in parts)))


def _options(run: Run) -> str:
    rows = [(r.name, found.options) for r in run.networks if (found := r.contenders.get(PEER))]
    rows = [(name, options or "all on") for name, options in rows]
    words = f"## Options that {PEER} is fastest with\n\n"
    return words + table(("network", "options"), rows, right=2) if rows else ""


def _where(run: Run) -> str:
    machine = run.machine
    versions = {
        name: next((r.contenders[name].version for r in run.networks if _version(r, name)), "")
        for name in run.names
    }
    lines = [
        f"Measured on {machine.processor}, {machine.cores} cores, {machine.system}; "
        f"GL: {machine.renderer}, {machine.gl_version}.",
        "",
    ]
    lines += [f"- **{name}**: {text or 'not measured'}" for name, text in versions.items()]
    return "\n".join(lines)


def _version(result: NetworkResult, name: str) -> str:
    return result.contenders[name].version if name in result.contenders else ""


def _bars(run: Run) -> str:
    return "## Targets\n\n" + bar_table(bars(run.networks))


def _speed(run: Run) -> str:
    head = ("network", "input", "GFLOP", "wall clock", "processor time", "both in 16 bits")
    head += ("rounds", "others took")
    rows = []
    for r in filter(lambda r: r.timed, run.networks):
        ratios = {c: _ratio(r, c) for c in CLOCKS}
        if ratios[r.clock] != NOTHING:
            ratios[r.clock] = f"**{ratios[r.clock]}**"
        others = NOTHING if r.others is None else f"{r.others:.0%}"
        flops = NOTHING if r.macs is None else f"{2 * r.macs / 1e9:.2f}"
        count = str(len(r.times(OWN)) or NOTHING)
        half = _ratio(r, r.clock, HALVES)
        rows.append((r.name, _shape(r), flops, *ratios.values(), half, count, others))
    words = f"## {OWN} against {PEER}: how many times as fast\n\n"
    return words + table(head, rows, right=2)


def _ratio(result: NetworkResult, clock: str, pair: tuple[str, str] = (OWN, PEER)) -> str:
    own, peer = pair
    ratio = result.ratio(peer, own, clock)
    return f"{ratio.median:.1f} ({ratio.p10:.1f} to {ratio.p90:.1f})" if ratio else NOTHING


def _frames(run: Run) -> str:
    parts = []
    for resident, words in ((False, "with upload and download"), (True, "resident")):
        names = [n for n in run.names if any(r.times(n, "", resident) for r in run.networks)]
        head = ["network", "clock", *names, *([f"{OWN} / best forced"] * resident)]
        rows = []
        for r in filter(lambda r: r.timed, run.networks):
            cells = [_spread(r.times(n, "", resident)) for n in names]
            if resident:
                over = regret(r)
                cells.append(NOTHING if over is None else f"{over:.2f}")
            rows.append((r.name, r.clock, *cells))
        parts.append(f"## Frames {words}, ms\n\n" + table(head, rows, right=2))
    return "\n\n".join(parts)


def _spread(times: list[float]) -> str:
    if not times:
        return NOTHING
    found = Spread.of(times)
    return " ".join((_digits(found.median), f"({_digits(found.p10)} to {_digits(found.p90)})"))


def _digits(value: float) -> str:
    """Return three digits of a number, or all that stand before the point."""
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def _shares(run: Run) -> str:
    rows = [
        (r.name, layer or "the frame", f"{share:.0%}")
        for r in run.networks
        for layer, share in r.shares.items()
    ]
    words = f"## Share of the multiply-add ceiling that {OWN} reaches\n\n"
    return words + table(("network", "convolution", "share"), rows, right=2) if rows else ""


def _starts(run: Run) -> str:
    names = run.names
    parts = []
    kinds = (
        ("Converting the model, s", _seconds("convert")),
        ("From files to the first output, s", _seconds("start")),
        ("Peak memory from files to the first output, MB", _peak_memory),
        ("GPU passes", lambda r, c: NOTHING if c.passes is None else str(c.passes)),
    )
    for title, cell in kinds:
        rows = [
            (r.name, *(cell(r, r.contenders.get(n, ContenderResult())) for n in names))
            for r in run.networks
        ]
        used = [k for k, name in enumerate(names) if any(row[k + 1] != NOTHING for row in rows)]
        rows = [(row[0], *(row[k + 1] for k in used)) for row in rows]
        parts.append(f"## {title}\n\n" + table(["network", *(names[k] for k in used)], rows))
    return "\n\n".join(parts)


def _seconds(field: str) -> Any:
    def cell(result: NetworkResult, contender: ContenderResult) -> str:
        cost: Cost | None = getattr(contender, field)
        return f"{getattr(cost, result.clock) / 1e3:.2f}" if cost else NOTHING

    return cell


def _peak_memory(result: NetworkResult, contender: ContenderResult) -> str:
    return f"{contender.memory / 1e6:.0f}" if contender.memory else NOTHING


def _problems(run: Run) -> str:
    lines = [f"- {where}: {what}" for where, what in _all_problems(run)]
    return "## Not measured\n\n" + "\n".join(lines) if lines else ""


def _all_problems(run: Run) -> Iterator[tuple[str, str]]:
    for r in run.networks:
        if r.problem:
            yield r.name, r.problem
        for name, found in r.contenders.items():
            if found.problem:
                yield f"{r.name}, {name}", " ".join(found.problem.split())


def _shape(result: NetworkResult) -> str:
    return "×".join(str(n) for n in result.shape[1:])
