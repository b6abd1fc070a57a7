"""``verify --bisect``: a fault in any kernel family or pass is found, named and avoided."""

from __future__ import annotations

import json
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from support.faults import dropped_product, flipped_sign, inject
from support.kernel_programs import separable, wide
from support.onnx_models import node, normal, typed_model, write
from support.runtime_models import MODELS, Model

from shadergen.backends.gpu import ComputePass, GpuPass
from shadergen.backends.kernels import (
    CONVOLUTION,
    FRAGMENT_BLOCKS,
    LOOP_NEST,
    POINTWISE,
    SEPARABLE_CONVOLUTION,
    WINOGRAD,
)
from shadergen.compiler import compilation
from shadergen.compiler.choices import OPTIONAL_PASSES
from shadergen.compiler.cli.layer_texts import bisection_lines
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.debugging.bisection import Bisection, bisect
from shadergen.compiler.debugging.graph_passes import GraphFault
from shadergen.compiler.debugging.inside import Inside
from shadergen.compiler.debugging.trials import Trial, trials
from shadergen.compiler.options import Options
from shadergen.compiler.verification import verifying
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse
from shadergen.ir.graph import apply
from shadergen.ir.ops import Conv, Pointwise, Pool
from shadergen.ir.reference import as_logical, evaluate_graph
from shadergen.passes import pipeline
from shadergen.passes.allocate_textures import intervals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def small() -> Model:
    """Return a network with a kernel of each common family: convolution, formula, loop nest."""
    return Model(
        [
            node("Conv", "x", "w1", outputs=("a",), pads=[1] * 4, name="first"),
            node("MaxPool", "a", outputs=("b",), kernel_shape=[3, 3], pads=[1] * 4, name="pool"),
            node("Conv", "b", "w2", outputs=("y",), pads=[1] * 4, name="last"),
        ],
        {"w1": normal(8, 3, 3, 3) / 4, "w2": normal(4, 8, 3, 3, seed=1) / 8},
        {"x": normal(1, 3, 12, 10)},
    )


def formula() -> Model:
    return Model(
        [node("Mul", "x", "z", name="product")],
        {},
        {"x": normal(1, 3, 6, 5), "z": normal(1, 3, 6, 5, seed=1)},
    )


def path_of(tmp_path: Path, model: Model) -> Path:
    proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
    return write(tmp_path, proto)


def bisected(tmp_path: Path, model: Model, **options: Any) -> Bisection | None:
    path = path_of(tmp_path, model)
    with verifying(path, Options(validate=False, **options), given=model.feeds) as verified:
        return bisect(verified)


COMPUTE = {"device": "gles32-desktop", "stage": "compute"}
FAMILIES = {
    "convolution": (CONVOLUTION, small, {}, "fragment convolution", "first"),
    "convolution in compute shaders": (CONVOLUTION, small, COMPUTE, "compute convolution", "first"),
    "separable convolution": (
        SEPARABLE_CONVOLUTION,
        separable,
        {**COMPUTE, "fuse_separable": "on"},
        "compute separable convolution",
        "y",
    ),
    "blocks of a draw": (FRAGMENT_BLOCKS, wide, {}, "fragment convolution", "y"),
    "Winograd": (
        WINOGRAD,
        small,
        {"winograd": "4x4"},
        "fragment winograd input transform",
        "first",
    ),
    "formula": (POINTWISE, formula, {}, "fragment pointwise", "product"),
    "loop nest": (LOOP_NEST, small, {}, "fragment loop kernel", "pool"),
}


CURES = {  # options that avoid the family
    "convolution in compute shaders": ("--stage fragment",),
    "separable convolution": ("--fuse-separable off",),
    "Winograd": ("--winograd off",),
}


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("change", [flipped_sign, dropped_product])
@pytest.mark.parametrize("case", FAMILIES)
def test_a_fault_in_a_kernel_family_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, change: Callable[[str], str]
) -> None:
    family, model, options, kernel, layer = FAMILIES[case]
    if change is dropped_product and case in ("formula", "loop nest"):
        pytest.skip("these kernels add up no products")
    if change is flipped_sign and case == "Winograd":
        pytest.skip("the transforms of the result flip it back")
    kind = ComputePass if "compute" in case else GpuPass
    changed = inject(monkeypatch, family, change, lambda gpu_pass: isinstance(gpu_pass, kind))
    found = bisected(tmp_path, model(), **options)
    assert found is not None
    assert found.graph is None
    first = found.kernels[0]
    assert first.kernel.startswith(kernel)
    assert first.layers[-1] == layer
    assert first.pixel.shader in changed
    texts = [cure.text for cure in found.cures]
    assert set(CURES.get(case, ())) <= set(texts)


@pytest.mark.gl
def test_a_fault_in_wgsl_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wgpu")
    inject(monkeypatch, LOOP_NEST)
    found = bisected(tmp_path, small(), device="webgpu")
    (first,) = found.kernels
    assert first.layers[-1] == "pool"
    assert first.pixel.shader.endswith(".wgsl")
    assert first.pixel.line


@pytest.mark.gl
def test_the_options_of_a_variant_are_those_of_its_device(tmp_path: Path) -> None:
    pytest.importorskip("wgpu")
    options = Options(device="webgl2-min", variants=("webgpu",), validate=False)
    model = formula()
    path = path_of(tmp_path, model)
    with verifying(path, options, given=model.feeds, runtime="webgpu") as verified:
        inside = Inside(verified, "--bisect")
        assert inside.options.device == "webgpu"
        assert inside.build.requires.wgsl
        assert inside.options.target().wgsl


def doubling(layer: str, kind: type) -> Callable[[Any, Any], Any]:
    """Return a rule that doubles the result of a layer."""

    def doubled(now: Any, was: Any) -> Any:
        if was.name != layer or not isinstance(was.op, kind):
            return None
        return apply(Pointwise(parse("2*x0")), now.result, layer=was.layers)

    return doubled


def wrong_pass(monkeypatch: pytest.MonkeyPatch, name: str, layer: str) -> None:
    """Let one of the compiler's passes double the result of a layer."""

    def wrong(step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        def run(graph: Any, context: Any) -> Any:
            return step(graph, context).rewrite(doubling(layer, Conv))

        return run

    for half in ("MATHEMATICS", "PLACEMENT"):
        steps = tuple(wrong(s) if s.__name__ == name else s for s in getattr(pipeline, half))
        monkeypatch.setattr(pipeline, half, steps)


@pytest.mark.gl
def test_a_wrong_pass_of_the_compiler_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shadergen: Any
) -> None:
    wrong_pass(monkeypatch, "fuse_pads", "last")
    ran = shadergen("verify", path_of(tmp_path, small()), "--bisect", "--no-validate")
    assert ran.code == 1
    lines = ran.out.split("\n")
    assert "the compiler's pass fuse_pads makes the graph wrong, first at layer 'last'" in lines
    assert any(line.endswith("changed): --disable-pass fuse_pads") for line in lines)


@pytest.mark.gl
def test_two_faults_need_two_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_pass(monkeypatch, "drop_dead_channels", "last")
    inject(monkeypatch, WINOGRAD, dropped_product)
    found = bisected(tmp_path, small(), winograd="4x4")
    assert found.graph == GraphFault("drop_dead_channels", "last")
    assert [t.layers[-1] for t in found.kernels][:1] == ["first"]
    (cure,) = found.cures
    assert cure.text.count("--") == 2
    assert "--disable-pass drop_dead_channels" in cure.text


@pytest.mark.gl
def test_textures_that_are_shared_too_early_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(graph: Any) -> Any:
        return {value: (first, first + 1) for value, (first, _) in intervals(graph).items()}

    monkeypatch.setattr("shadergen.passes.allocate_textures.intervals", short)
    monkeypatch.setattr("shadergen.runtime_glue.python.rules.check", lambda *build: None)
    nodes = [
        node("Conv", *names, outputs=(y,), pads=[1] * 4, name=y)
        for names, y in (("xw", "a"), ("av", "b"), ("bv", "c"), ("cv", "d"))
    ]
    weights = {"w": normal(4, 4, 3, 3) / 6, "v": normal(4, 4, 3, 3, seed=1) / 6}
    model = Model([*nodes, node("Add", "d", "a")], weights, {"x": normal(1, 4, 8, 8)})
    found = bisected(tmp_path, model)
    assert (found.graph, found.kernels, found.shared_wrongly) == (None, (), True)
    assert "--disable-pass allocate_textures" in [cure.text for cure in found.cures]


@pytest.mark.gl
def test_a_value_that_is_imported_wrongly_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = compilation.load

    def wrong(path: Path, request: Any) -> Any:
        return load(path, request).rewrite(doubling("pool", Pool))

    monkeypatch.setattr(compilation, "load", wrong)
    found = bisected(tmp_path, small())
    assert found.graph == GraphFault("import", "b")
    assert found.kernels == found.cures == ()
    assert "the imported graph differs from the reference, first at value 'b'" in (
        bisection_lines(found)
    )


@pytest.mark.gl
def test_a_fault_that_no_option_avoids_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shadergen: Any
) -> None:
    inject(monkeypatch, POINTWISE)
    ran = shadergen("verify", path_of(tmp_path, formula()), "--bisect", "--no-validate")
    assert ran.code == 1
    lines = ran.out.strip().split("\n")
    assert lines[-2].startswith("no option makes the build right (")
    assert lines[-1] == "to tell a driver's fault from shadergen's, try another --adapter"
    assert "of layer 'product', tensor 'product'" in ran.out


@pytest.mark.gl
def test_a_right_build_is_not_bisected(tmp_path: Path, shadergen: Any) -> None:
    path = path_of(tmp_path, formula())
    ran = shadergen("verify", path, "--bisect")
    assert ran.code == 0
    assert ran.out.endswith("all outputs are right: nothing to bisect\n")
    ran = shadergen("verify", path, "--bisect", "--json")
    assert json.loads(ran.out)["bisection"] is None


def test_the_optional_passes_are_those_of_the_pipeline() -> None:
    assert tuple(step.__name__ for step in pipeline.OPTIONAL) == OPTIONAL_PASSES


@pytest.mark.parametrize("name", OPTIONAL_PASSES)
def test_graphs_are_right_without_any_optional_pass(name: str) -> None:
    for model in (MODELS["pixel_shuffle"](), MODELS["branches"](), separable()):
        proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
        options = Options(disable_pass=(name,), validate=False)
        graph = import_model(proto, options)
        compiled, _, _ = compile_graph(graph, options)
        inputs = as_logical(graph, model.feeds)
        wanted, found = evaluate_graph(graph, inputs), evaluate_graph(compiled, inputs)
        for output in wanted:
            np.testing.assert_allclose(found[output], wanted[output], atol=1e-5)


def test_a_mistyped_pass_is_refused() -> None:
    with pytest.raises(ShadergenError, match="--disable-pass fold_afine is not supported") as error:
        Options(disable_pass=("fold_afine",)).target()
    assert "fold_affine" in error.value.help


def test_trials_change_only_what_differs() -> None:
    texts = [t.text(Options(winograd="off")) for t in trials(Options(winograd="off"))]
    assert "--stage fragment" in texts
    assert not any(text.startswith(("--winograd", "--precision")) for text in texts)
    texts = [t.text(Options()) for t in trials(Options(precision="fp16"))]
    assert texts[0] == "--precision highp"
    both = Trial((("winograd", "off"),)).joined(Trial((("disable_pass", ("fuse_pads",)),)))
    assert both.text(Options()) == "--winograd off --disable-pass fuse_pads"
