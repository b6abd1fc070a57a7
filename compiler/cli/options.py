"""Options that several commands share: those of a compilation, and how much to measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ..choices import CHOICES, GLSL_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..options import Options


def compile_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation."""
    return _with_options(command, True, "Choose kernels by what shadergen tune measured.", None)


def tune_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation to tune for, on the GL at hand unless another is named."""
    help = "Times measured so far: the file to begin, or to go on with."
    return _with_options(command, "that of the GL at hand", help, "tuning.json")


def _with_options(
    command: Callable[..., Any],
    device_default: bool | str,
    tuning_help: str,
    tuning_default: str | None,
) -> Callable[..., Any]:
    """Add the options of a compilation.

    Args:
        command: to add them to.
        device_default: what the help says the device is by default; True for its name.
        tuning_help: what the tuning file is for.
        tuning_default: its name, where the command needs one.
    """
    options = (
        click.option(
            "--input-size",
            "input_size",
            metavar="HxW",
            multiple=True,
            help="Size of a dynamic input: HxW or the whole shape; NAME=HxW,NAME=HxW with several "
            "inputs. 'dynamic' leaves height and width open: one build for all; 'dynamic:HxW' says "
            "what it begins with.",
        ),
        click.option(
            "--input-value",
            "input_value",
            metavar="NAME=1,2,3",
            multiple=True,
            help="Fix an input of an ONNX model, such as the shape that a Reshape takes; it is "
            "then no input of the build.",
        ),
        click.option(
            "--inputs",
            metavar="NAME,...",
            multiple=True,
            help="Begin the model at these values or layers: what computes them is dropped. "
            "NAME=HxW, or the whole shape, where the size is not known.",
        ),
        click.option(
            "--outputs",
            metavar="NAME,...",
            multiple=True,
            help="End the model at these values or layers: what is behind them is dropped.",
        ),
        click.option(
            "--device",
            default="gles30",
            show_default=device_default,
            metavar="PROFILE",
            help="Limits to stay within: gles30, gles30-min, webgl2-min, swiftshader, gles31-min, "
            "gles31-mobile, gles32-desktop, llvmpipe, or a file from shadergen doctor --save.",
        ),
        click.option(
            "--glsl",
            type=click.Choice(GLSL_VERSIONS),
            default=None,
            help="GLSL ES version, by default the device's; browsers have 300 alone.",
        ),
        click.option(
            "--precision",
            type=click.Choice(CHOICES["precision"]),
            default="highp",
            show_default=True,
            help="Arithmetic and storage: highp is fp32, mediump is fp16, auto takes fp16 where no "
            "number can exceed it.",
        ),
        click.option(
            "--input-range",
            default=None,
            metavar="LOW:HIGH",
            help="What float inputs hold: --precision auto relies on it (-256:256 if not given), "
            "and verify draws from it (0:1).",
        ),
        click.option(
            "--calibrate",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Pictures or arrays that the model is made for: --precision auto takes fp16 where "
            "they leave room, too.",
        ),
        click.option(
            "--textures",
            type=click.Choice(CHOICES["textures"]),
            default="auto",
            show_default=True,
            help="sampler2D for each plane, or one sampler2DArray.",
        ),
        click.option(
            "--stage",
            type=click.Choice(CHOICES["stage"]),
            default="auto",
            show_default=True,
            help="Where kernels run; compute needs GLSL 310 and a --device that has it.",
        ),
        click.option(
            "--fetch",
            type=click.Choice(CHOICES["fetch"]),
            default="auto",
            show_default=True,
            help="Read texels, samples at their centres, or images (GLSL 310), zero outside.",
        ),
        click.option(
            "--weights",
            type=click.Choice(CHOICES["weights"]),
            default="auto",
            show_default=True,
            help="Where convolution weights live.",
        ),
        click.option(
            "--weight-format",
            type=click.Choice(CHOICES["weight_format"]),
            default="float32",
            show_default=True,
            help="What weights in textures are rounded to; int8 with a scale for each channel.",
        ),
        click.option(
            "--winograd",
            type=click.Choice(CHOICES["winograd"]),
            default="auto",
            show_default=True,
            help="Compute 3x3 convolutions of stride 1 by Winograd's minimal filtering, in tiles "
            "of 2x2 or, in compute shaders, 4x4 pixels, where fp32 allows it; auto does where it "
            "takes less.",
        ),
        click.option(
            "--pairs",
            type=click.Choice(CHOICES["pairs"]),
            default="auto",
            show_default=True,
            help="Compute a depthwise convolution and a 1x1 one that alone reads it in one compute "
            "shader, and store nothing between; on does wherever that can be, auto where it is "
            "measured or predicted to take less.",
        ),
        click.option(
            "--parameters",
            type=click.Choice(CHOICES["parameters"]),
            default="constants",
            show_default=True,
            help="Where biases and batch normalisation live.",
        ),
        click.option(
            "--mrt",
            type=int,
            default=None,
            metavar="N",
            help="Render targets in a GPU pass; all the device has if not given.",
        ),
        click.option(
            "--output-encoding",
            type=click.Choice(CHOICES["output_encoding"]),
            default="float",
            show_default=True,
            help="How outputs are written: as they are; 0..1 in 8 bits; signed values in two "
            "channels; both signs in two unsigned channels.",
        ),
        click.option(
            "--zero-guard",
            type=float,
            default=0.0,
            metavar="VALUE",
            help="Convolutions read exact zeros as this, 0.001 say.",
        ),
        click.option(
            "--preprocess",
            default="",
            metavar="SPEC",
            help="Compile in image preprocessing: "
            "order=bgr,scale=255,mean=104/117/124,std=1,input=unorm8.",
        ),
        click.option(
            "--tuning",
            type=click.Path(path_type=Path),
            metavar="FILE",
            default=tuning_default,
            show_default=True,
            help=tuning_help,
        ),
        click.option(
            "--foreign-tuning",
            is_flag=True,
            help="Use --tuning although it was measured on another renderer than the --device's.",
        ),
        click.option(
            "--define",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Formulas for custom operators, layers and Lambdas.",
        ),
        click.option("--no-validate", is_flag=True, help="Do not run glslang over the shaders."),
        click.option(
            "--dump-ir",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Write the graph after every pass.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def measuring_options(
    what: str, frames: int, seconds: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds ``--frames``, ``--warm-up`` and ``--seconds`` to a command.

    Args:
        what: is measured frame by frame, as in "Frames of each build to measure".
        frames: how many by default.
        seconds: what happens after the time given.
    """
    options = (
        click.option(
            "--frames",
            type=click.IntRange(min=1),
            default=frames,
            show_default=True,
            metavar="N",
            help=f"Frames of each {what} to measure.",
        ),
        click.option(
            "--warm-up",
            type=click.IntRange(min=0),
            default=10,
            show_default=True,
            metavar="N",
            help=f"Frames of each {what} before that.",
        ),
        click.option("--seconds", type=click.FloatRange(min=0), metavar="N", help=seconds),
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def to_options(flags: dict[str, Any]) -> Options:
    """Take the options of a compilation out of a command's arguments.

    Raises:
        ShadergenError: SG03xx, for one that cannot be read.
    """
    from ..options import (
        Options,
        parse_cut,
        parse_dynamic,
        parse_range,
        parse_sizes,
        parse_values,
    )

    inputs, outputs, sizes = parse_cut(flags.pop("inputs"), flags.pop("outputs"))
    dynamic, texts = parse_dynamic(flags.pop("input_size"))
    within = flags.pop("input_range")
    return Options(
        input_size={**parse_sizes(texts), **sizes},
        dynamic=dynamic,
        input_range=None if within is None else parse_range(within),
        inputs=inputs,
        outputs=outputs,
        input_value=parse_values(flags.pop("input_value")),
        glsl=int(glsl) if (glsl := flags.pop("glsl")) else None,  # type: ignore[arg-type]
        define=tuple(flags.pop("define")),
        validate=not flags.pop("no_validate"),
        **flags,
    )
