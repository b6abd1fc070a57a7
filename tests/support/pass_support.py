"""What the tests of the passes share: running one, and what it left and refused."""

from __future__ import annotations

import numpy as np

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.options import Options
from shadergen.ir import text
from shadergen.ir.graph import Constant, Graph, Input, Value, constant
from shadergen.ir.reference import evaluate_graph
from shadergen.passes.kernel_ops import Fused
from shadergen.passes.rule import Context
from support import graph_of, image


def context(**options) -> Context:
    return Context(KernelFamilies(Options(**options).target()))


def operators(graph: Graph) -> list[str]:
    """Return what the nodes are, in order: kernels with + for an epilogue, prologue+ before."""
    names = []
    for node in graph.nodes:
        op = node.op
        if isinstance(op, Fused):
            name = type(op.kernel).__name__
            name = "prologue+" * len(op.prologue) + name
            names.append(f"{name}+epilogue" if op.epilogue is not None else name)
        else:
            names.append(type(op).__name__)
    return names


def refusals(found: Context) -> list[str]:
    why = (d.why for d in found.decisions if d.decision == "not applied")
    return list(dict.fromkeys(why))


def optimised(step, value: Value | Graph, *inputs: Input, **options) -> tuple[list[str], list[str]]:
    """Run a pass; return the operators left and the reasons of what was not applied.

    Along the way: the pass leaves its operand alone, and does nothing the second time.
    """
    graph = value if isinstance(value, Graph) else graph_of(value, inputs=inputs)
    before, found = text.to_text(graph), context(**options)
    after = step(graph, found)
    assert text.to_text(graph) == before
    assert text.to_text(step(after, found)) == text.to_text(after)
    assert_equal(graph, after)
    return operators(after), refusals(found)


def assert_equal(a: Graph, b: Graph) -> None:
    rng = np.random.default_rng(1)
    host = {i.name: rng.normal(size=i.shape).transpose(i.port.axes) for i in a.inputs}
    results = []
    for graph in (a, b):
        logical = {i.name: host[i.name].transpose(np.argsort(i.port.axes)) for i in graph.inputs}
        got = evaluate_graph(graph, logical)
        results.append([got[o.name].transpose(o.port.axes) for o in graph.outputs])
    for x, y in zip(*results, strict=True):
        size = np.abs(x[np.isfinite(x)]).max(initial=0)
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4 * size)


def known(*shape: int) -> Constant:
    return constant(np.random.default_rng(0).normal(size=shape), "known")


X = image(1, 8, 6, 6)
