"""Derivatives of formulas against differences, gradients of graphs against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from support import assert_runs_like_reference, graph_of, image, pointwise
from support.onnx_models import node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx
from shadergen.compiler.frontends.onnx.ops.gradient.derivatives import CONSTANT, RULES, derivative
from shadergen.compiler.frontends.onnx.ops.gradient.reverse import ADJOINTS, gradients
from shadergen.errors import ShadergenError
from shadergen.ir.evaluation import evaluate_formula
from shadergen.ir.expr import Num
from shadergen.ir.formula_parser import parse
from shadergen.ir.formulas import FORMULAS
from shadergen.ir.graph import Value, apply, constant
from shadergen.ir.ops import (
    ArgMax,
    Concat,
    CumProd,
    Expand,
    LayerNormalization,
    LogSoftmax,
    MatMul,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Transpose,
)
from shadergen.ir.primitives import FLOAT_FUNCTIONS
from shadergen.ir.reference import evaluate_graph

torch = pytest.importorskip("torch")

# --- Formulas -------------------------------------------------------------------------------------

POINTS = np.array([-3.7, -1.3, -0.62, -0.031, 0.043, 0.37, 0.81, 1.9, 4.4])
BOUNDED = ("asin", "acos")  # from -1 to 1
POSITIVE = ("log", "sqrt", "rsqrt", "pow", "log1p")
SMOOTH = ("sigmoid", "softplus", "log_sigmoid", "silu", "mish", "gelu", "erf", "asinh", "log1p")
HELPERS = {
    "sigmoid_of",
    "log1p_small",
    "mish_gate",
    "erf_tail",
    "corrected",
    "nearer",
}  # of formulas that have rules
LIBRARY = [n for n in FORMULAS if n not in HELPERS]
NOT_DIFFERENTIATED = {
    *("where", "binade"),  # which has a rule of its own; which is for casts
    *("bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"),
}


def arity(name: str) -> int:
    return len(FORMULAS[name].required) if name in FORMULAS else len(RULES[name])


@pytest.mark.parametrize("name", sorted({*RULES, *LIBRARY}))
def test_a_derivative_is_the_slope(name: str) -> None:
    """At points where there is one, by each argument."""
    x = POINTS / 5 if name in BOUNDED else abs(POINTS) if name in POSITIVE else POINTS
    arguments = [x, np.roll(x, 3) + 0.11, np.roll(x, 5) + 5.3][: arity(name)]
    names = "uvw"[: len(arguments)]
    expr = parse(f"{name}({', '.join(names)})")
    env = dict(zip(names, arguments, strict=True))
    step = 1e-5
    for variable in names:
        ends = [
            evaluate_formula(expr, {**env, variable: env[variable] + side * step})
            for side in (-1.0, 1.0)
        ]
        slope = np.subtract(ends[1], ends[0]) / (2 * step)
        found = np.broadcast_to(evaluate_formula(derivative(expr, variable), env), x.shape)
        np.testing.assert_allclose(found, slope, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_formulas_have_their_slope_at_zero(name: str) -> None:
    """However they are written: several with the size of x, which has no slope there."""
    expr, step = parse(f"{name}(x)"), 1e-3
    ends = [float(evaluate_formula(expr, {"x": np.array(side * step)})) for side in (-1, 1)]
    found = float(evaluate_formula(derivative(expr, "x"), {"x": np.array(0.0)}))
    assert found == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-3)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_at_a_kink_the_derivative_is_one_of_a_side_or_between(slope: float) -> None:
    for text in ("relu(x)", f"leaky_relu(x, {slope})", "abs(x)", "clamp(x, 0, 1)", "elu(x, 0.5)"):
        found = float(evaluate_formula(derivative(parse(text), "x"), {"x": np.array(0.0)}))
        low = -1.0 if text.startswith("abs") else 0.0
        assert low <= found <= 1.0, text
        if text.startswith("leaky"):
            assert found in (slope, 1.0)


def test_every_function_has_a_derivative_or_is_known_to_have_none() -> None:
    assert {*RULES, *CONSTANT, *NOT_DIFFERENTIATED} >= {*FLOAT_FUNCTIONS}
    for name in NOT_DIFFERENTIATED - {"where"}:
        one = "x" if name == "binade" else "x, x"
        with pytest.raises(ShadergenError) as caught:
            derivative(parse(f"{name}({one})"), "x")
        assert caught.value.what == f"the derivative of {name}() is not implemented"


def test_derivatives_are_short() -> None:
    assert derivative(parse("3 * x + y"), "x") == Num(3.0)
    assert derivative(parse("x + y"), "y") == Num(1.0)
    assert derivative(parse("floor(x) + y"), "x") == Num(0.0)
    assert str(derivative(parse("where(x < y, x, 0)"), "x")) == "where(x < y, 1, 0)"


# --- Graphs ---------------------------------------------------------------------------------------

Build = Callable[..., Value]
A, B, ROW, M = image(2, 3, 4, name="a"), image(2, 3, 4, name="b"), image(4, name="r"), image(4, 5)
STACK = image(2, 4, 5, name="s")


def total(y: Value) -> Value:
    """Make one number of a tensor, every element with another weight."""
    weights = np.linspace(-1.0, 1.5, y.type.size, dtype=np.float32).reshape(y.shape)
    weighted = pointwise("x0 * x1", y, constant(weights))
    return apply(Reduce("sum", tuple(range(y.type.rank)), keepdims=False), weighted)


def reduced(kind: str, keep: bool) -> Build:
    return lambda a: apply(Reduce(kind, (0, 2), keep), pointwise("1.5 + 0.2 * x0", a))  # type: ignore[arg-type]


CASES: dict[str, tuple[tuple[Any, ...], Build, Callable[..., Any]]] = {
    "a sum": ((A, B), lambda a, b: pointwise("x0 + 2 * x1", a, b), lambda a, b: a + 2 * b),
    "a row added": ((A, ROW), lambda a, r: pointwise("x0 * x1", a, r), lambda a, r: a * r),
    "twice": ((A,), lambda a: pointwise("x0 * x1", a, pointwise("tanh(x0)", a)),
              lambda a: a * torch.tanh(a)),
    "a sum of products": (
        (A, ROW),
        lambda a, r: apply(Reduce("sum", (0, 2), element=parse("x0 * x1")), a, r),
        lambda a, r: (a * r).sum((0, 2), keepdim=True),
    ),
    "a sum stretched": (
        (ROW, A),
        lambda r, a: apply(Reduce("mean", (0,), False, parse("x0")), r, a),
        lambda r, a: r.expand(3, 4) + 0 * a[0],
    ),
    "steps": ((A,), lambda a: pointwise("floor(x0) + x0 * (x0 < 0.1)", a),
              lambda a: torch.floor(a) + a * (a < 0.1)),
    "reshape": ((A,), lambda a: apply(Reshape((6, 4)), a), lambda a: a.reshape(6, 4)),
    "transpose": ((A,), lambda a: apply(Transpose((2, 0, 1)), a), lambda a: a.permute(2, 0, 1)),
    "expand": ((ROW,), lambda r: apply(Expand((3, 4)), r), lambda r: r.expand(3, 4)),
    "concat": ((A, B), lambda a, b: apply(Concat(1), a, b, a),
               lambda a, b: torch.cat([a, b, a], 1)),
    "pad": ((A,), lambda a: apply(Pad((0, 1, 2), (1, 0, 3), value=5.0), a),
            lambda a: torch.nn.functional.pad(a, (2, 3, 1, 0, 0, 1), value=5.0)),
    "slice": ((A,), lambda a: apply(Slice((1, 0, 1), (-1, 1, 1), (1, 2, 3)), a),
              lambda a: a[1:2, 0:2, 1:4]),
    "matmul": ((A, M), lambda a, m: apply(MatMul(), a, m), lambda a, m: a @ m),
    "matmul of stacks": ((A, STACK), lambda a, s: apply(MatMul(), a, s), lambda a, s: a @ s),
    "softmax": ((A,), lambda a: apply(Softmax((2,)), a), lambda a: torch.softmax(a, 2)),
    "log softmax": ((A,), lambda a: apply(LogSoftmax((1,)), a), lambda a: a.log_softmax(1)),
    "layer norm": ((A,), lambda a: apply(LayerNormalization((2,), 1e-3), a),
                   lambda a: torch.nn.functional.layer_norm(a, (4,), eps=1e-3)),
    "max": ((A,), lambda a: apply(Reduce("max", (0, 2)), a),
            lambda a: a.amax((0, 2), keepdim=True)),
    "min": ((A,), lambda a: apply(Reduce("min", (1,), False), a), lambda a: a.amin(1)),
}  # fmt: skip
OF_SUMS: dict[str, Callable[..., Any]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "l1": lambda x, axes, keepdim: x.abs().sum(axes, keepdim=keepdim),
    "l2": lambda x, axes, keepdim: x.square().sum(axes, keepdim=keepdim).sqrt(),
    "sum_square": lambda x, axes, keepdim: x.square().sum(axes, keepdim=keepdim),
    "log_sum": lambda x, axes, keepdim: x.sum(axes, keepdim=keepdim).log(),
    "log_sum_exp": torch.logsumexp,
}
CASES |= {
    f"{kind} {'kept' if keep else 'left out'}": (
        (A,),
        reduced(kind, keep),
        lambda a, f=f, keep=keep: f(1.5 + 0.2 * a, (0, 2), keepdim=keep),
    )
    for kind, f in OF_SUMS.items()
    for keep in (True, False)
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_pytorch(case: str) -> None:
    inputs, build, theirs = CASES[case]
    number = total(build(*inputs))
    found = gradients(number, inputs, constant(np.ones((), np.float32)))
    feed = {i.name: normal(*i.shape, seed=k) for k, i in enumerate(inputs)}
    none = {i: constant(np.zeros(i.shape, np.float32)) for i in inputs}
    graph = graph_of(*(none | found).values(), inputs=tuple(inputs))
    ours = evaluate_graph(graph, feed)
    tensors = [torch.tensor(feed[i.name], requires_grad=True) for i in inputs]
    y = theirs(*tensors)
    weights = torch.linspace(-1.0, 1.5, y.numel()).reshape(y.shape)
    (y * weights).sum().backward()
    for k, tensor in enumerate(tensors):
        np.testing.assert_allclose(ours[f"y{k}"], tensor.grad.numpy(), rtol=2e-5, atol=2e-5)


def test_every_rule_of_gradients_is_tried_above() -> None:
    graphs = (graph_of(total(build(*i)), inputs=i) for i, build, _ in CASES.values())
    assert set(ADJOINTS) <= {type(n.op) for graph in graphs for n in graph.nodes}


@pytest.mark.gl
@pytest.mark.parametrize("case", ["a row added", "matmul", "softmax", "layer norm", "max"])
def test_gradients_run_on_gl(case: str) -> None:
    inputs, build, _ = CASES[case]
    found = gradients(total(build(*inputs)), inputs, constant(np.ones((), np.float32)))
    assert_runs_like_reference(graph_of(*(found[i] for i in inputs), inputs=tuple(inputs)))


def test_a_tensor_that_does_not_count_has_no_gradient() -> None:
    y = apply(ArgMax((2,), True), A)
    y = total(pointwise("x0 * x1", y, B))
    assert set(gradients(y, (A, B), constant(np.ones((), np.float32)))) == {B}


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (apply(CumProd(2), A), "through CumProd"),
        (apply(Pad((0, 0, 1), (0, 0, 1), "edge"), A), "through Pad in mode edge"),
        (apply(Slice((0, 0, 0), (1, 1, 2), (2, 3, 2)), A), r"through Slice with steps \(1, 1, 2\)"),
        (apply(Reduce("prod", (1,)), A), "through a prod reduction"),
        (apply(Reduce("max", (1,), element=parse("x0 * x0")), A), "through a max reduction"),
        (apply(MatMul(), A, ROW), "through MatMul of a vector"),
    ],
)
def test_what_has_no_rule_is_refused(y: Value, what: str) -> None:
    with pytest.raises(ShadergenError, match=f"the gradient {what} is not implemented"):
        gradients(total(y), (A,), constant(np.ones((), np.float32)))


# --- ONNX -----------------------------------------------------------------------------------------


def training(nodes: list[Any], outputs: dict[str, tuple[int, ...]], **shapes: Any) -> Any:
    """Return a model with nodes of Gradient among others."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in shapes.items()],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in outputs.items()],
    )
    sets = [("", 17), ("ai.onnx.preview.training", 1)]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*s) for s in sets])


def differentiated(*inputs: str, outputs: tuple[str, ...], **attributes: Any) -> Any:
    domain = "ai.onnx.preview.training"
    return node("Gradient", *inputs, outputs=outputs, domain=domain, **attributes)


LAYER = [
    node("Gemm", "x", "w", "b", outputs=("h",)),
    node("Tanh", "h", outputs=("t",)),
    node("ReduceSumSquare", "t", outputs=("loss",), keepdims=0),
]
SHAPES = {"x": (3, 4), "w": (4, 2), "b": (2,)}


def test_the_gradients_of_a_layer_agree_with_pytorch(tmp_path: Path) -> None:
    made = differentiated("w", "b", "x", outputs=("dw", "db"), xs=["w", "b"], zs=["x"], y="loss")
    proto = training([*LAYER, made], {"dw": (4, 2), "db": (2,)}, **SHAPES)
    feed = {k: normal(*s, seed=7) for k, s in SHAPES.items()}
    found = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), feed)
    x, w, b = (torch.tensor(v, requires_grad=True) for v in feed.values())
    torch.tanh(x @ w + b).square().sum().backward()
    np.testing.assert_allclose(found["dw"], w.grad.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["db"], b.grad.numpy(), rtol=1e-5, atol=1e-5)


def test_a_gradient_has_a_gradient(tmp_path: Path) -> None:
    nodes = [
        node("Sin", "x", outputs=("s",)),
        node("Mul", "s", "x", outputs=("y",)),
        differentiated("x", outputs=("first",), xs=["x"], y="y"),
        differentiated("x", outputs=("second",), xs=["x"], y="first"),
    ]
    proto = training(nodes, {"second": ()}, x=())
    found = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), {"x": np.float32(0.7)})[
        "second"
    ]
    assert found == pytest.approx(2 * np.cos(0.7) - 0.7 * np.sin(0.7), rel=1e-5)


def test_a_gradient_by_a_tensor_on_the_way_takes_it_as_given(tmp_path: Path) -> None:
    made = differentiated("h", outputs=("dh",), xs=["h"], y="loss")
    proto = training([*LAYER, made], {"dh": (3, 2)}, **SHAPES)
    feed = {k: normal(*s, seed=7) for k, s in SHAPES.items()}
    found = evaluate_graph(load_onnx(write(tmp_path, proto), Request()), feed)["dh"]
    t = np.tanh(feed["x"] @ feed["w"] + feed["b"])
    np.testing.assert_allclose(found, 2 * t * (1 - t * t), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        (("x",), {"xs": ["x"], "y": "h"}, "Gradient needs a y with one element, 'h' has more"),
        (
            ("b",),
            {"xs": ["x"], "y": "loss"},
            "input 0 of Gradient must be 'x', as in attribute xs",
        ),
        (("x", "b"), {"xs": ["x"], "y": "loss"}, "2 inputs for 1 name in xs and zs"),
        (("x", "x"), {"xs": ["x", "x"], "y": "loss"}, "name one tensor twice"),
        (("q",), {"xs": ["q"], "y": "loss"}, "Gradient with the constant 'q' in xs"),
        (("x",), {"xs": ["x"], "y": "lost"}, "'lost' is not defined"),
    ],
)
def test_gradients_of_other_kinds_are_refused(
    tmp_path: Path, inputs: tuple[str, ...], attributes: Any, message: str
) -> None:
    known = node("Constant", outputs=("q",), value_float=1.0)
    del known.input[:]
    made = differentiated(*inputs, outputs=("dx",), **attributes)
    proto = training([*LAYER, known, made], {"dx": (3, 4)}, **SHAPES)
    assert message in refusal(write(tmp_path, proto))
