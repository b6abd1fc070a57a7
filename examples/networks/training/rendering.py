"""Pictures with text of known place: words drawn in many fonts over photographs.

Text is drawn on a transparent layer, alone or on a plate like a sign's. The layer is seen in
perspective and laid over a photograph. The boxes of the lines of text, seen in the same
perspective, are the label. Lines, grids, blobs and empty plates are drawn without a label.
"""

import string
from pathlib import Path

import numpy as np
from patches import LUMA, with_jpeg, with_noise
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SMALLEST, LARGEST = 9, 64  # of a font, in pixels
LETTERS = (  # about as frequent as in English
    "eeeeeeeeeeeetttttttttaaaaaaaaoooooooiiiiiiinnnnnnsssssshhhhhhrrrrrrddddllll"
    "ccuummwwffggyyppbbvk"
)
WORDS = [
    *("the", "of", "and", "to", "in", "is", "open", "closed", "exit", "stop", "sale", "new", "no"),
    *("parking", "hotel", "bar", "cafe", "street", "road", "bus", "station", "please", "do", "not"),
    *("enter", "danger", "private", "welcome", "only", "free", "school", "police", "books", "room"),
]


class Renderer:
    """Draws random text and other shapes over pictures."""

    def __init__(self, fonts: list[Path], seed: int) -> None:
        self.fonts = fonts
        self.rng = np.random.default_rng(seed)

    def render(self, photograph: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the photograph with text, uint8 (H, W, 3), and the label, uint8 0 or 1 (H, W)."""
        rng = self.rng
        picture = Image.fromarray(photograph)
        label = Image.new("L", picture.size)
        for _ in range(rng.choice(4, p=(0.3, 0.4, 0.2, 0.1))):
            self._lay(picture, None, self._shape())
        for _ in range(rng.choice(5, p=(0.12, 0.38, 0.28, 0.14, 0.08))):
            self._lay(picture, label, self._text(float((photograph @ LUMA).mean())))
        if rng.random() < 0.3:
            picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 1.2)))
        pixels = np.asarray(picture)
        if rng.random() < 0.5:
            light, contrast = rng.uniform(-30, 30), rng.uniform(0.6, 1.2)
            pixels = ((pixels - 128.0) * contrast + 128 + light).clip(0, 255).astype(np.uint8)
        if rng.random() < 0.4:
            pixels = with_noise(pixels, rng.uniform(0, 12), rng)
        if rng.random() < 0.5:
            pixels = with_jpeg(pixels, int(rng.integers(40, 96)))
        return pixels, (np.asarray(label) > 127).astype(np.uint8)

    def _lay(self, picture: Image.Image, label: Image.Image | None, drawn: "Drawn") -> None:
        """Lay a drawing over the picture in random perspective; its boxes over the label."""
        rng = self.rng
        width, height = drawn.layer.size
        place = rng.uniform((-0.3 * width, -0.3 * height), np.array(picture.size) * 0.9)
        corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], float)
        angle = rng.normal(0, 0.12) + (np.pi / 2) * (rng.random() < 0.05)
        turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
        bent = corners + rng.normal(0, 0.06, (4, 2)) * (width, height) * rng.choice((0, 1))
        bent[:, 0] += bent[:, 1] * rng.normal(0, 0.15)  # slanted
        quad = (bent - (width / 2, height / 2)) @ turn.T + (width / 2, height / 2) + place
        backward = _perspective(quad, corners)
        warp = (picture.size, Image.Transform.PERSPECTIVE, backward)
        layer = drawn.layer.transform(*warp, Image.Resampling.BICUBIC)
        picture.paste(layer.convert("RGB"), mask=layer.getchannel("A"))
        if label is not None:
            boxes = drawn.boxes.transform(*warp, Image.Resampling.BILINEAR)
            label.paste(255, mask=boxes)

    def _text(self, behind: float) -> "Drawn":
        """Return lines of text, alone or on a plate; ``behind`` is the luma of the photograph."""
        rng = self.rng
        size = int(np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST))))
        font = ImageFont.truetype(self.fonts[rng.integers(len(self.fonts))], size)
        lines = [
            self._line(size) for _ in range(rng.choice((1, 2, 3, 5), p=(0.55, 0.2, 0.15, 0.1)))
        ]
        stroke = int(size > 16 and rng.random() < 0.15)
        boxes = [font.getbbox(line, stroke_width=stroke) for line in lines]
        gap = int(size * rng.uniform(1.05, 1.5))
        margin = int(size * rng.uniform(0.2, 0.8)) + 2
        width = max(b[2] for b in boxes) + 2 * margin
        height = gap * (len(lines) - 1) + boxes[-1][3] + 2 * margin
        plate = rng.random() < 0.45
        ink, ground = self._colours(None if plate else behind)
        drawn = Drawn(width, height, ground if plate else ink)
        if plate:
            drawn.plate(ground, rng)
        opacity = int(rng.uniform(150, 256)) if rng.random() < 0.2 else 255
        shadow = not plate and rng.random() < 0.25
        for i, (line, box) in enumerate(zip(lines, boxes, strict=True)):
            at = (margin, margin + i * gap)
            if rng.random() < 0.3:  # centred
                at = ((width - box[2]) // 2, at[1])
            if shadow:
                drawn.draw.text(
                    (at[0] + 1 + size // 24, at[1] + 1 + size // 24), line, ground, font
                )
            drawn.draw.text(
                at, line, (*ink, opacity), font, stroke_width=stroke,
                stroke_fill=ground if rng.random() < 0.5 else ink,
            )  # fmt: skip
            pad = max(1, size // 10)
            drawn.mark((at[0] + box[0] - pad, at[1] + box[1] - pad,
                        at[0] + box[2] + pad, at[1] + box[3] + pad))  # fmt: skip
        return drawn

    def _line(self, size: int) -> str:
        rng = self.rng
        words = [self._word() for _ in range(rng.integers(1, 3 if size > 24 else 6))]
        line = " ".join(words)
        return (line.upper, line.lower, line.title, line.capitalize)[rng.integers(4)]()

    def _word(self) -> str:
        rng = self.rng
        kind = rng.random()
        if kind < 0.3:
            return str(rng.choice(WORDS))
        if kind < 0.45:
            digits = "".join(rng.choice(list(string.digits), rng.integers(1, 6)))
            return digits if rng.random() < 0.7 else digits + str(rng.choice(list(":.,-/%€$")))
        letters = LETTERS if kind < 0.8 else string.ascii_lowercase
        return "".join(rng.choice(list(letters), rng.integers(1, 10)))

    def _colours(self, behind: float | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return colours of ink and ground that differ enough to be read, also from ``behind``."""
        while True:
            ink, ground = self.rng.integers(0, 256, (2, 3))
            if self.rng.random() < 0.4:  # grey, as most text is
                ink, ground = (np.full(3, c[0]) for c in (ink, ground))
            light = float(ink @ LUMA)
            if abs(light - float(ground @ LUMA)) > 70 and (
                behind is None or abs(light - behind) > 60
            ):
                return tuple(map(int, ink)), tuple(map(int, ground))

    def _shape(self) -> "Drawn":
        """Return something that is drawn and is no text."""
        rng = self.rng
        width, height = map(int, np.exp(rng.uniform(np.log(12), np.log(120), 2)))
        ink, ground = self._colours()
        drawn = Drawn(width, height, ink)
        kind = rng.integers(6)
        line = int(rng.integers(1, 6))
        if kind == 0:  # an empty plate
            drawn.plate(ground, rng)
        elif kind == 1:  # a grid, as of windows
            step = int(rng.integers(4, 16)) + line
            for x in range(0, width, step):
                drawn.draw.line((x, 0, x, height), ink, line)
            for y in range(0, height, step) if rng.random() < 0.6 else ():
                drawn.draw.line((0, y, width, y), ink, line)
        elif kind == 2:  # a curve
            points = rng.uniform(0, (width, height), (int(rng.integers(3, 9)), 2))
            drawn.draw.line([tuple(p) for p in points], ink, line, joint="curve")
        elif kind == 3:  # blobs
            for x, y in rng.uniform(0, (width, height), (int(rng.integers(1, 12)), 2)):
                r = rng.uniform(1, 8)
                drawn.draw.ellipse((x - r, y - r, x + r, y + r), ink)
        elif kind == 4:  # a polygon
            points = rng.uniform(0, (width, height), (int(rng.integers(3, 6)), 2))
            drawn.draw.polygon([tuple(p) for p in points], ink)
        else:  # rings
            drawn.draw.ellipse((line, line, width - line, height - line), outline=ink, width=line)
        return drawn


class Drawn:
    """A transparent layer with a drawing, and the boxes of its text."""

    def __init__(self, width: int, height: int, colour: tuple[int, ...]) -> None:
        # Transparent pixels have the drawing's colour, which its soft edges then keep.
        self.layer = Image.new("RGBA", (width, height), (*colour, 0))
        self.boxes = Image.new("L", (width, height))
        self.draw = ImageDraw.Draw(self.layer)

    def plate(self, colour: tuple[int, ...], rng: np.random.Generator) -> None:
        """Fill the layer, with round corners at times."""
        width, height = self.layer.size
        radius = min(width, height) * rng.choice((0, 0.15, 0.4))
        self.draw.rounded_rectangle((0, 0, width - 1, height - 1), radius, (*colour, 255))

    def mark(self, box: tuple[float, float, float, float]) -> None:
        """Add the box of a line to the label."""
        ImageDraw.Draw(self.boxes).rectangle(box, 255)


def _perspective(source: np.ndarray, target: np.ndarray) -> tuple[float, ...]:
    """Return the eight coefficients that map four source points to four target points."""
    rows, values = [], []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return tuple(np.linalg.solve(np.array(rows), np.array(values)))
