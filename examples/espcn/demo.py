"""Upscale a photograph the network has never seen, with the commands a newcomer would type.

What ``make demo`` runs: halve the photograph, compile espcn_x2.h5 for that size, run the shaders
on the GL found, and compare bicubic and ESPCN with the original. Leaves everything in demo/.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import skimage.data
from PIL import Image, ImageDraw

ROOT = Path(__file__).resolve().parents[2]
MODEL = Path("examples/espcn/espcn_x2.h5")
DEMO = Path("demo")
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # BT.601, as JPEG and train.py have it
BORDER = 2  # pixels at each side that are measured apart
DETAIL = (125, 75, 225, 150)  # left, upper, right, lower: an eye
ZOOM = 4


def shadergen(*arguments: str | Path) -> None:
    """Print and run one ``shadergen`` command; its failure ends the demo with its status."""
    script = Path(sysconfig.get_path("scripts"), "shadergen")
    command = [os.path.relpath(script), *map(str, arguments)]
    print(f"\n$ {shlex.join(command)}", flush=True)
    status = subprocess.run(command, check=False).returncode
    if status != 0:
        sys.exit(status)


def psnr(image: Image.Image, original: Image.Image) -> tuple[float, float, float]:
    """Return the peak signal-to-noise ratio on luma in dB of two 8-bit images.

    Of all pixels, of those within ``BORDER`` of an edge, and of the rest.
    """
    a, b = (np.asarray(i.convert("RGB"), np.float32) @ LUMA for i in (image, original))
    error = (a - b) ** 2
    inside = np.zeros(error.shape, bool)
    inside[BORDER:-BORDER, BORDER:-BORDER] = True
    parts = (error, error[~inside], error[inside])
    return tuple(float(20 * np.log10(255) - 10 * np.log10(np.mean(part))) for part in parts)


def side_by_side(images: dict[str, Image.Image]) -> Image.Image:
    """Return one detail of each image, enlarged without smoothing and labelled, in a row."""
    left, upper, right, lower = DETAIL
    width, height, label = (right - left) * ZOOM, (lower - upper) * ZOOM, 18
    sheet = Image.new("RGB", (len(images) * (width + 4) - 4, height + label), "white")
    draw = ImageDraw.Draw(sheet)
    for i, (name, image) in enumerate(images.items()):
        detail = image.convert("RGB").crop(DETAIL)
        sheet.paste(
            detail.resize((width, height), Image.Resampling.NEAREST), (i * (width + 4), label)
        )
        draw.text((i * (width + 4) + 4, 3), name, fill="black")
    return sheet


def main() -> int:
    """Run the demo; return 0 when ESPCN beats bicubic, at the border too, and 1 otherwise."""
    os.chdir(ROOT)
    DEMO.mkdir(exist_ok=True)
    photograph = Image.fromarray(skimage.data.chelsea())
    original = photograph.crop((0, 0, photograph.width & ~1, photograph.height & ~1))
    low = original.resize((original.width // 2, original.height // 2), Image.Resampling.BICUBIC)
    bicubic = low.resize(original.size, Image.Resampling.BICUBIC)
    for name, image in (("original", original), ("low", low), ("bicubic", bicubic)):
        image.save(DEMO / f"{name}.png")
    print(
        "photograph: 'chelsea' of scikit-image, not among those the network was trained on;\n"
        f"{original.width} pixels wide and {original.height} high, halved, then doubled again by "
        "bicubic and by ESPCN"
    )

    size = f"{low.height}x{low.width}"
    shadergen("compile", MODEL, "-o", DEMO / "build", "--input-size", size)
    shadergen("run", DEMO / "build", DEMO / "low.png", "-o", DEMO / "espcn.png")

    espcn = Image.open(DEMO / "espcn.png")
    if espcn.size != original.size:
        print(f"demo: espcn.png is {espcn.size}, expected {original.size}", file=sys.stderr)
        return 1
    before, after = psnr(bicubic, original), psnr(espcn, original)
    nearest = low.resize(original.size, Image.Resampling.NEAREST)
    side_by_side({"low": nearest, "bicubic": bicubic, "espcn": espcn, "original": original}).save(
        DEMO / "side-by-side.png"
    )

    margins = [b - a for a, b in zip(before, after, strict=True)]
    print(f"\n{'PSNR on luma against the original, dB':<40}{'all':>6}{'border':>8}{'inside':>8}")
    for name, (every, border, inside) in (
        ("bicubic", before), ("espcn, on the GPU", after), ("margin", margins)
    ):  # fmt: skip
        sign = "+" * (name == "margin")
        print(f"  {name:<38}{every:{sign}6.2f}{border:{sign}8.2f}{inside:{sign}8.2f}")
    print(f"the border is the outer {BORDER} pixels")
    print("\nto look at:")
    for name, what in (
        ("low.png", "the input"),
        ("bicubic.png", "doubled by bicubic interpolation"),
        ("espcn.png", "doubled by the compiled network"),
        ("original.png", "what both aim at"),
        ("side-by-side.png", "a detail of all four, enlarged"),
        ("build/shaders/", "the GLSL"),
        ("build/schedule.json", "the order to run it in"),
    ):
        print(f"  {DEMO / name!s:<26}{what}")
    if min(margins) <= 0:
        print("demo: ESPCN does not beat bicubic everywhere", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
