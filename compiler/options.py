"""The options of a compilation, parsed from text and checked.

One class has the options of all targets, with what each means, so this file is long.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..backends.devices import DEFAULT_DEVICE, device
from ..backends.devices.profile import user_shader_limits
from ..backends.user_shader.hooks import UPSCALE_FROM
from ..errors import ShadergenError, did_you_mean
from ..ir.dimensions import DynamicDimensionError
from ..passes.attach_preprocessing import Preprocessing
from ..passes.placement.target import Target
from .choices import CHOICES, EMBEDDINGS, GLSL_VERSIONS, PACKAGES, PRECISIONS
from .tuning.file import read_tuning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ..ir.graph import Choice

DYNAMIC = "dynamic"
DEFAULT_RANGE = (-256.0, 256.0)  # of pictures in 0..1 or 0..255, and of what is normalised
FLOAT32_MAX = 3.4028234663852886e38


@dataclass(frozen=True)
class Options:
    """How to compile. Every field but ``array_shapes`` and ``strings`` is a command-line option.

    Attributes:
        input_size: sizes of dynamic inputs by name, or under "" for the only input. Two numbers are
            height and width, otherwise the whole shape in the model's own order.
        dynamic: makes heights and widths of images dynamic (``--input-size dynamic``): the initial
            size, or True for the declared size.
        array_shapes: shapes of the arrays given to ``verify``, by name like ``input_size``. They
            set sizes that the model and ``input_size`` leave dynamic, if they fit.
        strings: accept string inputs (``frontends.Request.strings``), which the caller numbers.
        input_value: inputs to fix when compiling, by name: each becomes a constant. A list of
            numbers takes the declared shape if that is unambiguous.
        input_external: inputs that are external textures (``passes.read_external``), by name.
        inputs: values or layers of the model that become its inputs (:func:`parse_cut`).
        outputs: values or layers that become its outputs; empty keeps the model's own.
        device: name of a device profile (``backends.devices``).
        variants: further profiles of ``--device``: one build each in the same folder, which
            runtimes prefer on renderers of the profile (``compiler.device_list``).
        glsl: GLSL ES version: 300, 310 or 320; None takes the device's.
        precision: "highp" (fp32) or "mediump" (fp16), for arithmetic and storage, or "auto".
        input_range: range of inputs other than 8-bit images (:func:`parse_range`). Precision "auto"
            relies on the range, by default ``DEFAULT_RANGE``; verification draws random inputs from
            it, by default from 0..1.
        calibrate: a folder of inputs (``compiler.calibration``): precision "auto" uses bounds
            measured on them where bounds cannot be proven.
        textures: "auto", "2d" or "array" (``placement.target.Target``).
        stage: "auto", "fragment" or "compute". In user shaders, "compute" passes write several
            planes, and "auto" is "fragment".
        fetch: "texel", "sample", "image" or "image-zero" (``placement.target.Target``); "auto"
            takes the faster one of the device.
        weights: "auto", "constants", "ubo", "texture" or "ssbo".
        weight_format: "float32", "float16" or "int8", of weights in textures.
        winograd: "auto", "off", "2x2" or "4x4": Winograd tiles.
        fuse_separable: "auto", "off" or "on": a depthwise convolution and the 1x1 convolution after
            it as one kernel.
        parameters: biases and other per-channel values as "constants" or in a "ubo".
        mrt: render targets of one GPU pass; None takes the device's limit.
        output_encoding: "float", "unorm8", "y2rg" or "y2rg_half".
        zero_guard: value that replaces exact zeros in convolutions, for example 0.001; 0 is off.
        preprocess: image preprocessing to compile in (:func:`parse_preprocessing`), or "".
        tuning: a file of measured times (``tuning.file``), or None to use predictions.
        foreign_tuning: accept a file measured on another renderer than the device's.
        define: definition files for custom operators and layers.
        validate: validate every shader with glslang if installed.
        embed: "c" also writes the build as C, for applications that ship without files.
        dump_ir: folder for the graph's text after every pass, or None.
        package: what is written (``--target``): "build", a folder for the runtimes, or "mpv", a
            user shader.
        hook: the stage at which a user shader replaces the player's picture; None chooses by the
            network's channels.
        upscale_from: how many times larger than the picture the player's output must be for an
            upscaling user shader to run.
        license: the network's license, for the header of a user shader; empty takes the model's.
        strength: share of the network's result in what a user shader shows; the rest is the
            picture.
        live_strength: let players that can change the strength while playing.
        luma: the input that reads the video's luma, beside an input of chroma that is half as
            large; None for networks of one input.
    """

    input_size: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dynamic: tuple[int, int] | Literal[True] | None = None
    array_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    strings: bool = False
    input_value: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    input_external: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    device: str = DEFAULT_DEVICE
    variants: tuple[str, ...] = ()
    glsl: Literal[300, 310, 320] | None = None
    precision: str = "highp"
    input_range: tuple[float, float] | None = None
    calibrate: Path | None = None
    textures: str = "auto"
    stage: str = "auto"
    fetch: str = "auto"
    weights: str = "auto"
    weight_format: str = "float32"
    winograd: str = "auto"
    fuse_separable: str = "auto"
    parameters: str = "constants"
    mrt: int | None = None
    output_encoding: str = "float"
    zero_guard: float = 0.0
    preprocess: str = ""
    tuning: Path | None = None
    foreign_tuning: bool = False
    define: tuple[Path, ...] = ()
    validate: bool = True
    embed: str | None = None
    dump_ir: Path | None = None
    package: str = "build"
    hook: str | None = None
    upscale_from: float = UPSCALE_FROM
    license: str = ""
    strength: float = 1.0
    live_strength: bool = False
    luma: str | None = None

    def target(self) -> Target:
        """Check the options against their allowed values and return the target.

        Raises:
            ShadergenError: SG0301 naming the option, its value and the allowed values; SG0207 for
                calibration at dynamic sizes.
        """
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise _invalid(name, value, ", ".join(allowed), did_you_mean(str(value), allowed))
        if self.glsl is not None and str(self.glsl) not in GLSL_VERSIONS:
            raise _invalid("glsl", self.glsl, ", ".join(GLSL_VERSIONS))
        if self.embed is not None and self.embed not in EMBEDDINGS:
            raise _invalid("embed", self.embed, ", ".join(EMBEDDINGS))
        if self.package not in PACKAGES:
            raise _invalid("target", self.package, ", ".join(PACKAGES))
        if not 0 < self.upscale_from < math.inf:
            raise _invalid("upscale_from", self.upscale_from, "a number above 0, such as 1.2")
        if self.mrt is not None and self.mrt < 1:
            raise _invalid("mrt", self.mrt, "1 or more")
        if not abs(self.zero_guard) <= FLOAT32_MAX:
            raise _invalid("zero_guard", self.zero_guard, "a number that float32 holds")
        if self.weight_format == "int8" and PRECISIONS[self.precision] != "highp":
            supported = "float32, float16, or --precision highp"
            help = "sums of 8-bit weights exceed 16-bit floats"
            raise _invalid("weight_format", "int8", supported, help)
        if self.calibrate is not None and self.precision != "auto":
            help = "only --precision auto uses calibration"
            raise _invalid("calibrate", self.calibrate, "with --precision auto", help)
        profile = device(self.device)
        glsl = self.glsl or profile.glsl
        if profile.webgl and glsl != profile.glsl:
            supported = f"{profile.glsl} with --device {self.device}"
            help = f"browsers have WebGL 2, with GLSL ES {profile.glsl}; omit --glsl"
            raise _invalid("glsl", glsl, supported, help)
        if self.input_external and profile.webgl:
            raise ShadergenError(
                "SG0301",
                f"--input-external needs OpenGL ES, --device {self.device} is WebGL",
                help="in a browser, pass the video element to run()",
            )
        if self.calibrate is not None and self.dynamic is not None:
            raise DynamicDimensionError("--calibrate")
        if self.fetch.startswith("image") and glsl < 310:
            supported = "texel and sample, or --glsl 310 with a --device that has images"
            raise _invalid("fetch", self.fetch, supported)
        is_user_shader = self.package == "mpv"
        fetch = profile.fetch if self.fetch == "auto" else self.fetch
        return Target(
            limits=user_shader_limits(self.stage) if is_user_shader else profile.limits,
            glsl=glsl,
            precision=PRECISIONS[self.precision],  # type: ignore[arg-type]
            textures=self.textures,  # type: ignore[arg-type]
            # The programs of user shaders are those of draws, in compute passes, too.
            stage="fragment" if is_user_shader else self.stage,  # type: ignore[arg-type]
            fetch="sample" if fetch.startswith("image") and glsl < 310 else fetch,  # type: ignore[arg-type]
            weights=self.weights,  # type: ignore[arg-type]
            # GPUs that play videos read constants fast, and each pass is a program anyway.
            prefers_constants=is_user_shader,
            weight_format=self.weight_format,  # type: ignore[arg-type]
            winograd=self.winograd,  # type: ignore[arg-type]
            fuse_separable=self.fuse_separable,  # type: ignore[arg-type]
            parameters=self.parameters,  # type: ignore[arg-type]
            planes_per_pass=self.mrt,
            output_encoding=self.output_encoding,  # type: ignore[arg-type]
            zero_guard=self.zero_guard,
            input_range=self.input_range or DEFAULT_RANGE,
            costs=profile.costs,
            products=profile.products,
            shares_programs=profile.shares_programs and not is_user_shader,
            stores_halos=is_user_shader,
            shuffles_targets=is_user_shader and self.stage == "compute",
        )

    def measured(self) -> Mapping[str, Mapping[Choice, float]]:
        """Return the times in the tuning file, by the tuning keys of nodes.

        Raises:
            ShadergenError: SG0101, SG0305 for a file that cannot be read, SG0306 for another
                renderer than the device's.
        """
        if self.tuning is None:
            return {}
        tuning = read_tuning(self.tuning)
        if not self.foreign_tuning:
            tuning.check_renderer(device(self.device).renderer, self.tuning)
        return tuning.measured


def _invalid(name: str, value: object, supported: str, help: str = "") -> ShadergenError:
    flag = "--" + name.replace("_", "-")
    return ShadergenError(
        "SG0301", f"{flag} {value} is not supported", supported=supported, help=help
    )


def parse_range(text: str) -> tuple[float, float]:
    """Parse ``LOW:HIGH``.

    Raises:
        ShadergenError: SG0301 for anything but two finite numbers in order.
    """
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        low = high = math.nan
    if not -FLOAT32_MAX <= low <= high <= FLOAT32_MAX:
        help = (
            f"LOW exceeds HIGH: did you mean {high:g}:{low:g}?"
            if -FLOAT32_MAX <= high < low <= FLOAT32_MAX
            else ""
        )
        raise _invalid("input_range", text, "LOW:HIGH, two numbers, for example 0:1", help)
    return low, high


def parse_dynamic(texts: Iterable[str]) -> tuple[tuple[int, int] | Literal[True] | None, list[str]]:
    """Take ``dynamic``, or ``dynamic:HxW`` with the initial size, out of ``--input-size``.

    Returns:
        The initial height and width, True for the model's own, None if nothing is dynamic; and the
        other texts.

    Raises:
        ShadergenError: SG0301 for an initial size that is not a size.
    """
    found: tuple[int, int] | Literal[True] | None = None
    others = []
    for text in texts:
        word, _, numbers = text.strip().partition(":")
        if word.lower() != DYNAMIC:
            others.append(text)
            continue
        size = _size(numbers) if numbers else None
        if numbers and (size is None or len(size) != 2):
            raise ShadergenError(
                "SG0301",
                f"--input-size {text} is not a size",
                supported="dynamic, or dynamic:HxW with the initial size",
            )
        found = (size[0], size[1]) if size else True
    return found, others


def parse_sizes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Parse ``360x640``, ``1x360x640x3``, ``name=360x640``, or several ``a=16x16,b=8x8``.

    Raises:
        ShadergenError: SG0301 for anything else, and for a size given twice.
    """
    sizes: dict[str, tuple[int, ...]] = {}
    for text in chain.from_iterable(map(_named_sizes, texts)):
        name, _, numbers = text.rpartition("=")
        size = _size(numbers)
        if size is None:
            is_dynamic = numbers.strip().lower().partition(":")[0] == DYNAMIC
            raise ShadergenError(
                "SG0301",
                f"--input-size {text} is not a size",
                supported="HxW, or the whole shape; name=HxW with several inputs; dynamic or "
                "dynamic:HxW, without a name",
                help="dynamic takes no name: it applies to all images that declare the same size; "
                "name=HxW fixes one of them"
                if is_dynamic
                else "for example --input-size 360x640",
            )
        if name in sizes:
            raise ShadergenError("SG0301", f"--input-size gives '{name or 'the input'}' twice")
        sizes[name] = size
    return sizes


def _named_sizes(text: str) -> list[str]:
    """Split at commas, as long as every part is NAME=SIZE; other texts are one part."""
    parts = _listed([text], "input-size") if "," in text else [text]
    return parts if all("=" in part for part in parts) else [text]


def _size(text: str) -> tuple[int, ...] | None:
    parts = [p.strip() for p in text.lower().replace("×", "x").split("x")]
    fits = all(p.isascii() and p.isdigit() and len(p) <= 9 for p in parts)
    return tuple(map(int, parts)) if fits else None


def parse_cut(
    inputs: Iterable[str], outputs: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, tuple[int, ...]]]:
    """Parse ``a,b`` for outputs and ``a,b=1x64x90x160`` for inputs; a name with a comma is quoted.

    Returns:
        The inputs, the outputs, and the sizes given with the inputs.

    Raises:
        ShadergenError: SG0301 for an empty name or one given twice.
    """
    names, sizes = [], {}
    for part in _listed(inputs, "inputs"):
        name, _, numbers = part.rpartition("=")
        size = _size(numbers)
        if name and size is not None:
            sizes[name] = size
        names.append(name if name and size is not None else part)
    return _unlike(names, "inputs"), _unlike(_listed(outputs, "outputs"), "outputs"), sizes


def _listed(texts: Iterable[str], option: str) -> list[str]:
    names = [name.strip() for row in csv.reader(texts, skipinitialspace=True) for name in row]
    if not all(names):
        raise ShadergenError(
            "SG0301",
            f"--{option} has an empty name",
            supported="names with commas between them",
        )
    return names


def _unlike(names: list[str], option: str) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ShadergenError("SG0301", f"--{option} gives '{name}' twice")
    return tuple(names)


def parse_values(texts: Iterable[str]) -> dict[str, NDArray[np.generic]]:
    """Parse ``name=1,2,3``: integers, numbers, or true and false.

    Raises:
        ShadergenError: SG0301 for anything else, and for a value given twice.
    """
    words = {"true": "1", "false": "0"}
    values: dict[str, NDArray[np.generic]] = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        parts = [p.strip().lower() for p in numbers.split(",")] if numbers.strip() else []
        array = _numbers([words.get(p, p) for p in parts])
        if array is None or not name:
            raise ShadergenError(
                "SG0301",
                f"--input-value {text} is not a value",
                supported="NAME=numbers with commas between them; true and false",
                help="for example --input-value shape=1,3,224,224",
            )
        if name in values:
            raise ShadergenError("SG0301", f"--input-value gives '{name}' twice")
        values[name] = array
    return values


def _numbers(texts: list[str]) -> NDArray[np.generic] | None:
    for dtype in (np.int64, np.float64):
        try:
            return np.array(texts, str).astype(dtype)
        except (ValueError, OverflowError):
            continue
    return None


def parse_preprocessing(text: str) -> Preprocessing:
    """Parse ``order=bgr,scale=255,mean=103.9/116.8/123.7,std=1,input=unorm8``.

    Every part may be left out. The model sees (scale * image - mean) / std, image values being
    0..1; scale, mean and std take one number or one for each channel in the model's order.

    Raises:
        ShadergenError: SG0301 naming the part that is wrong.
    """
    values: dict[str, object] = {}
    names = {"order": "reverse", "input": "eight_bit", "std": "deviation"}
    words = {"order": {"rgb": False, "bgr": True}, "input": {"float": False, "unorm8": True}}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, _, value = part.partition("=")
        if key in words and value.lower() in words[key]:
            values[names[key]] = words[key][value.lower()]
        elif key in ("scale", "mean", "std"):
            try:
                values[names.get(key, key)] = tuple(float(v) for v in value.split("/"))
            except ValueError:
                raise ShadergenError(
                    "SG0301", f"--preprocess: {part} is not a number or numbers between slashes"
                ) from None
        else:
            raise ShadergenError(
                "SG0301",
                f"--preprocess: '{part}' is not understood",
                supported="order=rgb|bgr, scale=, mean=, std=, input=float|unorm8",
                help="for example --preprocess order=bgr,scale=255,mean=103.9/116.8/123.7",
            )
    return Preprocessing(**values)  # type: ignore[arg-type]
