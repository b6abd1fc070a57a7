"""The values of the names in a body during its import."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .....errors import ShadergenError
from ..read.graph_body import graph_body

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx.onnx_ml_pb2 import AttributeProto, GraphProto, NodeProto

    from ..operands import Item
    from ..read.graph_body import Body

DEEPEST = 48  # bodies within bodies, functions that call functions


@dataclass(eq=False)
class Scope:
    """One run of a body.

    Attributes:
        body: what is carried out.
        items: what each name stands for, so far; None for an optional input that is not given.
        around: the scope that a subgraph lies in; functions and the model have none.
        attributes: those of the function call that this is part of.
        path: what the names of nodes begin with, or, for unnamed ones, what all are called.
        named: whether the nodes have names of their own.
        depth: how many bodies are around it, callers of functions included.
    """

    body: Body
    items: dict[str, Item | None]
    around: Scope | None = None
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)
    path: str = ""
    named: bool = True
    depth: int = 0

    def __post_init__(self) -> None:
        if self.depth > DEEPEST:
            raise ShadergenError("SG0105", f"functions and graphs are nested deeper than {DEEPEST}")

    def __contains__(self, name: object) -> bool:
        """Whether a name stands for something here."""
        return (
            name in self.items
            or name in self.body.initializers
            or name in self.body.sparse
            or (self.around is not None and name in self.around)
        )

    def layer(self, node: NodeProto) -> str:
        """Return what people call a node."""
        return self.path + self.body.layer(node) if self.named else self.path

    def resolved(self, node: NodeProto) -> NodeProto:
        """Return a node with the attributes that it takes from a function's call."""
        if not any(a.ref_attr_name for a in node.attribute):
            return node
        result = type(node)()
        result.CopyFrom(node)
        del result.attribute[:]
        for a in node.attribute:
            if not a.ref_attr_name:
                result.attribute.append(a)
            elif a.ref_attr_name in self.attributes:
                given = result.attribute.add()
                given.CopyFrom(self.attributes[a.ref_attr_name])
                given.name = a.name
        return result


class Subgraph:
    """A graph in an attribute of a node: it can be carried out, any number of times.

    Args:
        graph: the graph.
        around: the scope of the node.
        layer: what the node is called.
        run: carries a scope out and returns what its outputs stand for.
    """

    def __init__(
        self,
        graph: GraphProto,
        around: Scope,
        layer: str,
        run: Callable[[Scope], list[Item | None]],
    ) -> None:
        depth = around.depth + 1
        self.proto = graph
        self.body = graph_body(graph, around.body.opsets, around, depth)
        self.around = around
        self.layer = layer
        self._run = run

    def run(self, inputs: Sequence[Item], label: str = "") -> list[Item]:
        """Carry the graph out.

        Args:
            inputs: what its inputs stand for.
            label: tells this time from others, in the names of nodes.

        Raises:
            ShadergenError: SG0105 when the inputs do not fit, or whatever its nodes raise.
        """
        around = self.around
        if len(inputs) != len(self.body.inputs):
            raise ShadergenError(
                "SG0105",
                f"the subgraph takes {len(self.body.inputs)} inputs, the node gives {len(inputs)}",
            )
        results = self._run(
            Scope(
                self.body,
                dict(zip(self.body.inputs, inputs, strict=True)),
                around,
                around.attributes,
                f"{self.layer}{label}/" if around.named else around.path,
                around.named,
                around.depth + 1,
            )
        )
        return [_there(item, name) for item, name in zip(results, self.body.outputs, strict=True)]


def _there(item: Item | None, name: str) -> Item:
    if item is None:
        raise ShadergenError("SG0105", f"output '{name}' of the subgraph is absent")
    return item
