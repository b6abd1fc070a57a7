"""Verifying a build that was compiled before: run it, and compare with the model it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backends.schedule import label
from ..errors import ShadergenError, few
from ..records import replace
from .choices import PRECISIONS
from .compilation import import_model
from .expectations import expect
from .frontends.input_shapes import NO_SIZE
from .judging import joined_notes, judge
from .random_inputs import random_inputs
from .running import read_inputs
from .runtimes import TITLES
from .session import Session
from .verification import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ..ir.graph import Graph, Output
    from .options import Options
    from .runtimes import Build

SAME_OPTIONS = (
    "give verify the same --inputs, --outputs, --input-value, --preprocess, --define and "
    "--zero-guard as compile; builds and user shaders do not record these options"
)


def verify_build(
    model: Path,
    folder: Path,
    options: Options,
    reference: str = "auto",
    seed: int = 0,
    source: Path | None = None,
    progress: Callable[[str], None] = lambda step: None,
    runtime: str = "auto",
    adapter: str = "",
) -> Report:
    """Run a build as an application would, and compare with a reference for its model.

    Sizes are those of the build; a build of dynamic sizes runs at its default sizes, or at those of
    the inputs given. The formats of its textures say how large errors may be.

    Args:
        model: the model file.
        folder: the build.
        options: what was asked of the compiler that changes what the model computes; others do not
            matter.
        reference: see :func:`~.references.choose_reference`.
        seed: of the random inputs.
        source: a picture or arrays to use instead, as ``run`` takes them; a picture is scaled to a
            build of fixed size.
        progress: called with the name of each step.
        runtime: of ``RUNTIMES``; "auto" takes the first one installed that the build runs on.
        adapter: a part of the adapter's name; by default the runtime's own choice.

    Raises:
        ShadergenError: SG01xx to SG03xx for the model, SG05xx for the build, SG06xx where it cannot
            run, SG0605 if its inputs or outputs are not the model's, SG0702 for the reference.
    """
    with Session(folder, runtime, adapter, alone=True) as session:
        build, fed, note = session.build, None, ""
        if source is not None:
            build, fed, note = read_inputs(build, source)
        shapes = {port.name: port.shape for port in build.inputs}
        options = replace(options, dynamic=None, array_shapes=shapes, **_rounding(build))
        progress("reading the model")
        graph = _imported(model, options, build, folder)
        _check_ports(build, graph, folder)
        own = {label(i.name): i.name for i in graph.inputs}
        if fed is None:
            drawn = random_inputs(graph, seed, options.input_range)
            fed = {label(name): array for name, array in drawn.items()}
        progress("running the build")
        ran = session.run(fed)
        inputs = {own[name]: array for name, array in fed.items()}
        expected = expect(model, options, options, graph, inputs, reference, progress)
        errors, notes = judge(_encoded(graph, build), ran, expected, options)
        errors = [replace(error, variant=session.running.variant) for error in errors]
        notes = [note, *expected.notes, *notes, *(error.warning for error in errors)]
        return Report(
            model.name,
            expected.reference,
            joined_notes(notes),
            (TITLES[session.context.runtime],),
            session.renderer,
            PRECISIONS[options.precision],
            len(session.running.passes),
            tuple(errors),
        )


def _imported(model: Path, options: Options, build: Build, folder: Path) -> Graph:
    """Read the model at the sizes of a build.

    Raises:
        ShadergenError: SG0605 if the model has other inputs; others as :func:`import_model`.
    """
    try:
        return import_model(model, options)
    except ShadergenError as error:
        if error.code != NO_SIZE:
            raise
    # The build's inputs have sizes, so the model has another one.
    try:
        any_size = replace(options, array_shapes={}, dynamic=True)
        names = [i.name for i in import_model(model, any_size).inputs]
    except ShadergenError:
        names = []
    raise _other_model(folder, "input", [p.name for p in build.inputs], names)


def _other_model(
    folder: Path, kind: str, names: Iterable[str], own: Iterable[str]
) -> ShadergenError:
    """Return the error of a build that was not made of the model, by inputs or by outputs."""
    ours, theirs = sorted(names), sorted(own)
    why = f"the build has the {kind}{'s' * (len(ours) > 1)} {few(ours)}; the model "
    return ShadergenError(
        "SG0605",
        f"'{folder}' is not a build of this model",
        why=why + (f"has {few(theirs)}" if theirs else "has others"),
        help=f"if it was compiled from this model, {SAME_OPTIONS}",
    )


def _rounding(build: Build) -> dict[str, Any]:
    """Return the options that say how a build rounds, by the formats of its textures."""
    bits = {(t.data is not None, t.bits) for t in build.textures.values()}
    weights = "int8" if (True, 8) in bits else "float16" if (True, 16) in bits else "float32"
    return {"precision": "mediump" if (False, 16) in bits else "highp", "weight_format": weights}


def _check_ports(build: Build, graph: Graph, folder: Path) -> None:
    """Refuse a build whose inputs and outputs are not those of the model.

    Raises:
        ShadergenError: SG0605.
    """
    for kind, ports, own in (
        ("input", build.inputs, graph.inputs),
        ("output", build.outputs, graph.outputs),
    ):
        names, expected = {p.name for p in ports}, [label(value.name) for value in own]
        if names != set(expected):
            raise _other_model(folder, kind, names, expected)


def _encoded(graph: Graph, build: Build) -> list[Output]:
    """Return a model's outputs with the encodings that a build gives them."""
    encodings: dict[str, Any] = {port.name: port.encoding for port in build.outputs}
    return [
        replace(o, port=replace(o.port, encoding=encodings[label(o.name)])) for o in graph.outputs
    ]
