"""``shadergen doctor``: what is found, and the profile it saves."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import get_args

import numpy as np
import pytest
from support import assert_runs_like_reference, conv, graph_of, image

from shadergen.backends.devices import DEVICES, device
from shadergen.compiler import extras, probing
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
        def __init__(self, build, context):
            way = build.folder.name
            self.seconds = {quicker: 1.0}.get(way, 3.0 if way == "texel" else 2.0)
            self.result = np.full(1, 2.0 if way == wrong else 1.0)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        upload = run = lambda self, *_: None

        def read(self, name):
            return self.result

    monkeypatch.setattr(probing, "_frame", lambda runner: runner.seconds)
    monkeypatch.setattr(extras.runtime(), "Runner", Runner)
    device, glsl = ("gles30", 300) if quicker == "sample" else ("gles32-desktop", 310)
    want = "image" if quicker == wrong else quicker
    assert probing.faster_fetch(extras.runtime(), None, DEVICES[device].limits, glsl) == want


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
