"""What a few tiny networks compile to, and what errors say, compared with builds/.

After a change that is meant, REGENERATE_GOLDEN=1 pytest tests/golden writes the files anew; git
diff then shows the change.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support import compile_graph, graph_of, image, pointwise
from support.golden import compare, conv

from shadergen.compiler import definitions
from shadergen.compiler.option_parsing import parse_preprocessing, parse_sizes
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.ir import text, text_parser
from shadergen.ir.evaluation import check
from shadergen.ir.formula_parser import parse, parse_definitions
from shadergen.ir.graph import Graph, apply, constant
from shadergen.ir.ops import (
    BatchNormalization,
    Concat,
    DepthToSpace,
    Pad,
    Resample,
    Reshape,
    ResizeLinear,
)

GOLDEN = Path(__file__).parent / "builds"


def plain() -> tuple[Graph, dict]:
    """Weights as constants, zero padding, batch norm folded, an epilogue."""
    x = image(1, 1, 6, 5, name="gray")
    y = conv(x, 2, 3, "conv", pads=(1, 1, 1, 1))
    norm = [constant(np.array(v), "norm") for v in ([1.0, 2], [0.5, 0], [0.0, 1], [0.25, 1])]
    y = apply(BatchNormalization(0.0), y, *norm, layer="norm")
    return graph_of(pointwise("leaky_relu(x0, 0.25)", y, layer="leaky"), inputs=(x,)), {}


def residual() -> tuple[Graph, dict]:
    """A loop over a weight texture, two render targets, a prologue, a residual, fp16 in 2D."""
    x = image(1, 5, 6, 4)
    scaled = pointwise("relu(x0 * x1)", x, constant(np.arange(5).reshape(5, 1, 1) / 2), layer="in")
    y = conv(scaled, 5, 2, "loop", pads=(1, 0, 0, 1), pad_mode="reflect", strides=(1, 1))
    y = pointwise("tanh(x0 + x1)", y, x, layer="add")
    options = {"weights": "texture", "textures": "2d", "precision": "mediump", "mrt": 2}
    return graph_of(y, inputs=(x,)), options


def shuffle() -> tuple[Graph, dict]:
    """Movement by planes and by lanes, and an output in two channels."""
    x = image(1, 4, 3, 4)
    padded = apply(Pad((0, 0, 1, 0), (0, 0, 0, 2), "edge"), x, layer="pad")
    both = apply(Concat(1), padded, pointwise("abs(x0)", padded, layer="abs"), layer="join")
    y = apply(DepthToSpace((4, 2), "dcr"), both, layer="shuffle")
    return graph_of(y, inputs=(x,)), {"output_encoding": "y2rg"}


def blocks() -> tuple[Graph, dict]:
    """Uniform blocks for weights and parameters, groups, dilation, a guard, GLSL ES 3.1."""
    x = image(1, 4, 7, 7)
    y = conv(x, 8, 2, "grouped", groups=2, dilations=(2, 1))
    z = pointwise("x0 * x1 + x2", y, constant(np.arange(8).reshape(8, 1, 1) / 8),
                  constant(np.float32(0.5)), layer="scale")  # fmt: skip
    options = {"weights": "ubo", "parameters": "ubo", "glsl": 310, "zero_guard": 0.125}
    return graph_of(pointwise("x0 * sigmoid(x1)", z, y, layer="gate"), y, inputs=(x,)), options


def resizes() -> tuple[Graph, dict]:
    """Linear at quarters of a pixel and at thirds, then by tables of starts and weights."""
    x = image(1, 3, 4, 5)
    same = (1, 0, 1)
    y = apply(ResizeLinear((1, 3, 8, 10), (same, same, (2, -1, 4), (2, -1, 4))), x, layer="twice")
    y = apply(ResizeLinear((1, 3, 8, 15), (same, same, same, (2, 0, 3))), y, layer="wider")
    starts = constant(np.arange(4, dtype=np.int32) * 2 - 1, "starts")
    weights = constant(np.tile([-0.125, 0.625, 0.625, -0.125], (4, 1)), "weights")
    return graph_of(apply(Resample(2), y, starts, weights, layer="table"), inputs=(x,)), {}


@pytest.mark.parametrize("model", [plain, residual, shuffle, blocks, resizes])
def test_compiles_to(model):
    graph, options = model()
    name = model.__name__
    placed, files, context = compile_graph(graph, **options)
    shaders = "\n".join(
        f"//// {path}\n{source}" for path, source in files.shaders.items() if "full" not in path
    )
    compare(GOLDEN / f"{name}.glsl", shaders)
    compare(GOLDEN / f"{name}.json", json.dumps(files.schedule, indent=1) + "\n")
    compare(GOLDEN / f"{name}.ir", f"{text.to_text(graph)}\n{text.to_text(placed)}")
    lines = [
        f"{d.step}: {d.subject}: {d.decision}{f' ({d.why})' if d.why else ''}\n"
        for d in context.decisions
    ]
    compare(GOLDEN / f"{name}.explain", "".join(lines))


X = image(1, 8, 6, 6, name="photo")
WIDE, VAST = image(1, 64, 9, 9), image(1 << 17, 1 << 18)
ERRORS = {
    "option": lambda: Options(weights="uboo").target(),
    "device": lambda: Options(device="gles30-mini").target(),
    "render targets": lambda: Options(mrt=0).target(),
    "size": lambda: parse_sizes(["640*480"]),
    "preprocessing": lambda: parse_preprocessing("order=bgr,means=1"),
    "expression": lambda: parse("x + * 2"),
    "function": lambda: check(parse("sigmoit(x)")),
    "definitions": lambda: parse_definitions("F(x) = x\nG(x, a=b) = a", "my.ops"),
    "definition": lambda: definitions.instantiate(
        parse_definitions("F(x, gain) = x * gain")["F"], [X], {"gamma": 2.0}, {}, "f"
    ),
    "shapes": lambda: pointwise("x0 + x1", X, image(1, 3, 6, 6), layer="add_1"),
    "reshape": lambda: apply(Reshape((7, 7)), X, layer="flatten"),
    "texture size": lambda: compile_graph(graph_of(VAST, inputs=(VAST,))),
    "weights": lambda: compile_graph(
        graph_of(conv(WIDE, 64, 5, "wide"), inputs=(WIDE,)), weights="ubo"
    ),
    "render limit": lambda: compile_graph(graph_of(X, inputs=(X,)), mrt=5),
    "encoding": lambda: compile_graph(graph_of(X, inputs=(X,)), output_encoding="y2rg"),
    "half": lambda: compile_graph(
        graph_of(pointwise("x0 * x1", X, constant(1e5, "gain")), inputs=(X,)), precision="fp16"
    ),
    "ir": lambda: text_parser.parse('graph "g" { output "y" = %3 {axes=[]} }', {}),
}


def test_errors_say():
    said = []
    for name, mistake in ERRORS.items():
        with pytest.raises(ShadergenError) as caught:
            mistake()
        said.append(f"# {name}\n{caught.value.render()}\n")
    compare(GOLDEN / "errors.txt", "\n".join(said))
