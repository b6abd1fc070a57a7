"""The options of a compilation as keywords of the Python interface."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict
from warnings import warn

from ..errors import ShadergenError, did_you_mean
from .device_list import parse_devices
from .option_parsing import invalid, parse_cut, parse_dynamic, parse_range, parse_sizes
from .options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

RENAMED = {"pairs": "fuse_separable", "package": "target"}  # options by their names before 1.0
FIELDS = {"target": "package"}  # of Options, by the names of their options


class CompileOptions(TypedDict, total=False):
    """The options of a compilation by keyword; :class:`~.options.Options` explains each.

    Texts are read as the command line reads them.
    """

    input_size: str | tuple[int, ...] | list[int] | Mapping[str, tuple[int, ...]]
    input_value: Mapping[str, ArrayLike]
    input_external: str | Sequence[str]
    input_range: str | tuple[float, float]
    inputs: str | Sequence[str]
    outputs: str | Sequence[str]
    device: str | Sequence[str]
    glsl: int
    precision: str
    calibrate: str | Path
    textures: str
    stage: str
    fetch: str
    weights: str
    weight_format: str
    winograd: str
    fuse_separable: str
    parameters: str
    mrt: int
    output_encoding: str
    zero_guard: float
    preprocess: str
    tuning: str | Path
    foreign_tuning: bool
    define: str | Path | Sequence[str | Path]
    validate: bool
    disable_pass: str | Sequence[str]
    embed: str
    dump_ir: str | Path
    target: str
    hook: str
    upscale_from: float
    license: str
    strength: float
    live_strength: bool
    luma: str
    intermediates: str


def make_options(**options: Any) -> Options:
    """Build :class:`~.options.Options` from sizes, names and paths in any of their spellings.

    A text is read as the command line reads it: sizes, ranges, and ``inputs`` and ``outputs`` with
    commas between them.

    Raises:
        ShadergenError: SG0301 for an unknown option, size, range or name.
    """
    known = {f.name for f in fields(Options)} - {*FIELDS.values()} | {*FIELDS}
    for old, name in RENAMED.items():
        if old in options:
            warn(f"{old} is now called {name}", DeprecationWarning, stacklevel=3)
            options[name] = options.pop(old)
    for name in options:
        if name not in known:
            near = did_you_mean(name, CompileOptions.__annotations__)
            raise ShadergenError(
                "SG0301",
                f"no option is called '{name}'",
                supported="" if near else ", ".join(sorted(CompileOptions.__annotations__)),
                help=near,
            )
    given = {name: value for name, value in options.items() if value is not None}
    options = {FIELDS.get(name, name): value for name, value in given.items()}
    for name in ("glsl", "mrt"):
        if isinstance(text := options.get(name), str):
            if not text.isdecimal():
                raise invalid(name, text, "a number")
            options[name] = int(text)
    size = options.get("input_size")
    if isinstance(size, str):
        options["dynamic"], others = parse_dynamic([size])
        options["input_size"] = parse_sizes(others)
    elif isinstance(size, (tuple, list)):
        options["input_size"] = {"": tuple(size)}
    if isinstance(options.get("device"), (list, tuple)):
        options["device"] = ",".join(options["device"])
    if isinstance(options.get("device"), str):
        options["device"], variants = parse_devices(options["device"], options.get("package", ""))
        options.setdefault("variants", variants)
    if isinstance(options.get("input_range"), str):
        options["input_range"] = parse_range(options["input_range"])
    cut = ("inputs", "outputs")
    texts = {name: [options.pop(name)] for name in cut if isinstance(options.get(name), str)}
    inputs, outputs, sizes = parse_cut(*(texts.get(name, ()) for name in cut))
    options["inputs"] = tuple(options.get("inputs", inputs))
    options["outputs"] = tuple(options.get("outputs", outputs))
    options["input_size"] = {**options.get("input_size", {}), **sizes}
    for name in ("input_external", "disable_pass"):
        given = options.get(name, ())
        options[name] = (given,) if isinstance(given, str) else tuple(given)
    define = options.get("define", ())
    options["define"] = tuple(map(Path, [define] if isinstance(define, (str, Path)) else define))
    for name in ("tuning", "dump_ir", "calibrate"):
        if isinstance(options.get(name), str):
            options[name] = Path(options[name])
    return Options(**options)
