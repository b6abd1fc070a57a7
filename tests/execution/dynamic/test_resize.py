"""Resizing to the size of another map of dynamic size, as decoders do to add a skip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from support.dynamic_builds import COMPUTE, build_of, constraints, difference
from support.dynamic_net import Net, network

from shadergen.compiler.compilation import import_model
from shadergen.compiler.frontends.onnx.ops.resize_dynamic import PLAIN, _rounds_back
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import HeadlessContext, Runner

NEAREST = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
CENTRES = {"coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor"}
SIZES = ((32, 48), (64, 32), (33, 47), (31, 49), (30, 34), (40, 56), (17, 18), (45, 9), (15, 16))


@pytest.fixture(scope="module")
def context() -> Iterator[HeadlessContext]:
    with HeadlessContext() as context:
        yield context


def resized_to(net: Net, x: str, skip: str, **mode: str) -> str:
    sizes = net("Concat", net.sizes(x, 0, 2), net.sizes(skip, 2, 4), axis=0)
    return net("Resize", x, "", "", sizes, **{"mode": "nearest", **NEAREST, **mode})


def decoded(net: Net, maps: list[str], **mode: str) -> str:
    x = maps.pop()
    for skip in reversed(maps):
        x = net("Relu", net.conv(net("Add", resized_to(net, x, skip, **mode), skip), 4, 4, 3))
    return x


def rounded_up(net: Net) -> str:
    """ceil(h / 2), ceil(h / 4), ceil(h / 8), ceil(h / 16) and back to the second of them."""
    maps = [net("Relu", net.conv("x", 3, 4, 3, strides=[2, 2]))]
    for _ in range(3):
        maps.append(net("Relu", net.conv(maps[-1], 4, 4, 3, strides=[2, 2])))
    return decoded(net, maps[1:])


def rounded_down(net: Net, **mode: str) -> str:
    """H, floor(h / 2), floor(h / 4) and back."""
    maps = [net("Relu", net.conv("x", 3, 4, 3))]
    for _ in range(2):
        half = net("MaxPool", maps[-1], kernel_shape=[2, 2], strides=[2, 2])
        maps.append(net("Relu", net.conv(half, 4, 4, 3)))
    return decoded(net, maps, **mode)


def by_centres(net: Net) -> str:
    return rounded_down(net, **CENTRES)


def linear(net: Net) -> str:
    return rounded_down(net, mode="linear", coordinate_transformation_mode="half_pixel")


def doubled(net: Net) -> str:
    """Of a map whose skip is exactly twice as large."""
    skip = net("ConvTranspose", "x", net.weight(3, 4, 2, 2), strides=[2, 2])
    return net("Add", resized_to(net, net.conv("x", 3, 4, 3), skip), skip)


def shrunk(net: Net) -> str:
    """To a third, rounded up."""
    less = net("Relu", net.conv("x", 3, 4, 3, strides=[3, 3]))
    return net("Add", resized_to(net, net.conv("x", 3, 4, 3), less), less)


def shrunk_to_a_seventh(net: Net) -> str:
    less = net.conv("x", 3, 3, 3, strides=[7, 7])
    return net("Add", resized_to(net, "x", less), less)


def from_one(net: Net) -> str:
    return net("Add", resized_to(net, net("GlobalAveragePool", "x"), "x"), "x")


def fits(size: tuple[int, int], whole: int, part: int) -> bool:
    """Whether both are ``whole`` times what they come to, rounded up, in parts of ``part``."""
    return all(-(-s // part) * whole == -(-s // (part // whole)) for s in size)


CASES = {
    "rounded up": (rounded_up, (32, 48), lambda s: fits(s, 4, 16)),
    "rounded up, odd": (rounded_up, (33, 35), lambda s: True),
    "rounded down": (rounded_down, (32, 48), lambda s: not (s[0] % 4 or s[1] % 4)),
    "rounded down, odd": (rounded_down, (31, 47), lambda s: True),
    "rounded down, one odd": (rounded_down, (32, 47), lambda s: s[0] % 4 == 0),
    "by centres": (by_centres, (32, 48), lambda s: not (s[0] % 4 or s[1] % 4)),
    "linear": (linear, (32, 48), lambda s: True),
    "doubled": (doubled, (32, 48), lambda s: True),
    "shrunk": (shrunk, (33, 48), lambda s: not (s[0] % 3 or s[1] % 3)),
    "shrunk, one off": (shrunk, (32, 50), lambda s: s[0] % 3 != 1 and s[1] % 3 != 1),
    "from one": (from_one, (32, 48), lambda s: True),
}  # what, the default sizes, and which sizes must be let in: all others are to be refused


@pytest.mark.gl
@pytest.mark.parametrize("stage", ["fragment", "compute"])
@pytest.mark.parametrize("case", sorted(CASES))
def test_a_map_is_resized_to_its_skip_at_every_size_that_is_let_in(
    case: str, stage: str, tmp_path: Path, context: HeadlessContext
) -> None:
    network_of, default, let_in = CASES[case]
    model = network(network_of)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    build = build_of(model, tmp_path, dynamic=default, **(COMPUTE if stage == "compute" else {}))
    taken = set()
    with Runner(build, context) as runner:
        for size in (default, *SIZES):
            try:
                runner.resize(height=size[0], width=size[1])
            except ShadergenError as error:
                assert error.code == "SG0605"
                assert "height" in error.what + error.why or "width" in error.what + error.why
            else:
                taken.add(size)
                assert difference(runner, session, size) < 1e-4, size
    assert taken == {size for size in (default, *SIZES) if let_in(size)}


def test_only_what_is_not_exact_for_all_sizes_is_a_constraint(tmp_path: Path) -> None:
    def asked(network_of: object, *size: int) -> list[str]:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        return constraints(build_of(network(network_of), folder, dynamic=size))  # type: ignore[arg-type]

    layers = "for layers resize13 and resize22"
    both = [f"{name} must be a multiple of 4, {layers}" for name in ("height", "width")]
    assert asked(rounded_down, 32, 48) == both
    assert asked(rounded_down, 32, 47) == both[:1]
    assert not asked(doubled, 32, 48)
    assert not asked(linear, 32, 48)


def test_shrinking_where_float32_decides_is_refused() -> None:
    assert [n for n in range(1, PLAIN) if not _rounds_back(n)][:4] == [7, 13, 14, 15]
    numbers = np.arange(1, 1 << 14, dtype=np.float32)
    for n in range(1, PLAIN):
        back = numbers / (np.float32(1) / np.float32(n)) == numbers * n
        assert back.all() == _rounds_back(n), n
    for size in ((28, 56), (29, 57)):
        with pytest.raises(ShadergenError) as caught:
            import_model(network(shrunk_to_a_seventh), Options(dynamic=size))
        assert caught.value.code == "SG0207"
        assert "nearest-neighbour resizing by" in caught.value.what


def test_what_has_no_simple_ratio_at_first_is_refused() -> None:
    def fixed(net: Net) -> str:
        pooled = net("Resize", "x", "", "", net.whole(1, 3, 8, 8), **{"mode": "linear"})
        return net("Add", resized_to(net, pooled, "x"), "x")

    for network_of, size in ((by_centres, (33, 47)), (fixed, (32, 48))):
        with pytest.raises(ShadergenError) as caught:
            import_model(network(network_of), Options(dynamic=size))
        assert caught.value.code == "SG0207"
        assert "node" in caught.value.render()


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 16, 64])
def test_one_element_off_a_multiple_float32_finds_the_elements_that_are_exact(factor: int) -> None:
    """Both ways, up to the largest sizes that :meth:`DynamicAxis._one_off` takes."""
    for small in (2, 3, 5, 12, 23, 45, 333, 1023, 1448, 2047, 2895):
        for large in (factor * small - 1, factor * small + 1):
            if small * large >= 1 << 23:
                continue
            for size, resized in ((small, large), (large, small)):
                i = np.arange(resized)
                scale = np.float32(resized) / np.float32(size)
                found = np.floor(i.astype(np.float32) / scale)
                assert (found == i * size // resized).all(), (size, resized)
