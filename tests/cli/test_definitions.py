"""Definition files on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from support import ESPCN, contents
from support.cli_models import (
    LAMBDA,
    SIZE,
    altered,
    layer,
    onnx,
    written,
)


def definitions(folder: Path, content: str) -> tuple[str, Path]:
    return "--define", written(folder, "my.ops", content.encode())


@pytest.mark.gl
def test_a_lambda_compiles_once_it_is_defined(shadergen, tmp_path):
    model = altered(tmp_path, layer(-1, **LAMBDA))
    define = definitions(tmp_path, 'subpixel(x) = depth_to_space(x, block=2, order="dcr")')
    ran = shadergen("compile", model, "-o", tmp_path / "b", *SIZE, *define)
    assert ran.code == 0, ran.err
    assert shadergen("compile", ESPCN, "-o", tmp_path / "c", *SIZE).code == 0
    for name in ("weights.bin", "shaders/03_subpixel.frag"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "c" / name).read_bytes()
    assert shadergen("verify", model, *SIZE, *define, "--reference", "numpy").code == 0


@pytest.mark.gl
def test_an_operator_of_a_foreign_domain_compiles_once_it_is_defined(shadergen, tmp_path):
    swell = helper.make_node("Swell", ["x", "r"], ["y"], "s1", domain="my.own", gain=0.5)
    model = onnx(tmp_path, swell, domains=("my.own",), r=np.arange(4).reshape(1, 4, 1, 1))
    text_ = '"my.own::Swell"(x, r, gain, beta=2) = twice(gain * x) + r - beta\ntwice(x) = 2 * x'
    ran = shadergen("compile", model, "-o", tmp_path / "b", *definitions(tmp_path, text_), "--json")
    assert ran.code == 0, ran.err
    x = np.random.default_rng(0).random((1, 4, 16, 24)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    assert shadergen("run", tmp_path / "b", tmp_path / "x.npy", "-o", tmp_path / "y.npy").code == 0
    want = x + np.arange(4).reshape(1, 4, 1, 1) - 2
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), want, atol=1e-5)


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        ("subpixel(x) = x +", "SG0302", "my.ops, line 1"),
        ("subpixel(x, gain) = x * gain", "SG0303", "parameter 'gain' has no value"),
        ("subpixel(x) = depth_to_spice(x)", "SG0303", "did you mean 'depth_to_space'?"),
        ("subpixel(x) = depth_to_space(x, blok=2)", "SG0303", "has no attribute 'blok'"),
        ('subpixel(x) = depth_to_space(x, block=2, order="rcd")', "SG0303", "'crd', 'dcr'"),
        ("subpixel(x) = depth_to_space(x, block=1.5)", "SG0303", "block=1.5 is not an integer"),
        ("subpixel(x) = depth_to_space(x, block=size)", "SG0303", "'size' is not a parameter"),
        ("subpixel(x) = depth_to_space(x, block=3)", "SG0205", "4 channels do not divide"),
        ("subpixel(x) = subpixel(x)", "SG0303", "'subpixel' calls itself"),
        ("subpixel(x) = relu(x, alpha=1)", "SG0303", "supported: relu() without keyword arguments"),
        ("subpixel(x) = x * y", "SG0303", "'y' is not a parameter"),
        ("subpixel(x) = f(x, a=z)\nf(x, a=1) = x * a", "SG0303", "'z' is not a parameter"),
        ('subpixel(x, m="up") = x * m', "SG0303", "takes numbers"),
        ("subpixel(x, arguments) = x", "SG0303", "the attribute is of type dict"),
        ("subpixel(x) = depth_to_space(x, block=inf)", "SG0303", "block=inf is not an integer"),
        ('subpixel(x) = conv(x, x, pad_value="a")', "SG0303", "pad_value='a' is not a number"),
        ("subpixel(x) = softmax(x)", "SG0303", "softmax() needs a value for axes"),
        ("subpixel(x) = conv(x)", "SG0303", "conv() takes 2 tensors or more, not 1"),
        ("subpixel(x) = mat_mul(x, x, x)", "SG0303", "mat_mul() takes 2 tensors, not 3"),
    ],
)  # fmt: skip
def test_definitions_that_do_not_work_are_explained(shadergen, tmp_path, content, code, says):
    model = altered(tmp_path, layer(-1, **LAMBDA))
    define = definitions(tmp_path, content)
    before = contents(tmp_path)
    ran = shadergen("compile", model, "-o", tmp_path / "b", *SIZE, *define)
    assert ran.code == 2
    assert ran.err.startswith(f"error[{code}]: ")
    assert says in ran.err
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("subpixle(x) = x", "= help: --define defines 'subpixle'; did you mean 'subpixel'?\n"),
        ("a(x) = x\nb(x) = x", "= help: --define defines 'a', 'b'\n"),
    ],
)
def test_a_definition_under_another_name_is_named(shadergen, tmp_path, content, says):
    model = altered(tmp_path, layer(-1, **LAMBDA))
    arguments = ("compile", model, "-o", tmp_path / "b", *SIZE)
    ran = shadergen(*arguments, *definitions(tmp_path, content))
    assert ran.err.startswith("error[SG0203]: Lambda layer 'subpixel' has no definition\n")
    assert says in ran.err
    assert "--define defines" not in shadergen(*arguments).err


def test_a_custom_layer_is_to_be_defined_under_its_class(shadergen, tmp_path):
    model = altered(tmp_path, layer(1, class_name="Own", registered_name="mine>Own"))
    ran = shadergen("compile", model, "-o", tmp_path / "b", *SIZE)
    assert "for example: Own(x) = x * sigmoid(x)\n" in ran.err


def test_attributes_that_a_definition_does_not_read_are_named(shadergen, tmp_path):
    swell = helper.make_node("Swell", ["x"], ["y"], domain="my.own", gain=0.5, dilations=[2, 2])
    model = onnx(tmp_path, swell, domains=("my.own",))
    for parameters, said in (("x, gain", "dilations"), ("x", "dilations, gain")):
        define = definitions(tmp_path, f'"my.own::Swell"({parameters}) = 2 * x')
        ran = shadergen("compile", model, "-o", tmp_path / "b", *define)
        assert ran.code == 0, ran.err
        assert f"the definition of Swell ignores the node's attributes {said}\n" in ran.out


def test_an_attribute_that_a_definition_cannot_take_is_told_from_a_missing_one(shadergen, tmp_path):
    weight = helper.make_tensor("w", 1, [2], [1.0, 2.0])
    model = onnx(tmp_path, helper.make_node("Swell", ["x"], ["y"], domain="my.own", weight=weight),
                 domains=("my.own",))  # fmt: skip
    define = definitions(tmp_path, '"my.own::Swell"(x, weight) = x * weight')
    ran = shadergen("compile", model, "-o", tmp_path / "b", *define)
    assert ran.err.startswith("error[SG0303]: parameter 'weight' has no value\n")
    assert "why: the layer's attribute 'weight' is not a number, a string or a list" in ran.err


def test_a_definition_that_was_not_used_is_said(shadergen, tmp_path):
    define = definitions(tmp_path, "conf1(x) = x\nother(x) = x")
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, *define)
    assert "definition conf1 was not used: did you mean 'conv1'?\n" in ran.out
    assert "definition other was not used\n" in ran.out
