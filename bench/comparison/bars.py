"""The goals of the project beside the measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .results import OWN, PEER, NetworkResult

FORCED = ("fragment", "compute")
WORST = {OWN: 1.10, "tuned": 1.03}  # times the best forced choice
FRAME_SHARE, LAYER_SHARE = {"ESPCN": 0.6}, {"ResNet-18": 0.35}  # of the multiply-add ceiling
WEIGHED = ("Conv", "ConvTranspose", "Gemm", "MatMul")
POOLS = ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
COMPILE = {"ResNet-18": 2.0, "MobileNet v2": 2.0}  # seconds
START = {"ResNet-18": 3.0, "ESPCN": 0.5}  # seconds
PASSES = (("ESPCN", "compute", 3), ("ESPCN", "fragment", 4))
ONE_PER_LAYER = ("MobileNet v2", "ResNet-18")


@dataclass(frozen=True)
class Bar:
    """One demand; ``met`` is None where nothing was measured."""

    asked: str
    found: str
    met: bool | None


def bars(results: Sequence[NetworkResult]) -> list[Bar]:
    """Compare the results of one run with the goals."""
    by_name = {r.name: r for r in results}
    choices = (bar for name, limit in WORST.items() for bar in _choice(results, name, limit))
    parts = (_share(by_name), choices, _start(by_name), _passes(by_name))
    return [bar for part in parts for bar in part]


def _bar(asked: str, found: str | None, met: bool) -> Bar:
    return Bar(asked, "not measured", None) if found is None else Bar(asked, found, met)


def speed_bars(ratios: Mapping[str, float], mean: float) -> list[Bar]:
    """Compare the ratios to ncnn, the smallest of all runs, and their mean with the goals."""
    worst = min(ratios, key=lambda name: ratios[name]) if ratios else ""
    least = ratios.get(worst, 0.0)
    espcn = ratios.get("ESPCN")
    words = f"{OWN}, times as fast as {PEER}"
    return [
        _bar(f"{words}, geometric mean: at least 4", f"{mean:.1f}" if ratios else None, mean >= 4),
        _bar(
            f"{words}, every network: at least 1.2",
            f"{least:.1f}, {worst}" if ratios else None,
            least >= 1.2,
        ),
        _bar(
            f"{words}, ESPCN: at least 10",
            None if espcn is None else f"{espcn:.1f}",
            (espcn or 0) >= 10,
        ),
    ]


def regret(result: NetworkResult, chosen: str = OWN) -> float | None:
    """Return how many times longer a contender takes than the best forced choice, resident."""
    ratios = [result.ratio(chosen, forced, resident=True) for forced in FORCED]
    known = [ratio.median for ratio in ratios if ratio]
    return max(known) if known else None


def _share(results: dict[str, NetworkResult]) -> Iterator[Bar]:
    for name, least in FRAME_SHARE.items():
        share = results[name].shares.get("") if name in results else None
        found = None if share is None else f"{share:.0%}"
        asked = f"{name}, share of the multiply-add ceiling: at least {least:.0%}"
        yield _bar(asked, found, (share or 0) >= least)
    for name, least in LAYER_SHARE.items():
        shares = results[name].shares if name in results else {}
        layers = {layer: share for layer, share in shares.items() if layer}
        below = sum(share < least for share in layers.values())
        lowest = f"{min(layers.values()):.0%}" if layers else ""
        found = f"{below} of {len(layers)} below, the least {lowest}" if layers else None
        asked = (
            f"{name}, each convolution's share of the multiply-add ceiling: at least {least:.0%}"
        )
        yield _bar(asked, found, not below)


def _choice(results: Sequence[NetworkResult], chosen: str, limit: float) -> Iterator[Bar]:
    every = {r.name: regret(r, chosen) for r in results if r.timed}
    known = {name: value for name, value in every.items() if value is not None}
    worst = max(known, key=lambda name: known[name]) if known else ""
    over = [f"{name} {value:.2f}" for name, value in known.items() if value > limit]
    found = (", ".join(over) or f"{known[worst]:.2f} at most, {worst}") if known else None
    asked = f"{chosen} / best forced, resident frames, every network: at most {limit:.2f}"
    yield _bar(asked, found, not over)


def _start(results: dict[str, NetworkResult]) -> Iterator[Bar]:
    kinds = (("compiling", "convert", COMPILE), ("files to first output", "start", START))
    for words, field, limits in kinds:
        for name, limit in limits.items():
            result = results.get(name)
            own = result.contenders.get(OWN) if result else None
            cost = getattr(own, field) if own else None
            seconds = getattr(cost, result.clock) / 1e3 if cost and result else 0.0
            found = f"{seconds:.2f} s" if cost else None
            yield _bar(f"{name}, {words}: under {limit:g} s", found, seconds < limit)


def _passes(results: dict[str, NetworkResult]) -> Iterator[Bar]:
    limits = [(name, stage, limit, str(limit)) for name, stage, limit in PASSES]
    for name in ONE_PER_LAYER:
        count = layers(results[name]) if name in results else 0
        limits.append((name, OWN, count, f"{count}, one per convolution, pool and dense layer"))
    for name, stage, limit, words in limits:
        result = results.get(name)
        own = result.contenders.get(stage) if result else None
        passes = own.passes if own else None
        found = None if passes is None else str(passes)
        yield _bar(f"{name}, GPU passes of {stage}: at most {words}", found, (passes or 0) <= limit)


def layers(result: NetworkResult) -> int:
    """Return how many of the model's nodes hold weights or pool."""
    return sum(n for name, n in result.operations.items() if name in (*WEIGHED, *POOLS))
