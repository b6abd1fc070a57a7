"""Reports read back: the texts, links and shaders of a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = ("meta", "img", "input", "link", "br", "wbr")


@dataclass
class Element:
    """An element of a page, with those inside it."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements inside of a tag and with these attributes, in order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                is_one = child.tag == tag
                if is_one and all(child.attributes.get(k) == v for k, v in attributes.items()):
                    found.append(child)
                found += child.all(tag, **attributes)
        return found

    def one(self, tag: str, **attributes: str) -> Element:
        (element,) = self.all(tag, **attributes)
        return element

    def rows(self) -> list[list[str]]:
        """Return the texts of a table's body."""
        (body,) = self.all("tbody")
        cells = ("td", "th")
        return [
            [c.text for c in row.children if isinstance(c, Element) and c.tag in cells]
            for row in body.all("tr")
        ]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read_page(path: Path) -> Element:
    """Read a page, whose elements must be closed where they should."""
    reader = _Reader()
    reader.feed(path.read_text("utf-8"))
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> is not closed"
    return reader.open[0]
