"""Draw the diagrams of the documents: docs/drawings/*.svg.

    python tools/make_drawings.py

Plain SVG with its own light background: it looks the same on a code host, on the site in light and
dark, and in print. tests/project/test_site.py checks that the files are up to date.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "drawings"
INK, LINE, PAPER = "#1f2430", "#5b6478", "#fbfbfd"
FILLS = {"model": "#e4ecfb", "step": "#ffffff", "build": "#e6f4e8", "run": "#fdf0dc"}


@dataclass
class Drawing:
    """Boxes and arrows on a sheet of a size."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def box(self, x: int, y: int, w: int, h: int, kind: str, *lines: str) -> None:
        """Draw a box; its first line is bold."""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6" fill="{FILLS[kind]}" '
            f'stroke="{LINE}"/>'
        )
        top = y + h / 2 - 9 * (len(lines) - 1) + 5
        for k, line in enumerate(lines):
            self.text(x + w / 2, top + 18 * k, line, "bold" if k == 0 else "normal")

    def text(
        self, x: float, y: float, line: str, weight: str = "normal", at: str = "middle"
    ) -> None:
        """Write a line of text."""
        size = 15 if weight == "bold" else 13
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{at}" font-weight="{weight}" '
            f'font-size="{size}">{escape(line)}</text>'
        )

    def arrow(self, *points: tuple[int, int]) -> None:
        """Draw a line through points, with a head at its end."""
        path = " ".join(f"{x},{y}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="1.5" '
            'marker-end="url(#head)"/>'
        )

    def svg(self) -> str:
        """Return the file's text."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" '
            f'font-family="system-ui, sans-serif" fill="{INK}">'
        )
        marker = (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto">'
            f'<path d="M0 0 8 4 0 8z" fill="{LINE}"/></marker></defs>'
        )
        paper = f'<rect width="{self.width}" height="{self.height}" rx="8" fill="{PAPER}"/>'
        title = f"<title>{escape(self.title)}</title>"
        return "\n".join([head, title, marker, paper, *self.parts, "</svg>"]) + "\n"


def overview() -> Drawing:
    """A model becomes a build, which runtimes run."""
    d = Drawing(860, 300, "A model becomes a build or a user shader")
    for k, line in enumerate(("PyTorch", "Keras", "ONNX")):
        d.box(20, 40 + 80 * k, 110, 56, "model", line)
        d.arrow((130, 68 + 80 * k), (196, 148))
    d.box(200, 112, 140, 72, "step", "shadergen", "compile")
    d.box(
        410, 40, 170, 110, "build", "build", "schedule.json", "shaders, GLSL or WGSL", "weights.bin"
    )
    d.box(410, 200, 170, 70, "build", "user shader", "one .glsl file")
    d.arrow((340, 140), (375, 140), (375, 95), (406, 95))
    d.arrow((340, 156), (375, 156), (375, 235), (406, 235))
    d.box(650, 24, 190, 50, "run", "runtimes", "C++, JavaScript, Python")
    d.box(650, 90, 190, 50, "run", "your renderer")
    d.box(650, 206, 190, 58, "run", "video players", "mpv, FFmpeg, VLC")
    d.arrow((580, 80), (646, 52))
    d.arrow((580, 110), (646, 115))
    d.arrow((580, 235), (646, 235))
    return d


def pipeline() -> Drawing:
    """The stages of the compiler and what passes between them."""
    d = Drawing(860, 250, "The stages of the compiler")
    steps = (
        ("Read", "frontends:|Keras, ONNX"),
        ("Optimise", "folding, fusion,|index maps"),
        ("Place", "precision, layouts,|kernels"),
        ("Lower", "kernels become|shader programs"),
        ("Schedule", "textures, passes,|weights"),
    )
    between = ("graph", "graph", "placed graph", "GPU passes")
    for k, (name, does) in enumerate(steps):
        x = 20 + 168 * k
        d.box(x, 100, 148, 64, "step", name)
        for line, words in enumerate(does.split("|")):
            d.text(x + 74, 186 + 17 * line, words)
        if k < len(between):
            d.arrow((x + 148, 132), (x + 166, 132))
            d.text(x + 158, 90, between[k])
    d.box(20, 20, 148, 44, "model", "model file")
    d.arrow((94, 64), (94, 97))
    d.box(692, 20, 148, 44, "build", "build")
    d.arrow((766, 100), (766, 67))
    d.text(430, 36, "A verifier checks the graph after each pass. The runtime's checks and")
    d.text(430, 54, "glslang or naga see the build before it replaces an earlier one.")
    return d


def packing() -> Drawing:
    """A feature map of six channels in two planes."""
    d = Drawing(860, 250, "A feature map of 6 channels lies in 2 planes")
    d.text(120, 26, "feature map", "bold")
    d.text(120, 44, "1 x 6 x H x W")
    for c in reversed(range(6)):
        x, y = 36 + 16 * c, 200 - 17 * c
        d.parts.append(
            f'<rect x="{x}" y="{y - 40}" width="90" height="60" fill="{FILLS["model"]}" '
            f'stroke="{LINE}"/>'
        )
        d.text(x + 80, y - 26, str(c))
    d.arrow((250, 140), (316, 140))
    lanes = ("red", "green", "blue", "alpha")
    for plane in range(2):
        y = 40 + 104 * plane
        d.text(330, y + 40, f"layer {plane}", "bold", "start")
        for lane in range(4):
            channel = 4 * plane + lane
            text = f"channel {channel}" if channel < 6 else "0"
            d.box(
                420 + 108 * lane, y, 104, 70, "build" if channel < 6 else "step", lanes[lane], text
            )
    d.text(600, 238, "one texel of a layer holds 4 channels of a pixel: a plane is H x W texels")
    return d


def gpu_pass() -> Drawing:
    """What one GPU pass reads and writes."""
    d = Drawing(860, 210, "A GPU pass: textures in, a shader, textures out")
    d.box(20, 24, 170, 56, "model", "textures", "feature maps, planes")
    d.box(20, 92, 170, 44, "build", "weights", "constants, block, texture")
    d.box(20, 148, 170, 44, "build", "uniforms", "sizes, first plane")
    d.box(300, 44, 220, 124, "step", "shader", "prologue: index maps", "kernel: sums of products",
          "epilogue: bias, activation")  # fmt: skip
    for y in (52, 114, 170):
        d.arrow((190, y), (245, y), (245, 106), (296, 106))
    d.arrow((520, 106), (620, 106))
    d.box(624, 44, 216, 56, "model", "fragment stage", "render targets, a plane in each")
    d.box(624, 112, 216, 56, "model", "compute stage", "images, a block of pixels")
    return d


DRAWINGS = {f.__name__.replace("_", "-"): f for f in (overview, pipeline, packing, gpu_pass)}


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), "utf-8")


if __name__ == "__main__":
    main()
