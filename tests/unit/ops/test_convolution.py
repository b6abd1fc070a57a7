"""Convolutions of any rank, transposed, binary and deformable: nests against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import (
    assert_runs_like_reference,
    check_kernels,
    check_nest,
    compile_graph,
    graph_of,
    image,
)

from shadergen.compiler.definitions import instantiate
from shadergen.errors import ShadergenError
from shadergen.ir.formula_parser import parse_definitions
from shadergen.ir.graph import Value, apply, constant
from shadergen.ir.indexing import PAD_MODES
from shadergen.ir.ops import (
    BinaryConv,
    BinaryDense,
    Col2Im,
    Conv,
    ConvTranspose,
    DeformColumns,
    DeformConv,
    WindowsToChannels,
)
from shadergen.ir.types import TensorType

torch = pytest.importorskip("torch")
F = torch.nn.functional


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def tensors(*arrays: np.ndarray) -> list[Any]:
    return [torch.tensor(a) for a in arrays]


def many(rng: np.random.Generator, low: int, high: int, count: int) -> tuple[int, ...]:
    return tuple(map(int, rng.integers(low, high, count)))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_convolution_over_any_axes_is_that_of_pytorch(axes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, per_group, out = many(rng, 1, 4, 3)
    strides, dilations = many(rng, 1, 3, axes), many(rng, 1, 3, axes)
    pads = many(rng, 0, 3, axes)
    x = normal(2, groups * per_group, *many(rng, 5, 8, axes))
    w = normal(groups * out, per_group, *many(rng, 1, 4, axes), seed=1)
    bias = [normal(groups * out, seed=2)] * (seed % 2)
    op = Conv(strides, dilations, pads * 2, groups)
    t, *rest = tensors(x, w, *bias)
    convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[axes]
    want = convolve(t, *rest, stride=strides, padding=pads, dilation=dilations, groups=groups)
    np.testing.assert_allclose(check_nest(op, x, w, *bias), want, atol=1e-10)
    check_kernels(op, x, w, *bias)


@pytest.mark.parametrize("mode", PAD_MODES)
@pytest.mark.parametrize("zero_guard", [0.0, 1e-5])
def test_the_nest_of_a_convolution_continues_its_input(mode: Any, zero_guard: float) -> None:
    x, w = normal(1, 2, 5, 6), normal(3, 2, 3, 2, seed=1)
    x[0, 0, 2] = 0
    op = Conv((2, 1), (1, 2), (2, 0, 1, 3), 1, mode, 0.5, zero_guard)
    check_nest(op, x, w)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_transposed_convolution_over_any_axes_is_that_of_pytorch(axes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, per_group, out = many(rng, 1, 3, 3)
    strides, dilations = many(rng, 1, 4, axes), many(rng, 1, 3, axes)
    kernel = many(rng, 1, 4, axes)
    pads = tuple(
        int(rng.integers(0, min((k - 1) * d, 1) + 1))
        for k, d in zip(kernel, dilations, strict=True)
    )
    extra = tuple(int(rng.integers(0, s)) for s in strides)
    x = normal(2, groups * per_group, *many(rng, 4, 6, axes))
    w = normal(groups * per_group, out, *kernel, seed=1)
    bias = [normal(groups * out, seed=2)] * (seed % 2)
    op = ConvTranspose(strides, dilations, pads * 2, extra, groups)
    t, *rest = tensors(x, w, *bias)
    convolve = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[axes]
    more = {"stride": strides, "padding": pads, "dilation": dilations, "groups": groups}
    want = convolve(t, *rest, output_padding=extra, **more)
    np.testing.assert_allclose(check_kernels(op, x, w, *bias), want, atol=1e-10)


@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_negative_padding_of_a_transposed_convolution_adds_the_bias_alone(strides: Any) -> None:
    x, w, b = normal(1, 2, 4, 5), normal(2, 3, 3, 2, seed=1), normal(3, seed=2)
    full = ConvTranspose(strides).reference(x, w, b)
    y = check_kernels(ConvTranspose(strides, pads=(-3, 1, -2, -4)), x, w, b)
    np.testing.assert_allclose(y[:, :, 3:-2, :-4], full[:, :, :, 1:], atol=1e-12)
    assert (y[:, :, :3] == b.reshape(-1, 1, 1)).all()
    assert (y[:, :, :, -4:] == b.reshape(-1, 1, 1)).all()


@pytest.mark.parametrize("pad_value", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("binary_input", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_binary_convolution_is_that_of_signs(
    pad_value: float, binary_input: bool, count: int
) -> None:
    x, w = normal(2, 4, 5, 6), normal(6, 2, 3, 3, seed=1)
    x[0, 0, 0, :2], w[0, 0, 0, :2] = (0.0, -0.0), (0.0, -0.0)
    given = [normal(6, seed=k) for k in range(count)]
    op = BinaryConv((2, 1), (1, 1), (1, 1, 1, 1), 2, pad_value, binary_input)
    y = check_kernels(op, x, w, *given)
    signs = [np.where(v < 0, -1.0, 1.0) for v in (x, w)]
    framed = np.pad(
        signs[0] if binary_input else x,
        ((0, 0), (0, 0), (1, 1), (1, 1)),
        constant_values=pad_value,
    )
    want = F.conv2d(*tensors(framed, signs[1]), stride=(2, 1), groups=2).numpy()
    scale, bias = ([*given, 1, 0] if count == 0 else [*given, 0])[:2]
    want = want * np.reshape(scale, (-1, 1, 1)) + np.reshape(bias, (-1, 1, 1))
    np.testing.assert_allclose(y, want, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 12), (2, 3, 2, 2), (2, 4, 3), (1, 3, 2, 1, 2)])
@pytest.mark.parametrize("binary_input", [False, True])
def test_a_binary_layer_multiplies_signs(shape: tuple[int, ...], binary_input: bool) -> None:
    x, w, scale, bias = normal(*shape), normal(5, 12), normal(5, seed=1), normal(5, seed=2)
    y = check_kernels(BinaryDense(binary_input), x, w, scale, bias)
    flat = x.reshape(len(x), -1)
    flat = np.where(flat < 0, -1, 1) if binary_input else flat
    np.testing.assert_allclose(y, flat @ np.where(w < 0, -1, 1).T * scale + bias, atol=1e-12)


def sampled(x: np.ndarray, v: float, u: float) -> float:
    """Return x between its elements, 0 beyond them."""
    total = 0.0
    for i in (int(np.floor(v)), int(np.floor(v)) + 1):
        for j in (int(np.floor(u)), int(np.floor(u)) + 1):
            if 0 <= i < x.shape[0] and 0 <= j < x.shape[1]:
                total += (1 - abs(v - i)) * (1 - abs(u - j)) * x[i, j]
    return total


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("groups", "offset_groups"), [(1, 1), (2, 1), (1, 2), (2, 4)])
def test_deformable_convolution_is_its_definition(
    masked: bool, groups: int, offset_groups: int
) -> None:
    x, w, b = normal(2, 4, 5, 6), normal(6, 4 // groups, 3, 2, seed=1), normal(6, seed=2)
    op = DeformConv((1, 2), (2, 1), (1, 0, 1, 1), groups, offset_groups)
    taps = offset_groups * 6
    offset = normal(2, 2 * taps, 3, 3, seed=3) * 2
    offset[0, :, 0, 0] = 0
    mask = normal(2, taps, 3, 3, seed=4)
    given = [offset, mask, b] if masked else [offset, b]
    y = check_kernels(op, x, w, *given)
    for n, o, i, j in ((0, 0, 0, 0), (0, 5, 1, 2), (1, 3, 2, 1)):
        want = b[o]
        for c in range(4 // groups):
            channel = o // (6 // groups) * (4 // groups) + c
            for k, m in np.ndindex(3, 2):
                at = (channel // (4 // offset_groups) * 3 + k) * 2 + m
                v = i + 2 * k - 1 + offset[n, 2 * at, i, j]
                u = 2 * j + m + offset[n, 2 * at + 1, i, j]
                weight = w[o, c, k, m] * (mask[n, at, i, j] if masked else 1)
                want += weight * sampled(x[n, channel], v, u)
        assert y[n, o, i, j] == pytest.approx(want, abs=1e-10)


def test_offsets_of_zero_deform_nothing() -> None:
    x, w = normal(1, 3, 6, 7), normal(4, 3, 3, 3, seed=1)
    pads = (1, 1, 1, 1)
    y = check_kernels(DeformConv(pads=pads), x, w, np.zeros((1, 18, 6, 7)))
    np.testing.assert_allclose(y, Conv(pads=pads).reference(x, w), atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_columns_become_an_image_as_in_pytorch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, strides, dilations = many(rng, 1, 4, 2), many(rng, 1, 4, 2), many(rng, 1, 3, 2)
    pads, sizes = many(rng, 0, 2, 2), many(rng, 6, 9, 2)
    more = {"kernel_size": kernel, "stride": strides, "dilation": dilations, "padding": pads}
    columns = F.unfold(torch.tensor(normal(2, 3, *sizes)), **more)
    want = F.fold(columns, sizes, **more)
    op = Col2Im(sizes, kernel, strides, dilations, pads * 2)
    np.testing.assert_allclose(check_nest(op, columns.numpy()), want, atol=1e-12)


def test_columns_become_a_volume() -> None:
    op = Col2Im((3, 4, 5), (2, 1, 2), pads=(0, 0, 1, 0, 0, 0))
    check_nest(op, normal(1, 8, 2 * 4 * 5))


@pytest.mark.parametrize("mode", PAD_MODES)
def test_windows_become_channels_and_batch_entries(mode: Any) -> None:
    x = normal(2, 3, 6, 4)
    y = check_nest(WindowsToChannels(3, 2, 1, 1, 2, mode, 0.5), x)
    more = {"constant_values": 0.5} if mode == "constant" else {}
    framed = np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 0)), mode, **more)
    for n, o, c, k in ((0, 0, 0, 0), (0, 3, 2, 1), (1, 2, 1, 2)):
        np.testing.assert_array_equal(y[4 * n + o, 3 * c + k], framed[n, c, 2 * o + k])


X = TensorType((1, 4, 6, 7))
REFUSED = {
    "rank": (Conv(), TensorType((1, 4, 5)), TensorType((2, 4, 3))),
    "no space": (Conv((), (), ()), TensorType((1, 4)), TensorType((2, 4))),
    "groups": (Conv(groups=0), X, TensorType((2, 4, 1, 1))),
    "binary scale": (BinaryConv(), X, TensorType((2, 4, 1, 1)), TensorType((3,))),
    "binary operands": (BinaryConv(), X, TensorType((2, 4, 1, 1)), *[TensorType((2,))] * 3),
    "dense": (BinaryDense(), TensorType((2, 4)), TensorType((3, 5))),
    "dense scale": (BinaryDense(), TensorType((2, 4)), TensorType((3, 4)), TensorType((4,))),
    "offsets": (DeformConv(), X, TensorType((2, 4, 1, 1)), TensorType((1, 3, 6, 7))),
    "offset groups": (DeformColumns((1, 1), offset_groups=3), X, TensorType((1, 6, 6, 7))),
    "mask": (DeformColumns((1, 1)), X, TensorType((1, 2, 6, 7)), TensorType((1, 2, 6, 7))),
    "deformed rank": (DeformColumns((1,)), TensorType((1, 4, 6)), TensorType((1, 2, 6, 7))),
    "columns": (Col2Im((4, 4), (2, 2)), TensorType((1, 8, 10))),
    "few axes": (WindowsToChannels(2), TensorType((3, 4))),
    "blocks": (Col2Im((4, 4), (5, 2)), TensorType((1, 10, 3))),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_operands_that_do_not_fit_are_refused(case: str) -> None:
    op, *types = REFUSED[case]
    with pytest.raises(ShadergenError) as caught:
        op.infer(*types)
    assert caught.value.code == "SG0205"


def test_a_convolution_of_rows_uses_the_kernel_of_maps() -> None:
    x = image(1, 4, 16)
    y = apply(Conv((1,), (1,), (1, 1)), x, constant(normal(8, 4, 3)), constant(normal(8)))
    _, files, _ = compile_graph(graph_of(y, inputs=(x,)))
    assert any(p["kernel"] == "convolution" for p in files.schedule["passes"])


GPU: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "rows": (Conv((2,), (1,), (1, 0)), [(2, 3, 11), (5, 3, 3), (5,)]),
    "volume": (
        Conv((1, 2, 1), (1, 1, 2), (1, 0, 2, 1, 1, 0)),
        [(1, 4, 4, 5, 6), (5, 4, 2, 3, 2), (5,)],
    ),
    "grouped volume": (Conv((1,) * 3, (1,) * 3, (0,) * 6, 2), [(1, 4, 3, 4, 5), (6, 2, 2, 2, 2)]),
    "maps": (Conv(pads=(1, 1, 1, 1)), [(1, 5, 6, 7), (6, 5, 3, 3), (6,)]),
    "depthwise": (Conv(pads=(1, 1, 1, 1), groups=6), [(2, 6, 6, 7), (6, 1, 3, 3)]),
    "transposed": (ConvTranspose((2, 2), pads=(1, 0, 0, 1)), [(1, 3, 4, 5), (3, 5, 3, 3), (5,)]),
    "larger": (ConvTranspose((2, 3), pads=(-3, 1, -2, -4)), [(1, 3, 4, 5), (3, 5, 3, 3), (5,)]),
    "transposed rows": (ConvTranspose((3,), (2,), (1, 0), (1,)), [(2, 3, 5), (3, 4, 2)]),
    "transposed volume": (
        ConvTranspose((2, 1, 2), (1,) * 3, (0,) * 6, (1, 0, 0)),
        [(1, 3, 3, 4, 3), (3, 4, 2, 2, 3), (4,)],
    ),
    "binary": (
        BinaryConv(pads=(1, 1, 1, 1), pad_value=-1),
        [(1, 5, 6, 7), (6, 5, 3, 3), (6,), (6,)],
    ),
    "binary layer": (BinaryDense(), [(3, 12), (5, 12), (5,)]),
    "columns": (Col2Im((5, 6), (3, 2), (2, 1), pads=(1, 0, 1, 1)), [(2, 18, 18)]),
    "deformable": (
        DeformConv((1, 2), (1, 1), (1, 1, 1, 1), 1, 2),
        [(1, 4, 5, 6), (5, 4, 3, 3), (1, 36, 5, 3), (1, 18, 5, 3), (5,)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GPU)
@pytest.mark.parametrize("computed", [False, True])
def test_convolution_runs_on_the_gpu(case: str, computed: bool) -> None:
    op, (shape, *rest) = GPU[case]
    x = image(*shape)
    given: list[Value] = [
        image(*s, name=f"p{k}") if computed else constant(normal(*s, seed=k), f"p{k}")
        for k, s in enumerate(rest)
    ]
    inputs = (x, *given) if computed else (x,)
    assert_runs_like_reference(graph_of(apply(op, x, *given), inputs=inputs))  # type: ignore[arg-type]


def test_definitions_can_be_binary_and_contrast() -> None:
    text = """
        Binary(x, w, scale) = relu(binary_conv(x, w, scale, strides=2, pads=[1, 1, 1, 1]))
        Contrast(x) = local_contrast_normalization(x, kernel=[3, 3], alpha=2)
    """
    definitions = parse_definitions(text)
    x = image(1, 3, 6, 7)
    w, scale = constant(normal(4, 3, 3, 3)), constant(np.abs(normal(4)))
    y = instantiate(definitions["Binary"], [x, w, scale], {}, definitions, "binary")
    z = instantiate(definitions["Contrast"], [x], {}, definitions, "contrast")
    assert y.shape == (1, 4, 3, 4)
    assert_runs_like_reference(graph_of(y, z, inputs=(x,)))
