"""Read a build from its folder.

Everything is checked before a single GL call: the form (:mod:`.document`), the files
(:mod:`.files`) and how the parts refer to each other (:mod:`.checks`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError
from . import checks
from .document import SCHEDULE, malformed, read_document, validate
from .files import read_shader, read_weights
from .schedule import (
    Block,
    Buffer,
    Build,
    ComputePass,
    GpuPass,
    Port,
    Range,
    Read,
    RenderPass,
    Requires,
    Sizes,
    Texture,
    Uniform,
    Write,
)
from .sizes import chosen, defaults, described, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping


def load(folder: str | Path, sizes: Mapping[str, int] | None = None) -> Build:
    """Read and check the build in ``folder``. Makes no GL call.

    Args:
        folder: what the compiler wrote.
        sizes: of a build that leaves sizes open, those that shall not be its defaults.

    Raises:
        ShadergenError: SG0502 to SG0505, for whatever keeps the build from being played; SG0605,
            when it cannot have these sizes.
    """
    folder = Path(folder)
    try:
        document = read_document(folder)
        weights = document["weights"]
        build = _at_defaults(folder, document)
        shaders = {path for p in build.passes for path in p.shaders}
        build = replace(
            build,
            shaders={path: read_shader(folder, path) for path in sorted(shaders)},
            weights=read_weights(folder, weights["file"], int(weights["size"]), weights["sha256"]),
        )
        return resized(build, sizes) if sizes else build
    except ShadergenError as error:
        raise error.at(str(folder)) from None


def check_schedule(folder: str | Path) -> dict[str, Any]:
    """Check the schedule in ``folder`` as :func:`load` does, and none of the files that it names.

    Returns:
        The schedule.

    Raises:
        ShadergenError: SG0502 to SG0504, for whatever keeps it from being played.
    """
    folder = Path(folder)
    document = read_document(folder)
    _at_defaults(folder, document)
    return document


def resized(build: Build, sizes: Mapping[str, int]) -> Build:
    """Return a build at other sizes; those not given stay. Makes no GL call.

    Raises:
        ShadergenError: SG0605, when it cannot have these sizes.
    """
    document = build.sizes.document if build.sizes else {}
    values = chosen(document, build.sizes.values if build.sizes else {}, sizes)
    if build.sizes is None or values == build.sizes.values:
        return build
    try:
        found = _checked(build.folder, document, values)
    except ShadergenError as error:
        if error.code == "SG0605":
            raise
        why = ": ".join((*error.where, error.what))
        raise ShadergenError(
            "SG0605", f"the build cannot have {described(values)}", why=why
        ) from None
    return replace(found, shaders=build.shaders, weights=build.weights)


def _at_defaults(folder: Path, document: Mapping[str, Any]) -> Build:
    """Return a document at its own sizes as a build without its files, checked."""
    try:
        return _checked(folder, document, defaults(document))
    except ShadergenError as error:
        if error.code == "SG0605":
            malformed(f"its own defaults break a constraint: {error.why}")
        raise


def _checked(folder: Path, document: Mapping[str, Any], values: Mapping[str, int]) -> Build:
    """Return a document at sizes as a build without its files, checked as one of fixed sizes."""
    resolved = resolve(document, values)
    if values:
        validate(resolved, lenient=True)
    build = _build(folder, resolved)
    if values:
        build = replace(build, sizes=Sizes(values, document))
    checks.check(build, int(document["weights"]["size"]))
    return build


def _build(folder: Path, document: Mapping[str, Any]) -> Build:
    requires = document["requires"]
    return Build(
        folder=folder,
        version=document["version"],
        generator=document["generator"],
        model=document["model"],
        requires=Requires(
            int(requires["glsl"]),
            requires["color_buffer"],
            {name: int(value) for name, value in requires["limits"].items()},
            tuple(requires.get("extensions", ())),
        ),
        sizes=None,
        inputs=tuple(map(_port, document["inputs"])),
        outputs=tuple(map(_port, document["outputs"])),
        textures=_by_name("textures", map(_texture, document["textures"])),
        buffers=_by_name("buffers", map(_buffer, document["buffers"])),
        passes=tuple(map(_pass, document["passes"])),
        shaders={},
        weights=b"",
    )


def _by_name(member: str, items: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for i, item in enumerate(items):
        if item.name in result:
            malformed(f"the name {item.name!r} is taken", f"{SCHEDULE}: {member}[{i}].name")
        result[item.name] = item
    return result


# JSON knows no integers: 640.0 is one by the schema, so every one is converted.


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def _port(d: Mapping[str, Any]) -> Port:
    shape, axes = _ints(d["shape"]), _ints(d["axes"])
    limits = d.get("range")  # outputs have none
    span = None if limits is None else (float(limits[0]), float(limits[1]))
    return Port(d["name"], d["texture"], shape, axes, d["encoding"], d["dtype"], span)


def _range(d: Mapping[str, Any]) -> Range:
    return Range(int(d["offset"]), int(d["size"]))


def _texture(d: Mapping[str, Any]) -> Texture:
    return Texture(
        name=d["name"],
        kind=d["kind"],
        format=d["format"],
        width=int(d["width"]),
        height=int(d["height"]),
        layers=int(d["layers"]),
        packing=d["packing"],
        channels=int(d["channels"]),
        batch=int(d["batch"]),
        slot=None if d["slot"] is None else int(d["slot"]),
        first=int(d["first"]),
        last=int(d["last"]),
        data=None if d["data"] is None else _range(d["data"]),
    )


def _buffer(d: Mapping[str, Any]) -> Buffer:
    return Buffer(d["name"], d["kind"], _range(d))


def _pass(d: Mapping[str, Any]) -> GpuPass:
    common: dict[str, Any] = {
        "name": d["name"],
        "kernel": d["kernel"],
        "shader": d["shader"],
        "layers": tuple(d["layers"]),
        "reads": tuple(map(_read, d["reads"])),
        "blocks": tuple(Block(b["block"], b["buffer"]) for b in d["blocks"]),
        "uniforms": tuple(map(_uniform, d["uniforms"])),
        "writes": tuple(Write(w["texture"], int(w["layer"])) for w in d["writes"]),
        "barriers": tuple(d["barriers"]),
        "weights": d["weights"],
        "macs": int(d["macs"]),
        "bytes_read": int(d["bytes"]["read"]),
        "bytes_written": int(d["bytes"]["written"]),
    }
    if d["stage"] == "compute":
        workgroup, groups = _ints(d["workgroup"]), _ints(d["groups"])
        return ComputePass(
            **common,
            image=int(d["image"]),
            workgroup=(workgroup[0], workgroup[1], workgroup[2]),
            groups=(groups[0], groups[1], groups[2]),
        )
    width, height = _ints(d["viewport"])
    return RenderPass(**common, vertex=d["vertex"], viewport=(width, height))


def _read(d: Mapping[str, Any]) -> Read:
    layer = int(d["layer"]) if "layer" in d else None
    span = _ints(d["layers"]) if "layers" in d else ()
    layers = (span[0], span[1]) if span else None
    image, matrix = int(d.get("image", 0)), d.get("matrix", "")
    return Read(d.get("uniform", ""), image, d["texture"], layer, layers, matrix)


def _uniform(d: Mapping[str, Any]) -> Uniform:
    number = int if d["type"] in ("int", "ivec2") else float
    return Uniform(d["name"], d["type"], tuple(number(v) for v in d["value"]))
