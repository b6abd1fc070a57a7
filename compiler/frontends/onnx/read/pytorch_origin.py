"""Names of nodes by PyTorch's modules and operators, as PyTorch's exporter notes them.

``torch.onnx.export(..., dynamo=True)`` writes into each node's ``metadata_props``, for example:

    pkg.torch.onnx.class_hierarchy   ['Net', 'torch.nn.modules.conv.Conv2d', 'aten.conv2d.default']
    pkg.torch.onnx.name_scopes       ['', 'features.0', 'conv2d_3']

Such a node is called ``features.0``, not ``node_conv2d_3``:

- A module without modules in it gives its name to its only operator. Any module gives it to the
  operator of its class, as ``Conv2d`` does to ``conv2d``. Of an operator's nodes, the last has the
  name, others have their ONNX operator, too: ``head/MatMul``.
- Other operators follow their module: ``features.1/add``.
- A layer into which the exporter folded a normalisation has both names: ``features.1.conv+norm``.
- Later calls have numbers: ``features.0@1``.

The texts are not trusted: other forms give nothing, and no two nodes get one name.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from .....records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnx.onnx_ml_pb2 import NodeProto

PREFIX = "pkg.torch.onnx."
MOST = 4_000  # characters of a text that is looked at
QUOTED = re.compile(r"'([^']*)'")
MODULE = re.compile(r"[\w-]*(\.[\w-]+){0,31}")  # the path of a module; that of the model is ""
COUNTER = re.compile(r"_\d+$")
FOLDED = "+"
WEIGHTED = ("Conv", "ConvTranspose", "Gemm")


def pytorch_operator(proto: NodeProto) -> str:
    """Return the operator that a node comes from, such as ``aten.nonzero``, or ""."""
    *_, last = _noted(proto, "class_hierarchy") or [""]
    return ".".join(last.split(".")[:2]) if re.fullmatch(r"\w+\.\w+(\.\w+)?", last) else ""


def module_names(nodes: Sequence[NodeProto]) -> dict[str, str]:
    """Return the names of a graph's nodes by their modules.

    Args:
        nodes: all of the graph, in order.

    Returns:
        The names by the first result of each node; nodes of which nothing is noted have none.
    """
    calls: defaultdict[_Operator, defaultdict[str, list[NodeProto]]]
    calls = defaultdict(lambda: defaultdict(list))
    taken: set[str] = set()
    for node in nodes:
        operator, call = _origin(node)
        if operator is not None and node.output and node.output[0]:
            calls[operator][call].append(node)
        else:
            taken.add(node.name)
    operators = Counter(operator.module.partition(FOLDED)[0] for operator in calls)
    parents = {parent for module in operators for parent in _parents(module)}
    names: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for operator, of_operator in calls.items():
        alone = operators[operator.module] == 1 and operator.module not in parents
        wanted = operator.name(alone)
        pairs = [
            (node, name) for call in of_operator.values() for node, name in _named(call, wanted)
        ]
        for node, name in pairs:
            unique = name
            while unique in taken:
                numbers[name] += 1
                unique = f"{name}@{numbers[name]}"
            taken.add(unique)
            names[node.output[0]] = unique
    return names


@dataclass(frozen=True)
class _Operator:
    """An operator in a module, by the module's path; that of the model is empty."""

    module: str
    operator: str
    of_class: bool  # whether the module's class is called like the operator

    def name(self, alone: bool) -> str:
        """Return the name of a node; ``alone`` says whether it is all that the module does."""
        if not self.module:
            return self.operator
        return self.module if alone or self.of_class else f"{self.module}/{self.operator}"


def _parents(module: str) -> Iterator[str]:
    """Yield the paths of the modules around a module."""
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def _named(call: Sequence[NodeProto], wanted: str) -> Iterator[tuple[NodeProto, str]]:
    """Yield an operator's nodes with their names: the last has the operator's."""
    *before, last = call
    yield from ((node, f"{wanted}/{node.op_type}") for node in before)
    yield last, wanted


def _origin(proto: NodeProto) -> tuple[_Operator | None, str]:
    """Return where a node comes from, and the name of this call in PyTorch's graph."""
    *modules, call = _noted(proto, "name_scopes") or [""]
    module = modules[-1] if modules else ""
    if not MODULE.fullmatch(module) or not re.fullmatch(r"\w+", call):
        return None, ""
    operator = COUNTER.sub("", call).strip("_") or call
    if "batch_norm" in operator and proto.op_type in WEIGHTED and len(proto.input) > 1:
        # The exporter folded the normalisation into the layer before it, and kept its origin.
        layer, dot, kind = proto.input[1].rpartition(".")
        if dot and kind == "weight" and MODULE.fullmatch(layer):
            path, _, name = module.rpartition(".")
            norm = name if path == layer.rpartition(".")[0] else module
            return _Operator(f"{layer}{FOLDED}{norm}", proto.op_type, of_class=True), call
    *_, kind, _ = ["", "", *_noted(proto, "class_hierarchy")][-2:]
    kind = kind.rpartition(".")[2].lower()
    return _Operator(module, operator, kind == operator.replace("_", "")), call


def _noted(proto: NodeProto, key: str) -> list[str]:
    """Return the strings of a list that the exporter noted."""
    texts = (p.value for p in proto.metadata_props if p.key == PREFIX + key)
    return QUOTED.findall(next(texts, "")[:MOST])
