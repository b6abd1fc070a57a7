"""Running a build: arrays in, arrays out. All that runs a build once or often is a session."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError, count, did_you_mean
from ..records import dataclass
from ..runtime_glue.python.loading import load, resized
from .array_shapes import check_shapes
from .runtimes import chosen, for_context, open_context, runtimes_of, shared_context

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from .runtimes import Build, Context, Runner

_turn = threading.RLock()  # sessions share contexts, and take turns
GENERIC = ""  # the name of the build that is no variant
_using: list[Context] = []  # the contexts of calls at work, one within the other


@contextmanager
def _used(context: Context) -> Iterator[None]:
    """Keep other threads from the contexts, and leave this one to them afterwards."""
    with _turn:
        _using.append(context)
        try:
            yield
        finally:
            _using.pop()
            if context not in _using:
                context.release()


def _close(runner: Runner, context: Context) -> None:
    with _used(context):
        runner.close()


def fitted(build: Build, shapes: Mapping[str, tuple[int, ...]]) -> Build:
    """Return a build at the sizes that inputs of these shapes have, if its sizes are dynamic.

    Args:
        build: as loaded.
        shapes: of the inputs, by name, in the model's own order.

    Raises:
        ShadergenError: SG0605, when the build cannot have these sizes.
    """
    if build.sizes is None:
        return build
    sizes: dict[str, int] = {}
    for port in build.sizes.document["inputs"]:
        for entry, size in zip(port["shape"], shapes.get(port["name"], ()), strict=False):
            if isinstance(entry, list) and len(entry) == 1:
                sizes.setdefault(entry[0], int(size))
    return resized(build, sizes)


@dataclass(frozen=True)
class Times:
    """Milliseconds of the last run: until the runner was ready, and from then on."""

    init: float
    frame: float


class Session:
    """A build, ready to run: ``session = Session("build")``, then ``session(image)``.

    The first call makes the GPU objects, which later calls use. Any thread may call it; calls of
    all sessions take turns.

    Args:
        folder: the build's.
        runtime: of ``RUNTIMES``; "auto" takes the first one installed that the build runs on.
        adapter: a part of the adapter's name; by default the runtime's own choice.
        variant: the name of the variant to run, or ``GENERIC``; by default the one for the adapter.
        alone: open a context for this session, instead of taking the one that sessions share.

    Raises:
        ShadergenError: SG0502 to SG0505 if the build is invalid, SG0301 for a runtime that it does
            not run on.
    """

    def __init__(
        self,
        folder: str | Path,
        runtime: str = "auto",
        adapter: str = "",
        variant: str | None = None,
        alone: bool = False,
    ) -> None:
        self.build = load(Path(folder), variant=variant or None)
        self.times = Times(0, 0)
        possible = runtimes_of(self.build)
        if variant == GENERIC:
            possible = possible[:1]
        self._runtimes = chosen(runtime, possible, f"'{folder}'")
        self._fixed = variant is not None
        self._adapter = adapter
        self._runner: Any = None
        self._release: Any = None
        self._alone = alone
        self._own: Context | None = None
        self._pictures: Any = None

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
        """Run the build once.

        Args:
            inputs: arrays in the order of the build's inputs: of numpy, PyTorch, or anything that
                numpy reads, in the model's own shapes. Their values stay as they are: uint8 arrays
                hold 0 to 255. If the build takes one picture, its input may be a Pillow image of
                any size, whose values become 0 to 1.
            named: inputs by their names.

        Returns:
            The output: an array. Several outputs are a dictionary of arrays by name. For a Pillow
            image: a Pillow image if the network makes pictures. Otherwise an array: (H, W) of
            classes or of numbers at the image's size, or the scores of the whole image.

        Raises:
            ShadergenError: SG0605 for inputs that do not fit the build, SG06xx where it cannot run.
        """
        given = self._named(inputs, named)
        if any(map(_is_picture, given.values())):
            with self._turn():
                return self._picture(given)
        outputs = self.run(_arrays(given))
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def arrays(self, *inputs: Any) -> dict[str, NDArray[Any]]:
        """Return arrays in the order of the build's inputs by the inputs' names, as numpy has them.

        Raises:
            ShadergenError: SG0605 for inputs that do not fit the build.
        """
        return _arrays(self._named(inputs, {}))

    def run(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Run the build on arrays of the model's own shapes, which set its dynamic sizes.

        Raises:
            ShadergenError: as :meth:`__call__`.
        """
        start = perf_counter()
        with self._turn():
            self._prepare({name: a.shape for name, a in arrays.items()})
            for name, array in arrays.items():
                self._runner.upload(name, array)
            ready = perf_counter()
            self._runner.run()
            self._runner.check()
            outputs = {p.name: self._runner.read(p.name) for p in self._runner.build.outputs}
            self.times = Times((ready - start) * 1e3, (perf_counter() - ready) * 1e3)
        return outputs

    def fitted(self, shapes: Mapping[str, tuple[int, ...]]) -> Build:
        """Return the build at the sizes that inputs of these shapes have, without running it.

        Raises:
            ShadergenError: SG0605, when the build cannot have these sizes.
        """
        return fitted(self.build, shapes)

    @property
    def context(self) -> Context:
        """The context that the build runs on.

        Raises:
            ShadergenError: SG0601 without an adapter, SG0606 without a package.
        """
        if not self._alone:
            return shared_context(self._runtimes, self._adapter)
        if self._own is None:
            self._own = open_context(self._runtimes, self._adapter)
        return self._own

    @property
    def renderer(self) -> str:
        """The name of the adapter."""
        with self._turn():
            return str(self.context.info().renderer)

    @property
    def running(self) -> Build:
        """The build that ran last: of the adapter's variant, at its sizes; before, the build."""
        return self.build if self._runner is None else self._runner.build

    def _turn(self) -> AbstractContextManager[None]:
        return _used(self.context)

    def __repr__(self) -> str:
        """Return a few lines on the build that ran last: folder, inputs, outputs and others."""
        return repr(self.running).replace("<Build", "<Session", 1)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the GPU objects; the next call makes them again."""
        if self._release is not None:
            self._release()
        if self._own is not None:
            self._own.close()
        self._runner = self._release = self._own = None

    def _named(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        names = [port.name for port in self.build.inputs]
        if len(inputs) > len(names):
            raise ShadergenError(
                "SG0605",
                f"the build takes {count(len(names), 'input')}, not {len(inputs)}",
                supported=", ".join(names),
            )
        given = dict(zip(names, inputs, strict=False))
        for name in given.keys() & named:
            raise ShadergenError("SG0605", f"input '{name}' is given twice")
        given |= named
        for name in (*given, *names):
            if name not in names:
                raise ShadergenError(
                    "SG0605",
                    f"the build has no input '{name}'",
                    supported=", ".join(names),
                    help=did_you_mean(name, names),
                )
            if name not in given:
                raise ShadergenError("SG0605", f"input '{name}' has no array")
        return given

    def _picture(self, given: dict[str, Any]) -> Any:
        """Run a network that takes a picture."""
        from .pictures.pillow import run_image

        return run_image(self, given)

    def _prepare(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Make a runner, unless there is one, and let dynamic sizes be those of the inputs."""
        build = self.build
        check_shapes(build, shapes)
        if self._runner is None:
            context = self.context
            own = build if self._fixed else for_context(build, context)
            runner = context.runner(fitted(own, shapes))
            self._release = weakref.finalize(self, _close, runner, context)
            runner.init()
            self._runner = runner
        elif (sizes := fitted(build, shapes).sizes) is not None:
            self._runner.resize(**sizes.values)


def _is_picture(value: Any) -> bool:
    """Whether a value is a Pillow image; Pillow need not be installed."""
    return any(c.__module__ == "PIL.Image" for c in type(value).__mro__)


def _arrays(given: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    return {name: _array(value, name) for name, value in given.items()}


def _array(value: Any, name: str) -> NDArray[Any]:
    """Return what was given as an array; tensors of PyTorch may need gradients."""
    if isinstance(value, (str, Path)):
        raise ShadergenError(
            "SG0605",
            f"input '{name}' is a path, not an array or picture",
            help="open it first: PIL.Image.open(path) for pictures, numpy.load(path) for arrays",
        )
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if value.is_floating_point() else value  # numpy has no bfloat16
    try:
        return np.asarray(value)
    except ValueError as error:  # lists of unequal lengths
        raise ShadergenError("SG0605", f"input '{name}' is no array", why=str(error)) from None
