"""The package's Python interface; the command line uses the same functions."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar
from warnings import warn

from ..backends.build_folder import SCHEDULE
from ..errors import ShadergenError, did_you_mean
from . import driver
from .compiled_model import CompiledModel, TemporaryFolder
from .device_list import parse_devices
from .models import model_file, write_model
from .option_parsing import invalid, parse_cut, parse_dynamic, parse_range, parse_sizes
from .options import Options
from .runtimes import default_device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ..runtime_glue.python import Build, DeviceInfo
    from ..runtime_glue.python.webgpu import DeviceInfo as WebGpuDeviceInfo
    from .verification import Report

Function = TypeVar("Function", bound="Callable[..., Any]")

RENAMED = {"pairs": "fuse_separable"}  # options by their names before 1.0


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
    package: str
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
    options = {name: value for name, value in options.items() if value is not None}
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
    for name in ("input_external", "disable_pass"):
        given = options.get(name, ())
        options[name] = (given,) if isinstance(given, str) else tuple(given)
    define = options.get("define", ())
    options["define"] = tuple(map(Path, [define] if isinstance(define, (str, Path)) else define))
    for name in ("tuning", "dump_ir", "calibrate"):
        if isinstance(options.get(name), str):
            options[name] = Path(options[name])
    return Options(**options)


def _lists_options(function: Function) -> Function:
    """Let ``help`` and completion show a function's options by name."""
    signature = inspect.signature(function)
    *own, _ = signature.parameters.values()
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in CompileOptions.__annotations__.items()
    ]
    parameters = [*own, *named]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


@_lists_options
def compile_model(
    model: Any,
    output: str | Path | None = None,
    example: Any = None,
    **options: Unpack[CompileOptions],
) -> CompiledModel:
    """Compile a model into a build or, with ``package="mpv"``, into a user shader.

    Args:
        model: a path (Keras ``.h5``, ``.hdf5``, ``.keras``, or ONNX), a ``torch.nn.Module``, a
            ``keras.Model``, or an ``onnx.ModelProto``.
        output: the folder or file to write; an earlier one is replaced if compilation succeeds. By
            default a temporary folder that the result keeps: see :meth:`CompiledModel.save`.
        example: of the inputs of a PyTorch module (:func:`.models.model_file`).
        options: as :class:`CompileOptions` lists them. Without ``output`` and ``device``, the
            build is for WebGPU if only the package for WebGPU is installed.

    Raises:
        ShadergenError: for a mistake of the user; docs/errors.md lists the codes.
    """
    if output is None:  # for this machine
        options.setdefault("device", default_device("auto"))
    made = make_options(**options)
    folder = TemporaryFolder()
    path = folder.path / "build" if output is None else Path(output).absolute()
    source = write_model(model, folder.path, example, _is_dynamic(made))
    compiled = driver.compile_model(source, path, made)
    known = {f.name: getattr(compiled, f.name) for f in fields(compiled)}
    written = b"" if compiled.user_shader else (path / SCHEDULE).read_bytes()
    return CompiledModel(**known, source=source, options=made, _folder=folder, _written=written)


def _is_dynamic(options: Options) -> bool:
    """Whether heights and widths of images are dynamic."""
    return options.dynamic is not None or options.package == "mpv"


def run(
    build: str | Path | CompiledModel,
    /,
    *inputs: Any,
    runtime: str = "auto",
    adapter: str = "",
    **named: Any,
) -> Any:
    """Run a build once; to run it often, call what :func:`compile_model` returns.

    Args:
        build: a build's folder, or a compiled model.
        inputs: as for :meth:`.session.Session.__call__`, as ``named``.
        runtime: "gles", "webgpu", or "auto": the first one installed that the build runs on.
        adapter: a part of the name of the adapter to run on.
        named: inputs by their names.

    Returns:
        As :meth:`.session.Session.__call__`.

    Raises:
        ShadergenError: SG05xx for an invalid build, SG06xx where it cannot run.
    """
    from .session import Session

    folder = build.build if isinstance(build, CompiledModel) else Path(build)
    session = Session(folder, runtime=runtime, adapter=adapter)
    try:
        return session(*inputs, **named)
    finally:
        session.close()


def load(
    build: str | Path,
    *,
    device: DeviceInfo | WebGpuDeviceInfo | None = None,
    variant: str | None = None,
) -> Build:
    """Read a build folder for the Python runtimes.

    Args:
        build: the folder.
        device: the GL, or WebGPU device, that will run the build (``HeadlessContext.info()``);
            selects a variant.
        variant: the name of the variant to read; overrides ``device``.

    Raises:
        ShadergenError: SG0502 to SG0505 if the build is invalid, SG0605 if it has no such variant.
    """
    from ..runtime_glue.python.loading import load as read

    return read(Path(build), device=device, variant=variant)


@_lists_options
def verify(
    model: Any,
    *,
    example: Any = None,
    reference: str = "auto",
    seed: int = 0,
    runtime: str = "auto",
    adapter: str = "",
    **options: Unpack[CompileOptions],
) -> Report:
    """Compile a model, run it, and compare with a reference implementation.

    Args:
        model: as for :func:`compile_model`; ``example`` and ``options`` likewise.
        example: of the inputs of a PyTorch module.
        reference: "auto", "onnxruntime", "keras", "tensorflow" or "numpy".
        seed: of the random inputs.
        runtime: "gles", "webgpu", or "auto": what ``device`` asks for. With several devices, only
            the builds of the runtime are verified. The default device of "webgpu" is "webgpu".
        adapter: a part of the name of the adapter to run on.
        options: how to compile.

    Raises:
        ShadergenError: if the model cannot be compiled or run. A difference raises nothing.
    """
    from .verification import verify_model

    options.setdefault("device", default_device(runtime))
    made = make_options(**options)
    with model_file(model, example, _is_dynamic(made)) as path:
        return verify_model(path, made, reference, seed, runtime=runtime, adapter=adapter)
