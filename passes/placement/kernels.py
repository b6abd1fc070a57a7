"""What the passes know of kernels: the ways to run a node, and what each does.

Kernel families know both (``backends.kernels``); passes import no back end, so the driver hands
them in with :class:`~..rule.Context`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...errors import ShadergenError
    from ...ir.graph import Choice, Node, Stage
    from .target import Target


@dataclass(frozen=True)
class Work:
    """What a node does in all its GPU passes; vectors are of four floats.

    Attributes:
        stage: of the GPU passes.
        passes: draws or dispatches.
        invocations: of shaders.
        texels: vectors of tensors read by ``texelFetch``.
        samples: vectors of tensors read by ``texture``.
        images: vectors of tensors read from images.
        loads: vectors of tensors that come from memory: each pass reads its operands at most once.
        weights: vectors of weights read, or that the text has as constants, in all invocations.
        weights_from: what they are read from.
        distinct: how many different vectors of weights there are.
        multiplies: multiply-adds.
        operations: other arithmetic of floats.
        accumulators: vectors that an invocation sums up at once.
        alive: floats and ints that an invocation holds at once.
        stores: vectors written.
        halves: whether these are of 16 bits a float, or fewer.
        mediump: whether the programs compute in 16 bits.
        targets: vectors that an invocation writes.
        programs: of different text.
        code: multiply-adds of weights in the text of a program.
        text: all arithmetic of floats in the text of a program.
        taps: places of a map that a program reads which compilers leave no loops in, else 0.
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


class Kernels(Protocol):
    """What the kernel families offer for a target."""

    @property
    def target(self) -> Target:
        """What is compiled for."""

    def choices(self, node: Node, tiles: bool = True) -> tuple[Choice, ...]:
        """Return every way to run a placed node, in order of preference for ties.

        The target may force the stage, the storage of weights, Winograd's tiles and the planes of a
        fragment pass; ``node.choice`` may have pinned any of them. Compute and tiles are forced
        only on nodes that can. Empty when the weights do not fit the storage asked for.

        Args:
            node: to run.
            tiles: whether Winograd's tiles are among the ways.
        """

    def alike(self, node: Node, choices: tuple[Choice, ...]) -> Hashable:
        """Return a key: nodes of equal keys do the same with each of the choices."""

    def work(self, node: Node, choice: Choice) -> tuple[Work, ...]:
        """Return what a node does with a choice, for each of the nodes that the choice makes."""

    def expand(self, node: Node) -> Node | None:
        """Return the last of the nodes that a node's choice makes of it, None if it stays one."""

    def unsuited(self, node: Node) -> str:
        """Return why a placed node cannot run in the compute stage, or nothing."""

    def untiled(self, node: Node) -> str:
        """Return why the Winograd tiles that are asked for are not used for a convolution."""

    def refusal(self, node: Node) -> ShadergenError:
        """Return what to raise for a node that has no choices: its weights do not fit."""
