"""The networks of examples/networks: small files that do what their READMEs say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from PIL import Image, ImageDraw, ImageFont
from support import ROOT

import shadergen
from shadergen.compiler.demo import PHOTOGRAPH

FOLDER = ROOT / "examples" / "networks"
NETWORKS = sorted(FOLDER.glob("*/*.onnx"))
SMALL = 300_000  # bytes
RNG = np.random.default_rng(0)


def run(name: str, picture: np.ndarray) -> np.ndarray:
    """Run a network on uint8 (H, W, 3) by onnxruntime; return the same or (H, W, 1) in 0..1."""
    session = onnxruntime.InferenceSession(str(FOLDER / name / f"{name}.onnx"))
    (port,) = session.get_inputs()
    planes = picture.transpose(2, 0, 1)[None].astype(np.float32) / 255
    return session.run(None, {port.name: planes})[0][0].transpose(1, 2, 0)


def psnr(picture: np.ndarray, original: np.ndarray) -> float:
    return float(-10 * np.log10(np.mean((picture - original) ** 2)))


@pytest.mark.parametrize("path", NETWORKS, ids=lambda p: p.stem)
def test_networks_are_small_and_described(path: Path) -> None:
    assert path.stat().st_size < SMALL
    assert (path.parent / "README.md").is_file()


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("path", NETWORKS, ids=lambda p: p.stem)
def test_builds_for_all_sizes_match_onnxruntime(path: Path) -> None:
    report = shadergen.verify(path, input_size="dynamic:49x70", reference="onnxruntime")
    assert report.ok


@pytest.mark.parametrize(("deviation", "gain"), [(10, 6.0), (20, 8.0)])
def test_denoise_removes_noise(deviation: float, gain: float) -> None:
    original = np.asarray(Image.open(PHOTOGRAPH).convert("RGB"))[40:241, 100:301]  # odd sides
    noisy = np.round(original + RNG.normal(0, deviation, original.shape)).clip(0, 255)
    before = psnr(noisy / 255, original / 255)
    assert psnr(run("denoise", noisy.astype(np.uint8)), original / 255) > before + gain


def test_denoise_removes_noise_at_the_border() -> None:
    grey = np.full((61, 67, 3), 128)
    noisy = np.round(grey + np.random.default_rng(1).normal(0, 20, grey.shape)).astype(np.uint8)
    error = run("denoise", noisy) * 255 - grey
    border = np.ones(grey.shape[:2], bool)
    border[2:-2, 2:-2] = False
    assert error[border].std() < 20 / 3


def test_text_marks_text_and_no_drawing() -> None:
    picture = Image.new("RGB", (240, 160), (200, 190, 170))
    draw = ImageDraw.Draw(picture)
    draw.text((30, 30), "SHADERS RUN HERE", (30, 40, 60), ImageFont.load_default(20))
    draw.ellipse((150, 90, 210, 150), outline=(30, 40, 60), width=3)
    draw.line((20, 100, 120, 140), (30, 40, 60), 3)
    probability = run("text", np.asarray(picture))[..., 0]
    left, top, right, bottom = draw.textbbox(
        (30, 30), "SHADERS RUN HERE", ImageFont.load_default(20)
    )
    assert probability[int(top) : int(bottom), int(left) : int(right)].mean() > 0.7
    assert probability[85:].mean() < 0.1
