"""What several tests need: small graphs, compiling in memory, playing on GL, comparing."""

from __future__ import annotations

import atexit
import hashlib
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shadergen.backends.build_files import BuildFiles
from shadergen.backends.kernels import KernelFamilies, lower
from shadergen.backends.schedule import schedule
from shadergen.backends.validate import find_glslang, validate
from shadergen.backends.writer import write_build
from shadergen.compiler.judging import error_and_bound
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import (
    Constant,
    Graph,
    Input,
    Output,
    Port,
    Result,
    Value,
    apply,
    constant,
)
from shadergen.ir.ops import Conv, Op, Pointwise
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType
from shadergen.passes.pipeline import optimise
from shadergen.passes.rule import Context
from shadergen.runtime_glue.python import HeadlessContext, Runner, load

ROOT = Path(__file__).resolve().parents[2]
ESPCN = ROOT / "examples" / "espcn" / "espcn_x2.h5"
KERAS_FIXTURES = ROOT / "tests" / "frontends" / "keras" / "files"
SHARED_MODELS = ROOT.parent / "shared" / "models"
TOLERANCE = {"highp": 1e-4, "mediump": 1e-2, "auto": 1e-2}


def third_party(name: str) -> Path:
    """Return a model made by others, or skip where the folder is absent."""
    path = SHARED_MODELS / name
    if not path.exists():
        pytest.skip(f"{name} is not beside this checkout")
    return path


def refusal(call: Any, *args: Any) -> ShadergenError:
    """Return the refusal that a call must raise."""
    with pytest.raises(ShadergenError) as caught:
        call(*args)
    return caught.value


def image(*shape: int, name: str = "x") -> Input:
    return Input(TensorType(shape), name, Port.plain(len(shape)))


def graph_of(*values: Value, inputs: tuple[Input, ...], name: str = "test") -> Graph:
    """Return a graph with outputs y0, y1, ... in logical order."""
    outputs = tuple(Output(f"y{i}", v, Port.plain(v.type.rank)) for i, v in enumerate(values))
    return Graph(name, inputs, outputs)


def pointwise(formula: str, *operands: Value, layer: str = "pointwise") -> Value:
    return apply(Pointwise(parse(formula)), *operands, layer=layer)


def conv(
    rng: np.random.Generator,
    x: Value,
    channels: int,
    kernel: tuple[int, int],
    layer: str = "conv",
    bias: bool = True,
    **attributes: Any,
) -> Value:
    """Return a convolution with random weights scaled to keep magnitudes near 1."""
    per_group = x.shape[1] // attributes.get("groups", 1)
    scale = 1 / np.sqrt(per_group * kernel[0] * kernel[1])
    w = constant(rng.normal(size=(channels, per_group, *kernel)) * scale, f"{layer}.kernel")
    operands = [x, w]
    if bias:
        operands.append(constant(rng.normal(size=channels), f"{layer}.bias"))
    return apply(Conv(**attributes), *operands, layer=layer)


def compile_graph(graph: Graph, **options: Any) -> tuple[Graph, BuildFiles, Context]:
    """Optimise and lower a graph in memory."""
    target = Options(**options).target()
    context = Context(KernelFamilies(target))
    placed = optimise(graph, context)
    return placed, schedule(placed, lower(placed, target), target, "shadergen test"), context


@cache
def gl_context() -> HeadlessContext:
    """Return one GL context for the whole process."""
    context = HeadlessContext()
    atexit.register(context.close)
    return context


def play(files: BuildFiles, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Write a build, validate its shaders, run it on GL and return the outputs."""
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder) / "build"

        def check(written: Path) -> None:
            if find_glslang() is not None:
                validate(files.shaders, {})

        write_build(files, build, check)
        with Runner(load(build), gl_context()) as runner:
            for name, array in inputs.items():
                runner.upload(name, array)
            runner.run()
            runner.check()
            return {o["name"]: runner.read(o["name"]) for o in files.schedule["outputs"]}


def random_inputs(graph: Graph, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return inputs in logical order; values around 0, some exactly 0."""
    arrays = {}
    for i in graph.inputs:
        values = rng.normal(size=i.shape).astype(np.float32)
        arrays[i.name] = np.where(rng.random(i.shape) < 0.05, np.float32(0), values)
    return arrays


def assert_runs_like_reference(
    graph: Graph,
    rng: np.random.Generator | None = None,
    reference: Graph | None = None,
    **options: Any,
) -> BuildFiles:
    """Compile, run on GL, and compare with the numpy reference of the unoptimised graph."""
    rng = rng or np.random.default_rng(0)
    _, files, _ = compile_graph(graph, **options)
    inputs = random_inputs(graph, rng)
    host = {i.name: inputs[i.name].transpose(i.port.axes) for i in graph.inputs}
    got = play(files, host)
    want = evaluate_graph(reference or graph, inputs)
    tolerance = TOLERANCE[Options(**options).target().precision]
    for o in graph.outputs:
        expected = want[o.name].transpose(o.port.axes)
        assert got[o.name].shape == expected.shape
        error, bound = error_and_bound(np.abs(got[o.name] - expected), expected, tolerance)
        worst = float(error.max())
        assert worst <= bound, f"{o.name}: error {worst:g} beyond {bound:g}"
    return files


def check_nest(op: Op, *arrays: np.ndarray, tolerance: float = 1e-12) -> np.ndarray:
    """Assert that an operator's nest, reference and inferred type agree; return the result."""
    operands = [constant(a) for a in arrays]
    t = op.infer(*(v.type for v in operands))
    assert isinstance(t, TensorType)
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
    expected = np.asarray(op.reference(*wide))
    assert (expected.shape, expected.dtype.kind) == (t.shape, np.dtype(t.dtype).kind)
    nest = op.nest(*(v.type for v in operands))
    assert nest is not None
    found = nest.run(t.shape, wide)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return expected


def check_kernels(op: Op, *arrays: np.ndarray, tolerance: float = 1e-12) -> np.ndarray:
    """Assert that an operator, decomposed as far as it goes, is computed by nests as it says."""
    operands = [
        Input(TensorType(a.shape, constant(a).type.dtype), f"x{k}", Port.plain(a.ndim))
        for k, a in enumerate(arrays)
    ]
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
    y = apply(op, *operands)
    expected = np.asarray(op.reference(*wide))
    assert (expected.shape, expected.dtype.kind) == (y.shape, np.dtype(y.type.dtype).kind)
    found = _by_nests(y, dict(zip(operands, wide, strict=True)))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return expected


def _by_nests(value: Value, known: dict[Value, np.ndarray]) -> np.ndarray:
    if value not in known:
        if isinstance(value, Constant):
            known[value] = value.data
        else:
            assert isinstance(value, Result)
            node = value.node
            simpler = node.op.decompose(*node.inputs)
            if simpler is not None:
                assert simpler.type == value.type, f"{node.op} is decomposed to {simpler.type}"
                known[value] = _by_nests(simpler, known)
            else:
                nest = node.op.nest(*(v.type for v in node.inputs))
                assert nest is not None, f"{node.op} has no kernel"
                arrays = [_by_nests(v, known) for v in node.inputs]
                known[value] = nest.run(value.shape, arrays)
    return known[value]


def contents(folder: Path) -> dict[str, str]:
    """Return every path below a folder, with a digest of what it holds."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        if p.is_file()
        else ""
        for p in folder.rglob("*")
    }
