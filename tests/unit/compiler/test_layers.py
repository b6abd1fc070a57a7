"""``verify --layers``: every stored tensor is compared, and the first wrong one is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from PIL import Image
from support.faults import dropped_product, inject
from support.kernel_programs import separable
from support.onnx_models import node, normal, typed_model, write
from support.runtime_models import MODELS, Model

from shadergen.backends.kernels import CONVOLUTION, LOOP_NEST, WINOGRAD
from shadergen.compiler.debugging.heat_maps import heat, write_heat_maps
from shadergen.compiler.debugging.inside import Alone, Inside
from shadergen.compiler.debugging.layers import Layers, compare_layers
from shadergen.compiler.debugging.pixels import difference
from shadergen.compiler.debugging.sheets import as_maps, columns_of, sheet
from shadergen.compiler.options import Options
from shadergen.compiler.verification import verifying
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from pathlib import Path

NET = Model(
    [
        node("Conv", "x", "w1", outputs=("a",), pads=[1] * 4, name="first"),
        node("Relu", "a", outputs=("b",), name="relu"),
        node("MaxPool", "b", outputs=("c",), kernel_shape=[2, 2], strides=[2, 2], name="pool"),
        node("Conv", "c", "w2", outputs=("y",), pads=[1] * 4, name="last"),
    ],
    {"w1": normal(8, 3, 3, 3) / 4, "w2": normal(4, 8, 3, 3, seed=1) / 8},
    {"x": normal(1, 3, 12, 10)},
)


def path_of(tmp_path: Path, model: Model = NET) -> Path:
    proto = typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)
    return write(tmp_path, proto)


def layers(tmp_path: Path, model: Model = NET, **options: Any) -> Layers:
    path = path_of(tmp_path, model)
    with verifying(path, Options(validate=False, **options), given=model.feeds) as verified:
        return compare_layers(verified)


@pytest.mark.gl
def test_a_right_build_is_right_in_every_tensor(tmp_path: Path) -> None:
    found = layers(tmp_path)
    assert [t.name for t in found.tensors] == ["relu", "pool", "last"]
    assert [t.shape for t in found.tensors] == [(1, 8, 12, 10), (1, 8, 6, 5), (1, 4, 6, 5)]
    assert found.ok
    assert found.first is found.alone is None
    assert found.fused == {"first": "relu"}


@pytest.mark.gl
@pytest.mark.parametrize("model", ["pixel_shuffle", "branches", "attention", "movement"])
@pytest.mark.parametrize("device", ["gles30", "gles32-desktop"])
def test_every_tensor_of_small_models_is_right_also_alone(
    tmp_path: Path, model: str, device: str
) -> None:
    made = MODELS[model]()
    options = Options(validate=False, device=device)
    with verifying(path_of(tmp_path, made), options, given=made.feeds) as verified:
        assert compare_layers(verified).ok
        inside = Inside(verified, "--layers")
        alone = Alone(inside)
        with inside.context() as context:
            assert all(alone.compared(context, s).ok for s in inside.stored)


def odd(height: int, width: int) -> Model:
    """Return a convolution of 5 to 6 channels whose last tiles and blocks reach beyond the map.

    Its input is 1 where channels are missing, and the padded map ends with its own pixels.
    """
    nodes = [
        node("Add", "x", "one", outputs=("a",), name="before"),
        node("Pad", "a", "pads", outputs=("b",), mode="reflect", name="pad"),
        node("Conv", "b", "w", "bias", outputs=("y",), name="last"),
    ]
    weights = {"w": normal(6, 5, 3, 3) / 4, "bias": normal(6), "one": np.float32([1])}
    weights["pads"] = np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)
    return Model(nodes, weights, {"x": normal(1, 5, height, width)})


STRIPS = [
    "fragment winograd input transform",
    "fragment winograd products",
    "fragment winograd output transform, rows",
    "fragment winograd output transform, columns",
]
STEPS = [
    "compute winograd input transform",
    "compute winograd products",
    "compute winograd output transform",
]
AT_ONCE = ["fragment winograd convolution", "fragment loop kernel"]
ARBITRARY = [
    ({"winograd": "2x2", "weights": "texture"}, STRIPS),
    ({"winograd": "4x4", "weights": "texture"}, STRIPS),
    ({"winograd": "2x2", "weights": "constants"}, AT_ONCE),
    ({"winograd": "2x2", "weights": "texture", "device": "gles32-desktop"}, STEPS),
    ({"winograd": "4x4", "weights": "texture", "device": "gles32-desktop"}, STEPS),
]


@pytest.mark.gl
@pytest.mark.parametrize(("options", "kernels"), ARBITRARY)
@pytest.mark.parametrize("size", [(9, 11), (13, 6)])
def test_elements_that_kernels_may_write_anything_to_are_not_compared(
    tmp_path: Path, options: dict[str, Any], kernels: list[str], size: tuple[int, int]
) -> None:
    found = layers(tmp_path, odd(*size), **options)
    assert [t.kernel for t in found.tensors] == kernels
    assert found.ok


@pytest.mark.gl
def test_pixels_of_blocks_beyond_the_map_are_not_compared(tmp_path: Path) -> None:
    x = normal(1, 32, 127, 127) + 3
    model = Model(
        [node("Conv", "x", "w", "bias", pads=[1] * 4)],
        {"w": normal(30, 32, 5, 5) / 28, "bias": normal(30)},
        {"x": x},
    )
    found = layers(tmp_path, model)
    assert [t.shape[1] for t in found.tensors] == [2 * 32, 30]  # a block is two pixels
    assert found.ok


@pytest.mark.gl
@pytest.mark.parametrize("size", [20, 28])
def test_the_tiles_that_the_compiler_chooses_are_compared(tmp_path: Path, size: int) -> None:
    model = Model(
        [
            node("Conv", "x", "w1", outputs=("a",), pads=[1] * 4, name="first"),
            node("Conv", "a", "w2", outputs=("b",), pads=[1] * 4, name="last"),
            node("Relu", "b", name="relu"),
        ],
        {"w1": normal(64, 3, 3, 3) / 5, "w2": normal(64, 64, 3, 3, seed=1) / 24},
        {"x": normal(1, 3, size, size)},
    )
    found = layers(tmp_path, model)
    assert [t.kernel for t in found.tensors][1:] == STRIPS
    assert found.ok


@pytest.mark.gl
@pytest.mark.parametrize(("options", "kernels"), ARBITRARY)
def test_a_wrong_step_is_found_where_others_may_write_anything(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    kernels: list[str],
) -> None:
    for kernel in kernels:
        _, name = kernel.split(" ", 1)
        family = CONVOLUTION if kernel == "compute winograd products" else WINOGRAD
        if "winograd" not in name:
            continue
        with monkeypatch.context() as patch:
            changed = inject(patch, family, only=lambda p, name=name: p.kernel == name)
            found = layers(tmp_path, odd(9, 11), **options)
        assert changed
        assert found.first.kernel == kernel
        assert not found.alone.ok


@pytest.mark.gl
def test_tensors_of_webgpu_are_compared(tmp_path: Path) -> None:
    pytest.importorskip("wgpu")
    assert layers(tmp_path, device="webgpu").ok
    assert layers(tmp_path, separable(), device="webgpu", fuse_separable="on").ok


@pytest.mark.gl
def test_a_dynamic_build_is_compared_at_its_default_size(tmp_path: Path) -> None:
    nodes = [node("Conv", "x", "w1", outputs=("a",), pads=[1] * 4), node("Relu", "a")]
    proto = typed_model(nodes, NET.weights, NET.feeds, {"y": np.float32}, opset=20)
    del proto.graph.initializer[1]
    for axis, name in ((2, "h"), (3, "w")):
        proto.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    path, options = write(tmp_path, proto), Options(dynamic=(12, 10))
    with verifying(path, options) as verified:
        assert compare_layers(verified).ok
    with (
        verifying(path, options, given={"x": normal(1, 3, 8, 10)}) as verified,
        pytest.raises(ShadergenError, match="initial size, 12x10"),
    ):
        compare_layers(verified)


@pytest.mark.gl
def test_the_first_wrong_tensor_and_its_worst_pixel_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = inject(monkeypatch, LOOP_NEST)
    found = layers(tmp_path)
    assert not found.ok
    first, pixel = found.first, found.first.pixel
    assert (first.name, first.layers, first.kernel) == (
        "pool",
        ("pool",),
        "fragment loop kernel",
    )
    assert pixel.got == pytest.approx(-pixel.expected)
    assert first.errors[pixel.index] == np.float32(first.max_error)
    assert (pixel.position, pixel.gpu_pass) == (1, "pool")
    assert [pixel.shader] == changed
    assert not found.alone.ok
    assert [t.ok for t in found.tensors] == [True, False, False]


@pytest.mark.gl
def test_a_wrong_plane_of_many_is_found_in_its_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(monkeypatch, CONVOLUTION, dropped_product, lambda p: p.layers == (1,))
    found = layers(tmp_path, mrt=1, weights="constants")
    assert found.first.name == "relu"
    assert found.first.pixel.gpu_pass == "relu[1:2]"
    assert 4 <= found.first.pixel.index[1] < 8
    errors = found.first.errors
    assert errors[:, :4].max() < found.first.bound < errors[:, 4:].max()


@pytest.mark.gl
def test_the_command_names_tensor_pixel_pass_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shadergen: Any
) -> None:
    (shader,) = {"shaders/01_pool.frag"}
    inject(monkeypatch, LOOP_NEST)
    ran = shadergen("verify", path_of(tmp_path), "--layers", "--heat-maps", tmp_path / "maps")
    assert ran.code == 1
    lines = ran.out.split("\n")
    start = lines.index("first wrong tensor: 'pool', fragment loop kernel")
    assert lines[start + 1].startswith("  worst pixel: channel ")
    assert lines[start + 2].startswith(f"  written by GPU pass 1 'pool', {shader}:")
    assert lines[start + 3] == "  its GPU passes are wrong even if their inputs are right"
    assert "fused, so not stored: first (into relu)" in lines
    maps = sorted(p.name for p in (tmp_path / "maps").iterdir())
    assert maps == ["0_relu.png", "1_pool.png", "2_last.png", "layers.json"]
    with Image.open(tmp_path / "maps" / "1_pool.png") as image:
        assert np.asarray(image)[..., 0].max() >= 190  # red: above the bound
    with Image.open(tmp_path / "maps" / "0_relu.png") as image:
        assert (np.asarray(image)[..., 0] <= 200).all()


@pytest.mark.gl
def test_numbers_that_16_bits_cannot_hold_are_named(tmp_path: Path, shadergen: Any) -> None:
    loud = Model(
        [
            node("Conv", "x", "w", outputs=("loud",), name="loud"),
            node("MaxPool", "loud", outputs=("y",), kernel_shape=[2, 2], name="pool"),
        ],
        {"w": np.full((4, 4, 1, 1), 6e4, np.float32)},
        {"x": np.ones((1, 4, 6, 6), np.float32)},
    )
    ran = shadergen("verify", path_of(tmp_path, loud), "--layers", "--precision", "mediump")
    assert ran.code == 1
    assert "65504 is the largest 16-bit float: use --precision highp or auto" in ran.out


@pytest.mark.gl
def test_json_has_all_tensors(tmp_path: Path, shadergen: Any) -> None:
    ran = shadergen("verify", path_of(tmp_path), "--layers", "--json")
    data = json.loads(ran.out)["layers"]
    assert ran.code == 0
    assert [t["name"] for t in data["tensors"]] == ["relu", "pool", "last"]
    assert data["tensors"][1]["passes"] == [1]
    assert (data["ok"], data["first_wrong"], data["fused"]) == (True, None, {"first": "relu"})


@pytest.mark.gl
def test_several_devices_are_refused(tmp_path: Path, shadergen: Any) -> None:
    ran = shadergen("verify", path_of(tmp_path), "--layers", "--device", "gles30,mali-valhall")
    assert ran.code == 2
    assert "--layers needs a single device, not 2" in ran.err


def test_heat_maps_need_layers_and_a_folder(tmp_path: Path, shadergen: Any) -> None:
    path = path_of(tmp_path)
    ran = shadergen("verify", path, "--heat-maps", tmp_path / "maps")
    assert (ran.code, ran.err.split("\n")[0]) == (2, "error[SG0301]: --heat-maps needs --layers")
    ran = shadergen("verify", path, "--layers", "--heat-maps", path)
    assert ran.code == 2
    assert "is not a folder" in ran.err
    ran = shadergen("verify", path, "--layers", "--heat-maps", path.parent)
    assert ran.code == 2
    assert f"shadergen verify --heat-maps did not write: {path.name}" in ran.err
    with pytest.raises(ShadergenError, match="is not a folder"):
        write_heat_maps([], path)


def test_equal_infinities_and_two_nans_are_no_error() -> None:
    inf, nan = np.inf, np.nan
    got = np.array([inf, nan, nan, inf, 1.0])
    wanted = np.array([inf, nan, 1.0, -inf, 0.5])
    assert difference(got, wanted).tolist() == [0, 0, inf, inf, 0.5]


def test_colours_tell_accepted_errors_from_others() -> None:
    black, grey, red, yellow = heat(np.array([0.0, 0.9, 1.1, 500.0]), 1.0).tolist()
    assert black == [0, 0, 0]
    assert len(set(grey)) == 1
    assert red[0] > 180 > 10 > red[1]
    assert yellow == [255, 255, 90]


def test_a_sheet_keeps_the_order_of_channels() -> None:
    maps = as_maps(np.arange(5.0).reshape(1, 5, 1, 1) * np.ones((1, 1, 2, 3)))
    assert columns_of(5, 2, 3) == 2
    image = sheet(maps, -1.0, 2)
    assert image.shape == (8, 7)
    assert image[:, 0].tolist() == [0, 0, -1, 2, 2, -1, 4, 4]
    assert image[0].tolist() == [0, 0, 0, -1, 1, 1, 1]
    assert image[7].tolist() == [4, 4, 4, -1, -1, -1, -1]
