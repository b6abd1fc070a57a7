"""Transforms: kernels against references, and ONNX operators against ONNX Runtime and numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from support import assert_runs_like_reference, check_kernels, check_nest, graph_of, image
from support.onnx_models import compare, model, node, normal, refusal, write

from shadergen.compiler.frontends import Request
from shadergen.compiler.frontends.onnx import load_onnx_proto
from shadergen.errors import ShadergenError
from shadergen.ir.graph import apply, constant
from shadergen.ir.ops import DFT, Frames, Spectrum
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType

SHAPES = {"complex": (2, 6, 3, 2), "real": (2, 6, 3, 1)}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("length", [1, 4, 5, 6, 9])
def test_a_transform_is_computed_as_it_says(
    kind: str, axis: int, inverse: bool, length: int
) -> None:
    x = normal(*SHAPES[kind])
    check_kernels(DFT(axis, length, inverse), x, tolerance=1e-5)
    if not inverse or kind == "complex":
        check_kernels(DFT(axis, length, inverse, onesided=True), x, tolerance=1e-5)


@pytest.mark.parametrize("length", [6, 7])
def test_the_inverse_takes_a_transform_back(length: int) -> None:
    x = normal(2, length, 2).astype(np.float64)
    y = DFT(1, length).reference(x)
    np.testing.assert_allclose(DFT(1, length, inverse=True).reference(y), x, atol=1e-12)
    half = DFT(1, length, onesided=True).reference(x[..., :1])
    assert half.shape == (2, length // 2 + 1, 2)
    back = DFT(1, length, inverse=True, onesided=True).reference(half)
    np.testing.assert_allclose(back, x[..., :1], atol=1e-12)


def test_a_transform_runs_on_gl() -> None:
    x = image(3, 20, 2)
    assert_runs_like_reference(graph_of(apply(DFT(1, 16), x), inputs=(x,)))


def test_a_transform_takes_its_cosines_and_sines_from_a_table() -> None:
    x = image(3, 5, 2)
    angles = 2 * np.pi * np.arange(5) / 5
    turns = constant(np.stack([np.cos(angles), np.sin(angles)], 1), "turns")
    assert_runs_like_reference(graph_of(apply(Spectrum(DFT(1, 5)), x, turns), inputs=(x,)))


@pytest.mark.parametrize(("length", "step"), [(4, 2), (3, 5), (10, 1)])
def test_frames_overlap(length: int, step: int) -> None:
    y = check_nest(Frames(length, step), normal(2, 10, 1))
    assert y.shape[1] == 1 + (10 - length) // step


def test_a_real_spectrum_is_no_one_sided_one() -> None:
    with pytest.raises(ShadergenError, match="needs imaginary parts"):
        DFT(0, 4, inverse=True, onesided=True).infer(TensorType((3, 1)))


@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("shape", [(2, 8, 1), (2, 8, 2), (2, 7, 3, 2)], ids=str)
def test_dft_agrees(tmp_path: Path, inverse: int, shape: tuple[int, ...]) -> None:
    compare(tmp_path, node("DFT", inverse=inverse, axis=1), opset=17, shape=shape)
    n = node("DFT", "x", "n", "a", inverse=inverse)
    compare(tmp_path, n, {"n": np.array(6), "a": np.array(-2)}, 20, shape=shape)


def test_a_one_sided_dft_agrees(tmp_path: Path) -> None:
    compare(tmp_path, node("DFT", onesided=1), opset=20, shape=(2, 9, 1))


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("windowed", [False, True])
def test_stft_agrees(tmp_path: Path, onesided: int, windowed: bool) -> None:
    window = np.hanning(8).astype(np.float32)
    n = node("STFT", "x", "s", "w" if windowed else "", "n", onesided=onesided)
    inits = {"s": np.array(3), "n": np.array(8), "w": window}
    if not windowed:
        del inits["w"]
    compare(tmp_path, n, inits, 17, shape=(2, 30, 1))


def test_a_window_may_be_computed() -> None:
    n = node("STFT", "x", "s", "w")
    proto = model(n, {"s": np.array(4)}, {"x": (1, 16), "w": (8,)}, 17)
    feeds = {"x": normal(1, 16), "w": normal(8, seed=1)}
    y = evaluate_graph(load_onnx_proto(proto, Request()), feeds)["y"]
    frames = np.stack([feeds["x"][0, s : s + 8] * feeds["w"] for s in (0, 4, 8)])
    expected = np.fft.rfft(frames)
    np.testing.assert_allclose(y[0, ..., 0] + 1j * y[0, ..., 1], expected, atol=1e-5)


@pytest.mark.parametrize(("bands", "length"), [(8, 64), (20, 128)])
def test_mel_weights_agree(tmp_path: Path, bands: int, length: int) -> None:
    inits = {"b": np.array(bands), "n": np.array(length), "r": np.array(8192)}
    inits |= {"l": np.float32(0), "h": np.float32(4096)}
    nodes = [
        node("MelWeightMatrix", "b", "n", "r", "l", "h", outputs=("m",)),
        node("MatMul", "x", "m"),
    ]
    compare(tmp_path, nodes, inits, 17, shape=(3, length // 2 + 1))


def test_a_transform_that_is_too_long_is_refused(tmp_path: Path) -> None:
    n = node("DFT", "x", "n")
    proto = model(n, {"n": np.array(1 << 14)}, {"x": (1, 9, 1)}, 20)
    text = refusal(write(tmp_path, proto))
    assert "error[SG0205]: a DFT of 16384 points" in text
    assert "supported: up to 8192" in text
