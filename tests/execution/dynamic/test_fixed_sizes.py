"""Layers that fix the size of an input whose size is to be dynamic, alone or together."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.dynamic_net import Net, network

from shadergen.backends.constraints import sizes_member
from shadergen.backends.grid import Grid
from shadergen.backends.solutions import Rectangle, Solutions
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.frontends.dynamic_sizes import EXPORT_DYNAMIC, fixed_notes
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir.dimensions import ShapeEnvironment, at_layer, dimension, hint, largest

if TYPE_CHECKING:
    from pathlib import Path


def constraints_of(model: Any, **options: Any) -> list[str]:
    chosen = Options(**{"dynamic": True, "validate": False, **options})
    _, files, _ = compile_graph(import_model(model, chosen), chosen)
    return [str(c["why"]) for c in files.schedule["sizes"]["constraints"]]


def refusal_of(model: Any, **options: Any) -> str:
    with pytest.raises(ShadergenError) as caught:
        constraints_of(model, **options)
    return caught.value.render()


def compiles(model: Any, **options: Any) -> bool:
    chosen = Options(validate=False, **options)
    _, files, _ = compile_graph(import_model(model, chosen), chosen)
    return "sizes" not in files.schedule


# what fixes the size, in words


def dense_behind_pools(net: Net) -> str:
    x = net("Relu", net.conv("x", 3, 4, 3))
    pools = [net("MaxPool", x, kernel_shape=[k, k], strides=[k, k]) for k in (2, 3, 5)]
    x = net("Concat", *(net("Flatten", pool) for pool in pools), axis=1)
    return net("Gemm", x, net.weight(4 * (4 * 6 + 2 * 4 + 1 * 2), 5), net.weight(5))


def dense_behind_a_stride(net: Net) -> str:
    x = net("Relu", net.conv("x", 3, 4, 3, pads=[0] * 4, strides=[2, 2]))
    x = net("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    return net("MatMul", net("Flatten", x), net.weight(4 * 2 * 3, 5))


def dense_alone(net: Net) -> str:
    return net("Gemm", net("Flatten", "x"), net.weight(3 * 96, 5), net.weight(5))


def rows_of_eight(net: Net) -> str:
    return net("Relu", net("Reshape", net.conv("x", 3, 4, 3), net.whole(1, 4, 8, -1)))


@pytest.mark.parametrize(
    ("make", "shape", "words"),
    [
        (
            dense_behind_pools,
            (8, 12),
            "layer gemm9 allows only height 8 with width 12 to 13, or 3 other combinations of "
            "height and width ranges",
        ),
        (
            dense_behind_a_stride,
            (11, 15),
            "layer matmul4 allows only height 9 to 12 with width 13 to 16, or 3 other "
            "combinations of height and width ranges",
        ),
        (dense_alone, (8, 12), "height*width must be 96, for layer gemm1"),
        (rows_of_eight, (8, 12), "layer reshape1 fixes height to 8"),
    ],
)
def test_a_layer_of_fixed_size_is_named_with_the_sizes_that_it_takes(
    make: Any, shape: tuple[int, int], words: str
) -> None:
    assert constraints_of(network(make, (1, 3, *shape)))[-1] == words


def test_a_dense_layer_of_keras_is_named_with_the_sizes_that_it_takes(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras")
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((13, 17, 3)),
            layers.Conv2D(4, 3, strides=2, name="first"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(5, name="classes"),
        ]
    )
    model.save(tmp_path / "model.keras")
    said = (
        "layer classes allows only height 13 to 16 with width 17 to 20, or 5 other combinations of "
        "height and width ranges"
    )
    assert constraints_of(tmp_path / "model.keras")[-1] == said
    cut = constraints_of(tmp_path / "model.keras", inputs=("first",))
    assert cut[-1] == "floor(height / 2)*floor(width / 2) must be 12, for layer classes"


def test_a_constraint_that_is_no_equation_and_cannot_be_read_is_said_without_its_formula() -> None:
    environment = ShapeEnvironment(
        {"height": 256, "width": 384}, dict.fromkeys(("height", "width"), (1.0, 4096.0))
    )
    h, w = dimension(environment, "height"), dimension(environment, "width")
    with at_layer("join"):
        assert sum((h // k) * (w // (k + 1)) for k in range(2, 12)) < 10**6
    member: Any = sizes_member(environment)
    (constraint,) = member["constraints"]
    assert (
        constraint["why"]
        == "height and width must satisfy a condition with 79 terms, too long to print, "
        "for layer join"
    )


def multiple_of_four(net: Net) -> str:
    pooled = net("MaxPool", "x", kernel_shape=[4, 4], strides=[4, 4])
    return net("Add", "x", net.scaled(pooled, 4, 4, mode="nearest"))


@pytest.mark.parametrize(("make", "noted"), [(dense_alone, True), (multiple_of_four, False)])
def test_a_fixed_number_of_pixels_is_noted_with_the_way_to_more_sizes(
    make: Any, noted: bool
) -> None:
    chosen = Options(dynamic=True, validate=False)
    _, files, _ = compile_graph(import_model(network(make, (1, 3, 8, 12)), chosen), chosen)
    assert files.schedule["sizes"]["constraints"]
    assert fixed_notes(files.schedule) == ((EXPORT_DYNAMIC,) if noted else ())


# one size alone


def reshape_to_a_map(net: Net) -> str:
    x = net("Relu", net.conv("x", 3, 4, 3))
    return net.conv(net("Reshape", x, net.whole(1, 4, 8, 12)), 4, 2, 3)


def transposed_convolution_to_a_shape(net: Net) -> str:
    shape = {"strides": [2, 2], "output_shape": [26, 34]}
    return net("ConvTranspose", "x", net.weight(3, 4, 3, 3), **shape)


def product_and_sum(net: Net) -> str:
    """With h*w = 64 and (h + 1)*(w + 1) = 81 it is h = w = 8: only together they say so."""
    whole = net("Reshape", "x", net.whole(1, 3, 64))
    padded = net("Pad", "x", net.whole(0, 0, 0, 0, 0, 0, 1, 1))
    return net("Concat", whole, net("Reshape", padded, net.whole(1, 3, 81)), axis=2)


def map_behind_a_stride(net: Net) -> str:
    x = net("Relu", net.conv("x", 3, 4, 3, strides=[2, 2]))
    return net.conv(net("Reshape", x, net.whole(1, 4, 4, 6)), 4, 2, 3)


@pytest.mark.parametrize(
    ("make", "size", "layers"),
    [
        (reshape_to_a_map, (8, 12), "layer reshape2 fixes"),
        (transposed_convolution_to_a_shape, (12, 16), "layer convtranspose0 fixes"),
        (product_and_sum, (8, 8), "layers reshape0 and reshape2 fix"),
    ],
)
def test_a_dynamic_build_of_one_size_is_refused_by_the_layers_that_fix_it(
    make: Any, size: tuple[int, int], layers: str
) -> None:
    text = "x".join(map(str, size))
    refused = (
        "error[SG0301]: --input-size dynamic has no effect: the model takes one size only\n"
        f"  = why: {layers} the input at {text}\n"
        f"  = help: compile with --input-size {text}\n"
        f"  = help: {EXPORT_DYNAMIC}"
    )
    assert refusal_of(network(make, (1, 3, *size))) == refused
    assert refusal_of(network(make), dynamic=size) == refused
    assert compiles(network(make, (1, 3, *size)), input_size={"": size})
    assert compiles(network(make), input_size={"": size})


@pytest.mark.parametrize("shape", [(1, 3, 8, 12), (1, 3, "H", "W")], ids=str)
def test_a_part_of_one_size_is_refused_and_compiles_as_the_help_says(shape: Any) -> None:
    model = network(map_behind_a_stride, shape)
    size = {"dynamic": (4, 6)} if "H" in shape else {}
    assert refusal_of(model, inputs=("relu1",), **size) == (
        "error[SG0301]: --input-size dynamic has no effect: the model takes one size only\n"
        "  = why: layer reshape2 fixes the input at 4x6\n"
        "  = help: compile with --inputs relu1=4x6"
    )
    assert compiles(model, inputs=("relu1",), input_size={"relu1": (4, 6)})


@pytest.fixture(scope="module")
def reshaping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Keras model that reshapes its 16x24 image, pooled to 8x12, to that size."""
    keras = pytest.importorskip("keras")
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((16, 24, 3)),
            layers.MaxPooling2D(2, name="pool"),
            layers.Conv2D(4, 3, padding="same", name="first"),
            layers.Reshape((8, 12, 4), name="again"),
            layers.Conv2D(2, 3, padding="same"),
        ]
    )
    path = tmp_path_factory.mktemp("models") / "model.keras"
    model.save(path)
    return path


def test_a_part_of_a_keras_model_takes_any_size(reshaping: Path) -> None:
    chosen = Options(dynamic=True, validate=False, inputs=("pool",), outputs=("first",))
    graph, files, _ = compile_graph(import_model(reshaping, chosen), chosen)
    assert files.schedule["sizes"]["constraints"] == []
    sizes = {p["name"]: p["default"] for p in files.schedule["sizes"]["parameters"]}
    assert sizes == {"height": 8, "width": 12}
    assert [i.name for i in graph.inputs] == ["pool"]


@pytest.mark.parametrize("start", ["pool", "first"])
def test_a_part_of_a_keras_model_of_one_size_is_refused(reshaping: Path, start: str) -> None:
    assert refusal_of(reshaping, inputs=(start,)) == (
        "error[SG0301]: --input-size dynamic has no effect: the model takes one size only\n"
        "  = why: layer again fixes the input at 8x12\n"
        f"  = help: compile with --inputs {start}=8x12"
    )
    assert compiles(reshaping, inputs=(start,), input_size={start: (8, 12)})


def test_a_keras_model_of_which_few_sizes_are_left_is_compiled(reshaping: Path) -> None:
    assert constraints_of(reshaping) == [
        "height must be from 16 to 17, for layer again",
        "width must be from 24 to 25, for layer again",
    ]


# the search


def test_solutions_are_those_of_trying_every_size() -> None:
    rng = np.random.default_rng(16)
    counts = []
    for case in range(60):
        environment = ShapeEnvironment(
            {"height": 12, "width": 18}, dict.fromkeys(("height", "width"), (1.0, 40.0))
        )
        h, w = dimension(environment, "height"), dimension(environment, "width")
        a, b, c, d = (int(n) for n in rng.integers(1, 6, 4))
        size = (h + a) // b * ((w + c) // d) - a * largest(w, c * h - b) + b * h
        assert size == hint(size) if case % 3 else size >= hint(size)
        step = int(rng.integers(1, 4))
        grids = {"height": Grid(12 % step or step, 37, step), "width": Grid(2, 40, 2)}
        points = product(grids["height"].values.tolist(), grids["width"].values.tolist())
        wanted = {point for point in points if holds(environment, point)}
        found = Solutions(environment.guards, grids)
        assert found.complete
        assert found.count == len(wanted)
        covered = [point for r in found.rectangles() for point in points_of(r, grids)]
        assert len(covered) == len(set(covered))
        assert set(covered) == wanted
        counts.append(len(wanted))
    assert min(counts) == 1
    assert max(counts) > 100


def holds(environment: ShapeEnvironment, point: tuple[int, int]) -> bool:
    at = ShapeEnvironment(dict(zip(environment.defaults, point, strict=True)), {})
    return all(guard.low <= at.hint(p) <= guard.high for p, guard in environment.guards.items())


def points_of(rectangle: Rectangle, grids: dict[str, Grid]) -> set[tuple[int, ...]]:
    ends = zip(rectangle.first, rectangle.last, grids.values(), strict=True)
    return set(product(*(range(a, b + 1, grid.step) for a, b, grid in ends)))


def test_a_search_for_solutions_ends() -> None:
    bounds = dict.fromkeys(("height", "width"), (1.0, 16384.0))
    environment = ShapeEnvironment({"height": 256, "width": 384}, bounds)
    h, w = dimension(environment, "height"), dimension(environment, "width")
    assert h * w * w % 7 == 256 * 384 * 384 % 7  # of which intervals know nothing
    found = Solutions(environment.guards, {name: Grid(1, 16384) for name in bounds})
    assert not found.complete
    assert found.rectangles() == []
