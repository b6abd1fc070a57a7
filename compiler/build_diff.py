"""What differs between two builds: ``diff``.

The GPU passes that write one tensor are one step of a build. Steps of two builds belong together if
they write tensors of the same name.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..backends.devices.gpus import GPUS
from ..backends.dialects.language import without_comments
from ..errors import ShadergenError
from ..records import dataclass
from ..runtime_glue.python.files import read_shader
from ..runtime_glue.python.loading import check_schedule
from .estimation import estimate, gpus_of
from .inspection import peak_bytes, texture_bytes
from .size_texts import at_defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

IGNORED = ("generator", "sha256", "version")  # members that say who wrote a schedule, and how
PART = re.compile(r"\[\d+:\d+(,\d+:\d+)*\]$")  # of the name of a pass that writes some layers
OF_STEPS = ("passes", "textures", "buffers")  # members that the changes of steps stand for


@dataclass(frozen=True)
class Step:
    """The GPU passes that write a tensor.

    Attributes:
        name: of the tensor.
        layers: of the model that they compute.
        kernel: such as "fragment convolution".
        passes: how many.
        weights: where the weights are.
        texture: kind, format and size of the texture, as text.
        macs: multiply-adds.
        bytes: read and written.
        shaders: their files, each once.
        sources: the shaders without comments.
    """

    name: str
    layers: tuple[str, ...]
    kernel: str
    passes: int
    weights: str
    texture: str
    macs: int
    bytes: int
    shaders: tuple[str, ...]
    sources: tuple[str, ...]


class Named(Protocol):
    """A part of what is compared."""

    @property
    def name(self) -> str:
        """Its name; parts of the same name belong together."""


Part = TypeVar("Part", bound=Named)


@dataclass(frozen=True)
class Change(Generic[Part]):
    """A part, such as a step of a build, that one side lacks, or that differs.

    Attributes:
        before: None if the first side lacks it.
        after: None if the second side lacks it.
        details: what differs, such as "kernel: fragment convolution -> compute convolution".
    """

    before: Part | None
    after: Part | None
    details: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    @property
    def step(self) -> Part:
        """The part on the second side, or on the first if only this has it."""
        step = self.after or self.before
        assert step is not None
        return step


@dataclass(frozen=True)
class Totals:
    """Figures of a build at its default sizes; ``milliseconds`` are estimates of a frame by GPU."""

    passes: int
    shaders: int
    macs: int
    bytes: int
    texture_bytes_peak: int
    texture_bytes_total: int
    weight_bytes: int
    milliseconds: dict[str, float]


@dataclass(frozen=True)
class BuildDiff:
    """What differs between two builds.

    Attributes:
        before: figures of the first build.
        after: of the second.
        changes: of the GPU passes, in the order of the builds.
        members: of the schedules that differ, such as "inputs"; without "weights", and with changes
            without ``OF_STEPS``.
        same_weights: whether the weights are the same.
        shaders: unified differences of the shaders, line by line.
    """

    before: Totals
    after: Totals
    changes: tuple[Change[Step], ...]
    members: tuple[str, ...]
    same_weights: bool
    shaders: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        return not (self.changes or self.members or self.shaders) and self.same_weights


@dataclass(frozen=True)
class _Side:
    folder: Path
    document: Mapping[str, Any]
    data: Mapping[str, Any]  # at the default sizes
    shaders: Mapping[str, str]
    steps: dict[str, Step]


def diff_builds(
    first: Path, second: Path, profile: str | None = None, variant: str | None = None
) -> BuildDiff:
    """Compare two builds.

    Args:
        first: a build's folder.
        second: another.
        profile: a device profile to estimate times for; by default all GPUs with published rates.
        variant: the name of the variant of both to compare; by default the generic builds.

    Raises:
        ShadergenError: SG0502 to SG0505 for a malformed build, SG0605 for an unknown variant,
            SG0301 for a profile that nothing can be estimated for.
    """
    gpus = GPUS if profile is None else gpus_of(profile)
    a, b = _read(first, variant), _read(second, variant)
    changes = tuple(changes_of(a.steps, b.steps, _details))
    differing = {
        name
        for name in {*a.document, *b.document}.difference(IGNORED)
        if a.document.get(name) != b.document.get(name)
    }
    members = tuple(sorted(differing - {"weights", *(OF_STEPS if changes else ())}))
    same = "weights" not in differing
    needed = profile is not None
    return BuildDiff(
        _totals(a, gpus, needed),
        _totals(b, gpus, needed),
        changes,
        members,
        same,
        tuple(_shader_lines(a, b)),
    )


def _read(folder: Path, variant: str | None) -> _Side:
    try:
        document = check_schedule(folder, variant)
        paths = {
            path for p in document["passes"] for path in (p["shader"], p.get("vertex")) if path
        }
        shaders = {path: read_shader(folder, path) for path in sorted(paths)}
    except ShadergenError as error:
        raise error.at(str(folder)) from None
    data = at_defaults(document)
    return _Side(folder, document, data, shaders, _steps(data, shaders))


def _steps(data: Mapping[str, Any], shaders: Mapping[str, str]) -> dict[str, Step]:
    textures = {t["name"]: t for t in data["textures"]}
    writing: dict[str, list[Any]] = {}
    for p in data["passes"]:
        writing.setdefault(tensor_of(p, textures), []).append(p)
    found = {}
    for name, passes in writing.items():
        paths = tuple(dict.fromkeys(p["shader"] for p in passes))
        t = textures[passes[0]["writes"][0]["texture"]]
        kernels = dict.fromkeys(f"{p['stage']} {p['kernel']}" for p in passes)
        found[name] = Step(
            name,
            tuple(passes[0]["layers"]),
            ", ".join(kernels),
            len(passes),
            passes[0]["weights"],
            f"{t['kind']} {t['format']} {t['layers']}x{t['height']}x{t['width']}",
            sum(p["macs"] for p in passes),
            sum(p["bytes"]["read"] + p["bytes"]["written"] for p in passes),
            paths,
            tuple(without_comments(shaders[path]) for path in paths),
        )
    return found


def tensor_of(p: Mapping[str, Any], textures: Mapping[str, Any]) -> str:
    """Return the tensor that a GPU pass writes.

    The schedule has its name only as the pass's: "conv", or "conv[0:2]" for some of the layers.
    """
    if len(p["writes"]) == textures[p["writes"][0]["texture"]]["layers"]:
        return str(p["name"])
    return PART.sub("", p["name"])


def changes_of(
    before: Mapping[str, Part],
    after: Mapping[str, Part],
    details: Callable[[Part, Part], Iterator[str]],
) -> Iterator[Change[Part]]:
    """Yield the changes in the order of the second side; what it lacks in that of the first.

    ``details`` says in what two parts of one name differ.
    """
    names_before, names_after = list(before), list(after)
    matcher = difflib.SequenceMatcher(a=names_before, b=names_after, autojunk=False)
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        for name in names_before[i1:i2]:
            if name not in after:
                yield Change(before[name], None)
        for name in names_after[j1:j2]:
            if name not in before:
                yield Change(None, after[name])
            elif found := tuple(details(before[name], after[name])):
                yield Change(before[name], after[name], found)


def _details(a: Step, b: Step) -> Iterator[str]:
    pairs = (
        ("layers", ", ".join(a.layers), ", ".join(b.layers)),
        ("kernel", a.kernel, b.kernel),
        ("GPU passes", a.passes, b.passes),
        ("weights", a.weights, b.weights),
        ("texture", a.texture, b.texture),
        ("multiply-adds", a.macs, b.macs),
        ("bytes", a.bytes, b.bytes),
    )
    for what, one, other in pairs:
        if one != other:
            yield f"{what}: {one} -> {other}"
    if a.sources != b.sources:
        yield "shader"


def _totals(side: _Side, gpus: Mapping[str, Any], needed: bool) -> Totals:
    """Return the figures; without ``needed``, estimates that cannot be made are left out."""
    data = side.data
    try:
        frames = estimate(data, gpus)
    except ShadergenError as error:
        if needed:
            raise error.at(str(side.folder)) from None
        frames = ()
    return Totals(
        passes=len(data["passes"]),
        shaders=len(side.shaders),
        macs=sum(p["macs"] for p in data["passes"]),
        bytes=sum(p["bytes"]["read"] + p["bytes"]["written"] for p in data["passes"]),
        texture_bytes_peak=peak_bytes(data),
        texture_bytes_total=sum(map(texture_bytes, data["textures"])),
        weight_bytes=data["weights"]["size"],
        milliseconds={frame.gpu: frame.milliseconds for frame in frames},
    )


def _shader_lines(a: _Side, b: _Side) -> Iterator[str]:
    """Yield unified differences: of each step that both have, then of shaders that one has."""
    pairs: dict[tuple[str, str], None] = {}
    for name in (name for name in a.steps if name in b.steps):
        pairs |= dict.fromkeys(zip(a.steps[name].shaders, b.steps[name].shaders, strict=False))
    alone = [(path, "") for path in a.shaders if path not in {p for p, _ in pairs}]
    alone += [("", path) for path in b.shaders if path not in {p for _, p in pairs}]
    for one, other in (*pairs, *alone):
        old, new = a.shaders.get(one), b.shaders.get(other)
        if old is None and a.shaders.get(other) == new:
            continue  # such as the vertex shader, which no step names
        if new is None and b.shaders.get(one) == old:
            continue
        yield from difflib.unified_diff(
            (old or "").splitlines(),
            (new or "").splitlines(),
            f"{a.folder}/{one}" if one else "/dev/null",
            f"{b.folder}/{other}" if other else "/dev/null",
            lineterm="",
        )
