"""The network as a drawing, in pixels: a card for each group of layers, from top to bottom.

A card has a title and a line for each step: its kernel, and the texture that it writes. A texture
that the next card reads is an arrow down. Other textures leave at the right of their line, run down
in a lane of their own, and enter the cards that read them. Lanes of short ways lie inside.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ...records import dataclass
from ..inspection import stacked_planes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .content import Content, Group, Step

WIDTH, LEFT, TOP = 430, 8, 8  # of cards, and the space around them
TITLE, LINE, PADDING, GAP = 24, 17, 8, 22  # heights
BASELINE = 17  # of the title
LANES, WIDEST = 190, 11  # room for all lanes, and the most between two
TITLE_CHARS, KERNEL_CHARS = 53, 38  # that fit in a card
RADIUS = 6
ENTRY, ENTRIES = 7, 3  # between arrows into one card, and how many have a place of their own


@dataclass(frozen=True)
class Line:
    """A line of a card: what computes, and what comes of it; ``y`` is its middle."""

    y: int
    kernel: str
    texture: str

    @property
    def text_y(self) -> int:
        """The baseline of the texts."""
        return self.y + 4


@dataclass(frozen=True)
class Card:
    """A group of layers, or an input (``group`` is None)."""

    group: int | None
    y: int
    height: int
    title: str
    label: str
    lines: tuple[Line, ...]

    @property
    def bar_y(self) -> int:
        """The top of the bar at the lower edge."""
        return self.y + self.height - 5


@dataclass(frozen=True)
class Edge:
    """A texture's way to a card that reads it, as an SVG path.

    ``source`` and ``target`` are positions of cards.
    """

    source: int
    target: int
    texture: str
    path: str


@dataclass(frozen=True)
class Drawing:
    """The drawing: its size, cards and edges."""

    width: int
    height: int
    cards: tuple[Card, ...]
    edges: tuple[Edge, ...]


def draw(content: Content) -> Drawing:
    """Lay out the network."""
    textures = {t["name"]: t for t in content.schedule["textures"]}
    cards: list[Card] = []
    y = TOP
    for port in content.schedule["inputs"]:
        texture = texture_text(textures[port["texture"]])
        name = port["name"]
        line = Line(y + TITLE + LINE // 2, "input", texture)
        label = f"input {name}, {texture}"
        cards.append(Card(None, y, _height(1), _end(name, TITLE_CHARS), label, (line,)))
        y += _height(1) + GAP
    inputs = len(cards)
    for k, group in enumerate(content.groups):
        cards.append(_card(k, group, y, textures))
        y += cards[-1].height + GAP
    ways = _ways(content, cards, inputs)
    lanes = _lanes(ways, cards)
    count = max(lanes.values(), default=-1) + 1
    apart = min(WIDEST, LANES // count) if count else 0
    edges = _edges(ways, cards, lanes, apart)
    width = LEFT + WIDTH + (GAP + count * apart if count else LEFT)
    return Drawing(width, y - GAP + TOP, tuple(cards), edges)


def texture_text(t: Mapping[str, Any]) -> str:
    """Return a texture's tensor and format: ``64x56x56 rgba32f`` (channels x height x width)."""
    if t["packing"] == "planes":
        batch = f"{t['batch']}x" if t["batch"] != 1 else ""
        return f"{batch}{t['channels']}x{t['height']}x{t['width']} {t['format']}"
    if "stacked" in t:
        return f"{t['stacked']}x{t['height'] // stacked_planes(t)}x{t['width']} {t['format']}"
    return f"{t['batch']} row{'s' * (t['batch'] != 1)} of {t['channels']} {t['format']}"


def group_title(group: Group) -> str:
    """Return what a group is called: its layers, or the texture it writes."""
    return ", ".join(group.layers) or ", ".join(group.steps[-1].writes)


def _short_title(group: Group) -> str:
    """Return a title that fits in a card.

    A folder that all names share is written once. If that is too long, only the first layer is
    named; what is still too long loses its start, for names differ at their ends.
    """
    first, *others = names = group.layers or group.steps[-1].writes
    folders = [name.split("/")[:-1] for name in names]
    shared = takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))
    folder = "".join(f"{parts[0]}/" for parts in shared).removeprefix("/")
    folder = f"/{folder}" if folder and first.startswith("/") else folder
    rest = ", ".join(name[len(folder) :] for name in names)
    title = f"{folder} {rest}" if folder and others else folder + rest
    if len(title) <= TITLE_CHARS or not others:
        return _end(title, TITLE_CHARS)
    more = f" +{len(others)}"
    return _end(first, TITLE_CHARS - len(more)) + more


def _end(title: str, most: int) -> str:
    return title if len(title) <= most else f"…{title[1 - most :]}"


def _height(lines: int) -> int:
    return TITLE + lines * LINE + PADDING


def _card(number: int, group: Group, y: int, textures: Mapping[str, Any]) -> Card:
    lines = tuple(
        Line(y + TITLE + LINE // 2 + k * LINE, _kernel_text(step), _written(step, textures))
        for k, step in enumerate(group.steps)
    )
    title = group_title(group)
    passes = len(group.passes)
    label = f"{title}: {passes} GPU pass{'es' * (passes != 1)}, {', '.join(_kernels(group))}"
    return Card(number, y, _height(len(lines)), _short_title(group), label, lines)


def _kernels(group: Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(step.kernel for step in group.steps))


def _kernel_text(step: Step) -> str:
    times = len(step.passes)
    many = f" ×{times}" if times > 1 else ""
    most = KERNEL_CHARS - len(many)
    name = step.kernel if len(step.kernel) <= most else f"{step.kernel[: most - 1]}…"
    return name + many


def _written(step: Step, textures: Mapping[str, Any]) -> str:
    first, *others = step.writes
    more = f" +{len(others)}" if others else ""
    return texture_text(textures[first]) + more


Source = tuple[int, int]  # a card, and a line of it


def _ways(content: Content, cards: list[Card], inputs: int) -> dict[tuple[Source, str], list[int]]:
    """Return which cards read a texture, by the line that writes it; not the card itself."""
    writers: dict[str, list[Source]] = {}
    for k, port in enumerate(content.schedule["inputs"]):
        writers[port["texture"]] = [(k, 0)]
    ways: dict[tuple[Source, str], list[int]] = {}
    for k, group in enumerate(content.groups, inputs):
        for line, step in enumerate(group.steps):
            for name in step.reads:
                for source in writers.get(name, ()):
                    readers = ways.setdefault((source, name), [])
                    if source[0] != k and k not in readers:
                        readers.append(k)
            for name in step.writes:
                if name in step.reads and not group.layers:
                    writers[name] = []  # a copy of what a player hands over replaces it
                writers.setdefault(name, []).append((k, line))
    return {way: readers for way, readers in ways.items() if readers}


def _is_straight(source: Source, target: int, cards: list[Card]) -> bool:
    """Whether a texture goes straight down: from a card's last line to the next card."""
    card, line = source
    return target == card + 1 and line == len(cards[card].lines) - 1


def _lanes(ways: dict[tuple[Source, str], list[int]], cards: list[Card]) -> dict[Any, int]:
    """Return the lanes of textures that do not only go straight down, short ways first."""
    spans = {}
    for way, readers in ways.items():
        (card, line), _ = way
        if any(not _is_straight(way[0], target, cards) for target in readers):
            spans[way] = cards[card].lines[line].y, cards[readers[-1]].y + TITLE
    taken: list[list[tuple[int, int]]] = []
    lanes = {}
    for way, (start, end) in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        free = (k for k, used in enumerate(taken) if all(end < a or b < start for a, b in used))
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((start, end))
        lanes[way] = lane
    return lanes


def _edges(
    ways: dict[tuple[Source, str], list[int]],
    cards: list[Card],
    lanes: dict[Any, int],
    apart: int,
) -> tuple[Edge, ...]:
    edges = []
    entries = dict.fromkeys(range(len(cards)), 0)
    right = LEFT + WIDTH
    for way, readers in ways.items():
        source, texture = way
        card, line = source
        for target in readers:
            to = cards[target].y
            if _is_straight(source, target, cards):
                x = LEFT + WIDTH // 2
                path = f"M{x} {cards[card].y + cards[card].height}V{to - 2}"
            else:
                start = cards[card].lines[line].y
                end = to + PADDING + ENTRY * min(entries[target], ENTRIES - 1)
                entries[target] += 1
                x = right + GAP // 2 + lanes[way] * apart + RADIUS
                path = (
                    f"M{right} {start}H{x - RADIUS}q{RADIUS} 0 {RADIUS} {RADIUS}V{end - RADIUS}"
                    f"q0 {RADIUS} {-RADIUS} {RADIUS}H{right + 3}"
                )
            edges.append(Edge(card, target, texture, path))
    return tuple(edges)
