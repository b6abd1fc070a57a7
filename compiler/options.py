"""The options of a compilation, parsed from text and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..backends.devices import DEFAULT_DEVICE, device
from ..errors import ShadergenError, did_you_mean
from ..ir.target import Target
from ..passes.attach_preprocessing import Preprocessing
from .choices import CHOICES, GLSL_VERSIONS, PRECISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FLOAT32_MAX = 3.4028234663852886e38


@dataclass(frozen=True)
class Options:
    """How to compile. Every field is a command-line option of the same name.

    Attributes:
        input_size: sizes for dynamic inputs, by input name, or under "" for the only one; two
            numbers are height and width, otherwise the whole shape in the model's own order.
        device: name of a device profile (``backends.devices``).
        glsl: GLSL ES version: 300, 310 or 320.
        precision: "highp" (fp32) or "mediump" (fp16), for arithmetic and storage.
        textures: "auto", "2d" or "array" (``ir.target.Target``).
        weights: "auto", "constants", "ubo", "texture" or "ssbo".
        parameters: biases and other per-channel values as "constants" or in a "ubo".
        mrt: render targets of one GPU pass; None takes what the device allows.
        output_encoding: "float", "unorm8", "y2rg" or "y2rg_half".
        zero_guard: what convolutions read in place of exact zeros, 0.001 say; 0 is off.
        preprocess: image preprocessing to compile in (:func:`parse_preprocessing`), or "".
        define: definition files for custom operators and layers.
        validate: send every shader through glslang where that is installed.
        dump_ir: folder for the graph's text after every pass, or None.
    """

    input_size: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    device: str = DEFAULT_DEVICE
    glsl: Literal[300, 310, 320] = 300
    precision: str = "highp"
    textures: str = "auto"
    weights: str = "auto"
    parameters: str = "constants"
    mrt: int | None = None
    output_encoding: str = "float"
    zero_guard: float = 0.0
    preprocess: str = ""
    define: tuple[Path, ...] = ()
    validate: bool = True
    dump_ir: Path | None = None

    def target(self) -> Target:
        """Check the options against their allowed values and return the target.

        Raises:
            ShadergenError: SG0301 naming the option, its value and what is allowed.
        """
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise _invalid(name, value, ", ".join(allowed), did_you_mean(str(value), allowed))
        if str(self.glsl) not in GLSL_VERSIONS:
            raise _invalid("glsl", self.glsl, ", ".join(GLSL_VERSIONS))
        if self.mrt is not None and self.mrt < 1:
            raise _invalid("mrt", self.mrt, "1 or more")
        if not abs(self.zero_guard) <= FLOAT32_MAX:
            raise _invalid("zero_guard", self.zero_guard, "a number that float32 holds")
        return Target(
            limits=device(self.device),
            glsl=self.glsl,
            precision=PRECISIONS[self.precision],  # type: ignore[arg-type]
            textures=self.textures,  # type: ignore[arg-type]
            weights=self.weights,  # type: ignore[arg-type]
            parameters=self.parameters,  # type: ignore[arg-type]
            planes_per_pass=self.mrt,
            output_encoding=self.output_encoding,  # type: ignore[arg-type]
            zero_guard=self.zero_guard,
        )


def _invalid(name: str, value: object, supported: str, help: str = "") -> ShadergenError:
    flag = "--" + name.replace("_", "-")
    return ShadergenError(
        "SG0301", f"{flag} {value} is not possible", supported=supported, help=help
    )


def parse_sizes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Parse ``360x640``, ``1x360x640x3`` or ``name=360x640``.

    Raises:
        ShadergenError: SG0301 for anything else, and for a size given twice.
    """
    sizes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        parts = numbers.lower().replace("×", "x").split("x")
        if not all(p.strip().isdigit() for p in parts) or any(len(p.strip()) > 9 for p in parts):
            raise ShadergenError(
                "SG0301",
                f"--input-size {text} is not a size",
                supported="HxW, or the whole shape; name=HxW with several inputs",
                help="for example --input-size 360x640",
            )
        if name in sizes:
            raise ShadergenError("SG0301", f"--input-size gives '{name or 'the input'}' twice")
        sizes[name] = tuple(int(p) for p in parts)
    return sizes


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
