"""Options that several commands share: options of a compilation and of a measurement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click import get_current_context as current_context
from click.core import ParameterSource

from ...errors import ShadergenError
from ..choices import CHOICES, GLSL_VERSIONS, OPTIONAL_PASSES, PACKAGES, RUNTIMES
from .completion import device_profiles
from .output import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..options import Options


target_option = click.option(
    "--target",
    "package",
    type=click.Choice(PACKAGES),
    default="build",
    show_default=True,
    help="A folder of shaders and their schedule (build), or one file for video players (mpv). The "
    "file is a user shader for mpv and libplacebo, for pictures of any size.",
)
USES_TIMES = "Choose kernels by times that shadergen tune measured."
luma_option = click.option(
    "--luma",
    metavar="NAME",
    help="Input that receives the video's luma in a user shader. The other input receives chroma, "
    "half as high and wide.",
)


def compile_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation."""
    return _with_options(
        command, True, USES_TIMES, None, "make one build with a variant for each", True
    )


def verify_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation without --target."""
    return _with_options(command, True, USES_TIMES, None, "make one build with a variant for each")


def view_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation for one device."""
    return _with_options(command, True, USES_TIMES, None)


def inspect_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation; a device that is given is also what to estimate for."""
    return _with_options(
        command,
        "gles30",
        USES_TIMES,
        None,
        "are compared",
        True,
    )


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation; a device that is given is also what to estimate for."""
    default = "gles30, with estimates for all GPUs"
    return _with_options(command, default, USES_TIMES, None, user_shaders=True)


def tune_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a compilation to tune for; the default device is the installed GL."""
    help = "File of measured times, to create or to extend."
    return _with_options(command, "the installed GL", help, "tuning.json")


def _device_help(several: str, user_shaders: bool) -> str:
    lists = f"; several profiles, with commas between, {several}" if several else ""
    text = (
        f"Profile of the GPU{lists}. A profile is a class of GPUs (gles30, webgl2-min, "
        "gles31-mobile ...), a family of GPUs (mali-valhall, adreno-7xx, nvidia ...; shadergen "
        "doctor names the installed GPU's family), or a file from shadergen doctor --save."
    )
    if user_shaders:
        text += (
            " With --target mpv and a family of GPUs, the compiler chooses the stage and the "
            "render targets of each pass for this family."
        )
    return text


def _with_options(
    command: Callable[..., Any],
    device_default: bool | str,
    tuning_help: str,
    tuning_default: str | None,
    several: str = "",
    user_shaders: bool = False,
) -> Callable[..., Any]:
    """Add the options of a compilation.

    Args:
        command: to add them to.
        device_default: what the help says the device is by default; True for its name.
        tuning_help: what the tuning file is for.
        tuning_default: its name, where the command needs one.
        several: what the command makes of several devices, where it takes them.
        user_shaders: whether the command takes --target.
    """
    options = (
        click.option(
            "--input-size",
            "input_size",
            metavar="HxW",
            multiple=True,
            help="Height and width of the input, or its whole shape, or 'dynamic'. "
            "NAME=HxW,NAME=HxW for several inputs. 'dynamic' makes one build for all sizes; "
            "'dynamic:HxW' also sets its initial size.",
        ),
        click.option(
            "--input-value",
            "input_value",
            metavar="NAME=1,2,3",
            multiple=True,
            help="Fix an input of an ONNX model to a constant, such as the shape for a Reshape.",
        ),
        click.option(
            "--inputs",
            metavar="NAME,...",
            multiple=True,
            help="Start the model at these values or layers, and drop the layers before them. "
            "If the model does not give the size: NAME=HxW, or the whole shape as "
            "NAME=1x64x90x160.",
        ),
        click.option(
            "--outputs",
            metavar="NAME,...",
            multiple=True,
            help="End the model at these values or layers, and drop the layers after them.",
        ),
        click.option(
            "--device",
            default="gles30",
            show_default=device_default,
            metavar="PROFILE",
            shell_complete=device_profiles,
            help=_device_help(several, user_shaders),
        ),
        click.option(
            "--glsl",
            type=click.Choice(GLSL_VERSIONS),
            default=None,
            help="GLSL ES version; by default the device's. Browsers support 300 only.",
        ),
        click.option(
            "--precision",
            type=click.Choice(CHOICES["precision"]),
            default="highp",
            show_default=True,
            help="fp32 (highp), fp16 (mediump) or chosen for each layer (auto). auto uses fp16 "
            "where no value can overflow and the estimated error of the outputs stays small.",
        ),
        click.option(
            "--input-range",
            default=None,
            metavar="LOW:HIGH",
            help="Range of float inputs. --precision auto proves that no input of this range "
            "overflows (default -256:256). verify takes random inputs from it (default 0:1).",
        ),
        click.option(
            "--calibrate",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Folder of typical pictures or arrays for --precision auto. Layers may then use "
            "fp16 if their values on these inputs stay below half of the largest fp16 number.",
        ),
        click.option(
            "--textures",
            type=click.Choice(CHOICES["textures"]),
            default="auto",
            show_default=True,
            help="Textures of a tensor, whose planes hold four channels each. 2d: a 2D texture for "
            "each plane. array: one array texture, a layer for each plane. stacked: one 2D texture "
            "with the planes below each other, written by one draw. auto: inputs and outputs "
            "of one plane get 2d; other tensors get array, or, on devices without compute shaders, "
            "stacked if that is predicted to be faster.",
        ),
        click.option(
            "--stage",
            type=click.Choice(CHOICES["stage"]),
            default="auto",
            show_default=True,
            help="Shader stage; compute needs GLSL 310 and a --device with compute shaders. With "
            "--target mpv, auto means fragment unless --device names a family of GPUs; a compute "
            "pass of a user shader writes up to 16 channels.",
        ),
        click.option(
            "--fetch",
            type=click.Choice(CHOICES["fetch"]),
            default="auto",
            show_default=True,
            help="Read with texelFetch, with texture() at texel centres, or as images (GLSL 310); "
            "image-zero also assumes that imageLoad outside the image returns 0.",
        ),
        click.option(
            "--weights",
            type=click.Choice(CHOICES["weights"]),
            default="auto",
            show_default=True,
            help="Storage of convolution weights.",
        ),
        click.option(
            "--weight-format",
            type=click.Choice(CHOICES["weight_format"]),
            default="float32",
            show_default=True,
            help="Format of weights in textures; int8 has a scale for each output channel.",
        ),
        click.option(
            "--winograd",
            type=click.Choice(CHOICES["winograd"]),
            default="auto",
            show_default=True,
            help="Compute 3x3 convolutions of stride 1 by Winograd's minimal filtering, in fp32: "
            "tiles of 2x2 or 4x4 pixels; auto: only where measured or "
            "predicted to be faster.",
        ),
        click.option(
            "--fuse-separable",
            type=click.Choice(CHOICES["fuse_separable"]),
            default="auto",
            show_default=True,
            help="Fuse a depthwise convolution and the 1x1 convolution after it into one compute "
            "shader. on: wherever possible; auto: only where measured or predicted to be faster.",
        ),
        click.option("--pairs", type=click.Choice(CHOICES["fuse_separable"]), hidden=True),
        click.option(
            "--parameters",
            type=click.Choice(CHOICES["parameters"]),
            default="constants",
            show_default=True,
            help="Storage of biases and batch normalisation parameters.",
        ),
        click.option(
            "--mrt",
            type=int,
            default=None,
            metavar="N",
            help="Largest number of render targets in a GPU pass; by default the compiler chooses, "
            "up to the device's limit.",
        ),
        click.option(
            "--output-encoding",
            type=click.Choice(CHOICES["output_encoding"]),
            default="float",
            show_default=True,
            help="Format of outputs: float; unorm8: 0..1 in 8 bits; y2rg: a one-channel output y "
            "is stored as red = max(y, 0) and green = min(y, 0); y2rg_half: as red = max(y, 0) and "
            "green = max(-y, 0), so neither is negative.",
        ),
        click.option(
            "--zero-guard",
            type=float,
            default=0.0,
            metavar="VALUE",
            help="Replace exact zeros in the inputs of convolutions, padding included, by VALUE, "
            "for example 0.001, to match implementations that do so.",
        ),
        click.option(
            "--preprocess",
            default="",
            metavar="SPEC",
            help="Preprocess images of 0..1 in the shaders: for example "
            "order=bgr,scale=255,mean=104/117/124,std=1. In this order: swap red and blue, "
            "multiply, subtract, divide. input=unorm8 takes 8-bit textures.",
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
            help="Accept a --tuning file that was measured on another renderer than the "
            "--device's.",
        ),
        click.option(
            "--define",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Formulas for custom operators, layers and Lambdas.",
        ),
        click.option(
            "--no-validate",
            is_flag=True,
            help="Do not compile the shaders with glslang (GLSL ES) or naga (WGSL).",
        ),
        click.option(
            "--disable-pass",
            type=click.Choice(OPTIONAL_PASSES),
            metavar="PASS",
            multiple=True,
            help="Leave out an optimisation pass, to find a fault of the compiler: "
            f"{', '.join(OPTIONAL_PASSES)}.",
        ),
        click.option(
            "--dump-ir",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Write the graph after every optimisation pass.",
        ),
    )
    return _adding(options)(command)


WHICH_RUNTIME = (
    "Run GLSL ES on OpenGL ES (gles), or WGSL on WebGPU through the Python package wgpu (webgpu)."
)


def runtime_options(
    auto: str, what: str = WHICH_RUNTIME
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds ``--runtime`` and ``--adapter`` to a command.

    Args:
        auto: what "auto" does.
        what: what the others do.
    """
    options = (
        click.option(
            "--runtime",
            type=click.Choice(RUNTIMES),
            default="auto",
            show_default=True,
            help=f"{what} {auto}",
        ),
        click.option(
            "--adapter",
            default="",
            metavar="NAME",
            help="Take the GPU or software renderer with NAME in its name; shadergen doctor lists "
            "the names.",
        ),
    )
    return _adding(options)


def _adding(
    options: Sequence[Callable[..., Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds options to a command, in their order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def is_given(name: str) -> bool:
    """Whether an option of the command at hand has a value other than its default."""
    context = current_context()
    return context.get_parameter_source(name) is not ParameterSource.DEFAULT


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
            help=f"Warm-up frames of each {what} before measuring.",
        ),
        click.option("--seconds", type=click.FloatRange(min=0), metavar="N", help=seconds),
    )
    return _adding(options)


def model_or_build(
    path: Path, variant: str | None, name: str, of_builds: Collection[str], lists: bool = False
) -> tuple[bool, str | None]:
    """Find out whether a command was given a model or a build, and check the options for that.

    Args:
        path: of the model or the build.
        variant: the option ``--variant``.
        name: of the command.
        of_builds: the parameters of the command that a build takes.
        lists: whether the command takes several devices.

    Returns:
        Whether it is a model, and the option ``--device`` if it is given.

    Raises:
        ShadergenError: SG0301.
    """
    context = current_context()
    given = {
        p: context.params[p]
        for p in context.params
        if context.get_parameter_source(p) is ParameterSource.COMMANDLINE
    }
    profile = given.get("device")
    if profile and "," in profile and not lists:
        raise ShadergenError(
            "SG0301",
            f"{name} takes one device profile",
            why=f"--device {profile} lists several",
            help=f"run shadergen {name} once for each device, with --device DEVICE",
        )
    if not path.is_dir() and (path.is_file() or path.suffix):
        if variant:
            raise ShadergenError(
                "SG0301",
                f"--variant needs a build: '{path}' is a model",
                help="--device DEVICE compiles the model for a device",
            )
        return True, profile
    if others := sorted(set(given) - set(of_builds)):
        flags = {p.name: p.opts[-1] for p in context.command.params}
        raise ShadergenError(
            "SG0301",
            f"{flags[others[0]]} needs a model: '{path}' is a compiled build",
            help=f"give the model in place of the build: shadergen {name} MODEL",
        )
    return False, profile


def to_options(flags: dict[str, Any]) -> Options:
    """Take the options of a compilation out of a command's arguments.

    Raises:
        ShadergenError: SG03xx, for one that cannot be read.
    """
    from ..device_list import parse_devices
    from ..option_parsing import (
        parse_cut,
        parse_dynamic,
        parse_range,
        parse_sizes,
        parse_values,
    )
    from ..options import Options

    if old := flags.pop("pairs"):  # the option's name before 1.0
        echo("note: --pairs is now called --fuse-separable", err=True)
        flags["fuse_separable"] = old
    inputs, outputs, sizes = parse_cut(flags.pop("inputs"), flags.pop("outputs"))
    dynamic, texts = parse_dynamic(flags.pop("input_size"))
    within = flags.pop("input_range")
    device, variants = parse_devices(flags.pop("device"), flags.get("package", ""))
    return Options(
        device=device,
        variants=variants,
        input_size={**parse_sizes(texts), **sizes},
        dynamic=dynamic,
        input_range=None if within is None else parse_range(within),
        inputs=inputs,
        outputs=outputs,
        input_value=parse_values(flags.pop("input_value")),
        glsl=int(glsl) if (glsl := flags.pop("glsl")) else None,  # type: ignore[arg-type]
        define=tuple(flags.pop("define")),
        disable_pass=tuple(flags.pop("disable_pass")),
        validate=not flags.pop("no_validate"),
        **flags,
    )
