"""``shadergen doctor``: what is found, and the profile it saves."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from support import ESPCN, assert_runs_like_reference, conv, graph_of, image
from support.cli_models import SIZE
from support.webgpu import context as webgpu_context

from shadergen.backends.devices import DEVICES, device, family_of
from shadergen.compiler import extras, probing
from shadergen.compiler.device_list import parse_devices
from shadergen.compiler.doctor import examine, save_profile
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.passes.placement.target import Fetch, Limits


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    """Return a profile of the GL at hand."""
    path = tmp_path_factory.mktemp("doctor") / "here.json"
    save_profile(examine(), path)
    return path


@pytest.mark.gl
def test_a_saved_profile_says_what_the_gl_offers(profile):
    with extras.runtime().HeadlessContext() as context:
        info = context.info()
    found = device(str(profile))
    assert asdict(found.limits) == info.limits
    assert found.glsl == (310 if info.es >= (3, 1) else 300)
    assert found.fetch in get_args(Fetch)


@pytest.mark.parametrize("filters", ["", " ..C libplacebo        N->V       Apply"])
def test_players_are_found(tmp_path, monkeypatch, filters):
    says = f"case $1 in -version) echo ffmpeg version 7.1 by;; *) echo '{filters}';; esac"
    for name, text in (("mpv", "echo mpv 0.40.0 Copyright"), ("ffmpeg", says)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    has = "with" if filters else "without"
    expected = {"mpv": "0.40.0", "ffmpeg": f"7.1, {has} the libplacebo filter"}
    assert examine("webgpu").players == expected
    for broken in ("echo error; exit 1", "printf '\\377'; exit 127"):
        (tmp_path / "mpv").write_text(f"#!/bin/sh\n{broken}\n")
        assert examine("webgpu").players["mpv"] == "installed, but does not run"
    (tmp_path / "mpv").write_text("#!/bin/sh\nprintf 'mpv 0.40 \\377'\n")
    assert examine("webgpu").players["mpv"] == "0.40"
    monkeypatch.setenv("PATH", "")
    assert set(examine("webgpu").players.values()) == {"not installed"}


@pytest.mark.gl
def test_builds_for_a_saved_profile_run(profile):
    x = image(1, 5, 6, 7)
    y = conv(np.random.default_rng(0), x, 9, (3, 3), pads=(1, 1, 1, 1))
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), device=str(profile))
    assert files.schedule["requires"]["glsl"] == device(str(profile)).glsl


@pytest.mark.gl
@pytest.mark.parametrize("wrong", ["", "image-zero"])
@pytest.mark.parametrize("quicker", ["texel", "sample", "image", "image-zero"])
def test_the_quickest_right_way_to_read_is_taken(monkeypatch, quicker, wrong):
    class Runner:
        def __init__(self, build):
            way = build.folder.name
            self.seconds = {quicker: 1.0}.get(way, 3.0 if way == "texel" else 2.0)
            self.result = np.full(1, 2.0 if way == wrong else 1.0)

        upload = run = init = close = lambda self, *_: None

        def read(self, name):
            return self.result

    monkeypatch.setattr(probing, "_frame", lambda runner: runner.seconds)
    context = SimpleNamespace(runner=Runner)
    device, glsl = ("gles30", 300) if quicker == "sample" else ("gles32-desktop", 310)
    want = "image" if quicker == wrong else quicker
    assert probing.faster_fetch(context, DEVICES[device].limits, glsl) == want


@pytest.mark.parametrize("name", ["gles30", "gles31-min", "gles32-desktop", "llvmpipe"])
def test_a_target_is_written_as_its_device_wants(name):
    target = Options(device=name).target()
    assert (target.glsl, target.fetch) == (DEVICES[name].glsl, DEVICES[name].fetch)


def test_options_win_over_the_device():
    target = Options(device="llvmpipe", glsl=300).target()
    assert (target.glsl, target.fetch) == (300, "sample")
    assert Options(device="gles32-desktop", fetch="image").target().fetch == "image"
    with pytest.raises(ShadergenError, match="--fetch image"):
        Options(device="gles30", fetch="image").target()


@pytest.mark.parametrize(
    "change",
    [{"glsl": 200}, {"glsl": None}, {"fetch": "sampler"}, {"limits": {}}, {"limits": 1}],
)
def test_a_file_that_is_no_profile_is_refused(tmp_path, change):
    limits = asdict(DEVICES["gles31-min"].limits)
    good = {"glsl": 310, "fetch": "texel", "limits": limits}
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(good))
    assert device(str(path)).limits == Limits(**limits)
    path.write_text(json.dumps(good | change))
    with pytest.raises(ShadergenError, match="SG0301"):
        device(str(path))


def test_an_impossible_limit_of_a_profile_is_named(tmp_path):
    limits = asdict(DEVICES["gles31-min"].limits) | {"draw_buffers": 0, "uniform_blocks": -1}
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"glsl": 310, "fetch": "texel", "limits": limits}))
    with pytest.raises(ShadergenError, match="why: draw_buffers is 0, uniform_blocks is -1"):
        device(str(path))


# --- WebGPU ---------------------------------------------------------------------------------------


def test_adapters_of_webgpu_are_examined():
    info = webgpu_context().info()
    found = examine("webgpu")
    assert (found.renderer, found.problem, found.webgpu_problem) == ("", "", "")
    adapter = next(
        a for a in found.adapters if (a.name, a.backend) == (info.renderer, info.backend)
    )
    assert adapter.limits == info.limits
    assert adapter.profiles["webgpu"] == ()
    assert ("shader-f16" in adapter.features) == (adapter.profiles["webgpu-f16"] == ())
    rows = dict(adapter.rows())
    assert (rows["--device webgpu"], rows["backend"]) == ("yes", info.backend)


def test_what_a_profile_needs_and_the_adapter_lacks_is_named(monkeypatch, shadergen):
    info = webgpu_context().info()
    limits = {**info.limits, "texture_units": 7}
    poor = type(info)(info.vendor, "Poor", "OpenGL", frozenset(), limits)
    webgpu = extras.runtime("webgpu")
    monkeypatch.setattr(webgpu, "list_adapters", lambda: [poor, info])
    (one, other) = examine("webgpu").adapters
    assert (one.features, other.profiles["webgpu"]) == ((), ())
    drawing = "drawing to 32-bit float textures (this is WebGPU on OpenGL)"
    units = "texture units >= 16 (max-sampled-textures-per-shader-stage is 7)"
    assert one.profiles["webgpu"] == (drawing, units)
    half = "the feature shader-f16, to compute with 16-bit floats"
    assert one.profiles["webgpu-f16"] == (half, drawing, units)
    rows = dict(one.rows())
    assert rows["--device webgpu"] == f"no: lacks {drawing}; {units}"
    assert rows["timestamp-query"] == "no: bench and tune measure GPU passes with the CPU's clock"
    printed = shadergen("doctor", "--runtime", "webgpu").out
    assert all(word in printed for word in ("Poor", info.renderer, "timestamp-query"))
    assert "OpenGL ES" not in printed
    printed = shadergen("doctor", "--runtime", "webgpu", "--adapter", "poor", "--json").json
    assert [a["name"] for a in printed["adapters"]] == ["Poor"]


def test_an_adapter_of_another_name_is_told(monkeypatch):
    webgpu_context()
    assert examine("webgpu", "nothing like it").webgpu_problem.startswith(
        "no adapter is called 'nothing like it'; there are: "
    )


def test_what_is_missing_is_told_line_by_line(shadergen, monkeypatch):
    for name in ("OpenGL", "wgpu"):
        monkeypatch.setitem(sys.modules, name, None)
    ran = shadergen("doctor")
    assert ran.code == 0
    assert "\\n" not in ran.out
    lines = [line.strip() for line in ran.out.splitlines()]
    for extra in ("run", "webgpu"):
        install = f"= help: pip install '.[{extra}]' in a clone"
        assert any(line.startswith(install) for line in lines)
    ran = shadergen("doctor", "--save", "x.json")
    assert ran.code == 2
    assert (
        "error[SG0601]: there is no OpenGL ES and no WebGPU to write a device profile of" in ran.err
    )


@pytest.fixture(scope="module")
def webgpu_profile(tmp_path_factory):
    """Return a profile of the WebGPU adapter at hand."""
    webgpu_context()
    path = tmp_path_factory.mktemp("doctor") / "adapter.json"
    save_profile(examine("webgpu"), path)
    return path


def test_a_saved_profile_says_what_the_adapter_offers(webgpu_profile):
    info = webgpu_context().info()
    found = device(str(webgpu_profile))
    assert asdict(found.limits) == {**info.limits, "fragment_images": 0}
    assert found.wgsl == ("f16" if "shader-f16" in info.features else "core")
    assert found.fetch in ("texel", "sample")
    assert (found.renderer, found.renderers) == (info.renderer, ())
    assert family_of(str(webgpu_profile)) == ""


def test_builds_for_a_saved_profile_of_webgpu_are_verified_and_tuned(
    shadergen, webgpu_profile, tmp_path
):
    flags = (*SIZE, "--device", webgpu_profile)
    ran = shadergen("verify", ESPCN, *flags, "--reference", "numpy", "--json")
    assert (ran.code, ran.json["runtimes"]) == (0, ["WebGPU"])
    tuning = ("--tuning", tmp_path / "t.json")
    ran = shadergen("tune", ESPCN, *flags, *tuning, "--frames", 1, "--warm-up", 0, "--seconds", 0)
    assert (ran.code, ran.err) == (0, "")


def test_a_saved_profile_of_webgpu_is_a_variant_for_webgpu_alone(webgpu_profile):
    assert parse_devices(f"gles30,{webgpu_profile}") == ("gles30", (str(webgpu_profile),))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"wgsl": "f64"}, "wgsl is 'f64', must be one of core, f16$"),
        ({"wgsl": 1}, "wgsl is 1, must be one of core, f16$"),
        ({"fetch": "image"}, "fetch is 'image', must be one of texel, sample$"),
    ],
)
def test_a_file_that_is_no_profile_of_webgpu_is_refused(tmp_path, change, says):
    good = {"wgsl": "core", "fetch": "texel", "limits": asdict(DEVICES["webgpu"].limits)}
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(good))
    assert device(str(path)).wgsl == "core"
    path.write_text(json.dumps(good | change))
    with pytest.raises(ShadergenError) as caught:
        device(str(path))
    assert re.search(says, caught.value.why)


@pytest.mark.gl
def test_save_takes_opengl_es_before_webgpu(tmp_path, shadergen):
    webgpu_context()
    path = tmp_path / "mine.json"
    assert shadergen("doctor", "--save", path).code == 0
    assert device(str(path)).wgsl is None
    assert shadergen("doctor", "--save", path, "--runtime", "webgpu").code == 0
    assert device(str(path)).wgsl is not None
