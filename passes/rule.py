"""Framework of passes: a context, rules with match, check and rewrite, a fixpoint.

:class:`Reading` is what rules match that merge a node into the convolution after it.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import InternalError
from ..ir.graph import Result
from ..ir.ops import Conv
from ..records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from numpy.typing import NDArray

    from ..ir.graph import Choice, Graph, Node, Value
    from ..ir.ops import Op
    from .choose_kernels import Ranking
    from .placement.kernels import Kernels
    from .placement.target import Target

M = TypeVar("M")
MIN_ROUNDS = 50


@dataclass(frozen=True)
class Decision:
    """One line of ``--explain``; ``choice`` is the kernel that it is about, if it is about one."""

    step: str
    subject: str
    decision: str
    why: str = ""
    choice: Choice | None = None


@dataclass
class Context:
    """The inputs of a pass besides the graph, and the log of its decisions.

    Attributes:
        kernels: what the kernel families offer for the target.
        measured: nanoseconds of choices by a node's tuning key (``placement.tuning_key``), infinite
            ones where a choice gave wrong results.
        samples: inputs to calibrate with, read anew whenever they are gone through: arrays by name,
            in the model's own axis order.
        trials: makes inputs of a graph to estimate errors with, likewise, where there are no
            samples; None does not estimate.
        decisions: what was decided, in order, each once.
        rankings: of nodes by what they do, for ``choose_kernels``; none in a changed copy.
    """

    kernels: Kernels
    measured: Mapping[str, Mapping[Choice, float]] = field(default_factory=dict)
    samples: Iterable[Mapping[str, NDArray[Any]]] = ()
    trials: Callable[[Graph], Iterable[Mapping[str, NDArray[Any]]]] | None = None
    decisions: dict[Decision, None] = field(default_factory=dict)  # in order, each once
    rankings: dict[Hashable, Ranking] = field(default_factory=dict, init=False)

    @property
    def target(self) -> Target:
        """What is compiled for."""
        return self.kernels.target

    def explain(
        self, step: str, subject: str, decision: str, why: str = "", choice: Choice | None = None
    ) -> None:
        """Note a decision, once."""
        self.decisions[Decision(step, subject, decision, why, choice)] = None


@dataclass(frozen=True)
class Site:
    """A node, its operands already rewritten, and how often each operand is read in the graph."""

    node: Node
    uses: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Reading:
    """A convolution, and the node whose result it reads."""

    conv: Node
    before: Node

    @staticmethod
    def match(site: Site, kind: type[Op]) -> Reading | None:
        """Match a convolution whose input has a given operator."""
        node = site.node
        if not isinstance(node.op, Conv) or not isinstance(node.inputs[0], Result):
            return None
        before = node.inputs[0].node
        return Reading(node, before) if isinstance(before.op, kind) else None

    def merged(self, op: Conv) -> Value:
        """Return the result of a convolution that does the work of both."""
        layers = tuple(dict.fromkeys((*self.before.layers, *self.conv.layers)))
        inputs = (self.before.inputs[0], *self.conv.inputs[1:])
        return replace(self.conv, op=op, inputs=inputs, layers=layers).result


@dataclass(frozen=True)
class Rule(Generic[M]):
    """One rewrite.

    Attributes:
        name: for ``--explain``.
        match: returns what was recognised, or None.
        check: returns "" or why the rewrite is refused here.
        rewrite: returns the node's new value, or values.
    """

    name: str
    match: Callable[[Site], M | None]
    check: Callable[[M, Context], str]
    rewrite: Callable[[M], Value | tuple[Value, ...]]


def always(match: object, context: Context) -> str:
    """Refuse nothing."""
    return ""


def apply_rules(graph: Graph, context: Context, *rules: Rule[M]) -> Graph:
    """Apply rules everywhere until none matches.

    Raises:
        InternalError: if a rule still applies after four rounds for each node, at least 50 rounds.
    """
    rounds = max(MIN_ROUNDS, 4 * len(graph.nodes))
    for _ in range(rounds):
        after = apply_once(graph, context, *rules)
        if after is graph:
            return graph
        graph = after
    raise InternalError(f"{', '.join(r.name for r in rules)}: no fixpoint in {rounds} rounds")


def apply_once(graph: Graph, context: Context, *rules: Rule[M]) -> Graph:
    """Apply rules to each node once, operands first; for rules that create no new sites."""
    uses = graph.uses

    def visit(now: Node, was: Node) -> Value | tuple[Value, ...] | None:
        site = Site(now, tuple(uses[v] for v in was.inputs))
        for rule in rules:
            found = rule.match(site)
            if found is None:
                continue
            refusal = rule.check(found, context)
            if refusal:
                context.explain(rule.name, now.name, "not applied", refusal)
                continue
            context.explain(rule.name, now.name, "applied")
            return rule.rewrite(found)
        return None

    return graph.rewrite(visit)
