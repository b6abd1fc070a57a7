"""The builds that every runtime must play, in Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import gl_context
from support.runtime_builds import DYNAMIC, MODELS, SPECIAL, TARGETS, RuntimeBuild, runtime_builds

from shadergen.runtime_glue.python import Runner, load
from shadergen.runtime_glue.python.schedule import RenderPass

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gl


def test_there_are_builds_of_every_kind():
    builds = runtime_builds()
    of_both = (len(MODELS) + len(DYNAMIC)) * len(TARGETS)
    assert len(builds) == len({b.name for b in builds}) == of_both + len(SPECIAL)
    assert sum(b.compute for b in builds) >= 15
    assert sum(not b.compute for b in builds) >= 30


@pytest.mark.parametrize("case", runtime_builds(), ids=lambda case: case.name)
def test_a_build_does_what_onnx_runtime_does(case: RuntimeBuild, tmp_path: Path):
    arrays = case.write(tmp_path / "case")
    build = load(tmp_path / "case" / "build")
    assert case.compute or all(isinstance(p, RenderPass) for p in build.passes)
    with Runner(build, gl_context()) as runner:
        if case.dynamic:
            sizes = json.loads((tmp_path / "case" / "case.json").read_text("utf-8"))["sizes"]
            assert build.sizes is not None and sizes != dict(build.sizes.values)
            runner.resize(**sizes)
        for name, array in arrays["inputs"].items():
            runner.upload(name, array)
        runner.run()
        runner.check()
        for name, expected in arrays["outputs"].items():
            found = runner.read(name)
            assert found.shape == expected.shape
            bound = case.tolerance * max(1.0, float(np.abs(expected).max()))
            assert float(np.abs(found - expected).max()) <= bound
