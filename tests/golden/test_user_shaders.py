"""What small networks of dynamic sizes become as user shaders, compared with user_shaders/."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import pointwise
from support.golden import compare, conv
from support.user_shader_grammar import parse

from shadergen.backends.user_shader.file import user_shader
from shadergen.backends.user_shader.validation import validate_user_shader
from shadergen.compiler.compilation import compile_graph
from shadergen.compiler.options import Options
from shadergen.compiler.user_shader import for_user_shader
from shadergen.ir.dimensions import ShapeEnvironment, dimension
from shadergen.ir.graph import Graph, Input, Output, Port, apply, constant
from shadergen.ir.ops import DepthToSpace
from shadergen.ir.types import TensorType

GOLDEN = Path(__file__).parent / "user_shaders"


def picture(channels: int) -> Input:
    bounds = {"height": (1.0, 32768.0), "width": (1.0, 32768.0)}
    environment = ShapeEnvironment({"height": 256, "width": 384}, bounds)
    sides = (dimension(environment, name) for name in bounds)
    return Input(TensorType((1, channels, *sides)), "picture", Port.plain(4))


def luma_x2() -> Graph:
    """Zero padding, of the picture and as a halo, two planes between, a pixel shuffle."""
    x = picture(1)
    y = pointwise("relu(x0)", conv(x, 8, 3, "features", pads=(1, 1, 1, 1)), layer="relu")
    y = conv(y, 4, 3, "pixels", pads=(1, 1, 1, 1))
    y = apply(DepthToSpace((2, 2), "dcr"), y, layer="shuffle")
    return Graph("luma_x2", (x,), (Output("y", y, Port.plain(4)),))


def rgb_restorer() -> Graph:
    """Edge padding, a residual, transparency, parameters for each channel."""
    x = picture(3)
    y = conv(x, 4, 3, "features", pads=(1, 1, 1, 1), pad_mode="edge")
    slope = constant(np.arange(4).reshape(4, 1, 1) / 8, "slope")
    y = pointwise("max(x0, 0) + x1 * min(x0, 0)", y, slope, layer="prelu")
    y = pointwise("x0 + x1", x, conv(y, 3, 1, "residual"), layer="add")
    return Graph("rgb_restorer", (x,), (Output("y", y, Port.plain(4)),))


@pytest.mark.parametrize(
    ("make", "form"),
    [
        (luma_x2, "fragment"),
        (luma_x2, "compute"),
        (luma_x2, "split"),
        (rgb_restorer, "fragment"),
    ],
)
def test_compiles_to(make, form):
    split = form == "split"
    stage = "compute" if split else form
    intermediates = "split" if split else "half"
    options = for_user_shader(Options(package="mpv", stage=stage, intermediates=intermediates))
    _, files, _ = compile_graph(make(), options)
    shader = user_shader(files, license="MIT", split=split)
    assert parse(shader.text)
    assert all(validate_user_shader(shader).values())
    name = make.__name__ + f"_{form}" * (form != "fragment")
    compare(GOLDEN / f"{name}.glsl", shader.text)
