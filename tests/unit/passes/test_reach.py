"""Receptive fields of networks: what tiles of a picture need to overlap."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import floor
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from support.onnx_models import model, node, normal

from shadergen.compiler.compilation import context_for, import_model, larger_graph
from shadergen.compiler.options import Options
from shadergen.compiler.proven_fields import proven_members
from shadergen.passes.pipeline import MATHEMATICS

TILE, WHOLE = (32, 48), (80, 112)
KERNEL = {"w": normal(3, 3, 3, 3), "b": normal(3)}
UPSAMPLED = {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 2, 2], np.float32)}


def conv(x: str, y: str, **attributes: Any) -> Any:
    return node("Conv", x, "w", "b", outputs=(y,), **{"pads": [1, 1, 1, 1], **attributes})


def resize(x: str, mode: str, y: str = "y", **attributes: Any) -> Any:
    return node("Resize", x, "roi", "scales", outputs=(y,), mode=mode, **attributes)


def proto_of(nodes: Any, inits: dict[str, Any], size: Any) -> Any:
    return model(nodes, {**KERNEL, **inits}, {"x": (1, 3, *size)}, 19)


def member_of(nodes: Any, inits: dict[str, Any], size: Any = TILE, dynamic: bool = False) -> Any:
    options = Options(dynamic=size) if dynamic else Options()
    proto = proto_of(nodes, inits, ("h", "w") if dynamic else size)
    graph = import_model(proto, options)
    context = context_for(graph, options)
    for step in MATHEMATICS:
        graph = step(graph, context)
    return proven_members(graph, partial(larger_graph, proto, options))["y"]


def reach(member: Any) -> tuple[int, ...]:
    height = member["height"]
    return (*height["scale"], height["before"], height["after"], height["period"])


BOUNDED: dict[str, tuple[Any, dict[str, Any], tuple[int, ...]]] = {
    "two convolutions": ([conv("x", "t"), conv("t", "y")], {}, (1, 1, 2, 2, 1)),
    "without padding": (conv("x", "y", pads=[0] * 4), {}, (1, 1, 0, 2, 1)),
    "stride 2": (conv("x", "y", strides=[2, 2]), {}, (2, 1, 1, 1, 2)),
    "dilated": (conv("x", "y", dilations=[4, 4], pads=[4] * 4), {}, (1, 1, 4, 4, 1)),
    "mirrored": (
        [node("Pad", "x", "p", outputs=("t",), mode="reflect"), conv("t", "y", pads=[0] * 4)],
        {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])},
        (1, 1, 1, 1, 1),
    ),
    "mirrored alone": (
        node("Pad", "x", "p", mode="reflect"),
        {"p": np.array([0, 0, 3, 3, 0, 0, 3, 3])},
        (1, 1, 9, 3, 1),
    ),
    "cropped by as much": (
        node("Slice", "x", "p", "q", "a"),
        {"p": np.array([2, 2]), "q": np.array([-2, -2]), "a": np.array([2, 3])},
        (1, 1, 0, 2, 1),
    ),
    "transposed": (
        node("ConvTranspose", "x", "w", "b", strides=[2, 2], pads=[1] * 4, output_padding=[1, 1]),
        {},
        (1, 2, 1, 1, 1),
    ),
    "nearest and back": (
        [node("MaxPool", "x", outputs=("t",), kernel_shape=[2, 2], strides=[2, 2]),
         resize("t", "nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")],
        UPSAMPLED,
        (1, 1, 1, 1, 2),
    ),
    "linear": (resize("x", "linear"), UPSAMPLED, (1, 2, 1, 2, 1)),
    "cubic": (resize("x", "cubic"), UPSAMPLED, (1, 2, 2, 3, 1)),
    "pixel shuffle": (
        [node("SpaceToDepth", "x", outputs=("t",), blocksize=2),
         node("MaxPool", "t", outputs=("m",), kernel_shape=[3, 3], pads=[1] * 4),
         node("DepthToSpace", "m", outputs=("u",), blocksize=2), conv("u", "y")],
        {},
        (1, 1, 4, 4, 2),
    ),
}  # fmt: skip
TRIPLED = {**UPSAMPLED, "scales": np.array([1, 1, 3, 3], np.float32)}
ALIGNED = {"coordinate_transformation_mode": "align_corners"}
BOTH = {"axes": np.array([2, 3])}
BY_SIZE: dict[str, tuple[Any, dict[str, Any]]] = {  # what the picture's own size decides
    "aligned corners": (resize("x", "linear", **ALIGNED), TRIPLED),
    "aligned corners, cubic": (resize("x", "cubic", **ALIGNED), TRIPLED),
    "one size": (
        node("Resize", "x", "", "", "sizes", mode="linear"),
        {"sizes": np.array([1, 3, 64, 96])},
    ),
    "the last rows": (
        node("Slice", "x", "p", "q", "axes"),
        {**BOTH, "p": np.array([-20, -20]), "q": np.array([1 << 40, 1 << 40])},
    ),
    "the first rows": (
        node("Slice", "x", "p", "q", "axes"),
        {**BOTH, "p": np.array([0, 0]), "q": np.array([20, 20])},
    ),
    "the centre": (
        [node("Shape", "x", outputs=("s",), start=2), node("Sub", "s", "side", outputs=("d",)),
         node("Div", "d", "two", outputs=("p",)), node("Add", "p", "side", outputs=("q",)),
         node("Slice", "x", "p", "q", "axes")],
        {**BOTH, "side": np.array([20, 20]), "two": np.array([2, 2])},
    ),
    "a picture below itself": (node("Concat", "x", "x", axis=2), {}),
    "rolled": (
        [node("Slice", "x", "p", "q", "a", outputs=("t",)),
         node("Slice", "x", "z", "p", "a", outputs=("u",)), node("Concat", "t", "u", axis=2)],
        {"p": np.array([-1]), "q": np.array([1 << 40]), "z": np.array([0]), "a": np.array([2])},
    ),
    "wrapped": (node("Pad", "x", "p", mode="wrap"), {"p": np.array([0, 0, 3, 3, 0, 0, 3, 3])}),
}  # fmt: skip
UNBOUNDED: dict[str, tuple[Any, dict[str, Any]]] = {
    "aligned corners, nearest": (resize("x", "nearest", **ALIGNED), TRIPLED),
    "global pooling": ([node("GlobalAveragePool", "x", outputs=("t",)), node("Mul", "x", "t")], {}),
    "instance norm": (node("InstanceNormalization", "x", "b", "b"), {}),
    "positions": (node("Add", "x", "p"), {"p": normal(1, 1, *TILE)}),
    "attention": (
        [node("Reshape", "x", "flat", outputs=("t",)),
         node("Transpose", "t", outputs=("q",), perm=[0, 2, 1]),
         node("MatMul", "q", "t", outputs=("s",)), node("Softmax", "s", outputs=("a",)),
         node("MatMul", "t", "a", outputs=("m",)), node("Reshape", "m", "shape")],
        {"flat": np.array([1, 3, -1]), "shape": np.array([1, 3, *TILE])},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDED)
def test_the_reach_of_a_network_follows_from_its_loop_nests(name: str) -> None:
    nodes, inits, expected = BOUNDED[name]
    found = reach(member_of(nodes, inits))
    assert found[:2] == expected[:2]
    assert found[4] == expected[4]
    for k in (2, 3):  # an element more is no error
        assert expected[k] <= found[k] <= expected[k] + 1


@pytest.mark.parametrize("name", BOUNDED)
def test_elements_of_a_tile_that_read_it_or_beyond_the_picture_are_those_of_the_whole(
    name: str,
) -> None:
    nodes, inits, _ = BOUNDED[name]
    member = member_of(nodes, inits)
    session = ort.InferenceSession(proto_of(nodes, inits, ("h", "w")).SerializeToString())
    x = normal(1, 3, *WHOLE)
    (whole,) = session.run(None, {"x": x})
    inner = [-(-15 // member[side]["period"]) * member[side]["period"] for side in SIDES]
    starts = [(0, i, w - t) for i, w, t in zip(inner, WHOLE, TILE, strict=True)]  # borders, too
    for corner in product(*starts):
        rows, columns = (slice(c, c + t) for c, t in zip(corner, TILE, strict=True))
        (tile,) = session.run(None, {"x": x[:, :, rows, columns]})
        kept, same = [], []
        for side, start, size, axis in zip(SIDES, corner, TILE, (2, 3), strict=True):
            p, q = member[side]["scale"]
            first, last = start == 0, start + size == WHOLE[axis - 2]
            inside = [
                i for i in range(tile.shape[axis])
                if (first or floor(i * p / q) >= member[side]["before"])
                and (last or floor(i * p / q) + member[side]["after"] < size)
            ]  # fmt: skip
            assert len(inside) * p / q > size / 2
            kept.append(inside)
            same.append([i + start * q // p for i in inside])
        found, expected = tile[:, :, kept[0]][..., kept[1]], whole[:, :, same[0]][..., same[1]]
        np.testing.assert_allclose(found, expected, atol=1e-5)


SIDES = ("height", "width")


@pytest.mark.parametrize("name", UNBOUNDED)
def test_layers_that_see_the_whole_picture_are_named(name: str) -> None:
    member = member_of(*UNBOUNDED[name])
    assert member.keys() == {"input", "unbounded_by"}
    assert member["unbounded_by"]


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("name", BY_SIZE)
def test_what_depends_on_the_size_of_the_picture_is_unbounded_in_every_build(
    name: str, dynamic: bool
) -> None:
    member = member_of(*BY_SIZE[name], (33, 33), dynamic)
    assert member == {"input": "x", "unbounded_by": "y"}


def test_the_layer_whose_reach_differs_at_another_size_is_named() -> None:
    nodes = [conv("x", "t"), resize("t", "linear", "u", **ALIGNED), conv("u", "y")]
    assert member_of(nodes, TRIPLED)["unbounded_by"] == "u"


def test_a_model_of_one_size_only_is_unbounded() -> None:
    inits = {"shape": np.array([1, 3, *TILE])}
    assert member_of(node("Reshape", "x", "shape"), inits)["unbounded_by"] == "y"


def test_a_turned_picture_has_its_rows_along_the_other_axis() -> None:
    member = member_of(node("Transpose", "x", perm=[0, 1, 3, 2]), {})
    assert (member["height"]["input_axis"], member["height"]["output_axis"]) == (2, 3)


def test_a_dynamic_build_has_the_reach_of_a_fixed_one() -> None:
    nodes, inits, _ = BOUNDED["nearest and back"]
    assert member_of(nodes, inits, dynamic=True) == member_of(nodes, inits)
