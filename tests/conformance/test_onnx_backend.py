"""Models run through onnx's own backend interface, by shaders that read what was uploaded."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from shadergen.compiler import onnx_backend
from shadergen.compiler.compilation import import_model
from shadergen.compiler.frontends.onnx.importing.parameter_inputs import data_inputs
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError

pytestmark = pytest.mark.gl


def parsed(text: str, opset: int = 18) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {text}')


RELU = "g (float[N] x) => (float[N] y) { y = Relu(x) }"
PADDED = "g (float[2,3] x, int64[4] pads) => (float[A,B] y) { y = Pad(x, pads) }"
IMAGE = np.arange(6, dtype=np.float32).reshape(2, 3) + 1


def test_runs_a_model_on_a_list_a_dictionary_or_an_array() -> None:
    rep = onnx_backend.prepare(parsed(RELU))
    x = np.array([-1, 2], np.float32)
    for inputs in ([x], {"x": x}, x):
        outputs = rep.run(inputs)
        np.testing.assert_array_equal(outputs[0], [0, 2])
        assert outputs.y is outputs["y"] is outputs[0]
    assert rep.read == ("x",)
    assert rep.fixed == ()


def test_dynamic_sizes_are_those_of_the_arrays() -> None:
    rep = onnx_backend.prepare(parsed(RELU))
    for size in (1, 5, 2):
        x = np.linspace(-1, 1, size, dtype=np.float32)
        np.testing.assert_array_equal(rep.run([x]).y, np.maximum(x, 0))


def test_results_have_the_declared_type() -> None:
    model = parsed("g (double[2] x) => (float16[2] y) { y = Cast<to=10>(x) }")
    (y,) = onnx_backend.run_model(model, [np.array([1.5, -2])])
    assert y.dtype == np.float16
    np.testing.assert_array_equal(y, [1.5, -2])


WORDS = "g (string[2,2] x, string[2] y) => (string[A,B] z, bool[C,D] e) "
MOVED = """{
    t = Transpose<perm=[1,0]>(x) e = Equal(t, y)
    u = Where(e, y, t) s = Slice(u, zero, one, zero) z = Concat<axis=0>(s, t, u)
}"""


def test_strings_are_moved_and_compared_as_numbers_that_stand_for_them() -> None:
    model = parsed(WORDS + MOVED.replace("zero", "o").replace("one", "i"))
    for name, value in (("o", 0), ("i", 1)):
        tensor = onnx.numpy_helper.from_array(np.array([value]), name)
        model.graph.initializer.append(tensor)
    x = np.array([["on", "off"], ["Ümlaut", ""]], object)
    y = np.array(["on", "other"], object)
    rep = onnx_backend.prepare(model)
    z, e = rep.run([x, y])
    assert rep.read == ("x", "y")
    np.testing.assert_array_equal(e, y == x.T)
    u = np.where(y == x.T, y, x.T)
    assert z.dtype == object
    np.testing.assert_array_equal(z, np.concatenate([u[:1], x.T, u]))
    program = rep._program
    (z, e) = rep.run([x[::-1].astype(str).tolist(), ["", ""]])  # other strings, the same program
    assert rep._program is program
    np.testing.assert_array_equal(e, x[::-1].T == "")
    assert set(z.flat) == set(x.flat)


@pytest.mark.parametrize("shape", [(4,), (1, 4)])
def test_a_normaliser_of_strings_that_changes_nothing(shape: tuple[int, ...]) -> None:
    node = helper.make_node("StringNormalizer", ["x"], ["y"], is_case_sensitive=1)
    x = np.array(["Mon", "tue", "", "tue"], object).reshape(shape)
    (y,) = onnx_backend.run_node(node, [x])
    np.testing.assert_array_equal(y, x)
    with pytest.raises(ShadergenError, match=r"StringNormalizer needs .*, not \[2, 2\]"):
        onnx_backend.run_node(node, [x.reshape(2, 2)])


def test_a_single_string_stays_an_array() -> None:
    (y,) = onnx_backend.run_model(parsed("g (string x) => (string y) { y = Identity(x) }"), ["a"])
    assert (y.shape, y[()]) == ((), "a")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("y = Add(x, x)", "Add of string is not implemented"),
        ("y = Less(x, x)", "Less of string is not implemented"),
        ("y = Cast<to=1>(x)", "Cast of string is not implemented"),
        ("y = DequantizeLinear(x, f)", "DequantizeLinear of string is not implemented"),
        ("y = ArgMax(x)", "ArgMax of string is not implemented"),
        ("y = Equal(x, n)", "operands of Equal differ in type: others, string"),
        ('y = StringNormalizer<stopwords=["a"]>(x)', "StringNormalizer with stopwords"),
        ('y = StringNormalizer<case_change_action="UPPER">(x)', "case_change_action=UPPER"),
        ("y = StringNormalizer(n)", "input 0 of StringNormalizer is not a tensor of strings"),
    ],
)
def test_what_needs_more_than_the_number_of_a_string_is_refused(body: str, what: str) -> None:
    model = parsed(f"g (string[2] x, int32[2] n, float f) => (float[2] y) {{ {body} }}")
    arrays = [np.array(["a", "b"]), np.array([0, 1], np.int32), np.float32(1)]
    with pytest.raises(ShadergenError) as caught:
        onnx_backend.run_model(model, arrays)
    assert what in caught.value.what


def test_strings_and_numbers_do_not_stand_for_each_other() -> None:
    strings = parsed("g (string[2] x) => (string[2] y) { y = Identity(x) }")
    with pytest.raises(ShadergenError, match="input 'x' takes only strings"):
        onnx_backend.run_model(strings, [np.array([1.0, 2.0])])
    with pytest.raises(ShadergenError, match="has element type <U1"):
        onnx_backend.run_model(parsed(RELU), [np.array(["1", "2"])])


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("g (string[2] x) => (float[2] y) { y = Identity(x) }", "strings", "it as float"),
        ("g (string[2] x) => (y) { y = Identity(x) }", "strings", "no type"),
        ("g (float[2] x) => (string[2] y) { y = Relu(x) }", "numbers", "it as string"),
    ],
)
def test_outputs_of_strings_are_those_that_are_declared_so(text: str, what: str, why: str) -> None:
    x = [np.array(["a", "b"], object) if "string[2] x" in text else np.zeros(2, np.float32)]
    with pytest.raises(ShadergenError, match=f"output 'y' holds {what}") as caught:
        onnx_backend.run_model(parsed(text), x)
    assert caught.value.code == "SG0105"
    assert caught.value.why == f"the model declares {why}"


def test_compiling_refuses_strings_wherever_they_come_from() -> None:
    for text, what in (
        ("g (string[2] x) => (string[2] y) { y = Identity(x) }", "has element type string"),
        ("g (float[2] x) => (string[2] y) { y = Relu(x) }", "output 'y' holds numbers"),
        ('g () => (string y) { y = Constant<value_string="a">() }', "Constant of strings"),
        ('g () => (string[1] y) { y = Constant<value_strings=["a"]>() }', "Constant of strings"),
    ):
        with pytest.raises(ShadergenError, match=what):
            import_model(parsed(text), Options())


def test_outputs_that_are_listed_twice_are_read_twice() -> None:
    text = "g (float[2] x) => (float[2] y, float[2] z, float[2] y) { y = Relu(x) z = Neg(x) }"
    results = onnx_backend.run_model(parsed(text), [np.array([-1, 2], np.float32)])
    np.testing.assert_array_equal(results, [[0, 2], [1, -2], [0, 2]])


def test_a_parameter_is_compiled_in_and_again_when_it_changes() -> None:
    rep = onnx_backend.prepare(parsed(PADDED))
    pads = np.array([1, 0, 0, 2])
    np.testing.assert_array_equal(rep.run([IMAGE, pads]).y, np.pad(IMAGE, ((1, 0), (0, 2))))
    assert rep.fixed == ("pads",)
    assert rep.read == ("x",)
    pads[:] = [0, 0, 1, 0]  # in place: the backend must have kept a copy
    np.testing.assert_array_equal(rep.run([IMAGE, pads]).y, np.pad(IMAGE, ((0, 1), (0, 0))))


def test_data_is_uploaded_again_without_compiling() -> None:
    rep = onnx_backend.prepare(parsed(PADDED))
    pads = np.zeros(4, np.int64)
    rep.run([IMAGE, pads])
    program = rep._program
    np.testing.assert_array_equal(rep.run([IMAGE * 2, pads]).y, IMAGE * 2)
    assert rep._program is program


def test_an_input_that_is_data_too_is_never_compiled_in() -> None:
    model = parsed(
        "g (float[1,1,2,2] x, float[4] s) => (float[A,B,C,D] y, float[4] z)"
        ' { y = Resize<mode="nearest">(x, , s)  z = Neg(s) }',
    )
    inputs = [np.ones((1, 1, 2, 2), np.float32), np.array([1, 1, 2, 2], np.float32)]
    with pytest.raises(ShadergenError, match="scales given to Resize must be known") as caught:
        onnx_backend.run_model(model, inputs)
    assert caught.value.code == "SG0202"
    del model.graph.node[1], model.graph.output[1]
    assert onnx_backend.run_model(model, inputs)[0].shape == (1, 1, 4, 4)


def test_an_operand_computed_from_data_is_refused() -> None:
    model = parsed(
        "g (float[2,3] x, int64[4] p, float[4] f) => (float[A,B] y)"
        " { i = Cast<to=7>(f)  pads = Add(p, i)  y = Pad(x, pads)  }",
    )
    inputs = [IMAGE, np.zeros(4, np.int64), np.zeros(4, np.float32)]
    model.graph.node.append(helper.make_node("Neg", ["f"], ["z"]))
    model.graph.output.append(helper.make_tensor_value_info("z", 1, [4]))
    with pytest.raises(ShadergenError, match="must be known at compile time"):
        onnx_backend.run_model(model, inputs)


def test_data_is_what_a_result_is_computed_from() -> None:
    def data(text: str) -> set[str]:
        return set(data_inputs(parsed(text).graph))

    assert data(PADDED) == {"x"}
    assert data("g (float[2] x, int64[1] s) => (float[2] y) { y = Reshape(x, s) }") == {"x"}
    assert data("g (int64[1] s) => (int64[1] y, float[A] z) { y = Neg(s) z = ConstantOfShape(s) }")
    assert not data("g (int64[1] a) => (float[A] z) { b = Add(a, a) z = ConstantOfShape(b) }")
    assert not data("g (float[2] x) => (int64[1] n) { n = Shape(x) }")
    branches = (
        "g (bool c, float[2] x, float[2] u) => (float[2] y) { y = If(c)"
        " <then_branch = t () => (float[2] a) { a = Neg(x) },"
        " else_branch = e () => (float[2] b) { s = Shape(u) b = ConstantOfShape(s) }> }"
    )
    assert data(branches) == {"x"}


@pytest.mark.parametrize(
    ("op", "domain", "data"),
    [
        ("Reshape", "", {"x"}),
        ("Reshape", "mine", {"x", "s"}),
        ("ConstantOfShape", "", {"s"}),
        ("HannWindow", "", {"s"}),
        ("DynamicSlice", "", {"x"}),
        ("ExpandDims", "com.microsoft", {"x"}),
    ],
)
def test_parameters_are_marked_for_each_domain(op: str, domain: str, data: set[str]) -> None:
    node = helper.make_node(op, ["x", "s"], ["y"], domain=domain)
    infos = [helper.make_tensor_value_info(n, 1, [1]) for n in "xsy"]
    assert data_inputs(helper.make_graph([node], "g", infos[:2], infos[2:])) == data


def test_an_empty_input_needs_no_texture() -> None:
    model = parsed(
        "g (float[1,1,2,2] x, float[R] roi, float[4] s) => (float[A,B,C,D] y)"
        ' { y = Resize<mode="nearest">(x, roi, s) }',
        opset=13,
    )
    scales = np.array([1, 1, 2, 2], np.float32)
    x = np.ones((1, 1, 2, 2), np.float32)
    assert onnx_backend.run_model(model, [x, np.zeros(0, np.float32), scales])[0].shape[2:] == (
        4,
        4,
    )


def test_a_result_without_inputs_reads_none() -> None:
    rep = onnx_backend.prepare(
        parsed("g (float[2,3] x) => (float[2] y) { y = Constant<value_floats=[1.0,2.0]>() }")
    )
    np.testing.assert_array_equal(rep.run([IMAGE]).y, [1, 2])
    assert rep.read == ()
    assert rep.unread == ()  # nothing is computed from x
    rep.close()


def test_runs_a_node() -> None:
    a, b = np.ones((2, 1), np.float32), np.full(3, 2, np.float32)
    node = helper.make_node("Mul", ["a", "b"], ["c"])
    (c,) = onnx_backend.run_node(node, [a, b])
    np.testing.assert_array_equal(c, np.full((2, 3), 2))
    info = [(np.float64, (2, 3))]
    assert onnx_backend.run_node(node, [a, b], outputs_info=info)[0].dtype == np.float64


def test_models_share_a_context_and_may_come_and_go() -> None:
    reps = [onnx_backend.prepare(parsed(RELU)) for _ in range(3)]
    x = np.array([-1, 2], np.float32)
    for rep in reps:
        rep.run([x])
    del reps[0], rep
    gc.collect()
    for rep in reps:
        np.testing.assert_array_equal(rep.run([x * 2]).y, [0, 4])
        rep.close()
        np.testing.assert_array_equal(rep.run([x]).y, [0, 2])


REFUSED: dict[str, tuple[Any, Any, str, str]] = {
    "an unknown operator": (
        "g (float[2] x) => (float[2] y) { y = Relo(x) }",
        [np.ones(2, np.float32)],
        "SG0201",
        "Relo",
    ),
    "too many arrays": (RELU, [1.0, 2.0], "SG0605", "takes 1 arrays, not 2"),
    "too few arrays": (RELU, [], "SG0605", "'x' has no array"),
    "a misspelt name": (RELU, {"X": 1.0}, "SG0605", "did you mean|no array"),
    "fractions for integers": (PADDED, [IMAGE, np.full(4, 0.5)], "SG0605", "'pads' has element"),
    "a wrong shape": (
        "g (float[2] x) => (float[2] y) { y = Relu(x) }",
        [np.ones(3, np.float32)],
        "SG0605",
        "shape",
    ),
    "a sequence": (
        "g (seq(float[2]) x) => (float[2] y) { i = Constant<value_int=0>() y = SequenceAt(x, i) }",
        [[np.ones(2, np.float32)]],
        "SG0206",
        "sequence",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name: str) -> None:
    text, inputs, code, message = REFUSED[name]
    with pytest.raises(ShadergenError, match=message) as caught:
        onnx_backend.run_model(parsed(text), inputs)
    assert caught.value.code == code


def test_supports_arrays_in_the_memory_of_the_host_only() -> None:
    assert onnx_backend.supports_device("CPU")
    assert not onnx_backend.supports_device("CUDA:0")
    with pytest.raises(ShadergenError, match="no device 'CUDA'"):
        onnx_backend.prepare(parsed(RELU), "CUDA")


def test_the_example_in_the_documentation_runs() -> None:
    import doctest

    failed, tried = doctest.testmod(onnx_backend)
    assert tried > 3
    assert not failed
