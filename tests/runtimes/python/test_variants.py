"""Which variant of a build the Python runtime loads for a device."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from schedules.variants import PICKED, SPOILED_PICKED
from support import refusal
from support.renderers import STRINGS
from support.schedule_fixtures import DYNAMIC, FIXTURES, VARIANTS, device
from support.schedule_fixtures import refusal as refusal_of

from shadergen.backends.devices.families import FAMILIES
from shadergen.runtime_glue.python import HeadlessContext, Runner, load, query_device, resized
from shadergen.runtime_glue.python.renderers import matches, words

FACTORS = {"": 4.0, "mali": 9.0, "software": 0.25}


@pytest.mark.parametrize("renderer", PICKED)
def test_the_variant_for_a_renderer_is_loaded(renderer):
    assert load(VARIANTS, device=device(renderer)).variant == PICKED[renderer]


def test_without_a_device_the_generic_build_is_loaded():
    build = load(VARIANTS)
    assert build.variant == ""
    assert build.weights == load(VARIANTS, device=device("nobody's")).weights


def test_a_variant_is_loaded_by_its_name_for_any_device():
    assert load(VARIANTS, variant="beyond").requires.limits["texture_units"] == 200
    refused = refusal(partial(load, variant="malo"), VARIANTS)
    assert (refused.code, refused.what) == ("SG0605", "the build has no variant 'malo'")
    assert (refused.supported, refused.help) == (
        "beyond, mali, software",
        "did you mean 'mali'?",
    )
    refused = refusal(partial(load, variant="mali"), DYNAMIC)
    assert refused.supported == "none: it was compiled for one device"


def test_the_first_variant_whose_requirements_are_met_is_taken():
    assert load(VARIANTS, device=device("Mali-G78", 200)).variant == "beyond"
    assert load(VARIANTS, device=device("Mali-G78", 199)).variant == "mali"
    assert load(VARIANTS, device=device("Mali-G78", 0)).variant == ""


@pytest.mark.parametrize("name", SPOILED_PICKED)
def test_a_malformed_variant_is_refused_when_it_is_picked(name):
    folder = FIXTURES / "malformed_variants" / name
    refused = refusal_of(folder, renderer="Mali-G78")
    assert refused is not None
    assert refused.code == SPOILED_PICKED[name][0]
    assert refused.where[0] == str(folder)
    assert load(folder, device=device("llvmpipe")).variant == "software"


def test_a_fault_is_said_to_be_in_the_file_of_the_variant():
    folder = FIXTURES / "malformed_variants"
    refused = refusal_of(folder / "variant_breaking_a_rule", renderer="Mali-G78")
    assert refused is not None
    assert refused.where[1] == "variants/mali.json: passes[1].writes[0]"
    refused = refusal_of(folder / "variant_as_weights", renderer="Mali-G78")
    assert refused is not None
    assert refused.where[1].startswith("weights.bin")


def test_a_link_to_outside_the_folder_is_no_variant(tmp_path):
    folder = Path(shutil.copytree(VARIANTS, tmp_path / "build"))
    shutil.move(folder / "variants" / "mali.json", tmp_path / "mali.json")
    (folder / "variants" / "mali.json").symlink_to(tmp_path / "mali.json")
    refused = refusal_of(folder, renderer="Mali-G78")
    assert refused is not None
    assert refused.code == "SG0503"
    assert "outside the build's folder" in refused.what


def dynamic_with_variant(folder: Path) -> Path:
    """Write the build of dynamic sizes with a variant of smaller ones."""
    shutil.copytree(DYNAMIC, folder)
    schedule = json.loads((folder / "schedule.json").read_text())
    variant = json.loads((folder / "schedule.json").read_text())
    variant["sizes"]["parameters"][0]["max"] = 8
    (folder / "small.json").write_text(json.dumps(variant))
    entry = {"name": "small", "schedule": "small.json", "renderers": ["mali*"], "others": []}
    (folder / "schedule.json").write_text(json.dumps(schedule | {"variants": [entry]}))
    return folder


def test_a_variant_that_cannot_have_the_sizes_is_passed_over(tmp_path):
    folder = dynamic_with_variant(tmp_path / "build")
    mali = device("Mali-G78", 1 << 20, (3, 2))
    build = load(folder, {"height": 4}, mali)
    assert build.variant == "small"
    assert resized(build, {"height": 6}).variant == "small"
    assert load(folder, {"height": 16}, mali).variant == ""


@pytest.mark.gl
@pytest.mark.parametrize("variant", [None, "mali"])
def test_the_files_of_the_variant_are_what_runs(variant):
    x = np.linspace(-1, 1, 60, dtype=np.float32).reshape(1, 4, 3, 5)
    with HeadlessContext() as context:
        build = load(VARIANTS, device=context.info(), variant=variant)
        with Runner(build, context) as runner:
            runner.upload("x", x)
            runner.run()
            np.testing.assert_allclose(runner.read("y"), FACTORS[build.variant] * x, rtol=1e-6)
    assert build.variant == (variant or "software")


@pytest.mark.gl
def test_an_application_describes_its_own_context():
    with HeadlessContext() as context:
        assert query_device() == context.info()


# patterns


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("mali g7?", "Mali-G78", True),
        ("mali g7?", "Mali-G78AE", False),
        ("mali g7?*", "Mali-G78AE", True),
        ("mali g7", "Mali-G78", False),
        ("g78", "Mali-G78", True),
        ("i g78", "Mali-G78", False),
        ("intel* xe", "Intel(R) Iris(R) Xe Graphics", True),
        ("intel* xe", "Intel Xe", True),
        ("intel* xe", "Xe Intel", False),
        ("a*b*c", "a c b", False),
        ("a*b*c", "a b x c", True),
        ("a?", "a b", False),
        ("*", "", True),
        (" ", "a", False),
        ("rtm", "(R)(TM)", False),
        ("r", "R", False),
        ("*a*a*a*a*a*a*a*a*a*a*a*a*b", "a" * 200, False),
    ],
)
def test_a_pattern_matches_whole_words_in_order(pattern, name, found):
    assert matches([pattern], name) == found


def test_a_pattern_of_an_unchecked_schedule_is_no_regular_expression():
    assert not matches(["(", "mali.g72", "([a-z0-9 ]+)+!"], "Mali-G72 of a very long name" * 9)


def test_names_are_read_as_words_without_marks():
    name = "ANGLE (Qualcomm, Adreno (TM) 640, OpenGL ES 3.2)"
    assert words(name) == "angle qualcomm adreno 640 opengl es 3 2"


def test_the_patterns_of_families_are_those_that_schedules_take():
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789?* ")
    for family in FAMILIES.values():
        for pattern in (*family.renderers, *family.others):
            assert pattern and set(pattern) <= allowed and len(pattern) <= 256
    assert STRINGS.keys() - {""} == FAMILIES.keys()
