"""Finding what makes a build wrong, and the smallest change that makes it right.

Three questions, each answered by running:

1. Is the compiled graph right? The interpreter runs it on the CPU. If the graph is wrong, so is it
   after the import, or after one of the compiler's passes, which halving finds.
2. Is each GPU pass right if its inputs are right? Those of one tensor at a time run alone.
3. Which option makes the build right? Each option that avoids a part of the compiler is tried, and
   all of them together if none helps alone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ...backends.writer import write_build
from ...errors import InternalError, ShadergenError
from ...records import dataclass, replace
from ..compilation import compile_graph
from ..judging import judge
from ..verification import run_build
from .graph_passes import find_graph_fault
from .inside import Alone, Inside
from .trials import Trial, changed_passes, same_build, trials

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...backends.build_files import BuildFiles
    from ..verification import Verification
    from .graph_passes import GraphFault
    from .inside import LayerError


@dataclass(frozen=True)
class Cure:
    """A change of options that makes the build right.

    Attributes:
        text: the options to add.
        changed: how many GPU passes differ from the wrong build's.
        passes: how many GPU passes the right build has.
    """

    text: str
    changed: int
    passes: int


@dataclass(frozen=True)
class Bisection:
    """What makes a build wrong.

    Attributes:
        graph: the compiler's step that made the graph wrong; None if the graph is right.
        kernels: the tensors whose own GPU passes are wrong though their inputs are right, in order.
        shared_wrongly: whether the build is right if no tensors share textures.
        cures: the changes that make the build right, the smallest first.
        tried: how many changes made another build and ran.
        refused: changes that could not be compiled or run, and why.
    """

    graph: GraphFault | None
    kernels: tuple[LayerError, ...]
    shared_wrongly: bool
    cures: tuple[Cure, ...]
    tried: int
    refused: dict[str, str]


def bisect(
    verified: Verification, progress: Callable[[str], None] = lambda step: None
) -> Bisection | None:
    """Find what makes a build wrong; None if its outputs are right.

    Args:
        verified: the verification of one build.
        progress: called with the name of each step.

    Raises:
        ShadergenError: SG0301 for several builds, SG06xx where the build cannot run.
    """
    inside = Inside(verified, "--bisect")
    if verified.report.ok:
        return None
    progress("interpreting the compiled graph")
    graph = find_graph_fault(verified, progress)
    kernels: tuple[LayerError, ...] = ()
    shared_wrongly = False
    alone = Alone(inside)
    with inside.context() as context:
        found = []
        for k, stored in enumerate(inside.stored, 1):
            progress(f"running '{stored.name}' alone, {k} of {len(inside.stored)}")
            found.append(alone.compared(context, stored))
        kernels = tuple(e for e in found if not e.ok)
        if graph is None and not kernels:
            shared_wrongly = inside.outputs_match(inside.computed(context))
    return _Attempts(verified, inside, progress).bisection(graph, kernels, shared_wrongly)


class _Attempts:
    """Compiles and runs the model with other options."""

    def __init__(
        self, verified: Verification, inside: Inside, progress: Callable[[str], None]
    ) -> None:
        self.verified = verified
        self.model = inside.compiled.model
        self.before = inside.compiled.files
        self.options = inside.options
        self.progress = progress
        self.refused: dict[str, str] = {}
        self.tried = 0

    def bisection(
        self, graph: GraphFault | None, kernels: tuple[LayerError, ...], shared_wrongly: bool
    ) -> Bisection:
        effective: dict[Trial, int] = {}
        cures = []
        for trial in trials(self.options):
            files = self._compiled(trial)
            if files is None or same_build(self.before, files):
                continue
            effective[trial] = changed_passes(self.before, files)
            if self._is_right(trial, files):
                cures.append(self._cure(trial, files))
        if not cures and len(effective) > 1:
            cures = self._together(effective)
        cures.sort(key=lambda cure: cure.changed)
        return Bisection(graph, kernels, shared_wrongly, tuple(cures), self.tried, self.refused)

    def _cure(self, trial: Trial, files: BuildFiles) -> Cure:
        passes = len(files.schedule["passes"])
        return Cure(trial.text(self.options), changed_passes(self.before, files), passes)

    def _together(self, effective: dict[Trial, int]) -> list[Cure]:
        """Try the first change of each option at once, then leave out what is not needed.

        Args:
            effective: the changes, and how many GPU passes each changes alone. The largest is left
                out first.
        """
        kept: dict[object, Trial] = {}
        for trial in effective:
            name = trial.changes[0]
            kept.setdefault(name if name[0] == "disable_pass" else name[0], trial)
        chosen = list(kept.values())
        if self._right_files(chosen) is None:
            return []
        order = sorted(chosen, key=lambda t: (effective[t], chosen.index(t)), reverse=True)
        for trial in order:
            fewer = [t for t in chosen if t is not trial]
            if fewer and self._right_files(fewer) is not None:
                chosen = fewer
        files = self._right_files(chosen)
        return [] if files is None else [self._cure(_joined(chosen), files)]

    def _right_files(self, chosen: list[Trial]) -> BuildFiles | None:
        trial = _joined(chosen)
        files = self._compiled(trial)
        return files if files is not None and self._is_right(trial, files) else None

    def _compiled(self, trial: Trial) -> BuildFiles | None:
        text = trial.text(self.options)
        self.progress(f"trying {text}")
        try:
            options = replace(trial.options(self.options), validate=False)
            return compile_graph(self.model, options)[1]
        except (ShadergenError, InternalError) as error:
            self.refused[text] = str(error)
            return None

    def _is_right(self, trial: Trial, files: BuildFiles) -> bool:
        """Run a build; whether its outputs are right."""
        verified = self.verified
        self.tried += 1
        with tempfile.TemporaryDirectory(prefix="shadergen-") as scratch:
            folder = Path(scratch) / "build"
            write_build(files, folder)
            try:
                outputs, _ = run_build(folder, verified.inputs, None, verified.adapter)
            except ShadergenError as error:  # the adapter lacks what these options need
                self.refused[trial.text(self.options)] = str(error)
                return False
        graph = next(iter(verified.builds.values())).graph
        errors, _ = judge(graph.outputs, outputs, verified.expected, trial.options(self.options))
        return all(e.ok for e in errors)


def _joined(chosen: list[Trial]) -> Trial:
    found = chosen[0]
    for trial in chosen[1:]:
        found = found.joined(trial)
    return found
