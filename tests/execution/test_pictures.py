"""Builds on pictures: of any size, in tiles, with alpha, 16 bits and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest
from PIL import Image
from support import refusal as refused
from support.onnx_models import model, node, normal, write

from shadergen.compiler.driver import compile_model
from shadergen.compiler.keywords import make_options
from shadergen.compiler.pictures.files import Settings
from shadergen.compiler.pictures.pillow import PictureWarning
from shadergen.compiler.pictures.reading import read_picture
from shadergen.compiler.running import Run, run_file
from shadergen.compiler.session import Session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gl

TILE = (24, 32)
WEIGHTS = {"w": normal(3, 3, 3, 3) / 9, "b": np.full(3, 0.3, np.float32)}
SCALES = {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 2, 2], np.float32)}
ORIENTATION, MAKE = 0x0112, 0x010F


def conv(x: str, y: str, **attributes: Any) -> Any:
    return node("Conv", x, "w", "b", outputs=(y,), **{"pads": [1] * 4, **attributes})


NETWORKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "convolutions": ([conv("x", "s"), node("Relu", "s", outputs=("t",)), conv("t", "y")], {}),
    "upscaler": (
        [conv("x", "t"), node("Resize", "t", "roi", "scales", mode="cubic")],
        SCALES,
    ),
    "u-net": (
        [conv("x", "a"), node("MaxPool", "a", outputs=("p",), kernel_shape=[2, 2], strides=[2, 2]),
         conv("p", "q"), node("Resize", "q", "roi", "scales", outputs=("u",), mode="nearest",
                              nearest_mode="floor", coordinate_transformation_mode="asymmetric"),
         node("Add", "a", "u", outputs=("j",)), conv("j", "y")],
        SCALES,
    ),
    "mirrored": (
        [node("Pad", "x", "p", outputs=("t",), mode="reflect"), conv("t", "y", pads=[0] * 4)],
        {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])},
    ),
    "halving": (conv("x", "y", strides=[2, 2]), {}),
}  # fmt: skip


def proto_of(name: str, size: Any) -> Any:
    nodes, inits = NETWORKS[name]
    return model(nodes, {**WEIGHTS, **inits}, {"x": (1, 3, *size)}, 17)


def build_of(proto: Any, folder: Path, **options: Any) -> Path:
    build = folder / "build"
    compile_model(write(folder, proto), build, make_options(validate=False, **options))
    return build


def colours(height: int, width: int, channels: int = 3, kind: type = np.uint8) -> np.ndarray:
    """Return smooth random colours."""
    random = np.random.default_rng(height * width)
    small = random.integers(0, 256, (height // 6 + 2, width // 6 + 2, channels)).astype(np.uint8)
    planes = [
        np.asarray(Image.fromarray(small[..., c]).convert("F").resize((width, height)))
        for c in range(channels)
    ]
    scaled = np.stack(planes, 2).clip(0, 255) / 255 * np.iinfo(kind).max
    return np.round(scaled).astype(kind)


def saved(path: Path, pixels: np.ndarray, **options: Any) -> Path:
    Image.fromarray(pixels).save(path, **options)
    return path


def pixels_of(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


def expected(proto: Any, pixels: np.ndarray) -> np.ndarray:
    """Return what ONNX Runtime gives for a whole picture, as (H, W, C) floats."""
    x = pixels.astype(np.float32).transpose(2, 0, 1)[np.newaxis] / np.iinfo(pixels.dtype).max
    (y,) = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    return y[0].transpose(1, 2, 0)


def steps(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference in steps of 1/255."""
    assert found.shape == wanted.shape
    return float(np.abs(found.astype(float) - wanted.clip(0, 1) * 255).max())


def made(run: Run) -> Any:
    (only,) = run.pictures.values()
    return only


# tiles


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("size", [(50, 90), (24, 70), (61, 33)])
def test_tiles_give_the_result_on_the_whole_picture(
    tmp_path: Path, name: str, size: tuple[int, int]
) -> None:
    if name == "u-net":
        size = size[0] // 2 * 2, size[1] // 2 * 2  # odd ones it does not take
    build = build_of(proto_of(name, TILE), tmp_path)
    pixels = colours(*size)
    run = run_file(build, saved(tmp_path / "in.png", pixels), tmp_path / "out.png")
    wanted = expected(proto_of(name, ("h", "w")), pixels)
    found = pixels_of(tmp_path / "out.png")
    if name == "halving":  # beyond an odd border the picture is continued
        inner = np.s_[: size[0] // 2, : size[1] // 2]
        found, wanted = found[inner], wanted[inner]
    assert made(run).tiles > 1
    assert steps(found, wanted) < 0.51  # of rounding; seams would add to it


def test_too_small_an_overlap_shows_seams(tmp_path: Path) -> None:
    build = build_of(proto_of("convolutions", TILE), tmp_path)
    pixels = colours(50, 90)
    source = saved(tmp_path / "in.png", pixels)
    run = run_file(build, source, tmp_path / "out.png", settings=Settings(overlap=0))
    wanted = expected(proto_of("convolutions", ("h", "w")), pixels)
    assert steps(pixels_of(tmp_path / "out.png"), wanted) > 2
    assert "an approximation" in made(run).notes[0]


def test_blended_tiles_add_up_to_the_whole(tmp_path: Path) -> None:
    identity = model(node("Mul", "x", "one"), {"one": np.float32(1)}, {"x": (1, 3, *TILE)}, 17)
    build = build_of(identity, tmp_path)
    pixels = colours(61, 99)
    source = saved(tmp_path / "in.png", pixels)
    for overlap in (0, 5, 20):
        run_file(build, source, tmp_path / "out.png", settings=Settings(overlap=overlap))
        assert (pixels_of(tmp_path / "out.png") == pixels).all()


def test_dynamic_builds_take_pictures_whole_and_in_tiles_alike(tmp_path: Path) -> None:
    build = build_of(proto_of("u-net", ("h", "w")), tmp_path, input_size="dynamic")
    source = saved(tmp_path / "in.png", colours(70, 94))
    whole = run_file(build, source, tmp_path / "whole.png")
    tiles = run_file(build, source, tmp_path / "tiles.png", settings=Settings(tile=(32, 40)))
    assert made(whole).tiles == 1
    assert not any("tiles" in note for note in made(whole).notes)
    assert made(tiles).tiles > 4
    difference = pixels_of(tmp_path / "whole.png").astype(int) - pixels_of(tmp_path / "tiles.png")
    assert np.abs(difference).max() <= 1


def test_sizes_between_those_of_a_dynamic_build_are_continued_and_cut(tmp_path: Path) -> None:
    build = build_of(proto_of("u-net", ("h", "w")), tmp_path, input_size="dynamic")
    source = saved(tmp_path / "in.png", colours(45, 61))
    run = run_file(build, source, tmp_path / "out.png")
    assert made(run).size == (45, 61)
    assert made(run).notes[0].startswith("the picture of 45x61 was padded to 46x62")


def test_small_pictures_are_continued_and_cut(tmp_path: Path) -> None:
    build = build_of(proto_of("upscaler", TILE), tmp_path)
    pixels = colours(10, 50)
    run = run_file(build, saved(tmp_path / "in.png", pixels), tmp_path / "out.png")
    assert made(run).size == (20, 100)
    assert "10x50 was padded to 24x50" in made(run).notes[1]
    wanted = expected(proto_of("upscaler", ("h", "w")), pixels)
    assert steps(pixels_of(tmp_path / "out.png")[:12], wanted[:12]) < 0.51


def test_networks_that_see_the_whole_picture_are_refused_by_layer(tmp_path: Path) -> None:
    mean = [node("GlobalAveragePool", "x", outputs=("t",)), node("Mul", "x", "t")]
    build = build_of(model(mean, {}, {"x": (1, 3, *TILE)}, 17), tmp_path)
    source = saved(tmp_path / "in.png", colours(30, 40))
    error = refused(run_file, build, source, tmp_path / "out.png")
    assert error.code == "SG0605"
    assert error.what == "the picture is 30x40, the build takes 24x32"
    assert error.why.startswith("layer 't' reads the whole picture")
    assert "--input-size 30x40" in error.help
    assert "--overlap 12" in error.help


def test_a_dynamic_build_refuses_a_size_with_the_nearest_one_that_it_takes(tmp_path: Path) -> None:
    """Compiling it again could not help."""
    whole = [
        node("SpaceToDepth", "x", outputs=("s",), blocksize=2),
        node("GlobalAveragePool", "s", outputs=("t",)),
        node("Mul", "s", "t", outputs=("m",)),
        node("DepthToSpace", "m", blocksize=2),
    ]
    build = build_of(model(whole, {}, {"x": (1, 3, "h", "w")}, 17), tmp_path, input_size="dynamic")
    source = saved(tmp_path / "in.png", colours(45, 61))
    error = refused(run_file, build, source, tmp_path / "out.png")
    assert error.what == "the picture is 45x61, the build takes 46x62"
    assert error.help == "crop or pad the picture to a size that the network takes, such as 46x62"


def test_networks_that_see_more_than_a_tile_are_refused_by_their_reach(tmp_path: Path) -> None:
    wide = conv("x", "y", dilations=[15, 15], pads=[15] * 4)
    build = build_of(model(wide, WEIGHTS, {"x": (1, 3, *TILE)}, 17), tmp_path)
    source = saved(tmp_path / "in.png", colours(60, 40))
    error = refused(run_file, build, source, tmp_path / "out.png")
    assert "depends on up to 15 pixels to each side" in error.why


def test_images_of_pillow_may_have_any_size(tmp_path: Path) -> None:
    session = Session(build_of(proto_of("upscaler", TILE), tmp_path))
    pixels = colours(40, 60)
    with pytest.warns(PictureWarning, match=r"^\d+ tiles of 24x32, which give the network's"):
        result = session(Image.fromarray(pixels))
    assert steps(np.asarray(result), expected(proto_of("upscaler", ("h", "w")), pixels)) < 0.51
    with pytest.warns(PictureWarning, match="was padded to 24x32"):
        assert session(Image.fromarray(colours(9, 9))).size == (18, 18)


# what pictures carry


def test_alpha_is_kept_apart_from_the_colours(tmp_path: Path) -> None:
    build = build_of(proto_of("upscaler", TILE), tmp_path)
    pixels = colours(40, 60)
    alpha = np.linspace(0, 255, 60).round().astype(np.uint8) * np.ones((40, 1), np.uint8)
    with_alpha = np.concatenate([pixels, alpha[..., np.newaxis]], 2)
    run_file(build, saved(tmp_path / "in.png", with_alpha), tmp_path / "out.png")
    run_file(build, saved(tmp_path / "opaque.png", pixels), tmp_path / "expected.png")
    found = pixels_of(tmp_path / "out.png")
    assert (found[..., :3] == pixels_of(tmp_path / "expected.png")).all()
    enlarged = Image.fromarray(alpha).resize((120, 80), Image.Resampling.BICUBIC)
    assert np.abs(found[..., 3].astype(int) - np.asarray(enlarged)).max() <= 1


def test_alpha_is_refused_by_formats_without_it(tmp_path: Path) -> None:
    build = build_of(proto_of("convolutions", TILE), tmp_path)
    source = saved(tmp_path / "in.png", colours(24, 32, 4))
    error = refused(run_file, build, source, tmp_path / "out.jpg")
    assert error.why == "jpg has no alpha"
    assert not (tmp_path / "out.jpg").exists()


def deep_png(path: Path, pixels: np.ndarray) -> Path:
    """Write a PNG of 16 bits with PyAV, which shadergen reads with, but does not write with."""
    av = pytest.importorskip("av")
    from fractions import Fraction

    codec = av.CodecContext.create("png", "w")
    codec.height, codec.width = pixels.shape[:2]
    codec.pix_fmt, codec.time_base = "rgb48be", Fraction(1)
    frame = av.VideoFrame.from_ndarray(pixels, format="rgb48le").reformat(format="rgb48be")
    path.write_bytes(b"".join(bytes(p) for p in [*codec.encode(frame), *codec.encode()]))
    return path


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_pictures_of_16_bits_lose_none(tmp_path: Path, suffix: str) -> None:
    build = build_of(proto_of("convolutions", TILE), tmp_path)
    pixels = colours(40, 50, kind=np.uint16)
    source = deep_png(tmp_path / "in.png", pixels)
    run_file(build, source, tmp_path / f"out.{suffix}")
    found = read_picture(tmp_path / f"out.{suffix}").colours
    assert found.dtype == np.uint16
    wanted = expected(proto_of("convolutions", ("h", "w")), pixels).clip(0, 1) * 65535
    assert np.abs(found - wanted).max() < 2
    assert len(np.unique(found % 256)) > 200  # the low byte is used
    for bits, name in ((8, "8.png"), (None, "out.webp")):
        run = run_file(build, source, tmp_path / name, settings=Settings(bits=bits))
        assert read_picture(tmp_path / name).bits == 8
        assert bool(made(run).notes[1:]) == (bits is None)


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "tif", "avif"])
def test_orientation_is_applied_and_the_rest_of_the_metadata_kept(
    tmp_path: Path, suffix: str
) -> None:
    build = build_of(proto_of("convolutions", TILE), tmp_path)
    exif = Image.Exif()
    exif[ORIENTATION], exif[MAKE] = 6, "Camera"
    source = saved(tmp_path / "in.jpg", colours(24, 32), exif=exif, dpi=(300, 300))
    output = tmp_path / f"out.{suffix}"
    run = run_file(build, source, output)
    assert made(run).size == (32, 24)
    with Image.open(output) as image:
        found = image.getexif()
        assert (image.size, found.get(ORIENTATION, 1), found[MAKE]) == ((24, 32), 1, "Camera")
        if suffix in ("png", "jpg", "tif"):
            assert tuple(map(round, image.info["dpi"])) == (300, 300)


def test_gray_and_palettes_are_pictures_too(tmp_path: Path) -> None:
    build = build_of(proto_of("convolutions", TILE), tmp_path)
    for mode in ("L", "P", "1", "LA"):
        image = Image.fromarray(colours(24, 32)).convert(mode)
        image.save(tmp_path / "in.png")
        image.convert("RGBA" if mode == "LA" else "RGB").save(tmp_path / "rgb.png")
        run = run_file(build, tmp_path / "in.png", tmp_path / "out.png")
        said = any(
            note.startswith("written in RGB: the picture is grey") for note in made(run).notes
        )
        assert said == (mode != "P")
        run_file(build, tmp_path / "rgb.png", tmp_path / "expected.png")
        assert (pixels_of(tmp_path / "out.png") == pixels_of(tmp_path / "expected.png")).all()


def test_colours_of_print_need_a_profile(tmp_path: Path) -> None:
    build = build_of(proto_of("convolutions", TILE), tmp_path)
    Image.fromarray(colours(24, 32)).convert("CMYK").save(tmp_path / "in.jpg")
    error = refused(run_file, build, tmp_path / "in.jpg", tmp_path / "out.png")
    assert error.what.endswith("has CMYK colours and no ICC profile")


def test_files_of_immense_sizes_are_refused_before_they_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shadergen.compiler.pictures.reading.MOST_PIXELS", 700)
    source = saved(tmp_path / "in.png", colours(24, 32))
    error = refused(read_picture, source)
    assert (error.code, "decoded in memory" in error.why) == ("SG0605", True)


def test_values_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    broken = model(node("Log", "x"), {}, {"x": (1, 3, *TILE)}, 17)
    source = saved(tmp_path / "in.png", np.zeros((24, 32, 3), np.uint8))
    error = refused(run_file, build_of(broken, tmp_path), source, tmp_path / "out.png")
    assert "not finite" in error.what
    assert not (tmp_path / "out.png").exists()


def test_resized_maps_and_scores_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    black = saved(tmp_path / "in.png", np.zeros((30, 40, 3), np.uint8))
    pooled = node("GlobalAveragePool", "x", outputs=("p",))
    summed = node("ReduceSum", "x", "a", outputs=("s",), keepdims=1)
    ends = {
        "map": [summed, pooled, node("ReduceSum", "p", "a", outputs=("q",), keepdims=1),
                node("Add", "s", "q", outputs=("t",)), node("Log", "t")],
        "scores": [pooled, node("Conv", "p", "w", "b", outputs=("s",), pads=[1] * 4),
                   node("Sub", "s", "s", outputs=("t",)), node("Log", "t", outputs=("u",)),
                   node("Flatten", "u")],
    }  # fmt: skip
    for name, nodes in ends.items():
        (tmp_path / name).mkdir()
        proto = model(nodes, {**WEIGHTS, "a": np.array([1])}, {"x": (1, 3, *TILE)}, 17)
        output = tmp_path / "out.png" if name == "map" else None
        error = refused(run_file, build_of(proto, tmp_path / name), black, output)
        assert "not finite" in error.what


def test_networks_that_exchange_rows_and_columns_are_refused(tmp_path: Path) -> None:
    turned = model(node("Transpose", "x", perm=[0, 1, 3, 2]), {}, {"x": (1, 3, *TILE)}, 17)
    source = saved(tmp_path / "in.png", colours(24, 32))
    error = refused(run_file, build_of(turned, tmp_path), source, tmp_path / "out.png")
    assert (error.code, error.what) == ("SG0605", "output 'y' has rows and columns exchanged")


def test_pictures_of_which_a_network_leaves_nothing_are_refused(tmp_path: Path) -> None:
    weights = {"v": normal(3, 3, 21, 21)}
    proto = model(node("Conv", "x", "v"), weights, {"x": (1, 3, 64, 64)}, 17)
    build = build_of(proto, tmp_path)
    source = saved(tmp_path / "in.png", colours(5, 5))
    error = refused(run_file, build, source, tmp_path / "out.png")
    assert (error.code, error.supported) == ("SG0605", "a side of at least 21 pixels")
    run_file(build, saved(tmp_path / "in.png", colours(21, 30)), tmp_path / "out.png")
    assert pixels_of(tmp_path / "out.png").shape == (1, 10, 3)


# folders


def test_a_folder_runs_picture_by_picture(tmp_path: Path) -> None:
    build = build_of(proto_of("upscaler", TILE), tmp_path)
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    saved(folder / "a.png", colours(30, 40))
    saved(folder / "b.jpg", colours(24, 32))
    (folder / "c.png").write_text("no picture")
    (folder / "notes.txt").write_text("text")
    (folder / "older").mkdir()
    run = run_file(build, folder, out)
    assert {path.name for path in out.iterdir()} == {"a.png", "b.jpg"}
    assert pixels_of(out / "a.png").shape == (60, 80, 3)
    assert [error.code for error in run.errors.values()] == ["SG0101"]
    assert run.skipped == ("notes.txt", "older/")
    assert refused(run_file, build, folder, folder).code == "SG0501"
    assert "holds no pictures" in refused(run_file, build, build, out).what


# classes and maps


def classes_build(folder: Path, size: Any = TILE, **options: Any) -> tuple[Path, Any]:
    weights = {"v": normal(6, 3, 3, 3)}
    nodes = [node("Conv", "x", "v", pads=[1] * 4)]
    proto = model(nodes, weights, {"x": (1, 3, *size)}, 17)
    return build_of(proto, folder, **options), model(nodes, weights, {"x": (1, 3, "h", "w")}, 17)


def test_scores_of_classes_are_drawn_in_colours_with_a_legend(tmp_path: Path) -> None:
    build, proto = classes_build(tmp_path)
    pixels = colours(40, 70)
    source = saved(tmp_path / "in.png", pixels)
    labels = ("sky", "road", "tree", "car", "sign", "sea")
    run = run_file(build, source, tmp_path / "out.png", settings=Settings(labels=labels))
    best = expected(proto, pixels).argmax(2)
    found = pixels_of(tmp_path / "out.png")
    assert found.shape[0] == 40
    assert found.shape[1] > 70
    wrong = 0.0
    for entry in made(run).legend:
        number = labels.index(entry.name)
        assert entry.share == pytest.approx((best == number).mean(), abs=0.01)
        shown = (found[:, :70] == entry.colour).all(2)
        wrong += (shown != (best == number)).mean()
    assert wrong < 0.01  # scores may be equal but for rounding
    error = refused(run_file, build, source, tmp_path / "o.png", None, "auto", "",
                    Settings(labels=("a", "b")))  # fmt: skip
    assert error.what == "--labels has 2 names, the network has 6 classes"
    np.testing.assert_array_equal(Session(build)(Image.fromarray(pixels)).shape, (40, 70))


def test_numbers_of_classes_are_drawn_too(tmp_path: Path) -> None:
    nodes = [node("Conv", "x", "v", outputs=("s",), pads=[1] * 4), node("ArgMax", "s", axis=1)]
    proto = model(nodes, {"v": normal(6, 3, 3, 3)}, {"x": (1, 3, *TILE)}, 17)
    proto.graph.output[0].type.tensor_type.elem_type = 7  # int64
    source = saved(tmp_path / "in.png", colours(40, 70))
    run = run_file(build_of(proto, tmp_path), source, tmp_path / "out.png")
    assert sum(entry.share for entry in made(run).legend) == pytest.approx(1)
    assert made(run).tiles > 1


@pytest.mark.parametrize("overlap", [5, 8])
def test_classes_where_tiles_overlap_are_those_of_the_nearer_tile(
    tmp_path: Path, overlap: int
) -> None:
    nodes = [node("GlobalMaxPool", "x", outputs=("m",)), node("Mul", "m", "c", outputs=("n",)),
             node("Expand", "n", "shape", outputs=("s",)), node("Cast", "s", to=6)]  # fmt: skip
    inits = {"c": np.float32(255), "shape": np.array([1, 1, *TILE])}
    proto = model(nodes, inits, {"x": (1, 1, *TILE)}, 17)
    proto.graph.output[0].type.tensor_type.elem_type = 6  # int32
    pixels = np.zeros((24, 64 - overlap), np.uint8)
    pixels[0, 0], pixels[0, -1] = 2, 200  # each tile has one class, and blending makes others
    settings = Settings(overlap=overlap)
    source = saved(tmp_path / "in.png", pixels)
    run = run_file(build_of(proto, tmp_path), source, tmp_path / "out.png", settings=settings)
    shares = {entry.number: entry.share for entry in made(run).legend}
    assert shares.keys() == {2, 200}
    assert shares[2] == pytest.approx(0.5, abs=0.02)
    assert "the nearer tile" in made(run).notes[0]


def test_maps_of_numbers_are_drawn_in_gray(tmp_path: Path) -> None:
    depth = model(
        [node("ReduceSum", "x", "a", outputs=("s",), keepdims=1), node("Mul", "s", "c")],
        {"a": np.array([1]), "c": np.float32(10)},
        {"x": (1, 3, *TILE)},
        17,
    )
    pixels = colours(40, 70)
    source = saved(tmp_path / "in.png", pixels)
    run = run_file(build_of(depth, tmp_path), source, tmp_path / "out.png")
    found, wanted = pixels_of(tmp_path / "out.png"), pixels.astype(float).sum(2)
    scaled = (wanted - wanted.min()) / (wanted.max() - wanted.min())
    assert steps(found, scaled) <= 1
    assert "is black" in made(run).notes[-1]


def test_classifiers_print_the_best_classes_of_the_resized_picture(tmp_path: Path) -> None:
    nodes = [node("GlobalAveragePool", "x", outputs=("p",)), node("Flatten", "p", outputs=("f",)),
             node("MatMul", "f", "m")]  # fmt: skip
    proto = model(nodes, {"m": normal(3, 8)}, {"x": (1, 3, *TILE)}, 17)
    build = build_of(proto, tmp_path)
    pixels = np.full((50, 60, 3), 200, np.uint8)
    source = saved(tmp_path / "in.png", pixels)
    run = run_file(build, source, None, settings=Settings(labels=tuple("abcdefgh")))
    scores = normal(3, 8).sum(0) * 200 / 255
    best = made(run).categories
    assert [name for name, _ in best] == ["abcdefgh"[k] for k in np.argsort(-scores)[:5]]
    assert best[0][1] == pytest.approx(scores.max(), abs=1e-4)
    assert made(run).notes == (
        "the picture of 50x60 was resized to the network's 24x32 (bicubic, which changes its "
        "aspect ratio); to avoid this, crop the picture to 24x32 first",
    )
    assert "the network gives classes" in refused(run_file, build, source, tmp_path / "o.png").what


# detectors


def detector(boxes: np.ndarray, scores: np.ndarray, name: str = "boxes") -> Any:
    """Return a network that finds the same boxes everywhere."""
    nodes = [
        node("ReduceMean", "x", outputs=("m",), keepdims=0),
        node("Mul", "m", "zero", outputs=("z",)),
        node("Add", "z", "b", outputs=(name,)),
        node("Add", "z", "s", outputs=("scores",)),
    ]
    inits = {"zero": np.float32(0), "b": boxes.astype(np.float32), "s": scores.astype(np.float32)}
    return model(nodes, inits, {"x": (1, 3, *TILE)}, 17, (name, "scores"))


CORNERS = np.array([[[4, 6, 20, 12], [4, 6, 20, 13], [1, 1, 2, 2], [24, 2, 30, 22]]])
SURE = np.array([[[0.1, 0.9], [0.1, 0.8], [0.2, 0.3], [0.7, 0.1]]])


def test_boxes_are_drawn_on_the_picture(tmp_path: Path) -> None:
    pixels = np.full((48, 96, 3), 7, np.uint8)
    source = saved(tmp_path / "in.png", pixels)
    build = build_of(detector(CORNERS, SURE), tmp_path)
    run = run_file(build, source, tmp_path / "out.png", settings=Settings(labels=("cat", "dog")))
    found = [(b.name, round(b.score, 2), b.corners) for b in made(run).boxes]
    assert found == [("dog", 0.9, (12, 12, 60, 24)), ("cat", 0.7, (72, 4, 90, 44))]
    drawn = pixels_of(tmp_path / "out.png")
    assert drawn.shape == pixels.shape
    changed = (drawn != 7).any(2)
    assert changed[24, 40]
    assert changed[30, 72]
    assert not changed[40:, :60].any()


def test_boxes_of_tensorflow_are_shares_with_rows_first(tmp_path: Path) -> None:
    boxes = CORNERS[..., [1, 0, 3, 2]] / np.array([24, 32, 24, 32])
    build = build_of(detector(boxes, SURE, "detection_boxes"), tmp_path)
    source = saved(tmp_path / "in.png", np.full((48, 96, 3), 7, np.uint8))
    run = run_file(build, source, None)
    assert made(run).boxes[0].corners == pytest.approx((12, 12, 60, 24), abs=1e-3)
    assert "y1, x1, y2, x2, in fractions" in made(run).notes[1]


def test_boxes_of_another_form_are_refused(tmp_path: Path) -> None:
    source = saved(tmp_path / "in.png", np.full((48, 96, 3), 7, np.uint8))
    sizes = np.array([[[20, 10, 3, 4], [4, 6, 20, 13]]])  # centres and sizes
    build = build_of(detector(sizes, SURE[:, :2]), tmp_path)
    error = refused(run_file, build, source, tmp_path / "out.png")
    assert error.what == "the numbers in 'boxes' are not corners of boxes"
    build = build_of(detector(CORNERS, np.ones((1, 3))), tmp_path)
    error = refused(run_file, build, source, tmp_path / "out.png")
    assert error.what == "cannot identify the scores of the boxes 'boxes'"
