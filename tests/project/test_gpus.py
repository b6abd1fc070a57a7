"""``make gpus``: messages of drivers, loops, cycles and reports; a driver, where there is one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from gpus import drivers
from gpus.builds import Pass, read_passes
from gpus.counts import Count, measure
from gpus.dialects import compared, twins
from gpus.drivers import Answer, DriverMissing, compile_shaders, compiler_of
from gpus.estimates import PUBLISHED, ratios
from gpus.loops import doubled, find_nests, longer
from gpus.messages import about, code_size, spills, variants
from gpus.networks import Network, compiled, networks, own_profile
from gpus.report import as_page
from gpus.results import NetworkResult, as_data, from_data, summed
from gpus.shaders import Shader
from gpus.table import GPUS, VULKAN, chosen, icd_file
from gpus.user_shaders import parse, report, shader_of

from shadergen.backends.validate import find_glslang
from shadergen.compiler.driver import compile_model
from shadergen.compiler.option_parsing import parse_sizes
from shadergen.compiler.options import Options

BY_NAME = {gpu.name: gpu for gpu in (*GPUS, *VULKAN)}
ESPCN = Path(__file__).resolve().parents[2] / "examples" / "espcn" / "espcn_x2.h5"

# What drivers said of ESPCN's first layer.
SAID = {
    "mali-g72": "MESA_SHADER_FRAGMENT shader: 664 inst, 553 tuples, 92 clauses, 22.000000 cycles, "
    "22.000000 arith, 12.500000 texture, 0.000000 vary, 0.000000 ldst, 575 quadwords, 1 threads, "
    "0 loops, 0:0 spills:fills",
    "mali-g610": "MESA_SHADER_FRAGMENT shader: 1162 inst, 9.890625 cycles, 7.296875 fma, "
    "9.890625 cvt, 2.000000 sfu, 0.000000 v, 6.250000 t, 0.000000 ls, 584 quadwords, 2 threads, "
    "0 loops, 0:0 spills:fills",
    "adreno-530": "FRAG shader: 651 inst, 29 nops, 622 non-nops, 33 mov, 4 cov, 1312 dwords, 0 "
    "half, 12 full, 112 constlen, 30 cat0, 25 cat5, 0 stp, 0 ldp, 4 waves, 0 loops",
    "rdna2": "Fragment Shader: loops=0; SGPRs=128; VGPRs=32; Spilled SGPRs=0; Spilled VGPRs=3; "
    "Code size=4516; Instructions=615; Latency=1911; Inverse Throughput=1064",
    "nv-turing": "type: 4, local: 16, shared: 0, gpr: 30, inst: 719, bytes: 11504, cached: 0",
    "intel-tgl": "FS SIMD16 shader: 1119 inst, 0 loops, 17288 cycles, 2:3 spills:fills, 29 sends, "
    "scheduled with mode non-lifo, Promoted 385 constants, compacted 17904 to 14064 bytes.",
    "rdna2-vector": "Fragment Shader: lanes=64; VGPRs=32; Spilled VGPRs=0; Code size=852; "
    "Instructions=164; Inverse Throughput=2596; loops=3; vector=83",
    "intel-tgl-anv": "SIMD32 fragment: lanes=32; inst=2612; SEND Count=74; loops=0; Cycle "
    "Count=39312; spills=2; fills=3; Scratch Memory Size=0",
    "rpi4": "MESA_SHADER_FRAGMENT shader: 662 inst, 4 threads, 0 loops, 478 uniforms, "
    "30 max-temps, 131:186 spills:fills, 0 sfu-stalls, 662 inst-and-stalls, 2 nops",
}
# cycles, registers, spills, bytes of code
MEANT = {
    "mali-g72": (528, None, 0, 9200),
    "mali-g610": (633, 32, 0, 9344),
    "adreno-530": (651, 12, 0, 5248),
    "rdna2": (532, 32, 3, 4516),
    "nv-turing": (719, 30, 16, 11504),
    "intel-tgl": (1119, None, 5, 14064),
    "rdna2-vector": (83, 32, 0, 852),
    "intel-tgl-anv": (1306, None, 5, 20896),
    "rpi4": (662, 30, 317, 5296),
}

NEST = """#version 300 es
precision highp float;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform int u_planes;

layout(location = 0) out vec4 o_0;

void main() {
    ivec2 o = ivec2(gl_FragCoord.xy);
    vec4 a0 = vec4(0.5);
    vec4 kept = vec4(2.0);
    for (int ky = 0; ky < 3; ++ky) {
        for (int i = 0; i < u_planes * 2; i += 4) {
            a0 += kept * texelFetch(u_x, ivec3(o.x, o.y + ky, i), 0);
        }
    }
    o_0 = a0;
}
"""
CALLED = """#version 300 es
precision highp float;

layout(location = 0) out vec4 o_0;

float sum(
    float first,
    float step) {
    float total = first;
    for (int k = 0; k < 5; ++k) {
        total = max(total, step * float(k));
    }
    for (int k = 2; k < 6; ++k) {
        total += float(k);
    }
    return total;
}

void main() {
    o_0 = vec4(sum(1.0, 2.0), sum(2.0, 3.0), 0.0, 0.0);
}
"""


# messages


@pytest.mark.parametrize("name", SAID)
def test_each_drivers_message_gives_cycles_registers_spills_and_code_size(name: str) -> None:
    gpu = BY_NAME[name]
    (numbers,) = variants([SAID[name]], "fragment")
    cycles = max(gpu.rates(numbers).values())
    assert (cycles, gpu.registers_of(numbers), spills(numbers), code_size(numbers)) == MEANT[name]


def test_a_lane_takes_half_of_intels_instructions_where_32_run_together() -> None:
    message = SAID["intel-tgl"].replace("SIMD16", "SIMD32")
    (numbers,) = variants([message], "fragment")
    assert BY_NAME["intel-tgl"].rates(numbers) == {"issue": 1119 / 2}


def test_messages_of_other_stages_are_left_out() -> None:
    assert about(["VS SIMD8 shader: 1 inst", "FS SIMD8 shader: 2 inst"], "fragment") == (
        "FS SIMD8 shader: 2 inst",
    )
    assert about([SAID["nv-turing"]], "compute") == ()


def test_adreno_runs_its_first_variant_unless_it_has_too_many_constants() -> None:
    adreno = BY_NAME["adreno-630"]
    few, many, trimmed = ({"constlen": n, "inst": n} for n in (500, 512, 100))
    assert adreno.variant([few, trimmed]) == few
    assert adreno.variant([many, trimmed]) == trimmed


# loops


def test_trips_follow_from_the_text_and_from_uniforms() -> None:
    (nest,) = find_nests(NEST, {"u_planes": 6})
    assert [(loop.trips, loop.constant) for loop in nest.loops] == [(3, True), (3, False)]
    first, second = find_nests(CALLED, {})
    assert [n.loops[0].trips for n in (first, second)] == [5, 4]
    assert first.copies == second.copies == 2


def test_a_loop_that_depends_on_data_has_no_known_trips() -> None:
    (nest,) = find_nests(NEST, {})
    assert not nest.known


def test_unrolled_loops_are_the_inner_ones_of_constant_trips() -> None:
    (nest,) = find_nests(NEST, {"u_planes": 10})
    assert [[loop.trips for loop in nest.kept(left)] for left in (0, 1, 2)] == [[], [5], [3, 5]]


def test_a_loop_that_runs_once_is_not_taken_for_the_one_that_is_left() -> None:
    (nest,) = find_nests(NEST.replace("ky < 3", "ky < 1"), {"u_planes": 10})
    assert [loop.trips for loop in nest.kept(1)] == [5]


def test_drivers_tell_which_loops_are_left_by_how_many_more_there_are_with_one_doubled() -> None:
    (nest,) = find_nests(NEST, {"u_planes": 10})
    outer, inner = nest.loops
    assert nest.remaining({outer: 2.0, inner: 1.0}) == [outer, inner]
    assert nest.remaining({outer: 1.0, inner: 1.0}) == [inner]
    assert nest.remaining({outer: 1.0, inner: 0.0}) == [outer]
    assert nest.remaining({outer: 0.0, inner: 0.0}) == []
    every = replace(outer, trips=15)  # the inner loop was left until it was doubled
    assert nest.remaining({outer: 2.0, inner: 0.0}) == [every]


def test_a_doubled_loop_stands_twice_in_a_row() -> None:
    (nest,) = find_nests(NEST, {"u_planes": 6})
    outer, inner = nest.loops
    for loop, copies in ((outer, (2, 2)), (inner, (1, 2))):
        source = doubled(NEST, loop)
        assert (source.count("int ky"), source.count("int i")) == copies


def test_a_longer_loop_of_constant_trips_has_one_trip_more() -> None:
    (nest,) = find_nests(NEST, {"u_planes": 6})
    outer, _ = nest.loops
    (made,) = find_nests(longer(NEST, outer), {"u_planes": 6})
    assert made.loops[0].trips == (outer.trips or 0) + 1
    assert longer(NEST, outer).replace(" + 1;", ";") == NEST


@pytest.mark.parametrize("source", [NEST, CALLED])
def test_doubled_shaders_are_valid(source: str, tmp_path: Path) -> None:
    from shadergen.backends.validate import find_glslang

    glslang = find_glslang()
    if glslang is None:
        pytest.skip("glslang is not installed")
    shader = tmp_path / "shader.frag"
    for nest in find_nests(source, {"u_planes": 6}):
        for loop in nest.loops:
            shader.write_text(doubled(source, loop))
            run = subprocess.run([glslang, shader], capture_output=True, text=True, check=False)
            assert run.returncode == 0, run.stdout


# cycles


class Driver:
    """A driver whose programs take 10 instructions, 4 for ``ky`` and 30 for ``i``.

    One trip more of a loop that it unrolls takes one instruction more.

    Args:
        says: its message, with ``{inst}`` and ``{loops}``.
        left: which loops it does not unroll.
    """

    def __init__(self, says: str, left: Sequence[str] = ()) -> None:
        self.says, self.left = says, left

    def __call__(self, gpu: object, shaders: Sequence[Shader], *_: object) -> dict[str, Answer]:
        answers = {}
        for shader in shaders:
            outer, inner = (shader.source.count(f"int {name} =") for name in ("ky", "i"))
            unrolled = "ky < 3 + 1" in shader.source and "ky" not in self.left
            inst = 10 + 4 * outer + 30 * inner + unrolled
            loops = sum(shader.source.count(f"int {name} =") for name in self.left)
            answers[shader.key] = Answer((self.says.format(inst=inst, loops=loops),), 1.0)
        return answers


def counted(monkeypatch: pytest.MonkeyPatch, shader: Shader, gpu: str, driver: Driver) -> Count:
    monkeypatch.setattr("gpus.counts.compile_shaders", driver)
    return measure([shader], [BY_NAME[gpu]])[gpu][0]


LOOPED = Shader("fragment", NEST, uniforms=(("u_planes", 10),))
TOLD = "MESA_SHADER_FRAGMENT shader: {inst} inst, {loops} loops, {inst} inst-and-stalls"


@pytest.mark.parametrize(
    ("left", "cycles"), [("", 44), ("i", 14 + 5 * 30), (("ky", "i"), 10 + 3 * (4 + 5 * 30))]
)
def test_loops_count_as_often_as_they_run(
    monkeypatch: pytest.MonkeyPatch, left: Sequence[str], cycles: int
) -> None:
    assert counted(monkeypatch, LOOPED, "rpi4", Driver(TOLD, left)).cycles == cycles


def test_instructions_count_where_a_driver_guesses_how_often_loops_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    says = "Fragment Shader: loops={loops}; Inverse Throughput=99; Instructions={inst}; VGPRs=8"
    count = counted(monkeypatch, LOOPED, "rdna2", Driver(says, ("ky", "i")))
    assert count.cycles == 10 + 3 * (4 + 5 * 30)
    assert counted(monkeypatch, LOOPED, "rdna2", Driver(says)).cycles == 99 / 2


def test_loops_after_one_another_count_each(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, end = NEST.index("        for (int i"), NEST.index("    }\n    o_0")
    twice = NEST[:end] + NEST[begin:end] + NEST[end:]
    count = counted(monkeypatch, replace(LOOPED, source=twice), "rpi4", Driver(TOLD, ("ky", "i")))
    assert count.cycles == 10 + 3 * (4 + 2 * 5 * 30)


@pytest.mark.parametrize("left", [("i",), ("ky", "i")])
def test_a_loop_that_runs_once_may_be_left(
    monkeypatch: pytest.MonkeyPatch, left: Sequence[str]
) -> None:
    shader = replace(LOOPED, source=NEST.replace("ky < 3", "ky < 1"))
    assert counted(monkeypatch, shader, "rpi4", Driver(TOLD, left)).cycles == 14 + 5 * 30


@pytest.mark.parametrize(("left", "cycles"), [((), 14 + 5 * 30), (("ky",), 10 + 3 * (4 + 5 * 30))])
def test_loops_that_a_driver_does_not_tell_take_no_more_instructions_with_one_trip_more(
    monkeypatch: pytest.MonkeyPatch, left: Sequence[str], cycles: int
) -> None:
    driver = Driver("type: 4, inst: {inst}, gpr: 9", left)
    assert counted(monkeypatch, LOOPED, "nv-turing", driver).cycles == cycles


def test_a_shader_whose_trips_are_unknown_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not counted(monkeypatch, Shader("fragment", NEST), "rpi4", Driver(TOLD)).counted


def passes_of(folder: Path, device: str, **options: Any) -> list[Pass]:
    size = parse_sizes(["36x64"])
    compile_model(ESPCN, folder, Options(device=device, input_size=size, **options))
    return read_passes(folder)


def test_shaders_of_a_build_carry_formats_and_multiply_adds(tmp_path: Path) -> None:
    first, *_ = passes_of(tmp_path / "build", "gles30", mrt=4)
    assert first.shader.targets == ("rgba32f",) * 4
    assert dict(first.shader.formats)["u_x"] == "r32f"
    assert first.multiply_adds == 25 * 16 * 36 * 64


@pytest.mark.parametrize(("precision", "half"), [("fp32", False), ("fp16", True)])
def test_a_network_is_compiled_in_the_precision_that_is_asked_for(
    precision: str, half: bool
) -> None:
    network = Network("ESPCN", (36, 64), "", lambda: ESPCN)
    every = compiled(network, "mali-bifrost", precision)
    assert [p.shader.half for p in every] == [half] * len(every)


def test_compute_shaders_of_a_build_carry_images_and_uniforms(tmp_path: Path) -> None:
    *_, last = passes_of(tmp_path / "build", "gles31-mobile", stage="compute")
    assert (last.shader.stage, last.shader.vertex) == ("compute", "")
    assert dict(last.shader.formats)["u_result"] == "r32f"
    nests = find_nests(last.shader.source, dict(last.shader.uniforms))
    assert nests and all(nest.known for nest in nests)


# keeping answers


class Process:
    """In place of a driver's process: counts what it is asked."""

    asked = 0

    def __init__(self, gpu: object) -> None:
        pass

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, shader: Shader) -> Answer:
        Process.asked += 1
        return Answer((SAID["rpi4"],), 2.0)


def test_a_shader_is_compiled_once_for_a_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(drivers, "_Process", Process)
    monkeypatch.setattr(Process, "asked", 0)
    shader, other = (Shader("fragment", text, "vertex") for text in ("a", "b"))
    gpu = BY_NAME["rpi4"]
    compile_shaders(gpu, [shader, shader], kept=tmp_path)
    answers = compile_shaders(gpu, [replace(shader, uniforms=(("u", 1),)), other], kept=tmp_path)
    assert Process.asked == 2
    assert answers[shader.key] == Answer((SAID["rpi4"],), 2.0)
    compile_shaders(replace(gpu, compiler="another"), [shader], kept=tmp_path)
    assert Process.asked == 3


def test_a_driver_that_does_not_start_says_why() -> None:
    gpu = replace(BY_NAME["rpi4"], shim="nothing", own_mesa=False, compiler="none")
    with pytest.raises(DriverMissing, match=r"the driver ended with status 1: .+"):
        compiler_of(gpu)


# figures and page


def result(cycles: float = 20.0, error: str = "") -> NetworkResult:
    gpu = BY_NAME["rpi4"]
    shader = Shader("fragment", "a", multiply_adds=10.0)
    passes = [Pass("conv", shader, 1_000_000)] * 2
    counts = [Count(cycles, "issue", {}, 7, 3, 2048, 1500.0, error)] * 2
    figures = {"gles30": {gpu.name: summed(gpu, passes, counts)}}
    return NetworkResult("tiny", (4, 6), {gpu.name: "gles30"}, figures)


def test_figures_are_sums_over_passes_and_over_distinct_shaders() -> None:
    figures = result().of("rpi4")
    assert figures is not None
    assert (figures.cycles, figures.bound, figures.share) == (40.0, 20.0, 0.5)
    assert (figures.programs, figures.spills, figures.code, figures.slow) == (1, 3, 2.0, 1)


def test_the_page_marks_spills_and_slow_shaders() -> None:
    page = as_page([result()], [BY_NAME["rpi4"]])
    assert "| tiny | 4×6 | 50% ST |" in page


def test_the_page_says_which_shader_does_not_compile() -> None:
    page = as_page([result(error="the driver crashed")], [BY_NAME["rpi4"]])
    assert "- tiny, gles30, rpi4: conv: the driver crashed" in page


def test_before_and_after_are_compared() -> None:
    page = as_page([result(20.0)], [BY_NAME["rpi4"]], [result(40.0)])
    assert "| tiny | 25% ST → 50% ST |" in page


def test_figures_survive_json() -> None:
    data = json.loads(json.dumps(as_data([result()], [BY_NAME["rpi4"]])))
    assert from_data(data) == [result()]


def test_gpus_are_chosen_by_name() -> None:
    assert [gpu.name for gpu in chosen("rdna2,mali-g72")] == ["rdna2", "mali-g72"]
    assert chosen("") == list(GPUS)
    with pytest.raises(ValueError, match="'mali' is unknown; there are mali-g72"):
        chosen("mali")


def test_every_gpu_has_a_device_profile() -> None:
    from shadergen.backends.devices import DEVICES

    assert all(own_profile(gpu) in DEVICES for gpu in GPUS)


def test_networks_are_chosen_by_words() -> None:
    assert [n.name for n in networks("acnet")] == ["ACNet"]
    assert networks("espcn")[0].size == (360, 640)


# user shaders

USER_SHADER = """// a network
//!HOOK LUMA
//!BIND HOOKED
//!SAVE both
//!WIDTH HOOKED.w 2 *
//!HEIGHT HOOKED.h 1 +
//!COMPUTE 16 8 8 8
//!DESC first
// 36 multiply-adds per pixel

void hook() { imageStore(out_image, ivec2(gl_GlobalInvocationID.xy), HOOKED_tex(HOOKED_pos)); }

//!HOOK LUMA
//!BIND both
//!BIND table
//!WIDTH HOOKED.w 2 *
//!HEIGHT HOOKED.h 2 *
//!DESC second

vec4 hook() { return texelFetch(table, ivec2(0), 0) + both_tex(both_pos); }

//!TEXTURE table
//!SIZE 1 1
//!FORMAT rgba32f
//!FILTER NEAREST
00000000000000000000000000000000
"""


def test_a_user_shader_is_cut_into_passes() -> None:
    (first, second), tables = parse(USER_SHADER)
    assert (tables, second.binds, second.block) == (["table"], ["both", "table"], None)
    assert (first.size, second.size) == ((3840, 1081), (3840, 2160))
    assert (first.block, first.invocations) == ((16, 8, 8, 8), 1081 / 1080)
    assert (first.multiply_adds * first.invocations, second.multiply_adds) == (36, 0)
    assert second.invocations == 4


@pytest.mark.parametrize("vulkan", [False, True])
def test_passes_become_valid_shaders(vulkan: bool, tmp_path: Path) -> None:
    passes, tables = parse(USER_SHADER)
    for one, suffix in zip(passes, ("comp", "frag"), strict=True):
        shader = shader_of(one, tables, vulkan, half=False)
        files = {tmp_path / f"shader.{suffix}": shader.source}
        if shader.stage == "fragment":
            files[tmp_path / "shader.vert"] = shader.vertex
        for file, source in files.items():
            source = source.replace("gl_VertexID", "gl_VertexIndex") if vulkan else source
            file.write_text(source)
            flags = ["-V", "-R", "--auto-map-bindings"] if vulkan else []
            subprocess.run([find_glslang() or "", *flags, file], check=True, cwd=tmp_path)


def test_a_user_shader_takes_the_cycles_of_its_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "net.glsl"
    file.write_text(USER_SHADER)
    monkeypatch.setattr(
        "gpus.user_shaders.measure",
        lambda shaders, gpus, progress: {gpu.name: [Count(360.0), Count(10.0)] for gpu in gpus},
    )
    *_, row = report([file], "", [BY_NAME["rpi4"], BY_NAME["rdna2"]], "fp32", print)
    assert row == "| net.glsl | 2 | 400 | 400 |"


# WGSL

COUNTED_WGSL = """@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d<f32>;

struct Sizes { u_width: i32 }

fn sum(row: i32) -> vec4f {
    var total: vec4f = vec4f(0.0);
    for (var x = 0; x < sizes.u_width; x += 2) {
        total += textureLoad(u_x, vec2i(x, row), 0);
    }
    return total;
}

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> @location(0) vec4f {
    return sum(i32(fragment_position.y));
}
"""
WHOLE_TARGET = """@vertex
fn main(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
    return vec4f(select(-1.0, 3.0, i == 1u), select(-1.0, 3.0, i == 2u), 0.0, 1.0);
}
"""


def test_loops_of_wgsl_are_counted() -> None:
    (nest,) = find_nests(COUNTED_WGSL, {"u_width": 9})
    assert [(loop.trips, loop.constant) for loop in nest.loops] == [(5, False)]
    assert nest.copies == 1
    assert doubled(COUNTED_WGSL, nest.loops[0]).count("total +=") == 2


@pytest.mark.parametrize("stage", ["fragment", "compute"])
def test_builds_in_both_languages_have_the_same_passes(stage: str) -> None:
    network = Network("ESPCN", (36, 64), "", lambda: ESPCN)
    glsl, wgsl = twins(network, "fp32", stage)
    assert [p.name for p in glsl] == [p.name for p in wgsl]
    assert all(p.shader.source.startswith("#version 310 es") for p in glsl)
    assert all(f"@{stage}" in p.shader.source and p.shader.wgsl for p in wgsl)
    shader = wgsl[0].shader
    assert replace(shader, checked=False).key != shader.key
    assert "wgsl" not in glsl[0].shader.compiled()  # answers of earlier runs are still found


def test_wgsl_is_compared_with_and_without_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(shaders: Sequence[Shader], *_: object) -> dict[str, list[Count]]:
        cycles = [10.0 if not s.wgsl else 12.0 if s.checked else 11.0 for s in shaders]
        return {"rdna2": [Count(number) for number in cycles]}

    monkeypatch.setattr("gpus.dialects.measure", measured)
    network = Network("ESPCN", (36, 64), "", lambda: ESPCN)
    lines = list(compared([network], [BY_NAME["rdna2"]], "fp32", print))
    assert "| ESPCN | compute | 3 | 1.200 (1.100) |" in lines
    assert "| geometric mean | | | 1.200 (1.100) |" in lines
    assert any(line.startswith("- ESPCN, compute, rdna2: conv1: 1.20 (1.10), ") for line in lines)


# a real driver


@pytest.mark.parametrize("name", ["mali-g72", "rdna2"])
def test_a_driver_compiles_a_build(name: str, tmp_path: Path) -> None:
    gpu = BY_NAME[name]
    if missing := gpu.missing():
        pytest.skip(f"{missing} is not installed")
    if gpu.vulkan:
        pytest.importorskip("vulkan")
    source = "#version 300 es\nprecision highp float;\nout vec4 o_0;\nuniform sampler2D u_x;\n"
    source += "void main() { o_0 = texelFetch(u_x, ivec2(gl_FragCoord.xy), 0) * 3.0; }\n"
    good = Shader("fragment", source, formats=(("u_x", "rgba16f"),))
    bad = replace(good, source="#version 300 es\nvoid main() { nothing; }\n")
    assert compiler_of(gpu).startswith(gpu.compiler)
    count, refused = measure([good, bad], [gpu], kept=tmp_path)[name]
    assert not count.error
    assert 4 <= count.cycles < 100
    assert count.code
    assert "nothing" in refused.error


@pytest.mark.parametrize("name", ["rdna2", "intel-tgl-anv"])
def test_a_driver_compiles_wgsl(name: str, tmp_path: Path) -> None:
    gpu = BY_NAME[name]
    if missing := gpu.missing():
        pytest.skip(f"{missing} is not installed")
    if not (icd_file("lvp") and which("cc")):
        pytest.skip("naga needs Mesa's software driver for Vulkan, and a C compiler")
    pytest.importorskip("vulkan")
    shader = Shader(
        "fragment", COUNTED_WGSL, WHOLE_TARGET, uniforms=(("u_width", 100),), wgsl="installed"
    )
    refused = replace(shader, source=COUNTED_WGSL.replace("total +=", "nothing +="))
    checked, unchecked, error = measure(
        [shader, replace(shader, checked=False), refused], [gpu], kept=tmp_path
    )[name]
    assert not checked.error
    assert 50 * 4 < unchecked.cycles < 50 * 40
    assert checked.cycles > unchecked.cycles + 50 * 4  # of a counter in each trip
    if name == "rdna2":  # whose counter is scalar
        vector = measure(
            [shader, replace(shader, checked=False)], [BY_NAME["rdna2-vector"]], kept=tmp_path
        )
        with_counter, without = vector["rdna2-vector"]
        assert with_counter.cycles == without.cycles
    assert "naga" in error.error
    assert "nothing" in error.error


def test_estimates_of_arithmetic_are_about_what_compilers_count() -> None:
    published = json.loads(PUBLISHED.read_text("utf-8"))["networks"]
    (espcn,) = [n for n in networks("ESPCN") if n.name == "ESPCN"]
    found = ratios(espcn, next(n for n in published if n["name"] == "ESPCN"))
    assert len(found) == 8  # one GPU of each family that has a compiler
    for gpu, (whole, floats) in found.items():
        assert floats < whole, gpu  # addresses, fetches and stores take instructions, too
        assert 0.6 < whole < 2.0, gpu
