"""``view``: every channel of every stored tensor is a map of a sheet, in one page or as PNGs."""

from __future__ import annotations

import io
import json
from base64 import b64decode

import numpy as np
import pytest
from onnx import helper
from PIL import Image
from support.cli_models import SIZE, onnx
from support.onnx_models import model, node, write
from support.report_pages import read_page

from shadergen.compiler.running import read_inputs
from shadergen.compiler.view.content import view_build
from shadergen.compiler.view.pictures import FIRST, LAST, NOT_FINITE, indices, palette, shrunk
from shadergen.runtime_glue.python import HeadlessContext, load

pytestmark = pytest.mark.gl


def sheets(page):
    """Return the pictures of a page as arrays of indices."""
    prefix = "data:image/png;base64,"
    found = []
    for image in page.all("img"):
        with Image.open(
            io.BytesIO(b64decode(image.attributes["src"].removeprefix(prefix)))
        ) as picture:
            found.append(np.asarray(picture))
    return found


def test_a_page_has_a_sheet_for_each_texture(shadergen, build, tmp_path):
    ran = shadergen("view", build, "-o", tmp_path / "view.html")
    assert (ran.code, ran.err) == (0, "")
    view = view_build(build)
    assert (view.tensors[0].name, view.tensors[0].passes) == ("low", ())
    textures = load(build).textures
    assert {t.name for t in view.tensors} == {n for n, t in textures.items() if t.data is None}
    page = read_page(tmp_path / "view.html")
    assert len(sheets(page)) == len(view.tensors)
    assert f"{len(view.tensors)} tensors" in ran.out


def test_the_numbers_are_those_of_the_outputs(build, tmp_path):
    source = tmp_path / "x.npy"
    loaded = load(build)
    np.save(source, np.random.default_rng(0).random(loaded.inputs[0].shape, np.float32))
    with HeadlessContext() as context, context.runner(loaded) as runner:
        _, inputs, _ = read_inputs(loaded, source)
        runner.upload("low", inputs["low"])
        runner.run()
        result = runner.read(loaded.outputs[0].name)
    last = view_build(build, source).tensors[-1]
    assert (last.low, last.high) == (float(result.min()), float(result.max()))
    assert last.mean == pytest.approx(float(result.mean()), rel=1e-5)


def test_a_folder_gets_pngs_and_figures(shadergen, build, tmp_path):
    folder = tmp_path / "view"
    assert shadergen("view", build, "-o", folder).code == 0
    data = json.loads((folder / "layers.json").read_text())
    files = sorted(t["file"] for t in data["tensors"])
    assert sorted(p.name for p in folder.iterdir()) == sorted([*files, "layers.json"])
    (folder / "mine.png").write_bytes(b"")
    assert shadergen("view", build, "-o", folder, "--scale", "layer").code == 0
    assert (folder / "mine.png").exists()
    assert json.loads((folder / "layers.json").read_text())["scale"] == "layer"


def test_a_model_is_compiled_and_names_are_escaped(shadergen, tmp_path):
    hostile = "</section><script>alert(1)</script>"
    nodes = (
        helper.make_node("Conv", ["x", "w"], [hostile], name=hostile, pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", [hostile], ["y"], name="last"),
    )
    path = onnx(tmp_path, *nodes, w=np.ones((4, 4, 3, 3)))
    ran = shadergen("view", path, "-o", tmp_path / "view.html")
    assert (ran.code, ran.err) == (0, "")
    text = (tmp_path / "view.html").read_text()
    assert "<script>alert" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_foreign_files_and_folders_are_kept(shadergen, build, tmp_path):
    page, folder = tmp_path / "page.html", tmp_path / "folder"
    page.write_text("mine")
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    assert shadergen("view", build, "-o", page).code == 2
    ran = shadergen("view", build, "-o", folder)
    assert ran.code == 2
    assert "holds files that shadergen view did not write" in ran.err
    assert page.read_text() == "mine"
    assert [p.name for p in folder.iterdir()] == ["mine.txt"]


def test_a_build_takes_no_compiler_options(shadergen, build, tmp_path):
    ran = shadergen("view", build, "-o", tmp_path / "v.html", *SIZE)
    assert ran.code == 2
    assert "--input-size needs a model" in ran.err


def test_colours_span_the_range_and_show_what_is_not_finite():
    maps = np.array([[[-2.0, 0.0, 2.0, np.nan]], [[0.0, 1.0, 4.0, np.inf]]])
    found = indices(maps, np.array([-2.0, 0.0]), np.array([2.0, 4.0]))
    middle = round((FIRST + LAST) / 2)
    assert found[0, 0].tolist() == [FIRST, middle, LAST, NOT_FINITE]
    assert found[1, 0].tolist() == [FIRST, FIRST + 63, LAST, NOT_FINITE]
    signed, plain = (np.frombuffer(palette(s), np.uint8).reshape(-1, 3) for s in (True, False))
    assert signed[middle].max() <= 1
    assert signed[FIRST].tolist() == [80, 160, 255]
    assert plain[[FIRST, LAST]].tolist() == [[0] * 3, [255] * 3]


def test_large_maps_are_averaged():
    maps = np.arange(35.0).reshape(1, 5, 7)
    small, factor = shrunk(maps, 3, 100)
    assert (small.shape, factor) == ((1, 2, 3), 3)
    assert small[0, 0, 0] == maps[0, :3, :3].mean()
    assert small[0, 1, 2] == maps[0, 3:, 6:].mean()
    assert shrunk(maps, 7, 100)[1] == 1
    assert shrunk(maps, 7, 10)[0].shape == (1, 3, 4)


def drawn(shadergen, tmp_path, made_by, pixels):
    """Return the sheet of a network's output on a picture of these values."""
    np.save(tmp_path / "x.npy", pixels.astype(np.float32))
    path = write(tmp_path, model([made_by], {"c": np.float32(2)}, {"x": pixels.shape}, 17))
    folder = tmp_path / "b"
    assert shadergen("compile", path, "-o", folder, "--no-validate").code == 0
    sheet = view_build(folder, tmp_path / "x.npy").tensors[-1].png
    with Image.open(io.BytesIO(sheet)) as image:
        return np.asarray(image.convert("RGB"))


def test_channels_of_one_number_share_a_scale(shadergen, tmp_path):
    """The largest score of a classifier is white, and not black as the only number of its map."""
    pixels = np.stack([np.full((8, 8), value) for value in (0.1, 0.9, 0.5, 0.3)])[None]
    sheet = drawn(shadergen, tmp_path, node("GlobalAveragePool", "x"), pixels)
    colours = sorted({tuple(c) for c in sheet.reshape(-1, 3) if c[0] == c[1] == c[2]})
    assert len(colours) == 4
    assert colours[0] == (0, 0, 0)
    assert colours[-1] == (255, 255, 255)


@pytest.mark.parametrize(("least", "grey"), [(-0.05, True), (-0.5, False)])
def test_a_picture_slightly_below_0_is_drawn_as_a_picture(shadergen, tmp_path, least, grey):
    pixels = np.broadcast_to(np.linspace(least, 1, 64).reshape(8, 8), (1, 3, 8, 8))
    sheet = drawn(shadergen, tmp_path, node("Mul", "x", "c"), pixels)
    assert (sheet[:8, :8] == (255, 160, 60)).all(2).any() != grey
