"""Stacked planes in tools: compared layer by layer, viewed, tuned and listed as maps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from support import gl_context
from support.onnx_models import node, normal, typed_model, write
from support.runtime_models import Model

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.compilation import import_model
from shadergen.compiler.debugging.inside import Alone, Inside
from shadergen.compiler.debugging.layers import compare_layers
from shadergen.compiler.driver import compile_model
from shadergen.compiler.inspection import inspection
from shadergen.compiler.options import Options
from shadergen.compiler.pass_table import pass_cells
from shadergen.compiler.report.network import texture_text
from shadergen.compiler.tuning.isolation import MEASURED, build_of, isolate, repeated
from shadergen.compiler.tuning.trials import Settings, measure
from shadergen.compiler.verification import verifying
from shadergen.compiler.view.content import view_build
from shadergen.errors import ShadergenError
from shadergen.passes.pipeline import optimise
from shadergen.passes.rule import Context
from shadergen.records import replace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gl
STACKED = Options(validate=False, device="gles30", textures="stacked")
SHAPE = (1, 10, 7, 5)  # of the map between: no multiple of four channels


def network() -> Model:
    nodes = [
        node("Conv", "x", "w1", outputs=("a",), pads=[1] * 4, name="first"),
        node("MaxPool", "a", outputs=("b",), kernel_shape=[3, 3], pads=[1] * 4, name="pool"),
        node("Conv", "b", "w2", outputs=("y",), pads=[1] * 4, name="last"),
    ]
    weights = {"w1": normal(10, 3, 3, 3) / 4, "w2": normal(4, 10, 3, 3, seed=1) / 8}
    return Model(nodes, weights, {"x": normal(1, 3, 7, 5)})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    model = network()
    proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
    return write(tmp_path, proto)


def test_layers_are_right_in_the_build_and_alone(file: Path) -> None:
    with verifying(file, STACKED, given=network().feeds) as verified:
        found = compare_layers(verified)
        assert found.ok
        assert [t.shape for t in found.tensors] == [SHAPE, SHAPE, (1, 4, 7, 5)]
        inside = Inside(verified, "--layers")
        assert [s.value.type.is_stacked for s in inside.stored] == [True, True, False]
        alone = Alone(inside)
        with inside.context() as context:
            assert all(alone.compared(context, s).ok for s in inside.stored)


def test_view_and_lists_show_maps(file: Path, tmp_path: Path) -> None:
    for textures in ("stacked", "array"):
        compile_model(file, tmp_path / textures, replace(STACKED, textures=textures))
    source = tmp_path / "x.npy"
    np.save(source, network().feeds["x"])
    stacks, arrays = (view_build(tmp_path / name, source).tensors for name in ("stacked", "array"))
    assert [t.shape for t in stacks] == [t.shape for t in arrays]
    assert SHAPE in [t.shape for t in stacks]
    for ours, theirs in zip(stacks, arrays, strict=True):
        np.testing.assert_allclose(ours.ranges, theirs.ranges, atol=1e-5)
    schedule = json.loads((tmp_path / "stacked" / "schedule.json").read_text())
    cells = [pass_cells(p) for p in inspection(schedule, {}).passes]
    assert [c[3:5] for c in cells] == [("7x5", "3 planes stacked")] * 2 + [("7x5", "1 plane")]
    texts = [texture_text(t) for t in schedule["textures"] if "stacked" in t]
    assert texts == ["10x7x5 rgba32f"] * 2


def test_kernels_that_read_and_write_stacks_are_measured(file: Path) -> None:
    target = STACKED.target()
    context = Context(KernelFamilies(target))
    graph = optimise(import_model(file, STACKED), context)
    quick = Settings(frames=1, warm_up=1, node_seconds=1.0)
    for placed in graph.nodes:
        (trial,) = measure(placed, [placed.choice], target, gl_context(), quick, lambda step: None)
        assert trial.wrong == ""
    build = build_of(isolate(graph.nodes[1], graph.nodes[1].choice, target), target)
    own = [MEASURED in p.layers for p in build.passes]
    assert own == [False, False, True, False]  # into a stack, out of it, the pool, out of its own
    thrice = [MEASURED in p.layers for p in repeated(build, 3).passes]
    assert thrice == [False, False, True, True, True, False]


@pytest.mark.parametrize("channels", [37, 10**6])
def test_channels_that_a_texture_cannot_hold_are_refused(
    file: Path, tmp_path: Path, channels: int
) -> None:
    compile_model(file, tmp_path / "build", STACKED)
    path = tmp_path / "build" / "schedule.json"
    schedule = json.loads(path.read_text())
    for texture in schedule["textures"]:
        if "stacked" in texture:
            texture["stacked"] = channels
    del schedule["sha256"]
    path.write_text(json.dumps(schedule))
    with pytest.raises(ShadergenError, match="stacked planes") as refused:
        view_build(tmp_path / "build")
    assert refused.value.code == "SG0503"
