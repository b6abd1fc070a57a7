"""From graphs to shaders: all of them valid, whatever the names, and every operator has one."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from support import (
    ROOT,
    assert_runs_like_reference,
    compile_graph,
    conv,
    graph_of,
    image,
    play,
    pointwise,
    refusal,
)
from support.dimensions import new
from support.kernel_programs import shaders

from shadergen.backends.device_limits import TextureUnitError
from shadergen.backends.devices import DEVICES
from shadergen.backends.dialects.glsl_es import GlslEs
from shadergen.backends.dialects.printer import comment
from shadergen.backends.kernels import convolution, lower
from shadergen.backends.shader.expressions import Invoke, Variable
from shadergen.backends.shader.formulas import INFIX, PRIMITIVE, Formulas
from shadergen.backends.shader.namer import Namer
from shadergen.backends.shader.types import VEC4
from shadergen.backends.validate import find_glslang, validate
from shadergen.backends.writer import write_build
from shadergen.compiler.options import Options
from shadergen.errors import CODES, InternalError
from shadergen.ir.expr import Call, Var
from shadergen.ir.formulas import FORMULAS
from shadergen.ir.graph import Graph, Input, Output, Port, apply, constant
from shadergen.ir.ops import OPS, Concat, DepthToSpace, Pad, Reduce, Reshape, Slice, Transpose
from shadergen.ir.ops.base import Op
from shadergen.ir.primitives import PRIMITIVES
from shadergen.passes.kernel_ops import (
    Fused,
    SeparableConv,
    StripColumns,
    StripPatches,
    StripRows,
    WinogradPatches,
    WinogradResult,
)
from shadergen.runtime_glue.python import load

glslang = pytest.mark.skipif(find_glslang() is None, reason="glslang is not installed")
SCHEMA = json.loads((ROOT / "runtime_glue" / "schedule.schema.json").read_text())


def everything() -> Graph:
    """Return a graph that reaches every template branch: kernels, borders, lanes and planes."""
    rng = np.random.default_rng(0)
    x = image(2, 6, 9, 8)
    thin = image(2, 1, 9, 8, name="thin")
    a = conv(rng, x, 10, (3, 3), "reflect", pads=(1, 2, 1, 0), pad_mode="reflect")
    a = pointwise("silu(x0) + x1", a, thin, layer="act")
    b = conv(rng, a, 12, (2, 3), "strided", strides=(2, 1), dilations=(1, 2), pads=(1, 1, 1, 1))
    c = conv(rng, pointwise("x0 * x1", b, constant(np.ones((12, 1, 1)), "scale")), 12, (3, 1),
             "depthwise", groups=12, pads=(1, 0, 1, 0), pad_mode="wrap")  # fmt: skip
    d = conv(rng, c, 8, (1, 1), "grouped", groups=4, bias=False)
    helpers = {"erf_tail"}
    names = sorted(
        name for name, f in FORMULAS.items() if len(f.required) == 1 and name not in helpers
    )
    every = " + ".join(f"{name}(x0)" for name in names)
    every += " + mod(x0, 3) + pow(x0, 1.5) + pow(x0, 3) + clamp(x0, -inf, 2) + asin(x0) + (x0 < 1)"
    f = pointwise(every, d, layer="formulas")
    g = apply(DepthToSpace((2, 2), "crd"), f, layer="shuffle")
    h = apply(Concat(1), g, apply(Pad((0, 1, 0, 0), (0, 4, 0, 0), "constant", 0.5), g), layer="cat")
    flat = apply(Reshape((2, h.type.size // 2)), h, layer="flat")
    back = apply(Slice((0, 1), (1, 2), (2, 9)), flat, layer="cut")
    across = apply(Transpose((1, 0, 3, 2)), g, layer="across")
    return graph_of(h, back, across, thin, inputs=(x, thin))


TARGETS = [
    {"glsl": glsl, "precision": precision, "weights": weights, "textures": textures}
    for glsl in (300, 310, 320)
    for precision in ("highp", "mediump")
    for weights in ("auto", "constants", "ubo", "texture", "ssbo")
    for textures in ("2d", "array")
    if glsl > 300 or weights != "ssbo"
]


@glslang
@pytest.mark.parametrize("options", TARGETS, ids=lambda o: "-".join(map(str, o.values())))
def test_every_shader_is_valid_and_every_schedule_is_of_the_schema(options, tmp_path):
    block = "ubo" if options["precision"] == "highp" else "constants"
    _, files, _ = compile_graph(
        everything(), device="gles32-desktop", parameters=block, zero_guard=1e-3, **options
    )
    write_build(files, tmp_path / "b")
    assert validate(files.shaders, {})
    jsonschema.validate(files.schedule, SCHEMA)
    load(tmp_path / "b")
    for source in files.shaders.values():
        assert source.startswith(f"#version {options['glsl']} es\n")
    kernels = {p["kernel"] for p in files.schedule["passes"]}
    assert kernels == {"convolution", "pointwise", "loop kernel"}


# --- hostile names --------------------------------------------------------------------------------


HOSTILE = {
    "newline": "a\nvoid main() { }\r\n#error b",
    "backslash": "line goes on \\",
    "comment": "*/ int x; /* // ?>",
    "unicode": "schön \N{SNOWMAN} \u2028 \x00\x1f\x7f \ufeff",
    "surrogate": "\ud800 alone \udfff",
    "long": "n" * 3000,
    "keyword": "sampler2D",
    "built-in": "gl_Position",
    "underscores": "__x__y__",
    "shader names": "u_x",
    "template": "{{ 7 * 7 }}{% raw %}",
    "path": "../../../etc/passwd",
    "empty": "",
    "digits": "123",
    "json": '", "evil": "',
}


@pytest.mark.gl
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_neither_break_shaders_nor_the_schedule(kind, tmp_path):
    name = HOSTILE[kind]
    rng = np.random.default_rng(0)
    x, r = image(1, 3, 5, 5, name=name), image(1, 6, 5, 5, name=f"{name}2")
    y = conv(rng, x, 6, (1, 1), name)
    y = pointwise("x0 * x1 + x2", y, constant(np.ones((6, 1, 1)), name), r, layer=name)
    y = pointwise("relu(x0) * x1", y, constant(np.ones((6, 5, 5)), name), layer=name)
    graph = Graph(name, (x, r), (Output(name, y, Port.plain(4)),))
    _, files, _ = compile_graph(graph, parameters="ubo" if kind == "long" else "constants")
    write_build(files, tmp_path / "b")
    read = json.loads((tmp_path / "b" / "schedule.json").read_bytes().decode("utf-8"))
    assert read == files.schedule
    jsonschema.validate(read, SCHEMA)
    written = {str(p.relative_to(tmp_path / "b")) for p in (tmp_path / "b").rglob("*.*")}
    assert written == {"schedule.json", "weights.bin", *files.shaders}
    assert all(re.fullmatch(r"[A-Za-z0-9_./]+", path) for path in files.shaders)
    assert all(source.isascii() for source in files.shaders.values())
    ones = {p["name"]: np.ones(p["shape"]) for p in read["inputs"]}
    assert len(ones) == 2
    assert np.isfinite(play(files, ones)[read["outputs"][0]["name"]]).all()


def test_identifiers_are_legal_and_distinct():
    namer = Namer()
    made = [namer(wish) for wish in (*HOSTILE.values(), *HOSTILE.values(), "", "1", "gl_x", "_")]
    assert len(set(made)) == len(made)
    for name in made:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
        assert "__" not in name
        assert not name.startswith("gl_")
        assert len(name) < 60


@pytest.mark.parametrize("kind", HOSTILE)
def test_comments_stay_on_their_line(kind):
    text = comment(HOSTILE[kind])
    assert text.isascii()
    assert text.isprintable() or not text
    assert "\\" not in text


# --- kernels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_group", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("out", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("groups", [1, 2, 3, 8])
def test_blocks_hold_every_weight_once_and_read_no_plane_past_the_end(per_group, out, groups):
    rng = np.random.default_rng(0)
    w = rng.normal(size=(groups * out, per_group, 1, 2)).astype(np.float32)
    planes_out, planes_in = -(-groups * out // 4), -(-groups * per_group // 4)
    dense = np.zeros((planes_out * 4, planes_in * 4, 2), np.float32)
    for o in range(groups * out):
        start = o // out * per_group
        dense[o, start : start + per_group] = w[o, :, 0]
    for planes in (range(planes_out), range(planes_out - 1, planes_out)):
        tiles = convolution.plan_blocks(w.shape, groups, planes)
        columns = convolution.cut_weights(w, groups, planes)
        assert columns.shape == tiles.shape
        got = np.zeros((len(planes) * 4, planes_in * 4, 2), np.float32)
        for (tap, block, k, column), lanes in np.ndenumerate(columns[..., 0]):
            assert 0 <= tiles.first[k] + block < planes_in
            for lane in range(4):
                i = (tiles.first[k] + block) * 4 + (lane if tiles.diagonal else column)
                got[k * 4 + lane, i, tap] += columns[tap, block, k, column, lane]
            assert lanes == columns[tap, block, k, column, 0]
        np.testing.assert_array_equal(got, dense[planes[0] * 4 :])


@pytest.mark.gl
@pytest.mark.parametrize(
    ("channels", "before", "after"), [(6, 0, 3), (6, 4, 3), (8, 4, 5), (4, 1, 0)]
)
def test_planes_move_whole_only_where_all_their_lanes_do(channels, before, after):
    x = image(1, channels, 3, 4)
    pad = Pad((0, before, 0, 0), (0, after, 0, 0), "constant", 0.5)
    assert_runs_like_reference(graph_of(apply(pad, x), inputs=(x,)))


@pytest.mark.gl
@pytest.mark.parametrize("parameters", ["constants", "ubo"])
def test_one_constant_may_be_a_bias_and_a_number_for_all_channels(parameters):
    x, two = image(1, 3, 4, 4), constant(np.array([2.0]), "two")
    y = apply(OPS["Conv"](), x, constant(np.ones((1, 3, 1, 1))), two, layer="c")
    y = pointwise("x0 * x1 + x2", y, two, constant(np.arange(3).reshape(3, 1, 1)), layer="spread")
    files = assert_runs_like_reference(graph_of(y, inputs=(x,)), parameters=parameters)
    assert len(files.schedule["passes"]) == 1


# --- limits ---------------------------------------------------------------------------------------


def test_too_many_textures_for_the_units_are_refused():
    x = image(1, 80, 4, 4)
    y = conv(np.random.default_rng(0), x, 4, (1, 1), layer="wide")
    refused = refusal(lambda: compile_graph(graph_of(y, inputs=(x,)), textures="2d"))
    assert isinstance(refused, TextureUnitError)
    assert (refused.layer, refused.units) == ("wide", 20)
    assert (refused.code, refused.what) == ("SG0402", "'wide' needs 20 texture units")
    assert refused.why == "the device profile allows 16"
    assert "--textures array" in refused.help
    compile_graph(graph_of(y, inputs=(x,)), textures="array")


def test_passes_bind_only_the_planes_that_they_read():
    """A sum of a convolution and a map reads one plane of the map; each is a texture of its own."""
    rng = np.random.default_rng(0)
    x = image(1, 4, 8, 8)
    first = conv(rng, x, 40, (1, 1), "first")
    between = conv(rng, first, 40, (1, 1), "between")
    y = pointwise("x0 + x1", conv(rng, between, 40, (1, 1), "second"), first, layer="sum")
    y = conv(rng, y, 4, (1, 1), "last")
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), textures="2d", weights="constants", mrt=1)
    sums = [p for p in files.schedule["passes"] if "sum" in p["layers"]]
    for plane, entry in enumerate(sums):
        names = [r["texture"] for r in entry["reads"]]
        assert names.count("between") == 10
        assert [r["layer"] for r in entry["reads"] if r["texture"] == "first"] == [plane]
        assert all(files.shaders[entry["shader"]].count(r["uniform"]) > 1 for r in entry["reads"])
    assert len(sums) == 10


def test_too_many_parameters_for_a_block_are_refused():
    x = image(1, 600, 2, 2)
    operands = [constant(np.full((600, 1, 1), 1.5 + k)) for k in range(8)]
    y = pointwise(" + ".join(f"x{k}" for k in range(9)), x, *operands, layer="sum")
    graph = graph_of(y, inputs=(x,))
    _, files, _ = compile_graph(graph, parameters="ubo", device="gles32-desktop")
    assert files.schedule["requires"]["limits"]["uniform_block_size"] == 8 * 600 * 4
    refused = refusal(lambda: compile_graph(graph, parameters="ubo"))
    assert (refused.code, refused.what) == ("SG0402", "'sum' needs 19200 bytes of parameters")
    assert refused.why == "the device profile allows 16384"


# --- completeness ---------------------------------------------------------------------------------


KERNEL_ONLY = (
    SeparableConv,
    StripColumns,
    StripPatches,
    StripRows,
    WinogradPatches,
    WinogradResult,
)  # lowered by their own families


@pytest.mark.parametrize("name", OPS)
def test_every_operator_is_documented_computed_lowered_and_executed(name):
    op = OPS[name]
    assert op.__doc__
    assert not op.__doc__.startswith(f"{name}("), "the docstring that dataclass makes up"
    assert callable(op.reference)
    assert callable(op.infer)
    decomposes = op.decompose is not Op.decompose
    assert op.nest is not Op.nest or decomposes or op in KERNEL_ONLY or op is Fused
    tests = ROOT / "tests"
    suites = [*tests.glob("execution/*.py"), *tests.glob("unit/ops/*.py")]
    executed = "".join(path.read_text() for path in suites)
    assert op is Fused or re.search(rf"\b({name}|{name.lower()})\(", executed)


def test_every_primitive_has_a_form_in_glsl():
    special = {"neg", "tanh", "idiv", "imod"}  # printed by rules of their own
    special |= {"pow", "where"}
    assert set(PRIMITIVES) == {*PRIMITIVE, *INFIX, *special}


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_every_formula_has_a_form_in_glsl(name):
    required = len(FORMULAS[name].required)
    formulas = Formulas("highp")
    names = {f"x{k}": Variable(f"x{k}", VEC4) for k in range(9)}
    call = Call(name, tuple(Var(f"x{k}") for k in range(required)))
    applied = formulas.expression(call, names)
    assert isinstance(applied, Invoke)
    assert len(applied.arguments) == len(FORMULAS[name].parameters)
    function = applied.function
    assert GlslEs().function(function).startswith(f"vec4 {function.name}(vec4 ")


def sources() -> list[Path]:
    folders = ("ir", "passes", "backends", "compiler", "runtime_glue")
    return [p for f in folders for p in sorted((ROOT / f).rglob("*.py"))]


def test_every_error_code_is_raised_and_every_raised_code_is_in_the_table():
    raised: set[str] = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                raised |= {node.value} if re.fullmatch(r"SG\d{4}", node.value) else set()
    assert raised == set(CODES)


def test_device_profiles_hold_what_their_specification_promises():
    for name, profile in DEVICES.items():
        limits = profile.limits
        assert limits.texture_size >= 2048, name
        assert limits.array_texture_layers >= 256, name
        # WebGPU promises 32 bytes a pixel for all targets: two of four 32-bit floats.
        assert limits.draw_buffers >= (2 if profile.wgsl else 4), name
        assert limits.uniform_block_size >= 16384, name


def test_lowering_an_operator_without_a_kernel_is_a_bug():
    x = image(1, 2, 4, 4)
    ones = [constant(np.ones(2)) for _ in range(4)]
    graph = graph_of(apply(OPS["BatchNormalization"](), x, *ones, layer="bn"), inputs=(x,))
    with pytest.raises(InternalError, match="bn: BatchNormalization has no kernel"):
        lower(graph, Options().target())
    assert isinstance(graph.inputs[0], Input)


def test_a_draw_declares_no_position_that_it_does_not_read():
    x, row = image(1, 8, 5, 6), image(3, 9, name="row")
    pooled = apply(Reduce("mean", (2, 3)), x, layer="pool")
    centred = apply(Reduce("max", (1,), keepdims=True), row, layer="max")
    _, files, _ = compile_graph(graph_of(pooled, centred, inputs=(x, row)))
    found = 0
    for name, text in files.shaders.items():
        if not name.endswith(".frag"):
            continue
        main = text.partition("void main() {")[2]
        declared = re.findall(r"^    (?:int|ivec2) (\w+) = ", main, re.MULTILINE)
        assert all(len(re.findall(rf"\b{v}\b", main)) > 1 for v in declared), text
        found += "compute(" in main
    assert found == 2


@pytest.mark.parametrize("zero_guard", [0.0, 0.001])
def test_samples_are_taken_by_all_invocations(zero_guard):
    x = image(1, 8, 6, 6)
    y = conv(np.random.default_rng(0), x, 8, (3, 3), pads=(1, 1, 1, 1))
    graph = graph_of(y, inputs=(x,))
    _, files, _ = compile_graph(graph, fetch="sample", zero_guard=zero_guard)
    sampled = [text for text in files.shaders.values() if "texture(" in text]
    assert sampled
    assert not any(re.search(r"\? \w*\(?texture\(", text) for text in sampled)


@pytest.mark.parametrize("device", ["swiftshader", "swiftshader-webgpu"])
def test_draws_sample_weights_where_they_sample_maps(device):
    x = image(1, 8, 6, 6)
    y = conv(np.random.default_rng(0), x, 8, (3, 3), pads=(1, 1, 1, 1))
    files = compile_graph(graph_of(y, inputs=(x,)), device=device, weights="texture")[1]
    (text,) = (t for t in files.shaders.values() if "u_weights" in t)
    assert "texelFetch" not in text and "textureLoad" not in text
    (blob,) = (t for t in files.schedule["textures"] if t["packing"] == "rows")
    assert f"({blob['width']}.0, {blob['height']}.0)" in text


def test_wgsl_samples_without_a_level_and_tests_borders_in_uints():
    x = image(1, 8, 6, 6)
    y = conv(np.random.default_rng(0), x, 8, (3, 3), pads=(1, 1, 1, 1))
    files = compile_graph(graph_of(y, inputs=(x,)), device="swiftshader-webgpu")[1]
    (text,) = (t for t in files.shaders.values() if "u_x" in t)
    assert "textureSample(u_x, nearest, " in text and "textureSampleLevel" not in text
    assert "diagnostic(off, derivative_uniformity);" in text
    assert "all(min(vec2u(p), vec2u(vec2i(6, 6) - 1)) == vec2u(p))" in text


@pytest.mark.parametrize(
    ("options", "chained"),
    [({}, True), ({"device": "swiftshader"}, False)],
    ids=["fused multiply-adds", "swiftshader"],
)
def test_products_are_added_one_by_one_where_multiply_adds_are_fused(options, chained):
    x = image(1, 8, 60, 60)
    y = conv(np.random.default_rng(0), x, 8, (3, 3))
    shader = compile_graph(graph_of(y, inputs=(x,)), weights="constants", **options)[1]
    (text,) = (t for name, t in shader.shaders.items() if name.endswith(".frag"))
    assert ("mat4(" in text) != chained


@pytest.mark.parametrize(("device", "late"), [("gles30", True), ("mali-bifrost", False)])
def test_generic_builds_add_a_constant_bias_with_the_last_texel(device, late):
    """Mesa's compilers move it to the end, and then all multiply-adds behind the last load."""
    x = image(1, 8, 60, 60)
    y = conv(np.random.default_rng(0), x, 4, (3, 3))
    files = compile_graph(graph_of(y, inputs=(x,)), weights="constants", device=device)[1]
    (text,) = (t for name, t in files.shaders.items() if name.endswith(".frag"))
    assert ("vec4 result = vec4(0.0);" in text) == late
    assert ("vec4 last_result = vec4(" in text.rpartition(" texel = load_")[2]) == late
    assert text.count("result += last_result;") == late


def test_programs_declare_only_uniforms_that_they_read():
    for shader in shaders():
        program = shader.gpu_pass.program
        assert set(program.uniforms) <= program.uniforms_read, str(shader)
        assert {u.name for u in shader.gpu_pass.uniforms} == set(program.uniforms), str(shader)


def test_a_dynamic_map_whose_edge_is_repeated_declares_only_sizes_that_it_reads():
    _, height, width = new()
    x = image(1, 8, height, width)
    y = conv(np.random.default_rng(0), x, 8, (3, 3), pads=(1, 1, 1, 1), pad_mode="edge")
    files = compile_graph(graph_of(y, inputs=(x,)), weights="constants", device="gles30")[1]
    (text,) = (t for name, t in files.shaders.items() if name.endswith(".frag"))
    declared = re.findall(r"^uniform int (\w+);", text, re.MULTILINE)
    assert declared
    assert [name for name in declared if len(re.findall(rf"\b{name}\b", text)) < 2] == []
