"""Which inputs, and which of their axes, ``--input-size dynamic`` makes dynamic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from support.dynamic_net import Net, network

from shadergen.backends.writer import write_build
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import Build, HeadlessContext, Runner, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZES = ((8, 12), (20, 16), (7, 5))


@pytest.fixture(scope="module")
def context() -> Iterator[HeadlessContext]:
    with HeadlessContext() as context:
        yield context


def build_of(model: onnx.ModelProto, folder: Path, **options: Any) -> Build:
    chosen = Options(**{"dynamic": True, "validate": False, **options})
    _, files, _ = compile_graph(import_model(model, chosen), chosen)
    write_build(files, folder / "build")
    return load(folder / "build")


def part(model: onnx.ModelProto, name: str, shape: tuple[Any, ...], output: str) -> Any:
    """Return what lies between two values, for onnxruntime."""
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    cut.ir_version = 8
    del cut.graph.input[:], cut.graph.output[:], cut.graph.value_info[:]
    cut.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    cut.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
    names = {name} | {t.name for t in cut.graph.initializer}
    kept = []
    for node in cut.graph.node:
        if set(node.input) <= names and name not in node.output:
            kept.append(node)
            names.update(node.output)
    del cut.graph.node[:]
    cut.graph.node.extend(kept)
    return ort.InferenceSession(cut.SerializeToString())


def two_convolutions(net: Net) -> str:
    return net("Tanh", net.conv(net("Relu", net.conv("x", 3, 4, 3)), 4, 2, 3))


def of_ir_3(shape: tuple[Any, ...]) -> onnx.ModelProto:
    """Return a network that lists its weights among its inputs, before the image."""
    model = network(two_convolutions, shape, opset=8)
    model.ir_version = 3
    image = model.graph.input.pop()
    model.graph.input.extend(
        helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in model.graph.initializer
    )
    model.graph.input.append(image)
    return model


@pytest.mark.gl
@pytest.mark.parametrize("shape", [(1, 3, 8, 12), (1, 3, "H", "W")], ids=str)
@pytest.mark.parametrize(
    ("inputs", "outputs", "input_shape"),
    [((), ("conv2",), (1, 3)), (("relu1",), (), (1, 4)), (("relu1",), ("conv2",), (1, 4))],
)
def test_a_part_of_a_model_with_its_weights_among_the_inputs_takes_any_size(
    tmp_path: Path,
    context: HeadlessContext,
    shape: tuple[Any, ...],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    input_shape: tuple[int, int],
) -> None:
    model = of_ir_3(shape)
    build = build_of(model, tmp_path, inputs=inputs, outputs=outputs)
    name, output = build.inputs[0].name, build.outputs[0].name
    session = part(model, name, (*input_shape, "H", "W"), output)
    with Runner(build, context) as runner:
        for height, width in SIZES:
            runner.resize(height=height, width=width)
            x = np.random.default_rng(height).random((*input_shape, height, width), np.float32)
            runner.upload(name, x)
            runner.run()
            (wanted,) = session.run(None, {name: x})
            np.testing.assert_allclose(runner.read(output), wanted, atol=1e-5)


def test_a_part_begins_with_the_size_that_its_input_has_in_the_model(tmp_path: Path) -> None:
    def halved(net: Net) -> str:
        return net("Tanh", net("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2]))

    build = build_of(network(halved), tmp_path, inputs=("maxpool0",), dynamic=(40, 60))
    assert build.inputs[0].shape == (1, 3, 40, 60)
    build = build_of(network(halved), tmp_path, inputs=("maxpool0",))
    assert build.inputs[0].shape == (1, 3, 128, 192)


def test_a_build_of_which_another_option_fixes_every_size_is_refused() -> None:
    with pytest.raises(ShadergenError) as caught:
        import_model(network(two_convolutions), Options(dynamic=True, input_size={"x": (8, 12)}))
    assert caught.value.render() == (
        "error[SG0301]: --input-size dynamic has no effect\n"
        "  --> x 1x3x8x12\n"
        "  = why: other options set the size of every image\n"
        "  = help: omit --input-size dynamic, or an option that sets a size"
    )


# axes


def channels_last(net: Net) -> str:
    """A network as exported from TensorFlow: the image is transposed after what moves no axis."""
    x = net("Sub", net("Mul", "x", net.known(np.float32(2))), net.known(np.float32(1)))
    x = net("Pad", x, net.whole(0, 0, 0, 0, 0, 1, 1, 0))
    x = net("Transpose", x, perm=[0, 3, 1, 2])
    x = net("Relu", net.conv(x, 3, 4, 3, strides=[2, 2], pads=[0] * 4))
    return net("Transpose", net.conv(x, 4, 2, 1), perm=[0, 2, 3, 1])


def channels_last_alone(net: Net) -> str:
    x = net("Transpose", "x", perm=[0, 3, 1, 2])
    return net("Softmax", x, axis=1)


def compiled(model: onnx.ModelProto, tmp_path: Path, **options: Any) -> Any:
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return compile_model(path, tmp_path / "build", Options(dynamic=True, validate=False, **options))


@pytest.mark.gl
@pytest.mark.parametrize("network_of", [channels_last, channels_last_alone])
def test_the_axes_of_an_image_with_the_channels_last_are_found(
    tmp_path: Path, context: HeadlessContext, network_of: Any
) -> None:
    notes = compiled(network(network_of, (1, 8, 12, 3)), tmp_path).notes
    assert "dynamic: height is axis 1, width axis 2 of 'x'" in notes
    session = ort.InferenceSession(network(network_of, (1, "H", "W", 3)).SerializeToString())
    with Runner(load(tmp_path / "build"), context) as runner:
        for height, width in SIZES:
            runner.resize(height=height, width=width)
            x = np.random.default_rng(height).random((1, height, width, 3), np.float32)
            runner.upload("x", x)
            runner.run()
            (wanted,) = session.run(None, {"x": x})
            np.testing.assert_allclose(runner.read("y"), wanted, atol=1e-5)


def test_axes_that_nothing_tells_are_those_of_nchw(tmp_path: Path) -> None:
    def tanh(net: Net) -> str:
        return net("Tanh", "x")

    notes = compiled(network(tanh, (1, 3, 8, 12)), tmp_path).notes
    expected = (
        "height is axis 2, width axis 3 of 'x' "
        "(assumed, because no operator of the model tells which axes are height and width)"
    )
    assert f"dynamic: {expected}" in notes
    declared = compiled(network(tanh, (1, "H", "W", 3)), tmp_path).notes
    assert "dynamic: height is axis 1, width axis 2 of 'x'" in declared


def test_operators_of_onnx_runtime_show_the_axes(tmp_path: Path) -> None:
    def optimised(net: Net) -> str:
        x = net("QuickGelu", "x", domain="com.microsoft")
        w = net.known(np.ones((4, 3, 3, 3), np.float32))
        return net("FusedConv", x, w, domain="com.microsoft", activation="Relu", pads=[1] * 4)

    model = network(optimised, (1, 3, 8, 12))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    notes = compiled(model, tmp_path).notes
    assert "dynamic: height is axis 2, width axis 3 of 'x'" in notes


def test_an_image_is_told_from_an_input_of_weights(tmp_path: Path) -> None:
    def mixed(net: Net) -> str:
        x = net.conv(net("Transpose", "x", perm=[0, 3, 1, 2]), 3, 4, 3)
        return net("Concat", net("Mul", x, "gain"), net.conv("other", 2, 4, 1), axis=1)

    model = network(mixed, (1, 8, 12, 3))
    for name, shape in (("other", (1, 2, 8, 12)), ("gain", (1, 4, 1, 1))):
        info = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        model.graph.input.insert(0, info)
    found = compiled(model, tmp_path)
    assert [i.name for i in found.graph.inputs] == ["gain", "other", "x"]
    assert found.notes[:3] == (
        "dynamic: height is axis 2, width axis 3 of 'other'",
        "dynamic: height is axis 1, width axis 2 of 'x'",
        "not dynamic: 'gain', whose declared size differs from the size of the dynamic inputs",
    )
