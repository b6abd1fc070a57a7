"""Maps joined and split on whole planes: what lies where, and on GL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import assert_runs_like_reference, compile_graph, conv, graph_of, image, pointwise

from shadergen.backends.build_files import BuildFiles
from shadergen.ir import text, text_parser
from shadergen.ir.graph import Graph, Value, apply, constant
from shadergen.ir.ops import Concat, DepthToSpace, Pool, Slice

DESKTOP = {"device": "gles32-desktop", "glsl": 310}
STAGES = [
    {"stage": "fragment", "mrt": 1},
    {"stage": "fragment", "mrt": 4},
    {"stage": "compute"},
    {"stage": "compute", "fetch": "image"},
    {"stage": "auto", "weights": "texture"},
]
RNG = np.random.default_rng(0)
pytestmark = pytest.mark.gl


def stages(test: Any) -> Any:
    ids = ["-".join(map(str, s.values())) for s in STAGES]
    return pytest.mark.parametrize("options", [s | DESKTOP for s in STAGES], ids=ids)(test)


def layer(x: Value, channels: int, size: int = 3, name: str = "conv") -> Value:
    pads = (size // 2,) * 4
    return pointwise("tanh(x0)", conv(RNG, x, channels, (size, size), name, pads=pads))


def run(*outputs: Value, x: Value, **options: Any) -> tuple[BuildFiles, set[tuple[str, ...]]]:
    """Run a graph of one input; return the build and the layers that have passes."""
    files = assert_runs_like_reference(graph_of(*outputs, inputs=(x,)), **options)
    return files, {tuple(p["layers"]) for p in files.schedule["passes"]}


def texture_of(files: BuildFiles, name: str) -> set[str]:
    """Return the textures that the passes of a layer write."""
    passes = [p for p in files.schedule["passes"] if name in p["layers"]]
    return {w["texture"] for p in passes for w in p["writes"]}


@stages
@pytest.mark.parametrize("last", [4, 5, 3])
def test_what_is_joined_is_written_in_its_place(options, last):
    x = image(1, 3, 6, 7)
    a, b, c = (layer(x, n, 3, name) for n, name in ((8, "a"), (4, "b"), (last, "c")))
    y = layer(apply(Concat(1), a, b, c, layer="join"), 6, 3, "after")
    files, layers = run(y, x=x, **options)
    assert not any("join" in names for names in layers)
    assert texture_of(files, "a") == texture_of(files, "b") == texture_of(files, "c")
    assert len({(w["texture"], w["layer"]) for p in files.schedule["passes"] for w in p["writes"]}
               ) == 2 + 1 + -(-last // 4) + 2  # fmt: skip


@stages
def test_parts_may_be_read_by_others_too(options):
    x = image(1, 3, 6, 8)
    a = layer(x, 8, 3, "a")
    b = apply(Pool("max", (2, 2), (2, 2)), a, layer="pool")
    up = apply(DepthToSpace((2, 2)), layer(b, 16, 3, "b"), layer="up")
    y = layer(apply(Concat(1), a, up, layer="join"), 6, 3, "after")
    _, layers = run(y, pointwise("x0 * x0", a, layer="square"), x=x, **options)
    assert not any("join" in names for names in layers)


@stages
def test_concatenations_of_concatenations_are_one_texture(options):
    x = image(1, 4, 5, 6)
    y, parts = layer(x, 8, 3, "first"), ["first"]
    for k in range(3):
        between = layer(y, 4, 1, f"between{k}")
        y = apply(Concat(1), y, layer(between, 8, 3, f"new{k}"), layer=f"join{k}")
        parts.append(f"new{k}")
    files, layers = run(layer(y, 3, 1, "after"), x=x, **options)
    assert not any("join" in name for names in layers for name in names)
    assert len({t for name in parts for t in texture_of(files, name)}) == 1


@stages
def test_wider_concatenations_hold_narrower_ones_that_they_begin_with(options):
    """As DenseNet does: every layer reads what all before it gave."""
    x = image(1, 4, 5, 6)
    known = [layer(x, 8, 3, "first")]
    for k in range(4):
        joined = apply(Concat(1), *known, layer=f"join{k}") if k else known[0]
        between = layer(pointwise("relu(x0 * 0.5 + 0.1)", joined), 4, 1, f"between{k}")
        known.append(layer(between, 4, 3, f"new{k}"))
    y = layer(apply(Concat(1), *known, layer="all"), 3, 1, "after")
    files, layers = run(y, x=x, **options)
    assert not any(n.startswith(("join", "all")) for names in layers for n in names)
    assert texture_of(files, "first") == texture_of(files, "new3")


@stages
def test_a_draw_reads_no_texture_that_it_writes(options):
    """A part that another part of the same texture is computed from at once."""
    x = image(1, 4, 5, 6)
    a = layer(x, 8, 3, "a")
    b = layer(a, 4, 3, "b")
    y = layer(apply(Concat(1), a, b, layer="join"), 3, 1, "after")
    files, layers = run(y, x=x, **options)
    drawn = any(p["stage"] == "fragment" and "b" in p["layers"] for p in files.schedule["passes"])
    assert any("join" in names for names in layers) == drawn
    assert (texture_of(files, "a") == texture_of(files, "b")) == (not drawn)


@stages
def test_a_part_of_two_concatenations_lies_in_one_and_is_copied_to_the_other(options):
    x = image(1, 3, 5, 6)
    a, b, c = (layer(x, 8, 3, name) for name in "abc")
    one = apply(Concat(1), a, b, layer="one")
    other = apply(Concat(1), c, a, layer="other")
    twice = apply(Concat(1), b, b, layer="twice")
    run(layer(one, 4, 1), layer(other, 4, 1), layer(twice, 4, 1), x=x, **options)


@stages
def test_outputs_and_inputs_keep_textures_of_their_own(options):
    x = image(1, 8, 5, 6)
    a, b = layer(x, 8, 3, "a"), layer(x, 20, 3, "b")
    joined = apply(Concat(1), a, x, b, layer="join")
    files, _ = run(joined, a, layer(joined, 4, 1), x=x, **options)
    outputs = [o["texture"] for o in files.schedule["outputs"]]
    assert len(set(outputs)) == 3
    assert texture_of(files, "b") == {outputs[0]}, "the only part that is nothing else"


@stages
def test_whole_planes_are_read_where_they_lie(options):
    x = image(1, 3, 5, 6)
    y = layer(x, 18, 3, "all")

    def part(start: int, size: int) -> Value:
        cut = Slice((0, start, 0, 0), (1, 1, 1, 1), (1, size, 5, 6))
        return apply(cut, y, layer=f"part{start}")

    a, b, c = part(0, 8), part(8, 4), part(12, 6)
    inner = apply(Slice((0, 4, 0, 0), (1, 1, 1, 1), (1, 4, 5, 6)), a, layer="inner")
    outs = [layer(v, 4, 3, "conv") for v in (a, b, c, inner)]
    z = layer(apply(Concat(1), *outs, layer="join"), 4, 1)
    _, layers = run(z, c, x=x, **options)
    names = {name for found in layers for name in found}
    assert not names & {"part0", "part8", "inner"}
    assert "part12" in names, "an output has a texture of its own"


@stages
def test_planes_of_an_input_are_read_where_they_lie(options):
    x = image(1, 12, 5, 6)
    a = apply(Slice((0, 4, 0, 0), (1, 1, 1, 1), (1, 8, 5, 6)), x, layer="part")
    _, layers = run(layer(a, 4, 3, "after"), x=x, **options)
    assert layers == {("after", "pointwise")}


@stages
@pytest.mark.parametrize("channels", [6, 9])
def test_what_does_not_fill_planes_is_joined_by_passes(options, channels):
    x = image(1, 3, 5, 6)
    a, b = layer(x, channels, 3, "a"), layer(x, 4, 3, "b")
    _, layers = run(layer(apply(Concat(1), a, b, layer="join"), 4, 1), x=x, **options)
    assert ("join",) in layers


@stages
def test_batches_are_joined_by_passes(options):
    x = image(2, 3, 5, 6)
    a, b = layer(x, 8, 3, "a"), layer(x, 4, 3, "b")
    _, layers = run(layer(apply(Concat(1), a, b, layer="join"), 4, 1), x=x, **options)
    assert ("join",) in layers


@stages
def test_2d_textures_are_joined_in_place(options):
    x = image(1, 3, 5, 6)
    a, b = layer(x, 8, 3, "a"), layer(x, 4, 3, "b")
    graph = graph_of(layer(apply(Concat(1), a, b, layer="join"), 4, 1), inputs=(x,))
    files = assert_runs_like_reference(graph, textures="2d", **options)
    assert not any(p["layers"] == ["join"] for p in files.schedule["passes"])


@stages
def test_constants_are_copied_to_their_place(options):
    x = image(1, 3, 5, 6)
    known = constant(RNG.normal(size=(1, 4, 5, 6)), "known")
    joined = apply(Concat(1), layer(x, 8, 3, "a"), known, layer="join")
    files, layers = run(layer(joined, 4, 1), x=x, **options)
    assert ("join",) in layers
    assert texture_of(files, "a") == texture_of(files, "join")


def test_a_texture_is_alive_while_any_of_its_planes_is():
    """What is written early into a texture that is read late is not overwritten in between."""
    x = image(1, 8, 6, 6)
    early = layer(x, 8, 1, "early")
    y = x
    for k in range(4):
        y = layer(y, 8, 1, f"between{k}")
    z = layer(apply(Concat(1), early, y, layer="join"), 4, 1, "late")
    for options in STAGES:
        files, _ = run(z, x=x, **options, **DESKTOP)
        textures = {t["name"]: t for t in files.schedule["textures"]}
        (shared,) = texture_of(files, "early")
        passes = files.schedule["passes"]
        assert textures[shared]["first"] == 0
        first_late = next(i for i, p in enumerate(passes) if "late" in p["layers"])
        assert textures[shared]["last"] >= first_late


class Joiner:
    """Draws graphs of maps of one size that are joined, split and computed from each other."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.x = image(1, 4 * int(self.rng.integers(1, 4)), 4, 5)
        self.pool: list[Value] = [self.x]

    def pick(self) -> Value:
        return self.pool[int(self.rng.integers(max(0, len(self.pool) - 5), len(self.pool)))]

    def grow(self) -> None:
        kind = int(self.rng.integers(5))
        a = self.pick()
        if kind == 0:
            parts = [self.pick() for _ in range(int(self.rng.integers(2, 4)))]
            if sum(p.shape[1] for p in parts) <= 48:
                self.pool.append(apply(Concat(1), *parts, layer=f"join{len(self.pool)}"))
        elif kind == 1 and a.shape[1] > 4:
            start = 4 * int(self.rng.integers(0, a.shape[1] // 4))
            size = min(4 * int(self.rng.integers(1, 4)), a.shape[1] - start)
            cut = Slice((0, start, 0, 0), (1, 1, 1, 1), (1, size, 4, 5))
            self.pool.append(apply(cut, a, layer=f"cut{len(self.pool)}"))
        elif kind == 2:
            self.pool.append(pointwise("x0 * 0.5 + 0.1", a, layer=f"map{len(self.pool)}"))
        else:
            channels = int(self.rng.choice([4, 8, 8, 12, 6]))
            name = f"conv{len(self.pool)}"
            self.pool.append(conv(self.rng, a, channels, (1, 1), name))

    def graph(self, steps: int) -> Graph:
        for _ in range(steps):
            self.grow()
        outputs = [self.pool[-1], *(self.pick() for _ in range(int(self.rng.integers(0, 3))))]
        return graph_of(*outputs, inputs=(self.x,))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), steps=st.integers(2, 14), number=st.integers(0, 4))
def test_random_joins_and_splits_run(seed, steps, number):
    graph = Joiner(seed).graph(steps)
    assert_runs_like_reference(graph, np.random.default_rng(seed), **STAGES[number], **DESKTOP)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), steps=st.integers(2, 14))
def test_graphs_that_share_planes_read_back_as_the_same_text(seed, steps):
    placed, _, _ = compile_graph(Joiner(seed).graph(steps), stage="compute", **DESKTOP)
    printed = text.to_text(placed)
    assert text.to_text(text_parser.parse(printed, text.constants(placed))) == printed
