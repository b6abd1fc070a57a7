"""Random graphs: every pass keeps their meaning, their text reads back, and GL agrees."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from support import assert_runs_like_reference, conv, graph_of, pointwise

from shadergen.backends.kernels import KernelFamilies
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir import text, text_parser
from shadergen.ir.graph import Graph, Input, Port, Value, apply, constant
from shadergen.ir.indexing import PAD_MODES
from shadergen.ir.ops import (
    BatchNormalization,
    Concat,
    ConvTranspose,
    DepthToSpace,
    Pad,
    Reshape,
    ResizeNearest,
    Slice,
    Transpose,
)
from shadergen.ir.reference import evaluate_graph
from shadergen.ir.types import TensorType
from shadergen.ir.verifier import verify
from shadergen.passes.pipeline import MATHEMATICS, PLACEMENT
from shadergen.passes.rule import Context

# Continuous ones only: rounding must not decide between two sides of a step.
UNARY = (
    "relu(x0)", "tanh(x0)", "silu(x0)", "leaky_relu(x0, 0.2)", "abs(x0)", "x0 * x0 / 4",
    "2 * x0 - 1", "-x0 / 3", "x0", "1 / (2 + abs(x0))", "softsign(x0)", "clamp(x0, -inf, 1)",
    "x0 - x0", "exp(min(x0, 1))", "sqrt(1 + x0 * x0)", "(x0 - x0) * x0 + x0", "3 - 0.5 * x0",
    "max(x0, 0) - min(x0, 0)", "0.25",
)  # fmt: skip
BINARY = ("x0 + x1", "x0 - x1", "x0 * x1", "relu(x0 + x1)", "x1 * tanh(x0)", "max(x0, x1)", "x1")
MIXED = ("x0 * x1 + x2", "(x0 - x1) / (1 + abs(x2))", "x2 - x0 * x1", "relu(x0 + x1) * x2")
MOST = 3000  # elements in a tensor


class Maker:
    """Draws operators one after another, over a pool of values.

    The choices come from numpy's generator, which spreads them evenly; hypothesis, which prefers
    the first of everything, chooses the seed and shortens the graph of a failure.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.inputs = tuple(self.input(k) for k in range(self.number(1, 2)))
        self.pool: list[Value] = list(self.inputs)
        self.count = 0

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def pick(self, *values: Any) -> Any:
        return values[self.number(0, len(values) - 1)]

    def input(self, k: int) -> Input:
        shape = (
            self.pick(1, 1, 2), self.pick(1, 2, 3, 4, 5, 8), self.number(2, 6), self.number(2, 6)
        )  # fmt: skip
        axes = self.pick((0, 1, 2, 3), (0, 2, 3, 1))
        return Input(TensorType(shape), f"in{k}", Port(axes))

    def known(self, *shape: int) -> Value:
        return constant(self.rng.normal(size=shape), f"known{self.count}")

    def value(self, rank: int | None = None) -> Value:
        """Return the newest value, most of the time, or any other."""
        pool = [v for v in self.pool if rank is None or v.type.rank == rank]
        return pool[-1] if self.number(0, 2) else self.pick(*pool)

    def grow(self) -> None:
        name = self.pick(
            "conv", "conv", "conv", "unary", "unary", "binary", "binary", "mixed", "norm",
            "transposed", "shuffle", "concat", "pad", "padded", "slice", "reshape", "transpose",
            "resize", "known",
        )  # fmt: skip
        self.count += 1
        result = getattr(self, f"make_{name}")(f"{name}{self.count}")
        if result.type.size <= MOST:
            self.pool.append(result)

    def make_conv(self, layer: str) -> Value:
        x = self.value(4)
        _, channels, *size = x.shape
        groups = self.pick(*(g for g in (1, 1, 2, channels) if channels % g == 0))
        kernel = (self.number(1, 3), self.number(1, 3))
        dilations = (self.pick(1, 1, 2), self.pick(1, 1, 2))
        pads = self.pick((0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 2, 3), (7, 0, 0, 5))
        for k in range(2):
            if (kernel[k] - 1) * dilations[k] + 1 > size[k] + pads[k] + pads[k + 2]:
                kernel, dilations = (1, 1), (1, 1)
        return conv(
            self.rng, x, groups * self.pick(1, 2, 3, 4), kernel, layer, self.pick(True, False),
            strides=(self.pick(1, 1, 2), self.pick(1, 1, 3)), dilations=dilations, pads=pads,
            groups=groups, pad_mode=self.pick(*PAD_MODES), pad_value=self.pick(0.0, 0.0, 0.5),
        )  # fmt: skip

    def make_padded(self, layer: str) -> Value:
        x = self.value(4)
        pad = Pad((0, 0, 1, 2), (0, 0, 0, 1), self.pick("constant", *PAD_MODES))
        y = apply(pad, x, layer=f"{layer}.pad")
        return conv(self.rng, y, 3, (2, 3), layer, pads=self.pick((0, 0, 0, 0), (1, 0, 0, 2)))

    def make_transposed(self, layer: str) -> Value:
        x = self.value(4)
        channels = x.shape[1]
        w = self.known(channels, self.pick(1, 2, 3), self.number(1, 3), self.number(1, 3))
        strides = (self.pick(1, 2), self.pick(1, 2, 3))
        w = constant(w.data / 4, "kernel")  # type: ignore[attr-defined]
        pads = (0, 0, 0, 0) if self.pick(True, False) or min(x.shape[2:]) < 3 else (1, 0, 0, 1)
        extra = (strides[0] - 1, 0)
        return apply(ConvTranspose(strides, (1, 1), pads, extra), x, w, layer=layer)

    def make_unary(self, layer: str) -> Value:
        return pointwise(self.pick(*UNARY), self.value(), layer=layer)

    def make_binary(self, layer: str) -> Value:
        x = self.value()
        fit = [v for v in self.pool if v.shape == x.shape]
        fit += [v for v in self.pool if v.type.rank == x.type.rank and v.type.size == 1]
        return pointwise(self.pick(*BINARY), x, self.pick(*fit), layer=layer)

    def operand(self, x: Value) -> Value:
        """Return a constant that broadcasts to x: a number, one for each channel, all, ..."""
        mask = self.pick(0, 0, 1, 1, 2, 3)  # which axes it spans
        sizes = tuple(
            s if mask == 3 or (mask == 1 and a == 1) or (mask == 2 and a >= 2) else 1
            for a, s in enumerate(x.shape)
        )
        return self.known(*sizes[self.number(0, 1) if mask == 0 else 0 :])

    def make_mixed(self, layer: str) -> Value:
        x = self.value()
        return pointwise(
            self.pick(*MIXED), x, self.operand(x), self.operand(x), layer=layer
        )  # fmt: skip

    def make_norm(self, layer: str) -> Value:
        x = self.value(4)
        c = x.shape[1]
        values = (self.rng.uniform(0.5, 2, c) for _ in range(4))
        return apply(
            BatchNormalization(1e-3), x, *(constant(v, "parameter") for v in values), layer=layer
        )

    def make_shuffle(self, layer: str) -> Value:
        x = self.value(4)
        block = self.pick((2, 2), (1, 2), (2, 1))
        if x.shape[1] % prod(block):
            x = conv(self.rng, x, 2 * prod(block), (1, 1), f"{layer}.before")
        return apply(DepthToSpace(block, self.pick("crd", "dcr")), x, layer=layer)

    def make_concat(self, layer: str) -> Value:
        x = self.value()
        axis = self.number(0, x.type.rank - 1)
        return apply(Concat(axis), x, *(x,) * self.number(0, 2), layer=layer)

    def make_pad(self, layer: str) -> Value:
        x = self.value()
        spatial = self.pick(True, True, False)
        first = x.type.rank - 2 if spatial else 0
        widths = [
            (self.number(0, 3), self.number(0, 2)) if a >= first else (0, 0)
            for a in range(x.type.rank)
        ]
        before, after = zip(*widths, strict=True)
        return apply(Pad(before, after, self.pick(*PAD_MODES), 0.5), x, layer=layer)

    def make_slice(self, layer: str) -> Value:
        x = self.value()
        starts, steps, sizes = [], [], []
        for length in x.shape:
            step = self.pick(1, 1, -1, 2)
            size = self.number(1, -(-length // abs(step)))
            slack = length - 1 - abs(step) * (size - 1)
            start = self.number(0, slack)
            starts.append(start if step > 0 else length - 1 - start)
            steps.append(step)
            sizes.append(size)
        return apply(Slice(tuple(starts), tuple(steps), tuple(sizes)), x, layer=layer)

    def make_reshape(self, layer: str) -> Value:
        x = self.value()
        n, *rest = x.shape
        shapes = [(1, n, *rest)[:4] if x.type.rank < 4 else (n, prod(rest))]
        shapes += [tuple(reversed(x.shape)), (1, 1, x.type.size, 1), (x.type.size,)]
        shapes += [tuple(s for s in x.shape if s > 1) or (1,)]
        return apply(Reshape(self.pick(*shapes)), x, layer=layer)

    def make_transpose(self, layer: str) -> Value:
        x = self.value()
        axes = [int(a) for a in self.rng.permutation(x.type.rank)]
        if x.type.rank == 4 and self.pick(True, True, False):
            axes = self.pick((0, 2, 3, 1), (0, 3, 1, 2))
        return apply(Transpose(tuple(axes)), x, layer=layer)

    def make_resize(self, layer: str) -> Value:
        x = self.value()
        steps = [self.pick((1, 0, 1), (1, 0, 2), (2, 1, 3), (1, -1, 2)) for _ in x.shape]
        sizes = [max(1, s * r // p) for s, (p, _, r) in zip(x.shape, steps, strict=True)]
        return apply(ResizeNearest(tuple(sizes), tuple(steps)), x, layer=layer)

    def make_known(self, layer: str) -> Value:
        """Return a computation on constants alone."""
        x = self.known(1, self.pick(1, 3, 5), 2, 3)
        return pointwise("tanh(x0) * x1", x, self.known(1), layer=layer)

    def graph(self, steps: int) -> Graph:
        for _ in range(steps):
            self.grow()
        outputs = [self.pool[-1], *(self.value() for _ in range(self.number(0, 2)))]
        return graph_of(*outputs, inputs=self.inputs)


def host_results(graph: Graph, host: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Evaluate with arrays in the model's own axis order, which no pass may change."""
    inputs = {i.name: host[i.name].transpose(np.argsort(i.port.axes)) for i in graph.inputs}
    results = evaluate_graph(graph, inputs)
    return [results[o.name].transpose(o.port.axes) for o in graph.outputs]


def close(got: np.ndarray, want: np.ndarray) -> bool:
    worst = np.abs(got - want).max()
    return got.shape == want.shape and worst <= 1e-4 * max(1.0, np.abs(want).max())


def reread(graph: Graph) -> str:
    return text.to_text(text_parser.parse(text.to_text(graph), text.constants(graph)))


QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 9))
@example(seed=1015, steps=6)  # a transpose that a port takes frees another
def test_every_pass_keeps_meaning_and_text_is_pure_and_idempotent(seed: int, steps: int) -> None:
    maker = Maker(seed)
    graph = maker.graph(steps)
    verify(graph)
    assert reread(graph) == text.to_text(graph)
    host = {i.name: maker.rng.normal(size=i.shape).transpose(i.port.axes) for i in graph.inputs}
    want = host_results(graph, host)
    tiles = maker.pick("auto", "2x2", "4x4")
    context = Context(KernelFamilies(Options(device="gles32-desktop", winograd=tiles).target()))
    for step in (*MATHEMATICS, *PLACEMENT):
        before = text.to_text(graph)
        after = step(graph, context)
        verify(after)
        assert text.to_text(graph) == before, f"{step.__name__} changed its operand"
        printed = text.to_text(after)
        assert reread(after) == printed, f"after {step.__name__}"
        assert text.to_text(step(after, context)) == printed, f"{step.__name__} twice"
        for got, expected in zip(host_results(after, host), want, strict=True):
            assert close(got, expected), step.__name__
        graph = after


@pytest.mark.gl
@settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=QUIET,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)  # fmt: skip
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 6))
@example(seed=723939, steps=4)  # edge padding before a convolution that pads zeros
def test_random_graphs_run_on_gl(seed: int, steps: int) -> None:
    maker = Maker(seed)
    graph = maker.graph(steps)
    textures = maker.pick("auto", "2d", "array")
    try:
        assert_runs_like_reference(
            graph, maker.rng,
            device="gles32-desktop", glsl=310, textures=textures,
            weights=maker.pick("auto", "constants", "ubo", "texture", "ssbo"),
            mrt=maker.pick(None, 1, 2, 3),
            parameters=maker.pick("constants", "ubo"),
            winograd=maker.pick("auto", "2x2", "4x4"),
            stage=maker.pick("auto", "fragment"),
            fetch=maker.pick("texel", "sample", "image"),
        )  # fmt: skip
    except ShadergenError as error:
        assert (error.code, textures) == ("SG0402", "2d"), error  # a unit for every plane
