"""What a build of dynamic sizes refuses, each by its layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from support.dynamic_builds import build_of, difference
from support.dynamic_models import MODELS
from support.dynamic_net import Net, network

from shadergen.backends import sizes
from shadergen.compiler.compilation import import_model
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import HeadlessContext, Runner


def antialiased(net: Net) -> str:
    return net.scaled("x", 0.5, 0.5, mode="cubic", antialias=1)


def odd_scale(net: Net) -> str:
    return net.scaled("x", 1.7, 1.7, mode="nearest")


def scaled_as_floats(net: Net) -> str:
    sizes = net("Cast", net.sizes("x", 2, 4), to=onnx.TensorProto.FLOAT)
    sizes = net("Cast", net("Mul", sizes, net.known(np.float32(1.7))), to=onnx.TensorProto.INT64)
    sizes = net("Concat", net.sizes("x", 0, 2), sizes, axis=0)
    return net("Resize", "x", "", "", sizes, mode="nearest")


def many_sizes(net: Net) -> str:
    sizes = net("Cast", net("Tile", net.sizes("x", 2, 4), net.whole(9)), to=onnx.TensorProto.FLOAT)
    return net("Mul", "x", net("Reshape", sizes, net.whole(1, 18, 1, 1)))


def places_across(net: Net) -> str:
    """0, 1/w, 2/w, ..., as floats."""
    width = net("Cast", net("Squeeze", net.sizes("x", 3, 4)), to=onnx.TensorProto.FLOAT)
    zero, one = net.known(np.float32(0)), net.known(np.float32(1))
    return net("Div", net("Range", zero, width, one), width)


def steps_of_places(net: Net) -> str:
    """7 columns of the image, of which floats might miss one."""
    return net("Mul", "x", net("Floor", net("Mul", places_across(net), net.known(np.float32(7)))))


def gathered_at_places(net: Net) -> str:
    index = net("Cast", net("Mul", places_across(net), net.known(np.float32(7))), to=7)
    return net("Gather", "x", index, axis=3)


def compared_places(net: Net) -> str:
    half = net("Less", places_across(net), net.known(np.float32(0.5)))
    return net("Mul", "x", net("Cast", half, to=onnx.TensorProto.FLOAT))


def sampled_at_places(net: Net, mode: str = "nearest") -> str:
    """A diagonal of the image: both coordinates are places across."""
    places = net("Mul", places_across(net), net.known(np.float32(2)))
    grid = net("Expand", net("Reshape", places, net.whole(1, 1, -1, 1)), net.whole(1, 1, 1, 2))
    return net("GridSample", "x", grid, mode=mode)


def largest_of_places(net: Net) -> str:
    largest = net("ArgMax", places_across(net), keepdims=0)
    return net("Mul", "x", net("Cast", largest, to=onnx.TensorProto.FLOAT))


def second_of_places(net: Net) -> str:
    """An operator of which a part compares."""
    return net("Mul", "x", net("ReduceMin", net("TopK", places_across(net), net.whole(2))))


def scaled_by_a_quotient(net: Net) -> str:
    sizes = net("Cast", net.sizes("x", 2, 4), to=onnx.TensorProto.FLOAT)
    ones = net.known(np.ones(2, np.float32))
    scales = net("Concat", ones, net("Div", net.known(np.float32(90)), sizes), axis=0)
    return net("Resize", "x", "", scales, mode="nearest")


DECIDED = "rounding or comparing coordinates computed from dynamic sizes needs a fixed size"


@pytest.mark.parametrize(
    ("network_of", "says"),
    [
        (steps_of_places, DECIDED),
        (gathered_at_places, DECIDED),
        (compared_places, DECIDED),
        (sampled_at_places, DECIDED),
        (largest_of_places, DECIDED),
        (second_of_places, DECIDED),
        (scaled_by_a_quotient, "Resize with scales computed from sizes needs a fixed size"),
        (many_sizes, "a tensor of 18 values computed from sizes"),
        (antialiased, "an antialiased resize needs a fixed size"),
        (odd_scale, "a resize by 1.7"),
        (scaled_as_floats, "arithmetic on a size and the float 1.7 needs a fixed size"),
    ],
)
def test_what_needs_a_size_is_refused_by_its_layer(network_of: Any, says: str) -> None:
    with pytest.raises(ShadergenError) as caught:
        import_model(network(network_of), Options(dynamic=True))
    assert caught.value.code == "SG0207"
    assert says in caught.value.what
    assert ("float division of sizes is inexact" in caught.value.why) == (says == DECIDED)
    assert "node" in caught.value.render()


def test_a_range_by_steps_of_nothing_is_refused_as_it_is_at_one_size() -> None:
    def ranged(net: Net) -> str:
        height, zero = net("Squeeze", net.sizes("x", 2, 3)), net.known(0)
        return net("Gather", "x", net("Range", zero, height, zero), axis=2)

    texts = []
    for options in (Options(dynamic=True), Options(input_size={"": (5, 7)})):
        with pytest.raises(ShadergenError) as caught:
            import_model(network(ranged), options)
        texts.append((caught.value.code, caught.value.what, caught.value.why))
    assert texts[0] == texts[1]
    assert texts[0] == ("SG0205", "the operands do not fit Range", "division by zero")


@pytest.mark.parametrize("op", ["ConstantOfShape", "Expand", "Tile"])
def test_a_negative_size_beside_an_open_one_is_refused_by_its_operator(op: str) -> None:
    def filled(net: Net) -> str:
        shape = net("Concat", net.whole(1, -3), net.sizes("x", 2, 4), axis=0)
        return net(
            "Add", "x", net(op, *[net.weight(1, 1, 1, 1)] * (op != "ConstantOfShape"), shape)
        )

    with pytest.raises(ShadergenError) as caught:
        import_model(network(filled), Options(dynamic=True))
    assert caught.value.what == f"the operands do not fit {op}"
    assert caught.value.why == "[1, -3, height, width] has a negative size"


@pytest.mark.gl
def test_an_empty_range_of_open_floats_is_of_floats(
    tmp_path: Path, context: HeadlessContext
) -> None:
    def halved(net: Net) -> str:
        width = net("Cast", net("Squeeze", net.sizes("x", 3, 4)), to=onnx.TensorProto.FLOAT)
        empty = net("Range", width, width, net.known(np.float32(1)))
        one = net("ReduceProd", empty, keepdims=0)
        return net("Mul", "x", net("Div", one, net("Add", one, one)))

    model = network(halved)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    with Runner(build_of(model, tmp_path), context) as runner:
        runner.resize(height=5, width=7)
        assert difference(runner, session, (5, 7)) < 1e-6


def test_sampling_between_elements_takes_coordinates_that_are_rounded() -> None:
    def sampled(net: Net) -> str:
        return sampled_at_places(net, "linear")

    import_model(network(sampled, opset=20), Options(dynamic=True))


def test_a_refusal_says_a_dynamic_size_as_people_write_it() -> None:
    """Here of a tensor that is too large at the default size."""
    floats = onnx.TensorProto.FLOAT
    x = onnx.helper.make_tensor_value_info("x", floats, [1, 4, "h", "w"])
    y = onnx.helper.make_tensor_value_info("y", floats, None)
    nodes = [
        onnx.helper.make_node("MaxPool", ["x"], ["m", "i"], name="pool", kernel_shape=[2, 2]),
        onnx.helper.make_node("Cast", ["i"], ["y"], name="cast", to=floats),
    ]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [x], [y]))
    with pytest.raises(ShadergenError) as caught:
        import_model(model, Options(dynamic=(4000, 4000)))
    assert "4*height*width elements" in caught.value.render()


def test_a_build_that_every_runtime_would_refuse_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "LARGEST", 10**6)
    with pytest.raises(ShadergenError) as caught:
        build_of(MODELS["espcn"](), tmp_path)
    assert caught.value.code == "SG0207"
    assert caught.value.why == "the limit is 1,000,000"
    assert "layer tanh1" in caught.value.render()
