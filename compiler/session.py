"""Running a build from Python: arrays in, arrays out."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError, did_you_mean
from ..runtime_glue.python.loading import load
from . import pictures
from .running import fitted
from .runtimes import chosen, for_context, runtimes_of, shared_context

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from .runtimes import Context, Runner

_turn = threading.RLock()  # sessions share contexts, and take turns
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


class Session:
    """A build, ready to run. GPU objects are made at the first call, and kept for the next ones.

    Any thread may call it; calls of all sessions take turns.

    Args:
        folder: the build's.
        runtime: of ``RUNTIMES``; "auto" takes the first one installed that the build runs on.
        adapter: a part of the adapter's name; by default the runtime's own choice.

    Raises:
        ShadergenError: SG0502 to SG0505 if the build is invalid, SG0301 for a runtime that it does
            not run on.
    """

    def __init__(
        self,
        folder: Path,
        runtime: str = "auto",
        adapter: str = "",
    ) -> None:
        self._build = load(folder)
        self._runtimes = chosen(runtime, runtimes_of(self._build), f"'{folder}'")
        self._adapter = adapter
        self._runner: Any = None
        self._release: Any = None

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
        """Run the build once.

        Args:
            inputs: arrays in the order of the build's inputs: of numpy, PyTorch, or anything that
                numpy reads, in the model's own shapes. The input of a network from picture to
                picture may be a Pillow image.
            named: inputs by their names.

        Returns:
            The output: an array, or a Pillow image for a Pillow image. Several outputs are a
            dictionary of arrays by name.

        Raises:
            ShadergenError: SG0605 for inputs that do not fit the build, SG06xx where it cannot run.
        """
        given = self._named(inputs, named)
        with _used(shared_context(self._runtimes, self._adapter)):
            if any(map(_is_picture, given.values())):
                return self._picture(given)
            outputs = self._run({name: _array(x, name) for name, x in given.items()})
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def close(self) -> None:
        """Free the GPU objects; the next call makes them again."""
        if self._release is not None:
            self._release()
        self._runner = self._release = None

    def _named(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        names = [port.name for port in self._build.inputs]
        if len(inputs) > len(names):
            raise ShadergenError(
                "SG0605",
                f"the build takes {len(names)} inputs, not {len(inputs)}",
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
        """Run a network from picture to picture."""
        ports = self._build.inputs, self._build.outputs
        if any(len(p) != 1 for p in ports):
            counts = " and ".join(
                f"{len(p)} {w}" for p, w in zip(ports, ("inputs", "outputs"), strict=True)
            )
            raise ShadergenError(
                "SG0605",
                f"the build has {counts}",
                why="a picture works only with one of each",
                help="give arrays",
            )
        ((name, image),) = given.items()
        picture = pictures.normalised(image, f"the picture for '{name}'")
        (port,) = self._build.inputs
        self._prepare({name: pictures.sized(port.shape, port.axes, picture)})
        (port,), (output,) = self._runner.build.inputs, self._runner.build.outputs
        array = pictures.to_array(picture, port.shape, port.axes, name)
        result = self._run({name: array})[output.name]
        return pictures.to_picture(result, output.axes, output.name, picture)

    def _run(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        self._prepare({name: a.shape for name, a in arrays.items()})
        for name, array in arrays.items():
            self._runner.upload(name, array)
        self._runner.run()
        self._runner.check()
        return {p.name: self._runner.read(p.name) for p in self._runner.build.outputs}

    def _prepare(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Make a runner, unless there is one, and let dynamic sizes be those of the inputs."""
        build = self._build
        if self._runner is None:
            context = shared_context(self._runtimes, self._adapter)
            runner = context.runner(fitted(for_context(build, context), shapes))
            self._release = weakref.finalize(self, _close, runner, context)
            runner.init()
            self._runner = runner
        elif (sizes := fitted(build, shapes).sizes) is not None:
            self._runner.resize(**sizes.values)


def _is_picture(value: Any) -> bool:
    """Whether a value is a Pillow image; Pillow need not be installed."""
    return any(c.__module__ == "PIL.Image" for c in type(value).__mro__)


def _array(value: Any, name: str) -> NDArray[Any]:
    """Return what was given as an array; tensors of PyTorch may need gradients."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if value.is_floating_point() else value  # numpy has no bfloat16
    try:
        return np.asarray(value)
    except ValueError as error:  # lists of unequal lengths
        raise ShadergenError("SG0605", f"input '{name}' is no array", why=str(error)) from None
