"""Models from standard input, and models that are compiled again when they change."""

from __future__ import annotations

import io
import sys

import numpy as np
import onnx
import pytest
from onnx import helper
from support import ESPCN, contents
from support.cli_models import SIZE
from support.cli_models import onnx as onnx_file

from shadergen.compiler.cli import model_files
from shadergen.errors import ShadergenError


def given(monkeypatch, content: bytes) -> None:
    """Let standard input hold bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def small(folder):
    return onnx_file(folder, helper.make_node("Conv", ["x", "w"], ["y"]), w=np.ones((4, 4, 1, 1)))


def test_a_model_from_standard_input_compiles_as_from_its_file(shadergen, tmp_path, monkeypatch):
    (tmp_path / "keras").mkdir()
    for model, options in ((ESPCN, SIZE), (small(tmp_path), ())):
        shadergen("compile", model, "-o", tmp_path / "a", *options)
        given(monkeypatch, model.read_bytes())
        ran = shadergen("compile", "-", "-o", tmp_path / "b", *options)
        assert ran.code == 0, ran.err
        assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "error[SG0101]: standard input holds no bytes\n"),
        (b"hello", "'standard input' is not an ONNX model\n  --> standard input\n"),
        (ESPCN.read_bytes()[:9000], "damaged or truncated\n  --> standard input\n"),
    ],
)
def test_errors_name_standard_input(shadergen, tmp_path, monkeypatch, content, says):
    given(monkeypatch, content)
    ran = shadergen("compile", "-", "-o", tmp_path / "b", *SIZE)
    assert (ran.code, says in ran.err) == (2, True), ran.err


def test_standard_input_cannot_be_watched(shadergen, tmp_path):
    ran = shadergen("compile", "-", "-o", tmp_path / "b", "--watch")
    assert (ran.code, "--watch needs a file" in ran.err) == (2, True)


def test_watching_compiles_again_and_an_error_keeps_the_build(shadergen, tmp_path, monkeypatch):
    model, build = small(tmp_path), tmp_path / "build"
    wider = onnx.load(model)
    steps = iter(
        [
            lambda: onnx.save(onnx.helper.make_model(wider.graph, doc_string="new"), model),
            lambda: None,  # at rest
            lambda: model.write_bytes(b"\x08\x08half a file"),
            lambda: model.write_bytes(b"\x08\x08half a file, and more"),  # not yet at rest
            lambda: None,
        ]
    )

    def wait(seconds: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(model_files.time, "sleep", wait)
    ran = shadergen("compile", model, "-o", build, "--watch")
    assert ran.code == 0
    assert ran.out.count("1 GPU pass") == 2
    assert ran.out.count("net.onnx changed") == 2
    assert ran.err.count("error[SG01") == 1
    assert "the earlier build is kept" in ran.err
    assert (build / "schedule.json").is_file()


def test_watching_ends_at_a_wrong_option(shadergen, tmp_path):
    ran = shadergen("compile", small(tmp_path), "-o", tmp_path / "b", "--watch", "--device", "gl")
    assert (ran.code, "SG0301" in ran.err) == (2, True)


def test_definitions_and_external_data_are_watched(tmp_path):
    model, data, formulas = (tmp_path / n for n in ("m.onnx", "m.onnx.data", "f.ops"))
    made: list[int] = []
    files = iter((data, formulas))
    for path in (model, data, formulas):
        path.write_bytes(b"1")

    def wait(seconds: float) -> None:
        if len(made) % 2:
            made.append(0)
            file = next(files, None)
            if file is None:
                raise KeyboardInterrupt
            file.write_bytes(b"12")

    model_files.keep_making(lambda: made.append(1), model, [formulas], wait)
    assert sum(made) == 3


def test_the_first_error_of_the_output_ends_watching(tmp_path):
    def make() -> None:
        raise ShadergenError("SG0501", "cannot write")

    with pytest.raises(ShadergenError):
        model_files.keep_making(make, tmp_path / "m", [], lambda seconds: None)
