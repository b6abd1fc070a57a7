"""Estimates of times on named GPUs: bytes and milliseconds by hand, and cycles of compilers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from support import ESPCN, compile_graph, conv, graph_of, image, pointwise, refusal

from shadergen import ShadergenError, compile_model
from shadergen.backends.devices.families import FAMILIES
from shadergen.backends.devices.gpus import GPUS, Gpu
from shadergen.backends.user_shader.frame import EXPLICIT
from shadergen.compiler.compilation import import_model
from shadergen.compiler.estimation import estimate, gpus_of
from shadergen.compiler.options import Options
from shadergen.passes.placement.target import Limits

HEIGHT, WIDTH = 5, 6
PIXELS = HEIGHT * WIDTH
TEXEL, HALF_TEXEL = 16, 8  # bytes of four floats
FAST = 1e6  # a rate that limits nothing
UNLIMITED = Gpu("test", "amd-rdna", 1.0, 10**6, 10**6, TEXEL, 10**6, FAST)


def convolution(**options):
    """Return the schedule of a 3x3 convolution without border, from 8 channels to 12."""
    x = image(1, 8, HEIGHT + 2, WIDTH + 2)
    y = conv(np.random.default_rng(0), x, 12, (3, 3))
    options = {"weights": "constants", "winograd": "off"} | options
    return compile_graph(graph_of(y, inputs=(x,)), **options)[1].schedule


def relu(**options):
    x = image(1, 4, HEIGHT, WIDTH)
    return compile_graph(graph_of(pointwise("relu(x0)", x), inputs=(x,)), **options)[1].schedule


def on(gpu: Gpu, schedule):
    """Return the only pass's estimate."""
    (frame,) = estimate(schedule, {"test": gpu})
    (found,) = frame.passes
    return found


def test_a_pointwise_pass_moves_each_texel_in_and_out_once():
    moved = on(UNLIMITED, relu()).traffic
    assert (moved.read, moved.fetched, moved.written) == (PIXELS * TEXEL,) * 3


def test_a_convolution_moves_its_input_once_with_a_cache_and_nine_times_without():
    moved = on(UNLIMITED, convolution()).traffic
    assert moved.read == (HEIGHT + 2) * (WIDTH + 2) * 2 * TEXEL
    assert moved.fetched == PIXELS * 9 * 2 * TEXEL
    assert moved.written == PIXELS * 3 * TEXEL


def test_weights_in_a_block_are_moved_too():
    plain, moved = (on(UNLIMITED, convolution(weights=w)).traffic for w in ("constants", "ubo"))
    rows = (9 * 8 + 1) * 3  # four weights each, and biases
    assert (plain.weights, moved.weights) == (0, rows * TEXEL)
    assert moved.read - plain.read == rows * TEXEL
    assert moved.texels == plain.texels == {"rgba32f": PIXELS * 9 * 2}
    assert moved.fetched - plain.fetched == (rows - 3) * TEXEL * PIXELS  # biases: registers
    assert moved.written == plain.written


def test_texels_are_told_apart_by_their_format():
    options = {"weights": "texture", "weight_format": "int8", "precision": "highp"}
    moved = on(UNLIMITED, convolution(**options)).traffic
    rows = 9 * 8 * 3
    assert moved.texels == {"rgba32f": PIXELS * (9 * 2 + 2 * 3), "rgba8": PIXELS * rows}
    assert moved.fetched == PIXELS * ((9 * 2 + 2 * 3) * TEXEL + rows * 4)


def test_16_bits_halve_the_bytes():
    wide, narrow = (on(UNLIMITED, convolution(precision=p)).traffic for p in ("fp32", "fp16"))
    assert (narrow.read, narrow.fetched, narrow.written) == (
        wide.read // 2, wide.fetched // 2, wide.written // 2
    )  # fmt: skip


def test_a_strided_pass_reads_no_texel_that_it_does_not_fetch():
    x = image(1, 4, 2 * HEIGHT, 2 * WIDTH)
    y = conv(np.random.default_rng(0), x, 4, (1, 1), strides=(2, 2))
    schedule = compile_graph(graph_of(y, inputs=(x,)))[1].schedule
    assert on(UNLIMITED, schedule).traffic.read == PIXELS * TEXEL


MICROSECOND = 1e-3  # in milliseconds


def test_each_unit_takes_what_its_published_rate_says():
    gpu = replace(UNLIMITED, texels=3, pixels=5, gigabytes=2.0)
    units = on(gpu, convolution()).units
    moved = (HEIGHT + 2) * (WIDTH + 2) * 2 * TEXEL + PIXELS * 3 * TEXEL
    assert units["memory"] == pytest.approx(moved / 2.0 * 1e-3 * MICROSECOND)
    assert units["textures"] == pytest.approx(PIXELS * 9 * 2 / 3 * 1e-3 * MICROSECOND)
    words = TEXEL / 4  # of a pixel that takes as many cycles
    assert units["render targets"] == pytest.approx(PIXELS * 3 * words / 5 * 1e-3 * MICROSECOND)


def test_texels_wider_than_the_full_rate_take_longer():
    full, half = (on(replace(UNLIMITED, texel_bytes=n), convolution()) for n in (16, 8))
    assert half.units["textures"] == pytest.approx(2 * full.units["textures"])
    narrow = on(replace(UNLIMITED, texel_bytes=8), convolution(precision="fp16"))
    assert narrow.units["textures"] == pytest.approx(full.units["textures"])


@pytest.mark.parametrize(
    ("family", "low", "high"),
    [("mali-bifrost", 0.5, 0.6), ("mali-valhall", 0.5, 0.6), ("adreno-6xx", 0.6, 0.95)],
)
def test_arithmetic_of_16_bits_takes_the_time_that_the_family_needs(family, low, high):
    gpu = replace(UNLIMITED, family=family)
    full, half = (on(gpu, convolution(precision=p)).units for p in ("fp32", "fp16"))
    assert low < half["arithmetic"] / full["arithmetic"] < high


@pytest.mark.parametrize(("family", "paired"), [("amd-rdna", True), ("videocore-6", False)])
def test_explicit_16_bit_types_multiply_pairs_where_the_family_does(family, paired):
    data = convolution(precision="fp16")
    gpu = replace(UNLIMITED, family=family)
    mediump = on(gpu, data).units["arithmetic"]
    for same in ({EXPLICIT: True}, {"requires": data["requires"] | {"wgsl": "f16"}}):
        explicit = on(gpu, data | same).units["arithmetic"]
        assert explicit < 0.8 * mediump if paired else explicit == pytest.approx(mediump)


def test_twice_the_clock_halves_all_but_memory_and_start():
    slow, fast = (on(replace(UNLIMITED, gigahertz=n), convolution()).units for n in (1.0, 2.0))
    same = {unit for unit in slow if slow[unit] == fast[unit]}
    assert same == {"memory", "start"}
    assert all(slow[u] == pytest.approx(2 * fast[u]) for u in slow.keys() - same)


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"lanes": 1}, "arithmetic"),
        ({"texels": 1}, "textures"),
        ({"gigabytes": 1e-3}, "memory"),
        ({"pixels": 1}, "render targets"),
        ({}, "start"),
    ],
)
def test_the_slowest_unit_limits_a_pass(change, limit):
    slowed = {name: value / 100 for name, value in change.items()}  # slower than a start
    found = on(replace(UNLIMITED, **slowed), convolution())
    assert found.limit == limit
    busy = max(ms for unit, ms in found.units.items() if unit != "start")
    assert found.milliseconds == pytest.approx(found.units["start"] + busy)


def test_without_caches_memory_may_take_longer():
    found = on(replace(UNLIMITED, gigabytes=1e-3), convolution())
    moved = found.traffic
    assert found.milliseconds_uncached - found.milliseconds == pytest.approx(
        (moved.fetched - moved.read) / 1e-3 * 1e-3 * MICROSECOND
    )


def test_a_frame_is_its_passes_one_after_another():
    graph = import_model(ESPCN, Options(input_size={"": (36, 64)}))
    schedule = compile_graph(graph)[1].schedule
    for frame in estimate(schedule, GPUS):
        assert len(frame.passes) == len(schedule["passes"])
        assert frame.milliseconds == pytest.approx(sum(p.milliseconds for p in frame.passes))
        assert frame.milliseconds_uncached >= frame.milliseconds
        assert sum(frame.limits.values()) == pytest.approx(1.0)
        assert set(frame.limits) == {p.limit for p in frame.passes}


def test_each_family_has_rates_first_those_of_the_gpu_its_costs_are_for():
    for family, profile in FAMILIES.items():
        names = list(gpus_of(family))
        assert names[0] == profile.gpu
        assert all(GPUS[name].family == family for name in names)
    assert {gpu.family for gpu in GPUS.values()} == set(FAMILIES)


@pytest.mark.parametrize("profile", ["gles30", "webgl2-min", "gles31-mobile"])
def test_a_profile_of_all_gpus_is_estimated_on_all(profile):
    assert gpus_of(profile) == GPUS


def test_a_profile_of_desktops_is_estimated_on_desktops():
    families = {gpu.family for gpu in gpus_of("gles32-desktop").values()}
    assert families == {"amd-rdna", "nvidia", "intel-gen12"}


def test_a_saved_profile_is_estimated_on_its_renderers_family(tmp_path):
    numbers = dict.fromkeys(Limits.__dataclass_fields__, 8)
    saved = {"limits": numbers, "glsl": 310, "fetch": "texel", "renderer": "Mali-G76"}
    (tmp_path / "mine.json").write_text(json.dumps(saved))
    assert gpus_of(str(tmp_path / "mine.json")) == gpus_of("mali-bifrost")


def test_software_has_no_published_rates():
    error = refusal(gpus_of, "llvmpipe")
    assert (error.code, error.what) == (
        "SG0301", "no GPU of device profile 'llvmpipe' has published rates"
    )  # fmt: skip
    assert "mali-bifrost" in error.supported and "shadergen bench" in error.help


@pytest.mark.parametrize("part", ["work", "fetches", "loads"])
def test_a_build_without_counts_is_refused(part):
    schedule = convolution(weights="ubo") | {"version": "5.2"}
    for p in schedule["passes"]:
        for entry in (p, *p["reads"], *p["blocks"]):
            entry.pop(part, None)
    error = refusal(estimate, schedule, GPUS)
    assert error.code == "SG0301"
    assert error.why == "this build has schedule format 5.2; 5.3 added the counts"
    assert error.help.startswith("compile the model again")


@pytest.mark.parametrize("gpu", ["Adreno 630", "Adreno 740"])
def test_a_build_for_a_family_is_not_slower_than_a_generic_one(gpu):
    """GPUs' compilers take fewer instructions for it, because its weights are in registers."""
    x = image(1, 24, 180, 320)
    y = x
    for name in ("first", "second"):
        y = conv(np.random.default_rng(0), y, 24, (3, 3), name)
    graph, times = graph_of(y, inputs=(x,)), {}
    for profile in ("gles30", GPUS[gpu].family):
        schedule = compile_graph(graph, device=profile)[1].schedule
        (frame,) = estimate(schedule, {gpu: GPUS[gpu]})
        times[profile] = frame.milliseconds
    generic, own = times.values()
    assert own <= generic


def test_a_compiled_model_estimates_its_frame_as_inspect_does(shadergen, tmp_path):
    build = compile_model(ESPCN, input_size="36x64")
    build.save(tmp_path / "build")
    found = shadergen("inspect", tmp_path / "build", "--device", "mali-valhall", "--json").json
    times = {frame["gpu"]: frame["milliseconds"] for frame in found["estimates"]}
    assert build.estimate("mali-valhall") == pytest.approx(times)
    shader = compile_model(ESPCN, target="mpv")
    assert shader.estimate("mali-valhall").keys() == times.keys()
    assert shader.estimate("mali-valhall")["Mali-G610 MP4"] > times["Mali-G610 MP4"]
    with pytest.raises(ShadergenError, match="no device profile is called 'mali'"):
        build.estimate("mali")
