"""PictureNetwork of the web runtime alone: pictures of any size, on WebGL 2 and on WebGPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support import ESPCN
from support.browser import ROOT, VULKAN, chromium, served
from support.onnx_models import node
from support.picture_builds import ask
from support.picture_models import (
    blurred,
    cropped,
    darkened,
    doubled,
    doubled_luma,
    picture,
    pooled,
    strided,
)
from support.runtime_models import Model
from support.web_pages import compiled, scaled

import shadergen

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gl
HEIGHT, WIDTH = 48, 64  # of the builds
LARGE = 132, 180
MODELS = {
    "blurred": blurred(),
    "strided": strided(),
    "doubled": doubled(),
    "luma": doubled_luma(),
    "cropped": cropped(),
    "pooled": pooled(),
    "dark": darkened(3),
    "clear": darkened(4),
}
COMPARED = ["blurred", "strided", "doubled", "luma", "cropped"]
APIS = {"WebGL 2": "swiftshader", "WebGPU": "webgpu"}


def pair() -> Model:
    feeds = {name: np.zeros((1, 3, HEIGHT, WIDTH), np.float32) for name in "xz"}
    return Model([node("Add", "x", "z")], {}, feeds)


def glass() -> Image.Image:
    """Return a picture with transparency, in which colours below transparent pixels matter."""
    image = picture(100, 90)
    alpha = np.tile(np.linspace(90, 255, 90), (100, 1)).astype(np.uint8)
    image.putalpha(Image.fromarray(alpha))
    return image


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("builds")
    for api, device in APIS.items():
        for name, model in MODELS.items():
            compiled(model(HEIGHT, WIDTH), folder / api / name, device=device)
        for name in COMPARED:
            compiled(MODELS[name](*LARGE), folder / api / f"whole {name}", device=device)
        compiled(pair(), folder / api / "pair", device=device)
        compiled(scaled(6, 7), folder / api / "matrix", device=device)
        options = {"device": device, "input_size": "dynamic", "validate": False}
        shadergen.compile_model(ESPCN, folder / api / "dynamic", **options)
    pictures = tmp_path_factory.mktemp("pictures")
    sizes = {"large": LARGE, "small": (31, 45), "odd": (131, 179), "tiny": (4, 80)}
    for name, size in sizes.items():
        picture(*size).save(pictures / f"{name}.png")
    glass().save(pictures / "glass.png")
    folders = {"web": ROOT / "runtime_glue" / "web", "builds": folder, "pictures": pictures}
    with served(**folders) as address, chromium(*VULKAN) as browser:
        page = browser.new_page()
        page.goto(address)
        page.evaluate("async () => { window.t = await import('/picture_features.js'); }")
        yield page


@pytest.fixture(params=list(APIS))
def api(request: pytest.FixtureRequest, page: Any) -> str:
    if request.param == "WebGPU" and not page.evaluate(
        "async () => Boolean(await navigator.gpu?.requestAdapter())"
    ):
        pytest.skip("this Chromium has no WebGPU adapter")
    return str(request.param)


def content(found: dict[str, Any]) -> np.ndarray:
    """Return the pixels of a canvas: red, green, blue and alpha."""
    return np.array(found["pixels"]).reshape(found["height"], found["width"], 4)


@pytest.mark.parametrize("name", COMPARED)
def test_tiles_give_the_result_of_one_run(page: Any, api: str, name: str) -> None:
    found = ask(page, "t.tiled(...a)", f"/builds/{api}/{name}", "/pictures/large.png")
    whole = ask(page, "t.whole(...a)", f"/builds/{api}/whole {name}", "/pictures/large.png")
    assert found["api"] == api
    assert found["isDone"] is True
    assert "tiles of 64 × 48, which overlap" in found["note"]
    count = found["counts"][0][1]
    assert count > 1
    assert found["counts"] == [[done, count] for done in range(1, count + 1)]
    assert np.abs(content(found) - content(whole)).max() <= 1


@pytest.mark.parametrize(("name", "size"), [("small", (31, 45)), ("odd", (131, 179))])
def test_a_padded_picture_gives_a_result_of_its_size(
    page: Any, api: str, name: str, size: tuple[int, int]
) -> None:
    found = ask(page, "t.tiled(...a)", f"/builds/{api}/strided", f"/pictures/{name}.png")
    assert content(found).shape == (*size, 4)
    assert "by repeating its edge; near the padding, the result may differ" in found["note"]


def test_a_build_of_dynamic_sizes_takes_the_picture_whole(page: Any, api: str) -> None:
    found = ask(page, "t.tiled(...a)", f"/builds/{api}/dynamic", "/pictures/small.png")
    assert (found["width"], found["height"]) == (90, 62)
    assert found["counts"] == [[1, 1]]
    assert found["note"] == ""


@pytest.mark.parametrize("name", ["small", "large"])
def test_every_form_of_a_picture_gives_the_same_result(page: Any, api: str, name: str) -> None:
    found = ask(page, "t.ofForms(...a)", f"/builds/{api}/blurred", f"/pictures/{name}.png")
    first = content(found.pop("ImageBitmap"))
    assert len(found) == 5
    for form, other in found.items():
        assert np.abs(content(other) - first).max() <= 1, form


@pytest.mark.parametrize("name", ["dark", "clear"])
def test_alpha_is_kept(page: Any, api: str, name: str) -> None:
    image = np.asarray(glass())
    halves = 1 if name == "dark" else 0.5  # the network with 4 channels halves alpha too
    forms = ask(page, "t.ofForms(...a)", f"/builds/{api}/{name}", "/pictures/glass.png")
    del forms["VideoFrame"]  # of a canvas, it may have lost its alpha
    for form, found in forms.items():
        values = content(found)
        assert np.abs(values[..., 3] - image[..., 3] * halves).max() <= 1, form
        lost = 255 / values[..., 3:]  # a canvas multiplies colours by alpha, and rounds
        assert (np.abs(values[..., :3] - image[..., :3] / 2) <= 1 + 3 * lost).all(), form


@pytest.mark.parametrize(("name", "picture"), [("blurred", "large"), ("dynamic", "small")])
def test_the_result_may_go_to_the_canvas_of_the_picture(
    page: Any, api: str, name: str, picture: str
) -> None:
    """In tiles that overlap, and where the canvas grows."""
    in_place, apart = ask(
        page, "t.inPlace(...a)", f"/builds/{api}/{name}", f"/pictures/{picture}.png"
    )
    assert np.abs(content(in_place) - content(apart)).max() <= 1


def test_a_second_run_waits_for_the_first(page: Any, api: str) -> None:
    files = [f"/pictures/{name}.png" for name in ("large", "small")]
    found = ask(page, "t.together(...a)", f"/builds/{api}/blurred", *files)
    for file, result in zip(files, found, strict=True):
        alone = ask(page, "t.tiled(...a)", f"/builds/{api}/blurred", file)
        np.testing.assert_array_equal(content(result), content(alone))


@pytest.mark.parametrize(("by_signal", "end"), [(True, "AbortError"), (False, False)])
def test_a_run_can_be_stopped_between_tiles(
    page: Any, api: str, by_signal: bool, end: str | bool
) -> None:
    call = "t.stopped(...a)"
    found = ask(page, call, f"/builds/{api}/blurred", "/pictures/large.png", by_signal)
    assert found == {"end": end, "tiles": 2, "next": True}


def test_a_device_or_context_of_the_page_is_kept(page: Any, api: str) -> None:
    assert ask(page, "t.kept(...a)", f"/builds/{api}/blurred", "/pictures/large.png") is True


def test_a_worker_runs_tiles(page: Any, api: str) -> None:
    arguments = f"/builds/{api}/blurred", "/pictures/odd.png"
    found = ask(page, "t.inWorker(...a)", *arguments)
    assert found["api"] == api
    alone = ask(page, "t.tiled(...a)", *arguments)
    assert np.abs(content(found) - content(alone)).max() <= 1


@pytest.mark.parametrize(
    ("build", "call", "what", "help_"),
    [
        (
            "cropped",
            "t.refused(a[0], t.bitmap('/pictures/tiny.png'))",
            "a picture with a height of 4 is too small for the network",
            "enlarge the picture first, or choose a larger one",
        ),
        (
            "pooled",
            "t.refused(a[0], t.bitmap('/pictures/large.png'))",
            "the picture has width: 180, height: 132; the build takes width: 64, height: 48",
            "scale the picture to width: 64, height: 48, or compile with"
            " --input-size 132x180 (height x width) or dynamic",
        ),
        (
            "blurred",
            "t.refused(a[0], new Blob())",
            "Blob is no picture, or it is not loaded",
            "createImageBitmap(blob) makes a picture of a file",
        ),
        (
            "blurred",
            "t.refused(a[0], t.bitmap('/pictures/tiny.png'), 'result')",
            "run() takes a canvas, not 'result'",
            "",
        ),
        (
            "blurred",
            "t.refused(a[0], t.bitmap('/pictures/tiny.png'),"
            " new OffscreenCanvas(1, 1).getContext('webgl2').canvas)",
            "the canvas has a context of another kind than 2d",
            "draw to another canvas",
        ),
        (
            "pair",
            "t.refusal(() => t.PictureNetwork.open(a[0]))",
            "the build has 2 inputs: x, z",
            "run the build with open() of auto.js",
        ),
        (
            "matrix",
            "t.refusal(() => t.PictureNetwork.open(a[0]))",
            "'x' of shape [6, 7] is not a picture",
            "",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_with_help(
    page: Any, api: str, build: str, call: str, what: str, help_: str
) -> None:
    error = ask(page, call, f"/builds/{api}/{build}")
    assert (error["code"], error["what"], error["help"]) == ("SG0605", what, help_)
    if build == "pooled":
        assert error["why"] == "the build cannot be run in tiles: layer 'm' sees the whole picture"
    if build == "cropped":
        assert error["supported"] == "a height of at least 5"
