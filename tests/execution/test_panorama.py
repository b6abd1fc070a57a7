"""A panorama of 200 megapixels runs in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from support.onnx_models import model, node, write

from shadergen.compiler.driver import compile_model
from shadergen.compiler.keywords import make_options

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.gl, pytest.mark.slow]

SIZE = 10_000, 20_000
TILE = 640
MOST = 450 << 20  # bytes: a whole result in floats would take 800 million
SCRIPT = """
import json, resource, sys
from pathlib import Path

import numpy as np

from shadergen.compiler.pictures.network import PictureNetwork
from shadergen.compiler.pictures.picture import Metadata, Picture, with_source
from shadergen.compiler.pictures.png import PngWriter
from shadergen.compiler.session import Session


class Scan:
    '''Pixels that are made when they are read, as those of a tiled file are.'''

    shape = (%d, %d, 1)
    dtype = np.dtype(np.uint8)

    def __getitem__(self, part):
        rows, columns = (np.arange(s.start, s.stop) for s in part)
        return ((rows[:, None] // 7 + columns // 5) %% 256).astype(np.uint8)[..., None]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


network = PictureNetwork(Session(Path(sys.argv[1])))
size = network.network.size
for _ in network.rows(Picture(np.zeros((*size, 1), np.uint8))):
    pass
before, count = peak(), 0
picture = Picture(Scan())
with open(sys.argv[2], "wb") as file:
    writer = PngWriter(file, picture.size, 1, 8, Metadata())
    for first, values in network.rows(picture):
        span = first, first + len(values)
        writer.write(with_source(values, span, picture.size, picture, 8))
        count += len(values)
    writer.close()
print(json.dumps({"rows": count, "bytes": peak() - before}))
"""


def test_a_panorama_of_200_megapixels_runs_in_bounded_memory(tmp_path: Path) -> None:
    kernel = np.zeros((1, 1, 3, 3), np.float32)
    kernel[0, 0, 0, 0] = kernel[0, 0, 2, 2] = 0.5
    proto = model(
        node("Conv", "x", "w", pads=[1] * 4), {"w": kernel}, {"x": (1, 1, TILE, TILE)}, 17
    )
    build = tmp_path / "build"
    compile_model(write(tmp_path, proto), build, make_options(validate=False))
    script = [sys.executable, "-c", SCRIPT % SIZE, str(build), str(tmp_path / "out.png")]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["rows"] == SIZE[0]
    assert found["bytes"] < MOST
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with Image.open(tmp_path / "out.png") as image:
            assert image.size == SIZE[::-1]
    finally:
        Image.MAX_IMAGE_PIXELS = limit
