"""Read a build from its folder.

Everything is checked before the first GL call: the document against the schema (:mod:`.document`),
the files (:mod:`.files`), and references between members (:mod:`.rules`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError, did_you_mean
from ...records import replace
from . import rules
from .document import SCHEDULE, malformed, read_document, validate
from .files import read_shader, read_variant, read_weights
from .files import resolve as resolve_path
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

    from .device import DeviceInfo as GlesDeviceInfo
    from .webgpu.device import DeviceInfo as WebGpuDeviceInfo

    DeviceInfo = GlesDeviceInfo | WebGpuDeviceInfo


def load(
    folder: str | Path,
    sizes: Mapping[str, int] | None = None,
    device: DeviceInfo | None = None,
    variant: str | None = None,
) -> Build:
    """Read and check the build in ``folder``. Makes no GL call.

    If the build has variants, the first one is loaded that matches the device's renderer and whose
    requirements the device meets at these sizes. Otherwise, and without a device, the generic build
    is loaded.

    Args:
        folder: the build folder.
        sizes: dynamic sizes by name; others keep their defaults.
        device: the GL, or WebGPU device, that will run the build: ``HeadlessContext.info()`` or
            :func:`query_device`.
        variant: the name of the variant to load; overrides ``device``.

    Raises:
        ShadergenError: SG0502 to SG0505 if the build is invalid; SG0605 if the build does not
            support these sizes or has no such variant.
    """
    folder = Path(folder)
    try:
        document, build = _chosen(folder, variant, device, sizes or {})
        weights = document["weights"]
        shaders = {path for p in build.passes for path in p.shaders}
        build = replace(
            build,
            shaders={path: read_shader(folder, path) for path in sorted(shaders)},
            weights=read_weights(folder, weights["file"], int(weights["size"]), weights["sha256"]),
        )
        return resized(build, sizes) if sizes else build
    except ShadergenError as error:
        raise error.at(str(folder)) from None


def check_schedule(folder: str | Path, variant: str | None = None) -> dict[str, Any]:
    """Check the schedule in ``folder`` like :func:`load`, without shaders and weights.

    Args:
        folder: the build folder.
        variant: the variant whose schedule is checked; by default the generic build.

    Returns:
        The schedule.

    Raises:
        ShadergenError: SG0502 to SG0505 if the schedule is invalid; SG0605 if the build has no
            such variant.
    """
    return _chosen(Path(folder), variant)[0]


def _chosen(
    folder: Path,
    variant: str | None,
    device: DeviceInfo | None = None,
    sizes: Mapping[str, int] | None = None,
) -> tuple[dict[str, Any], Build]:
    """Return the requested schedule, and the build without its files."""
    document = read_document(folder)
    entries = document.get("variants", [])
    names = [entry["name"] for entry in entries]
    generic = build_without_files(folder, document)
    if variant is not None:
        if variant not in names:
            raise ShadergenError(
                "SG0605",
                f"the build has no variant '{variant}'",
                supported=", ".join(names) or "none: it was compiled for one device",
                help=did_you_mean(variant, names),
            )
        return _opened(folder, entries[names.index(variant)])
    if device is not None:
        for entry in entries:
            if device.is_for(entry):
                found = _opened(folder, entry)
                if _runs(found[1], device, sizes or {}):
                    return found
    return document, generic


def _opened(folder: Path, entry: Mapping[str, Any]) -> tuple[dict[str, Any], Build]:
    """Read and check a variant."""
    name = entry["schedule"]
    path = resolve_path(folder, name)
    try:
        document = read_variant(path, name)
        return document, replace(build_without_files(folder, document), variant=entry["name"])
    except ShadergenError as error:  # it lies in another file than schedule.json
        error.what = error.what.replace(SCHEDULE, name, 1)
        error.where = tuple(where.replace(SCHEDULE, name, 1) for where in error.where)
        raise


def _runs(build: Build, device: DeviceInfo, sizes: Mapping[str, int]) -> bool:
    """Whether a device meets the requirements of a build at some sizes that the build supports."""
    try:
        device.check(resized(build, sizes).requires)
    except ShadergenError as error:
        if error.code not in ("SG0602", "SG0605"):
            raise
        return False
    return True


def resized(build: Build, sizes: Mapping[str, int]) -> Build:
    """Return a build at other sizes; sizes not named stay. Makes no GL call.

    Raises:
        ShadergenError: SG0605 if the build does not support these sizes.
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
            "SG0605", f"the build does not support {described(values)}", why=why
        ) from None
    kept = ("shaders", "weights", "variant", "variants", "wgsl_variants")
    return replace(found, **{name: getattr(build, name) for name in kept})


def build_without_files(folder: Path, document: Mapping[str, Any]) -> Build:
    """Return a schedule at its default sizes as a checked build, without shaders and weights.

    Raises:
        ShadergenError: SG0503 if the schedule is invalid.
    """
    entries = document.get("variants", ())
    try:
        return replace(
            _checked(folder, document, defaults(document)),
            variants=tuple(entry["name"] for entry in entries),
            wgsl_variants=tuple(entry["name"] for entry in entries if "wgsl" in entry),
        )
    except ShadergenError as error:
        if error.code == "SG0605":
            malformed(f"the default sizes break a constraint: {error.why}")
        raise


def _checked(folder: Path, document: Mapping[str, Any], values: Mapping[str, int]) -> Build:
    """Return a document at given sizes as a checked build without its files."""
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
