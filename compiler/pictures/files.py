"""Networks on picture files and folders of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ...backends.replacing import replacing_file
from ...errors import ShadergenError, count
from ...records import dataclass, replace
from .detections import Box, Detector, detect, draw_boxes
from .drawing import Class, classes_in, draw_classes, draw_map
from .picture import Metadata, Picture, with_source
from .reading import SUFFIXES, read_picture
from .results import Range, best_classes, check_labels, pixel_values
from .writing import DEEP, check_format, open_writer, write_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ..session import Session
    from .network import PictureNetwork, Progress
    from .picture import Floats

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """How results are shown.

    Attributes:
        labels: names of classes, by their numbers.
        bits: of pictures that are written: 8 or 16; None: as in the picture that was read.
        overlap: of tiles, in pixels; None: what the receptive field needs.
        tile: height and width of tiles, for builds of dynamic sizes.
        check_size: told the size of a video's frames after the first one, to refuse it.
    """

    labels: tuple[str, ...] = ()
    bits: int | None = None
    overlap: int | None = None
    tile: tuple[int, int] | None = None
    check_size: Callable[[tuple[int, int]], None] | None = None


@dataclass(frozen=True)
class Made:
    """What came of a picture.

    Attributes:
        size: height and width of what was written; None if nothing was.
        tiles: how many ran.
        notes: what was done besides, a line each.
        legend: the classes of a class map, the most frequent first.
        categories: the best classes of the whole picture, with scores.
        boxes: objects in the picture, the best first.
    """

    size: tuple[int, int] | None
    tiles: int
    notes: tuple[str, ...] = ()
    legend: tuple[Class, ...] = ()
    categories: tuple[tuple[str, float], ...] = ()
    boxes: tuple[Box, ...] = ()


def run_picture(
    network: PictureNetwork,
    source: Path,
    output: Path | None,
    settings: Settings,
    progress: Progress,
) -> Made:
    """Run a network on a picture file and write the result.

    Args:
        network: to run.
        source: the picture.
        output: the file to write; None for networks that classify the picture.
        settings: how to show the result.
        progress: told which tile is at work.

    Raises:
        ShadergenError: SG01xx, SG0301, SG05xx, SG06xx.
    """
    kind = network.network.kind
    check_labels(settings.labels, kind, network.network.depth)
    _check_output(kind, output)
    picture = read_picture(source)
    prepared = network.prepare(picture.size)
    notes = (*picture.notes, *prepared.notes)
    tiles = 1 if prepared.plan is None else prepared.plan.count
    if kind == "category":
        best = best_classes(network.resized(picture), settings.labels)
        return Made(None, 1, notes, categories=tuple(best))
    assert output is not None
    if kind == "picture":
        return _write_picture(network, picture, output, settings, progress)
    values, more = pixel_values(network, picture, progress)
    notes = (*notes, *more)
    bits, why = _bits(network, picture, output, settings)
    legend: tuple[Class, ...] = ()
    if kind == "map":
        pixels, said = draw_map(values, bits)
        notes = (*notes, *filter(None, (why, said)))
    else:
        legend, bits = tuple(classes_in(values, settings.labels)), 8
        pixels = draw_classes(values, legend)
    write_pixels(output, pixels, bits, replace(picture.metadata, profile=b""))  # of other colours
    return Made((pixels.shape[0], pixels.shape[1]), tiles, notes, legend)


def run_detector(
    session: Session, detector: Detector, source: Path, output: Path | None, settings: Settings
) -> Made:
    """Run a detector on a picture file and draw the boxes on it, if there is an output.

    Raises:
        ShadergenError: SG0101, SG05xx, SG06xx.
    """
    picture = read_picture(source)
    boxes, notes = detect(session, detector, picture, settings.labels)
    if output is not None:
        write_pixels(output, draw_boxes(picture, boxes), 8, picture.metadata.of_channels(3))
    size = picture.size if output else None
    return Made(size, 1, (*picture.notes, *notes), boxes=tuple(boxes))


def _check_output(kind: str, output: Path | None) -> None:
    """Refuse an output for networks that write none, and the lack of one for others.

    Raises:
        ShadergenError: SG0301.
    """
    if kind == "category" and output is not None:
        raise ShadergenError(
            "SG0301",
            f"'{output}' cannot be written: the network gives classes, not a picture",
            help="omit -o to print the best classes, or name an .npz file for the scores",
        )
    if kind != "category" and output is None:
        raise ShadergenError(
            "SG0301", "the result needs a file", help="name the file to write with -o"
        )


def _bits(
    network: PictureNetwork, picture: Picture, output: Path, settings: Settings
) -> tuple[int, str]:
    """Return the bits to write, and why these are fewer than those that were read."""
    wanted = settings.bits or picture.bits
    if wanted == 8:
        return 8, ""
    if network.network.output.encoding == "unorm8":
        return 8, "written in 8 bits: the build's output is 8-bit (--output-encoding unorm8)"
    if output.suffix.lower() not in DEEP:
        return 8, "written in 8 bits: shadergen writes 16 bits to .png and .tif only"
    return 16, ""


def _write_picture(
    network: PictureNetwork,
    picture: Picture,
    output: Path,
    settings: Settings,
    progress: Progress,
) -> Made:
    prepared = network.prepare(picture.size)
    plan, of = prepared.plan, prepared.network
    assert plan is not None
    bits, why = _bits(network, picture, output, settings)
    colours = 3 if of.depth == 1 and picture.channels == 3 else of.depth
    channels = colours + (picture.alpha is not None and of.depth != 4)
    notes = [*picture.notes, *prepared.notes, why]
    if picture.bits == 16 and of.input.encoding == "unorm8":
        notes.append("read in 8 bits: the build's input is 8-bit (--preprocess input=unorm8)")
    if picture.channels == 1 and of.depth == 3:
        notes.append("written in RGB: the picture is grey, but the network's result has colours")
    metadata = picture.metadata.of_channels(3 if channels > 2 else 1)
    check_format(output, plan.size, channels, bits)
    watch = Range()
    try:
        with replacing_file(output) as fresh, fresh.open("wb") as file:
            writer = open_writer(file, output, plan.size, channels, bits, metadata)
            for first, values in network.rows(picture, progress):
                watch.add(values)
                span = first, first + len(values)
                writer.write(with_source(values, span, plan.size, picture, bits))
            writer.close()
    except (OSError, ValueError) as error:
        raise write_error(output, error) from None
    return Made(plan.size, plan.count, tuple(filter(None, [*notes, watch.note()])))


def write_result(output: Path, values: Floats, source: Picture) -> None:
    """Write a whole result (H, W, 1 or 3) as a picture, with its source's chroma and alpha.

    Raises:
        ShadergenError: SG0501 when it cannot be written, SG0605 when the format cannot hold it.
    """
    size = values.shape[0], values.shape[1]
    pixels = with_source(values, (0, size[0]), size, source, 8)
    metadata = source.metadata.of_channels(3 if pixels.shape[2] > 2 else 1)
    write_pixels(output, pixels, 8, metadata)


def write_pixels(output: Path, pixels: NDArray[Any], bits: int, metadata: Metadata) -> None:
    """Write (H, W, 1 to 4) pixels as a picture.

    Raises:
        ShadergenError: SG0501 when it cannot be written, SG0605 when the format cannot hold it.
    """
    size, channels = (pixels.shape[0], pixels.shape[1]), pixels.shape[2]
    try:
        with replacing_file(output) as fresh, fresh.open("wb") as file:
            writer = open_writer(file, output, size, channels, bits, metadata)
            writer.write(pixels)
            writer.close()
    except (OSError, ValueError) as error:
        raise write_error(output, error) from None


def require_files(
    option: str, kind: str, suffixes: Sequence[str], paths: Mapping[str, Path]
) -> None:
    """Refuse, before the work, what is not named as a file of some kind.

    Args:
        option: that needs such files.
        kind: of the files: "picture" or "video".
        suffixes: that they may have.
        paths: by what people call them.

    Raises:
        ShadergenError: SG0301.
    """
    for what, path in paths.items():
        if path.is_dir() or path.suffix.lower() not in suffixes:
            raise ShadergenError(
                "SG0301",
                f"with {option}, {what} must be a {kind}",
                why=f"it is '{path}'",
                supported=", ".join(suffixes),
            )


def pictures_in(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the pictures in a folder by name, and the names of all else in it.

    Names of subfolders end in a slash.

    Raises:
        ShadergenError: SG0101 without any picture.
    """
    entries = sorted(folder.iterdir())
    found = [p for p in entries if p.is_file() and p.suffix.lower() in SUFFIXES]
    if not found:
        raise ShadergenError(
            "SG0101", f"'{folder}' holds no pictures", supported=", ".join(SUFFIXES)
        )
    others = sorted({*entries}.difference(found))
    return found, tuple(f"{path.name}{'/' * path.is_dir()}" for path in others)


def run_folder(
    folder: Path,
    output: Path | None,
    run: Callable[[Path, Path | None], T],
    progress: Progress,
) -> Iterator[tuple[Path, T | ShadergenError]]:
    """Run a network on every picture in a folder; results have the names of their pictures.

    Args:
        folder: of pictures.
        output: the folder for the results, if they are to be written.
        run: runs the network on a picture and writes the result to a path.
        progress: told each picture's name.

    Yields:
        Each picture, and what came of it.

    Raises:
        ShadergenError: SG0101 without pictures, SG0501 when the results would replace them.
    """
    sources, _ = pictures_in(folder)
    if output is not None:
        if output.exists() and output.samefile(folder):
            raise ShadergenError(
                "SG0501", f"'{output}' is the input", why="the results would replace the pictures"
            )
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(output, error) from None
    for k, source in enumerate(sources):
        progress(f"{source.name}", k, len(sources))
        try:
            target = None if output is None else output / source.name
            yield source, run(source, target)
        except ShadergenError as error:
            yield source, error


def failed(errors: Sequence[ShadergenError], total: int) -> ShadergenError:
    """Return the error of a folder of which some pictures failed."""
    return ShadergenError(
        errors[0].code, f"{len(errors)} of {count(total, 'picture')} could not be run"
    )
