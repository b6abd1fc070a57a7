"""``--target mpv``: which options a user shader leaves open, and writing the file."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ..backends.devices.profile import USER_SHADER, USER_SHADER_COMPUTE, user_shader_limits
from ..backends.replacing import replacing_file
from ..errors import ShadergenError, reason
from ..ir.types import LANES
from .options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Passes of the format write one 2D texture, and have neither buffers nor data of a runtime's own.
FIXED: dict[str, Any] = {
    "textures": "2d",
    "fetch": "texel",
    "weights": "constants",
    "weight_format": "float32",
    "parameters": "constants",
    "winograd": "off",
    "fuse_separable": "off",
    "precision": "highp",
    "output_encoding": "float",
    "glsl": 300,
    "variants": (),
    "input_external": (),
    "calibrate": None,
    "embed": None,
}
OWN = ("hook", "upscale_from", "license")  # options that only user shaders have
LONG = 1 << 20  # characters of code from where on players take long to compile it


def for_user_shader(options: Options) -> Options:
    """Return the options of a user shader, with what the format fixes and sizes dynamic.

    Raises:
        ShadergenError: SG0301 for an option that asks for something else.
    """
    defaults = {f.name: f.default for f in fields(Options)}
    stage = "fragment" if options.stage == "auto" else options.stage
    most = user_shader_limits(stage).draw_buffers
    for name, value in FIXED.items():
        given = getattr(options, name)
        if given not in (defaults[name], value):
            flag = "--device" if name == "variants" else "--" + name.replace("_", "-")
            text = f" {given}" if isinstance(given, (str, int)) else ""
            shown = value if isinstance(value, (str, int)) else ""
            raise ShadergenError(
                "SG0301",
                f"{flag}{text} is not supported with --target mpv",
                supported=f"{flag} {shown}" if shown else "",
                help="" if shown else f"omit {flag}, or give one profile",
            )
    if "" in options.input_size and options.dynamic is None:
        size = "x".join(map(str, options.input_size[""]))
        raise ShadergenError(
            "SG0301",
            f"--input-size {size} is not supported with --target mpv",
            why="videos have any size",
            help="omit --input-size; dynamic:HxW sets the size that costs are compared at",
        )
    if (options.mrt or 1) > most:
        deepest = USER_SHADER_COMPUTE.draw_buffers
        raise ShadergenError(
            "SG0301",
            f"--mrt {options.mrt} is not supported with --target mpv",
            supported=f"--mrt 1, or up to {deepest} with --stage compute",
        )
    return replace(
        options, **FIXED, stage=stage, mrt=options.mrt or most, dynamic=options.dynamic or True
    )


def check_unused(options: Options) -> None:
    """Refuse options of user shaders where a build is written.

    Raises:
        ShadergenError: SG0301.
    """
    defaults = {f.name: f.default for f in fields(Options)}
    for name in OWN:
        if getattr(options, name) != defaults[name]:
            flag = "--" + name.replace("_", "-")
            raise ShadergenError("SG0301", f"{flag} needs --target mpv")


@contextmanager
def within_the_format(stage: str) -> Iterator[None]:
    """Say of a kernel that exceeds a limit which limits a user shader has."""
    try:
        yield
    except ShadergenError as error:
        if error.code == "SG0402":
            most = USER_SHADER.texture_units
            planes = user_shader_limits(stage).draw_buffers
            error.why = (
                f"a pass of a user shader binds at most {most} textures of {LANES * planes} "
                "channels (players on OpenGL have 16 vertex attributes), and has its weights in "
                "its code"
            )
            channels = f"at most {LANES * planes * most} channels in each layer"
            wide = "" if stage == "compute" else "--stage compute, or "
            error.help = f"use {wide}{channels}"
        raise


def write_user_shader(text: str, output: Path) -> None:
    """Write the file, or leave an earlier one as it is.

    Raises:
        ShadergenError: SG0501.
    """
    try:
        with replacing_file(output) as fresh:
            fresh.write_text(text, "utf-8")
    except OSError as error:
        raise ShadergenError(
            "SG0501",
            f"cannot write '{output}'",
            why=reason(error),
            help="--target mpv writes one file, for example -o net.glsl",
        ) from None


def length_notes(text: str) -> tuple[str, ...]:
    """Return what to know of a long file."""
    if len(text) <= LONG:
        return ()
    return (f"{len(text) / LONG:.1f} MB of code: players take long to start it",)
