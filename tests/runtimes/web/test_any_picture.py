"""The viewer runs builds of fixed size on pictures of any size; compared with ONNX Runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest
from PIL import Image
from support.browser import chromium, served
from support.onnx_models import node, typed_model
from support.picture_models import (
    blurred,
    cropped,
    darkened,
    doubled,
    picture,
    picture_model,
    pooled,
    pooled_and_doubled,
    strided,
)
from support.web_pages import compiled, give, result, saved, shown

from shadergen.compiler.pictures.drawing import draw_map, palette
from shadergen.compiler.serving import write_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.runtime_models import Model

pytestmark = pytest.mark.gl
HEIGHT, WIDTH = 48, 64  # of the builds
Networks = dict[str, tuple["Callable[[int, int], Model]", str]]  # model of a size; its URL


def classified() -> Any:
    """Scores of five classes; class 1 is red, 2 green, 3 blue, 4 bright."""
    weights = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.4, 0.4, 0.4]], np.float32)
    bias = np.array([0.2, 0, 0, 0, 0], np.float32)
    return picture_model([node("Conv", "x", "w", "b")], w=weights[..., None, None], b=bias)


def mapped() -> Any:
    red = np.array([[1, 0, 0]], np.float32)[..., None, None]
    return picture_model([node("Conv", "x", "w")], w=red)


def mapped_beyond_one() -> Any:
    red = np.array([[4, 0, 0]], np.float32)[..., None, None]
    return picture_model([node("Conv", "x", "w", "b")], w=red, b=np.array([-1], np.float32))


def coloured() -> Any:
    """Scores of three classes: red, green and blue."""
    return picture_model([node("Conv", "x", "w")], w=np.eye(3, dtype=np.float32)[..., None, None])


MODELS = {
    "blurred": blurred(),
    "strided": strided(),
    "doubled": doubled(),
    "cropped": cropped(),
    "pooled": pooled(),
    "pooled and doubled": pooled_and_doubled(),
    "classified": classified(),
    "mapped": mapped(),
    "mapped beyond one": mapped_beyond_one(),
    "dark": darkened(3),
    "dark with alpha": darkened(4),
}
URLS = {name: f"builds/{i}" for i, name in enumerate(MODELS)}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("pictures")
    builds = [
        compiled(model(HEIGHT, WIDTH), folder / name, device="swiftshader")
        for name, model in MODELS.items()
    ]
    write_site(builds, folder / "site")
    scores = compiled(coloured()(HEIGHT, WIDTH), folder / "scores", device="swiftshader")
    write_site([scores], folder / "named", ("rose", "leaf", "sky"))
    with served(site=folder / "site", named=folder / "named") as address, chromium() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.set_default_timeout(30_000)
        page.goto(f"{address}/site/?network={URLS['dark']}")
        shown(page, URLS["dark"])
        yield page


def expected(model: Any, image: Image.Image) -> np.ndarray:
    """Return what ONNX Runtime makes of the whole picture: H, W, C in 0..255."""
    whole = model(image.height, image.width)
    proto = typed_model(whole.nodes, whole.weights, whole.feeds, whole.outputs, opset=20)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    array = np.asarray(image, np.float32).transpose(2, 0, 1)[np.newaxis] / 255
    return session.run(None, {"x": array})[0][0].transpose(1, 2, 0) * 255


@pytest.mark.parametrize("name", ["blurred", "strided", "doubled", "cropped"])
def test_tiles_give_the_result_of_one_run(page: Any, tmp_path: Path, name: str) -> None:
    image = picture(132, 180)
    image.save(tmp_path / "picture.png")
    give(page, URLS[name], tmp_path / "picture.png")
    assert "tiles of 64 × 48" in page.inner_text("#note")
    assert "repeated" not in page.inner_text("#note")
    found, want = result(page)[..., :3], expected(MODELS[name], image)
    assert found.shape == want.shape
    assert np.abs(found - want).max() < 1  # of 255: no seams


def test_the_page_goes_on_between_tiles(page: Any) -> None:
    script = """async (url) => {
      const { Network } = await import("./network.js");
      const network = await Network.open({ url, kind: "picture" });
      const picture = Object.assign(document.createElement("canvas"), { width: 180, height: 132 });
      picture.getContext("2d").fillRect(0, 0, 90, 66);
      const { port1, port2 } = new MessageChannel();
      const events = [];
      port1.onmessage = () => events.push("page");
      const { runner } = network;
      const run = runner.run.bind(runner);
      runner.run = (tile) => {
        events.push("tile");
        port2.postMessage(0);
        run(tile);
      };
      await network.run(picture, document.createElement("canvas"));
      network.close();
      return events;
    }"""
    assert page.evaluate(script, URLS["blurred"]) == ["tile", "page"] * 9


def test_the_edge_is_repeated_up_to_the_strides_with_a_note(page: Any, tmp_path: Path) -> None:
    image = picture(131, 179)
    image.save(tmp_path / "picture.png")
    give(page, URLS["strided"], tmp_path / "picture.png")
    note = page.inner_text("#note")
    assert "padded to 180 × 132 by repeating its edge; near the padding, the result may" in note
    found, want = result(page)[..., :3], expected(MODELS["strided"], image)[:131, :179]
    assert found.shape == want.shape
    assert np.abs(found - want)[:128, :176].max() < 1
    assert np.abs(found - want).max() > 1  # so the note is true


@pytest.mark.parametrize(("side", "says"), [(4, "a height of 4"), (3, "a height of 3")])
def test_a_picture_too_small_for_a_result_is_refused(
    page: Any, tmp_path: Path, side: int, says: str
) -> None:
    page.select_option("#network", URLS["cropped"])
    picture(side, 80).save(tmp_path / "small.png")
    page.set_input_files("#file", tmp_path / "small.png")
    page.locator("#message", has_text=says).wait_for()
    assert "a height of at least 5" in page.inner_text("#message")
    picture(5, 80).save(tmp_path / "enough.png")
    give(page, URLS["cropped"], tmp_path / "enough.png")
    assert page.inner_text("#size") == "80 × 5 → 76 × 1"


@pytest.mark.parametrize(("rows", "columns", "is_refused"), [(2, 3, False), (3, 2, True)])
def test_a_network_that_turns_pictures_is_refused(
    page: Any, rows: int, columns: int, is_refused: bool
) -> None:
    script = """async ([rows, columns]) => {
      const { PictureNetwork } = await import("./shadergen/picture_network.js");
      const port = { name: "turned", shape: [1, 3, 48, 48], axes: [0, 1, 2, 3] };
      const reach = { scale: [1, 1], before: 0, after: 0, period: 1 };
      const height = { ...reach, input_axis: 2, output_axis: rows };
      const width = { ...reach, input_axis: 3, output_axis: columns };
      const build = { inputs: [port], outputs: [{ ...port, receptive_field: { height, width } }] };
      try {
        new PictureNetwork({ build }).plan(100, 60);
      } catch ({ code, what, help }) {
        return [code, what, help];
      }
    }"""
    says = "the output 'turned' has rows and columns exchanged"
    help_ = "transpose the model's output, and compile the model again"
    found = page.evaluate(script, [rows, columns])
    assert found == (["SG0605", says, help_] if is_refused else None)


def test_a_smaller_picture_is_neither_cropped_nor_enlarged(page: Any, tmp_path: Path) -> None:
    image = picture(31, 45)
    image.save(tmp_path / "small.png")
    give(page, URLS["doubled"], tmp_path / "small.png")
    assert page.inner_text("#size") == "45 × 31 → 90 × 62"
    assert "padded to 64 × 48 by repeating its edge" in page.inner_text("#note")
    found, want = result(page)[..., :3], expected(MODELS["doubled"], image)
    assert found.shape == want.shape
    assert np.abs(found - want)[:-2, :-2].max() < 1  # its border has other neighbours


def test_a_network_that_sees_everything_gets_the_whole_picture(page: Any, tmp_path: Path) -> None:
    picture(132, 180).save(tmp_path / "picture.png")
    give(page, URLS["pooled"], tmp_path / "picture.png")
    assert page.inner_text("#size") == "180 × 132 → 64 × 48"
    assert "scaled to 64 × 48" in page.inner_text("#note")
    assert "sees the whole picture" in page.inner_text("#note")


def test_an_enlargement_never_gives_less_than_it_was_given(page: Any, tmp_path: Path) -> None:
    picture(132, 180).save(tmp_path / "picture.png")
    page.select_option("#network", URLS["dark"])
    page.set_input_files("#file", tmp_path / "picture.png")
    page.select_option("#network", URLS["pooled and doubled"])
    page.wait_for_selector("#message:not([hidden])")
    message = page.inner_text("#message")
    assert (
        "the picture has width: 180, height: 132; the build takes width: 64, height: 48" in message
    )
    assert "cannot be run in tiles: layer 'm' sees the whole picture" in message
    assert "--input-size 132x180" in message
    picture(40, 60).save(tmp_path / "small.png")
    give(page, URLS["dark"], tmp_path / "small.png")
    assert page.is_hidden("#message")


def test_a_class_map_has_colours_and_a_legend(page: Any, tmp_path: Path) -> None:
    image = Image.new("RGB", (100, 60), (200, 0, 0))
    image.paste((0, 0, 200), (0, 0, 25, 60))
    image.paste((0, 0, 0), (25, 0, 30, 60))
    image.save(tmp_path / "flag.png")
    give(page, URLS["classified"], tmp_path / "flag.png")
    assert page.locator("#legend li").all_inner_texts() == [
        "class 1 70 %", "class 3 25 %", "class 0 5 %"
    ]  # fmt: skip
    found = result(page)[..., :3]
    assert len(np.unique(found[:, :25].reshape(-1, 3), axis=0)) == 1
    assert len(np.unique(found[:, 30:].reshape(-1, 3), axis=0)) == 1
    marks = page.locator("#legend .mark").evaluate_all("all => all.map(m => m.style.background)")
    assert marks[0] == f"rgb({', '.join(map(str, found[0, 50]))})"
    give(page, URLS["dark"], tmp_path / "flag.png")
    assert page.is_hidden("#legend")


def test_three_classes_with_labels_are_a_class_map(page: Any) -> None:
    named = page.context.browser.new_page()
    try:
        named.goto(page.url.partition("/site/")[0] + "/named/")
        shown(named)
        legend = named.locator("#legend li").all_inner_texts()
        assert legend
        assert {text.split()[0] for text in legend} <= {"rose", "leaf", "sky"}
        colours = np.unique(result(named)[..., :3].reshape(-1, 3), axis=0)
        assert {tuple(map(int, c)) for c in colours} <= {tuple(map(int, c)) for c in palette()[:3]}
    finally:
        named.close()


def test_classes_have_the_colours_of_run(page: Any) -> None:
    script = """import("./classes.js").then(({ colourOf }) =>
      Array.from({ length: 256 }, (_, number) => colourOf(number)))"""
    np.testing.assert_array_equal(page.evaluate(script), palette())


def test_a_map_is_grey(page: Any, tmp_path: Path) -> None:
    image = picture(70, 90)
    image.save(tmp_path / "picture.png")
    give(page, URLS["mapped"], tmp_path / "picture.png")
    assert np.array_equal(result(page)[..., :3], np.asarray(image)[..., :1].repeat(3, 2))


def test_a_map_of_other_numbers_is_scaled_as_run_scales_it(page: Any, tmp_path: Path) -> None:
    image = picture(70, 90)
    image.save(tmp_path / "picture.png")
    give(page, URLS["mapped beyond one"], tmp_path / "picture.png")
    numbers = np.asarray(image, np.float32)[..., 0] / 255 * 4 - 1
    grey, note = draw_map(numbers, 8)
    assert note
    assert np.abs(result(page)[..., 0].astype(int) - grey[..., 0]).max() <= 1
    assert page.inner_text("#note").endswith(f"; {note}")
    give(page, URLS["mapped"], tmp_path / "picture.png")
    assert "black" not in page.inner_text("#note")


@pytest.mark.parametrize("name", ["dark", "dark with alpha"])
def test_the_saved_picture_is_the_whole_result_with_alpha(
    page: Any, tmp_path: Path, name: str
) -> None:
    image = picture(100, 90, 4)
    alpha = np.linspace(120, 255, 90).astype(np.uint8)
    image.putalpha(Image.fromarray(np.tile(alpha, (100, 1))))
    image.save(tmp_path / "glass.png")
    give(page, URLS[name], tmp_path / "glass.png")
    file = saved(page, tmp_path)
    assert file.name.startswith("glass-")
    assert file.suffix == ".png"
    found = np.asarray(Image.open(file), int)
    want = np.asarray(image, int) // [2, 2, 2, 2 if name == "dark with alpha" else 1]
    assert np.abs(found - want).max() <= 4  # a canvas holds colours multiplied by alpha
    assert np.abs(found[..., 3] - want[..., 3]).max() <= 1


def test_colours_below_transparent_pixels_do_not_reach_their_neighbours_as_black(
    page: Any, tmp_path: Path
) -> None:
    image = Image.new("RGBA", (64, 48), (240, 240, 240, 255))
    image.paste((240, 240, 240, 0), (0, 0, 32, 48))
    image.save(tmp_path / "glass.png")
    give(page, URLS["blurred"], tmp_path / "glass.png")
    found = result(page)
    assert (found[4:-4, 32:60, :3] >= 239).all()
    assert (found[:, :32, 3] == 0).all()
    assert (found[:, 32:, 3] == 255).all()


def test_colours_below_transparent_pixels_are_kept_at_the_border(page: Any, tmp_path: Path) -> None:
    image = picture(50, 70)
    alpha = np.full((50, 70), 255, np.uint8)
    alpha[:, 60:66] = 0
    glass = image.copy()
    glass.putalpha(Image.fromarray(alpha))
    glass.save(tmp_path / "glass.png")
    give(page, URLS["strided"], tmp_path / "glass.png")
    found, want = result(page), expected(MODELS["strided"], image)
    assert np.abs(found[..., :3] - want[:50, :70])[:44, 66:68].max() < 1  # the border differs


def test_a_scaled_picture_keeps_colours_below_transparent_pixels(page: Any, tmp_path: Path) -> None:
    image = Image.new("RGBA", (128, 96), (240, 200, 100, 255))
    image.paste((240, 200, 100, 0), (0, 0, 64, 96))
    image.save(tmp_path / "glass.png")
    give(page, URLS["pooled"], tmp_path / "glass.png")
    squares = np.array([240, 200, 100]) ** 2 / 255  # the mean of one colour times this colour
    assert np.abs(result(page)[4:-4, 36:-4, :3] - squares).max() <= 1
