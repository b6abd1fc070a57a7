"""User shaders of networks by others, compared with the networks' own results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from support import third_party
from support.user_shaders import STORED, TOLERANCE_16, codes_apart, noise, through_filter, written

from shadergen.compiler.compilation import import_model
from shadergen.compiler.options import Options
from shadergen.ir.reference import evaluate_graph

pytestmark = pytest.mark.gl


@dataclass(frozen=True)
class Trained:
    """A network by others: what it takes, and what a player makes of it.

    Attributes:
        channels: of its pictures.
        scale: how many times it enlarges them.
        size: height and width of the pictures.
        tolerance: of 16-bit output, 0 to 1. Where it exceeds ``TOLERANCE_16``, layers that are
            exact but for 16 bits between them err by as much.
        stages: of its passes.
    """

    channels: int
    scale: int
    size: tuple[int, int] = (29, 37)
    tolerance: float = TOLERANCE_16
    stages: tuple[str, ...] = ("fragment", "compute")


TRAINED = {
    "acnet_gan_x2.onnx": Trained(1, 2, tolerance=2.5e-3),
    "nnaa.keras": Trained(1, 1, (30, 38)),
    "qonnx_espcn_x3.onnx": Trained(3, 3, stages=("compute",)),
}


def reference_of(path: Path, picture: np.ndarray) -> np.ndarray:
    """Return the result of a model file, height x width x channels, as pictures store it.

    ONNX Runtime computes it, for ONNX models.
    """
    given = picture.transpose(2, 0, 1)[None].astype(np.float32)
    if path.suffix == ".onnx":
        model = onnx.load(path)
        for port in (*model.graph.input, *model.graph.output):  # one was exported for 4 x 4 pixels
            for axis in (2, 3):
                port.type.tensor_type.shape.dim[axis].dim_param = f"{port.name}{axis}"
        session = ort.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        (wanted,) = session.run(None, {session.get_inputs()[0].name: given})
    else:
        graph = import_model(path, Options(input_size={"": picture.shape[:2]}))
        (wanted,) = evaluate_graph(graph, {graph.inputs[0].name: given}).values()
    return wanted[0].transpose(1, 2, 0).clip(0, 1)


@pytest.mark.third_party
@pytest.mark.parametrize(
    ("name", "stage"), [(name, stage) for name, net in TRAINED.items() for stage in net.stages]
)
def test_trained_networks_run_in_ffmpeg(name, stage, tmp_path):
    path, net = third_party(name), TRAINED[name]
    shader = written(path, tmp_path, stage=stage)
    frame = noise(*net.size, net.channels)
    got = through_filter(shader, frame, net.scale)
    assert codes_apart(got, reference_of(path, frame / 255)) <= 1
    frame = noise(*net.size, net.channels, np.uint16)
    got = through_filter(shader, frame, net.scale)
    assert abs(got / 65535 - reference_of(path, frame / 65535)).max() <= net.tolerance


@pytest.mark.third_party
@pytest.mark.parametrize("name", TRAINED)
def test_trained_networks_lose_no_digits_in_split_intermediates(name, tmp_path):
    path, net = third_party(name), TRAINED[name]
    frame = noise(*net.size, net.channels, np.uint16)
    got = through_filter(written(path, tmp_path, intermediates="split"), frame, net.scale)
    assert abs(got / 65535 - reference_of(path, frame / 65535)).max() <= STORED[net.channels]
