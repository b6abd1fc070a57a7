"""A node alone: a build of nothing but it, whose operands come as they do in the network.

The runtime's own textures may be read as images and the application's not, so what other nodes
compute is copied from an input first. The copies are not measured. They are outputs too, before
the node's: so they stand first in the schedule, and no texture of the node's takes their place.
What is stored as a stack of planes is no output, but copied to one.
"""

from __future__ import annotations

import tempfile
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

from ...backends.kernels import KernelFamilies, lower
from ...backends.schedule import schedule
from ...backends.writer import write_build
from ...ir.expr import Var
from ...ir.graph import Choice, Constant, Graph, Input, Node, Output, Port
from ...ir.ops import Pointwise
from ...passes.allocate_textures import allocate_textures
from ...passes.expand_choices import expand_choices
from ...passes.placement.kinds import planes_in_a_pass
from ...passes.rule import Context
from ...records import replace
from ...runtime_glue.python import load
from ...runtime_glue.python.schedule import ComputePass

if TYPE_CHECKING:
    from ...ir.graph import Value
    from ...ir.types import TensorType
    from ...passes.placement.target import Target
    from ...runtime_glue.python import Build

GENERATOR = "shadergen tune"
MEASURED = "measured"  # the layer that the node's passes belong to
EVERY_BARRIER = ("framebuffer", "image", "texture")


def isolate(node: Node, choice: Choice, target: Target) -> Graph:
    """Return a graph of a placed node with a choice, and of copies that make its operands."""
    inputs: list[Input] = []
    outputs: list[Output] = []
    operands: dict[Value, Value] = {}

    def copied(value: Value, t: TensorType) -> Value:
        """Return a copy of a value, stored as a type says."""
        planes = 1 if t.is_stacked else planes_in_a_pass(t, target)
        drawn = replace(Choice("fragment", planes=planes), precision=node.choice.precision)
        return Node(Pointwise(Var("x0"), t.dtype), (value,), ("copy",), drawn, (t,)).result

    def seen(value: Value) -> Value:
        """Return a value that an output may be: of a stack, a copy."""
        return copied(value, _visible(value.type)) if value.type.is_stacked else value

    for value in dict.fromkeys(node.inputs):
        if isinstance(value, Constant):
            operands[value] = value
            continue
        t = value.type.without_slot()
        inputs.append(Input(_visible(t), f"x{len(inputs)}", _port(t)))
        operands[value] = inputs[-1]
        if not isinstance(value, Input):
            operands[value] = copied(inputs[-1], t)
            outputs.append(Output(f"copy{len(outputs)}", seen(operands[value]), _port(t)))
    types = tuple(r.type.without_slot() for r in node.results)
    own = Node(node.op, tuple(operands[v] for v in node.inputs), (MEASURED,), choice, types)
    outputs += [Output(f"y{r.index}", seen(r), _port(r.type)) for r in own.results]
    context = Context(KernelFamilies(target))
    graph = expand_choices(Graph("tuning", tuple(inputs), tuple(outputs)), context)
    return allocate_textures(graph, context)


def _visible(t: TensorType) -> TensorType:
    """Return a type as the application's textures have it: no stack of planes."""
    assert t.layout is not None
    return t.placed(replace(t.layout, kind="array")) if t.is_stacked else t


def _port(t: TensorType) -> Port:
    plain = Port.plain(t.rank)
    return replace(plain, encoding="unorm8") if t.component_bits == 8 else plain


def build_of(graph: Graph, target: Target) -> Build:
    """Compile a placed graph and load the build.

    Raises:
        ShadergenError: SG04xx when a kernel does not fit the device.
    """
    files = schedule(graph, lower(graph, target), target, GENERATOR)
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
        write_build(files, Path(folder) / "build")
        return load(Path(folder) / "build")


def repeated(build: Build, times: int) -> Build:
    """Return a build that runs the node so often in a frame, or only the copies for it.

    Passes keep the schedule's order. A compute pass may not store into what the turn before still
    reads, so each further turn begins with every barrier.
    """
    measured = [MEASURED in p.layers for p in build.passes]
    first = measured.index(True)
    own = list(compress(build.passes, measured))
    before, after = build.passes[:first], build.passes[first + len(own) :]
    again = own.copy()
    if any(isinstance(p, ComputePass) for p in own):
        again[0] = replace(own[0], barriers=EVERY_BARRIER)
    turns = [*own, *again * (times - 1)] if times else []
    return replace(build, passes=(*before, *turns, *after))
