"""The pages of ``shadergen serve`` and of the gallery, as tests use them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import shadergen
from support.onnx_models import node, normal, typed_model
from support.runtime_models import Model

if TYPE_CHECKING:
    from pathlib import Path


def scaled(*shape: int) -> Model:
    """Return a network that halves numbers."""
    half = {"half": np.array(0.5, np.float32)}
    return Model([node("Mul", "x", "half")], half, {"x": normal(*shape)})


def compiled(model: Model, folder: Path, **options: Any) -> Path:
    """Write the build of a small network; return its folder."""
    proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
    shadergen.compile_model(proto, folder, validate=False, **options)
    return folder


def shown(page: Any, url: str = "builds/0") -> None:
    page.wait_for_selector(f'body[data-shown="{url}"]')


def result(page: Any, selector: str = ".after") -> np.ndarray:
    """Return the pixels of a canvas, of red, green, blue and alpha."""
    script = """(canvas) => new Promise((done) => canvas.toBlob(async (blob) => {
      const bytes = new Uint8Array(await blob.arrayBuffer());
      done(Array.from(bytes));
    }))"""
    png = page.locator(selector).evaluate(script)
    return np.asarray(Image.open(io.BytesIO(bytes(png))).convert("RGBA"))


def give(page: Any, url: str, path: Path) -> None:
    """Show a picture through a network."""
    if page.input_value("#network") != url:
        page.select_option("#network", url)
        shown(page, url)
    page.evaluate("delete document.body.dataset.shown")
    page.set_input_files("#file", path)
    shown(page, url)


def saved(page: Any, folder: Path) -> Path:
    """Save the result by the page's button; return the file, under the page's name for it."""
    with page.expect_download() as download:
        page.click("button[name=save]")
    target = folder / "saved" / download.value.suggested_filename
    download.value.save_as(target)
    return target
