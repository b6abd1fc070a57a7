"""Judging the outputs of a build: errors, their bounds, and indices that may differ for ties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.schedule import label
from ..errors import ShadergenError, printable
from ..passes.placement.target import TOLERANCES
from ..records import dataclass, replace
from .choices import PRECISIONS
from .ties import find_pick, only_ties, scores_behind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ..ir.graph import Graph, Output
    from .expectations import Expected
    from .options import Options

UNORM8_STEP = 0.5 / 255
HUGE = 1e30  # numbers of this size and more stand for infinity, as the lowest float does in masks
ROUNDED = {  # tolerance and note, by the format of weights
    "float16": (
        TOLERANCES["mediump"],
        "weights are rounded to 16 bits, so the error bound is that of --precision mediump",
    ),
    "int8": (1e-1, "weights are rounded to 8 bits, so larger errors are accepted"),
}
HALF_NOTE = "the reference computes in 16 bits, so the error bound is that of --precision mediump"


@dataclass(frozen=True)
class OutputError:
    """The comparison of one output: errors, their bound, the reference's largest value.

    Errors are absolute but for numbers that stand for infinity (:func:`error_and_bound`), and the
    largest value leaves these out.

    Of an output of integers ``differing`` says how many are not the reference's, and ``tied``
    whether those are indices of scores that are equal within the tolerance (:mod:`.ties`).
    ``variant`` is the name of the variant that computed it, empty for the generic build.
    """

    name: str
    shape: tuple[int, ...]
    max_error: float
    mean_error: float
    bound: float
    largest: float
    differing: int = 0
    tied: bool = False
    variant: str = ""

    @property
    def ok(self) -> bool:
        return self.max_error <= self.bound or self.tied  # false for NaN

    @property
    def warning(self) -> str:
        """A warning if the error bound exceeds the whole output, else nothing."""
        if self.largest > self.bound or not self.ok:
            return ""
        return (
            f"warning: output '{self.name}' is too small to verify: its largest value, "
            f"{self.largest:.3g}, is below the error bound {self.bound:.3g}; "
            "use real data (--input) or a wider --input-range"
        )


def joined_notes(notes: Iterable[str]) -> str:
    """Return notes as lines, each once."""
    return "\n".join(map(printable, dict.fromkeys(filter(None, notes))))


def judge(
    outputs: Iterable[Output],
    ran: Mapping[str, NDArray[Any]],
    expected: Expected,
    options: Options,
) -> tuple[list[OutputError], list[str]]:
    """Compare the outputs of a build with what is expected of them.

    Args:
        outputs: of the graph as compiled.
        ran: the build's arrays, by their names in the build.
        expected: of the model.
        options: of the compilation; they say how large errors may be.

    Returns:
        The comparison of each output, and what to say of them.

    Raises:
        ShadergenError: SG0701 if the shapes differ.
    """
    errors, notes = [], []
    for o in outputs:
        wanted = expected.outputs[o.name]
        want = np.asarray(wanted, np.float64)
        found = ran[label(o.name)]
        if want.shape != found.shape:
            raise ShadergenError(
                "SG0701",
                f"output '{o.name}' has shape {found.shape}, the reference has {want.shape}",
            )
        tolerance = tolerance_of(options)
        if wanted.dtype == np.float16:
            tolerance = max(tolerance, TOLERANCES["mediump"])
            notes.append(HALF_NOTE)
        if options.weight_format in ROUNDED:
            notes.append(ROUNDED[options.weight_format][1])
        error, bound = error_and_bound(np.abs(found - want), want, tolerance)
        if o.port.encoding == "unorm8":
            want = want.clip(0, 1)
            bound += UNORM8_STEP
            error = np.abs(found - want)
        largest = largest_usual(want)
        result = OutputError(
            o.name, want.shape, float(error.max()), float(error.mean()), bound, largest
        )
        own = next(p for p in expected.graph.outputs if p.name == o.name)
        result, said = _integers(
            result, expected.graph, own, expected.inputs, want, found, tolerance
        )
        notes.append(said)
        errors.append(result)
    return errors, notes


def error_and_bound(
    error: NDArray[Any],
    want: NDArray[Any],
    tolerance: float,
    known: NDArray[np.bool_] | bool = True,
) -> tuple[NDArray[Any], float]:
    """Return the error of each element, and how large it may be: the same for all elements.

    The bound grows with the largest number of the reference, but for infinities and numbers that
    stand for them: a single one would let every error pass. The error of such a number is scaled,
    so that the bound is relative to the number itself.

    Args:
        error: the absolute errors.
        want: the reference.
        tolerance: of a tensor whose largest number is 1 or less.
        known: which elements count.
    """
    size = np.abs(want)
    scale = max(1.0, largest_usual(want, known))
    huge = (size >= HUGE) & np.isfinite(size)
    return np.where(huge, error * (scale / np.where(huge, size, 1)), error), tolerance * scale


def largest_usual(want: NDArray[Any], known: NDArray[np.bool_] | bool = True) -> float:
    """Return the largest magnitude of a reference, but for numbers that stand for infinity."""
    size = np.abs(want)
    return float(size[known & (size < HUGE)].max(initial=0))


def tolerance_of(options: Options) -> float:
    """Return how large an error may be, over the largest number of a tensor or 1."""
    rounded = ROUNDED[options.weight_format][0] if options.weight_format in ROUNDED else 0.0
    return max(TOLERANCES[PRECISIONS[options.precision]], rounded)


def _integers(
    error: OutputError,
    graph: Graph,
    output: Output,
    inputs: Mapping[str, NDArray[Any]],
    wanted: NDArray[Any],
    found: NDArray[Any],
    tolerance: float,
) -> tuple[OutputError, str]:
    """Judge an output of integers: indices must be equal but for ties. Else nothing changes.

    Returns:
        The judgement, and what to say of integers that differ.
    """
    pick = find_pick(output.value)
    if pick is None and output.value.type.dtype == "float32":
        return error, ""
    differing = int((np.rint(found) != wanted).sum())
    if pick is not None:  # the tolerance is of scores: an index that is nearly right is wrong
        error = replace(error, bound=min(error.bound, 0.5))
    if not differing or error.ok:
        return error, ""
    back = np.argsort(output.port.axes)
    logical = wanted.transpose(back), found.transpose(back)
    tied = pick is not None and only_ties(pick, graph, inputs, *logical, tolerance)
    count = f"{differing:,} of {wanted.size:,} {'integers' if pick is None else 'indices'} differ"
    said = f"output '{error.name}': {count}"
    if tied:
        said += f", but only where scores are equal within {tolerance:g}"
    else:
        behind = scores_behind(output.value)
        why = "; rounding can decide between nearly equal values"
        if pick is not None:
            why = f"; near-equal scores (within {tolerance:g}) do not explain all these differences"
        said += why + f"; compare the values before this output: --outputs {behind}" * bool(behind)
    return replace(error, differing=differing, tied=tied), said
