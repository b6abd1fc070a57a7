"""A model file becomes a build in its folder, or a user shader in its file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends.replacing import prepare
from ..backends.user_shader.file import UserShader, user_shader
from ..backends.user_shader.validation import validate_user_shader
from ..backends.validate import Validation
from ..backends.variants import with_variants
from ..backends.writer import check_replaceable, write_build
from ..errors import ShadergenError
from ..records import replace
from ..runtime_glue.python.loading import check_schedule
from .compilation import Compilation, compile_file, explained
from .device_list import browser_notes, variant_for, variants_of
from .dump import Dump
from .options import Options
from .provenance import provenance
from .user_shader import (
    as_dispatched,
    check_folder,
    check_unused,
    check_writable,
    family_lines,
    for_user_shader,
    hook_notes,
    length_notes,
    name_notes,
    stage_notes,
    strength_notes,
    value_notes,
    within_the_format,
    write_user_shader,
)
from .user_shader_frame import frame_notes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..backends.shader_files import ShaderFiles


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
        return _compile_user_shader(model, output, options, progress)
    check_unused(options)
    check_folder(output)
    variants = variants_of(options)
    for each in (options, *variants.values()):
        each.target()  # refuses wrong options before any work is done
        each.measured()
    kept = prepare(output, check_replaceable)
    dump = Dump(options.dump_ir)
    with Validation() as validation:

        def begin(device: str, shaders: ShaderFiles) -> None:
            if options.validate:
                validation.begin(device, shaders.sources, shaders.layers)

        printed = partial(begin, options.device)
        compiled = compile_file(model, output, options, dump, progress, printed)
        others = {}
        for name, each in variants.items():
            steps, printed = partial(_step_of, progress, name), partial(begin, each.device)
            try:
                others[name] = compile_file(model, output, each, Dump(each.dump_ir), steps, printed)
            except ShadergenError as error:
                # A full disk is no fault of the device's.
                raise (
                    error if error.code == "SG0501" else error.at(f"--device {each.device}")
                ) from None
        files = compiled.files
        if others:
            made = [variant_for(variants[name], name, c.files) for name, c in others.items()]
            files = with_variants(files, made)

        def check(folder: Path) -> None:
            for name in (None, *others):
                check_schedule(folder, name)
            if options.validate:
                progress("validating shaders")
                validation.result()

        with explained(model, dump):
            kept += write_build(files, output, check, embed=options.embed is not None)
    notes = (*compiled.notes, *browser_notes(options, variants))
    for name, other in others.items():
        notes += tuple(f"{name}: {note}" for note in other.notes if note not in compiled.notes)
    notes += tuple(f"'{output}' held other files, which are kept in '{k}'" for k in kept)
    validated = validation.result()
    return replace(compiled, files=files, validation=validated, notes=notes, variants=others)


def _compile_user_shader(
    model: Path, output: Path, options: Options, progress: Callable[[str], None]
) -> Compilation:
    check_writable(output)
    dump = Dump(options.dump_ir)
    compiled, shader = user_shader_in_memory(model, output, options, dump, progress)
    with explained(model, dump):
        if options.validate:
            progress("validating shaders")
        validation = validate_user_shader(shader) if options.validate else {}
        write_user_shader(shader.text, output)
    notes = (
        *compiled.notes,
        *value_notes(compiled.graph),
        *stage_notes(options, shader),
        *name_notes(output),
        *hook_notes(options),
        *strength_notes(options),
        *length_notes(shader),
        *frame_notes(compiled.files, shader, options),
    )
    decisions = as_dispatched(compiled.decisions, compiled.graph, shader)
    return replace(
        compiled, decisions=decisions, validation=validation, notes=notes, user_shader=shader
    )


def user_shader_in_memory(
    model: Path, output: Path, asked: Options, dump: Dump, progress: Callable[[str], None]
) -> tuple[Compilation, UserShader]:
    """Compile a model into a user shader; nothing is written.

    Args:
        model: as for :func:`compile_model`.
        output: the file that it is for.
        asked: the options as given.
        dump: for the graph.
        progress: as for :func:`compile_model`.

    Raises:
        ShadergenError: as :func:`compile_model`.
    """
    options = for_user_shader(asked)
    most = options.target().limits.draw_buffers
    try:
        return _user_shader(model, output, options, dump, progress)
    except ShadergenError as error:
        if error.code == "SG0402" and options.stage == "fragment":
            # The help is --stage compute. If that is refused, too, its reason is the one to know.
            wider = for_user_shader(replace(asked, stage="compute"))
            wider = replace(wider, mrt=wider.mrt or wider.target().limits.draw_buffers)
            _user_shader(model, output, wider, dump, progress)
            raise
        if options.mrt is not None or error.code != "SG0405":
            raise
    # Layers of few planes a pass lie in many textures: perhaps more than a pass may read.
    return _user_shader(model, output, replace(options, mrt=most), dump, progress)


def _user_shader(
    model: Path, output: Path, options: Options, dump: Dump, progress: Callable[[str], None]
) -> tuple[Compilation, UserShader]:
    """Compile a model into a user shader; nothing is written."""
    with within_the_format(options.stage, options.intermediates):
        compiled = compile_file(model, output, options, dump, progress)
    with explained(model, dump):
        origin = provenance(model)
        shader = user_shader(
            compiled.files,
            options.hook,
            options.upscale_from,
            options.license or origin.license,
            model.stem,
            (*family_lines(options), *origin.lines),
            options.strength,
            options.live_strength,
            options.luma,
            options.intermediates == "split",
        )
    return compiled, shader


def _step_of(progress: Callable[[str], None], name: str, step: str) -> None:
    progress(f"{name}: {step}")
