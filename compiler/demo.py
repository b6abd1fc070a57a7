"""The demonstration: double a photograph with the network that comes with the package.

The photograph is halved and doubled again, by bicubic interpolation and by the network on the GPU.
Both results are compared with the photograph itself.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..records import dataclass
from . import extras
from .choices import RUNTIMES
from .driver import compile_model
from .installed import FOLDERS
from .options import Options
from .own_folders import OwnFolder, as_png
from .pictures.quality import psnr
from .pictures.reading import from_pillow, read_picture
from .pictures.side_by_side import details
from .pictures.writing import to_pillow
from .runtimes import check_runtime, default_device, shared_context
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NETWORK = FOLDERS["networks"] / "upscale" / "upscale.onnx"
PHOTOGRAPH = FOLDERS["networks"] / "upscale" / "astronaut.png"
DETAIL = (146, 60, 306, 200)  # of the photograph: left, top, right, bottom
ZOOM = 3
_BUILD = ("build",)  # folders that the compiler checks and replaces


@dataclass(frozen=True)
class Demonstration:
    """What the demonstration did.

    ``psnr`` is the peak signal-to-noise ratio on luma against the photograph, in dB over all
    pixels. ``first_milliseconds`` include making the GPU objects and compiling the shaders. A frame
    includes upload and readback.
    """

    size: tuple[int, int]  # of the photograph: height, width
    passes: int
    macs: int
    compile_seconds: float
    runtime: str
    renderer: str
    first_milliseconds: float
    frame_milliseconds: float
    psnr: Mapping[str, float]
    picture: Path


def demonstrate(
    output: Path,
    runtime: str = "auto",
    adapter: str = "",
    progress: Callable[[str], None] = lambda step: None,
) -> Demonstration:
    """Run the demonstration.

    Args:
        output: the folder for the build and the pictures; made if it does not exist.
        runtime: of ``RUNTIMES``; "auto" takes the first one that this machine can run.
        adapter: a part of the adapter's name; by default the runtime's own choice.
        progress: called with the name of each step as it begins.

    Raises:
        ShadergenError: SG0501 where the folder cannot be written or holds other files, SG06xx where
            nothing can run.
    """
    check_runtime(runtime)
    folder = OwnFolder(output, "shadergen demo", "demo.json", "name another folder with -o", _BUILD)
    folder.check()
    resampling = extras.pillow().Resampling
    context = shared_context(RUNTIMES[1:] if runtime == "auto" else [runtime], adapter)
    photograph = to_pillow(read_picture(PHOTOGRAPH).colours)
    half = photograph.resize((photograph.width // 2, photograph.height // 2), resampling.BICUBIC)

    build = output / _BUILD[0]
    options = Options(
        device=default_device(context.runtime), input_size={"": (half.height, half.width)}
    )
    start = time.perf_counter()
    compiled = compile_model(NETWORK, build, options, progress)
    compile_seconds = time.perf_counter() - start

    progress("running the shaders")
    with Session(build, context.runtime, adapter) as session:
        start = time.perf_counter()
        network = session(half)
        first = time.perf_counter()
        session(half)
        second = time.perf_counter()

    named = {
        "half": half,
        "bicubic": half.resize(photograph.size, resampling.BICUBIC),
        "network": network,
        "original": photograph,
    }
    shown = {
        "half size": half.resize(photograph.size, resampling.NEAREST),
        "bicubic": named["bicubic"],
        "network": network,
        "original": photograph,
    }
    images = named | {"side-by-side": details(shown, DETAIL, ZOOM)}
    files = {f"{name}.png": as_png(image) for name, image in images.items()}
    original = from_pillow(photograph, "the photograph")
    found = {
        name: psnr(from_pillow(named[name], name), original) for name in ("bicubic", "network")
    }
    folder.replace(files, {"psnr": found})
    schedule = compiled.files.schedule
    return Demonstration(
        size=(photograph.height, photograph.width),
        passes=len(schedule["passes"]),
        macs=sum(p["macs"] for p in schedule["passes"]),
        compile_seconds=compile_seconds,
        runtime=context.runtime,
        renderer=str(context.info().renderer),
        first_milliseconds=(first - start) * 1e3,
        frame_milliseconds=(second - first) * 1e3,
        psnr=found,
        picture=output / "side-by-side.png",
    )
