"""Lists of devices: the generic one, the variants, and lists that make no sense."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from support import ESPCN, refusal

from shadergen.backends.devices import DEVICES
from shadergen.compiler.device_list import parse_devices, variant_for, variants_of
from shadergen.compiler.driver import compile_model
from shadergen.compiler.keywords import make_options
from shadergen.compiler.options import Options
from shadergen.passes.placement.target import Limits

SIZE = {"": (8, 8)}


def profile(path: Path, renderer: str) -> Path:
    limits = {f.name: getattr(DEVICES["llvmpipe"].limits, f.name) for f in fields(Limits)}
    found = {"renderer": renderer, "glsl": 310, "fetch": "texel", "limits": limits}
    path.write_text(json.dumps(found))
    return path


def test_the_profile_without_renderers_is_the_generic_one():
    assert parse_devices("gles30") == ("gles30", ())
    assert parse_devices("nvidia") == ("nvidia", ())
    expected = ("webgl2-min", ("mali-valhall", "nvidia"))
    assert parse_devices("mali-valhall, nvidia,webgl2-min") == expected
    assert parse_devices("webgl2-min,mali-valhall,nvidia") == expected


@pytest.mark.parametrize(
    ("devices", "why"),
    [
        ("gles30,gles31-mobile", "gles30 and gles31-mobile are generic"),
        ("nvidia,apple", "it lacks a generic profile"),
        ("nvidia,nvidia,gles30", "two profiles are called 'nvidia'"),
        ("nvidia,,gles30", "a name in the list is empty"),
        (",", "a name in the list is empty"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(devices, why):
    refused = refusal(parse_devices, devices)
    assert (refused.code, refused.what) == ("SG0301", f"--device '{devices}' is not supported")
    assert why in refused.why


def test_an_unknown_profile_of_a_list_is_refused_by_its_name():
    assert refusal(parse_devices, "nvidea,gles30").what == "no device profile is called 'nvidea'"
    assert refusal(parse_devices, "mali-g78,gles30").help == "for this GPU: --device mali-valhall"


@pytest.mark.parametrize(
    ("given", "meant"),
    [("webgl", "webgl2-min"), ("nvidea", "nvidia"), ("WebGPU-", "webgpu-f16"), ("zzz", "")],
)
def test_the_only_profile_that_begins_with_a_name_or_the_most_similar_one_is_suggested(
    given, meant
):
    expected = f"did you mean '{meant}'?" if meant else ""
    assert refusal(parse_devices, f"{given},gles30").help == expected


def test_a_profile_of_a_file_is_for_its_own_renderer(tmp_path):
    mine = profile(tmp_path / "my gpu.json", "Mesa Intel(R) UHD Graphics 620 (KBL GT2)")
    generic, variants = parse_devices(f"{mine},gles30")
    assert (generic, variants) == ("gles30", (str(mine),))
    options = make_options(device=f"{mine},gles30")
    [(name, alone)] = variants_of(options).items()
    assert name == "my_gpu"
    found = variant_for(alone, name, None)
    assert found.renderers == ("mesa intel uhd graphics 620 kbl gt2*",)
    nameless = profile(tmp_path / "nameless.json", "(R)")
    assert parse_devices(f"nvidia,{nameless}") == (str(nameless), ("nvidia",))
    (tmp_path / "sub").mkdir()
    twin = profile(tmp_path / "sub" / "My GPU.json", "other")
    assert "two profiles are called 'my_gpu'" in refusal(parse_devices, f"{mine},{twin},gles30").why


def test_measured_times_are_of_one_device(tmp_path):
    refused = refusal(variants_of, Options(variants=("nvidia",), tuning=tmp_path / "t.json"))
    assert refused.what.endswith("is not supported with several devices")


def test_each_variant_is_dumped_to_a_folder_of_its_own(tmp_path):
    options = make_options(
        device="nvidia,gles30", input_size=(8, 8), dump_ir=tmp_path / "ir", validate=False
    )
    compile_model(ESPCN, tmp_path / "b", options)
    own, generic = (sorted(p.name for p in folder.glob("*.ir")) for folder in
                    (tmp_path / "ir" / "nvidia", tmp_path / "ir"))  # fmt: skip
    assert own == generic != []


def test_an_error_of_a_variant_names_its_device(tmp_path):
    options = make_options(
        device="apple,llvmpipe,gles32-desktop", input_size=(8, 8), stage="compute", glsl=310
    )
    refused = refusal(compile_model, ESPCN, tmp_path / "b", options)
    assert "--device apple" in refused.where
    assert not (tmp_path / "b").exists()


def test_notes_of_a_variant_name_it(tmp_path):
    options = make_options(device="apple,gles32-desktop", input_size=(8, 5000), validate=False)
    notes = compile_model(ESPCN, tmp_path / "b", options).notes
    assert notes[0].startswith("apple: input low is row-packed")
    assert all(note.startswith("apple: ") for note in notes)


def test_variants_that_no_browser_takes_are_noted(tmp_path):
    options = make_options(device="nvidia,apple,webgl2-min", input_size=(8, 8), validate=False)
    [note] = [n for n in compile_model(ESPCN, tmp_path / "b", options).notes if "browser" in n]
    assert note.startswith("browsers cannot run variants in GLSL ES 310 or later: nvidia;")
    options = make_options(device="nvidia,webgl2-min", input_size=(8, 8), glsl=300, validate=False)
    assert not compile_model(ESPCN, tmp_path / "b", options).notes


def test_all_builds_have_the_same_inputs_and_outputs(tmp_path):
    device = "mali-valhall,apple,llvmpipe,gles30"
    options = make_options(device=device, input_size=(8, 12), precision="auto", validate=False)
    compile_model(ESPCN, tmp_path / "b", options)
    ports = []
    for path in ("schedule.json", *(f"variants/{n}.json" for n in device.split(",")[:-1])):
        schedule = json.loads((tmp_path / "b" / path).read_text())
        both = schedule["inputs"] + schedule["outputs"]
        ports.append([{k: v for k, v in port.items() if k != "texture"} for port in both])
    assert all(found == ports[0] for found in ports)


def test_one_device_gives_a_build_without_variants(tmp_path):
    compile_model(ESPCN, tmp_path / "b", make_options(input_size=(8, 8), validate=False))
    schedule = json.loads((tmp_path / "b" / "schedule.json").read_text())
    assert "variants" not in schedule
    assert not (tmp_path / "b" / "variants").exists()
