"""Keras models with dynamic sizes, against what Keras computes at each size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_builds import TARGETS, build_of

from shadergen.runtime_glue.python import HeadlessContext, Runner

SIZES = ((32, 48), (48, 32), (13, 7), (6, 6))


def channels_apart(keras: Any, x: Any) -> list[Any]:
    """As gates are made, and maps of curves."""
    a, b, c = keras.ops.split(x, 3, axis=-1)
    return [a * b, x[..., 2:5] * x[..., :-3], x[..., ::-1], x[..., 1] + c[..., 0]]


def parts_of_dynamic_axes(keras: Any, x: Any) -> list[Any]:
    return [
        x[:, 1:-1, 2:],
        x[:, ::-1, ::2],
        x[:, -1:, -3:-1],
        x[:, 0, ::-2],
        x[:, 4, :100],
        keras.ops.roll(x, 2, 1),
        keras.ops.flip(x, 2),
    ]


def enlarged(keras: Any, x: Any) -> list[Any]:
    modes = ("nearest", "bilinear", "bicubic")
    return [keras.layers.UpSampling2D((2, 3), interpolation=mode)(x) for mode in modes]


@pytest.mark.gl
@pytest.mark.parametrize("target", ["fragment", "compute"])
@pytest.mark.parametrize("outputs_of", [channels_apart, enlarged, parts_of_dynamic_axes])
def test_one_build_is_right_at_every_size(
    outputs_of: Any, target: str, keras: Any, context: HeadlessContext, tmp_path: Path
) -> None:
    x = keras.Input((None, None, 6), name="x")
    model = keras.Model(x, outputs_of(keras, x * 2.0))
    model.save(tmp_path / "model.keras")
    build = build_of(tmp_path / "model.keras", tmp_path, dynamic=SIZES[0], **TARGETS[target])
    with Runner(build, context) as runner:
        for height, width in SIZES:
            runner.resize(height=height, width=width)
            image = np.random.default_rng(height).random((1, height, width, 6), np.float32)
            runner.upload("x", image)
            runner.run()
            runner.check()
            wanted = model(image)
            assert len(wanted) == len(build.outputs)
            for port, y in zip(build.outputs, wanted, strict=True):
                found = runner.read(port.name)
                assert found.shape == y.shape
                assert np.abs(found - keras.ops.convert_to_numpy(y)).max() < 1e-5, port.name
