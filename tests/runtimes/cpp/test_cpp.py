"""The C++ runtime: it loads, refuses and plays what Python does, and keeps its promises."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from schedules.builds import to_bytes
from schedules.builds import write as write_files
from schedules.fixed import small
from schedules.variants import PICKED, SPOILED_PICKED
from support import ESPCN
from support.cpp_runtime import PROGRAMS, RUNTIME, Loader, cmake, compiled, need, promises, run
from support.renderers import STRINGS
from support.runtime_builds import runtime_builds, write
from support.schedule_fixtures import (
    DYNAMIC,
    EXPECTED,
    EXTERNAL,
    FIXTURES,
    GOOD,
    VARIANTS,
    all_families,
    bounded,
    damaged,
    mutated,
    picked,
    refusal,
)

import shadergen
from shadergen.runtime_glue.python import load

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_LIMIT = 100_000  # bytes that an application grows by
# Where JSON parsers have words of their own, and where a pattern, a float or an object is shown.
OTHER_WORDS = {
    "beyond_float64",
    "checksum_in_capitals",
    "checksum_of_no_text",
    "deep_nesting",
    "digits_without_end",
    "empty_schedule",
    "format_beyond_float64",
    "fractional_size",
    "half_a_character",
    "infinity",
    "nan",
    "not_json",
    "offset_beyond_all",
    "parameter_as_operator",
    "path_absolute",
    "pattern_as_expression",
    "pattern_in_capitals",
    "pattern_of_nothing",
    "pattern_too_long",
    "size_beyond_exact",
    "uniform_of_wrong_count",
    "variant_at_root",
    "variant_without_name",
    "variants_as_object",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory)


# loading


@pytest.fixture(scope="module")
def loader(programs: Path) -> Iterator[Loader]:
    process = Loader(programs / "load")
    yield process
    process.close()


@pytest.mark.parametrize("folder", [GOOD, DYNAMIC, EXTERNAL, VARIANTS], ids=lambda path: path.name)
def test_a_good_build_is_loaded(loader: Loader, folder: Path) -> None:
    found, expected = loader.load(folder), load(folder)
    assert found["passes"] == [p.name for p in expected.passes]
    assert [tuple(shape) for shape in found["outputs"]] == [o.shape for o in expected.outputs]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_malformed_build_is_refused_as_in_python(loader: Loader, name: str) -> None:
    folder = FIXTURES / "malformed" / name
    found, expected = loader.load(folder), refusal(folder)
    assert expected
    assert found.get("code") == EXPECTED[name], found
    assert found["where"][0] == str(folder)
    assert len(found["what"]) < 300
    if name not in OTHER_WORDS:
        assert (found["what"], found["help"]) == (expected.what, expected.help)
        assert tuple(found["where"][1:]) == expected.where[1:]


def test_an_error_is_rendered_as_in_python(loader: Loader) -> None:
    folder = FIXTURES / "malformed" / "newer_major"
    expected = refusal(folder)
    assert expected
    assert loader.load(folder)["rendered"] == expected.render()


@pytest.mark.parametrize(
    "sizes",
    [
        {"height": 7},
        {"width": 5},
        {"height": 1, "width": 2},
        {"height": 5000},
        {"height": 0},
        {"heigth": 2},
    ],
)
def test_sizes_are_taken_and_refused_as_in_python(loader: Loader, sizes: dict[str, int]) -> None:
    found, expected = loader.load(DYNAMIC, sizes), refusal(DYNAMIC, sizes)
    if expected is None:
        shapes = [port.shape for port in load(DYNAMIC, sizes).outputs]
        assert [tuple(shape) for shape in found["outputs"]] == shapes
    else:
        assert (found["code"], found["what"]) == (expected.code, expected.what)
        assert found["why"] == expected.why
        assert found["help"] in (expected.help, "")  # the nearest sizes are Python's alone
        assert ("heigth" in sizes) == bool(found["help"])


def test_a_size_outside_its_bounds_is_refused_with_their_reason(
    loader: Loader, tmp_path: Path
) -> None:
    folder = bounded(tmp_path / "build")
    found, expected = loader.load(folder, {"height": 2}), refusal(folder, {"height": 2})
    assert expected
    assert (found["code"], found["what"]) == (expected.code, expected.what)
    assert found["why"] == expected.why != ""
    found = loader.load(folder, {"height": 5000})
    assert (found["code"], found["why"]) == ("SG0605", "")


@given(content=mutated() | damaged())
@settings(
    max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
def test_any_schedule_is_loaded_or_refused_as_in_python(
    loader: Loader, fuzzed_folder: Path, content: bytes
) -> None:
    (fuzzed_folder / "schedule.json").write_bytes(content)
    found, expected = loader.load(fuzzed_folder), refusal(fuzzed_folder)
    assert found.get("code") == (expected and expected.code), found


@given(content=mutated() | damaged())
@settings(
    max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
def test_any_variant_is_picked_or_refused_as_in_python(
    loader: Loader, fuzzed_variants: Path, content: bytes
) -> None:
    (fuzzed_variants / "variants" / "mali.json").write_bytes(content)
    found = loader.load(fuzzed_variants, renderer="Mali-G78")
    assert (found.get("code"), found.get("variant")) == picked(fuzzed_variants)


def test_a_schedule_of_very_many_values_is_refused(loader: Loader, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOOD, tmp_path / "build"))
    start = '{"format": "shadergen", "version": "5.0", "calibrated": ['
    (folder / "schedule.json").write_text(start + "0," * 9_000_000)
    found = loader.load(folder)
    assert (found["code"], found["what"]) == ("SG0503", "it holds more than 8388608 values")


def test_a_link_to_outside_the_folder_is_refused(loader: Loader, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOOD, tmp_path / "build"))
    outside = tmp_path / "outside.frag"
    shutil.move(folder / "shaders" / "mix.frag", outside)
    (folder / "shaders" / "mix.frag").symlink_to(outside)
    found = loader.load(folder)
    assert found["code"] == "SG0503"
    assert "outside the build's folder" in found["what"]
    (folder / "shaders" / "mix.frag").unlink()
    (folder / "shaders" / "mix.frag").symlink_to("mix.frag")
    assert loader.load(folder)["code"] == "SG0505"


def test_a_single_altered_byte_of_the_weights_is_noticed(loader: Loader, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOOD, tmp_path / "build"))
    weights = bytearray((folder / "weights.bin").read_bytes())
    weights[40] ^= 1
    (folder / "weights.bin").write_bytes(weights)
    assert loader.load(folder)["what"] == "the weights file has been altered"


@pytest.mark.parametrize("renderer", PICKED)
def test_the_variant_for_a_renderer_is_loaded(loader: Loader, renderer: str) -> None:
    assert loader.load(VARIANTS, renderer=renderer)["variant"] == PICKED[renderer]


def test_every_real_name_picks_what_python_picks(loader: Loader, tmp_path: Path) -> None:
    folder = all_families(tmp_path / "build")
    names = [name for names in STRINGS.values() for name in names]
    found = {name: loader.load(folder, renderer=name)["variant"] for name in names}
    assert found == {name: family for family, names in STRINGS.items() for name in names}


@pytest.mark.parametrize("name", SPOILED_PICKED)
def test_a_malformed_variant_is_refused_as_in_python(loader: Loader, name: str) -> None:
    folder = FIXTURES / "malformed_variants" / name
    found, expected = loader.load(folder, renderer="Mali-G78"), refusal(folder, renderer="Mali-G78")
    assert expected
    assert found.get("code") == SPOILED_PICKED[name][0], found
    if name != "variant_as_weights":  # which parsers of JSON take exception to elsewhere
        assert (found["what"], found["help"]) == (expected.what, expected.help)
        assert tuple(found["where"]) == expected.where
    assert loader.load(folder, renderer="llvmpipe")["variant"] == "software"


# playing


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("builds")
    write(folder)
    return folder


def play(programs: Path, folders: list[Path], *options: str) -> dict[str, dict[str, Any]]:
    """Play cases in one process and one context; return what was said of each, by its name."""
    said = run(programs / "play", *options, *folders).splitlines()
    answers = [json.loads(line) for line in said if line.startswith("{")]
    return {Path(answer["case"]).name: answer for answer in answers}


def errors(folder: Path) -> dict[str, float]:
    """Return how far each output of a case is from what is expected, in parts of what may be."""
    case = json.loads((folder / "case.json").read_text())
    found = {}
    for name in case["outputs"]:
        got, expected = (
            np.fromfile(folder / place / f"{name}.f32", "<f4") for place in ("cpp", "expected")
        )
        bound = case["tolerance"] * max(1.0, float(np.abs(expected).max()))
        found[name] = float(np.abs(got - expected).max()) / bound
    return found


@pytest.fixture(scope="module")
def played(programs: Path, cases: Path) -> dict[str, dict[str, Any]]:
    return play(programs, [cases / build.name for build in runtime_builds()])


@pytest.mark.gl
@pytest.mark.parametrize("name", [build.name for build in runtime_builds()])
def test_a_build_gives_what_onnxruntime_gives(
    name: str, played: dict[str, dict[str, Any]], cases: Path
) -> None:
    assert "error" not in played[name], played[name]["error"]
    assert max(errors(cases / name).values()) <= 1


@pytest.mark.gl
def test_desktop_opengl_gives_the_same(programs: Path, cases: Path) -> None:
    names = [
        "conv_3x3-compute",
        "pixel_shuffle-fragment",
        "weights-ubo",
        "weights-ssbo",
        "bytes-out",
    ]
    for name in names:
        shutil.rmtree(cases / name / "cpp", ignore_errors=True)
    found = play(programs, [cases / name for name in names], "--desktop")
    for name in names:
        assert "error" not in found[name], found[name]["error"]
        assert max(errors(cases / name).values()) <= 1


@pytest.mark.gl
def test_halves_are_rounded_as_numpy_does(programs: Path, tmp_path: Path) -> None:
    schedule, files = small()
    height, width = 64, 96
    for texture in schedule["textures"]:
        texture |= {"height": height, "width": width}
    schedule["textures"][0]["format"] = "rgba16f"
    for port in (*schedule["inputs"], *schedule["outputs"]):
        port["shape"] = [1, 4, height, width]
    for gpu_pass in schedule["passes"]:
        gpu_pass["viewport"] = [width, height]
    schedule["requires"]["limits"]["texture_size"] = width
    write_files(tmp_path / "build", {"schedule.json": to_bytes(schedule), **files})
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 4, height, width)) * np.exp2(
        rng.uniform(-27, 14, (1, 4, height, width))
    )
    x.flat[:6] = 0, -0.0, 2.0**-25, 2.0**-24 * 1.5, 65504, -65519
    x = x.astype(np.float32)
    (tmp_path / "inputs").mkdir()
    x.tofile(tmp_path / "inputs" / "x.f32")
    assert "error" not in play(programs, [tmp_path])[tmp_path.name]
    found = np.fromfile(tmp_path / "cpp" / "y.f32", np.float32).reshape(x.shape)
    np.testing.assert_array_equal(found, 4 * x.astype(np.float16).astype(np.float32))


# promises


@pytest.fixture(scope="module")
def kept(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Return "" or what is wrong of each promise, by the API."""
    found = {}
    for api in ("OpenGL ES", "OpenGL"):
        options = ["--desktop"] if api == "OpenGL" else []
        scratch = tmp_path_factory.mktemp("scratch")
        found[api] = {}
        for line in run(programs / "behaviour", FIXTURES, scratch, *options).splitlines():
            verdict, _, rest = line.partition(" ")
            if verdict in ("ok", "failed"):
                name, _, why = rest.partition(": ")
                found[api][name] = why
    return found


@pytest.mark.gl
@pytest.mark.parametrize("api", ["OpenGL ES", "OpenGL"])
@pytest.mark.parametrize("name", promises())
def test_a_promise_is_kept(name: str, api: str, kept: dict[str, dict[str, str]]) -> None:
    assert kept[api][name] == ""


@pytest.mark.gl
def test_frames_and_sizes_in_turn(programs: Path, tmp_path: Path) -> None:
    assert run(programs / "behaviour", FIXTURES, tmp_path, "--frames", 200) == "ok frames\n"


# packages


@pytest.mark.slow
def test_an_application_finds_the_installed_library(tmp_path: Path) -> None:
    prefix = tmp_path / "installed"
    cmake(RUNTIME, tmp_path / "build", f"-DCMAKE_INSTALL_PREFIX={prefix}")
    run("cmake", "--install", tmp_path / "build")
    cmake(PROGRAMS / "installed", tmp_path / "app_build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert run(tmp_path / "app_build" / "app", GOOD) == "7 passes\n"
    need("pkg-config")
    found = next(prefix.rglob("shadergen.pc")).parent
    flags = run(
        "pkg-config", "--cflags", "--libs", "shadergen", env={"PKG_CONFIG_PATH": str(found)}
    )
    app = PROGRAMS / "installed" / "main.cpp"
    run("c++", "-std=c++17", app, *flags.split(), "-o", tmp_path / "by_hand")
    assert run(tmp_path / "by_hand", GOOD) == "7 passes\n"


@pytest.mark.slow
def test_an_application_grows_by_little(tmp_path: Path) -> None:
    need("c++", "size")
    cmake(RUNTIME, tmp_path / "build", "-DCMAKE_BUILD_TYPE=MinSizeRel")
    flags = ["-std=c++17", "-Os", "-fno-exceptions", "-fno-asynchronous-unwind-tables"]
    flags += [f"-I{RUNTIME / 'include'}", PROGRAMS / "small.cpp", "-Wl,--gc-sections", "-s"]
    sizes = {}
    for name, more in (("plays", ["-DPLAY", tmp_path / "build" / "libshadergen.a"]), ("empty", [])):
        program = tmp_path / name
        run("c++", *flags, *more, "-o", program)
        sections = [line.split() for line in run("size", "-A", program).splitlines()[2:]]
        loaded = sum(int(s[1]) for s in sections if s and s[0].startswith("."))
        sizes[name] = loaded, program.stat().st_size
    # all that is loaded, and not only .text; and the file, which grows by whole pages
    for plays, empty in zip(sizes["plays"], sizes["empty"], strict=True):
        assert plays - empty < SIZE_LIMIT


@pytest.mark.gl
@pytest.mark.slow
def test_a_build_embedded_as_c_plays(programs: Path, tmp_path: Path) -> None:
    need("cc")
    shadergen.compile_model(
        ESPCN, tmp_path / "upscaler", input_size="16x24", embed="c", validate=False
    )
    run("cc", "-std=c99", "-c", tmp_path / "upscaler" / "upscaler.c", "-o", tmp_path / "upscaler.o")
    flags = ["-std=c++17", "-fsanitize=address,undefined", f"-I{RUNTIME / 'include'}"]
    flags += [f"-I{PROGRAMS}", f"-I{tmp_path}"]
    library = programs / "runtime" / "libshadergen.a"
    objects = [PROGRAMS / "embedded.cpp", tmp_path / "upscaler.o", library]
    run("c++", *flags, *objects, "-ldl", "-o", tmp_path / "app")
    run(tmp_path / "app")
