"""Tuning files: nanoseconds of choices by the tuning keys of nodes, measured on one renderer.

JSON, read strictly and without GL: a compilation only looks measurements up. The member "signature"
is the tuning key. The time of a candidate with a wrong result is null.
"""

from __future__ import annotations

import json
import math
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ...backends.replacing import replacing_file
from ...errors import ShadergenError, few, reason
from ...ir.graph import Choice, Precision, Stage, WeightStorage
from ...passes.kernel_ops.winograd import TILES
from ...records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "shadergen tuning"
VERSION = 3
WRONG = math.inf  # the time of a candidate whose result differs from the reference
LONGEST = 1e15  # nanoseconds; no frame takes twelve days
MOST_PIXELS, MOST_PLANES, MOST_TERMS = 64, 1 << 16, 1 << 31
# Of choices: aliases take no time.
MEMBERS = ("stage", "block", "planes", "weights", "precision", "partial_terms", "winograd")
_JSON = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


@dataclass(frozen=True)
class Tuning:
    """Measured times.

    Attributes:
        renderer: as GL or WebGPU names it.
        measured: nanoseconds of choices, or ``WRONG``, by ``placement.tuning_key``.
    """

    renderer: str
    measured: Mapping[str, Mapping[Choice, float]] = field(default_factory=dict)

    def extended(self, tuning_key: str, times: Mapping[Choice, float]) -> Tuning:
        """Add the times of a node's choices; known times are kept."""
        known = self.measured.get(tuning_key, {})
        return replace(self, measured={**self.measured, tuning_key: {**times, **known}})

    def check_renderer(self, renderer: str, path: Path) -> None:
        """Refuse what was measured elsewhere.

        Args:
            renderer: how the name of the renderer begins; empty fits any.
            path: of the file, for the message.

        Raises:
            ShadergenError: SG0306.
        """
        if not self.renderer.startswith(renderer):
            raise ShadergenError(
                "SG0306",
                f"'{path}' was measured on another renderer",
                why=f"measured on '{self.renderer}', compiling for '{renderer}'",
                help="tune into another file, or compile with --foreign-tuning to use it anyway",
            )


def save_tuning(tuning: Tuning, path: Path) -> None:
    """Write a file beside its destination and move it into place.

    Raises:
        ShadergenError: SG0501.
    """
    data = {
        "format": FORMAT,
        "version": VERSION,
        "renderer": tuning.renderer,
        "nodes": [
            {"signature": tuning_key, "choices": [_entry(c, t) for c, t in times.items()]}
            for tuning_key, times in tuning.measured.items()
        ],
    }
    try:
        with replacing_file(path) as fresh:
            fresh.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise ShadergenError("SG0501", f"cannot write '{path}'", why=reason(error)) from None


def read_tuning(path: Path) -> Tuning:
    """Read a file.

    Raises:
        ShadergenError: SG0101 when it cannot be opened, SG0305 when it is no tuning file.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ShadergenError(
            "SG0101",
            f"cannot read the tuning file '{path}'",
            why=reason(error),
            help="to create a tuning file: shadergen tune MODEL --tuning FILE",
        ) from None
    try:
        return _tuning(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        no_json = isinstance(error, (json.JSONDecodeError, RecursionError))
        raise ShadergenError(
            "SG0305",
            f"'{path}' is not a valid tuning file",
            why="the file is not JSON" if no_json else reason(error),
            help="name another file, or delete this one and run shadergen tune MODEL --tuning FILE",
        ) from None


def _entry(choice: Choice, nanoseconds: float) -> dict[str, Any]:
    time = None if nanoseconds == WRONG else int(nanoseconds)
    return {name: getattr(choice, name) for name in MEMBERS} | {"nanoseconds": time}


def _tuning(data: Any) -> Tuning:
    _expect(data, dict, "the file")
    _members(data, {"format", "version", "renderer", "nodes"}, "the file")
    if (data["format"], data["version"]) != (FORMAT, VERSION):
        raise ValueError(
            f"the file is {data['format']!r} version {data['version']!r}, "
            f"not {FORMAT!r} version {VERSION}"
        )
    measured: dict[str, dict[Choice, float]] = {}
    for node in _expect(data["nodes"], list, "nodes"):
        _members(_expect(node, dict, "a node"), {"signature", "choices"}, "a node")
        tuning_key = _expect(node["signature"], str, "a signature")
        if tuning_key in measured:
            raise ValueError(f"two nodes have the signature {tuning_key!r}")
        times: dict[Choice, float] = {}
        for choice, time in map(_choice, _expect(node["choices"], list, "choices")):
            if choice in times:
                raise ValueError(f"two choices of a node are the same: {choice}")
            times[choice] = time
        measured[tuning_key] = times
    return Tuning(_expect(data["renderer"], str, "the renderer"), measured)


def _choice(entry: Any) -> tuple[Choice, float]:
    _expect(entry, dict, "a choice")
    _members(entry, {*MEMBERS, "nanoseconds"}, "an entry of choices")
    block = _expect(entry["block"], list, "block")
    if len(block) != 2:
        raise ValueError(f"block {block!r} is not a pair of columns and rows")
    choice = Choice(
        stage=_one_of(entry["stage"], get_args(Stage), "stage"),
        block=(_integer(block[0], "block", MOST_PIXELS), _integer(block[1], "block", MOST_PIXELS)),
        planes=_integer(entry["planes"], "planes", MOST_PLANES),
        weights=_one_of(entry["weights"], (None, *get_args(WeightStorage)), "weights"),
        precision=_one_of(entry["precision"], get_args(Precision), "precision"),
        partial_terms=_integer(entry["partial_terms"], "partial_terms", MOST_TERMS),
        winograd=_one_of(
            _integer(entry["winograd"], "winograd", max(TILES)), (0, *TILES), "winograd"
        ),
    )
    time = entry["nanoseconds"]
    if time is None:
        return choice, WRONG
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not 0 <= time <= LONGEST:
        raise ValueError(f"nanoseconds is {time!r}, not a number from 0 to {LONGEST:g}")
    return choice, float(time)


def _expect(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{what} is {_JSON[type(value)]}, not {_JSON[kind]}")
    return value


def _members(data: dict[str, Any], names: set[str], what: str) -> None:
    if set(data) != names:
        wrong = [f"has no member {few(sorted(names - set(data)))}"] if names - set(data) else []
        wrong += (
            [f"has unknown members: {few(sorted(set(data) - names))}"] if set(data) - names else []
        )
        raise ValueError(f"{what} {' and '.join(wrong)}")


def _integer(value: Any, what: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{what} {value!r} is not an integer from 0 to {most}")
    return value


def _one_of(value: Any, allowed: tuple[Any, ...], what: str) -> Any:
    if value not in allowed:
        raise ValueError(f"{what} {value!r} is not one of {', '.join(map(str, allowed))}")
    return value
