"""Concatenate and slice whole planes without copies.

Concatenation: each part becomes an alias of some planes of the result's texture, and the part's
kernel writes there (``placement.aliases``). All parts but the last must be whole planes. The
concatenation then needs no pass of its own. The same holds if a part is itself a concatenation, or
if a wider concatenation holds the same parts in the same order.
Slice: a result of whole planes is an alias of the operand's texture.

Some parts are copied: inputs, constants, graph outputs (they have textures of their own), aliases
of another texture, and parts of another format. If copies would be more than half of the
concatenation, it is a pass of its own.

A draw must not sample a texture while drawing to its other layers: OpenGL ES leaves such a feedback
loop undefined (ES 3.2, section 9.3.1). So a part is also copied if a fragment pass that writes it
reads the same array texture. In OpenGL ES, compute passes may read other texels of the texture that
they write. On WebGPU, a dispatch may not read a texture that it writes. With 2D textures, each
plane is a texture of its own, so no copy is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..ir.expr import Var
from ..ir.graph import Node, Result
from ..ir.ops import Pointwise
from ..records import replace
from .choose_kernels import rank
from .placement.aliases import Alias, widest_first
from .placement.kinds import cuts_planes, joins_planes, tensor_operands

if TYPE_CHECKING:
    from ..ir.graph import Graph, Value
    from .rule import Context


def alias_planes(graph: Graph, context: Context) -> Graph:
    """Mark nodes that compute nothing as aliases, and insert the copies they need."""
    excluded: set[Node] = set()
    while True:
        plan = _Plan(graph, excluded, webgpu=context.target.wgsl is not None)
        if not (found := plan.feedback()):
            break
        excluded |= found
    for node, why in plan.refused.items():
        context.explain("alias planes", node.name, "copied", why)
    for node in plan.aliases:
        copies = [node.inputs[k].name for k in plan.copies.get(node, ())]
        context.explain(
            "alias planes", node.name, "alias", f"{', '.join(copies)} copied" * bool(copies)
        )

    def rewrite(now: Node, was: Node) -> Node | None:
        if was not in plan.aliases or was.choice.alias:
            return None
        inputs = list(now.inputs)
        for k in plan.copies.get(was, ()):
            inputs[k] = _copy(inputs[k], now, context)
        return replace(now, inputs=tuple(inputs), choice=replace(now.choice, alias=True))

    return graph.rewrite(rewrite)


def _copy(value: Value, join: Node, context: Context) -> Value:
    layout = join.result.type.layout
    copy = Node(
        Pointwise(Var("x0"), value.type.dtype),
        (value,),
        join.layers,
        join.choice.undecided,
        (value.type.placed(layout),),
    )
    return replace(copy, choice=rank(copy, context).costs[0][1]).result


@dataclass
class _Plan:
    """Owners and first layers of textures, for every tensor that is an alias.

    Attributes:
        graph: where kernels are chosen.
        excluded: concatenations that must be passes of their own.
        webgpu: whether dispatches must not read what they store to.
        owners: of the textures of tensors that are aliases, with their first layers.
        aliases: nodes that compute nothing, in order.
        copies: the copied operands of concatenations.
        refused: the other concatenations, with the reason.
    """

    graph: Graph
    excluded: set[Node]
    webgpu: bool
    owners: dict[Value, Alias] = field(default_factory=dict)
    aliases: dict[Node, None] = field(default_factory=dict)
    copies: dict[Node, list[int]] = field(default_factory=dict)
    refused: dict[Node, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outputs = {o.value for o in self.graph.outputs}
        self.users: dict[Value, list[Node]] = {}
        for node in self.graph.nodes:
            for value in dict.fromkeys(node.inputs):
                self.users.setdefault(value, []).append(node)
        joins = [n for n in self.graph.nodes if joins_planes(n) and _shares(n.result)]
        for node in widest_first(joins):
            if node in self.excluded:
                self.refused[node] = "a draw would sample the texture that it draws to"
            elif not self._follows(node):
                self._join(node)
        for node in self.graph.nodes:
            if self._reads_in_place(node):
                self.aliases[node] = None
                (x,) = node.inputs
                own = self.owners.get(x, Alias(x, 0))
                self.owners[node.result] = Alias(own.owner, own.first)

    def _reads_in_place(self, node: Node) -> bool:
        """Whether a node's result is an alias of its operand."""
        if not cuts_planes(node) or node.result in {*self.outputs, *self.owners}:
            return False
        return _shares(node.inputs[0]) and _are_alike(node.result, node.inputs[0])

    def _follows(self, node: Node) -> bool:
        """Whether a wider concatenation already holds the operands in this order."""
        if node.result in {*self.outputs, *self.owners}:
            return False
        found = [self.owners.get(v) for v in node.inputs]
        start = found[0]
        if start is None or not _are_alike(node.result, start.owner):
            return False
        wanted = start.first
        for alias, value in zip(found, node.inputs, strict=True):
            if alias != Alias(start.owner, wanted):
                return False
            wanted += value.type.planes
        self.owners[node.result] = start
        self.aliases[node] = None
        return True

    def _join(self, node: Node) -> None:
        """Make the operands of a concatenation aliases of its texture where possible."""
        own = self.owners.get(node.result, Alias(node.result, 0))
        first, starts = own.first, []
        for value in node.inputs:
            starts.append(first)
            first += value.type.planes
        copied: dict[int, str] = {}
        given: list[Value] = []
        for k in sorted(range(len(starts)), key=lambda k: -node.inputs[k].type.planes):
            value = node.inputs[k]
            why = self._fixed(value, node) or self._loops(value, node, own.owner)
            if why:
                copied[k] = why
            else:
                self.owners[value] = Alias(own.owner, starts[k])
                given.append(value)
        if 2 * sum(node.inputs[k].type.planes for k in copied) > node.result.type.planes:
            for value in given:
                del self.owners[value]
            k, why = next(iter(copied.items()))
            self.refused[node] = f"'{node.inputs[k].name}' {why}"
            return
        self.aliases[node] = None
        self.copies[node] = sorted(copied)

    def _fixed(self, value: Value, join: Node) -> str:
        """Return why a value cannot be an alias of a concatenation, or nothing."""
        if not isinstance(value, Result):
            return "is not the result of a pass"
        if value in self.outputs:
            return "is an output"
        if value in self.owners:
            return "is in another texture"
        return "" if _are_alike(value, join.result) else "differs in format"

    def _loops(self, value: Value, join: Node, owner: Value) -> str:
        """Return how the alias would make a draw sample its own texture, or nothing."""
        assert isinstance(value, Result)
        if not _is_array(owner):
            return ""
        if self._conflicts(value.node) and owner in map(self._owner, tensor_operands(value.node)):
            return "is drawn by a pass that samples the same texture"
        readers = (u for u in self.users.get(value, ()) if self._conflicts(u) and u is not join)
        if any(self._owner(u.result) is owner for u in readers):
            return "is sampled by a draw to the same texture"
        return ""

    def _conflicts(self, node: Node) -> bool:
        """Whether a pass must not read other layers of the array texture that it writes."""
        return self.webgpu or node.choice.stage != "compute"

    def _owner(self, value: Value) -> Value:
        return self.owners[value].owner if value in self.owners else value

    def feedback(self) -> set[Node]:
        """Return the concatenations whose textures a draw would sample and draw to."""
        bad = set()
        for node in self.graph.nodes:
            if node not in self.aliases and self._conflicts(node):
                owner = self._owner(node.result)
                if _is_array(owner) and owner in map(self._owner, tensor_operands(node)):
                    bad.add(owner)
        for join, copied in self.copies.items():  # a copy may be drawn
            owner = self._owner(join.result)
            if _is_array(owner) and any(self._owner(join.inputs[k]) is owner for k in copied):
                bad.add(owner)
        return {n for n in self.aliases if self._owner(n.result) in bad}


def _shares(value: Value) -> bool:
    """Whether parts of a tensor's texture may be other tensors."""
    t = value.type
    if not t.in_planes or t.shape[0] != 1 or t.layout is None:
        return False
    return t.layout.kind == "array" or (t.layout.kind == "2d" and t.layers > 1)


def _are_alike(value: Value, other: Value) -> bool:
    """Whether two tensors lie in textures of one kind and format."""
    ours, theirs = value.type.layout, other.type.layout
    assert ours is not None
    assert theirs is not None
    return (ours.kind, ours.format) == (theirs.kind, theirs.format)


def _is_array(value: Value) -> bool:
    return value.type.layout is not None and value.type.layout.kind == "array"
