"""The command that runs a build: ``run``."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ...errors import ShadergenError, count, few
from ...records import replace
from .help import command
from .options import is_given, runtime_options
from .output import (
    echo,
    new_table,
    passes_text,
    print_json,
    print_table,
    progress_bar,
    progress_line,
    psnr_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..pictures.network import Progress
    from ..pictures.quality import Quality
    from ..player.pictures import Shown
    from ..running import Run

IN_FFMPEG = "FFmpeg compiles the shader, then renders the picture"


@command(
    short_help="Run a build on pictures, videos or arrays, or a user shader on pictures or videos.",
    epilog="Examples: [bold]shadergen run build/ photo.png -o out.png[/bold]; "
    "[bold]shadergen run build/ photos/ -o out/[/bold]; "
    "[bold]shadergen run build/ clip.mp4 -o out.mp4[/bold]; "
    "[bold]shadergen run build/ in.npz -o out.npz[/bold]",
)
@click.argument("build", type=click.Path(path_type=Path))
@click.argument("input", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Picture, folder, video, .npz or .npy to write. Not needed for networks that classify "
    "pictures.",
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    metavar="PICTURE",
    help="Also write the picture and its result side by side.",
)
@click.option(
    "--original",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Print the PSNR of the result against this file (or folder).",
)
@click.option(
    "--labels",
    metavar="NAMES",
    help="Names of the classes: separated by commas, or a file with one name in each line.",
)
@click.option(
    "--bits",
    type=click.Choice(["8", "16"]),
    help="Bits per channel of the result; by default as in the input picture. 16 needs .png or "
    ".tif.",
)
@click.option(
    "--tile",
    metavar="HxW",
    help="Run a build of dynamic sizes in tiles of this size, to use less memory.",
)
@click.option(
    "--overlap",
    type=click.IntRange(min=0),
    metavar="PIXELS",
    help="Overlap of tiles. By default, the result is the same as without tiles; with this option, "
    "overlaps are blended and the result is approximate.",
)
@click.option(
    "--variant", metavar="NAME", help="Run this variant; by default the one for the adapter."
)
@runtime_options("auto: gles if installed and the build has shaders for it, else webgpu.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def run(
    build: Path,
    input: Path,
    output: Path | None,
    compare: Path | None,
    original: Path | None,
    labels: str | None,
    bits: str | None,
    tile: str | None,
    overlap: int | None,
    variant: str | None,
    runtime: str,
    adapter: str,
    as_json: bool,
) -> None:
    """Run BUILD on INPUT: a picture, a folder of pictures, a video, or arrays.

    Pictures and videos may have any size if the network allows tiles. Segmentations are drawn in
    colours; a classifier's classes are printed. Arrays are an .npz with arrays named after the
    inputs, or one .npy, in the model's shape and axis order. A 1-channel network gets luma.

    BUILD may also be a user shader (.glsl), which FFmpeg's libplacebo filter runs.
    """
    from ..option_parsing import parse_labels, parse_tile
    from ..pictures.files import Settings, failed
    from ..pictures.quality import check_originals, check_size
    from ..pictures.side_by_side import check_comparison
    from ..pictures.video import VIDEOS
    from ..player.outline import CHROMA, is_user_shader, read_shader, stage_of
    from ..running import run_file

    if compare is not None:
        check_comparison(input, output, compare, original)
    fits = None
    if original is not None:
        check_originals(input, output, original)
        if output is not None:  # refused otherwise
            fits = partial(check_size, original, output)
    if is_user_shader(build):
        for name in ("variant", "runtime", "adapter", "labels", "bits", "tile", "overlap"):
            if is_given(name):
                what = f"--{name} is for builds; a user shader runs in FFmpeg"
                raise ShadergenError("SG0301", what, help=f"omit --{name}")
        if output is None:
            raise ShadergenError("SG0301", "the result needs a file", help="name it with -o")
        if original is not None and stage_of(read_shader(build)) == CHROMA:
            what = "--original compares luma, which a user shader for chroma does not change"
            raise ShadergenError("SG0301", what, help="omit --original")
        if input.is_dir():
            _show_folder(build, input, output, original, as_json)
            return
        shown = _show(build, input, output, fits)
        quality, wrong = None, dict[str, ShadergenError]()
        if original is not None:
            is_video = input.suffix.lower() in VIDEOS
            with progress_bar() if is_video else nullcontext(lambda *done: None) as progress:
                quality, wrong = _measured([str(input)], input, output, original, progress)
        if as_json:
            print_json(asdict(shown) | _quality_json(quality))
        else:
            print_shown(shown, output)
        _compare(input, output, compare, original, quality, as_json)
        if wrong:
            raise wrong[str(input)]
        return
    settings = Settings(
        parse_labels(labels), int(bits) if bits else None, overlap, parse_tile(tile), fits
    )
    with progress_bar() as progress:
        result = run_file(build, input, output, variant, runtime, adapter, settings, progress)
        quality, wrong = None, dict[str, ShadergenError]()
        if original is not None and output is not None:
            quality, wrong = _measured(result.pictures, input, output, original, progress)
    if input.is_dir():  # the others are reported all the same
        result = replace(result, errors={**result.errors, **wrong})
    if as_json:
        print_json(_json(result) | _quality_json(quality))
    else:
        _print(result, output)
    if output is not None:
        _compare(input, output, compare, original, quality, as_json)
    if wrong and not input.is_dir():
        raise wrong[str(input)]
    if result.errors:
        raise failed(list(result.errors.values()), len({*result.errors, *result.pictures}))


def _measured(
    pictures: Iterable[str], input: Path, output: Path, original: Path, progress: Progress
) -> tuple[Quality | None, dict[str, ShadergenError]]:
    """Return the means over pictures that fit their originals, and what is wrong with others."""
    from ..pictures.quality import mean, measure

    found, wrong = [], {}
    for path in pictures:
        name = Path(path).name if input.is_dir() else ""
        try:
            found.append(measure(input / name, output / name, original / name, progress))
        except ShadergenError as error:
            wrong[path] = error
    return mean(found) if found else None, wrong


def _quality_json(quality: Quality | None) -> dict[str, Any]:
    """Return the PSNR; JSON has no infinite numbers, so that of equal pictures is null."""
    if quality is None:
        return {}
    name = "bicubic" if quality.resized else "input"
    numbers = {name: quality.plain, "network": quality.network}
    return {"psnr": {key: psnr if isfinite(psnr) else None for key, psnr in numbers.items()}}


def _compare(
    input: Path,
    output: Path,
    compare: Path | None,
    original: Path | None,
    quality: Quality | None,
    as_json: bool,
) -> None:
    """Write the pictures side by side, and print how near the result is to the original."""
    from ..pictures.side_by_side import write_comparison

    if compare is not None:
        write_comparison(input, output, compare, original)
        if not as_json:
            what = "before and after" if original is None else "before, after and original"
            echo(f"{compare}: {what}, side by side")
    if quality is not None and not as_json:
        over = "over" if quality.what == "frame" else "mean of"
        mean = f", {over} {count(quality.pictures, quality.what)}" if quality.pictures > 1 else ""
        plain = "bicubic" if quality.resized else "input"
        echo(*psnr_lines(f"{original}{mean}", plain, quality.plain, quality.network))


def _json(result: Run) -> dict[str, Any]:
    data = asdict(replace(result, errors={}))
    data["errors"] = {path: error.render() for path, error in result.errors.items()}
    return data


def _print(result: Run, output: Path | None) -> None:
    from ..pictures.drawing import SHOWN

    several = len(result.pictures) + len(result.errors) > 1
    for path, made in result.pictures.items():
        if several:
            size = f": {made.size[0]}x{made.size[1]}" if made.size else ""
            echo(f"{path}{size}")
        if made.categories:
            table = new_table("class", "score")
            for name, score in made.categories:
                table.add_row(name, f"{score:.4g}")
            print_table(table)
            if not several and not is_given("labels"):
                echo("note: --labels FILE gives the classes names, one in each line")
        if made.boxes:
            table = new_table("object", "score", "left", "top", "right", "bottom")
            for box in made.boxes:
                corners = (f"{corner:.0f}" for corner in box.corners)
                table.add_row(box.name, f"{box.score:.2f}", *corners)
            print_table(table)
        if made.legend and not several:
            table = new_table("class", "colour", "share")
            for entry in made.legend[:SHOWN]:
                red, green, blue = entry.colour
                colour = f"#{red:02x}{green:02x}{blue:02x}"
                table.add_row(entry.name, colour, f"{entry.share:.1%}")
            print_table(table)
        for note in made.notes if not several else ():
            echo(f"note: {note}")
    for line in _shared_notes(result) if several else ():
        echo(line)
    for path, error in result.errors.items():
        echo(*error.at(path).render().split("\n"), err=True)
    _print_skipped(result.skipped)
    of_variant = f" of variant {result.variant}" * bool(result.variant)
    what = f"{output}: " if output else ""
    ran = f"{what}{passes_text(result.passes)}{of_variant} on {result.renderer}"
    tiles = max((made.tiles for made in result.pictures.values()), default=1)
    if result.frames:
        rate = result.frames / (result.milliseconds / 1e3)
        echo(f"{ran}, {count(result.frames, 'frame')}, {rate:.1f} a second")
    elif several or tiles > 1:
        echo(f"{ran}, {result.milliseconds / 1e3:.1f} s")
    else:
        echo(
            f"{ran}, set-up {result.init_milliseconds:.0f} ms, first frame "
            f"{result.milliseconds:.1f} ms (includes shader compilation)"
        )


def _print_skipped(names: Iterable[str]) -> None:
    """Print what of a folder was not run."""
    names = list(names)
    files = [name for name in names if not name.endswith("/")]
    if files:
        echo(f"note: no pictures, skipped: {few(files, 3)}")
    if folders := [name for name in names if name.endswith("/")]:
        echo(f"note: subfolders are skipped: {few(folders, 3)}")


def _shared_notes(result: Run) -> Iterator[str]:
    """Yield each note of several pictures once, with how many of them it is about."""
    notes = Counter(note for made in result.pictures.values() for note in made.notes)
    for note, number in notes.items():
        about = f" ({number} of {len(result.pictures)} pictures)" if number > 1 else ""
        yield f"note: {note}{about}"


def _show(
    shader: Path, input: Path, output: Path, fits: Callable[[tuple[int, int]], None] | None
) -> Shown:
    """Run a user shader on a picture or a video, unless the size of the video is refused."""
    from ..arrays import ARRAYS
    from ..pictures.video import VIDEOS
    from ..player.pictures import show_picture
    from ..player.videos import show_video
    from ..running import check_source

    check_source(input, output)
    if {input.suffix.lower(), output.suffix.lower()} & {*ARRAYS}:
        raise ShadergenError(
            "SG0605",
            f"a user shader cannot read '{input}' and write '{output}'",
            supported="a picture, a folder of pictures or a video",
        )
    if input.suffix.lower() in VIDEOS:
        with progress_bar() as progress:
            progress("starting FFmpeg", 0, 0)
            return show_video(shader, input, output, progress, fits)
    with progress_line() as step:
        step(IN_FFMPEG)
        return show_picture(shader, input, output)


def _show_folder(
    shader: Path, folder: Path, output: Path, original: Path | None, as_json: bool
) -> None:
    """Run a user shader on every picture in a folder, and print what came of them."""
    from ..pictures.files import failed, pictures_in, run_folder
    from ..player.pictures import Shown, show_picture
    from ..running import check_source

    def run(source: Path, target: Path | None) -> Shown:
        assert target is not None
        return show_picture(shader, source, target)

    check_source(folder, output)
    skipped = pictures_in(folder)[1]
    shown: dict[str, Shown] = {}
    errors: dict[str, ShadergenError] = {}
    with progress_bar() as progress:
        for path, made in run_folder(folder, output, run, progress):
            if isinstance(made, Shown):
                shown[str(path)] = made
            else:
                errors[str(path)] = made
        quality = None
        if original is not None:
            quality, wrong = _measured(shown, folder, output, original, progress)
            errors |= wrong
    if as_json:
        data = {path: asdict(each) for path, each in shown.items()}
        rendered = {path: error.render() for path, error in errors.items()}
        print_json({"pictures": data, "errors": rendered} | _quality_json(quality))
    else:
        for name, each in shown.items():
            print_shown(each, output / Path(name).name)
        for name, error in errors.items():
            echo(*error.at(name).render().split("\n"), err=True)
        _print_skipped(skipped)
    _compare(folder, output, None, original, quality, as_json)
    if errors:
        raise failed(list(errors.values()), len({*errors, *shown}))


def print_shown(shown: Shown, output: Path) -> None:
    """Print what a user shader made of a picture or a video."""
    for note in shown.notes:
        echo(f"note: {note}")
    ran = (
        f"{output}: {'x'.join(map(str, shown.size))}, {passes_text(shown.passes)} in FFmpeg's "
        "libplacebo, "
    )
    if shown.frames:
        rate = shown.frames / (shown.milliseconds / 1e3)
        echo(f"{ran}{count(shown.frames, 'frame')}, {rate:.1f} a second")
    else:
        echo(f"{ran}{shown.milliseconds:.0f} ms with start and shader compilation")
