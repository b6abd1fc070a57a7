"""A model file becomes a build in its folder, or a user shader in its file."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends.replacing import prepare
from ..backends.validate import validate
from ..backends.variants import with_variants
from ..backends.writer import check_replaceable, write_build
from ..errors import ShadergenError
from ..records import replace
from ..runtime_glue.python.loading import check_schedule
from .compilation import Compilation, compile_file, explained
from .device_list import browser_notes, variant_for, variants_of
from .dump import Dump
from .options import Options
from .user_shader import check_folder, check_unused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def compile_model(
    model: Path, output: Path, options: Options, progress: Callable[[str], None] = lambda step: None
) -> Compilation:
    """Compile a model file into a build folder, or into a user shader.

    Args:
        model: Keras ``.h5``, ``.hdf5``, ``.keras``, or ONNX.
        output: the folder or the file to write; an earlier one is replaced if all goes well.
        options: see :class:`~.options.Options`.
        progress: called with the name of each step as it begins.

    Raises:
        ShadergenError: for anything the user can mend.
        InternalError: for a bug, with the place where the graph was left.
    """
    if options.package == "mpv":
        from .user_shader_compilation import compile_user_shader

        return compile_user_shader(model, output, options, progress)
    check_unused(options)
    check_folder(output)
    variants = variants_of(options)
    for each in (options, *variants.values()):
        each.target()  # refuses wrong options before any work is done
        each.measured()
    kept = prepare(output, check_replaceable)
    dump = Dump(options.dump_ir)
    validation: dict[str, bool] = {}
    with ThreadPoolExecutor(1) as beside:
        # Another process reads the shaders while weights are packed and written.
        readings: list[Future[dict[str, bool]]] = []

        def read(shaders: Mapping[str, str], layers: Mapping[str, str]) -> None:
            if options.validate:
                readings.append(beside.submit(validate, shaders, layers))

        def check(folder: Path) -> None:
            for name in (None, *others):
                check_schedule(folder, name)
            if readings:
                progress("validating shaders")
            for reading in readings:
                validation.update(reading.result())

        compiled = compile_file(model, output, options, dump, progress, read)
        others = {}
        for name, each in variants.items():
            steps = partial(_step_of, progress, name)
            try:
                others[name] = compile_file(model, output, each, Dump(each.dump_ir), steps, read)
            except ShadergenError as error:
                raise error.at(f"--device {each.device}") from None
        files = compiled.files
        if others:
            made = [variant_for(variants[name], name, c.files) for name, c in others.items()]
            files = with_variants(files, made)
        with explained(model, dump):
            kept += write_build(files, output, check, embed=options.embed is not None)
    notes = (*compiled.notes, *browser_notes(options, variants))
    for name, other in others.items():
        notes += tuple(f"{name}: {note}" for note in other.notes if note not in compiled.notes)
    notes += tuple(f"'{output}' held other files, which are kept in '{k}'" for k in kept)
    return replace(compiled, files=files, validation=validation, notes=notes, variants=others)


def _step_of(progress: Callable[[str], None], name: str, step: str) -> None:
    progress(f"{name}: {step}")
