"""Write the gallery, a page on which all shipped networks run, and the pictures of the documents.

    make gallery                                # writes .build/gallery
    python tools/make_gallery.py -o site
    python -m http.server -d .build/gallery     # any server of static files will do

``examples/gallery.json`` lists the networks. An entry names:

    model        the file, whose folder has a README.md with a section "Results": the figures
    title, text  for the page
    photograph   of skimage.data; the network was not trained on it
    damage       what is done to the photograph first: a name in DAMAGES
    detail       what the documents show: left, upper, right and lower pixel of the damaged picture
    size         optional: --input-size, by default dynamic

This is a tool and no command of ``shadergen``: the networks and photographs are not in its package.
The documents get ``docs/gallery/NAME.jpg`` and ``docs/gallery/gallery.webp``.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import skimage.data
from markdown_it import MarkdownIt
from markupsafe import Markup
from PIL import Image, ImageChops, ImageDraw, ImageFont

import shadergen
from shadergen.compiler.serving import HOME, copy_build, networks_of, write_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "examples" / "gallery.json"
DOCUMENTS = ROOT / "docs" / "gallery"
BROWSERS = "webgl2-min,webgpu"
PAGES = {"index.html": "gallery.html.j2", "viewer.html": HOME, "compare.html": "compare.html.j2"}
CREDITS = "scikit-image (chelsea, coffee: CC0; astronaut: NASA, public domain)"
FIGURES = "Results"  # the section of a README
WIDTH, HEIGHT = 640, 400  # of a document's picture
ANIMATED = (480, 300)
FRAMES, STEADY = 20, 4  # of each network in the animation: all, and those with the line at rest
MILLISECONDS = 80  # of a frame


def halved(picture: Image.Image) -> Image.Image:
    """Return a picture of half the size."""
    width, height = (side // 2 for side in picture.size)
    even = picture.crop((0, 0, 2 * width, 2 * height))
    return even.resize((width, height), Image.Resampling.BICUBIC)


def noisy(picture: Image.Image) -> Image.Image:
    """Return a picture with the noise of a dark room."""
    noise = np.random.default_rng(1).normal(0, 12, (*picture.size[::-1], 3))
    return Image.fromarray((np.asarray(picture) + noise).clip(0, 255).round().astype(np.uint8))


def labelled(picture: Image.Image) -> Image.Image:
    """Return a picture with three lines of text: level, tilted and small."""
    labelled = picture.copy()
    lines = ((36, 0, "white", (24, 18), "Two shots, no sugar"),
             (26, 12, "#ffe9b0", (330, 300), "Table 7, please"),
             (15, 0, "white", (28, 336), "open daily from 8 to 18"))  # fmt: skip
    for size, angle, colour, place, text in lines:
        font = ImageFont.load_default(size)
        mask = Image.new("L", tuple(font.getbbox(text)[2:]))
        ImageDraw.Draw(mask).text((0, 0), text, 255, font)
        mask = mask.rotate(angle, Image.Resampling.BICUBIC, expand=True)
        labelled.paste(colour, place, mask)
    return labelled


DAMAGES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "halved": halved,
    "noisy": noisy,
    "labelled": labelled,
}


@dataclass(frozen=True)
class Entry:
    """A network of the gallery."""

    model: Path
    title: str
    text: str
    photograph: str
    damage: str
    detail: tuple[int, int, int, int]
    size: str = "dynamic"

    @property
    def name(self) -> str:
        return self.model.stem.removesuffix("_x2")

    @cached_property
    def before(self) -> Image.Image:
        """The picture that the network gets."""
        photograph = Image.fromarray(getattr(skimage.data, self.photograph)())
        return DAMAGES[self.damage](photograph.convert("RGB"))

    @cached_property
    def after(self) -> Image.Image:
        """The network's result, from its shaders on the GPU at hand."""
        height, width = self.before.height, self.before.width
        build = shadergen.compile_model(ROOT / self.model, input_size=f"{height}x{width}")
        result = build(self.before)
        if isinstance(result, Image.Image):
            return result
        return Image.fromarray((result.clip(0, 1) * 255).round().astype(np.uint8))  # a map

    @property
    def figures(self) -> tuple[Markup, Markup]:
        """The README's table of figures as HTML, and the rest; empty without a README.

        Of a table with a row in bold, only this row is in the first; the whole is in the rest.
        """
        path = ROOT / self.model.parent / "README.md"
        if not path.exists():
            return Markup(), Markup()
        _, found, rest = path.read_text(encoding="utf-8").partition(f"\n## {FIGURES}\n")
        if not found:
            sys.exit(f"{self.model.parent}/README.md has no section '{FIGURES}'")
        return _table_and_rest(rest.partition("\n## ")[0])

    def commands(self) -> Iterator[str]:
        """Yield what makes and shows this network's build."""
        compiling = ("compile", self.model.as_posix(), "-o", self.name, "--input-size", self.size)
        yield shlex.join(("shadergen", *compiling, "--device", BROWSERS))
        yield shlex.join(("shadergen", "serve", self.name))


def _table_and_rest(section: str) -> tuple[Markup, Markup]:
    """Return the first table of a Markdown text as HTML, or its rows in bold, and the rest."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(section)
    kinds = [token.type for token in tokens]
    first, last = kinds.index("table_open"), kinds.index("table_close") + 1
    body = kinds.index("tbody_open")
    rows = [i for i in range(body, last) if kinds[i] == "tr_open"]
    spans = [(i, kinds.index("tr_close", i) + 1) for i in rows]
    bold = [span for span in spans if tokens[span[0] + 2].content.startswith("**")]
    shown = [i for span in bold or spans for i in range(*span)]
    table = [*tokens[first : body + 1], *(tokens[i] for i in shown), *tokens[last - 2 : last]]
    rest = tokens if bold else tokens[:first] + tokens[last:]

    def html(part: list[Token]) -> Markup:
        text = markdown.renderer.render(part, markdown.options, {})
        return Markup(text.replace("<th></th>", "<td></td>"))  # an empty heading heads nothing

    return html(table), html(rest)


def entries() -> list[Entry]:
    """Return the networks of the list."""
    listed = json.loads(LIST.read_text(encoding="utf-8"))
    return [Entry(**{**entry, "model": Path(entry["model"])}) for entry in listed]


def write_gallery(networks: list[Entry], site: Path) -> None:
    """Write the page, the runtime, the builds and the pictures to a new folder."""
    with tempfile.TemporaryDirectory() as made:
        builds = [Path(made, entry.name) for entry in networks]
        for entry, build in zip(networks, builds, strict=True):
            print(f"{entry.name}: compiling for browsers", flush=True)
            options = {"input_size": entry.size, "device": BROWSERS}
            shadergen.compile_model(ROOT / entry.model, build, **options)
        listed = networks_of(builds)
        (site / "pictures").mkdir(parents=True)
        for build, network in zip(builds, listed, strict=True):
            copy_build(build, site / network["url"])
    (site / "networks.json").write_text(json.dumps(listed, indent=1), encoding="utf-8")
    cards = [_card(*pair, site) for pair in zip(networks, listed, strict=True)]
    values = {"networks": cards, "credits": CREDITS, "version": shadergen.__version__}
    write_pages(site, PAGES, **values)


def _card(entry: Entry, network: dict[str, Any], site: Path) -> dict[str, Any]:
    """Write the pictures of a network; return what the page says of it."""
    print(f"{entry.name}: running on a photograph", flush=True)
    before, after = (f"pictures/{entry.name}-{name}.png" for name in ("before", "after"))
    entry.before.save(site / before, optimize=True)
    entry.after.save(site / after, optimize=True)
    figures, more = entry.figures
    return {
        "name": entry.name,
        "title": entry.title,
        "text": entry.text,
        "url": network["url"],
        "kind": network["kind"],
        "before": before,
        "after": after,
        "size": entry.after.size,
        "alt": f"the photograph {entry.photograph}, {entry.damage}",
        "figures": figures,
        "more": more,
        "commands": list(entry.commands()),
    }


def details(entry: Entry) -> tuple[Image.Image, Image.Image]:
    """Return a detail of a picture before and after, both in the documents' size."""
    after = entry.after.convert("RGB")
    before = entry.before.resize(after.size, Image.Resampling.BICUBIC)
    if entry.after.mode == "L":  # a map, as the page has it: the picture, dark where the map is
        dimmed = after.point(lambda value: 51 + 4 * value // 5)
        after = ImageChops.multiply(before, dimmed)
    factor = after.width / entry.before.width
    box = tuple(round(side * factor) for side in entry.detail)
    return _filled(before.crop(box)), _filled(after.crop(box))


def _filled(part: Image.Image) -> Image.Image:
    """Return a picture enlarged and cropped to the size of the documents' pictures."""
    scale = max(WIDTH / part.width, HEIGHT / part.height)
    size = (round(part.width * scale), round(part.height * scale))
    large = part.resize(size, Image.Resampling.BICUBIC)
    left, upper = ((a - b) // 2 for a, b in zip(size, (WIDTH, HEIGHT), strict=True))
    return large.crop((left, upper, left + WIDTH, upper + HEIGHT))


def divided(before: Image.Image, after: Image.Image, at: int) -> Image.Image:
    """Return a picture with a line at a column: before to its left, after to its right."""
    picture = after.copy()
    picture.paste(before.crop((0, 0, at, HEIGHT)), (0, 0))
    ImageDraw.Draw(picture).rectangle((at - 1, 0, at, HEIGHT), fill="white")
    return picture


def write_pictures(networks: list[Entry], folder: Path) -> None:
    """Write a picture of each network, and an animation of all."""
    folder.mkdir(parents=True, exist_ok=True)
    frames = []
    for entry in networks:
        print(f"{entry.name}: drawing the documents' pictures", flush=True)
        before, after = details(entry)
        divided(before, after, WIDTH // 2).save(folder / f"{entry.name}.jpg", quality=88)
        steps = np.linspace(0, 2 * np.pi, FRAMES - STEADY, endpoint=False)
        places = [WIDTH // 2] * STEADY + [round(WIDTH * (0.5 + 0.45 * np.sin(s))) for s in steps]
        frames += [divided(before, after, place).resize(ANIMATED) for place in places]
    animated = folder / "gallery.webp"
    frames[0].save(
        animated, save_all=True, append_images=frames[1:], duration=MILLISECONDS, loop=0, quality=45
    )


def main() -> int:
    """Write all of it."""
    parser = argparse.ArgumentParser(description="Write the gallery and the documents' pictures.")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / ".build" / "gallery")
    site = parser.parse_args().output
    if site.exists():
        if not (site / "networks.json").is_file():
            parser.error(f"{site} exists and is no gallery")
        shutil.rmtree(site)
    networks = entries()
    write_gallery(networks, site)
    write_pictures(networks, DOCUMENTS)
    print(f"{site}: {len(networks)} networks; see it with: python -m http.server -d {site}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
