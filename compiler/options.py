"""The options of a compilation, and the target that they describe."""

from __future__ import annotations

import math
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..backends.devices import DEFAULT_DEVICE, device
from ..backends.devices.profile import user_shader_limits
from ..backends.user_shader.hooks import UPSCALE_FROM
from ..errors import ShadergenError, did_you_mean
from ..passes.placement.costs import of_user_shaders
from ..passes.placement.target import Target
from ..records import dataclass
from .choices import CHOICES, EMBEDDINGS, GLSL_VERSIONS, OPTIONAL_PASSES, PACKAGES, PRECISIONS
from .option_parsing import FLOAT32_MAX, invalid
from .tuning.file import read_tuning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..ir.graph import Choice

DEFAULT_RANGE = (-256.0, 256.0)  # of pictures in 0..1 or 0..255, and of what is normalised


@dataclass(frozen=True)
class Options:
    """How to compile. Every field but ``array_shapes`` and ``strings`` is a command-line option.

    The functions ``parse_...`` are in :mod:`.option_parsing`.

    Attributes:
        input_size: sizes of inputs by name, or under "" for the only input. Two numbers are height
            and width, otherwise the whole shape in the model's own order.
        dynamic: makes heights and widths of images dynamic (``--input-size dynamic``): the initial
            size, or True for the declared size.
        array_shapes: shapes of the arrays given to ``verify``, by name like ``input_size``. They
            set sizes that the model and ``input_size`` leave dynamic, if they fit.
        strings: accept string inputs (``frontends.Request.strings``), which the caller numbers.
        input_value: inputs to fix when compiling, by name: each becomes a constant. A list of
            numbers takes the declared shape if that is unambiguous.
        input_external: inputs that are external textures (``passes.read_external``), by name.
        inputs: values or layers of the model that become its inputs (``parse_cut``).
        outputs: values or layers that become its outputs; empty keeps the model's own.
        device: name of a device profile (``backends.devices``).
        variants: further profiles of ``--device``: one build each in the same folder, which
            runtimes prefer on renderers of the profile (``compiler.device_list``).
        glsl: GLSL ES version: 300, 310 or 320; None takes the device's.
        precision: "highp" (fp32) or "mediump" (fp16), for arithmetic and storage, or "auto".
        input_range: range of inputs other than 8-bit images (``parse_range``). Precision "auto"
            relies on the range, by default ``DEFAULT_RANGE``; verification draws random inputs from
            it, by default from 0..1.
        calibrate: a folder of inputs (``compiler.calibration``): precision "auto" uses bounds
            measured on them where bounds cannot be proven.
        textures: "auto", "2d", "array" or "stacked" (``placement.target.Target``).
        stage: "auto", "fragment" or "compute". In user shaders, "compute" passes write several
            planes, and "auto" is "fragment" unless ``device`` is a family of GPUs.
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
        preprocess: image preprocessing to compile in (``parse_preprocessing``), or "".
        tuning: a file of measured times (``tuning.file``), or None to use predictions.
        foreign_tuning: accept a file measured on another renderer than the device's.
        define: definition files for custom operators and layers.
        validate: validate every shader with glslang or, for WGSL, naga, if installed.
        disable_pass: names of optimisation passes to leave out (``OPTIONAL_PASSES``), to find a
            fault in one of them.
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
        intermediates: how a user shader stores values between passes, in players' textures of
            16-bit floats: "half", or "split" into two floats each, in compute passes.
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
    disable_pass: tuple[str, ...] = ()
    embed: str | None = None
    dump_ir: Path | None = None
    package: str = "build"
    hook: str | None = None
    upscale_from: float = UPSCALE_FROM
    license: str = ""
    strength: float = 1.0
    live_strength: bool = False
    luma: str | None = None
    intermediates: str = "half"

    def target(self) -> Target:
        """Check the options against their allowed values and return the target.

        Raises:
            ShadergenError: SG0301 naming the option, its value and the allowed values.
        """
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise invalid(name, value, ", ".join(allowed), did_you_mean(str(value), allowed))
        for name in self.disable_pass:
            if name not in OPTIONAL_PASSES:
                near = did_you_mean(name, OPTIONAL_PASSES)
                raise invalid("disable_pass", name, ", ".join(OPTIONAL_PASSES), near)
        if self.glsl is not None and str(self.glsl) not in GLSL_VERSIONS:
            raise invalid("glsl", self.glsl, ", ".join(GLSL_VERSIONS))
        if self.embed is not None and self.embed not in EMBEDDINGS:
            raise invalid("embed", self.embed, ", ".join(EMBEDDINGS))
        if self.package not in PACKAGES:
            raise invalid("target", self.package, ", ".join(PACKAGES))
        if not 0 < self.upscale_from < math.inf:
            raise invalid("upscale_from", self.upscale_from, "a number above 0, such as 1.2")
        if self.mrt is not None and self.mrt < 1:
            raise invalid("mrt", self.mrt, "1 or more")
        if not abs(self.zero_guard) <= FLOAT32_MAX:
            raise invalid("zero_guard", self.zero_guard, "a number that float32 holds")
        if self.weight_format == "int8" and PRECISIONS[self.precision] != "highp":
            supported = "float32, float16, or --precision highp"
            why = "sums of 8-bit weights exceed 16-bit floats"
            raise invalid("weight_format", "int8", supported, why=why)
        if self.calibrate is not None and self.precision != "auto":
            raise ShadergenError("SG0301", "--calibrate needs --precision auto")
        profile = device(self.device)
        glsl = self.glsl or profile.glsl
        if profile.webgl and glsl != profile.glsl:
            supported = f"{profile.glsl} with --device {self.device}"
            why = f"--device {self.device} is WebGL 2, with GLSL ES {profile.glsl}"
            raise invalid("glsl", glsl, supported, "omit --glsl", why)
        if profile.wgsl:
            self._check_wgsl()
        if self.input_external and profile.webgl:
            raise ShadergenError(
                "SG0301",
                f"--input-external needs OpenGL ES, --device {self.device} is WebGL",
                help="in a browser, pass the video element to run()",
            )
        if self.fetch.startswith("image") and glsl < 310:
            help = "or use --glsl 310 and a --device with images"
            raise invalid("fetch", self.fetch, "texel, sample", help)
        is_user_shader = self.package == "mpv"
        fetch = profile.fetch if self.fetch == "auto" else self.fetch
        target = Target(
            limits=user_shader_limits(self.stage, self.intermediates)
            if is_user_shader
            else profile.limits,
            glsl=glsl,
            wgsl=profile.wgsl,
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
            costs=of_user_shaders(profile.costs) if is_user_shader else profile.costs,
            products=profile.products,
            shares_programs=profile.shares_programs and not is_user_shader,
            stores_halos=is_user_shader,
            dispatches_draws=is_user_shader and self.stage == "compute",
        )
        if target.textures == "stacked":
            if target.computes:
                supported = "auto, 2d, array; stacked with --stage fragment"
                raise invalid("textures", "stacked", supported, "dispatches write array textures")
            if target.planes_per_pass or target.winograd not in ("auto", "off"):
                supported = "auto, 2d, array; stacked without --mrt and --winograd"
                help = "leave out --mrt and --winograd, which ask for draws to several layers"
                raise invalid("textures", "stacked", supported, help)
        return target

    def _check_wgsl(self) -> None:
        """Refuse options that are for OpenGL ES."""
        where = f"--device {self.device} is WebGPU"
        if self.glsl is not None:
            why = f"{where}, whose shaders are WGSL"
            raise invalid("glsl", self.glsl, "", "omit --glsl", why)
        if self.fetch not in ("auto", "texel", "sample"):
            why = f"{where}, where shaders read no images"
            raise invalid("fetch", self.fetch, "texel, sample", why=why)
        if self.embed is not None:
            raise ShadergenError(
                "SG0301",
                f"--embed {self.embed} needs OpenGL ES, {where}",
                why="the C++ runtime, which reads embedded builds, runs no WGSL",
                help="leave --embed out",
            )
        if self.input_external:
            raise ShadergenError(
                "SG0301",
                f"--input-external needs OpenGL ES, {where}",
                help="copy the frame to a texture and bind the texture as the input",
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
