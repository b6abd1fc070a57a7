"""Builds of one model for several devices in one folder, which share files of equal content.

The generic build keeps the names of its files. Its schedule lists the variants, and runtimes that
know no device run it. A variant's schedule is ``variants/NAME.json``. Files of a variant that an
earlier build does not have get its name: ``shaders/00_conv.NAME.frag``, ``weights.NAME.bin``.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ..records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .build_files import BuildFiles

_PATHS = ("vertex", "shader")  # members of a pass


@dataclass(frozen=True)
class Variant:
    """A build for WebGPU, or for the renderers that ``renderers`` match and ``others`` do not.

    Both are patterns of ``runtime_glue.python.renderers``.
    """

    name: str
    files: BuildFiles
    renderers: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def entry(self) -> dict[str, Any]:
        """What a schedule says of it, but for the name of its own."""
        lists = {"renderers": list(self.renderers), "others": list(self.others)}
        wgsl = self.files.schedule["requires"].get("wgsl")
        return lists | ({"wgsl": wgsl} if wgsl else {})


def with_variants(generic: BuildFiles, variants: Iterable[Variant]) -> BuildFiles:
    """Return the generic build with variants, in order of preference."""
    shaders = {source: path for path, source in generic.shaders.items()}
    weights = {_digest(generic): generic.weights_path}
    entries, builds = [], {}
    for variant in variants:
        place = f"variants/{variant.name}.json"
        builds[place] = _sharing(variant, shaders, weights)
        entries.append({"name": variant.name, "schedule": place, **variant.entry})
    head = {name: generic.schedule[name] for name in ("format", "version", "generator", "model")}
    schedule = head | {"variants": entries} | generic.schedule
    return replace(generic, schedule=schedule, variants=builds)


def _sharing(variant: Variant, shaders: dict[str, str], weights: dict[str, str]) -> BuildFiles:
    """Return a variant whose files of known content have the known paths; the others become known.

    Args:
        variant: with paths that other builds may have, too.
        shaders: paths by source.
        weights: paths by checksum.
    """
    files, name = variant.files, variant.name
    paths = {
        path: shaders.setdefault(source, _named(path, name))
        for path, source in files.shaders.items()
    }
    place = weights.setdefault(_digest(files), _named(files.weights_path, name))
    passes: list[dict[str, Any]] = [
        p | {member: paths[p[member]] for member in _PATHS if member in p}
        for p in files.schedule["passes"]
    ]
    schedule = files.schedule | {
        "weights": files.schedule["weights"] | {"file": place},
        "passes": passes,
    }
    return replace(
        files,
        schedule=schedule,
        shaders={paths[path]: source for path, source in files.shaders.items()},
        weights_path=place,
    )


def _digest(files: BuildFiles) -> str:
    return str(files.schedule["weights"]["sha256"])


def _named(path: str, name: str) -> str:
    """Return a path with a name before its suffix."""
    suffix = PurePosixPath(path).suffix
    return f"{path.removesuffix(suffix)}.{name}{suffix}"
