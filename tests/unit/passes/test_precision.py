"""Which numbers can occur, and what --precision auto makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import (
    assert_runs_like_reference,
    compile_graph,
    conv,
    graph_of,
    image,
    play,
    pointwise,
)

from shadergen.errors import ShadergenError
from shadergen.ir.evaluation import evaluate_formula
from shadergen.ir.formula_parser import parse
from shadergen.ir.formulas import FORMULAS
from shadergen.ir.graph import Input, Port, apply, constant
from shadergen.ir.ops import (
    ArgMin,
    Concat,
    Conv,
    GridSample,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    MatMul,
    MaxPoolIndices,
    Pad,
    Pool,
    Reduce,
    Softmax,
)
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType
from shadergen.passes.placement import ranges
from shadergen.passes.placement.ranges import Interval

UNARY = sorted(name for name, f in FORMULAS.items() if len(f.required) == 1)
FORMULAS = [
    *(f"{name}(x0)" for name in UNARY),
    "x0 * x0 - x1 * x1",
    "x0 * -x0",
    "x0 / (abs(x1) + 0.5)",
    "min(max(x0, x1), 3) - floor(x0)",
    "where(x0 < x1, x0, exp(x1))",
    "sqrt(abs(x0)) + log(1 + abs(x1))",
    "pow(x0, 3) + mod(x0, 3)",
    "sin(x0) * cos(x1) + tanh(x0) + atan(x1)",
    "round_even(x0) + trunc(x1) + sign(x0) + ceil(x1)",
]
ends = st.floats(-40, 40, width=32)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(text=st.sampled_from(FORMULAS), a=st.tuples(ends, ends), b=st.tuples(ends, ends))
def test_no_value_of_a_formula_lies_outside_its_interval(text, a, b):
    env = {"x0": Interval(*sorted(a)), "x1": Interval(*sorted(b))}
    found, largest = ranges.evaluate_ranges(parse(text), env)
    points = {name: np.linspace(i.low, i.high, 23) for name, i in env.items()}
    grid = dict(zip(points, np.meshgrid(*points.values()), strict=True))
    values = np.asarray(evaluate_formula(parse(text), grid))
    values = values[np.isfinite(values)]
    room = 1e-6 * (1 + np.abs(values))
    assert (values >= found.low - room).all()
    assert (values <= found.high + room).all()
    assert largest >= min(abs(found.low), abs(found.high))


def graphs():
    rng = np.random.default_rng(3)
    x = image(1, 5, 6, 7)
    y = conv(rng, x, 6, (3, 3), "a", pads=(1, 1, 1, 1))
    yield x, pointwise("gelu(x0) - x1", y, pointwise("tanh(x0)", y))
    yield x, apply(Reduce("mean", (2, 3)), y)
    yield x, apply(Reduce("sum", (1,)), apply(Pad((0, 0, 1, 1), (0, 0, 2, 2), "constant", 9.0), y))
    yield x, apply(Reduce("max", (2,)), apply(Concat(1), y, x))
    yield x, apply(MatMul(), y, constant(rng.normal(size=(7, 4)).astype(np.float32)))
    yield x, apply(Softmax((1,)), y)


@pytest.mark.parametrize("index", range(6))
def test_no_value_of_a_graph_lies_outside_its_bounds(index):
    x, value = list(graphs())[index]
    graph = graph_of(value, inputs=(x,))
    placed, _, _ = compile_graph(graph, precision="auto")
    bound = ranges.value_ranges(placed, Interval(-2.0, 2.0))[placed.outputs[0].value].result
    rng = np.random.default_rng(index)
    for _ in range(20):
        out = evaluate_graph(graph, {x.name: rng.choice([-2.0, 2.0, 0.3], size=x.shape)})
        (result,) = out.values()
        assert bound.low - 1e-6 <= result.min()
        assert result.max() <= bound.high + 1e-6


@pytest.mark.gl
def test_what_overflows_16_bits_stays_in_32_and_is_right():
    x = image(1, 3, 9, 11)
    near = pointwise("tanh(x0)", conv(np.random.default_rng(0), x, 8, (3, 3), "near"), layer="t")
    far = apply(Pad((0, 0, 1, 1), (0, 0, 1, 1)), pointwise("x0 * 1e6", near, layer="far"))
    back = apply(Pad((0, 0, 1, 1), (0, 0, 1, 1)), pointwise("x0 / 1e6", far, layer="back"))
    graph = graph_of(back, inputs=(x,))
    files = assert_runs_like_reference(graph, precision="auto")
    formats = {t["name"]: t["format"] for t in files.schedule["textures"]}
    assert {f[-3:] for f in formats.values()} == {"16f", "32f"}
    assert files.schedule["inputs"][0]["range"] == [-256.0, 256.0]


def test_all_16_bits_where_everything_is_bounded():
    x = image(1, 3, 9, 11)
    y = pointwise("sigmoid(x0)", conv(np.random.default_rng(0), x, 8, (3, 3), "c"))
    _, files, context = compile_graph(graph_of(y, inputs=(x,)), precision="auto")
    assert all(t["format"].endswith("16f") for t in files.schedule["textures"])
    assert any(d.step == "choose precision" and "up to" in d.why for d in context.decisions)


def test_a_wide_input_range_forces_32_bits():
    x = image(1, 3, 9, 11)
    y = pointwise("tanh(x0)", conv(np.random.default_rng(0), x, 8, (3, 3), "c"))
    graph = graph_of(y, inputs=(x,))
    _, files, _ = compile_graph(graph, precision="auto", input_range=(0.0, 1e5))
    assert {t["format"][-3:] for t in files.schedule["textures"]} == {"32f"}


@pytest.mark.gl
def test_an_input_beyond_the_range_is_refused():
    x = image(1, 3, 4, 4)
    graph = graph_of(pointwise("tanh(x0)", x), inputs=(x,))
    _, files, _ = compile_graph(graph, precision="auto", input_range=(0.0, 1.0))
    with pytest.raises(ShadergenError, match="holds values from 0 to 2") as caught:
        play(files, {"x": np.eye(4, dtype=np.float32)[None, None].repeat(3, 1) * 2})
    assert "--input-range" in caught.value.help


@pytest.mark.gl
@pytest.mark.parametrize("precision", ["fp16", "auto"])
def test_integers_are_exact_in_any_precision(precision):
    x = Input(TensorType((3, 5), "int32"), "x", Port.plain(2))
    graph = graph_of(apply(Concat(0), x, x), inputs=(x,))
    _, files, _ = compile_graph(graph, precision=precision, input_range=(-1e9, 1e9))
    values = np.arange(15, dtype=np.int32).reshape(3, 5) * 1_000_003
    (got,) = play(files, {"x": values}).values()
    np.testing.assert_array_equal(got, np.concatenate([values, values]))


@pytest.mark.gl
def test_an_integer_input_relies_on_no_range():
    x = Input(TensorType((3, 5), "int32"), "x", Port.plain(2))
    graph = graph_of(pointwise("x0 * 2 + 0.5", x), inputs=(x,))
    _, files, _ = compile_graph(graph, precision="auto")
    assert files.schedule["inputs"][0]["range"] is None
    values = np.arange(15, dtype=np.int32).reshape(3, 5) * 100_003
    (got,) = play(files, {"x": values}).values()
    np.testing.assert_array_equal(got, values * 2 + 0.5)


def test_what_divides_by_numbers_that_16_bits_may_hold_as_zero_stays_in_32():
    x = {"x0": Interval(0.0, 1.0)}
    assert ranges.evaluate_ranges(parse("x0 / sqrt(x0 + 1e-5)"), x)[1] == np.inf
    assert ranges.evaluate_ranges(parse("x0 / sqrt(x0 + 1e-3)"), x)[1] < 100
    assert ranges.evaluate_ranges(parse("sqrt(x0 + 1e-5)"), x)[0].low > 0.003


@pytest.mark.parametrize(
    ("formula", "precision"),
    [
        ("x0 * 1e5", "highp"),  # 16 bits have no 1e5, small as the product is
        ("x0 * 1e-5", "highp"),  # which may be 0 there
        ("x0 * 2", "mediump"),
        ("sqrt(abs(x0) + 1e-5)", "mediump"),  # that may be 0, too, and little is lost
    ],
)
def test_literals_that_16_bits_cannot_hold_keep_a_formula_in_32(formula, precision):
    x = image(1, 4, 6, 6)
    graph = graph_of(pointwise(formula, x), inputs=(x,))
    placed, _, _ = compile_graph(graph, precision="auto", input_range=(-0.1, 0.1))
    assert [n.choice.precision for n in placed.nodes] == [precision]


def test_what_is_smaller_than_16_bits_hold_stays_in_32():
    x = image(1, 3, 9, 9)
    small = pointwise("x0 * 1e-8", x, layer="small")
    y = pointwise("x0 * 1e8", apply(Pool("max", (3, 3)), small), layer="y")
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), precision="auto")
    formats = {t["name"]: t["format"][-3:] for t in files.schedule["textures"]}
    assert (formats["x"], formats["small"], formats["y"]) == ("32f", "32f", "16f")


def test_the_sum_that_a_bias_takes_back_into_range_counts():
    x = image(1, 1, 4, 4)
    w, b = constant(np.full((1, 1, 1, 1), 300.0)), constant(np.array([-40000.0]))
    y = apply(Conv(), x, w, b)
    found = ranges.value_ranges(graph_of(y, inputs=(x,)), Interval(0.0, 256.0))[y]
    assert found.result == Interval(-40000.0, 36800.0)
    assert found.largest == 76800.0


def test_padding_counts_beside_a_zero_guard():
    x = image(1, 1, 4, 4)
    conv = Conv(pads=(1, 1, 1, 1), pad_value=-5.0, zero_guard=0.5)
    y = apply(conv, x, constant(np.ones((1, 1, 3, 3))))
    found = ranges.value_ranges(graph_of(y, inputs=(x,)), Interval(0.0, 1.0))[y].result
    assert found == Interval(-45.0, 9.0)


def test_what_follows_a_maximum_over_windows_has_a_bound():
    x = image(1, 3, 9, 9)
    y = pointwise("x0 * 2", apply(Pool("max", (3, 3), (2, 2), pads=(1, 1, 1, 1)), x))
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), precision="auto")
    assert all(t["format"].endswith("16f") for t in files.schedule["textures"])


@pytest.mark.gl
def test_places_that_are_data_stay_in_32_bits():
    x, grid = image(1, 1, 2, 700), image(1, 2, 700, 2, name="grid")
    graph = graph_of(
        apply(GridSample("linear"), x, pointwise("x0 * 2 - 1", grid)), inputs=(x, grid)
    )
    _, files, _ = compile_graph(graph, precision="auto")
    formats = {t["name"]: t["format"] for t in files.schedule["textures"]}
    assert formats["grid"].endswith("32f")
    rng = np.random.default_rng(0)
    inputs = {"x": rng.random(x.shape, np.float32), "grid": rng.random(grid.shape, np.float32)}
    (got,), (want,) = play(files, inputs).values(), evaluate_graph(graph, inputs).values()
    assert np.abs(got - want).max() <= 2e-3


@pytest.mark.gl
@pytest.mark.parametrize("precision", ["auto", "mediump"])
@pytest.mark.parametrize("op", [ArgMin((1,)), MaxPoolIndices((2, 2), (2, 2))])
def test_positions_of_extrema_are_exact_where_16_bits_cannot_hold_the_elements(op, precision):
    """In 16 bits they differ from all elements: of an 8-bit image, or of a formula in 32 bits."""
    x = image(1, 6, 8, 10)
    elements = pointwise("sin(x0 * x0 * x0)", x)  # the cube may overflow 16 bits
    if precision == "mediump":
        elements = x = replace(x, port=replace(x.port, encoding="unorm8"))
    pooled = (apply(op.pool, elements),) if isinstance(op, MaxPoolIndices) else ()
    graph = graph_of(apply(op, elements, *pooled), inputs=(x,))
    _, files, _ = compile_graph(graph, precision=precision)
    inputs = {"x": np.random.default_rng(0).integers(0, 256, x.shape).astype(np.float32) / 255}
    (got,), (want,) = play(files, inputs).values(), evaluate_graph(graph, inputs).values()
    assert np.array_equal(got, want)


@pytest.mark.gl
def test_maxima_beside_elements_in_16_bits_have_16():
    x = image(1, 6, 8, 10)
    y = apply(Pool("max", (2, 2), (2, 2)), x)
    graph = graph_of(y, apply(MaxPoolIndices((2, 2), (2, 2)), x, y), inputs=(x,))
    _, files, _ = compile_graph(graph, precision="auto")
    formats = {t["name"]: t["format"] for t in files.schedule["textures"]}
    assert {name: f[-3:] for name, f in formats.items()} == {
        "x": "16f",
        "pool": "16f",
        "maxpoolindices": "32f",
    }
    inputs = {"x": np.random.default_rng(0).normal(size=x.shape).astype(np.float16)}
    got, want = play(files, inputs), evaluate_graph(graph, inputs)
    assert all(np.array_equal(got[name], want[name]) for name in want)


@pytest.mark.gl
def test_a_limit_beyond_16_bits_limits_nothing_there():
    x = image(2, 5, 7)
    y = apply(Reduce("log_sum_exp", (2,)), x)
    assert_runs_like_reference(graph_of(y, inputs=(x,)), precision="mediump")
    with pytest.raises(ShadergenError, match="SG0404"):
        compile_graph(graph_of(pointwise("x0 * 1e6", x), inputs=(x,)), precision="mediump")


@pytest.mark.gl
@pytest.mark.parametrize("precision", ["mediump", "auto"])
@pytest.mark.parametrize("kind", ["group", "instance", "layer", "softmax"])
def test_values_far_from_0_are_normalised_with_statistics_in_32_bits(kind, precision):
    """The mean of 30 +- 0.3, rounded to 16 bits, is off by up to a twentieth of the deviation."""
    x = image(1, 8, 40, 40)
    ones, zeros = (constant(np.full(8, k, np.float32)) for k in (1, 0))
    op = {
        "group": GroupNormalization(2),
        "instance": InstanceNormalization(),
        "layer": LayerNormalization((2, 3)),
        "softmax": Softmax((2, 3)),
    }[kind]
    parameters = (ones, zeros) if kind in ("group", "instance") else ()
    graph = graph_of(apply(op, x, *parameters), inputs=(x,))
    rng = np.random.default_rng(0)
    inputs = {"x": (30 + rng.random(x.shape)).astype(np.float16).astype(np.float32)}
    _, files, _ = compile_graph(graph, precision=precision, input_range=(0.0, 31.0))
    (got,), (want,) = play(files, inputs).values(), evaluate_graph(graph, inputs).values()
    assert np.abs(got - want).max() <= 2e-3 * np.abs(want).max()
