"""Fit a device profile's costs (placement.costs) to what kernels take on the GL at hand.

    python bench/fit_costs.py MODEL... [--device llvmpipe] [--input-size HxW] [--tuning FILE]

The likely candidates of every kind of layer are measured as shadergen tune does, into the same kind
of file. Then those costs are printed, none below zero, that make the predictions nearest to the
measurements in proportion; "accumulators", "instruction_cache" and "lanes" are the
profile's. The cost of compiling ("code") is not measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.option_parsing import parse_sizes
from shadergen.compiler.options import Options
from shadergen.compiler.tuning.session import spearman, tune_model
from shadergen.compiler.tuning.trials import Settings
from shadergen.passes.predict_cost import Predictor

ONCE = "code"  # paid when starting, not in each frame


def least_squares(
    counts: np.ndarray, times: np.ndarray, whole: np.ndarray | None = None
) -> np.ndarray:
    """Return the non-negative costs of least error, as a share of ``whole``, else of the times."""
    whole = times if whole is None else whole
    shares, wanted = counts / whole[:, None], times / whole
    kept = np.flatnonzero(counts.any(0))
    while True:
        costs = np.zeros(counts.shape[1])
        costs[kept] = np.linalg.lstsq(shares[:, kept], wanted, rcond=None)[0]
        if (costs >= 0).all():
            return costs
        kept = kept[costs[kept] > costs.min()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--device", default="llvmpipe")
    parser.add_argument("--input-size", action="append", default=[], metavar="HxW")
    parser.add_argument("--tuning", type=Path, default=Path("costs.json"))
    flags = parser.parse_args()
    options = Options(device=flags.device, input_size=parse_sizes(flags.input_size))
    target = options.target()
    bills, times, now = [], [], []
    for model in flags.models:
        found = tune_model(
            model, options, flags.tuning, Settings(), None, True, lambda *step: print(*step)
        )
        for outcome in found.outcomes:
            predictor = Predictor(outcome.kind.node, KernelFamilies(target))
            for choice, nanoseconds in outcome.measured.items():
                bills.append(predictor.cost_counts(choice))
                times.append(nanoseconds)
                now.append(outcome.kind.predicted[choice])
    names = sorted({name for bill in bills for name in bill} - {ONCE})
    counts = np.array([[bill.get(name, 0.0) for name in names] for bill in bills])
    measured = np.array(times)
    costs = least_squares(counts, measured)
    for name, cost in zip(names, costs, strict=True):
        print(f"    {name}={cost:.3g},")
    fitted = counts @ costs
    error = np.sqrt(np.mean((fitted / measured - 1) ** 2))
    print(f"{len(times)} measurements, root mean square of relative errors {error:.2f}")
    ranks = spearman(now, measured), spearman(fitted, measured)
    print(f"rank correlation: {ranks[0]:.2f} with the profile's costs, {ranks[1]:.2f} with these")


if __name__ == "__main__":
    main()
