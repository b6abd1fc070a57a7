"""``run --compare``: a picture and its result side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support import ESPCN

from shadergen.compiler.pictures.side_by_side import (
    GAP,
    LABEL,
    NARROWEST,
    check_comparison,
    write_comparison,
)
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from pathlib import Path

SIDE = 300  # wide enough for a label


def saved(path: Path, size: tuple[int, int], colour: Any, mode: str = "RGB") -> Path:
    Image.new(mode, size, colour).save(path)
    return path


def compared(folder: Path, before: Path, after: Path) -> np.ndarray:
    write_comparison(before, after, folder / "sheet.png")
    return np.asarray(Image.open(folder / "sheet.png"))


def test_a_picture_stands_left_of_its_result_below_labels(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.png", (SIDE, 200), (200, 0, 0))
    after = saved(tmp_path / "b.png", (SIDE, 200), (0, 0, 200))
    sheet = compared(tmp_path, before, after)
    assert sheet.shape == (LABEL + 200, 2 * SIDE + GAP, 3)
    assert (sheet[LABEL:, :SIDE] == (200, 0, 0)).all()
    assert (sheet[LABEL:, SIDE : SIDE + GAP] == 255).all()
    assert (sheet[LABEL:, SIDE + GAP :] == (0, 0, 200)).all()
    for part in (sheet[:LABEL, :SIDE], sheet[:LABEL, SIDE + GAP :]):
        assert part.min() < 64  # black letters


def test_a_smaller_picture_is_enlarged_to_the_height_of_its_result(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.png", (SIDE // 2, 100), (200, 0, 0))
    after = saved(tmp_path / "b.png", (SIDE, 200), (0, 0, 200))
    sheet = compared(tmp_path, before, after)
    assert sheet.shape == (LABEL + 200, 2 * SIDE + GAP, 3)
    assert (sheet[LABEL:, :SIDE] == (200, 0, 0)).all()


def test_small_pictures_are_enlarged_until_labels_fit(tmp_path: Path) -> None:
    before, after = (saved(tmp_path / f"{n}.png", (70, 50), n) for n in ("red", "blue"))
    sheet = compared(tmp_path, before, after)
    zoom = NARROWEST // 70
    assert sheet.shape == (LABEL + 50 * zoom, 2 * 70 * zoom + GAP, 3)


def test_transparent_grey_and_deep_pictures_are_shown_on_white(tmp_path: Path) -> None:
    before = saved(tmp_path / "a.png", (SIDE, 20), (0, 0, 0, 0), "RGBA")
    after = tmp_path / "b.png"
    Image.fromarray(np.full((20, SIDE), 0x8080, np.uint16)).save(after)
    sheet = compared(tmp_path, before, after)
    assert (sheet[LABEL:, :SIDE] == 255).all()
    assert (sheet[LABEL:, SIDE + GAP :] == 0x80).all()


@pytest.mark.parametrize(
    ("source", "result", "output", "says"),
    [
        ("a.png", None, "c.png", "--compare also needs -o"),
        (".", "out", "c.png", "INPUT must be a picture"),
        ("clip.mp4", "out.mp4", "c.png", "clip.mp4'"),
        ("a.png", "b.npz", "c.png", "the result of -o must be a picture"),
        ("a.png", "b.png", "c.npz", "c.npz' is not supported"),
        ("a.png", "b.png", "no/c.png", "no' is not a folder"),
        ("a.png", "b.png", "a.png", "--compare names "),
        ("a.png", "b.png", "b.png", "--compare names "),
    ],
)
def test_what_cannot_be_compared_is_refused_before_the_work(
    tmp_path: Path, source: str, result: str | None, output: str, says: str
) -> None:
    saved(tmp_path / "a.png", (4, 4), "red")
    with pytest.raises(ShadergenError) as caught:
        check_comparison(
            tmp_path / source, None if result is None else tmp_path / result, tmp_path / output
        )
    assert says in caught.value.render()


@pytest.mark.gl
def test_run_writes_the_comparison_beside_the_result(shadergen: Any, tmp_path: Path) -> None:
    picture = saved(tmp_path / "a.png", (24, 16), (90, 120, 30))
    build, out, sheet = (tmp_path / name for name in ("build", "out.png", "sheet.png"))
    assert shadergen("compile", ESPCN, "-o", build, "--input-size", "16x24").code == 0
    ran = shadergen("run", build, picture, "-o", out, "--compare", sheet)
    assert (ran.code, ran.err) == (0, "")
    zoom = -(-NARROWEST // 48)
    assert Image.open(sheet).size == (2 * 48 * zoom + GAP, LABEL + 32 * zoom)
    result = np.asarray(Image.open(out)).repeat(zoom, 0).repeat(zoom, 1)
    assert (np.asarray(Image.open(sheet))[LABEL:, -48 * zoom :] == result).all()
    refused = shadergen("run", build, picture, "-o", out, "--compare", picture)
    assert (refused.code, refused.out) == (2, "")


def test_a_comparison_does_not_replace_the_original(tmp_path: Path) -> None:
    original = saved(tmp_path / "original.png", (4, 4), "red")
    with pytest.raises(ShadergenError, match="the input, the result or the original"):
        check_comparison(tmp_path / "a.png", tmp_path / "b.png", original, original)
