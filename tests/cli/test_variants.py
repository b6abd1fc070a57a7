"""Commands on builds with variants for several devices."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from support import ESPCN
from support.cli_models import SIZE

import shadergen as package
from shadergen.backends import validate
from shadergen.runtime_glue.python import HeadlessContext

DEVICES = ("--device", "mali-valhall,llvmpipe,gles30")


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variants") / "build"
    device = "mali-valhall,llvmpipe,gles30"
    package.compile_model(ESPCN, folder, device=device, input_size=(16, 24), validate=False)
    return folder


def test_compile_says_what_it_made_of_each_device(shadergen, tmp_path):
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, *DEVICES)
    assert (ran.code, ran.err) == (0, "")
    assert "variant mali-valhall: 3 GPU passes, 1.26 M multiply-adds" in ran.out
    assert "variant llvmpipe: " in ran.out
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, *DEVICES, "--json")
    assert ran.json["variants"] == ["mali-valhall", "llvmpipe"]
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, *DEVICES, "--explain")
    assert "variant mali-valhall:\n" in ran.out


def test_compile_says_once_that_wgsl_was_not_checked(shadergen, tmp_path, monkeypatch):
    def without_wgpu(name):
        raise ImportError(name)

    monkeypatch.setattr(validate, "import_module", without_wgpu)
    devices = ("--device", "gles30,webgpu")
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, *devices)
    assert ran.out.count("WGSL was not checked here: pip install wgpu to check it") == 1
    assert "not validated" not in ran.out


def test_inspect_lists_variants_and_shows_one(shadergen, build):
    assert "variants: mali-valhall, llvmpipe; --variant NAME shows one" in (
        shadergen("inspect", build).out
    )
    found = shadergen("inspect", build, "--variant", "mali-valhall", "--json").json
    assert (found["glsl"], found["variants"]) == (310, [])
    assert shadergen("inspect", build, "--json").json["glsl"] == 300
    assert "this is the generic build; variants: " in shadergen("inspect", build).out
    own = shadergen("inspect", build, "--device", "mali-valhall")
    assert "this is variant mali-valhall; variants: mali-valhall, llvmpipe" in own.out
    other = shadergen("inspect", build, "--device", "adreno-6xx", "--json").json
    assert (other["glsl"], other["variant"]) == (300, "")
    ran = shadergen("inspect", build, "--variant", "mali")
    assert ran.code == 2
    assert "error[SG0605]: the build has no variant 'mali'" in ran.err


@pytest.mark.gl
def test_run_takes_the_variant_for_the_installed_gl(shadergen, build, tmp_path):
    with HeadlessContext() as context:
        if "llvmpipe" not in context.info().renderer:
            pytest.skip("the installed GL is not llvmpipe")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((1, 16, 24, 1), np.float32))
    found = {}
    for name, flags in (("llvmpipe", ()), ("mali-valhall", ("--variant", "mali-valhall"))):
        file = tmp_path / f"{name}.npy"
        ran = shadergen("run", build, tmp_path / "x.npy", "-o", file, "--json", *flags)
        assert ran.json["variant"] == name
        found[name] = np.load(file)
    np.testing.assert_allclose(found["llvmpipe"], found["mali-valhall"], atol=1e-4)


@pytest.mark.gl
def test_bench_measures_the_variant_for_the_installed_gl(shadergen, build, tmp_path):
    quick = ("--frames", "2", "--warm-up", "0", "--no-transfer", "--json", "-")
    [found] = shadergen("bench", build, *quick).json["builds"]
    assert found["name"] == f"{build} (llvmpipe)"


@pytest.mark.gl
def test_verify_checks_every_variant(shadergen):
    ran = shadergen("verify", ESPCN, *SIZE, *DEVICES, "--reference", "numpy", "--json")
    assert ran.code == 0
    assert [o["variant"] for o in ran.json["outputs"]] == ["", "mali-valhall", "llvmpipe"]
    ran = shadergen("verify", ESPCN, *SIZE, *DEVICES, "--reference", "numpy")
    assert "subpixel (mali-valhall)" in ran.out


@pytest.mark.gl
def test_verify_finds_a_wrong_variant(shadergen, monkeypatch):
    from shadergen.compiler import verification

    run = verification.run_build

    def wrong(folder, inputs, variant=None, *where):
        outputs, renderer = run(folder, inputs, variant, *where)
        return {n: a + (variant == "llvmpipe") for n, a in outputs.items()}, renderer

    monkeypatch.setattr(verification, "run_build", wrong)
    ran = shadergen("verify", ESPCN, *SIZE, *DEVICES, "--reference", "numpy", "--json")
    assert ran.code == 1
    assert [o["ok"] for o in ran.json["outputs"]] == [True, True, False]


def test_tune_refuses_several_devices(shadergen, tmp_path):
    ran = shadergen("tune", ESPCN, *SIZE, *DEVICES, "--tuning", tmp_path / "t.json")
    assert ran.code == 2
    assert "tune measures for one device, not for 3" in ran.err


def test_a_site_holds_the_files_of_the_variants(shadergen, build, tmp_path):
    ran = shadergen("serve", build, "-o", tmp_path / "site")
    assert ran.code == 0
    served = {p.relative_to(tmp_path / "site/builds/0") for p in
              (tmp_path / "site/builds/0").rglob("*")}  # fmt: skip
    assert served == {p.relative_to(build) for p in build.rglob("*")}


def test_a_variant_edited_by_hand_is_checked_by_inspect(shadergen, build, tmp_path):
    folder = shutil.copytree(build, tmp_path / "b")
    path = folder / "variants" / "llvmpipe.json"
    schedule = json.loads(path.read_text())
    schedule["passes"][0]["macs"] = -1
    path.write_text(json.dumps(schedule))
    assert shadergen("inspect", folder).code == 0
    ran = shadergen("inspect", folder, "--variant", "llvmpipe")
    assert ran.code == 2
    assert "variants/llvmpipe.json: passes[0].macs" in ran.err
