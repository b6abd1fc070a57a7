"""LiteRT on a GPU, in fp32: the network converted by litert-torch from the module it came from.

Its tensors stay on the device between calls, but whether a call has ended shows only when an output
is read; so there is no resident frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..networks import Model, torch_network
from . import EXACT, Array, Running, Setting, Unavailable

FILE = "model.tflite"


@dataclass(frozen=True)
class LiteRt:
    """LiteRT with the accelerator ``device``, "GPU" or "CPU"."""

    name: str = "LiteRT"
    device: str = "GPU"
    tolerance: float = EXACT

    def version(self, setting: Setting) -> str:
        for package in ("ai_edge_litert", "litert_torch"):
            if find_spec(package) is None:
                raise Unavailable(f"{package} is not installed: pip install '.[compare-gpu]'")
        converter = version("litert-torch")
        return f"LiteRT {version('ai-edge-litert')} (litert-torch {converter}) on {self.device}"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        import litert_torch
        import torch

        module = torch_network(model.name).eval()
        litert_torch.convert(module, (torch.from_numpy(model.x),)).export(str(folder / FILE))
        return {}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        from ai_edge_litert.compiled_model import CompiledModel
        from ai_edge_litert.hardware_accelerator import HardwareAccelerator

        kind = HardwareAccelerator[self.device]  # alone: what it cannot run is not run elsewhere
        compiled = CompiledModel.from_file(str(folder / FILE), hardware_accel=kind)
        sources, targets = compiled.create_input_buffers(0), compiled.create_output_buffers(0)

        def frame(x: Array) -> Array:
            sources[0].write(np.ascontiguousarray(x).reshape(-1))
            compiled.run_by_index(0, sources, targets)
            y: Array = targets[0].read(model.y.size, np.float32)
            return y.reshape(model.y.shape)

        return Running(frame)
