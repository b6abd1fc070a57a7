"""Where tensors lie, how kernels run, and which textures share memory."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from support import ESPCN, compile_graph, conv, graph_of, image, pointwise, refusal
from support.pass_support import X, context

from shadergen.backends.devices import DEVICES
from shadergen.backends.kernels import KernelFamilies, lower
from shadergen.backends.kernels.weight_blocks import weight_floats
from shadergen.backends.kernels.weight_storage import parameter_floats
from shadergen.compiler.compilation import import_model
from shadergen.compiler.options import Options
from shadergen.ir import text, text_parser
from shadergen.ir.graph import Choice, Graph, Input, Port, Value, apply, constant
from shadergen.ir.ops import (
    Conv,
    DepthToSpace,
    Pool,
    Softmax,
)
from shadergen.ir.types import Halo, TensorType
from shadergen.passes import pipeline
from shadergen.passes.allocate_textures import allocate_textures
from shadergen.passes.assign_layouts import assign_layouts
from shadergen.passes.choose_kernels import FEW_PROGRAMS, NETWORK_BUDGET, Ranking, choose_kernels
from shadergen.passes.choose_precision import choose_precision
from shadergen.passes.placement.kinds import tensor_operands
from shadergen.passes.placement.target import Target
from shadergen.passes.predict_cost import Predictor
from shadergen.passes.rule import Context
from shadergen.passes.store_halos import store_halos

RNG = np.random.default_rng(0)
X64 = image(1, 64, 64, 64)
pytestmark = pytest.mark.usefixtures("fresh_random_numbers")


def placed(value: Value, *inputs: Input, **options) -> Graph:
    found = context(**options)
    return assign_layouts(choose_precision(graph_of(value, inputs=inputs), found), found)


@pytest.mark.parametrize(
    ("channels", "textures", "precision", "layout"),
    [(1, "auto", "highp", "2d.r32f"), (2, "auto", "mediump", "2d.rg16f"),
     (3, "auto", "highp", "2d.rgba32f"), (5, "auto", "highp", "array.rgba32f"),
     (5, "2d", "mediump", "2d.rgba16f"), (1, "array", "highp", "array.r32f")],
)  # fmt: skip
def test_textures_follow_channels_and_options(channels, textures, precision, layout):
    x = image(1, channels, 4, 4)
    graph = placed(pointwise("x0", x), x, textures=textures, precision=precision)
    for value in (graph.inputs[0], graph.outputs[0].value):
        assert f"{value.type.layout.kind}.{value.type.layout.format}" == layout


@pytest.mark.parametrize(
    ("shape", "rows"),
    [((1, 1, 4, 2049), (513, 4)), ((1, 1, 3000, 4), (64, 47)), ((1, 1028, 2, 2), (64, 33))],
)
def test_maps_beyond_a_limit_lie_in_rows(shape, rows):
    x = image(*shape)
    graph = placed(pointwise("tanh(x0)", x), x, device="gles30-min")
    assert graph.outputs[0].value.type.layout.rows == rows


@pytest.mark.parametrize(
    ("shape", "why"),
    [((1, 1, 4, 2049), "4x2049 texels, the device profile allows 2048"),
     ((1, 1028, 2, 2), "257 layers, the device profile allows 256")],
)  # fmt: skip
def test_the_limit_that_puts_a_map_in_rows_is_explained(shape, why):
    x = image(*shape)
    found = context(device="gles30-min")
    graph = graph_of(pointwise("tanh(x0)", x), inputs=(x,))
    assign_layouts(choose_precision(graph, found), found)
    explained = {d.subject: d.why for d in found.decisions if d.step == "assign layouts"}
    assert explained == {"x": why, graph.nodes[0].name: why}


def test_tensors_beyond_every_texture_are_refused_with_the_numbers():
    x = image(1 << 17, 1 << 16)
    refused = refusal(lambda: placed(pointwise("tanh(x0)", x), x, device="gles30-min"))
    assert refused.code == "SG0401"
    assert refused.why == "it has 2147483648 texels, the device profile allows 1073741824"


@pytest.mark.parametrize("where", ["weights", "operand", "parameter"])
def test_constants_beyond_fp16_are_refused_at_mediump(where):
    huge = {"weights": (4, 8, 1, 1), "operand": (8, 6, 6), "parameter": (8, 1, 1)}[where]
    c = constant(np.full(huge, -7e4), "huge")
    y = apply(Conv(), X, c) if where == "weights" else pointwise("x0 * x1", X, c)
    refused = refusal(lambda: placed(y, X, precision="mediump"))
    assert (refused.code, refused.what) == (
        "SG0404",
        "constant 'huge' holds 70000, too large for 16 bits",
    )
    placed(y, X)


def chosen(y: Value, **options) -> Choice:
    graph = placed(y, y.node.inputs[0], **options)
    (node,) = choose_kernels(graph, context(**options)).nodes
    return node.choice


@pytest.mark.parametrize(("width", "cores"), ((64, 1), (65, 2)))
def test_a_draw_of_one_tile_uses_one_of_two_cores(width, cores):
    x = image(1, 4, 64, width)
    ctx = context(device="llvmpipe")
    (node,) = placed(pointwise("tanh(x0)", x), x, device="llvmpipe").nodes
    draw = next(c for c in ctx.kernels.choices(node) if c.stage == "fragment")
    counts = Predictor(node, ctx.kernels).cost_counts(draw)
    assert counts["store"] == 64 * width * 2 / cores
    pixel = next(c for c in ctx.kernels.choices(node) if (c.stage, c.block) == ("compute", (1, 1)))
    assert Predictor(node, ctx.kernels).cost_counts(pixel)["image_store"] == 64 * width


@pytest.mark.parametrize(("channels", "stage"), ((32, "fragment"), (36, "compute")))
def test_of_nests_predicted_alike_the_fewest_passes_win(channels, stage):
    x = image(1, 4, 68, 68)
    pool = apply(Pool("max", (3, 3), pads=(1, 1, 1, 1)), conv(RNG, x, channels, (1, 1)))
    placed = pipeline.optimise(graph_of(pool, inputs=(x,)), context(device="llvmpipe"))
    assert placed.nodes[-1].choice.stage == stage  # fragment passes have room for 32 channels


@pytest.mark.parametrize(
    ("limits", "glsl", "why"),
    [
        ({}, 300, "GLSL ES 300 has no compute shaders"),
        ({"workgroup_invocations": 0}, 310, "the device profile has no compute shaders"),
        (
            {"workgroup_invocations": 32},
            310,
            "the device allows 32 invocations in a workgroup, 64 are needed",
        ),
        ({"compute_images": 0}, 310, "the device profile has no image units for compute shaders"),
        ({}, 310, ""),
    ],
)
def test_the_limit_that_excludes_compute_shaders_is_named(limits, glsl, why):
    device = replace(DEVICES["gles31-min"].limits, **limits)
    assert Target(device, glsl).lacks_compute == why


def chosen_weights(y: Value, **options) -> str | None:
    return chosen(y, **options).weights


def test_weights_move_from_constants_to_a_block_to_a_texture_as_they_grow():
    narrow, wide = image(1, 8, 360, 640), image(1, 64, 360, 640)
    assert chosen_weights(conv(RNG, narrow, 16, (3, 3))) == "constants"
    assert chosen_weights(conv(RNG, wide, 64, (3, 3), groups=64)) == "constants"
    assert chosen_weights(conv(RNG, wide, 16, (2, 2))) == "constants"
    wider = image(1, 256, 360, 640)
    assert chosen_weights(conv(RNG, wider, 16, (3, 3))) == "texture"
    large = {"device": "amd-rdna", "stage": "fragment", "winograd": "off"}
    assert chosen_weights(conv(RNG, wide, 16, (3, 3)), **large) == "ubo"
    assert chosen_weights(conv(RNG, wider, 16, (3, 3)), **large) == "ssbo"  # all planes at once


def test_constants_go_to_the_layers_with_the_most_pixels_until_the_network_has_spent_them():
    x = image(1, 16, 360, 640)
    values = [conv(RNG, x, 16, (3, 3), layer="large")]
    for i in range(NETWORK_BUDGET // (16 * 16 * 9)):
        pads = (1, 1, 1, 1) if i else (0, 0, 0, 0)
        values.append(conv(RNG, values[-1], 16, (3, 3), layer=f"small{i}", pads=pads))
    last = conv(RNG, x, 16, (3, 3), pads=(1, 1, 1, 1), layer="largest")
    found = context(device="gles30")
    graph = graph_of(values[-1], last, inputs=(x,))
    graph = choose_kernels(assign_layouts(choose_precision(graph, found), found), found)
    stored = {n.name: n.choice.weights for n in graph.nodes}
    assert stored["largest"] == stored["large"] == "constants"
    assert stored[f"small{len(values) - 2}"] == "texture"
    (why,) = (d.why for d in found.decisions if d.subject == f"small{len(values) - 2}")
    assert re.search(
        r"the lowest of \d+ candidates; constant weights would be faster, but compile too slowly "
        "for this gain$",
        why,
    )


@pytest.mark.parametrize(("beside", "weights"), [(4, "constants"), (256, "texture")])
def test_a_layer_that_saves_a_large_share_of_the_frame_may_exceed_the_budget(beside, weights):
    x = image(1, 24, 180, 320)
    values = [x]
    for k in range(6):
        values.append(conv(RNG, values[-1], 24, (3, 3), layer=f"layer{k}", pads=(1, 1, 1, 1)))
    other = image(1, beside, 180, 320, name="other")
    graph = graph_of(
        values[-1], conv(RNG, other, beside, (3, 3), layer="beside"), inputs=(x, other)
    )
    found = context(device="gles30", winograd="off")
    graph = choose_kernels(assign_layouts(choose_precision(graph, found), found), found)
    stored = [n.choice.weights for n in graph.nodes if n.name.startswith("layer")]
    assert stored == ["constants"] * 4 + [weights] * 2


def test_constants_must_save_more_of_the_frame_in_networks_of_many_programs():
    def stored(others: int) -> set[str | None]:
        x, small = image(1, 256, 128, 128), image(1, 16, 360, 640, name="small")
        y = x
        for k in range(others):  # each another program
            pads, dilations = (k + 1,) * 4, (k + 1, k + 1)
            y = conv(RNG, y, 256, (3, 3), f"wide{k}", pads=pads, dilations=dilations)
        z = conv(RNG, small, 16, (3, 3), "narrow")
        found = context(device="gles30")
        graph = graph_of(y, z, inputs=(x, small))
        graph = choose_kernels(assign_layouts(choose_precision(graph, found), found), found)
        return {n.choice.weights for n in graph.nodes if n.name == "narrow"}

    assert stored(FEW_PROGRAMS) == {"constants"}
    assert stored(FEW_PROGRAMS + 1) == {"texture"}


def test_convolutions_that_differ_in_size_alone_share_a_program_where_it_costs_little():
    """8 pixels at once are best for rows of 56, by 3.4 %, and 7 for those of 28, by 10 %."""
    x = image(1, 64, 56, 56)
    y = before = conv(RNG, x, 64, (1, 1), layer="first")  # an image, as all that follows
    for number, channels in enumerate((64, 128, 128)):
        y = conv(RNG, y, channels, (3, 3), layer=f"layer{number}", pads=(1, 1, 1, 1))
        if number == 0:
            y = apply(Pool("max", (2, 2), strides=(2, 2)), y, layer="pool")
    options = {"device": "llvmpipe", "winograd": "off"}
    graph, files, found = compile_graph(graph_of(y, inputs=(x,)), **options)
    blocks = {n.name: n.choice.block for n in graph.nodes if n.name.startswith("layer")}
    assert blocks == {"layer0": (7, 1), "layer1": (7, 1), "layer2": (7, 1)}
    named = {p["name"]: p["shader"] for p in files.schedule["passes"]}
    assert named["layer0"] == named["layer2"]
    assert any("but fewer layers share its shader" in d.why for d in found.decisions)
    alone = conv(RNG, before, 64, (3, 3), layer="layer0", pads=(1, 1, 1, 1))
    graph, _, _ = compile_graph(graph_of(alone, inputs=(x,)), **options)
    assert {n.choice.block for n in graph.nodes if n.name == "layer0"} == {(8, 1)}


@pytest.mark.parametrize(
    ("channels", "out", "groups", "kernel"),
    [(8, 16, 1, (3, 3)), (5, 3, 1, (1, 2)), (2, 6, 1, (3, 3)), (8, 8, 8, (3, 3)),
     (4, 8, 4, (3, 3)), (63, 63, 21, (2, 2)), (64, 128, 64, (3, 3)), (12, 8, 4, (1, 1))],
)  # fmt: skip
@pytest.mark.parametrize("mrt", [1, 4])
def test_the_weights_counted_are_the_weights_a_shader_declares(channels, out, groups, kernel, mrt):
    from shadergen.backends.kernels import lower

    x = image(1, channels, 6, 6)
    found = context(weights="ubo", mrt=mrt)
    graph = pipeline.optimise(
        graph_of(conv(RNG, x, out, kernel, groups=groups), inputs=(x,)), found
    )
    most = max(
        sum(r.size for r in b.blob.rows) for p in lower(graph, found.target) for b in p.blocks
    )
    (node,) = graph.nodes
    planes = node.choice.planes
    assert most == weight_floats(node, planes) + parameter_floats(node, planes, found.target)


def test_weight_storage_that_is_too_small_or_absent_is_refused():
    big = conv(RNG, image(1, 64, 6, 6), 64, (3, 3), layer="big")
    refused = refusal(lambda: chosen_weights(big, weights="ubo", mrt=4))
    assert (refused.code, refused.where) == ("SG0402", ("layer big",))
    assert refused.why == "a GPU pass reads 36928 bytes, the limit is 16384"
    refused = refusal(lambda: chosen_weights(big, weights="ssbo"))
    assert refused.code == "SG0403"
    assert refused.why == "the target is GLSL ES 300 with 0 storage blocks"
    least = {"glsl": 310, "device": "gles31-min", "weights": "ssbo"}
    refused = refusal(lambda: chosen_weights(big, **least, stage="fragment"))
    assert refused.why == "the target is GLSL ES 310 with 0 storage blocks"
    huge = conv(RNG, image(1, 512, 9, 9), 512, (5, 5))
    refused = refusal(lambda: chosen_weights(huge, weights="constants", mrt=4))
    assert refused.code == "SG0402"
    assert "the limit is 262144" in refused.why
    assert chosen_weights(big, weights="ssbo", glsl=310, device="gles31-mobile") == "ssbo"


@pytest.mark.parametrize(
    ("blocks", "stages"), [("uniform_blocks", 0), ("compute_uniform_blocks", 1)]
)
def test_room_for_weights_is_that_of_the_stage(blocks, stages):
    target = Options(device="gles31-min", weights="ubo").target()
    target = replace(target, limits=replace(target.limits, **{blocks: 0}))
    graph = pipeline.optimise(
        graph_of(conv(RNG, X, 8, (3, 3)), inputs=(X,)), Context(KernelFamilies(target))
    )
    (node,) = graph.nodes
    assert node.choice.stage == ("compute", "fragment")[stages]
    assert node.choice.weights == "ubo"


@pytest.mark.parametrize(
    ("channels", "mrt", "device", "want"),
    [(17, None, "gles30", 3), (16, None, "gles30", 4), (3, None, "gles30", 1), (17, 2, "gles30", 2),
     (32, None, "gles32-desktop", 8), (40, None, "gles32-desktop", 5), (17, 1, "gles30", 1)],
)  # fmt: skip
def test_planes_are_shared_out_evenly_over_the_fewest_passes(channels, mrt, device, want):
    y = conv(RNG, X, channels, (1, 1))
    assert chosen(y, mrt=mrt, device=device, stage="fragment").planes == want


def test_more_render_targets_than_the_device_has_are_refused():
    refused = refusal(choose_kernels, graph_of(X, inputs=(X,)), context(mrt=5))
    assert (refused.code, refused.why) == ("SG0402", "the device profile has 4 draw buffers")
    assert refused.help == "use --mrt 4 or less, or another --device"


def lifetimes(graph: Graph) -> dict[Value, tuple[int, int]]:
    """Return first write and last read, found the slow way."""
    order = {n: k for k, n in enumerate(graph.nodes)}
    return {
        n.result: (order[n], max([order[m] for m in graph.nodes if n.result in tensor_operands(m)]
                                 or [order[n]]))
        for n in graph.nodes
    }  # fmt: skip


def assert_slots_do_not_overlap(graph: Graph) -> None:
    alive = lifetimes(graph)
    outputs = {o.value for o in graph.outputs}
    for a, (start, end) in alive.items():
        for b, (start2, end2) in alive.items():
            if a is b or a.type.layout.slot != b.type.layout.slot:
                continue
            assert end < start2 or end2 < start, f"{a.name} and {b.name} overlap"
            assert not {a, b} & outputs
            assert a.type.layout == b.type.layout
            assert a.shape[2:] == b.shape[2:]


def texel_total(graph: Graph, shared: bool) -> int:
    slots: dict[object, int] = {}
    for n in graph.nodes:
        t = n.result.type
        key = t.layout.slot if shared else n
        slots[key] = max(slots.get(key, 0), t.layers * t.extent[0] * t.extent[1])
    return sum(slots.values())


def test_espcn_shares_textures_and_its_peak_is_below_the_sum():
    imported = import_model(ESPCN, Options(input_size={"": (12, 16)}))
    graph = pipeline.optimise(imported, context())
    assert_slots_do_not_overlap(graph)
    deep = graph_of(_deep(12), inputs=(X,))
    graph = pipeline.optimise(deep, context())
    assert_slots_do_not_overlap(graph)
    assert texel_total(graph, shared=True) * 3 <= texel_total(graph, shared=False)


def _deep(layers: int) -> Value:
    y: Value = X
    for k in range(layers):
        y = pointwise("tanh(x0)", conv(RNG, y, 8, (1, 1), f"c{k}"))
    return y


@pytest.mark.parametrize("seed", range(12))
def test_slots_of_random_graphs_never_overlap(seed):
    rng = np.random.default_rng(seed)
    pool: list[Value] = [X]
    for k in range(14):
        picks = [pool[int(rng.integers(max(0, len(pool) - 4), len(pool)))] for _ in range(2)]
        y = conv(rng, picks[0], int(rng.choice([8, 8, 4, 12])), (1, 1), f"c{k}")
        if y.shape == picks[1].shape:
            y = pointwise("tanh(x0 + x1)", y, picks[1])
        pool.append(y)
    graph = graph_of(pool[-1], pool[5], inputs=(X,))
    graph = pipeline.optimise(graph, context())
    assert_slots_do_not_overlap(graph)
    assert text.to_text(allocate_textures(graph, context())) == text.to_text(graph)


def test_a_kernel_is_chosen_for_each_node_by_a_name_of_its_own():
    context = Context(KernelFamilies(Target(DEVICES["gles30"].limits)))
    scores = apply(Softmax((2, 3)), X, layer="scores")
    graph = pipeline.optimise(graph_of(scores, inputs=(X,)), context)
    assert {n.name for n in graph.nodes} == {"scores"}
    decisions = [d for d in context.decisions if d.choice is not None]
    assert [d.choice for d in decisions] == [n.choice for n in graph.nodes]
    assert [d.decision for d in decisions] == [str(n.choice) for n in graph.nodes]
    chosen = [d.subject for d in decisions]
    assert len(set(chosen)) == len(chosen) == len(graph.nodes) > 1
    assert all(subject.startswith("scores (") for subject in chosen)


def test_the_smallest_device_compiles_with_every_option_at_its_default():
    target = Target(DEVICES["gles30-min"].limits)
    graph = pipeline.optimise(graph_of(_deep(2), inputs=(X,)), Context(KernelFamilies(target)))
    assert all(n.result.type.layout is not None for n in graph.nodes)
    assert TensorType((1, 8, 6, 6)) == graph.nodes[0].result.type.placed(None)


def test_a_map_of_more_workgroups_than_there_are_stays_in_fragments():
    target = Target(DEVICES["gles31-min"].limits, glsl=310, stage="compute")
    x = Input(TensorType((1, 20, 2048, 2048)), "x", Port.plain(4))
    pool = apply(Pool("max", (3, 3), pads=(1, 1, 1, 1)), x, layer="pool")
    context = Context(KernelFamilies(target))
    graph = pipeline.optimise(graph_of(pool, inputs=(x,)), context)
    assert [n.choice.stage for n in graph.nodes] == ["fragment"]
    assert "more workgroups than 65535" in next(
        d.why for d in context.decisions if d.step == "choose kernels"
    )
    assert lower(graph, target)


@pytest.mark.parametrize(("bias", "storage"), [(False, "texture"), (True, "ssbo")])
def test_weights_and_bias_together_fit_one_texture_or_go_to_a_storage_block(bias, storage):
    """1024 x 1024 x 4 x 4 weights fill a texture of 2048 x 2048; a bias has no room after them."""
    target = Target(DEVICES["gles31-min"].limits, glsl=310)
    x = Input(TensorType((1, 1024, 4, 4)), "x", Port.plain(4))
    weights = constant(np.zeros((1024, 1024, 4, 4), np.float32), "weights")
    operands = [constant(np.ones(1024), "bias")] if bias else []
    y = apply(Conv(), x, weights, *operands, layer="conv")
    (node,) = pipeline.optimise(graph_of(y, inputs=(x,)), Context(KernelFamilies(target))).nodes
    assert (node.choice.stage, node.choice.weights) == ("compute", storage)


def test_no_program_is_shared_that_spills() -> None:
    """It comes last, and costs no more than the best: its cost does not know of the spills."""
    fits, spills = (Choice(weights="ubo", block=(1, n)) for n in (2, 8))
    costs = ((1.0, fits), (1.01, spills))
    assert Ranking(costs).near_ties() == costs
    assert Ranking(costs, spilling=frozenset({spills})).near_ties() == costs[:1]
    assert Ranking(costs, spilling=frozenset({fits, spills})).near_ties() == costs


@pytest.mark.parametrize(("device", "fused"), [("gles31-mobile", False), ("mali-bifrost", True)])
def test_no_pixel_shuffle_is_fused_where_the_convolution_then_spills(device, fused) -> None:
    """A kernel that stores a shuffle computes four planes: too many for VideoCore's registers."""
    found = context(device=device)
    y = apply(DepthToSpace((2, 2), "crd"), conv(RNG, X64, 128, (1, 1)), layer="shuffle")
    graph = pipeline.optimise(graph_of(y, inputs=(X64,)), found)
    assert len(graph.nodes) == (1 if fused else 2)
    whys = [d.why for d in found.decisions if d.step == "fuse scatter epilogue"]
    assert any("predicted to spill" in why for why in whys) == (not fused)


# halos


def with_halos(**readers) -> dict[str, str]:
    """Return the layouts of a map, its readers, and an output; readers are convolutions of it."""
    x = image(1, 4, 8, 8)
    y = conv(RNG, x, 4, (3, 3), "map", pads=(1, 1, 1, 1))
    results = [conv(RNG, y, 4, (5, 5), name, **more) for name, more in readers.items()]
    found = context(package="mpv", textures="2d", mrt=1)
    graph = assign_layouts(choose_precision(graph_of(*results, inputs=(x,)), found), found)
    graph = store_halos(graph, found)
    printed = text.to_text(graph)
    assert text.to_text(text_parser.parse(printed, text.constants(graph))) == printed
    return {n.layers[0]: str(n.result.type.layout.halo) for n in graph.nodes}


def test_a_map_has_the_halo_of_the_most_readers_that_pad_alike():
    wide, narrow = {"pads": (2, 2, 2, 2)}, {"pads": (1, 1, 0, 1)}
    edge = {"pads": (2, 2, 2, 2), "pad_mode": "edge"}
    got = with_halos(a=narrow, b=wide, c=edge)
    assert got == {"map": str(Halo("zeros", 2)), "a": "None", "b": "None", "c": "None"}
    assert with_halos(a=edge)["map"] == str(Halo("edge", 2))


@pytest.mark.parametrize(
    "reader",
    [{}, {"pads": (2, 2, 2, 2), "pad_mode": "reflect"}, {"pads": (2, 2, 2, 2), "pad_value": 1.0}],
)
def test_other_padding_has_no_halo(reader):
    assert with_halos(a=reader)["map"] == "None"
