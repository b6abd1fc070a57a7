"""The network that ships: what it makes of pictures, the border included."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data
from numpy.typing import NDArray
from PIL import Image
from support import ESPCN

from shadergen.compiler.frontends import Request, load
from shadergen.ir.reference import evaluate_graph

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
BORDER = 2


def doubled(low: NDArray[np.float32]) -> NDArray[np.float32]:
    graph = load(ESPCN, Request({"": low.shape}))
    y = evaluate_graph(graph, {"low": low[np.newaxis, np.newaxis]}, np.float32)["subpixel"]
    return y[0, 0].clip(0, 1)


def psnr(y: NDArray[np.float32], want: NDArray[np.float32]) -> tuple[float, float]:
    """Return the PSNR in dB of the outer pixels and of the rest."""
    error = (y - want) ** 2
    inside = np.zeros(error.shape, bool)
    inside[BORDER:-BORDER, BORDER:-BORDER] = True
    border, rest = (-10 * np.log10(error[part].mean()) for part in (~inside, inside))
    return border, rest


def test_a_photograph_beats_bicubic_at_the_border_and_inside() -> None:
    photograph = Image.fromarray(skimage.data.chelsea()).crop((0, 0, 450, 300))
    low = photograph.resize((225, 150), Image.Resampling.BICUBIC)
    bicubic = low.resize((450, 300), Image.Resampling.BICUBIC)
    small, other, want = (
        np.asarray(picture, np.float32) @ LUMA / 255 for picture in (low, bicubic, photograph)
    )
    border, inside = psnr(doubled(small), want)
    plain_border, plain_inside = psnr(other, want)
    assert border > plain_border + 0.5
    assert inside > plain_inside + 0.9


@pytest.mark.parametrize("grey", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_plain_picture_has_no_seam_at_its_border(grey: float) -> None:
    y = doubled(np.full((12, 14), grey, np.float32))
    middle = np.tile(y[12:14, 12:14], (12, 14))
    np.testing.assert_allclose(y, middle, atol=1e-5)
