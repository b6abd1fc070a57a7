"""How 16-bit convolutions add up, and what that costs: the emulation against the emitted text."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support import compile_graph, conv, graph_of, image

from shadergen.compiler.compilation import context_for
from shadergen.compiler.options import Options
from shadergen.compiler.tuning.session import kinds
from shadergen.ir.ops import Conv
from shadergen.passes.pipeline import optimise
from shadergen.passes.placement.summation import (
    blocked_sums,
    kernel_terms,
    longest_partial_sum,
    nearest,
    sum_terms,
    truncated,
)
from shadergen.passes.predict_cost import Predictor

DECLARED = re.compile(r"^    (highp )?vec4 (result\w*) = vec4\(([^)]*)\);$", re.M)
VECTOR = re.compile(r"vec4\(([^)]*)\)")


def numbers(text):
    found = np.array([float(n) for n in text.split(",")], np.float32)
    return np.broadcast_to(found, 4).reshape(4, 1, 1)


class Mediump:
    """Carries out the statements of an unrolled convolution without padding, as a GPU would."""

    def __init__(self, text, x, width, rounded):
        self.x, self.width, self.rounded = x, width, rounded
        self.values, self.full = {}, set()
        body = text[text.index("void main()") :]
        for highp, name, value in DECLARED.findall(body):
            self.full |= {name} if highp else set()
            self.keep(name, numbers(value))
        start = DECLARED.search(body)
        assert start is not None
        for statement in body[start.start() :].split(";"):
            lines = (line for line in statement.split("\n") if "//" not in line)
            self.step(" ".join(lines).strip())

    def keep(self, name, value):
        self.values[name] = value if name in self.full else self.rounded(value)

    def step(self, statement):
        if found := re.fullmatch(r"texel = (?:load_x|load_inside|texelFetch)\((.*)\)", statement):
            self.keep("texel", self.load(found[1]))
        elif found := re.fullmatch(r"((?:partial_)?result\w*) (\+?=) (.*)", statement):
            name, sign, value = found.groups()
            value = self.value(value)
            self.keep(name, self.values[name] + value if sign == "+=" else value)

    def load(self, where):
        offset = re.search(r"corner \+ ivec2\((\d+), (\d+)\)", where)
        across, down = map(int, offset.groups()) if offset else (0, 0)
        plane = int(re.sub(r"corner( \+ ivec2\(\d+, \d+\))?,? ?", "", where) or 0)
        texels = np.zeros((4, *self.x.shape[1:]), np.float32)
        some = self.x[4 * plane : 4 * plane + 4]
        texels[: len(some)] = some
        return texels[:, down : down + self.width, across : across + self.width]

    def value(self, text):
        weights, _, v = text.partition(" * ")
        if not v:
            return self.values[text]
        lanes = v.partition(".")[2]
        if weights.startswith("mat4"):
            total = None
            for column, lane in zip(VECTOR.findall(weights), "xyzw", strict=True):
                product = self.product(column, lane)
                total = product if total is None else self.rounded(total + product)
            return total
        return self.product(VECTOR.fullmatch(weights)[1], lanes)

    def product(self, weights, lanes):
        v = self.values["texel"]
        if lanes:
            v = v["xyzw".index(lanes)]
        return self.rounded(self.rounded(numbers(weights)) * v)


CASES = {  # input and output channels, kernel, groups
    "short": (1, 4, 5, 1),
    "partial sums": (8, 8, 3, 1),
    "thin": (2, 4, 5, 1),
    "lanes left": (6, 5, 3, 1),
    "depthwise": (8, 8, 7, 8),
    "groups": (8, 8, 3, 2),
}


def compiled(case, **options):
    """Return the node, and its emitted text, of a convolution without padding."""
    channels, out, size, groups = case
    x = image(1, channels, 12, 12)
    y = conv(np.random.default_rng(0), x, out, (size, size), "y", groups=groups)
    graph = graph_of(y, inputs=(x,))
    options = {"precision": "mediump", "weights": "constants", **options}
    placed, files, _ = compile_graph(graph, **options)
    (node,) = placed.nodes
    (text,) = (t for name, t in files.shaders.items() if not name.endswith(".vert"))
    return node, text


@pytest.mark.parametrize("rounded", [nearest, truncated])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_emulation_adds_up_as_the_emitted_text_does(case, rounded):
    node, text = compiled(case)
    x = rounded(np.random.default_rng(1).uniform(-1, 1, (1, case[0], 12, 12)).astype(np.float32))
    weights, bias = (v.data for v in node.inputs[1:])
    found = blocked_sums(node.op, x, rounded(weights), bias, kernel_terms(node), rounded)
    emitted = Mediump(text, x[0], found.shape[-1], rounded)
    sums = [v for name, v in sorted(emitted.values.items()) if name.startswith("result")]
    np.testing.assert_array_equal(np.concatenate(sums)[: len(bias)], found[0])


def test_short_sums_are_16_bit_and_long_ones_are_added_up_in_32():
    _, short = compiled(CASES["short"])
    _, long = compiled(CASES["partial sums"])
    assert "highp vec4" not in short
    assert "partial" not in short
    assert "highp vec4 result_p0 = " in long
    assert long.count("result_p0 += partial_result_p0;") == 3  # 72 products, 32 at a time


def test_loops_add_up_the_products_of_a_texel():
    node, text = compiled(CASES["partial sums"], weights="ubo")
    assert kernel_terms(node) == 1
    assert "result_p0 += w * texel;" in text
    assert "highp vec4 result_p0 = " in text
    node, text = compiled(CASES["short"], weights="ubo")
    assert kernel_terms(node) >= sum_terms(node) == 25
    assert "highp vec4" not in text


@pytest.mark.parametrize(
    ("device", "added"), [("amd-rdna", "result_p0 += vec4("), ("swiftshader", "result_p0 += mat4(")]
)
def test_devices_that_gain_nothing_from_16_bits_add_up_as_in_32(device, added):
    node, text = compiled(CASES["partial sums"], device=device, stage="fragment")
    assert node.choice.partial_terms == kernel_terms(node) == 0
    assert "partial" not in text
    assert "highp vec4 result_p0" in text
    assert added in text


def bills(precision, **options):
    """Return what the choices of a convolution are billed for, by their text."""
    x = image(1, 8, 12, 12)
    y = conv(np.random.default_rng(0), x, 8, (3, 3), "y")
    options = Options(device="mali-valhall", precision=precision, **options)
    graph = graph_of(y, inputs=(x,))
    context = context_for(graph, options)
    (kind,) = kinds(context.kernels, optimise(graph, context))
    predictor = Predictor(kind.node, context.kernels)
    return {str(choice): predictor.cost_counts(choice) for choice in kind.predicted}


def test_16_bit_programs_have_prices_of_their_own():
    full, half = bills("highp"), bills("mediump")
    unrolled, looped = (
        f"fragment, 1 plane, weights in {storage}" for storage in ("constants", "texture")
    )
    for choice in (unrolled, looped):
        assert full[choice]["multiply_half"] == half[choice]["multiply"] == 0
        assert half[choice]["multiply_half"] == full[choice]["multiply"] > 0
    assert half[unrolled]["literal_half"] == full[unrolled]["literal"] > 0
    pixels, texels, planes = 100, 18, 2
    more = {c: half[c]["operation"] - full[c]["operation"] for c in (looped, unrolled)}
    assert more[looped] == 2 * pixels * texels * planes
    assert more[unrolled] == more[looped] / 8  # 32 products, 4 of a texel


def test_rounding_agrees_with_numpy():
    x = np.float32([0, 1, -1.0009, 2049, 65503, 65519, 70000, -np.inf, 6e-5, 6.2e-5, 1e-9])
    half = x.astype(np.float64)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(nearest(x), half.astype(np.float16).astype(np.float32))
    cut = truncated(x)
    expected = np.float32([0, 1, -1, 2048, 65472, 65504, 65504, -np.inf, 0, 6.1988831e-05, 0])
    np.testing.assert_array_equal(cut, expected)
    assert np.isnan(truncated(np.float32(np.nan)))
    assert truncated(np.float64(1.0009)).dtype == np.float64
    for rounded in (nearest, truncated):
        np.testing.assert_array_equal(rounded(np.arange(3000)), np.arange(3000))


def test_sums_that_err_much_get_shorter_blocks():
    """All terms have one sign, so that each loses more of the sum before it."""
    op, rng = Conv(), np.random.default_rng(0)
    x = rng.uniform(0.5, 1, (1, 512, 6, 6)).astype(np.float32)
    alike = rng.uniform(0, 1, (4, 512, 1, 1)).astype(np.float32)
    mixed = rng.uniform(-1, 1, (4, 512, 1, 1)).astype(np.float32) / 512
    assert longest_partial_sum(op, 5e-3, x, mixed) == 512
    assert longest_partial_sum(op, 5e-3, x, alike) == 64
    assert longest_partial_sum(op, 5e-4, x, alike) < 64
    assert longest_partial_sum(op, 5e-3, 1e5 * x, alike) == 0  # beyond 65504
    errors = [
        np.abs(blocked_sums(op, x, alike, 0.0, n, truncated) - op.reference(x, alike)).max()
        for n in (512, 64, 16, 1)
    ]
    assert errors == sorted(errors, reverse=True)


def test_every_pixel_is_measured_where_they_are_few():
    x = np.zeros((1, 256, 3, 3), np.float32)
    w = np.ones((1, 256, 1, 1), np.float32)
    assert longest_partial_sum(Conv(), 5e-5, x, w) == 256
    x[..., 2, 2] = np.random.default_rng(0).uniform(0.5, 1, 256)
    assert longest_partial_sum(Conv(), 5e-5, x, w) < 256


def test_a_partial_sum_that_overflows_at_one_pixel_alone_is_found():
    """Its products cancel, so the whole sum does not show it."""
    x = np.zeros((1, 64, 64, 64), np.float32)
    x[..., 1, 1] = 1024
    w = np.full((4, 64, 1, 1), 2.25, np.float32)
    w[:, 32:] *= -1
    assert longest_partial_sum(Conv(), 5e-3, x, w) == 0
    assert longest_partial_sum(Conv(), 5e-3, x / 64, w) > 0
