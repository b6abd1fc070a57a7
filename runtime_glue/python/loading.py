"""Read a build from its folder.

Everything is checked before a single GL call: the form (:mod:`.document`), the files
(:mod:`.files`) and how the parts refer to each other (:mod:`.rules`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError
from . import rules
from .document import SCHEDULE, malformed, read_document, validate
from .files import read_shader, read_weights
from .schedule import (
    Buffer,
    Build,
    ComputePass,
    GpuPass,
    Port,
    RenderPass,
    Requires,
    Sizes,
    Texture,
    parsed,
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
        ShadergenError: SG0502 to SG0505, for whatever keeps the build from being run; SG0605,
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
        ShadergenError: SG0502 to SG0504, for whatever keeps it from being run.
    """
    folder = Path(folder)
    document = read_document(folder)
    _at_defaults(folder, document)
    return document


def resized(build: Build, sizes: Mapping[str, int]) -> Build:
    """Return a build at other sizes; sizes not given stay. Makes no GL call.

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
            malformed(f"the default sizes break a constraint: {error.why}")
        raise


def _checked(folder: Path, document: Mapping[str, Any], values: Mapping[str, int]) -> Build:
    """Return a document at sizes as a build without its files, checked as one of fixed sizes."""
    resolved = resolve(document, values)
    if values:
        validate(resolved, lenient=True)
    build = _build(folder, resolved)
    if values:
        build = replace(build, sizes=Sizes(values, document))
    rules.check(build, int(document["weights"]["size"]))
    return build


def _build(folder: Path, document: Mapping[str, Any]) -> Build:
    buffers = [{**buffer, "range": buffer} for buffer in document["buffers"]]
    return Build(
        folder=folder,
        version=document["version"],
        generator=document["generator"],
        model=document["model"],
        requires=parsed(Requires, document["requires"]),
        sizes=None,
        inputs=parsed(tuple[Port, ...], document["inputs"]),
        outputs=parsed(tuple[Port, ...], document["outputs"]),
        textures=_by_name("textures", parsed(tuple[Texture, ...], document["textures"])),
        buffers=_by_name("buffers", parsed(tuple[Buffer, ...], buffers)),
        passes=tuple(map(_pass, document["passes"])),
        shaders={},
        weights=b"",
    )


def _by_name(member: str, items: tuple[Any, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for i, item in enumerate(items):
        if item.name in result:
            malformed(f"the name {item.name!r} is taken", f"{SCHEDULE}: {member}[{i}].name")
        result[item.name] = item
    return result


def _pass(document: Mapping[str, Any]) -> GpuPass:
    traffic = {f"bytes_{way}": size for way, size in document["bytes"].items()}
    kind = ComputePass if document["stage"] == "compute" else RenderPass
    found: GpuPass = parsed(kind, {**document, **traffic})
    return found
