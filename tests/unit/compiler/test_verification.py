"""What verify compares with what: random inputs, arrays that are given, references, warnings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import node, normal, typed_model, write

from shadergen.compiler.cli import cli
from shadergen.compiler.frontends import Request, load
from shadergen.compiler.judging import OutputError
from shadergen.compiler.options import Options
from shadergen.compiler.random_inputs import random_inputs
from shadergen.compiler.references import choose_reference, shortened
from shadergen.compiler.verification import verify_model
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from pathlib import Path

LARGE = (64, 64)


def drawn(
    tmp_path: Path, nodes: Any, inits: Any, feeds: Any, within: tuple[float, float] | None = None
) -> dict[str, np.ndarray]:
    """Return the random inputs of a model whose inputs have the types of ``feeds``."""
    proto = typed_model(nodes, inits, feeds, {"y": np.float32})
    return random_inputs(load(write(tmp_path, proto), Request()), 0, within)


@pytest.mark.parametrize("within", [None, (0.0, 255.0), (-3.0, -1.0)])
def test_floats_fill_the_stated_range(tmp_path: Path, within: tuple[float, float] | None) -> None:
    feeds = {"x": np.zeros(LARGE, np.float32)}
    x = drawn(tmp_path, node("Relu"), {}, feeds, within)["x"]
    low, high = within or (0.0, 1.0)
    assert low <= x.min() < low + (high - low) / 100
    assert high - (high - low) / 100 < x.max() <= high


def test_indices_go_over_the_smallest_of_their_tables(tmp_path: Path) -> None:
    nodes = [
        node("Gather", "large", "x", outputs=("a",)),
        node("Reshape", "x", "flat", outputs=("i",)),
        node("Gather", "small", "i", outputs=("b",), axis=1),
        node("ReduceSum", "a", outputs=("c",), keepdims=0),
        node("Add", "b", "c"),
    ]
    inits = {"large": normal(50, 2), "small": normal(2, 7), "flat": np.array([-1])}
    x = drawn(tmp_path, nodes, inits, {"x": np.zeros(LARGE, np.int64)}, (0.0, 255.0))["x"]
    assert x.dtype == np.int64
    assert set(x.ravel()) == set(range(7))


INTEGERS = {
    "int8": (None, -128, 127),
    "uint8": ((0.0, 9.0), 0, 255),
    "int32": (None, 0, 1),
    "int64": ((-2.5, 9.0), -2, 9),
    "uint32": ((-2.5, 9.0), 0, 9),
    "bool": ((0.0, 9.0), 0, 1),
}


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_drawn_from_what_is_known_of_them(tmp_path: Path, dtype: str) -> None:
    within, low, high = INTEGERS[dtype]
    x = drawn(
        tmp_path, node("Cast", to=TensorProto.FLOAT), {}, {"x": np.zeros(LARGE, dtype)}, within
    )["x"]
    assert (x.dtype, x.min(), x.max()) == (dtype, low, high)


@pytest.mark.gl
def test_the_range_of_the_command_line_reaches_the_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feeds = {"x": np.zeros(LARGE, np.float32)}
    path = write(tmp_path, typed_model(node("Neg"), {}, feeds, {"y": np.float32}))
    cli.main(["verify", str(path), "--input-range", "0:255", "--json"], standalone_mode=False)
    assert '"largest": 25' in capsys.readouterr().out
    assert verify_model(path, Options()).outputs[0].largest < 1


def test_an_output_below_its_bound_is_warned_of() -> None:
    small = OutputError("y", (1, 3), 0.0, 0.0, 1e-4, 2.7e-5)
    assert small.ok
    assert small.warning == (
        "warning: output 'y' is too small to verify: its largest value, 2.7e-05, is below the "
        "error bound 0.0001; use real data (--input) or a wider --input-range"
    )
    assert not replace(small, largest=2e-4).warning
    assert not replace(small, max_error=1.0).warning  # it differs, which says enough


@pytest.mark.gl
def test_the_warning_is_part_of_the_report(tmp_path: Path) -> None:
    scale = np.full((1, 3), 1e-6, np.float32)
    feeds = {"x": np.zeros((1, 3), np.float32)}
    proto = typed_model(node("Mul", "x", "w"), {"w": scale}, feeds, {"y": np.float32})
    report = verify_model(write(tmp_path, proto), Options())
    assert report.ok
    assert report.note.startswith("warning: output 'y' is too small to verify")


def open_model(ir_version: int = 8) -> Any:
    """Return a sum of an image and one channel, batch and size open."""
    shapes = {"image": ["n", 3, "h", "w"], "mask": ["n", 1, "h", "w"]}
    graph = helper.make_graph(
        [node("Add", "image", "mask"), node("Mul", "y", "w", outputs=("z",))],
        "open",
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in shapes.items()],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(normal(3, 1, 1), "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=ir_version)


@pytest.mark.gl
def test_sizes_are_those_of_the_arrays(tmp_path: Path) -> None:
    path = write(tmp_path, open_model())
    arrays = {"image": normal(2, 3, 5, 6), "mask": normal(2, 1, 5, 6)}
    report = verify_model(path, Options(), given=arrays)
    assert (report.ok, report.outputs[0].shape) == (True, (2, 3, 5, 6))


@pytest.mark.gl
def test_arrays_that_do_not_fit_are_refused_as_arrays(tmp_path: Path) -> None:
    path = write(tmp_path, open_model())
    arrays = {"image": normal(1, 4, 5, 6), "mask": normal(1, 1, 5, 6)}
    options = Options(input_size={"image": (5, 6)})
    for given, code in (
        (arrays, "SG0605"),
        ({"image": arrays["image"]}, "SG0204"),
        ({**arrays, "more": arrays["mask"]}, "SG0605"),
    ):
        with pytest.raises(ShadergenError) as caught:
            verify_model(path, options, given=given)
        assert caught.value.code == code


def test_sizes_that_the_user_states_win_over_those_of_arrays(tmp_path: Path) -> None:
    path = write(tmp_path, open_model())
    shapes = {"image": (2, 3, 5, 6), "mask": (2, 1, 5, 6)}
    sizes = {"image": (4, 4), "mask": (1, 1, 4, 4)}
    graph = load(path, Request(sizes, shapes=shapes))
    assert [i.shape for i in graph.inputs] == [(1, 3, 4, 4), (1, 1, 4, 4)]


@pytest.mark.gl
def test_onnxruntime_is_given_models_newer_than_itself(tmp_path: Path) -> None:
    path = write(tmp_path, open_model(ir_version=99))
    options = Options(input_size={"image": (4, 4), "mask": (4, 4)})
    for outputs in ((), ("y",)):
        report = verify_model(path, replace(options, outputs=outputs))
        assert (report.reference, report.note, report.ok) == ("onnxruntime", "", True)


def test_why_a_reference_fails_is_said_to_the_end(tmp_path: Path) -> None:
    graph = load(write(tmp_path, open_model()), Request({"image": (4, 4), "mask": (4, 4)}))
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07, and then nonsense")
    oracle, note = choose_reference(tmp_path / "model.onnx", graph, "auto", Request())
    assert oracle.name == "numpy"
    assert note.startswith("onnxruntime cannot run this model: ")
    assert note.endswith("Protobuf parsing failed.")
    long = shortened(ValueError("what it is\n" + "signature, " * 60 + "\nthe cause"))
    assert (long[:10], long[-9:], len(long) < 420) == ("what it is", "the cause", True)
    keras = (
        "<class 'M'>.\n\nconfig={'a': {}}.\n\nException encountered: no class 'T'. In: {'b': {1}}"
    )
    assert shortened(ValueError(keras)) == "no class 'T'. In: ..."
    assert shortened(ValueError()) == "ValueError"


@pytest.mark.gl
def test_inputs_that_the_reference_refuses_are_no_bug(tmp_path: Path) -> None:
    feeds = {"x": np.array([0, 2])}
    nodes = node("Gather", "table", "x")
    proto = typed_model(nodes, {"table": normal(3, 2)}, feeds, {"y": np.float32})
    with pytest.raises(ShadergenError) as caught:
        verify_model(write(tmp_path, proto), Options(), given={"x": np.array([0, 9])})
    assert caught.value.code == "SG0702"
    assert "indices element out of data bounds" in caught.value.why


@pytest.mark.gl
def test_the_import_is_unchecked_by_numpy_and_the_last_line_names_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, open_model())
    size = ["--input-size", "image=4x4,mask=4x4"]
    for reference in ("numpy", "onnxruntime"):
        command = ["verify", str(path), *size, "--reference", reference]
        cli.main(command, standalone_mode=False)
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1].startswith(f"matches {reference}: ")
        assert ("not checked: how shadergen reads" in lines[-2]) == (reference == "numpy")
