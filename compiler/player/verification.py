"""Verifying a user shader: render it in FFmpeg, and compare with a reference for its model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.dialects.user_shader_functions import STRENGTH
from ...backends.picture_axes import picture_axes
from ...backends.schedule import label
from ...errors import ShadergenError, count
from ...ir.graph import Input
from ...records import replace
from ..arrays import ARRAYS, named, read_arrays
from ..build_verification import SAME_OPTIONS
from ..compilation import import_model
from ..expectations import expect
from ..frontends.input_shapes import model_shapes
from ..judging import joined_notes, judge
from ..picture_inputs import import_at_size, picture_input
from ..pictures.picture import to_host, to_pixels
from ..random_inputs import random_inputs
from ..user_shader import MADE
from ..verification import Report
from .libplacebo import DEPTH, NAME, filtered
from .outline import outline, read_shader, stage_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from ...backends.picture_axes import PictureAxes
    from ...ir.graph import Graph, Output
    from ..options import Options
    from .outline import Outline

SIZE = (96, 128)  # of the picture for a model of dynamic height and width
# At these stages, the network sees the numbers of FFmpeg's frame.
COMPARABLE = (
    *("LUMA", "RGB", "NATIVE", "MAINPRESUB", "MAIN"),
    *("PREKERNEL", "POSTKERNEL", "OUTPUT"),
)
STATED = re.compile(rf"^#define {STRENGTH} (\S+)$", re.MULTILINE)
STORED = (
    "players store 16-bit floats between passes, so the error bound is that of --precision mediump"
)


def verify_user_shader(
    model: Path,
    shader: Path,
    options: Options,
    reference: str = "auto",
    seed: int = 0,
    source: Path | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Report:
    """Render a user shader in FFmpeg's libplacebo filter, and compare with a reference.

    Luma and RGB have 16 bits, so inputs and results are limited to 0..1.

    Args:
        model: the model file.
        shader: the user shader, from this compiler or written by hand.
        options: what was asked of the compiler that changes what the model computes; others do not
            matter.
        reference: see :func:`~..references.choose_reference`.
        seed: of the random picture.
        source: a picture or arrays to use instead; also the size, if the model does not declare it.
        progress: called with the name of each step.

    Raises:
        ShadergenError: SG01xx to SG03xx for the files, SG0605 if the shader is not of this model
            or does not run for the picture, SG0607 where FFmpeg cannot run it, SG0702 for the
            reference.
    """
    text = read_shader(shader)
    _check_stage(stage_of(text), shader)
    # The model is imported at one size, as for a build.
    options = replace(options, package="build", luma=None, dynamic=None, precision="mediump")
    progress("reading the model")
    given, note = _inputs(model, options, seed, source)
    options = replace(options, array_shapes={name: array.shape for name, array in given.items()})
    graph = import_model(model, options)
    fed, made = _ports(graph, shader)
    array = given[fed.name]
    _check_shape(fed, array)
    axes, own = _axes(fed, shader), _axes(made, shader)
    frame = _frame(to_pixels(array, axes.row, axes.column))
    plan = outline(text, (frame.shape[0], frame.shape[1]))
    if plan.channels != frame.shape[2]:
        depth = count(plan.channels, "channel")
        raise _other(shader, f"{plan.hook} has {depth}, the model's input has {frame.shape[2]}")
    progress("rendering in FFmpeg")
    shown = _rendered(shader, frame, plan)
    exact = frame / DEPTH
    inputs = {fed.name: to_host(exact.astype(np.float32), array.shape, axes)}
    expected = expect(model, options, options, graph, inputs, reference, progress)
    result = expected.outputs[made.name]
    wanted = to_pixels(np.asarray(result, np.float64), own.row, own.column)
    if wanted.shape != shown.shape:
        size, ours, theirs = (f"{a.shape[0]}x{a.shape[1]}" for a in (frame, shown, wanted))
        why = f"a picture of {size} becomes {ours} with the shader, {theirs} with the model"
        raise _other(shader, why)
    share = _strength(text)
    if share != 1:
        wanted = share * wanted + (1 - share) * exact
    outputs = {made.name: to_host(wanted.clip(0, 1), result.shape, own)}
    ran = {label(made.name): to_host(shown, result.shape, own)}
    errors, said = judge([made], ran, replace(expected, outputs=outputs), options)
    notes = [note, *plan.notes, STORED, *expected.notes, *said, *(e.warning for e in errors)]
    if share != 1:
        notes.append(f"compared with {share:g} * network + {1 - share:g} * picture (--strength)")
    return Report(
        model.name,
        expected.reference,
        joined_notes(notes),
        ("FFmpeg",),
        NAME,
        "16-bit textures",
        plan.passes,
        tuple(errors),
    )


def _inputs(
    model: Path, options: Options, seed: int, source: Path | None
) -> tuple[dict[str, NDArray[Any]], str]:
    """Return the inputs by name, in the model's own shapes, and a note about them or nothing."""
    if source is None:
        graph = import_at_size(model, options, SIZE)
        return random_inputs(graph, seed, options.input_range), ""
    if source.suffix.lower() not in ARRAYS:
        return picture_input(model, options, source)
    arrays = read_arrays(source)
    shapes = {name: array.shape for name, array in arrays.items()}
    graph = import_model(model, replace(options, array_shapes=shapes))
    return named(arrays, [i.name for i in graph.inputs]), ""


def _check_shape(fed: Input, array: NDArray[Any]) -> None:
    """Refuse an array of another shape than the input.

    Raises:
        ShadergenError: SG0605.
    """
    (shape,) = model_shapes([fed]).values()
    if array.shape != shape:
        raise ShadergenError(
            "SG0605", f"input '{fed.name}' has shape {shape}, the array {array.shape}"
        )


def _ports(graph: Graph, shader: Path) -> tuple[Input, Output]:
    """Return the picture that a network takes, and the one that it makes.

    Raises:
        ShadergenError: SG0605 if there are several.
    """
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        numbers = f"{count(len(graph.inputs), 'input')} and {count(len(graph.outputs), 'output')}"
        raise ShadergenError(
            "SG0605",
            f"'{shader}' cannot be verified with this model",
            why=f"the model has {numbers}; verify needs one input and one output",
            help="choose one input and one output with --inputs and --outputs; networks compiled "
            "with --luma cannot be verified",
        )
    return graph.inputs[0], graph.outputs[0]


def _axes(port: Input | Output, shader: Path) -> PictureAxes:
    """Return which axes of an input or an output are a picture's.

    Raises:
        ShadergenError: SG0605 if it is no picture.
    """
    logical = port.shape if isinstance(port, Input) else port.value.shape
    shape = tuple(logical[axis] for axis in port.port.axes)
    axes = picture_axes(shape, port.port.axes)
    if axes is None or 4 in [shape[a] for a in (axes.channel,) if a is not None]:
        text = "x".join(map(str, shape))
        raise _other(shader, f"'{port.name}' of shape {text} is not a picture of luma or RGB")
    return axes


def _frame(pixels: NDArray[Any]) -> NDArray[np.uint16]:
    """Return a picture of 0..1 in 16 bits.

    Raises:
        ShadergenError: SG0605 for other numbers.
    """
    if not (pixels.min() >= 0 and pixels.max() <= 1):  # true for NaN, too
        raise ShadergenError(
            "SG0605",
            f"the input has values from {pixels.min():g} to {pixels.max():g}",
            supported="0 to 1, as in pictures",
            help="omit --input-range, or scale the array given with --input",
        )
    return np.rint(pixels.astype(np.float64) * DEPTH).astype("<u2")


def _check_stage(hook: str, shader: Path) -> None:
    """Refuse stages at which the network's picture is not the frame's.

    Raises:
        ShadergenError: SG0605.
    """
    if hook not in COMPARABLE:
        raise ShadergenError(
            "SG0605",
            f"'{shader}' cannot be verified",
            why=f"it replaces {hook}, and FFmpeg's frames do not hold the values of {hook}",
            supported=", ".join(COMPARABLE),
        )


def _rendered(shader: Path, frame: NDArray[np.uint16], plan: Outline) -> NDArray[np.float64]:
    """Return what the player shows, height x width x channels, 0..1."""
    if plan.channels != 1:
        opaque = np.full((*frame.shape[:2], 1), DEPTH, frame.dtype)
        frame = np.concatenate((frame, opaque), 2)
    return filtered(shader, frame, plan.size)[..., : plan.channels] / DEPTH


def _strength(text: str) -> float:
    """Return the share of the network in what a file of this compiler shows."""
    found = STATED.search(text)
    return float(found[1]) if found and MADE in text.encode() else 1.0


def _other(shader: Path, why: str) -> ShadergenError:
    """Return the error of a user shader that was not made of the model."""
    return ShadergenError(
        "SG0605",
        f"'{shader}' is not a user shader of this model",
        why=why,
        help=f"if it was compiled from this model, {SAME_OPTIONS}",
    )
