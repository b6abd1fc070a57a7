"""The back end: shaders that compile everywhere, a schedule as promised, builds whole or not."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from support import (
    ESPCN,
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
from trees import trees

from shadergen.backends import validate as validation
from shadergen.backends import writer
from shadergen.backends.devices import DEVICES
from shadergen.backends.glsl import FLOAT, INFIX, Functions, Namer, comment, integer
from shadergen.backends.lower import KERNELS, convolution, lower
from shadergen.backends.schedule import BuildFiles
from shadergen.backends.shader import templates
from shadergen.backends.validate import find_glslang, validate
from shadergen.backends.weights import WeightFile
from shadergen.backends.writer import write_build
from shadergen.compiler.driver import compile_model, import_model
from shadergen.compiler.options import Options
from shadergen.errors import CODES, InternalError, ShadergenError
from shadergen.ir.expr import PRIMITIVES, Call, Num, Var, evaluate, fold, library, parse
from shadergen.ir.graph import Graph, Input, Output, Port, apply, constant
from shadergen.ir.ops import OPS, Concat, DepthToSpace, Fused, Pad, Reshape, Slice, Transpose
from shadergen.ir.ops.base import Op
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
        name for name, f in library().items() if len(f.required) == 1 and name not in helpers
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
    write_build(files, tmp_path / "b", lambda folder: None)
    assert validate(tmp_path / "b", files.shaders, files.layers)
    jsonschema.validate(files.schedule, SCHEMA)
    load(tmp_path / "b")
    for source in files.shaders.values():
        assert source.startswith(f"#version {options['glsl']} es\n")
    kernels = {p["kernel"] for p in files.schedule["passes"]}
    assert kernels == {"convolution", "pointwise", "nest"}


# --- hostile names -------------------------------------------------------------------------------

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
    write_build(files, tmp_path / "b", lambda folder: None)
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


# --- expressions in GLSL -------------------------------------------------------------------------


FLOATS = {
    "vec4": float, "abs": abs, "min": min, "max": max, "sign": lambda a: (a > 0) - (a < 0),
    "lessThan": lambda a, b: a < b, "notEqual": lambda a, b: a != b,
    "mix": lambda a, b, c: b if c else a, "inf": math.inf,
}  # fmt: skip


ARITHMETIC = {"add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "min": 2, "max": 2, "abs": 1}
ARITHMETIC |= {"where": 3, "lt": 2, "sign": 1}


def test_printed_expressions_mean_what_the_tree_means():
    env = {"a": 1.5, "b": -0.25, "c": 3.0}
    checked = 0
    for expr in trees(3000, ARITHMETIC, "abc", (-1.5, -1.0, 0.5, 1.0, 2.0, 1e-5)):
        want = float(evaluate(expr, env))
        printed = Functions("highp").expression(expr, {n: n for n in env})
        assert "--" not in printed, printed
        if not math.isfinite(want):
            continue
        try:
            got = float(eval(printed, {"__builtins__": {}}, {**FLOATS, **env}))
        except ZeroDivisionError:  # which IEEE defines and Python does not
            continue
        assert got == pytest.approx(want, rel=1e-5, abs=1e-12), (str(expr), printed)
        checked += 1
    assert checked > 2000


def test_printed_index_maps_mean_what_the_tree_means():
    arity = {"add": 2, "sub": 2, "mul": 2, "min": 2, "max": 2, "idiv": 2, "imod": 2}
    clamp = {"clamp": lambda x, low, high: min(max(x, low), high), "min": min, "max": max}
    checked = 0
    for k, expr in enumerate(trees(3000, arity, "pq", range(-5, 10))):
        p, q = k % 50, k % 7
        want = float(evaluate(expr, {"p": float(p), "q": float(q)}))
        if not abs(want) < 1e9 or isinstance(fold(expr), Num):
            continue
        printed = integer(expr, {"p": "p", "q": "q"}).replace("/", "//")
        assert "." not in printed, printed
        try:
            got = eval(printed, {"__builtins__": {}}, {**clamp, "p": p, "q": q})
        except ZeroDivisionError:
            continue
        assert got == want, (str(expr), printed)
        checked += 1
    assert checked > 1500


def test_repeated_parts_become_local_variables():
    functions = Functions("highp")
    lines = functions.body(parse("tanh(x + 1) * tanh(x + 1) - relu(x)"), {"x": "x"})
    assert lines == [
        "vec4 t0 = tanh(clamp(x + 1.0, -10.0, 10.0));",
        "return t0 * t0 - f_relu(x);",
    ]
    assert functions.texts == {"f_relu": "vec4 f_relu(vec4 x_) { return max(x_, vec4(0.0)); }"}


def test_formulas_bring_along_those_they_call_before_them():
    functions = Functions("mediump")
    text = functions.expression(parse("hard_swish(x0)"), {"x0": "x0"})
    assert text == "f_hard_swish(x0)"
    assert list(functions.texts) == ["f_clamp", "f_hard_sigmoid", "f_hard_swish"]


def test_templates_refuse_what_is_not_given():
    with pytest.raises(Exception, match="undefined"):
        templates().get_template("fullscreen.vert.j2").render()


# --- kernels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_group", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("out", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("groups", [1, 2, 3, 8])
def test_tiles_hold_every_weight_once_and_read_no_plane_past_the_end(per_group, out, groups):
    rng = np.random.default_rng(0)
    w = rng.normal(size=(groups * out, per_group, 1, 2)).astype(np.float32)
    planes_out, planes_in = -(-groups * out // 4), -(-groups * per_group // 4)
    dense = np.zeros((planes_out * 4, planes_in * 4, 2), np.float32)
    for o in range(groups * out):
        start = o // out * per_group
        dense[o, start : start + per_group] = w[o, :, 0]
    for planes in (range(planes_out), range(planes_out - 1, planes_out)):
        tiles = convolution.plan_tiles(w.shape, groups, planes)
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


# --- schedule ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def espcn() -> Graph:
    return import_model(ESPCN, Options(input_size={"": (360, 640)}))


@pytest.mark.parametrize(("mrt", "passes"), [(4, 4), (2, 6), (1, 10), (None, 4)])
def test_espcn_takes_as_many_passes_as_render_targets_allow(espcn, mrt, passes):
    _, files, _ = compile_graph(espcn, mrt=mrt)
    entries = files.schedule["passes"]
    assert len(entries) == passes
    assert sum(p["macs"] for p in entries) == 640 * 360 * (25 * 16 + 9 * 16 * 16 + 9 * 16 * 4)
    writes = [(w["texture"], w["layer"]) for p in entries for w in p["writes"]]
    assert len(set(writes)) == len(writes)


def test_espcn_at_its_peak_holds_less_than_the_sum_of_its_textures(espcn):
    textures = compile_graph(espcn)[1].schedule["textures"]
    slots = [t["slot"] for t in textures if t["slot"] is not None]
    assert len(set(slots)) < len(slots)


def test_requirements_are_the_largest_use_of_each_limit():
    x = image(1, 8, 30, 40)
    y = conv(np.random.default_rng(0), x, 16, (3, 3))
    _, files, _ = compile_graph(
        graph_of(y, inputs=(x,)), weights="ubo", parameters="ubo", textures="array"
    )
    limits = files.schedule["requires"]["limits"]
    assert limits == {
        "texture_size": 40, "array_texture_layers": 4, "texture_units": 1, "draw_buffers": 4,
        "uniform_block_size": 8 * 16 * 9 * 4, "uniform_blocks": 2, "storage_block_size": 0,
        "storage_blocks": 0, "fragment_images": 0, "compute_images": 0, "compute_texture_units": 0,
        "compute_uniform_blocks": 0, "workgroup_invocations": 0, "workgroup_count": 0,
    }  # fmt: skip
    _, files, _ = compile_graph(
        graph_of(y, inputs=(x,)), stage="compute", fetch="image", device="gles31-min", glsl=310
    )
    assert files.schedule["requires"]["limits"] == dict.fromkeys(limits, 0) | {
        "texture_size": 40, "array_texture_layers": 4, "compute_images": 2,
        "compute_texture_units": 1, "workgroup_invocations": 64, "workgroup_count": 5,
    }  # fmt: skip
    assert files.schedule["requires"]["color_buffer"] == "float"
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)), precision="mediump")
    assert files.schedule["requires"]["color_buffer"] == "half_float"
    _, files, _ = compile_graph(graph_of(x, inputs=(x,)), output_encoding="unorm8")
    assert files.schedule["requires"]["color_buffer"] == "none"


def test_weights_are_aligned_and_equal_ones_are_stored_once(tmp_path):
    weights = WeightFile()
    first = weights.add([np.arange(3, dtype=np.float16)])
    second = weights.add([np.arange(2, dtype=np.float32), np.arange(2, 5, dtype=np.float32)])
    assert weights.add([np.arange(3, dtype=">f2")]) == first == {"offset": 0, "size": 6}
    assert second == {"offset": 16, "size": 20}
    weights.save(tmp_path / "weights.bin")
    content = (tmp_path / "weights.bin").read_bytes()
    assert len(content) == weights.size == 48
    assert content[16:36] == np.arange(5, dtype="<f4").tobytes()
    assert weights.sha256() == hashlib.sha256(content).hexdigest()


def test_the_same_graph_gives_the_same_bytes_whatever_was_compiled_before():
    def build(sign: float) -> BuildFiles:
        x = image(1, 3, 5, 5)
        w = constant(np.full((4, 3, 1, 1), sign * 0.0) + np.eye(4, 3).reshape(4, 3, 1, 1) * sign)
        y = apply(OPS["Conv"](), x, w, layer="c")
        return compile_graph(graph_of(pointwise("x0 + x1", y, constant(0.0)), inputs=(x,)))[1]

    first, other, again = build(1.0), build(-1.0), build(1.0)
    assert first == again
    assert first.shaders != other.shaders


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(tmp_path):
    digests = []
    for seed in ("1", "77"):
        folder = tmp_path / seed
        subprocess.run(
            [sys.executable, "-m", "shadergen", "compile", ESPCN, "-o", folder, "--input-size",
             "24x32", "--weights", "texture", "--parameters", "ubo", "--no-validate"],
            check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        digests.append(tree_bytes(folder))
    assert digests[0] == digests[1]


def tree_bytes(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


# --- limits --------------------------------------------------------------------------------------


def test_too_many_textures_for_the_units_are_refused():
    x = image(1, 80, 4, 4)
    y = conv(np.random.default_rng(0), x, 4, (1, 1), layer="wide")
    refused = refusal(lambda: compile_graph(graph_of(y, inputs=(x,)), textures="2d"))
    assert (refused.code, refused.what) == ("SG0402", "'wide' needs 20 texture units")
    assert refused.why == "the device profile allows 16"
    assert "--textures array" in refused.help
    compile_graph(graph_of(y, inputs=(x,)), textures="array")


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


# --- validation ----------------------------------------------------------------------------------


def options(**more) -> Options:
    return Options(input_size={"": (8, 8)}, **more)


@glslang
def test_a_shader_that_glslang_refuses_is_a_bug_and_leaves_the_earlier_build(tmp_path, monkeypatch):
    build = tmp_path / "build"
    compile_model(ESPCN, build, options())
    before = tree_bytes(tmp_path)
    monkeypatch.setattr(convolution, "_corner", lambda conv: "nowhere")
    with pytest.raises(InternalError) as caught:
        compile_model(ESPCN, build, options(mrt=1))
    text = str(caught.value)
    assert "glslang refuses a generated shader" in text
    assert re.search(r"shaders/00_\w+\.frag:\d+: 'nowhere' : undeclared identifier", text)
    assert re.search(r"^    layer \S+", text, re.MULTILINE)
    assert "    ivec2 corner = nowhere;" in text
    assert re.search(r"the graph was left in \S+failed_after_plan_textures\.ir$", text)
    assert tree_bytes(tmp_path) == before


def test_without_glslang_nothing_is_validated(tmp_path, monkeypatch):
    monkeypatch.setattr(validation.shutil, "which", lambda name: None)
    compiled = compile_model(ESPCN, tmp_path / "b", options())
    assert not compiled.validated


def test_validation_can_be_turned_off(tmp_path, monkeypatch):
    monkeypatch.setattr(convolution, "_corner", lambda conv: "nowhere")
    assert not compile_model(ESPCN, tmp_path / "b", options(validate=False)).validated


# --- writer --------------------------------------------------------------------------------------


def weighing(content: bytes) -> WeightFile:
    weights = WeightFile()
    if content:
        weights.add([np.frombuffer(content, np.uint8)])
    return weights


FILES = BuildFiles({"format": "shadergen"}, {"shaders/a.frag": "// a\n"}, weighing(b"\1\2"))


def nothing(folder: Path) -> None:
    """Check nothing."""


def test_a_build_replaces_an_earlier_one_whole(tmp_path):
    build = tmp_path / "deep" / "down" / "b"
    write_build(FILES, build, nothing)
    more = BuildFiles({"format": "shadergen"}, {"shaders/b.vert": "// b\n"}, weighing(b""))
    write_build(more, build, nothing)
    found = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.*")}
    assert found == {f"deep/down/b/{n}" for n in ("schedule.json", "weights.bin", "shaders/b.vert")}
    assert (build / "schedule.json").read_text() == '{\n "format": "shadergen"\n}\n'


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "b").mkdir()
    write_build(FILES, tmp_path / "b", nothing)
    assert (tmp_path / "b" / "weights.bin").read_bytes()[:2] == b"\1\2"


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (["notes.txt"], "notes.txt"),
        (["schedule.json", "weights.bin", "mine.frag"], "mine.frag"),
        (["shaders/mine.frag"], "shaders"),
        (["schedule.json", "shaders/notes.txt"], "shaders/notes.txt"),
        (["weights.bin"], "weights.bin"),
    ],
)
def test_folders_that_hold_anything_else_are_refused(tmp_path, files, named):
    for name in files:
        path = tmp_path / "b" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    before = tree_bytes(tmp_path)
    refused = refusal(write_build, FILES, tmp_path / "b", nothing)
    assert refused.code == "SG0501"
    assert refused.what == f"'{tmp_path / 'b'}' holds other things than a build: {named}"
    assert tree_bytes(tmp_path) == before


def test_files_links_and_folders_below_files_are_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path)
    for name, what in (("file", "is not a folder"), ("link", "is a symbolic link")):
        assert refusal(write_build, FILES, tmp_path / name, nothing).what.endswith(what)
    refused = refusal(write_build, FILES, tmp_path / "file" / "b", nothing)
    assert refused.code == "SG0501"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link"]


def test_an_output_that_leads_through_the_build_itself_is_replaced_like_any_other(tmp_path):
    write_build(FILES, tmp_path / "b", nothing)
    write_build(FILES, tmp_path / "b" / ".." / "b", nothing)
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize(
    "failure", [InternalError("bug"), OSError(28, "No space"), KeyboardInterrupt()]
)
def test_what_fails_while_checking_leaves_the_earlier_build_and_nothing_else(tmp_path, failure):
    write_build(FILES, tmp_path / "b", nothing)
    before = tree_bytes(tmp_path)

    def fail(folder: Path) -> None:
        assert (folder / "schedule.json").is_file()
        raise failure

    with pytest.raises((InternalError, ShadergenError, KeyboardInterrupt)):
        write_build(BuildFiles({"new": 1}, {}, weighing(b"new")), tmp_path / "b", fail)
    assert tree_bytes(tmp_path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("failure", [OSError(13, "Denied"), KeyboardInterrupt()])
def test_what_fails_while_moving_puts_the_earlier_build_back(tmp_path, monkeypatch, failure):
    write_build(FILES, tmp_path / "b", nothing)
    before, rename = tree_bytes(tmp_path), Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise failure
        return rename(self, target)

    monkeypatch.setattr(writer.Path, "rename", fail)
    with pytest.raises((ShadergenError, KeyboardInterrupt)):
        write_build(BuildFiles({"new": 1}, {}, weighing(b"new")), tmp_path / "b", nothing)
    assert tree_bytes(tmp_path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


# --- completeness --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPS)
def test_every_operator_is_documented_computed_lowered_and_executed(name):
    op = OPS[name]
    assert op.__doc__
    assert not op.__doc__.startswith(f"{name}("), "the docstring that dataclass makes up"
    assert callable(op.reference)
    assert callable(op.infer)
    decomposes = op.decompose is not Op.decompose
    assert op in KERNELS or op.nest is not Op.nest or decomposes or op is Fused
    tests = ROOT / "tests"
    suites = [*tests.glob("test_execution*.py"), *tests.glob("test_ops_*.py")]
    executed = "".join(path.read_text() for path in suites)
    assert op is Fused or re.search(rf"\b({name}|{name.lower()})\(", executed)


def test_kernels_are_of_operators():
    assert set(KERNELS) <= set(OPS.values())


def test_every_primitive_has_a_form_in_glsl():
    special = {"neg", "tanh", "idiv", "imod"}  # printed by rules of their own
    assert set(PRIMITIVES) == {*FLOAT, *INFIX, *special}


@pytest.mark.parametrize("name", sorted(library()))
def test_every_formula_has_a_form_in_glsl(name):
    required = len(library()[name].required)
    functions = Functions("highp")
    text = functions.expression(
        Call(name, tuple(Var(f"x{k}") for k in range(required))),
        {f"x{k}": f"x{k}" for k in range(9)},
    )
    function = text.partition("(")[0]
    assert functions.texts[function].startswith(f"vec4 {function}(vec4 ")
    assert text.count("vec4(") + required == len(library()[name].parameters)


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
        assert limits.draw_buffers >= 4, name
        assert limits.uniform_block_size >= 16384, name


def test_lowering_an_operator_without_a_kernel_is_a_bug():
    x = image(1, 2, 4, 4)
    ones = [constant(np.ones(2)) for _ in range(4)]
    graph = graph_of(apply(OPS["BatchNormalization"](), x, *ones, layer="bn"), inputs=(x,))
    with pytest.raises(InternalError, match="bn: BatchNormalization has no kernel"):
        lower(graph, options().target())
    assert isinstance(graph.inputs[0], Input)
