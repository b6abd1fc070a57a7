"""What a report shows: the figures of a build, its GPU passes by layers, shaders and decisions."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...backends.devices.gpus import GPUS
from ...errors import ShadergenError
from ...records import dataclass, replace
from ...runtime_glue.python.files import read_shader
from ...runtime_glue.python.loading import check_schedule
from .. import compilation
from ..estimation import gpus_of
from ..inspection import Inspection, as_user_shader, inspection, user_shader_frame
from ..player.outline import refuse_user_shader, sections
from ..size_texts import at_defaults
from ..user_shader import as_dispatched
from .weights import histograms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from ...backends.devices.gpus import Gpu
    from ...passes.rule import Decision
    from ..options import Options
    from .weights import Histogram

PASS = "//!HOOK"  # begins a pass in the text of a user shader
OTHERWISE = "shadergen report MODEL --target mpv shows the passes of a user shader"


@dataclass(frozen=True)
class Step:
    """GPU passes in a row of one kernel into the same textures: most layers take several.

    Attributes:
        kernel: what the passes compute.
        passes: their positions in the schedule.
        reads: the textures read, without constants.
        writes: the textures written.
        weights: the constant textures read.
        buffers: the buffers read, which hold constants.
    """

    kernel: str
    passes: tuple[int, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    weights: tuple[str, ...]
    buffers: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """GPU passes in a row that compute the same layers of the model.

    Attributes:
        layers: their names in the model.
        steps: in order.
        decisions: of the compiler about these layers.
        weights: of these layers in the model.
    """

    layers: tuple[str, ...]
    steps: tuple[Step, ...]
    decisions: tuple[Decision, ...]
    weights: tuple[Histogram, ...]

    @property
    def passes(self) -> tuple[int, ...]:
        return tuple(k for step in self.steps for k in step.passes)


@dataclass(frozen=True)
class Content:
    """What a report shows.

    Attributes:
        title: of the page: the model's file, or the model's name in a build.
        schedule: of the build, at its default sizes.
        found: the figures that ``inspect`` prints; estimates for all GPUs, or for the device's.
        shaders: their sources, by their files.
        groups: the GPU passes by their layers, in order.
        decisions: of the compiler in order; None for a build, which does not hold them.
        variant: the name of the variant shown.
        notes: what the page does not show, and why.
    """

    title: str
    schedule: Mapping[str, Any]
    found: Inspection
    shaders: Mapping[str, str]
    groups: tuple[Group, ...]
    decisions: tuple[Decision, ...] | None
    variant: str | None = None
    notes: tuple[str, ...] = ()


def build_content(folder: Path, profile: str | None = None, variant: str | None = None) -> Content:
    """Read a build, checked as runtimes do before they run it; its weights are not read.

    Args:
        folder: of the build.
        profile: a device profile to estimate times for; by default all GPUs with published rates.
        variant: the name of the variant to show; by default the generic build.

    Raises:
        ShadergenError: SG0502 to SG0505 when the build is malformed, SG0605 for an unknown variant,
            SG0301 for a user shader, and for a profile that nothing can be estimated for.
    """
    refuse_user_shader(folder, OTHERWISE)
    gpus = GPUS if profile is None else gpus_of(profile)
    try:
        schedule = check_schedule(folder, variant)
        paths = sorted({p["shader"] for p in schedule["passes"]})
        shaders = {path: read_shader(folder, path) for path in paths}
        return _content(
            schedule["model"],
            schedule,
            shaders,
            None,
            gpus,
            variant=variant,
            needed=profile is not None,
        )
    except ShadergenError as error:
        raise error.at(str(folder)) from None


def model_content(
    model: Path,
    options: Options,
    profile: str | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Content:
    """Compile a model in memory, into a build or a user shader.

    Raises:
        ShadergenError: as :func:`.compilation.compile_graph` and :func:`.compilation.import_model`;
            SG0301 for a user shader.
    """
    refuse_user_shader(model, OTHERWISE)
    if options.package == "mpv":
        return _user_shader_content(model, options, profile, progress)
    try:
        progress("reading the model")
        graph = compilation.import_model(model, options)
        _, files, context = compilation.compile_graph(graph, options, progress)
    except ShadergenError as error:
        raise error.at(str(model)) from None
    gpus, notes = _gpus_or_note(profile)
    progress("reading the weights")
    paths = sorted({p["shader"] for p in files.schedule["passes"]})
    return _content(
        model.stem,
        files.schedule,
        {path: files.shaders[path] for path in paths},
        tuple(context.decisions),
        gpus,
        histograms(graph),
        notes=notes,
    )


def _user_shader_content(
    model: Path, options: Options, profile: str | None, progress: Callable[[str], None]
) -> Content:
    """Compile a model into a user shader in memory; the schedule is that of a frame."""
    compiled, shader, frame = user_shader_frame(model, options, progress)
    gpus, notes = _gpus_or_note(profile)
    codes = [text for text in sections(shader.text) if text.startswith(PASS)]
    paths = [f"pass {k}" for k in range(len(codes))]
    shaders = dict(zip(paths, codes, strict=True))
    passes = [p | {"shader": path} for p, path in zip(frame["passes"], paths, strict=True)]
    decisions = as_dispatched(compiled.decisions, compiled.graph, shader)
    progress("reading the weights")
    content = _content(
        model.stem,
        frame | {"passes": passes, "textures": _in_use(frame)},
        shaders,
        decisions,
        gpus,
        histograms(compiled.model),
        notes=notes,
    )
    return replace(content, found=as_user_shader(content.found, shader))


def _in_use(frame: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the textures of a frame with their first and last pass in it.

    Each has a slot of its own, as players share no textures.
    """
    users = defaultdict(list)
    for k, p in enumerate(frame["passes"]):
        for entry in (*p["reads"], *p["writes"]):
            users[entry["texture"]].append(k)
    inputs = {port["texture"] for port in frame["inputs"]}
    return [
        t
        | {"first": min(users[t["name"]]), "last": max(users[t["name"]])}
        | {"slot": None if t["data"] is not None or t["name"] in inputs else k}
        for k, t in enumerate(frame["textures"])
        if t["name"] in users
    ]


def _gpus_or_note(profile: str | None) -> tuple[Mapping[str, Gpu], tuple[str, ...]]:
    """Return the GPUs to estimate for, and notes on why there are none."""
    if profile is None:
        return GPUS, ()
    try:
        return gpus_of(profile), ()
    except ShadergenError as error:  # the device can be compiled for, but not estimated
        return {}, (f"no estimates: {error.what}",)


def _content(
    title: str,
    schedule: dict[str, Any],
    shaders: Mapping[str, str],
    decisions: tuple[Decision, ...] | None,
    gpus: Mapping[str, Gpu],
    weights: tuple[Histogram, ...] = (),
    variant: str | None = None,
    notes: tuple[str, ...] = (),
    needed: bool = False,
) -> Content:
    """Return the content; without ``needed``, estimates that cannot be made become a note."""
    try:
        found = inspection(schedule, gpus)
    except ShadergenError as error:
        if needed or not gpus:
            raise
        found = inspection(schedule, {})
        notes += (f"no estimates: {error.why or error.what}",)
    data = at_defaults(schedule)
    groups = _groups(data, decisions or (), weights)
    return Content(title, data, found, shaders, groups, decisions, variant, notes)


def _groups(
    data: Mapping[str, Any], decisions: tuple[Decision, ...], weights: tuple[Histogram, ...]
) -> tuple[Group, ...]:
    constant = {t["name"] for t in data["textures"] if t["data"] is not None}
    passes = list(enumerate(data["passes"]))
    of_subject, of_layer = defaultdict(list), defaultdict(list)
    for k, d in enumerate(decisions):
        of_subject[d.subject].append(k)
    for k, w in enumerate(weights):
        for name in w.layers:
            of_layer[name].append(k)
    groups = []
    for (layers, _), members in groupby(passes, key=_layers_or_writes):
        steps = tuple(
            _step(list(of_step), constant)
            for _, of_step in groupby(members, key=_kernel_and_writes)
        )
        names = {*layers, *(name for step in steps for name in step.writes)}
        about = sorted(k for name in names for k in of_subject.get(name, ()))
        own = sorted({k for name in layers for k in of_layer.get(name, ())})
        groups.append(
            Group(layers, steps, tuple(decisions[k] for k in about), tuple(weights[k] for k in own))
        )
    return tuple(groups)


def _layers_or_writes(pair: tuple[int, Mapping[str, Any]]) -> tuple[tuple[str, ...], Any]:
    """Return what passes of a group have in common; passes without layers, what they write."""
    layers = tuple(pair[1]["layers"])
    return layers, None if layers else _kernel_and_writes(pair)


def _kernel_and_writes(pair: tuple[int, Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    _, p = pair
    return p["kernel"], _names(w["texture"] for w in p["writes"])


def _step(members: list[tuple[int, Mapping[str, Any]]], constant: set[str]) -> Step:
    kernel, writes = _kernel_and_writes(members[0])
    reads = _names(r["texture"] for _, p in members for r in p["reads"])
    buffers = _names(b["buffer"] for _, p in members for b in p["blocks"])
    return Step(
        kernel,
        tuple(k for k, _ in members),
        tuple(name for name in reads if name not in constant),
        writes,
        tuple(name for name in reads if name in constant),
        buffers,
    )


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
