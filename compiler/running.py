"""Running a build on files: pictures and numpy archives in and out."""

from __future__ import annotations

import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.replacing import replacing_file
from ..errors import ShadergenError, reason
from ..runtime_glue.python.loading import load, resized
from . import pictures
from .runtimes import chosen, for_context, open_context, runtimes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .runtimes import Build

ARRAYS = (".npz", ".npy")


@dataclass(frozen=True)
class Run:
    """Times and device of a run; ``variant`` is empty for the generic build."""

    runtime: str
    renderer: str
    variant: str
    passes: int
    init_milliseconds: float
    milliseconds: float


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read an ``.npz``, or an ``.npy`` as the array called "".

    Raises:
        ShadergenError: SG0101 when it is neither, SG0605 when it holds other things than numbers.
    """
    try:
        with np.load(path, allow_pickle=False) as data:
            arrays = dict(data)
    except (AttributeError, TypeError):  # an .npy loads as a bare array, which is no context
        arrays = {"": np.load(path, allow_pickle=False)}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ShadergenError(
            "SG0101",
            f"cannot read the arrays in '{path}'",
            why=reason(error)
            if isinstance(error, OSError)
            else "the file is not an .npz or .npy of numbers",
        ) from None
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            what = f"array '{name}'" if name else "the array"
            raise ShadergenError(
                "SG0605",
                f"{what} has element type {array.dtype}",
                supported="real numbers, integers and truth values",
            )
    return arrays


def run_file(
    folder: Path,
    source: Path,
    output: Path,
    variant: str | None = None,
    runtime: str = "auto",
    adapter: str = "",
) -> Run:
    """Run a build on a file and write the result.

    Args:
        folder: the build.
        source: a picture, an ``.npz`` with an array for every input, or an ``.npy`` for the one.
        output: a picture, an ``.npz`` with every output, or an ``.npy`` with the one.
        variant: the name of the variant to run; by default the one for the adapter.
        runtime: of ``RUNTIMES``; "auto" takes the first one installed that the build runs on.
        adapter: a part of the adapter's name; by default the runtime's own choice.

    Raises:
        ShadergenError: SG01xx, SG05xx, SG06xx.
    """
    build = load(folder, variant=variant)
    names = chosen(runtime, runtimes_of(build), f"'{folder}'")
    _check_output(output, source, len(build.outputs))
    build, inputs, picture = read_inputs(build, source)
    if picture is None and output.suffix.lower() not in ARRAYS:
        raise ShadergenError(
            "SG0605",
            f"'{output}' is a picture, but the input is arrays",
            help="name an output file that ends in .npz or .npy",
        )
    outputs, run = _run_headless(names, adapter, build, inputs)
    _write(output, outputs, build, picture)
    return run


def read_inputs(build: Build, source: Path) -> tuple[Build, dict[str, NDArray[Any]], Any]:
    """Read the inputs of a build from a file: a picture, an ``.npz`` or an ``.npy``.

    Returns:
        The build at the sizes of the inputs, the inputs by name, and the picture; None for arrays.

    Raises:
        ShadergenError: SG0101 for a file that cannot be read, SG0605 for one that does not fit.
    """
    if source.suffix.lower() in ARRAYS:
        inputs = named(read_arrays(source), [port.name for port in build.inputs])
        return fitted(build, {name: array.shape for name, array in inputs.items()}), inputs, None
    picture = pictures.read_picture(source)
    port = _only(build.inputs, "inputs")
    shape = pictures.sized(port.shape, port.axes, picture)
    build = fitted(build, {port.name: shape})
    port = build.inputs[0]
    array = pictures.to_array(picture, port.shape, port.axes, port.name)
    return build, {port.name: array}, picture


def fitted(build: Build, shapes: Mapping[str, tuple[int, ...]]) -> Build:
    """Return a build at the sizes that inputs of these shapes have, where it leaves any open.

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


def _run_headless(
    names: Sequence[str], adapter: str, build: Build, inputs: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, NDArray[Any]], Run]:
    start = time.perf_counter()
    with open_context(names, adapter) as context:
        build = for_context(build, context)
        with context.runner(build) as runner:
            for name, array in inputs.items():
                runner.upload(name, array)
            ready = time.perf_counter()
            runner.run()
            runner.check()
            outputs = {port.name: runner.read(port.name) for port in build.outputs}
            done = time.perf_counter()
        renderer = str(context.info().renderer)
    passes = len(build.passes)
    return outputs, Run(
        context.runtime,
        renderer,
        build.variant,
        passes,
        (ready - start) * 1e3,
        (done - ready) * 1e3,
    )


def named(arrays: dict[str, NDArray[Any]], names: list[str]) -> dict[str, NDArray[Any]]:
    """Match arrays, as :func:`read_arrays` gives them, with inputs.

    Raises:
        ShadergenError: SG0605 when one is missing or unknown.
    """
    if set(arrays) == {""} and len(names) == 1:
        return {names[0]: arrays[""]}
    if set(arrays) == {""}:
        raise ShadergenError(
            "SG0605",
            f"one .npy cannot fill {len(names)} inputs",
            supported=f"an .npz with {', '.join(names)}",
        )
    missing, unknown = set(names) - set(arrays), set(arrays) - set(names)
    if missing or unknown:
        raise ShadergenError(
            "SG0605",
            "the arrays are not the build's inputs",
            why=f"missing: {sorted(missing) or 'none'}; unknown: {sorted(unknown) or 'none'}",
            supported=f"an .npz with {', '.join(names)}",
        )
    return arrays


def _only(ports: Sequence[Any], what: str) -> Any:
    if len(ports) != 1:
        names = ", ".join(port.name for port in ports)
        raise ShadergenError(
            "SG0605",
            f"the build has {len(ports)} {what}: {names}",
            why=f"a picture works only if the build has one {what.removesuffix('s')}",
            help="use .npz files for input and output",
        )
    return ports[0]


def _check_output(output: Path, source: Path, count: int) -> None:
    """Find out before the work whether the result can be written."""
    suffix = output.suffix.lower()
    if suffix not in (*ARRAYS, *pictures.SUFFIXES):
        raise ShadergenError(
            "SG0605",
            f"the format of '{output}' is not supported",
            supported=", ".join((*ARRAYS, *pictures.SUFFIXES)),
        )
    if suffix != ".npz" and count != 1:
        raise ShadergenError(
            "SG0605", f"the build has {count} outputs", help="name an output file ending in .npz"
        )
    if not output.absolute().parent.is_dir():
        raise ShadergenError("SG0501", f"'{output.parent}' is not a folder")
    if output.exists() and source.exists() and output.samefile(source):
        raise ShadergenError(
            "SG0501",
            f"'{output}' is the input",
            why="the result would replace it",
            help="name another file with -o",
        )


def _write(output: Path, outputs: dict[str, NDArray[Any]], build: Any, picture: Any) -> None:
    """Write the result beside its destination, then move it there."""
    suffix = output.suffix.lower()
    try:
        with replacing_file(output) as fresh:
            if suffix == ".npz":
                np.savez(fresh, **outputs)  # type: ignore[arg-type]
            elif suffix == ".npy":
                np.save(fresh, next(iter(outputs.values())))
            else:
                port = _only(build.outputs, "outputs")
                image = pictures.to_picture(outputs[port.name], port.axes, port.name, picture)
                image.save(fresh, icc_profile=image.info.get(pictures.PROFILE))
    except OSError as error:
        raise ShadergenError("SG0501", f"cannot write '{output}'", why=reason(error)) from None
