"""Networks whose sizes grow at each layer: compiled in bounded work, or refused by their layer.

Work is counted, in polynomials of sizes that are made and bounds of them that are found.
"""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from typing import TYPE_CHECKING

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dynamic_graphs import random_graph
from support.dynamic_net import Net, as_float, floats, network

from shadergen.backends import constraints
from shadergen.backends.constraints import sizes_member
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.driver import compile_model
from shadergen.compiler.keywords import make_options
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir.dimensions import DynamicDimensionError, at_layer, dimension, is_dynamic
from shadergen.ir.dimensions.environment import ShapeEnvironment
from shadergen.ir.dimensions.polynomial import Polynomial
from shadergen.ir.interning import Interned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from onnx import ModelProto

WORK_PER_NODE = 2000  # polynomials and bounds, of graphs that are mostly far below


def resized(net: Net, height: str) -> str:
    sizes = net("Concat", net.whole(1, 3), height, net.sizes("x", 3, 4), axis=0)
    return net("Resize", "x", "", "", sizes, mode="linear")


def joined_pools(net: Net, n: int) -> str:
    x = "x"
    for _ in range(n):
        parts = [net("MaxPool", x, kernel_shape=[k, 1], strides=[k, 1]) for k in (2, 3)]
        x = net("Concat", *parts, axis=2)
    return x


def chain(step: Callable[[Net, str, str, str], str]) -> Callable[[Net, int], str]:
    """Return a network that resizes to what a step makes of the height, n times."""

    def build(net: Net, n: int) -> str:
        height, width = (net.sizes("x", axis, axis + 1) for axis in (2, 3))
        a = height
        for _ in range(n):
            a = step(net, a, height, width)
        return resized(net, a)

    return build


@chain
def halves_and_thirds(net: Net, a: str, height: str, width: str) -> str:
    return net("Add", net("Div", a, net.whole(2)), net("Div", a, net.whole(3)))


@chain
def in_proportion(net: Net, a: str, height: str, width: str) -> str:
    return net("Add", net("Div", net("Mul", a, height), width), net.whole(1))


@chain
def squares(net: Net, a: str, height: str, width: str) -> str:
    total = net("Add", net("Mul", a, a), net("Mul", width, width))
    return net("Div", total, net("Add", height, width))


@chain
def times_a_remainder(net: Net, a: str, height: str, width: str) -> str:
    return net("Add", net("Mul", net("Mod", a, net.whole(3)), a), height)


@chain
def powers(net: Net, a: str, height: str, width: str) -> str:
    return net("Mul", a, a)


def whole_numbers(net: Net, n: int) -> str:
    """The 3 channels, squared again and again beside the height."""
    sizes = net.sizes("x", 1, 3)
    height = net("Slice", sizes, net.whole(1), net.whole(2), net.whole(0))
    a = net("Slice", sizes, net.whole(0), net.whole(1), net.whole(0))
    for _ in range(n):
        a = net("Mul", a, a)
    return resized(net, net("Add", net("Mod", a, net.whole(3)), height))


def fractions(net: Net, n: int) -> str:
    """A quarter, squared again and again beside a quarter of the height."""
    sizes = net("Mul", as_float(net, net.sizes("x", 1, 3)), floats(net, 0.25))
    height = net("Slice", sizes, net.whole(1), net.whole(2), net.whole(0))
    a = net("Slice", sizes, net.whole(0), net.whole(1), net.whole(0))
    a = net("Sub", a, floats(net, 0.5))
    for _ in range(n):
        a = net("Mul", a, a)
    return resized(net, net("Cast", net("Floor", net("Add", a, height)), to=7))


def tiled(net: Net, n: int) -> str:
    """The height 60,000 times."""
    a = net("Tile", net.sizes("x", 2, 4), net.whole(30000))
    for _ in range(n):
        a = net("Add", net("Mul", a, net.whole(2)), net.whole(1))
    return resized(net, net("Slice", a, net.whole(0), net.whole(1), net.whole(0)))


def counting(patch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets an item for each polynomial made and each time one is bounded."""
    done: list[str] = []

    def counted(kind: type, name: str) -> None:
        original = getattr(kind, name)

        def method(self: object, *arguments: object) -> object:
            done.append(name)
            return original(self, *arguments)

        patch.setattr(kind, name, method)

    counted(Polynomial, "__post_init__")
    counted(ShapeEnvironment, "_bounds_from_parts")
    return done


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return counting(monkeypatch)


def compiled(model: ModelProto, size: tuple[int, int] = (256, 384)) -> ShadergenError | None:
    """Compile a model; return how it was refused, if it was."""
    options = Options(dynamic=size, validate=False)
    try:
        compile_graph(import_model(model, options), options)
    except ShadergenError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("build", "code", "says"),
    [
        (whole_numbers, "SG0207", "too complex: a number beyond 64 bits"),
        (fractions, "SG0207", "a size computation that float32 cannot hold exactly"),
        (tiled, "SG0401", "the constants that the model computes are too large"),
    ],
)
def test_numbers_beside_sizes_have_limits_of_their_own(
    build: Callable[[Net, int], str], code: str, says: str
) -> None:
    error = compiled(model_of(build, 60))
    assert error is not None
    assert error.code == code
    assert says in error.what
    assert error.where[-1].startswith("node ")


def test_more_comparisons_than_a_trace_keeps_are_refused_by_the_layer() -> None:
    environment = ShapeEnvironment(
        {"height": 256, "width": 384}, dict.fromkeys(("height", "width"), (1.0, 4096.0))
    )
    height, width = (dimension(environment, name) for name in environment.defaults)
    with (
        at_layer("compare"),
        pytest.raises(DynamicDimensionError, match="too many comparisons") as caught,
    ):
        for k in range(5000):
            assert height * width + k * width > 5000
    assert caught.value.where == ("layer compare",)


def test_a_compilation_leaves_no_sizes_in_memory(tmp_path: Path) -> None:
    model = network(lambda net: net("ReduceMean", "x", net.whole(2, 3)))
    onnx.save(model, tmp_path / "mean.onnx")
    options = make_options(input_size="dynamic", validate=False)
    compilation = compile_model(tmp_path / "mean.onnx", tmp_path / "build", options)
    height = compilation.graph.inputs[0].shape[2]
    assert is_dynamic(height)
    environment = weakref.ref(height.environment)
    del compilation, height
    gc.collect()
    assert environment() is None


def test_two_threads_that_make_equal_values_get_one_object() -> None:
    both = Barrier(2, timeout=60)

    class Value(metaclass=Interned):
        def __init__(self, name: str) -> None:
            both.wait()  # neither finds the other's

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(Value, ("height", "height"))
    assert first is second


def test_constraints_work_out_what_they_share_once(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = ShapeEnvironment({"height": 256}, {"height": (1.0, 4096.0)})
    height = dimension(environment, "height")
    size = height
    for _ in range(7):
        size = size // 2 + size // 3
    for k in range(30):
        assert size * size + k * height > k * 5000 // 64
    done: list[object] = []
    values = constraints._values
    monkeypatch.setattr(constraints, "_values", lambda *a: (done.append(a), values(*a))[1])
    sizes_member(environment)
    assert len(done) < 500


def model_of(build: Callable[[Net, int], str], n: int) -> ModelProto:
    def repeated(net: Net) -> str:
        return build(net, n)

    return network(repeated)


@pytest.mark.parametrize(
    ("build", "n"),
    [
        (joined_pools, 5),
        (joined_pools, 7),
        (halves_and_thirds, 8),
        (in_proportion, 20),
        (in_proportion, 60),
        (squares, 4),
        (times_a_remainder, 2),
    ],
)
def test_sizes_that_share_their_parts_are_compiled_in_linear_work(
    build: Callable[[Net, int], str], n: int, work: list[str]
) -> None:
    model = model_of(build, n)
    assert compiled(model) is None
    assert len(work) < 500 * len(model.graph.node)


@pytest.mark.parametrize(
    ("build", "n", "says"),
    [
        (joined_pools, 9, "a polynomial of 6,099 terms"),
        (joined_pools, 60, "a polynomial of 12,285 terms"),
        (halves_and_thirds, 16, "a polynomial of 12,283 terms"),
        (halves_and_thirds, 60, "a polynomial of 12,283 terms"),
        (in_proportion, 66, "too complex: 65 nested quotients"),
        (squares, 8, "terms"),
        (squares, 60, "terms"),
        (times_a_remainder, 6, "terms"),
        (powers, 60, "a number beyond 64 bits"),
    ],
)
def test_sizes_that_grow_too_large_are_refused_by_their_layer(
    build: Callable[[Net, int], str], n: int, says: str, work: list[str]
) -> None:
    model = model_of(build, n)
    error = compiled(model)
    assert error is not None
    assert error.code == "SG0207"
    assert says in error.what
    assert error.where[-1].startswith(("layer ", "node "))
    assert error.why.startswith("the limit is ")
    assert len(error.render()) < 2000
    assert len(work) < 500 * len(model.graph.node)


def test_a_product_of_many_sizes_is_refused_where_all_are_1(work: list[str]) -> None:
    error = compiled(model_of(powers, 60), (1, 1))
    assert error is not None
    assert error.what.endswith("too complex: a product of 128 sizes")


@given(seed=st.integers(0, 2**32), nodes=st.integers(5, 60))
@settings(deadline=None, max_examples=15)
def test_any_graph_is_compiled_or_refused_in_work_in_proportion_to_its_nodes(
    seed: int, nodes: int
) -> None:
    model = random_graph(Random(seed), nodes)
    with pytest.MonkeyPatch.context() as patch:
        work = counting(patch)
        compiled(model, (45, 70))
    assert len(work) < WORK_PER_NODE * len(model.graph.node)
