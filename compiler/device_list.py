"""``--device A,B,C``: one build with variants for devices that runtimes recognise.

One of the profiles is generic: it has no renderers of its own, and its build runs wherever no
variant is for the renderer or fits the GL. Variants for WebGPU are for runtimes on WebGPU.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from ..backends.devices import PROFILE_SUFFIX, device
from ..backends.variants import Variant
from ..errors import ShadergenError
from ..records import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..backends.build_files import BuildFiles
    from .options import Options

WEB_GLSL = 300


def parse_devices(text: str, package: str = "") -> tuple[str, tuple[str, ...]]:
    """Split a list of device profiles into the generic one and the others, in their order.

    The text is returned as it is for a user shader (``package``), which is for one profile.

    Raises:
        ShadergenError: SG0301 for an unknown profile, one given twice, and a list without a generic
            profile or with several.
    """
    if package == "mpv":
        return text.strip(), ()
    names = device_names(text)
    if len(names) == 1:
        return names[0], ()
    generic = [name for name in names if not device(name).renderers and not device(name).wgsl]
    if all(device(name).wgsl for name in names):  # runtimes on WebGPU take the first that fits
        return names[-1], tuple(names[:-1])
    if len(generic) > 1:
        why = f"{' and '.join(generic)} are generic: a runtime could not choose between them"
        raise _refusal(text, why, "one generic profile in the list", "compile two builds")
    if not generic:
        why = "it lacks a generic profile, such as gles30, for all other devices"
        raise _refusal(text, why, "one generic profile in the list", f"for example {text},gles30")
    return generic[0], tuple(name for name in names if name not in generic)


def device_names(text: str) -> list[str]:
    """Split a list of device profiles.

    Raises:
        ShadergenError: SG0301 for an empty name, and a profile given twice.
    """
    names = [name.strip() for name in text.split(",")]
    if len(names) > 1 and not all(names):
        raise _refusal(
            text,
            "a name in the list is empty",
            "comma-separated names of profiles, for example gles30,webgpu",
        )
    labels = [variant_name(name).lower() for name in names]  # as some file systems compare names
    for label in labels:
        if labels.count(label) > 1:
            raise _refusal(text, f"two profiles are called '{label}'", "", "name each device once")
    return names


def _refusal(text: str, why: str, supported: str, help: str = "") -> ShadergenError:
    what = f"--device '{text}' is not supported"
    return ShadergenError("SG0301", what, why=why, supported=supported, help=help)


def variant_name(profile: str) -> str:
    """Return what the variant for a profile is called: of a file, its name without the suffix."""
    stem = PurePath(profile).name.removesuffix(PROFILE_SUFFIX)
    return re.sub(r"[^A-Za-z0-9_-]", "_", stem)


def variants_of(options: Options) -> dict[str, Options]:
    """Return the options of each variant by its name.

    Raises:
        ShadergenError: SG0301 for options that are of one device.
    """
    if options.variants and options.tuning is not None:
        raise ShadergenError(
            "SG0301",
            f"--tuning {options.tuning} is not supported with several devices",
            why="its times were measured on one renderer",
            help="compile a build for that device alone",
        )
    found = {}
    for profile in options.variants:
        name = variant_name(profile)
        dump = options.dump_ir and options.dump_ir / name
        found[name] = replace(options, device=profile, variants=(), dump_ir=dump)
    return found


def variant_for(options: Options, name: str, files: BuildFiles) -> Variant:
    """Return the build of a variant with the renderers that its device recognises."""
    profile = device(options.device)
    return Variant(name, files, profile.renderers, profile.others)


def browser_notes(generic: Options, variants: Mapping[str, Options]) -> list[str]:
    """Say which variants no browser can take, where the generic profile is of browsers."""
    if not device(generic.device).webgl:
        return []
    targets = {name: options.target() for name, options in variants.items()}
    newer = [name for name, t in targets.items() if t.glsl > WEB_GLSL and not t.wgsl]
    if not newer:
        return []
    return [
        f"browsers cannot run variants in GLSL ES 310 or later: {', '.join(newer)}; "
        "--glsl 300 makes variants for browsers"
    ]
