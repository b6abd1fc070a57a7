"""The page of a report, and its file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...backends.replacing import check_own_file, replace_own_file
from ...errors import count
from ...number_texts import bytes_text, short_text, si_text
from ..html_pages import script_hash, templates
from ..pass_table import COLUMNS, pass_cells
from .details import groups, milliseconds
from .highlighting import highlighted, lexer
from .memory import HEIGHT, memory_bars, weight_texture_bytes
from .network import BASELINE, LEFT, WIDTH, draw

if TYPE_CHECKING:
    from pathlib import Path

    from ..estimation import FrameEstimate
    from .content import Content

MADE = b'<meta name="generator" content="shadergen '  # in files from shadergen
HELP = "name a file with -o, for example -o report.html"
INSET = 10  # pixels between the edge of a card and its texts
BAR = WIDTH - 2 * INSET  # pixels of the bar in a card that does all the work


def check_report_file(output: Path) -> None:
    """Refuse to write over a file that is neither an earlier report nor empty.

    Raises:
        ShadergenError: SG0501.
    """
    check_own_file(output, MADE, "report", HELP)


def write_report(content: Content, output: Path) -> None:
    """Write a report, or leave an earlier one as it is.

    Raises:
        ShadergenError: SG0501; SG0606 when Pygments is missing.
    """
    replace_own_file(output, html(content), MADE, "report", HELP)


def html(content: Content) -> str:
    """Return a report as one HTML page.

    Raises:
        ShadergenError: SG0606 when Pygments is missing.
    """
    script = templates().get_template("report.js.j2").render()
    language = lexer(wgsl=content.found.wgsl is not None)
    weights = weight_texture_bytes(content.schedule)
    allocated = content.found.texture_bytes_peak - weights
    bars = memory_bars(content.schedule, allocated)
    page = templates().get_template("report.html.j2")
    return page.render(
        version=__version__,
        script=script,
        script_hash=script_hash(script),
        title=content.title,
        facts=_facts(content),
        notes=(*content.found.sizes, *content.notes),
        drawing=draw(content),
        card={
            "left": LEFT,
            "width": WIDTH,
            "text": LEFT + INSET,
            "end": LEFT + WIDTH - INSET,
            "title": BASELINE,
            "bar": BAR,
        },
        groups=groups(content, BAR),
        bars=bars,
        allocated=allocated,
        shares=not content.found.hook,
        weight_textures=weights,
        bar_height=HEIGHT,
        last_pass=len(bars) - 1,
        most_live=max(bar.live for bar in bars),
        frames=_frames(content.found.estimates),
        decisions=content.decisions,
        columns=COLUMNS,
        passes=_passes(content),
        shaders=[highlighted(text, language) for text in content.shaders.values()],
    )


def _facts(content: Content) -> list[tuple[str, str]]:
    """Return the figures at the top of the page."""
    found = content.found
    weights = bytes_text(found.weight_bytes) if found.weight_bytes else "in the shaders"
    memory = f"{bytes_text(found.texture_bytes_peak)} of textures"
    if not found.hook:
        memory += f", {bytes_text(found.texture_bytes_total)} without sharing"
    facts = [
        ("GPU passes", f"{len(found.passes)} for {count(len(content.groups), 'group')} of layers"),
        ("multiply-adds", si_text(found.macs)),
        ("memory", memory),
        ("weights", weights),
        ("shaders", f"{len(content.shaders)}, {_language(content)}"),
        ("inputs and outputs", f"{', '.join(found.inputs)} → {', '.join(found.outputs)}"),
    ]
    if found.variants or content.variant:
        others = ", ".join(found.variants)
        facts.append(("variant", content.variant or f"generic build; others: {others}"))
    if found.calibrated:
        facts.append(("16-bit by calibration", ", ".join(found.calibrated)))
    return facts


def _language(content: Content) -> str:
    if content.found.hook:
        return content.found.language
    if content.found.glsl:
        version = f"{content.found.glsl / 100:.1f}"
        return f"GLSL ES {version}"
    return "WGSL with shader-f16" if content.found.wgsl == "f16" else "WGSL"


def _frames(frames: tuple[FrameEstimate, ...]) -> list[dict[str, Any]]:
    """Return the table of GPUs, with logarithmic bars: times of phones and desktops differ much."""
    times = [frame.milliseconds for frame in frames if frame.milliseconds > 0] or [1.0]
    least = math.floor(math.log10(min(times))) - 0.5  # the start of all bars
    span = math.log10(max(times)) - least
    return [
        {
            "gpu": frame.gpu,
            "system": frame.system,
            "milliseconds": short_text(frame.milliseconds),
            "uncached": short_text(frame.milliseconds_uncached),
            "limits": ", ".join(f"{unit} {share:.0%}" for unit, share in frame.limits.items()),
            "percent": round(
                100 * (math.log10(max(frame.milliseconds, min(times))) - least) / span, 2
            ),
        }
        for frame in frames
    ]


def _passes(content: Content) -> list[dict[str, Any]]:
    """Return the rows of the table of passes."""
    group_of = {k: n for n, group in enumerate(content.groups) for k in group.passes}
    return [
        {
            "group": group_of[k],
            "cells": pass_cells(p),
            "milliseconds": milliseconds([k], content.found.estimates),
        }
        for k, p in enumerate(content.found.passes)
    ]
