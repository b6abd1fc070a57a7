"""``shadergen demo`` doubles a photograph and says by how much the network is better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shadergen.compiler import demo
from shadergen.compiler.demo import PHOTOGRAPH, Demonstration
from shadergen.compiler.pictures.side_by_side import details


@pytest.mark.gl
@pytest.mark.slow
def test_the_network_is_better_than_bicubic(shadergen, tmp_path, monkeypatch):
    part = tmp_path / "part.png"  # of the photograph: a software renderer is slow
    Image.open(PHOTOGRAPH).crop((130, 40, 290, 200)).save(part)
    monkeypatch.setattr(demo, "PHOTOGRAPH", part)
    ran = shadergen("demo", "-o", tmp_path / "demo", "--json")
    assert ran.code == 0, ran.err
    psnr = ran.json["psnr"]
    assert psnr["network"] > psnr["bicubic"] + 1.5
    pictures = {p.stem: Image.open(p) for p in (tmp_path / "demo").glob("*.png")}
    sizes = {name: picture.size for name, picture in pictures.items()}
    assert sizes.pop("side-by-side")
    assert sizes == {
        "half": (80, 80), "bicubic": (160, 160), "network": (160, 160), "original": (160, 160)
    }  # fmt: skip
    error = np.asarray(pictures["network"], float) - np.asarray(pictures["original"], float)
    assert 1 < np.abs(error).mean() < 10


def test_pictures_of_others_are_not_replaced(shadergen, tmp_path):
    (tmp_path / "network.png").write_bytes(b"mine")
    ran = shadergen("demo", "-o", tmp_path)
    assert ran.code == 2
    assert "holds files that shadergen demo did not write: network.png" in ran.err
    assert (tmp_path / "network.png").read_bytes() == b"mine"
    assert [p.name for p in tmp_path.iterdir()] == ["network.png"]


@pytest.mark.parametrize(
    ("display", "options", "opens"),
    [(":0", (), True), (":0", ("--no-open",), False), (":0", ("--json",), False), ("", (), False)],
)
def test_the_result_opens_where_there_is_a_display(
    shadergen, tmp_path, monkeypatch, display, options, opens
):
    opened = []
    psnr = {"bicubic": 30.0, "network": 32.0}
    result = Demonstration(
        (8, 8), 4, 1000, 0.5, "gles", "a GPU", 9.0, 1.0, psnr, Path("side-by-side.png")
    )
    monkeypatch.setattr(demo, "demonstrate", lambda *_: result)
    monkeypatch.setattr("rich_click.launch", opened.append)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    ran = shadergen("demo", "-o", tmp_path, *options)
    assert ran.code == 0, ran.err
    assert opened == ["side-by-side.png"] * opens
    assert "--json" in options or "32.00 dB (+2.00 dB)" in ran.out


def test_details_stand_in_a_row_enlarged_without_smoothing():
    black, white = (Image.new("RGB", (8, 8), colour) for colour in ("black", "white"))
    black.putpixel((2, 3), (255, 0, 0))
    sheet = np.asarray(details({"a": black, "b": white}, (2, 3, 4, 5), 4))
    top = sheet.shape[0] - 8
    assert (sheet[top : top + 4, :4] == (255, 0, 0)).all()
    assert (sheet[top + 4 :, :8] == 0).all()
    assert (sheet[top:, -8:] == 255).all()
