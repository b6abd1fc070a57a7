"""Compiling takes work in proportion to the number of layers: counted in calls of functions."""

from __future__ import annotations

import cProfile
import pstats
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import onnx
import pytest
from support import graph_of, image, pointwise, refusal
from support.onnx_models import Inits, model, node, normal

from shadergen.backends.devices import DEVICES
from shadergen.backends.devices.profile import ES30, Device
from shadergen.backends.kernels import winograd, work
from shadergen.backends.shader.builder import ShaderBuilder
from shadergen.compiler.driver import compile_model
from shadergen.compiler.keywords import make_options
from shadergen.ir.expr import Call, Expr, Num, Var, sizes
from shadergen.ir.nest import loads_of
from shadergen.ir.nests import nest_of
from shadergen.ir.ops import Pad, Reduce
from shadergen.ir.types import TensorType
from shadergen.ir.verifier import Sound, verify
from shadergen.passes import choose_kernels
from shadergen.passes.kernel_ops import WinogradPatches, WinogradProducts, WinogradResult
from shadergen.passes.predict_cost import Predictor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shadergen.compiler.options import Options

Made = tuple[list[Any], Inits, tuple[int, ...]]
GROWTH = 2.2  # times the calls for twice the layers


def chain(n: int) -> Made:
    """Activations in a row, which are fused as far as formulas may grow."""
    names = ["x", *(f"t{i}" for i in range(1, n)), "y"]
    nodes = [
        node(("Relu", "Sin")[i % 2], a, outputs=(b,)) for i, (a, b) in enumerate(pairwise(names))
    ]
    return nodes, {}, (1, 4, 8, 8)


def sequences(n: int) -> Made:
    """Additions that read what the two before them give: parts are shared."""
    nodes = [node("Sin", "x", outputs=("t0",)), node("Relu", "x", outputs=("t1",))]
    nodes += [
        node(("Mul", "Add")[i % 2], f"t{i - 1}", f"t{i - 2}", outputs=(f"t{i}",))
        for i in range(2, n)
    ]
    return [*nodes, node("Neg", f"t{n - 1}")], {}, (1, 4, 8, 8)


def split(n: int) -> Made:
    """Slices of a map, an activation of each, and all of them joined."""
    nodes = [node("Split", "x", outputs=tuple(f"s{i}" for i in range(n)), axis=1)]
    nodes += [node("Sin", f"s{i}", outputs=(f"r{i}",)) for i in range(n)]
    return [*nodes, node("Concat", *(f"r{i}" for i in range(n)), axis=1)], {}, (1, 4 * n, 4, 4)


def residual(n: int) -> Made:
    """Convolutions with weights of their own, each added to what it reads."""
    nodes, weights, x = [], {}, "x"
    for i in range(n):
        weights[f"w{i}"] = normal(4, 4, 3, 3, seed=i)
        nodes += [
            node("Conv", x, f"w{i}", outputs=(f"c{i}",), pads=[1, 1, 1, 1]),
            node("Relu", f"c{i}", outputs=(f"r{i}",)),
            node("Add", x, f"r{i}", outputs=(f"a{i}",)),
        ]
        x = f"a{i}"
    return [*nodes, node("Relu", x)], weights, (1, 4, 8, 8)


def branches(n: int) -> Made:
    """Convolutions of one map, joined."""
    weights = {f"w{i}": normal(4, 4, 1, 1, seed=i) for i in range(n)}
    nodes = [node("Conv", "x", f"w{i}", outputs=(f"c{i}",)) for i in range(n)]
    return [*nodes, node("Concat", *(f"c{i}" for i in range(n)), axis=1)], weights, (1, 4, 4, 4)


def dense(n: int) -> Made:
    """Products of matrices with weights and biases of their own."""
    nodes, weights, x = [], {}, "x"
    for i in range(n):
        weights |= {f"w{i}": normal(8, 8, seed=i), f"b{i}": normal(8, seed=i)}
        nodes += [
            node("Gemm", x, f"w{i}", f"b{i}", outputs=(f"g{i}",)),
            node("Tanh", f"g{i}", outputs=(f"t{i}",)),
        ]
        x = f"t{i}"
    return [*nodes, node("Neg", x)], weights, (3, 8)


def moves(n: int) -> Made:
    """Transposes before softmax."""
    nodes, x = [], "x"
    for i in range(n):
        nodes += [
            node("Transpose", x, outputs=(f"m{i}",), perm=[0, 1, 3, 2]),
            node("Softmax", f"m{i}", outputs=(f"s{i}",), axis=1),
        ]
        x = f"s{i}"
    return [*nodes, node("Relu", x)], {}, (1, 4, 8, 8)


def summed(n: int) -> Made:
    """Slices of a map, added up: sums read as many of them as a GPU pass has texture units."""
    names = [f"s{i}" for i in range(n)]
    nodes = [node("Split", "x", outputs=tuple(names), axis=1)]
    sums = ["s0", *(f"a{i}" for i in range(1, n))]
    for i, (a, b) in enumerate(pairwise(sums), 1):
        nodes.append(node("Add", a, names[i], outputs=(b,)))
    return [*nodes, node("Neg", sums[-1])], {}, (1, 4 * n, 4, 4)


# How often each is repeated, and how many calls one more repetition may take. Pictures are read and
# simplified at two sizes, to prove their receptive fields. What earlier tests of a process leave in
# caches changes the calls by a thousandth or so.
NETWORKS: dict[Callable[[int], Made], tuple[int, int]] = {
    chain: (200, 4_600),
    sequences: (60, 8_600),
    split: (60, 9_200),
    residual: (60, 16_400),
    branches: (60, 8_400),
    dense: (40, 12_700),
    moves: (30, 23_600),
    summed: (60, 10_000),
}


def calls(make: Callable[[int], Made], n: int, folder: Path) -> int:
    """Return how many calls it takes to compile a network of so many repetitions."""
    nodes, weights, shape = make(n)
    path = folder / f"{n}.onnx"
    onnx.save(model(nodes, weights, {"x": shape}, 12), path)
    profile = cProfile.Profile(builtins=True)
    profile.enable()
    compile_model(path, folder / f"build{n}", make_options(validate=False))
    profile.disable()
    return pstats.Stats(profile).total_calls


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_twice_the_layers_take_about_twice_the_calls(make, tmp_path):
    calls(make, 4, tmp_path)  # imports, and what is kept for the process
    repeated, most = NETWORKS[make]
    once, twice = calls(make, repeated, tmp_path), calls(make, 2 * repeated, tmp_path)
    assert twice <= GROWTH * once
    assert (twice - once) // repeated <= most


def enlarged(stride: int, folder: Path) -> tuple[Path, Options]:
    """Return a transposed convolution with a kernel of its stride, where planes are textures."""
    path = folder / f"{stride}.onnx"
    up = node("ConvTranspose", "x", "w", strides=[stride, stride])
    weights = {"w": normal(1, 1, stride, stride)}
    onnx.save(model([up], weights, {"x": (1, 1, 2, 2)}, 12), path)
    return path, make_options(textures="2d", validate=False)


@pytest.fixture
def finished(monkeypatch) -> list[int]:
    """A list with an item for each program that was lowered."""
    made: list[int] = []
    finish = ShaderBuilder.finish
    monkeypatch.setattr(ShaderBuilder, "finish", lambda *a, **k: made.append(1) or finish(*a, **k))
    return made


def test_too_many_planes_for_the_texture_units_are_refused_before_shaders_are_written(
    tmp_path, finished
):
    path, options = enlarged(300, tmp_path)
    error = refusal(compile_model, path, tmp_path / "build", options)
    assert (error.code, error.what) == ("SG0402", "'y' needs 22500 texture units")
    assert len(finished) < 10  # those of candidates that are compared


def test_the_nest_of_kernels_of_one_structure_is_made_once(monkeypatch):
    made = []
    nest = Reduce.nest
    monkeypatch.setattr(Reduce, "nest", lambda *given: made.append(1) or nest(*given))
    x = TensorType((3, 5, 7, 11))
    first, second = (nest_of(Reduce("sum", (1,)), x) for _ in range(2))
    assert first is second
    assert len(made) == 1


@pytest.mark.parametrize(("value", "other"), [(0.0, -0.0), (1, 1.0), (True, 1)])
def test_nests_of_numbers_that_shaders_tell_apart_are_kept_apart(value, other):
    x = TensorType((3, 5))
    for fill in (value, other):
        nest = nest_of(Pad((1, 1), (1, 1), value=fill), x)
        ((_, load),) = loads_of(nest.bindings)
        assert repr(load.fill) == repr(fill)


def repeatedly_squared(times: int) -> Expr:
    """Return a formula of so many different parts, which written out has no end."""
    expr: Expr = Var("x0")
    for _ in range(times):
        expr = Call("mul", (expr, expr))
    return expr


def test_equal_expressions_are_one_object():
    one, other = (Call("add", (Var("x0"), Num(0.5))) for _ in range(2))
    assert one is other
    assert Num(0.0) is not Num(-0.0)


def test_formulas_of_shared_parts_are_compared_part_by_part():
    one, other = repeatedly_squared(100_000), repeatedly_squared(100_000)
    assert one == other
    assert one != Call("mul", (other, other))


def test_formulas_of_shared_parts_are_counted_part_by_part():
    assert sizes(repeatedly_squared(1000)) == (1001, 2**1001 - 1)


def test_the_verifier_infers_equal_nodes_once():
    x = image(1, 4, 8, 8)
    value = x
    for _ in range(100):
        value = pointwise("sin(x0)", value)
    sound = Sound()
    verify(graph_of(value, inputs=(x,)), sound)
    assert len(sound.nodes) == 100
    assert len(sound.inferences) == 1


def test_few_of_the_ways_to_run_a_convolution_are_lowered(tmp_path, finished):
    path = tmp_path / "one.onnx"
    weights = {"w": normal(32, 16, 3, 3)}
    onnx.save(model([node("Conv", "x", "w")], weights, {"x": (1, 16, 64, 64)}, 12), path)
    options = make_options(device="gles31-min", winograd="off", validate=False)
    decisions = compile_model(path, tmp_path / "build", options).decisions
    (why,) = (d.why for d in decisions if d.step == "choose kernels")
    assert "the lowest of 36 candidates" in why
    # In draws 1 and 2 planes; in dispatches 1 to 3, and 1 to 3 pixels; and the one that is chosen.
    assert len(finished) == 2 + 3 * 3 + 1


def test_steps_of_tiles_are_lowered_once_for_maps_of_all_sizes(tmp_path, monkeypatch):
    steps: Counter[tuple[str, str]] = Counter()
    lowered = work._lowered

    def count(n, family, target):
        if isinstance(n.op, (WinogradPatches, WinogradProducts, WinogradResult)):
            tile = f"tile {n.op.tile}" if n.choice.weights is None else ""  # of transforms
            steps[type(n.op).__name__, f"{n.choice} {tile}"] += 1
        return lowered(n, family, target)

    monkeypatch.setattr(work, "_lowered", count)
    path = tmp_path / "tiles.onnx"
    names = ["x", *(f"t{i}" for i in range(4)), "y"]
    weights = {f"w{i}": normal(8, 8, 3, 3, seed=i) for i in range(5)}
    nodes = []
    for i, (a, b) in enumerate(pairwise(names)):
        nodes.append(node("MaxPool", a, outputs=(f"p{i}",), kernel_shape=[2, 2], strides=[2, 2]))
        nodes.append(node("Conv", f"p{i}", f"w{i}", outputs=(b,), pads=[1, 1, 1, 1]))
    last = node("MaxPool", "y", outputs=("z",), kernel_shape=[2, 2], strides=[2, 2])
    onnx.save(model([*nodes, last], weights, {"x": (1, 8, 420, 260)}, 12), path)
    compile_model(path, tmp_path / "build", make_options(device="gles31-min", validate=False))
    assert {kind for kind, _ in steps} == {"WinogradPatches", "WinogradProducts", "WinogradResult"}
    assert set(steps.values()) == {1}


def test_layers_that_do_the_same_are_ranked_once_and_listed_in_tiles_only_where_these_can_win(
    tmp_path, monkeypatch
):
    predictors, in_tiles = [], []
    monkeypatch.setattr(
        choose_kernels, "Predictor", lambda *a: predictors.append(1) or Predictor(*a)
    )
    listed = winograd._in_tiles
    monkeypatch.setattr(winograd, "_in_tiles", lambda *a: in_tiles.append(1) or listed(*a))
    names = ["x", *(f"t{i}" for i in range(9)), "y"]
    path = tmp_path / "equal.onnx"
    weights = {f"w{i}": normal(4, 4, 3, 3, seed=i) for i in range(10)}
    nodes = [
        node("Conv", a, f"w{i}", outputs=(b,), pads=[1, 1, 1, 1])
        for i, (a, b) in enumerate(pairwise(names))
    ]
    onnx.save(model(nodes, weights, {"x": (1, 4, 8, 8)}, 12), path)
    monkeypatch.setitem(DEVICES, "default-costs", Device(ES30))
    compile_model(path, tmp_path / "build", make_options(device="default-costs", validate=False))
    assert len(predictors) == 3  # the first, whose input the application has; the last; the others
    assert not in_tiles
    compile_model(path, tmp_path / "build", make_options(validate=False))
    assert in_tiles


def test_passes_that_differ_in_their_weights_are_lowered_once(tmp_path, finished):
    path = tmp_path / "wide.onnx"
    weights = {"w": normal(128, 4, 3, 3), "b": normal(128)}
    onnx.save(model([node("Conv", "x", "w", "b")], weights, {"x": (1, 4, 8, 8)}, 12), path)
    options = make_options(weights="texture", mrt=1, validate=False)
    passes = compile_model(path, tmp_path / "build", options).files.schedule["passes"]
    assert (len(passes), len(finished)) == (32, 1)
    assert len({str(p["reads"]) for p in passes}) == 32
