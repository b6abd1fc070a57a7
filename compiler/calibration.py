"""Calibration: read the inputs of a folder and measure a model's values on them.

    DIR/photo.png, DIR/other.npy         of a model with one input, each a value of it
    DIR/one.npz                          arrays by the names of the inputs
    DIR/left/1.png, DIR/right/1.png      a folder for each input; files of one stem belong together

Files are read as ``shadergen run`` reads them, and again whenever the samples are gone through, so
that a folder of many pictures takes no memory.
"""

from __future__ import annotations

from collections import Counter
from operator import ge, lt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError, did_you_mean, few
from ..ir.dimensions import is_dynamic, with_hints
from ..passes.at_size import at_size
from ..passes.choose_precision import CALIBRATED
from ..passes.placement.calibration import central_slices, rounding_errors, widened
from ..passes.placement.ranges import Interval
from ..records import dataclass, replace
from .arrays import ARRAYS, named, read_arrays
from .frontends.input_shapes import model_shapes
from .pictures.picture import axes_of, channels_of, to_array, to_host
from .pictures.reading import SUFFIXES as PICTURES
from .pictures.reading import read_picture

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ..ir.graph import Graph, Input
    from ..passes.placement.calibration import RoundingError
    from ..passes.placement.target import Target
    from ..passes.rule import Decision

SUFFIXES = (*ARRAYS, *PICTURES)


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration.

    Attributes:
        samples: how many inputs there were.
        layers: those that are in 16 bits by what the inputs showed and not by proof.
        errors: what 16 bits cost each output on these inputs, by name.
    """

    samples: int
    layers: tuple[str, ...]
    errors: Mapping[str, RoundingError]


@dataclass(frozen=True)
class Samples:
    """Files that each hold all inputs of a model (under the name ""), or one each.

    If a model has one input, with dynamic dimensions, files may be larger than the initial size:
    only their middle is used.
    """

    inputs: tuple[Input, ...]
    files: tuple[Mapping[str, Path], ...]

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Read one after the other: arrays by input, in the model's own axis order.

        Raises:
            ShadergenError: SG0101 for a file that cannot be read, SG0605 for what is no input.
        """
        for files in self.files:
            arrays: dict[str, NDArray[Any]] = {}
            for name, path in files.items():
                try:
                    wanted = tuple(i for i in self.inputs if name in ("", i.name))
                    found = _read(path, wanted)
                    alone = len(self.inputs) == 1
                    arrays |= {i.name: _checked(found[i.name], i, alone) for i in wanted}
                except ShadergenError as error:
                    raise error.at(str(path)) from None
            yield arrays


def find_samples(folder: Path, inputs: tuple[Input, ...]) -> Samples:
    """List the files of a folder to calibrate with; hidden ones do not count.

    Raises:
        ShadergenError: SG0301 when it is no folder or empty, SG0605 for what belongs to no input.
    """
    try:
        entries = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except OSError as error:
        raise ShadergenError(
            "SG0301",
            f"cannot read the folder '{folder}' of --calibrate",
            why=error.strerror or "",
        ) from None
    folders = [p for p in entries if p.is_dir()]
    if folders:
        files = _paired(folder, folders, [p for p in entries if p not in folders], inputs)
    else:
        files = [{"": p} for p in entries if _is_sample(p)]
    if not files:
        raise ShadergenError(
            "SG0301",
            f"--calibrate '{folder}' has no pictures or arrays",
            supported=", ".join(SUFFIXES),
        )
    return Samples(inputs, tuple(files))


def _paired(
    folder: Path, folders: list[Path], loose: list[Path], inputs: tuple[Input, ...]
) -> list[dict[str, Path]]:
    """Return the files of each input's folder by stem."""
    names = [i.name for i in inputs]
    unknown = [p.name for p in (*folders, *loose) if p.name not in names or p in loose]
    missing = sorted(set(names) - {p.name for p in folders})
    if unknown or missing:
        raise ShadergenError(
            "SG0605",
            f"the folders in '{folder}' are not the model's inputs",
            why=f"missing: {few(missing) or 'none'}; unknown: {few(unknown) or 'none'}",
            supported=f"a folder for each of {', '.join(names)}, or .npz files with all of them",
            help=did_you_mean(unknown[0], names) if unknown else "",
        )
    stems: dict[str, dict[str, Path]] = {}
    for own in folders:
        inside = [p for p in sorted(own.iterdir()) if not p.name.startswith(".")]
        for path in filter(_is_sample, inside):
            if own.name in stems.setdefault(path.stem, {}):
                raise ShadergenError(
                    "SG0605",
                    f"'{own}' has two files named '{path.stem}', with different endings",
                    help="keep one of them",
                )
            stems[path.stem][own.name] = path
    for stem, files in stems.items():
        lacking = sorted(set(names) - set(files))
        if lacking:
            raise ShadergenError(
                "SG0605",
                f"sample '{stem}' has no file for input '{lacking[0]}'",
                where=", ".join(map(str, files.values())),
            )
    return list(stems.values())


def _is_sample(path: Path) -> bool:
    """Whether a file is a picture or arrays.

    Raises:
        ShadergenError: SG0605 when it is something else.
    """
    if path.suffix.lower() in SUFFIXES:
        return True
    raise ShadergenError(
        "SG0605",
        f"'{path}' is neither a picture nor an array file",
        supported=", ".join(SUFFIXES),
        help="remove the file from the folder",
    )


def _read(path: Path, inputs: tuple[Input, ...]) -> dict[str, NDArray[Any]]:
    shapes = model_shapes(inputs)
    if path.suffix.lower() in ARRAYS:
        return named(read_arrays(path), list(shapes))
    if len(inputs) != 1:
        raise ShadergenError(
            "SG0605",
            f"one picture cannot fill {len(inputs)} inputs",
            supported=f".npz files with arrays named {', '.join(shapes)}; or a subfolder "
            "of pictures for each input, with the input's name",
        )
    (i,) = inputs
    picture, shape = read_picture(path), shapes[i.name]
    if not any(map(is_dynamic, shape)):
        return {i.name: to_array(picture, shape, i.port.axes, i.name)}
    axes = axes_of(shape, i.port.axes, i.name)
    size = with_hints((shape[axes.row], shape[axes.column]))
    fits = all(map(ge, picture.size, size))
    rows, columns = central_slices(picture.size, size) if fits else (slice(None), slice(None))
    pixels = picture.part(rows, columns, channels_of(shape, axes))
    return {i.name: to_host(pixels, shape, axes)}


def _checked(array: NDArray[Any], i: Input, alone: bool) -> NDArray[Any]:
    """Return an array as an input takes it; of one that is too large, the middle.

    Args:
        array: as read.
        i: the input.
        alone: whether it is the model's only input.

    Raises:
        ShadergenError: SG0605 for another shape, for numbers that the input cannot hold.
    """
    (shape,) = model_shapes((i,)).values()
    what, initial = f"input '{i.name}'", with_hints(shape)
    if array.shape != initial:
        wrong = ShadergenError(
            "SG0605", f"{what} needs shape {initial}, the array has {array.shape}"
        )
        fixed = [is_dynamic(n) or have == n for have, n in zip(array.shape, shape, strict=False)]
        if array.ndim != len(shape) or not all(fixed) or not any(map(is_dynamic, shape)):
            raise wrong
        if not alone or any(map(lt, array.shape, initial)):
            larger = "calibrate with larger samples, or " if alone else ""
            wrong.help = f"{larger}compile with the samples' size: --input-size dynamic:HxW"
            raise wrong
        array = array[central_slices(array.shape, initial)]
    if i.port.encoding == "unorm8" and array.dtype == np.uint8:
        image: NDArray[Any] = array.astype(np.float32) / np.float32(255)
        return image
    if i.type.dtype == "float32":
        with np.errstate(over="ignore"):
            floats = array.astype(np.float32)
        if not np.isfinite(floats).all():
            raise ShadergenError("SG0605", f"{what} holds numbers that are not finite")
        if i.port.encoding == "unorm8" and not ((floats >= 0) & (floats <= 1)).all():
            raise ShadergenError("SG0605", f"{what} is an image, but has values outside 0 to 1")
        return floats
    with np.errstate(invalid="ignore"):
        whole: NDArray[Any] = array.astype(i.type.dtype)
    if not (whole == array).all():
        dtype = i.type.dtype
        raise ShadergenError(
            "SG0605", f"{what} is {dtype}; the array holds values that {dtype} cannot represent"
        )
    return whole


def within_range(
    samples: Samples,
    target: Target,
    given: tuple[float, float] | None,
    help: str = "widen --input-range, or scale the data",
) -> Target:
    """Return the target with a range that holds the samples.

    Args:
        samples: to go through.
        target: with the range that holds unless samples exceed it.
        given: the range that samples must not exceed, if there is one.
        help: for samples that exceed it.

    Raises:
        ShadergenError: SG0605 when a sample exceeds that.
    """
    floats = [i for i in samples.inputs if i.type.dtype == "float32" and i.port.encoding == "float"]
    allowed = seen = Interval(*target.input_range)
    for arrays in samples:
        for i in floats:
            found = Interval(float(arrays[i.name].min()), float(arrays[i.name].max()))
            if given and found.union(allowed) != allowed:
                raise ShadergenError(
                    "SG0605",
                    f"the values of input '{i.name}' in --calibrate exceed --input-range",
                    why=f"they are {found.low:g} to {found.high:g}, the range is "
                    f"{allowed.low:g} to {allowed.high:g}",
                    help=help,
                )
            seen = seen.union(found)
    if seen != allowed:
        seen = allowed.union(widened(seen))
    return replace(target, input_range=(seen.low, seen.high))


def calibrated_layers(decisions: Iterable[Decision]) -> tuple[str, ...]:
    """Return the layers that are in 16 bits by calibration, each once."""
    return tuple(Counter(d.subject for d in decisions if d.decision == CALIBRATED))


def calibration(
    graph: Graph, samples: Samples, decisions: Iterable[Decision], stores_halves: bool = False
) -> Calibration:
    """Return what came of calibrating a graph that is compiled.

    Args:
        graph: as compiled.
        samples: that it was calibrated with.
        decisions: of the passes.
        stores_halves: whether all results are stored in 16 bits, whatever their layouts say.
    """
    errors = rounding_errors(at_size(graph), samples, stores_halves)
    return Calibration(len(samples), calibrated_layers(decisions), errors)
