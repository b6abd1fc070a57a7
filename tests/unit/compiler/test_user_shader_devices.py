"""``--target mpv --device FAMILY``: what is chosen for a family of GPUs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from onnx import ModelProto
from support import refusal
from support.picture_networks import Network, artcnn, residual, save
from support.user_shader_grammar import Pass, parse

from shadergen.backends.devices import DEVICES
from shadergen.backends.devices.families import FAMILIES
from shadergen.compiler.device_list import parse_devices
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.compiler.user_shader import for_user_shader, strength_notes
from shadergen.passes.placement.costs import gain_from_half

if TYPE_CHECKING:
    from pathlib import Path

    from shadergen.compiler.compilation import Compilation


BLOCK = "gl_GlobalInvocationID.xy) * ivec2(2, 1);"


def compiled(model: ModelProto, folder: Path, **options: Any) -> tuple[Compilation, str]:
    output = folder / "net.glsl"
    done = compile_model(
        save(model, folder), output, Options(package="mpv", validate=False, **options)
    )
    return done, output.read_text("utf-8")


def planes(passes: list[Pass]) -> list[int]:
    """Return how many planes of four channels each pass has room for; 1 in a fragment pass."""
    found = []
    for one, pixels in zip(passes, pixels_in_a_row(passes), strict=True):
        across, down, columns, rows = map(int, one.single.get("COMPUTE", "1 1 1 1").split())
        found.append(across * down // (columns * rows * pixels))
    return found


def pixels_in_a_row(passes: list[Pass]) -> list[int]:
    """Return how many pixels of a row an invocation of each pass computes."""
    return [2 if BLOCK in p.body else 1 for p in passes]


def profile_file(folder: Path, renderer: str) -> str:
    limits = asdict(DEVICES["gles31-min"].limits)
    path = folder / "mine.json"
    path.write_text(
        json.dumps({"glsl": 310, "fetch": "texel", "limits": limits, "renderer": renderer})
    )
    return str(path)


@pytest.mark.parametrize(
    "device", [*sorted(DEVICES.keys() - FAMILIES.keys() - {"gles30"}), "another"]
)
def test_profiles_that_are_of_no_family_are_refused(device, tmp_path):
    if device == "another":
        device = profile_file(tmp_path, "Another GPU")
    error = refusal(for_user_shader, Options(package="mpv", device=device))
    assert error.code == "SG0301"
    assert error.what == f"--device {device} is not supported with --target mpv"
    assert error.supported == ", ".join(FAMILIES)
    assert error.help == "omit --device for a file that runs on all GPUs"


def test_the_profile_of_an_installed_gpu_counts_as_its_family(tmp_path):
    mine = profile_file(tmp_path, "NVIDIA GeForce RTX 3060/PCIe/SSE2")
    texts = [compiled(artcnn(), tmp_path, device=name)[1] for name in (mine, "nvidia")]
    assert texts[0] == texts[1]
    assert "\n// for GPUs of the family nvidia\n" in texts[0]


def test_planes_of_a_pass_follow_the_costs_of_the_family(tmp_path):
    """Of 16 channels, Adreno's constant registers hold the weights of two planes, not of four.

    A dispatch of Adreno 6xx has fewer than a draw, so it holds those of one plane. Registers of
    Mali and Intel hold the sums of two planes of a tile of two pixels.
    """
    for device, wanted in (
        ("amd-rdna", [1, 4, 4, 4, 4, 4, 4, 4]),
        ("nvidia", [1, 4, 4, 4, 4, 4, 4, 4]),
        ("intel-gen12", [1, 4, *[2] * 10, 4]),
        ("mali-bifrost", [1, *[2] * 12, 4]),
        ("mali-valhall", [1, 4, *[2] * 8, *[1] * 4, 4]),  # the last also reads the residual
        ("adreno-7xx", [1, 4, *[2] * 10, 4]),
        ("adreno-6xx", [1, 4, *[1] * 20, 4]),
        ("apple", [1] * 27),  # whose profile has no compute shaders
    ):
        done, text = compiled(artcnn(), tmp_path, device=device)
        assert planes(parse(text)) == wanted, device
        notes = [note for note in done.notes if "compute passes" in note]
        computed = f"{len(wanted) - 1} of {len(wanted)}"
        note = (
            f"compute passes ({computed}) need OpenGL 4.3 or Vulkan; --stage fragment avoids them"
        )
        assert notes == ([] if device == "apple" else [note])


def test_two_pixels_of_a_row_share_products_on_every_family_with_compute_passes(tmp_path):
    for device in FAMILIES.keys() - {"apple", "videocore-6"}:
        _, text = compiled(artcnn(), tmp_path, device=device)
        _, *layers, _ = pixels_in_a_row(parse(text))
        assert layers[1:] == [2] * (len(layers) - 1), device
    _, text = compiled(artcnn(), tmp_path, device="amd-rdna", winograd="off")
    assert set(pixels_in_a_row(parse(text))) == {1}


def test_larger_tiles_are_refused(tmp_path):
    error = refusal(for_user_shader, Options(package="mpv", winograd="2x2"))
    assert error.code == "SG0301"
    assert error.what == "--winograd 2x2 is not supported with --target mpv"
    assert error.supported == "--winograd auto, off"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"stage": "fragment"}, [1] * 27),
        ({"mrt": 1}, [1] * 27),
        ({"mrt": 2}, [1, *[2] * 12, 4]),
        ({"stage": "compute", "mrt": 4}, [1, *[4] * 7]),
        ({"stage": "compute"}, [1, 4, *[2] * 10, 4]),
    ],
)
def test_options_that_are_given_win(options, wanted, tmp_path):
    done, text = compiled(artcnn(), tmp_path, device="adreno-7xx", **options)
    assert planes(parse(text)) == wanted
    assert any("--stage fragment" in note for note in done.notes) == (options == {"mrt": 2})


def test_a_compute_pass_has_as_many_planes_as_its_constants_allow(tmp_path):
    """Weights of 32 to 16 channels are too many for constants, those of 32 to 12 are not.

    Tiles have more weights: those of 32 to 8 channels are few enough.
    """
    _, text = compiled(residual(3), tmp_path, stage="compute")
    assert "//!TEXTURE" in text
    _, text = compiled(residual(3), tmp_path, device="amd-rdna", mrt=3, winograd="off")
    assert "//!TEXTURE" not in text
    assert "(relu2), channels 0 to 11 of 32" in text
    _, text = compiled(residual(3), tmp_path, device="amd-rdna")
    assert "//!TEXTURE" not in text
    assert planes(parse(text)) == [1, 4, 4, *[2] * 8, 1]


def test_layers_that_read_many_maps_get_them_in_few_textures(tmp_path):
    """On Adreno, two planes a pass would make 16 textures; a pass reads at most 15."""
    net = Network(1)
    maps = [net.conv("x", 1, 16, 3, "first")]
    for k in range(8):
        maps.append(net.add("Relu", net.conv(maps[-1], 16, 16, 3, f"conv{k}"), name=f"relu{k}"))
    net.conv(net.add("Concat", *maps[1:], name="all", axis=1), 8 * 16, 1, 1, "last")
    _, text = compiled(net.model(1), tmp_path, device="adreno-7xx")
    assert planes(parse(text)) == [1, *[4] * 9, 1]


@pytest.mark.parametrize("family", FAMILIES)
def test_sums_of_user_shaders_are_in_16_bits_for_families_with_16_bit_types(family):
    """Their 16-bit types are explicit: without this, each product is converted to 32 bits.

    VideoCore has no such types. Its compiler takes over 30 s for the sums of 16 channels.
    """
    options = for_user_shader(Options(package="mpv", device=family, precision="mediump"))
    assert gain_from_half(options.target().costs) == (family != "videocore-6")


@pytest.mark.parametrize(
    ("device", "help"),
    [
        ("nvida", "did you mean 'nvidia'?"),
        ("nvidia,amd-rdna", "omit"),
        ("nvidia,n.json", "omit"),
        ("llvmpipe", "omit"),
    ],
)
def test_what_is_no_family_is_refused_with_the_families(device, help):
    name, variants = parse_devices(device, "mpv")
    assert not variants
    error = refusal(for_user_shader, Options(package="mpv", device=name))
    assert error.what == f"--device {device} is not supported with --target mpv"
    assert error.supported == ", ".join(FAMILIES)
    assert error.help.startswith(help)


def test_players_that_change_the_strength_are_named():
    assert "gpu-next" in strength_notes(Options(package="mpv", live_strength=True))[0]
    assert strength_notes(Options(package="mpv")) == ()


def test_without_a_family_every_pass_takes_all_planes():
    for stage, mrt in (("auto", 1), ("fragment", 1), ("compute", 4)):
        options = for_user_shader(Options(package="mpv", stage=stage))
        assert (options.stage, options.mrt) == ("fragment" if stage == "auto" else stage, mrt)


def test_a_network_that_no_pass_can_express_is_refused_for_a_family_too(tmp_path):
    net = Network(1)
    net.add("Mul", "x", net.add("GlobalAveragePool", "x", name="mean"), name="scaled")
    options = Options(package="mpv", device="nvidia")
    error = refusal(compile_model, save(net.model(1), tmp_path), tmp_path / "net.glsl", options)
    assert error.code == "SG0405"
    assert "mean" in error.what
