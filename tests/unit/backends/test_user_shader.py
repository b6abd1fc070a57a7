"""User shaders as text: their grammar, sizes, hooks, and what is refused by name."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import refusal
from support.picture_networks import (
    chroma,
    cunny,
    denoiser,
    espcn,
    gated,
    grouped,
    transposed,
    unet,
    unshuffled,
    upscaler,
)
from support.user_shader_grammar import Pass, check_terms, parse, tables_of, value

from shadergen.backends.dialects.glsl_es import print_expression
from shadergen.backends.dialects.user_shader import Bindings, print_pass
from shadergen.backends.dialects.user_shader_functions import ROUNDED
from shadergen.backends.dialects.user_shader_planes import Grid, Plane, sides
from shadergen.backends.shader.constructors import ivec2, vec4
from shadergen.backends.shader.expressions import Texel, Uniform, Variable
from shadergen.backends.shader.program import Program, TextureBinding
from shadergen.backends.shader.statements import Body
from shadergen.backends.shader.types import INT
from shadergen.backends.sizes import OPERATORS
from shadergen.backends.user_shader.binds import size_expression
from shadergen.backends.user_shader.file import UserShader, user_shader
from shadergen.backends.user_shader.hooks import STAGES, chosen_hook
from shadergen.backends.user_shader.naming import layer
from shadergen.backends.user_shader.sizes import infix, postfix, tree
from shadergen.backends.user_shader.templates import templates
from shadergen.backends.user_shader.validation import validate_user_shader
from shadergen.compiler.compilation import compile_graph, import_model
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.compiler.user_shader import for_user_shader, within_the_format
from shadergen.errors import ShadergenError
from shadergen.passes.kernel_ops import parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from shadergen.backends.build_files import BuildFiles

EVERY = (chroma, cunny, denoiser, espcn, gated, grouped, transposed, unet, unshuffled, upscaler)
NETWORKS = {make.__name__: make for make in EVERY}
# A function of one line that returns a call: its parameters, and the arguments of the call.
ONE_CALL = re.compile(r"^\w+ \w+\(([^()]+)\) \{ return (?!vec4|max|min)\w+\(([^()]+)\); \}$", re.M)
OPTIONS = for_user_shader(Options(package="mpv"))


@cache
def build(name: str) -> BuildFiles:
    _, files, _ = compile_graph(import_model(NETWORKS[name](), OPTIONS), OPTIONS)
    return files


def shader_of(name: str, **more: Any) -> UserShader:
    files = build(name)
    return user_shader(files, **more)


def compiled(model: Any) -> UserShader:
    _, files, _ = compile_graph(import_model(model, OPTIONS), OPTIONS)
    return user_shader(files)


def model_of(
    nodes: list[Any], shapes: dict[str, Any], results: dict[str, Any], weights: dict[str, Any]
) -> Any:
    """Return an ONNX model, of float inputs and outputs by name."""
    infos = [
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ports.items()]
        for ports in (shapes, results)
    ]
    arrays = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "net", *infos, arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def of_one(
    op: str, *inputs: str, channels: int = 1, weights: Any = None, out: Any = 4, **more: Any
) -> Any:
    """Return a model of one node from an image."""
    node = helper.make_node(op, ["x", *inputs], ["y"], name="only", **more)
    shape = [1, channels, "h", "w"]
    return model_of([node], {"x": shape}, {"y": [None] * out if out else None}, weights or {})


@pytest.mark.parametrize("name", NETWORKS)
def test_a_strict_parser_takes_every_file(name):
    shader = shader_of(name)
    passes = parse(shader.text)
    assert len(passes) == len(shader.blocks)
    assert {one.hook for one in passes} == {shader.hook}


@pytest.mark.parametrize("name", NETWORKS)
def test_glslang_takes_every_pass_on_its_own(name):
    assert all(validate_user_shader(shader_of(name)).values())


@pytest.mark.parametrize("name", NETWORKS)
def test_no_function_only_passes_its_arguments_on(name):
    for given, passed in ONE_CALL.findall(shader_of(name).text):
        assert [parameter.split()[-1] for parameter in given.split(", ")] != passed.split(", ")


def test_sizes_that_are_rounded_are_written_for_people():
    note = "// each plane has (height + 1)/2 x (width + 1)/2 pixels, rounded down\n"
    assert note in shader_of("unet").text
    assert "rounded down" not in shader_of("espcn").text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (["height", 3, "+", 4, "/", 2, "*"], "(height + 3)/4*2"),
        (["width", 4, 2, "*", "/"], "width/(4*2)"),
        (["width", "height", 1, "-", "-"], "width - (height - 1)"),
        (["width", 8, "min", 2, "*"], "min(width, 8)*2"),
        (7, "7"),
    ],
)
def test_sizes_for_people_have_the_brackets_they_need(size, text):
    assert infix(tree(size)) == text


@pytest.mark.parametrize("name", NETWORKS)
def test_players_compute_the_sizes_of_the_schedule(name):
    files = build(name)
    passes = parse(shader_of(name).text)
    textures = {t["name"]: t for t in files.schedule["textures"]}
    for height, width in ((1, 1), (48, 64), (29, 37), (1080, 1919), (2160, 4096)):
        symbols = {"height": height, "width": width}
        sizes = dict.fromkeys(("HOOKED", "picture"), (width, height))
        for one, entry, around, _ in padded(passes[1:], files):
            got = tuple(value(one.terms(side), sizes) for side in ("WIDTH", "HEIGHT"))
            result = textures[entry["writes"][0]["texture"]]
            wanted = tuple(number(result[side], symbols) + around for side in ("width", "height"))
            assert got == wanted
            sizes[one.single.get("SAVE", "")] = got


@pytest.mark.parametrize("name", NETWORKS)
def test_compute_passes_write_planes_side_by_side(name):
    options = for_user_shader(Options(package="mpv", stage="compute"))
    _, files, _ = compile_graph(import_model(NETWORKS[name](), options), options)
    shader = user_shader(files)
    assert all(validate_user_shader(shader).values())
    passes = parse(shader.text)
    if name == "espcn":
        assert any(block for *_, block in padded(passes[1:], files)), "no pass shuffles"
    textures = {t["name"]: t for t in files.schedule["textures"]}
    for height, width in ((2, 2), (48, 64), (2160, 4096)):
        symbols = {"height": height, "width": width}
        sizes = dict.fromkeys(("HOOKED", "picture"), (width, height))
        for one, entry, around, block in padded(passes[1:], files):
            planes = len(entry["writes"])
            w, h = (value(one.terms(side), sizes) for side in ("WIDTH", "HEIGHT"))
            result = textures[entry["writes"][0]["texture"]]
            own = [number(result[side], symbols) + around for side in ("width", "height")]
            grid = [w / own[0], h / own[1]]
            assert grid == {1: [1, 1], 2: [2, 1], 3: [2, 2], 4: [2, 2]}[planes]
            assert ("COMPUTE" in one.single) == (planes > 1 or block is not None)
            if planes > 1 or block is not None:
                down, across = block or grid[::-1]  # of the texels that an invocation writes
                across *= 2 if "tiles of 1x2" in one.body else 1
                assert [int(t) for t in one.terms("COMPUTE")] == [8 * across, 8 * down, 8, 8]
            sizes[one.single.get("SAVE", "")] = (w, h)


def padded(passes: list[Pass], files: BuildFiles) -> Iterator[tuple[Pass, Any, int, Any]]:
    """Yield each pass, its entry in the schedule, by how much its halo enlarges a side, and the
    block of the pixel shuffle that it stores.
    """
    for one, entry, made in zip(passes, files.schedule["passes"], files.passes, strict=True):
        layout = made.node.result.type.layout
        assert layout is not None
        block = next((shuffle.block for shuffle in parts(made.node).store), None)
        yield one, entry, 2 * layout.halo.width if layout.halo else 0, block


def number(size: Any, symbols: dict[str, int]) -> int:
    """Return the value of an expression of a schedule."""
    stack: list[int] = []
    for term in size if isinstance(size, list) else [size]:
        if term in OPERATORS:
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[term](left, right))
        else:
            stack.append(symbols.get(term, term))
    return stack.pop()


@pytest.mark.parametrize(
    "size",
    [
        ["width", 3, "+", 4, "/"],
        ["width", 2, "/", 1, "+", 3, "*", 2, "-"],
        ["width", "height", "min", 7, "max"],
        ["width", "height", "max", 2, "/", "width", 5, "%", "+"],
    ],
)
def test_sizes_mean_the_same_in_postfix_notation_and_in_glsl(size):
    names = {"width": "HOOKED.w", "height": "HOOKED.h"}
    terms = postfix(tree(size), names)
    check_terms(terms, {"HOOKED"})
    known = {"width": Variable("w", INT), "height": Variable("h", INT)}
    text = print_expression(size_expression(tree(size), known))
    for w, h in ((1, 1), (7, 3), (1920, 1080), (4095, 2161)):
        wanted = number(size, {"width": w, "height": h}) if "%" not in size else None
        here = {"w": w, "h": h, "min": min, "max": max}
        in_glsl = eval(text.replace("/", "//"), here)  # ints of GLSL
        assert value(terms, {"HOOKED": (w, h)}) == in_glsl
        assert wanted in (None, in_glsl)


def hook_of(body: Body, grids: dict[str, Grid], **more: Any) -> list[str]:
    """Return the texts of a fragment pass that binds textures of such grids."""
    program = Program("fragment", "highp", [], [], [], [], body.statements, 1)
    pixel = ivec2(Variable("pixel", INT))
    return print_pass(program, Bindings(**{"textures": {}, "tables": {}, "sizes": {}} | more,
                                        pixel=pixel, size=pixel, grids=grids))  # fmt: skip


SIDE_BY_SIDE = Grid(2, 1)


@pytest.mark.parametrize(
    ("grid", "text"),
    [(Grid(), "ivec2(a_size) - 1"), (SIDE_BY_SIDE, "a_cell - 1")],
)
def test_both_sides_of_a_texture_are_one_vector(grid, text):
    (width, height), (other, _) = sides("a", grid), sides("b", grid)
    body = Body()
    body.let("v", ivec2(Uniform("w"), Uniform("h")))
    for w, h, wanted in (
        (width - 1, height - 1, f"ivec2 v = {text};"),
        (width, height - 1, f"ivec2 v = ivec2({print_expression(width)}, "),
        (height - 1, width - 1, "ivec2 v = ivec2("),
        (other - 1, height - 1, "ivec2 v = ivec2("),
    ):
        assert wanted in hook_of(body, {}, sizes={"w": w, "h": h})[-1]


def test_sizes_are_defined_of_those_textures_alone_whose_planes_are_read():
    """The name of one ends like that of the other."""
    x = TextureBinding("u_x", "2d")
    body = Body()
    body.write(0, vec4(Texel(x, ivec2(0, 0)).x))
    grids = dict.fromkeys(("convolution1", "depthwise_convolution1"), SIDE_BY_SIDE)
    code = hook_of(body, grids, textures={"u_x": Plane("depthwise_convolution1", SIDE_BY_SIDE, 1)})
    defined = [line for text in code for line in text.splitlines() if line.startswith("#define")]
    size = "(ivec2(depthwise_convolution1_size) / ivec2(2, 1))"
    assert defined == [f"#define depthwise_convolution1_cell {size}"]


def test_upscalers_run_for_a_larger_output_only():
    shader = shader_of("upscaler", upscale_from=1.5)
    terms = shader.condition.split()
    for output, runs in ((64, 0), (96, 0), (97, 1), (128, 1)):
        sizes = {"HOOKED": (64, 64), "OUTPUT": (output, output)}
        assert value(terms, sizes) == runs
    assert value(terms, {"HOOKED": (64, 64), "OUTPUT": (128, 64)}) == 0
    assert not shader_of("denoiser").condition
    error = refusal(lambda: shader_of("denoiser", upscale_from=1.5))
    assert error.what == "--upscale-from 1.5 has no effect"


def test_sizes_that_the_build_refuses_turn_the_shader_off():
    terms = shader_of("unet").condition.split()
    found = {size: value(terms, {"HOOKED": size}) for size in ((64, 48), (64, 47), (63, 48))}
    assert found == {(64, 48): 1, (64, 47): 0, (63, 48): 0}
    assert " ".join(terms) == "HOOKED.w 2 % 0 = HOOKED.h 2 % 0 = *"  # both are at least 2, then


def test_bounds_that_every_picture_keeps_to_are_not_tested():
    """The build bounds height * width, of its largest textures."""
    reflected = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    pad = helper.make_node("Pad", ["x", "pads"], ["p"], name="pad", mode="reflect")
    pool = helper.make_node("MaxPool", ["p"], ["y"], name="pool", kernel_shape=[3, 3])
    shape = [1, 3, "h", "w"]
    shader = compiled(model_of([pad, pool], {"x": shape}, {"y": shape}, {"pads": reflected}))
    assert shader.condition == "HOOKED.h 1 > HOOKED.w 1 > *"
    assert shader.notes == tuple(
        f"{side} must be at least 2; pictures of other sizes are shown unchanged"
        for side in ("height", "width")
    )


@pytest.mark.parametrize("factor", [2, 3, 6])
def test_pictures_whose_result_would_be_rounded_are_shown_unchanged(factor):
    """At its default size, which 3 does not divide, the network makes the picture higher."""
    weights = np.ones((factor * factor, 1, 3, 3), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["m"], strides=[factor] * 2, pads=[1] * 4),
        helper.make_node("DepthToSpace", ["m"], ["y"], blocksize=factor),
    ]
    shader = compiled(model_of(nodes, {"x": [1, 1, "h", "w"]}, {"y": [None] * 4}, {"w": weights}))
    assert " filters LUMA in " in shader.text
    terms = shader.condition.split()
    for height in range(1, 20):
        runs = value(terms, {"HOOKED": (5 * factor, height)})
        assert runs == value(terms, {"HOOKED": (height, 5 * factor)}) == (height % factor == 0)
    for note, side in zip(shader.notes, ("width", "height"), strict=True):
        rule = f"{side} must be a multiple of {factor}"
        assert note == f"{rule}; pictures of other sizes are shown unchanged"


def test_scales_that_are_no_integers_need_whole_results():
    scales = {"scales": np.array([1, 1, 1.5, 0.75], np.float32)}
    shader = compiled(of_one("Resize", "", "scales", weights=scales, mode="linear"))
    terms = shader.condition.split()
    sizes = ((8, 6), (8, 5), (6, 6), (8, 7), (12, 2))
    output = (1000, 1000)
    found = [s for s in sizes if value(terms, {"HOOKED": s, "OUTPUT": output})]
    assert found == [(8, 6), (12, 2)]


def test_the_network_s_channels_choose_the_hook():
    assert [chosen_hook(n, None) for n in (1, 2, 3)] == ["LUMA", "CHROMA", "MAIN"]
    assert shader_of("denoiser", hook="OUTPUT").hook == "OUTPUT"
    assert refusal(chosen_hook, 4, None).code == "SG0405"
    wrong = refusal(chosen_hook, 3, "LUMA")
    assert wrong.why == "LUMA has 1 channel, the network has 3"
    assert wrong.supported.split(", ") == [n for n, s in STAGES.items() if s.channels == 3]
    assert "'MAIN'" in refusal(chosen_hook, 3, "MAINN").help
    assert "cannot change the size" in refusal(lambda: shader_of("upscaler", hook="SCALED")).why


def test_transparency_passes_through_networks_of_rgb():
    *_, last = parse(shader_of("upscaler").text)
    assert "HOOKED_tex(HOOKED_pos).a)" in last.body
    assert last.binds[-1] == "HOOKED"
    assert all("HOOKED" not in one.binds for one in parse(shader_of("espcn").text)[1:])


def test_layers_called_like_a_player_s_textures_do_not_name_ours():
    """Players also define input_size and target_size."""
    window = {"kernel_shape": [3, 3], "pads": [1] * 4}
    names = ("HOOKED", "picture", "gl__a/b", "input", "target", "n" * 70, "LUMA")
    chain = ("x", "a", "b", "c", "d", "e", "f", "y")
    nodes = [
        helper.make_node("MaxPool", [before], [after], name=name, **window)
        for name, before, after in zip(names, chain, chain[1:], strict=False)
    ]
    shape = [1, 1, "h", "w"]
    shader = compiled(model_of(nodes, {"x": shape}, {"y": shape}, {}))
    *saved, last = [one.single.get("SAVE") for one in parse(shader.text)]
    assert saved == ["picture", *(f"pooled{k}" for k in range(1, len(names)))]
    assert last is None
    assert all(validate_user_shader(shader).values())


def test_passes_are_described_by_role_number_and_layer():
    described = [b.description for b in shader_of("espcn").blocks]
    assert described[1] == "convolution 1 of 3 (tanh1), channels 0 to 3 of 16"
    assert described[-1] == "pixel shuffle (y)"


def test_a_linear_enlargement_by_a_convolution_is_called_so():
    described = [b.description for b in shader_of("cunny").blocks]
    assert "linear enlargement (enlarged)" in described


@pytest.mark.parametrize(
    ("scale", "mode", "window", "samples"),
    [
        (2, "half_pixel", 1, True),
        (4, "half_pixel", 1, True),
        (3, "half_pixel", 1, False),  # shares of a third are not exact in 8 bits
        (2, "asymmetric", 1, False),
        (2, "half_pixel", 3, False),  # the reader also reads neighbours
    ],
)
def test_a_linear_resize_by_a_power_of_two_is_sampled(scale, mode, window, samples):
    sides = np.array([1, 1, scale, scale], np.float32)
    resize = {"mode": "linear", "coordinate_transformation_mode": mode}
    pads = [window // 2] * 4
    nodes = [
        helper.make_node("Resize", ["x", "", "s"], ["r"], name="resize", **resize),
        helper.make_node("Resize", ["x", "", "s"], ["n"], name="nearest", mode="nearest"),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[window] * 2, pads=pads, name="p"),
        helper.make_node("Add", ["n", "p" if window > 1 else "r"], ["y"], name="sum"),
    ]
    nodes = [node for node in nodes if window > 1 or node.op_type != "MaxPool"]
    shape = [1, 1, "h", "w"]
    shader = compiled(model_of(nodes, {"x": shape}, {"y": [None] * 4}, {"s": sides}))
    assert ("resized1" not in shader.text) == samples
    assert ("picture_tex(picture_pos)" in shader.text) == samples
    assert parse(shader.text)
    assert all(validate_user_shader(shader).values())


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("/sequential/sequential.3/Relu", "sequential.3"),
        ("/1/body/body.0/body/body.1/Relu", "1.body.0.body.1"),
        ("/body/body.2/Conv_4", "body.2"),
        ("node_conv2d_1", "conv2d_1"),
        ("/Add", "Add"),
        ("dense", "dense"),
        ("model/block/conv", "model.block.conv"),
        ("/", "/"),
    ],
)
def test_layers_lose_what_exporters_add_to_their_names(name, wanted):
    assert layer(name) == wanted


def test_a_layer_called_out_is_no_name_of_a_compute_pass():
    """`out_cell` is a variable of these passes, and `out_image` what they write."""
    w = np.ones((8, 1, 1, 1), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["m"], name="out"),
        helper.make_node("Conv", ["m", "b"], ["n"], name="again", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["n", "c"], ["y"], name="last"),
    ]
    weights = {"a": w, "b": np.ones((8, 8, 3, 3), np.float32), "c": w.reshape(1, 8, 1, 1)}
    shape = [1, 1, "h", "w"]
    options = for_user_shader(Options(package="mpv", stage="compute"))
    model = import_model(model_of(nodes, {"x": shape}, {"y": [None] * 4}, weights), options)
    _, files, _ = compile_graph(model, options)
    shader = user_shader(files)
    assert sum(block.compute is not None for block in shader.blocks) == 2
    assert "#define out_cell" not in shader.text
    assert all(validate_user_shader(shader).values())


def convolution(channels: int, size: int, out: int = 4) -> Any:
    """Return a network whose middle layer reads so many channels, and its weights."""
    random = np.random.default_rng(0)
    first, last = np.ones((channels, 1, 1, 1), np.float32), np.ones((1, out, 1, 1), np.float32)
    k = random.normal(size=(out, channels, size, size)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["m"], name="first"),
        helper.make_node("Conv", ["m", "k"], ["n"], name="middle", pads=[size // 2] * 4),
        helper.make_node("Conv", ["n", "b"], ["y"], name="last"),
    ]
    shape = [1, 1, "h", "w"]
    return model_of(nodes, {"x": shape}, {"y": shape}, {"a": first, "k": k, "b": last}), k


@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize(
    ("channels", "size", "read"),
    [(32, 5, False), (48, 5, True), (60, 5, False)],  # 60: no texture unit is left
)
def test_weights_beyond_the_budget_of_constants_are_textures(channels, size, read, stage):
    options = for_user_shader(Options(package="mpv", stage=stage))
    model, k = convolution(channels, size)
    _, files, _ = compile_graph(import_model(model, options), options)
    shader = user_shader(files)
    tables = tables_of(shader.text)
    assert bool(tables) == (read or (stage, channels) == ("compute", 60))
    if tables:
        (table,) = tables
        rows = table.texels.reshape(-1, 4)[: k.size // 4]  # tap, input, lanes are outputs
        np.testing.assert_array_equal(rows, k.transpose(2, 3, 1, 0).reshape(-1, 4))
    assert parse(shader.text)
    assert all(validate_user_shader(shader).values())


def test_a_name_cannot_forge_a_header_line():
    node = helper.make_node("Relu", ["x"], ["y"], name="a\n//!HOOK OUTPUT")
    shape = [1, 1, "h", "w"]
    shader = compiled(model_of([node], {"x": shape}, {"y": shape}, {}))
    assert [one.hook for one in parse(shader.text)] == ["LUMA", "LUMA"]


def test_a_license_of_several_lines_has_as_many():
    text = shader_of("denoiser", license="© Zoë\n//!HOOK LUMA\n\ta\\").text
    assert "\n// license: © Zoë\n// // !HOOK LUMA\n// ?a\\\n\n//!HOOK MAIN\n" in text
    assert len(parse(text)) == len(shader_of("denoiser").blocks)


TWO = {"x": [1, 1, "h", "w"], "z": [1, 1, "h", "w"]}
REFUSED = {
    "two inputs": (
        model_of([helper.make_node("Add", ["x", "z"], ["y"])], TWO, {"y": [None] * 4}, {}),
        "a user shader has one input, the model has 2",
    ),
    "two outputs": (
        model_of(
            [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Exp", ["x"], ["v"])],
            {"x": [1, 1, "h", "w"]},
            {"y": [None] * 4, "v": [None] * 4},
            {},
        ),
        "a user shader has one output, the model has 2",
    ),
    "classes": (
        of_one("ReduceMean", axes=[2, 3], keepdims=0, out=2),
        "output 'y' is not a picture",
    ),
    "fixed result": (of_one("GlobalAveragePool"), "output 'y' is not a picture"),
    "column": (of_one("ReduceMean", axes=[3]), "output 'y' is not a picture"),
    "cropped": (
        of_one("Conv", "k", weights={"k": np.ones((1, 1, 3, 3), np.float32)}),
        "output 'y' is not the whole picture",
    ),
    "turned": (of_one("Transpose", perm=[0, 1, 3, 2]), "input 'x' is not a picture"),
    "turned result": (
        model_of(
            [
                helper.make_node("MaxPool", ["x"], ["p"], name="pool", kernel_shape=[3, 3],
                                 pads=[1] * 4),
                helper.make_node("Transpose", ["p"], ["y"], name="turn", perm=[0, 1, 3, 2]),
            ],
            {"x": [1, 1, "h", "w"]},
            {"y": [None] * 4},
            {},
        ),
        "output 'y' is not a picture",
    ),
    "turned between layers": (
        model_of(
            [
                helper.make_node("MaxPool", ["x"], ["p"], name="pool", kernel_shape=[3, 3],
                                 pads=[1] * 4),
                helper.make_node("Transpose", ["p"], ["t"], name="turn", perm=[0, 1, 3, 2]),
                helper.make_node("Conv", ["t", "k"], ["y"], name="conv", pads=[1, 0, 1, 0]),
            ],
            {"x": [1, 1, "h", "w"]},
            {"y": [None] * 4},
            {"k": np.ones((1, 1, 3, 1), np.float32)},
        ),
        "output 'y' is not the whole picture",
    ),
    "wide result": (
        of_one("Conv", "k", weights={"k": np.ones((8, 1, 1, 1), np.float32)}),
        "output 'y' is not a picture",
    ),
    "other channels": (
        of_one("Conv", "k", weights={"k": np.ones((3, 1, 1, 1), np.float32)}),
        "the network takes 1 channel and gives 3",
    ),
    "four channels": (
        of_one("Relu", channels=4),
        "a network of 4 channels cannot be a user shader",
    ),
    "batch": (
        model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": [2, 1, "h", "w"]},
                 {"y": [None] * 4}, {}),
        "input 'x' is not a picture",
    ),
    "rows": (
        model_of(
            [
                helper.make_node("Transpose", ["x"], ["t"], name="last", perm=[0, 2, 3, 1]),
                helper.make_node("Softmax", ["t"], ["s"], name="softmax", axis=-1),
                helper.make_node("Transpose", ["s"], ["y"], name="back", perm=[0, 3, 1, 2]),
            ],
            {"x": [1, 3, "h", "w"]},
            {"y": [None] * 4},
            {},
        ),
        "input 'x' is not a picture",
    ),
    "rows between images": (
        model_of(
            [
                helper.make_node("MaxPool", ["x"], ["p"], name="pool", kernel_shape=[3, 3]),
                helper.make_node("Transpose", ["p"], ["t"], name="last", perm=[0, 2, 3, 1]),
                helper.make_node("Softmax", ["t"], ["s"], name="softmax", axis=-1),
                helper.make_node("Transpose", ["s"], ["b"], name="back", perm=[0, 3, 1, 2]),
                helper.make_node("MaxPool", ["b"], ["y"], name="again", kernel_shape=[3, 3]),
            ],
            {"x": [1, 3, "h", "w"]},
            {"y": [None] * 4},
            {},
        ),
        "'last' cannot be a pass of a user shader",
    ),
    "whole picture": (
        model_of(
            [
                helper.make_node("GlobalAveragePool", ["x"], ["m"], name="mean"),
                helper.make_node("Sub", ["x", "m"], ["y"], name="centred"),
            ],
            {"x": [1, 3, "h", "w"]},
            {"y": [None] * 4},
            {},
        ),
        "'mean' cannot be a pass of a user shader",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_format_cannot_express_is_refused_by_name(name):
    model, what = REFUSED[name]
    error = refusal(compiled, model)
    assert (error.code, error.what) == ("SG0405", what)
    assert error.why or error.supported or error.help


def test_a_cubic_resize_by_other_factors_is_refused_with_what_to_use_instead():
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], name="bicubic", mode="cubic")
    shape, scales = [1, 1, "h", "w"], np.array([1, 1, 1.5, 2], np.float32)
    error = refusal(compiled, model_of([node], {"x": shape}, {"y": shape}, {"scales": scales}))
    assert error.what == "'bicubic' cannot be a pass of a user shader"
    assert "a list of positions" in error.why
    assert "by a whole factor" in error.help


def two_layers(channels: int, folder: Path) -> Path:
    """Write a network that has so many channels between its layers."""
    w = np.ones((channels, 1, 1, 1), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["m"], name="wide"),
        helper.make_node("Conv", ["m", "b"], ["y"], name="joined"),
    ]
    weights = {"a": w, "b": w.reshape(1, channels, 1, 1)}
    shape = [1, 1, "h", "w"]
    path = folder / "net.onnx"
    path.write_bytes(model_of(nodes, {"x": shape}, {"y": shape}, weights).SerializeToString())
    return path


@pytest.mark.parametrize("channels", [64, 80])  # players take 16, but on OpenGL 15
def test_layers_that_read_too_many_textures_are_refused(channels, tmp_path):
    path = two_layers(channels, tmp_path)
    error = refusal(compile_model, path, tmp_path / "net.glsl", Options(package="mpv"))
    assert error.code == "SG0402"
    assert error.what == f"'joined' reads {channels // 4} planes of 4 channels"
    assert "15 textures" in error.why
    assert error.help == "use --stage compute, or at most 60 channels in each layer"
    assert not (tmp_path / "net.glsl").exists()
    compile_model(path, tmp_path / "net.glsl", Options(package="mpv", stage="compute"))
    *_, last = parse((tmp_path / "net.glsl").read_text())
    assert len(last.binds) == channels // 16


def test_refusals_of_other_limits_keep_their_reason():
    def exceed() -> None:
        with within_the_format("fragment", "fp16"):
            raise ShadergenError("SG0402", "'a' needs 4 bytes of parameters", why="2 are allowed")

    error = refusal(exceed)
    assert (error.what, error.why) == ("'a' needs 4 bytes of parameters", "2 are allowed")


@pytest.mark.parametrize("after", ["GlobalAveragePool", "GlobalMaxPool", "Sum"])
def test_compute_passes_are_no_help_where_they_are_refused_too(after, tmp_path):
    """The refusal is then that of compute passes, which a user would meet next."""
    path = two_layers(64, tmp_path)
    model = onnx.load(path)
    model.graph.node[1].output[0] = "z"
    if after == "Sum":
        model.graph.node.append(helper.make_node("GlobalAveragePool", ["z"], ["p"], name="pool"))
        model.graph.node.append(helper.make_node("Sum", ["z", "p"], ["y"], name="last"))
    else:
        model.graph.node.append(helper.make_node(after, ["z"], ["y"], name="last"))
        del model.graph.output[0].type.tensor_type.shape.dim[:]
    onnx.save(model, path)
    error = refusal(compile_model, path, tmp_path / "net.glsl", Options(package="mpv"))
    assert error.code == "SG0405"
    what = "'pool' cannot be a pass of a user shader"
    assert error.what == (what if after == "Sum" else "output 'y' is not a picture")


def test_a_picture_of_fixed_size_needs_another_export():
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], name="only", mode="linear")
    shape, sizes = [1, 1, "h", "w"], np.array([1, 1, 32, 48])
    error = refusal(compiled, model_of([node], {"x": shape}, {"y": [None] * 4}, {"sizes": sizes}))
    assert error.why == (
        "its shape is 1x1x32x48; the output of a user shader needs dynamic height and width"
    )
    assert error.help == "export the model with dynamic height and width"


def test_a_layer_that_needs_a_fixed_size_is_not_told_of_one():
    """--input-size HxW is refused with --target mpv."""
    small = helper.make_node("MaxPool", ["x"], ["s"], name="pool", kernel_shape=[3, 3],
                             strides=[3, 3], auto_pad="SAME_UPPER")  # fmt: skip
    shape = helper.make_node("Shape", ["x"], ["sizes"], name="shape")
    back = helper.make_node("Resize", ["s", "", "", "sizes"], ["y"], name="only", mode="nearest")
    ports = [1, 1, "h", "w"]
    error = refusal(compiled, model_of([small, shape, back], {"x": ports}, {"y": ports}, {}))
    assert error.code == "SG0207"
    assert error.help.startswith("videos can have any size: replace this layer")


def test_compute_passes_read_up_to_240_channels(tmp_path):
    options = Options(package="mpv", stage="compute")
    compile_model(two_layers(240, tmp_path), tmp_path / "net.glsl", options)
    error = refusal(compile_model, two_layers(241, tmp_path), tmp_path / "net.glsl", options)
    assert (error.code, error.help) == ("SG0402", "use at most 240 channels in each layer")


def test_what_passes_save_is_rounded_to_the_nearest_16_bit_float():
    """The shader's arithmetic on bits, in numpy."""
    assert "(floatBitsToUint(v) + 0x1000u) & 0xFFFFE000u" in ROUNDED
    v = np.random.default_rng(0).normal(0, 1, 10_000).astype(np.float32)
    v = np.concatenate((v, v * 1e-3, [0.0, 1.0, -1.0, 65504.0])).astype(np.float32)
    v = v[abs(v) > 2.0**-14]  # smaller ones have fewer digits
    bits = v.view(np.uint32)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    assert (rounded.view(np.float32) == v.astype(np.float16)).all()


def test_templates_refuse_what_is_not_given():
    with pytest.raises(Exception, match="undefined"):
        templates().get_template("user_shader_player.frag.j2").render()
