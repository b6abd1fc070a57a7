"""A model becomes a build in memory: read, optimise, place, lower, schedule."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from ..backends.build_files import BuildFiles
from ..backends.kernels import KernelFamilies, lower
from ..backends.schedule import MOST_PORTS, schedule
from ..backends.shader.formulas import operand_counts
from ..backends.shader.verify import verify
from ..backends.shader_files import print_shaders
from ..backends.user_shader.expressible import LUMA_OPTION, check_graph
from ..backends.user_shader.file import UserShader
from ..backends.user_shader.hooks import LUMA_SCALE
from ..errors import InternalError, ShadergenError, count, require_inputs
from ..ir import algebra, evaluation, expr
from ..ir.verifier import Sound
from ..passes.attach_preprocessing import attach_preprocessing
from ..passes.choose_kernels import choose_kernels
from ..passes.pipeline import MATHEMATICS, place, simplify, to_nchw
from ..passes.read_external import read_external
from ..passes.rule import Context, Decision
from ..records import dataclass, replace
from . import definitions
from .calibration import (
    Calibration,
    Samples,
    calibrated_layers,
    calibration,
    find_samples,
    within_range,
)
from .dump import Dump
from .frontends import Request, load, load_proto
from .frontends.dynamic_sizes import EXPORT_DYNAMIC, DynamicInputs, check_dynamic, fixed_notes
from .notes import compiled_notes
from .option_parsing import parse_preprocessing
from .options import Options
from .proven_fields import proven_members
from .random_inputs import trial_inputs
from .tuning.coverage import advice, coverage_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from onnx.onnx_ml_pb2 import ModelProto

    from ..backends.shader_files import ShaderFiles
    from ..ir.graph import Graph
    from .proven_fields import Larger

GENERATOR = f"shadergen {__version__}"
KEEP_SIZE = (
    "the file may hold constants computed for its declared size: omit --input-size, or export the "
    "model with dynamic height and width"
)
# What is kept of expressions: their sizes hold the shape environment of a model.
KEPT = (algebra.fold, evaluation.check, evaluation.expand, expr.variables, operand_counts)


@dataclass(frozen=True)
class Compilation:
    """The result of a compilation besides the files.

    Attributes:
        output: the build's folder.
        model: the graph as the frontend read it, preprocessing included: what verify compares to.
        graph: the graph as compiled.
        files: the build's contents.
        decisions: what each pass decided, for ``--explain``.
        validation: whether each compiler that validates the shaders was there, by its name; empty
            if none was asked.
        notes: what else the user should know, a line each.
        calibration: what came of ``--calibrate``.
        variants: the compilations for further devices, by the names of the variants.
        user_shader: what was written in place of a build (``--target mpv``).
    """

    output: Path
    model: Graph = field(repr=False)
    graph: Graph = field(repr=False)
    files: BuildFiles = field(repr=False)
    decisions: tuple[Decision, ...] = field(repr=False)
    validation: Mapping[str, bool]
    notes: tuple[str, ...] = ()
    calibration: Calibration | None = None
    variants: dict[str, Compilation] = field(default_factory=dict, repr=False)
    user_shader: UserShader | None = field(default=None, repr=False)

    @property
    def validated(self) -> bool:
        """Whether compilers saw all shaders."""
        return bool(self.validation) and all(self.validation.values())


def import_model(model: Path | ModelProto, options: Options) -> Graph:
    """Read a model file, or take an ONNX model from memory; put the preprocessing before it.

    Raises:
        ShadergenError: SG01xx, SG02xx, SG03xx.
    """
    return _import(model, options, definitions.read_all(options.define))[0]


def _import(
    model: Path | ModelProto,
    options: Options,
    known: definitions.Definitions,
    replaced: Mapping[str, tuple[int, ...]] | None = None,
) -> tuple[Graph, list[str]]:
    """Return the graph and the frontend's notes; ``replaced`` are shapes of inputs."""
    dynamic = None
    if options.dynamic is not None:
        default = None if options.dynamic is True else options.dynamic
        scales = {options.luma: LUMA_SCALE} if options.luma else None
        dynamic = DynamicInputs(options.target().limits.texture_size, default, scales)
    request = Request(
        options.input_size,
        known,
        options.input_value,
        options.inputs,
        options.outputs,
        options.array_shapes,
        options.strings,
        dynamic,
        options.package == "mpv",
        replaced or {},
    )
    try:
        graph = load(model, request) if isinstance(model, Path) else load_proto(model, request)
        if dynamic is not None:
            dynamic.check(graph.inputs)
            if options.luma:
                require_inputs("luma", [options.luma], [i.name for i in graph.inputs])
            request.notes.extend(dynamic.notes(always=options.package == "mpv"))
        request.notes.extend(request.resized.values())
    except ShadergenError as error:
        if request.resized and error.code in ("SG0105", "SG0106", "SG0205"):
            error.help = f"{error.help}\n{KEEP_SIZE}".strip()
        if error.code in ("SG0201", "SG0203"):  # something unknown: perhaps a name was mistyped
            error.help = f"{error.help}\n{known.hint()}".strip()
        if error.code == "SG0205" and dynamic is not None and options.package == "mpv":
            require_inputs("luma", filter(None, [options.luma]), dynamic.images)
            if options.luma is None and len(dynamic.images) > 1:
                error.help = LUMA_OPTION
        if error.code == "SG0207" and dynamic is not None:
            error.help = f"{error.help}\n{EXPORT_DYNAMIC}".strip()
        if error.code == "SG0207" and options.package == "mpv":
            error.help = (
                "videos can have any size: replace this layer, or end the model before this layer "
                "with --outputs"
            )
        raise
    if options.package == "mpv":
        check_graph(graph, options.luma)
    _check_ports(graph)
    context = Context(KernelFamilies(options.target()))
    if options.preprocess:
        graph = to_nchw(graph, context)  # so that axis 1 is the channels
        graph = attach_preprocessing(graph, parse_preprocessing(options.preprocess))
    if options.input_external:
        graph = read_external(to_nchw(graph, context), options.input_external)
    return graph, request.notes


def _check_ports(graph: Graph) -> None:
    """Refuse more inputs or outputs than a schedule holds."""
    for kind, ports, option in (
        ("input", graph.inputs, "--inputs NAME,..., or fix some with --input-value NAME=..."),
        ("output", graph.outputs, "--outputs NAME,..."),
    ):
        if len(ports) > MOST_PORTS:
            raise ShadergenError(
                "SG0208",
                f"the model has {count(len(ports), kind)}",
                why=f"a build has at most {MOST_PORTS}",
                help=f"keep fewer with {option}",
            )


def context_for(graph: Graph, options: Options) -> Context:
    """Return the passes' context for an imported model.

    Raises:
        ShadergenError: SG0101, SG03xx for options and the files they name, SG0605 for inputs to
            calibrate with.
    """
    target, measured = options.target(), options.measured()
    trials = partial(trial_inputs, input_range=options.input_range)
    if options.calibrate is None:
        return Context(KernelFamilies(target), measured, trials=trials)
    samples = find_samples(options.calibrate, graph.inputs)
    if options.package == "mpv":
        help = "players pass values from 0 to 1: scale the samples, for example by 1/255"
        target = within_range(samples, target, options.input_range, help)
    else:
        target = within_range(samples, target, options.input_range)
    return Context(KernelFamilies(target), measured, samples, trials)


def compile_graph(
    graph: Graph,
    options: Options,
    progress: Callable[[str], None] = lambda step: None,
    observe: Callable[[str, Graph], None] = lambda step, graph: None,
    larger: Larger | None = None,
    printed: Callable[[ShaderFiles], None] = lambda shaders: None,
    folder: Path | None = None,
) -> tuple[Graph, BuildFiles, Context]:
    """Compile an imported model in memory.

    Args:
        graph: from :func:`import_model`.
        options: see :class:`~.options.Options`.
        progress: called with the name of each step as it begins.
        observe: shown the graph after each pass.
        larger: reads the model at another size, as :func:`.proven_fields.proven_members` needs;
            without it the schedule states no receptive fields.
        printed: called with the shaders before the weights are made.
        folder: on the output's file system, for the unnamed weight file
            (:class:`..backends.weights.WeightFile`). None: the folder for temporary files.

    Returns:
        The graph as compiled, the build's contents, and the context with what each pass decided.

    Raises:
        ShadergenError: SG04xx when it does not fit the target, as :func:`context_for` else.
        InternalError: for a bug.
    """
    context = context_for(graph, options)
    progress("optimising")
    sound = Sound()
    graph = simplify(graph, context, observe, options.disable_pass, sound)
    fields = proven_members(graph, larger) if larger else {}
    graph = place(graph, context, observe, options.disable_pass, sound)
    progress("writing shaders")
    target, layers = context.target, calibrated_layers(context.decisions)
    passes = lower(graph, target)
    shaders = print_shaders(passes, target)
    printed(shaders)
    if options.validate:
        for program in shaders.programs.values():
            verify(program)
    files = schedule(graph, passes, target, GENERATOR, layers, fields, shaders, folder)
    check_dynamic(files.schedule, graph.inputs, options.inputs)
    return graph, files, context


def compile_file(
    model: Path,
    output: Path,
    options: Options,
    dump: Dump,
    progress: Callable[[str], None],
    printed: Callable[[ShaderFiles], None] = lambda shaders: None,
) -> Compilation:
    """Compile a model for one device; nothing is written."""
    seen: dict[str, Graph] = {}

    def observe(step: str, graph: Graph) -> None:
        if options.tuning is not None and step == choose_kernels.__name__:
            seen[step] = graph
        dump(step, graph)

    known = definitions.read_all(options.define)
    try:
        with explained(model, dump):
            progress("reading the model")
            imported, read = _import(model, options, known)
            larger = folder = None
            if options.package != "mpv":  # user shaders have no schedule and no weight file
                larger, folder = partial(larger_graph, model, options), output.parent
            graph, files, context = compile_graph(
                imported, options, progress, observe, larger, printed, folder
            )
            decisions = tuple(context.decisions)
            calibrated = None
            if isinstance(context.samples, Samples):
                progress("rounding to 16 bits")
                stores_halves = options.package == "mpv"
                calibrated = calibration(graph, context.samples, decisions, stores_halves)
    finally:
        for cache in KEPT if options.dynamic is not None else ():
            cache.cache_clear()
    notes = (*known.notes(), *read, *fixed_notes(files.schedule))
    notes += compiled_notes(graph, context)
    for chosen in seen.values():
        assert options.tuning is not None
        times, path = context.measured, options.tuning
        notes += coverage_notes(chosen, context.target, times, path, advice(options))
    return Compilation(output, imported, graph, files, decisions, {}, notes, calibrated)


def larger_graph(
    model: Path | ModelProto,
    options: Options,
    name: str,
    shape: tuple[int, ...],
    size: tuple[int, int],
) -> Graph:
    """Return the graph after the mathematical passes, with its only input of another size.

    Args:
        model: to read again.
        options: of the build.
        name: of the input.
        shape: of the input, in the model's own order.
        size: height and width in ``shape``.

    Raises:
        ShadergenError: when the model does not have this size.
    """
    options = replace(options, calibrate=None)
    replaced = {}
    if options.dynamic is None:
        rest = {key: value for key, value in options.input_size.items() if key not in ("", name)}
        options, replaced = replace(options, input_size=rest), {name: shape}
    else:
        options = replace(options, dynamic=size)
    graph, _ = _import(model, options, definitions.read_all(options.define), replaced)
    context = context_for(graph, options)
    for step in MATHEMATICS:
        if step.__name__ not in options.disable_pass:
            graph = step(graph, context)
    return graph


@contextmanager
def explained(model: Path, dump: Dump) -> Iterator[None]:
    """Say of a user's mistake which model it is in, and of a bug where its graph was left."""
    try:
        yield
    except ShadergenError as error:
        # What cannot be written is no fault of the model's.
        raise (error if error.code == "SG0501" else error.at(str(model))) from None
    except InternalError as error:
        raise InternalError(f"{error}\nthe graph was left in {dump.save()}") from error
    except Exception as error:
        name = type(error).__name__
        raise InternalError(f"{name}: {error}\nthe graph was left in {dump.save()}") from error
