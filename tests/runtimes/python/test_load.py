"""Loading a build: what is accepted, and what is refused before any GL call."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from jsonschema import Draft202012Validator
from support.schedule_fixtures import (
    EXPECTED,
    FIXTURES,
    GOOD,
    change,
    damaged,
    mutated,
    refused,
)

from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import document, gl, load
from shadergen.runtime_glue.python.schedule import ComputePass


@pytest.fixture
def no_gl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any look for a GL function fail."""

    def refuse(*_: Any) -> None:
        raise AssertionError("GL was called")

    monkeypatch.setattr(gl.Library, "__getattr__", refuse)
    for name in [m for m in sys.modules if m == "OpenGL" or m.startswith("OpenGL.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "OpenGL", None)


@pytest.fixture
def build_folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOOD, tmp_path / "build"))


def test_a_good_build_is_loaded_whole(no_gl: None) -> None:
    build = load(GOOD)
    names = ["double", "bias", "mix", "halve", "invert", "add", "sign"]
    assert [p.name for p in build.passes] == names
    assert [type(p) is ComputePass for p in build.passes] == [name == "add" for name in names]
    assert build.requires.limits["texture_units"] == 3
    assert build.textures["biased"].objects == 2
    assert build.textures["mixed"].objects == 1
    assert build.passes[2].reads[1].layer == 1
    add = build.passes[5]
    assert isinstance(add, ComputePass)
    assert (add.image, add.workgroup, add.groups) == (0, (4, 2, 1), (2, 2, 2))
    assert [(r.uniform, r.image, r.texture) for r in add.images] == [("", 1, "mixed")]
    assert [(r.uniform, r.texture) for r in add.samplers] == [("u_x", "x")]
    assert [p.barriers for p in build.passes[4:]] == [(), ("image",), ("texture",)]
    assert build.shaders["shaders/mix.frag"].startswith("#version 310 es\n")
    constant = build.textures["constant"].data
    assert constant
    assert build.bytes_of(constant) == build.weights[64:96]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_malformed_build_is_refused_with_its_code_before_any_gl_call(
    name: str, no_gl: None
) -> None:
    error = refused(FIXTURES / "malformed" / name)
    assert error.code == EXPECTED[name], error
    assert str(FIXTURES / "malformed" / name) in error.where[0]
    assert len(error.what) < 300


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("compute_in_glsl_300", "images and barriers need glsl 310"),
        ("image_in_glsl_300", "images and barriers need glsl 310"),
        ("barrier_in_glsl_300", "images and barriers need glsl 310"),
        ("compute_without_groups", "'groups' is a required property"),
        ("compute_without_workgroup", "'workgroup' is a required property"),
        ("compute_without_image", "'image' is a required property"),
        ("read_with_both_places", "give exactly one of uniform, image"),
        ("read_without_place", "give exactly one of uniform, image"),
        ("layers_beyond_array", "'middle' is not an array texture with a layer 2"),
        ("layers_of_2d", "'middle' is not an array texture with a layer 0"),
        ("layers_without_count", "[1] is too short"),
        ("unknown_barrier", "'buffer' is not one of"),
        ("barrier_twice", "has non-unique elements"),
        ("input_as_image", "the input 'x' cannot be read as an image"),
        ("image_unit_twice", "an image unit is given twice"),
        ("format_without_images", "'middle': format rg32f cannot be bound as an image"),
        ("stores_to_two_textures", "a compute pass writes only one texture"),
        (
            "stores_to_two_2d_textures",
            "'middle' is a 2D texture: several writes of a compute pass need an array",
        ),
        ("stores_to_unknown_texture", "there is no texture 'nowhere'"),
        ("fragment_images_understated", "the stated limit is 0, the passes use 1"),
        ("compute_images_understated", "the stated limit is 0, the passes use 1"),
        ("compute_texture_units_understated", "the stated limit is 0, the passes use 1"),
        ("compute_uniform_blocks_understated", "the stated limit is 0, the passes use 1"),
        ("workgroup_invocations_understated", "the stated limit is 14, the passes use 15"),
        ("workgroup_count_understated", "the stated limit is 1, the passes use 2"),
    ],
)
def test_a_fault_of_stages_images_and_barriers_is_named(name: str, says: str) -> None:
    assert says in refused(FIXTURES / "malformed" / name).what


@pytest.mark.parametrize(
    "name",
    [
        "compute_with_vertex",
        "compute_with_viewport",
        "fragment_with_groups",
        "fragment_with_image",
    ],
)
def test_a_member_of_the_other_stage_is_named(name: str) -> None:
    member = name.rpartition("_")[2]
    error = refused(FIXTURES / "malformed" / name)
    assert error.what == "this member does not belong here"
    assert error.where[-1] == f"schedule.json: passes[0].{member}"


def test_every_malformed_fixture_has_an_expected_code() -> None:
    folders = {p.name for p in (FIXTURES / "malformed").iterdir() if p.is_dir()}
    assert folders == set(EXPECTED)


def test_a_folder_that_is_not_there_is_no_build(tmp_path: Path) -> None:
    error = refused(tmp_path / "absent")
    assert (error.code, error.what) == ("SG0502", f"'{tmp_path / 'absent'}' does not exist")


def test_a_file_instead_of_a_folder_is_no_build(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    assert refused(tmp_path / "model.onnx").code == "SG0502"


def test_a_link_to_outside_the_folder_is_refused(build_folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.frag"
    shutil.move(build_folder / "shaders" / "mix.frag", outside)
    (build_folder / "shaders" / "mix.frag").symlink_to(outside)
    error = refused(build_folder)
    assert error.code == "SG0503"
    assert "outside the build's folder" in error.what


def test_a_link_to_itself_is_a_missing_file(build_folder: Path) -> None:
    shader = build_folder / "shaders" / "mix.frag"
    shader.unlink()
    shader.symlink_to("mix.frag")
    assert refused(build_folder).code == "SG0505"


def test_a_link_within_the_folder_is_followed(build_folder: Path, tmp_path: Path) -> None:
    shader = build_folder / "shaders" / "mix.frag"
    shader.rename(build_folder / "mix.frag")
    shader.symlink_to(build_folder / "mix.frag")
    (tmp_path / "linked").symlink_to(build_folder)
    assert load(tmp_path / "linked").passes


@pytest.mark.parametrize(("keep", "word"), [(50, "truncated"), (0, "truncated"), (97, "too long")])
def test_weights_of_another_size_are_refused(build_folder: Path, keep: int, word: str) -> None:
    weights = build_folder / "weights.bin"
    weights.write_bytes((weights.read_bytes() + b"\0" * 8)[:keep])
    error = refused(build_folder)
    assert error.code == "SG0505"
    assert word in error.what


def test_a_single_altered_byte_of_the_weights_is_noticed(build_folder: Path) -> None:
    weights = bytearray((build_folder / "weights.bin").read_bytes())
    weights[40] ^= 1
    (build_folder / "weights.bin").write_bytes(weights)
    error = refused(build_folder)
    assert (error.code, error.what) == ("SG0505", "the weights file has been altered")


def test_a_shader_that_is_not_text_is_refused(build_folder: Path) -> None:
    (build_folder / "shaders" / "mix.frag").write_bytes(b"#version 310 es\n\xff")
    assert refused(build_folder).code == "SG0505"


def test_a_newer_minor_version_may_add_members(build_folder: Path) -> None:
    change(build_folder, "version", to="5.8")
    change(build_folder, "passes", 0, "hint", to={"tile": 8})
    assert load(build_folder).version == "5.8"


def test_a_newer_major_version_is_refused_with_the_way_on() -> None:
    error = refused(FIXTURES / "malformed" / "newer_major")
    assert error.render().splitlines()[0] == "error[SG0504]: the schedule is of version 6.0"
    assert "update shadergen" in error.help


def test_an_integer_may_be_written_with_a_decimal_point(build_folder: Path) -> None:
    change(build_folder, "textures", 0, "width", to=5.0)
    width = load(build_folder).textures["x"].width
    assert isinstance(width, int)


def test_the_order_of_textures_and_ports_is_kept() -> None:
    build = load(GOOD)
    assert list(build.textures)[:3] == ["x", "img", "doubled"]
    assert [p.name for p in build.outputs] == ["out", "inverted", "sum", "signed"]


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("textures", 5, "format"), "rgba16f", "differ in kind, format or size"),
        (("textures", 5, "slot"), 2, "reads what it writes"),
        (("textures", 2, "last"), 2, "lifetimes overlap"),
        (("textures", 9, "slot"), 3, "differ in kind, format or size"),
        (("textures", 4, "data"), {"offset": 64, "size": 16}, "the texels take 32 bytes"),
        (("textures", 4, "data"), {"offset": 80, "size": 32}, "outside the weights file"),
        (("textures", 4, "data"), None, "layer 0 of 'constant' is read before"),
        (("textures", 4, "slot"), 4, "differ in kind, format or size"),
        (("textures", 1, "slot"), 9, "slot must be null for inputs, a number otherwise"),
        (("outputs", 3, "encoding"), "unorm8", "needs an 8-bit texture"),
        (("outputs", 1, "encoding"), "float", "needs a float texture"),
        (("outputs", 0, "encoding"), "y2rg", "the shape has N, C, H, W ="),
        (("inputs", 1, "name"), "x", "is taken"),
        (("passes", 0, "reads", 0, "layer"), 0, "has no 2D texture for layer 0"),
        (("passes", 2, "reads", 0, "layer"), 2, "has no 2D texture for layer 2"),
        (("passes", 2, "reads", 0, "uniform"), "u_b", "given twice"),
        (("passes", 0, "uniforms", 0, "name"), "u_x", "given twice"),
        (("passes", 0, "uniforms", 1, "value"), [1.5], "is not of type 'integer', 'array'"),
        (("passes", 0, "uniforms", 0, "value"), [1e39, 0, 0, 0], "greater than the maximum"),
        (("passes", 0, "writes", 1, "layer"), 0, "writes a layer twice"),
        (("passes", 1, "writes"), [{"texture": "biased", "layer": 0}], "layer 1 of 'biased' is"),
        (
            ("passes", 3, "writes"),
            [{"texture": "y", "layer": 0}],
            "writes texture layer 1 of the output",
        ),
        (("passes", 5, "image"), 1, "an image unit is given twice"),
        (("passes", 5, "reads", 1, "texture"), "sum", "layer 0 of 'sum' is read before"),
        (("passes", 5, "writes", 1, "layer"), 2, "'sum' has no layer 2"),
        (("textures", 5, "last"), 4, "pass 5 uses 'mixed' outside its lifetime"),
        (("requires", "limits", "compute_images"), 1, "the passes use 2"),
        (("requires", "glsl"), 300, "storage buffers need glsl 310"),
        (("requires", "limits", "storage_blocks"), 0, "the passes use 1"),
    ],
)
def test_parts_that_contradict_each_other_are_refused(
    build_folder: Path, path: tuple[str | int, ...], value: Any, says: str
) -> None:
    change(build_folder, *path, to=value)
    if path == ("textures", 4, "data"):
        change(build_folder, "textures", 4, "slot", to=9)
    error = refused(build_folder)
    assert error.code == "SG0503"
    assert says in error.what


def test_a_dispatch_may_read_other_layers_of_what_it_stores_to_and_a_draw_may_not(
    build_folder: Path,
) -> None:
    change(build_folder, "passes", 5, "writes", to=[{"texture": "mixed", "layer": 1}])
    assert "reads what it writes" in refused(build_folder).what
    change(build_folder, "passes", 5, "reads", 0, "layers", to=[0, 1])
    assert "layer 0 of 'sum' is read before" in refused(build_folder).what  # the next pass is wrong
    change(build_folder, "passes", 3, "writes", to=[{"texture": "mixed", "layer": 1}])
    change(build_folder, "passes", 3, "reads", 0, "layers", to=[0, 1])
    assert "reads what it writes: 'mixed'" in refused(build_folder).what


def test_the_schema_is_valid_and_closes_every_object() -> None:
    schema = json.loads(document.SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    open_objects = []

    def walk(part: Any, path: str) -> None:
        if isinstance(part, dict):
            if "object" in str(part.get("type")) and part.get("additionalProperties") is not False:
                open_objects.append(path)
            for key, value in part.items():
                walk(value, f"{path}/{key}")
        elif isinstance(part, list):
            for i, value in enumerate(part):
                walk(value, f"{path}/{i}")

    walk(schema, "")
    assert not open_objects


def test_what_only_equals_a_valid_value_is_refused(build_folder: Path) -> None:
    for i, layer in ((0, 1), (1, 0)):
        change(build_folder, "passes", 0, "writes", i, "layer", to=layer)
    assert load(build_folder).passes
    change(build_folder, "passes", 0, "writes", 1, "layer", to=False)
    change(build_folder, "passes", 0, "writes", 0, "layer", to=0)
    assert refused(build_folder).where[-1] == "schedule.json: passes[0].writes[1].layer"


# fuzzing


@given(content=mutated() | damaged())
@settings(
    max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
def test_any_schedule_is_loaded_or_refused_and_nothing_else(
    fuzzed_folder: Path, content: bytes
) -> None:
    (fuzzed_folder / "schedule.json").write_bytes(content)
    try:
        build = load(fuzzed_folder)
    except ShadergenError as error:
        assert error.code in ("SG0502", "SG0503", "SG0504", "SG0505")
        error.render().encode()
    else:
        assert build.passes


@pytest.mark.parametrize("lenient", [False, True])
@given(content=mutated())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_form_is_refused_where_another_validator_refuses_it(
    lenient: bool, content: bytes
) -> None:
    schema = json.loads(document.SCHEMA.read_text())
    if lenient:
        schema = without_closing(schema)
    schedule = json.loads(content)
    assume("\\ud" not in json.dumps(schedule))  # no half of a character comes so far
    errors = list(Draft202012Validator(schema).iter_errors(schedule))
    if not errors:
        document.validate(schedule, lenient=lenient)
        return
    with pytest.raises(ShadergenError) as refused:
        document.validate(schedule, lenient=lenient)
    least = min(len(e.absolute_path) for e in errors)
    places = [document.place(e.absolute_path) for e in errors if len(e.absolute_path) == least]
    assert refused.value.where[-1] in [f"schedule.json: {p}" for p in places]


def without_closing(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_closing(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: without_closing(v) for k, v in schema.items() if k != "additionalProperties"}
