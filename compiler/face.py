"""The package's Python interface; the command line uses the same functions."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..backends.build_folder import SCHEDULE
from ..records import replace
from . import driver
from .compiled_model import CompiledModel, TemporaryFolder
from .keyword_texts import in_keywords, keyword_text
from .keywords import CompileOptions, make_options
from .models import image_size, is_module, mode_note, model_file, naming_model, write_model
from .options import Options
from .runtimes import default_device

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack

    from ..runtime_glue.python import Build, DeviceInfo
    from ..runtime_glue.python.webgpu import DeviceInfo as WebGpuDeviceInfo
    from .verification import Report

Function = TypeVar("Function", bound="Callable[..., Any]")


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
    """Compile a model into a build or, with ``target="mpv"``, into a user shader for video players.

    Args:
        model: a path (Keras ``.h5``, ``.hdf5``, ``.keras``, or ONNX), a ``torch.nn.Module``, a
            ``keras.Model``, or an ``onnx.ModelProto``.
        output: the folder or file to write; an earlier one is replaced if compilation succeeds. By
            default a temporary folder that the result keeps: see :meth:`CompiledModel.save`, and
            :attr:`CompiledModel.text` for user shaders.
        example: of the inputs of a PyTorch module (:func:`.models.model_file`).
        options: as :class:`CompileOptions` lists them. Without ``output`` and ``device``, the
            build is for WebGPU if only the package for WebGPU is installed.

    Raises:
        ShadergenError: for a mistake of the user; docs/errors.md lists the codes.
    """
    if output is None and options.get("target", "build") == "build":  # for this machine
        options.setdefault("device", default_device("auto"))
    folder = TemporaryFolder()
    path = folder.path / "build" if output is None else Path(output).absolute()
    with in_keywords(), naming_model(folder.path):
        made = make_options(**options)
        source = write_model(model, folder.path, example, _is_dynamic(made), _sizes(made))
        made = _with_default_size(made, model, example)
        compiled = driver.compile_model(source, path, made)
    known = {f.name: getattr(compiled, f.name) for f in fields(compiled)}
    notes = filter(None, (mode_note(model), *compiled.notes))
    known["notes"] = tuple(map(keyword_text, notes))
    written = b"" if compiled.user_shader else (path / SCHEDULE).read_bytes()
    return CompiledModel(**known, source=source, options=made, _folder=folder, _written=written)


def _is_dynamic(options: Options) -> bool:
    """Whether heights and widths of images are dynamic."""
    return options.dynamic is not None or options.package == "mpv"


def _sizes(options: Options) -> dict[str, tuple[int, ...]]:
    """Return the sizes that are asked for, of the model's own inputs."""
    return {} if options.inputs else dict(options.input_size)


def _with_default_size(options: Options, model: Any, example: Any) -> Options:
    """Let the default size of a dynamic build be the example's, unless the options state one."""
    if options.dynamic is not True or not is_module(model):
        return options
    return replace(options, dynamic=image_size(model, example) or True)


def run(
    build: str | Path | CompiledModel,
    /,
    *inputs: Any,
    runtime: str = "auto",
    adapter: str = "",
    **named: Any,
) -> Any:
    """Run a build once; to run it often, keep a :class:`.session.Session`.

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
    with Session(folder, runtime=runtime, adapter=adapter) as session:
        return session(*inputs, **named)


def load(
    build: str | Path,
    *,
    device: DeviceInfo | WebGpuDeviceInfo | None = None,
    variant: str | None = None,
) -> Build:
    """Read a build folder for the Python runtimes; :class:`.session.Session` runs one by itself.

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

    if options.get("target", "build") != "build":
        made_of = compile_model(model, example=example, **options)
        return made_of.verify(reference=reference, seed=seed, runtime=runtime, adapter=adapter)
    options.setdefault("device", default_device(runtime))
    with in_keywords():
        made = make_options(**options)
        with model_file(model, example, _is_dynamic(made), _sizes(made)) as path:
            made = _with_default_size(made, model, example)
            return verify_model(path, made, reference, seed, runtime=runtime, adapter=adapter)
