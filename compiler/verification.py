"""Verifying a build: compile, run on OpenGL ES or WebGPU, compare with a reference."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends.schedule import label
from ..errors import ShadergenError, printable
from ..records import dataclass, replace
from .arrays import named
from .choices import PRECISIONS
from .compilation import import_model
from .device_list import variant_name, variants_of
from .driver import compile_model
from .expectations import at_one_size, expect
from .judging import joined_notes, judge
from .random_inputs import random_inputs
from .runtimes import INSTEAD, TITLES, UNAVAILABLE, chosen, runtime_of
from .session import GENERIC, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from .compilation import Compilation
    from .expectations import Expected
    from .judging import OutputError
    from .options import Options


@dataclass(frozen=True)
class Report:
    """The result of a verification; ``passes`` are those of the first build.

    ``runtimes`` are what the builds ran on, such as "WebGPU".
    """

    model: str
    reference: str
    note: str
    runtimes: tuple[str, ...]
    renderer: str
    precision: str
    passes: int
    outputs: tuple[OutputError, ...]

    @property
    def ok(self) -> bool:
        return all(o.ok for o in self.outputs)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        """One line for each output, as for people."""
        lines = [
            f"{o.name} {'x'.join(map(str, o.shape))}: {'ok' if o.ok else 'differs'}, largest error "
            f"{o.max_error:.3g}, bound {o.bound:.3g}"
            for o in self.outputs
        ]
        what = f"{'matches' if self.ok else 'differs from'} {self.reference}"
        lines.append(f"{what}: {self.passes} GPU passes in {self.precision} on {self.renderer}")
        return "\n".join(map(printable, [*lines, *filter(None, self.note.split("\n"))]))


@dataclass(frozen=True)
class Verification:
    """A verification with what it compared.

    Attributes:
        report: the result.
        model: the model file.
        options: of the compilation, at the sizes of the inputs.
        folder: of the builds.
        builds: the compilations by the names of their variants, empty for the generic build.
        inputs: what the builds ran on, by the names in the build.
        expected: of the model on these inputs.
        adapter: a part of the adapter's name, or nothing.
    """

    report: Report
    model: Path
    options: Options
    folder: Path
    builds: Mapping[str, Compilation]
    inputs: Mapping[str, NDArray[Any]]
    expected: Expected
    adapter: str

    def options_of(self, variant: str) -> Options:
        """Return the options of one build; the device of a variant is its own."""
        return variants_of(self.options).get(variant, replace(self.options, variants=()))


def run_build(
    folder: Path,
    inputs: Mapping[str, NDArray[Any]],
    variant: str | None = None,
    adapter: str = "",
) -> tuple[dict[str, NDArray[Any]], str]:
    """Run a build once on a headless context.

    Args:
        folder: the build.
        inputs: by their names in the build.
        variant: the name of the variant to run; by default the generic build.
        adapter: a part of the adapter's name.

    Returns:
        The outputs by their names in the build, and the renderer's name.

    Raises:
        ShadergenError: SG05xx, SG06xx.
    """
    with Session(folder, "auto", adapter, variant or GENERIC, alone=True) as session:
        return session.run(inputs), session.renderer


def verify_model(
    model: Path,
    options: Options,
    reference: str = "auto",
    seed: int = 0,
    given: Mapping[str, NDArray[Any]] | None = None,
    progress: Callable[[str], None] = lambda step: None,
    runtime: str = "auto",
    adapter: str = "",
) -> Report:
    """Compile, run and compare; the arguments are those of :func:`verifying`.

    Raises:
        ShadergenError: when the model cannot be compiled, run, or referred to; SG0301 with an
            external input, whose frames only the application has.
    """
    with verifying(model, options, reference, seed, given, progress, runtime, adapter) as done:
        return done.report


@contextmanager
def verifying(
    model: Path,
    options: Options,
    reference: str = "auto",
    seed: int = 0,
    given: Mapping[str, NDArray[Any]] | None = None,
    progress: Callable[[str], None] = lambda step: None,
    runtime: str = "auto",
    adapter: str = "",
) -> Iterator[Verification]:
    """Compile, run and compare; with several devices the build of each, whatever the GL at hand.

    The builds last as long as the context.

    Args:
        model: the model file.
        options: of the compilation.
        reference: see :func:`~.references.choose_reference`.
        seed: of the random inputs.
        given: inputs to use instead, by name, in the model's own shapes; they also set the
            dynamic sizes that the options do not set.
        progress: called with the name of each step.
        runtime: of ``RUNTIMES``: with several devices, only the builds that run on it; "auto" is
            all of them.
        adapter: a part of the adapter's name; by default the runtime's own choice.

    Raises:
        ShadergenError: as :func:`verify_model`.
    """
    if options.input_external:
        raise ShadergenError(
            "SG0301",
            "--input-external cannot be verified",
            why="no reference implementation reads external textures",
            help="verify without --input-external: it changes only how shaders read the input",
        )
    runtimes = _runtimes(options, runtime)
    plainly = options  # as the reference takes the model: at one size
    if given is not None:
        plainly = replace(options, array_shapes={name: a.shape for name, a in given.items()})
    if options.dynamic is None:
        options = plainly
    with tempfile.TemporaryDirectory(prefix="shadergen-") as scratch:
        folder = Path(scratch) / "build"
        compiled = compile_model(model, folder, options, progress)
        if options.dynamic is not None:
            plainly = at_one_size(plainly, compiled.model)
        if given is None:
            model_at_size = compiled.model
            if options.dynamic is not None:
                model_at_size = import_model(model, plainly)
            inputs = random_inputs(model_at_size, seed, options.input_range)
        else:
            inputs = named(dict(given), [i.name for i in compiled.model.inputs])
        every = {"": compiled, **compiled.variants}
        builds = {name: every[name] for name in runtimes}
        fed = {label(name): a for name, a in inputs.items()}
        ran = {}
        for name in builds:
            progress(f"running on {TITLES[runtimes[name]]}")
            try:
                ran[name] = run_build(folder, fed, name or None, adapter)
            except ShadergenError as missing:
                raise _with_the_other(missing, runtimes, runtimes[name]) from None
        expected = expect(
            model, options, plainly, compiled.model, inputs, reference, progress, compiled.notes
        )
        errors, notes = [], list(expected.notes)
        for variant, build in builds.items():
            found, said = judge(build.graph.outputs, ran[variant][0], expected, options)
            errors += [replace(e, variant=variant) for e in found]
            notes += said
        notes += [e.warning for e in errors]
        first = next(iter(builds))
        report = Report(
            model.name,
            expected.reference,
            joined_notes(notes),
            tuple(dict.fromkeys(TITLES[r] for r in runtimes.values())),
            ran[first][1],
            PRECISIONS[options.precision],
            len(builds[first].files.schedule["passes"]),
            tuple(errors),
        )
        yield Verification(report, model, options, folder, builds, fed, expected, adapter)


def _runtimes(options: Options, wanted: str) -> dict[str, str]:
    """Return the runtime of each build to verify, by the names of the variants.

    Raises:
        ShadergenError: SG0301, when no build is for the wanted runtime.
    """
    every = {"": runtime_of(options.device)}
    every |= {variant_name(profile): runtime_of(profile) for profile in options.variants}
    devices = ",".join((options.device, *options.variants))
    names = chosen(wanted, list(dict.fromkeys(every.values())), f"a build for --device {devices}")
    return {build: runtime for build, runtime in every.items() if runtime in names}


def _with_the_other(
    error: ShadergenError, runtimes: Mapping[str, str], missing: str
) -> ShadergenError:
    """Add to the error of a missing runtime that the builds of the other can be verified alone."""
    others = [runtime for runtime in dict.fromkeys(runtimes.values()) if runtime != missing]
    if error.code in UNAVAILABLE and others:
        helps = (line for line in error.help.split("\n") if line != INSTEAD)
        alone = f"to verify only the builds for {TITLES[others[0]]}: --runtime {others[0]}"
        error.help = "\n".join((*helps, alone))
    return error
