"""Recurrent layers: steps against references, unrolled graphs against PyTorch and Keras's rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import (
    assert_runs_like_reference,
    check_nest,
    compile_graph,
    graph_of,
    image,
    play,
)

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir import text, text_parser
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import Constant, Graph, Node, Value, constant
from shadergen.ir.ops import (
    GRU,
    LSTM,
    RNN,
    Conv,
    ConvLSTM,
    GatedFormula,
    Op,
    RecurrentCell,
    RecurrentGates,
    ResetProduct,
    StackStates,
)
from shadergen.ir.ops.recurrence import LONGEST_SEQUENCE, Recurrence
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType
from shadergen.passes.canonicalise import canonicalise
from shadergen.passes.rule import Context

T, B, F, H = 5, 2, 3, 4  # steps, batch, features, units


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def states(rows: int) -> np.ndarray:
    s = normal(rows, B, H, seed=9)
    s[-1] = [[3], [1]]  # the next position
    return s


def test_the_gates_of_a_step_read_their_part_of_the_sequence() -> None:
    p, s, r = normal(T, B, 6), states(2), normal(H, 6, seed=1)
    y = check_nest(RecurrentGates(), p, s, r, tolerance=1e-6)
    np.testing.assert_allclose(y[1], p[1, 1] + s[0, 1] @ r, rtol=1e-6)
    np.testing.assert_allclose(y[0], p[3, 0] + s[0, 0] @ r, rtol=1e-6)


def test_a_reset_product_agrees_with_its_reference() -> None:
    check_nest(ResetProduct(1, parse("sigmoid(x)")), normal(B, 3 * H), states(2), normal(H, H))


@pytest.mark.parametrize("masked", [False, True])
def test_a_cell_agrees_with_its_reference(masked: bool) -> None:
    formulas = parse("tanh(g0) * s1 + e0"), parse("s0 * e1 - g1")
    operands = [normal(B, 2 * H), states(3), normal(H, seed=2), normal(B, H, seed=3)]
    if masked:
        mask = np.ones((T, B))
        mask[3, 0] = 0
        operands.append(mask)
    y = check_nest(RecurrentCell(formulas, -1, masked), *operands)
    assert y[2].tolist() == [[2] * H, [0] * H]
    assert (y[0, 0] == operands[1][0, 0]).all() == masked


def test_stacking_takes_the_first_rows() -> None:
    y = check_nest(StackStates(), *(normal(3, B, H, seed=k) for k in range(4)))
    assert y[2, 1, 3] == normal(3, B, H, seed=2)[0, 1, 3]


def operands_of(op: Recurrence) -> list[np.ndarray]:
    gates = len(op.gates)
    _, biases = op._letters()
    count, extras = op._counts()
    arrays = [normal(T, B, F), normal(F, gates * H, seed=1), normal(H, gates * H, seed=2)]
    arrays.append(normal(biases * H, seed=3))
    arrays += [normal(B, H, seed=4 + k) for k in range(count)]
    arrays += [normal(H, seed=6 + k) for k in range(extras)]
    if op.masked:
        mask = np.ones((T, B))
        mask[3:, 1] = mask[0, 0] = 0
        arrays.append(mask)
    return [a.astype(np.float32) for a in arrays]


def layer(op: Recurrence, arrays: list[np.ndarray]) -> Graph:
    """Return a graph of a layer whose sequence and states are inputs, its weights constants."""
    count, _ = op._counts()
    known = {1, 2, 3, *range(4 + count, len(arrays))}
    values: list[Value] = [
        constant(a) if k in known else image(*a.shape, name=f"x{k}") for k, a in enumerate(arrays)
    ]
    inputs = tuple(v for v in values if not isinstance(v, Constant))
    return graph_of(*Node(op, tuple(values), ("layer",)).results, inputs=inputs)  # type: ignore[arg-type]


OPS: dict[str, Recurrence] = {
    "rnn": RNN(),
    "rnn relu reverse": RNN((parse("relu(x)"),), reverse=True),
    "rnn masked": RNN(masked=True),
    "gru": GRU(),
    "gru reverse": GRU(reverse=True, gates="rzh"),
    "gru after": GRU(linear_before_reset=True),
    "gru after masked": GRU(linear_before_reset=True, masked=True, gates="hrz"),
    "lstm": LSTM(),
    "lstm keras": LSTM(gates="ifco", reverse=True),
    "lstm peepholes": LSTM(peepholes=True, masked=True),
    "lstm coupled": LSTM(
        (parse("clamp(x, 0, 1)"), parse("x"), parse("tanh(x)")), input_forget=True
    ),
    "lstm masked reverse": LSTM(masked=True, reverse=True),
}


@pytest.mark.parametrize("name", OPS)
def test_an_unrolled_layer_agrees_with_its_reference(name: str) -> None:
    op = OPS[name]
    arrays = operands_of(op)
    graph = layer(op, arrays)
    wide = [a.astype(np.float64) for a in arrays]
    expected = op.reference(*wide)
    simple = canonicalise(graph, Context(KernelFamilies(Options().target())))
    assert not any(isinstance(n.op, Recurrence) for n in simple.nodes)
    assert all(n.layers == ("layer",) for n in simple.nodes)
    found = evaluate_graph(simple, {i.name: wide[int(i.name[1:])] for i in graph.inputs})
    for k, e in enumerate(expected):
        np.testing.assert_allclose(found[f"y{k}"], e, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", OPS)
def test_a_layer_prints_and_parses(name: str) -> None:
    graph = layer(OPS[name], operands_of(OPS[name]))
    printed = text.to_text(graph)
    assert text.to_text(text_parser.parse(printed, text.constants(graph))) == printed


@pytest.mark.parametrize("name", ["rnn", "gru after", "gru", "lstm masked reverse"])
def test_a_layer_runs_on_gl(name: str) -> None:
    op = OPS[name]
    arrays = operands_of(op)
    graph = layer(op, arrays)
    _, files, _ = compile_graph(graph)
    got = play(files, {i.name: arrays[int(i.name[1:])] for i in graph.inputs})
    for k, e in enumerate(op.reference(*(a.astype(np.float64) for a in arrays))):
        np.testing.assert_allclose(got[f"y{k}"], e, atol=1e-4)


def test_all_steps_are_the_same_shaders() -> None:
    graph = layer(LSTM(), [normal(60, B, F).astype(np.float32), *operands_of(LSTM())[1:]])
    _, files, _ = compile_graph(graph)
    assert len(files.schedule["passes"]) > 120
    assert len(files.shaders) < 30


def torch_layer(kind: str) -> tuple[Any, Any]:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    made = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[kind](F, H)
    return torch, made.double()


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_layers_agree_with_pytorch(kind: str) -> None:
    torch, made = torch_layer(kind)
    w, r, b, rb = (p.detach().numpy() for p in made.parameters())
    x, h, c = normal(T, B, F), normal(B, H, seed=1), normal(B, H, seed=2)
    if kind == "gru":
        op: Recurrence = GRU(gates="rzh", linear_before_reset=True)
        bias = np.concatenate([b + np.concatenate([rb[: 2 * H], 0 * rb[2 * H :]]), rb[2 * H :]])
    else:
        op, bias = (LSTM(gates="ifco") if kind == "lstm" else RNN()), b + rb
    first = [h, c] if kind == "lstm" else [h]
    ours = op.reference(x, w.T, r.T, bias, *first)
    start = tuple(torch.tensor(s)[None] for s in first)
    y, last = made(torch.tensor(x), start if kind == "lstm" else start[0])
    theirs = [y, *(s[0] for s in (last if kind == "lstm" else (last,)))]
    for a, e in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, e.detach().numpy(), atol=1e-12)


def test_a_long_sequence_is_refused_with_the_limit() -> None:
    arrays = operands_of(LSTM())
    arrays[0] = np.zeros((LONGEST_SEQUENCE + 1, B, F), np.float32)
    with pytest.raises(ShadergenError) as caught:
        layer(LSTM(), arrays)
    assert caught.value.code == "SG0202"
    assert "over 513 steps" in caught.value.what
    assert caught.value.supported == "up to 512 steps"


@pytest.mark.parametrize("which", range(6))
def test_an_operand_of_another_size_is_refused(which: int) -> None:
    types = [TensorType(a.shape) for a in operands_of(LSTM())]
    types[which] = TensorType((*types[which].shape[:-1], types[which].shape[-1] + 1))
    with pytest.raises(ShadergenError) as caught:
        LSTM().infer(*types)
    assert caught.value.code == "SG0205"


def test_gates_of_other_letters_are_refused() -> None:
    types = [TensorType(a.shape) for a in operands_of(LSTM())]
    op: Op = LSTM(gates="ifgo")
    with pytest.raises(ShadergenError, match="gates 'ifgo'"):
        op.infer(*types)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_formula_of_parts_agrees_with_its_reference(axis: int) -> None:
    shape = [2, 3, 5]
    shape[axis] *= 3
    op = GatedFormula(parse("g0 * sigmoid(g2) + s1 * g1 - s0"), axis)
    check_nest(op, normal(*shape), normal(2, 3, 5, seed=1), normal(2, 3, 5, seed=2))


SAME = Conv(pads=(0, 0, 1, 1))  # a kernel of 2x2 has no middle


def conv_operands(kernel: int = 3) -> list[np.ndarray]:
    shapes = [(T, B, 2, 6, 5), (4 * F, 2, kernel, kernel), (4 * F, F, 2, 2), (4 * F,)]
    shapes += [(B, F, 3, 4)] * 2
    return [normal(*s, seed=k).astype(np.float32) for k, s in enumerate(shapes)]


CONV_LSTM = ConvLSTM(Conv(strides=(2, 1), pads=(0, 1, 1, 0)), SAME)


@pytest.mark.parametrize("reverse", [False, True])
def test_an_unrolled_convolutional_layer_agrees_with_its_reference(reverse: bool) -> None:
    op = ConvLSTM(CONV_LSTM.of_input, SAME, reverse=reverse)
    arrays = conv_operands()
    x = image(*arrays[0].shape)
    graph = graph_of(*Node(op, (x, *map(constant, arrays[1:])), ("l",)).results, inputs=(x,))
    simple = canonicalise(graph, Context(KernelFamilies(Options().target())))
    assert not any(isinstance(n.op, ConvLSTM) for n in simple.nodes)
    found = evaluate_graph(simple, {"x": arrays[0]})
    for k, e in enumerate(op.reference(*(a.astype(np.float64) for a in arrays))):
        np.testing.assert_allclose(found[f"y{k}"], e, atol=1e-6)


def test_a_convolutional_layer_runs_on_gl() -> None:
    arrays = conv_operands()
    x = image(*arrays[0].shape)
    graph = graph_of(*Node(CONV_LSTM, (x, *map(constant, arrays[1:])), ("l",)).results, inputs=(x,))
    assert_runs_like_reference(graph)


def test_a_convolutional_layer_agrees_with_keras() -> None:
    keras = pytest.importorskip("keras")
    x = normal(B, T, 6, 5, 2).astype(np.float32)
    made = keras.layers.ConvLSTM2D(F, 3, return_sequences=True, return_state=True)
    theirs = [np.asarray(v) for v in made(x)]
    w, r, b = (np.asarray(v) for v in made.get_weights())
    zeros = np.zeros((B, F, 4, 3))
    op = ConvLSTM(Conv(), Conv(pads=(1, 1, 1, 1)))
    w, r = w.transpose(3, 2, 0, 1), r.transpose(3, 2, 0, 1)
    y, *last = op.reference(x.transpose(1, 0, 4, 2, 3), w, r, b, zeros, zeros)
    np.testing.assert_allclose(y.transpose(1, 0, 3, 4, 2), theirs[0], atol=1e-5)
    for ours, state in zip(last, theirs[1:], strict=True):
        np.testing.assert_allclose(ours.transpose(0, 2, 3, 1), state, atol=1e-5)
