"""What a notebook shows of a compiled model: its GPU passes, and their shaders."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .inspection import inspect_build
from .pass_table import COLUMNS, pass_cells
from .size_texts import at_defaults

if TYPE_CHECKING:
    from .compiled_model import CompiledModel


def html(compiled: CompiledModel) -> str:
    """Return a table of the GPU passes, each with its shader to unfold."""
    if compiled.user_shader is not None:
        return _unfolded("user shader", compiled.user_shader.text)
    found = inspect_build(compiled.build)
    sources = compiled.files.shaders
    steps = at_defaults(compiled.files.schedule)["passes"]
    rows = "".join(
        _row(pass_cells(row), sources[p["shader"]])
        for row, p in zip(found.passes, steps, strict=True)
    )
    title = f"{found.model}: {', '.join(found.inputs)} to {', '.join(found.outputs)}"
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    return f"<p>{escape(title)}</p><table><tr>{head}</tr>{rows}</table>"


def _row(cells: tuple[str, ...], source: str) -> str:
    name, *others = cells
    texts = "".join(f"<td>{escape(cell)}</td>" for cell in others)
    return f"<tr><td>{_unfolded(name, source)}</td>{texts}</tr>"


def _unfolded(name: str, source: str) -> str:
    return f"<details><summary>{escape(name)}</summary><pre>{escape(source)}</pre></details>"
