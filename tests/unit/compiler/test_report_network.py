"""The drawing of a network: cards do not overlap, and each texture's way is drawn."""

from __future__ import annotations

import re

import numpy as np
from onnx import helper
from support.cli_models import onnx

from shadergen.compiler.options import Options
from shadergen.compiler.report.content import Content, model_content
from shadergen.compiler.report.network import Drawing, draw


def residual(folder, blocks=3):
    """Return a network whose blocks add their input to a convolution of it."""
    nodes, value = [], "x"
    for k in range(blocks):
        last = k == blocks - 1
        nodes += [
            helper.make_node("Conv", [value, "w"], [f"c{k}"], name=f"a/b{k}/c", pads=[1] * 4),
            helper.make_node("Tanh", [f"c{k}"], [f"t{k}"], name=f"a/b{k}/t"),
            helper.make_node("Conv", [f"t{k}", "w"], [f"d{k}"], name=f"a/b{k}/d", pads=[1] * 4),
            helper.make_node("Add", [f"d{k}", value], ["y" if last else f"y{k}"], name=f"a/b{k}/+"),
        ]
        value = f"y{k}"
    return model_content(onnx(folder, *nodes, w=np.ones((4, 4, 3, 3))), Options())


def ways(content: Content) -> set[tuple[int, int, str]]:
    """Return which card's texture which card reads, from the schedule; the input is card 0."""
    card = {k: n for n, group in enumerate(content.groups, 1) for k in group.passes}
    written = {port["texture"]: {0} for port in content.schedule["inputs"]}
    found = set()
    for k, p in enumerate(content.schedule["passes"]):
        for r in p["reads"]:
            for source in written.get(r["texture"], set()) - {card[k]}:
                found.add((source, card[k], r["texture"]))
        for w in p["writes"]:
            written.setdefault(w["texture"], set()).add(card[k])
    return found


def across(drawing: Drawing) -> list[tuple[float, float, float]]:
    """Return the vertical parts of edges in lanes: x, and from where to where."""
    parts = []
    for edge in drawing.edges:
        if lane := re.fullmatch(r"M\d+ (\d+)H(\d+)q.* \d+V(-?\d+)q.*", edge.path):
            start, x, end = map(int, lane.groups())
            parts.append((x, start, end))
    return parts


def test_each_texture_that_a_card_reads_of_another_has_an_edge(tmp_path):
    content = residual(tmp_path)
    drawing = draw(content)
    assert {(e.source, e.target, e.texture) for e in drawing.edges} == ways(content)
    assert len(drawing.edges) == 9  # of each block: two in a row, and one past a convolution


def test_textures_that_pass_a_card_have_lanes_of_their_own(tmp_path):
    drawing = draw(residual(tmp_path))
    lanes = across(drawing)
    assert len(lanes) == 3
    for x, start, end in lanes:
        assert start < end
        assert x < drawing.width
        assert not [1 for other in lanes if other[0] == x and start < other[1] < end]


def test_cards_lie_below_one_another_inside_the_drawing(tmp_path):
    drawing = draw(residual(tmp_path))
    for above, below in zip(drawing.cards, drawing.cards[1:], strict=False):
        assert above.y + above.height < below.y
    last = drawing.cards[-1]
    assert last.y + last.height < drawing.height


def test_a_folder_that_all_layers_share_is_written_once(tmp_path):
    titles = [card.title for card in draw(residual(tmp_path)).cards]
    assert titles[:3] == ["x", "a/b0/ c, t", "a/b0/ d, +"]
