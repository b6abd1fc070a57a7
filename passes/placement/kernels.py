"""The interface between passes and kernel families: the choices of a node, and their work.

``backends.kernels`` implements the interface. Passes import no back end, so the driver hands the
implementation to the passes in :class:`~..rule.Context`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...errors import ShadergenError
    from ...ir.graph import Choice, Node, Stage
    from .target import Target


@dataclass(frozen=True)
class Work:
    """The work of a node with one choice. A vector has four floats.

    Attributes:
        stage: fragment or compute.
        passes: GPU passes of the node.
        invocations: of all GPU passes.
        texels: vectors that all invocations read from tensors by ``texelFetch``.
        samples: vectors that all invocations read from tensors by ``texture``.
        images: vectors that all invocations read from tensors by ``imageLoad``.
        loads: vectors of tensors that come from memory, if the cache of each GPU pass is perfect.
        weights: vectors of weights that all invocations read; a constant counts at each use.
        weights_from: the storage of the weights; "literal" for constants.
        distinct: different vectors of weights that each GPU pass reads, added up; 0 for constants.
        multiplies: vector multiply-adds of all invocations.
        operations: other vector operations on floats of all invocations.
        accumulators: vectors that one invocation accumulates at once.
        alive: scalars that are live at once in one invocation.
        stores: vectors that all invocations write.
        halves: whether the result is stored in 16 bits or fewer.
        mediump: whether the programs compute in 16 bits.
        targets: vectors that one invocation writes.
        programs: programs of different text.
        code: vector multiply-adds in the text of one program.
        text: all vector operations on floats in the text of one program.
        taps: positions of a map that one program reads, if it has no loops or the compiler unrolls
            them; 0 for other programs.
        dispatched: whether the draws become dispatches, as those of several targets do in user
            shaders.
    """

    stage: Stage
    passes: int
    invocations: int
    texels: int
    samples: int
    images: int
    loads: int
    weights: int
    weights_from: Literal["texel", "image", "ubo", "ssbo", "literal"]
    distinct: int
    multiplies: float
    operations: float
    accumulators: int
    alive: int
    stores: int
    halves: bool
    mediump: bool
    targets: int
    programs: int
    code: float
    text: float
    taps: int = 0
    dispatched: bool = False


class Kernels(Protocol):
    """The kernel families' choices and work for a target."""

    @property
    def target(self) -> Target:
        """The target of the build."""

    def choices(self, node: Node, tiles: bool = True) -> tuple[Choice, ...]:
        """Return every choice for a placed node, in order of preference for ties.

        Options of the target and ``node.choice`` may fix the stage, the weight storage, Winograd's
        tiles, and the planes of a fragment pass. A forced compute stage or tile size applies only
        to nodes that support it. The result is empty if the weights do not fit a forced storage.

        Args:
            node: the placed node.
            tiles: include choices with Winograd tiles.
        """

    def work_key(self, node: Node, choices: tuple[Choice, ...]) -> Hashable:
        """Return a key; nodes with equal keys have equal work with each of the choices."""

    def work(self, node: Node, choice: Choice) -> tuple[Work, ...]:
        """Return the work of a node with a choice, for each node that the choice expands to."""

    def expand(self, node: Node) -> Node | None:
        """Return the last node of a node's expansion, or None if the node stays as it is."""

    def why_not_compute(self, node: Node) -> str:
        """Return why a placed node cannot run in the compute stage; empty if it can."""

    def why_not_winograd(self, node: Node) -> str:
        """Return why a convolution does not use the Winograd tiles of ``--winograd``."""

    def refusal(self, node: Node) -> ShadergenError:
        """Return the error for a node without choices: its weights do not fit."""
