"""A model file becomes a user shader, in memory or in its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.user_shader.file import UserShader, user_shader
from ..backends.user_shader.validation import validate_user_shader
from ..errors import ShadergenError
from ..records import replace
from .compilation import Compilation, compile_file, explained
from .dump import Dump
from .provenance import provenance
from .user_shader import (
    as_dispatched,
    check_writable,
    family_lines,
    for_user_shader,
    length_notes,
    overflow_notes,
    stage_notes,
    within_the_format,
    write_user_shader,
)
from .user_shader_frame import frame_notes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .options import Options


def compile_user_shader(
    model: Path, output: Path, options: Options, progress: Callable[[str], None]
) -> Compilation:
    """Compile a model file into a user shader; the arguments and errors of ``compile_model``."""
    check_writable(output)
    dump = Dump(options.dump_ir)
    compiled, shader = user_shader_in_memory(model, output, options, dump, progress)
    with explained(model, dump):
        if options.validate:
            progress("validating shaders")
        validation = validate_user_shader(shader) if options.validate else {}
        write_user_shader(shader.text, output)
    notes = (*compiled.notes, *overflow_notes(compiled.graph), *stage_notes(options, shader))
    notes += (*length_notes(shader), *frame_notes(compiled.files, shader, options))
    decisions = as_dispatched(compiled.decisions, compiled.graph, shader)
    return replace(
        compiled, decisions=decisions, validation=validation, notes=notes, user_shader=shader
    )


def user_shader_in_memory(
    model: Path, output: Path, asked: Options, dump: Dump, progress: Callable[[str], None]
) -> tuple[Compilation, UserShader]:
    """Compile a model into a user shader; nothing is written.

    Args:
        model: as for :func:`.driver.compile_model`.
        output: the file that it is for.
        asked: the options as given.
        dump: for the graph.
        progress: as for :func:`.driver.compile_model`.

    Raises:
        ShadergenError: as :func:`.driver.compile_model`.
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
