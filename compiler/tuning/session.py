"""Going through a model: which nodes and candidates to measure, and what came of it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ...backends.devices import named_profile
from ...backends.kernels import KernelFamilies
from ...errors import ShadergenError
from ...ir.graph import Choice
from ...passes.alias_planes import alias_planes
from ...passes.pipeline import optimise
from ...passes.placement.naming import unique_names
from ...passes.placement.tuning_key import tuning_key
from ...passes.predict_cost import Predictor
from ...records import dataclass, replace
from ..compilation import context_for, import_model
from ..runtimes import (
    GLES,
    WEBGPU,
    chosen,
    default_device,
    open_context,
    runtime_of,
)
from .file import WRONG, Tuning, read_tuning, save_tuning
from .trials import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ...ir.graph import Graph, Node
    from ...passes.placement.kernels import Kernels
    from ...passes.placement.target import Target
    from ...passes.rule import Context
    from ..options import Options
    from ..runtimes import Context as Adapter
    from .trials import Settings

MOST = 12  # candidates of a node
HOPELESS = 10.0  # times the least prediction: not tried even to check the predictions


@dataclass(frozen=True)
class Kind:
    """Nodes of one tuning key in a model.

    Attributes:
        tuning_key: of all of them.
        node: the first, its choice undecided but for the precision.
        name: of the node, that no other kind has.
        count: how many there are, compiled without tuning; 0 for one half of a pair that is made
            there, or for a pair that is not.
        chosen: what compiling without tuning chooses, or would choose for them.
        predicted: nanoseconds of every candidate.
    """

    tuning_key: str
    node: Node
    name: str
    count: int
    chosen: Choice
    predicted: Mapping[Choice, float] = field(repr=False)

    @property
    def likely(self) -> list[Choice]:
        """Candidates to measure: the best of each stage, weight storage and tiles, then best.

        What compiling chooses is one of them; the budget for unrolled code may want another than
        the best.
        """
        order = sorted(self.predicted, key=lambda c: self.predicted[c])
        first = {(c.stage, c.weights, c.winograd): c for c in reversed(order)}
        hopeful = HOPELESS * self.predicted[order[0]]
        picked = [c for c in first.values() if self.predicted[c] <= hopeful and c != self.chosen]
        picked.append(self.chosen)
        picked += [c for c in order if c not in picked][: max(0, MOST - len(picked))]
        return sorted(picked, key=lambda c: self.predicted[c])


@dataclass(frozen=True)
class Outcome:
    """The valid times of a kind of nodes, measured now or before.

    ``tuned`` is what compiling chooses with these measurements, or None where it has no such nodes
    any more, and ``count`` how many it has.
    """

    kind: Kind
    measured: Mapping[Choice, float]
    tuned: Choice | None
    count: int

    @property
    def before(self) -> float | None:
        """Nanoseconds of one node with the choice without tuning, where they are known."""
        return self.measured.get(self.kind.chosen) if self.kind.count else None

    @property
    def after(self) -> float | None:
        """Nanoseconds of one node with the tuned choice, where they are known."""
        return None if self.tuned is None else self.measured.get(self.tuned)

    @property
    def gain(self) -> float | None:
        """Time without tuning divided by time with tuning, if both are known."""
        return self.before / self.after if self.before and self.after else None

    @property
    def known(self) -> bool:
        """Whether all times are known that the kind takes before and after."""
        before = not self.kind.count or self.before is not None
        return before and (not self.count or self.after is not None)


@dataclass(frozen=True)
class Session:
    """The result of a tuning session.

    Attributes:
        device: the profile that was tuned for.
        tuning: everything in the file.
        outcomes: of the kinds of nodes that were measured, the dearest first.
        left: kinds that there was no time for.
        wrong: layer, choice, and what is wrong with it.
    """

    device: str
    tuning: Tuning
    outcomes: tuple[Outcome, ...]
    left: int
    wrong: tuple[tuple[str, Choice, str], ...]

    def correlation(self) -> float | None:
        """Return Spearman's rank correlation of all predictions with what was measured."""
        pairs = [(o.kind.predicted[c], t) for o in self.outcomes for c, t in o.measured.items()]
        return spearman(*zip(*pairs, strict=True)) if len(pairs) > 1 else None

    def correlation_within(self) -> float | None:
        """Return the mean of the rank correlations among the candidates of each kind."""
        each = [
            spearman([o.kind.predicted[c] for c in o.measured], list(o.measured.values()))
            for o in self.outcomes
            if len(o.measured) > 2
        ]
        return float(np.mean(each)) if each else None

    def gain(self) -> float | None:
        """Return how many times as long all measured nodes together take without tuning.

        Where measurements make pairs, or take some apart, a kind has other nodes than before. If
        it is not known what all those took and take, only nodes that are in both count.
        """
        moved = all(o.known for o in self.outcomes if o.kind.count != o.count)
        before = after = 0.0
        for o in self.outcomes:
            least = min(o.kind.count, o.count)
            if o.known:
                before += (o.kind.count if moved else least) * (o.before or 0.0)
                after += (o.count if moved else least) * (o.after or 0.0)
        return before / after if after else None


def spearman(a: object, b: object) -> float:
    """Return the correlation of ranks; equal values share the mean of theirs."""
    ranks = []
    for values in (np.asarray(a), np.asarray(b)):
        below = (values[:, None] > values).sum(1)
        ranks.append(below + ((values[:, None] == values).sum(1) - 1) / 2)
    if min(np.ptp(r) for r in ranks) == 0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def kinds(kernels: Kernels, graph: Graph, *others: Graph) -> list[Kind]:
    """Return the kinds of nodes with several candidates, the most expensive by prediction first.

    ``others`` are of the same model: what is in one of them alone is a choice as well, even of
    nodes that have one candidate.
    """
    found: dict[str, Node] = {}
    counts = [_count(g, kernels.target, found) for g in (graph, *others)]
    labels = unique_names(found.values())
    every = []
    for name, node in found.items():
        undecided = replace(node, choice=node.choice.undecided)
        predictor = Predictor(undecided, kernels)
        predicted = {c: predictor.cost(c) for c in kernels.choices(undecided)}
        each = [count[name] for count in counts]
        if len(predicted) > 1 or min(each) < max(each):
            kind = Kind(name, undecided, labels[node], each[0], node.choice, predicted)
            every.append((max(each) * min(predicted.values()), kind))
    return [kind for _, kind in sorted(every, key=lambda pair: -pair[0])]


def _count(graph: Graph, target: Target, found: dict[str, Node]) -> Counter[str]:
    """Count the nodes of each tuning key, and add the first of each to ``found``."""
    count: Counter[str] = Counter()
    for node in graph.nodes:
        if not node.choice.alias:  # else it computes nothing
            name = tuning_key(node, target)
            count[name] += 1
            found.setdefault(name, node)
    return count


def tune_model(
    model: Path,
    options: Options,
    path: Path,
    settings: Settings,
    seconds: float | None,
    given_device: bool,
    progress: Callable[[str, int, int], None],
    runtime: str = "auto",
    adapter: str = "",
) -> Session:
    """Measure the kinds of nodes that a tuning file lacks; write the file after each.

    Args:
        model: the model file.
        options: of the compilation to tune for.
        path: of the tuning file, which is begun or gone on with.
        settings: how to measure.
        seconds: begin nothing new after this time; None for no limit.
        given_device: whether the options' device is to be kept; else it is the adapter's own.
        progress: told what happens, how many kinds are done, and of how many.
        runtime: of ``RUNTIMES``; "auto" takes the given device's, or else the first one installed.
        adapter: a part of the adapter's name; by default the runtime's own choice.

    Raises:
        ShadergenError: for what keeps the model from being compiled or run; SG0301 when no
            device is given and no profile is known for the GL, or for the device of another
            runtime; SG0306 when the file is of another renderer.
    """
    progress("looking at the adapter", 0, 1)
    possible = (runtime_of(options.device),) if given_device else (GLES, WEBGPU)
    names = chosen(runtime, possible, f"a build for --device {options.device}")
    with open_context(names, adapter) as opened:
        info = opened.info()
        if not given_device:
            gl = opened.runtime == GLES
            profile = _profile_of(info.renderer) if gl else default_device(WEBGPU)
            options = replace(options, device=profile)
        tuning = Tuning(info.renderer)
        if path.exists():
            tuning = read_tuning(path)
            tuning.check_renderer(info.renderer, path)
        progress("reading the model", 0, 1)
        imported = import_model(model, options)
        context = context_for(imported, replace(options, tuning=None))
        target = context.target
        contexts = [context]
        if target.fuse_separable == "auto":
            ways = (replace(target, fuse_separable=fuse) for fuse in ("on", "off"))
            contexts += [replace(context, kernels=KernelFamilies(way)) for way in ways]
        every = kinds(context.kernels, *(_decided(imported, c) for c in contexts))
        session = _Session(every, target, tuning, path, opened, settings, seconds, progress)
        left = session.run()
    tuned = _decided(imported, replace(context, measured=session.tuning.measured))
    taken: dict[str, Node] = {}
    count = _count(tuned, target, taken)
    outcomes = []
    for kind in every:
        known = session.tuning.measured.get(kind.tuning_key, {})
        right = {c: t for c, t in known.items() if t != WRONG and c in kind.predicted}
        node = taken.get(kind.tuning_key)
        if right or (known and kind.count != count[kind.tuning_key]):
            choice = None if node is None else node.choice
            outcomes.append(Outcome(kind, right, choice, count[kind.tuning_key]))
    wrong = tuple(session.wrong)
    return Session(options.device, session.tuning, tuple(outcomes), left, wrong)


def _decided(graph: Graph, context: Context) -> Graph:
    """Return a graph with the choices made, each node still one."""
    seen: dict[str, Graph] = {}
    optimise(graph, context, seen.__setitem__)
    return seen[alias_planes.__name__]


def _profile_of(renderer: str) -> str:
    name = named_profile(renderer)
    if not name:
        raise ShadergenError(
            "SG0301",
            "tuning needs a --device",
            why=f"no built-in profile matches the renderer '{renderer}'",
            help="run shadergen doctor --save mine.json, then tune and compile with "
            "--device mine.json",
        )
    return name


@dataclass
class _Session:
    """Measuring the kinds of nodes in turn."""

    every: list[Kind]
    target: Target
    tuning: Tuning
    path: Path
    context: Adapter
    settings: Settings
    seconds: float | None
    progress: Callable[[str, int, int], None]
    wrong: list[tuple[str, Choice, str]] = field(default_factory=list)

    def run(self) -> int:
        """Measure; return how many kinds there was no time for."""
        limit = np.inf if self.seconds is None else time.perf_counter() + self.seconds
        left = 0
        for done, kind in enumerate(self.every):
            known = self.tuning.measured.get(kind.tuning_key, {})
            todo = [c for c in kind.likely if c not in known]
            if todo and time.perf_counter() > limit:
                left += 1
            elif todo:
                self._measure(kind, todo, done)
        return left

    def _measure(self, kind: Kind, todo: list[Choice], done: int) -> None:
        name = kind.name

        def tell(step: str) -> None:
            self.progress(f"{name}: {step}", done, len(self.every))

        trials = measure(kind.node, todo, self.target, self.context, self.settings, tell)
        self.wrong += [(name, t.choice, t.wrong) for t in trials if t.wrong]
        times = {t.choice: WRONG if t.wrong else t.nanoseconds for t in trials}
        self.tuning = self.tuning.extended(kind.tuning_key, times)
        save_tuning(self.tuning, self.path)
