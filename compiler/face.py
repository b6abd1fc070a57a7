"""The package's Python interface; the command line uses the same functions."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

from ..errors import ShadergenError, did_you_mean
from . import driver
from .device_list import parse_devices
from .option_parsing import parse_cut, parse_dynamic, parse_range, parse_sizes
from .options import Options

if TYPE_CHECKING:
    from ..runtime_glue.python import Build, DeviceInfo
    from .driver import Compilation
    from .verification import Report

RENAMED = {"pairs": "fuse_separable"}  # options by their names before 1.0


def make_options(**options: Any) -> Options:
    """Build :class:`~.options.Options` from sizes, names and paths in any of their spellings.

    A text is read as the command line reads it: sizes, ranges, and ``inputs`` and ``outputs`` with
    commas between them.

    Raises:
        ShadergenError: SG0301 for an unknown option, size, range or name.
    """
    known = {f.name for f in fields(Options)}
    for old, name in RENAMED.items():
        if old in options:
            warn(f"{old} is now called {name}", DeprecationWarning, stacklevel=3)
            options[name] = options.pop(old)
    for name in options:
        if name not in known:
            raise ShadergenError(
                "SG0301",
                f"no option is called '{name}'",
                supported=", ".join(sorted(known)),
                help=did_you_mean(name, known),
            )
    size = options.get("input_size")
    if isinstance(size, str):
        options["dynamic"], others = parse_dynamic([size])
        options["input_size"] = parse_sizes(others)
    elif isinstance(size, (tuple, list)):
        options["input_size"] = {"": tuple(size)}
    if isinstance(options.get("device"), str):
        options["device"], variants = parse_devices(options["device"])
        options.setdefault("variants", variants)
    if isinstance(options.get("input_range"), str):
        options["input_range"] = parse_range(options["input_range"])
    cut = ("inputs", "outputs")
    texts = {name: [options.pop(name)] for name in cut if isinstance(options.get(name), str)}
    inputs, outputs, sizes = parse_cut(*(texts.get(name, ()) for name in cut))
    options["inputs"] = tuple(options.get("inputs", inputs))
    options["outputs"] = tuple(options.get("outputs", outputs))
    options["input_size"] = {**options.get("input_size", {}), **sizes}
    external = options.get("input_external", ())
    options["input_external"] = (external,) if isinstance(external, str) else tuple(external)
    define = options.get("define", ())
    options["define"] = tuple(map(Path, [define] if isinstance(define, (str, Path)) else define))
    for name in ("tuning", "dump_ir", "calibrate"):
        if isinstance(options.get(name), str):
            options[name] = Path(options[name])
    return Options(**options)


def compile_model(model: str | Path, output: str | Path, **options: Any) -> Compilation:
    """Compile a model file into a build folder or, with ``package="mpv"``, into a user shader.

    Args:
        model: Keras ``.h5``, ``.hdf5``, ``.keras``, or ONNX.
        output: the folder or file to write; an earlier one is replaced if compilation succeeds.
        options: fields of :class:`~.options.Options`; ``input_size`` may be "HxW" or (H, W),
            ``inputs`` and ``outputs`` a text with commas between the names. ``device`` may be
            several profiles with commas between them, for a build with variants.

    Raises:
        ShadergenError: for a mistake of the user; docs/errors.md lists the codes.
    """
    return driver.compile_model(Path(model), Path(output), make_options(**options))


def load(
    build: str | Path, *, device: DeviceInfo | None = None, variant: str | None = None
) -> Build:
    """Read a build folder for the Python runtime (needs the ``run`` extra).

    Args:
        build: the folder.
        device: the GL that will run the build (``HeadlessContext.info()``); selects a variant.
        variant: the name of the variant to read; overrides ``device``.

    Raises:
        ShadergenError: SG0502 to SG0505 if the build is invalid, SG0605 if it has no such variant.
    """
    from .extras import runtime

    return runtime().load(Path(build), device=device, variant=variant)  # type: ignore[no-any-return]


def verify(model: str | Path, *, reference: str = "auto", seed: int = 0, **options: Any) -> Report:
    """Compile a model, run it on OpenGL ES, and compare with a reference implementation.

    Args:
        model: as for :func:`compile_model`.
        reference: "auto", "onnxruntime", "keras" or "numpy".
        seed: of the random inputs.
        options: as for :func:`compile_model`.

    Raises:
        ShadergenError: if the model cannot be compiled or run. A difference raises nothing.
    """
    from .verification import verify_model

    return verify_model(Path(model), make_options(**options), reference, seed)
