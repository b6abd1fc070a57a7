"""The implemented operators, layers and functions, from the tables of frontends and IR."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import ShadergenError
from ..ir.formulas import summary
from ..records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROLE = re.compile(r":\w+:`([^`]*)`")  # of Sphinx, as in :class:`Reduce`
LEAVE = (
    "end the model before the operator with --outputs NAME,... and run the operator in the "
    "application"
)
SHORT = 6  # letters of a name: with few letters, half of them are easily alike
LIKENESS, SHORT_LIKENESS = 0.65, 0.85  # of near names, as difflib measures it
DEFINE = (
    "if formulas and operators can express NAME, define NAME with --define FILE; FILE holds a line "
    "like: NAME(x) = x * sigmoid(x)\nsee docs/expressions.md"
)


@dataclass(frozen=True)
class Entry:
    """One operator, layer or function.

    Attributes:
        source: where it comes from: "onnx" and the domain's name, "keras layer", ..., "ir",
            "formula" of a definition, or "pytorch", whose networks arrive as ONNX.
        name: as the source spells it.
        summary: what it does and within which limits, where the table's entry says so.
    """

    source: str
    name: str
    summary: str


def entries() -> Iterator[Entry]:
    """Yield everything that is implemented, source by source."""
    from onnx import defs

    from ..ir.formulas import FORMULAS, body, signature
    from ..ir.ops import OPS
    from .frontends.keras.layers.named_activations import ACTIVATIONS, OVER_AN_AXIS
    from .frontends.keras.layers.recurrent_cells import CELLS
    from .frontends.keras.layers.table import LAYERS
    from .frontends.keras.ops.table import OPERATIONS
    from .frontends.onnx.folding.by_numpy import COMPUTED
    from .frontends.onnx.folding.by_onnx_reference import EVALUATED
    from .frontends.onnx.ops.pytorch_names import PYTORCH
    from .frontends.onnx.ops.table import DOMAINS

    for domain, operators in DOMAINS.items():
        yield from _table(f"onnx {domain or 'ai.onnx'}", operators)
    known = set(DOMAINS[""])
    for name in sorted({*COMPUTED, *EVALUATED} - known):
        yield Entry("onnx ai.onnx", name, "Constant operands only.")
    known |= {*COMPUTED, *EVALUATED}
    for name in sorted({s.name for s in defs.get_all_schemas() if _has_body(s)} - known):
        yield Entry(
            "onnx ai.onnx",
            name,
            "Expanded by ONNX's own function, if all operators in that function are implemented.",
        )
    yield from _table("keras layer", LAYERS)
    yield from _table("keras cell", CELLS)
    yield from _table("keras activation", {**ACTIVATIONS, **OVER_AN_AXIS})
    yield from _table("keras operation", OPERATIONS)
    yield from _table("ir", OPS)
    for name in FORMULAS:
        yield Entry("formula", name, f"{signature(name)} = {body(name)}")
    for names, (exported, remark) in PYTORCH.items():
        arrives = f"Exported to ONNX as {exported}" + (f"; {remark}" if remark else "")
        yield from (Entry("pytorch", name, f"{arrives}.") for name in names.split(", "))


def matching(pattern: str) -> list[Entry]:
    """Return the entries whose name contains ``pattern``, exact matches first.

    Neither case nor underscores count, nor the modules before a name: "torch.nn.PixelShuffle" is
    "pixel_shuffle". "" is all entries. Where no name has it, what entries do is searched.

    Raises:
        ShadergenError: SG0201 when there is none: why, where the name is one that ONNX or Keras
            has, else the nearest names.
    """
    every = list(entries())
    wanted = _folded(pattern.rsplit(".", 1)[-1])
    if wanted or not pattern:
        found = [e for e in every if wanted in _folded(e.name)]
        if found:
            return sorted(found, key=lambda e: bool(pattern) and _folded(e.name) != wanted)
    left_out = {n: why for n, why in _left_out() if wanted and wanted in _folded(n)}
    if not left_out:
        found = [e for e in every if pattern.lower() in e.summary.lower()]
        if found:
            return found
    if set(left_out) & set(_data_dependent()):
        help = LEAVE
    elif left_out:
        help = DEFINE
    else:
        near = _nearest(pattern.rsplit(".", 1)[-1], [e.name for e in every])
        help = f"{near}\n{DEFINE}".strip()
    raise ShadergenError(
        "SG0201",
        f"nothing called '{pattern}' is implemented",
        why="\n".join(f"{name} {reason}" for name, reason in left_out.items()),
        help=help,
    )


def _data_dependent() -> dict[str, str]:
    """Return the operators whose results' sizes depend on data, which textures cannot follow."""
    from .frontends.onnx.folding.by_numpy import COMPUTED
    from .frontends.onnx.folding.by_onnx_reference import EVALUATED
    from .frontends.onnx.ops.table import DATA_DEPENDENT, DOMAINS

    known = {*DOMAINS[""], *COMPUTED, *EVALUATED}
    return {name: why for name, why in DATA_DEPENDENT.items() if name not in known}


def _left_out() -> Iterator[tuple[str, str]]:
    """Yield what ONNX and Keras have and this compiler has not, and why."""
    from onnx import defs

    from .frontends.keras.read.built_in_layers import BUILT_IN

    implemented = {e.name for e in entries()}
    for name, why in _data_dependent().items():
        yield name, f"is not implemented: {why}, and textures have fixed sizes"
    others = {s.name for s in defs.get_all_schemas()} - implemented
    for name in sorted(others - {*_data_dependent()}):
        yield name, "is an operator of ONNX that is not implemented"
    yield "Lambda", "needs a definition: its Python code is never loaded from a model file"
    for name in sorted(BUILT_IN - implemented - {"Lambda", "InputLayer"}):
        yield name, "is a layer of Keras that is not implemented"


def _has_body(schema: Any) -> bool:
    """Whether ONNX defines an operator of ai.onnx by other nodes."""
    defined = schema.has_function or schema.has_context_dependent_function
    return bool(defined) and not schema.domain


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return the nearest name, the few that are less near, or nothing. Short names must be nearer.

    Of names that differ in case and underscores alone, the first stands for all.
    """
    folded: dict[str, str] = {}
    for k in known:
        folded.setdefault(_folded(k), k)
    cutoff = SHORT_LIKENESS if len(_folded(name)) <= SHORT else LIKENESS
    few = get_close_matches(_folded(name), folded, n=3, cutoff=cutoff)
    if get_close_matches(_folded(name), few, n=1, cutoff=0.8):
        return f"did you mean '{folded[few[0]]}'?"
    return f"the nearest are {', '.join(folded[k] for k in few)}" if few else ""


def _folded(name: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return "".join(c for c in name.casefold() if c.isalnum())


def _table(source: str, table: Mapping[str, Any]) -> Iterator[Entry]:
    for name, handler in sorted(table.items()):
        yield Entry(source, name, _summary(handler))


def _summary(handler: Any) -> str:
    """Return the first paragraph of a docstring; a table's formula is its own summary.

    Of a partial, the first argument says what is special: a formula, a function or a word.
    """
    if isinstance(handler, str):
        return summary(handler)
    special = ""
    if isinstance(handler, partial):
        first = handler.args[0] if handler.args else None
        if isinstance(first, str) and "x0" in first:
            return summary(first)
        special = f"{first.format('x0', 'x1')}: " if isinstance(first, str) else ""
        handler = first if callable(first) else handler.func
    paragraph = (handler.__doc__ or "").strip().split("\n\n", 1)[0]
    plain = ROLE.sub(r"\1", paragraph.replace("``", ""))
    return special + " ".join(plain.split())
